"""Claims: what Sage knows where the question is not for the best item: an account for all that an answer says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Standing
from probewise.algorithms.sage.accounts import account
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

    @classmethod
    def start(cls, problem: Problem, goal: Goal, tol: float, memo: Memo | None, *, opening: bool) -> Claimed:
        """Before the first round; an answer that claims nothing is known already."""
        data, answer = Measurements.empty(problem.n_probes), goal.answer(problem, np.zeros(problem.n_items))
        if not goal.claims(problem, answer).against.size:
            prior = Prior.of(problem, None, tol, opening=opening)
            return cls(prior, problem.outcome, data, Pooled(), answer, np.zeros(0), answer)
        prior = Prior.of(problem, goal.directions(problem), tol, memo, opening=opening)
        return cls(prior, problem.outcome, data, Pooled())

    @few
    def plus(self, problem: Problem, goal: Goal, rounds: Sequence[Measurements]) -> Claimed:
        """With one more round, or several that overlapped."""
        data, pool, problem = self.data, self.pool, problem.knowing(self.law)
        for measurements in rounds:
            data, pool = data + measurements, pool.plus(fitted(problem, measurements))
        theta = guessed(problem, data)
        last = np.any([measurements.count > 0 for measurements in rounds], axis=0)
        guess = goal.answer(problem, problem.items @ theta)
        law = self.law.after(problem.probes @ theta, data)
        now = replace(self, law=law, data=data, pool=pool, guess=guess, last=last)
        wealth = now._accounts(problem, goal)
        return replace(now, wealth=wealth, answer=guess if bool((wealth >= needed(problem, goal)).all()) else None)

    def _accounts(self, problem: Problem, goal: Goal) -> Array:
        """(k,): by bets on all rounds; nothing is known of them while nothing bounds the noise."""
        noise = problem.outcome.bound(self.pool.pure_error, goal.delta)
        claims = goal.claims(problem, self.guess)
        sums, made = self._margins(goal, claims), np.zeros(claims.against.size)
        if math.isfinite(noise):
            made = np.where(sums.precision > 0, account(problem, sums, self._unit(claims), noise), 0.0)
        # a claim about no direction is true or false whatever θ is
        known = np.where(claims.offsets + goal.epsilon >= 0, np.inf, -np.inf)
        return np.where(claims.rows.any(axis=1), made, known)

    def _margins(self, goal: Goal, claims: Claims) -> Sums:
        """What all rounds say of y'θ + c + epsilon."""
        return self.pool.sums(claims.rows, claims.sizes).lifted(claims.offsets + goal.epsilon)

    def _unit(self, claims: Claims) -> Array:
        squares = square_norms(claims.rows @ self.prior.whitener)
        return 1.0 / np.where(squares > 0, squares, 1.0)

    def compared(self, problem: Problem, goal: Goal) -> Claims:
        """What must be known: the claims of the answer at the estimate, or at first of any answer."""
        return goal.claims(problem, self.guess if self.pool.fits else goal.answer(problem, np.zeros(problem.n_items)))

    def directions(self, problem: Problem, goal: Goal, floor: float) -> Directions:
        """All that may matter at first; then each claim in units of its margin, or of ``floor`` standard errors."""
        if not self.pool.fits:
            return goal.directions(problem)
        claims = goal.claims(problem, self.guess)
        claims = claims.at(np.asarray(claims.rows.any(axis=1)))
        noise = problem.outcome.bound(self.pool.pure_error, goal.delta)
        precision, total, _ = self._margins(goal, claims)
        known = np.where(precision > 0, precision, self._unit(claims))
        margin, error = total / known / (noise if math.isfinite(noise) else 1.0), 1.0 / np.sqrt(known)
        gaps = coarse(np.maximum(margin, floor * error))
        return Vectors(claims.rows / gaps[:, None], claims.against, (claims.above, claims.below), gaps)

    def confidence(self, problem: Problem, goal: Goal) -> float:
        """1 - α for the least α at which the answer at the estimate would be declared; 0 if there is none."""
        if self.wealth is None:
            return 0.0
        least = float(np.nan_to_num(self.wealth, nan=0.0, posinf=np.inf, neginf=-np.inf).min(initial=np.inf))
        spent = problem.outcome.part * goal.delta
        return max(0.0, 1.0 - spent - max(goal.rivals(problem), 1) * math.exp(-least)) if least > -np.inf else 0.0

    def standing(self, problem: Problem, goal: Goal) -> Standing:
        """Items of the answer, and those of which it is not yet sure that they are none."""
        if self.wealth is None:
            return Standing(np.arange(problem.n_items), (), 0.0)
        enough, claims = needed(problem, goal), goal.claims(problem, self.guess)
        wealth = self.wealth if goal.epsilon == 0 else self._accounts(problem, goal.strict())
        doubted = ~(wealth >= enough)
        left = np.union1d(np.array(self.guess, dtype=np.int64), claims.against[doubted]).astype(np.int64)
        if self.answer is not None:
            return Standing(left, self.answer, 1.0, exact=not doubted.any())
        progress = float(np.clip(np.nan_to_num(self.wealth.min(initial=enough)) / enough, 0.0, 0.999))
        return Standing(left, self.guess, progress)


def needed(problem: Problem, goal: Goal) -> float:
    """log of rivals/δ, of what is left of δ once the noise has had its part: an account that settles a claim."""
    return math.log(max(goal.rivals(problem), 1) / problem.outcome.left(goal.delta))


_STEP = 0.1
"""Grid of the smallest gaps' logarithms, coarser for others: nearly equal gaps share a design, solved once."""


def coarse(gaps: Array) -> Array:
    """(k,): gaps over the smallest, u = log gap on a grid of log(1 + u): far rivals hardly shape a design."""
    return np.asarray(np.exp(np.expm1(_STEP * np.round(np.log1p(np.log(gaps / gaps.min())) / _STEP))))
