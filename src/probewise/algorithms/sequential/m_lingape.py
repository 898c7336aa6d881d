"""MLinGapE: LinGapE for any question, as for the m best items: the claim that may be false by most, then the next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from probewise.algorithms.sequential.sequential import Sequential, Step
from probewise.algorithms.sequential.steps import View, first_largest, reduction
from probewise.algorithms.sequential.top_two import Memory
from probewise.coordinates import Array
from probewise.goals import Goal
from probewise.problem import Problem


@dataclass(frozen=True, kw_only=True)
class MLinGapE(Sequential):
    """Compares an item of the guess with the one left out that may exceed it by most; for one item it is LinGapE.

    The width is at most a hundredth of the measurements old.
    """

    name: ClassVar[str] = "m-lingape"
    summary: ClassVar[str] = "One by one: for the item of the guess and the one left out that may exceed it by most."
    reference: ClassVar[str] = "Réda, Kaufmann, Delahaye-Duriez 2021, m-LinGapE"

    uses_width: ClassVar[bool] = True

    @property
    def step(self) -> Step:
        """With greedy choice of the probe."""
        return doubted

    def remember(self, problem: Problem, goal: Goal, probes: Array) -> Memory:
        """Nothing."""
        return Memory(np.zeros(1))


def doubted(view: View, memory: Memory) -> int:
    """The probe that lowers the variance most, of the claim with the largest width·√(y'V⁻¹y) - margin."""
    widths = np.sqrt(view.squares)
    bounds = widths if math.isinf(view.width) else view.width * widths - view.margins
    return first_largest(reduction(view.probes, view.cost, view.inverse, view.rows[first_largest(bounds)]))
