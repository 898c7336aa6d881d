"""What GLGapE does at each step: plain functions of arrays, which numba compiles too."""

from __future__ import annotations

import math

import numpy as np

from probewise.algorithms.sequential.steps import first_largest
from probewise.coordinates import Array

LEAST = 1e-3
"""What a measurement tells at least, as a share of what the best one tells, in designs that rest on an estimate."""


def most_telling(probes: Array, cost: Array, told: Array, inverse: Array, row: Array) -> int:
    """The probe that lowers the variance of y'θ̂ most, for its cost; a measurement of each tells ``told`` (n,)."""
    n = told.size
    rows = probes * np.sqrt(np.maximum(told, LEAST * told.max())).reshape(n, 1)
    steps = rows @ inverse
    return first_largest((steps @ row) ** 2 / (1.0 + (steps * rows).sum(axis=1)) / cost)


def compared(items: Array, theta: Array, inverse: Array, width: float) -> tuple[int, int, float]:
    """The leader, the item that may exceed it by most, and by how much it may."""
    leader = first_largest(items @ theta)
    if items.shape[0] == 1:
        return leader, leader, -math.inf
    rows = items[leader] - items
    bounds = width * np.sqrt(np.maximum(((rows @ inverse) * rows).sum(axis=1), 0.0)) - rows @ theta
    bounds[leader] = bounds.min() - 1.0  # no rival of its own
    rival = first_largest(bounds)
    return leader, rival, bounds[rival]


def width(nats: float, dimension: int, total: float) -> float:
    """√(2·log(1/δ) + d·log(1+t)), with ``nats`` log(1/δ)."""
    return math.sqrt(2.0 * nats + dimension * math.log1p(total))
