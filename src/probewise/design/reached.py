"""Directions to items in shards: (centre - z)/gap, of which only the longest are brought here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from probewise.arithmetic import UNIT
from probewise.coordinates import Array
from probewise.design.criterion import Directions
from probewise.design.farthest import Labels, spread, square_norms
from probewise.errors import InvalidDesign
from probewise.shards import Shards
from probewise.shards.engine import Engine, Handle
from probewise.shards.pieces import BLOCK, Piece, blocks
from probewise.threads import few

_POOL = 1_000
"""Directions that are brought here by a look at all items, at least: the longest."""


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
    y, images = np.empty((BLOCK, centre.size)), [np.empty((BLOCK, transform.shape[1])) for transform in transforms]
    for rows, block in blocks(piece.rows, sign):
        count = rows.stop - rows.start
        np.subtract(centre, block, out=y)
        if piece.gaps is not None:
            y[:count] /= piece.gaps[rows, None]
        image = y
        for transform, own in zip(transforms, images, strict=True):
            image = np.matmul(image, transform, out=own)
        squares = square_norms(image)[:count]
        bar = limit if found.squares.size < most else max(limit, float(found.squares[-1]))
        at = np.flatnonzero((squares > limit) & (squares >= bar))
        if at.size:
            new = Longest(squares[at], piece.numbered(rows)[at], y[at])
            found = Longest.of([found, new], most)
    return found


@final
class Reached(Directions):
    """(centre - z)/gap for the items z of all pieces, no gap below ``least``; the label is the number of the item."""

    def __init__(
        self,
        shards: Shards,
        centre: Array,
        pieces: Sequence[Handle] | None = None,
        *,
        engine: Engine | None = None,
        least: float = 1.0,
        key: str = "",
    ) -> None:
        self.shards, self.centre, self.least, self.key = shards, centre, least, key
        self._engine = shards.engine if engine is None else engine
        self._pieces = pieces
        self._transforms: tuple[Array, ...] = ()
        self._known: dict[int, Array] = {}

    def __repr__(self) -> str:
        # what is kept under a name must be kept under another if it is something else
        return f"Reached({id(self.shards)}, {self.key!r}, {self.centre.tobytes().hex()})"

    @property
    def bound(self) -> Array:
        """(r,): a bound on the size of every coordinate of every direction."""
        out = (np.abs(self.centre) + self.shards.largest) / self.least
        for transform in self._transforms:
            out = out @ np.abs(transform)
        return np.asarray(out)

    @property
    def generators(self) -> Array:
        """(d, r): the axes, each as long as directions may be along it."""
        out = np.diag((np.abs(self.centre) + self.shards.largest) / self.least)
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
        """(k, r): directions; those that were never among the longest are brought here, unless they have gaps."""
        if (new := [int(label) for label in labels if int(label) not in self._known]) and self._pieces is None:
            self.learned(new, self.centre - self.shards[new])
        out = np.array([self._known[int(label)] for label in labels]).reshape(len(labels), self.centre.size)
        for transform in self._transforms:
            out = out @ transform
        return out

    def mapped(self, transform: Array) -> Reached:
        """The same directions, looked at in other coordinates."""
        own = Reached(self.shards, self.centre, self._pieces, engine=self._engine, least=self.least, key=self.key)
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
        """Of some items at even distances; if these are all at the centre, of the items farthest from it."""
        rows = self.centre - self.shards.sample
        if not rows.any():
            rows = self.longest(-1.0, _POOL).rows
        for transform in self._transforms:
            rows = rows @ transform
        return np.asarray(rows.T @ rows)

    def largest(self) -> tuple[int, float]:
        """One look at all items."""
        found = self.longest(-1.0, 1)
        return int(found.numbers[0]), float(found.squares[0])

    def longer(self, limit: float, count: int) -> Labels:
        """One look at all items; of the longest of each piece those that are unlike each other."""
        found = self.longest(limit, max(_POOL, 2 * count))
        return found.numbers[spread(self.rows(found.numbers), count)]

    def seek(self, limit: float, count: int, hints: Labels) -> tuple[Labels, bool]:
        """Of those that are here already; only if none of them is above the limit, by one look at all items."""
        far = (here := self.here)[square_norms(self.rows(here)) > limit]
        if far.size:
            return far[spread(self.rows(far), count)], False
        return self.longer(limit, count), True

    def longest(self, limit: float, most: int) -> Longest:
        """At most so many directions with squared norm above a limit, the longest, by one look at all items."""
        found = Longest.of(self.looked(longest, limit, most), most)
        self.learned(found.numbers, found.rows)
        return found

    def looked(self, function: Callable[..., Any], *given: Any) -> list[Any]:
        """What a function of a piece, the sign of items, the centre, the transforms and more gives for each piece."""
        pieces = self.shards.pieces if self._pieces is None else self._pieces
        return self._engine.each(function, pieces, self.shards.sign, self.centre, self._transforms, *given)

    @property
    def here(self) -> Labels:
        """Numbers of the items whose directions were brought here at some time."""
        return np.array(sorted(self._known), dtype=np.int64)

    def learned(self, numbers: Iterable[int], rows: Array) -> None:
        """Keep some directions (k, d) as they are, before all transforms."""
        self._known.update(zip(map(int, numbers), rows, strict=True))
