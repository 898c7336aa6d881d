"""Peace: rounds of designs for the Gaussian width of the items left, so that the union bound is small."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.planning import plan
from probewise.confidence import spent
from probewise.coordinates import Array, Counts
from probewise.design import pairs
from probewise.elimination import behind
from probewise.errors import InvalidAlgorithm
from probewise.estimate import Estimate, least_squares
from probewise.goals import Answer, BestItem, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design, sufficient_measurements


@dataclass(frozen=True, eq=False)
class _Phase:
    """Before a round: the items left, and what is planned."""

    t: int
    survivors: NDArray[np.int64]
    counts: Counts | None
    width: float
    scores: Array | None


@dataclass(frozen=True)
class Peace(Algorithm[_Phase]):
    """Items behind by the width E sup + √(2ρ log 1/δ_t) of all differences at once are dropped (Borell and Tsirelson).

    The width takes the place of the log of the number of items. It is that of Gaussian noise, and the expected supremum
    is found by simulation, with three standard errors on top: so it is heuristic.
    """

    draws: int = 1000
    """Gaussian vectors by which an expected supremum is found."""
    tol: float = 1e-2
    """Certified relative gap of the designs for the largest variance."""
    seed: int = 0
    """Of these vectors, which are the same in every round."""

    name: ClassVar[str] = "peace"
    summary: ClassVar[str] = "Rounds of designs for the Gaussian width of the items left, then elimination."
    reference: ClassVar[str] = "Katz-Samuels, Jain, Karnin, Jamieson 2020, Algorithm 1"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)

    def __post_init__(self) -> None:
        if isinstance(self.draws, bool) or not isinstance(self.draws, int) or self.draws < 10:
            raise InvalidAlgorithm(f"draws must be a whole number of at least 10, got {self.draws!r}; 1000 is usual.")

    @property
    def proven(self) -> bool:
        """The width is simulated, and holds for Gaussian noise only."""
        return False

    def init(self, problem: Problem, goal: Goal) -> _Phase:
        """All items are left."""
        return self._planned(problem, goal, _Phase(1, np.arange(problem.n_items), None, math.inf, None))

    def ask(self, problem: Problem, goal: Goal, state: _Phase, rng: np.random.Generator) -> Counts:
        """The round."""
        assert state.counts is not None
        return state.counts

    def tell(self, problem: Problem, goal: Goal, state: _Phase, measurements: Measurements) -> _Phase:
        """θ̂ from this round only; drop every item that is behind by the width."""
        fit = least_squares(problem.probes, measurements, sigma=problem.sigma)
        items = problem.items[state.survivors]
        width = self._width(goal, state, items, fit)
        values = (items - items[0]) @ fit.theta
        lost = behind(values, width)
        now = _Phase(state.t + 1, state.survivors[~lost], None, width, values[~lost])
        return self._planned(problem, goal, now)

    def answer(self, problem: Problem, goal: Goal, state: _Phase) -> Answer | None:
        """The last item, or the one in front once no difference is unknown by more than epsilon."""
        if state.survivors.size > 1 and state.width > goal.epsilon:
            return None
        return (int(state.survivors[0 if state.scores is None else np.argmax(state.scores)]),)

    def standing(self, problem: Problem, goal: Goal, state: _Phase) -> Standing:
        """The items left, and the one that the last round puts first."""
        guess = () if state.scores is None else (int(state.survivors[np.argmax(state.scores)]),)
        answer = self.answer(problem, goal, state)
        return Standing(state.survivors, guess if answer is None else answer, None if answer is None else 1.0)

    def _planned(self, problem: Problem, goal: Goal, phase: _Phase) -> _Phase:
        """Half for the largest variance, half for the Gaussian width; as many as halve the width."""
        if self.answer(problem, goal, phase) is not None:
            return phase
        items = problem.items[phase.survivors]
        weights = plan(problem, pairs(items), tol=self.tol).weights
        weights = 0.5 * weights + 0.5 * _for_width(problem, items, weights, self._normals(problem.coordinates.rank))
        rate = self._rate(problem, goal, phase, items, weights)
        wanted = max(phase.width / 2.0, goal.epsilon)
        support = int(np.count_nonzero(weights))
        least = sufficient_measurements(0.1, support=support, dimension=problem.coordinates.rank)
        n = max(math.ceil(1.1 * (rate / wanted) ** 2), least)
        return replace(phase, counts=round_design(weights, n, probes=problem.scaled_probes).counts)

    def _normals(self, rank: int) -> Array:
        return np.random.default_rng(self.seed).standard_normal((self.draws, rank))

    def _rate(self, problem: Problem, goal: Goal, phase: _Phase, items: Array, weights: Array) -> float:
        """The width after one measurement by the weights."""
        whole = Measurements(
            np.ones(problem.n_probes, dtype=np.int64), np.zeros(problem.n_probes), np.zeros(problem.n_probes)
        )
        fit = least_squares(np.sqrt(np.maximum(weights, 1e-300))[:, None] * problem.probes, whole, sigma=problem.sigma)
        return self._width(goal, phase, items, fit)

    def _width(self, goal: Goal, phase: _Phase, items: Array, fit: Estimate) -> float:
        """E sup of all differences, with three standard errors, and √(2ρ log 1/δ_t); infinite if one is unknown."""
        rho = fit.largest_variance(pairs(items)) if items.shape[0] > 1 else 0.0
        if math.isinf(rho):
            return math.inf
        suprema = np.ptp((items - items[0]) @ fit.whitener @ self._normals(fit.rank).T, axis=0)
        mean = float(suprema.mean() + 3.0 * suprema.std() / math.sqrt(suprema.size))
        return mean + math.sqrt(2.0 * rho * math.log(1.0 / spent(goal.delta, phase.t)))


def _for_width(problem: Problem, items: Array, weights: Array, normals: Array) -> Array:
    """(n,): weights for a small E sup, by steps that lower the mean y'A⁻¹y of the differences which attain it."""
    probes = problem.coordinates.probes
    rows = problem.coordinates(items - items[0])
    weights = 0.9 * weights + 0.1 / weights.size
    for _ in range(_STEPS):
        values, vectors = np.linalg.eigh(probes.T @ (weights[:, None] * probes))
        root = vectors / np.sqrt(values)
        projected = (rows @ root) @ normals[:_FEW].T
        largest = rows[projected.argmax(axis=0)] - rows[projected.argmin(axis=0)]
        inverse = root @ root.T
        slopes = (((probes @ inverse) @ largest.T) ** 2).mean(axis=1) / problem.cost
        weights = weights * np.sqrt(slopes)
        weights = 0.99 * weights / weights.sum() + 0.01 / weights.size  # all of the span stays determined
    return np.asarray(
        np.where(weights > 0.02 / weights.size, weights, 0.0) / weights[weights > 0.02 / weights.size].sum()
    )


_STEPS, _FEW = 30, 200
"""Steps of the multiplicative rule, and Gaussian vectors in each."""
