"""Elements: what has been measured of each, and the sets that come close to the best one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Standing
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, Goal
from probewise.goals.best_set import BestSet
from probewise.measurements import Measurements
from probewise.oracles import Members, Oracle
from probewise.problem import Problem


@dataclass(frozen=True, eq=False)
class Elements:
    """The measurements of each of n elements, in the direction in which more is better."""

    count: Counts
    """(n,): how often each was measured."""
    mean: Array
    """(n,): the mean of its outcomes, 0 without any."""
    noise: Array
    """(n,): σ², the variance proxy of one outcome."""

    @classmethod
    def none(cls, problem: Problem) -> Elements:
        """Before the first measurement."""
        n = problem.n_probes
        return cls(np.zeros(n, dtype=np.int64), np.zeros(n), problem.sigma**2)

    def told(self, problem: Problem, measurements: Measurements) -> Elements:
        """With the measurements of a round."""
        count = self.count + measurements.count
        share = measurements.count / np.maximum(count, 1)
        mean = self.mean + share * (values(problem, measurements.mean) - self.mean)
        return Elements(count, mean, self.noise)

    @property
    def variance(self) -> Array:
        """(n,): of each mean; infinite without a measurement."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.noise / self.count)


def oracle_of(goal: Goal) -> Oracle:
    """The family of sets that a question is about."""
    if not isinstance(goal, BestSet):
        raise InvalidAlgorithm(f"an algorithm for sets answers BestSet, got the question '{goal.name}'.")
    return goal.oracle


def values(problem: Problem, outcomes: Array) -> Array:
    """(n,): outcomes of the probes as values of the items, which are the probes or, to minimise, their negatives."""
    return -outcomes if np.array_equal(problem.items[0], -problem.probes[0]) else outcomes


def rivals(oracle: Oracle, weights: Array, leader: Members) -> NDArray[np.bool_]:
    """(k, n): for each element the best set that has it though the leader has not, or lacks it though the leader has.

    In a family of which no set contains another, every set but the leader has an element that the leader lacks.
    """
    only, found = np.zeros(leader.size, dtype=np.bool_), {}
    for element in range(leader.size):
        only[element] = True
        own = oracle.best_with(weights, **{"barred" if leader[element] else "forced": only})
        only[element] = False
        if own[element] != leader[element]:
            found[own.tobytes()] = own  # each once
    return np.array([*found.values()], dtype=np.bool_).reshape(-1, leader.size)


def only_set(oracle: Oracle) -> Members | None:
    """(n,): the set of a family that has no other one; None if it has several."""
    one = oracle.best(np.zeros(oracle.size))
    other = oracle.best(np.where(one, -1.0, 1.0))  # any other set has fewer of its elements, and some more
    return one if np.array_equal(one, other) else None


def members(chosen: Members) -> Answer:
    """The elements of a set as an answer."""
    return tuple(int(element) for element in np.flatnonzero(chosen))


def standing_of(leader: Members | None, possible: Members, answer: Answer | None) -> Standing:
    """The elements that may be in the answer; once there is one, its own."""
    if answer is not None:
        return Standing(np.array(answer, dtype=np.int64), answer, 1.0)
    return Standing(np.flatnonzero(possible), () if leader is None else members(leader), None)
