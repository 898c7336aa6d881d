from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise as pw
from probewise.algorithms.lingape import LinGapE
from probewise.algorithms.sequential.shares import shares, spanner
from probewise.confidence import LogLog, SelfNormalised, StarUnion, TrackAndStop
from probewise.design.criterion import largest_variance
from probewise.design.sets import explicit
from probewise.goals import BestItem
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.run import loop
from probewise.simulation.compiled import in_order


def uneven(n: int, m: int, d: int, seed: int) -> Problem:
    """Random probes and items, with noise and costs that differ."""
    rng = np.random.default_rng(seed)
    sigma, cost = rng.uniform(0.5, 2.0, n), rng.uniform(0.2, 5.0, n)
    return Problem(rng.normal(size=(n, d)), rng.normal(size=(m, d)), sigma=sigma, cost=cost)


def run(problem, theta, algorithm, goal=None, *, seed=0, budget=None, keep=False):
    environment = pw.LinearEnvironment(problem, theta)
    observe = in_order(environment, np.random.default_rng(seed))
    stream = np.random.default_rng
    goal = goal or BestItem()
    return loop(problem, goal, algorithm, observe=observe, stream=stream, budget=budget, keep=keep)


def asked(result) -> list[int]:
    """The probes of all rounds but the first, in order."""
    return [int(np.flatnonzero(r.counts)[0]) for r in result.history[1:]]


@pytest.mark.parametrize(("n", "d"), [(8, 3), (40, 5), (400, 4)])
def test_shares_are_the_optimal_design_of_the_pair(n, d):
    problem = uneven(n, 4, d, seed=n)
    support, share = shares(problem, 2, 0)
    assert support.size <= d
    assert np.all(np.diff(support) > 0)
    assert share.sum() == pytest.approx(1.0)
    y = explicit(problem.items[[2]] - problem.items[[0]])
    weights = np.zeros(n)
    weights[support] = share
    value = problem.cost @ weights * largest_variance(problem.scaled_probes, weights, y)
    best = pw.optimal_design(problem.scaled_probes, y, cost=problem.cost, tol=1e-6)
    assert best.lower * (1 - 1e-9) <= value <= best.value * (1 + 1e-9)


def test_shares_do_not_depend_on_what_was_asked_before_or_on_the_order_of_the_pair():
    first, second = uneven(300, 5, 4, seed=1), uneven(300, 5, 4, seed=1)
    for j in range(1, 5):
        shares(first, 0, j)
    one, two = shares(first, 4, 3), shares(second, 3, 4)
    assert np.array_equal(one.support, two.support)
    assert np.array_equal(one.share, two.share)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 40))
def test_spanner_spans_with_small_coefficients(seed, r, more):
    rng = np.random.default_rng(seed)
    probes = rng.normal(size=(r + more, r)) * 10.0 ** rng.uniform(-3, 3, size=(r + more, 1))
    chosen = spanner(probes)
    assert np.unique(chosen).tolist() == chosen.tolist()
    assert chosen.size == r
    assert np.abs(np.linalg.solve(probes[chosen].T, probes.T)).max() <= 2.0 + 1e-9


def by_the_book(problem, theta, algorithm, delta, rng, n):
    """Probes measured after the first round: everything from sums over all data, matrices inverted each time."""
    X, Z = problem.scaled_probes, problem.items
    at = list(range(problem.n_probes)) if algorithm.initial == "every" else []
    y = [X[k] @ theta + rng.standard_normal() for k in at]
    start, ridge = len(at), algorithm.norm_bound is not None
    for _ in range(n):
        D = X[at].reshape(-1, X.shape[1])
        V = D.T @ D
        W = V + algorithm.penalty * np.eye(X.shape[1]) if ridge else V
        estimate = np.linalg.solve(W, D.T @ np.array(y)) if at else np.zeros(X.shape[1])
        if ridge:
            logdet = np.linalg.slogdet(W / algorithm.penalty)[1]
            width = math.sqrt(2 * math.log(len(Z) ** 2 / delta) + logdet) + math.sqrt(algorithm.penalty) * 3.0
        else:  # LT&S with u = 0.1, in units in which the first round has information I
            ratio = np.linalg.eigvals(np.linalg.solve(X.T @ X, V)).real
            width = math.sqrt(2 * 1.1 * (0.5 * np.log1p(ratio / 0.1).sum() + math.log(1 / delta)))
        i = int(np.argmax(Z @ estimate))
        Y = Z - Z[i]
        bounds = Y @ estimate + width * np.sqrt(np.einsum("ij,jk,ik->i", Y, np.linalg.inv(W), Y))
        bounds[i] = -np.inf
        j = int(np.argmax(bounds))
        if bounds[j] <= 0:
            break
        if algorithm.selection == "ratio":
            support, share = shares(problem, i, j)
            k = int(support[np.argmin(np.bincount(at, minlength=len(X))[support] / share)])
        else:
            after = [(Z[i] - Z[j]) @ np.linalg.inv(W + np.outer(x, x)) @ (Z[i] - Z[j]) for x in X]
            now = (Z[i] - Z[j]) @ np.linalg.inv(W) @ (Z[i] - Z[j])
            k = int(np.argmax((now - np.array(after)) / problem.cost))
        at.append(k)
        y.append(X[k] @ theta + rng.standard_normal())
    return at[start:], i


@pytest.mark.parametrize("selection", ["ratio", "greedy"])
@pytest.mark.parametrize("bound", [None, 3.0])
def test_same_decisions_as_by_the_book(selection, bound):
    problem, theta = uneven(6, 4, 3, seed=3), np.array([1.0, -0.5, 0.8])
    algorithm = LinGapE(selection, norm_bound=bound, penalty=0.5)
    result = run(problem, theta, algorithm, BestItem(0.1), seed=4, budget=506, keep=True)
    expected, item = by_the_book(problem, theta, algorithm, 0.1, np.random.default_rng(4), 500)
    assert asked(result) == expected
    assert result.item == item or result.status == "budget exhausted"
    assert (result.status == "budget exhausted") == (len(expected) == 500)


def test_without_a_first_round_it_begins_at_zero():
    problem, theta = pw.instances.benchmark(3, 0.5)
    algorithm = LinGapE("greedy", initial="none", norm_bound=3.0)
    result = run(problem, theta, algorithm, BestItem(0.1), keep=True)
    # all estimates tie at 0, so that the first item leads and the first of its farthest rivals is compared with it
    assert np.flatnonzero(result.history[0].counts)[0] == 0
    assert result.item == 0
    assert all(r.counts.sum() == 1 for r in result.history)


def test_first_rounds():
    problem, _ = pw.instances.sphere(30, 4, seed=1)
    rng = np.random.default_rng(0)
    for initial, size in (("every", 30), ("spanner", 4)):
        algorithm = LinGapE(initial=initial)
        counts = algorithm.ask(problem, BestItem(), algorithm.init(problem, BestItem()), rng)
        assert counts.sum() == size
        assert counts.max() == 1


@pytest.mark.parametrize("initial", ["every", "spanner"])
def test_after_the_first_round_the_threshold_does_not_wait(initial):
    for seed in range(20):
        problem, algorithm, goal = uneven(9, 3, 4, seed), LinGapE(initial=initial), BestItem()
        state = algorithm.init(problem, goal)
        counts = algorithm.ask(problem, goal, state, np.random.default_rng(0))
        state = algorithm.tell(problem, goal, state, Measurements(counts, np.zeros(9), np.zeros(9)))
        assert state.fit.information == pytest.approx(np.eye(4), abs=1e-8)
        assert math.isfinite(state.bound)


@pytest.mark.parametrize("algorithm", [LinGapE(), LinGapE("greedy"), LinGapE(initial="spanner")], ids=str)
def test_without_a_norm_bound_units_of_features_do_not_matter(algorithm):
    problem, theta = uneven(7, 5, 3, seed=8), np.array([1.0, 0.2, -0.6])
    scale = np.array([1e-4, 1.0, 1e5])
    other = Problem(problem.probes * scale, problem.items * scale, sigma=problem.sigma, cost=problem.cost)
    one = run(problem, theta, algorithm, budget=400, keep=True)
    two = run(other, theta / scale, algorithm, budget=400, keep=True)
    assert asked(one) == asked(two)
    assert one.item == two.item


def test_probes_in_units_of_their_noise_are_what_counts():
    problem, theta = pw.instances.transductive(4, 0.9)
    sigma = np.array([0.5, 2.0, 1.0, 3.0])
    other = Problem(problem.probes * sigma[:, None], problem.items, sigma=sigma)
    algorithm = LinGapE(norm_bound=1.0)
    one, two = run(problem, theta, algorithm, keep=True), run(other, theta, algorithm, keep=True)
    assert asked(one) == asked(two)
    assert one.item == two.item == 0


def test_features_that_no_probe_has_are_no_obstacle():
    probes = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 2.0, 0.0]])
    items = np.array([[1.0, 0.0, 7.0], [0.0, 1.0, 7.0]])
    for algorithm in (LinGapE(), LinGapE(initial="spanner"), LinGapE(norm_bound=5.0)):
        assert run(Problem(probes, items), np.array([0.0, 2.0, 4.0]), algorithm).item == 1


def test_tolerance_ends_it_earlier_with_a_good_item():
    problem, theta = pw.instances.benchmark(3, 0.1)
    algorithm = LinGapE(norm_bound=2.0)
    result = run(problem, theta, algorithm, BestItem(0.05, epsilon=0.5), budget=5000)
    values = problem.items @ theta
    assert values[result.item] >= values.max() - 0.5
    assert run(problem, theta, algorithm, budget=result.measurements).status == "budget exhausted"


def test_one_item_needs_no_measurement():
    problem = Problem([[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]])
    for algorithm in (LinGapE(), LinGapE(initial="spanner"), LinGapE(initial="none", norm_bound=1.0)):
        for probes in (problem.probes, np.zeros((2, 2))):
            result = run(Problem(probes, problem.items), np.zeros(2), algorithm)
            assert (result.item, result.measurements) == (0, 0)


def test_several_measurements_at_once_count_like_one_after_the_other():
    problem, _ = pw.instances.benchmark(3, 0.3)
    goal, rng = BestItem(), np.random.default_rng(5)
    for algorithm in (LinGapE(), LinGapE(norm_bound=2.0)):
        first = Measurements.from_outcomes(4, [0, 1, 2, 3], rng.normal(size=4))
        one = many = algorithm.tell(problem, goal, algorithm.init(problem, goal), first)
        indices, outcomes = np.array([0, 2, 2, 3, 1]), rng.normal(size=5)
        for k, outcome in zip(indices, outcomes, strict=True):
            one = algorithm.tell(problem, goal, one, Measurements.from_outcomes(4, [k], [outcome]))
        many = algorithm.tell(problem, goal, many, Measurements.from_outcomes(4, indices, outcomes))
        assert np.array_equal(one.count, many.count)
        assert (one.leader, one.rival) == (many.leader, many.rival)
        assert one.bound == pytest.approx(many.bound, rel=1e-12)


def test_under_a_threshold_that_waits_the_least_known_rival_is_compared():
    problem, _ = pw.instances.benchmark(3, 0.3)
    algorithm = LinGapE(threshold=TrackAndStop(c=1e6))
    first = Measurements.from_outcomes(4, [0, 1, 2, 3], [2.0, 0.0, 0.0, 2.0])
    state = algorithm.tell(problem, BestItem(), algorithm.init(problem, BestItem()), first)
    assert state.bound == math.inf
    assert state.rival == int(np.argmax(state.fit.norm2(state.items - state.items[state.leader])))
    assert algorithm.answer(problem, BestItem(), state) is None


def test_proven_as_its_threshold():
    assert LinGapE().proven
    assert LinGapE(norm_bound=1.0, threshold=SelfNormalised()).proven
    assert not LinGapE(threshold=LogLog()).proven


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"selection": "best"}, "selection must be 'ratio' or 'greedy', got 'best'"),
        ({"initial": "some"}, "initial must be 'every', 'spanner' or 'none', got 'some'"),
        ({"norm_bound": 0.0}, "norm_bound must be positive and finite, or None, got 0.0"),
        ({"penalty": -1.0}, "penalty must be positive and finite, got -1.0"),
        ({"initial": "none"}, "leaves nothing to begin least squares with; give a norm_bound"),
        ({"threshold": StarUnion()}, "lingape chooses each measurement by the outcomes before it"),
        ({"threshold": SelfNormalised()}, "lingape uses least squares, but threshold 'self-normalised' is for ridge"),
        ({"threshold": TrackAndStop(), "norm_bound": 1.0}, "uses ridge, but threshold 'track-and-stop'"),
    ],
)
def test_bad_settings_are_refused(settings, match):
    with pytest.raises(pw.InvalidAlgorithm, match=match):
        LinGapE(**settings)
