"""Side files: what SQLite leaves beside a file when a writer dies, read before SQLite may believe it.

SQLite applies a rollback journal (-journal) or a write-ahead log (-wal) to the file that it lies beside, whichever file
it was written for. So a journal must show that it is of this file at this time, by two numbers in the header of the
file: the application id, drawn when the file is made, and the user version, the number of records. A write-ahead log,
which only version 0.1.0 wrote, must go on from the records that the file holds. Layouts: sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from probewise.campaign.journal.tables import JOURNAL
from probewise.errors import InvalidCampaign

_LOOKS, _PAUSE = 25, 0.02
"""Looks, and seconds between them: a side file that others are writing is soon in order, a left-over one never."""
_OTHER = "it was written for another file, or at another time"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_SIZES = [2**power for power in range(9, 17)]
"""Possible sizes of a page, and of what a disk writes at once."""
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_CHANGES = (slice(18, 20), slice(24, 28), slice(60, 64), slice(68, 72), slice(92, 100))
"""Bytes of the first page in which a file differs from itself when its mode and its two numbers were changed."""


class _Broken(Exception):
    """A side file that cannot be used; the text says why."""


class _Header(NamedTuple):
    identity: int
    """Drawn when the file was made; 0 in files of version 0.1.0."""
    records: int
    """Number of records that the file holds at least."""


def check(path: Path) -> None:
    """Refuse side files that are not of this file as it is now."""
    for look in range(_LOOKS):
        try:
            if data := _bytes(beside(path, "-journal")):
                _check_journal(path, data)
            if data := _bytes(beside(path, "-wal")):
                _check_log(path, data)
            return
        except (_Broken, sqlite3.Error) as error:
            if look == _LOOKS - 1:
                raise InvalidCampaign(
                    f"{path.name} cannot be trusted with the file {path.name}{_which(path)} that lies beside it: "
                    f"{error}; nothing was changed. Bring back the file to which that one belongs, or take the last "
                    "back-up; if you know that it is left over from another file, move it away."
                ) from None
        time.sleep(_PAUSE)


def image(path: Path) -> sqlite3.Connection:
    """The records in memory as SQLite would find them, with side files applied, where nothing can be written."""
    data = _main(path)
    if wal := _bytes(beside(path, "-wal")):
        data = _with_log(data, wal)
    elif journal := _bytes(beside(path, "-journal")):
        data = _with_journal(data, journal)
    return _opened(data)


def beside(path: Path, ending: str) -> Path:
    """The side file of that kind, which lies where the file is, not where a link to it is."""
    real = Path(os.path.realpath(path))
    return real.with_name(real.name + ending)


def address(path: Path, options: str) -> str:
    """The file as a URI of SQLite."""
    return f"{path.absolute().as_uri()}?{options}"


def _which(path: Path) -> str:
    return "-journal" if _bytes(beside(path, "-journal")) else "-wal"


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _as_it_lies(path: Path) -> sqlite3.Connection:
    """The file without locks and side files. Only SQLite opens it: a second descriptor, closed, would drop locks."""
    return sqlite3.connect(address(path, "mode=ro&immutable=1"), uri=True, isolation_level=None)


def _main(path: Path) -> bytes:
    if path.stat().st_size == 0:  # a writer died before it wrote the first page
        return b""
    with closing(_as_it_lies(path)) as connection:
        return bytes(connection.serialize())


def _opened(data: bytes) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    if data:
        connection.deserialize(data[:18] + b"\1\1" + data[20:])  # memory knows no write-ahead log
    return connection


# Rollback journals.


def _check_journal(path: Path, data: bytes) -> None:
    """A journal is of this file if it saved the first page when the file had as many records as now, or one less."""
    begun = data[:8].rstrip(b"\0")
    if begun != _JOURNAL_MAGIC and _JOURNAL_MAGIC.startswith(begun):
        return  # its beginning is written, here not to the end, when all of it is there, before the file is touched
    if begun != _JOURNAL_MAGIC or len(data) < 28:
        raise _Broken("its beginning is damaged")
    with closing(_as_it_lies(path)) as connection:
        connection.execute("PRAGMA writable_schema=ON")  # only the header is read, which may be all that was written
        now = _header(connection)
    size, sector, page = struct.unpack(">III", data[16:28])
    if sector not in _SIZES or page not in _SIZES:
        raise _Broken("its beginning is damaged")
    begins = data[sector : sector + 4] == b"\0\0\0\1"  # all pages may be there, and their number not yet
    first = data[sector + 4 : sector + 4 + page] if begins else dict(_saved(data)).get(1, b"")
    saved = _Header(*(int.from_bytes(first[at : at + 4], "big") for at in (68, 60)))
    if len(first) == page and saved.identity != 0:
        same = saved.identity == now.identity and size == int.from_bytes(first[28:32], "big")
        fits = same and 0 <= now.records - saved.records <= 1
    elif size == 0 and now.records == 0 and now.identity != 0:  # the file was about to be made
        fits = True
    else:
        fits = _harmless(_main(path), data)
    if not fits:
        raise _Broken(_OTHER)


def _header(connection: sqlite3.Connection) -> _Header:
    numbers = (connection.execute(f"PRAGMA {own}").fetchone()[0] for own in ("application_id", "user_version"))
    return _Header(*map(int, numbers))


def _harmless(main: bytes, data: bytes) -> bool:
    """Whether a journal would bring back no more than the mode and the numbers of the file."""
    size, _, page = struct.unpack(">III", data[16:28])
    if size * page != len(main):
        return False
    old, new = bytearray(_with_journal(main, data)), bytearray(main)
    for part in _CHANGES if main else ():
        old[part] = new[part] = bytes(len(old[part]))
    return old == new


def _with_journal(main: bytes, data: bytes) -> bytes:
    """The file with all that the journal saved; of a page that it saved twice, the first counts."""
    if data[:8] != _JOURNAL_MAGIC:
        return main
    size, _, page = struct.unpack(">III", data[16:28])
    return _overlaid(main, dict(reversed([*_saved(data)])), size, page)


def _saved(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The pages (number, content before the change) that a journal says it holds."""
    (sector, page), at = struct.unpack(">II", data[20:28]), 0
    while data[at : at + 8] == _JOURNAL_MAGIC:
        count, start = int.from_bytes(data[at + 8 : at + 12], "big"), at + sector
        ends = range(start, len(data) - page - 7, page + 8)[:count]
        for own in ends:
            yield int.from_bytes(data[own : own + 4], "big"), data[own + 4 : own + 4 + page]
        at = -(-(start + len(ends) * (page + 8)) // sector) * sector


# Write-ahead logs.


def _check_log(path: Path, data: bytes) -> None:
    """With the log, the file must have all the records that it has without."""
    main = _main(path)
    try:
        after = _records(_with_log(main, data))
    except sqlite3.Error:
        raise _Broken(_OTHER) from None
    try:
        before = _records(main)
    except sqlite3.Error:  # a writer died while it brought the log into the file: only with it the file is whole
        return
    if after[: len(before)] != before:
        raise _Broken(_OTHER)


def _records(data: bytes) -> list[tuple[object, ...]]:
    with closing(_opened(data)) as connection:
        if not data or not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (JOURNAL,)).fetchone():
            return []
        return connection.execute(f"SELECT campaign, seq, record FROM {JOURNAL} ORDER BY campaign, seq").fetchall()


def _with_log(main: bytes, data: bytes) -> bytes:
    """The file with all that was committed to the log."""
    if len(data) < 32 or (magic := int.from_bytes(data[:4], "big")) not in _WAL_MAGIC:
        raise _Broken("its beginning is damaged")
    order, page = ">" if magic & 1 else "<", int.from_bytes(data[8:12], "big")
    sums, salts = _sums(data[:24], (0, 0), order), data[16:24]
    if struct.pack(">II", *sums) != data[24:32]:
        raise _Broken("its beginning is damaged")
    committed: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    size, sound = len(main) // page, True
    for at in range(32, len(data) - page - 23, page + 24):
        head, content = data[at : at + 24], data[at + 24 : at + 24 + page]
        if head[8:16] != salts:
            sound = False  # left over from before the log began anew, unless one of its own follows
            continue
        sums = _sums(content, _sums(head[:8], sums, order), order)
        if not sound or struct.pack(">II", *sums) != head[16:24]:
            raise _Broken("it is damaged, so records may be missing")
        number, commit = struct.unpack(">II", head[:8])
        pending[number] = content
        if commit:
            committed, pending, size = {**committed, **pending}, {}, commit
    return _overlaid(main, committed, size, page)


def _sums(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    """The checksum of a write-ahead log, carried on."""
    one, two = before
    for first, second in struct.iter_unpack(f"{order}II", data):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two


def _overlaid(main: bytes, pages: dict[int, bytes], size: int, page: int) -> bytes:
    out = bytearray(main[: size * page].ljust(size * page, b"\0"))
    for number, content in pages.items():
        if number <= size:
            out[(number - 1) * page : number * page] = content
    return bytes(out)
