"""Prior: what Sage fixes before its first round, the unit in which the precision of a comparison is counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.planning import plan, recalled, unit_whitener
from probewise.coordinates import Array
from probewise.design import Directions
from probewise.design.farthest import square_norms
from probewise.problem import Problem

Items = NDArray[np.int64]
Memo = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Prior:
    """The first round as planned, by which all comparisons are measured.

    It depends on probes, items, noise and costs alone: neither on outcomes nor on what happens to be in stock.
    """

    size: int
    """Measurements of the first round, and the least of any later one."""
    whitener: Array
    """(d, r): (z - z')@whitener has the squared length that (z - z')'θ̂ of the first round should have as variance."""
    weights: Array
    """(n,): the design of the first round."""

    @classmethod
    def of(cls, problem: Problem, directions: Directions | None, tol: float, memo: Memo | None = None) -> Prior:
        """From the design for all that may matter: three measurements per dimension, or two per probe if fewer.

        The design is solved for unless there is a ``memo`` of it.
        """
        if directions is None:
            return cls(0, np.zeros((problem.dimension, 0)), np.zeros(problem.n_probes))
        weights = plan(problem, directions, tol=tol).weights if memo is None else recalled(problem, directions, memo)
        size = min(3 * problem.coordinates.rank, 2 * int(np.count_nonzero(weights)))
        return cls(size, unit_whitener(problem, weights) / math.sqrt(size), weights)

    def unit(self, problem: Problem, leader: int, rivals: Items) -> Array:
        """(k,): the precision 1/v₁ of (leader - rival)'θ̂ in the first round."""
        return 1.0 / square_norms((problem.items[leader] - problem.items[rivals]) @ self.whitener)
