"""Cells: every text comes back as it was, nothing acts on a spreadsheet or a screen, and numbers are numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probewise.cells import UNSEEN, csv_lines, csv_records, fault, guarded, number, unguarded, visible

ANY = st.characters(exclude_categories=())  # halves of characters too
NASTY = st.text(st.sampled_from("'=+-@\\;,\"\t\r\n \xa0\u3000\x1b\x9bax05eu\uff1d\u202e\ud800."), max_size=12)
TEXT = st.one_of(st.text(ANY, max_size=20), NASTY)
ACTING = tuple("=+-@\uff1d\uff0b\uff0d\uff20\t\r")


@settings(max_examples=1000)
@given(TEXT)
def test_every_text_comes_back(text: str) -> None:
    cell = guarded(text)
    assert unguarded(cell) == text
    assert unguarded(f"  {cell}\t") == text  # a spreadsheet or an editor may add blanks


@settings(max_examples=1000)
@given(TEXT)
def test_nothing_in_a_cell_acts(text: str) -> None:
    cell = guarded(text)
    assert not re.search(f"[{UNSEEN}]", cell)
    first, *others = cell.split(";")  # a spreadsheet may take semicolons for separators
    for part in (first, *(other.lstrip("\"' ") for other in others)):
        assert not part.startswith(ACTING) or len(part) == 1 or number(part) is not None


@settings(max_examples=300)
@given(st.lists(st.lists(TEXT.filter(bool), min_size=3, max_size=3), min_size=1, max_size=4))
def test_tables_come_back(rows: list[list[str]]) -> None:
    header = ["measurement", *rows[0]]
    lines = "".join(csv_lines([header, *(["r1-1", *row] for row in rows)]))
    assert lines.count("\n") == len(rows) + 1  # a record is a line, for any tool
    read = [cells for _, cells in csv_records(lines.encode("utf-8").decode("utf-8"), ",")]
    assert read == [header, *(["r1-1", *row] for row in rows)]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_stay_numbers(value: float) -> None:
    assert number(guarded(repr(value))) == value
    assert guarded(repr(value)) == repr(value)
    assert next(csv_lines([[value]])) == f"{value}\n"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("-x", "'-x"),
        ("-5", "-5"),
        ("+1.5e3", "+1.5e3"),
        ("-", "-"),
        ("hot ", r"'hot\x20"),
        ("hot\xa0", r"'hot\xa0"),
        ("a\rb", r"'a\x0db"),
        ("\x1b[31m", r"'\x1b[31m"),
        ("'quoted'", "''quoted'"),
        (r"C:\x41", r"C:\x41"),
        ("=\\x41", r"'=\\x41"),
        ("a;=b", r"'a\x3b=b"),
        ("a; b", "a; b"),
        ("L01 in THF", "L01 in THF"),
        ("2,2'-bipyridyl", "2,2'-bipyridyl"),
    ],
)
def test_cells_look_so(text: str, cell: str) -> None:
    assert guarded(text) == cell
    assert unguarded(cell) == text


@pytest.mark.parametrize("cell", ["'hot", "'hot'", "'", r"'hot\x20x", r"'=\x41", "'-5", r"'a\qb"])
def test_what_was_never_guarded_stays_as_it_is(cell: str) -> None:
    assert unguarded(cell) == cell


@pytest.mark.parametrize(
    ("cell", "match"),
    [
        ("１２", "'１２' is not a number; give it in the digits 0 to 9"),
        ("٣٫٥", "is not a number; give a number"),
        ("٣", "give it in the digits 0 to 9"),
        ("1e-400", "'1e-400' is not a number; it is too small here and would become 0"),
        ("-0.000001e-330", "it is too small here"),
        ("1e999", "'1e999' is not finite; give a finite number"),
        ("-inf", "'-inf' is not finite"),
        ("0x1F", "'0x1F' is not a number; give a number"),
        ("1_000", "'1_000' is not a number; give a number"),
        ("0,5", "use a decimal point"),
        ("9" * 1000, "is not finite"),
        ("x" * 1000, "…' is not a number"),
    ],
)
def test_numbers_that_are_none(cell: str, match: str) -> None:
    value = number(cell)
    assert value is None or abs(value) == float("inf")
    assert match in fault(cell)
    assert len(fault(cell)) < 160


@pytest.mark.parametrize("text", ["0", "0.0e-400", "-0", "5.", ".5", " 2.5 ", "1E5", "+3", "5e-324"])
def test_numbers_that_are_some(text: str) -> None:
    assert number(text) == float(text)


def test_a_screen_sees_codes() -> None:
    assert visible("a\x1b[2Jb\x9b\u202e\n\ud800") == r"a\x1b[2Jb\x9b\u202e\x0a\ud800"
    assert visible("Süd °C −5 日本") == "Süd °C −5 日本"
