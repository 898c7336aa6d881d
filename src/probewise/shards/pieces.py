"""Pieces: some rows of all items, and how they are looked at: by blocks of one size, so that cuts do not matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array

BLOCK = 8192
"""Rows that are looked at together, always as many: products of fewer may be rounded otherwise."""
Rows = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of items as they were given, in single or double precision."""

    rows: Rows
    """(k, d)."""
    first: int
    """Number of the first of them among all items, if all are there."""
    numbers: NDArray[np.int64] | None = None
    """(k,): numbers of those that are left, ascending; None if all are."""
    gaps: Array | None = None
    """(k,): what the direction to each is divided by, at least 1; None for 1."""

    def numbered(self, rows: slice) -> NDArray[np.int64]:
        """Numbers of some rows among all items."""
        return (
            np.arange(self.first + rows.start, self.first + rows.stop) if self.numbers is None else self.numbers[rows]
        )


class Summary(NamedTuple):
    """What is to be known of a piece before anything else."""

    rows: int
    """How many."""
    largest: Array
    """(d,): the largest size of each feature."""
    bad: tuple[int, int] | None
    """Row number, among all, and feature of a number that is not finite, if there is one."""


def blocks(rows: Rows, sign: float = 1.0) -> Iterator[tuple[slice, Array]]:
    """Slices of at most BLOCK rows, and (BLOCK, d) these rows in double precision, padded with zeros.

    It is one array that is filled again and again: new ones would be taken from the system, and given back, each time.
    """
    padded = np.zeros((BLOCK, rows.shape[1]))
    for low in range(0, rows.shape[0], BLOCK):
        some = rows[low : low + BLOCK]
        np.multiply(some, sign, out=padded[: some.shape[0]], casting="unsafe")
        padded[some.shape[0] :] = 0.0
        yield slice(low, low + some.shape[0]), padded


def summary(piece: Piece) -> Summary:
    """Count, sizes, and the first number that is not finite."""
    largest = np.zeros(piece.rows.shape[1])
    for rows, block in blocks(piece.rows):
        sizes = np.abs(block)
        if not np.isfinite(sizes).all():
            row, feature = np.argwhere(~np.isfinite(sizes))[0]
            return Summary(piece.rows.shape[0], largest, (piece.first + rows.start + int(row), int(feature)))
        largest = np.maximum(largest, sizes.max(axis=0))
    return Summary(piece.rows.shape[0], largest, None)


def some_rows(piece: Piece, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array]:
    """Which of the ``numbers``, among all items, are in the piece, and (k, d) their rows."""
    inside = numbers[(numbers >= piece.first) & (numbers < piece.first + piece.rows.shape[0])]
    return inside, piece.rows[inside - piece.first].astype(np.float64)
