"""check_solver: weights from any design solver, judged by the certified optimum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from probewise.coordinates import Array
from probewise.design import Directions, Vectors, largest_variance, optimal_design, pairs, points, star
from probewise.testing.problems import EASY

Solve = Callable[[Array, Directions], ArrayLike]
"""(probes, directions) -> weights (n,)."""


def check_solver(solve: Solve, *, tol: float = 1e-3) -> None:
    """AssertionError with a sentence unless all weights are designs within ``tol`` of the certified optimum."""
    for case in EASY:
        problem, _ = case()
        probes, items = problem.scaled_probes, problem.items
        inside = bool(problem.coordinates.is_inside(items).all())
        sets: dict[str, Directions] = {"pairs": pairs(items), "star": star(items, 0)}
        if inside:
            sets |= {"points": points(items), "one direction": Vectors(items[:1], np.zeros(1, dtype=np.int64))}
        for name, directions in sets.items():
            _check_weights(f"{name} of {case.__name__}", solve, probes, directions, tol)


def _check_weights(what: str, solve: Solve, probes: Array, directions: Directions, tol: float) -> None:
    weights = np.asarray(solve(probes, directions), dtype=np.float64)
    if weights.shape != (probes.shape[0],) or not (weights >= 0).all() or abs(weights.sum() - 1.0) > 1e-9:
        raise AssertionError(
            f"{what}: weights must be {probes.shape[0]} numbers of at least 0 that sum to 1, got {weights}."
        )
    value, lower = largest_variance(probes, weights, directions), optimal_design(probes, directions, tol=1e-6).lower
    if not value <= (1.0 + tol) * lower:
        raise AssertionError(f"{what}: the value {value:.6g} is {value / lower - 1:.1e} above the optimum {lower:.6g}.")
