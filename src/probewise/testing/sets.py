"""check_oracle, check_set_algorithm: what families of sets, and algorithms for them, promise."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from probewise.algorithms import Algorithm
from probewise.coordinates import Array
from probewise.design import digest
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer
from probewise.goals.best_set import BestSet
from probewise.measurements import Measurements
from probewise.oracles import Assignments, Members, Oracle, Paths, SpanningTrees, Subsets
from probewise.problem import Problem
from probewise.run import identify
from probewise.simulation import LinearEnvironment
from probewise.testing.promises import expect, expect_settings, expect_texts

DRAWS = 40
"""Weights that are drawn for an oracle."""
ROUNDS = 20_000
"""Rounds after which an algorithm counts as one that does not stop; the cases are easy."""
EASY: tuple[Oracle, ...] = (Subsets(6, 2), Assignments(3, 3), Paths.grid(3, 3), SpanningTrees.complete(4))
"""Small families of each kind."""


def check_oracle(oracle: Oracle) -> None:
    """Its sets are sets of its elements, none in another, and none found elsewhere is better than the best."""
    expect_texts(oracle, ("kind",))
    expect_settings(oracle, "an oracle")
    rng, found = np.random.default_rng(0), []
    for _ in range(DRAWS):
        weights = rng.standard_normal(oracle.size)
        found.append((weights, _set(oracle, oracle.best(weights))))
        again = oracle.best(weights)
        expect(np.array_equal(found[-1][1], again), "the same weights must give the same set")
    for weights, own in found:
        best = weights[own].sum()
        for _, other in found:
            close = weights[other].sum() <= best + 1e-9
            expect(
                bool(close), f"set {np.flatnonzero(own)} was given as the best, but {np.flatnonzero(other)} is better"
            )
            proper = bool((other & ~own).any()) or np.array_equal(own, other)
            expect(proper, f"no set may contain another, but {np.flatnonzero(own)} has all of {np.flatnonzero(other)}")
    _check_rules(oracle, found[0][0], [own for _, own in found])


def _check_rules(oracle: Oracle, weights: Array, sets: list[Members]) -> None:
    """An element that is in some set and not in another can be forced in and kept out."""
    for element in range(oracle.size):
        own = {bool(each[element]) for each in sets}
        only = np.arange(oracle.size) == element
        if True in own:
            expect(bool(oracle.best_with(weights, forced=only)[element]), f"element {element} could not be forced in")
        if False in own:
            expect(not oracle.best_with(weights, barred=only)[element], f"element {element} could not be kept out")


def _set(oracle: Oracle, chosen: Any) -> Members:
    fits = isinstance(chosen, np.ndarray) and chosen.dtype == np.bool_ and chosen.shape == (oracle.size,)
    expect(fits, f"best must say of each of {oracle.size} elements whether it is in the set, got {chosen!r:.80}")
    return np.asarray(chosen, dtype=np.bool_)


def check_set_algorithm(algorithm: Algorithm[Any]) -> None:
    """Run every check; AssertionError with a sentence at the first promise that is broken."""
    expect_texts(algorithm, ("name", "summary", "reference", "needs"))
    expect_settings(algorithm, "an algorithm")
    expect(isinstance(algorithm.proven, bool), f"proven must be True or False, got {algorithm.proven!r}")
    expect(BestSet in algorithm.goals, f"an algorithm for sets answers BestSet, got {algorithm.goals!r}")
    for oracle in EASY:
        _finds(algorithm, oracle)
    _needs_nothing_for_one_set(algorithm)
    _settles_ties(algorithm)
    _is_pure_and_replays(algorithm)
    _takes_any_rounds_or_refuses(algorithm)


def _case(oracle: Oracle) -> tuple[Problem, Array]:
    """Unequal noise, and values of which the best set is far ahead."""
    rng = np.random.default_rng(1)
    best = oracle.best(rng.standard_normal(oracle.size))
    values = np.where(best, 1.0, -1.0) + 0.1 * rng.standard_normal(oracle.size)
    return Problem(np.eye(oracle.size), sigma=rng.uniform(0.5, 1.0, oracle.size)), values


def _finds(algorithm: Algorithm[Any], oracle: Oracle) -> None:
    """The best set, the one with the largest sum and the one with the smallest."""
    problem, values = _case(oracle)
    best = tuple(int(e) for e in np.flatnonzero(oracle.best(values)))
    for sign, minimise in ((1.0, False), (-1.0, True)):
        goal, laboratory = BestSet(oracle, 0.01, minimise=minimise), LinearEnvironment(problem, sign * values, seed=0)
        found = identify(problem, goal, measure=laboratory.measure, algorithm=algorithm, seed=0)
        expect(found.items == best, f"the best of all {oracle.kind} is {best}, got {found.items}")


def _needs_nothing_for_one_set(algorithm: Algorithm[Any]) -> None:
    goal, problem = BestSet(Paths([(0, 1), (1, 2)], 0, 2)), Problem(np.eye(2))
    state = algorithm.init(problem, goal)
    answer = algorithm.answer(problem, goal, state)
    expect(answer == (0, 1), f"the only path must be the answer at once, got {answer}")
    standing = algorithm.standing(problem, goal, state)
    expect(standing.guess == (0, 1) and standing.progress == 1.0, f"and the guess, with progress 1, got {standing}")


def _settles_ties(algorithm: Algorithm[Any]) -> None:
    """Two equal best sets and epsilon > 0: it stops, with one of them."""
    problem, values = Problem(np.eye(4)), np.array([1.0, 1.0, -1.0, -1.0])
    laboratory = LinearEnvironment(problem, values, seed=0)
    goal = BestSet(Subsets(4, 1), epsilon=0.7)
    found = identify(problem, goal, measure=laboratory.measure, algorithm=algorithm, seed=0, budget=200_000)
    settled = found.status == "identified" and found.items in ((0,), (1,))
    expect(settled, f"elements 0 and 1 tie within epsilon and the others are far below, got {found}")


def _is_pure_and_replays(algorithm: Algorithm[Any]) -> None:
    """No method changes a state; what was told, read back from JSON, leads to the same asks and the same answer."""
    oracle = EASY[0]
    (problem, values), goal = _case(oracle), BestSet(oracle)
    laboratory, state = LinearEnvironment(problem, values), algorithm.init(problem, goal)
    told: list[tuple[list[int], dict[str, list[float]]]] = []
    while algorithm.answer(problem, goal, state) is None:
        expect(len(told) < ROUNDS, f"no answer to an easy problem after {ROUNDS} rounds")
        before = digest(algorithm, state) if len(told) < 5 else b""
        counts = algorithm.ask(problem, goal, state, np.random.default_rng([0, len(told)]))
        whole = counts.dtype == np.int64 and bool((counts >= 0).all()) and bool(counts.any())
        expect(whole, f"ask must return int64 counts of at least 0, and some of them, got {counts!r}")
        measured = laboratory.draw(counts, np.random.default_rng([1, len(told)]))
        after = algorithm.tell(problem, goal, state, measured)
        if before:
            expect(before == digest(algorithm, state), "a method changed the state that it was given")
        plain = {name: getattr(measured, name).tolist() for name in ("count", "mean", "scatter")}
        told.append((counts.tolist(), plain))
        state = after
    again = algorithm.init(problem, goal)
    for step, (counts_asked, record) in enumerate(json.loads(json.dumps(told))):
        asked = algorithm.ask(problem, goal, again, np.random.default_rng([0, step]))
        expect(asked.tolist() == counts_asked, f"round {step} of a replay asked for other counts")
        count, mean, scatter = (np.array(record[name]) for name in ("count", "mean", "scatter"))
        again = algorithm.tell(problem, goal, again, Measurements(count, mean, scatter))
    answers: list[Answer | None] = [algorithm.answer(problem, goal, each) for each in (state, again)]
    expect(answers[0] == answers[1], f"a replay answered {answers[1]}, the run itself {answers[0]}")


def _takes_any_rounds_or_refuses(algorithm: Algorithm[Any]) -> None:
    """Rounds that somebody else planned, and that overlap, or a refusal of these."""
    oracle = EASY[0]
    (problem, values), goal, rng = _case(oracle), BestSet(oracle), np.random.default_rng(0)
    laboratory, state = LinearEnvironment(problem, values), algorithm.init(problem, goal)
    for _ in range(60):
        rounds = [laboratory.draw(rng.integers(0, 6, problem.n_probes), rng) for _ in range(2)]
        try:
            state = algorithm.tell_overlapping(problem, goal, state, rounds)
        except InvalidAlgorithm:
            expect(not algorithm.takes_any_rounds, "an algorithm that takes any rounds must take those that overlap")
            return
    answer = algorithm.answer(problem, goal, state)
    best = tuple(int(e) for e in np.flatnonzero(oracle.best(values)))
    expect(answer == best, f"after 120 rounds of another's the best set is {best}, got {answer}")
