"""Cells: text and numbers as they stand in files and on screens, so that nothing but their reader acts on them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

UNSEEN = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
"""Control codes, line and direction marks, and halves of characters: what acts on a screen or cannot be written."""
_ACTS = "=+@\uff1d\uff0b\uff20\uff0d-"  # a spreadsheet computes what follows; the wide ones in some countries
_HIDDEN = re.compile(f"[{UNSEEN}]")
_SPECIAL = re.compile(rf"^'|^[{_ACTS}].|;[\"' ]*[{_ACTS}]|^\s|\s\Z|[{UNSEEN}]", re.S)
_SIGNED = re.compile(r"[+-]([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_CODED = re.compile(rf"[\\;{UNSEEN}]|^\s|\s\Z")
_CODE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(\\))")
_NUMBER = re.compile(r"[+-]?(?:([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.I | re.A)
_SAID = re.compile("sep=(.)", re.I)
_LONG = 60
_QUOTED = re.compile('[",;\t\r\n]')


def visible(text: str) -> str:
    r"""Text for a screen: what would act on it is shown as a code such as \x1b."""
    return _HIDDEN.sub(_code, text)


def guarded(text: str) -> str:
    r"""Text for a cell of a file: an apostrophe first where a spreadsheet would compute, and codes for what is unseen.

    "=1+1" becomes "'=1+1", and "hot" with a blank at its end becomes "'hot\x20". Numbers and most texts stay as they
    are; ``unguarded`` gives back every text as it was.
    """
    if not _SPECIAL.search(text) or _SIGNED.fullmatch(text):
        return text
    return "'" + _CODED.sub(_code, text)


def unguarded(cell: str) -> str:
    """The text of a cell: what ``guarded`` made it of, else the cell without blanks around it."""
    cell = cell.strip()
    if cell.startswith("'"):
        text = _CODE.sub(_decoded, cell[1:])
        if guarded(text) == cell:
            return text
    return cell


_remembered = lru_cache(10_000)(unguarded)


def _code(found: re.Match[str]) -> str:
    character = ord(found[0])
    if found[0] == "\\":
        return r"\\"
    return f"\\x{character:02x}" if character < 256 else f"\\u{character:04x}"


def _decoded(found: re.Match[str]) -> str:
    return found[3] or chr(int(found[1] or found[2], 16))


def number(text: str) -> float | None:
    """The number that a text spells in digits 0 to 9, NaN and infinity included; None for anything else.

    Without 1_000, 0x10 and digits of other scripts; and without 1e-400, which would become 0.
    """
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    value = float(text)
    return None if value == 0 and found[1] and found[1].strip("0.") else value


def looks_numeric(text: str) -> bool:
    """Whether a text is a number, or was surely meant as one, as in other digits than 0 to 9."""
    try:
        return "_" not in text and float(text) is not None
    except ValueError:
        return False


def fault(cell: str) -> str:
    """What is wrong with a cell that is no finite number, and what to do."""
    shown = cell if len(cell) <= _LONG else f"{cell[:_LONG]}…"
    if number(cell) is not None:
        return f"'{shown}' is not finite; give a finite number"
    return f"'{shown}' is not a number; {advice(cell)}"


def advice(cell: str, otherwise: str = "give a number") -> str:
    """What to do with a cell that is no number."""
    if _NUMBER.fullmatch(cell.strip()):
        return "it is too small here and would become 0, so give 0 if that will do"
    if number(cell.replace(",", ".")) is not None:
        return "use a decimal point"
    return "give it in the digits 0 to 9" if looks_numeric(cell) else otherwise


def csv_lines(rows: Iterable[Iterable[object]], separator: str = ",", decimal: str = ".") -> Iterator[str]:
    """Rows as lines of a CSV file: text guarded, numbers with all their digits, None as an empty cell."""
    for row in rows:
        cells = [_cell(value) if decimal != "," else _cell(value, decimal, separator) for value in row]
        yield separator.join(cells) + "\n"


def _cell(value: object, decimal: str = ".", separator: str = ",") -> str:
    if isinstance(value, str):
        return _quoted(value)
    text = "" if value is None else str(value).replace(".", decimal)
    return f'"{text}"' if decimal == separator and decimal in text else text


@lru_cache(1000)
def _quoted(text: str) -> str:
    """A cell of text; it is quoted also for separators that are not in use, by which a reader may guess."""
    cell = guarded(text)
    return '"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell


def separator_of(text: str) -> str:
    """The separator of a CSV file: as its first line says (sep=;), else the most frequent there that fits all lines."""
    first = next((line for line in io.StringIO(text, newline="") if line.strip()), "")
    if said := _SAID.fullmatch(first.strip()):
        return said[1]
    bare = re.sub(r'"[^"]*"', "", first)
    likely = sorted((sign for sign in ",;\t" if sign in bare), key=bare.count, reverse=True) or [","]
    return next((sign for sign in likely if _fits(text, sign)), likely[0]) if len(likely) > 1 else likely[0]


def _fits(text: str, separator: str) -> bool:
    """Whether all records have as many cells as the first."""
    try:
        return len({len(cells) for _, cells in csv_records(text, separator)}) <= 1
    except csv.Error:
        return False


def csv_records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """(first line, cells) of each record that is not blank, nor says what the separator is.

    csv.Error where a line cannot be split into cells, with the number of the line as its second argument.
    """
    lines = list(io.StringIO(text, newline=""))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    line = 1
    try:
        for at, record in enumerate(reader):
            cells = [_remembered(cell) for cell in record]
            if any(cells) and not (at == 0 and _SAID.fullmatch(lines[0].strip())):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(str(error), line) from None
