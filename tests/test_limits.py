"""Limits of questions of every kind: what no method can expect to do without."""

import itertools
import math

import numpy as np
import pytest

import probewise as pw
from probewise.experiments.limits import limit


def test_of_items_it_is_the_lower_bound():
    problem, theta = pw.instances.benchmark(3, 0.5)
    hardness = pw.hardness(problem, theta, tol=1e-3)
    assert limit(problem, theta, pw.BestItem()) * -math.log(2.4 * 0.05) == pytest.approx(hardness.lower_bound(0.05))


def test_of_sets_it_is_that_of_the_listed_sets():
    values = np.random.default_rng(3).standard_normal(7)
    listed = np.array([[e in chosen for e in range(7)] for chosen in itertools.combinations(range(7), 3)], dtype=float)
    whole = 2.0 * pw.hardness(pw.Problem(np.eye(7), listed), values).psi
    found = limit(pw.Problem(np.eye(7)), values, pw.BestSet(pw.Subsets(7, 3)))
    assert 0.97 * whole <= found <= whole


def test_with_a_link_it_is_the_gaussian_one_where_gaps_are_small():
    theta = np.array([0.5, 0.48, 0.2])
    scale = 1.0 / np.sqrt(pw.Logistic().information(theta))
    gaussian = 2.0 * pw.hardness(pw.Problem(np.eye(3), sigma=scale), theta).psi
    assert limit(pw.Problem(np.eye(3), outcome=pw.Logistic()), theta, pw.BestItem()) == pytest.approx(
        gaussian, rel=0.03
    )


def test_with_a_link_no_weights_do_better_than_it_says():
    """For two rates: max over w of min over a common rate of w KL(p, m) + (1 - w) KL(q, m), on a grid."""
    p, q = 0.8, 0.3
    theta = np.log(np.array([p, q]) / (1 - np.array([p, q])))
    found = limit(pw.Problem(np.eye(2), outcome=pw.Logistic()), theta, pw.BestItem())

    def kl(a, m):
        return a * np.log(a / m) + (1 - a) * np.log((1 - a) / (1 - m))

    rates, weights = np.linspace(q, p, 2001), np.linspace(0.0, 1.0, 501)[:, None]
    best = (weights * kl(p, rates) + (1 - weights) * kl(q, rates)).min(axis=1).max()
    assert found == pytest.approx(1.0 / best, rel=0.02)
    assert found <= 1.0 / best * (1 + 1e-4)
