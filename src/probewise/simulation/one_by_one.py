"""Methods that measure one by one on a simulated laboratory, compiled: the decisions of their plain methods, faster.

Steps run compiled until something happens that their plain methods decide: another guess, a claim that may be beyond
doubt, a design that is due. Both take the same random numbers, one for each measurement, from one stream.
"""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from probewise.algorithms.base import Algorithm
from probewise.algorithms.sequential import Sequential
from probewise.algorithms.sequential.sequential import STALE, Tracked
from probewise.coordinates import Array
from probewise.errors import InvalidAlgorithm, MissingExtra
from probewise.estimate import RankOne
from probewise.goals import Goal
from probewise.measurements import Measurements
from probewise.result import Result
from probewise.run import check
from probewise.simulation.compiled import in_order, numbers_of, result
from probewise.simulation.environment import LinearEnvironment

if TYPE_CHECKING:
    from probewise.simulation.steps_kernel import Asked, Work

_BLOCK = 4096


def supports(algorithm: Algorithm[Any]) -> bool:
    """Whether ``run`` can take the algorithm: its choices follow from the outcomes alone, and numba is installed."""
    return isinstance(algorithm, Sequential) and not algorithm.drawn and find_spec("numba") is not None


def run(
    environment: LinearEnvironment,
    goal: Goal,
    algorithm: Sequential,
    rng: np.random.Generator,
    *,
    budget: int | None = None,
) -> Result:
    """What ``loop(..., observe=in_order(environment, rng), keep=False)`` returns, for an algorithm of ``supports``."""
    if algorithm.drawn:
        raise InvalidAlgorithm(f"only methods that draw nothing themselves are compiled, got {algorithm!r}.")
    if find_spec("numba") is None:
        raise MissingExtra("compiled methods need numba, which is not installed; install probewise[fast].")
    check(environment.problem, goal, algorithm)
    problem, goal = goal.upward(environment.problem)
    environment, state = replace(environment, problem=problem), algorithm.init(problem, goal)
    data, limit = Measurements.empty(problem.n_probes), math.inf if budget is None else budget
    if state.done:
        return result(problem, state.guess, state.guess, data, 0)
    first = algorithm.ask(problem, goal, state, rng)
    if first.sum() > limit:
        return result(problem, None, None, data, 0)
    data = in_order(environment, rng)(first, 0)
    state = algorithm.heard(problem, goal, state, data)
    state, total = _advanced(environment, goal, algorithm, state, data.count * data.mean, rng, limit)
    measured = Measurements(state.count, total / np.maximum(state.count, 1), np.zeros(problem.n_probes))
    answer = state.guess if state.done else None
    return result(problem, answer, state.guess, measured, 1 + measured.n - data.n)


def _advanced(
    environment: LinearEnvironment,
    goal: Goal,
    algorithm: Sequential,
    state: Tracked,
    total: Array,
    rng: np.random.Generator,
    limit: float,
) -> tuple[Tracked, Array]:
    """The state at the answer or at the limit, and (n,) the sums of outcomes."""
    from probewise.simulation import steps_kernel as kernel

    problem = environment.problem
    lab = kernel.Laboratory(
        np.array(state.probes),
        np.array(problem.cost),
        np.array(environment.means),
        np.array(problem.sigma),
        environment.noise == "bernoulli",
    )
    steps, numbers = kernel.advance(algorithm.step), np.empty(0)
    while not state.done:
        if state.count.sum() >= algorithm.due(state.memory):
            state = replace(state, memory=algorithm.replanned(problem, goal, state))
        if numbers.size == 0:
            if state.count.sum() >= limit:
                break
            state = replace(state, fit=_refreshed(state))
            numbers = numbers_of(environment, int(min(_BLOCK, limit - state.count.sum())), rng)
        work, memory = _work(state, total), type(state.memory)(*(np.array(part) for part in state.memory))
        used, why = steps(lab, work, _asked(goal, algorithm, state), memory, numbers)
        numbers, total = numbers[used:], work.total
        state = replace(state, count=work.counts, memory=memory, fit=_fit(state, work, used))
        if why in (kernel.CHECK, kernel.MOVED):
            state = algorithm.settled(problem, goal, state)
    return state, total


def _work(state: Tracked, total: Array) -> Work:
    from probewise.simulation.steps_kernel import Work

    fit = state.fit
    assert fit is not None
    parts: tuple[Any, ...] = (fit.inverse, fit.theta, fit.added, fit.origin, fit.moment, state.count, total)
    return Work(*(np.array(part) for part in parts))


def _asked(goal: Goal, algorithm: Sequential, state: Tracked) -> Asked:
    from probewise.simulation.steps_kernel import Asked

    pieces = state.pieces
    assert pieces is not None
    both = algorithm.elimination == "both"
    return Asked(
        rows=np.array(pieces.rows),
        offsets=np.array(pieces.offsets),
        active=np.array(pieces.active),
        sampled=np.flatnonzero(pieces.active) if both else np.arange(pieces.active.size),
        epsilon=float(goal.epsilon),
        level=float(state.level) if math.isfinite(state.level) else -1.0,
        width=math.sqrt(2.0 * state.level),
        any_claim=algorithm.elimination != "none",
        old=math.ceil(STALE * state.checked) if algorithm.uses_width else 2**62,
        due=float(algorithm.due(state.memory)),
    )


def _fit(state: Tracked, work: Work, used: int) -> RankOne:
    """The estimate after ``used`` more measurements."""
    fit = state.fit
    assert fit is not None
    logdet = float(np.linalg.slogdet(fit.base + work.added)[1])
    return RankOne(work.inverse, work.theta, logdet, fit.base, fit.origin, work.added, work.moment, fit.age + used)


def _refreshed(state: Tracked) -> RankOne:
    """The estimate computed directly, so that rounding does not add up."""
    fit = state.fit
    assert fit is not None
    fresh = RankOne.start(fit.information, fit.moment)
    theta = fit.origin + fresh.theta
    return replace(fresh, theta=theta, origin=theta)
