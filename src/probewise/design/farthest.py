"""Far pairs among many points, by blocks: all pairs are never formed at once."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.arithmetic import coarsely
from probewise.coordinates import Array
from probewise.threads import side_by_side

Labels = NDArray[np.int64]
_BLOCK = 1_000_000
_TILE = (500, 1000)
_SPAN = 16 * _TILE[1]
"""Columns that one thread looks through at a time,"""
_SHARED = 10_000_000
"""where there are so many products."""


def square_norms(rows: Array) -> Array:
    """(k,): the squared Euclidean norm of each row."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


class Screens(NamedTuple):
    """Points in single precision: the product of a row of each is a·b - |b|²/2, least for the farthest b from a."""

    left: NDArray[np.float32]
    """(m, d + 1)."""
    right: NDArray[np.float32]
    """(m, d + 1)."""


def screens(points: Array, centre: Array | float, scale: float) -> Screens:
    """Of (points - centre) / scale, by blocks: all of it in double precision is never there."""
    m, d = points.shape
    left, right = np.ones((m, d + 1), dtype=np.float32), np.empty((m, d + 1), dtype=np.float32)
    for low in range(0, m, rows := max(1, _BLOCK // d)):
        block = (points[low : low + rows] - centre) / scale
        left[low : low + rows, :d] = right[low : low + rows, :d] = block
        right[low : low + rows, d] = -0.5 * square_norms(block)
    return Screens(left, right)


def about_mean(points: Array) -> Screens:
    """Screens of points about their mean, in units of the largest distance from it in a coordinate."""
    mean = points.mean(axis=0)
    scale = float(max(np.abs(points.max(axis=0) - mean).max(), np.abs(points.min(axis=0) - mean).max()))
    return screens(points, mean, scale if scale > 0 else 1.0)


def farthest_from(seen: Screens, sources: Labels) -> Labels:
    """(k,): for each source the number of the point farthest from it, as single precision sees it."""
    return _smallest_products(seen.left[sources], seen.right)[0]


class _Part(NamedTuple):
    """Some rows of a product, and some of its columns."""

    rows: slice
    columns: slice


def _smallest_products(left: NDArray[np.float32], right: NDArray[np.float32]) -> tuple[Labels, NDArray[np.float32]]:
    """(k,) twice: for each row of ``left`` the row of ``right`` with the smallest product, and that product.

    Parts of it are searched side by side if there is much to do; of equal products the first counts.
    """
    parts = [
        _Part(slice(top, top + _TILE[0]), slice(low, low + _SPAN))
        for top in range(0, left.shape[0], _TILE[0])
        for low in range(0, right.shape[0], _SPAN)
    ]
    search = partial(_smallest_in, left, right)
    much = left.shape[0] * right.shape[0] >= _SHARED
    where = np.zeros(left.shape[0], dtype=np.int64)
    values = np.full(left.shape[0], np.inf, dtype=np.float32)
    for part, (at, smallest) in zip(parts, side_by_side(search, parts) if much else map(search, parts), strict=True):
        better = smallest < values[part.rows]
        where[part.rows][better], values[part.rows][better] = at[better], smallest[better]
    return where, values


def _smallest_in(
    left: NDArray[np.float32], right: NDArray[np.float32], part: _Part
) -> tuple[Labels, NDArray[np.float32]]:
    """The same for a part, by tiles that stay in the processor's cache: several times faster than long rows."""
    rows, (low, high, _) = left[part.rows], part.columns.indices(right.shape[0])
    best, at = np.full(rows.shape[0], np.inf, dtype=np.float32), np.zeros(rows.shape[0], dtype=np.int64)
    for first in range(low, high, _TILE[1]):
        with np.errstate(invalid="ignore"):  # kernels for small matrices may set the flag by what they pad
            products = rows @ right[first : first + _TILE[1]].T
        columns = np.argmin(products, axis=1)
        smallest = products[np.arange(rows.shape[0]), columns]
        better = smallest < best
        best[better], at[better] = smallest[better], columns[better] + first
    return at, best


class Candidates(NamedTuple):
    """The points that may be far from some other, as norms about a centre tell."""

    points: Array
    """(k, d): about that centre."""
    numbers: Labels
    """(k,): which ones they are."""
    pairs: int
    """How many pairs of them are not ruled out."""


def candidates(points: Array, limit: float) -> Candidates:
    """For pairs farther apart than ``limit`` (squared), about the mean or the middle of the box: what leaves fewer."""
    m = points.shape[0]
    if m**2 <= _BLOCK:  # quickly looked through whatever is left
        return Candidates(points - points.mean(axis=0), np.arange(m), m**2 // 2)
    choices = []
    for centre in (points.mean(axis=0), 0.5 * (points.min(axis=0) + points.max(axis=0))):
        norms = _norms(points, centre)
        numbers = np.flatnonzero((1.0 + _ROUNDING) * norms > np.sqrt(limit) - (1.0 + _ROUNDING) * norms.max())
        choices.append((_pairs_left(norms[numbers], limit), numbers, centre))
    left, numbers, centre = min(choices, key=lambda choice: choice[0])
    return Candidates(points[numbers] - centre, numbers, left)


_EQUAL = 1e-9
"""Relative difference of squared distances that may be rounding."""
_ROUNDING = 1e-12
"""Far above the relative error of a norm."""


def _norms(points: Array, centre: Array) -> Array:
    """(m,): distances from a centre, by blocks."""
    out = np.empty(points.shape[0])
    for low in range(0, out.size, rows := max(1, _BLOCK // points.shape[1])):
        out[low : low + rows] = np.sqrt(square_norms(points[low : low + rows] - centre))
    return out


def _pairs_left(norms: Array, limit: float) -> int:
    """Number of pairs that norms about a centre do not rule out as farther apart than ``limit`` (squared)."""
    norms = np.sort(norms)
    return int((norms.size - np.searchsorted(norms, np.sqrt(limit) - norms, side="right")).sum()) // 2


def far_pairs(among: Candidates, limit: float, *, grow: bool) -> tuple[Labels, Labels, Array]:
    """For each of some points a far partner, where farther than ``limit`` (squared): numbers i and j, squares.

    By blocks of rows sorted by decreasing norm. A pair can only be farther than D if
    |a| + |b| > D, so that block [i, j) needs only the columns with |b| > D - |a_i|, and the search ends at
    2|a_i| <= D. Single precision screens the blocks; what it cannot decide is done again in double, so that no
    pair above the limit is missed and the farthest pair of all is exact. With ``grow``, the limit follows the
    farthest pair found. O(m²d) at worst, O(m) memory.
    """
    if among.points.shape[0] ** 2 <= _BLOCK:
        return _far_pairs_of_few(among, limit, grow=grow)
    norms = np.linalg.norm(among.points, axis=1)
    order = np.argsort(-norms, kind="stable")
    scale = float(norms[order[0]]) if norms.size else 0.0
    if scale == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    points, norms, limit = among.points[order] / scale, norms[order] / scale, limit / scale**2
    left, right = screens(points, 0.0, 1.0)
    order = among.numbers[order]
    # the rounding of the screens moves a squared distance by at most this
    doubt = 8.0 * (points.shape[1] + 3) * float(np.finfo(np.float32).eps)
    found: list[tuple[Labels, Labels, Array]] = []
    low = 0
    while low < norms.size:
        columns = int(np.searchsorted(-norms, norms[low] - np.sqrt(limit), side="left"))
        if columns <= low:
            break
        high = min(columns, low + _TILE[0])
        partners, products = _smallest_products(left[low:high], right[low:columns])
        peaks = norms[low:high] ** 2 - 2.0 * products + doubt
        partners += low
        squares = square_norms(points[low:high] - points[partners])
        limit = max(limit, float(squares.max())) if grow else limit
        again = np.flatnonzero((peaks > limit) & (squares <= limit))
        for rows in np.array_split(again, 1 + again.size * (columns - low) // _BLOCK):
            exact = points[low + rows] @ points[low:columns].T - 0.5 * norms[low:columns] ** 2
            partners[rows] = np.argmin(exact, axis=1) + low
            squares[rows] = square_norms(points[low + rows] - points[partners[rows]])
        far = np.flatnonzero(squares >= limit if grow else squares > limit)
        if far.size:
            found.append((order[low + far], order[partners[far]], squares[far] * scale**2))
            limit = max(limit, float(squares.max())) if grow else limit
        low = high
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    first, second, squares = (np.concatenate(part) for part in zip(*found, strict=True))
    return first, second, squares


def _far_pairs_of_few(among: Candidates, limit: float, *, grow: bool) -> tuple[Labels, Labels, Array]:
    """The same in one block, in double precision; of partners as far as each other, up to rounding, the first."""
    points = among.points
    if points.shape[0] == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    norms = square_norms(points)
    between = (-2.0 * points) @ points.T
    between += norms
    between += norms[:, None]
    partners = np.argmax(between, axis=1)
    squares = square_norms(points - points[partners])
    if not grow:
        most = between[np.arange(partners.size), partners]
        first = np.argmax(between >= ((1.0 - _EQUAL) * most)[:, None], axis=1)
        same = square_norms(points - points[first])
        partners, squares = np.where(same > limit, first, partners), np.where(same > limit, same, squares)
    far = squares >= max(limit, float(squares.max())) if grow else squares > limit
    return among.numbers[far], among.numbers[partners[far]], squares[far]


def longest_above(squares: Array, limit: float, count: int) -> Labels:
    """Labels of the largest squares above the limit, several times as many as wanted."""
    labels = np.flatnonzero(squares > limit)
    if labels.size > (pool := max(POOL, 10 * count)):  # with all that are as long as the last, up to rounding
        rough = coarsely(squares[labels])
        labels = labels[rough >= np.partition(rough, rough.size - pool)[rough.size - pool]]
    return labels


def spread(vectors: Array, count: int) -> Labels:
    """At most ``count`` rows, longest first, leaving out those nearly parallel to one already taken."""
    squares = square_norms(vectors)
    pool = np.argsort(-coarsely(squares), kind="stable")[: max(POOL, 10 * count)]
    pool = pool[squares[pool] > 0]
    units = vectors[pool] / np.sqrt(squares[pool, None])
    taken = np.empty(0, dtype=np.int64)
    for low in range(0, pool.size, block := max(32, count)):
        new = np.arange(low, min(low + block, pool.size))
        new = new[((units[new] @ units[taken].T) ** 2 <= _PARALLEL).all(axis=1)]
        alike = np.triu((units[new] @ units[new].T) ** 2 > _PARALLEL, 1)
        kept = np.ones(new.size, dtype=np.bool_)
        for row in np.flatnonzero(alike.any(axis=1)):
            if kept[row]:
                kept &= ~alike[row]
        taken = np.concatenate([taken, new[kept]])
        if taken.size >= count:
            break
    return pool[taken[:count]].astype(np.int64)


POOL = 400
_PARALLEL = 0.95
