"""Given: the rows of any table that somebody fills in, cell by cell as they were given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from probewise import cells
from probewise.campaign.exchange.rows import SPREADS, Rows
from probewise.campaign.state.charter import Charter
from probewise.dialects import Dialect, fault, spelled
from probewise.errors import InvalidProblem, InvalidRows
from probewise.reading import read_table
from probewise.tables import Table, named

Tabular = Any
"""A file, a data frame, a `Table`, rows as dictionaries, or a mapping from ids to outcomes."""

_LONG = 100
"""Letters of a cell that a message shows."""


@dataclass(frozen=True)
class Line:
    """One row of a table as it was given."""

    where: str
    """Table and line or row, for messages."""
    cells: Mapping[str, Any]
    """Name of a column -> cell; None where it is empty."""
    heading: str = "outcome"
    """What the table calls the column of outcomes."""
    value: float | None = None
    """The outcome, if it was looked at already."""
    tally: tuple[int, float | None] | None = None
    """How many rows from this one on were told together by their mean, and how they scatter about it."""

    def fault(self, column: str, expected: str) -> InvalidRows:
        """What is wrong with a cell."""
        value, column = self.cells.get(column), self.heading if column == "outcome" else column
        got = "nothing" if value is None else _short(value)
        return InvalidRows(f"{self.where}, column '{column}': got {got}, {expected}; nothing was recorded.")


def lines(table: Tabular, first: str, charter: Charter) -> list[Line]:
    """The rows of anything that may be a table; it must have a column called ``first`` and one of outcomes.

    Where a file does not show its decimal sign, it is the one that sheets are written with.
    """
    names = charter.told[1:2] if charter.aggregated else charter.quantity.columns
    numbers = SPREADS if charter.by_means else charter.told[1:] if charter.weighted else ()
    if isinstance(table, str | Path):
        table = _file(Path(table))
    if isinstance(table, Rows):
        table = list(table)
    if isinstance(table, Mapping):
        table = [{first: own, "outcome": value} for own, value in table.items()]
    if isinstance(table, Sequence):
        return _dictionaries(table, first, names)
    return _table(table, first, names, charter.dialect, numbers)


def _heading(header: Iterable[str], first: str, names: Sequence[str], where: str, word: str = "") -> str:
    """What a table calls the column of outcomes; it must have it once, and the first column."""
    given = list(header)
    found = [name for name in names if name in given]
    missing = [name for name, there in ((first, first in given), (names[0], bool(found))) if not there]
    if missing:
        raise InvalidRows(f"{where} has no {word}{named(missing)}; it has {named(given, most=10)}.")
    if len(found) > 1:
        raise InvalidRows(f"{where} has {named(found)}, which may all be the outcomes; keep one of these columns.")
    return found[0]


def _renamed(cells: Mapping[str, Any], heading: str) -> dict[str, Any]:
    return {"outcome" if name == heading else name: value for name, value in cells.items()}


def _file(path: Path) -> Table:
    try:
        return read_table(path)
    except InvalidProblem as error:
        raise InvalidRows(str(error)) from None


def _dictionaries(rows: Sequence[Any], first: str, names: Sequence[str]) -> list[Line]:
    out = []
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidRows(f"row {number} must be a dictionary with {named((first, names[0]))}, got {row!r}.")
        heading = _heading(row, first, names, f"row {number}")
        cells = {name: _cell(value) for name, value in row.items()}
        out.append(Line(f"row {number}", _renamed(cells, heading), heading))
    return out


def _table(source: Any, first: str, names: Sequence[str], written: Dialect, numbers: Sequence[str]) -> list[Line]:
    """A `Table` or a data frame, where NaN stands for an empty cell."""
    from probewise.tables import frame_table

    table = source if isinstance(source, Table) else frame_table(source, "the table")
    if table is None:
        wanted = named((first, names[0]))
        raise InvalidRows(f"rows are a table with the columns {wanted}, got {type(source).__name__}.")
    heading = _heading(table.header, first, names, table.name, "column ")
    columns = [
        _spelled(table, name, written)
        if name == heading or name in numbers
        else column.tolist()
        if isinstance(column, np.ndarray)
        else column
        for name, column in zip(table.header, table.columns, strict=True)
    ]
    cells = ([None if value != value else _cell(value) for value in row] for row in zip(*columns, strict=True))
    header = [*_renamed(dict.fromkeys(table.header), heading)]
    return [Line(table.place(at), dict(zip(header, row, strict=True)), heading) for at, row in enumerate(cells)]


def _spelled(table: Table, heading: str, written: Dialect) -> list[Any]:
    """Outcomes as numbers, where the file writes them in a way of its own; what could be two numbers is refused."""
    column, decimal = table.column(heading), table.dialect.decimal
    if not decimal and table.dialect.separator == written.separator:
        decimal = written.decimal
    if isinstance(column, np.ndarray) or decimal == ".":
        return column.tolist() if isinstance(column, np.ndarray) else column
    found = spelled(column, decimal)
    for row, cell in enumerate(column):
        if found[cell] is None and cells.number(cell.replace(",", ".")) is not None:
            reason = fault(cell, decimal)
            raise InvalidRows(f"{table.place(row)}, column '{heading}': {reason}; nothing was recorded.")
    return [cell if found[cell] is None or cells.number(cell) is not None else found[cell] for cell in column]


def _short(value: Any) -> str:
    """A cell for a message; a number may have thousands of digits."""
    if isinstance(value, int) and abs(value) >= 10**60:
        return "a whole number of more than 60 digits"
    text = repr(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


def _cell(value: Any) -> Any:
    """A cell as None if empty, or as one of Python's own numbers; names keep their blanks."""
    if isinstance(value, str):
        return value if value.strip() else None
    return value.item() if isinstance(value, np.generic) else value
