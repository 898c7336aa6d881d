"""Writing tables to files: CSV or Parquet, as the ending of the name says."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from typing import IO, Any

from probewise.cells import csv_lines
from probewise.errors import InvalidTable, MissingExtra
from probewise.files import new_file
from probewise.tables import Table

ENDINGS = (".csv", ".parquet")
"""Of the files that tables can be written to."""


def write_table(table: Table, path: str | Path) -> None:
    """Write all columns, numbers as numbers, to a file that appears when it is whole."""
    path = Path(path)
    ending = path.suffix.casefold()
    if ending not in ENDINGS:
        raise InvalidTable(f"tables are written as {', '.join(ENDINGS)}, got the name {path}; choose one of these.")
    if ending == ".parquet":
        content = _parquet(table)
        with new_file(path) as file:
            _binary(file).write(content)
        return
    with new_file(path) as file:
        file.writelines(csv_lines([table.header]))
        file.writelines(csv_lines(zip(*(table.texts(name) for name in table.header), strict=True)))


def _binary(file: IO[str]) -> IO[bytes]:
    """The bytes below a text file."""
    return file.buffer  # type: ignore[attr-defined, no-any-return]


def _parquet(table: Table) -> bytes:
    if importlib.util.find_spec("polars") is None:
        raise MissingExtra("writing Parquet files needs polars; install probewise[parquet] or write CSV.")
    import polars

    columns: dict[str, Any] = dict(zip(table.header, table.columns, strict=True))
    out = io.BytesIO()
    polars.DataFrame(
        {name: polars.Series(list(c) if c.dtype == object else c) for name, c in columns.items()}
    ).write_parquet(out)
    return out.getvalue()
