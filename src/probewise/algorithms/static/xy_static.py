"""XY-Static: the optimal design for all pairs of items, whatever the outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from probewise.algorithms.static.growing import Static
from probewise.confidence import PairsUnion, Threshold
from probewise.design import Directions
from probewise.goals import Answer, Goal
from probewise.problem import Problem


@dataclass(frozen=True, kw_only=True)
class XYStatic(Static):
    """Follows the design that makes the least precise difference of two items as precise as possible."""

    growth: float = 1.35
    """Factor between checks; 1.35 in the authors' code."""

    name: ClassVar[str] = "xy-static"
    summary: ClassVar[str] = "One optimal design for the pairs of all items, never adapted."
    reference: ClassVar[str] = "Soare, Lazaric, Munos 2014; stopping rule: docs/confidence.md, Theorem 1"

    @property
    def authors_threshold(self) -> Threshold:
        """log(1/δ_j), δ_j = δ/(2 j² K²)."""
        return PairsUnion(factor=2.0)

    def directions(self, problem: Problem, goal: Goal) -> Directions:
        """All directions that may matter for the goal: for the best item, all differences of two items."""
        return goal.directions(problem)

    def candidate(self, problem: Problem, goal: Goal) -> Answer | None:
        """None: the answer at the estimate may pass."""
        return None
