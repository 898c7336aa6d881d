"""What an algorithm declares that it can do, it does; what it does not declare, it refuses."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from probewise.algorithms import Algorithm, Batched, Forecast
from probewise.algorithms.batches import Limits
from probewise.coordinates import Array
from probewise.design import digest
from probewise.errors import InvalidAlgorithm
from probewise.goals import BestItem, Goal
from probewise.measurements import Measurements
from probewise.outcomes import Gaussian
from probewise.problem import Problem
from probewise.result import Result
from probewise.run import check, loop
from probewise.simulation import LinearEnvironment
from probewise.testing.problems import linear_bandit, transductive
from probewise.testing.promises import expect

Build = Callable[[Problem, Array], Algorithm[Any]]
MOST, REPLICATES = 3, 2
"""Limits of the batches in which every algorithm is tried."""


def declares_what_it_can(build: Build) -> None:
    """Its goals are classes of goals and its abilities are flags."""
    algorithm = build(*linear_bandit())
    goals = algorithm.goals
    fits = isinstance(goals, tuple) and all(isinstance(kind, type) and issubclass(kind, Goal) for kind in goals)
    expect(fits and bool(goals), f"goals must be a tuple of classes of goals, at least one, got {goals!r}")
    for what in ("learns_sigma", "minds_stock", "takes_any_rounds", "takes_weights", "forecasts", "attains"):
        flag = getattr(algorithm, what)
        expect(isinstance(flag, bool), f"{what} must be True or False, got {flag!r}")


def learns_sigma_or_refuses(build: Build) -> None:
    """Where the scale of the noise is unknown, it finds the best item or says that it cannot."""
    problem, theta = linear_bandit()
    unknown = dataclasses.replace(problem, outcome=Gaussian(0.2, unknown=True))
    _able_or_refused(build(problem, theta), unknown, theta, "learns_sigma")


def minds_stock_or_refuses(build: Build) -> None:
    """Where probes are few, it asks for no more than there are, or says that it cannot."""
    problem, theta = linear_bandit()
    stock = np.array([400, 400, 400, 400])
    result = _able_or_refused(build(problem, theta), dataclasses.replace(problem, stock=stock), theta, "minds_stock")
    if result is not None:
        used = sum((past.counts for past in result.history), np.zeros(stock.size, dtype=np.int64))
        expect(bool((used <= stock).all()), f"of {stock} in stock it asked for {used}")


def takes_any_rounds_or_refuses(build: Build) -> None:
    """Rounds that somebody else planned, one by one and overlapping, or a refusal of those that overlap."""
    problem, theta = transductive()
    algorithm, goal = build(problem, theta), BestItem()
    rng, environment = np.random.default_rng(0), LinearEnvironment(problem, theta)
    rounds = [environment.draw(np.array([3, 1, 2]), rng), environment.draw(np.array([1, 4, 2]), rng)]
    start = algorithm.init(problem, goal)
    if not algorithm.takes_any_rounds:
        try:
            algorithm.tell_overlapping(problem, goal, start, rounds)
        except InvalidAlgorithm:
            return
        raise AssertionError("an algorithm that does not take any rounds must refuse those that overlap.")
    state = start
    for _ in range(40):
        state = algorithm.tell(problem, goal, state, environment.draw(np.array([2, 5, 3]), rng))
        rounds = [environment.draw(np.array([3, 1, 2]), rng), environment.draw(np.array([1, 4, 2]), rng)]
        state = algorithm.tell_overlapping(problem, goal, state, rounds)
    best = (int(np.argmax(problem.items @ theta)),)
    answer = algorithm.answer(problem, goal, state)
    expect(answer == best, f"after 120 rounds of another's the best item is {best}, got {answer}")


def forecasts_or_refuses(build: Build) -> None:
    """Forecasts are numbers in order, a pure function of the state, and nothing is left at the end; or a refusal."""
    problem, theta = transductive()
    algorithm, goal = build(problem, theta), BestItem()
    state, environment = algorithm.init(problem, goal), LinearEnvironment(problem, theta)
    if not algorithm.forecasts:
        calls: tuple[Callable[[], object], ...] = (
            lambda: algorithm.forecast(problem, goal, state),
            lambda: algorithm.forecast_for_gap(problem, goal, 1.0),
        )
        for call in calls:
            try:
                call()
            except InvalidAlgorithm:
                continue
            raise AssertionError("an algorithm that does not forecast must refuse to.")
        return
    expect(not algorithm.unforeseen(problem, goal), "what can be forecast must not be said to have no forecast")
    _check_forecast(algorithm.forecast_for_gap(problem, goal, 1.0))
    for step in range(1000):
        if algorithm.answer(problem, goal, state) is not None:
            break
        ahead = algorithm.forecast(problem, goal, state)
        expect(ahead == algorithm.forecast(problem, goal, state), "the same state must give the same forecast")
        expect((ahead is None) == bool(algorithm.unforeseen(problem, goal, state)), "no forecast needs its sentence")
        if ahead is not None:
            _check_forecast(ahead)
        rng = np.random.default_rng(step)
        counts = algorithm.ask(problem, goal, state, rng)
        state = algorithm.tell(problem, goal, state, environment.draw(counts, rng))
    ahead = algorithm.forecast(problem, goal, state)
    expect(ahead is not None and ahead.measurements == 0, f"nothing is left to do after the answer, got {ahead}")


def attains_or_refuses(build: Build) -> None:
    """The confidence attained is 0 at first, a pure function of the state, and 1 - δ at the answer; or a refusal."""
    problem, theta = transductive()
    algorithm, goal = build(problem, theta), BestItem()
    state, environment = algorithm.init(problem, goal), LinearEnvironment(problem, theta)
    if not algorithm.attains:
        try:
            algorithm.confidence(problem, goal, state)
        except InvalidAlgorithm:
            return
        raise AssertionError("an algorithm that does not say how sure its guess is must refuse to.")
    first = algorithm.confidence(problem, goal, state)
    expect(not first, f"before anything is measured no confidence is attained, got {first}")
    for step in range(1000):
        if algorithm.answer(problem, goal, state) is not None:
            break
        rng = np.random.default_rng(step)
        counts = algorithm.ask(problem, goal, state, rng)
        state = algorithm.tell(problem, goal, state, environment.draw(counts, rng))
        sure = algorithm.confidence(problem, goal, state)
        expect(sure == algorithm.confidence(problem, goal, state), "the same state must give the same confidence")
        expect(sure is None or 0.0 <= sure <= 1.0, f"a confidence must lie between 0 and 1, got {sure}")
    sure, least = algorithm.confidence(problem, goal, state), 1.0 - goal.delta
    expect(sure is not None and sure >= least - 1e-12, f"an answer has attained {least} at least, got {sure}")


def keeps_what_it_solved(build: Build) -> None:
    """From its memo, read back from JSON, it begins as if it had none; what is no memo of its own is refused."""
    for problem, theta in (linear_bandit(), transductive()):
        algorithm, goal = build(problem, theta), BestItem()
        memo = algorithm.memo(problem, goal)
        for junk in ({"junk": 1}, *([] if memo is None else [{}, {**memo, "junk": 1}])):
            try:
                algorithm.resume(problem, goal, junk)
            except InvalidAlgorithm:
                continue
            expect(False, f"resume must refuse a memo that is none of its own, took {junk}")
        if memo is None:
            continue
        memo = json.loads(json.dumps(memo))
        state, resumed = algorithm.init(problem, goal), algorithm.resume(problem, goal, memo)
        expect(digest(state) == digest(resumed), "resume must lead to the state of init, and led to another one")
        algorithm.check_memo(problem, goal, memo)


def works_in_batches(build: Build) -> None:
    """Given out in small batches it is told the same rounds as without, and so finds the same answer."""
    problem, theta = transductive()
    own = build(problem, theta)
    if own.limits != Limits():
        return
    batched = Batched(own, max_batch=MOST, max_replicates=REPLICATES)
    cut, whole = _run(batched, problem, theta), _run(own, problem, theta)
    for past in cut.history:
        small = past.counts.sum() <= MOST and past.counts.max() <= REPLICATES
        expect(
            bool(small), f"a batch must have at most {MOST} measurements, {REPLICATES} of a probe, got {past.counts}"
        )
    best = (int(np.argmax(problem.items @ theta)),)
    expect(cut.items == best, f"in batches the best item is {best}, got {cut.items}")
    asked = cut.measurements if len(whole.history) == 1 else None
    expect(asked in (None, whole.measurements), "a single round must have as many measurements in batches as without")


def _able_or_refused(algorithm: Algorithm[Any], problem: Problem, theta: Array, ability: str) -> Result | None:
    """The result, if it declares the ability; else it must be refused before it begins."""
    goal = BestItem()
    if not getattr(algorithm, ability):
        try:
            check(problem, goal, algorithm)
        except InvalidAlgorithm:
            return None
        raise AssertionError(f"without {ability} such a problem must be refused.")
    result = _run(algorithm, problem, theta)
    best = (int(np.argmax(problem.items @ theta)),)
    expect(result.items == best, f"with {ability} the best item is {best}, got {result.items}")
    return result


def _run(algorithm: Algorithm[Any], problem: Problem, theta: Array) -> Result:
    environment = LinearEnvironment(problem, theta)

    def observe(counts: np.ndarray[Any, np.dtype[np.int64]], step: int) -> Measurements:
        return environment.draw(counts, np.random.default_rng([step, 1]))

    return loop(problem, BestItem(), algorithm, observe=observe, stream=lambda step: np.random.default_rng([step, 0]))


def _check_forecast(ahead: Forecast) -> None:
    low, high = ahead.measurements if ahead.low is None else ahead.low, ahead.high or ahead.measurements
    ordered = 0 <= low <= ahead.measurements <= high and ahead.cost >= 0 and (ahead.rounds or 0) >= 0
    expect(ordered, f"a forecast must have its numbers in order, got {ahead}")


ABILITIES: dict[str, Callable[[Build], None]] = {
    ability.__name__: ability
    for ability in (
        declares_what_it_can,
        learns_sigma_or_refuses,
        minds_stock_or_refuses,
        takes_any_rounds_or_refuses,
        forecasts_or_refuses,
        attains_or_refuses,
        keeps_what_it_solved,
        works_in_batches,
    )
}
"""Name -> check."""
