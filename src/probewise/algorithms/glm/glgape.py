"""GLGapE: the leader against its most plausible rival, with the largest likelihood in place of least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.glm.models import canonical, estimate
from probewise.algorithms.glm.steps import compared, most_telling, width
from probewise.coordinates import Counts
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, BestItem, Goal
from probewise.likelihood import Fit
from probewise.measurements import Measurements
from probewise.problem import Problem


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Between two measurements."""

    data: Measurements
    fit: Fit | None
    leader: int
    rival: int
    bound: float


@dataclass(frozen=True)
class GLGapE(Algorithm[_Comparison]):
    """Measures what tells most about the leader against the item that may exceed it by most.

    The published width has a constant 3/κ and a burn-in of order κ⁻⁴, too large to be run; this is what is run in its
    place, with the information at the estimate and √(2·log(1/δ) + d·log(1+t)): a heuristic.
    """

    initial: int = 5
    """Measurements of each probe at the beginning."""
    lazy: float = 0.02
    """Share of the measurements so far that are made before the next estimate; 0 is one by one."""

    name: ClassVar[str] = "glgape"
    summary: ClassVar[str] = "The leader against its most plausible rival, by the largest likelihood."
    reference: ClassVar[str] = "Kazerouni, Wein 2021, with a heuristic width"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)
    links: ClassVar[tuple[str, ...]] = ("logit", "log")

    def __post_init__(self) -> None:
        if not (isinstance(self.initial, int) and self.initial >= 1):
            raise InvalidAlgorithm(f"initial must be a whole number of at least 1, got {self.initial!r}.")
        if not 0 <= self.lazy <= 1:
            raise InvalidAlgorithm(f"lazy must lie between 0 and 1, got {self.lazy!r}; 0 is one by one.")

    @property
    def proven(self) -> bool:
        """No."""
        return False

    def init(self, problem: Problem, goal: Goal) -> _Comparison:
        """Nothing is known."""
        canonical(problem, self.name)
        return _Comparison(Measurements.empty(problem.n_probes), None, 0, 0, math.inf)

    def ask(self, problem: Problem, goal: Goal, state: _Comparison, rng: np.random.Generator) -> Counts:
        """Every probe at first; then the one that reduces the variance of the comparison most, per cost."""
        if state.fit is None:
            return np.full(problem.n_probes, self.initial, dtype=np.int64)
        row = problem.items[state.leader] - problem.items[state.rival]
        told = canonical(problem, self.name).information(problem.probes @ state.fit.theta)
        probe = most_telling(
            problem.probes, problem.cost, told, np.asarray(np.linalg.inv(state.fit.information), dtype=np.float64), row
        )
        counts = np.zeros(problem.n_probes, dtype=np.int64)
        counts[probe] = max(1, math.floor(self.lazy * state.data.n))
        return counts

    def tell(self, problem: Problem, goal: Goal, state: _Comparison, measurements: Measurements) -> _Comparison:
        """The estimate from all measurements, from the last one on, then the next comparison."""
        data = state.data + measurements
        fit = estimate(problem, data, None if state.fit is None else state.fit.theta)
        wide = width(math.log(1.0 / goal.delta), problem.dimension, float(data.n))
        inverse = np.asarray(np.linalg.inv(fit.information), dtype=np.float64)
        leader, rival, bound = compared(problem.items, fit.theta, inverse, wide)
        return _Comparison(data, fit, leader, rival, float(bound))

    def answer(self, problem: Problem, goal: Goal, state: _Comparison) -> Answer | None:
        """The leader, once no item may exceed it by more than epsilon."""
        return (state.leader,) if problem.n_items == 1 or state.bound <= goal.epsilon else None

    def standing(self, problem: Problem, goal: Goal, state: _Comparison) -> Standing:
        """All items until the leader is the answer."""
        answer = self.answer(problem, goal, state)
        if answer is not None:
            return Standing(np.array(answer, dtype=np.int64), answer, 1.0)
        return Standing(np.arange(problem.n_items), () if state.fit is None else (state.leader,), None)
