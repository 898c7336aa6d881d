"""Tables with named rows and columns, from arrays, data frames, CSV and Parquet files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.cells import number
from probewise.coordinates import Array
from probewise.dialects import PLAIN, Dialect, fault, numeric_in_some_way, spelled
from probewise.errors import InvalidProblem

TableLike: TypeAlias = Any
"""An array-like, a `Table`, or a data frame of pandas, polars, pyarrow or other kinds that narwhals knows."""

Column: TypeAlias = NDArray[Any] | list[str]
"""Typed numbers or objects of a data frame, or the cells of a CSV file as they were read."""

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "."})
"""Cells that stand for no number."""


def named(names: Iterable[object], *, most: int = 5) -> str:
    """The first ``most`` names, quoted, for a message: 'a', 'b' and 3 more."""
    quoted = [f"'{name}'" for name in names]
    rest = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + rest


def duplicated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, in order."""
    return [name for name, count in Counter(names).items() if count > 1]


@dataclass(frozen=True, eq=False)
class Labelled:
    """A matrix whose rows and columns may have names."""

    values: Array
    """(k, d)."""
    rows: tuple[str, ...] | None = None
    """The k names of the rows, None where the source has none."""
    features: tuple[str, ...] | None = None
    """The d names of the columns, None where the source has none."""


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length, each of numbers or of text."""

    name: str
    """What messages call the table: a file, or "probes" or "items"."""
    header: tuple[str, ...]
    """The names of the columns, all different."""
    columns: tuple[Column, ...]
    """The cells of each column; a list holds unparsed text."""
    lines: tuple[int, ...] | None = None
    """For each row the line of the file on which it starts."""
    index: tuple[str, ...] | None = None
    """Names of the rows that stand outside the columns (the index of a pandas data frame)."""
    dialect: Dialect = PLAIN
    """How the file was written."""
    remarks: tuple[str, ...] = ()
    """What was unusual about the file and was read all the same, in sentences."""

    def __post_init__(self) -> None:
        if twice := duplicated(self.header):
            raise InvalidProblem(f"{self.name} has more than one column called {named(twice)}; rename them.")
        if "" in self.header:
            place = self.header.index("") + 1
            raise InvalidProblem(f"column {place} of {self.name} has no name; call it id if it holds names.")

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def without(self, *dropped: str) -> Table:
        """The same table without the given columns, such as costs that are no features."""
        kept = [(name, column) for name, column in zip(self.header, self.columns, strict=True) if name not in dropped]
        return replace(self, header=tuple(n for n, _ in kept), columns=tuple(c for _, c in kept))

    def rows(self, chosen: ArrayLike) -> Table:
        """The table of some rows: by their numbers, in that order, or by a mask with one entry per row."""
        at = np.arange(len(self))[np.asarray(chosen)].tolist()
        columns = tuple(c[at] if isinstance(c, np.ndarray) else [c[i] for i in at] for c in self.columns)
        lines, index = (part and tuple(part[i] for i in at) for part in (self.lines, self.index))
        return replace(self, columns=columns, lines=lines, index=index)  # type: ignore[arg-type]

    def column(self, name: str) -> Column:
        """The cells of one column."""
        if name not in self.header:
            raise InvalidProblem(f"{self.name} has no column '{name}'; it has {named(self.header, most=10)}.")
        return self.columns[self.header.index(name)]

    def is_text(self, name: str) -> bool:
        """Whether a column is text: by its type or, from CSV, if most of its first cells are no number."""
        cells = self.column(name)
        if isinstance(cells, np.ndarray):
            return bool(cells.dtype.kind not in "biuf")
        filled = [cell for cell in cells[:1000] if cell.casefold() not in MISSING]
        return 2 * sum(not numeric_in_some_way(cell) for cell in filled) > len(filled)

    def numbers(self, name: str) -> Array:
        """One column as an array (k,); a bad cell of a CSV file is named with its line."""
        cells = self.column(name)
        if isinstance(cells, np.ndarray):
            if self.is_text(name):
                raise InvalidProblem(f"column '{name}' of {self.name} must hold numbers, got text.")
            return cells.astype(np.float64)
        found = spelled(cells, self.dialect.decimal)
        out = np.array([found[cell] for cell in cells], dtype=np.float64)  # None becomes NaN
        if not np.isfinite(out).all():
            row = int(np.argmin(np.isfinite(out)))
            raise InvalidProblem(f"{self.place(row)}, column '{name}': {self._fault(cells[row])}.")
        return out

    def text(self, name: str) -> tuple[str, ...]:
        """One column as names, none of them missing."""
        cells = self.column(name)
        values = cells.tolist() if isinstance(cells, np.ndarray) else cells
        for row, cell in enumerate(values):
            if cell is None or cell != cell or cell == "":
                raise InvalidProblem(f"{self.place(row)}, column '{name}': the name is missing; fill it in.")
        return tuple(str(cell) for cell in values)

    def counts(self, name: str) -> Array:
        """(k,): one column of numbers; NaN where the cell is empty, which means no limit."""
        texts = self.texts(name)
        found = spelled(texts, self.dialect.decimal)
        for row, cell in enumerate(texts):
            if cell.strip() and found[cell] is None:
                raise InvalidProblem(
                    f"{self.place(row)}, column '{name}': expected a whole number or an empty cell, got '{cell}'."
                )
        return np.array([found[cell] for cell in texts], dtype=np.float64)

    def texts(self, name: str) -> list[str]:
        """One column as the cells of a file, missing ones empty."""
        cells = self.column(name)
        if isinstance(cells, list):
            return cells
        return [cell if type(cell) is str else as_text(cell) for cell in cells.tolist()]

    def plain(self) -> Table:
        """The same table with numbers spelled plainly, 0.5 for 0,5, in columns that hold nothing but numbers."""
        if self.dialect.decimal == ".":
            return self
        return replace(self, columns=tuple(map(self._respelled, self.columns)), dialect=PLAIN)

    def _respelled(self, column: Column) -> Column:
        if isinstance(column, np.ndarray):
            return column
        found = spelled(column, self.dialect.decimal)
        if any(found[cell] is None for cell in found if cell.casefold() not in MISSING):
            return column
        return [cell if (value := found[cell]) is None or number(cell) == value else as_text(value) for cell in column]

    def place(self, row: int) -> str:
        """Where a row stands, for messages."""
        return f"{self.name}, row {row}" if self.lines is None else f"{self.name}, line {self.lines[row]}"

    def labelled(self, id_column: str | None = None) -> Labelled:
        """All columns as features, except the id column, which names the rows.

        Without ``id_column`` it is the column called "id" in any case, else the only column of text, if any.
        """
        chosen = self._id_column(id_column)
        features = tuple(name for name in self.header if name != chosen)
        if not features:
            raise InvalidProblem(f"{self.name} has no column of features; its columns are {named(self.header)}.")
        if texts := [name for name in features if self.is_text(name)]:
            raise InvalidProblem(
                f"features must be numbers, but {self.name} has text in {named(texts)}; "
                "encode these columns as numbers, leave them out, or name one of them as id_column."
            )
        rows = self.index if chosen is None else self.text(chosen)
        return Labelled(np.column_stack([self.numbers(name) for name in features]), rows, features)

    def _fault(self, cell: str) -> str:
        if cell.casefold() in MISSING:
            return "the number is missing; fill it in or leave the row out"
        return fault(cell, self.dialect.decimal)

    def _id_column(self, wanted: str | None) -> str | None:
        if wanted is not None:
            self.column(wanted)
            return wanted
        found = [name for name in self.header if name.casefold() == "id"]
        found = found or [name for name in self.header if self.is_text(name)]
        if len(found) > 1:
            raise InvalidProblem(
                f"{self.name} has more than one column that may hold names, {named(found)}; say which one by id_column."
            )
        return found[0] if found else None


class RowNumbers(Sequence[str]):
    """The names of rows that have none: "0", "1", …, made when they are asked for."""

    def __init__(self, count: int) -> None:
        self._rows = range(count)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> str | tuple[str, ...]:
        return tuple(map(str, self._rows[at])) if isinstance(at, slice) else str(self._rows[at])

    def __iter__(self) -> Iterator[str]:
        return map(str, self._rows)

    def __contains__(self, name: object) -> bool:
        return self._row(name) is not None

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """The number of the row with this name."""
        row = self._row(name)
        if row is None or row not in range(len(self))[start:stop]:
            raise ValueError(f"no row is called {name!r}.")
        return row

    def _row(self, name: object) -> int | None:
        number = int(name) if isinstance(name, str) and name.isdecimal() and len(name) < 20 else -1
        return number if number in self._rows and str(number) == name else None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RowNumbers):
            return len(self) == len(other)
        return isinstance(other, tuple) and len(self) == len(other) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"RowNumbers({len(self)})"


Names: TypeAlias = tuple[str, ...] | RowNumbers
"""Names of rows: as they were given, or their numbers."""


def as_text(cell: Any) -> str:
    """A cell of a data frame as a file would have it."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(cell).removesuffix(".0") if isinstance(cell, float) else str(cell)


def labelled(source: TableLike, *, name: str, id_column: str | None = None) -> Labelled:
    """A matrix (k, d), perhaps not finite, and its names, from an array-like, `Table` or data frame."""
    if isinstance(source, Table):
        return source.labelled(id_column)
    if isinstance(source, Labelled):
        return source
    if not isinstance(source, np.ndarray | Sequence):
        table = frame_table(source, name)
        if table is not None:
            return table.labelled(id_column)
    matrix = numeric(source, name)
    if matrix.ndim != 2:
        raise InvalidProblem(
            f"{name} must be a table with one row per {name.removesuffix('s')}, got shape {matrix.shape}; "
            "a single feature needs the shape (number of rows, 1)."
        )
    return Labelled(matrix)


def numeric(values: ArrayLike, name: str) -> Array:
    """A float64 copy of an array-like of any shape; masked entries become NaN."""
    try:
        array = np.ma.asanyarray(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"values of type {array.dtype}")
        return np.asarray(np.ma.filled(array.astype(np.float64), np.nan))  # the first of which is a copy
    except (TypeError, ValueError, OverflowError) as error:
        kind = type(values).__name__
        raise InvalidProblem(f"{name} must hold numbers only, got a {kind} that does not ({error}).") from None


def frame_table(source: object, name: str) -> Table | None:
    """The `Table` of a data frame, with a pandas index as names of the rows; None for anything else."""
    import narwhals.stable.v2 as nw  # only here: arrays need no data frame library

    try:
        frame = nw.from_native(source, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        names = " ".join(str(error).split()).rstrip(".")
        raise InvalidProblem(f"{name} has columns of the same name ({names}); rename them.") from None
    if not isinstance(frame, nw.DataFrame):
        return None
    index = nw.maybe_get_index(frame)
    rows = None if index is None else tuple(str(label) for label in index)
    header = tuple(str(column) for column in frame.columns)
    return Table(name, header, tuple(_cells(series) for series in frame.iter_columns()), index=rows)


def _cells(series: Any) -> NDArray[Any]:
    """(k,): numbers, missing ones as NaN, or objects, missing ones as None, of a narwhals series."""
    import narwhals.stable.v2 as nw

    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        values: NDArray[Any] = series.to_numpy()
        return values if values.dtype.kind in "biuf" else series.cast(nw.Float64).to_numpy()
    missing = series.is_null().to_list()
    text = (None if gone else cell for cell, gone in zip(series.to_list(), missing, strict=True))
    return np.fromiter(text, dtype=object, count=len(missing))
