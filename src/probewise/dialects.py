"""Dialects: how the text and the numbers of one file are written, shown by the file itself and never guessed."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from probewise.cells import fault as cell_fault
from probewise.cells import looks_numeric, number

Decimal = Literal[".", ",", ""]
"""The decimal sign of a file; "" if none of its numbers shows it."""

_BLANKS = " \u00a0\u2009\u202f'\u2019"
_SIGN, _EXPONENT = r"[+\-\u2212]?", r"(?:[eE][+-]?[0-9]+)?"
_DECIMAL = {sign: re.compile(rf"{_SIGN}[0-9]*{re.escape(sign)}[0-9]*{_EXPONENT}") for sign in ".,"}
_GROUPED = {
    sign: re.compile(rf"{_SIGN}[0-9]{{1,3}}(?:{re.escape(sign)}[0-9]{{3}})+(?:{re.escape(other)}[0-9]+)?")
    for sign, other in (".,", ",.")
}
_SPACED = re.compile(rf"{_SIGN}[0-9]{{1,3}}(?:[{_BLANKS}][0-9]{{3}})+(?:[.,][0-9]+)?")
_EITHER = re.compile(rf"{_SIGN}[1-9][0-9]{{0,2}}[.,][0-9]{{3}}")
_SIGNS: tuple[tuple[Decimal, Decimal], ...] = ((".", ","), (",", "."))
_ALIKE = ("cp1252", "cp1250", "cp1254", "cp1257")


class Undecided(ValueError):
    """What a file leaves open, as the end of a sentence."""


@dataclass(frozen=True)
class Dialect:
    """How one file is written."""

    separator: str = ","
    """Separator of the cells of a line."""
    decimal: Decimal = "."
    """Decimal sign."""
    encoding: str = "utf-8"
    """Encoding of the text."""


PLAIN = Dialect()
"""What tables are in memory, and how files are written unless asked otherwise."""


def decoded(content: bytes) -> tuple[str, str]:
    """The text of a file and its encoding: UTF-8, UTF-16 with a mark, or letters that Windows has everywhere alike."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return content.decode("utf-16"), "utf-16"
        except UnicodeDecodeError:
            raise Undecided("is damaged UTF-16 text") from None
    try:
        return content.decode("utf-8-sig"), "utf-8-sig" if content.startswith(codecs.BOM_UTF8) else "utf-8"
    except UnicodeDecodeError:
        pass
    for letter in sorted({byte for byte in content if byte >= 0x80}):
        read = {bytes([letter]).decode(name, errors="replace") for name in _ALIKE}
        if letter < 0xA0 or len(read) > 1:
            line = content[: content.index(letter)].count(b"\n") + 1
            raise Undecided(f"is not UTF-8 text, and line {line} has a letter (0x{letter:02x}) that may be several")
    if b"\x00" in content:
        raise Undecided("is no text")
    return content.decode("cp1252"), "cp1252"


def spelled(cells: Iterable[str], decimal: Decimal) -> dict[str, float | None]:
    """Each different cell of one column -> its number; None if it is none, or might be two.

    A point or comma before three digits may group thousands: it does if another cell of the column shows that it
    must, as 1,234,567 does.
    """
    distinct = set(cells)
    groups = {sign for sign in ".," if any(_must_group(cell.strip(), sign) for cell in distinct)}
    return {cell: _number(cell, decimal, groups) for cell in distinct}


def _must_group(cell: str, sign: str) -> bool:
    return _GROUPED[sign].fullmatch(cell) is not None and (cell.count(sign) > 1 or (set(".,") - {sign}).pop() in cell)


def _number(cell: str, decimal: Decimal, groups: set[str]) -> float | None:
    plain = cell.strip().replace("\u2212", "-")
    decimal = decimal or decimal_shown(plain) or ""
    if (value := number(plain)) is not None and not ("." in plain and decimal != "."):
        return value
    if _SPACED.fullmatch(plain):
        plain = re.sub(f"[{_BLANKS}]", "", plain)
    elif _EITHER.fullmatch(plain) and not groups & set(plain) and (not decimal or decimal not in plain):
        return None
    for sign in groups - {decimal}:
        if _GROUPED[sign].fullmatch(plain):
            plain = plain.replace(sign, "")
    return None if {".": ",", ",": "."}.get(decimal, "?") in plain else number(plain.replace(",", "."))


def fault(cell: str, decimal: Decimal) -> str:
    """What is wrong with a cell that is no finite number of a file, and what to do."""
    plain = cell.strip()
    if _EITHER.fullmatch(plain) and number(plain.replace(",", ".")) is not None:
        whole = re.sub("[.,]", "", plain)
        return f"'{plain}' may be {plain.replace(',', '.')} or {whole}; write {plain}0 or {whole}, which leave no doubt"
    if decimal == "," and "." in plain and number(plain) is not None:
        return f"'{plain}' has a decimal point, and other numbers of the file have decimal commas; write all alike"
    return cell_fault(cell)


def numeric_in_some_way(cell: str) -> bool:
    """Whether a cell was surely meant as a number, in whatever country."""
    cell = cell.strip()
    forms = (*_DECIMAL.values(), *_GROUPED.values(), _SPACED)
    return looks_numeric(cell.replace("\u2212", "-")) or (
        any("0" <= letter <= "9" for letter in cell) and any(form.fullmatch(cell) for form in forms)
    )


def decimal_sign(
    columns: Sequence[Sequence[str]], lines: Sequence[int], separator: str, missing: frozenset[str]
) -> Decimal:
    """The decimal sign of a file, by the columns that hold nothing but numbers."""
    shown: dict[Decimal, str] = {}
    for column in columns:
        distinct = [cell for cell in dict.fromkeys(column) if cell.casefold() not in missing]
        if all(map(numeric_in_some_way, distinct)):
            for cell in distinct:
                if (sign := decimal_shown(cell)) and sign not in shown:
                    shown[sign] = f"'{cell}', line {lines[column.index(cell)]}"
    if len(shown) > 1:
        raise Undecided(f"has numbers with decimal commas ({shown[',']}) and with decimal points ({shown['.']})")
    return next(iter(shown), "." if separator == "," else "")


def decimal_shown(cell: str) -> Decimal | None:
    """The decimal sign that one number proves, if any."""
    cell = cell.strip()
    for sign, other in _SIGNS:
        if _must_group(cell, other) and (sign in cell or cell.count(other) > 1):
            return sign
        if sign in cell and other not in cell:
            alone = _DECIMAL[sign].fullmatch(cell) and cell.count(sign) == 1 and not _EITHER.fullmatch(cell)
            if alone or _SPACED.fullmatch(cell):
                return sign
    return None
