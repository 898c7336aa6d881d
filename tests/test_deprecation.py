from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from probewise.deprecation import deprecated

ROOT = Path(__file__).parents[1]


@deprecated(since="0.2", removed_in="0.4", instead="new_way")
def old_way(x: int, *, by: int = 1) -> int:
    """Add."""
    return x + by


class Thing:
    @deprecated(since="0.2", removed_in="0.4", instead="Thing.size")
    def length(self) -> int:
        return 3


def test_a_caller_is_warned_where_it_calls() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"old_way is deprecated since probewise 0\.2 and goes with 0\.4; use ne"
    ) as told:
        assert old_way(2, by=3) == 5
    assert told[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"Thing\.length is deprecated.*use Thing\.size\."):
        assert Thing().length() == 3


def test_the_name_and_the_docstring_stay() -> None:
    assert old_way.__name__ == "old_way"
    assert (old_way.__doc__ or "").startswith("Add.\n\nold_way is deprecated")
    assert (Thing.length.__doc__ or "").startswith("Thing.length is deprecated")


def overdue(text: str, version: str) -> list[str]:
    """Versions in which something should have gone by now."""
    named = re.findall(r"removed_in=\"([\d.]+)\"", text)
    return [own for own in named if [*map(int, own.split("."))] <= [*map(int, version.split("."))]]


def test_nothing_stays_longer_than_was_said() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert overdue('@deprecated(since="0.1", removed_in="0.3", instead="x")', "0.3.0") == ["0.3"]
    assert overdue('@deprecated(since="0.1", removed_in="0.3", instead="x")', "0.2.9") == []
    assert {
        path: late for path in (ROOT / "src").rglob("*.py") if (late := overdue(path.read_text("utf-8"), version))
    } == {}
