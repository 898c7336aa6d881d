"""Parquet data sets as items: row groups are read where they are looked at, names only of the few that are shown."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from probewise.errors import InvalidProblem, MissingExtra
from probewise.shards.engine import engine_of
from probewise.shards.items import Origin, Shards, in_shards
from probewise.shards.pieces import Piece
from probewise.tables import named

_ROWS = 1_000_000
"""Rows of a piece, if nothing else is said."""


@dataclass(frozen=True)
class _Groups:
    """Some row groups of a file, to be read by whoever calls it."""

    path: str
    """The file."""
    groups: tuple[int, ...]
    """Numbers of its row groups."""
    columns: tuple[str, ...]
    """Columns to read."""
    first: int
    """Number of the first row among all items."""

    @property
    def column(self) -> Any:
        """The first column as it is."""
        return _file(Path(self.path)).read_row_groups(list(self.groups), columns=list(self.columns[:1])).column(0)

    def __call__(self) -> Piece:
        """The rows, in single precision if all columns are."""
        table = _parquet().ParquetFile(self.path).read_row_groups(list(self.groups), columns=list(self.columns))
        kind = np.float32 if all(str(table.schema.field(name).type) == "float" for name in self.columns) else np.float64
        rows = np.empty((table.num_rows, len(self.columns)), dtype=kind)
        for at, name in enumerate(self.columns):
            rows[:, at] = table.column(name).to_numpy()
        return Piece(rows, self.first)


@dataclass(frozen=True)
class _Names:
    """Names of items, each read when it is asked for."""

    files: tuple[_Groups, ...]
    """The pieces, with the column of names instead of those of features."""
    known: dict[int, str] = field(default_factory=dict, compare=False, repr=False)
    """Names that were read."""

    def __call__(self, number: int) -> str:
        """The name of one item."""
        if number not in self.known:
            self.known[number] = self._read(number)
        return self.known[number]

    def number(self, name: str) -> int | None:
        """The number of the item of that name; all names are read unless it is known."""
        for number, known in self.known.items():
            if known == name:
                return number
        import pyarrow.compute

        for own in self.files:
            cells = own.column.cast("string")
            if (at := int(pyarrow.compute.index(cells, name).as_py())) >= 0:
                self.known[own.first + at] = name
                return own.first + at
        return None

    def every(self) -> tuple[str, ...]:
        """All of them; an empty cell is called by its row number."""
        cells = (cell for own in self.files for cell in own.column.to_pylist())
        return tuple(str(number) if cell is None else str(cell) for number, cell in enumerate(cells))

    def _read(self, number: int) -> str:
        own = max((groups for groups in self.files if groups.first <= number), key=lambda groups: groups.first)
        file, left = _parquet().ParquetFile(own.path), number - own.first
        for group in own.groups:
            rows = file.metadata.row_group(group).num_rows
            if left < rows:
                cell = file.read_row_group(group, columns=list(own.columns)).column(0)[left].as_py()
                return str(number) if cell is None else str(cell)
            left -= rows
        raise IndexError(number)


def items_from_parquet(
    pattern: str | Path | Sequence[str | Path],
    *,
    columns: Sequence[str] | None = None,
    names: str | None = None,
    scheduler: Any = None,
    size: int = _ROWS,
) -> Shards:
    """Items from Parquet files: a file, a folder, a pattern such as "library/*.parquet", or several files in order.

    ``columns`` are the features, by default all columns but ``names``, which are read of the few items that are shown.
    Pieces of ``size`` rows, as far as files and row groups allow, are kept by the workers of Dask: of the ``scheduler``
    at an address, of a client, of the cluster in use, or of one that is started on this machine. With "here" they are
    kept in this process.
    """
    files = _files(pattern)
    first = _file(files[0])
    wanted = tuple(columns) if columns is not None else tuple(n for n in first.schema_arrow.names if n != names)
    needed = [*wanted, *([] if names is None else [names])]
    groups: list[_Groups] = []
    row = 0
    for path in files:
        file = first if path == files[0] else _file(path)
        if absent := [name for name in needed if name not in file.schema_arrow.names]:
            raise InvalidProblem(f"{path} has no column {named(absent)}; it has {named(file.schema_arrow.names)}.")
        for name in wanted:
            kind = file.schema_arrow.field(name).type
            if not str(kind).startswith(("float", "double", "int", "uint", "halffloat")):
                raise InvalidProblem(
                    f"column '{name}' of {path} must hold numbers, got {kind}; leave it out (columns=)."
                )
        for some, rows in _portions([file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)], size):
            groups.append(_Groups(str(path), some, wanted, row))
            row += rows
    if not row:
        raise InvalidProblem(f"{named(map(str, files))} have no rows; items need at least one.")
    engine = engine_of(scheduler)
    pieces, origin = engine.loaded(groups), Origin(tuple(path.resolve() for path in files), wanted, names)
    if names is None:
        return in_shards(engine, pieces, features=wanted, origin=origin)
    labels = _Names(tuple(_Groups(g.path, g.groups, (names,), g.first) for g in groups))
    return in_shards(
        engine, pieces, features=wanted, label=labels, number=labels.number, every=labels.every, origin=origin
    )


def all_different(origin: Origin) -> None:
    """Refuse names of items that are missing or that several items have."""
    if origin.names is None:
        return
    import pyarrow.compute

    tables = [_file(path).read(columns=[origin.names]).column(0) for path in origin.files]
    names = pyarrow.chunked_array([chunk.cast("string") for column in tables for chunk in column.chunks])
    if names.null_count:
        raise InvalidProblem(f"every item needs a name, but {names.null_count:,} cells of '{origin.names}' are empty.")
    if pyarrow.compute.count_distinct(names).as_py() < len(names):
        counts = pyarrow.compute.value_counts(names)
        twice = counts.filter(pyarrow.compute.greater(counts.field("counts"), 1)).field("values")[:3].to_pylist()
        raise InvalidProblem(f"every item needs its own name, but several are called {named(twice)}; rename them.")


def columns_of(pattern: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    """The columns of the first of some Parquet files."""
    return tuple(_file(_files(pattern)[0]).schema_arrow.names)


def _portions(rows: Sequence[int], size: int) -> list[tuple[tuple[int, ...], int]]:
    """Consecutive row groups that make up a piece, and how many rows it has."""
    out: list[tuple[tuple[int, ...], int]] = []
    some: list[int] = []
    for at, count in enumerate(rows):
        if some and sum(rows[own] for own in some) + count > size:
            out.append((tuple(some), sum(rows[own] for own in some)))
            some = []
        some.append(at)
    return [*out, (tuple(some), sum(rows[own] for own in some))] if some else out


def _files(pattern: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files that are meant, those of a pattern or a folder in the order of their names."""
    if not isinstance(pattern, str | Path):
        found = [Path(path) for path in pattern]
    elif Path(pattern).is_dir():
        found = sorted(Path(pattern).glob("*.parquet"))
    else:
        found = sorted(map(Path, glob.glob(str(pattern))))
    if not found:
        raise InvalidProblem(f"there is no Parquet file {pattern}; check the name, the folder or the pattern.")
    return found


def _file(path: Path) -> Any:
    """An open file, of which only the footer has been read."""
    try:
        return _parquet().ParquetFile(str(path))
    except MissingExtra:
        raise
    except Exception as error:  # pyarrow raises several kinds
        reason = str(error).partition("\n")[0]
        raise InvalidProblem(f"{path} cannot be read as Parquet: {reason.rstrip('.')}.") from None


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(
            "items from Parquet files need pyarrow; install it with: pip install 'probewise[dask]'."
        ) from None
    return pyarrow.parquet
