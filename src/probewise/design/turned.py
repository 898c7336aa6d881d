"""Many directions in other coordinates, of which only the longest are ever formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from probewise.arithmetic import image, rank_and_members
from probewise.coordinates import Array
from probewise.design.directions import Directions
from probewise.design.farthest import Labels, longest_above, spread, square_norms

MANY = 200_000
"""Numbers in directions above which products with them are formed by blocks, which fit into a cache."""


@final
@dataclass(frozen=True)
class Turned(Directions):
    """Many directions in other coordinates, formed block by block when they are looked at: they are never all there."""

    vectors: Array
    """(k, d): the directions in the coordinates that they have."""
    transform: Array
    """(d, r): to the others."""

    @property
    def generators(self) -> Array:
        """All of them."""
        return self.vectors @ self.transform

    @property
    def magnitudes(self) -> Array:
        """Their sizes."""
        return np.abs(self.generators)

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.vectors.shape[0])

    def rows(self, labels: Labels) -> Array:
        """(k, r): the rows with these numbers."""
        return self.vectors[labels] @ self.transform

    def mapped(self, transform: Array) -> Turned:
        """In still other coordinates."""
        return Turned(self.vectors, self.transform @ transform)

    def image(self, transform: Array, *, precise: bool) -> tuple[Directions, float]:
        """As of the rows themselves, which are taken to be exact."""
        mapped, errors = image(self.generators, transform, precise=precise)
        return Turned(mapped, np.eye(mapped.shape[1])), float(errors.max())

    def exactly_in(self, probes: Array) -> tuple[int, bool]:
        """As of the rows themselves."""
        rank, inside = rank_and_members(probes, self.generators)
        return rank, bool(inside.all())

    @property
    def reach(self) -> float:
        """The norm of the longest row."""
        return float(np.sqrt(self._squares.max()))

    def moment(self) -> Array:
        """Σ yy'."""
        return np.asarray(self.transform.T @ (self.vectors.T @ self.vectors) @ self.transform)

    @property
    def _squares(self) -> Array:
        """(k,): squared norms."""
        out = np.empty(self.size)
        for low in range(0, out.size, block := max(1, MANY // self.vectors.shape[1])):
            out[low : low + block] = square_norms(self.vectors[low : low + block] @ self.transform)
        return out

    def largest(self) -> tuple[int, float]:
        """Row number and squared norm of the longest row."""
        squares = self._squares
        label = int(np.argmax(squares))
        return label, float(squares[label])

    def longer(self, limit: float, count: int) -> Labels:
        """The longest rows of different directions above the limit."""
        labels = longest_above(self._squares, limit, count)
        return labels[spread(self.rows(labels), count)]

    def seek(self, limit: float, count: int, hints: Labels) -> tuple[Labels, bool]:
        """The same: rows are quickly looked through."""
        return self.longer(limit, count), True
