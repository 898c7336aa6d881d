"""Sets of directions of items: all pairs, one against all others, the items themselves; of items in shards too."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from probewise.coordinates import Array
from probewise.design.apart import Apart
from probewise.design.criterion import Directions, Pairs, Vectors, as_matrix
from probewise.design.reached import Reached
from probewise.errors import InvalidDesign
from probewise.shards import Shards, shards_of


def pairs(items: ArrayLike | Shards) -> Directions:
    """Directions z - z' for all pairs of rows of ``items`` (the paper's Y(Z))."""
    far = shards_of(items)
    matrix = as_matrix(items, "items") if far is None else far
    if matrix.shape[0] < 2:
        raise InvalidDesign("pairs needs at least two items, got one; a single item needs no measurement.")
    return _some(Apart(matrix)) if isinstance(matrix, Shards) else Pairs(matrix)


def star(items: ArrayLike | Shards, reference: int, gaps: ArrayLike | None = None) -> Directions:
    """Directions (z_reference - z) / gap for all other rows (the paper's Y*(Z); with gaps, the criterion of ψ*).

    ``gaps`` has one positive entry per item; the entry of the reference is ignored.
    """
    far = shards_of(items)
    matrix = as_matrix(items, "items") if far is None else far
    m = matrix.shape[0]
    if m < 2:
        raise InvalidDesign("star needs at least two items, got one; a single item needs no measurement.")
    if not -m <= reference < m:
        raise InvalidDesign(f"reference must be the number of one of the {m} items, got {reference}.")
    return _star(matrix, reference, gaps) if isinstance(matrix, np.ndarray) else _reached(matrix, reference, gaps)


def _reached(shards: Shards, reference: int, gaps: ArrayLike | None) -> Directions:
    if gaps is not None:
        raise InvalidDesign(
            f"gaps of {len(shards):,} items that stay where they are cannot be given one by one; hardness, which knows "
            "theta, computes them where the items are."
        )
    return _some(Reached(shards, shards[reference % len(shards)]))


def _some(directions: Directions) -> Directions:
    """The directions, unless all are zero: as they are not if some at even distances are not."""
    if not directions.moment().any() and directions.largest()[1] == 0:
        raise InvalidDesign("all directions are zero: there is nothing to learn; give items that differ.")
    return directions


def _star(matrix: Array, reference: int, gaps: ArrayLike | None) -> Vectors:
    m = matrix.shape[0]
    others = np.arange(1, m) if reference == 0 else np.delete(np.arange(m), reference)
    rest = matrix[1:] if reference == 0 else matrix[others]
    ends = np.broadcast_to(matrix[reference], rest.shape), rest
    vectors, gap = ends[0] - ends[1], None
    if gaps is not None:
        gap = np.asarray(gaps, dtype=np.float64)
        if gap.shape != (m,):
            raise InvalidDesign(f"gaps must have one entry per item, expected shape ({m},), got {gap.shape}.")
        gap = gap[1:] if reference == 0 else gap[others]
        if not (gap.min() > 0 and gap.max() < np.inf):  # which what is no number is not
            bad = int(others[np.flatnonzero(~(np.isfinite(gap) & (gap > 0)))[0]])
            raise InvalidDesign(f"gaps must be positive and finite, got {gap[others == bad][0]} for item {bad}.")
        vectors /= gap[:, None]
    return Vectors(vectors, others, ends, gap)


def spokes(items: ArrayLike | Shards) -> Directions:
    """Directions z - z̄ from the mean of the rows of ``items``, of some of them in shards; as many as there are items.

    For every A, max |z - z̄|² <= max |z - z'|² <= 4 max |z - z̄|² in the norm of A⁻¹, since z̄ is a mean of items: the
    best design for these is at most 4 times as bad for all pairs as the best for them.
    """
    if (far := shards_of(items)) is not None:
        return Reached(far, far.sample.mean(axis=0))
    matrix = as_matrix(items, "items")
    ends = matrix, np.broadcast_to(matrix.mean(axis=0), matrix.shape)
    return Vectors(ends[0] - ends[1], np.arange(matrix.shape[0], dtype=np.int64), ends)


def points(items: ArrayLike | Shards) -> Directions:
    """Directions z for all rows of ``items`` (G-optimality)."""
    if (far := shards_of(items)) is not None:
        return _some(Reached(far, np.zeros(far.shape[1])))
    matrix = as_matrix(items, "items")
    return Vectors(matrix, np.arange(matrix.shape[0], dtype=np.int64))


def explicit(directions: ArrayLike) -> Vectors:
    """Directions given as the rows of a table."""
    matrix = as_matrix(directions, "directions")
    return Vectors(matrix, np.arange(matrix.shape[0], dtype=np.int64))
