"""PeaceSets: rounds by the Gaussian width of what is left, found by the oracle (Peace for combinatorial problems)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.sets.elements import Elements, members, only_set, oracle_of, standing_of
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, Goal
from probewise.goals.best_set import BestSet
from probewise.measurements import Measurements
from probewise.oracles import Members, Oracle
from probewise.problem import Problem

STEPS, RATE, DRAWS, RATIOS = 200, 0.05, 100, 8
"""Steps on the weights and their size, normal vectors for the width, and steps to the largest ratio."""


@dataclass(frozen=True, eq=False)
class _Phase:
    """Before round k."""

    k: int
    data: Elements
    leader: Members | None
    found: bool


@dataclass(frozen=True)
class PeaceSets(Algorithm[_Phase]):
    """Weights that minimise E max_z (l-z)'A^(-1/2)g/(2^-k·B + gap), g normal, and as many measurements as that says.

    As published for combinatorial problems, with all data pooled; that the constants are enough is not proved here.
    """

    scale: float | None = None
    """B, at least the largest difference of two sets; by default 2n, for values between -1 and 1."""

    name: ClassVar[str] = "peace-sets"
    summary: ClassVar[str] = "Rounds by the Gaussian width of the sets that are left; stops by its largest error."
    reference: ClassVar[str] = "Katz-Samuels, Jain, Karnin, Jamieson 2020, combinatorial version"
    needs: ClassVar[str] = "a bound on the difference of two sets"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestSet,)

    def __post_init__(self) -> None:
        if self.scale is not None and not 0 < self.scale < math.inf:
            raise InvalidAlgorithm(f"scale must be positive and finite, got {self.scale!r}.")

    @property
    def proven(self) -> bool:
        """No."""
        return False

    def init(self, problem: Problem, goal: Goal) -> _Phase:
        """Nothing is known; a family of a single set needs no measurement."""
        only = only_set(oracle_of(goal))
        return _Phase(0, Elements.none(problem), only, only is not None)

    def ask(self, problem: Problem, goal: Goal, state: _Phase, rng: np.random.Generator) -> Counts:
        """Each element once; then 4τ·log(π²k³/3δ) measurements, τ the square of the width."""
        if state.leader is None:
            return np.asarray(np.where(state.data.count == 0, 1, 0), dtype=np.int64)
        game = _Width(oracle_of(goal), state.data, state.leader, self._shift(problem, state.k))
        weights = game.weights(rng)
        log = math.log(math.pi**2 * state.k**3 / (3.0 * goal.delta))
        size = max(4.0 * math.ceil(game.width(weights, rng) ** 2 * log), problem.n_probes)
        return np.maximum(np.ceil(weights * size), 1.0).astype(np.int64)

    def tell(self, problem: Problem, goal: Goal, state: _Phase, measurements: Measurements) -> _Phase:
        """The leader, and whether every other set is more than B/2^(k+1) behind."""
        data, oracle = state.data.told(problem, measurements), oracle_of(goal)
        if not data.count.all():
            return _Phase(0, data, None, False)
        leader = oracle.best(data.mean)
        if state.k == 0:
            return _Phase(1, data, leader, False)
        error = self._shift(problem, state.k) / 2.0
        ahead = _lead(oracle, data.mean, leader)
        return _Phase(state.k + 1, data, leader, ahead > error or error <= goal.epsilon)

    def answer(self, problem: Problem, goal: Goal, state: _Phase) -> Answer | None:
        """The leader, once it is far enough ahead."""
        return members(state.leader) if state.found and state.leader is not None else None

    def standing(self, problem: Problem, goal: Goal, state: _Phase) -> Standing:
        """Every element until the end; the leader's are the guess."""
        everywhere = np.ones(problem.n_probes, dtype=np.bool_)
        return standing_of(state.leader, everywhere, self.answer(problem, goal, state))

    def _shift(self, problem: Problem, k: int) -> float:
        """2^-k·B."""
        return (2.0 * problem.n_probes if self.scale is None else self.scale) * 2.0**-k


@dataclass(frozen=True, eq=False)
class _Width:
    """E max_z (l-z)'(σ·λ^(-1/2)·g)/(shift + gap), and the weights λ that make it small."""

    oracle: Oracle
    data: Elements
    leader: Members
    shift: float

    def weights(self, rng: np.random.Generator) -> Array:
        """(n,): by steps against the gradient at one normal vector each, on the logs of the weights; their average."""
        n = self.leader.size
        logs, average = np.zeros(n), np.zeros(n)
        for _ in range(STEPS):
            now = np.exp(logs - logs.max())
            now /= now.sum()
            noise = np.sqrt(self.data.noise / now) * rng.standard_normal(n)
            rival, ratio = self.farthest(noise)
            sign = self.leader.astype(np.float64) - rival
            gap = float(sign @ self.data.mean)
            slope = -0.5 * sign * noise / (self.shift + gap)  # λ·∂/∂λ of the ratio
            slope -= now * slope.sum()
            logs -= RATE * n * slope / max(ratio, 1e-300)
            logs = np.maximum(logs, logs.max() - math.log(1e4 * n))
            average += now / STEPS
        return average

    def width(self, weights: Array, rng: np.random.Generator) -> float:
        """The mean over normal vectors."""
        scale = np.sqrt(self.data.noise / weights)
        return float(np.mean([self.farthest(scale * rng.standard_normal(weights.size))[1] for _ in range(DRAWS)]))

    def farthest(self, noise: Array) -> tuple[Members, float]:
        """The set with the largest (l-z)'noise/(shift + (l-z)'θ̂), by Dinkelbach's steps; at least 0, that of l."""
        mean, leader, ratio, rival = self.data.mean, self.leader, 0.0, self.leader
        for _ in range(RATIOS):
            other = self.oracle.best(ratio * mean - noise)
            top = float(noise[leader].sum() - noise[other].sum())
            reached = top / (self.shift + float(mean[leader].sum() - mean[other].sum()))
            if reached <= ratio * (1.0 + 1e-9):
                break
            ratio, rival = reached, other
        return rival, ratio


def _lead(oracle: Oracle, mean: Array, leader: Members) -> float:
    """How far the second best set is behind: it lacks an element of the best."""
    only, second = np.zeros(leader.size, dtype=np.bool_), -math.inf
    for element in np.flatnonzero(leader):
        only[element] = True
        other = oracle.best_with(mean, barred=only)
        only[element] = False
        if not other[element]:
            second = max(second, float(mean[other].sum()))
    return float(mean[leader].sum()) - second
