"""LinGame: the lower bound as a game, played between a learner of weights and the closest other answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.sequential.sequential import Sequential, Step, Tracked
from probewise.algorithms.sequential.steps import (
    View,
    design_inverse,
    hedge,
    hedged,
    most_behind,
    regretted,
    spend,
    squared,
)
from probewise.coordinates import Array
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, BestItem, Goal
from probewise.problem import Problem


class Memory(NamedTuple):
    """Of the learners."""

    losses: Array
    """(n,), or (m, n) for pairs of an answer and a probe: what each would have lost."""
    regret: Array
    """(1,): D of AdaHedge, the sum of mixability gaps."""
    effort: Array
    """(n,): what all weights so far add up to, of all answers."""
    optimism: Array
    """(1,): 1 if gains are those that the truth may have, 0 if they are those at the estimate."""
    answer: NDArray[np.int64]
    """(1,): the guess, for pairs."""


@dataclass(frozen=True, kw_only=True)
class LinGame(Sequential):
    """AdaHedge against best responses; probes follow the sum of its weights.

    "answers": a learner for each answer, begun when it is the guess for the first time, as published. "one": one for
    all. "pairs" is LinGame-C: one learner of pairs of an answer and a probe, for the best item only.
    """

    learners: Literal["answers", "one", "pairs"] = "answers"
    """Who learns what."""
    optimism: bool = True
    """Whether gains are raised to what the truth may be, with log t as the published code has it; or as they seem."""

    name: ClassVar[str] = "lingame"
    summary: ClassVar[str] = "One by one: a learner of weights plays against the closest other answer."
    reference: ClassVar[str] = "Degenne, Ménard, Shang, Valko 2020, Algorithms 1 and 2"

    def check_settings(self) -> None:
        """Refuse learners that there are none of."""
        if self.learners not in ("answers", "one", "pairs"):
            raise InvalidAlgorithm(f"learners must be 'answers', 'one' or 'pairs', got {self.learners!r}.")

    @property
    def step(self) -> Step:
        """Of LinGame or of LinGame-C."""
        return lingame_c if self.learners == "pairs" else lingame

    def remember(self, problem: Problem, goal: Goal, probes: Array) -> Memory:
        """No losses yet; the first round is what was wanted of it."""
        if self.learners == "pairs" and not isinstance(goal, BestItem):
            raise InvalidAlgorithm(f"learners='pairs' are for the best item, not for '{goal.name}'; choose 'answers'.")
        shape = (problem.n_items, problem.n_probes) if self.learners == "pairs" else (problem.n_probes,)
        first = problem.cost * self._first(problem)
        effort = np.zeros(problem.n_probes) if self.learners == "pairs" else first
        flag = np.array([1.0 if self.optimism else 0.0])
        return Memory(np.zeros(shape), np.zeros(1), effort, flag, np.zeros(1, dtype=np.int64))

    def turned(self, state: Tracked, guess: Answer, own: Memory | None) -> Memory:
        """The learner of the new guess, with what all of them wanted so far."""
        now: Memory = state.memory
        if self.learners == "pairs":
            return now._replace(answer=np.array(guess, dtype=np.int64))
        if self.learners == "one":
            return now
        if own is None:
            return now._replace(losses=np.zeros_like(now.losses), regret=np.zeros(1))
        return now._replace(losses=own.losses, regret=own.regret)


def lingame(view: View, memory: Memory) -> int:
    """w by AdaHedge, its gains against the closest alternative under w, and the probe furthest behind Σw."""
    weights = hedged(memory.losses, memory.regret)
    gains = gained(view, weights, bonus(view, memory.optimism[0]))
    hedge(memory.losses, memory.regret, weights, -gains)
    memory.effort[:] = memory.effort + spend(weights, view.cost)
    return most_behind(memory.effort, view.cost * view.counts)


def lingame_c(view: View, memory: Memory) -> int:
    """The same for pairs: for answers other than the guess the estimate is its own alternative; the pair is tracked."""
    m, n = memory.losses.shape
    weights = hedged(memory.losses.reshape(m * n), memory.regret).reshape(m, n)
    own = memory.answer[0]
    share = weights[own].sum()
    play = weights[own] / share if share > 0.0 else np.full(n, 1.0 / n)
    extra = bonus(view, memory.optimism[0])
    loss, played = np.empty((2, n)), np.empty((2, n))  # of all other answers, which lose the same, and of the guess
    loss[0], loss[1] = extra**2 / -2.0 / view.cost, -gained(view, play, extra)
    played[0], played[1] = weights.sum(axis=0) - weights[own], weights[own]
    regretted(memory.regret, m * n, played.reshape(2 * n), loss.reshape(2 * n))
    memory.losses[:] += loss[0]
    memory.losses[own] += loss[1] - loss[0]
    # what each answer wanted adds up: to follow the pairs is to follow their sum over answers
    memory.effort[:] = memory.effort + weights.sum(axis=0)
    return most_behind(memory.effort, view.cost * (view.counts - 1.0))


def bonus(view: View, optimism: float) -> Array:
    """(n,): by how much the mean of each probe may be off, √(2 log t·x'V⁻¹x)."""
    return optimism * np.sqrt(2.0 * math.log(view.counts.sum()) * squared(view.probes, view.inverse))


def gained(view: View, weights: Array, extra: Array) -> Array:
    """(n,): what a measurement of each probe says against the alternative λ closest under the weights, for its cost.

    ``extra`` (n,) is the bonus; with one, gains are clipped.
    """
    inverse = design_inverse(view.probes, view.cost, weights)
    squares = squared(view.rows, inverse)
    known = squares > 0.0
    values = np.where(known, view.margins**2 / np.where(known, squares, 1.0), np.inf)
    at = int(np.argmin(values))
    shift = np.abs(view.probes @ (inverse @ view.rows[at])) * (view.margins[at] / squares[at])
    gains = 0.5 * (shift + extra) ** 2
    if extra.max() > 0.0:
        gains = np.minimum(gains, max(math.log(view.counts.sum()), 1e-3))
    each: Array = gains / view.cost
    return each
