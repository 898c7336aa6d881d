"""PeaceBudget: Peace for a fixed budget: each phase halves how hard the items left are to tell apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.budgeted.phased import Phased, Spent
from probewise.algorithms.planning import plan
from probewise.coordinates import Array
from probewise.design import pairs
from probewise.problem import Problem


@dataclass(frozen=True, kw_only=True)
class PeaceBudget(Phased):
    """Keeps the longest part of the ranking whose design is worth twice as much: ρ of it at most ρ/2.

    The paper halves the Gaussian width γ; this, as later code of its authors, the largest variance ρ. γ is at most a
    multiple log m of it.
    """

    name: ClassVar[str] = "peace-budget"
    summary: ClassVar[str] = "With a budget: keeps the top of the ranking that is half as hard to tell apart."
    reference: ClassVar[str] = "Katz-Samuels, Jain, Karnin, Jamieson 2020, Algorithm 3, with ρ for γ"

    def phases(self, problem: Problem) -> int:
        """⌈log₂ ρ⌉ in units of the pair that is easiest to tell apart; at least 2."""
        whole = self._rho(problem, np.arange(problem.n_items))
        return max(2, math.ceil(math.log2(max(whole, 1.0))))

    def design(self, problem: Problem, alive: NDArray[np.int64]) -> Array:
        """For all pairs."""
        return plan(problem, pairs(problem.items[alive]), tol=self.tol).weights

    def kept(self, problem: Problem, state: Spent) -> int:
        """By bisection: ρ grows with the part of the ranking."""
        limit = self._rho(problem, state.alive) / 2.0
        low, high = 1, state.alive.size
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._rho(problem, state.alive[:middle]) <= limit else (low, middle)
        return low

    def _rho(self, problem: Problem, items: NDArray[np.int64]) -> float:
        """The least largest variance of a difference, after one measurement, in units of outcomes."""
        return plan(problem, pairs(problem.items[np.sort(items)]), tol=self.tol).rho if items.size > 1 else 0.0
