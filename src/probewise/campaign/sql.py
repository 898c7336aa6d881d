"""Journals in tables: one file of SQLite, or a database of a server, through one schema of SQLAlchemy Core."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import final

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError, SQLAlchemyError

from probewise.campaign.storage import PATIENCE, SCHEMA, Storage, back_up, check_schema, conflict
from probewise.errors import InvalidCampaign, MissingExtra, StorageUnavailable

_TABLES = sa.MetaData()
_VERSION = sa.Table("probewise_schema", _TABLES, sa.Column("version", sa.Integer, nullable=False))
_JOURNAL = sa.Table(
    "probewise_journal",
    _TABLES,
    sa.Column("campaign", sa.Text, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("record", sa.Text, nullable=False),
)
_CREATING = 5_011_970
"""Key of the lock under which the tables of a server are made."""

MIGRATIONS: dict[int, Callable[[sa.Connection], None]] = {}
"""Schema -> what brings tables of that schema to the next one, inside one transaction."""


@final
@dataclass(frozen=True, eq=False)
class Tables(Storage):
    """The journal of one campaign in a table of a database."""

    engine: sa.Engine
    """Where; a connection lives as long as one call, so that processes may fork and files may be moved."""
    label: str
    """What messages call the database."""
    campaign: str
    """Name of the campaign among those of the database."""
    path: Path | None
    """The file, if it is one."""

    @property
    def name(self) -> str:
        """The file or the URL without its password."""
        return self.label

    def read(self, after: int = 0) -> Sequence[str]:
        """One SELECT: SQLite in WAL mode and servers let it pass while others write."""
        if self.path is not None and not self.path.is_file():
            return ()
        with self._connected() as connection:
            if not self._ready(connection):
                return ()
            rows = sa.select(_JOURNAL.c.record).where(_JOURNAL.c.campaign == self.campaign, _JOURNAL.c.seq > after)
            return connection.execute(rows.order_by(_JOURNAL.c.seq)).scalars().all()

    def append(self, line: str, *, after: int) -> None:
        """One INSERT, whose primary key settles who was first."""
        with self._connected() as connection:
            if after == 0:
                self._create(connection)
            self._ready(connection)
            with _transaction(connection):
                last = sa.select(sa.func.max(_JOURNAL.c.seq)).where(_JOURNAL.c.campaign == self.campaign)
                found = connection.execute(last).scalar_one() or 0
                if found != after:
                    raise conflict(self.label, after, found)
                row = {"campaign": self.campaign, "seq": after + 1, "record": line}
                try:
                    connection.execute(sa.insert(_JOURNAL).values(row))
                except IntegrityError:
                    raise conflict(self.label, after, after + 1) from None

    @contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        try:
            with self.engine.connect() as connection:
                yield connection.execution_options(isolation_level="AUTOCOMMIT")
        except OperationalError as error:
            reason = _reason(error)
            advice = "check its rights" if "readonly" in reason else "try again"
            raise StorageUnavailable(f"{self.label} cannot be used now ({reason}); {advice}.") from None
        except DatabaseError as error:
            raise InvalidCampaign(f"{self.label} is no campaign ({_reason(error)}); check the name.") from None

    def _create(self, connection: sa.Connection) -> None:
        if self.path is not None:
            _write_ahead(connection)
        with _transaction(connection):
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CREATING)))
            if not sa.inspect(connection).has_table(_VERSION.name):
                _TABLES.create_all(connection)
                connection.execute(sa.insert(_VERSION).values(version=SCHEMA))

    def _ready(self, connection: sa.Connection) -> bool:
        """Whether the tables are there; those of an older schema are backed up and migrated first."""
        if not sa.inspect(connection).has_table(_VERSION.name):
            return False
        if _version(connection) != SCHEMA:
            with _transaction(connection):
                found = _version(connection)  # another process may have migrated in the meantime
                check_schema(found, self.label)
                if found < SCHEMA:
                    self._back_up(connection, found)
                    for version in range(found, SCHEMA):
                        MIGRATIONS[version](connection)
                    connection.execute(sa.update(_VERSION).values(version=SCHEMA))
        return True

    def _back_up(self, connection: sa.Connection, version: int) -> None:
        """A copy beside the file, or tables beside the tables."""
        if self.path is None:
            copy = f"{_JOURNAL.name}_{version}_{datetime.now(UTC):%Y%m%d_%H%M%S}"
            connection.exec_driver_sql(f"CREATE TABLE {copy} AS SELECT * FROM {_JOURNAL.name}")
            return
        copy_to = back_up(self.path, version)
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(copy_to)) as target:
            source.backup(target)


def file(path: Path) -> Tables:
    """A journal in one file of SQLite."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    if not path.parent.is_dir():
        raise InvalidCampaign(f"there is no folder {path.parent} for the campaign {path.name}; make it first.")
    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool)
    return Tables(engine, str(path), "", path)


def server(url: str) -> Tables:
    """A journal in the database of a server; what follows # in the URL names the campaign."""
    address, _, campaign = url.partition("#")
    try:
        parsed = sa.make_url(address)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        engine = sa.create_engine(parsed, poolclass=sa.NullPool)
    except ImportError:
        raise MissingExtra("a campaign on PostgreSQL needs psycopg; install probewise[postgresql].") from None
    except (SQLAlchemyError, ValueError) as error:
        shown = re.sub(r"://[^@/]*@", "://…@", address)  # without name and password
        raise InvalidCampaign(f"'{shown}' is no URL of a database ({_reason(error)}).") from None
    return Tables(engine, parsed.render_as_string(hide_password=True), campaign or "campaign", None)


def _write_ahead(connection: sa.Connection) -> None:
    """The mode in which readers and a writer do not wait for each other; it stays with the file."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            return
        except OperationalError:  # another process does the same now, and here SQLite itself does not wait
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


@contextmanager
def _transaction(connection: sa.Connection) -> Iterator[None]:
    """All or nothing; SQLite takes its lock at once, where waiting is safe."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.dialect.name == "sqlite" else "BEGIN")
    try:
        yield
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")


def _version(connection: sa.Connection) -> int:
    return int(connection.execute(sa.select(_VERSION.c.version)).scalar_one())


def _reason(error: Exception) -> str:
    """The first line of what the driver said."""
    cause = error.orig if isinstance(error, DatabaseError) and error.orig is not None else error
    return str(cause).partition("\n")[0].rstrip(".")
