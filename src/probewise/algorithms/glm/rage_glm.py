"""RAGE-GLM: a burn-in, then rounds of an optimal design at the estimate of the round before, each with fresh data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.glm.models import canonical, estimate, local
from probewise.algorithms.planning import Weighted, plan
from probewise.coordinates import Array, Counts
from probewise.design import explicit, points
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, BestItem, Goal
from probewise.likelihood import Fit
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design, sufficient_measurements

WIDTH = 3.5
"""Of the confidence bound: |x'(θ̂-θ)| ≤ 3.5·‖x‖·√log(…)."""
MOST = 300
"""Items of which all pairs are listed."""


@dataclass(frozen=True, eq=False)
class _Phase:
    """Before round k; 0 is the burn-in."""

    k: int
    survivors: NDArray[np.int64]
    fit: Fit | None
    counts: Counts


@dataclass(frozen=True)
class RageGLM(Algorithm[_Phase]):
    """Fresh data in each round, a design for the survivors at the last estimate, and elimination at 2^-k.

    The burn-in, and with it all else, needs a bound on the norm of θ: it grows as exp(norm).
    """

    norm_bound: float
    """S, at least the Euclidean norm of θ."""
    rounding: float = 0.2
    """ε of the rounding."""

    name: ClassVar[str] = "rage-glm"
    summary: ClassVar[str] = "A burn-in, then rounds of an optimal design at the estimate, with fresh data each."
    reference: ClassVar[str] = "Jun, Jain, Mason, Nassif 2021; its theorem is cited, not proved here"
    needs: ClassVar[str] = "a bound on the norm of θ"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)
    links: ClassVar[tuple[str, ...]] = ("logit",)

    def __post_init__(self) -> None:
        if not 0 < self.norm_bound < math.inf:
            raise InvalidAlgorithm(f"norm_bound must be positive and finite, got {self.norm_bound!r}.")
        if not 0 < self.rounding < 1:
            raise InvalidAlgorithm(f"rounding must lie strictly between 0 and 1, got {self.rounding!r}; 0.2 is usual.")

    @property
    def proven(self) -> bool:
        """No: the proof is in the paper, and is not repeated here."""
        return False

    def init(self, problem: Problem, goal: Goal) -> _Phase:
        """The burn-in: κ₀⁻¹·d·γ·log(2n(2+n)/δ), times 3(1+ε), by the design that knows all probes equally well."""
        law, survivors = canonical(problem, self.name), np.arange(problem.n_items)
        if problem.n_items > MOST:
            raise InvalidAlgorithm(f"{self.name} lists all pairs of items, of at most {MOST}, got {problem.n_items}.")
        if problem.n_items == 1:
            return _Phase(0, survivors, None, np.zeros(problem.n_probes, dtype=np.int64))
        largest = self.norm_bound * float(np.linalg.norm(problem.probes, axis=1).max())
        slowest = float(law.information(np.array([largest]))[0])
        plain = replace(problem, outcome=type(law)())
        design = plan(plain, points(problem.probes), tol=0.01)
        # the unit of scaled probes is the information at 0
        value = design.rho * float(law.information(np.zeros(1))[0]) / slowest
        n = _several(problem)
        size = (
            3.0 * (1.0 + self.rounding) * value * _burn_in(problem, goal) * math.log(2.0 * n * (2.0 + n) / goal.delta)
        )
        return _Phase(0, survivors, None, self._rounded(problem, design, size))

    def ask(self, problem: Problem, goal: Goal, state: _Phase, rng: np.random.Generator) -> Counts:
        """What was planned."""
        return state.counts

    def tell(self, problem: Problem, goal: Goal, state: _Phase, measurements: Measurements) -> _Phase:
        """The estimate from this round only; after the burn-in, drop who is 2^-k behind."""
        fit = estimate(problem, measurements)
        scores = problem.items[state.survivors] @ fit.theta
        kept = scores > scores.max() - 2.0**-state.k if state.k else np.ones(scores.size, dtype=np.bool_)
        after = _Phase(state.k + 1, state.survivors[kept], fit, state.counts)
        if self.answer(problem, goal, after) is not None:
            return after
        return replace(after, counts=self._planned(problem, goal, after, fit))

    def answer(self, problem: Problem, goal: Goal, state: _Phase) -> Answer | None:
        """The survivor, or the leader once the next round would look below epsilon."""
        if state.survivors.size > 1 and (state.fit is None or 2.0 ** -(state.k - 1) > goal.epsilon or state.k < 2):
            return None
        return (_first(problem, state),)

    def standing(self, problem: Problem, goal: Goal, state: _Phase) -> Standing:
        """The survivors, and who leads."""
        answer = self.answer(problem, goal, state)
        guess = answer if answer is not None else () if state.fit is None else (_first(problem, state),)
        return Standing(state.survivors, guess, None if answer is None else 1.0)

    def _planned(self, problem: Problem, goal: Goal, phase: _Phase, fit: Fit) -> Counts:
        """f(λ) = max{γ·max‖x‖², (2·2^k·3.5)²·max‖z-z'‖²} at the last estimate, and 3(1+ε)·f·log(1/δ_k)."""
        there, items = local(problem, fit), problem.items[phase.survivors]
        first, second = np.triu_indices(len(items), 1)
        scale = 2.0 * 2.0**phase.k * WIDTH
        gamma = math.sqrt(_burn_in(problem, goal))
        design = plan(
            there, explicit(np.vstack([gamma * problem.probes, scale * (items[first] - items[second])])), tol=0.05
        )
        n = _several(problem)
        log = math.log(2.0 * phase.k**2 * n * (2.0 + n) / goal.delta)
        return self._rounded(there, design, 3.0 * (1.0 + self.rounding) * design.rho * log)

    def _rounded(self, problem: Problem, design: Weighted, size: float) -> Counts:
        support = int(np.count_nonzero(design.weights))
        least = sufficient_measurements(self.rounding, support=support, dimension=problem.coordinates.rank)
        return round_design(design.weights, max(math.ceil(size), least), probes=problem.scaled_probes).counts


def _burn_in(problem: Problem, goal: Goal) -> float:
    """γ = d + log(6(2+n)/δ)."""
    return problem.dimension + math.log(6.0 * (2.0 + _several(problem)) / goal.delta)


def _several(problem: Problem) -> int:
    """n: probes or items, whichever are more; in the paper they are the same."""
    return max(problem.n_probes, problem.n_items)


def _first(problem: Problem, state: _Phase) -> int:
    scores: Array = np.zeros(1) if state.fit is None else problem.items[state.survivors] @ state.fit.theta
    return int(state.survivors[int(np.argmax(scores))])
