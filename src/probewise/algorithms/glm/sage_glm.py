"""SageGLM: rounds for outcomes with a link, and one likelihood ratio that rules items out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.glm.models import canonical, estimate, gaps_and_errors, local
from probewise.algorithms.planning import plan
from probewise.coordinates import Array, Counts
from probewise.design import pairs, star
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, BestItem, Goal
from probewise.likelihood import Fit, fitted, fitted_on_plane, log_likelihood
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design

DRAWS = 400
"""Parameters that a prediction is a mixture of."""
FIRST = 6
"""Measurements of the first round for each dimension."""
SLACK = 1e-6
"""Nats by which a likelihood that was found may be below the largest one."""


@dataclass(frozen=True, eq=False)
class _Odds:
    """Between two rounds."""

    data: Measurements
    """All of them."""
    bet: Measurements
    """Those of the rounds that were bet on."""
    predicted: float
    """log of the mixture of likelihoods that predicted them, round by round."""
    fit: Fit | None
    """The estimate from all measurements."""
    counts: Counts
    """The next round."""
    answer: Answer | None


@dataclass(frozen=True)
class SageGLM(Algorithm[_Odds]):
    """Bets against "this item is best" by how well past rounds predict the next, whatever the link is.

    There is no burn-in, no bound on θ and no constant of the link: only the likelihood itself.
    """

    growth: float = 1.25
    """Factor by which a round may increase the number of measurements at most."""

    name: ClassVar[str] = "sage-glm"
    summary: ClassVar[str] = "Rounds of the optimal design at the estimate; likelihood ratios rule items out."
    reference: ClassVar[str] = "docs/links.md, Theorem 1"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)
    links: ClassVar[tuple[str, ...]] = ("logit", "log")

    def __post_init__(self) -> None:
        if not 1 < self.growth < math.inf:
            raise InvalidAlgorithm(f"growth must be larger than 1, got {self.growth!r}; 1.1 to 2 is usual.")

    @property
    def proven(self) -> bool:
        """It is: docs/links.md, Theorem 1."""
        return True

    def init(self, problem: Problem, goal: Goal) -> _Odds:
        """The first round is the design for all pairs, as if all outcomes were equally uncertain."""
        canonical(problem, self.name)
        nothing = Measurements.empty(problem.n_probes)
        if problem.n_items == 1:
            return _Odds(nothing, nothing, 0.0, None, nothing.count, (0,))
        weights = plan(problem, pairs(problem.items), tol=0.01).weights
        size = max(FIRST * problem.dimension, 2 * int(np.count_nonzero(weights)))
        counts = round_design(weights, size, probes=problem.scaled_probes).counts
        return _Odds(nothing, nothing, 0.0, None, counts, None)

    def ask(self, problem: Problem, goal: Goal, state: _Odds, rng: np.random.Generator) -> Counts:
        """What was planned."""
        return state.counts

    def tell(self, problem: Problem, goal: Goal, state: _Odds, measurements: Measurements) -> _Odds:
        """Add how well this round was predicted, then look whether all other items are ruled out."""
        law, data = canonical(problem, self.name), state.data + measurements
        bet, predicted = state.bet, state.predicted
        if state.fit is not None:
            draws = _draws(state.fit)
            logs = log_likelihood(law, draws @ problem.probes.T, measurements)
            predicted += float(np.logaddexp.reduce(logs)) - math.log(len(draws))
            bet = bet + measurements
        fit = estimate(problem, data)
        state = replace(state, data=data, bet=bet, predicted=predicted, fit=fit)
        leader = int(np.argmax(problem.items @ fit.theta))
        if self._alone(problem, goal, state, fit, leader):
            return replace(state, answer=(leader,))
        return replace(state, counts=self._next(problem, goal, state, fit, leader))

    def answer(self, problem: Problem, goal: Goal, state: _Odds) -> Answer | None:
        """The leader, once the likelihood of every parameter under which another is best is too small."""
        return state.answer

    def standing(self, problem: Problem, goal: Goal, state: _Odds) -> Standing:
        """All items until one is left."""
        if state.answer is not None:
            return Standing(np.array(state.answer, dtype=np.int64), state.answer, 1.0)
        guess = () if state.fit is None else (int(np.argmax(problem.items @ state.fit.theta)),)
        return Standing(np.arange(problem.n_items), guess, None)

    def _alone(self, problem: Problem, goal: Goal, state: _Odds, fit: Fit, leader: int) -> bool:
        """Whether max ℓ(θ) over (z_leader - z)'θ ≤ -ε is at least log 1/δ below the prediction, for each other z.

        On that half-space the largest value is inside, where the overall largest is, or on its boundary.
        """
        if not state.bet.count.any():
            return False
        law, level = canonical(problem, self.name), state.predicted - math.log(1.0 / goal.delta) - SLACK
        top = fitted(law, problem.probes, state.bet)
        if not top.converged:
            return False
        gaps, errors = gaps_and_errors(problem, fit, leader)
        rivals = np.delete(np.arange(problem.n_items), leader)
        for rival in rivals[np.argsort((gaps / errors)[rivals])]:
            normal = problem.items[leader] - problem.items[rival]
            if normal @ top.theta + goal.epsilon <= 0:
                return False
            on_plane = fitted_on_plane(law, problem.probes, state.bet, normal, -goal.epsilon)
            if not on_plane.converged or on_plane.value > level:
                return False
        return True

    def _next(self, problem: Problem, goal: Goal, state: _Odds, fit: Fit, leader: int) -> Counts:
        """The optimal design for the leader against all others at the estimate, as much as seems to be missing."""
        gaps, errors = gaps_and_errors(problem, fit, leader)
        margins = np.maximum(gaps, 2.0 * errors)
        margins[leader] = 1.0
        there = local(problem, fit)
        design = plan(there, star(problem.items, leader, margins), tol=0.05)
        total = state.data.n
        wanted = 2.0 * (math.log(1.0 / goal.delta) + 0.5 * problem.dimension * math.log(2.0 + total)) * design.rho
        size = min(max(wanted, 0.1 * total), (self.growth - 1.0) * total)
        least = int(np.count_nonzero(design.weights))
        return round_design(design.weights, max(math.ceil(size), least), probes=there.scaled_probes).counts


def _draws(fit: Fit) -> Array:
    """(J, d): a fixed sample of the normal law that the past leaves for θ, a third of it twice as wide."""
    root = np.linalg.cholesky(np.linalg.inv(fit.information))
    unit = np.random.default_rng(0).standard_normal((DRAWS, fit.theta.size))
    unit[: DRAWS // 3] *= 2.0
    return np.asarray(fit.theta + unit @ root.T)
