"""Coordinates of the span of the probes: an isometry for every design, blind to the units of features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probewise.coordinates import coordinates

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


def test_rounding_of_what_a_difference_was_formed_from():
    """Items 1e8 + z share a feature; their differences carry its rounding, which must not count as unmeasurable."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 2)) @ np.array([[1.0, 0, 1], [0, 1, 1]])
    items = 1e8 + rng.standard_normal((50, 2)) @ np.array([[1.0, 0, 1], [0, 1, 1]])
    rows, magnitudes = items[1:] - items[0], np.abs(items[1:]) + np.abs(items[0])
    space = coordinates(X)
    assert space.rank == 2
    assert space.is_inside(rows, magnitudes).all()
    assert not space.is_inside(rows).all()


def test_probes_that_are_all_zero_span_nothing():
    space = coordinates(np.zeros((3, 2)))
    assert space.rank == 0
    assert space.is_inside(np.array([[0.0, 0], [1, 0]])).tolist() == [True, False]
