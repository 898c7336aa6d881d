"""Claims: what Sage knows where the question is not for the best item: an account for all that an answer says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Standing
from probewise.algorithms.planning import coarse
from probewise.algorithms.sage.accounts import account
from probewise.algorithms.sage.listing import accepted, lacking
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


@dataclass(frozen=True, eq=False)
class Claimed:
    """What all finished rounds say of the answer at the estimate.

    The account of a claim y'θ + c ≥ 0 grows by bets that it is true and is fair if it is false by epsilon or more. A
    wrong answer makes one of as few false claims as the goal names rivals: docs/sage.md, Theorem 2.
    """

    prior: Prior
    """The unit in which precisions are counted, fixed before the first round."""
    law: Law
    """What is known of the outcomes of the next round."""
    data: Measurements
    """Measurements of all finished rounds."""
    pool: Pooled
    """The estimate of each round by itself."""
    guess: Answer = ()
    """The answer at the estimate; empty at first."""
    wealth: Array | None = None
    """(k,): log of what bets on each of its claims have made of 1; None at first."""
    answer: Answer | None = None
    """The answer, once all of its claims are beyond doubt."""
    last: NDArray[np.bool_] | None = None
    """(n,): which probes the last round measured."""
    peaks: Array | None = None
    """(2, m) where claims are about single items: log of the most that bets on an item's being out of the answer, or in
    it, have ever made after a round; None at first, and for other goals."""
    strict: Array | None = None
    """The same without the tolerance."""

    @classmethod
    def start(
        cls, problem: Problem, goal: Goal, tol: float, memo: Memo | None, *, opening: bool, lean: bool
    ) -> Claimed:
        """Before the first round; an answer that claims nothing is known already."""
        data, answer = Measurements.empty(problem.n_probes), goal.answer(problem, np.zeros(problem.n_items))
        if not goal.claims(problem, answer).against.size:
            prior = Prior.of(problem, None, tol, opening=opening, lean=lean)
            return cls(prior, problem.outcome, data, Pooled(), answer, np.zeros(0), answer)
        prior = Prior.of(problem, goal.directions(problem), tol, memo, opening=opening, lean=lean)
        return cls(prior, problem.outcome, data, Pooled())

    @few
    def plus(self, problem: Problem, goal: Goal, rounds: Sequence[Measurements]) -> Claimed:
        """With one more round, or several that overlapped."""
        data, pool, problem = self.data, self.pool, problem.knowing(self.law)
        for measurements in rounds:
            data, pool = data + measurements, pool.plus(fitted(problem, measurements))
        theta = guessed(problem, data)
        last = np.any([measurements.count > 0 for measurements in rounds], axis=0)
        values = problem.items @ theta
        law = self.law.after(problem.probes @ theta, data)
        now = replace(self, law=law, data=data, pool=pool, guess=goal.answer(problem, values), last=last)
        now = replace(now, wealth=now._accounts(problem, goal))
        return now._raised(problem, goal)._concluded(problem, goal, values)

    def _raised(self, problem: Problem, goal: Goal) -> Claimed:
        """With the peaks of accounts of claims about single items."""
        if not goal.separate or self.wealth is None:
            return self
        claims = goal.claims(problem, self.guess)
        at = (np.isin(claims.against, self.guess).astype(np.int64), claims.against)
        peaks = _raised(self.peaks, at, self.wealth, problem.n_items)
        if goal.epsilon == 0:
            return replace(self, peaks=peaks, strict=peaks)
        wealth = self._accounts(problem, goal.strict())
        return replace(self, peaks=peaks, strict=_raised(self.strict, at, wealth, problem.n_items))

    def _concluded(self, problem: Problem, goal: Goal, values: Array) -> Claimed:
        """With the answer, if all that it says is beyond doubt."""
        assert self.wealth is not None
        if goal.promise == "share":
            return replace(self, answer=self.guess if bool(self._accepted(problem, goal).all()) else None)
        if self.peaks is None:
            found = bool((self.wealth >= needed(problem, goal)).all())
            return replace(self, answer=self.guess if found else None)
        sure = self.peaks >= needed(problem, goal)
        if not sure[:, goal.claims(problem, self.guess).against].any(axis=0).all():
            return replace(self, answer=None)
        # where the tolerance allows for both, an item stands where its estimate does
        side = np.where(sure.all(axis=0), np.isin(np.arange(values.size), self.guess), sure[1])
        answer = tuple(int(item) for item in np.argsort(-values, kind="stable") if side[item])
        return replace(self, answer=answer, guess=answer)

    def _accepted(self, problem: Problem, goal: Goal) -> NDArray[np.bool_]:
        """(k,): the claims of the answer at the estimate that may be made, where a share of them may be wrong."""
        assert self.wealth is not None
        inside = np.isin(goal.claims(problem, self.guess).against, self.guess)
        return accepted(self.wealth, inside, needed(problem, goal))

    def _accounts(self, problem: Problem, goal: Goal) -> Array:
        """(k,): by bets on all rounds; nothing is known of them while nothing bounds the noise."""
        noise = problem.outcome.bound(self.pool.pure_error, goal.delta)
        claims = goal.claims(problem, self.guess)
        sums, made = self.margins(goal, claims), np.zeros(claims.against.size)
        if math.isfinite(noise):
            made = np.where(sums.precision > 0, account(problem, sums, self.unit(claims), noise, self.prior.gap), 0.0)
        # a claim about no direction is true or false whatever θ is
        known = np.where(claims.offsets + goal.epsilon >= 0, np.inf, -np.inf)
        return np.where(claims.rows.any(axis=1), made, known)

    def margins(self, goal: Goal, claims: Claims) -> Sums:
        """What all rounds say of y'θ + c + epsilon."""
        return self.pool.sums(claims.rows, claims.sizes).lifted(claims.offsets + goal.epsilon)

    def unit(self, claims: Claims) -> Array:
        """(k,): the unit of the precision of each claim."""
        squares = square_norms(claims.rows @ self.prior.whitener)
        return 1.0 / np.where(squares > 0, squares, 1.0)

    def compared(self, problem: Problem, goal: Goal) -> Claims:
        """What must be known: the open claims of the answer at the estimate, or at first those of any answer."""
        if not self.pool.fits:
            return goal.claims(problem, goal.answer(problem, np.zeros(problem.n_items)))
        claims = goal.claims(problem, self.guess)
        return claims.at(self._open(problem, goal, claims))

    def _open(self, problem: Problem, goal: Goal, claims: Claims) -> NDArray[np.bool_]:
        """(k,): which claims of the answer at the estimate are not settled, so that more must be measured for them."""
        if goal.promise == "share":
            return ~self._accepted(problem, goal)
        if self.peaks is None:
            return np.ones(claims.against.size, dtype=np.bool_)
        settled = np.asarray((self.peaks >= needed(problem, goal)).any(axis=0))
        return np.asarray(~settled[claims.against])

    def directions(self, problem: Problem, goal: Goal, floor: float) -> Directions:
        """All that may matter at first; then each claim in units of its margin, or of ``floor`` standard errors."""
        if not self.pool.fits:
            return goal.directions(problem)
        claims = self.compared(problem, goal)
        claims = claims.at(np.asarray(claims.rows.any(axis=1)))
        noise = problem.outcome.bound(self.pool.pure_error, goal.delta)
        sums = self.margins(goal, claims)
        known = np.where(sums.precision > 0, sums.precision, self.unit(claims))
        margin, error = sums.total / known / (noise if math.isfinite(noise) else 1.0), 1.0 / np.sqrt(known)
        gaps = coarse(np.maximum(margin, floor * error))
        return Vectors(claims.rows / gaps[:, None], claims.against, (claims.above, claims.below), gaps)

    def confidence(self, problem: Problem, goal: Goal) -> float | None:
        """1 - α for the least α at which the answer at the estimate would be declared; 0 if there is none.

        None where a share of the list may be wrong: that promise has one level, and it holds for what is listed so far.
        """
        if goal.promise == "share":
            return None
        if self.wealth is None:
            return 0.0
        wealth = self.wealth
        if self.peaks is not None:
            items = goal.claims(problem, self.guess).against
            wealth = self.peaks[np.isin(items, self.guess).astype(np.int64), items]
        least = float(np.nan_to_num(wealth, nan=0.0, posinf=np.inf, neginf=-np.inf).min(initial=np.inf))
        spent = problem.outcome.part * goal.delta
        return max(0.0, 1.0 - spent - max(goal.rivals(problem), 1) * math.exp(-least)) if least > -np.inf else 0.0

    def standing(self, problem: Problem, goal: Goal) -> Standing:
        """Items of the answer, those known to be in it, and those of which it is not yet sure that they are none."""
        if self.wealth is None:
            return Standing(np.arange(problem.n_items), (), 0.0)
        listed, out, exact = self._sides(problem, goal)
        items = np.delete(np.arange(problem.n_items), goal.aside(problem))
        left = items[np.isin(items, self.guess) | ~out[items]]
        if self.answer is not None:
            return Standing(left, self.answer, 1.0, exact=exact)
        sure = tuple(item for item in self.guess if listed[item])
        guess = sure if goal.promise == "share" else self.guess
        return Standing(left, guess, self.progress(problem, goal), sure=sure)

    def _sides(self, problem: Problem, goal: Goal) -> tuple[NDArray[np.bool_], NDArray[np.bool_], bool]:
        """(m,), (m,): items known to be in the answer and out of it; and whether all holds without a tolerance."""
        assert self.wealth is not None
        claims, none = goal.claims(problem, self.guess), np.zeros(problem.n_items, dtype=np.bool_)
        if self.strict is not None and goal.promise == "all":
            out, listed = self.strict >= needed(problem, goal)
            there = np.where(np.isin(np.arange(problem.n_items), self.guess), listed, out)
            return listed, out, bool(there[claims.against].all())
        wealth = self.wealth if goal.epsilon == 0 else self._accounts(problem, goal.strict())
        if goal.promise == "share":
            inside = np.isin(claims.against, self.guess)
            made, strictly = self._accepted(problem, goal), accepted(wealth, inside, needed(problem, goal))
            listed, out = none.copy(), none.copy()
            listed[claims.against[made & inside]], out[claims.against[strictly & ~inside]] = True, True
            return listed, out, bool(strictly.all())
        alone = goal.apart(problem) if self.answer is None else max(goal.rivals(problem), 1)
        enough = math.inf if alone is None else math.log(alone / problem.outcome.left(goal.delta))
        doubted = claims.against[~(wealth >= enough)]
        return none, ~np.isin(np.arange(problem.n_items), doubted), not doubted.size

    def progress(self, problem: Problem, goal: Goal) -> float:
        """How far the weakest account has come to what it needs, 0 to 0.999."""
        if self.wealth is None:
            return 0.0
        claims, enough = goal.claims(problem, self.guess), needed(problem, goal)
        if goal.promise == "share":
            return lacking(self.wealth, np.isin(claims.against, self.guess), enough)
        wealth = self.wealth if self.peaks is None else self.peaks.max(axis=0)[claims.against]
        return float(np.clip(np.nan_to_num(wealth.min(initial=enough)) / enough, 0.0, 0.999))


def _raised(peaks: Array | None, at: tuple[NDArray[np.int64], NDArray[np.int64]], wealth: Array, m: int) -> Array:
    """(2, m): the larger of the two at the places of some accounts; what is not a number raises nothing."""
    out = np.full((2, m), -np.inf) if peaks is None else peaks.copy()
    out[at] = np.fmax(out[at], wealth)
    return out


def needed(problem: Problem, goal: Goal) -> float:
    """log of rivals/δ, of what is left of δ once the noise has had its part: an account that settles a claim."""
    return math.log(max(goal.rivals(problem), 1) / problem.outcome.left(goal.delta))
