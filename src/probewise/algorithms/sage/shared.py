"""Shared: what Sage knows where the top m are asked for: one account for each list of m items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Standing
from probewise.algorithms.planning import coarse
from probewise.algorithms.sage.accounts import SMALL, account, accounts
from probewise.algorithms.sage.boosting import boosts, capped
from probewise.algorithms.sage.knowledge import enough
from probewise.algorithms.sage.lists import Lists, order
from probewise.algorithms.sage.opening import WIDER
from probewise.algorithms.sage.prior import Memo, Prior
from probewise.coordinates import Array
from probewise.design import Directions
from probewise.design.criterion import Vectors
from probewise.design.farthest import square_norms
from probewise.goals import Answer, Claims, Goal
from probewise.measurements import Measurements
from probewise.outcomes import Law
from probewise.pooling import Pooled, Sums, fitted, guessed
from probewise.problem import Problem
from probewise.threads import few

_LEAD = 0.5
"""Standard errors that every item of a list must be ahead before small rounds are bet on it."""
_BOLD = 0.25
"""Part of the errors below which a lead is not believed that counts for the design where the top m are asked for."""
_LEFT = 0.5
"""What an account is taken to lack, in nats, beyond what it does: a lead may be an estimate that is too large."""


@dataclass(frozen=True, eq=False)
class Shared:
    """What all finished rounds say of all lists of m items, none of which is looked at by itself: docs/lists.md."""

    prior: Prior
    """The unit in which the precision of each comparison is counted, fixed before the first round."""
    law: Law
    """What is known of the outcomes of the next round."""
    data: Measurements
    """Measurements of all finished rounds."""
    pool: Pooled
    """The estimate of each round by itself."""
    share: float
    """Share of each account that is bet on the first round."""
    boost: bool
    """Whether bets are boosted where noise is normal."""
    large: bool
    """Whether large rounds are bet on even while it is unclear which list is in front."""
    lists: Lists | None = None
    """What bets have made; None at first."""
    known: Sums | None = None
    """What all rounds say of each pair of an item of the list in front and another one; None at first."""
    values: Array | None = None
    """(M,): values of the items at the estimate; None at first."""
    betting: bool = False
    """Whether the next round is bet on: not while it is unclear which list is in front."""
    answer: Answer | None = None
    """The answer, once all other lists are ruled out."""
    last: NDArray[np.bool_] | None = None
    """(n,): which probes the last round measured."""

    @classmethod
    def start(
        cls,
        problem: Problem,
        goal: Goal,
        tol: float,
        memo: Memo | None,
        *,
        opening: float,
        boost: bool,
        large: bool,
        lean: bool,
    ) -> Shared:
        """Before the first round."""
        prior = Prior.of(problem, goal.directions(problem), tol, memo, opening=opening > 0, lean=lean)
        data = Measurements.empty(problem.n_probes)
        return cls(prior, problem.outcome, data, Pooled(), opening / problem.n_items, boost, large)

    @few
    def plus(self, problem: Problem, goal: Goal, rounds: Sequence[Measurements]) -> Shared:
        """With one more round, or several that overlapped; bets on each know nothing of the others."""
        problem, data, pool, lists, known = problem.knowing(self.law), self.data, self.pool, self.lists, self.known
        for measurements in rounds:
            fit = fitted(problem, measurements)
            data, pool = data + measurements, pool.plus(fit)
            if lists is not None and known is not None:
                new = Pooled((fit,)).sums(*_pairs(problem, lists))
                lists, known = lists.plus(self._gains(problem, goal, new)), known + new
        theta = guessed(problem, data)
        law = self.law.after(problem.probes @ theta, data) if self.law.learns else self.law
        last = np.any([measurements.count > 0 for measurements in rounds], axis=0)
        now = replace(self, law=law, data=data, pool=pool, values=problem.items @ theta, last=last)
        return now._turned(problem, goal, lists, known)._concluded(problem, goal)

    def _turned(self, problem: Problem, goal: Goal, lists: Lists | None, known: Sums | None) -> Shared:
        """With the list at the estimate in front, of those that keep what is known to be in, and to be out."""
        assert self.values is not None
        before = self._opened(problem, goal, self.values) if lists is None else lists.raised()
        sure, out = before.sides(enough(problem, goal))
        values = self.values.copy()
        values[before.inside[sure]], values[before.outside[out]] = np.inf, -np.inf
        now = before.turned(np.argsort(-values, kind="stable")[: before.inside.size])
        stayed = lists is not None and now is before
        if known is None or not stayed:
            known = self.pool.sums(*_pairs(problem, now))
        return replace(self, lists=now, known=known, betting=self.betting and stayed)

    def _concluded(self, problem: Problem, goal: Goal) -> Shared:
        """With the answer, if all other lists are ruled out, and whether the next round is bet on."""
        unclear = self._open(problem, goal)
        lead, error = self._leads(problem, goal)
        betting = self.betting or bool((lead >= _LEAD * error)[unclear].all())
        return replace(self, betting=betting, answer=None if unclear.any() else self.guess)

    @property
    def guess(self) -> Answer:
        """The list in front, the largest value first; empty at first."""
        if self.lists is None or self.values is None:
            return ()
        inside = np.sort(self.lists.inside)
        return tuple(inside[np.argsort(-self.values[inside], kind="stable")].tolist())

    def _opened(self, problem: Problem, goal: Goal, values: Array) -> Lists:
        """After the first round: a share of each account was spread over all pairs that count against its list.

        Of rounds that overlap, the replicates of the first alone say whether anything is bet.
        """
        empty = Lists.start(*order(values, len(goal.answer(problem, values))))
        noise, alone = (problem.outcome.bound(pool.pure_error, goal.delta) for pool in (self.pool, self.pool.first))
        if self.share == 0 or not (math.isfinite(noise) and math.isfinite(alone)):
            return empty
        rows, sizes = _pairs(problem, empty)
        sums, plain = self.pool.sums(rows, sizes), self.pool.plain.sums(rows, sizes)
        ahead = (plain.precision > 0) & (plain.total > 0)  # nothing is claimed of the others
        log = np.where(ahead, account(problem, sums, WIDER * self._unit(rows), noise), -np.inf)
        kept, spread = math.log1p(-self.share), math.log(self.share / log.size)
        return empty.plus(np.logaddexp(kept, spread + log), kept).raised()

    def _gains(self, problem: Problem, goal: Goal, new: Sums) -> Array:
        """(k,): log of what bets on each pair make of 1 in a round, by odds that follow all rounds before it."""
        noise = problem.outcome.bound(self.pool.pure_error, goal.delta)
        if self.lists is None or self.known is None or not math.isfinite(noise):
            return np.zeros(new.total.size)
        large = (new.precision > SMALL * self.known.precision) & self.large
        if not (self.betting or large.any()):
            return np.zeros(new.total.size)
        unit = self._unit(_pairs(problem, self.lists)[0])
        made, had = accounts(problem, (self.known + new, self.known), unit, noise, self.prior.gap)
        gains = made - had
        if self.boost and problem.outcome.is_normal:
            lacking = enough(problem, goal) - self.lists.held[0].ravel()
            by = boosts(problem.outcome, self.known, new.precision, unit, noise, lacking, self.prior.gap)
            gains = capped(gains, by, lacking)
        return gains if self.betting else np.where(large, gains, 0.0)

    def _unit(self, rows: Array) -> Array:
        return 1.0 / square_norms(rows @ self.prior.whitener)

    def _open(self, problem: Problem, goal: Goal) -> NDArray[np.bool_]:
        """(k,): the pairs by which lists are not ruled out; what is not a number rules out none."""
        assert self.lists is not None
        return np.asarray(~(self.lists.held[1] >= enough(problem, goal)).ravel())

    def _leads(self, problem: Problem, goal: Goal) -> tuple[Array, Array]:
        """(k,) twice: leads of the items in front in units of the noise, and their standard errors."""
        assert self.known is not None
        assert self.lists is not None
        noise = problem.outcome.bound(self.pool.pure_error, goal.delta)
        precision = self.known.precision
        # a comparison that was lost with its measurements is planned as if it had the first round's precision
        precision = np.where(precision > 0, precision, self._unit(_pairs(problem, self.lists)[0]))
        return self.known.total / precision / (noise if math.isfinite(noise) else 1.0), 1.0 / np.sqrt(precision)

    def compared(self, problem: Problem, goal: Goal) -> Claims:
        """What must be known: that items of the list in front are ahead of others; at first, those of any list."""
        if self.lists is None:
            return goal.claims(problem, goal.answer(problem, np.zeros(problem.n_items)))
        one, other = self.lists.pairs
        claims = Claims(problem.items[one], problem.items[other], np.zeros(one.size), other)
        return claims.at(self._open(problem, goal))

    def directions(self, problem: Problem, goal: Goal, floor: float) -> Directions:
        """All that may matter at first; then each open pair in units of its lead, or of part of ``floor`` standard
        errors, times the root of what its account lacks."""
        if self.lists is None:
            return goal.directions(problem)
        claims, unclear = self.compared(problem, goal), self._open(problem, goal)
        lead, error = (part[unclear] for part in self._leads(problem, goal))
        most = enough(problem, goal)
        lacking = np.nan_to_num(most - self.lists.held[0].ravel()[unclear], nan=most).clip(0.0, 4.0 * most)
        gaps = coarse(np.maximum(lead, _BOLD * floor * error) / np.sqrt(lacking + _LEFT))
        return Vectors(claims.rows / gaps[:, None], claims.against, (claims.above, claims.below), gaps)

    def confidence(self, problem: Problem, goal: Goal) -> float:
        """1 - α for the least α at which the list in front would be declared; 0 if there is none."""
        if self.lists is None:
            return 0.0
        least = float(np.nan_to_num(self.lists.held[1], nan=0.0, posinf=math.inf).min())
        return max(0.0, 1.0 - problem.outcome.part * goal.delta - math.exp(-least))

    def standing(self, problem: Problem, goal: Goal) -> Standing:
        """The list in front, its items that are sure, and those of which it is not yet sure that they are none."""
        everyone = np.arange(problem.n_items)
        if self.lists is None:
            return Standing(everyone, (), 0.0)
        sure, out = self.lists.sides(enough(problem, goal))
        left = np.setdiff1d(everyone, self.lists.outside[out])
        if self.answer is not None:
            return Standing(left, self.answer, 1.0)
        known = set(self.lists.inside[sure].tolist())
        listed = tuple(item for item in self.guess if item in known)
        return Standing(left, self.guess, self.progress(problem, goal), sure=listed)

    def progress(self, problem: Problem, goal: Goal) -> float:
        """How far the weakest account has come to what it needs, 0 to 0.999."""
        if self.lists is None:
            return 0.0
        least = self.lists.held[0].ravel()[self._open(problem, goal)].min(initial=math.inf)
        return float(np.clip(np.nan_to_num(least, posinf=0.0) / enough(problem, goal), 0.0, 0.999))


def _pairs(problem: Problem, lists: Lists) -> tuple[Array, Array]:
    """(k, d) twice: items of the list in front less others, and the sizes of what that was formed from."""
    first, second = (problem.items[items] for items in lists.pairs)
    return first - second, np.abs(first) + np.abs(second)
