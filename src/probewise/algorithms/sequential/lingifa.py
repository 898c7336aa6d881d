"""LinGIFA: the m best items by indices of all pairs: who is exceeded by m others at most with least doubt."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from probewise.algorithms.base import Standing
from probewise.algorithms.sequential.sequential import Sequential, Step, Tracked
from probewise.algorithms.sequential.steps import first_largest, reduction
from probewise.algorithms.sequential.top_two import Memory, challenged
from probewise.coordinates import Array
from probewise.errors import InvalidAlgorithm
from probewise.goals import BestItem, Goal, TopM
from probewise.problem import Problem


@dataclass(frozen=True, kw_only=True)
class LinGIFA(Sequential):
    """The guess is the m items j with the least m-th largest B_ij = (z_i - z_j)'θ̂ + C·‖z_i - z_j‖ over all others i.

    It stops when each of these is at most 0: then fewer than m items can be ahead of j. With a tolerance, when no item
    left out can be ahead of one in the guess by more than it. All m² pairs are looked at in each step.
    """

    selection: Literal["greedy", "variance"] = "greedy"
    """"greedy": the probe that reduces the variance of the comparison fastest; "variance": the item of the two that is
    known least, as in the published tables, where items are probes."""

    name: ClassVar[str] = "lingifa"
    summary: ClassVar[str] = "One by one: the m best by how many others may exceed each."
    reference: ClassVar[str] = "Réda, Kaufmann, Delahaye-Duriez 2021, LinGIFA"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem, TopM)

    def check_settings(self) -> None:
        """Refuse a selection that there is not, and elimination, for which its stopping rule has no place."""
        if self.selection not in ("greedy", "variance"):
            raise InvalidAlgorithm(f"selection must be 'greedy' or 'variance', got {self.selection!r}.")
        if self.elimination != "none":
            raise InvalidAlgorithm(
                f"{self.name} stops by counting who may exceed each item, so that no claim can be dropped; "
                "leave elimination at 'none', or choose m-lingape."
            )

    @property
    def drawn(self) -> bool:
        """It has a stopping rule of its own, which is not compiled."""
        return True

    @property
    def step(self) -> Step:
        """Not used: see ``chosen``."""
        return challenged

    def remember(self, problem: Problem, goal: Goal, probes: Array) -> Memory:
        """Nothing."""
        if self.selection == "variance" and (problem.twins < 0).any():
            first = problem.item_names[int(np.argmin(problem.twins))]
            raise InvalidAlgorithm(
                f"selection='variance' measures items themselves, but item '{first}' is no probe; choose 'greedy'."
            )
        return Memory(np.zeros(1))

    def settled(self, problem: Problem, goal: Goal, state: Tracked) -> Tracked:
        """With the guess by indices, and whether it is beyond doubt."""
        level = self.rule.beta(self._evidence(problem, goal, state))
        many = goal.m if isinstance(goal, TopM) else 1
        bounds = _bounds(state, math.sqrt(2.0 * level))
        index = np.sort(bounds, axis=0)[-many]  # the m-th largest in each column
        order = np.argsort(index, kind="stable")
        inside, outside = order[:many], order[many:]
        doubt = bounds[np.ix_(outside, inside)]
        sure = index[inside].max() <= 0.0 or doubt.max(initial=-math.inf) <= goal.epsilon
        guess = tuple(int(item) for item in inside)
        if not sure:
            row, column = np.unravel_index(int(np.argmax(doubt)), doubt.shape)
            pair = (int(inside[column]), int(outside[row]))
            return replace(state, guess=guess, level=level, probe=self._probe(problem, state, *pair))
        return replace(state, guess=guess, level=level, done=True)

    def chosen(self, problem: Problem, goal: Goal, state: Tracked) -> Tracked:
        """Chosen already."""
        return state

    def standing(self, problem: Problem, goal: Goal, state: Tracked) -> Standing:
        """All items until there is an answer; then those of it, and those that only epsilon keeps out."""
        if not state.done or state.fit is None:
            left = np.array(sorted(state.guess), dtype=np.int64) if state.done else np.arange(problem.n_items)
            return Standing(left, state.guess, 1.0 if state.done else None)
        inside = np.array(state.guess, dtype=np.int64)
        outside = np.delete(np.arange(problem.n_items), inside)
        bounds = _bounds(state, math.sqrt(2.0 * state.level))
        doubted = (goal.epsilon > 0) & (bounds[np.ix_(outside, inside)] > 0.0).any(axis=1)
        return Standing(np.union1d(inside, outside[doubted]), state.guess, 1.0, bool(not np.any(doubted)))

    def _probe(self, problem: Problem, state: Tracked, i: int, j: int) -> int:
        """The probe that lowers the variance of z_i - z_j most for its cost, or the one of both that is known less."""
        assert state.fit is not None
        if self.selection == "variance":
            known = [float(state.items[k] @ state.fit.inverse @ state.items[k]) for k in (i, j)]
            return int(problem.twins[i if known[0] >= known[1] else j])
        row = state.items[i] - state.items[j]
        return first_largest(reduction(state.probes, problem.cost, state.fit.inverse, row))


def _bounds(state: Tracked, width: float) -> Array:
    """(m, m): B_ij for item i above item j; -∞ where they are the same."""
    assert state.fit is not None
    scores, gram = state.items @ state.fit.theta, state.items @ state.fit.inverse @ state.items.T
    own = np.diag(gram)
    norms = np.sqrt(np.maximum(own[:, None] + own - 2.0 * gram, 0.0))
    bounds = scores[:, None] - scores + (width * norms if math.isfinite(width) else np.where(norms > 0, math.inf, 0.0))
    np.fill_diagonal(bounds, -math.inf)
    return np.asarray(bounds)
