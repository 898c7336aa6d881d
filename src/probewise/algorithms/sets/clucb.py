"""CLUCB: confidence bounds of single elements, and the oracle at the bounds that are worst for the leader."""

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
from probewise.oracles import Members
from probewise.problem import Problem


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Between two rounds."""

    data: Elements
    leader: Members | None
    """(n,): the best set at the means; None before every element was measured."""
    rival: Members | None
    """(n,): the best set at the bounds that are worst for the leader."""
    radius: Array | None
    """(n,): of the interval of each element."""
    found: bool


@dataclass(frozen=True)
class CLUCB(Algorithm[_Bounds]):
    """Measures, of the elements in which the leader and its worst rival differ, the one that is known least.

    The bounds hold whatever is measured, so that several elements may be measured at once (``lazy``).
    """

    lazy: float = 0.0
    """0: one measurement at a time, as published; else elements known nearly as little, each by this share more."""

    name: ClassVar[str] = "clucb"
    summary: ClassVar[str] = "The least known element in which the leader differs from its worst rival, one by one."
    reference: ClassVar[str] = "Chen, Lin, King, Lyu, Chen 2014, Algorithm 1"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestSet,)

    def __post_init__(self) -> None:
        if not 0 <= self.lazy <= 1:
            raise InvalidAlgorithm(f"lazy must lie between 0 and 1, got {self.lazy!r}; 0 is as published.")

    @property
    def proven(self) -> bool:
        """It is: docs/sets.md, Theorem 2."""
        return True

    def init(self, problem: Problem, goal: Goal) -> _Bounds:
        """Nothing is known; a family of a single set needs no measurement."""
        only = only_set(oracle_of(goal))
        return _Bounds(Elements.none(problem), only, None, None, only is not None)

    def ask(self, problem: Problem, goal: Goal, state: _Bounds, rng: np.random.Generator) -> Counts:
        """Each element once; then the least known of those in which leader and rival differ."""
        counts = np.zeros(problem.n_probes, dtype=np.int64)
        if state.leader is None or state.rival is None or state.radius is None:
            return np.asarray(np.where(state.data.count == 0, 1, counts), dtype=np.int64)
        open_to = np.where(state.leader != state.rival, state.radius, -1.0)
        if self.lazy == 0.0:
            counts[int(np.argmax(open_to))] = 1
            return counts
        wide = open_to >= (1.0 - self.lazy) * open_to.max()
        return np.asarray(np.where(wide, np.ceil(self.lazy * state.data.count), 0), dtype=np.int64)

    def tell(self, problem: Problem, goal: Goal, state: _Bounds, measurements: Measurements) -> _Bounds:
        """M at the means, M̃ at the means less the radius in M and plus the radius outside."""
        data, oracle = state.data.told(problem, measurements), oracle_of(goal)
        if not data.count.all():
            return _Bounds(data, None, None, None, False)
        leader = oracle.best(data.mean)
        t = int(data.count.sum())
        radius = np.sqrt(2.0 * math.log(4.0 * data.count.size * t**3 / goal.delta) * data.variance)
        worst = data.mean + np.where(leader, -radius, radius)
        rival = oracle.best(worst)
        ahead = float(worst[rival].sum() - worst[leader].sum())
        return _Bounds(data, leader, rival, radius, ahead <= goal.epsilon or bool((rival == leader).all()))

    def answer(self, problem: Problem, goal: Goal, state: _Bounds) -> Answer | None:
        """M, once M̃ is no better than M at the bounds that are worst for M."""
        return members(state.leader) if state.found and state.leader is not None else None

    def standing(self, problem: Problem, goal: Goal, state: _Bounds) -> Standing:
        """Every element until the end; the leader's are the guess."""
        everywhere = np.ones(problem.n_probes, dtype=np.bool_)
        return standing_of(state.leader, everywhere, self.answer(problem, goal, state))
