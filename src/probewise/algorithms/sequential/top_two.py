"""TopTwo: a leader, the challenger that could most easily be ahead of it, and the probe that tells them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from probewise.algorithms.sequential.sequential import Sequential, Step, Tracked, evidence
from probewise.algorithms.sequential.steps import View, first_largest, reduction
from probewise.coordinates import Array
from probewise.errors import InvalidAlgorithm
from probewise.goals import Goal
from probewise.problem import Problem


class Memory(NamedTuple):
    """Nothing is remembered."""

    nothing: Array
    """(1,)."""


@dataclass(frozen=True, kw_only=True)
class TopTwo(Sequential):
    """The leader is the best by a draw from the posterior (L-T3C), or by the estimate; the challenger the claim of it
    that is least evident."""

    leader: Literal["thompson", "estimate"] = "thompson"
    """Who leads: by a draw from the posterior, which explores by itself, or by the estimate, without chance."""

    name: ClassVar[str] = "top-two"
    summary: ClassVar[str] = "One by one: a leader drawn from the posterior against its closest challenger."
    reference: ClassVar[str] = "Shang, de Heide, Ménard, Kaufmann, Valko 2020, L-T3C; Jourdan et al. 2022"

    def check_settings(self) -> None:
        """Refuse a leader that there is not."""
        if self.leader not in ("thompson", "estimate"):
            raise InvalidAlgorithm(f"leader must be 'thompson' or 'estimate', got {self.leader!r}.")

    @property
    def drawn(self) -> bool:
        """With a leader by a draw."""
        return self.leader == "thompson"

    @property
    def step(self) -> Step:
        """With the guess as leader."""
        return challenged

    def remember(self, problem: Problem, goal: Goal, probes: Array) -> Memory:
        """Nothing."""
        return Memory(np.zeros(1))

    def choice(self, problem: Problem, goal: Goal, state: Tracked, rng: np.random.Generator) -> int:
        """With a leader by a draw from N(θ̂, V⁻¹), if that is how it is chosen."""
        if not self.drawn:
            return state.probe
        assert state.fit is not None
        root = np.linalg.cholesky(state.fit.inverse)
        drawn = goal.answer(problem, state.items @ (state.fit.theta + root @ rng.standard_normal(len(root))))
        if drawn == state.guess:
            return state.probe
        pieces = self.claimed(problem, goal, state, drawn)
        return challenged(self.seen(problem, state.about(drawn, pieces)), state.memory)


def challenged(view: View, memory: Memory) -> int:
    """The probe that lowers the variance of the least evident claim most for its cost; now and then each in turn.

    Without the latter, which is as in FWS, a leader by the estimate may never hear that it is none.
    """
    n, total = view.cost.size, view.counts.sum()
    blocks = total // n
    if round(math.sqrt(blocks)) ** 2 == blocks:
        return int(total % n)
    row = view.rows[first_largest(-evidence(view))]
    return first_largest(reduction(view.probes, view.cost, view.inverse, row))
