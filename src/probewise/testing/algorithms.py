"""check_algorithm: what every algorithm promises, as checks that fail with a sentence.

A new algorithm in the registry is checked by tests/test_contract.py without a line of its own; elsewhere, call
``check_algorithm(MyAlgorithm())``, or pass a function of the problem and θ if its settings must know something of them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from probewise.algorithms import ALGORITHMS, Algorithm
from probewise.algorithms.base import Standing
from probewise.coordinates import Array, Counts
from probewise.design import digest, remembering
from probewise.errors import ProbewiseError
from probewise.goals import Answer, BestItem, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.simulation import LinearEnvironment
from probewise.testing.abilities import ABILITIES
from probewise.testing.problems import EASY, linear_bandit, transductive
from probewise.testing.promises import expect, expect_settings, expect_texts

Build = Callable[[Problem, Array], Algorithm[Any]]
"""(problem, θ) -> an algorithm; θ only for settings such as a bound on its norm."""

ROUNDS = 20_000
"""Rounds after which an algorithm counts as one that does not stop; the cases are easy."""
SETTINGS: dict[str, Callable[[Problem, Array], dict[str, Any]]] = {
    "alba": lambda problem, theta: {"norm_bound": float(np.abs(problem.probes @ theta).max())},
    "xy-oracle": lambda problem, theta: {"theta": theta},
}
"""Name -> settings without which an algorithm cannot run, from the problem and θ."""


def informed(name: str, problem: Problem, theta: ArrayLike, **settings: Any) -> Algorithm[Any]:
    """The algorithm of that name with the settings it cannot do without taken from the true θ, for simulations."""
    needed = SETTINGS[name](problem, np.asarray(theta, dtype=np.float64)) if name in SETTINGS else {}
    return ALGORITHMS[name](**{**needed, **settings})


def check_algorithm(algorithm: Algorithm[Any] | Build) -> None:
    """Run every check; AssertionError with a sentence at the first promise that is broken."""
    for check in CHECKS.values():
        check(_build(algorithm))


def check_scale(algorithm: Algorithm[Any] | Build) -> None:
    """Outcomes in other units, with σ and θ in the same units, must change no decision; not every algorithm claims it.

    The factor is a power of 2, so that not even rounding differs.
    """
    build = _build(algorithm)
    problem, theta = transductive()
    scaled = Problem(problem.probes, problem.items, sigma=1024.0 * problem.sigma)
    plain = _run(build(problem, theta), problem, theta)
    other = _run(build(scaled, 1024.0 * theta), scaled, 1024.0 * theta)
    expect(
        _same(plain.rounds, other.rounds),
        f"outcomes in units 1024 times smaller led from {len(plain.rounds)} to {len(other.rounds)} rounds, "
        "or to other counts",
    )


def says_what_it_is(build: Build) -> None:
    """Name, summary, reference and needs are texts; settings are frozen and equal if built alike."""
    algorithm = build(*linear_bandit())
    expect_texts(algorithm, ("name", "summary", "reference", "needs"))
    expect(isinstance(algorithm.proven, bool), f"proven must be True or False, got {algorithm.proven!r}")
    expect_settings(algorithm, "an algorithm")
    expect(algorithm == build(*linear_bandit()), "two algorithms with the same settings must be equal")


def is_right(build: Build) -> None:
    """On every easy problem it asks for whole numbers of measurements, stops, and gives the best item."""
    for case in EASY:
        problem, theta = case()
        algorithm = build(problem, theta)
        if not _takes(algorithm, problem):
            continue
        with remembering():
            answers = [_run(algorithm, problem, theta, seed=seed).answer for seed in (0, 1)]
        best = int(np.argmax(problem.items @ theta))
        expect(answers == [(best,), (best,)], f"{case.__name__}: the best item is {best}, got {answers} in two runs")


def needs_nothing_for_one_item(build: Build) -> None:
    """A single item is the answer before any measurement."""
    problem, theta = Problem(np.eye(2), [[1.0, 1.0]]), np.array([1.0, 0.0])
    algorithm = build(problem, theta)
    state = algorithm.init(problem, BestItem())
    answer = algorithm.answer(problem, BestItem(), state)
    expect(answer == (0,), f"a single item must be the answer at once, got {answer}")
    _check_standing(algorithm.standing(problem, BestItem(), state), 1, (0,), (0,))


def settles_ties_within_epsilon(build: Build) -> None:
    """Two equal best items and epsilon > 0: it stops, with one of them."""
    problem, theta = Problem(np.eye(3)), np.array([1.0, 1.0, -1.0])
    algorithm = build(problem, theta)
    if _knows(algorithm):
        return
    for seed in (0, 1):
        answer = _run(algorithm, problem, theta, goal=BestItem(epsilon=0.5), seed=seed).answer
        expect(answer in ((0,), (1,)), f"items 0 and 1 tie within epsilon and item 2 is far below, got {answer}")


def believes_the_data(build: Build) -> None:
    """Built for one θ and measured under another of the same size, it finds the item that the measurements show."""
    problem, theta = Problem(np.eye(3)), np.array([1.0, -1.0, 0.0])
    algorithm = build(problem, theta)
    if _knows(algorithm):
        return
    answer = _run(algorithm, problem, -theta).answer
    expect(answer == (1,), f"the measurements say item 1, whatever the settings were taken from; got {answer}")


def is_deterministic(build: Build) -> None:
    """The same seed gives the same rounds."""
    problem, theta = transductive()
    first, second = (_run(build(problem, theta), problem, theta, seed=3).rounds for _ in range(2))
    expect(_same(first, second), "two runs with the same seed and the same outcomes asked for different counts")


def is_pure(build: Build) -> None:
    """No method changes a state, the problem or the settings, and the same state and stream give the same counts."""
    problem, theta = linear_bandit()
    algorithm, goal = build(problem, theta), BestItem()
    environment = LinearEnvironment(problem, theta)
    state = algorithm.init(problem, goal)
    for step in range(5):
        if algorithm.answer(problem, goal, state) is not None:
            break
        before = digest(algorithm, problem, state)
        counts = algorithm.ask(problem, goal, state, _stream(0, step, 0))
        again = algorithm.ask(problem, goal, state, _stream(0, step, 0))
        expect(np.array_equal(counts, again), f"round {step}: the same state and stream gave different counts")
        measurements = environment.draw(counts, _stream(0, step, 1))
        told = algorithm.tell(problem, goal, state, measurements)
        twice = algorithm.tell(problem, goal, state, measurements)
        expect(before == digest(algorithm, problem, state), f"round {step}: a method changed the state it was given")
        expect(digest(told) == digest(twice), f"round {step}: told the same twice, it went to different states")
        state = told


def replays(build: Build) -> None:
    """A history of counts, means and scatters read back from JSON leads to the same asks and the same answer."""
    problem, theta = transductive()
    algorithm, goal = build(problem, theta), BestItem()
    run = _run(algorithm, problem, theta)
    stored = json.loads(json.dumps([_plain(measurements) for _, measurements in run.rounds]))
    state = algorithm.init(problem, goal)
    for step, record in enumerate(stored):
        expect(algorithm.answer(problem, goal, state) is None, f"a replay ended early, before round {step}")
        counts = algorithm.ask(problem, goal, state, _stream(0, step, 0))
        expect(np.array_equal(counts, run.rounds[step][0]), f"round {step} of a replay asked for other counts")
        state = algorithm.tell(problem, goal, state, _read(record))
    answer = algorithm.answer(problem, goal, state)
    expect(answer == run.answer, f"a replay answered {answer}, the run itself {run.answer}")


def goes_on_from_one_round(build: Build) -> None:
    """Begun elsewhere, with its first round read from a file, it goes on as if never interrupted."""
    problem, theta = linear_bandit()
    goal = BestItem()
    whole = _run(build(problem, theta), problem, theta).rounds
    record = json.loads(json.dumps(_plain(whole[0][1])))
    algorithm = build(Problem(problem.probes.copy(), problem.items.copy()), theta)
    state = algorithm.tell(problem, goal, algorithm.init(problem, goal), _read(record))
    rest = _run(algorithm, problem, theta, state=state, step=1).rounds
    expect(_same(whole[1:], rest), "after a first round from a file it asked for other rounds than without the break")


def says_where_it_stands(build: Build) -> None:
    """Leader and answer are among the items left, nobody ruled out wins, and a sure answer leaves only itself."""
    close = (Problem(np.eye(3)), np.array([1.0, 0.9, -1.0]))
    for (problem, theta), epsilon in ((linear_bandit(), 0.0), (transductive(), 0.0), (close, 0.5)):
        algorithm, goal = build(problem, theta), BestItem(epsilon=epsilon)
        run, state = _run(algorithm, problem, theta, goal=goal), algorithm.init(problem, goal)
        for _, measurements in run.rounds:
            _check_standing(algorithm.standing(problem, goal, state), problem.n_items, run.answer, None)
            state = algorithm.tell(problem, goal, state, measurements)
        last = algorithm.standing(problem, goal, state)
        _check_standing(last, problem.n_items, run.answer, run.answer)
        expect(
            epsilon > 0 or last.remaining.size == 1,
            f"without epsilon an answer rules out all other items, got {last.remaining} left",
        )


CHECKS: dict[str, Callable[[Build], None]] = {
    check.__name__: check
    for check in (
        says_what_it_is,
        is_right,
        needs_nothing_for_one_item,
        settles_ties_within_epsilon,
        believes_the_data,
        says_where_it_stands,
        is_deterministic,
        is_pure,
        replays,
        goes_on_from_one_round,
    )
} | ABILITIES
"""Name -> check."""


class _Run(NamedTuple):
    rounds: list[tuple[Counts, Measurements]]
    answer: Answer


def _run(
    algorithm: Algorithm[Any],
    problem: Problem,
    theta: Array,
    *,
    goal: Goal | None = None,
    seed: int = 0,
    state: Any = None,
    step: int = 0,
) -> _Run:
    """A run to its end; one that goes on from a ``state`` after ``step`` rounds uses the streams of the whole run."""
    goal, environment = goal or BestItem(), LinearEnvironment(problem, theta)
    state = algorithm.init(problem, goal) if state is None else state
    rounds: list[tuple[Counts, Measurements]] = []
    while (answer := algorithm.answer(problem, goal, state)) is None:
        expect(step < ROUNDS, f"no answer to an easy problem after {ROUNDS} rounds")
        counts = algorithm.ask(problem, goal, state, _stream(seed, step, 0))
        _check_counts(counts, problem.n_probes)
        rounds.append((counts, environment.draw(counts, _stream(seed, step, 1))))
        state, step = algorithm.tell(problem, goal, state, rounds[-1][1]), step + 1
    return _Run(rounds, answer)


def _check_counts(counts: Any, n: int) -> None:
    expect(
        isinstance(counts, np.ndarray) and counts.dtype == np.int64 and counts.shape == (n,),
        f"ask must return int64 counts, one for each of {n} probes, got {counts!r}",
    )
    expect(bool((counts >= 0).all()), f"ask must return counts of at least 0, got {counts}")
    expect(bool(counts.any()), "ask must ask for at least one measurement while there is no answer, got only zeros")


def _check_standing(standing: Standing, n: int, end: Answer, answer: Answer | None) -> None:
    """After some rounds of a run that ends with the items ``end``; ``answer`` is what it answers now."""
    left, guess, progress = standing.remaining, standing.guess, standing.progress
    expect(
        isinstance(left, np.ndarray) and left.dtype == np.int64 and bool(np.isin(left, np.arange(n)).all()),
        f"remaining must be int64 numbers of items, from 0 to {n - 1}, got {left!r}",
    )
    expect(bool((np.diff(left) > 0).all()), f"remaining must name each item once, ascending, got {left}")
    expect({*end} <= {*left}, f"items {end} were the answer in the end, but had been ruled out, with {left} left")
    expect(isinstance(guess, tuple), f"the guess must be a tuple of items, got {guess!r}")
    expect({*guess} <= {*left}, f"the guess must be among the items left, {left}, got {guess}")
    if answer is None:
        possible = progress is None or 0 <= progress <= 1
        expect(possible, f"progress must lie between 0 and 1, or be None, got {progress}")
        return
    now = (guess, progress)
    expect(now == (answer, 1.0), f"the answer {answer} must be the guess, with progress 1, got {now}")


def _build(algorithm: Algorithm[Any] | Build) -> Build:
    return (lambda problem, theta: algorithm) if isinstance(algorithm, Algorithm) else algorithm


def _stream(seed: int, step: int, purpose: int) -> np.random.Generator:
    """What round ``step`` draws from: purpose 0 for the algorithm, 1 for the outcomes."""
    return np.random.default_rng([seed, step, purpose])


def _knows(algorithm: Algorithm[Any]) -> bool:
    """Whether it is an oracle, which says so by a setting named theta."""
    return "theta" in {field.name for field in dataclasses.fields(algorithm)}  # type: ignore[arg-type]


def _takes(algorithm: Algorithm[Any], problem: Problem) -> bool:
    """Whether it can do with differences of items only, where these are all that can be learned; it may refuse."""
    if problem.coordinates.is_inside(problem.items).all():
        return True
    try:
        algorithm.init(problem, BestItem())
    except ProbewiseError:
        return False
    return True


def _same(first: list[tuple[Counts, Measurements]], second: list[tuple[Counts, Measurements]]) -> bool:
    """Whether both asked for the same."""
    return len(first) == len(second) and all(np.array_equal(a[0], b[0]) for a, b in zip(first, second, strict=True))


def _plain(measurements: Measurements) -> dict[str, list[float]]:
    return {name: getattr(measurements, name).tolist() for name in ("count", "mean", "scatter")}


def _read(record: dict[str, list[float]]) -> Measurements:
    return Measurements(
        np.array(record["count"], dtype=np.int64), np.array(record["mean"]), np.array(record["scatter"])
    )
