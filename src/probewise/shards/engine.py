"""Engines: where pieces of data are, and what runs functions on them."""

from __future__ import annotations

import abc
import sys
from collections.abc import Callable, Sequence
from os import cpu_count
from typing import Any, final

from probewise.errors import MissingExtra

HERE = "here"
"""The scheduler that is none: this process."""
Handle = Any
"""A piece, or what stands for one that is elsewhere."""


class Engine(abc.ABC):
    """Runs pure functions on pieces where they are; what it keeps can be made again from what it was made of."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What tells it from others."""

    @abc.abstractmethod
    def loaded(self, loaders: Sequence[Callable[[], Any]]) -> list[Handle]:
        """What each loader gives, kept."""

    @abc.abstractmethod
    def each(self, function: Callable[..., Any], pieces: Sequence[Handle], *given: Any) -> list[Any]:
        """function(piece, *given) for each piece, brought back: it must be small."""

    @abc.abstractmethod
    def kept(
        self, function: Callable[..., Any], pieces: Sequence[Handle], *given: Any
    ) -> tuple[list[Handle], list[Any]]:
        """As ``each`` for functions that give a new piece, which stays, and something small, which is brought back."""


@final
class Local(Engine):
    """All pieces in the memory of this process."""

    @property
    def name(self) -> str:
        """There is one."""
        return HERE

    def loaded(self, loaders: Sequence[Callable[[], Any]]) -> list[Handle]:
        """One after the other."""
        return [loader() for loader in loaders]

    def each(self, function: Callable[..., Any], pieces: Sequence[Handle], *given: Any) -> list[Any]:
        """One after the other."""
        return [function(piece, *given) for piece in pieces]

    def kept(
        self, function: Callable[..., Any], pieces: Sequence[Handle], *given: Any
    ) -> tuple[list[Handle], list[Any]]:
        """One after the other."""
        made = [function(piece, *given) for piece in pieces]
        return [piece for piece, _ in made], [small for _, small in made]


@final
class Cluster(Engine):
    """Pieces in the memory of the workers of Dask; what a lost worker held is computed again."""

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def name(self) -> str:
        """That of the client."""
        return str(self.client.id)

    def loaded(self, loaders: Sequence[Callable[[], Any]]) -> list[Handle]:
        """By any worker each."""
        return [self.client.submit(loader, pure=False) for loader in loaders]

    def each(self, function: Callable[..., Any], pieces: Sequence[Handle], *given: Any) -> list[Any]:
        """By the workers that have the pieces."""
        found: list[Any] = self.client.gather([self.client.submit(function, p, *given, pure=False) for p in pieces])
        return found

    def kept(
        self, function: Callable[..., Any], pieces: Sequence[Handle], *given: Any
    ) -> tuple[list[Handle], list[Any]]:
        """By the workers that have the pieces."""
        made = [self.client.submit(function, piece, *given, pure=False) for piece in pieces]
        small: list[Any] = self.client.gather([self.client.submit(_second, pair, pure=False) for pair in made])
        return [self.client.submit(_first, pair, pure=False) for pair in made], small


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def engine_of(scheduler: Any = None) -> Engine:
    """An engine itself; this process; the cluster at an address or of a client, else in use, else on this machine."""
    if isinstance(scheduler, Engine):
        return scheduler
    if scheduler == HERE:
        return Local()
    return cluster(scheduler)


def cluster(scheduler: Any = None) -> Cluster:
    """The cluster at an address or of a client; else the one in use; else one of this machine's processors."""
    if scheduler is None:
        return Cluster(_client() or started())
    Client: Any = _distributed().Client
    return Cluster(scheduler if isinstance(scheduler, Client) else Client(scheduler))


def started(processes: int | None = None) -> Any:
    """A client of a new cluster of so many processes on this machine, by default one for each processor."""
    Client: Any = _distributed().Client
    import dask

    with dask.config.set({f"distributed.nanny.pre-spawn-environ.{name}": size for name, size in _MEMORY.items()}):
        return Client(n_workers=processes or cpu_count(), threads_per_worker=1, dashboard_address=":0")


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingExtra("items on a cluster need Dask; install it with: pip install 'probewise[dask]'.") from None
    return distributed


def in_use() -> Engine:
    """The cluster that this process uses, or the process itself."""
    client = _client()
    return Local() if client is None else Cluster(client)


def _client() -> Any:
    """The client of the cluster that this process uses; None if it uses none."""
    if (distributed := sys.modules.get("distributed")) is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 2**28, "MALLOC_MMAP_THRESHOLD_": 2**25}
"""What processes that we start keep of the memory that they have used, in bytes: with the little that Dask lets them
keep, half of the time of a look at items goes into returning memory and asking for it again."""
