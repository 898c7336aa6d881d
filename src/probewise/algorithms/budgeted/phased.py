"""Phased: a budget spent in phases, after each of which the items that look worst are dropped."""

from __future__ import annotations

import abc
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Standing
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm
from probewise.estimate import least_squares
from probewise.goals import Answer, BestItem, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design


@dataclass(frozen=True, eq=False)
class Spent:
    """Between two phases."""

    alive: NDArray[np.int64]
    """(k,): items left, the best first once anything is measured."""
    phase: int
    """Phases done."""
    phases: int
    """Phases in all."""
    data: Measurements
    """All measurements."""
    theta: Array | None = None
    """(d,): the last estimate."""
    counts: Counts | None = None
    """(n,): the next phase; None at the end."""


@dataclass(frozen=True, kw_only=True)
class Phased(Algorithm[Spent]):
    """Phases of equal size, each by a design for the items left; the best of the last estimate is the guess.

    It spends its budget whatever δ is, and stops before only if one item is left. Nothing is promised of the error.
    """

    budget: int = 1000
    """Measurements in all."""
    together: bool = False
    """Whether estimates use all measurements, or those of the last phase as published."""
    tol: float = 1e-2
    """Certified relative gap of the designs."""

    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)
    needs: ClassVar[str] = "a budget; it promises no δ"

    def __post_init__(self) -> None:
        check_budget(self.budget)

    @property
    def proven(self) -> bool:
        """A budget leaves no room for a promise of δ."""
        return False

    @abc.abstractmethod
    def phases(self, problem: Problem) -> int:
        """How many phases share the budget."""

    @abc.abstractmethod
    def design(self, problem: Problem, alive: NDArray[np.int64]) -> Array:
        """(n,): weights for the comparison of the items left."""

    @abc.abstractmethod
    def kept(self, problem: Problem, state: Spent) -> int:
        """How many items stay after a phase, whose items are in order."""

    def init(self, problem: Problem, goal: Goal) -> Spent:
        """All items are left."""
        many = self.phases(problem) if problem.n_items > 1 else 0
        alive = np.arange(problem.n_items)
        return self._planned(problem, Spent(alive, 0, many, Measurements.empty(problem.n_probes)))

    def ask(self, problem: Problem, goal: Goal, state: Spent, rng: np.random.Generator) -> Counts:
        """The whole phase."""
        assert state.counts is not None
        return state.counts

    def tell(self, problem: Problem, goal: Goal, state: Spent, measurements: Measurements) -> Spent:
        """The estimate, who stays, and the next phase."""
        data = state.data + measurements
        fit = least_squares(problem.probes, data if self.together else measurements, sigma=problem.sigma)
        order = np.argsort(-scores(problem, fit.theta)[state.alive], kind="stable")
        now = replace(state, alive=state.alive[order], phase=state.phase + 1, data=data, theta=fit.theta, counts=None)
        stay = 1 if now.phase == now.phases else max(1, min(self.kept(problem, now), now.alive.size - 1))
        return self._planned(problem, replace(now, alive=now.alive[:stay]))

    def answer(self, problem: Problem, goal: Goal, state: Spent) -> Answer | None:
        """The item in front, once the budget is spent or it is alone."""
        return None if state.counts is not None else (int(state.alive[0]),)

    def standing(self, problem: Problem, goal: Goal, state: Spent) -> Standing:
        """The items left; at the end also those that seem to be within epsilon."""
        return stood(problem, goal, self.answer(problem, goal, state), state.alive, state.theta)

    def _planned(self, problem: Problem, state: Spent) -> Spent:
        if state.alive.size == 1 or state.phase == state.phases:
            return replace(state, alive=state.alive[:1])
        weights = self.design(problem, state.alive)
        size = (self.budget - state.data.n) // (state.phases - state.phase)  # what is left over goes to later phases
        check_enough(self.name, self.budget, state.phases, size, int(np.count_nonzero(weights)))
        return replace(state, counts=round_design(weights, size, probes=problem.scaled_probes).counts)


def scores(problem: Problem, theta: Array) -> Array:
    """(m,): values of the items up to a constant, which need not be measurable."""
    return np.asarray((problem.items - problem.items[0]) @ theta)


def stood(
    problem: Problem, goal: Goal, answer: Answer | None, alive: NDArray[np.int64], theta: Array | None
) -> Standing:
    """Where items stand for a method with a budget."""
    if answer is None or theta is None:
        guess = answer or (() if theta is None else (int(alive[0]),))
        return Standing(np.sort(alive), guess, None if answer is None else 1.0)
    values = scores(problem, theta)
    close = np.flatnonzero(values >= values[answer[0]] - goal.epsilon) if goal.epsilon > 0 else np.array(answer)
    return Standing(np.union1d(close, answer).astype(np.int64), answer, 1.0, goal.epsilon == 0)


def check_budget(budget: int) -> None:
    """Refuse what is no number of measurements."""
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
        raise InvalidAlgorithm(f"budget must be a whole number of at least 1, got {budget!r}.")


def check_enough(name: str, budget: int, phases: int, size: int, least: int) -> None:
    """Refuse a budget that is too small for a phase."""
    if size < least:
        raise InvalidAlgorithm(
            f"{name} needs {least} measurements in a phase, and a budget of {budget} in {phases} phases leaves {size}; "
            "give more, or choose Sage with a budget."
        )
