"""Limits: what no method that keeps its δ can expect to do without, for questions of every kind, by a certificate."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from probewise.algorithms.sets.designs import set_design
from probewise.algorithms.sets.elements import rivals
from probewise.coordinates import Array
from probewise.goals import Goal
from probewise.goals.best_set import BestSet
from probewise.likelihood import fitted_on_plane
from probewise.measurements import Measurements
from probewise.outcomes import CanonicalLaw
from probewise.problem import Problem
from probewise.theory import hardness

_TOL = 1e-2
"""Relative gap at which the limit of outcomes with a link is near enough."""
_ROUNDS = 100
_COUNTS = 10**6
"""Measurements that weights stand for where a likelihood is asked for."""


def limit(problem: Problem, theta: Array, goal: Goal) -> float:
    """Measurements, or cost, per nat of log(1/2.4δ), from below (docs/theory.md, docs/arena.md)."""
    if isinstance(goal, BestSet):
        return _of_sets(problem, theta, goal)
    if isinstance(problem.outcome, CanonicalLaw):
        return 1.0 / _most_information(problem, problem.outcome, theta)
    return 2.0 * hardness(problem, theta, goal=goal, tol=1e-3).psi_lower


def _of_sets(problem: Problem, theta: Array, goal: BestSet) -> float:
    """By the closest rivals with, or without, each element: with fewer rivals the limit is lower, and still true."""
    values = goal.sign * theta
    best = goal.oracle.best(values)
    others = rivals(goal.oracle, values, best)
    gaps = values[best].sum() - others @ values
    return 2.0 * set_design(best, others, gaps, problem.sigma**2, problem.cost, tol=_TOL).lower


def _most_information(problem: Problem, law: CanonicalLaw, theta: Array) -> float:
    """max over weights of the least Σ w KL(θ, λ) over λ with another best item, from above, for the cost.

    Among finitely many λ this is a linear programme, and no less than among all. Those that are closest under its
    weights are added until that makes no difference.
    """
    values, linear = problem.items @ theta, problem.probes @ theta
    best = int(np.argmax(values))
    normals = np.delete(problem.items[best] - problem.items, best, axis=0)
    means, n = law.mean(linear), problem.n_probes
    weights, rows = np.full(n, 1.0 / n), list[Array]()
    most = math.inf
    for _ in range(_ROUNDS):
        counts = np.maximum(np.rint(_COUNTS * weights), 1).astype(np.int64)
        data = Measurements(counts, means, np.zeros(n))
        closest = [problem.probes @ fitted_on_plane(law, problem.probes, data, normal).theta for normal in normals]
        found = [
            (law.cumulant(other) - law.cumulant(linear) - means * (other - linear)) / problem.cost for other in closest
        ]
        if min(float(weights @ row) for row in found) >= (1.0 - _TOL) * most:
            break
        rows += found
        weights, most = _game(np.array(rows))
    return most


def _game(payoff: Array) -> tuple[Array, float]:
    """The weights with the largest least entry of ``payoff`` (k, n) times them, and that entry."""
    k, n = payoff.shape
    scale = float(np.abs(payoff).max())
    solution = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.hstack([-payoff / scale, np.ones((k, 1))]),
        b_ub=np.zeros(k),
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0, None)] * n + [(None, None)],
    )
    found = np.asarray(solution.x)
    return found[:n], float(found[n]) * scale
