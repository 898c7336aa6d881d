"""The criterion max over directions y of y'A(w)⁻¹y: sets of directions and their largest members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.arithmetic import UNIT, difference, image, rank_and_members
from probewise.coordinates import Array, Coordinates, coordinates, unscaled
from probewise.design.directions import Directions as Directions  # the sets below, and what they are
from probewise.design.farthest import (
    POOL,
    Labels,
    about_mean,
    candidates,
    far_pairs,
    farthest_from,
    longest_above,
    spread,
    square_norms,
)
from probewise.design.turned import MANY, Turned
from probewise.errors import InvalidDesign
from probewise.threads import few


def as_matrix(rows: ArrayLike, what: str) -> Array:
    """A table of finite numbers as float64, or InvalidDesign."""
    matrix = np.asarray(rows, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise InvalidDesign(f"{what} must be a table with at least one row and one column, got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise InvalidDesign(f"{what} must be finite, got NaN or infinity in row {row}.")
    return matrix


@final
@dataclass(frozen=True)
class Vectors(Directions):
    """Directions given one by one; the label is the row number."""

    vectors: Array
    """(k, d)."""
    names: Labels
    """(k,): for each row, the number of the item or point that it stands for."""
    ends: tuple[Array, Array] | None = None
    """(k, d) twice: z and z' of rows z - z'; None for rows that are exact as they are."""
    divisors: Array | None = None
    """(k,): what the differences were divided by."""

    @property
    def generators(self) -> Array:
        """The directions themselves."""
        return self.vectors

    @property
    def magnitudes(self) -> Array:
        """Sizes of the numbers that the rows were computed from."""
        if self.ends is None:
            return np.abs(self.vectors)
        sizes = np.abs(self.ends[0]) + np.abs(self.ends[1])
        return sizes if self.divisors is None else sizes / self.divisors[:, None]

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.vectors.shape[0])

    def rows(self, labels: Labels) -> Array:
        """(k, d): the rows with these numbers."""
        return self.vectors[labels]

    def mapped(self, transform: Array) -> Vectors | Turned:
        """The rows times ``transform``."""
        if self.vectors.size > MANY:
            return Turned(self.vectors, transform)
        return Vectors(self.vectors @ transform, self.names)

    def image(self, transform: Array, *, precise: bool) -> tuple[Vectors, float]:
        """The rows, or the differences before they were rounded, times ``transform``."""
        if self.ends is None or not precise:  # two roundings of each entry are within the bound of the product
            mapped, errors = image(self.vectors, transform, precise=precise)
            return Vectors(mapped, self.names), float(errors.max())
        mapped, errors = image(difference(*self.ends), transform, precise=True)
        if self.divisors is not None:
            mapped = mapped / self.divisors[:, None]
            errors = 1.01 * errors / self.divisors + UNIT * np.sqrt(square_norms(mapped))
        return Vectors(mapped, self.names), float(errors.max())

    def exactly_in(self, probes: Array) -> tuple[int, bool]:
        """By the ends of the rows, if they are differences."""
        rank, inside = rank_and_members(probes, *((self.vectors,) if self.ends is None else self.ends))
        return rank, bool(inside.all())

    @property
    def reach(self) -> float:
        """The norm of the longest row."""
        return float(np.sqrt(square_norms(self.vectors).max()))

    def moment(self) -> Array:
        """Σ yy'."""
        return self.vectors.T @ self.vectors

    def largest(self) -> tuple[int, float]:
        """Row number and squared norm of the longest row."""
        squares = square_norms(self.vectors)
        label = int(np.argmax(squares))
        return label, float(squares[label])

    def longer(self, limit: float, count: int) -> Labels:
        """The longest rows of different directions above the limit."""
        labels = longest_above(square_norms(self.vectors), limit, count)
        return labels[spread(self.vectors[labels], count)]

    def long(self, part: float) -> Labels:
        """All but those of which the square is at most ``part`` of the largest."""
        squares = square_norms(self.vectors)
        return np.flatnonzero(squares > part * squares.max())

    def seek(self, limit: float, count: int, hints: Labels) -> tuple[Labels, bool]:
        """The same: rows are quickly looked through."""
        return self.longer(limit, count), True


@final
@dataclass(frozen=True)
class Pairs(Directions):
    """All differences z_i - z_j of the rows of ``items``, never materialised; the label of (i, j) is i·m + j."""

    items: Array
    """(m, d)."""

    @property
    def generators(self) -> Array:
        """(m, d): differences to the smallest item, which span all others."""
        return self.items - self._smallest

    @property
    def magnitudes(self) -> Array:
        """The items of each difference, in size."""
        return np.abs(self.items) + np.abs(self._smallest)

    @property
    def _smallest(self) -> Array:
        scale = np.abs(self.items).max(axis=0)
        smallest: Array = self.items[np.argmin(square_norms(self.items / np.where(scale > 0, scale, 1.0)))]
        return smallest

    def nearest(self, scale: Array, seen: NDArray[np.bool_]) -> Array:
        """(m,): how far each item is from the nearest other one, in some features, divided by their scale."""
        from scipy.spatial import KDTree  # seldom needed, and slow to load

        places = (self.items / scale)[:, seen]
        distances = np.asarray(KDTree(places).query(places, k=[min(2, places.shape[0])])[0])
        return distances[:, 0]

    @property
    def count(self) -> int:
        """Number of items."""
        return int(self.items.shape[0])

    @property
    def size(self) -> int:
        """Number of unordered pairs."""
        return self.count * (self.count - 1) // 2

    def rows(self, labels: Labels) -> Array:
        """(k, d): z_i - z_j for labels i·m + j."""
        first, second = np.divmod(labels, self.items.shape[0])
        return self.items[first] - self.items[second]

    def mapped(self, transform: Array) -> Pairs:
        """Pairs of the items times ``transform``, moved so that the mean item is 0 (differences do not change)."""
        return Pairs((self.items - self.items.mean(axis=0)) @ transform)

    def image(self, transform: Array, *, precise: bool) -> tuple[Pairs, float]:
        """The same, with twice the largest error of an item."""
        mean = self.items.mean(axis=0)
        mapped, errors = image(
            difference(self.items, mean) if precise else self.items - mean, transform, precise=precise
        )
        return Pairs(mapped), 2.0 * float(errors.max())

    def exactly_in(self, probes: Array) -> tuple[int, bool]:
        """By differences to the first item."""
        rank, inside = rank_and_members(probes, self.items, self.items[:1])
        return rank, bool(inside.all())

    @property
    def reach(self) -> float:
        """Twice the norm of the longest item."""
        return 2.0 * float(np.sqrt(square_norms(self.items).max()))

    def moment(self) -> Array:
        """The scatter of the items, which is Σ yy' over all pairs divided by their number."""
        centred = self.items - self.items.mean(axis=0)
        return np.asarray(centred.T @ centred)

    def largest(self) -> tuple[int, float]:
        """The farthest pair of items, exactly."""
        m = self.items.shape[0]
        seen, start = about_mean(self.items), int(np.argmax(square_norms(self.items)))
        one = farthest_from(seen, np.array([start]))
        two = farthest_from(seen, one)
        square = float(square_norms(self.rows(one * m + two))[0])
        first, second, squares = far_pairs(candidates(self.items, square), square, grow=True)
        if squares.size == 0:
            return int(max(one[0], two[0]) * m + min(one[0], two[0])), square
        best = int(np.argmax(squares))
        return int(first[best] * m + second[best]), float(squares[best])

    def longer(self, limit: float, count: int) -> Labels:
        """For each item its farthest partner, where that is above the limit; exactly."""
        return self._labels(*far_pairs(candidates(self.items, limit), limit, grow=False), count)

    def seek(self, limit: float, count: int, hints: Labels) -> tuple[Labels, bool]:
        """The farthest partners of many items, and theirs; of all items if pruning leaves few pairs."""
        among = candidates(self.items, limit)
        if among.pairs <= _QUICK:
            return self._labels(*far_pairs(among, limit, grow=False), count), True
        del among  # it may be as large as the items
        m, seen = self.items.shape[0], about_mean(self.items)
        sources = _longest(square_norms(self.items), max(count, _QUICK // m))
        sources = np.union1d(sources, np.concatenate(np.divmod(hints, m)))
        ends = farthest_from(seen, sources)
        others = np.unique(ends)
        first = np.concatenate([sources, others])
        second = np.concatenate([ends, farthest_from(seen, others)])
        squares = square_norms(self.items[first] - self.items[second])
        far = squares > limit
        return self._labels(first[far], second[far], squares[far], count), False

    def _labels(self, first: Labels, second: Labels, squares: Array, count: int) -> Labels:
        """The labels of the farthest of some pairs, each once, unlike each other."""
        if squares.size > (pool := max(POOL, 10 * count)):
            order = np.argpartition(-squares, pool)[:pool]
            first, second = first[order], second[order]
        labels = np.unique(np.maximum(first, second) * self.items.shape[0] + np.minimum(first, second))
        return labels[spread(self.rows(labels), count)]


def _longest(squares: Array, count: int) -> Labels:
    """The numbers of the ``count`` largest squares, the first of equal ones."""
    if count >= squares.size:
        return np.arange(squares.size)
    limit = np.partition(squares, squares.size - count)[squares.size - count]
    above, equal = np.flatnonzero(squares > limit), np.flatnonzero(squares == limit)
    return np.concatenate([above, equal[: count - above.size]])


_QUICK = 40_000_000


def contains(space: Coordinates, directions: Directions) -> bool:
    """Whether every direction lies in the span of the probes of ``space``, up to rounding far below its size."""
    if space.rank == space.scale.size:
        return True
    if not space.is_inside(directions.generators, directions.magnitudes).all():
        return False
    return all(_pairs_inside(space, part) for part in directions.parts if isinstance(part, Pairs))


def _pairs_inside(space: Coordinates, directions: Pairs) -> bool:
    """Whether all pairs lie in the span, if the differences to one item do."""
    if directions.exactly_in(space.rows) == (space.rank, True):
        return True
    # they decide those of all pairs only if what is forgiven is far below the nearest pair, too
    items = Pairs(np.unique(directions.items, axis=0))
    apart = 0.5 * items.nearest(space.scale, space.seen)
    return bool(space.is_inside(items.generators, items.magnitudes, apart=apart).all())


@few
def largest_variance(probes: Array, weights: Array, directions: Directions) -> float:
    """max over directions of y'A(w)⁻¹y, exactly; infinite if some direction lies outside the range of A(w)."""
    support = np.flatnonzero(weights > 0)
    if support.size == 0:
        return float("inf")
    measured = coordinates(probes[support] * np.sqrt(weights[support, None]))
    if not contains(unscaled(measured, probes[support]), directions):
        return float("inf")
    # in these coordinates A(w) is the number of support points times the identity
    return directions.mapped(measured.transform).largest()[1] / support.size
