"""Reduction of a design to a small support with the same information matrix (Carathéodory)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from probewise.coordinates import Array, coordinates
from probewise.design.criterion import as_matrix
from probewise.design.memory import remembered
from probewise.errors import InvalidDesign
from probewise.threads import few


@remembered
@few
def reduce_support(probes: ArrayLike, weights: ArrayLike, *, cost: ArrayLike | None = None) -> Array:
    """Weights (n,) with the same A(w) and the same cost, up to a common factor, on at most r(r+1)/2 + 1 probes.

    r is the rank of the probes that carry weight. The matrices x_i x_i' and the cost are linear in the weights:
    moving along a null vector of them until a weight vanishes changes neither. O(p r⁴) for a support of p.
    """
    X = as_matrix(probes, "probes")
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (X.shape[0],) or not np.isfinite(w).all() or (w < 0).any() or w.sum() <= 0:
        raise InvalidDesign(
            f"weights must be {X.shape[0]} non-negative numbers, one per probe and not all 0, got shape {w.shape}."
        )
    c = np.ones(w.size) if cost is None else np.broadcast_to(np.asarray(cost, dtype=np.float64), w.shape)
    support = np.flatnonzero(w > 0)
    rows = coordinates(X[support] * np.sqrt(w[support, None])).probes / math.sqrt(support.size)
    out = np.zeros(w.size)
    out[support] = w[support] * factors(rows, w[support] * c[support] / (w @ c))
    return np.asarray(out / out.sum())


def needed(r: int) -> int:
    """Probes of dimension ``r`` that are enough for any information matrix and cost."""
    return r * (r + 1) // 2 + 1


def factors(rows: Array, shares: Array) -> Array:
    """(p,): u >= 0, at most ``needed`` of them positive, with Σ u rr' = Σ rr' = I and Σ u·share = Σ share = 1.

    ``rows`` (p, r) are probes times the roots of their weights, ``shares`` (p,) what each has of the cost.
    """
    p, r = rows.shape
    if p <= needed(r):
        return np.ones(p)
    upper = np.triu_indices(r)
    parts = np.vstack([(rows[:, upper[0]] * rows[:, upper[1]]).T, shares])
    left = _basic(parts) if p > _FEW else _vanishing(parts)
    error = np.abs(parts @ left - parts.sum(axis=1)).max()
    return _vanishing(parts) if error > _EXACT or np.count_nonzero(left) > parts.shape[0] else left


_FEW = 100
"""Probes up to which reflections take little time."""
_EXACT = 1e-12
"""Error of a sum of parts above which they are taken again."""


def _basic(parts: Array) -> Array:
    """Factors u >= 0 with parts @ u = parts @ 1 and at most rank(parts) of them positive, up to rounding.

    Least squares with signs begin with no part and add those that lack most: they end with a basis (Lawson and Hanson
    1974).
    """
    from scipy.optimize import nnls  # slow to load, and needed where probes are many

    try:
        return np.asarray(nnls(parts, parts.sum(axis=1))[0], dtype=np.float64)
    except RuntimeError:  # too many steps
        return np.zeros(parts.shape[1])


def _vanishing(parts: Array) -> Array:
    """The same by reflections of null vectors, chunk after chunk: slower, and exact where pivots are small."""
    rows, columns = parts.shape
    factors = np.ones(columns)
    alive = np.arange(0)
    for low in range(0, columns, rows):
        alive = np.concatenate([alive, np.arange(low, min(low + rows, columns))])
        factors[alive] *= _vanishing_chunk(parts[:, alive] * factors[alive])
        alive = alive[factors[alive] > 0]
    return factors


def _vanishing_chunk(parts: Array) -> Array:
    columns = parts.shape[1]
    full = parts.shape[0] < columns
    try:
        _, singular, right = np.linalg.svd(parts, full_matrices=full)
    except np.linalg.LinAlgError:  # the faster of two routines fails now and then, on finite numbers
        _, singular, right = scipy.linalg.svd(parts, full_matrices=full, lapack_driver="gesvd")
    rank = int(np.sum(singular > singular[0] * max(parts.shape) * np.finfo(float).eps))
    null = right[rank:].T
    alive, left = np.arange(columns), np.ones(columns)
    later = np.linspace(1.0, 2.0, columns)  # what falls, as far as there is a choice; a basis is chance
    while null.shape[1]:
        if left.all():
            for order in (later[alive], later[alive] ** 5):  # a table's rows may be in the order of its parts
                vector = null @ (order @ null)
                if np.abs(vector).max() > _CHANCE:
                    break
            else:
                vector = null[:, 0]
            vector = vector if vector.max() > 0 else -vector
            falling = vector > _CHANCE * vector.max()
            ratios = np.full(left.size, np.inf)
            np.divide(left, vector, out=ratios, where=falling)
            left = left - ratios.min() * vector
            left[(ratios <= (1.0 + _CHANCE) * ratios.min()) | (left <= _CHANCE)] = 0.0  # a speck would be measured
        gone = int(left.argmin())
        mirror, left, alive = null[gone].copy(), _without(left, gone), _without(alive, gone)
        if (size := math.sqrt(mirror @ mirror)) <= _CHANCE:  # no vector has a part there
            null = _without(null, gone)
            continue
        # reflect the null space so that all but one of its vectors vanish at the probe that is gone
        mirror /= size
        mirror[0] += math.copysign(1.0, mirror[0])
        null = _without(null[:, 1:] - np.multiply.outer(null @ mirror, (2.0 * mirror / (mirror @ mirror))[1:]), gone)
    factors = np.zeros(columns)
    factors[alive] = left
    return factors


_CHANCE = 1e-9
"""Relative size of what may be rounding, of the weights as of the arithmetic here."""


def _without(rows: NDArray[Any], gone: int) -> NDArray[Any]:
    """Without one row, some times faster than ``np.delete``."""
    return np.concatenate([rows[:gone], rows[gone + 1 :]])
