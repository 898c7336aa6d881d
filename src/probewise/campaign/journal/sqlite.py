"""Journals in one file of SQLite, which holds all that was acknowledged: no part of it lies in a side file."""

from __future__ import annotations

import os
import random
import secrets
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar, final

from probewise.campaign.journal import sides
from probewise.campaign.journal.storage import PATIENCE, SCHEMA, Storage, back_up, conflict, vanished
from probewise.campaign.journal.tables import CREATE, JOURNAL, VERSION, foreign, lines_of, migrate, schema_of
from probewise.errors import InvalidCampaign, ProbewiseError, StorageUnavailable
from probewise.files import keep_name, new_mode

T = TypeVar("T")

_READER = 10
"""Seconds that a reader waits for a record that is being stored."""
_ADVICE = {
    "BUSY": "another program has held it too long; try again",
    "READONLY": "check its rights",
    "CANTOPEN": "check its rights and those of its folder",
    "PERM": "check its rights",
    "FULL": "make room on the disk",
    "IOERR": "check the disk and the room on it",
    "NOMEM": "make room in memory",
}
"""Kind of an error -> what to do; any other means that the file is damaged."""
_UNWRITABLE = ("READONLY", "CANTOPEN", "PERM", "FULL", "IOERR")
"""Kinds of errors of a place where SQLite cannot tidy up before it reads."""


@final
@dataclass(frozen=True)
class File(Storage):
    """The journal of one campaign in one file.

    The file has a rollback journal while a record is being stored, and is whole without it before and after. Its header
    names the file (application id) and counts its records (user version), each count in the transaction of its record.
    """

    path: Path
    """The file; it is opened for one call, so that processes may fork and files may be moved."""
    held: sqlite3.Connection | None = field(default=None, repr=False, compare=False)
    """The connection of a writer that is alone."""

    @property
    def name(self) -> str:
        """The file."""
        return str(self.path)

    def read(self, after: int = 0) -> Sequence[str]:
        """One SELECT, which waits only while a record is being stored; it works where nothing can be written."""
        if self.held is not None:
            with self._told():
                return self._lines(self.held, after)
        if not self.path.exists():
            return ()
        with self._told():
            try:
                with self._opened() as connection:
                    return _patiently(lambda: self._lines(connection, after), _READER)
            except sqlite3.Error as error:
                if not _kind(error).startswith(_UNWRITABLE):
                    raise
            with self._seen():
                image = sides.image(self.path)
            with closing(image) as connection:
                return self._lines(connection, after)

    def append(self, line: str, *, after: int) -> None:
        """One INSERT in a transaction of its own, read back before it counts."""
        if self.held is None:
            self._find(new=after == 0, after=after)
            with self.writing() as alone:
                alone.append(line, after=after)
            return
        self._store(self.held, [line], after)

    def begin(self, lines: Iterable[str]) -> None:
        """All lines of a new journal in one transaction."""
        self._find(new=True, after=0)
        with self._alone() as connection:
            self._store(connection, [*lines], 0)

    @contextmanager
    def writing(self) -> Iterator[Storage]:
        """Hold the lock of SQLite, which is gone with a process that dies; readers pass."""
        if self.held is not None:
            yield self
            return
        with self._alone() as connection:
            yield replace(self, held=connection)

    @contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        with self._told(), self._opened() as connection:
            _patiently(lambda: self._prepare(connection), PATIENCE)
            _patiently(lambda: connection.execute("BEGIN IMMEDIATE"), PATIENCE)
            connection.execute(f"PRAGMA busy_timeout={1000 * _READER}")  # until the last reader is gone
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._seen():
            sides.check(self.path)
        where = sides.address(self.path, "mode=rw")
        with closing(sqlite3.connect(where, uri=True, timeout=0, isolation_level=None)) as connection:
            connection.text_factory = lambda data: data.decode(errors="replace")  # the digest will tell
            yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite as sentences."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._refusal(error) from None

    @contextmanager
    def _seen(self) -> Iterator[None]:
        """Errors of files beside this one as sentences."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise StorageUnavailable(
                f"{self.name} cannot be used now ({reason}); check the disk and its rights."
            ) from None

    def _refusal(self, error: sqlite3.Error) -> ProbewiseError:
        kind = _kind(error)
        advice = next((text for own, text in _ADVICE.items() if kind.startswith(own)), None)
        if advice is not None:
            return StorageUnavailable(f"{self.name} cannot be used now ({error}); {advice}.")
        if kind == "NOTADB":
            return InvalidCampaign(
                f"{self.name} is not a campaign ({error}); check the name or, if it was one, take the last back-up: "
                "its beginning is damaged."
            )
        return InvalidCampaign(f"{self.name} is damaged ({error}); take the last back-up.")

    def _find(self, *, new: bool, after: int) -> None:
        """The file must be there, and a new one is made for its owner only."""
        if self.path.exists():
            return
        if not self.path.parent.is_dir():
            raise InvalidCampaign(
                f"there is no folder {self.path.parent} for the campaign {self.path.name}; make it first."
            )
        if not new:
            raise conflict(self.name, after, 0)
        try:
            _make(self.path)
        except FileExistsError:
            pass
        except OSError as error:
            raise StorageUnavailable(f"{self.name} cannot be made ({error.strerror}); check the folder.") from None

    def _lines(self, connection: sqlite3.Connection, after: int) -> list[str]:
        with _together(connection):
            found = self._schema(connection)
            if found is None:
                return []
            if found == SCHEMA:
                return self._select(connection, after)
        self._migrate(connection)
        return self._lines(connection, after)

    def _select(self, connection: sqlite3.Connection, after: int) -> list[str]:
        """The count in the header tells that records are missing at the end."""
        rows = connection.execute(
            f"SELECT seq, record FROM {JOURNAL} WHERE campaign = '' AND seq > ? ORDER BY seq", (after,)
        )
        lines, counted = lines_of(rows, after, self.name), _number(connection, "user_version")
        if after + len(lines) < counted:
            raise InvalidCampaign(
                f"{self.name} is damaged: it had {counted} records and has {after + len(lines)}; take the last back-up."
            )
        if after + len(lines) > max(counted, after) and _number(connection, "application_id"):
            self._inspect(
                connection
            )  # version 0.1.0, which does not count, wrote here, or parts of a write are missing
        return lines

    def _inspect(self, connection: sqlite3.Connection) -> None:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            raise InvalidCampaign(f"{self.name} is damaged ({found[0]:.80}); take the last back-up.")

    def _schema(self, connection: sqlite3.Connection) -> int | None:
        """The schema of the tables, or None if there are none."""
        if not {VERSION, JOURNAL} & (names := _names(connection)):
            return None
        if not {VERSION, JOURNAL} <= names:
            raise InvalidCampaign(f"{self.name} is damaged: one of its two tables is missing; take the last back-up.")
        return schema_of(connection.execute(f"SELECT version FROM {VERSION}").fetchall(), self.name)

    def _store(self, connection: sqlite3.Connection, lines: Sequence[str], after: int) -> None:
        """The lines after that number, or none of them."""
        if after == 0:
            self._create(connection)
        if not connection.in_transaction:
            connection.execute("BEGIN IMMEDIATE")
        if (found := self._count(connection)) != after:
            raise conflict(self.name, after, found)
        self._lines(connection, after)  # no record is missing, and the schema is this one
        # First the count: so the first page is the first that the rollback journal saves, and names the file.
        connection.execute(f"PRAGMA user_version={after + len(lines)}")
        rows = [("", after + number, line) for number, line in enumerate(lines, start=1)]
        connection.executemany(f"INSERT INTO {JOURNAL} (campaign, seq, record) VALUES (?, ?, ?)", rows)
        back = connection.execute(
            f"SELECT record FROM {JOURNAL} WHERE campaign = '' AND seq > ? ORDER BY seq", (after,)
        )
        if back.fetchall() != [(line,) for line in lines]:
            raise vanished(self.name, after + 1)
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if not self._stored(connection, lines[-1], after + len(lines)):
                raise self._refusal(error) from None

    def _stored(self, connection: sqlite3.Connection, line: str, number: int) -> bool:
        """Whether a commit that failed was one: SQLite may fail after its last step."""
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        try:
            there = replace(self, held=None).read(number - 1)[:1] == [line]
            if there:
                keep_name(self.path)
        except (OSError, InvalidCampaign) as error:
            raise StorageUnavailable(
                f"{self.name} cannot be written, nor read now: it is not known whether record {number} is stored "
                f"({error}); look at the journal before you repeat it."
            ) from None
        return there

    def _count(self, connection: sqlite3.Connection) -> int:
        last = connection.execute(f"SELECT max(seq) FROM {JOURNAL} WHERE campaign = ''").fetchone()[0]
        if not isinstance(last, int | None):
            raise InvalidCampaign(f"{self.name} is damaged: its last record is {last!r:.40}; take the last back-up.")
        return last or 0

    def _create(self, connection: sqlite3.Connection) -> None:
        """Empty tables in an empty file, stored before the first record: so every record has a first page to save."""
        if {VERSION, JOURNAL} & (names := _names(connection)):
            return
        if names or _number(connection, "user_version"):
            raise foreign(names, self.name)
        for statement in CREATE:
            connection.execute(statement)
        connection.execute(f"INSERT INTO {VERSION} VALUES ({SCHEMA})")
        connection.execute(f"PRAGMA application_id={_identity()}")
        connection.execute("COMMIT")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """A file of version 0.1.0, whose last records may lie in a write-ahead log, becomes one that is whole."""
        connection.execute("PRAGMA synchronous=EXTRA")  # a journal that was deleted must not come back
        if self._schema(connection) is None:
            return
        if connection.execute("PRAGMA journal_mode").fetchone() != ("delete",):
            connection.execute("PRAGMA journal_mode=DELETE")
        if _number(connection, "application_id") == 0:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id={_identity()}")
            connection.execute(f"PRAGMA user_version={self._count(connection)}")
            connection.execute("COMMIT")

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """To this schema, with a copy beside the file; in memory, where nothing can be written, without."""
        began = not connection.in_transaction
        if began:
            connection.execute("BEGIN IMMEDIATE")
        try:
            found = self._schema(connection)
            if found is not None and found < SCHEMA:  # another process may have migrated in the meantime
                if connection.execute("PRAGMA database_list").fetchone()[2]:
                    self._copy_to(back_up(self.path, found))
                connection.execute(f"PRAGMA user_version={_number(connection, 'user_version')}")  # the first page first
                migrate(connection.execute, found)
            if began:
                connection.execute("COMMIT")
        finally:
            if began and connection.in_transaction:
                connection.execute("ROLLBACK")

    def _copy_to(self, path: Path) -> None:
        File(path)._find(new=True, after=0)
        with self._opened() as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)


def _make(path: Path) -> None:
    """An empty file; where that can be, without opening it, since to close a file drops the locks of all threads."""
    if sys.platform == "linux":
        os.mknod(path, stat.S_IFREG | 0o600)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    path.chmod(new_mode())


def _identity() -> int:
    """A number that no other file has."""
    return 1 + secrets.randbelow(2**31 - 1)


def _names(connection: sqlite3.Connection) -> set[str]:
    """All that the file has, but for what SQLite keeps by itself."""
    rows = connection.execute("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    return {str(name) if kind == "table" else f"{kind} {name}" for kind, name in rows}


def _number(connection: sqlite3.Connection, own: str) -> int:
    return int(connection.execute(f"PRAGMA {own}").fetchone()[0])


def _kind(error: sqlite3.Error) -> str:
    return str(getattr(error, "sqlite_errorname", "")).removeprefix("SQLITE_")


def _patiently(work: Callable[[], T], seconds: float) -> T:
    """Try until others let it pass; SQLite itself would look again ever more seldom."""
    until = time.monotonic() + seconds
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if not _kind(error).startswith("BUSY") or time.monotonic() > until:
                raise
        time.sleep(random.uniform(0.001, 0.005))


@contextmanager
def _together(connection: sqlite3.Connection) -> Iterator[None]:
    """Statements that see one state of the file."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        with suppress(sqlite3.OperationalError):  # an error of the disk may have ended it
            connection.execute("ROLLBACK")
