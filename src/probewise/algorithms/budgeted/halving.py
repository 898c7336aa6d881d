"""Halving with a fixed budget: XY-halving over all probes, and OD-LinBAI and GSE, which measure the items left only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.budgeted.phased import Phased, Spent
from probewise.algorithms.planning import plan
from probewise.coordinates import Array
from probewise.design import pairs, points
from probewise.problem import Problem


@dataclass(frozen=True, kw_only=True)
class XYHalving(Phased):
    """Each phase measures, among all probes, what tells the items left apart best, and keeps the better half."""

    together: bool = True
    """Whether estimates use all measurements, or those of the last phase."""

    name: ClassVar[str] = "xy-halving"
    summary: ClassVar[str] = "With a budget: designs for the pairs of items left, over all probes; halves them."
    reference: ClassVar[str] = "docs/field.md; sequential halving of Karnin, Koren, Somekh 2013 with designs"

    def phases(self, problem: Problem) -> int:
        """⌈log₂ m⌉."""
        return math.ceil(math.log2(problem.n_items))

    def design(self, problem: Problem, alive: NDArray[np.int64]) -> Array:
        """For all pairs."""
        return plan(problem, pairs(problem.items[alive]), tol=self.tol).weights

    def kept(self, problem: Problem, state: Spent) -> int:
        """Half of them, rounded up."""
        return -(-state.alive.size // 2)


@dataclass(frozen=True, kw_only=True)
class ODLinBAI(Phased):
    """G-optimal phases on the items left, as probes; ⌈d/2^r⌉ of them after phase r.

    As published it measures only items that are left, so that it goes astray where others tell more; where an item is
    no probe, which the paper does not treat, designs are for pairs of items and over all probes.
    """

    name: ClassVar[str] = "od-linbai"
    summary: ClassVar[str] = "With a budget: G-optimal designs on the items left, of which d/2, d/4, … stay."
    reference: ClassVar[str] = "Yang, Tan 2022, Algorithm 1"

    def phases(self, problem: Problem) -> int:
        """⌈log₂ d⌉."""
        return max(1, math.ceil(math.log2(problem.coordinates.rank)))

    def design(self, problem: Problem, alive: NDArray[np.int64]) -> Array:
        """G-optimal among the items left."""
        return among_alive(problem, alive, self.tol)

    def kept(self, problem: Problem, state: Spent) -> int:
        """⌈d/2^r⌉."""
        return math.ceil(problem.coordinates.rank * 0.5**state.phase)


@dataclass(frozen=True, kw_only=True)
class GSE(Phased):
    """Generalised successive elimination: G-optimal phases on the items left, as probes, and half of them stay."""

    name: ClassVar[str] = "gse"
    summary: ClassVar[str] = "With a budget: G-optimal designs on the items left, of which half stay."
    reference: ClassVar[str] = "Azizi, Kveton, Ghavamzadeh 2022, Algorithm 1"

    def phases(self, problem: Problem) -> int:
        """⌈log₂ m⌉."""
        return math.ceil(math.log2(problem.n_items))

    def design(self, problem: Problem, alive: NDArray[np.int64]) -> Array:
        """G-optimal among the items left."""
        return among_alive(problem, alive, self.tol)

    def kept(self, problem: Problem, state: Spent) -> int:
        """Half of them, rounded down."""
        return state.alive.size // 2


def among_alive(problem: Problem, alive: NDArray[np.int64], tol: float) -> Array:
    """(n,): the G-optimal design for the items left, on them alone; for their pairs over all probes if one is none."""
    among = np.zeros(problem.n_probes, dtype=bool)
    twins = problem.twins[alive]
    if (twins < 0).any():
        return plan(problem, pairs(problem.items[alive]), tol=tol).weights
    among[twins] = True
    return plan(problem, points(problem.items[alive]), tol=tol, among=among).weights
