"""Sided: what Sage knows where every item is on one of two sides: one account for each pattern of sides."""

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
from probewise.algorithms.sage.opening import WIDER
from probewise.algorithms.sage.prior import Memo, Prior
from probewise.algorithms.sage.signs import Sides, Signs
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
"""Standard errors that an item must be on its side before small rounds are bet on it."""


@dataclass(frozen=True, eq=False)
class Sided:
    """What all finished rounds say of all patterns of sides, none of which is looked at by itself: docs/sides.md."""

    prior: Prior
    """The unit in which precisions are counted, fixed before the first round."""
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
    """Whether large rounds are bet on even for items that are on neither side yet."""
    items: NDArray[np.int64]
    """(k,): the items that claims are about."""
    signs: Signs | None = None
    """What bets have made, by the claims of the pattern in front; None at first."""
    sums: Sums | None = None
    """What all rounds say of the margin of each of these claims; None at first."""
    values: Array | None = None
    """(m,): values of the items at the estimate; None at first."""
    answer: Answer | None = None
    """The answer, once all other patterns are ruled out."""
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
    ) -> Sided:
        """Before the first round; of few items, more is bet on it."""
        prior = Prior.of(problem, goal.directions(problem), tol, memo, opening=opening > 0, lean=lean)
        share = max(opening, 1.0 / (goal.rivals(problem) + 1)) if opening > 0 else 0.0
        items = goal.claims(problem, ()).against
        data = Measurements.empty(problem.n_probes)
        return cls(prior, problem.outcome, data, Pooled(), share, boost, large, items)

    @few
    def plus(self, problem: Problem, goal: Goal, rounds: Sequence[Measurements]) -> Sided:
        """With one more round, or several that overlapped; bets on each know nothing of the others."""
        problem, data, pool, signs, sums = problem.knowing(self.law), self.data, self.pool, self.signs, self.sums
        claims = None if signs is None else goal.claims(problem, self.guess)
        for measurements in rounds:
            fit = fitted(problem, measurements)
            data, pool = data + measurements, pool.plus(fit)
            if signs is not None and sums is not None and claims is not None:
                new = _margins(Pooled((fit,)), claims)
                signs, sums = signs.plus(self._gains(problem, goal, claims, new)), sums + new
        theta = guessed(problem, data)
        law = self.law.after(problem.probes @ theta, data) if self.law.learns else self.law
        last = np.any([measurements.count > 0 for measurements in rounds], axis=0)
        now = replace(self, law=law, data=data, pool=pool, values=problem.items @ theta, last=last)
        now = now._turned(problem, goal, signs, sums)
        return replace(now, answer=None if now._open(problem, goal).any() else now.guess)

    def _turned(self, problem: Problem, goal: Goal, signs: Signs | None, sums: Sums | None) -> Sided:
        """With the pattern at the estimate in front, but for items whose side is known."""
        assert self.values is not None
        inside = np.isin(self.items, goal.answer(problem, self.values))
        before = self._opened(problem, goal, inside) if signs is None else signs.raised()
        fixed = before.known(enough(problem, goal)) | np.isposinf(before.held[0])
        now = before.turned(np.where(fixed, before.inside, inside))
        new = replace(self, signs=now, sums=sums)
        if sums is None or (now is not signs and (signs is None or (now.inside != signs.inside).any())):
            new = replace(new, sums=_margins(self.pool, goal.claims(problem, new.guess)))
        return new

    @property
    def guess(self) -> Answer:
        """The items inside by the pattern in front, the largest value first; empty at first."""
        if self.signs is None or self.values is None:
            return ()
        listed = self.items[self.signs.inside]
        return tuple(listed[np.argsort(-self.values[listed], kind="stable")].tolist())

    def _opened(self, problem: Problem, goal: Goal, inside: Sides) -> Signs:
        """After the first round: a share of each account was spread over all items, on the side that it denies.

        Of rounds that overlap, the replicates of the first alone say whether anything is bet. A claim about no
        direction is true whatever θ is.
        """
        assert self.values is not None
        claims = goal.claims(problem, tuple(self.items[inside].tolist()))
        sums, plain = _margins(self.pool, claims), _margins(self.pool.plain, claims)
        known = np.where(plain.precision > 0, plain.precision, 1.0)
        always = ~claims.rows.any(axis=1) & (claims.offsets >= 0)
        clear = np.where(always, np.inf, plain.total / np.sqrt(known))
        empty = Signs.start(inside, np.argsort(-clear, kind="stable"))
        empty.held[:, always] = np.inf
        noise, alone = (problem.outcome.bound(pool.pure_error, goal.delta) for pool in (self.pool, self.pool.first))
        if self.share == 0 or not (math.isfinite(noise) and math.isfinite(alone)):
            return empty.raised()
        ahead = (plain.precision > 0) & (plain.total > 0)  # nothing is claimed of the others
        log = np.where(ahead, account(problem, sums, WIDER * self._unit(claims), noise), -np.inf)
        kept, spread = math.log1p(-self.share), math.log(self.share / log.size)
        return empty.plus(np.logaddexp(kept, spread + log), kept).raised()

    def _gains(self, problem: Problem, goal: Goal, claims: Claims, new: Sums) -> Array:
        """(k,): log of what bets on each claim make of 1 in a round, by odds that follow all rounds before it.

        Nothing is bet on an item that is less than ``_LEAD`` standard errors on its side, unless the round is large.
        """
        noise = problem.outcome.bound(self.pool.pure_error, goal.delta)
        if self.signs is None or self.sums is None or not math.isfinite(noise):
            return np.zeros(new.total.size)
        unit = self._unit(claims)
        made, had = accounts(problem, (self.sums + new, self.sums), unit, noise, self.prior.gap)
        gains = made - had
        if self.boost and problem.outcome.is_normal:
            lacking = enough(problem, goal) - self.signs.held[0]
            by = boosts(problem.outcome, self.sums, new.precision, unit, noise, lacking, self.prior.gap)
            gains = capped(gains, by, lacking)
        margin, error = self._leads(problem, goal, claims)
        large = (new.precision > SMALL * self.sums.precision) & self.large
        return np.where((margin >= _LEAD * error) | large, gains, 0.0)

    def _unit(self, claims: Claims) -> Array:
        squares = square_norms(claims.rows @ self.prior.whitener)
        return 1.0 / np.where(squares > 0, squares, 1.0)

    def _open(self, problem: Problem, goal: Goal) -> Sides:
        """(k,): the items by which patterns are not ruled out; what is not a number rules out none."""
        assert self.signs is not None
        return np.asarray(~(self.signs.held[1] >= enough(problem, goal)))

    def _leads(self, problem: Problem, goal: Goal, claims: Claims) -> tuple[Array, Array]:
        """(k,) twice: margins of the claims of the pattern in front in units of the noise, and standard errors."""
        assert self.sums is not None
        noise = problem.outcome.bound(self.pool.pure_error, goal.delta)
        # a comparison that was lost with its measurements is planned as if it had the first round's precision
        known = np.where(self.sums.precision > 0, self.sums.precision, self._unit(claims))
        return self.sums.total / known / (noise if math.isfinite(noise) else 1.0), 1.0 / np.sqrt(known)

    def compared(self, problem: Problem, goal: Goal) -> Claims:
        """What must be known: the open claims of the pattern in front, or at first those of any."""
        claims = goal.claims(problem, self.guess)
        return claims if self.signs is None else claims.at(self._open(problem, goal))

    def directions(self, problem: Problem, goal: Goal, floor: float) -> Directions:
        """All that may matter at first; then each claim in units of its margin, or of ``floor`` standard errors."""
        if self.signs is None:
            return goal.directions(problem)
        claims, unclear = goal.claims(problem, self.guess), self._open(problem, goal)
        lead, error = (part[unclear] for part in self._leads(problem, goal, claims))
        claims, gaps = claims.at(unclear), coarse(np.maximum(lead, floor * error))
        return Vectors(claims.rows / gaps[:, None], claims.against, (claims.above, claims.below), gaps)

    def confidence(self, problem: Problem, goal: Goal) -> float:
        """1 - α for the least α at which the pattern in front would be declared; 0 if there is none."""
        if self.signs is None:
            return 0.0
        least = float(np.nan_to_num(self.signs.held[1], nan=0.0, posinf=math.inf).min())
        return max(0.0, 1.0 - problem.outcome.part * goal.delta - math.exp(-least))

    def standing(self, problem: Problem, goal: Goal) -> Standing:
        """The items in front, those known to be in the answer, and those of which it is not sure that they are none."""
        if self.signs is None:
            return Standing(np.arange(problem.n_items), (), 0.0)
        known = self.signs.known(enough(problem, goal)) | (self.answer is not None)
        left = self.items[self.signs.inside | ~known]
        if self.answer is not None:
            return Standing(left, self.answer, 1.0)
        sure = set(self.items[known & self.signs.inside].tolist())
        listed = tuple(item for item in self.guess if item in sure)
        return Standing(left, self.guess, self.progress(problem, goal), sure=listed)

    def progress(self, problem: Problem, goal: Goal) -> float:
        """How far the weakest account has come to what it needs, 0 to 0.999."""
        if self.signs is None:
            return 0.0
        least = self.signs.held[0][self._open(problem, goal)].min(initial=math.inf)
        return float(np.clip(np.nan_to_num(least, posinf=0.0) / enough(problem, goal), 0.0, 0.999))


def _margins(pool: Pooled, claims: Claims) -> Sums:
    """What rounds say of y'θ + c."""
    return pool.sums(claims.rows, claims.sizes).lifted(claims.offsets)
