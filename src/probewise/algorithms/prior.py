"""Prior: what Sage fixes before its first round, the scale of each comparison and its share of δ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from probewise.algorithms.planning import plan
from probewise.coordinates import Array
from probewise.design import pairs
from probewise.estimate import least_squares
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design

Items = NDArray[np.int64]
_MANY = 10_000
"""Items beyond which δ is divided evenly: dividing it by closeness looks at all pairs once."""


@dataclass(frozen=True, eq=False)
class Prior:
    """The first round as planned, by which all comparisons are measured.

    It depends on probes, items, noise and costs alone: neither on outcomes nor on what happens to be in stock.
    """

    size: int
    """Measurements of the first round, and the least of any later one."""
    whitener: Array
    """(d, r): (z - z')@whitener has the squared length that (z - z')'θ̂ of the first round has as variance."""
    factor: float
    """Scale of the mixtures in units of the first round's precision."""
    closeness: Array
    """(m,): for each item z', Σ over the others z of 1/|(z - z')@whitener|; infinite for an even division."""

    @classmethod
    def of(cls, problem: Problem, factor: float, tol: float) -> Prior:
        """From the design for all pairs, two measurements for each probe in it."""
        n, m = problem.n_probes, problem.n_items
        if m == 1:
            return cls(0, np.zeros((problem.dimension, 0)), factor, np.full(1, np.inf))
        weights = plan(problem, pairs(problem.items), tol=tol).weights
        size = 2 * int(np.count_nonzero(weights))
        counts = round_design(weights, size, probes=problem.scaled_probes).counts
        fit = least_squares(problem.probes, Measurements(counts, np.zeros(n), np.zeros(n)), sigma=problem.sigma)
        return cls(size, fit.whitener, factor, _closeness((problem.items - problem.items[0]) @ fit.whitener))

    def variance(self, problem: Problem, leader: int, rivals: Items) -> Array:
        """(k,): v₁, the variance of (leader - rival)'θ̂ in the first round."""
        rows = (problem.items[leader] - problem.items[rivals]) @ self.whitener
        return np.asarray(np.einsum("ij,ij->i", rows, rows))

    def scale(self, problem: Problem, leader: int, rivals: Items) -> Array:
        """(k,): ρ, the scale of the mixture for (leader - rival)'θ."""
        return self.factor / self.variance(problem, leader, rivals)

    def share(self, problem: Problem, leader: int, rivals: Items) -> Array:
        """(k,): the shares π(leader, rival) of δ, half evenly and half by closeness; they sum to 1 over the leaders."""
        half = 0.5 if np.isfinite(self.closeness[0]) else 0.0
        lengths = np.sqrt(self.variance(problem, leader, rivals))
        return np.asarray((1.0 - half) / (problem.n_items - 1) + half / (lengths * self.closeness[rivals]))


def _closeness(points: Array) -> Array:
    """(m,): Σ over other rows of 1/distance, by blocks; infinite if there are too many rows."""
    m = points.shape[0]
    if m > _MANY:
        return np.full(m, np.inf)
    out = np.empty(m)
    for low in range(0, m, 256):
        distances = cdist(points[low : low + 256], points)
        rows = np.arange(distances.shape[0])
        distances[rows, rows + low] = np.inf
        out[low : low + 256] = (1.0 / distances).sum(axis=1)
    return out
