"""SageSets: Sage for sets that are never listed, with one account for all of them at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.sets.designs import set_design
from probewise.algorithms.sets.elements import Elements, members, only_set, oracle_of, rivals, standing_of, values
from probewise.algorithms.sets.set_accounts import Accounts
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, Goal
from probewise.goals.best_set import BestSet
from probewise.measurements import Measurements
from probewise.oracles import Members
from probewise.problem import Problem

FIRST = 2
"""Measurements of each element in the first round."""
SHARE = 0.5
"""How much of a round follows the measurements so far, so that no round leaves an element behind."""
FLOOR = 0.01
"""How much of a round is spread evenly: with less than a part of all measurements an element would cost ever more."""
SPARE = 1.0
"""Nats beyond the threshold that a round is planned for."""


@dataclass(frozen=True, eq=False)
class _Race:
    """Between two rounds."""

    data: Elements
    accounts: Accounts
    leader: Members | None
    """(n,): the best set at the estimates."""
    rivals: NDArray[np.bool_]
    """(k, n): the closest other sets, one or less for each element."""
    found: bool


@dataclass(frozen=True)
class SageSets(Algorithm[_Race]):
    """Rounds for the leader against the closest set with, or without, each element; one bet against all sets at once.

    The log of an account is a sum over elements, so that the smallest of all accounts is found by the oracle.
    """

    sampling: Literal["optimal", "uniform"] = "optimal"
    """What to measure: by the design for the closest rivals, or all elements equally often."""
    growth: float = 1.3
    """Factor by which a round may increase the number of measurements at most."""

    name: ClassVar[str] = "sage-sets"
    summary: ClassVar[str] = "Rounds for the leader against the closest set of each element; no union bound over sets."
    reference: ClassVar[str] = "docs/sets.md"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestSet,)
    takes_any_rounds: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.sampling not in ("optimal", "uniform"):
            raise InvalidAlgorithm(f"sampling must be 'optimal' or 'uniform', got {self.sampling!r}.")
        if not 1 < self.growth < math.inf:
            raise InvalidAlgorithm(f"growth must be larger than 1, got {self.growth!r}; 1.1 to 2 is usual.")

    @property
    def proven(self) -> bool:
        """It is: docs/sets.md, Theorem 1. That it ends if there is one best set: Proposition 1."""
        return True

    def init(self, problem: Problem, goal: Goal) -> _Race:
        """Accounts of 1 for every set; a family of a single set needs no measurement."""
        data, only = Elements.none(problem), only_set(oracle_of(goal))
        nobody = np.zeros((0, problem.n_probes), dtype=np.bool_)
        return _Race(data, Accounts.start(data.noise), only, nobody, only is not None)

    def ask(self, problem: Problem, goal: Goal, state: _Race, rng: np.random.Generator) -> Counts:
        """Each element twice; then what the closest rivals still need, but no element left out."""
        if state.leader is None:
            return np.full(problem.n_probes, FIRST, dtype=np.int64)
        missing = state.data.count == 0
        if missing.any():
            return np.where(missing, FIRST, 1)
        weights, needed = self._design(problem, goal, state, state.leader)
        total = int(state.data.count.sum())
        size = min(max(needed, 0.05 * total), (self.growth - 1.0) * total)
        return np.maximum(np.rint(weights * size), 1.0).astype(np.int64)

    def tell(self, problem: Problem, goal: Goal, state: _Race, measurements: Measurements) -> _Race:
        """Settle the bets on this round, then look who leads and whether every other set is out."""
        return self.tell_overlapping(problem, goal, state, [measurements])

    def tell_overlapping(self, problem: Problem, goal: Goal, state: _Race, rounds: Sequence[Measurements]) -> _Race:
        """The bets on all of these rounds are on the leader before the first of them."""
        data, accounts, oracle = state.data, state.accounts, oracle_of(goal)
        for own in rounds:
            if state.leader is not None:
                accounts = accounts.after(state.leader, own.count, values(problem, own.mean), data.noise)
            data = data.told(problem, own)
        if not data.count.all():
            return replace(state, data=data, accounts=accounts)
        leader = oracle.best(data.mean)
        others = rivals(oracle, data.mean, leader)
        level = math.log(1.0 / goal.delta)
        found = accounts.eased(leader, goal.epsilon).all_above(oracle, leader, level, others)
        return _Race(data, accounts, leader, others, found)

    def answer(self, problem: Problem, goal: Goal, state: _Race) -> Answer | None:
        """The leader, once the account of every other set has reached 1/δ."""
        return members(state.leader) if state.found and state.leader is not None else None

    def standing(self, problem: Problem, goal: Goal, state: _Race) -> Standing:
        """Every element until the end; the leader's are the guess."""
        everywhere = np.ones(problem.n_probes, dtype=np.bool_)
        return standing_of(state.leader, everywhere, self.answer(problem, goal, state))

    def _design(self, problem: Problem, goal: Goal, state: _Race, leader: Members) -> tuple[Array, float]:
        """(n,) shares of the next round, and how many measurements the closest rivals need by it."""
        data, n = state.data, problem.n_probes
        differ = (state.rivals != leader).astype(np.float64)
        gaps = data.mean[leader].sum() - state.rivals @ data.mean + goal.epsilon
        margins = np.maximum(gaps, 2.0 * np.sqrt(differ @ data.variance))
        logs = state.accounts.eased(leader, goal.epsilon).log(state.rivals)
        missing = 2.0 * (np.maximum(math.log(1.0 / goal.delta) - logs, 0.0) + SPARE)
        if self.sampling == "uniform":
            return np.full(n, 1.0 / n), float((missing * (differ @ (n * data.noise)) / margins**2).max())
        design = set_design(leader, state.rivals, margins / np.sqrt(missing), data.noise, problem.cost)
        shares = design.weights / design.weights.sum()
        needed = design.value * float(design.weights.sum())
        mixed = (1.0 - SHARE) * shares + SHARE * data.count / data.count.sum()
        return (1.0 - FLOOR) * mixed + FLOOR / n, needed
