"""Prior: what Sage fixes before its first round, the unit in which the precision of a comparison is counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.planning import plan
from probewise.coordinates import Array
from probewise.design import pairs
from probewise.estimate import least_squares
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design

Items = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Prior:
    """The first round as planned, by which all comparisons are measured.

    It depends on probes, items, noise and costs alone: neither on outcomes nor on what happens to be in stock.
    """

    size: int
    """Measurements of the first round, and the least of any later one."""
    whitener: Array
    """(d, r): (z - z')@whitener has the squared length that (z - z')'θ̂ of the first round has as variance."""

    @classmethod
    def of(cls, problem: Problem, tol: float) -> Prior:
        """From the design for all pairs, two measurements for each probe in it."""
        n, m = problem.n_probes, problem.n_items
        if m == 1:
            return cls(0, np.zeros((problem.dimension, 0)))
        weights = plan(problem, pairs(problem.items), tol=tol).weights
        size = 2 * int(np.count_nonzero(weights))
        counts = round_design(weights, size, probes=problem.scaled_probes).counts
        fit = least_squares(problem.probes, Measurements(counts, np.zeros(n), np.zeros(n)), sigma=problem.sigma)
        return cls(size, fit.whitener)

    def unit(self, problem: Problem, leader: int, rivals: Items) -> Array:
        """(k,): the precision 1/v₁ of (leader - rival)'θ̂ in the first round."""
        rows = (problem.items[leader] - problem.items[rivals]) @ self.whitener
        return np.asarray(1.0 / np.einsum("ij,ij->i", rows, rows))
