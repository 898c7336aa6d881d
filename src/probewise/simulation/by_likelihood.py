"""GLGapE on simulated successes and failures, compiled: the decisions of its plain methods, faster.

Both take the same random numbers, one for each measurement, from one stream: a success is a number below its mean.
"""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from probewise.algorithms.base import Algorithm
from probewise.algorithms.glm.glgape import GLGapE
from probewise.algorithms.glm.models import penalty_of
from probewise.coordinates import Counts
from probewise.errors import InvalidAlgorithm, MissingExtra
from probewise.goals import Goal
from probewise.measurements import Measurements
from probewise.outcomes import Logistic
from probewise.result import Result
from probewise.run import Observe, check, estimated
from probewise.simulation.environment import LinearEnvironment

_BLOCK = 4096


def meant(environment: LinearEnvironment, algorithm: Algorithm[Any]) -> bool:
    """Whether outcomes are drawn from one stream in turn, compiled or not."""
    return (
        isinstance(algorithm, GLGapE)
        and environment.noise is None
        and isinstance(environment.problem.outcome, Logistic)
    )


def supports(algorithm: Algorithm[Any]) -> bool:
    """Whether ``run`` can take the algorithm: GLGapE, where numba is installed."""
    return isinstance(algorithm, GLGapE) and find_spec("numba") is not None


def in_turn(environment: LinearEnvironment, rng: np.random.Generator) -> Observe:
    """A laboratory for ``loop`` that draws one number from ``rng`` for each measurement, by probe within a round."""

    def observe(counts: Counts, step: int) -> Measurements:
        at = np.repeat(np.arange(counts.size), counts)
        hits = (rng.random(at.size) < environment.means[at]).astype(np.float64)
        return Measurements.from_outcomes(counts.size, at, hits)

    return observe


def run(
    environment: LinearEnvironment,
    goal: Goal,
    algorithm: GLGapE,
    rng: np.random.Generator,
    *,
    budget: int | None = None,
) -> Result:
    """What ``loop(..., observe=in_turn(environment, rng), keep=False)`` returns."""
    if not meant(environment, algorithm):
        raise InvalidAlgorithm(f"only GLGapE on successes and failures is compiled, got {algorithm!r}.")
    if find_spec("numba") is None:
        raise MissingExtra("the compiled GLGapE needs numba, which is not installed; install probewise[fast].")
    check(environment.problem, goal, algorithm)
    problem, goal = goal.upward(environment.problem)
    environment, state = replace(environment, problem=problem), algorithm.init(problem, goal)
    data, rounds, limit = Measurements.empty(problem.n_probes), 0, math.inf if budget is None else budget
    answer = algorithm.answer(problem, goal, state)
    if answer is None and algorithm.initial * problem.n_probes <= limit:
        data, rounds = in_turn(environment, rng)(algorithm.ask(problem, goal, state, rng), 0), 1
        state = algorithm.tell(problem, goal, state, data)
        answer = algorithm.answer(problem, goal, state)
    guess = answer if state.fit is None else (state.leader,)
    if answer is None and state.fit is not None:
        data, more, guess, ended = _advanced(environment, goal, algorithm, state, limit, rng)
        rounds, answer = rounds + more, guess if ended else None
    status = "budget exhausted" if answer is None else "identified"
    names = tuple(problem.item_names[i] for i in guess or ())
    theta = estimated(problem, data)
    return Result(guess, names, data.n, data.cost(problem.cost), rounds, status, theta, ())


def _advanced(
    environment: LinearEnvironment, goal: Goal, algorithm: GLGapE, state: Any, limit: float, rng: np.random.Generator
) -> tuple[Measurements, int, tuple[int, ...], bool]:
    """All measurements, rounds since the first, the leader, and whether it is the answer."""
    from probewise.simulation import glm_kernel as kernel

    problem, nats = environment.problem, math.log(1.0 / goal.delta)
    probes, items, cost, means = map(np.array, (problem.probes, problem.items, problem.cost, environment.means))
    settings = (penalty_of(problem), nats, float(goal.epsilon), float(algorithm.lazy), float(limit))
    setting = kernel.Setting(probes, items, cost, means, *settings)
    counts, total = np.array(state.data.count), np.array(state.data.count * state.data.mean)
    work = kernel.Work(np.array(state.fit.theta), counts, total, np.array([state.leader, state.rival, 0]))
    inverse, numbers, why = np.ascontiguousarray(np.linalg.inv(state.fit.information)), np.empty(0), kernel.SHORT
    while why == kernel.SHORT:
        wanted = max(_BLOCK, math.floor(algorithm.lazy * counts.sum()) + 1)
        numbers = np.append(numbers, rng.random(wanted))
        used, why, inverse = kernel.advance()(setting, work, inverse, numbers)
        numbers = numbers[used:]
    data = Measurements(counts, total / np.maximum(counts, 1), np.zeros(counts.size))
    return data, int(work.whole[kernel.ROUNDS]), (int(work.whole[kernel.LEADER]),), why == kernel.STOPPED
