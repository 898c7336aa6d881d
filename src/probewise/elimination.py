"""Elimination: which items are beaten by another one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array

_BLOCK = 1_000_000


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
    lost = np.zeros(values.size, dtype=bool)
    low = 0
    while low < values.size:
        left = np.flatnonzero(~lost[low:]) + low
        step = max(1, min(_BLOCK // max(left.size, 1), 32 if low == 0 else values.size))
        rivals = slice(low, low + step)
        ahead = values[rivals, None] - values[left]
        squares = (
            np.einsum("ij,ij->i", points[rivals], points[rivals])[:, None]
            + np.einsum("ij,ij->i", points[left], points[left])
            - 2.0 * points[rivals] @ points[left].T
        )
        wins = (ahead > 0) & (ahead**2 >= width**2 * np.maximum(squares, 0.0))
        lost[left[wins.any(axis=0)]] = True
        low += step
    out = np.zeros(values.size, dtype=bool)
    out[order] = lost
    return out
