"""Coordinates of the span of the probes: an isometry for every design, blind to the units of features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probewise.arithmetic import image
from probewise.coordinates import budgeted, coordinates

seeds = st.integers(0, 10**6)


def table(rng, n, d, rank):
    """(n, d) of the given rank, with small integers, so that its span is known exactly."""
    return (rng.integers(-3, 4, (n, rank)) @ rng.integers(-3, 4, (rank, d))).astype(float)


@given(seed=seeds, n=st.integers(1, 30), d=st.integers(1, 8), scale=st.floats(0, 6))
@settings(deadline=None, max_examples=60)
def test_variances_are_the_same_in_both(seed, n, d, scale):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-scale, scale, d)
    space = coordinates(X)
    assert space.rank == min(n, d)
    np.testing.assert_allclose(space.probes.T @ space.probes, n * np.eye(space.rank), atol=1e-9 * n)
    weights = rng.dirichlet(np.ones(n))
    y = rng.standard_normal(n) @ X
    # y'A(w)⁻¹y is the least Σ u²/w over u with X'u = y, solved here in features of unit size
    size = np.abs(X).max(axis=0)
    root = np.sqrt(weights)[:, None]
    u = np.linalg.lstsq((root * X / size).T, y / size, rcond=None)[0]
    mapped = space(y[None])[0]
    information = (space.probes * weights[:, None]).T @ space.probes
    assert mapped @ np.linalg.solve(information, mapped) == pytest.approx(u @ u, rel=1e-5)


@given(seed=seeds, n=st.integers(1, 30), d=st.integers(1, 8), rank=st.integers(1, 8))
@settings(deadline=None, max_examples=60)
def test_units_of_features_have_no_influence(seed, n, d, rank):
    rng = np.random.default_rng(seed)
    X = table(rng, n, d, rank)
    plain, scaled = coordinates(X), coordinates(X * 2.0 ** rng.integers(-300, 300, d))
    assert plain.rank == scaled.rank == np.linalg.matrix_rank(X)
    np.testing.assert_array_equal(plain.probes, scaled.probes)


@given(seed=seeds, d=st.integers(2, 8), rank=st.integers(1, 7))
@settings(deadline=None, max_examples=60)
def test_what_lies_in_the_span(seed, d, rank):
    rng = np.random.default_rng(seed)
    X = table(rng, 12, d, min(rank, d - 1))
    space = coordinates(X)
    inside = rng.integers(-5, 6, (20, 12)) @ X
    assert space.is_inside(inside).all()
    assert not space.lost(inside).any()
    # a vector orthogonal to all probes is lost, alone or on top of something measurable, if it is not negligible
    null = np.linalg.svd(X)[2][space.rank :]
    outside = rng.standard_normal((20, len(null))) @ null
    assert not space.is_inside(outside).any()
    assert not space.is_inside(inside + outside).any()
    assert not space.is_inside(inside + 1e-9 * (1.0 + np.abs(inside).max()) * null[0] * space.scale).any()


def test_a_feature_that_no_probe_has():
    space = coordinates(np.array([[1.0, 0, 2], [3, 0, 4]]))
    assert space.seen.tolist() == [True, False, True]
    assert space.is_inside(np.array([[5.0, 0, 7], [5, 1e-300, 7]])).tolist() == [True, False]
    assert space.lost(np.array([[5.0, -2, 7]])).tolist() == [[0, -2, 0]]


@pytest.mark.parametrize(("away", "forgiven"), [(1e3, True), (1e8, False)])
def test_rounding_of_what_a_difference_was_formed_from(away, forgiven):
    """Items share a large feature, whose rounding their differences carry: forgiven while it is far below them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 2)) @ np.array([[1.0, 0, 1], [0, 1, 1]])
    items = away + rng.standard_normal((50, 2)) @ np.array([[1.0, 0, 1], [0, 1, 1]])
    rows, magnitudes = items[1:] - items[0], np.abs(items[1:]) + np.abs(items[0])
    space = coordinates(X)
    assert space.rank == 2
    assert space.is_inside(rows, magnitudes).all() == forgiven
    assert not space.is_inside(rows).all()


@pytest.mark.parametrize("part", [2.0**-20, 2.0**-31, 2.0**-35])
@pytest.mark.parametrize("size", [1.0, 2.0**20, 2.0**60])
def test_no_size_of_items_hides_a_part_of_their_difference(part, size):
    """Nor do probes that are nearly parallel: (1, 1 + 1e-10, 1) and (1, 1, 1) do not measure the third feature."""
    assert (
        not coordinates(np.array([[1.0, 1]])).is_inside(np.array([[1 + part, 1 - part]]), np.full((1, 2), size)).any()
    )
    near = coordinates(np.array([[1.0, 1, 1], [1, 1 + 1e-10, 1]]))
    assert near.is_inside(np.array([[0.0, 1, 0]])).all()
    assert not near.is_inside(np.array([[0.0, 1, part]]), np.full((1, 3), size)).any()


@given(seed=seeds, apart=st.floats(2, 13))
@settings(deadline=None, max_examples=60)
def test_the_complement_is_as_exact_as_doubles_are(seed, apart):
    """However nearly parallel the probes are, it is orthogonal to them up to the rounding of its own entries."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (6, 4)).astype(float)
    X[:, 1] = X[:, 0] + 10.0**-apart * rng.integers(-9, 10, 6)
    X = np.column_stack([X, X[:, 2] + X[:, 3]])
    space = coordinates(X)
    exact = X.astype(object) @ (space.complement / space.scale[:, None]).astype(object)
    assert np.abs(X @ (space.complement / space.scale[:, None])).max() <= 1e-14 * np.abs(X).max()
    assert exact.shape == (6, 5 - space.rank)
    # a row that no probe has, with large coefficients, is in the span all the same
    rows = np.array([[0.0, 1, 0, 0, 0], [1, 0, 0, 0, 0]])
    if space.rank == 4:
        assert space.is_inside(rows).all()
        assert not space.is_inside(rows + np.array([0, 0, 1e-9, 0, 0])).any()


def test_probes_that_are_all_zero_span_nothing():
    space = coordinates(np.zeros((3, 2)))
    assert space.rank == 0
    assert space.is_inside(np.array([[0.0, 0], [1, 0]])).tolist() == [True, False]


@given(seed=seeds, apart=st.floats(11, 16))
@settings(deadline=None, max_examples=60)
def test_costs_take_no_dimension_away(seed, apart):
    """Divided by roots of costs, probes keep their rank, and rows that are well apart in the new coordinates."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (6, 4)).astype(float)
    X[:, 3] = X[:, 0] + X[:, 1] + 10.0**-apart * rng.integers(-9, 10, 6)
    cost = 10.0 ** rng.uniform(-3, 3, 6)
    plain, space = coordinates(X), budgeted(X, cost)
    assert space.rank >= plain.rank
    rows = image(X, space.transform, precise=True).rows / np.sqrt(cost)[:, None]
    assert np.linalg.cond(rows) < 1e4
    assert (budgeted(X, np.ones(6)).transform == plain.transform).all()
