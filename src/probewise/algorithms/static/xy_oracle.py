"""XY-Oracle: the best design for an instance whose θ is known, to compare others with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from probewise.algorithms.static.growing import Static
from probewise.confidence import ItemsUnion, Threshold
from probewise.design import Directions
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, Goal
from probewise.problem import Problem
from probewise.theory import parameter


@dataclass(frozen=True)
class XYOracle(Static):
    """Knows θ: follows the design of ψ* and waits until the data alone show that the best item is best."""

    theta: ArrayLike
    """(d,): the truth; kept as a tuple."""

    growth: float = field(default=1.1, kw_only=True)
    """Factor between checks; 1.1 in the authors' code."""

    name: ClassVar[str] = "xy-oracle"
    summary: ClassVar[str] = "The design of the lower bound, computed from the true theta; only for comparison."
    reference: ClassVar[str] = "Soare, Lazaric, Munos 2014; stopping rule: docs/confidence.md, Theorem 1"
    needs: ClassVar[str] = "the true theta"

    def __post_init__(self) -> None:
        theta = np.asarray(self.theta, dtype=np.float64)
        if theta.ndim != 1 or not np.isfinite(theta).all():
            raise InvalidAlgorithm(f"theta must be a list of finite numbers, one per feature, got shape {theta.shape}.")
        object.__setattr__(self, "theta", tuple(theta.tolist()))
        Static.__post_init__(self)

    @property
    def authors_threshold(self) -> Threshold:
        """log(1/δ_j), δ_j = δ/(2 j² K)."""
        return ItemsUnion(factor=2.0)

    def directions(self, problem: Problem, goal: Goal) -> Directions:
        """What matters at the truth: of the best item, (z_* - z)/Δ(z) for every other one."""
        return goal.directions_at(problem, parameter(problem, self.theta))

    def candidate(self, problem: Problem, goal: Goal) -> Answer | None:
        """The right answer, which is the only one that may pass."""
        return goal.answer(problem, problem.items @ parameter(problem, self.theta))
