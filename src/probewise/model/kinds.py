"""Kinds: what the cells of a column are, told from all of them, so that nothing is taken for what it is not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from probewise.coordinates import Array
from probewise.dialects import numeric_in_some_way, spelled
from probewise.errors import InvalidProblem
from probewise.tables import Table

_MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>"})
"""Cells without a level; sodium (Na) and none are levels."""
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([T ].*)?|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}( .*)?"
    r"|[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?"
)
_WITH_UNIT = re.compile(r"[+\-\u2212]?[0-9][0-9.,]*\s*([^\W\d_][\w/%.]*|%|°\s?[CFK])")
_UNITS = re.compile(
    r"%|°\s?[CFK]|[CFKAVLlMghsdm]|k?g|m[glLMVA]|[µμ][glLMm]|nM|nm|mm|cm|m?mol|min|m?bar|[kM]?Pa|psi|rpm|Hz|ppm|eq"
)
_CODE = re.compile("0[0-9]+")
_BROKEN = re.compile(r"#(N/A|REF!|DIV/0!|VALUE!|NAME\?|NUM!|NULL!|WERT!|BEZUG!|NV|NAME!)")
_SAY = "or say that it is a factor (--factor, factors=) or only shown (--show, shown=)"
_REFUSED = {
    "broken": "'{cell}' is an error of a spreadsheet; put the cell right",
    "date": f"'{{cell}}' is a date or time, and neither a number nor a level; give the days since the start, {_SAY}",
    "code": f"'{{cell}}' begins with 0, as codes do and numbers do not; write it as a number, {_SAY}",
    "missing": "the level is missing, got '{cell}'; fill it in or leave the row out",
}


@dataclass(frozen=True, eq=False)
class Column:
    """One column of one table, read."""

    kind: Literal["number", "text", "empty"]
    """What all its cells are."""
    numbers: Array | None = None
    """(k,): the cells of a column of numbers."""
    levels: tuple[str, ...] = ()
    """The cells of a column of text."""


def column(table: Table, name: str, *, factor: bool = False) -> Column:
    """The column as numbers or as levels; refused in a sentence if it is neither, unless it is to be a factor."""
    cells = table.column(name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf" and not factor:
        return Column("number", _finite(table, name, cells.astype(np.float64)))
    texts = table.texts(name)
    kinds = {cell: _kind(cell) for cell in set(texts)}
    found = {kind for kind in kinds.values() if kind != "missing"}
    if not found:
        return Column("empty")
    if found == {"number"} and not factor:
        return Column("number", _numbers(table, name, texts))
    for kind in ("broken", *([] if factor else _faults(found))):
        _refuse(table, name, texts, kinds, kind)
    _refuse(table, name, texts, kinds, "missing")
    numbers = spelled(kinds, table.dialect.decimal)
    levels = {cell: _level(cell, numbers[cell] if kinds[cell] == "number" else None) for cell in kinds}
    return Column("text", levels=tuple(map(levels.__getitem__, texts)))


def _kind(cell: str) -> str:
    """What one cell is, taken by itself."""
    cell = cell.strip()
    if cell in _MISSING:
        return "missing"
    if _BROKEN.fullmatch(cell):
        return "broken"
    if _CODE.fullmatch(cell):
        return "code"
    if numeric_in_some_way(cell):
        return "number"
    if _DATE.fullmatch(cell):
        return "date"
    found = _WITH_UNIT.fullmatch(cell)
    return f"unit {found[1]}" if found else "text"


def _faults(found: set[str]) -> list[str]:
    """Kinds of cells that must not pass for levels: what they are is to be said."""
    units = {kind.removeprefix("unit ") for kind in found if kind.startswith("unit ")}
    if "number" in found and found != {"number"}:
        return [*sorted(found - {"number", "code"}), "code"]  # the cells that are no numbers
    if len(units) == len(found) and (len(units) == 1 or all(map(_UNITS.fullmatch, units))):
        return sorted(found)
    return [kind for kind in ("date", "code") if found == {kind}]


def _refuse(table: Table, name: str, texts: Sequence[str], kinds: Mapping[str, str], kind: str) -> None:
    """A sentence about the first cell of a kind, if there is one."""
    if kind not in kinds.values():
        return
    row = next(at for at, cell in enumerate(texts) if kinds[cell] == kind)
    cell = texts[row] if len(texts[row]) <= 60 else f"{texts[row][:60]}…"
    if kind in _REFUSED:
        said = _REFUSED[kind].format(cell=cell)
    elif kind.startswith("unit "):
        said = f"'{cell}' is a number with its unit; write the unit into the heading, as in {name} ({kind[5:]}), {_SAY}"
    else:
        said = f"'{cell}' is not a number, but other cells of the column are; put it right, {_SAY}"
    raise InvalidProblem(f"{table.place(row)}, column '{name}': {said}.")


def _numbers(table: Table, name: str, texts: list[str]) -> Array:
    if isinstance(table.column(name), list):
        return table.numbers(name)
    return _finite(table, name, np.array([float(cell or "nan") for cell in texts]))


def _finite(table: Table, name: str, values: Array) -> Array:
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        missing = "the number is missing; fill it in or leave the row out"
        said = missing if np.isnan(values[row]) else f"{values[row]} is not finite; give a finite number"
        raise InvalidProblem(f"{table.place(row)}, column '{name}': {said}.")
    return values


def _level(cell: str, value: float | None) -> str:
    """The level that a cell names, the same for all ways to write it."""
    if value is not None:
        return f"{value:.15g}"
    plain = unicodedata.normalize("NFC", cell).strip()
    return plain.casefold() if plain.casefold() in ("true", "false") else plain
