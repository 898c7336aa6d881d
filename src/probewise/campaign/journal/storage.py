"""Storage: where a journal is kept. Two methods, so that a new kind of storage is one short class."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TypeVar

from probewise.errors import InvalidCampaign, StorageConflict

T = TypeVar("T")

SCHEMA = 1
"""Version of the layout of files and tables; those of an older one are backed up and brought up to it when opened."""


PATIENCE = 60
"""Seconds that a writer waits for another one."""


@cache
def own_version() -> str:
    """Version of the package."""
    from importlib.metadata import version  # slow to load, and needed by writers only

    return version("probewise")


class Storage(abc.ABC):
    """An append-only list of lines, numbered from 1, that several processes may share."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the storage in messages."""

    @abc.abstractmethod
    def read(self, after: int = 0) -> Sequence[str]:
        """The lines from number after + 1; none if nothing has been stored. It never waits for a writer."""

    @abc.abstractmethod
    def append(self, line: str, *, after: int) -> None:
        """Store line number after + 1, a JSON object; once this returns, it survives a crash.

        StorageConflict if somebody else has stored that line already, or one before it is missing. If it raises, the
        line is not stored, unless the message says that this is not known.
        """

    def begin(self, lines: Iterable[str]) -> None:
        """Store the first lines, in a place in which nothing is stored."""
        for number, line in enumerate(lines):
            self.append(line, after=number)

    def kind(self, usual: type[T]) -> type[T]:
        """The class of the campaigns that are kept here: the usual one, or one that has its changes made elsewhere."""
        return usual

    @contextmanager
    def writing(self) -> Iterator[Storage]:
        """A handle for a writer that reads, thinks and appends while the others wait; here it is not alone."""
        yield self


class Memory(Storage):
    """A list, for simulations and tests."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @property
    def name(self) -> str:
        """What messages call it, as it has no name of its own."""
        return "a journal in memory"

    def read(self, after: int = 0) -> Sequence[str]:
        """The lines from number after + 1."""
        return self.lines[after:]

    def append(self, line: str, *, after: int) -> None:
        """Store line number after + 1, which lasts as long as the process."""
        if len(self.lines) != after:
            raise conflict(self.name, after, len(self.lines))
        self.lines.append(line)


def conflict(name: str, after: int, found: int) -> StorageConflict:
    """What an append says that comes too late, or too early."""
    return StorageConflict(f"{name} has {found} records, expected {after}; read the others and try again.")


def vanished(name: str, number: int) -> InvalidCampaign:
    """What is said of a record that was written and cannot be read back."""
    return InvalidCampaign(
        f"record {number} was written to {name} and is not there: something else, such as a trigger in the database or "
        "a program that restores files, removes what is written; find it before you go on."
    )


def check_schema(found: object, name: str) -> int:
    """The schema of a file; refused if there never was one of that number, or if it is newer than this version."""
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise InvalidCampaign(f"{name} names the schema {found!r:.40}, which never was; take the last back-up.")
    if found > SCHEMA:
        raise InvalidCampaign(
            f"{name} has schema {found}, and probewise {own_version()} knows schemas up to {SCHEMA}; "
            "install a newer probewise (pip install --upgrade probewise), nothing was changed."
        )
    return found


def back_up(path: Path, schema: int) -> Path:
    """Path of the copy that is made of a file before it is migrated."""
    return path.with_name(f"{path.name}.schema-{schema}.{datetime.now(UTC):%Y%m%d-%H%M%S-%f}")
