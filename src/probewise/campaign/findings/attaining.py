"""Attaining: the confidence to be expected of the best guess once a budget is spent; heuristic."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from probewise.algorithms import Algorithm, BestGuess
from probewise.coordinates import Array, Counts
from probewise.design import remembering
from probewise.goals import Goal
from probewise.measurements import Measurements
from probewise.outcomes import Poisson
from probewise.problem import Problem
from probewise.result import Result
from probewise.run import loop

PLAYED = 6
"""Searches that are played for each gap."""
_SEED = 14
_TRIES = 50
"""Parameters that are drawn at most until outcomes can have their means."""
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


def attaining(problem: Problem, goal: Goal, algorithm: Algorithm[Any], gap: float) -> Attained | str:
    """What the search that is planned attains if the best item leads the second by ``gap``; or why it is not played.

    Parameters are drawn at random, in units of the features, and scaled to that lead. Noise is normal, in units of its
    scale if that is unknown; bounded outcomes are at their bounds, around the middle of their range, so that they
    scatter the most; counts are Poisson, around the rate that is expected.
    """
    if why := _unplayed(problem, algorithm, gap):
        return why
    if isinstance(algorithm, BestGuess):  # parameters are drawn from anywhere
        algorithm = replace(algorithm, low=-math.inf, high=math.inf)
    found, right = [], 0
    with remembering(keep=True):
        for number in range(PLAYED):
            theta = _drawn(problem, goal, gap, np.random.default_rng([_SEED, number]))
            if theta is None:
                return f"outcomes of the law '{problem.outcome.name}' do not reach far enough for a gap of {gap:g}"
            result = _played(problem, goal, algorithm, theta, number)
            found.append(result.confidence or 0.0)
            right += result.items is not None and goal.right(problem, problem.items @ theta, result.items)
    return Attained(float(np.mean(found)), min(found), max(found), right)


def _played(problem: Problem, goal: Goal, algorithm: Algorithm[Any], theta: Array, number: int) -> Result:
    """One search on some parameters."""

    def observe(counts: Counts, step: int) -> Measurements:
        at, rng = np.repeat(np.arange(counts.size), counts), np.random.default_rng([_SEED, number, step, 1])
        outcomes = problem.outcome.outcomes(problem.probes[at] @ theta, problem.sigma[at], rng)
        return Measurements.from_outcomes(counts.size, at, outcomes)

    def stream(step: int) -> np.random.Generator:
        return np.random.default_rng([_SEED, number, step, 0])

    return loop(problem, goal, algorithm, observe=observe, stream=stream, keep=False)


def _unplayed(problem: Problem, algorithm: Algorithm[Any], gap: float) -> str:
    """Why no search is played; empty if one is."""
    if not (algorithm.attains and algorithm.predicts):
        return f"{algorithm.name} does not plan for a budget"
    if problem.outcome.link != "identity":
        return f"searches on outcomes of the law '{problem.outcome.name}' are not played"
    if problem.shards is not None or problem.n_items * problem.n_probes > _LARGE:
        return "there are too many items and probes to play searches on them"
    return "" if problem.n_items > 1 and gap > 0 else "there is nothing to tell apart"


def _drawn(problem: Problem, goal: Goal, gap: float, rng: np.random.Generator) -> Array | None:
    """(d,): parameters for which the best item leads the second by a gap; None if no outcomes have such means."""
    for _ in range(_TRIES):
        theta = rng.standard_normal(problem.dimension) / problem.unit
        values = np.unique(problem.items @ theta)
        theta = goal.sign * (theta if values.size < 2 else theta * (gap / (values[-1] - values[-2])))
        theta = _shifted(problem, theta)
        means, (low, high) = problem.probes @ theta, _ends(problem)
        slack = 1e-9 * gap
        if means.min() >= low - slack and means.max() <= high + slack:
            return np.asarray(theta)
    return None


def _shifted(problem: Problem, theta: Array) -> Array:
    """(d,): with means around the middle of what outcomes can be, where all can be raised alike."""
    low, high = _ends(problem)
    middle = problem.outcome.rate if isinstance(problem.outcome, Poisson) else 0.5 * (low + high)
    ones = np.ones(problem.n_probes)
    constant = np.linalg.lstsq(problem.probes, ones, rcond=None)[0]
    if not math.isfinite(low) or not np.allclose(problem.probes @ constant, ones, atol=1e-6):
        return theta
    means = problem.probes @ theta
    return np.asarray(theta + max(middle - 0.5 * (means.min() + means.max()), low - means.min()) * constant)


def _ends(problem: Problem) -> tuple[float, float]:
    """Between what means of outcomes lie."""
    return (0.0, math.inf) if isinstance(problem.outcome, Poisson) else problem.outcome.ends or (-math.inf, math.inf)
