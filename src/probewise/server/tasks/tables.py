"""Tables that people upload: read within limits, whatever they are."""

from __future__ import annotations

import zipfile
from pathlib import Path

from probewise.errors import InvalidProblem, ProbewiseError
from probewise.numerals import plural
from probewise.reading import read_table
from probewise.tables import Table

ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".ods", ".parquet", ".pq")
"""How the names of tables end."""


def checked_table(file: str, limits: dict[str, int], error: type[ProbewiseError] = InvalidProblem) -> Table:
    """The table of a file that was uploaded."""
    path = Path(file)
    if path.suffix.casefold() not in ENDINGS:
        raise error(f"'{path.name}' is no table that can be read; give CSV, .xlsx, .ods or .parquet.")
    _check_unpacked(path, limits.get("unpacked", 2**30), error)
    try:
        table = read_table(path)
    except InvalidProblem as found:
        raise error(str(found).replace(str(path), path.name)) from None
    sizes = {"rows": len(table), "columns": len(table.header), "cells": len(table) * len(table.header)}
    for what, size in sizes.items():
        if size > limits.get(what, size):
            raise error(
                f"{path.name} has {size:,} {what}, and this server takes {limits[what]:,}; use the command line."
            )
    return table


def _check_unpacked(path: Path, most: int, error: type[ProbewiseError]) -> None:
    """Refuse an archive that says it holds too much; what a member says is the limit of what is read of it."""
    if path.suffix.casefold() not in (".xlsx", ".ods"):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):
        raise error(f"{path.name} is not a spreadsheet, whatever its name says; save it again, or as CSV.") from None
    size = sum(member.file_size for member in members)
    if len(members) > 10_000 or size > most:
        raise error(
            f"{path.name} unpacks to {size:,} bytes in {plural(len(members), 'part')}, and this server takes "
            f"{most:,}; save it as CSV."
        )
