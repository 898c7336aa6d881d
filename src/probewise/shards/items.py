"""Items in shards: what stands where an array of items would, and refuses to be one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.shards.engine import Cluster, Engine, Handle, Local, cluster
from probewise.shards.pieces import Piece, Summary, some_rows, summary
from probewise.tables import Labelled, named

NEAR = 20_000
"""Items up to which a problem brings them into memory, where all is as with a table: some megabytes."""
_LARGEST = 1e150
"""Largest feature, whose square is still a number."""
_PIECE = 1_000_000
"""Rows of a piece that is cut from an array, if nothing else is said."""
_SAMPLE = 10_000
"""Items, evenly spaced, that stand for all where a mean is wanted: the same whatever the pieces are."""
_BROUGHT = 100_000
"""Items that are brought here at once, at most."""


def own_number(name: str) -> int | None:
    """The number that is a name; None if it is none."""
    return int(name) if name.isascii() and name.isdigit() and str(int(name)) == name else None


@dataclass(frozen=True)
class Origin:
    """Parquet files that items are read from."""

    files: tuple[Path, ...]
    """The files, in order."""
    columns: tuple[str, ...]
    """Columns that are features."""
    names: str | None
    """The column of names; None for row numbers."""


@final
@dataclass(frozen=True, eq=False)
class Shards:
    """Items that stay where they are, numbered through all pieces in order."""

    engine: Engine
    """What runs functions on the pieces."""
    pieces: tuple[Handle, ...]
    """A `Piece` each, or what stands for it."""
    counts: tuple[int, ...]
    """Rows of each."""
    largest: Array
    """(d,): the largest size of each feature."""
    features: tuple[str, ...] | None = None
    """Names of the columns, if they have any."""
    label: Callable[[int], str] = str
    """The name of an item by its number."""
    number: Callable[[str], int | None] = own_number
    """The number of an item by its name; None if there is none."""
    every: Callable[[], tuple[str, ...]] | None = None
    """All names at once; None if they are row numbers."""
    sign: float = 1.0
    """-1 if all items are negated."""
    origin: Origin | None = None
    """The files that they come from, if they do."""
    stay: bool = False
    """Whether they stay where they are however few they are: as in journals of campaigns that were begun so."""

    def __len__(self) -> int:
        """Number of items."""
        return sum(self.counts)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of items, number of features."""
        return len(self), self.largest.size

    def __neg__(self) -> Shards:
        """Every item negated."""
        return replace(self, sign=-self.sign)

    def __repr__(self) -> str:
        return f"Shards({len(self):,} items, {self.largest.size} features, {len(self.pieces)} pieces)"

    def __getitem__(self, numbers: int | ArrayLike) -> Array:
        """(d,) or (k, d): an item or some items, not too many, brought here."""
        if isinstance(numbers, slice) or (at := np.asarray(numbers)).dtype.kind not in "iu" or at.size > _BROUGHT:
            self._refuse()
        return self.rows(at.ravel()).reshape(*at.shape, self.largest.size)

    def rows(self, numbers: ArrayLike) -> Array:
        """(k, d): some items, brought here."""
        wanted = np.asarray(numbers, dtype=np.int64)
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < len(self)):
            raise IndexError(f"items are numbered from 0 to {len(self) - 1}, got {wanted.min()} to {wanted.max()}")
        found = self.engine.each(some_rows, self.pieces, np.unique(wanted))
        at = np.concatenate([inside for inside, _ in found])
        rows = np.vstack([rows for _, rows in found])
        return np.asarray(self.sign * rows[np.searchsorted(at, wanted)])

    @cached_property
    def sample(self) -> Array:
        """(k, d): items at even distances, which are the same whatever the pieces are."""
        return self.rows(np.unique(np.linspace(0, len(self) - 1, min(_SAMPLE, len(self))).astype(np.int64)))

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise InvalidProblem(
            f"the {len(self):,} items stay where they are, so what needs all of them in one table cannot be done: "
            "Sage, hardness and designs can do without, for the best item; for all else give them as an array in "
            "memory, or take fewer."
        )

    __array__ = __iter__ = __matmul__ = __rmatmul__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __lt__ = __gt__ = __abs__ = _refuse

    def tolist(self) -> NoReturn:
        """Refused, as everything that needs all items in one place."""
        self._refuse()


class Labels(Sequence[str]):
    """Names of items, each looked up when it is asked for."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    def __len__(self) -> int:
        return len(self._shards)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(map(self._shards.label, range(len(self))[at]))
        return self._shards.label(range(len(self))[at])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._place(name) is not None

    def index(self, name: str, *_: Any) -> int:
        """The number of the item of that name."""
        if (found := self._place(name)) is None:
            raise ValueError(f"there is no item '{name:.40}'")
        return found

    def _place(self, name: str) -> int | None:
        found = self._shards.number(name)
        return found if found is not None and found < len(self) else None


def in_shards(
    engine: Engine,
    pieces: Sequence[Handle],
    *,
    features: tuple[str, ...] | None = None,
    label: Callable[[int], str] = str,
    number: Callable[[str], int | None] = own_number,
    every: Callable[[], tuple[str, ...]] | None = None,
    origin: Origin | None = None,
    shown: str = "items",
) -> Shards:
    """Items in pieces that an engine keeps, looked through once."""
    found: list[Summary] = engine.each(summary, pieces)
    largest = np.max([own.largest for own in found], axis=0)
    for own in found:
        if own.bad is not None:
            name = f"'{features[own.bad[1]]}'" if features else f"number {own.bad[1]}"
            raise InvalidProblem(
                f"{shown} must be finite numbers, but row {own.bad[0]} has none in feature {name}; fill it in, or "
                "leave the row out."
            )
    if largest.max() > _LARGEST:
        raise InvalidProblem(
            f"{shown} must not be larger than {_LARGEST:g}, got {largest.max():g}; choose other units."
        )
    counts = tuple(own.rows for own in found)
    if not sum(counts):
        raise InvalidProblem(f"{shown} need at least one row, got none.")
    return Shards(engine, tuple(pieces), counts, largest, features, label, number, every, origin=origin)


def items_in_shards(items: ArrayLike, *, size: int = _PIECE, scheduler: Any = None) -> Shards:
    """An array (m, d) in pieces of ``size`` rows: in this process or, with a ``scheduler``, on a cluster of Dask.

    Whatever the pieces, a search asks for the same measurements as on a Dask array or Parquet files of these items.
    """
    rows = np.asarray(items)
    if rows.ndim != 2 or 0 in rows.shape or rows.dtype.kind not in "fiu":
        raise InvalidProblem(f"items must be a table of numbers with rows and columns, got {rows.dtype}{rows.shape}.")
    loaders = [partial(Piece, rows[low : low + size], low) for low in range(0, rows.shape[0], size)]
    engine = Local() if scheduler is None else cluster(scheduler)
    return in_shards(engine, engine.loaded(loaders))


def shards_of(items: Any) -> Shards | None:
    """The shards of a Dask array or data frame, or of what is in shards already; None for anything else."""
    if isinstance(items, Shards):
        return items
    if type(items).__module__.partition(".")[0] not in ("dask", "dask_expr"):
        return None
    return _of_dask(items, cluster())


def brought(items: Any) -> tuple[Any, Shards | None]:
    """Items as they are, or in memory if they are few enough, and None; or the shards that they stay in."""
    far = shards_of(items)
    if far is None or far.stay or len(far) > NEAR:
        return items, far
    names = None if far.every is None else far.every()
    return Labelled(far.rows(np.arange(len(far))), names, far.features), None


def _of_dask(items: Any, engine: Cluster) -> Shards:
    """The chunks of an array, or the partitions of a data frame, computed by the cluster and kept there."""
    features = None
    if "dataframe" in type(items).__module__ or type(items).__module__.startswith("dask_expr"):
        features = tuple(map(str, items.columns))
        delayed = items.to_delayed()
    else:
        if items.ndim != 2:
            raise InvalidProblem(
                f"items must be a table with one row per item, got an array of {items.ndim} dimensions."
            )
        delayed = items.rechunk({1: -1}).to_delayed().ravel().tolist()
    blocks = engine.client.compute(delayed)
    counts = engine.each(len, blocks)
    starts = np.cumsum([0, *counts])[:-1].tolist()
    placed = zip(blocks, starts, strict=True)
    return in_shards(engine, [engine.client.submit(_piece, *own, pure=False) for own in placed], features=features)


def _piece(block: Any, first: int) -> Piece:
    """Rows of a chunk or a partition."""
    rows: NDArray[Any] = np.asarray(block)
    if rows.dtype.kind not in "fiu":
        raise InvalidProblem(f"items must hold numbers only, got {rows.dtype}; leave other columns out.")
    return Piece(rows, first)


def joined(probes: Labelled, items: Shards) -> tuple[Array, Any, tuple[str, ...] | None]:
    """Probes, and items that stay where they are, if they have the same features in the same order."""
    if items.shape[1] != probes.values.shape[1] or (probes.features and items.features not in (None, probes.features)):
        own = f"{items.shape[1]} features of items" if items.features is None else named(items.features)
        there = f"{probes.values.shape[1]} of probes" if probes.features is None else named(probes.features)
        raise InvalidProblem(
            f"items that stay where they are must have the features of the probes, got {own}; {there}."
        )
    return probes.values, items, probes.features or items.features


def labels(items: Shards, given: Iterable[object] | None) -> Any:
    """Names of items that stay where they are: of their own, or row numbers."""
    if given is not None and not isinstance(given, Labels):
        raise InvalidProblem(
            "items that stay where they are have row numbers or a column of names; leave item_names out."
        )
    return Labels(items)
