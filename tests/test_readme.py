from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from probewise.cli import loaded

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(p for p in ROOT.glob("docs/**/*.md") if "_build" not in p.parts)])


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.M | re.S)


def test_example_prints_what_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,), expected = blocks("python"), blocks("text")[0]
    exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == expected


def test_commands_of_the_readme_have_all_that_they_need() -> None:
    said = re.findall(r"`(probewise [^`]+)`", (ROOT / "README.md").read_text())
    for line in said:
        _, name, *arguments = line.split()
        command = loaded(name)
        required = [p for p in command.params if p.required and isinstance(p, click.Option)]
        if arguments:  # a line to copy, not a mere name
            assert all(set(option.opts) & set(arguments) for option in required), line
        else:
            assert not required, f"{line} needs {', '.join(option.opts[0] for option in required)}"


def test_example_is_short() -> None:
    (example,) = blocks("python")
    assert sum(bool(line.strip()) for line in example.splitlines()) <= 15


def test_commands_named_in_the_readme_are_make_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in ("README.md", "CONTRIBUTING.md"):
        for target in set(re.findall(r"(?:^|`)make (\w+)", (ROOT / page).read_text(), flags=re.M)):
            assert re.search(rf"^{target}:.*## ", makefile, flags=re.M), f"{page}: make {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"
