"""Knowledge: what Sage knows between two rounds, and what bets on it have made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Standing
from probewise.algorithms.planning import coarse
from probewise.algorithms.sage.accounts import SMALL, account, accounts
from probewise.algorithms.sage.boosting import boosts, capped
from probewise.algorithms.sage.opening import NOTHING, Opening, differences
from probewise.algorithms.sage.peaks import Peaks
from probewise.algorithms.sage.prior import Items, Prior
from probewise.coordinates import Array
from probewise.design import Directions, star
from probewise.estimate import Estimate
from probewise.goals import Answer, Claims, Goal
from probewise.measurements import Measurements
from probewise.outcomes import Law
from probewise.pooling import Pooled, Sums, fitted, guessed, tells_apart
from probewise.problem import Problem
from probewise.threads import few

_BLOCK = 20_000
"""Items whose differences to another one are formed at a time."""
_LEADERS, _NUMBERS = 6, 1_000
"""Items of which it is kept what all rounds say of them and the others, and the most of such numbers."""
_RECENT = 8
"""Rounds among which one that measured the same probes is looked for."""
_CLEAR, _BEHIND = 0.5, 2.0
"""Standard errors by which the first item must lead all others before bets on close ones begin; and by which it must
lead one for bets on that one in any case, beyond the lead that the luckiest of as many equal items has."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What all finished rounds say."""

    prior: Prior
    """The unit in which the precision of each comparison is counted, fixed before the first round."""
    law: Law
    """What is known of the outcomes of the next round."""
    data: Measurements
    """Measurements of all finished rounds."""
    pool: Pooled
    """The estimate of each round by itself."""
    alive: Items
    """(k,): items that may still be the best, the highest estimate first."""
    wealth: Array
    """(k,): log of what bets against "this item is the best" have made of 1."""
    winner: int | None
    """The item found."""
    peaks: Peaks
    """The most that bets against each item have made at the end of any round, for items that are ruled out too."""
    collected: dict[int, Sums] = field(default_factory=dict)
    """For the first and the second item z, and some others: what all rounds say of z - z' for the items z' alive; empty
    at first."""
    eased: dict[int, Array] = field(default_factory=dict)
    """(k,) for each item z that was bet on: log of how much more bets for z have made if epsilon counts for z."""
    last: NDArray[np.bool_] | None = None
    """(n,): which probes the last round measured; the next design begins with them."""
    opening: Opening = NOTHING
    """How the first round is bet on."""
    boost: bool = False
    """Whether bets are boosted where noise is normal."""
    patient: bool = False
    """Whether bets on close rivals wait until one item is clearly in front."""
    clear: bool = False
    """Whether the first item has been clearly in front since it came there."""
    telling: Pooled = field(default_factory=Pooled)
    """The estimates of the rounds that may say something of the difference of two items; no other is looked at."""

    @few
    def plus(self, problem: Problem, goal: Goal, rounds: Sequence[Measurements]) -> Knowledge:
        """With one more round, or several that overlapped: what bets on them have made, and what that rules out.

        Bets on each know nothing of the others, and nothing is ruled out before all of them are there. Several at once
        are not boosted where epsilon eases accounts: docs/boosting.md.
        """
        boost = self.boost and (len(rounds) == 1 or goal.epsilon == 0)
        now, problem = self._with(boost=boost), problem.knowing(self.law)
        for measurements in rounds:
            fit = fitted(problem, measurements)
            if now._learns_from(fit, problem):
                fresh = self._fresh(problem, fit)
                collected = {z: now.collected[z] + sums for z, sums in fresh.items()}
                settled = now._settled(problem, goal, self, fresh)
                now = settled._with(collected=collected, telling=now.telling.plus(fit))
            now = now._with(data=now.data + measurements, pool=now.pool.plus(fit))
        if not self.collected:
            now = now._with(wealth=now._opened(problem, goal))
        theta = guessed(problem, now.data)
        law = self.law.after(problem.probes @ theta, now.data) if self.law.learns else self.law
        order = np.argsort(-_values(problem, now.alive, theta), kind="stable")
        if (order[1:] < order[:-1]).any():
            now = now._of(order)
        now = now._with(peaks=now.peaks.raised(now.alive, now.wealth, now.eased))._concluded(problem, goal)
        last = np.logical_or.reduce([measurements.count > 0 for measurements in rounds])
        now = now._with(law=law, last=last, collected={z: now.sums(problem, z) for z in now._leaders}, boost=self.boost)
        return now._with(clear=now._is_clear(problem, goal, self)) if self.patient else now

    def _with(self, **changes: Any) -> Knowledge:
        """The same with some fields changed, by a copy that is several times faster than ``replace``."""
        made = object.__new__(Knowledge)
        made.__dict__.update(self.__dict__, **changes)
        return made

    def _learns_from(self, fit: Estimate, problem: Problem) -> bool:
        """Whether a round may say something of two items; of the same probes it says what it said some rounds ago."""
        told = self.telling.fits[-_RECENT:]
        for known in reversed(self.pool.fits[-_RECENT:]):
            if known.measured is fit.measured and known.bettor is fit.bettor is None:
                return any(known is other for other in told)
        return tells_apart(fit, problem.items)

    def confidence(self, problem: Problem, goal: Goal, item: int | None = None) -> float:
        """What an item, or the one in front, has attained, 0 before the first round: docs/confidence-attained.md."""
        if self.winner is None and not self.collected:
            return 0.0
        if problem.n_items == 1:
            return 1.0
        doubt = self.peaks.doubt(int(self.alive[0]) if item is None else item)
        if goal.epsilon > 0 and self._boosted(problem):  # accounts that epsilon eases are not bounded beyond 1/δ then
            doubt = max(doubt, problem.outcome.left(goal.delta))
        return max(0.0, 1.0 - problem.outcome.part * goal.delta - doubt)

    def compared(self, problem: Problem, goal: Goal) -> Claims:
        """What must be known: that the first item is ahead of each other one alive."""
        above = np.broadcast_to(problem.items[self.alive[0]], (self.alive.size - 1, problem.dimension))
        return Claims(above, problem.items[self.alive[1:]], np.zeros(self.alive.size - 1), self.alive[1:])

    def leads(self, problem: Problem, goal: Goal) -> tuple[Array, Array]:
        """(k - 1,), (k - 1,): leads of the first item plus epsilon in units of the noise, and their standard errors."""
        leader, rivals = int(self.alive[0]), self.alive[1:]
        precision, total = self.collected[leader].at(slice(1, None))[:2]
        # a comparison that was lost with its measurements is planned as if it had the first round's precision
        if not (known := precision > 0).all():
            precision = np.where(known, precision, self.prior.unit(problem, leader, rivals))
        return (total / precision + goal.epsilon) / self.noise(problem, goal), 1.0 / np.sqrt(precision)

    def progress(self, problem: Problem, goal: Goal) -> float:
        """How far the weakest bets are from ruling out, 0 to 1."""
        least = float(np.nan_to_num(self.wealth[1:].min(initial=math.inf), posinf=0.0))
        return min(max(least / enough(problem, goal), 0.0), 1.0)

    @property
    def answer(self) -> Answer | None:
        """The item found."""
        return None if self.winner is None else (self.winner,)

    def standing(self, problem: Problem, goal: Goal) -> Standing:
        """The items left, the leader, and how far its weakest bets are from ruling out, which grows like the total."""
        remaining = _ascending(self.alive, problem.n_items)
        if self.winner is not None or not self.collected:
            return Standing(remaining, self.answer or (), 0.0 if self.answer is None else 1.0)
        return Standing(remaining, (int(self.alive[0]),), self.progress(problem, goal))

    def directions(self, problem: Problem, goal: Goal, floor: float) -> Directions:
        """The oracle's criterion: the leader against each rival, in units of its lead, or of ``floor`` errors."""
        lead, error = self.leads(problem, goal)
        gaps, alive = np.ones(self.alive.size), self.alive.copy()
        order = np.argsort(alive[1:])  # one order of the same rivals, whoever is second
        gaps[1:], alive[1:] = coarse(np.maximum(lead, floor * error))[order], alive[1:][order]
        return star(problem.items[alive], 0, gaps)

    def noise(self, problem: Problem, goal: Goal) -> float:
        """What the scale of the noise must be multiplied by to bound it at all times at once; 1 if it is known."""
        return problem.outcome.bound(self.pool.pure_error, goal.delta)

    def _settled(self, problem: Problem, goal: Goal, since: Knowledge, fresh: dict[int, Sums]) -> Knowledge:
        """With the gains of a round, which says ``fresh``: all items were bet against the first, that on the second.

        Odds follow what was known of y'θ + epsilon ``since`` before the round, and pay for y'θ > 0; eased, for
        y'θ > -epsilon. While nothing bounds the noise, nothing is bet.
        """
        noise = since.noise(problem, goal)
        if not since.collected or since.alive.size == 1 or not math.isfinite(noise):
            return self
        first, second = map(int, self.alive[:2])
        ahead = np.full(self.alive.size, first)
        ahead[0] = second
        unit = self.prior.unit(problem, ahead, self.alive)
        old, new = (
            Sums.joined([sums[second].at(slice(1)), sums[first].at(slice(1, None))])
            for sums in (since.collected, fresh)
        )
        before = old.lifted(goal.epsilon)
        made, had = accounts(problem, (before + new, before), unit, noise, self.prior.gap)
        odds, lacking = (before, new.precision, unit, noise), enough(problem, goal) - since.wealth
        waits = since._waits(problem, goal, new.precision <= SMALL * old.precision)
        gain = self._raised(problem, made - had, odds, lacking)
        gain = gain if waits is None else np.where(waits, 0.0, gain)
        if goal.epsilon == 0:
            return self._with(wealth=self.wealth + gain)
        none, eased = np.zeros(self.alive.size), dict(self.eased)
        rest = np.arange(self.alive.size) > 0
        easing = np.where(rest, since.eased.get(first, none), since.eased.get(second, none))
        made = account(problem, before + new.lifted(goal.epsilon), unit, noise, self.prior.gap)
        more = self._raised(problem, made - had, odds, lacking - easing) - gain
        more = more if waits is None else np.where(waits, 0.0, more)
        for rival, rows in ((first, rest), (second, ~rest)):
            eased[rival] = eased.get(rival, none) + np.where(rows, more, 0.0)
        return self._with(wealth=self.wealth + gain, eased=eased)

    def _is_clear(self, problem: Problem, goal: Goal, before: Knowledge) -> bool:
        """Whether the first item is clearly in front of all others left, or was so ``before`` and still leads."""
        if before.clear and before.alive[0] == self.alive[0]:
            return True
        lead, error = self.leads(problem, goal)
        return bool((lead >= _CLEAR * error).all())

    def _waits(self, problem: Problem, goal: Goal, small: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """(k,): accounts that are not bet in a round, which is ``small`` for them, as it is unclear on whom; None: all.

        That depends on nothing but earlier rounds and what is measured in this one.
        """
        if self.clear or not self.patient:
            return None
        lead, error = self.leads(problem, goal)
        lucky = math.sqrt(math.log(self.alive.size))
        return np.asarray(small & np.append(True, lead < (_BEHIND + lucky) * error), dtype=np.bool_)

    def _raised(self, problem: Problem, made: Array, odds: tuple[Sums, Array, Array, float], lacking: Array) -> Array:
        """(k,): log of what a round has ``made``, boosted if noise is normal, and then no more than was lacking."""
        if not self._boosted(problem):
            return made
        by = boosts(problem.outcome, *odds, lacking, self.prior.gap)
        return capped(made, by, lacking)

    def _boosted(self, problem: Problem) -> bool:
        return self.boost and problem.outcome.is_normal

    def _opened(self, problem: Problem, goal: Goal) -> Array:
        """(m,): log of the accounts after the first round, in which a share of each was spread over all rivals.

        Of rounds that overlap, the replicates of the first alone say whether anything is bet: others may be chosen by
        its outcomes.
        """
        noise, alone = (problem.outcome.bound(pool.pure_error, goal.delta) for pool in (self.pool, self.pool.first))
        if self.opening.share == 0 or problem.n_items == 1 or not (math.isfinite(noise) and math.isfinite(alone)):
            return self.wealth
        return self.opening.accounts(problem, self.pool, self.prior, noise)

    def sums(self, problem: Problem, leader: int) -> Sums:
        """What all rounds say of leader - z' for the items z' alive."""
        return self.collected.get(leader) or self._said(problem, self.telling, leader)

    @property
    def _leaders(self) -> list[int]:
        """The first and the second item; and some that were so before, as they often come back where items are few."""
        first = [*map(int, self.alive[:2])]
        most = min(_LEADERS, _NUMBERS // self.alive.size)
        return [*first, *(z for z in self.collected if z not in first)][: max(most, len(first))]

    def _fresh(self, problem: Problem, fit: Estimate) -> dict[int, Sums]:
        """What one round says of z - z' for each item z of which that is collected, by one product."""
        if not self.collected:
            return {}
        k = self.alive.size
        if k > _BLOCK:
            return {z: self._said(problem, Pooled((fit,)), z) for z in self.collected}
        leaders, others = problem.items[[*self.collected]][:, None, :], problem.items[self.alive]
        rows, sizes = leaders - others, np.abs(leaders) + np.abs(others)
        sums = Pooled((fit,)).sums(rows.reshape(-1, problem.dimension), sizes.reshape(-1, problem.dimension))
        return {z: sums.at(slice(at * k, (at + 1) * k)) for at, z in enumerate(self.collected)}

    def _said(self, problem: Problem, pool: Pooled, leader: int) -> Sums:
        """What some rounds say of leader - z' for the items z' alive, so many of them at a time."""
        blocks = (self.alive[low : low + _BLOCK] for low in range(0, self.alive.size, _BLOCK))
        parts = [pool.sums(*differences(problem, leader, some)) for some in blocks]
        return parts[0] if len(parts) == 1 else Sums.joined(parts)

    def _concluded(self, problem: Problem, goal: Goal) -> Knowledge:
        """Without the items that are ruled out; if that is all, with the first. With the winner, if there is one."""
        kept = ~(self.wealth >= enough(problem, goal))  # what is not a number rules nobody out
        kept[0] |= not kept.any()
        now = self if kept.all() else self._of(kept)
        found = now.alive.size == 1 or now._good_enough(problem, goal)
        return now._with(winner=int(now.alive[0]) if found else None)

    def _of(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Knowledge:
        """The knowledge of some of the items alive, or of all in another order."""
        return self._with(
            alive=self.alive[rows],
            wealth=self.wealth[rows],
            collected={z: sums.at(rows) for z, sums in self.collected.items()},
            eased={z: log[rows] for z, log in self.eased.items()},
        )

    def _good_enough(self, problem: Problem, goal: Goal) -> bool:
        """Whether no item left can be ahead of the first by more than epsilon."""
        eased = self.eased.get(int(self.alive[0]))
        return eased is not None and bool(((self.wealth + eased)[1:] >= enough(problem, goal)).all())


def enough(problem: Problem, goal: Goal) -> float:
    """log 1/δ, of what is left of δ once the noise has had its part: wealth that rules out."""
    return -math.log(problem.outcome.left(goal.delta))


def _values(problem: Problem, items: Items, theta: Array) -> Array:
    """(k,): z'θ of some items; of many, among those of all, which copies no features."""
    values: Array = (problem.items @ theta)[items] if items.size > _BLOCK else problem.items[items] @ theta
    return values


def _ascending(items: Items, count: int) -> Items:
    """Different items, of ``count`` of them, by number; where that is many of them, they are marked and not sorted."""
    if items.size < count // 16:
        return np.sort(items)
    there = np.zeros(count, dtype=np.bool_)
    there[items] = True
    return np.flatnonzero(there)
