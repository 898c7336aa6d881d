"""Every python block of docs/*.md is run, page by page, and must print the text block that follows it, if any."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import probewise as pw
from probewise.coordinates import coordinates

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$(?:\n+```text\n(?P<output>.*?)^```$)?", flags=re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]\d+)?")
PAGES = [page for page in sorted(DOCS.glob("*.md")) if BLOCK.search(page.read_text())]


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
def test_pages_print_what_they_say(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, namespace = page.read_text(), {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text[: block.start("code")].count("\n")
        # empty lines in front make the line numbers of a traceback those of the page
        exec(compile("\n" * line + block["code"], str(page), "exec"), namespace)
        assert (difference := disagreement(capsys.readouterr().out, block["output"] or "")) is None, difference


def test_pages_with_examples_are_found() -> None:
    assert {"theory.md", "criteria.md"} <= {page.name for page in PAGES}


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


def test_every_public_name_is_on_the_page_of_the_library() -> None:
    documented = set(re.findall(r"^\.\. auto\w+:: probewise\.([\w.]+)$", (DOCS / "api.md").read_text(), flags=re.M))
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
