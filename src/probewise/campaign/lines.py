"""Journals as text: a file of JSON lines, which any editor reads."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, final

from probewise.campaign.storage import SCHEMA, Storage, check_schema, conflict
from probewise.errors import InvalidCampaign, StorageUnavailable

PATIENCE = 60
"""Seconds that a writer waits for another one."""

MIGRATIONS: dict[int, Callable[[Sequence[str]], Sequence[str]]] = {}
"""Schema -> what makes lines of the next schema of lines of that one."""

_CHUNK = 1 << 16


@final
@dataclass(frozen=True)
class Lines(Storage):
    """A line that names the schema, then one line per record.

    A line counts once its line feed is there: what a crash cut short is not read, and the next writer takes it off.
    Writers hold a lock on the file; readers need none.
    """

    path: Path
    """The file."""

    @property
    def name(self) -> str:
        """The file."""
        return str(self.path)

    def read(self, after: int = 0) -> Sequence[str]:
        """All whole lines after the first ones."""
        lines = self._lines()
        if not lines:
            return ()
        if self._schema(lines[0]) < SCHEMA:
            self._migrate()
            lines = self._lines()
        return lines[after + 1 :]

    def append(self, line: str, *, after: int) -> None:
        """One write and one fsync under the lock, after the last whole line."""
        with self._locked() as file:
            end, last = _last_line(file)
            found = 0
            if last is None:
                line = _header(SCHEMA) + "\n" + line
            else:
                entry = self._parsed(last)
                found = entry.get("seq", 0)
                if not found:
                    self._schema(last)
            if found != after:
                raise conflict(self.name, after, found)
            file.seek(end)
            file.truncate()
            file.write((line + "\n").encode())
            file.flush()
            os.fsync(file.fileno())

    def _lines(self) -> list[str]:
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return []
        try:
            return text[: text.rfind(b"\n") + 1].decode().split("\n")[:-1]
        except UnicodeDecodeError:
            raise InvalidCampaign(f"{self.path} is no campaign: it is not text; check the name.") from None

    def _schema(self, header: str) -> int:
        version = self._parsed(header).get("schema")
        if not isinstance(version, int):
            raise InvalidCampaign(f"{self.path} is no campaign: its first line names no schema; check the name.")
        return check_schema(version, self.name)

    def _parsed(self, line: str) -> dict[str, int]:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            raise InvalidCampaign(f"{self.path} is no campaign: it has a line that is not JSON; check the name.")
        return entry

    def _migrate(self) -> None:
        with self._locked() as file:
            lines = self._lines()
            version = self._schema(lines[0])
            if version == SCHEMA:  # another process was faster
                return
            stamp = f"{datetime.now(UTC):%Y%m%d_%H%M%S}"
            shutil.copy2(self.path, self.path.with_name(f"{self.path.name}.schema-{version}.{stamp}"))
            records: Sequence[str] = lines[1:]
            for step in range(version, SCHEMA):
                records = MIGRATIONS[step](records)
            file.seek(0)
            file.truncate()
            file.write("".join(f"{line}\n" for line in (_header(SCHEMA), *records)).encode())
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        if not self.path.parent.is_dir():
            raise InvalidCampaign(f"there is no folder {self.path.parent} for the campaign {self.path.name}.")
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            _lock(file, self.name)
            try:
                yield file
            finally:
                _unlock(file)


def _header(schema: int) -> str:
    return json.dumps({"probewise": "campaign", "schema": schema})


def _last_line(file: BinaryIO) -> tuple[int, str | None]:
    """Where the last whole line ends, and what it says; None in a file without any."""
    size = file.seek(0, os.SEEK_END)
    tail, start = b"", size
    while start > 0:
        step = min(_CHUNK, start)
        start -= step
        file.seek(start)
        tail = file.read(step) + tail
        end = tail.rfind(b"\n")
        begin = tail.rfind(b"\n", 0, max(end, 0))
        if end >= 0 and (begin >= 0 or start == 0):
            return start + end + 1, tail[begin + 1 : end].decode()
    return 0, None


try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    def _take(file: BinaryIO) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

    def _unlock(file: BinaryIO) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
else:

    def _take(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


def _lock(file: BinaryIO, name: str) -> None:
    """Wait for other writers; the lock of a process that died is gone with it."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return _take(file)
        except OSError:
            if time.monotonic() > until:
                raise StorageUnavailable(f"{name} has been locked for {PATIENCE} s; try again.") from None
            time.sleep(0.005)
