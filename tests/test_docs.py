"""Every python block of docs/ is run, page by page, and must print the text block that follows it, if any.

On the how-to pages every block is run, in order and in an empty folder: also ``sh`` (must succeed), ``console`` (must
print what is shown), ``{code-block} text`` with a caption (a file that is written) and ``toml`` (entry points for what
the page defines).
"""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise import extensions
from probewise.algorithms import EXTENSIONS as ALGORITHMS
from probewise.campaign.journal.places import EXTENSIONS as STORAGES
from probewise.cli import main
from probewise.coordinates import coordinates

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$(?:\n+```text\n(?P<output>.*?)^```$)?", flags=re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]\d+)?")
PAGES = [page for page in sorted(DOCS.glob("*.md")) if BLOCK.search(page.read_text())]
HOWTO = sorted(page for page in DOCS.glob("howto/*.md") if page.stem != "index")
FENCE = re.compile(r"^```(?P<kind>.*)\n(?::caption: (?P<caption>\S+)\n\n)?(?P<body>(?:(?!```).*\n)*)```$", flags=re.M)
COMMAND = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", flags=re.M)


def unit(number: str) -> float:
    """One in the last digit shown."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def disagreement(printed: str, said: str) -> str | None:
    """What differs, if words do or if numbers differ by more than one in the last digit or the default tolerance."""
    if NUMBER.sub("#", printed) != NUMBER.sub("#", said):
        return f"printed:\n{printed}\nthe page says:\n{said}"
    for got, number in zip(NUMBER.findall(printed), NUMBER.findall(said), strict=True):
        if abs(float(got) - float(number)) > max(1.01 * unit(number), 1e-3 * float(number)):
            return f"printed {got}, the page says {number}, in:\n{said}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_print_what_they_say(
    page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, namespace = page.read_text(), {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text[: block.start("code")].count("\n")
        # empty lines in front make the line numbers of a traceback those of the page
        exec(compile("\n" * line + block["code"], str(page), "exec"), namespace)
        assert (difference := disagreement(capsys.readouterr().out, block["output"] or "")) is None, difference


def test_pages_with_examples_are_found() -> None:
    assert {"theory.md", "criteria.md", "tutorial.md"} <= {page.name for page in PAGES}
    assert len(HOWTO) >= 8


def printed(line: str) -> str:
    """What a command prints, both streams together."""
    program, *arguments = shlex.split(line)
    assert program == "probewise"
    result = CliRunner().invoke(main, arguments, prog_name="probewise")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return f"{result.output.rstrip()}\n"


def succeed(line: str) -> None:
    """Run a command that must do what it was asked for."""
    result = CliRunner().invoke(main, shlex.split(line)[1:], prog_name="probewise")
    assert result.exit_code == 0, result.output


def installed(group: str, points: dict[str, str], namespace: dict[str, Any], patch: pytest.MonkeyPatch) -> None:
    """As if a package with these entry points were installed, whose modules have what the page has defined."""
    known, own = extensions.entry_points, [EntryPoint(name, value, group) for name, value in points.items()]
    for point in own:
        module = ModuleType(point.module)
        module.__dict__.update(namespace)
        patch.setitem(sys.modules, point.module, module)

    def all_of_them(**wanted: str) -> EntryPoints:
        return EntryPoints([*known(**wanted), *EntryPoints(own).select(**wanted)])

    patch.setattr(extensions, "entry_points", all_of_them)


@pytest.mark.parametrize("page", HOWTO, ids=lambda page: page.stem)
def test_howto_pages_do_what_they_say(
    page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, namespace, last = page.read_text(), {"__name__": "__main__"}, ""
    for block in FENCE.finditer(text):
        kind, body = block["kind"], block["body"]
        if kind == "python":
            line = text[: block.start("body")].count("\n")
            exec(compile("\n" * line + body, str(page), "exec", dont_inherit=True), namespace)
            last = capsys.readouterr().out
        elif kind == "text":
            assert (difference := disagreement(last, body)) is None, difference
        elif kind == "sh":
            for line in body.replace("\\\n", "").splitlines():
                succeed(line)
        elif kind == "console":
            for line, said in COMMAND.findall(body):
                assert (difference := disagreement(printed(line), f"{said.rstrip()}\n")) is None, difference
        elif kind == "{code-block} text":
            (tmp_path / block["caption"]).write_text(body)
        elif kind == "toml":  # entry points of a package, for what the page has defined
            for group, points in tomllib.loads(body)["project"]["entry-points"].items():
                assert group in (ALGORITHMS, STORAGES, "probewise.goals", "probewise.outcomes")
                assert all(point.partition(":")[2] in namespace for point in points.values())
                installed(group, points, namespace, monkeypatch)
        else:
            raise AssertionError(f"{page.name}: a block of the kind {kind!r} is run by nobody.")


@pytest.mark.parametrize("page", HOWTO, ids=lambda page: page.stem)
def test_no_block_of_a_howto_page_is_overlooked(page: Path) -> None:
    text = page.read_text()
    assert len(FENCE.findall(text)) * 2 == len(re.findall(r"^ *(?:```|~~~|:::)", text, flags=re.M)) > 0
    for block in FENCE.finditer(text):
        assert block["kind"] != "console" or COMMAND.sub("", block["body"]) == ""


def test_the_quick_start_is_that_of_the_readme() -> None:
    """What the page includes lies between headings that the README has, in this order."""
    limits = re.findall(r'^:(?:start-after|end-before): "(.+)"$', (DOCS / "quick-start.md").read_text(), flags=re.M)
    lines = (DOCS.parent / "README.md").read_text().splitlines()
    places = [lines.index(limit) for limit in limits]
    assert len(places) == 4
    assert places == sorted(places)


def test_every_page_has_its_place_in_a_group() -> None:
    """Every page stands in exactly one table of contents, each of the groups of the first page has a caption."""
    index = (DOCS / "index.md").read_text()
    assert re.findall(r"^:caption: (.+)$", index, flags=re.M) == [
        "Start",
        "How-to",
        "Explanation",
        "Reference",
        "Project",
    ]
    pages = {
        page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.glob("**/*.md") if "_build" not in page.parts
    }
    listed: list[str] = []
    for page in sorted(pages):
        folder = (DOCS / page).parent
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", (DOCS / f"{page}.md").read_text(), flags=re.M | re.S):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            assert all("*" not in name or name == "0*" for name in names)
            for name in names:
                found = folder.glob(f"{name}.md")
                listed += [each.relative_to(DOCS).with_suffix("").as_posix() for each in found]
    assert sorted(listed) == sorted(pages - {"index"})


@pytest.mark.parametrize(
    ("printed", "said", "same"),
    [
        ("value 3.5571\n", "value 3.557\n", True),
        ("value 3.58\n", "value 3.557\n", False),
        ("A 23%, B 48%\n", "A 23%, B 47%\n", True),
        ("A 23%, B 48%\n", "A 23%, B 45%\n", False),
        ("static 9.6e+05\n", "static 9.7e+05\n", True),
        ("static 9.6e+05\n", "static 9.6e+04\n", False),
        ("in truth: inf\n", "in truth: 4.0\n", False),
        ("", "value 1\n", False),
    ],
)
def test_the_comparison_can_fail(printed: str, said: str, same: bool) -> None:
    assert (disagreement(printed, said) is None) is same


def test_every_public_name_is_on_a_page_of_the_reference() -> None:
    text = "".join(page.read_text() for page in sorted(DOCS.glob("reference/*.md")))
    documented = set(re.findall(r"^\.\. auto\w+:: probewise\.([\w.]+)$", text, flags=re.M))
    home = {name: module for name, module in pw._WHERE.items() if module not in documented}
    assert set(pw._MODULES) <= documented
    assert set(home) <= documented


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=lambda page: page.name)
def test_formulas_are_well_formed(page: Path) -> None:
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
    assert text.count("$$") % 2 == 0
    for formula in re.findall(r"\$\$(.*?)\$\$", text, flags=re.S):
        plain = re.sub(r"\\[{}]", "", formula)
        assert plain.count("{") == plain.count("}"), formula
        # Sphinx puts a formula of several lines into a split environment, where MathJax refuses a number
        assert not ("\\\\" in formula and "\\tag" in formula), f"put this into an equation* environment: {formula}"


@pytest.mark.parametrize(
    ("probes", "direction", "magnitude", "inside"),
    [
        ([[1.0, 0.0], [2.0, 0.0]], [1.0, 1e-9], None, False),
        ([[1.0, 3.0], [2.0, 6.0]], [0.1, 0.3], None, True),
        ([[1.0, 3.0], [2.0, 6.0]], [0.1, 0.3000001], None, False),
        ([[1.0, 3.0], [2.0, 6.0]], [(1e8 + 0.7) - (1e8 + 0.1), (3e8 + 2.1) - (3e8 + 0.3)], [2e8, 6e8], False),
        ([[1.0, 3.0], [2.0, 6.0]], [(1e3 + 0.7) - (1e3 + 0.1), (3e3 + 2.1) - (3e3 + 0.3)], [2e3, 6e3], True),
        ([[1.0, 1.0, 1.0], [1.0, 1.0 + 1e-10, 1.0]], [0.0, 1.0, 1e-6], None, False),
    ],
)
def test_cases_of_decisions_6_and_17(
    probes: list[list[float]], direction: list[float], magnitude: list[float] | None, inside: bool
) -> None:
    magnitudes = None if magnitude is None else np.array([magnitude])
    assert coordinates(np.array(probes)).is_inside(np.array([direction]), magnitudes).tolist() == [inside]
