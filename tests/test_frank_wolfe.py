"""The paper's solver is the paper's: the same iterates as a literal transcription, stopped by the same clock."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probewise import instances
from probewise.coordinates import coordinates
from probewise.design import explicit, lower_bound, optimal_design, pairs
from probewise.design.solvers import frank_wolfe
from probewise.errors import NotIdentifiable


def literal(X, Y, *, iterations=1000, change=0.01, negligible=1e-5):
    """The last appendix word by word, on an explicit table of directions: all iterates, and the final weights."""
    n = len(X)
    w = np.ones(n) / n
    path = [w]
    for k in range(1, iterations + 1):
        inverse = np.linalg.inv(X.T @ np.diag(w) @ X)
        y = Y[np.argmax([y @ inverse @ y for y in Y])]
        gradient = [-((x @ inverse @ y) ** 2) for x in X]
        step = 2 / (k + 2)
        new = (1 - step) * w + step * np.eye(n)[np.argmin(gradient)]
        relative = np.linalg.norm(new - w) / np.linalg.norm(w)
        w = new
        path.append(w)
        if relative < change:
            break
    kept = np.where(w < negligible, 0, w)
    return path, kept / kept.sum()


def differences(Z):
    return np.array([Z[i] - Z[j] for i in range(len(Z)) for j in range(i)])


@given(seed=st.integers(0, 10**6), n=st.integers(5, 20), d=st.integers(2, 4), m=st.integers(2, 6))
@settings(max_examples=15)
def test_same_iterates_as_the_transcription(seed, n, d, m):
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    path, _ = literal(X, differences(Z), iterations=60, change=0.0)
    for k in (1, 2, 3, 10, 60):
        trace = frank_wolfe.solve(X, pairs(Z), iterations=k, change=0.0, negligible=0.0, rescale=False)
        np.testing.assert_allclose(trace.weights, path[k], atol=1e-9)
        assert trace.iterations == k


def test_it_stops_by_the_clock_of_the_paper():
    """Not by the gap: a harder tolerance changes nothing, and the value is left percents above the optimum."""
    rng = np.random.default_rng(3)
    X, Z = rng.standard_normal((30, 4)), rng.standard_normal((10, 4))
    path, weights = literal(X, differences(Z))
    assert 100 < len(path) - 1 < 1000
    trace = frank_wolfe.solve(X, pairs(Z))
    assert trace.iterations == len(path) - 1
    np.testing.assert_allclose(trace.weights, weights, atol=1e-9)
    early, late = (optimal_design(X, pairs(Z), solver="frank-wolfe", tol=tol) for tol in (0.1, 1e-6))
    np.testing.assert_array_equal(early.weights, late.weights)
    assert early.rounds == late.rounds == trace.iterations
    assert early.value > 1.005 * optimal_design(X, pairs(Z)).value
    assert not late.converged


def test_iteration_limit():
    X = instances.transductive(6)[0].probes
    trace = frank_wolfe.solve(X, pairs(X), iterations=7, change=0.0)
    assert trace.iterations == 7
    assert frank_wolfe.solve(X, pairs(X), change=0.0).iterations == frank_wolfe.ITERATIONS == 1000


def test_threshold_and_rescaling():
    rng = np.random.default_rng(5)
    X, Z = rng.standard_normal((60, 3)), rng.standard_normal((4, 3))
    raw = frank_wolfe.solve(X, pairs(Z), negligible=0.0, rescale=False).weights
    assert raw.sum() == pytest.approx(1)
    level = float(np.sort(raw)[40])
    dropped = frank_wolfe.solve(X, pairs(Z), negligible=level, rescale=False).weights
    np.testing.assert_array_equal(dropped, np.where(raw < level, 0, raw))
    assert dropped.sum() < 1
    scaled = frank_wolfe.solve(X, pairs(Z), negligible=level).weights
    np.testing.assert_allclose(scaled, dropped / dropped.sum())
    assert frank_wolfe.NEGLIGIBLE == 1e-5


def test_last_value_is_that_of_the_iterate_before():
    """What the authors' code hands on: the variance under the weights before the last step."""
    rng = np.random.default_rng(6)
    X, Y = rng.standard_normal((12, 3)), rng.standard_normal((5, 3))
    path, _ = literal(X, Y, iterations=9)
    inverse = np.linalg.inv(X.T @ np.diag(path[-2]) @ X)
    trace = frank_wolfe.solve(X, explicit(Y), iterations=9)
    assert trace.last_value == pytest.approx(max(y @ inverse @ y for y in Y))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=8)
def test_its_witness_is_a_proof(seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((15, 3)), rng.standard_normal((6, 3))
    trace = frank_wolfe.solve(X, pairs(Z))
    lower = lower_bound(X, np.ones(15), pairs(Z), trace.witness)
    best = optimal_design(X, pairs(Z), tol=1e-6)
    assert 0 < lower <= best.value
    assert trace.witness.multipliers.sum() <= 1 + 1e-12


def test_units_of_features_and_costs_reach_it_as_they_reach_the_other():
    rng = np.random.default_rng(7)
    X, Z = rng.standard_normal((25, 4)), rng.standard_normal((6, 4))
    S, cost = 10.0 ** rng.uniform(-5, 5, 4), rng.uniform(0.5, 2, 25)
    plain = optimal_design(X, pairs(Z), solver="frank-wolfe", cost=cost)
    scaled = optimal_design(X * S, pairs(Z * S), solver="frank-wolfe", cost=cost)
    np.testing.assert_allclose(plain.weights, scaled.weights, atol=1e-8)
    space = coordinates(X / np.sqrt(cost)[:, None])
    shares = frank_wolfe.solve(space.probes, pairs(Z).mapped(space.transform)).weights / cost
    np.testing.assert_allclose(plain.weights, shares / shares.sum())
    best = optimal_design(X, pairs(Z), cost=cost)
    assert best.lower <= plain.value
    assert plain.lower <= best.value
    assert plain.solver == "frank-wolfe"


def test_a_direction_without_probes_is_refused():
    with pytest.raises(NotIdentifiable, match="no combination of probes measures"):
        optimal_design([[1.0, 0.0]], pairs(np.eye(2)), solver="frank-wolfe")
