"""Values z'θ of items where they are: who is in front, and how far all others are behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.shards.items import Shards
from probewise.shards.pieces import Piece, blocks
from probewise.threads import few


class Front(NamedTuple):
    """Items with the highest values, the highest first."""

    values: Array
    """(k,)."""
    numbers: NDArray[np.int64]
    """(k,)."""
    rows: Array
    """(k, d)."""

    @classmethod
    def of(cls, *several: Front, most: int) -> Front:
        """The highest of several; of equal ones that with the smaller number."""
        values, numbers, rows = (np.concatenate(part) for part in zip(*several, strict=True))
        order = np.lexsort((numbers, -values))[:most]
        return cls(values[order], numbers[order], rows[order])

    @classmethod
    def none(cls, dimension: int) -> Front:
        """Of no items."""
        return cls(np.empty(0), np.empty(0, dtype=np.int64), np.empty((0, dimension)))

    @classmethod
    def among(cls, values: Array, numbers: NDArray[np.int64], rows: Array, most: int) -> Front:
        """The highest of some items (k,), (k,), (k, d)."""
        if values.size > most:
            at = np.flatnonzero(values >= np.partition(values, values.size - most)[values.size - most])
            values, numbers, rows = values[at], numbers[at], rows[at]
        return cls.of(cls(values, numbers, rows), most=most)


@few
def highest(piece: Piece, sign: float, theta: Array, most: int) -> Front:
    """The items of a piece with the highest values."""
    found = Front.none(theta.size)
    for rows, block in blocks(piece.rows, sign):
        count = rows.stop - rows.start
        values = (block @ theta[:, None])[:count, 0]
        found = Front.of(found, Front.among(values, piece.numbered(rows), block[:count], most), most=most)
    return found


class Behind(NamedTuple):
    """How far items of a piece are behind the best one."""

    least: float
    """The smallest distance, in values."""
    tied: int | None
    """Number of an item that is not behind by more than rounding; None if there is none."""


@few
def behind(piece: Piece, sign: float, best: int, row: Array, theta: Array) -> tuple[Piece, Behind]:
    """The piece with gaps (best - z)'θ, infinite for the best itself; the smallest of them, and a tie."""
    gaps, tied = np.empty(piece.rows.shape[0]), None
    for rows, block in blocks(piece.rows, sign):
        count, numbers = rows.stop - rows.start, piece.numbered(rows)
        own = ((row - block) @ theta[:, None])[:count, 0]
        sizes = ((np.abs(row) + np.abs(block)) @ np.abs(theta)[:, None])[:count, 0]
        close = np.flatnonzero((own <= theta.size * np.finfo(float).eps * sizes) & (numbers != best))
        if close.size and tied is None:
            tied = int(numbers[close[0]])
        gaps[rows] = np.where(numbers == best, np.inf, own)
    return replace(piece, gaps=gaps), Behind(float(gaps.min(initial=np.inf)), tied)


def beyond(piece: Piece, sign: float, low: Array, high: Array) -> tuple[int, NDArray[np.bool_]]:
    """How many items of a piece have features outside (d,) limits, and which features."""
    count, features = 0, np.zeros(low.size, dtype=np.bool_)
    for rows, block in blocks(piece.rows, sign):
        some = block[: rows.stop - rows.start]
        outside = (some < low) | (some > high)
        count, features = count + int(outside.any(axis=1).sum()), features | outside.any(axis=0)
    return count, features


class Gaps(Sequence[float]):
    """(best - z)'θ for every item z, computed for those that are asked for."""

    def __init__(self, shards: Shards, best: int, theta: Array) -> None:
        self._shards, self._best, self._theta = shards, best, theta

    def __len__(self) -> int:
        return len(self._shards)

    def __getitem__(self, numbers: Any) -> Any:
        return (self._shards[self._best] - self._shards[numbers]) @ self._theta
