"""Journals as text: a file of JSON lines, which any editor reads."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import final

from probewise.campaign.journal.storage import PATIENCE, SCHEMA, Storage, back_up, check_schema, conflict
from probewise.errors import InvalidCampaign, StorageUnavailable, TornJournal
from probewise.files import keep_name, new_mode

MIGRATIONS: dict[int, Callable[[Sequence[str]], Sequence[str]]] = {}
"""Schema -> what makes lines of the next schema of lines of that one."""

_ADVICE = {errno.ENOSPC: "make room", errno.EDQUOT: "make room", errno.EIO: "check the disk"}
"""Number of a system error -> what to do about it; else, check the rights."""


@final
@dataclass(frozen=True)
class Lines(Storage):
    """A line that names the schema, then one line per record.

    A writer holds a lock on the file. It writes the record, waits until the disk has it, and writes the line feed last:
    readers see it only then. What goes wrong before is taken off again. Without its line feed a record, of a writer
    that died, counts if no writer is at work, and the next one ends it first: no part of a JSON object is one. So a
    reader needs no lock, but waits where the last record lacks its line feed and a writer is at work: nothing else
    tells whether that one may still take it off. Any other end is reported.
    """

    path: Path
    """The file."""
    held: int | None = field(default=None, repr=False, compare=False)
    """The open file of a writer that is alone."""

    @property
    def name(self) -> str:
        """The file."""
        return str(self.path)

    def read(self, after: int = 0) -> Sequence[str]:
        """All lines after the first ones; TornJournal, a warning, if the end of the file is none."""
        try:
            data = self._bytes()
            if self._schema(data) != SCHEMA:
                self._migrate()
                data = self._bytes()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unavailable(error, "read") from None
        whole = _whole(data)
        if torn := data[len(whole) :].strip(b"\0"):
            warnings.warn(TornJournal(_told(self.path, len(torn))), stacklevel=1)
        return _records(whole)[after:]

    def append(self, line: str, *, after: int) -> None:
        """One write, one fsync and the line feed under the lock; what fails is taken off again."""
        if not self.path.parent.is_dir():
            raise InvalidCampaign(f"there is no folder {self.path.parent} for the campaign {self.path.name}.")
        if "\n" in line:
            raise ValueError("a line cannot hold a line feed.")
        try:
            if self.held is not None:
                self._extend(self.held, line.encode(), after)
                return
            if after and self._schema(_first(self.path)) != SCHEMA:
                self._migrate()
            with self._locked(new=after == 0) as file:
                self._extend(file, line.encode(), after)
        except OSError as error:
            if after and isinstance(error, FileNotFoundError):  # it was there when the campaign was opened
                raise conflict(self.name, after, 0) from None
            raise self._unavailable(error, "written") from None

    def begin(self, lines: Iterable[str]) -> None:
        """All lines of a new journal at once: a file of another name until it is whole."""
        if not self.path.parent.is_dir():
            raise InvalidCampaign(f"there is no folder {self.path.parent} for the campaign {self.path.name}.")
        try:
            with _draft(self.path, lines) as draft, self._locked(new=True) as file:
                data = _all(file)
                if self._schema(data) and _records(_whole(data)):
                    raise InvalidCampaign(f"{self.path} holds a campaign already; choose another name for the copy.")
                draft.replace(self.path)
                keep_name(self.path)
        except OSError as error:
            raise self._unavailable(error, "written") from None

    @contextmanager
    def writing(self) -> Iterator[Storage]:
        """Hold the lock; readers pass."""
        if self.held is not None:
            yield self
            return
        with ExitStack() as stack:
            try:
                if self._schema(_first(self.path)) != SCHEMA:
                    self._migrate()
                file = stack.enter_context(self._locked(new=False))
                self._settled(file)  # the lock may be held for long, and readers pass
            except OSError as error:
                raise self._unavailable(error, "written") from None
            yield replace(self, held=file)

    def _bytes(self) -> bytes:
        """The file up to a last line without its end, with that one if it stays."""
        if self.held is not None:
            return _all(self.held)
        until, known = time.monotonic() + PATIENCE, -1
        while time.monotonic() <= until:
            data = _steady(self.path)
            ended = _ended(data)
            if len(ended) == len(data):
                return data
            file = os.open(self.path, os.O_RDONLY | _BINARY)
            try:
                if _taken(file, shared=True):
                    return _all(file)
            finally:
                _let_go(file)
            if len(_whole(data)) == len(ended) or len(ended) > known >= 0:  # no record, or a later one than at first
                return ended
            known = len(ended)
            time.sleep(0.005)
        raise self._busy()

    def _settled(self, file: int) -> bytes:
        """The file after ending its last record, if only its line feed is missing."""
        data = _all(file)
        self._schema(data)
        whole = _whole(data)
        if not whole or whole.endswith(b"\n"):
            return data
        os.ftruncate(file, len(whole))
        _write(file, b"\n", len(whole))
        return whole + b"\n"

    def _extend(self, file: int, text: bytes, after: int) -> None:
        """The text as one more line, if the file has that many."""
        data = self._settled(file)
        whole = _ended(data)
        if (found := len(_records(whole))) != after:
            raise conflict(self.name, after, found)
        if len(data) > len(whole):
            self._put_aside(data[len(whole) :].strip(b"\0") if whole else b"")
            os.ftruncate(file, len(whole))
        start = b"" if whole else _header()
        end = len(whole) + len(start) + len(text)
        try:
            _write(file, start + text, len(whole))
            os.fsync(file)
            if not whole:
                keep_name(self.path)
            _write(file, b"\n", end)
        except BaseException as error:  # also an interrupt, even after the line feed, when others may have read it
            self._set_back(file, len(whole), end + 1, error)
            raise

    def _set_back(self, file: int, size: int, done: int, error: BaseException) -> None:
        """The file as it was, unless all of the line is there."""
        try:
            if os.fstat(file).st_size != done:
                os.ftruncate(file, size)
                os.fsync(file)
        except OSError as another:
            raise StorageUnavailable(
                f"{self.path} cannot be written ({_reason(error)}) nor set back ({_reason(another)}): it is not known "
                "whether the record is stored; read the journal again before you repeat it."
            ) from None

    def _put_aside(self, torn: bytes) -> None:
        """Keep what is no record in a file beside this one, and say so."""
        if not torn:  # a part of the first line, or zeros: nothing can be lost
            return
        beside = self.path.with_name(f"{self.path.name}.torn-{secrets.token_hex(4)}")
        _save(beside, torn)
        warnings.warn(
            TornJournal(
                f"{self.path} ended with {len(torn)} bytes that are not a record; they are now in {beside.name}, and "
                "what is written from now on comes after the last whole record."
            ),
            stacklevel=1,
        )

    def _schema(self, data: bytes) -> int:
        """The schema that the first line names; that of a file with no more than a part of it is this one."""
        if _header().startswith(data):
            return SCHEMA
        try:
            first = json.loads(data.partition(b"\n")[0])
        except (ValueError, RecursionError):
            first = None
        if not isinstance(first, dict) or "schema" not in first:
            raise InvalidCampaign(f"{self.path} is not a campaign: its first line names no schema; check the name.")
        return check_schema(first["schema"], self.name)

    def _migrate(self) -> None:
        """A copy beside the file, then a new file in its place."""
        with self._locked(new=False) as file:
            data = _all(file)
            version = self._schema(data)
            if version == SCHEMA:  # another process was faster
                return
            shutil.copy2(self.path, back_up(self.path, version))
            records: Sequence[str] = _records(_whole(data))
            for step in range(version, SCHEMA):
                records = MIGRATIONS[step](records)
            with _draft(self.path, records) as draft:
                shutil.copymode(self.path, draft)
                draft.replace(self.path)
                keep_name(self.path)

    @contextmanager
    def _locked(self, *, new: bool) -> Iterator[int]:
        """The file, held by this process alone; the lock of a process that died is gone with it."""
        until = time.monotonic() + PATIENCE
        while True:
            file = os.open(self.path, os.O_RDWR | _BINARY | (os.O_CREAT if new else 0), 0o600)
            try:
                if _taken(file) and _same(file, self.path):  # a migration may have put another file there
                    if new and os.fstat(file).st_size == 0:
                        self.path.chmod(new_mode())
                    yield file
                    return
            finally:
                _let_go(file)
            if time.monotonic() > until:
                raise self._busy()
            time.sleep(0.005)

    def _busy(self) -> StorageUnavailable:
        return StorageUnavailable(f"{self.path} has been locked for {PATIENCE} s; try again.")

    def _unavailable(self, error: OSError, done: str) -> StorageUnavailable:
        if isinstance(error, StorageUnavailable):
            return error
        advice = _ADVICE.get(error.errno or 0, "check its rights")
        return StorageUnavailable(f"{self.path} cannot be {done} ({_reason(error)}); {advice}.")


def _told(path: Path, torn: int) -> str:
    return (
        f"{path} ends with {torn} bytes that are not a record: if a crash cut the last write short, nothing that was "
        "confirmed is lost, but if the file was cut, its last records are; compare their number and the last digest "
        "with those you kept."
    )


def _reason(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__


def _header() -> bytes:
    return json.dumps({"probewise": "campaign", "schema": SCHEMA}).encode() + b"\n"


def _ended(data: bytes) -> bytes:
    """All lines that end with a line feed."""
    return data[: data.rfind(b"\n") + 1]


def _whole(data: bytes) -> bytes:
    """All lines that end, and the last one if only its line feed is missing, or came back from a crash as zeros."""
    ended = _ended(data)
    last = data[len(ended) :].rstrip(b"\0")
    if not ended or not last:
        return ended
    try:
        return ended + last if isinstance(json.loads(last), dict) else ended
    except (ValueError, RecursionError):
        return ended


def _records(whole: bytes) -> list[str]:
    """What follows the first line; bytes that are no text spoil a digest."""
    return whole.removesuffix(b"\n").decode(errors="replace").split("\n")[1:]


def _first(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline()


def _all(file: int) -> bytes:
    with os.fdopen(file, "rb", buffering=0, closefd=False) as content:
        content.seek(0)
        return content.readall()


def _steady(path: Path) -> bytes:
    """The same without a lock, no part of it older than another: a writer may meanwhile put another end to it."""
    data = path.read_bytes()
    while not (again := path.read_bytes()).startswith(data):
        data = again
    return data


def _write(file: int, data: bytes, at: int) -> None:
    """All of it, without a buffer that could be written later."""
    os.lseek(file, at, os.SEEK_SET)
    while data:
        data = data[os.write(file, data) :]


def _save(path: Path, data: bytes) -> None:
    """A new file, whole and on the disk, or none."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
        try:
            _write(file, data, 0)
            os.fsync(file)
        finally:
            os.close(file)
        path.chmod(new_mode())
        keep_name(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def _draft(path: Path, lines: Iterable[str]) -> Iterator[Path]:
    """A journal under another name, which the caller may give its own."""
    draft = path.with_name(f"{path.name}.draft-{secrets.token_hex(4)}")
    _save(draft, _header() + "".join(f"{line}\n" for line in lines).encode())
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _same(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _let_go(file: int) -> None:
    """Nothing is left to be written, so nothing that fails here matters: what is closed is no longer locked."""
    with suppress(OSError):
        _release(file)
    with suppress(OSError):
        os.close(file)


try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    _BINARY = os.O_BINARY  # type: ignore[attr-defined]
    _FAR = 1 << 60  # a lock keeps others from reading what it covers, so it covers nothing

    def _taken(file: int, *, shared: bool = False) -> bool:
        try:
            os.lseek(file, _FAR, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

    def _release(file: int) -> None:
        os.lseek(file, _FAR, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
else:
    _BINARY = 0

    def _taken(file: int, *, shared: bool = False) -> bool:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
