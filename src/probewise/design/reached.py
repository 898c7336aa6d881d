"""Directions to items in shards: (centre - z)/gap, of which only the longest are brought here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from probewise.arithmetic import UNIT
from probewise.coordinates import Array
from probewise.design.criterion import Directions
from probewise.design.farthest import Labels, spread, square_norms
from probewise.errors import InvalidDesign
from probewise.shards import Shards
from probewise.shards.engine import Engine, Handle
from probewise.shards.pieces import Piece, blocks
from probewise.threads import few

_POOL = 400
"""Directions of each piece that are looked at here, at least: the longest."""


class Longest(NamedTuple):
    """The longest directions to some items, the longest first."""

    squares: Array
    """(k,): squared norms in the coordinates asked for."""
    numbers: Labels
    """(k,): of the items."""
    rows: Array
    """(k, d): the directions as they are."""

    @classmethod
    def of(cls, several: Sequence[Longest], most: int) -> Longest:
        """The longest of several; of equal ones that with the smaller number."""
        squares, numbers, rows = (np.concatenate(part) for part in zip(*several, strict=True))
        order = np.lexsort((numbers, -squares))[:most]
        return cls(squares[order], numbers[order], rows[order])


@few
def longest(
    piece: Piece, sign: float, centre: Array, transforms: tuple[Array, ...], limit: float, most: int
) -> Longest:
    """At most so many directions with squared norm above ``limit``, after all transforms, to the items of a piece."""
    found = Longest(np.empty(0), np.empty(0, dtype=np.int64), np.empty((0, centre.size)))
    for rows, block in blocks(piece.rows, sign):
        count = rows.stop - rows.start
        y = centre - block
        if piece.gaps is not None:
            y[:count] /= piece.gaps[rows, None]
        image = y
        for transform in transforms:
            image = image @ transform
        squares = square_norms(image)[:count]
        bar = limit if found.squares.size < most else max(limit, float(found.squares[-1]))
        at = np.flatnonzero((squares > limit) & (squares >= bar))
        if at.size:
            new = Longest(squares[at], piece.numbered(rows)[at], y[at])
            found = Longest.of([found, new], most)
    return found


@final
class Reached(Directions):
    """(centre - z)/gap for the items z of all pieces; the label is the number of the item."""

    def __init__(
        self,
        shards: Shards,
        centre: Array,
        pieces: Sequence[Handle] | None = None,
        *,
        engine: Engine | None = None,
        key: str = "",
    ) -> None:
        self.shards, self.centre, self.key = shards, centre, key
        self._engine = shards.engine if engine is None else engine
        self._pieces = shards.pieces if pieces is None else pieces
        self._transforms: tuple[Array, ...] = ()
        self._known: dict[int, Array] = {}

    def __repr__(self) -> str:
        # what is kept under a name must be kept under another if it is something else
        return f"Reached({id(self.shards)}, {self.key!r}, {self.centre.tobytes().hex()})"

    @property
    def bound(self) -> Array:
        """(r,): a bound on the size of every coordinate of every direction; gaps are at least 1."""
        out = np.abs(self.centre) + self.shards.largest
        for transform in self._transforms:
            out = out @ np.abs(transform)
        return np.asarray(out)

    @property
    def generators(self) -> Array:
        """(d, r): the axes, each as long as directions may be along it."""
        out = np.diag(np.abs(self.centre) + self.shards.largest)
        for transform in self._transforms:
            out = out @ transform
        return np.asarray(out)

    @property
    def magnitudes(self) -> Array:
        """Their sizes."""
        return np.abs(self.generators)

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.shards)

    def rows(self, labels: Labels) -> Array:
        """(k, r): directions that were among the longest at some time."""
        out = np.array([self._known[int(label)] for label in labels]).reshape(len(labels), self.centre.size)
        for transform in self._transforms:
            out = out @ transform
        return out

    def mapped(self, transform: Array) -> Reached:
        """The same directions, looked at in other coordinates."""
        own = Reached(self.shards, self.centre, self._pieces, engine=self._engine, key=self.key)
        own._transforms, own._known = (*self._transforms, transform), self._known
        return own

    def image(self, transform: Array, *, precise: bool) -> tuple[Reached, float]:
        """The same, with a bound on what a difference, a quotient and a product of d terms are rounded by."""
        if precise:
            raise InvalidDesign(
                "the probes are so nearly dependent that items in shards cannot be compared with enough digits; take "
                "out probes or features that nearly follow from others."
            )
        own = self.mapped(transform)
        return own, 4.0 * (self.centre.size + 10) * UNIT * float(np.linalg.norm(own.bound))

    def exactly_in(self, probes: Array) -> tuple[int, bool]:
        """Refused: probes must span all features."""
        raise InvalidDesign("items in shards need probes that span all features; leave features out that they do not.")

    @property
    def reach(self) -> float:
        """Twice a bound on every norm."""
        return 2.0 * float(np.linalg.norm(self.bound))

    def moment(self) -> Array:
        """Of some items at even distances."""
        rows = self.centre - self.shards.sample
        for transform in self._transforms:
            rows = rows @ transform
        return np.asarray(rows.T @ rows)

    def largest(self) -> tuple[int, float]:
        """One look at all items."""
        found = self._longest(-1.0, 1)
        return int(found.numbers[0]), float(found.squares[0])

    def longer(self, limit: float, count: int) -> Labels:
        """One look at all items; of the longest of each piece those that are unlike each other."""
        found = self._longest(limit, max(_POOL, 2 * count))
        return found.numbers[spread(self.rows(found.numbers), count)]

    def seek(self, limit: float, count: int, hints: Labels) -> tuple[Labels, bool]:
        """The same."""
        return self.longer(limit, count), True

    def _longest(self, limit: float, most: int) -> Longest:
        given: tuple[Any, ...] = (self.shards.sign, self.centre, self._transforms, limit, most)
        found = Longest.of(self._engine.each(longest, self._pieces, *given), most)
        self._known.update(zip(found.numbers.tolist(), found.rows, strict=True))
        return found
