"""P1Rage: draws probes from a mixture of designs for all items and for those nearly in front; eliminates nobody."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.budgeted.phased import check_budget, scores, stood
from probewise.algorithms.planning import plan
from probewise.coordinates import Array, Counts
from probewise.design import pairs, points
from probewise.errors import InvalidAlgorithm
from probewise.estimate import least_squares
from probewise.goals import Answer, BestItem, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem


@dataclass(frozen=True, eq=False)
class Mixed:
    """Between two rounds."""

    weights: Array
    """(n,): what probes are drawn from."""
    data: Measurements
    """All measurements."""
    moment: Array
    """(d,): Σ A(λ_s)⁻¹x_s r_s over all measurements."""
    theta: Array | None = None
    """(d,): the estimate."""


@dataclass(frozen=True, kw_only=True)
class P1Rage(Algorithm[Mixed]):
    """Half G-optimal for all items, half the mean of the designs for items within 2^-i of the largest gap, i = 0, 1, …

    Rounds of independent draws, each a quarter of what was measured before; the paper computes the mixture anew after
    each measurement, its public figures with ⌈log₂ ρ⌉ rounds of equal size (docs/field.md). With design="g" it is
    G-BAI: the first half alone.
    """

    budget: int = 1000
    """Measurements in all."""
    design: Literal["rage", "g"] = "rage"
    """What probes are drawn from."""
    estimator: Literal["ips", "least squares"] = "ips"
    """Inverse propensities, as published, which stand changes of θ over time; or least squares."""
    schedule: Literal["growing", "equal"] = "growing"
    """Rounds that grow with what was measured, or as many of equal size as ρ of all items can be halved."""
    growth: float = 1.25
    """Factor by which measurements grow between designs, if rounds grow."""
    tol: float = 1e-2
    """Certified relative gap of the designs."""

    name: ClassVar[str] = "p1-rage"
    summary: ClassVar[str] = "With a budget: draws from designs for all items and for those nearly in front."
    reference: ClassVar[str] = "Xiong, Camilleri, Fazel, Jain, Jamieson 2024, P1-RAGE"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)
    needs: ClassVar[str] = "a budget; it promises no δ"

    def __post_init__(self) -> None:
        check_budget(self.budget)
        if self.design not in ("rage", "g"):
            raise InvalidAlgorithm(f"design must be 'rage' or 'g', got {self.design!r}.")
        if self.estimator not in ("ips", "least squares"):
            raise InvalidAlgorithm(f"estimator must be 'ips' or 'least squares', got {self.estimator!r}.")
        if self.schedule not in ("growing", "equal"):
            raise InvalidAlgorithm(f"schedule must be 'growing' or 'equal', got {self.schedule!r}.")
        if not 1 < self.growth < math.inf:
            raise InvalidAlgorithm(f"growth must be larger than 1, got {self.growth!r}; 1.25 is usual.")

    @property
    def proven(self) -> bool:
        """A budget leaves no room for a promise of δ."""
        return False

    def init(self, problem: Problem, goal: Goal) -> Mixed:
        """The design for all items."""
        nothing = Measurements.empty(problem.n_probes)
        if problem.n_items == 1:
            return Mixed(np.full(problem.n_probes, 1.0 / problem.n_probes), nothing, np.zeros(problem.dimension))
        return Mixed(self._all(problem), nothing, np.zeros(problem.dimension))

    def ask(self, problem: Problem, goal: Goal, state: Mixed, rng: np.random.Generator) -> Counts:
        """Independent draws from the weights."""
        size = min(self._size(problem, state.data.n), self.budget - state.data.n)
        return rng.multinomial(size, state.weights).astype(np.int64)

    def tell(self, problem: Problem, goal: Goal, state: Mixed, measurements: Measurements) -> Mixed:
        """The estimate, and the weights for the next round."""
        data = state.data + measurements
        moment = state.moment + _propensities(problem, state.weights, measurements)
        theta = moment / data.n
        if self.estimator == "least squares":
            theta = least_squares(problem.probes, data, sigma=problem.sigma).theta
        now = replace(state, data=data, moment=moment, theta=theta)
        if data.n >= self.budget or self.design == "g":
            return now
        return replace(now, weights=self._mixed(problem, theta))

    def answer(self, problem: Problem, goal: Goal, state: Mixed) -> Answer | None:
        """The item in front, once the budget is spent."""
        if problem.n_items == 1:
            return (0,)
        return self._front(problem, state) if state.data.n >= self.budget else None

    def standing(self, problem: Problem, goal: Goal, state: Mixed) -> Standing:
        """All items, the one in front first; at the end those that seem to be within epsilon."""
        first = self._front(problem, state)
        order = np.append(np.array(first, dtype=np.int64), np.delete(np.arange(problem.n_items), first))
        return stood(problem, goal, self.answer(problem, goal, state), order, state.theta)

    def _size(self, problem: Problem, done: int) -> int:
        """Draws of the next round, after so many."""
        if self.design == "g":
            return self.budget
        if self.schedule == "equal":
            rounds = math.ceil(math.log2(max(plan(problem, pairs(problem.items), tol=self.tol).rho, 2.0)))
            return max(1, self.budget // rounds)
        return max(math.ceil((self.growth - 1.0) * done), 2 * problem.coordinates.rank)

    def _front(self, problem: Problem, state: Mixed) -> Answer:
        return (0,) if state.theta is None else (int(np.argmax(scores(problem, state.theta))),)

    def _all(self, problem: Problem) -> Array:
        """(n,): G-optimal for the items if they can be measured, else for their differences."""
        measurable = problem.coordinates.is_inside(problem.items).all()
        return plan(problem, (points if measurable else pairs)(problem.items), tol=self.tol).weights

    def _mixed(self, problem: Problem, theta: Array) -> Array:
        """(n,): half of it for all items, half the mean over nested sets until one item is left."""
        values = scores(problem, theta)
        gaps = values.max() - values
        close = gaps.max()
        designs: list[Array] = []
        while (near := np.flatnonzero(gaps <= close)).size > 1 and len(designs) < _SETS:
            designs.append(plan(problem, pairs(problem.items[near]), tol=self.tol).weights)
            close /= 2.0
        return np.asarray(0.5 * self._all(problem) + 0.5 * np.mean(designs or [self._all(problem)], axis=0))


_SETS = 20
"""Nested sets at most: a tie has no end of them."""


def _propensities(problem: Problem, weights: Array, measurements: Measurements) -> Array:
    """(d,): Σ A(λ)⁻¹x r/σ² for draws from λ, in the span of the probes that have weight."""
    at = np.flatnonzero(weights > 0)
    rows = problem.scaled_probes[at]
    information = rows.T @ (weights[at, None] * rows)
    outcomes = rows.T @ (measurements.count[at] * measurements.mean[at] / problem.sigma[at])
    return np.asarray(np.linalg.lstsq(information, outcomes, rcond=1e-10)[0])
