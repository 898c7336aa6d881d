"""Prospects: what a campaign will take, and what looks odd about its tables, before anything is measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from probewise.algorithms import Algorithm, Forecast
from probewise.algorithms.planning import plan
from probewise.coordinates import Array
from probewise.design import remembering, spokes
from probewise.goals import Goal
from probewise.numerals import plural
from probewise.outcomes import Poisson
from probewise.problem import Problem
from probewise.shards.values import beyond
from probewise.tables import named

_TOL = 0.03
_SPREAD = 1e6
"""Ratio of the sizes of two features above which their units are worth a look."""


def prospects(
    problem: Problem, goal: Goal, algorithm: Algorithm[Any], gaps: Sequence[float] = ()
) -> dict[float, Forecast]:
    """What a campaign will take, by how far items are apart where it matters, if all are as hard as the hardest.

    Gaps are in units of outcomes or, if the scale of the noise is unknown, of the noise; a few round ones by default.
    """
    if problem.n_items == 1:
        return {}
    with remembering():
        # of items that stay where they are each and a mean, from which a pair is at most twice as far apart
        far = problem.shards is not None
        weights, rho = plan(problem, spokes(problem.items) if far else goal.directions(problem), tol=_TOL)
        rho *= 4.0 if far else 1.0
        gaps = gaps or _round_gaps(problem, goal, rho)
        if algorithm.forecasts:
            return {gap: algorithm.forecast_for_gap(*goal.upward(problem), gap) for gap in gaps}
    # 2·log(1/δ)·ρ/gap² measurements tell two items apart that are a gap apart
    counts = [math.ceil(2.0 * math.log(1.0 / goal.delta) * rho / (gap + goal.epsilon) ** 2) for gap in gaps]
    price = float(problem.cost @ weights)
    return {gap: Forecast(n, None, None, n * price, None) for gap, n in zip(gaps, counts, strict=True)}


def by_rounds(
    problem: Problem, goal: Goal, algorithm: Algorithm[Any], expected: Mapping[float, Forecast]
) -> tuple[float, dict[int, Forecast]] | None:
    """What fewer rounds take, for the second of the gaps, if the algorithm can be told how many there shall be."""
    gaps = [gap for gap in expected if gap > 0]
    if not (algorithm.plans_rounds and algorithm.forecasts and gaps) or algorithm.limits.split:
        return None  # batches take as many rounds as the laboratory's limits make of them
    gap = gaps[min(1, len(gaps) - 1)]
    few = {rounds: replace(algorithm, rounds=rounds) for rounds in _ROUNDS}  # type: ignore[type-var]
    return gap, {rounds: own.forecast_for_gap(*goal.upward(problem), gap) for rounds, own in few.items()}


_ROUNDS = (3, 5, 10)
"""Numbers of rounds that a laboratory may think of."""


def _round_gaps(problem: Problem, goal: Goal, rho: float) -> list[float]:
    """From one that few measurements resolve down to a tenth of it, as 5, 2, 1, 0.5; a tie too, if one will do."""
    few = 10.0 * max(problem.coordinates.rank, 1)
    easy = math.sqrt(2.0 * math.log(problem.n_items / goal.delta) * rho / few)
    grid = [digit * 10.0**power for power in range(-300, 300) for digit in (1, 2, 5)]
    last = int(np.argmin(np.abs(np.log(grid) - math.log(easy))))
    return [float(f"{gap:.1g}") for gap in grid[last : last - 4 : -1]] + [0.0] * (goal.epsilon > 0)


def remarks(problem: Problem, outcome_range: tuple[float, float] = (-math.inf, math.inf)) -> Iterator[str]:
    """What may be meant, but is worth a look before anything is measured."""
    if problem.n_items == 1:
        yield f"There is only one item, '{problem.item_names[0]}', so there is nothing to find."
    size = np.abs(problem.probes).max(axis=0)
    used = np.flatnonzero(size > 0)
    scaled = problem.probes[:, used] / size[used]
    ones = np.ones(problem.n_probes)
    if not np.allclose(scaled @ np.linalg.lstsq(scaled, ones, rcond=None)[0], ones, rtol=0.0, atol=1e-6):
        yield (
            "No feature, and no combination of features, is constant, so outcomes are taken to be 0 where all features "
            "are 0; if they are not, add a column of ones to both tables."
        )
    most, least = used[int(np.argmax(size[used]))], used[int(np.argmin(size[used]))]
    if size[most] > _SPREAD * size[least]:
        names = named((problem.feature_names[most], problem.feature_names[least]))
        yield f"The features {names} differ in size by a factor of {size[most] / size[least]:.0e}; check their units."
    low, high = problem.probes.min(axis=0), problem.probes.max(axis=0)
    slack = 1e-9 * size
    count, columns = _beyond(problem, low - slack, high + slack)
    if count:
        yield (
            f"Beyond the range of the probes: {plural(count, 'item')} of {problem.n_items} in "
            f"{named(problem.feature_names[column] for column in columns)}; the answer rests on outcomes being linear "
            "there too, which no probe can check."
        )
    width = 0.5 * (outcome_range[1] - outcome_range[0])
    if problem.outcome.known and problem.outcome.by_sums and problem.sigma.max() > width:
        yield (
            f"Outcomes from {outcome_range[0]:g} to {outcome_range[1]:g} cannot be noisier than {width:g}, but sigma "
            f"is {problem.sigma.max():g}; a smaller sigma needs fewer measurements."
        )
    if problem.misfit.any():
        yield (
            f"Allowed for: outcomes that are off the model by up to {problem.misfit.max():.4g}. The forecast does not "
            "count that: it takes longer, and has no end where items differ by less than the misfit can explain."
        )
    if problem.outcome.ends is not None:
        yield (
            "The forecast takes outcomes to scatter as much as their range allows; how much they do will be learned, "
            "and if it is less, fewer measurements are needed."
        )
    if isinstance(law := problem.outcome, Poisson):
        yield (
            "Counts are taken to have a variance equal to their mean (Poisson); nothing is proven for counts "
            f"that scatter more. The forecast takes them to be about {law.rate:g}; if that is far off, say so (rate=…)."
        )
    if not problem.outcome.known:
        yield "The noise is unknown: replicates will tell, so that every probe is measured at least twice in a round."


def unforeseen(problem: Problem, goal: Goal, algorithm: Algorithm[Any]) -> Iterator[str]:
    """What will not be forecast once there are measurements, and why."""
    if (why := algorithm.unforeseen(*goal.upward(problem))) and problem.n_items > 1:
        yield why.replace("There is no forecast", "While it is measured there will be no forecast")


def _beyond(problem: Problem, low: Array, high: Array) -> tuple[int, list[int]]:
    """How many items have features outside (d,) limits, and which features."""
    if (shards := problem.shards) is not None:
        found = shards.engine.each(beyond, shards.pieces, shards.sign, low, high)
        return sum(count for count, _ in found), np.flatnonzero(np.any([out for _, out in found], axis=0)).tolist()
    outside = (problem.items < low) | (problem.items > high)
    return int(outside.any(axis=1).sum()), np.flatnonzero(outside.any(axis=0)).tolist()
