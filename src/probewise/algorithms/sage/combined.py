"""Combined: what Sage knows of combinations of one item of each block, with an account for each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Standing
from probewise.algorithms.planning import coarse
from probewise.algorithms.sage.accounts import account
from probewise.algorithms.sage.knowledge import enough
from probewise.algorithms.sage.prior import Memo, Prior
from probewise.algorithms.sage.tree import Levels, Tree
from probewise.coordinates import Array
from probewise.design import Directions
from probewise.design.criterion import Vectors
from probewise.design.farthest import square_norms
from probewise.estimate import Estimate
from probewise.goals import Answer, Claims, Goal
from probewise.goals.best_combination import numbers
from probewise.measurements import Measurements
from probewise.outcomes import Law
from probewise.pooling import Pooled, Sums, fitted, guessed
from probewise.problem import Problem
from probewise.threads import few

_SPREAD = 0.1
"""Share of each account that is spread over all blocks, so that an item can be ruled out in all of its combinations."""


@dataclass(frozen=True, eq=False)
class Combined:
    """What all finished rounds say of the best combination (docs/product-spaces.md)."""

    prior: Prior
    """The unit in which precisions are counted, fixed before the first round."""
    law: Law
    """What is known of the outcomes of the next round."""
    data: Measurements
    """Measurements of all finished rounds."""
    pool: Pooled
    """The estimate of each round by itself."""
    gone: NDArray[np.bool_]
    """(m,): items that are ruled out in all combinations."""
    alone: Array
    """(m,): log of what bets of each item on its own block have made of 1."""
    tree: Tree | None = None
    """What bets of each combination on one block at a time have made of 1; None before the first round."""
    order: tuple[int, ...] = ()
    """The blocks in the order of the tree."""
    leader: Answer = ()
    """The item in front of each block; empty before the first round."""
    second: Answer = ()
    """The one behind it, or itself if it is alone."""
    sums: Sums | None = None
    """What all rounds say of leader - z for each item z of the block, and of second - leader for each block."""
    answer: Answer | None = None
    """The combination found."""
    last: NDArray[np.bool_] | None = None
    """(n,): which probes the last round measured."""

    @classmethod
    def start(cls, problem: Problem, goal: Goal, tol: float, memo: Memo | None, *, opening: bool) -> Combined:
        """Before the first round; if no block has two items, the answer is known."""
        m, single = problem.n_items, max(problem.blocks) == 1
        prior = Prior.of(problem, None if single else goal.directions(problem), tol, memo, opening=opening)
        data, found = Measurements.empty(problem.n_probes), tuple(range(m)) if single else None
        leader = found or ()
        gone, alone = np.zeros(m, dtype=np.bool_), np.zeros(m)
        return cls(prior, problem.outcome, data, Pooled(), gone, alone, leader=leader, answer=found)

    @few
    def plus(self, problem: Problem, goal: Goal, rounds: Sequence[Measurements]) -> Combined:
        """With one more round, or several that overlapped: what bets on them have made, and what that rules out."""
        now, problem = self, problem.knowing(self.law)
        for measurements in rounds:
            fit = fitted(problem, measurements)
            now = now._settled(problem, goal, self, fit)
            now = replace(now, data=now.data + measurements, pool=now.pool.plus(fit))
        theta = guessed(problem, now.data)
        last = np.any([measurements.count > 0 for measurements in rounds], axis=0)
        now = replace(now, law=self.law.after(problem.probes @ theta, now.data), last=last)
        now = replace(now, gone=now.gone | (now.alone >= now._surely(problem, goal)))
        return now._led(problem, problem.items @ theta)._concluded(problem, goal)

    def _settled(self, problem: Problem, goal: Goal, since: Combined, fit: Estimate) -> Combined:
        """With what a round has made of the bets on it, whose odds follow what was known ``since`` before it."""
        noise = problem.outcome.bound(since.pool.pure_error, goal.delta)
        if since.sums is None or since.tree is None or self.tree is None or not math.isfinite(noise):
            return self
        rows, sizes = since._compared(problem)
        bet = np.asarray(rows.any(axis=1))
        unit = 1.0 / square_norms(rows[bet] @ self.prior.whitener)
        before, new = since.sums.at(bet), Pooled((fit,)).sums(rows[bet], sizes[bet])
        gain = np.zeros(bet.size)
        made = account(problem, before + new, unit, noise) - account(problem, before, unit, noise)
        gain[bet] = np.where(np.isnan(made), -np.inf, made)  # what is not a number rules nobody out
        m, own = problem.n_items, gain[problem.n_items :]
        alone = gain[:m].copy()
        alone[list(since.leader)] = own
        by_block = [gain[rows] for rows in numbers(problem)]
        weakest = since._weakest(problem)
        tree = self.tree.plus(since._levels(problem), [by_block[at] for at in self.order], float(own[weakest]))
        return replace(self, tree=tree, alone=self.alone + alone)

    def _led(self, problem: Problem, values: Array) -> Combined:
        """With the items that are now in front, and what all rounds say of them and the others."""
        values = np.where(self.gone, -np.inf, values) if self._some_left(problem) else values
        ranks = [rows[np.argsort(-values[rows], kind="stable")] for rows in numbers(problem)]
        leader, second = (tuple(int(rows[min(at, rows.size - 1)]) for rows in ranks) for at in (0, 1))
        now = replace(self, leader=leader, second=second)
        rows, sizes = now._compared(problem)
        now = replace(now, sums=now.pool.sums(rows, sizes))
        if self.tree is not None:
            return now
        order = np.argsort(-now._clearness(problem), kind="stable")  # what is clear first: it stays the leader
        sized = tuple(problem.blocks[at] for at in order.tolist())
        return replace(now, order=tuple(order.tolist()), tree=Tree(sized))

    def _concluded(self, problem: Problem, goal: Goal) -> Combined:
        """With the answer, if every combination but the one in front is ruled out."""
        found = self._least(problem) >= enough(problem, goal)
        return replace(self, answer=self.leader if found else None)

    def _least(self, problem: Problem) -> float:
        """log of the smallest account of all combinations that are left but the one in front."""
        assert self.tree is not None
        alive = [~self.gone[rows] for rows in numbers(problem)]
        return self.tree.least([alive[at] for at in self.order], self._levels(problem)) + math.log1p(-_share(problem))

    def _surely(self, problem: Problem, goal: Goal) -> float:
        """log of what bets of an item on its own block must make to rule it out in all combinations."""
        if not (share := _share(problem)):
            return enough(problem, goal)
        return enough(problem, goal) + math.log(_several(problem) / share)

    def _compared(self, problem: Problem) -> tuple[Array, Array]:
        """(m + blocks, d) twice: leader - z for each item z of its block, second - leader for each block, and sizes."""
        items = problem.items
        own = np.repeat(self.leader, problem.blocks)
        above = np.concatenate([items[own], items[list(self.second)]])
        below = np.concatenate([items, items[list(self.leader)]])
        return above - below, np.abs(above) + np.abs(below)

    def _clearness(self, problem: Problem) -> Array:
        """(blocks,): lead of each leader over the second in standard errors; infinite for one that is alone."""
        assert self.sums is not None
        sums = self.sums.at(np.array(self.second))
        known = sums.precision > 0
        lead = np.where(known, sums.total / np.sqrt(np.where(known, sums.precision, 1.0)), 0.0)
        return np.where(np.equal(self.second, self.leader), np.inf, lead)

    def _weakest(self, problem: Problem) -> int:
        """The block in which the leader bets: where its lead over the second is least clear."""
        return int(np.argmin(self._clearness(problem)))

    def _levels(self, problem: Problem) -> Levels:
        """The leader as the tree has it."""
        starts = np.cumsum([0, *problem.blocks])
        return tuple(self.leader[at] - int(starts[at]) for at in self.order)

    def _some_left(self, problem: Problem) -> bool:
        """Whether every block has an item that is not ruled out; if not, which is unlikely, all count again."""
        return all((~self.gone[rows]).any() for rows in numbers(problem))

    def compared(self, problem: Problem, goal: Goal) -> Claims:
        """What must be known: that each item in front is ahead of the others of its block that are left."""
        leader = self.leader or goal.answer(problem, np.zeros(problem.n_items))
        claims = goal.claims(problem, leader)
        return claims.at(~self.gone[claims.against]) if self._some_left(problem) else claims

    def directions(self, problem: Problem, goal: Goal, floor: float) -> Directions:
        """All differences within blocks at first; then each of ``compared`` in units of its lead."""
        if self.sums is None:
            return goal.directions(problem)
        claims = self.compared(problem, goal)
        sums, noise = self.sums.at(claims.against), problem.outcome.bound(self.pool.pure_error, goal.delta)
        unit = 1.0 / square_norms(claims.rows @ self.prior.whitener)
        precision = np.where(sums.precision > 0, sums.precision, unit)
        lead = sums.total / precision / (noise if math.isfinite(noise) else 1.0)
        gaps = coarse(np.maximum(lead, floor / np.sqrt(precision)))
        return Vectors(claims.rows / gaps[:, None], claims.against, (claims.above, claims.below), gaps)

    def confidence(self, problem: Problem, goal: Goal) -> float:
        """1 - α for an α at which the combination in front would be declared; 0 before the first round.

        No more than 1 - δ once a level is ruled out, which was concluded at δ.
        """
        if self.answer is not None and self.tree is None:
            return 1.0
        if self.tree is None:
            return 0.0
        sure = 1.0 - problem.outcome.part * goal.delta - math.exp(-self._least(problem))
        sure = min(sure, 1.0 - goal.delta) if self.gone.any() else sure
        return max(0.0, sure, 0.0 if self.answer is None else 1.0 - goal.delta)

    def standing(self, problem: Problem, goal: Goal) -> Standing:
        """Items that are not ruled out, those in front, and how far the smallest account is from ruling out."""
        if self.answer is not None:
            return Standing(np.sort(np.array(self.answer, dtype=np.int64)), self.answer, 1.0)
        left = np.flatnonzero(~self.gone) if self._some_left(problem) else np.arange(problem.n_items)
        if self.tree is None:
            return Standing(left, (), 0.0)
        progress = float(np.clip(self._least(problem) / enough(problem, goal), 0.0, 0.999))
        return Standing(left, self.leader, progress)


def _several(problem: Problem) -> int:
    """Blocks with more than one item."""
    return sum(size > 1 for size in problem.blocks)


def _share(problem: Problem) -> float:
    """What is spread over all blocks; nothing if one of them is all there is."""
    return _SPREAD if _several(problem) > 1 else 0.0
