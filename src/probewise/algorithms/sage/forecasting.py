"""Forecasts: what is left to measure, by playing the rounds to come on parameters that fit the data so far."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Forecast
from probewise.algorithms.sage.accounts import log_account
from probewise.algorithms.sage.knowledge import Knowledge, enough
from probewise.coordinates import Array
from probewise.estimate import least_squares
from probewise.goals import Goal
from probewise.outcomes import Law
from probewise.problem import Problem

DRAWS = 200
"""Parameters drawn, each with its own noise to come."""
RIVALS = 60
"""Items that a forecast looks at, those with the highest estimates."""
_ROUNDS = 250
"""Rounds after which a draw is given up; with a growth of 10 %, the total is then 10¹⁰ times as large."""
_LOW, _HIGH = 0.1, 0.9


@dataclass(frozen=True, eq=False)
class Race:
    """Comparisons of k draws, each of its best item with m others: what is known, true, and needed."""

    rows: Array
    """(k, m, d): the directions."""
    precision: Array
    """(k, m): W of all rounds so far."""
    total: Array
    """(k, m): S, plus epsilon·W."""
    gaps: Array
    """(k, m): true leads plus epsilon."""
    unit: Array
    """(k, m): of precisions."""
    lacking: Array
    """(k, m): log of how much more the bets must make."""
    noise: float
    """Scale of the noise as it counts for bets."""
    law: Law
    """The law of outcomes, which says how bets grow."""
    gap: float | None = None
    """A lead for which half of the bets are made."""

    def rounds(self, whitener: Array, sizes: list[int], sigma: float, rng: np.random.Generator) -> NDArray[np.int64]:
        """(k,): rounds of the given ``sizes`` until every comparison of a draw has been decided at some time.

        One measurement by the design gives a row the variance |row @ whitener|², and S the drift gap/variance.
        """
        seen = self.rows @ whitener
        variance = np.einsum("kmr,kmr->km", seen, seen)
        needed = self.lacking + self._account(self.total, self.precision, self.unit)
        waiting = variance > 0  # not an item and itself
        walk, done = np.zeros((len(seen), seen.shape[2])), np.zeros(len(seen), dtype=np.int64)
        measured = 0
        for size in sizes:
            going = waiting.any(axis=1)
            if going.mean() < (1.0 - _HIGH) / 2:  # the interval is known
                break
            walk[going] += sigma * math.sqrt(size) * rng.standard_normal((np.count_nonzero(going), walk.shape[1]))
            measured, done = measured + size, done + going
            at, which = np.nonzero(waiting)
            error = np.einsum("ir,ir->i", seen[at, which], walk[at])
            total = self.total[at, which] + (measured * self.gaps[at, which] + error) / variance[at, which]
            precision = self.precision[at, which] + measured / variance[at, which]
            won = self._account(total, precision, self.unit[at, which]) >= needed[at, which]
            waiting[at[won], which[won]] = False
        return done

    def _account(self, total: Array, precision: Array, unit: Array) -> Array:
        return log_account(self.law, total, precision, unit, self.noise, self.gap)


def race(problem: Problem, goal: Goal, state: Knowledge, rng: np.random.Generator, sigma: float) -> Race:
    """Parameters drawn from N(θ̂, σ²V⁻¹), each with the comparisons of its best item with the others alive."""
    alive = state.alive[:RIVALS]
    items = problem.items[alive]
    fit = least_squares(problem.probes, state.data, sigma=problem.sigma)
    theta = fit.theta + sigma * rng.standard_normal((DRAWS, fit.whitener.shape[1])) @ fit.whitener.T
    values = theta @ items.T
    best = np.argmax(values, axis=1)
    leaders, draw = np.unique(best, return_inverse=True)
    known = [state.collected.get(int(z)) or state.sums(problem, int(z)) for z in alive[leaders]]
    precision = np.array([sums.precision[: alive.size] for sums in known])[draw]
    total = np.array([sums.total[: alive.size] for sums in known])[draw]
    with np.errstate(divide="ignore"):  # an item and itself
        unit = np.array([state.prior.unit(problem, int(z), alive) for z in alive[leaders]])[draw]
    return Race(
        rows=items[best][:, None, :] - items[None, :, :],
        precision=precision,
        total=total + goal.epsilon * precision,
        gaps=values[np.arange(DRAWS), best][:, None] - values + goal.epsilon,
        unit=np.where(np.isfinite(unit), unit, 1.0),
        lacking=np.broadcast_to(enough(problem, goal) - state.wealth[: alive.size], values.shape),
        noise=state.noise(problem, goal),
        law=problem.outcome,
        gap=state.prior.gap,
    )


def even_race(law: Law, gap: float, unit: float, needed: float, rivals: int) -> Race:
    """Unrelated comparisons of which only their true lead is known; each has a feature of its own."""
    ones = np.ones((DRAWS, rivals))
    rows = np.broadcast_to(np.eye(rivals), (DRAWS, rivals, rivals))
    return Race(rows, 0.0 * ones, 0.0 * ones, gap * ones, unit * ones, needed * ones, 1.0, law)


class Outlook(NamedTuple):
    """How rounds to come may go."""

    done: NDArray[np.int64]
    """(k,): rounds that each of k draws took."""
    sizes: list[int]
    """Measurements of each round."""
    price: float
    """Mean cost of a measurement."""


def few_rounds(sizes: list[int], done: NDArray[np.int64], measured: int, left: int) -> list[int]:
    """Sizes of rounds of which about ``left`` do what ``done`` (k,) rounds of other ``sizes`` did, mostly.

    The total grows by the same factor in each of them; the first of all rounds, before which nothing is measured, stays
    as it is.
    """
    first = [] if measured else sizes[:1]
    begin = measured + sum(first)
    needed = measured + sum(sizes[: int(np.quantile(done, _HIGH, method="nearest"))])
    growth = max((_COARSE * needed / begin) ** (1.0 / max(left - len(first), 1)), 1.0)
    more = rounds_to_come(begin, lambda n: min(max(math.ceil((growth - 1.0) * n), sizes[len(first)]), _MOST))
    return (first + more)[: len(sizes)]


_COARSE = 1.15
"""Measurements that few large rounds take, in units of many small ones: the last one ends where it ends."""
_MOST = 10**15
"""Measurements of a round at most, in a forecast that nobody will live to see: whole numbers stay whole."""


def expected(done: NDArray[np.int64], sizes: list[int], price: float, batches: Callable[[int], int]) -> Forecast:
    """From the rounds that draws took: median, interval, and cost at a mean ``price`` of a measurement."""
    totals = np.append(0, np.cumsum(sizes))
    low, middle, high = (int(np.quantile(done, q, method="nearest")) for q in (_LOW, 0.5, _HIGH))
    n = int(totals[middle])
    return Forecast(n, int(totals[low]), int(totals[high]), n * price, sum(map(batches, sizes[:middle])))


def rounds_to_come(measured: int, size: Callable[[int], int]) -> list[int]:
    """Sizes of the rounds to come, for a rule that gives the size of a round from the total before it."""
    sizes: list[int] = []
    for _ in range(_ROUNDS):
        sizes.append(size(measured))
        measured += sizes[-1]
    return sizes
