"""Reduction of the support: the same information and cost, on few probes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probewise import instances
from probewise.design import optimal_design, pairs, reduce_support, star, support
from probewise.errors import InvalidDesign

seeds = st.integers(0, 10**6)


def information(X, w):
    return (X * w[:, None]).T @ X


@given(
    seed=seeds,
    n=st.integers(1, 200),
    d=st.integers(1, 6),
    rank=st.integers(1, 6),
    costs=st.booleans(),
    scale=st.floats(0, 6),
    skew=st.floats(0, 8),
)
@settings(max_examples=120)
def test_same_information_and_cost_on_few_probes(seed, n, d, rank, costs, scale, skew):
    rng = np.random.default_rng(seed)
    rank = min(rank, d)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    if rng.random() < 0.3:
        X = X[rng.integers(n, size=n)]
    units = 10.0 ** rng.uniform(-scale, scale, d)
    w = 10.0 ** rng.uniform(-skew, 0, n) * (rng.random(n) < 0.9)
    w[0] += 1e-3
    w /= w.sum()
    cost = 10.0 ** rng.uniform(-1, 1, n) if costs else None
    reduced = reduce_support(X * units, w, cost=cost)
    r = np.linalg.matrix_rank(X[w > 0])
    limit = r * (r + 1) // 2 + 1
    assert (reduced >= 0).all()
    assert reduced.sum() == pytest.approx(1)
    assert np.count_nonzero(reduced) <= min(limit, np.count_nonzero(w))
    assert set(np.flatnonzero(reduced)) <= set(np.flatnonzero(w))
    # with costs the sum is free and the cost is kept: both are, up to one common factor
    price = np.ones(n) if cost is None else cost
    factor = (price @ w) / (price @ reduced)
    np.testing.assert_allclose(
        factor * information(X, reduced), information(X, w), atol=1e-9 * np.abs(information(X, w)).max()
    )
    if cost is None:
        assert factor == pytest.approx(1)


def test_designs_keep_their_values():
    X = instances.sphere(500, 4, seed=2)[0].probes
    cost = np.random.default_rng(0).uniform(0.5, 2, 500)
    design = optimal_design(X, pairs(X), tol=1e-6)

    def value(w, c):
        image = X @ np.linalg.cholesky(np.linalg.inv(information(X, w)))
        return (c @ w) * max(((image - z) ** 2).sum(axis=1).max() for z in image)

    assert value(design.weights, np.ones(500)) == pytest.approx(design.value, rel=1e-9)
    mixed = 0.5 * design.weights + 0.001
    for w, c in ((mixed, np.ones(500)), (np.full(500, 0.002), cost)):
        few = reduce_support(X, w, cost=c)
        assert np.count_nonzero(few) <= 11 < np.count_nonzero(w)
        assert value(few, c) == pytest.approx(value(w, c), rel=1e-9)


@pytest.mark.parametrize("tol", [0.03, 1e-6])
@pytest.mark.parametrize("items", [6, 40, 200])
def test_designs_have_few_probes(items: int, tol: float) -> None:
    rng = np.random.default_rng(items)
    Z, cost = rng.standard_normal((items, 4)), rng.uniform(0.5, 2, 200)
    design = optimal_design(rng.standard_normal((200, 4)), star(Z, 0), cost=cost, tol=tol)
    assert design.converged
    assert design.support.size <= 11


def test_factors_that_are_wrong_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((160, 3)), rng.dirichlet(np.ones(160))
    quick = reduce_support(X, w)
    for wrong in (np.zeros, lambda n: -np.ones(n)):  # neither keeps the information without negative weights
        monkeypatch.setattr(support, "_basic", lambda parts, wrong=wrong: wrong(parts.shape[1]))
        slow = reduce_support(X, w)
        for reduced in (quick, slow):
            assert np.count_nonzero(reduced) <= 7
            np.testing.assert_allclose(information(X, reduced), information(X, w), atol=1e-12)


def test_a_small_support_stays():
    w = np.array([0.2, 0.0, 0.8])
    np.testing.assert_allclose(reduce_support([[1.0, 0], [1, 1], [0, 1]], w), w)


def test_equal_probes_are_merged():
    reduced = reduce_support([[1.0]] * 50, np.full(50, 0.02))
    assert np.count_nonzero(reduced) == 1


@pytest.mark.parametrize(
    "weights", [[0.5], [0.5, -0.5], [0.0, 0.0], [np.nan, 1.0]], ids=["shape", "negative", "zero", "NaN"]
)
def test_errors(weights):
    with pytest.raises(InvalidDesign, match="weights must be 2 non-negative numbers, one per probe and not all 0"):
        reduce_support(np.eye(2), weights)


def test_a_failing_decomposition_is_done_by_the_slower_routine(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", fails)
    parts = np.random.default_rng(3).normal(size=(7, 20))
    factors = support._vanishing_chunk(parts)
    assert (factors >= 0).all()
    assert np.count_nonzero(factors) <= 7
    assert parts @ factors == pytest.approx(parts.sum(axis=1))


def test_what_vanishes_together_leaves_no_speck():
    levels = np.eye(3)
    X = np.array([[1.0, *a[1:], *b[1:], t] for a in levels for b in levels for t in (-1.0, 0.0, 1.0)])
    for seed in range(10):
        w = np.tile([0.05, 0.01, 0.05], 9) * (1 + 1e-11 * np.random.default_rng(seed).standard_normal(27))
        reduced = reduce_support(X, w)
        assert np.count_nonzero(reduced) <= 22
        assert reduced[reduced > 0].min() > 1e-6
        np.testing.assert_allclose(information(X, reduced), information(X, w / w.sum()), atol=1e-8)
        np.testing.assert_allclose(reduced, reduce_support(X, np.tile([0.05, 0.01, 0.05], 9)), atol=1e-6)
