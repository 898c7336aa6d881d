"""The criterion max over directions y of y'A(w)⁻¹y: sets of directions and their largest members."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.coordinates import Array
from probewise.errors import InvalidDesign

Labels = NDArray[np.int64]


class Directions(abc.ABC):
    """A finite set of directions y, each with an integer label; only the largest members are ever formed."""

    @property
    @abc.abstractmethod
    def generators(self) -> Array:
        """(m, d): rows whose linear combinations give every direction."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Number of directions."""

    @abc.abstractmethod
    def rows(self, labels: Labels) -> Array:
        """(k, d): the directions with the given labels."""

    @abc.abstractmethod
    def mapped(self, transform: Array) -> Directions:
        """The same directions, with the same labels, in the coordinates ``y @ transform``."""

    @abc.abstractmethod
    def largest(self) -> tuple[int, float]:
        """Label and squared Euclidean norm of the longest direction, exactly."""

    @abc.abstractmethod
    def long(self, count: int, starts: Labels) -> Labels:
        """About ``count`` labels of long directions, found quickly and not exactly; ``starts`` are hints."""


def _matrix(rows: ArrayLike, what: str) -> Array:
    matrix = np.asarray(rows, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise InvalidDesign(f"{what} must be a table with at least one row and one column, got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise InvalidDesign(f"{what} must be finite, got NaN or infinity in row {row}.")
    return matrix


@final
@dataclass(frozen=True)
class Rows(Directions):
    """Directions given one by one; the label is the row number."""

    vectors: Array
    """(k, d)."""
    names: Labels
    """(k,): for each row, the number of the item or point that it stands for."""

    @property
    def generators(self) -> Array:
        """The directions themselves."""
        return self.vectors

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.vectors.shape[0]

    def rows(self, labels: Labels) -> Array:
        """(k, d): the rows with these numbers."""
        return self.vectors[labels]

    def mapped(self, transform: Array) -> Rows:
        """The rows times ``transform``."""
        return Rows(self.vectors @ transform, self.names)

    def largest(self) -> tuple[int, float]:
        """Row number and squared norm of the longest row."""
        squares = np.einsum("ij,ij->i", self.vectors, self.vectors)
        label = int(np.argmax(squares))
        return label, float(squares[label])

    def long(self, count: int, starts: Labels) -> Labels:
        """The ``count`` longest rows."""
        squares = np.einsum("ij,ij->i", self.vectors, self.vectors)
        count = min(count, squares.size)
        return np.argpartition(-squares, count - 1)[:count].astype(np.int64)


@final
@dataclass(frozen=True)
class Pairs(Directions):
    """All differences z_i - z_j of the rows of ``items``, never materialised; the label of (i, j) is i·m + j."""

    items: Array
    """(m, d)."""

    @property
    def generators(self) -> Array:
        """(m - 1, d): differences to the first item, which span all others."""
        return self.items[1:] - self.items[0]

    @property
    def size(self) -> int:
        """Number of unordered pairs."""
        m = self.items.shape[0]
        return m * (m - 1) // 2

    def rows(self, labels: Labels) -> Array:
        """(k, d): z_i - z_j for labels i·m + j."""
        first, second = np.divmod(labels, self.items.shape[0])
        return self.items[first] - self.items[second]

    def mapped(self, transform: Array) -> Pairs:
        """Pairs of the items times ``transform``, moved so that the mean item is 0 (differences do not change)."""
        return Pairs((self.items - self.items.mean(axis=0)) @ transform)

    def largest(self) -> tuple[int, float]:
        """The farthest pair of items, exactly, by blocks of rows sorted by norm with pruning.

        With D the largest distance so far, a pair can only be farther if |a| + |b| > D. Sorted by decreasing
        norm, block [i, j) needs only the columns with |b| > D - |a_i|, and the search ends when 2|a_i| <= D.
        """
        i, j, square = farthest_pair(self.items)
        return i * self.items.shape[0] + j, square

    def long(self, count: int, starts: Labels) -> Labels:
        """Pairs that are locally farthest, by going to the farthest partner from many items at once."""
        m = self.items.shape[0]
        squares = np.einsum("ij,ij->i", self.items, self.items)
        sources = np.argpartition(-squares, min(count, m) - 1)[:count]
        sources = np.unique(np.concatenate([sources, *np.divmod(starts, m)]))
        ends = sources
        for _ in range(2):
            sources, ends = ends, _farthest_from(self.items, squares, ends)
            ends, index = np.unique(ends, return_index=True)
            sources = sources[index]
        i, j = np.maximum(sources, ends), np.minimum(sources, ends)
        distances = np.einsum("ij,ij->i", self.items[i] - self.items[j], self.items[i] - self.items[j])
        labels, index = np.unique(i * np.int64(m) + j, return_index=True)
        return labels[np.argsort(-distances[index], kind="stable")][:count]


_BLOCK = 2_000_000


def _farthest_from(points: Array, squares: Array, sources: Labels) -> Labels:
    """(k,): for each source the number of the point farthest from it."""
    m = points.shape[0]
    out = np.empty(sources.size, dtype=np.int64)
    step = max(1, _BLOCK // m)
    for low in range(0, sources.size, step):
        block = points[sources[low : low + step]]
        out[low : low + step] = np.argmax(squares - 2.0 * (block @ points.T), axis=1)
    return out


def farthest_pair(points: Array) -> tuple[int, int, float]:
    """Indices and squared distance of the two farthest rows of ``points`` (m, d), exactly, in O(m²d) at worst."""
    m = points.shape[0]
    points = points - 0.5 * (points.min(axis=0) + points.max(axis=0))
    norms = np.linalg.norm(points, axis=1)
    order = np.argsort(-norms, kind="stable")
    points, norms = points[order], norms[order]
    squares = norms**2
    first = 0
    second = int(_farthest_from(points, squares, np.array([0]))[0])
    first = int(_farthest_from(points, squares, np.array([second]))[0])
    best = float(np.sum((points[first] - points[second]) ** 2))
    negative = -2.0 * points.T
    low = 0
    while low < m and 2.0 * norms[low] > np.sqrt(best):
        columns = int(np.searchsorted(-norms, -(np.sqrt(best) - norms[low]), side="left"))
        high = min(m, low + max(1, _BLOCK // max(columns, 1)))
        high = min(high, max(low + 1, columns))
        if columns <= low:
            break
        distances = points[low:high] @ negative[:, low:columns]
        distances += squares[low:columns]
        peak = distances.max(axis=1) + squares[low:high]
        row = int(np.argmax(peak))
        if peak[row] > best:
            column = int(np.argmax(distances[row]))
            square = float(np.sum((points[low + row] - points[low + column]) ** 2))
            if square > best:
                first, second, best = low + row, low + column, square
        low = high
    i, j = sorted((int(order[first]), int(order[second])), reverse=True)
    return i, j, best


def pairs(items: ArrayLike) -> Pairs:
    """Directions z - z' for all pairs of rows of ``items`` (the paper's Y(Z))."""
    matrix = _matrix(items, "items")
    if matrix.shape[0] < 2:
        raise InvalidDesign("pairs needs at least two items, got one; a single item needs no measurement.")
    return Pairs(matrix)


def star(items: ArrayLike, reference: int, gaps: ArrayLike | None = None) -> Rows:
    """Directions (z_reference - z) / gap for all other rows (the paper's Y*(Z); with gaps, the criterion of ψ*).

    ``gaps`` has one positive entry per item; the entry of the reference is ignored.
    """
    matrix = _matrix(items, "items")
    m = matrix.shape[0]
    if m < 2:
        raise InvalidDesign("star needs at least two items, got one; a single item needs no measurement.")
    if not -m <= reference < m:
        raise InvalidDesign(f"reference must be the number of one of the {m} items, got {reference}.")
    others = np.delete(np.arange(m), reference)
    vectors = matrix[reference] - matrix[others]
    if gaps is not None:
        gap = np.asarray(gaps, dtype=np.float64)
        if gap.shape != (m,):
            raise InvalidDesign(f"gaps must have one entry per item, expected shape ({m},), got {gap.shape}.")
        gap = gap[others]
        if not (np.isfinite(gap).all() and (gap > 0).all()):
            bad = int(others[np.flatnonzero(~(np.isfinite(gap) & (gap > 0)))[0]])
            raise InvalidDesign(f"gaps must be positive and finite, got {gap[others == bad][0]} for item {bad}.")
        vectors = vectors / gap[:, None]
    return Rows(vectors, others.astype(np.int64))


def points(items: ArrayLike) -> Rows:
    """Directions z for all rows of ``items`` (G-optimality)."""
    matrix = _matrix(items, "items")
    return Rows(matrix, np.arange(matrix.shape[0], dtype=np.int64))


def explicit(directions: ArrayLike) -> Rows:
    """Directions given as the rows of a table."""
    matrix = _matrix(directions, "directions")
    return Rows(matrix, np.arange(matrix.shape[0], dtype=np.int64))
