"""Reading tables from files: spreadsheets, Parquet, and CSV of any dialect."""

from __future__ import annotations

import csv
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probewise import spreadsheets
from probewise.cells import csv_records, number, separator_of, unguarded
from probewise.dialects import PLAIN, Dialect, Undecided, decimal_shown, decimal_sign, decoded, spelled
from probewise.errors import InvalidProblem
from probewise.parquet import NO_READER, REFUSED, handed_over
from probewise.tables import MISSING, Column, Table, TableLike, as_text, frame_table, named

_SPREADSHEET = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # xlsx and ods; xls


def table_of(source: TableLike, name: str) -> Table:
    """The `Table` of a data frame, of the path of a file, or of a `Table`."""
    if isinstance(source, Table):
        return source
    if isinstance(source, str | Path):
        return read_table(source)
    table = None if isinstance(source, np.ndarray | Sequence) else frame_table(source, name)
    if table is None:
        kind = type(source).__name__
        raise InvalidProblem(f"{name} must be a data frame or the path of a table, got {kind}; arrays go to Problem.")
    return table


def read_table(path: str | Path) -> Table:
    """The `Table` of a spreadsheet (.xlsx, .ods), a Parquet file (.parquet, .pq) or a CSV file of any dialect."""
    path = Path(path)
    if not path.is_file():
        raise InvalidProblem(f"there is no file {path}; check the name and the folder.")
    ending = path.suffix.casefold()
    if ending in spreadsheets.ENDINGS:
        return _read_spreadsheet(path)
    return _read_parquet(path) if ending in {".parquet", ".pq"} else _read_csv(path)


def _read_parquet(path: Path) -> Table:
    parts = handed_over(path)
    about = json.loads(bytes(parts.pop("about")))
    columns = (parts[str(at)] for at in range(len(about["header"])))
    cells = (_objects(json.loads(bytes(c))) if text else c for c, text in zip(columns, about["text"], strict=True))
    return Table(path.name, tuple(about["header"]), tuple(cells), index=about["index"] and tuple(about["index"]))


def hand_over(module: str, function: str, path: str, out: str) -> None:
    """Read a Parquet file and write its columns: what the other process of ``parquet`` does, which may crash."""
    try:
        table = frame_table(getattr(importlib.import_module(module), function)(path), Path(path).name)
        assert table is not None
    except ImportError:  # pandas is there, but no engine for Parquet
        sys.exit(NO_READER)
    except MemoryError:
        sys.stderr.write("\nit needs more memory than a file of its size should")
        sys.exit(REFUSED)
    except BaseException as error:  # a panic of polars is no Exception
        sys.stderr.write("\n" + str(error).strip().partition("\n")[0])
        sys.exit(REFUSED)
    text = [isinstance(column, list) or column.dtype.kind not in "biuf" for column in table.columns]
    about = {"header": table.header, "text": text, "index": table.index}
    parts: dict[str, Any] = {"about": _bytes(about)}
    for at, (column, words) in enumerate(zip(table.columns, text, strict=True)):
        parts[str(at)] = _bytes(_texts(column)) if words else column
    np.savez(out, **parts)


def _texts(column: Column) -> list[str | None]:
    return [None if cell is None or cell != cell else str(cell) for cell in column]


def _bytes(value: object) -> NDArray[Any]:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def _objects(values: list[str | None]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def _read_spreadsheet(path: Path) -> Table:
    """Numbers that the program knows as such stay so; other cells are text, read as in a CSV file."""
    (_, first), *rows = spreadsheets.records(path)
    header = [unguarded(cell) if isinstance(cell, str) else as_text(cell) for cell in first]
    cells = [[row[at] for _, row in rows] for at in range(len(header))]
    return _table(path, header, [_typed(column) for column in cells], [line for line, _ in rows], PLAIN)


def _typed(cells: list[spreadsheets.Cell]) -> Column:
    """(k,) numbers, NaN where there is none, if they are known as such or cannot be anything else; else text."""
    words = [unguarded(cell) for cell in cells if isinstance(cell, str) and cell.strip()]
    if len(words) < len(cells) and not all(isinstance(cell, str) for cell in cells):
        found = spelled(words, next((sign for sign in map(decimal_shown, words) if sign), ""))
        if None not in found.values():
            plain = (cell if isinstance(cell, float) else found.get(unguarded(cell)) for cell in cells)
            values = np.array(list(plain), dtype=np.float64)
            whole = bool(np.isfinite(values).all()) and bool((values == np.rint(values)).all())
            return values.astype(np.int64) if whole and np.abs(values).max() < 2**53 else values
    return [unguarded(cell) if isinstance(cell, str) else as_text(cell) for cell in cells]


def _read_csv(path: Path) -> Table:
    """Cells as text, unguarded; empty lines are skipped and a byte order mark is ignored."""
    content = path.read_bytes()
    if content.startswith(_SPREADSHEET):
        raise InvalidProblem(
            f"{path.name} is a spreadsheet; give it the ending .xlsx or .ods that it had, or save it as CSV (UTF-8)."
        )
    try:
        text, encoding = decoded(content)
        separator = separator_of(text)
        records = list(csv_records(text, separator))
    except Undecided as error:
        raise InvalidProblem(f"{path.name} {error}; save it as CSV in UTF-8 or as Parquet.") from None
    except csv.Error as error:
        reason, line = error.args
        raise InvalidProblem(f"{path.name}, line {line}: the line cannot be split into cells ({reason}).") from None
    if not records:
        raise InvalidProblem(f"{path.name} is empty; its first line must name the columns.")
    (_, header), *rows = records
    for line, cells in rows:
        if len(cells) != len(header):
            raise InvalidProblem(
                f"{path.name}, line {line}: expected {len(header)} cells as in the header, got {len(cells)}; "
                "quote cells that contain the separator."
            )
    columns: list[Column] = [[cells[at] for _, cells in rows] for at in range(len(header))]
    return _table(path, header, columns, [line for line, _ in rows], Dialect(separator, encoding=encoding))


def _table(path: Path, header: list[str], columns: list[Column], lines: list[int], dialect: Dialect) -> Table:
    """The table of columns with their names; the decimal sign is what columns of text show."""
    if all(number(cell) is not None for cell in header):
        raise InvalidProblem(f"the first line of {path.name} must name the columns, got numbers: {named(header)}.")
    # spreadsheets write columns that are wholly empty
    kept = [(n, c) for n, c in zip(header, columns, strict=True) if n or isinstance(c, np.ndarray) or any(c)]
    texts = [column for _, column in kept if isinstance(column, list)]
    try:
        dialect = replace(dialect, decimal=decimal_sign(texts, lines, dialect.separator, MISSING))
    except Undecided as error:
        raise InvalidProblem(f"{path.name} {error}; write all numbers of a table alike.") from None
    names, cells = tuple(name for name, _ in kept), tuple(column for _, column in kept)
    return Table(path.name, names, cells, tuple(lines), None, dialect, _remarks(path, dialect))


def _remarks(path: Path, dialect: Dialect) -> tuple[str, ...]:
    """What a reader should know of a file that is not written in the plainest way."""
    out = []
    if dialect.encoding == "cp1252":
        out.append(f"{path.name} is not UTF-8; it was read as Windows text, so look at its special letters.")
    if dialect.decimal == ",":
        out.append(f"{path.name} has decimal commas: 0,5 is read as one half.")
    return tuple(out)
