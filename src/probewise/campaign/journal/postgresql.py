"""Journals in a database of a PostgreSQL server, which several computers share."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, final

from probewise.campaign.journal.addresses import Address
from probewise.campaign.journal.storage import SCHEMA, Storage, conflict, vanished
from probewise.campaign.journal.tables import CREATE, JOURNAL, VERSION, foreign, lines_of, migrate, schema_of
from probewise.errors import InvalidCampaign, MissingExtra, ProbewiseError, StorageUnavailable

try:
    import psycopg
    from psycopg import conninfo, errors
except ImportError:
    raise MissingExtra("a campaign on PostgreSQL needs psycopg; install probewise[postgresql].") from None

Connection = psycopg.Connection[tuple[Any, ...]]

WAIT = 8
"""Seconds that everybody waits for a connection, and a writer for the others."""
ANSWER, COMMIT = 12, 5
"""Seconds after which a server that does not answer is given up, also where a record is made to last."""
_THINKING = 300
"""Seconds after which the server lets the others pass if the writer that is alone does not go on."""
_PAGE = 500
"""Records that are read at once."""
_CREATING = 5_011_970
"""Key of the lock under which tables are made."""

_LINE = {
    "connect_timeout": WAIT,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 1000 * WAIT,
    "application_name": "probewise",
}
"""How soon a dead line is noticed; what the URL says comes first."""
_BEGIN = (
    "BEGIN ISOLATION LEVEL READ COMMITTED; "
    f"SET LOCAL lock_timeout = '{WAIT}s'; SET LOCAL statement_timeout = '{WAIT + 1}s'; "
    f"SET LOCAL idle_in_transaction_session_timeout = '{_THINKING}s'"
)
"""Settings of one transaction, so that they pass through programs that share connections."""
_OTHERS = """
    SELECT relname FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
    AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
"""
"""Tables of the schema that no extension made."""
_ADVICE = {
    "55P03": f"another writer has been at work for {WAIT} s; try again",
    "57014": "it took too long; try again",
    "42501": "check your rights there",
    "25006": "it only lets you read; check the address",
    "53100": "make room on the disk of the server",
    "28": "check the name and the password",
    "3D": "check the name of the database",
}
"""Beginning of a code of PostgreSQL -> what to do."""
_SAID = {
    "authentication": "check the name and the password",
    "password": "check the name and the password",
    "pg_hba.conf": "check the name and the password",
    "role ": "check the name and the password",
    "database ": "check the name of the database",
    "invalid": "check the address",
    "resolve": "check the address",
    "translate host": "check the address",
}
"""What a server or driver says while a connection is made, when there is no code -> what to do."""


@final
@dataclass(frozen=True, eq=False)
class Server(Storage):
    """The journal of one campaign in a table that it shares with others."""

    address: Address
    """Where; it is connected for one call, so that processes may fork."""
    held: Connection | None = field(default=None, repr=False)
    """The connection of a writer that is alone."""

    @property
    def name(self) -> str:
        """The URL without its passwords."""
        return self.address.shown

    def read(self, after: int = 0) -> Sequence[str]:
        """SELECTs of so many records that each is answered soon; they pass while others write."""
        if self.held is not None:
            return self._lines(self.held, after)
        with self._connected() as connection:
            return self._lines(connection, after)

    def append(self, line: str, *, after: int) -> None:
        """One INSERT in a transaction of its own, read back before it counts."""
        if self.held is None:
            with self.writing() as alone:
                alone.append(line, after=after)
            return
        with self._told(self.held):
            self._insert(self.held, line, after)
        try:
            with self._told(self.held, COMMIT):
                self.held.execute("COMMIT")
        except StorageUnavailable:
            if not self._stored(line, after):
                raise

    @contextmanager
    def writing(self) -> Iterator[Storage]:
        """Hold the lock of the campaign until the end of the transaction; it is gone with a connection that is lost."""
        if self.held is not None:
            yield self
            return
        with self._connected() as connection:
            with self._told(connection):
                self._alone(connection)
            yield replace(self, held=connection)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            options = {**_LINE, **conninfo.conninfo_to_dict(self.address.url)}
            connection = _soon(lambda: psycopg.connect(**options, autocommit=True, prepare_threshold=None))  # type: ignore[arg-type]
        except psycopg.Error as error:
            raise self._refusal(error) from None
        except TimeoutError:
            raise self._late(WAIT) from None
        try:
            yield connection
        finally:
            with suppress(psycopg.Error):
                connection.close()

    @contextmanager
    def _told(self, connection: Connection, seconds: float = ANSWER) -> Iterator[None]:
        """Errors of the server as sentences; if there is no answer at all, the line is cut."""
        late = threading.Event()
        try:
            with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as line:
                timer = threading.Timer(seconds, _cut, (line, late))
                timer.daemon = True
                timer.start()
                try:
                    yield
                finally:
                    timer.cancel()
                    timer.join()
        except psycopg.Error as error:
            if late.is_set():
                raise self._late(seconds) from None
            raise self._refusal(error) from None

    def _late(self, seconds: float) -> StorageUnavailable:
        return StorageUnavailable(f"{self.name} gave no answer within {seconds:g} s; try again.")

    def _refusal(self, error: psycopg.Error) -> ProbewiseError:
        code, said = error.sqlstate or "", self.address.silent(str(error).strip().partition("\n")[0].rstrip("."))
        if code.startswith(("42P", "42703", "42804", "XX")):
            return InvalidCampaign(
                f"{self.name} is damaged, or its tables are not those of a campaign ({said}); ask who keeps it."
            )
        known = _ADVICE if code else _SAID
        advice = next(
            (text for own, text in known.items() if (code.startswith(own) if code else own in said)), "try again"
        )
        return StorageUnavailable(f"{self.name} cannot be used now ({said}); {advice}.")

    def _begin(self, connection: Connection) -> None:
        if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            connection.execute(_BEGIN)

    def _alone(self, connection: Connection) -> None:
        self._begin(connection)
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_key(self.address.campaign),))

    def _lines(self, connection: Connection, after: int) -> list[str]:
        lines: list[str] = []
        while True:
            with self._told(connection):
                self._begin(connection)
                if not lines and self.held is None and not self._ready(connection):
                    return []
                new = self._select(connection, after + len(lines))
            lines += new
            if len(new) < _PAGE:
                return lines

    def _select(self, connection: Connection, after: int) -> list[str]:
        wanted = f"SELECT seq, record FROM {JOURNAL} WHERE campaign = %s AND seq > %s ORDER BY seq LIMIT {_PAGE}"
        return lines_of(connection.execute(wanted, (self.address.campaign, after)).fetchall(), after, self.name)

    def _ready(self, connection: Connection) -> bool:
        """Whether the tables are there; those of an older schema are copied beside themselves and migrated first."""
        if connection.execute("SELECT to_regclass(%s)", (VERSION,)).fetchone() == (None,):
            return False
        found = self._schema(connection)
        if found < SCHEMA:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
            found = self._schema(connection)  # another process may have migrated in the meantime
            if found < SCHEMA:
                copy = f"{JOURNAL}_{found}_{datetime.now(UTC):%Y%m%d_%H%M%S}"
                connection.execute(f"CREATE TABLE {copy} AS SELECT * FROM {JOURNAL}")
                migrate(connection.execute, found)
            connection.execute("COMMIT")
            self._begin(connection)
        return True

    def _schema(self, connection: Connection) -> int:
        return schema_of(connection.execute(f"SELECT version FROM {VERSION}").fetchall(), self.name)

    def _insert(self, connection: Connection, line: str, after: int) -> None:
        if after == 0:
            self._create(connection)
        self._alone(connection)
        if not self._ready(connection):
            raise conflict(self.name, after, 0)
        mine = (self.address.campaign,)
        last = connection.execute(f"SELECT max(seq) FROM {JOURNAL} WHERE campaign = %s", mine).fetchone()
        if (found := (last and last[0]) or 0) != after:
            raise conflict(self.name, after, found)
        try:
            connection.execute(
                f"INSERT INTO {JOURNAL} (campaign, seq, record) VALUES (%s, %s, %s)", (*mine, after + 1, line)
            )
        except errors.UniqueViolation:  # an older version writes without the lock
            raise conflict(self.name, after, after + 1) from None
        if self._select(connection, after) != [line]:
            connection.execute("ROLLBACK")
            raise vanished(self.name, after + 1)

    def _stored(self, line: str, after: int) -> bool:
        """Whether a commit whose answer was lost was one; the lock is free once that transaction has ended."""
        try:
            with replace(self, held=None).writing() as alone:
                return [*alone.read(after)[:1]] == [line]
        except ProbewiseError as error:
            raise StorageUnavailable(
                f"the connection was lost while record {after + 1} was being stored, and it is not known whether it is "
                f"({error}); look at the journal before you repeat it."
            ) from None

    def _create(self, connection: Connection) -> None:
        """The tables, in a schema that holds nothing else."""
        connection.execute("COMMIT")
        self._begin(connection)
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
        names = {str(name) for (name,) in connection.execute(_OTHERS)}
        if not {VERSION, JOURNAL} & names and connection.execute("SELECT to_regclass(%s)", (VERSION,)).fetchone() == (
            None,
        ):
            if others := {name for name in names if not name.startswith("probewise_")}:
                raise foreign(others, self.name)
            for statement in CREATE:
                connection.execute(statement)
            connection.execute(f"INSERT INTO {VERSION} VALUES ({SCHEMA})")
        connection.execute("COMMIT")


def server(url: str) -> Server:
    """The journal at a URL; what follows # names the campaign."""
    address = Address.read(url)
    try:
        conninfo.conninfo_to_dict(address.url)
    except psycopg.Error as error:
        reason = address.silent(str(error).strip().partition("\n")[0])
        raise InvalidCampaign(f"'{address.shown}' is not the URL of a database ({reason}).") from None
    return Server(address)


def _key(campaign: str) -> int:
    """The number of the lock of a campaign."""
    return int.from_bytes(hashlib.sha256(f"probewise {campaign}".encode()).digest()[:8], "big", signed=True)


def _cut(line: socket.socket, late: threading.Event) -> None:
    late.set()
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def _soon(connect: Callable[[], Connection]) -> Connection:
    """A connection, or TimeoutError: names with several addresses, and those that nobody knows, may take long."""
    made: list[Connection | BaseException] = []
    late = threading.Event()

    def work() -> None:
        try:
            made.append(connect())
        except BaseException as error:
            made.append(error)
        if late.is_set() and isinstance(made[0], psycopg.Connection):
            made[0].close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(WAIT)
    if not made:
        late.set()
        raise TimeoutError
    if isinstance(made[0], BaseException):
        raise made[0]
    return made[0]


def heads(url: str) -> dict[str, int]:
    """Every campaign of a database -> the number of its records."""
    found = server(url)
    with found._connected() as connection, found._told(connection):
        found._begin(connection)
        if not found._ready(connection):
            return {}
        rows = connection.execute(f"SELECT campaign, max(seq) FROM {JOURNAL} GROUP BY campaign ORDER BY campaign")
        return {str(name): int(count) for name, count in rows}
