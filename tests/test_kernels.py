"""Kernels as features, and robust values of random probes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.kernels import matern52, rbf


@pytest.mark.parametrize("kernel", [rbf(0.7), matern52(1.3)])
def test_inner_products_of_features_are_the_kernel(kernel: Any) -> None:
    rng = np.random.default_rng(0)
    probes, items = rng.standard_normal((12, 2)), rng.standard_normal((5, 2))
    own = pw.kernel_features(kernel, probes, items)
    assert own.probes @ own.items.T == pytest.approx(kernel(probes, items), abs=1e-9)
    assert own.items @ own.items.T == pytest.approx(kernel(items, items), abs=1e-9)
    assert own.error < 1e-9
    assert own.rank <= 17
    again = pw.kernel_features(kernel, probes)
    assert again.items is not None
    assert np.array_equal(again.probes, again.items)
    same = pw.kernel_features(kernel, probes, probes[[3, 3]])
    assert np.array_equal(same.items[0], same.probes[3])
    assert np.array_equal(same.items[1], same.probes[3])
    assert np.diag(kernel(probes, probes)) == pytest.approx(np.ones(12))
    coarse = pw.kernel_features(kernel, probes, tol=0.05)
    assert coarse.rank < own.rank
    assert coarse.error > own.error


def test_a_search_with_a_kernel() -> None:
    points = np.linspace(0.0, 3.0, 9)[:, None]
    own = pw.kernel_features(rbf(0.8), points)
    values = np.sin(2.0 * points[:, 0])
    theta = np.linalg.lstsq(own.probes, values, rcond=None)[0]
    assert own.probes @ theta == pytest.approx(values, abs=1e-6)
    problem = pw.Problem(own.probes, sigma=0.1)
    laboratory = pw.LinearEnvironment(problem, theta, seed=0)
    for algorithm in (pw.Sage(), pw.LinGapE(norm_bound=float(np.linalg.norm(theta)), initial="none")):
        assert pw.identify(problem, measure=laboratory.measure, algorithm=algorithm, seed=0).item == 2


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: rbf(0.0), "length must be positive"),
        (lambda: pw.kernel_features(rbf(), [1.0, 2.0]), "one row each"),
        (lambda: pw.kernel_features(rbf(), [[1.0]], [[1.0, 2.0]]), "the same columns"),
        (lambda: pw.kernel_features(rbf(), [[1.0]], tol=1.0), "tol must lie"),
        (lambda: pw.kernel_features(lambda a, b: np.ones(3), [[1.0], [2.0]]), "for each pair of rows"),
        (lambda: pw.kernel_features(lambda a, b: a - b.T, [[1.0], [2.0]]), "must be symmetric"),
        (lambda: pw.kernel_features(lambda a, b: -rbf()(a, b), [[1.0], [2.0]]), "positive semidefinite"),
    ],
)
def test_kernels_that_are_none_are_refused(call: Any, match: str) -> None:
    with pytest.raises(pw.InvalidProblem, match=match):
        call()


def test_robust_values_lie_in_their_intervals() -> None:
    rng = np.random.default_rng(1)
    probes, theta = rng.standard_normal((30, 4)), np.array([0.5, -0.3, 0.2, 0.1])
    weights, targets = np.full(30, 1 / 30), rng.standard_normal((6, 4))
    largest = float(np.abs(probes @ theta).max())
    outside = 0
    for _ in range(60):
        index = rng.choice(30, 800, p=weights)
        # noise with heavy tails, of variance 1
        outcomes = probes[index] @ theta + rng.standard_t(3, 800) / np.sqrt(3.0)
        own = pw.robust_values(probes, weights, index, outcomes, targets, largest_mean=largest, sigma=1.0, delta=0.1)
        outside += bool((np.abs(own.values - targets @ theta) > own.widths).any())
    assert outside <= 6
    assert (own.widths < 4.0 * np.linalg.norm(targets, axis=1)).all()
    with_penalty = pw.robust_values(
        probes, weights, index, outcomes, targets, largest_mean=largest, sigma=1.0, penalty=0.5, norm_bound=1.0
    )
    assert (np.abs(with_penalty.values - targets @ theta) <= with_penalty.widths).all()


def test_robust_values_are_means_where_nothing_is_extreme() -> None:
    own = pw.robust_values(
        np.eye(2), [0.5, 0.5], np.arange(4000) % 2, np.tile([1.0, 3.0], 2000), np.eye(2), largest_mean=3.0, sigma=0.0
    )
    assert own.values == pytest.approx([1.0, 3.0], abs=0.05)


@pytest.mark.parametrize(
    ("changed", "error", "match"),
    [
        ({"weights": [0.5, 0.6]}, pw.InvalidDesign, "with sum 1"),
        ({"targets": [[1.0]]}, pw.InvalidDesign, "features of the probes"),
        ({"indices": [0.0] * 40}, pw.InvalidMeasurements, "the number of its probe"),
        ({"indices": [2] * 40}, pw.InvalidMeasurements, "that the weights can draw"),
        ({"indices": [0] * 3, "outcomes": [0.0] * 3}, pw.InvalidMeasurements, "too few"),
        ({"sigma": -1.0}, pw.InvalidMeasurements, "at least 0"),
        ({"penalty": 1.0}, pw.InvalidMeasurements, "needs a norm_bound"),
        ({"weights": [1.0, 0.0]}, pw.NotIdentifiable, "do not determine target 1"),
    ],
)
def test_what_cannot_be_estimated_is_refused(changed: dict[str, Any], error: type[Exception], match: str) -> None:
    given: dict[str, Any] = {
        "probes": np.eye(2), "weights": [0.5, 0.5], "indices": [0] * 40, "outcomes": [0.0] * 40, "targets": np.eye(2),
        "largest_mean": 1.0, "sigma": 1.0,
    }  # fmt: skip
    with pytest.raises(error, match=match):
        pw.robust_values(**{**given, **changed})
