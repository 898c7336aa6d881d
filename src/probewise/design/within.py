"""Differences of two items of the same block: what must be known where items are combinations of one from each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from probewise.coordinates import Array
from probewise.design.criterion import Directions, Pairs
from probewise.design.farthest import Labels, spread
from probewise.errors import InvalidDesign


@final
@dataclass(frozen=True)
class PairsWithin(Directions):
    """All differences z_i - z_j of two rows of the same block, never materialised; the label of (i, j) is i·m + j."""

    items: Array
    """(m, d): block after block."""
    sizes: tuple[int, ...]
    """How many rows each block has; they sum to m, and one of them is at least 2."""

    @cached_property
    def parts(self) -> tuple[Pairs, ...]:
        """The pairs of each block that has any."""
        return tuple(Pairs(self.items[low : low + size]) for low, size in self._places)

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """First row and size of each block that has a pair."""
        ends = np.cumsum(self.sizes).tolist()
        return [(end - size, size) for end, size in zip(ends, self.sizes, strict=True) if size > 1]

    @property
    def generators(self) -> Array:
        """(k, d): differences to the smallest item of each block."""
        return np.vstack([part.generators for part in self.parts])

    @property
    def magnitudes(self) -> Array:
        """(k, d): the items of each of them, in size."""
        return np.vstack([part.magnitudes for part in self.parts])

    @property
    def size(self) -> int:
        """Number of unordered pairs."""
        return sum(part.size for part in self.parts)

    def rows(self, labels: Labels) -> Array:
        """(k, d): z_i - z_j for labels i·m + j."""
        return Pairs(self.items).rows(labels)

    def mapped(self, transform: Array) -> PairsWithin:
        """The items times ``transform``, those of each block about their mean."""
        return self._of([part.mapped(transform) for part in self.parts], transform.shape[1])

    def image(self, transform: Array, *, precise: bool) -> tuple[PairsWithin, float]:
        """The same, with twice the largest error of an item."""
        images = [part.image(transform, precise=precise) for part in self.parts]
        return self._of([part for part, _ in images], transform.shape[1]), max(error for _, error in images)

    def _of(self, parts: Sequence[Pairs], dimension: int) -> PairsWithin:
        items = np.zeros((self.items.shape[0], dimension))
        for (low, size), part in zip(self._places, parts, strict=True):
            items[low : low + size] = part.items
        return PairsWithin(items, self.sizes)

    def exactly_in(self, probes: Array) -> tuple[int, bool]:
        """Block by block."""
        found = [part.exactly_in(probes) for part in self.parts]
        return found[0][0], all(inside for _, inside in found)

    @property
    def reach(self) -> float:
        """Twice the norm of the longest item."""
        return max(part.reach for part in self.parts)

    def moment(self) -> Array:
        """The scatter of the items of each block about their mean."""
        return np.asarray(sum(part.moment() for part in self.parts))

    def largest(self) -> tuple[int, float]:
        """The farthest pair of a block, exactly."""
        found = [part.largest() for part in self.parts]
        at = int(np.argmax([square for _, square in found]))
        return int(self._labels(at, np.array([found[at][0]]))[0]), found[at][1]

    def longer(self, limit: float, count: int) -> Labels:
        """Far pairs of each block, those that are unlike each other."""
        return self._spread([part.longer(limit, count) for part in self.parts], count)

    def seek(self, limit: float, count: int, hints: Labels) -> tuple[Labels, bool]:
        """The same, block by block."""
        found = [part.seek(limit, count, self._own(at, hints)) for at, part in enumerate(self.parts)]
        return self._spread([labels for labels, _ in found], count), all(exact for _, exact in found)

    def _spread(self, found: Sequence[Labels], count: int) -> Labels:
        labels = np.concatenate([self._labels(at, own) for at, own in enumerate(found)])
        return labels[spread(self.rows(labels), count)]

    def _labels(self, block: int, own: Labels) -> Labels:
        """Labels of all blocks, from those that a block has for itself."""
        low, size = self._places[block]
        first, second = np.divmod(own, size)
        return np.asarray((first + low) * self.items.shape[0] + second + low)

    def _own(self, block: int, labels: Labels) -> Labels:
        """The labels of one block as it has them for itself."""
        low, size = self._places[block]
        first, second = np.divmod(labels, self.items.shape[0])
        inside = (low <= first) & (first < low + size)
        return np.asarray((first[inside] - low) * size + second[inside] - low)


def pairs_within(items: Array, sizes: Sequence[int]) -> PairsWithin:
    """Directions z - z' for all pairs of rows of ``items`` (m, d) in the same block; ``sizes`` of blocks sum to m."""
    if max(sizes, default=0) < 2:
        raise InvalidDesign("no block has two items, so there is nothing to compare; give one with at least two.")
    return PairsWithin(items, tuple(sizes))
