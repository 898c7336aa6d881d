"""Uniform: the same number of measurements of every probe. The shortest example of an algorithm: copy it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.static.growing import Growing, checked, grown, settled
from probewise.confidence import StarUnion, Threshold, require
from probewise.coordinates import Counts
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem


@dataclass(frozen=True)
class Uniform(Algorithm[Growing]):
    """Measures all probes equally often; stops when the answer at the estimate is beyond doubt."""

    growth: float = 1.2
    """Factor by which the total grows between checks."""
    threshold: Threshold = field(default_factory=StarUnion)
    """The threshold that the answer must pass."""

    name: ClassVar[str] = "uniform"
    summary: ClassVar[str] = "Measures all probes equally often."
    reference: ClassVar[str] = "baseline"
    goals: ClassVar[tuple[type[Goal], ...]] = (Goal,)

    def __post_init__(self) -> None:
        if not 1 < self.growth < math.inf:
            raise InvalidAlgorithm(f"growth must be larger than 1, got {self.growth!r}; 1.1 to 2 is usual.")
        require(self.threshold, "fixed", "least squares", self.name)

    @property
    def proven(self) -> bool:
        """Whether the threshold is proven."""
        return self.threshold.proven

    def init(self, problem: Problem, goal: Goal) -> Growing:
        """The state before the first measurement, with equal weights."""
        weights = np.full(problem.n_probes, 1.0 / problem.n_probes)
        return settled(problem, goal) or Growing.start(problem, weights)

    def ask(self, problem: Problem, goal: Goal, state: Growing, rng: np.random.Generator) -> Counts:
        """What brings the total to the next check."""
        return grown(problem, state, self.growth, rng, "rounded")

    def tell(self, problem: Problem, goal: Goal, state: Growing, measurements: Measurements) -> Growing:
        """Add the measurements and check the answer."""
        return checked(problem, goal, state.told(measurements), self.threshold)

    def answer(self, problem: Problem, goal: Goal, state: Growing) -> Answer | None:
        """The answer, once it has passed."""
        return state.answer

    def standing(self, problem: Problem, goal: Goal, state: Growing) -> Standing:
        """Where items stand: all may be the answer until one has passed."""
        return state.standing(problem.n_items)
