from __future__ import annotations

import itertools
import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise as pw
from probewise.algorithms import XYAdaptive
from probewise.algorithms.xy_adaptive import Stop, greedy
from probewise.confidence import Evidence, PairsUnion, SelfNormalised, Threshold
from probewise.measurements import Measurements

EXACT = 10**9
GOAL = pw.BestItem()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"criterion": "printed"}, "criterion must be 'normalised' or 'literal', got 'printed'"),
        ({"alpha": 1.0}, r"alpha must lie strictly between 0 and 1, got 1\.0"),
        ({"resolution": 0}, "resolution must be at least 1, got 0"),
        ({"threshold": SelfNormalised()}, "xy-adaptive uses least squares, but threshold 'self-normalised'"),
    ],
)
def test_settings_that_cannot_work_are_refused(chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match=message):
        XYAdaptive(**chosen)


def test_the_leader_is_the_survivor_with_the_highest_estimate() -> None:
    problem, algorithm = pw.Problem(np.eye(3)), XYAdaptive()
    state = algorithm.init(problem, GOAL)
    assert algorithm.standing(problem, GOAL, state).leader is None
    for means in ([0.1, 0.0, 0.2], [0.1, 0.3, 0.2]):
        told = Measurements(np.full(3, 4), np.array(means), np.zeros(3))
        state = algorithm.tell(problem, GOAL, state, told)
        now = algorithm.standing(problem, GOAL, state)
        assert (now.remaining.tolist(), now.leader) == ([0, 1, 2], int(np.argmax(means)))


def plain_greedy(probes: Any, items: Any, start: Any, total: int) -> Any:
    """The definition, inverse by inverse."""
    counts = start.copy()
    Y = np.array([a - b for a, b in itertools.combinations(items, 2)])
    while counts.sum() < total:
        worst = []
        for x in probes:
            inverse = np.linalg.inv((probes.T * counts) @ probes + np.outer(x, x))
            worst.append(np.einsum("ij,jk,ik->i", Y, inverse, Y).max())
        counts[int(np.argmin(worst))] += 1
    return counts


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 6))
@settings(max_examples=25)
def test_greedy_is_the_definition(seed: int, d: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    probes, items = rng.standard_normal((d + 3, d)), rng.standard_normal((m, d))
    start, _ = greedy(probes, items, EXACT, Stop(total=d + 1))
    counts, rho = greedy(probes, items, EXACT, Stop(total=40))
    expected = plain_greedy(probes, items, start, 40)
    np.testing.assert_array_equal(counts, expected)
    Y = np.array([a - b for a, b in itertools.combinations(items, 2)])
    inverse = np.linalg.inv((probes.T * counts) @ probes)
    assert rho == pytest.approx(np.einsum("ij,jk,ik->i", Y, inverse, Y).max())


@pytest.mark.parametrize("resolution", [EXACT, 500, 50])
def test_greedy_nears_the_optimal_design_even_where_no_probe_shortens_all_longest_directions(resolution: int) -> None:
    problem, _ = pw.instances.benchmark(6)
    counts, rho = greedy(problem.probes, problem.items, resolution, Stop(total=3000))
    optimum = pw.optimal_design(problem.probes, pw.pairs(problem.items)).lower
    assert rho * counts.sum() <= 1.05 * optimum


def test_a_basis_gets_its_part() -> None:
    problem, _ = pw.instances.benchmark(4)
    counts, _ = greedy(problem.probes, problem.items[[0, 4]], 500, Stop(total=1000), each=50)
    assert np.count_nonzero(counts >= 50) == 4


@pytest.mark.parametrize(("criterion", "growth"), [("literal", math.sqrt(10)), ("normalised", 10.0)])
def test_phases_grow_as_the_criterion_says(criterion: Any, growth: float) -> None:
    problem, _ = pw.instances.benchmark(3)
    algorithm = XYAdaptive(criterion)
    state, totals = algorithm.init(problem, GOAL), []
    for _ in range(6):
        totals.append(int(state.counts.sum()))
        zero = np.zeros(problem.n_probes)  # outcomes 0: nobody is ever beaten
        state = algorithm.tell(problem, GOAL, state, pw.Measurements(state.counts, zero, zero))
    ratios = np.array(totals[3:]) / np.array(totals[2:-1])
    np.testing.assert_allclose(ratios, growth, rtol=0.05)
    if criterion == "normalised":
        assert totals[0] == 3 * 4 + 1


def test_a_phase_decides_by_its_own_data() -> None:
    problem = pw.Problem(np.eye(3))
    algorithm = XYAdaptive()
    first = algorithm.init(problem, GOAL)
    zero = np.zeros(3)
    second = [algorithm.tell(problem, GOAL, first, pw.Measurements(first.counts, zero + c, zero)) for c in (0.0, 0.01)]
    outcomes = pw.Measurements(second[0].counts, np.array([5.0, 0.0, 0.0]), zero)
    third = [algorithm.tell(problem, GOAL, state, outcomes) for state in second]
    assert third[0].survivors.tolist() == third[1].survivors.tolist() == [0]
    assert third[0].width == third[1].width


def test_the_authors_run_is_reproduced_in_seconds() -> None:
    """One run of the authors' code took 1,779,581 measurements and 286 s; totals come in steps, one of which it is."""
    problem, theta = pw.instances.benchmark(5)
    algorithm = XYAdaptive(threshold=PairsUnion(math.pi**2 / 3))
    began = time.perf_counter()
    runs = pw.simulate(problem, theta, algorithm, runs=15, seed=2)
    assert time.perf_counter() - began < 40
    assert runs["correct"].all()
    assert np.abs(runs["measurements"] / 1_779_581 - 1.0).min() < 0.02


@pytest.mark.parametrize(
    "chosen", [{"reset": True}, {"criterion": "normalised"}, {"criterion": "normalised", "reset": True}]
)
def test_all_settings_end_with_the_best_item(chosen: dict[str, Any]) -> None:
    problem, theta = pw.instances.benchmark(4, angle=0.1)
    runs = pw.simulate(problem, theta, XYAdaptive(**chosen), runs=5, seed=1, budget=10**8)
    assert runs["correct"].all()


@pytest.mark.parametrize("reset", [False, True])
def test_errors_are_rarer_than_delta(reset: bool) -> None:
    turns = 0.1 * np.arange(-4.0, 5.0)
    problem = pw.Problem(np.eye(2), np.column_stack([np.cos(turns), np.sin(turns)]))
    algorithm = XYAdaptive(reset=reset, resolution=20)
    runs = pw.simulate(problem, [1.0, 0.0], algorithm, pw.BestItem(delta=0.3), runs=50, seed=1)
    assert runs.error_rate(0.99).high <= 0.3


def test_a_tolerance_ends_it_early() -> None:
    problem, theta = pw.instances.benchmark(4)
    runs = pw.simulate(problem, theta, XYAdaptive(), pw.BestItem(epsilon=0.2), runs=10, seed=1)
    assert runs["correct"].all()
    assert runs.mean("measurements") < 20_000


def test_phases_share_delta_where_the_threshold_does_not() -> None:
    # TrackAndStop holds at all times of one set of data, and every phase has its own.
    heard: list[float] = []

    class Listening(Threshold):
        name, proven, data, estimator, reference = "listening", False, "adaptive", "any", "this test"

        def beta(self, evidence: Evidence) -> float:
            heard.append(evidence.delta)
            return math.inf

    problem, algorithm = pw.Problem(np.eye(2)), XYAdaptive(threshold=Listening())
    state = algorithm.init(problem, GOAL)
    zero = np.zeros(2)
    for _ in range(3):
        state = algorithm.tell(problem, GOAL, state, pw.Measurements(state.counts, zero, zero))
    np.testing.assert_allclose(heard, GOAL.delta / np.array([2.0, 6.0, 12.0]))
