"""Journals as text: a file of JSON lines, which any editor reads."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, final

from probewise.campaign.storage import PATIENCE, SCHEMA, Storage, back_up, check_schema, conflict
from probewise.errors import InvalidCampaign, StorageUnavailable

MIGRATIONS: dict[int, Callable[[Sequence[str]], Sequence[str]]] = {}
"""Schema -> what makes lines of the next schema of lines of that one."""


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
        try:
            whole = _whole(self.path.read_bytes())
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StorageUnavailable(f"{self.path} cannot be read ({error.strerror}); check its rights.") from None
        if self._schema(whole) != SCHEMA:
            self._migrate()
            whole = _whole(self.path.read_bytes())
        return _split(whole)[after + 1 :]

    def append(self, line: str, *, after: int) -> None:
        """One write and one fsync under the lock, after the last whole line."""
        if not self.path.parent.is_dir():
            raise InvalidCampaign(f"there is no folder {self.path.parent} for the campaign {self.path.name}.")
        if "\n" in line:
            raise ValueError("a line cannot hold a line feed.")
        if after:
            self.read(after)  # brings the file up to the schema
        with self._locked() as file:
            whole = _whole(file.read())
            if whole:
                self._schema(whole)
            found = max(whole.count(b"\n") - 1, 0)
            if found != after:
                raise conflict(self.name, after, found)
            file.seek(len(whole))
            file.truncate()
            header = "" if whole else _header()
            file.write(f"{header}{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())
            if not whole:
                _keep_name(self.path)

    def _schema(self, whole: bytes) -> int:
        """The schema that the first line names; that of a file without any line is this one."""
        if not whole:
            return SCHEMA
        try:
            first = json.loads(whole[: whole.index(b"\n")])
        except ValueError:
            first = None
        if not isinstance(first, dict) or not isinstance(first.get("schema"), int):
            raise InvalidCampaign(f"{self.path} is no campaign: its first line names no schema; check the name.")
        return check_schema(first["schema"], self.name)

    def _migrate(self) -> None:
        """A copy beside the file, then a new file in its place."""
        with self._locked() as file:
            whole = _whole(file.read())
            version = self._schema(whole)
            if version == SCHEMA:  # another process was faster
                return
            shutil.copy2(self.path, back_up(self.path, version))
            records: Sequence[str] = _split(whole)[1:]
            for step in range(version, SCHEMA):
                records = MIGRATIONS[step](records)
            draft = self.path.with_name(f"{self.path.name}.draft")
            with draft.open("wb") as new:
                new.write((_header() + "".join(f"{line}\n" for line in records)).encode())
                new.flush()
                os.fsync(new.fileno())
            draft.replace(self.path)
            _keep_name(self.path)

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """The file, held by this process alone; the lock of a process that died is gone with it."""
        until = time.monotonic() + PATIENCE
        while True:
            with self._opened() as file:
                if _taken(file) and _same(file, self.path):  # a migration may have put another file there
                    try:
                        yield file
                    finally:
                        _release(file)
                    return
            if time.monotonic() > until:
                raise StorageUnavailable(f"{self.path} has been locked for {PATIENCE} s; try again.")
            time.sleep(0.005)

    def _opened(self) -> BinaryIO:
        try:
            return os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        except OSError as error:
            raise StorageUnavailable(f"{self.path} cannot be written ({error.strerror}); check its rights.") from None


def _same(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _header() -> str:
    return json.dumps({"probewise": "campaign", "schema": SCHEMA}) + "\n"


def _whole(data: bytes) -> bytes:
    """All lines that end."""
    return data[: data.rfind(b"\n") + 1]


def _split(whole: bytes) -> list[str]:
    return whole.decode(errors="replace").split("\n")[:-1]


try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    _FAR = 1 << 60  # a lock keeps others from reading what it covers, so it covers nothing

    def _taken(file: BinaryIO) -> bool:
        try:
            file.seek(_FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        finally:
            file.seek(0)
        return True

    def _release(file: BinaryIO) -> None:
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

    def _keep_name(path: Path) -> None:
        """Nothing: here the name is as safe as the content."""
else:

    def _taken(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

    def _keep_name(path: Path) -> None:
        """Let the name of a new file survive a crash, as its content does."""
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
