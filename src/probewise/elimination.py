"""Elimination: which items are beaten by another one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.design import pairs
from probewise.design.criterion import contains
from probewise.design.farthest import square_norms
from probewise.estimate import Estimate

_BLOCK = 1_000_000
_CLOSE = 1e-8
"""Squared distances below this share of the squared lengths are not left to |a|² + |b|² - 2a'b, which cancels."""


def behind(scores: Array, margin: float) -> NDArray[np.bool_]:
    """(m,): items whose score is at least ``margin`` below the best one."""
    return np.asarray(scores.max() - scores >= margin)


def beaten(items: Array, scores: Array, width: float) -> NDArray[np.bool_]:
    """(m,): items z for which some z' has (z' - z)'θ̂ >= width·‖z' - z‖, in whitened coordinates of ``items`` (m, r).

    Rivals are tried from the highest score down, in blocks, on the items that nobody has beaten yet: exact, O(m²r)
    at worst and far less where a few leaders beat most.
    """
    order = np.argsort(-scores, kind="stable")
    points, values = items[order], scores[order]
    lengths = square_norms(points)
    lost = np.zeros(values.size, dtype=bool)
    low = 0
    while low < values.size:
        left = np.flatnonzero(~lost[low:]) + low
        step = max(1, min(_BLOCK // max(left.size, 1), 32 if low == 0 else values.size))
        rivals = slice(low, low + step)
        ahead = values[rivals, None] - values[left]
        sizes = lengths[rivals, None] + lengths[left]
        squares = sizes - 2.0 * points[rivals] @ points[left].T
        one, other = np.nonzero((squares <= _CLOSE * sizes) & (ahead > 0))
        squares[one, other] = ((points[low + one] - points[left[other]]) ** 2).sum(axis=1)
        wins = (ahead > 0) & (ahead**2 >= width**2 * squares)
        lost[left[wins.any(axis=0)]] = True
        low += step
    out = np.zeros(values.size, dtype=bool)
    out[order] = lost
    return out


def eliminated(items: Array, fit: Estimate, factor: float) -> tuple[NDArray[np.bool_], float]:
    """(m,): which ``items`` (m, d) another one beats by ``factor`` standard errors; and a half-width for all others.

    No comparison of two items that are left has a larger half-width. Where the measurements do not determine all
    differences, as when some were lost, or ``factor`` is infinite, nobody is beaten and the half-width is infinite.
    """
    if items.shape[0] == 1:
        return np.zeros(1, dtype=bool), 0.0
    if math.isinf(factor) or not contains(fit.measured, pairs(items)):
        return np.zeros(items.shape[0], dtype=bool), math.inf
    lost = beaten((items - items[0]) @ fit.whitener, (items - items[0]) @ fit.theta, factor)
    left = items[~lost]
    return lost, factor * math.sqrt(fit.largest_variance(pairs(left))) if left.shape[0] > 1 else 0.0
