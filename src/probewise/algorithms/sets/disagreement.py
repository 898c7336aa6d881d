"""Disagreement: all elements that some plausible set and the leader do not agree on, equally often."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.sets.elements import Elements, members, oracle_of, standing_of
from probewise.confidence import spent
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, Goal
from probewise.goals.best_set import BestSet
from probewise.measurements import Measurements
from probewise.oracles import Members, Oracle
from probewise.problem import Problem


@dataclass(frozen=True, eq=False)
class _Region:
    """Between two rounds: which elements are still open."""

    data: Elements
    open: Members
    """(n,): elements on which plausible sets disagree."""
    settled: Members
    """(n,): those that are settled, and are in the best set."""
    leader: Members | None
    check: int
    units: float
    """Measurements of each open element per unit of its variance at the next check, fixed beforehand."""
    found: bool = False


@dataclass(frozen=True)
class Disagreement(Algorithm[_Region]):
    """Uniform over the elements on which plausible sets disagree; a set is implausible if it is too far behind.

    How far depends on the number of elements in which it differs from the leader: the union bound is over the sets at
    each distance (``Oracle.log_neighbours``), not over all.
    """

    growth: float = 1.2
    """Factor by which the measurements of an open element grow between checks."""

    name: ClassVar[str] = "disagreement"
    summary: ClassVar[str] = "Equally often every element on which plausible sets disagree."
    reference: ClassVar[str] = "Cao, Krishnamurthy 2019; constants derived in docs/sets.md"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestSet,)

    def __post_init__(self) -> None:
        if not 1 < self.growth < math.inf:
            raise InvalidAlgorithm(f"growth must be larger than 1, got {self.growth!r}; 1.1 to 2 is usual.")

    @property
    def proven(self) -> bool:
        """It is: docs/sets.md, Theorem 3."""
        return True

    def init(self, problem: Problem, goal: Goal) -> _Region:
        """Every element on which any two sets disagree is open."""
        n, oracle = problem.n_probes, oracle_of(goal)
        leader = oracle.best(np.zeros(n))
        start = _Region(Elements.none(problem), np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_), None, 0, 1.0)
        return _settled(oracle, start, leader, np.where(leader, -1.0, 1.0))

    def ask(self, problem: Problem, goal: Goal, state: _Region, rng: np.random.Generator) -> Counts:
        """As many of each open element, in proportion to its variance, as the next check wants."""
        wanted = np.ceil(state.units * state.data.noise / state.data.noise.min())
        return np.asarray(np.where(state.open, np.maximum(wanted - state.data.count, 1.0), 0.0), dtype=np.int64)

    def tell(self, problem: Problem, goal: Goal, state: _Region, measurements: Measurements) -> _Region:
        """Settle every element on which all plausible sets agree with the leader."""
        data, oracle = state.data.told(problem, measurements), oracle_of(goal)
        if not data.count[state.open].all():
            return replace(state, data=data)
        check, shut = state.check + 1, ~state.open & ~state.settled
        leader = oracle.best_with(data.mean, forced=state.settled, barred=shut)
        level = oracle.log_neighbours + math.log(data.count.size / spent(goal.delta, check))
        margin = math.sqrt(2.0 * float(data.variance[state.open].max()) * level)
        weights = data.mean + np.where(leader, -margin, margin)
        units = max(state.units + 1.0, self.growth * state.units)
        state = replace(state, data=data, check=check, leader=leader, units=units)
        ahead = oracle.best_with(weights, forced=state.settled, barred=shut)
        if weights[ahead].sum() - weights[leader].sum() <= goal.epsilon:
            return replace(state, found=True)
        return _settled(oracle, state, leader, weights)

    def answer(self, problem: Problem, goal: Goal, state: _Region) -> Answer | None:
        """The leader, once no other set can be ahead of it by more than epsilon."""
        if state.open.any() and not state.found:
            return None
        return members(state.settled if state.leader is None or not state.found else state.leader)

    def standing(self, problem: Problem, goal: Goal, state: _Region) -> Standing:
        """Elements that are open, or settled and in."""
        return standing_of(state.leader, state.open | state.settled, self.answer(problem, goal, state))


def _settled(oracle: Oracle, state: _Region, leader: Members, weights: Array) -> _Region:
    """Open stay the elements in which the leader differs from a set that is no lighter by ``weights`` (n,)."""
    shut, at = ~state.open & ~state.settled, float(weights[leader].sum())
    at -= 1e-12 * float(np.abs(weights).sum())  # what is equal up to rounding is not lighter
    still, only = np.zeros(leader.size, dtype=np.bool_), np.zeros(leader.size, dtype=np.bool_)
    for element in np.flatnonzero(state.open):
        if still[element]:
            continue
        only[element] = True
        forced = state.settled if leader[element] else state.settled | only
        barred = shut | only if leader[element] else shut
        rival = oracle.best_with(weights, forced=forced, barred=barred)
        only[element] = False
        allowed = not (rival & shut).any() and bool(rival[state.settled].all()) and rival[element] != leader[element]
        if allowed and float(weights[rival].sum()) >= at:
            still |= state.open & (rival != leader)
    return replace(state, open=still, settled=state.settled | (state.open & ~still & leader))
