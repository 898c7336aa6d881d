"""Designs for algorithms: weights on few probes and their variance, by the certified solver or as the authors did."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array, coordinates
from probewise.design import Directions, optimal_design, reduce_support
from probewise.design.memory import remembered
from probewise.design.solvers import frank_wolfe
from probewise.errors import InvalidAlgorithm
from probewise.problem import Problem
from probewise.rounding import round_design

Solver = Literal["certified", "frank-wolfe"]
_AUTHORS_ITERATIONS = 4999
_frank_wolfe = remembered(frank_wolfe.solve)


class Plan(NamedTuple):
    """Weights and what they attain."""

    weights: Array
    """(n,): summing to 1."""
    rho: float
    """max_y y'A(w)⁻¹y, the largest variance after one measurement, with probes in units of their noise."""


def plan(problem: Problem, directions: Directions, *, tol: float, solver: Solver = "certified") -> Plan:
    """The design of least cost for ``directions``.

    "frank-wolfe" is the authors' code: up to 4999 steps, stopped by a clock, with the value before the last step,
    which is close to that of the weights but no bound on it.
    """
    if solver == "certified":
        design = optimal_design(problem.scaled_probes, directions, cost=problem.cost, tol=tol)
        weights = reduce_support(problem.scaled_probes, design.weights, cost=problem.cost)
        # value = (cost·w) max_y y'A(w)⁻¹y is the same for both, whatever their scale
        return Plan(weights, design.value / float(problem.cost @ weights))
    # shares of the cost: probes x_i/√c_i at unit cost, as in optimal_design
    space = coordinates(problem.scaled_probes / problem.cost[:, None] ** 0.5)
    trace = _frank_wolfe(space.probes, directions.mapped(space.transform), iterations=_AUTHORS_ITERATIONS)
    weights = trace.weights / problem.cost
    weights = weights / weights.sum()
    return Plan(weights, trace.last_value / float(problem.cost @ weights))


def rounded(problem: Problem, weights: Array, n: int) -> NDArray[np.int64]:
    """(n_probes,): ``n`` measurements by a design, even if it has more probes than that."""
    method: Literal["efficient", "regret"] = "efficient" if n >= np.count_nonzero(weights) else "regret"
    return round_design(weights, n, probes=problem.scaled_probes, method=method).counts


def check_solver(solver: str) -> None:
    """Refuse an unknown solver."""
    if solver not in ("certified", "frank-wolfe"):
        raise InvalidAlgorithm(f"solver must be 'certified' or 'frank-wolfe', got {solver!r}.")
