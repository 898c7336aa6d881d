"""LinGapE on a simulated laboratory, compiled: the decisions of its four methods, hundreds of times faster.

Both take the same random numbers, one for each measurement in the order of measuring, from one stream.
"""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from probewise.algorithms.base import Algorithm
from probewise.algorithms.lingape.lingape import Comparison, LinGapE
from probewise.algorithms.sequential.shares import shares
from probewise.algorithms.sequential.steps import first_largest
from probewise.confidence import SelfNormalised, TrackAndStop
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm, MissingExtra
from probewise.estimate import RankOne, least_squares
from probewise.goals import Answer, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.result import Result
from probewise.run import Observe, check
from probewise.simulation.environment import LinearEnvironment, unit_noise

if TYPE_CHECKING:
    from probewise.simulation.kernel import Setting, Work

_BLOCK = 4096
_SLOTS = 4093


def supports(algorithm: Algorithm[Any]) -> bool:
    """Whether ``run`` can take the algorithm: LinGapE under one of its own thresholds, and numba is installed."""
    return _known(algorithm) and find_spec("numba") is not None


def in_order(environment: LinearEnvironment, rng: np.random.Generator) -> Observe:
    """A laboratory for ``loop`` that draws one number from ``rng`` for each measurement, by probe within a round."""

    def observe(counts: Counts, step: int) -> Measurements:
        at = np.repeat(np.arange(counts.size), counts)
        numbers, means = numbers_of(environment, at.size, rng), environment.means[at]
        binary = environment.noise == "bernoulli"
        outcomes = numbers < means if binary else means + environment.problem.sigma[at] * numbers
        return Measurements.from_outcomes(counts.size, at, outcomes.astype(np.float64))

    return observe


def run(
    environment: LinearEnvironment,
    goal: Goal,
    algorithm: Algorithm[Any],
    rng: np.random.Generator,
    *,
    budget: int | None = None,
) -> Result:
    """What ``loop(..., observe=in_order(environment, rng), keep=False)`` returns, for an algorithm of ``supports``."""
    if not isinstance(algorithm, LinGapE) or not _known(algorithm):
        raise InvalidAlgorithm(f"only LinGapE under one of its own thresholds is compiled, got {algorithm!r}.")
    if find_spec("numba") is None:
        raise MissingExtra("the compiled LinGapE needs numba, which is not installed; install probewise[fast].")
    check(environment.problem, goal, algorithm)
    problem, goal = goal.upward(environment.problem)
    environment, state, rounds = replace(environment, problem=problem), algorithm.init(problem, goal), 0
    data = Measurements.empty(problem.n_probes)
    limit = math.inf if budget is None else budget
    if algorithm.answer(problem, goal, state) is None and algorithm.initial != "none":
        counts = algorithm.ask(problem, goal, state, rng)
        if counts.sum() > limit:
            return result(problem, None, None, data, 0)
        data, rounds = in_order(environment, rng)(counts, 0), 1
        state = algorithm.tell(problem, goal, state, data)
    answer = guess = algorithm.answer(problem, goal, state)
    if answer is None:
        answer, guess, count, mean = _advanced(environment, goal, algorithm, state, data, rng, limit)
        rounds += int((count - data.count).sum())
        data = Measurements(count, mean, np.zeros(problem.n_probes))
    return result(problem, answer, guess if data.n else answer, data, rounds)


def _known(algorithm: Algorithm[Any]) -> bool:
    if not isinstance(algorithm, LinGapE):
        return False
    own = algorithm.threshold
    return own is None or isinstance(own, SelfNormalised) or (isinstance(own, TrackAndStop) and own.c <= 1.0)


def numbers_of(environment: LinearEnvironment, size: int, rng: np.random.Generator) -> Array:
    """(size,): random numbers, one for each measurement to come."""
    noise = environment.additive
    if noise is None:
        law = environment.problem.outcome.name
        raise InvalidAlgorithm(f"outcomes of the law '{law}' are not a sum of mean and noise; use simulate.")
    return rng.random(size) if noise == "bernoulli" else unit_noise(noise, size, rng)


def result(problem: Problem, answer: Answer | None, guess: Answer | None, data: Measurements, rounds: int) -> Result:
    """What ``loop`` returns at the end of such a run."""
    status = "budget exhausted" if answer is None else "identified"
    names = tuple(problem.item_names[i] for i in guess or ())
    theta = least_squares(problem.probes, data, sigma=problem.sigma).theta
    return Result(guess, names, data.n, data.cost(problem.cost), rounds, status, theta, ())


def _advanced(
    environment: LinearEnvironment,
    goal: Goal,
    algorithm: LinGapE,
    state: Comparison,
    data: Measurements,
    rng: np.random.Generator,
    limit: float,
) -> tuple[Answer | None, Answer, Counts, Array]:
    """The answer, or None at the limit, the item in front, counts (n,) and mean outcomes (n,) of all measurements."""
    from probewise.simulation import kernel

    problem = environment.problem
    setting, work, penalty = _prepared(environment, goal, algorithm, state, data)
    done, why = data.n, kernel.SPENT
    numbers = np.empty(0)
    while why != kernel.STOPPED:
        if numbers.size == 0:
            _refresh(setting, work, penalty)
            numbers = numbers_of(environment, int(min(_BLOCK, limit - done)), rng)
        used, why = kernel.advance(setting, work, numbers)
        done, numbers = done + used, numbers[used:]
        if why == kernel.UNKNOWN:
            _look_up(problem, work, int(work.whole[kernel.LEADER]), int(work.whole[kernel.RIVAL]))
        if why == kernel.SPENT and done >= limit:
            break
    if why == kernel.STOPPED:
        answer = guess = (int(work.whole[kernel.LEADER]),)
    else:
        answer, guess = None, (first_largest(state.items @ work.theta),)
    return answer, guess, work.counts, work.total / np.maximum(work.counts, 1)


def _prepared(
    environment: LinearEnvironment, goal: Goal, algorithm: LinGapE, state: Comparison, data: Measurements
) -> tuple[Setting, Work, float]:
    """Arrays for the kernel, and the multiple of I by which the threshold's own matrix exceeds V."""
    from probewise.simulation.kernel import Setting, Work

    assert state.fit is not None
    problem, fit = environment.problem, state.fit
    (n, r), m = state.probes.shape, problem.n_items
    penalty, scale, constant, bias = _law(problem, goal, algorithm, state)
    setting = Setting(  # copies, as read-only arrays would be compiled for once more
        probes=np.array(state.probes, order="C"),
        items=np.array(state.items, order="C"),
        cost=problem.cost.copy(),
        means=environment.means.copy(),
        sigma=problem.sigma.copy(),
        binary=environment.noise == "bernoulli",
        greedy=algorithm.selection == "greedy",
        shadowed=penalty > 0.0,
        epsilon=float(goal.epsilon),
        scale=scale,
        constant=constant,
        bias=bias,
    )
    work = Work(
        inverse=np.empty((r, r)),
        theta=np.empty(r),
        base=fit.information.copy(),
        added=np.zeros((r, r)),
        origin=fit.theta.copy(),
        moment=np.zeros(r),
        shadow=np.zeros((r, r)),
        leverage=np.zeros(n),
        counts=state.count.copy(),
        total=data.total,
        keys=np.full(_SLOTS, -1, dtype=np.int64),
        support=np.zeros((_SLOTS, r), dtype=np.int64),
        share=np.zeros((_SLOTS, r)),
        candidates=np.zeros(m, dtype=np.int64),
        beyond=np.empty((m, r)),
        lead=np.empty(m),
        square=np.empty(m),
        anchor=np.zeros(r),
        metric=np.zeros((r, r)),
        values=np.empty(max(m, n)),
        step=np.empty(r),
        whole=np.zeros(3, dtype=np.int64),
        real=np.zeros(5),
    )
    return setting, work, penalty


def _law(problem: Problem, goal: Goal, algorithm: LinGapE, state: Comparison) -> tuple[float, float, float, float]:
    """p, a, b, c such that the width of the state's threshold is √(a(b + log det(V + pI))) + c."""
    threshold, r = state.threshold, state.items.shape[1]
    if isinstance(threshold, TrackAndStop):
        penalty = threshold.u * threshold.c
        return penalty, 1.0 + threshold.u, 2.0 * math.log(1.0 / goal.delta) - r * math.log(penalty), 0.0
    assert isinstance(threshold, SelfNormalised)
    assert algorithm.norm_bound is not None
    delta = goal.delta / (problem.n_items**2 if threshold.union else 1)
    constant = 2.0 * math.log(1.0 / delta) - r * math.log(algorithm.penalty)
    return 0.0, 1.0, constant, math.sqrt(algorithm.penalty) * algorithm.norm_bound


def _refresh(setting: Setting, work: Work, penalty: float) -> None:
    """All that rank-one updates changed, computed directly, so that rounding does not add up."""
    from probewise.simulation.kernel import CANDIDATES, LOGDET

    work.base[:] += work.added
    fresh = RankOne.start(work.base, work.moment)
    work.inverse[:], work.origin[:] = fresh.inverse, work.origin + fresh.theta
    work.theta[:] = work.origin
    work.added[:], work.moment[:] = 0.0, 0.0
    work.real[LOGDET] = fresh.logdet
    work.whole[CANDIDATES] = 0
    if setting.shadowed:
        shadow = RankOne.start(work.base + penalty * np.eye(work.theta.size))
        work.shadow[:], work.real[LOGDET] = shadow.inverse, shadow.logdet
    if setting.greedy:
        work.leverage[:] = fresh.norm2(setting.probes)


def _look_up(problem: Problem, work: Work, leader: int, rival: int) -> None:
    """Put the shares of a pair into its slot."""
    key = min(leader, rival) * problem.n_items + max(leader, rival)
    slot, found = key % _SLOTS, shares(problem, leader, rival)
    work.keys[slot] = key
    work.share[slot] = 0.0
    work.support[slot, : found.support.size] = found.support
    work.share[slot, : found.share.size] = found.share
