"""Forecasts: what is left to measure, by playing the rounds to come on parameters that fit the data so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Forecast
from probewise.algorithms.planning import coarse
from probewise.algorithms.sage.accounts import log_account
from probewise.algorithms.sage.claims import Claimed, needed
from probewise.algorithms.sage.fitting import CANDIDATES, limit, picked, precisions
from probewise.algorithms.sage.knowledge import Knowledge, enough
from probewise.algorithms.sage.shared import Shared
from probewise.algorithms.sage.sided import Sided
from probewise.coordinates import Array
from probewise.design import Directions
from probewise.design.criterion import Vectors
from probewise.design.farthest import square_norms
from probewise.estimate import Estimate, least_squares
from probewise.goals import BestCombination, Goal
from probewise.outcomes import Law
from probewise.problem import Problem

PARAMETERS, NOISES = 20, 10
"""Parameters drawn, and how often each is played, with other noise to come."""
DRAWS = PARAMETERS * NOISES
"""Games that are played."""
RIVALS = 60
"""Comparisons that a forecast looks at in a draw, those that are least clear."""
_ROUNDS = 250
"""Rounds after which a draw is given up; with a growth of 10 %, the total is then 10¹⁰ times as large."""
_LOW, _HIGH = 0.1, 0.9
_BELIEVED = 1.0
"""Standard errors of today below which no lead will be believed by designs to come, which know it better."""
_OVERSHOOT = 0.583
"""By how many steps a walk exceeds a limit on average, which boosted accounts do not."""


@dataclass(frozen=True, eq=False)
class Race:
    """Comparisons of j draws, each of what is true in it with m others: what is known, true, and needed."""

    rows: Array
    """(j, m, d): the directions; 0 for none."""
    precision: Array
    """(j, m): W of all rounds so far."""
    total: Array
    """(j, m): S, plus epsilon·W."""
    gaps: Array
    """(j, m): true leads plus epsilon."""
    unit: Array
    """(j, m): of precisions."""
    lacking: Array
    """(j, m): log of how much more the bets must make."""
    noise: float
    """Scale of the noise as it counts for bets."""
    law: Law
    """The law of outcomes, which says how bets grow."""
    gap: float | None = None
    """A lead for which half of the bets are made."""
    boosted: bool = False
    """Whether bets are boosted, so that accounts end at what they need."""

    def directions(self, draw: int) -> Directions:
        """What rounds to come will be designed for in a draw: its open comparisons in units of their leads."""
        rows, known = self.rows[draw], np.where(self.precision[draw] > 0, self.precision[draw], self.unit[draw])
        gaps = np.maximum(self.gaps[draw] / self.noise, _BELIEVED / np.sqrt(known))
        own = np.flatnonzero(rows.any(axis=1) & (self.lacking[draw] > 0))
        own = own if own.size else np.flatnonzero(rows.any(axis=1))
        return Vectors(rows[own] / coarse(gaps[own])[:, None], np.arange(own.size))

    def less(self, problem: Problem, weights: Sequence[Array], whiteners: Sequence[Array]) -> Race:
        """With leads less what a misfit may feign, by the design of each draw: docs/misfit.md."""
        parts = zip(self.rows, weights, whiteners, strict=True)
        feigned = [
            np.abs((rows @ own) @ (problem.scaled_probes @ own).T) @ (share * problem.misfit / problem.sigma)
            for rows, share, own in parts
        ]
        return replace(self, gaps=self.gaps - np.array(feigned))

    def rounds(self, whitener: Array, sizes: list[int], sigma: float, rng: np.random.Generator) -> NDArray[np.int64]:
        """(k,): rounds of the given ``sizes`` until every comparison of a game has been decided at some time.

        One measurement by the design of a draw gives a row the variance |row @ whitener|², and S the drift
        gap/variance; ``whitener`` is (d, r), or (j, d, r) if each draw has its own.
        """
        each = DRAWS // len(self.rows)
        seen = np.repeat(self.rows @ whitener, each, axis=0)
        variance = np.einsum("kmr,kmr->km", seen, seen)
        begun, known, gaps, unit, lacking = (
            np.repeat(part, each, axis=0) for part in (self.total, self.precision, self.gaps, self.unit, self.lacking)
        )
        needed = lacking + self._account(begun, known, unit)
        waiting = (variance > 0) & (lacking > 0)  # not an item and itself
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
            total = begun[at, which] + (measured * gaps[at, which] + error) / variance[at, which]
            precision = known[at, which] + measured / variance[at, which]
            made = self._account(total, precision, unit[at, which])
            if self.boosted:
                step = sigma / self.noise**2 * np.maximum(total, 0.0) / precision * np.sqrt(size / variance[at, which])
                made = made + _OVERSHOOT * step
            won = made >= needed[at, which]
            waiting[at[won], which[won]] = False
        return done

    def _account(self, total: Array, precision: Array, unit: Array) -> Array:
        return log_account(self.law, total, precision, unit, self.noise, self.gap)


def unplayed(problem: Problem, goal: Goal, state: Any | None) -> str:
    """Why rounds to come cannot be played, in a state or at all; empty if they can."""
    if isinstance(goal, BestCombination) and problem.blocks and goal.epsilon == 0:
        return "rounds to come are not played on combinations of levels"
    if goal.promise != "all":
        return "a list of which a share may be wrong grows item by item, and rounds to come are not played for it"
    if state is None:
        return ""
    if not state.data.n:
        return "no round is complete yet"
    if not math.isfinite(problem.outcome.bound(state.pool.pure_error, goal.delta)):
        return "there are too few replicates yet to bound the noise"
    return ""


def race(problem: Problem, goal: Goal, state: Knowledge, rng: np.random.Generator, sigma: float) -> Race:
    """Parameters that fit the data, each with the comparisons of its best item with the others alive."""
    alive = state.alive[:RIVALS]
    items = problem.items[alive]
    values = _fitting(problem, goal, state, rng, sigma) @ items.T
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
        gaps=values[np.arange(PARAMETERS), best][:, None] - values + goal.epsilon,
        unit=np.where(np.isfinite(unit), unit, 1.0),
        lacking=np.broadcast_to(enough(problem, goal) - state.wealth[: alive.size], values.shape),
        noise=state.noise(problem, goal),
        law=problem.outcome,
        gap=state.prior.gap,
        boosted=state.boost and problem.outcome.is_normal,
    )


def race_of_claims(
    problem: Problem, goal: Goal, state: Claimed | Shared | Sided, rng: np.random.Generator, sigma: float
) -> Race:
    """Parameters drawn from N(θ̂, σ²V⁻¹), each with the least clear claims of its own answer.

    Each is taken to have been bet on from the start; accounts that lists share need no more than that of one item.
    """
    fit = least_squares(problem.probes, state.data, sigma=problem.sigma)
    noise = problem.outcome.bound(state.pool.pure_error, goal.delta)
    wanted = enough(problem, goal) if isinstance(state, Shared | Sided) else needed(problem, goal)
    parts = []
    for theta in _around(fit, PARAMETERS, rng, sigma):
        claims = goal.claims(problem, goal.answer(problem, problem.items @ theta))
        margins = claims.rows @ theta + claims.offsets + goal.epsilon
        clear = margins / np.maximum(np.linalg.norm(claims.rows @ fit.whitener, axis=1), 1e-300)
        few = np.zeros(clear.size, dtype=np.bool_)
        few[np.argsort(np.where(claims.rows.any(axis=1), clear, np.inf), kind="stable")[:RIVALS]] = True
        claims, margins = claims.at(few), margins[few]
        sums = state.pool.sums(claims.rows, claims.sizes).lifted(claims.offsets + goal.epsilon)
        squares = square_norms(claims.rows @ state.prior.whitener)
        unit = 1.0 / np.where(squares > 0, squares, 1.0)
        made = log_account(problem.outcome, sums.total, sums.precision, unit, noise, state.prior.gap)
        parts.append((claims.rows, sums.precision, sums.total, margins, unit, wanted - made))
    most = max(len(part[0]) for part in parts)
    rows, precision, total, gaps, unit, lacking = (
        np.array([_padded(part, most) for part in own]) for own in zip(*parts, strict=True)
    )
    unit = np.where(unit > 0, unit, 1.0)
    boosted = isinstance(state, Shared | Sided) and state.boost and problem.outcome.is_normal
    return Race(rows, precision, total, gaps, unit, lacking, noise, problem.outcome, state.prior.gap, boosted)


def _fitting(problem: Problem, goal: Goal, state: Knowledge, rng: np.random.Generator, sigma: float) -> Array:
    """(j, d): of parameters drawn from N(θ̂, σ²V⁻¹), those that ``picked`` chooses by all pairs of items alive."""
    fit, items = least_squares(problem.probes, state.data, sigma=problem.sigma), problem.items[state.alive[:RIVALS]]
    drawn = np.vstack([fit.theta, _around(fit, CANDIDATES, rng, sigma)])
    pairs = items[:, None, :] - items
    known, unit = precisions(pairs, fit.whitener), precisions(pairs, state.prior.whitener)
    values, each = drawn @ items.T, np.arange(len(drawn))
    best = np.argmax(values, axis=1)
    leads = (values[each, best][:, None] - values + goal.epsilon) * np.sqrt(known[best]) / sigma
    leads[~np.asarray(pairs.any(axis=2))[best]] = np.inf
    limits = limit(known, unit, enough(problem, goal)) * state.noise(problem, goal) / sigma
    return np.asarray(drawn[1:][picked(leads, limits[best], PARAMETERS)])


def _around(fit: Estimate, count: int, rng: np.random.Generator, sigma: float) -> Array:
    """(count, d): parameters that fit the data."""
    return np.asarray(fit.theta + sigma * rng.standard_normal((count, fit.whitener.shape[1])) @ fit.whitener.T)


def _padded(part: Array, count: int) -> Array:
    """With rows of zeros up to ``count`` of them."""
    return np.concatenate([part, np.zeros((count - len(part), *part.shape[1:]))])


def even_race(law: Law, gap: float, unit: float, needed: float, rivals: int) -> Race:
    """Unrelated comparisons of which only their true lead is known; each has a feature of its own."""
    ones = np.ones((1, rivals))
    rows = np.eye(rivals)[None]
    return Race(rows, 0.0 * ones, 0.0 * ones, gap * ones, unit * ones, needed * ones, 1.0, law)


def stacked(whiteners: Sequence[Array]) -> Array:
    """(j, d, r): several of them, with columns of zeros where one has fewer than others."""
    most = max(own.shape[1] for own in whiteners)
    return np.array([np.pad(own, ((0, 0), (0, most - own.shape[1]))) for own in whiteners])


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
