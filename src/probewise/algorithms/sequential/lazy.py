"""Lazy Track-and-Stop: follows the optimal design at the estimate, computed anew when measurements have doubled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.sequential.first import spanner
from probewise.algorithms.sequential.sequential import Sequential, Step, Tracked
from probewise.algorithms.sequential.steps import TIE, View
from probewise.coordinates import Array
from probewise.design import explicit, optimal_design
from probewise.errors import InvalidAlgorithm
from probewise.goals import Goal
from probewise.problem import Problem


class Memory(NamedTuple):
    """Of the plan."""

    weights: Array
    """(n,): the design at the last estimate that was planned by."""
    wanted: Array
    """(n,): the sum of all designs, one for each measurement."""
    explorers: NDArray[np.int64]
    """(r,): probes that span all others, measured in turn where too little is known of a direction."""
    turn: NDArray[np.int64]
    """(2,): whose turn it is, and the number of measurements at which to plan anew."""
    floor: Array
    """(1,): c, for the least eigenvalue c·√t that the information must have."""


@dataclass(frozen=True, kw_only=True)
class LazyTrackAndStop(Sequential):
    """Tracks the design of the lower bound at the estimate; few designs, and as many measurements as others need."""

    initial: Literal["every", "spanner"] = "spanner"
    """The first round: probes that span all others, as published, or each probe once."""
    growth: float = 2.0
    """Factor by which measurements grow between designs."""
    tol: float = 1e-2
    """Certified relative gap of the designs."""

    name: ClassVar[str] = "lazy-track-and-stop"
    summary: ClassVar[str] = "One by one: follows the optimal design at an estimate that is renewed now and then."
    reference: ClassVar[str] = "Jedra, Proutiere 2020, Algorithm 1"

    def check_settings(self) -> None:
        """Refuse what cannot grow."""
        if not 1 < self.growth < math.inf:
            raise InvalidAlgorithm(f"growth must be larger than 1, got {self.growth!r}; 2 is usual.")

    @property
    def step(self) -> Step:
        """Of tracking."""
        return tracked

    def remember(self, problem: Problem, goal: Goal, probes: Array) -> Memory:
        """No design yet: it is due after the first round."""
        explorers = spanner(problem.coordinates.probes)
        least = np.linalg.svd(probes[explorers], compute_uv=False)[explorers.size - 1] ** 2
        nothing = np.zeros(problem.n_probes)
        floor = np.array([least / math.sqrt(explorers.size)])
        return Memory(nothing, nothing, explorers, np.array([0, explorers.size]), floor)

    def due(self, memory: Memory) -> float:
        """When measurements have doubled."""
        return float(memory.turn[1])

    def replanned(self, problem: Problem, goal: Goal, state: Tracked) -> Memory:
        """The design that is optimal at the estimate."""
        view, memory = self.seen(problem, state), state.memory
        assert isinstance(memory, Memory)
        size = np.sqrt(view.squares)
        at = size > 0.0
        margins = np.maximum(view.margins[at], 1e-3 * size[at])  # a tie is no direction of infinite weight
        wanted = explicit(_rounded(view.rows[at] / margins[:, None]))
        design = optimal_design(state.probes, wanted, cost=problem.cost, tol=self.tol)
        total = int(state.count.sum())
        turn = np.array([memory.turn[0], max(total + 1, math.ceil(self.growth * total))])
        return memory._replace(weights=design.weights, turn=turn)


def _rounded(rows: Array) -> Array:
    """Rows with ten digits of the largest entry, so that rounding, however it came, leads to the same design."""
    digits = 9 - math.floor(math.log10(np.abs(rows).max()))
    return np.round(rows, digits)


def tracked(view: View, memory: Memory) -> int:
    """The next explorer while an eigenvalue of V is below c√t, else the probe furthest behind the sum of designs."""
    total = view.counts.sum()
    memory.wanted[:] = memory.wanted + memory.weights
    least = memory.floor[0] * math.sqrt(total)
    if np.trace(view.inverse) * least > 1.0 and np.linalg.eigvalsh(view.inverse)[-1] * least > 1.0 + TIE:
        probe = memory.explorers[memory.turn[0]]
        memory.turn[0] = (memory.turn[0] + 1) % memory.explorers.size
        return int(probe)
    behind = np.where(memory.wanted > 0.0, memory.wanted - view.counts, -np.inf)
    return int(np.argmax(behind >= behind.max() - TIE * total))
