"""CombGame: a player who weighs elements against one who answers with the closest set, found by the oracle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.sets.elements import Elements, members, only_set, oracle_of, rivals, standing_of
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, Goal
from probewise.goals.best_set import BestSet
from probewise.measurements import Measurements
from probewise.oracles import Members
from probewise.problem import Problem


@dataclass(frozen=True, eq=False)
class _Game:
    """Between two rounds."""

    data: Elements
    leader: Members | None
    gains: Array
    """(n,): the sum of what each element would have gained."""
    steps: int
    found: bool


@dataclass(frozen=True)
class CombGame(Algorithm[_Game]):
    """Hedge over elements, whose gains are what each tells about the closest set; the stopping rule is a heuristic.

    The closest set is the best of those with, or without, each element. The likelihood ratio of every such set must
    exceed log((1 + log t)/δ), as in the published comparisons; no proof covers that.
    """

    batch: float = 0.05
    """Share of the measurements so far that one step of the game makes."""

    name: ClassVar[str] = "comb-game"
    summary: ClassVar[str] = "A game between weights on elements and the closest set; stops by a heuristic."
    reference: ClassVar[str] = "after Jourdan, Mutný, Kirschner, Krause 2021"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestSet,)

    def __post_init__(self) -> None:
        if not 0 < self.batch <= 1:
            raise InvalidAlgorithm(f"batch must lie between 0 and 1, got {self.batch!r}; 0.05 is usual.")

    @property
    def proven(self) -> bool:
        """No: the threshold is a heuristic."""
        return False

    def init(self, problem: Problem, goal: Goal) -> _Game:
        """Nothing is known; a family of a single set needs no measurement."""
        only = only_set(oracle_of(goal))
        return _Game(Elements.none(problem), only, np.zeros(problem.n_probes), 0, only is not None)

    def ask(self, problem: Problem, goal: Goal, state: _Game, rng: np.random.Generator) -> Counts:
        """Each element once; then by the weights of the player, tracked in whole measurements."""
        if state.leader is None:
            return np.asarray(np.where(state.data.count == 0, 1, 0), dtype=np.int64)
        n, total = problem.n_probes, int(state.data.count.sum())
        # Hedge with a rate that follows the size of the gains, and a small share for all
        rate = math.sqrt(math.log(n) / max(float((state.gains**2).mean()), 1e-300)) * math.sqrt(max(state.steps, 1))
        weights = np.exp(np.minimum(rate * (state.gains - state.gains.max()) / max(state.steps, 1), 0.0))
        weights = 0.9 * weights / weights.sum() + 0.1 / n
        size = max(1, math.ceil(self.batch * total))
        wanted = weights * (total + size) - state.data.count
        counts = np.floor(np.maximum(wanted, 0.0) * min(1.0, size / max(float(np.maximum(wanted, 0.0).sum()), 1e-300)))
        counts[int(np.argmax(wanted))] += 1.0
        return np.asarray(counts, dtype=np.int64)

    def tell(self, problem: Problem, goal: Goal, state: _Game, measurements: Measurements) -> _Game:
        """The closest set under the measurements so far, what each element tells about it, and whether to stop."""
        data, oracle = state.data.told(problem, measurements), oracle_of(goal)
        if not data.count.all():
            return _Game(data, None, state.gains, 0, False)
        leader = oracle.best(data.mean)
        others = rivals(oracle, data.mean, leader)
        differ = others != leader
        gaps = np.maximum(data.mean[leader].sum() - others @ data.mean + goal.epsilon, 0.0)
        variances = differ @ data.variance
        ratios = gaps**2 / (2.0 * variances)
        closest = int(np.argmin(ratios))
        total = int(data.count.sum())
        # the alternative moves element e by variance_e·gap/Σvariance; the player gains half of its square over σ²
        moved = data.variance * (gaps[closest] / variances[closest]) * differ[closest]
        bonus = np.sqrt(2.0 * math.log(total) * data.variance)
        gains = state.gains + 0.5 * (moved + bonus) ** 2 / data.noise
        level = math.log((1.0 + math.log(total)) / goal.delta)
        return _Game(data, leader, gains, state.steps + 1, bool(ratios[closest] > level))

    def answer(self, problem: Problem, goal: Goal, state: _Game) -> Answer | None:
        """The leader, once the closest set is far enough away."""
        return members(state.leader) if state.found and state.leader is not None else None

    def standing(self, problem: Problem, goal: Goal, state: _Game) -> Standing:
        """Every element until the end; the leader's are the guess."""
        everywhere = np.ones(problem.n_probes, dtype=np.bool_)
        return standing_of(state.leader, everywhere, self.answer(problem, goal, state))
