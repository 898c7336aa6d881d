"""Spreadsheets: the cells of .xlsx and .ods files as text, row by row, whatever people did to the file."""

from __future__ import annotations

import importlib.util
import io
import math
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from probewise.errors import InvalidProblem, MissingExtra

Cell = str | float
"""Text as a CSV file would have it, or a number, about which there is no doubt."""
Numbered = tuple[int, list[Cell]]
"""The number of a row, from 1, and its cells."""

ENDINGS = (".xlsx", ".xlsm", ".ods")
OURS = "measure"
"""The sheet that is written to be filled in."""
_LARGEST = 1 << 29
"""Bytes that a file may unpack to."""
_WIDEST = 16384
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def records(path: Path) -> list[Numbered]:
    """The rows of the one sheet that has any, without blank ones; ours if there are several."""
    content = _checked(path)
    try:
        sheets = dict(_ods(content) if path.suffix.casefold() == ".ods" else _xlsx(path, content))
    except (InvalidProblem, MissingExtra):
        raise
    except Exception as error:  # whatever a damaged file makes of its reader
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InvalidProblem(f"{path.name} cannot be read as a spreadsheet: {reason:.200}.") from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    if not filled:
        raise InvalidProblem(f"{path.name} is empty; its first row must name the columns.")
    if len(filled) > 1 and OURS not in filled:
        names = ", ".join(f"'{name}'" for name in filled)
        raise InvalidProblem(
            f"{path.name} has several sheets with cells, {names}; keep one of them, or save it as CSV."
        )
    rows = filled.get(OURS) or next(iter(filled.values()))
    width = max(len(cells) for _, cells in rows)
    return [(number, [*cells, *[""] * (width - len(cells))]) for number, cells in rows]


def _checked(path: Path) -> bytes:
    """The bytes of a file that does not unpack to more than memory holds."""
    content = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except zipfile.BadZipFile:
        raise InvalidProblem(f"{path.name} is not a spreadsheet, despite its name; save it again, or as CSV.") from None
    if size > _LARGEST:
        raise InvalidProblem(f"{path.name} unpacks to {size / 1e9:.1f} GB; save it as CSV or Parquet.")
    return content


def _cell(value: Any) -> Cell:
    """A number as such, anything else as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else str(value)


def _kept(rows: Iterator[Numbered]) -> list[Numbered]:
    """Rows with cells, without the blank cells at their ends."""
    out = []
    for number, cells in rows:
        while cells and not str(cells[-1]).strip():
            cells.pop()
        if cells:
            out.append((number, cells))
    return out


def _xlsx(path: Path, content: bytes) -> Iterator[tuple[str, list[Numbered]]]:
    if importlib.util.find_spec("openpyxl") is None:
        raise MissingExtra(f"reading {path.name} needs openpyxl; install probewise[spreadsheet] or save it as CSV.")
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    for sheet in book.worksheets:
        rows = enumerate(sheet.iter_rows(values_only=True), 1)
        yield sheet.title, _kept((number, [_cell(cell) for cell in cells]) for number, cells in rows)
    book.close()


def _ods(content: bytes) -> Iterator[tuple[str, list[Numbered]]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        body = ElementTree.fromstring(archive.read("content.xml"))
    for sheet in body.iter(f"{_TABLE}table"):
        yield sheet.get(f"{_TABLE}name", ""), _kept(_ods_rows(sheet))


def _ods_rows(sheet: ElementTree.Element) -> Iterator[Numbered]:
    number = 1
    for row in sheet.iter(f"{_TABLE}table-row"):
        cells: list[Cell] = []
        for cell in row:
            if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                repeats = int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
                cells += [_ods_cell(cell)] * min(repeats, _WIDEST - len(cells))
        repeats = int(row.get(f"{_TABLE}number-rows-repeated", "1"))
        filled = any(cell != "" for cell in cells)
        for at in range(repeats if filled else 0):
            yield number + at, list(cells)
        number += repeats


def _ods_cell(cell: ElementTree.Element) -> Cell:
    kind = cell.get(f"{_OFFICE}value-type")
    if kind in ("float", "percentage", "currency"):
        value = float(cell.get(f"{_OFFICE}value", "nan"))
        return value if math.isfinite(value) else "#N/A"
    if kind == "boolean":
        return str(cell.get(f"{_OFFICE}boolean-value", "")).upper()
    if kind in ("date", "time"):
        return str(cell.get(f"{_OFFICE}{kind}-value", ""))
    return "\n".join("".join(part.itertext()) for part in cell if part.tag == f"{_TEXT}p")
