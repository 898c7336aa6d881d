"""G-Static: the optimal design for the values of all items, whatever the outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from probewise.algorithms.static.growing import Static
from probewise.confidence import PairsUnion, Threshold
from probewise.design import Directions, points
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, Goal
from probewise.problem import Problem


@dataclass(frozen=True, kw_only=True)
class GStatic(Static):
    """Follows the design that makes the least precise value of an item as precise as possible.

    The items themselves, not only their differences, must lie in the span of the probes.
    """

    growth: float = 1.35
    """Factor by which the total grows between checks."""

    name: ClassVar[str] = "g-static"
    summary: ClassVar[str] = "One G-optimal design for the values of all items, never adapted."
    reference: ClassVar[str] = "Soare, Lazaric, Munos 2014; stopping rule: docs/confidence.md, Theorem 1"
    needs: ClassVar[str] = "items in the span of the probes"

    @property
    def authors_threshold(self) -> Threshold:
        """log(1/δ_j), δ_j = δ/(2 j² K²), as for XY-Static."""
        return PairsUnion(factor=2.0)

    def directions(self, problem: Problem, goal: Goal) -> Directions:
        """The items themselves, which must lie in the span of the probes."""
        inside = problem.coordinates.is_inside(problem.items)
        if not inside.all():
            raise InvalidAlgorithm(
                f"{self.name} measures the values of items, but no combination of probes gives item "
                f"'{problem.item_names[int(np.argmin(inside))]}'; use xy-static, which measures differences."
            )
        return points(problem.items)

    def candidate(self, problem: Problem, goal: Goal) -> Answer | None:
        """None: the answer at the estimate may pass."""
        return None
