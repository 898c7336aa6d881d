"""Writing tables to files: CSV, Parquet or .xlsx, as the ending of the name says."""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import IO, Any

import numpy as np

from probewise.cells import csv_lines, guarded, number
from probewise.errors import InvalidTable, MissingExtra
from probewise.files import new_file
from probewise.spreadsheets import OURS
from probewise.tables import Table, as_text

ENDINGS = (".csv", ".parquet", ".xlsx")
"""Endings of the files that tables can be written to."""

_SPARE = 20
"""Columns to the right of a sheet that may be filled in."""
_ROWS = 1 << 20
"""Largest number of rows of a sheet."""


def write_table(table: Table, path: str | Path) -> None:
    """Write all columns, numbers as numbers, to a file that appears when it is whole."""
    path = Path(path)
    ending = path.suffix.casefold()
    if ending not in ENDINGS:
        raise InvalidTable(f"tables are written as {', '.join(ENDINGS)}, got the name {path}; choose one of these.")
    if ending == ".csv":
        with new_file(path) as file:
            file.writelines(csv_lines([table.header]))
            file.writelines(csv_lines(zip(*(table.texts(name) for name in table.header), strict=True)))
        return
    columns = {name: list(column) for name, column in zip(table.header, table.columns, strict=True)}
    _write_bytes(path, _parquet(columns) if ending == ".parquet" else _xlsx(columns, path))


def write_sheet(
    path: str | Path,
    columns: Mapping[str, Sequence[Any]],
    *,
    fill: Sequence[str],
    low: float = -math.inf,
    high: float = math.inf,
) -> None:
    """Write a spreadsheet to fill in: headings stay in view, and only the columns ``fill`` and new ones can be changed.

    The column takes numbers from ``low`` to ``high`` only. The sheet is protected without a password.
    """
    _write_bytes(Path(path), _xlsx(columns, Path(path), fill=fill, limits=(low, high)))


def _write_bytes(path: Path, content: bytes) -> None:
    with new_file(path) as file:
        _binary(file).write(content)


def _binary(file: IO[str]) -> IO[bytes]:
    """The bytes below a text file."""
    return file.buffer  # type: ignore[attr-defined, no-any-return]


def _parquet(columns: Mapping[str, Sequence[Any]]) -> bytes:
    if importlib.util.find_spec("polars") is None:
        raise MissingExtra("writing Parquet files needs polars; install probewise[parquet] or write CSV.")
    import polars

    out = io.BytesIO()
    polars.DataFrame({name: polars.Series(cells) for name, cells in columns.items()}).write_parquet(out)
    return out.getvalue()


def _xlsx(
    columns: Mapping[str, Sequence[Any]],
    path: Path,
    *,
    fill: Sequence[str] = (),
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> bytes:
    if importlib.util.find_spec("openpyxl") is None:
        raise MissingExtra(f"writing {path.name} needs openpyxl; install probewise[spreadsheet] or write CSV.")
    rows = len(next(iter(columns.values()), ()))
    if rows >= _ROWS:
        raise InvalidTable(f"{path.name} would have {rows:,} rows, and a sheet has {_ROWS - 1:,} at most; write CSV.")
    import openpyxl
    from openpyxl.styles import Font

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = OURS
    for at, (name, cells) in enumerate(columns.items(), 1):
        for row, value in enumerate((name, *cells), 1):
            _set(sheet.cell(row, at), value)
        sheet.cell(1, at).font = Font(bold=True)
        widest = max((len(str(cell)) for cell in (name, *cells[:200]) if cell is not None), default=8)
        sheet.column_dimensions[sheet.cell(1, at).column_letter].width = min(max(widest + 2, 9), 60)
    sheet.freeze_panes = "A2"
    if fill:
        _guard(sheet, [list(columns).index(name) + 1 for name in fill], rows, limits)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _set(cell: Any, value: Any) -> None:
    """A number as a number, also if it comes as text, and text as text, which computes nothing."""
    if isinstance(value, str) and (found := number(value)) is not None and as_text(found) == value:
        value = found
    if isinstance(value, str):
        cell.value = guarded(value)
        cell.data_type = "s"
    else:
        cell.value = value.item() if isinstance(value, np.generic) else value


def _guard(sheet: Any, fill: Sequence[int], rows: int, limits: tuple[float, float]) -> None:
    """Unlock some columns and what is to the right of all, lock the rest; the first of them takes numbers only."""
    from openpyxl.styles import PatternFill, Protection
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    free = Protection(locked=False)
    for row, column in product(range(2, rows + 2), fill):
        cell = sheet.cell(row, column)
        cell.protection = free
        cell.fill = PatternFill("solid", fgColor="FFF7DC")
    for at in range(sheet.max_column + 1, sheet.max_column + 1 + _SPARE):
        sheet.column_dimensions[get_column_letter(at)].protection = free
    low, high = (
        limit if math.isfinite(limit) else sign * 1e300 for limit, sign in zip(limits, (-1.0, 1.0), strict=True)
    )
    finite = all(map(math.isfinite, limits))
    said = (
        f"Enter a number from {limits[0]:g} to {limits[1]:g}." if finite else "Enter a number, or leave the cell empty."
    )
    rule = DataValidation("decimal", operator="between", formula1=repr(low), formula2=repr(high), allow_blank=True)
    rule.error, rule.errorTitle, rule.showErrorMessage = said, "No number", True
    rule.add(f"{get_column_letter(fill[0])}2:{get_column_letter(fill[0])}{rows + 1}")
    sheet.add_data_validation(rule)
    sheet.protection.sheet = True
    for allowed in ("sort", "autoFilter", "formatColumns", "formatRows", "formatCells", "insertColumns", "insertRows"):
        setattr(sheet.protection, allowed, False)  # False: not forbidden
