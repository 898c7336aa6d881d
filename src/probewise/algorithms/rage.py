"""RAGE: rounds of an optimal design on the surviving items, each followed by elimination (the paper's Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.planning import Solver, check_solver, plan
from probewise.confidence import spent
from probewise.coordinates import Array, Counts
from probewise.design import pairs
from probewise.elimination import behind, eliminated
from probewise.errors import InvalidAlgorithm
from probewise.estimate import Estimate, least_squares
from probewise.goals import Answer, BestItem, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design, sufficient_measurements

Variant = Literal["paper", "code", "tight"]


@dataclass(frozen=True, eq=False)
class _Phase:
    """Before round t: the survivors, and what is planned."""

    t: int
    survivors: NDArray[np.int64]
    counts: Counts | None
    width: float
    scores: Array | None
    """Scores of the survivors, from the last round."""


@dataclass(frozen=True)
class Rage(Algorithm[_Phase]):
    """Randomized adaptive gap elimination, which is not randomised.

    "paper": Algorithm 1 to the letter. "code": what its authors ran, with |Z| where the code has |X| in the union
    bound. "tight": one-sided comparisons with the best item only, realised widths, Σδ_t = δ, and a first round of
    the least size, so that no scale of the gaps is presumed.
    """

    variant: Variant = "tight"
    """Which variant of RAGE: "paper", "code" or "tight"."""
    rounding: float | None = None
    """ε of the rounding; 1/5 in the paper, 1/10 in the code and for "tight"."""
    tol: float = 1e-2
    """Certified relative gap of the designs."""
    solver: Solver = "certified"
    """How designs are found; "frank-wolfe" is the authors'."""

    name: ClassVar[str] = "rage"
    summary: ClassVar[str] = "Rounds of an optimal design for the pairs of surviving items, then elimination."
    reference: ClassVar[str] = "Fiez, Jain, Jamieson, Ratliff 2019, Algorithm 1"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)

    def __post_init__(self) -> None:
        if self.variant not in ("paper", "code", "tight"):
            raise InvalidAlgorithm(f"variant must be 'paper', 'code' or 'tight', got {self.variant!r}.")
        if self.rounding is not None and not 0 < self.rounding < 1:
            raise InvalidAlgorithm(f"rounding must lie strictly between 0 and 1, got {self.rounding!r}; 0.2 is usual.")
        check_solver(self.solver)

    @property
    def proven(self) -> bool:
        """All variants are: docs/confidence.md."""
        return True

    @property
    def slack(self) -> float:
        """ε of the rounding."""
        return self.rounding if self.rounding is not None else 0.2 if self.variant == "paper" else 0.1

    def init(self, problem: Problem, goal: Goal) -> _Phase:
        """The state before round 1: all items survive."""
        return self._planned(problem, goal, _Phase(1, np.arange(problem.n_items), None, math.inf, None))

    def ask(self, problem: Problem, goal: Goal, state: _Phase, rng: np.random.Generator) -> Counts:
        """The counts ROUND(λ_t, N_t) of this phase."""
        assert state.counts is not None
        return state.counts

    def tell(self, problem: Problem, goal: Goal, state: _Phase, measurements: Measurements) -> _Phase:
        """θ̂_t from this round only; drop every survivor that another one beats; t ← t + 1."""
        fit = least_squares(problem.probes, measurements, sigma=problem.sigma)
        lost, width = self._beaten(problem, goal, state, fit)
        survivors = state.survivors[~lost]
        scores = problem.items[survivors] @ fit.theta
        return self._planned(problem, goal, _Phase(state.t + 1, survivors, None, width, scores))

    def answer(self, problem: Problem, goal: Goal, state: _Phase) -> Answer | None:
        """The survivor, or the leader once it is epsilon-good: no item can be ahead of it by more than the width."""
        if state.survivors.size > 1 and state.width > goal.epsilon:
            return None
        return (int(state.survivors[0 if state.scores is None else np.argmax(state.scores)]),)

    def standing(self, problem: Problem, goal: Goal, state: _Phase) -> Standing:
        """The survivors, and the one that the last round puts first."""
        guess = () if state.scores is None else (int(state.survivors[np.argmax(state.scores)]),)
        answer = self.answer(problem, goal, state)
        return Standing(state.survivors, guess if answer is None else answer, None if answer is None else 1.0)

    def _planned(self, problem: Problem, goal: Goal, phase: _Phase) -> _Phase:
        """λ_t, ρ_t and N_t for the survivors."""
        if self.answer(problem, goal, phase) is not None:
            return phase
        design = plan(problem, pairs(problem.items[phase.survivors]), tol=self.tol, solver=self.solver)
        n = self._measurements(problem, goal, phase, design.rho, int(np.count_nonzero(design.weights)))
        return replace(phase, counts=round_design(design.weights, n, probes=problem.scaled_probes).counts)

    def _measurements(self, problem: Problem, goal: Goal, phase: _Phase, rho: float, support: int) -> int:
        """N_t: enough for half-width 2^-(t+2) in the paper, 2^-t in the code, half of the last one in "tight"."""
        t, eps, d = phase.t, self.slack, problem.coordinates.rank
        if self.variant == "tight":
            # nothing below epsilon is of use
            halfwidth = max(phase.width / 2.0, goal.epsilon)
        else:
            halfwidth = 2.0 ** -(t + 2 if self.variant == "paper" else t)
        least = sufficient_measurements(eps, support=support, dimension=d)
        if self.variant == "paper":
            least = max(least, math.ceil((d * (d + 1) / 2 + 1) / eps))  # r(ε) as printed may be too small (E4)
        if self.variant == "code":
            least = math.ceil(2 * support / eps)
        # 8·4^(t+1)·ρ(1+ε)·log(…) of the paper, 8·4^(t-1) of the code
        return max(math.ceil(2.0 * rho * (1 + eps) * self._log(problem, goal, phase) / halfwidth**2), least)

    def _log(self, problem: Problem, goal: Goal, phase: _Phase) -> float:
        """log(|Z|²t²/δ), with 2|Z|² in the code; log((|Ẑ_t| - 1)/δ_t), δ_t = δ/(t(t+1)), in "tight"."""
        if self.variant == "tight":
            return math.log((phase.survivors.size - 1) / spent(goal.delta, phase.t))
        return math.log((1 if self.variant == "paper" else 2) * problem.n_items**2 * phase.t**2 / goal.delta)

    def _beaten(self, problem: Problem, goal: Goal, phase: _Phase, fit: Estimate) -> tuple[NDArray[np.bool_], float]:
        """Which items are beaten, and a half-width that no comparison of survivors exceeds."""
        items, factor = problem.items[phase.survivors], math.sqrt(2.0 * self._log(problem, goal, phase))
        if self.variant == "paper":
            # N_t makes the second at most the first, unless measurements were lost
            margin = max(2.0 ** -(phase.t + 2), factor * math.sqrt(fit.largest_variance(pairs(items))))
            return behind(items @ fit.theta, margin), margin
        return eliminated(items, fit, factor)
