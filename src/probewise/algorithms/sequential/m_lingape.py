"""MLinGapE: LinGapE for any question, as for the m best items: the claim that may be false by most, then the next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from probewise.algorithms.sequential.sequential import Sequential, Step, Tracked
from probewise.algorithms.sequential.shares import towards
from probewise.algorithms.sequential.steps import View, first_largest, reduction
from probewise.algorithms.sequential.top_two import Memory
from probewise.coordinates import Array
from probewise.errors import InvalidAlgorithm
from probewise.goals import Goal
from probewise.problem import Problem


@dataclass(frozen=True, kw_only=True)
class MLinGapE(Sequential):
    """Compares an item of the guess with the one left out that may exceed it by most; for one item it is LinGapE.

    The width is at most a tenth of the measurements old.
    """

    selection: Literal["greedy", "ratio"] = "greedy"
    """"greedy": reduce the variance of the comparison fastest; "ratio": keep to its optimal design, not compiled."""

    name: ClassVar[str] = "m-lingape"
    summary: ClassVar[str] = "One by one: for the item of the guess and the one left out that may exceed it by most."
    reference: ClassVar[str] = "Réda, Kaufmann, Delahaye-Duriez 2021, m-LinGapE"

    uses_width: ClassVar[bool] = True

    def check_settings(self) -> None:
        """Refuse a selection that there is not."""
        if self.selection not in ("greedy", "ratio"):
            raise InvalidAlgorithm(f"selection must be 'greedy' or 'ratio', got {self.selection!r}.")

    @property
    def drawn(self) -> bool:
        """Linear programmes are not compiled."""
        return self.selection == "ratio"

    @property
    def step(self) -> Step:
        """With greedy choice of the probe."""
        return doubted

    def remember(self, problem: Problem, goal: Goal, probes: Array) -> Memory:
        """Nothing."""
        return Memory(np.zeros(1))

    def choice(self, problem: Problem, goal: Goal, state: Tracked, rng: np.random.Generator) -> int:
        """By ratio, the probe that is furthest behind its share of the design for the claim in doubt."""
        if self.selection == "greedy":
            return state.probe
        assert state.pieces is not None
        view = self.seen(problem, state)
        seen = np.flatnonzero(state.pieces.active) if self.elimination == "both" else np.arange(view.margins.size)
        direction = goal.claims(problem, state.guess).rows[seen[most_doubted(view)]]
        support, share = towards(problem, direction)
        return int(support[np.argmin(state.count[support] / share)])


def doubted(view: View, memory: Memory) -> int:
    """The probe that lowers the variance of the claim in doubt most."""
    return first_largest(reduction(view.probes, view.cost, view.inverse, view.rows[most_doubted(view)]))


def most_doubted(view: View) -> int:
    """The claim with the largest width·√(y'V⁻¹y) - margin."""
    widths = np.sqrt(view.squares)
    return first_largest(widths if math.isinf(view.width) else view.width * widths - view.margins)
