"""Attaining: the confidence to be expected of the best guess once a budget is spent; heuristic."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from probewise.algorithms import Algorithm
from probewise.coordinates import Array, Counts
from probewise.design import remembering
from probewise.goals import Goal
from probewise.measurements import Measurements
from probewise.outcomes import Gaussian
from probewise.problem import Problem
from probewise.result import Result
from probewise.run import loop

PLAYED = 6
"""Searches that are played for each gap."""
_SEED = 14
_LARGE = 200_000
"""Probes times items beyond which playing takes too long."""


class Attained(NamedTuple):
    """What played searches have attained."""

    mean: float
    """Confidence in the item in front, on average."""
    least: float
    """The least of all."""
    most: float
    """The most of all."""
    right: int
    """Searches of which the item in front was the best."""


def attaining(problem: Problem, goal: Goal, algorithm: Algorithm[Any], gap: float) -> Attained | None:
    """What the search that is planned attains if the best item leads the second by ``gap``; None if it is not played.

    Parameters are drawn at random, in units of the features, and scaled to that lead; noise is normal.
    """
    if not (algorithm.attains and algorithm.predicts and isinstance(problem.outcome, Gaussian) and gap > 0):
        return None
    if problem.n_items < 2 or problem.shards is not None or problem.n_items * problem.n_probes > _LARGE:
        return None
    found, right = [], 0
    with remembering(keep=True):
        for number in range(PLAYED):
            theta = goal.sign * _drawn(problem, gap, np.random.default_rng([_SEED, number]))
            result = _played(problem, goal, algorithm, theta, number)
            found.append(result.confidence or 0.0)
            right += result.items is not None and goal.right(problem, problem.items @ theta, result.items)
    return Attained(float(np.mean(found)), min(found), max(found), right)


def _played(problem: Problem, goal: Goal, algorithm: Algorithm[Any], theta: Array, number: int) -> Result:
    """One search on some parameters."""

    def observe(counts: Counts, step: int) -> Measurements:
        at, rng = np.repeat(np.arange(counts.size), counts), np.random.default_rng([_SEED, number, step, 1])
        outcomes = problem.probes[at] @ theta + problem.sigma[at] * rng.standard_normal(at.size)
        return Measurements.from_outcomes(counts.size, at, outcomes)

    def stream(step: int) -> np.random.Generator:
        return np.random.default_rng([_SEED, number, step, 0])

    return loop(problem, goal, algorithm, observe=observe, stream=stream, keep=False)


def _drawn(problem: Problem, gap: float, rng: np.random.Generator) -> Array:
    """(d,): parameters for which the best item leads the second by a gap."""
    theta = rng.standard_normal(problem.dimension) / problem.unit
    values = np.unique(problem.items @ theta)
    return np.asarray(theta if values.size < 2 else theta * (gap / (values[-1] - values[-2])))
