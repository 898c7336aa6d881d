"""PEPS: what a draw from the posterior would say where it contradicts the guess; a learner measures for that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from probewise.algorithms.sequential.sequential import Sequential, Step, Tracked
from probewise.algorithms.sequential.steps import View, hedge, hedged, squared
from probewise.coordinates import Array
from probewise.goals import Goal
from probewise.problem import Problem


class Memory(NamedTuple):
    """Of the learner."""

    losses: Array
    """(n,)."""
    regret: Array
    """(1,): D of AdaHedge."""


@dataclass(frozen=True, kw_only=True)
class PEPS(Sequential):
    """AdaHedge on the mean of (x'(θ̂ - θ'))² over draws θ' of the posterior under which the guess is wrong.

    The paper draws until enough of them contradict the guess, which takes ever longer. Here the posterior given that
    one claim is false is a truncated Gaussian, whose moments have a closed form; claims count by the chance of being
    false, so that what contradicts two of them counts twice. The paper has no stopping rule.
    """

    name: ClassVar[str] = "peps"
    summary: ClassVar[str] = "One by one: drawn by a learner of what tells the posterior from its wrong part."
    reference: ClassVar[str] = "Li, Jamieson, Jain 2024, PEPS; without its mixing"

    @property
    def drawn(self) -> bool:
        """Probes are drawn from the learner's weights."""
        return True

    @property
    def step(self) -> Step:
        """What the learner hears."""
        return learned

    def remember(self, problem: Problem, goal: Goal, probes: Array) -> Memory:
        """Nothing is lost yet."""
        return Memory(np.zeros(problem.n_probes), np.zeros(1))

    def choice(self, problem: Problem, goal: Goal, state: Tracked, rng: np.random.Generator) -> int:
        """A draw from the learner's weights."""
        weights = hedged(state.memory.losses, state.memory.regret) / problem.cost
        return int(rng.choice(weights.size, p=weights / weights.sum()))


def learned(view: View, memory: Memory) -> int:
    """The gains of each probe: x'V⁻¹x + (x'V⁻¹y)²/s²·a·h(a), y in the mean, s² = y'V⁻¹y and a = margin/s.

    With u = y'(θ' - θ̂) ~ N(0, s²), E[u² | u < -as] = s²(1 + a·h(a)), h(a) = φ(a)/Φ(-a); the rest of θ' is apart.
    """
    from scipy.special import log_ndtr  # slow to load

    known = view.squares > 0.0
    size = np.sqrt(view.squares[known])
    a = np.maximum(view.margins[known], 0.0) / size
    log = log_ndtr(-a)
    chance = np.exp(log - log.max())
    excess = a * np.exp(-0.5 * a**2 - 0.5 * np.log(2.0 * np.pi) - log)
    products = view.probes @ view.inverse @ (view.rows[known] / size[:, None]).T
    gains = squared(view.probes, view.inverse) + products**2 @ (chance * excess / chance.sum())
    weights = hedged(memory.losses, memory.regret)
    hedge(memory.losses, memory.regret, weights, -gains * view.counts.sum() / view.cost)
    return 0
