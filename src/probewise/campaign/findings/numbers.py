"""Numbers: an estimate and an interval for every item, where each stands, and one sentence that says why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Standing
from probewise.campaign.findings.words import ALL_SEEN, ItemNumbers, Places, Unseen, Words
from probewise.coordinates import Array
from probewise.estimate import Estimate, least_squares
from probewise.goals import Answer, Goal
from probewise.measurements import Measurements, SumOfSquares
from probewise.outcomes import Bets, Law
from probewise.pooling import Pooled, Sums
from probewise.problem import Problem
from probewise.quantity import OUTCOME, Quantity
from probewise.threads import few

_SEEN = 0.02
"""Share of the width of an interval up to which nobody sees a difference."""
LEADERS = 8
"""Most leaders of the past that may be named as the one that ruled an item out."""
SCALE = 1.0
"""Scale of the mixture in units of the precision of the first round that says anything."""


@dataclass(frozen=True)
class Numbers:
    """What is known of all items."""

    items: tuple[ItemNumbers, ...]
    """One entry per item, in the order of the problem."""
    order: tuple[int, ...]
    """From the leader to the one farthest behind; what cannot be compared yet comes last."""
    leader: int | None
    """The first item of the answer, or the one in front; None without measurements."""
    guess: Answer
    """The answer, or what it looks like now."""
    rival: int | None
    """The closest one of those that are left, or of all once none is."""
    decided: bool
    """Whether the algorithm has an answer."""
    exact: bool
    """Whether it holds without the tolerance."""
    sure: Answer
    """Items that are known to be in the answer before all of it is known."""
    reason: str
    """Why the leader leads."""
    sentence: str
    """Who leads or is the best, how surely, and why."""
    data: Estimate = field(compare=False, repr=False)
    """Least squares on all batches together."""
    whose: Sequence[int] = field(default=(), repr=False)
    """For each entry the number of the item in the problem: another one only where few items of many are shown."""
    unseen: Unseen = ALL_SEEN
    """Items that are not shown."""

    @property
    def subtracts(self) -> bool:
        """Whether distances to the leader are, to the digits that are known, differences of the estimates."""
        if self.leader is None:
            return True
        own = self.items[self.leader]
        rest = (
            (abs(abs(own.estimate - item.estimate) - abs(item.behind)), item.high - item.estimate)
            for item in self.items
            if math.isfinite(own.estimate + item.estimate + item.behind)
        )
        return all(off <= _SEEN * width or math.isinf(width) for off, width in rest)

    @property
    def remaining(self) -> int:
        """Items that are not ruled out."""
        return sum(item.state not in ("eliminated", "control") for item in self.items) + self.unseen.left


@dataclass(frozen=True, eq=False)
class Finished:
    """Rounds of which the evidence counts; a round may take several batches, planned by nothing that came meanwhile."""

    pool: Pooled
    """Each round by itself."""
    after: tuple[int, ...]
    """How many of them were finished after each batch."""

    @classmethod
    def each(cls, problem: Problem, batches: Sequence[Measurements], sigma: Array) -> Finished:
        """The rounds if every batch is one."""
        fits = tuple(least_squares(problem.probes, batch, sigma=sigma) for batch in batches)
        return cls(Pooled(fits), tuple(range(1, len(fits) + 1)))

    def batch(self, round_: int) -> int:
        """The batch that finished a round, both numbered from 0."""
        return next(batch for batch, count in enumerate(self.after) if count > round_)


@few
def numbers(
    problem: Problem,
    goal: Goal,
    batches: Sequence[Measurements],
    standings: Sequence[Standing],
    *,
    answer: Answer | None = None,
    risk: float | None = None,
    labels: Sequence[int] | None = None,
    rounds: Finished | None = None,
    quantity: Quantity = OUTCOME,
    whose: Sequence[int] | None = None,
    unseen: Unseen = ALL_SEEN,
) -> Numbers:
    """Estimates from all batches and intervals from finished rounds, with the standing after each batch.

    ``risk`` is what the confidence leaves, by default δ; ``labels`` are the numbers of the batches, by default 1, 2, …;
    without ``rounds``, each batch is one. Where there are ``unseen`` items, those of the problem are the ones ``whose``
    numbers are given, and intervals hold for all of both.
    """
    many = problem.n_items + unseen.items
    delta, upward = problem.outcome.left(goal.delta), goal.upward(problem)[0]
    rounds = Finished.each(problem, batches, problem.sigma) if rounds is None else rounds
    pool = rounds.pool
    noise = problem.outcome.bound(pool.pure_error, goal.delta)
    data = least_squares(problem.probes, sum(batches, Measurements.empty(problem.n_probes)), sigma=problem.sigma)
    level = _spans(problem, pool, problem.items, np.abs(problem.items), delta / many).times(noise)
    estimate = np.where(np.isfinite(data.variance(problem.items)), problem.items @ data.theta, np.nan)
    level = level.or_else(estimate)
    guess = answer if answer is not None else standings[-1].guess if standings else ()
    leader = guess[0] if guess else _leader(upward, standings, data.theta, np.isfinite(estimate))
    if answer is None and leader is not None and not _comparable(upward, goal, data, leader, standings):
        leader, guess = None, ()
    if answer is None and not guess and leader is not None:
        guess = (leader,)
    if leader is None:
        gaps = _Spans.unknown(problem.n_items)
    else:
        gaps = _gaps(upward, _pair_share(many, delta), pool, leader).times(noise)
        gaps = gaps.or_else(_distances(upward, data, leader))
    labels = range(1, len(batches) + 1) if labels is None else labels
    words, measured = Words(goal, quantity), sum(batch.n for batch in batches)
    fates = _fates(upward, words, rounds, standings, labels, leader, problem.outcome.guess(pool.pure_error))
    sure = standings[-1].sure if standings and answer is None and leader is not None else ()
    places = Places(problem, words, leader, guess, answer is not None, fates, measured, sure, unseen)
    items = []
    for i, name in enumerate(problem.item_names):
        state, when, by, why = places.of(i, float(gaps.value[i]), float(gaps.width[i]))
        behind, least, most = gaps.row(i)
        if state == "remaining" and goal.ranks:  # who may be the best is not behind for certain: one story
            least = min(least, 0.0)
        items.append(ItemNumbers(name, *level.row(i), behind, least, most, state, when, by, why))
    order = sorted(range(len(items)), key=lambda i: (i != leader, math.isnan(gaps.value[i]), gaps.value[i]))
    rival = _rival(items, order, leader, guess)
    risk = goal.delta if risk is None else risk
    reason = "" if leader is None else words.reason(items, items[leader].name, rival, len(guess), unseen)
    exact = (not standings or standings[-1].exact) and not any(item.state == "tied" for item in items)
    holds = None if answer is None else exact
    found = words.sentence(items, leader, guess, rival, risk, holds, sure=sure, measured=measured, unseen=unseen)
    decided, whose = answer is not None, range(problem.n_items) if whose is None else whose
    return Numbers(
        tuple(items), tuple(order), leader, guess, rival, decided, exact, sure, reason, found, data, whose, unseen
    )


def intervals(problem: Problem, goal: Goal, pool: Pooled, rows: Array, sizes: Array) -> tuple[Array, Array]:
    """(k,) twice: estimates and half-widths of y'θ for rows y (k, d), which hold for all rows and at all times at once.

    NaN and infinity where no round determines a row; ``sizes`` are those of the numbers whose rounding moved it.
    """
    found = _spans(problem, pool, rows, sizes, problem.outcome.left(goal.delta) / len(rows))
    found = found.times(problem.outcome.bound(pool.pure_error, goal.delta))
    return found.value, found.width


def lead_by_round(problem: Problem, goal: Goal, pool: Pooled, pair: tuple[int, int]) -> tuple[list[float], list[float]]:
    """Estimate and half-width, after each round, of how far one item is ahead of another."""
    delta, law = problem.outcome.left(goal.delta), problem.outcome
    one, other = (goal.upward(problem)[0].items[item] for item in pair)
    rows, sizes = (one - other)[None], (np.abs(one) + np.abs(other))[None]
    sums, first, values, widths = Sums(np.zeros(1), np.zeros(1)), np.zeros(1), [], []
    error = SumOfSquares(0.0, 0)
    against = Sums.none(1)
    for fit, more, less in zip(pool.fits, pool.each(rows, sizes), pool.each(-rows, sizes), strict=True):
        sums, against = sums + more, against + less
        first = np.where(first > 0, first, sums.precision)
        error = SumOfSquares(error.value + fit.pure_error.value, error.degrees + fit.pure_error.degrees)
        noise = law.bound(error, goal.delta)
        values.append(float(sums.mean[0]))
        width = noise * float(_width(law, sums, against.bets, first, _pair_share(problem.n_items, delta))[0])
        widths.append(width + float(_off(sums)[0]))
    return values, widths


@dataclass(frozen=True, eq=False)
class _Spans:
    """Estimates of directions with half-widths."""

    value: Array
    """(k,)."""
    width: Array
    """(k,): infinite where there is no interval."""
    off: Array | float = 0.0
    """(k,): by how much a misfit may have moved the estimate."""

    @classmethod
    def unknown(cls, count: int) -> _Spans:
        return cls(np.full(count, np.nan), np.full(count, np.inf))

    def or_else(self, value: Array) -> _Spans:
        """The same, with another estimate, without an interval, where there is none yet."""
        return _Spans(np.where(np.isnan(self.value), value, self.value), self.width)

    def times(self, noise: float) -> _Spans:
        """With intervals for noise so many times as large, and for a misfit; what needs none stays known."""
        return _Spans(self.value, np.where(self.width > 0, np.maximum(self.width, 1e-300) * noise + self.off, 0.0))

    def row(self, i: int) -> tuple[float, float, float]:
        value, width = float(self.value[i]), float(self.width[i])
        return (value, value - width, value + width) if width < math.inf else (value, -math.inf, math.inf)


def _width(law: Law, sums: Sums, against: Bets | None, first: Array, alpha: float) -> Array:
    """(k,): half-widths about the mean of ``sums``; ``against`` are the bets on the opposite directions."""
    bets = None if sums.bets is None or against is None else (sums.bets, against)
    return law.width((sums.precision, sums.whole), bets, SCALE * first, alpha)


def _off(sums: Sums) -> Array:
    """(k,): by how much a misfit may have moved the mean of ``sums``; where outcomes are bet on, bets allow for it."""
    if sums.slack is None or sums.bets is not None:
        return np.zeros(sums.precision.size)
    return sums.slack / np.where(sums.precision > 0, sums.precision, 1.0)


def _spans(problem: Problem, pool: Pooled, rows: Array, sizes: Array, alpha: float) -> _Spans:
    """Pooled estimates of rows y (k, d) with intervals, each wrong at any time with probability at most alpha."""
    if not pool.fits:
        return _Spans.unknown(len(rows))
    first, sums = np.zeros(len(rows)), Sums(np.zeros(len(rows)), np.zeros(len(rows)))
    for more in pool.each(rows, sizes):
        first = np.where(first > 0, first, more.precision)
        sums = sums + more
    zero = ~rows.any(axis=1)  # known without any measurement
    against = None if sums.bets is None else pool.sums(-rows, sizes).bets
    width = _width(problem.outcome, sums, against, first, alpha)
    return _Spans(np.where(zero, 0.0, sums.mean), np.where(zero, 0.0, width), _off(sums))


def _gaps(problem: Problem, share: float, pool: Pooled, leader: int) -> _Spans:
    """(leader - z)'θ for all items z, each interval with a share of δ."""
    own = problem.items[leader]
    return _spans(problem, pool, own - problem.items, np.abs(own) + np.abs(problem.items), share)


def _pair_share(items: int, delta: float) -> float:
    """δ divided among all pairs of so many items, since the leader comes from the data."""
    return delta / max(1, items * (items - 1) // 2)


def _leader(problem: Problem, standings: Sequence[Standing], theta: Array, known: NDArray[np.bool_]) -> int | None:
    """The highest of those that are left and whose values the measurements determine, if they do of any."""
    if not standings:
        return None
    left = standings[-1].remaining if standings[-1].remaining.size else np.arange(problem.n_items)
    left = left[known[left]] if known[left].any() else left
    return int(left[int(np.argmax(problem.items[left] @ theta))])


def _comparable(problem: Problem, goal: Goal, data: Estimate, leader: int, standings: Sequence[Standing]) -> bool:
    """Whether the data can compare a leader with all that are left, or the question is not who is ahead."""
    left = standings[-1].remaining if standings else np.arange(problem.n_items)
    return not goal.ranks or not np.isnan(_distances(problem, data, leader)[left]).any()


def _distances(problem: Problem, data: Estimate, leader: int) -> Array:
    """(m,): (leader - z)'θ by all data together for all items z, NaN where they do not determine it."""
    rows = problem.items[leader] - problem.items
    known = np.isfinite(data.variance(rows, np.abs(problem.items[leader]) + np.abs(problem.items)))
    return np.where(known, rows @ data.theta, np.nan)


def _fates(
    problem: Problem,
    words: Words,
    rounds: Finished,
    standings: Sequence[Standing],
    labels: Sequence[int],
    leader: int | None,
    spread: float,
) -> dict[int, tuple[int, str, str]]:
    """For every item that is ruled out: the round, the leader that beats it most clearly then, and both in words."""
    if leader is None:
        return {}
    last = np.full(problem.n_items, -1)  # the last round after which an item was still there
    for number, standing in enumerate(standings):
        last[standing.remaining] = number
    if not (gone := np.flatnonzero(last < len(standings) - 1)).size:
        return {}
    known = np.array([rounds.after[batch + 1] for batch in last[gone]])  # rounds finished when an item was ruled out
    seen = Counter(int(standing.leader) for standing in standings if standing.leader is not None)
    errors, behind = np.full(gone.size, -np.inf), np.full(gone.size, np.nan)
    winner = np.full(gone.size, leader)
    for rival in {leader, *(item for item, _ in seen.most_common(LEADERS))}:
        rows, sizes = (
            problem.items[rival] - problem.items[gone],
            np.abs(problem.items[rival]) + np.abs(problem.items[gone]),
        )
        sums = Sums(np.zeros(gone.size), np.zeros(gone.size))
        for number, more in enumerate(rounds.pool.each(rows, sizes)):
            sums = sums + more
            if not (known == number + 1).any():
                continue
            ratio = sums.total / np.sqrt(np.maximum(sums.precision, 1e-300))
            better = (known == number + 1) & (ratio > errors) & (sums.precision > 0)
            errors[better], behind[better], winner[better] = ratio[better], sums.mean[better], rival
    columns = (gone.tolist(), winner.tolist(), behind.tolist(), (errors / spread).tolist())
    return {
        row: (
            labels[last[row] + 1],
            problem.item_names[by],
            words.ruled_out(labels[last[row] + 1], problem.item_names[by], b, e),
        )
        for row, by, b, e in zip(*columns, strict=True)
    }


def _rival(items: Sequence[ItemNumbers], order: Sequence[int], leader: int | None, guess: Answer) -> int | None:
    """The first after the answer of those that are left, or of all if none is."""
    front = {leader, *guess}
    others = [i for i in order if i not in front and not math.isnan(items[i].behind)] if leader is not None else []
    left = [i for i in others if items[i].state != "eliminated"]
    return next(iter(left or others), None)
