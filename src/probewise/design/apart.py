"""Differences of any two items in shards, of which only the longest are brought here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from probewise.coordinates import Array
from probewise.design.criterion import Directions
from probewise.design.farthest import Candidates, Labels, far_pairs, spread, square_norms
from probewise.design.reached import Longest, Reached
from probewise.errors import InvalidDesign
from probewise.shards import Shards
from probewise.shards.pieces import Piece, blocks
from probewise.threads import few

_POOL = 400
"""Items farthest out that are looked at here in any case."""
_SOURCES = 40
"""Items of these, unlike each other, whose farthest partner is looked for among all."""
_MOST = 50_000
"""Items at most of which any two may be the farthest pair."""
_ROUNDING = 1e-9
"""Far above the relative error of a norm."""


class Partners(NamedTuple):
    """For each of some items the one farthest from it."""

    squares: Array
    """(k,): squared distances in the coordinates asked for."""
    numbers: Labels
    """(k,): of the farthest items."""
    rows: Array
    """(k, d): the way from each to the centre."""

    @classmethod
    def of(cls, several: Sequence[Partners]) -> Partners:
        """The farthest of several; of equal ones that with the smaller number."""
        squares, numbers, rows = (np.stack(part) for part in zip(*several, strict=True))
        best = np.lexsort((numbers, -squares), axis=0)[0]
        every = np.arange(best.size)
        return cls(squares[best, every], numbers[best, every], rows[best, every])


@few
def partners(piece: Piece, sign: float, centre: Array, transforms: tuple[Array, ...], sources: Array) -> Partners:
    """The items of a piece that are farthest from each source (k, r), which is in the coordinates of all transforms."""
    k = sources.shape[0]
    found = Partners(np.full(k, -1.0), np.zeros(k, dtype=np.int64), np.zeros((k, centre.size)))
    own = square_norms(sources)
    for rows, block in blocks(piece.rows, sign):
        count = rows.stop - rows.start
        y = centre - block
        image = y
        for transform in transforms:
            image = image @ transform
        squares = ((own - 2.0 * (image @ sources.T)) + square_norms(image)[:, None])[:count]
        at = np.argmax(squares, axis=0)
        new = Partners(squares[at, np.arange(k)], piece.numbered(rows)[at], y[at])
        found = Partners.of([found, new])
    return found


@final
class Apart(Directions):
    """z_i - z_j for all pairs of items of all pieces; the label of (i, j) is i·m + j."""

    def __init__(self, shards: Shards | Reached) -> None:
        self._spokes = Reached(shards, shards.sample.mean(axis=0)) if isinstance(shards, Shards) else shards

    def __repr__(self) -> str:
        return f"Apart({self._spokes!r})"

    @property
    def generators(self) -> Array:
        """(d, r): the axes, each as long as directions may be along it."""
        return 2.0 * self._spokes.generators

    @property
    def magnitudes(self) -> Array:
        """Their sizes."""
        return 2.0 * self._spokes.magnitudes

    @property
    def count(self) -> int:
        """Number of items."""
        return self._spokes.size

    @property
    def size(self) -> int:
        """Number of unordered pairs."""
        return self.count * (self.count - 1) // 2

    def rows(self, labels: Labels) -> Array:
        """(k, r): z_i - z_j for labels i·m + j."""
        first, second = np.divmod(labels, self.count)
        return self._spokes.rows(second) - self._spokes.rows(first)

    def mapped(self, transform: Array) -> Apart:
        """The same directions, looked at in other coordinates."""
        return Apart(self._spokes.mapped(transform))

    def image(self, transform: Array, *, precise: bool) -> tuple[Apart, float]:
        """The same, with twice the error of the way from an item to the centre."""
        own, error = self._spokes.image(transform, precise=precise)
        return Apart(own), 2.0 * error

    def exactly_in(self, probes: Array) -> tuple[int, bool]:
        """Refused: probes must span all features."""
        return self._spokes.exactly_in(probes)

    @property
    def reach(self) -> float:
        """Twice a bound on the way of every item to the centre."""
        return self._spokes.reach

    def moment(self) -> Array:
        """The scatter of some items at even distances."""
        return self._spokes.moment()

    def largest(self) -> tuple[int, float]:
        """The farthest pair, exactly: two looks at all items."""
        outer = self._spokes.longest(-1.0, _POOL)
        first, second, squares = far_pairs(self._candidates(outer.numbers), -1.0, grow=True)
        if not squares.max(initial=0.0) > 0:  # all items are the same
            return 0, 0.0
        among = self._candidates(self._farther(outer, float(squares.max(initial=0.0))).numbers)
        first, second, squares = far_pairs(among, float(squares.max(initial=0.0)) * (1.0 - _ROUNDING), grow=True)
        best = int(np.argmax(squares))
        one, other = int(first[best]), int(second[best])
        return max(one, other) * self.count + min(one, other), float(squares[best])

    def longer(self, limit: float, count: int) -> Labels:
        """For each item that is far out its farthest partner, where that is above the limit; exactly."""
        outer = self._farther(self._spokes.longest(-1.0, _POOL), limit)
        return self._labels(*far_pairs(self._candidates(outer.numbers), limit, grow=False), count)

    def seek(self, limit: float, count: int, hints: Labels) -> tuple[Labels, bool]:
        """Of the items that are here already; else of those that are farthest out, and of some of these and any."""
        first, second, squares = far_pairs(self._candidates(self._spokes.here), limit, grow=False)
        if squares.size:
            return self._labels(first, second, squares, count), False
        outer = self._spokes.longest(-1.0, _POOL)
        first, second, squares = far_pairs(self._candidates(outer.numbers), limit, grow=False)
        if self._all(outer, limit):
            return self._labels(first, second, squares, count), True
        unlike = outer.numbers[spread(self._spokes.rows(outer.numbers), _SOURCES)]
        sources = np.union1d(unlike, np.concatenate(np.divmod(hints, self.count))[:_SOURCES])
        found = Partners.of(self._spokes.looked(partners, self._spokes.rows(sources)))
        self._spokes.learned(found.numbers, found.rows)
        far = found.squares > limit
        first, second = np.append(first, sources[far]), np.append(second, found.numbers[far])
        return self._labels(first, second, np.append(squares, found.squares[far]), count), False

    def _all(self, outer: Longest, limit: float) -> bool:
        """Whether every pair above the limit is one of some items, which are all that are farther out than others."""
        return outer.squares.size < _POOL or float(outer.squares[-1]) < self._least(outer, limit)

    def _least(self, outer: Longest, limit: float) -> float:
        """What the squared norms of both ends of a pair above the limit exceed, the longest being known."""
        least = np.sqrt(max(limit, 0.0)) * (1.0 - _ROUNDING) - np.sqrt(outer.squares[0]) * (1.0 + _ROUNDING)
        return float(least) ** 2 * (1.0 - _ROUNDING) if least > 0 else -1.0  # an item at the centre may be one, too

    def _farther(self, outer: Longest, limit: float) -> Longest:
        """All items that may be an end of a pair as far apart as the limit."""
        if self._all(outer, limit):
            return outer
        found = self._spokes.longest(self._least(outer, limit), _MOST + 1)
        if found.squares.size > _MOST:
            raise InvalidDesign(
                f"more than {_MOST:,} of the {self.count:,} items are so far out that any two of them may be "
                "the farthest pair; take points(items) or star(items, reference), or pairs of a table of fewer items."
            )
        return found

    def _candidates(self, numbers: Labels) -> Candidates:
        return Candidates(self._spokes.rows(numbers), numbers, numbers.size**2 // 2)

    def _labels(self, first: Labels, second: Labels, squares: Array, count: int) -> Labels:
        """The labels of the farthest of some pairs, each once, unlike each other."""
        order = np.argsort(-squares, kind="stable")[: max(_POOL, 10 * count)]
        first, second = first[order], second[order]
        labels = np.unique(np.maximum(first, second) * self.count + np.minimum(first, second))
        return labels[spread(self.rows(labels), count)]
