"""Scattered: what Sage knows of items that stay where they are; the fit goes out, and what is in front comes back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Standing
from probewise.algorithms.sage.knowledge import Knowledge, enough
from probewise.algorithms.sage.peaks import Peaks
from probewise.algorithms.sage.portions import (
    Asked,
    Bet,
    Rules,
    Settled,
    Told,
    ahead,
    among,
    begun,
    bet_on,
    compared,
    divided,
    itself,
    joined,
    settled,
)
from probewise.algorithms.sage.prior import Memo, Prior
from probewise.design import Directions, spokes
from probewise.design.farthest import square_norms
from probewise.design.reached import Reached
from probewise.errors import InvalidProblem
from probewise.estimate import Estimate
from probewise.goals import Answer, Claims, Goal
from probewise.measurements import Measurements
from probewise.outcomes import Law
from probewise.pooling import Pooled, fitted, guessed
from probewise.problem import Problem
from probewise.shards import Shards, items_in_shards
from probewise.shards.engine import Engine, Handle, Local
from probewise.shards.values import Front
from probewise.tables import RowNumbers
from probewise.threads import few


@dataclass(frozen=True, eq=False)
class Scattered:
    """What all finished rounds say; the same bets as in ``Knowledge``, whose accounts are with the items."""

    prior: Prior
    """The unit in which precisions are counted, fixed before the first round."""
    shards: Shards
    """The items."""
    law: Law
    """What is known of the outcomes of the next round."""
    data: Measurements
    """Measurements of all finished rounds."""
    pool: Pooled
    """The estimate of each round by itself."""
    engine: Engine
    """Where the items are that are left: once they are few, they are here."""
    boost: bool
    """Whether bets are boosted where noise is normal."""
    portions: tuple[Handle, ...] = ()
    """A `Portion` of each piece; empty before the first round."""
    pieces: tuple[Handle, ...] = ()
    """The items that are left, with the gaps that the next design is for; empty before the first round."""
    front: Front | None = None
    """The first items that are left, two of them at least if there are; None before the first round."""
    count: int = 0
    """Items that are left."""
    least: float = 0.0
    """log of the smallest account of an item that is left, but for the first, for which epsilon counts."""
    answer: Answer | None = None
    """The item found."""
    own: tuple[float, float] = (0.0, 0.0)
    """log of the account of the first item, and how much more it has if epsilon counts for the second."""
    last: NDArray[np.bool_] | None = None
    """(n,): which probes the last round measured."""

    @classmethod
    def start(cls, problem: Problem, tol: float, memo: Memo | None, *, opening: bool, boost: bool) -> Scattered:
        """Before the first round, whose design is for the way of each item to the mean of some at even distances."""
        shards, data = pieces_of(problem), Measurements.empty(problem.n_probes)
        m = len(shards)
        prior = Prior.of(problem, None if m == 1 else spokes(shards), tol, memo, opening=opening)
        found = (0,) if m == 1 else None
        return cls(prior, shards, problem.outcome, data, Pooled(), shards.engine, boost, count=m, answer=found)

    @few
    def plus(self, problem: Problem, goal: Goal, rounds: Sequence[Measurements]) -> Scattered:
        """With one more round, or several that overlapped: what bets on them have made, and what that rules out."""
        problem, engine = problem.knowing(self.law), self.engine
        fits = tuple(fitted(problem, measurements) for measurements in rounds)
        data, pool = self.data, self.pool
        for measurements, fit in zip(rounds, fits, strict=True):
            data, pool = data + measurements, pool.plus(fit)
        theta = guessed(problem, data)
        law = self.law.after(problem.probes @ theta, data)
        # several at once are not boosted where epsilon eases accounts: docs/boosting.md
        boost = self.boost and problem.outcome.is_normal and (len(rounds) == 1 or goal.epsilon == 0)
        rules, limit = Rules(self.law, goal.epsilon, self.prior.gap, boost), enough(problem, goal)
        bet = self._bet(problem, goal, fits, rules)
        told = Told(self.shards.sign, self.prior.whitener, rules, fits, bet, theta, limit, SHOWN)
        portions = self.portions or tuple(engine.kept(begun, self.shards.pieces)[0])
        portions_now, found = engine.kept(settled, portions, told)
        last = np.any([measurements.count > 0 for measurements in rounds], axis=0)
        now = replace(self, law=law, data=data, pool=pool, last=last, portions=tuple(portions_now))
        return now._led(problem, goal, self, found, changed=bet is None)

    def _bet(self, problem: Problem, goal: Goal, fits: Sequence[Estimate], rules: Rules) -> Bet | None:
        """What was bet on the leader before rounds, and what its own bet on the second has made; None if nothing."""
        noise = problem.outcome.bound(self.pool.pure_error, goal.delta)
        if self.front is None or self.count == 1 or not math.isfinite(noise):
            return None
        (leader, second), numbers = self.front.rows[:2], self.front.numbers.tolist()
        y, sizes = (second - leader)[None], (np.abs(second) + np.abs(leader))[None]
        unit, before = 1.0 / square_norms(y @ self.prior.whitener), self.pool.sums(y, sizes)
        made, eased = np.zeros(1), np.zeros(1)
        lacking, easing = np.array([enough(problem, goal) - self.own[0]]), np.array(self.own[1:])
        for fit in fits:
            gain, more = bet_on(rules, noise, before, Pooled((fit,)).sums(y, sizes), unit, lacking, easing)
            made, eased = made + gain, eased + more
        return Bet(numbers[0], leader, float(made[0]), numbers[1], float(eased[0]), noise)

    def _led(
        self, problem: Problem, goal: Goal, before: Scattered, found: Sequence[Settled], *, changed: bool
    ) -> Scattered:
        """With the items in front, the smallest account, and the gaps for the next design."""
        count, shards = sum(own.number for own in found), self.shards
        front = Front.of(*(own.left for own in found), most=SHOWN)
        if count <= 1:
            front = front if count else Front.of(*(own.all for own in found), most=1)
            return replace(self, front=front, count=1, answer=(int(front.numbers[0]),))
        if np.array_equal(*front.rows[:2]):
            one, other = (shards.label(int(number)) for number in front.numbers[:2])
            raise InvalidProblem(
                f"items '{one}' and '{other}' are identical, so neither can be the better one; keep one."
            )
        leader = int(front.numbers[0])
        changed = changed or before.front is None or leader != int(before.front.numbers[0])
        noise = problem.outcome.bound(self.pool.pure_error, goal.delta)
        asked = Asked(
            shards.sign, self.prior.whitener, leader, front.rows[0], self.pool.fits if changed else None,
            noise if math.isfinite(noise) else 1.0, FLOOR, goal.epsilon, int(front.numbers[1]),
        )  # fmt: skip
        now = self._at_home() if count <= _FEW else self
        portions, known = now.engine.kept(compared, now.portions, asked)
        smallest, least = min(part.gap for part in known), min(part.least for part in known)
        (own,) = (part.own for part in known if part.own is not None)
        now = replace(now, portions=tuple(portions), front=front, count=count, least=least, own=own)
        if goal.epsilon > 0 and least >= enough(problem, goal):  # nothing left is better by more than epsilon
            return replace(now, answer=(leader,))
        return replace(now, pieces=tuple(now.engine.kept(divided, portions, smallest)[0]))

    def _at_home(self) -> Scattered:
        """With the items that are left in this process."""
        if isinstance(self.engine, Local):
            return self
        return replace(self, engine=Local(), portions=(joined(self.engine.each(itself, self.portions)),))

    def directions(self, problem: Problem, goal: Goal, floor: float) -> Directions:
        """The way of each item to the mean at first; then the leader against each, in units of its lead."""
        if self.front is None:
            return spokes(self.shards)
        return Reached(
            self.shards, self.front.rows[0], self.pieces, engine=self.engine, key=f"{self.data.n}, {id(self)}"
        )

    def compared(self, problem: Problem, goal: Goal) -> Claims:
        """What must be known in any case: that the first item is ahead of the second."""
        if self.front is None or self.count == 1:
            none = np.zeros((0, problem.dimension))
            return Claims(none, none, np.zeros(0), np.zeros(0, dtype=np.int64))
        first, second = self.front.rows[:2]
        return Claims(first[None], second[None], np.zeros(1), self.front.numbers[1:2])

    def progress(self, problem: Problem, goal: Goal) -> float:
        """How far the weakest bets are from ruling out, 0 to 1."""
        return float(np.clip(self.least / enough(problem, goal), 0.0, 1.0))

    def confidence(self, problem: Problem, goal: Goal) -> float:
        """1 - α for an α at which the item in front would be declared; 0 before the first round."""
        if self.front is None:
            return 1.0 if self.answer is not None else 0.0
        least = enough(problem, goal) if self.answer is not None else min(self.least, enough(problem, goal))
        return max(0.0, 1.0 - problem.outcome.part * goal.delta - math.exp(-least))

    def left(self, items: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(k,): which of some items, by number, are not ruled out."""
        if not self.portions:
            return np.ones(items.size, dtype=np.bool_)
        if self.count == 1 and self.front is not None:
            return np.asarray(items == self.front.numbers[0])
        return np.asarray(np.any(self.engine.each(among, self.portions, items), axis=0))

    def first(self, problem: Problem, most: int) -> tuple[Problem, Knowledge]:
        """The first items that are left as a problem of their own, and what is known of them: for a forecast."""
        found = self.engine.each(ahead, self.portions, self.shards.sign, guessed(problem, self.data), most)
        front = Front.of(*(own for own, _ in found), most=most)
        numbers, made = (np.concatenate(part) for part in zip(*((own.numbers, log) for own, log in found), strict=True))
        wealth = made[(order := np.argsort(numbers))][np.searchsorted(numbers[order], front.numbers)]
        few = replace(problem, items=front.rows, item_names=RowNumbers(wealth.size), tables=None)
        every, nothing = np.arange(wealth.size), Peaks(np.zeros(wealth.size))
        return few, Knowledge(
            self.prior, self.law, self.data, self.pool, every, wealth, None, nothing,
            last=self.last, boost=self.boost, telling=self.pool,
        )  # fmt: skip

    def standing(self, problem: Problem, goal: Goal) -> Standing:
        """All items that are left, if they are in memory; else those in front, and how many others are left."""
        if problem.shards is None:
            return self._listed(problem, goal)
        if self.front is None:
            found = self.answer or ()
            listed = np.array(found, dtype=np.int64)
            return Standing(listed, found, float(bool(found)), unlisted=self.count - listed.size)
        progress = min(self.progress(problem, goal), 0.999)
        listed, unlisted = np.sort(self.front.numbers), self.count - self.front.numbers.size
        if self.answer is not None:
            return Standing(listed, self.answer, 1.0, exact=self.count == 1, unlisted=unlisted)
        return Standing(listed, (int(self.front.numbers[0]),), progress, unlisted=unlisted)

    def _listed(self, problem: Problem, goal: Goal) -> Standing:
        """All items that are left, by number."""
        if self.front is None:
            return Standing(np.arange(self.count), self.answer or (), 0.0 if self.answer is None else 1.0)
        if self.count == 1:
            return Standing(self.front.numbers[:1], self.answer or (), 1.0)
        parts = (own.piece.numbered(slice(0, own.wealth.size)) for own in self.portions)
        guess, progress = (int(self.front.numbers[0]),), min(self.progress(problem, goal), 0.999)
        return Standing(np.concatenate([*parts]), guess, progress if self.answer is None else 1.0)


SHOWN = 10
"""Items in front that are brought here."""
_FEW = 10_000
"""Items that are brought here when no more are left."""
FLOOR = 2.0
"""Standard errors below which a lead is not believed by the design."""


_cut: WeakKeyDictionary[Problem, Shards] = WeakKeyDictionary()
"""Tables in memory in pieces, each looked through once."""


def pieces_of(problem: Problem) -> Shards:
    """The items of a problem in pieces, be they in memory or stay where they are."""
    if problem.shards is not None:
        return problem.shards
    if (known := _cut.get(problem)) is None:
        known = _cut[problem] = items_in_shards(problem.items)
    return known
