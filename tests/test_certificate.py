"""The certificate attacked: no witness proves too much, no design passes for better than it is."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise
from probewise import instances
from probewise.coordinates import coordinates
from probewise.design import Certificate, Witness, certify, explicit, lower_bound, optimal_design, pairs, working_set

seeds = st.integers(0, 10**6)


# ---- exact rational arithmetic, sharing nothing with the package ----


def exact(table):
    """Floating-point numbers as the fractions that they are."""
    return [[Fraction(float(v)) for v in row] for row in table]


def solved(matrix, right):
    """The solution of a square system by Gauss and Jordan in fractions."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next(k for k in range(i, len(rows)) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(len(rows)):
            if k != i:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def exact_value(X, cost, Y, weights):
    """(cost·w) max_y y'A(w)⁻¹y."""
    d = range(len(X[0]))
    A = [[sum((w * x[i] * x[j] for w, x in zip(weights, X, strict=True)), Fraction(0)) for j in d] for i in d]
    return dot(cost, weights) * max(dot(y, solved(A, y)) for y in Y)


def exact_lower(X, cost, Y, multipliers, vectors):
    """(Σ p v'y)² / (Σ p · max_x Σ p (x'v)²/c)."""
    h = sum((p * dot(v, y) for p, v, y in zip(multipliers, vectors, Y, strict=True)), Fraction(0))
    g = max(
        sum((p * dot(x, v) ** 2 for p, v in zip(multipliers, vectors, strict=True)), Fraction(0)) / c
        for x, c in zip(X, cost, strict=True)
    )
    return h * h / (g * sum(multipliers)) if h > 0 and g > 0 else Fraction(0)


def small(seed):
    """Probes (n, d), costs (n,), directions (k, d), weights (n,), multipliers (k,) and vectors (k, d), all rational."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(3, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    X = np.vstack([np.eye(d), rng.integers(-9, 10, (n, d))]) / 4
    cost = rng.integers(1, 9, n + d) / 2
    Y = np.vstack([rng.integers(-9, 10, (k, d)), np.ones(d)]) / 8
    weights = rng.integers(1, 10, n + d) / 64
    return X, cost, Y, weights, rng.integers(0, 9, k + 1) / 4, rng.integers(-9, 10, (k + 1, d)) / 8


@given(seed=seeds)
@settings(max_examples=40)
def test_both_bounds_against_fractions(seed):
    X, cost, Y, weights, p, V = small(seed)
    p[0] += 1.0
    witness = Witness(np.arange(len(Y)), p, V)
    got = certify(X, cost, explicit(Y), weights, witness)
    x, c, y = exact(X), *exact([cost]), exact(Y)
    value = exact_value(x, c, y, *exact([weights]))
    lower = exact_lower(x, c, y, *exact([p]), exact(V))
    assert lower <= value
    assert got.value == pytest.approx(float(value), rel=1e-11)
    assert got.lower == pytest.approx(float(lower), rel=1e-11)
    # weights are a design up to a factor, of which the value must not depend
    assert certify(X, cost, explicit(Y), 8 * weights, witness).value == pytest.approx(float(value), rel=1e-11)


@pytest.mark.parametrize("seed", range(8))
def test_the_proof_of_a_solved_problem_holds_in_fractions(seed):
    """Weights and witness of the solver, taken as exact rationals, enclose the optimum within the tolerance."""
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((8, 3)), rng.standard_normal((5, 3))
    space, directions = coordinates(X), pairs(Z)
    outcome = working_set.solve(space.probes, directions.mapped(space.transform), tol=1e-6)
    rows = np.array([a - b for a, b in combinations(Z, 2)])
    ones = [Fraction(1)] * 8
    vectors = outcome.witness.vectors @ space.transform.T  # v'(y T) = (v T')'y
    chosen = directions.rows(outcome.witness.labels)
    lower = exact_lower(exact(X), ones, exact(chosen), *exact([outcome.witness.multipliers]), exact(vectors))
    values = []
    for weights in outcome.candidates:
        if np.linalg.matrix_rank(X[weights > 0]) == 3:
            (w,) = exact([weights])
            values.append(exact_value(exact(X), ones, exact(rows), w))
            assert abs(sum(w) - 1) < 1e-12
    assert values
    assert lower <= min(values) * (1 + Fraction(1, 10**12))
    assert min(values) <= lower * (1 + Fraction(11, 10**7))
    design = optimal_design(X, directions, tol=1e-6)
    assert design.lower <= float(lower) * (1 + 1e-12)
    assert design.value == pytest.approx(float(min(values)), rel=2e-6)


@pytest.mark.parametrize("apart", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14])
def test_the_certificate_is_about_the_probes_as_given(apart):
    """Nearly equal features: coordinates round the problem, so that a design is judged on its original rows."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((20, 4))
    X[:, 3] = X[:, 2] + apart * rng.standard_normal(20)
    design = optimal_design(X, pairs(X[:8]), tol=1e-8)
    x = exact(X)
    rows = [[p - q for p, q in zip(a, b, strict=True)] for a, b in combinations(x[:8], 2)]
    assert design.lower < float(exact_value(x, [Fraction(1)] * 20, rows, [Fraction(1, 20)] * 20))
    if apart < 1e-13:  # as good as dependent: it says so, and the bounds are not of these probes
        assert not design.exact
        assert not design.converged
        assert "depend on each other up to rounding" in repr(design)
        return
    value = float(exact_value(x, [Fraction(1)] * 20, rows, *exact([design.weights])))
    assert design.converged
    assert value <= design.value <= value * (1 + 1e-9)
    assert design.lower <= value


# ---- weak duality ----


@given(seed=seeds, n=st.integers(1, 15), d=st.integers(1, 5), m=st.integers(2, 8), scale=st.floats(0, 5))
@settings(max_examples=150)
def test_no_witness_exceeds_any_design(seed, n, d, m, scale):
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((n, d)), rng.standard_normal((m, n))
    Z, cost = Z @ X, 10.0 ** rng.uniform(-1, 1, n)
    k = int(rng.integers(1, 12))
    labels = rng.integers(m, size=k) * m + rng.integers(m, size=k)
    p = 10.0 ** rng.uniform(-scale, scale, k) * (rng.random(k) < 0.8)
    V = rng.standard_normal((k, d)) * 10.0 ** rng.uniform(-scale, scale, (k, 1))
    weights = rng.dirichlet(np.full(n, 0.5)) + 1e-9
    if rng.random() < 0.5:  # near the best vectors for this design
        A = (X * weights[:, None]).T @ X + 1e-12 * np.eye(d)
        V = np.linalg.solve(A, pairs(Z).rows(labels).T).T * (1 + 0.01 * rng.standard_normal((k, 1)))
    best = optimal_design(X, pairs(Z), cost=cost, tol=1e-6)
    got = certify(X, cost, pairs(Z), weights, Witness(labels, p, V))
    assert got.lower <= best.value * (1 + 1e-9)
    assert best.lower <= got.value * (1 + 1e-9)
    assert got.value >= best.value * (1 - 1e-6) * (1 - 1e-9)


def test_invalid_witnesses_prove_nothing():
    X, cost, Y = np.eye(2), np.ones(2), explicit(np.eye(2))
    good = np.array([0.5, 0.5]), 2 * np.eye(2)
    labels = np.arange(2)
    assert lower_bound(X, cost, Y, Witness(labels, *good)) == pytest.approx(2)
    for p, V in [
        (np.array([1.5, -0.5]), good[1]),
        (np.array([np.nan, 0.5]), good[1]),
        (np.array([np.inf, 0.5]), good[1]),
        (np.zeros(2), good[1]),
        (good[0], -good[1]),
        (good[0], np.zeros((2, 2))),
        (good[0], np.full((2, 2), np.nan)),
    ]:
        assert lower_bound(X, cost, Y, Witness(labels, p, V)) == 0.0
    assert Certificate(2.0, 0.0).gap == np.inf
    assert lower_bound(np.zeros((2, 2)), cost, Y, Witness(labels, *good)) == 0.0


@pytest.mark.parametrize(("p", "v"), [(0, -530), (0, -537), (0, -539), (0, -1000), (0, 600), (-1070, 0), (900, -900)])
def test_no_scale_of_a_witness_changes_the_bound(p, v):
    """Squares that lose digits below 2⁻¹⁰²² made it 3 where the optimum is 2."""
    X, cost, Y, labels = np.eye(2), np.ones(2), explicit(np.eye(2)), np.arange(2)
    wanted = lower_bound(X, cost, Y, Witness(labels, np.array([0.5, 0.5]), 1.3 * np.eye(2)))
    assert wanted == pytest.approx(2.0)
    scaled = Witness(labels, np.ldexp([0.5, 0.5], p), np.ldexp(1.3 * np.eye(2), v))
    assert lower_bound(X, cost, Y, scaled) == wanted <= 2.0


# ---- wrong designs ----


def test_a_wrong_design_gets_its_gap():
    """The design is certified, not the solver: spoilt weights keep the witness and lose the proof."""
    problem, _ = instances.transductive(20)
    directions = pairs(problem.items)
    outcome = working_set.solve(problem.probes, directions, tol=1e-6)
    ones = np.ones(20)
    good = outcome.candidates[-1]
    assert certify(problem.probes, ones, directions, good, outcome.witness).gap <= 1e-6
    for spoilt in (np.roll(good, 10), good**2, good + 0.01):
        share = certify(problem.probes, ones, directions, spoilt / spoilt.sum(), outcome.witness)
        assert share.gap > 1e-4
        assert share.lower == pytest.approx(20 * (1 + np.sin(0.2)), rel=1e-5)
    missing = np.where(np.arange(20) == 3, 0.0, good)
    assert certify(problem.probes, ones, directions, missing, outcome.witness).gap == np.inf
    # and spoilt multipliers lose it as well
    other = Witness(outcome.witness.labels, outcome.witness.multipliers**2, outcome.witness.vectors)
    assert certify(problem.probes, ones, directions, good, other).gap > 1e-4


def test_the_certificate_loads_no_solver():
    """Alone, beside an empty package of its name, the certificate imports neither solvers nor what calls them."""
    where = Path(probewise.__file__).parent / "design"
    code = f"""
import sys, types
package = types.ModuleType("probewise.design")
package.__path__ = [{str(where)!r}]
sys.modules["probewise.design"] = package
import probewise.design.certificate
print(*(name for name in sys.modules if name.startswith(("probewise.", "clarabel", "cvxpy"))))
"""
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    allowed = (
        "arithmetic",
        "coordinates",
        "design",
        "design.certificate",
        "design.criterion",
        "design.directions",
        "design.farthest",
        "design.turned",
        "errors",
        "threads",
    )
    assert set(out.split()) == {f"probewise.{name}" for name in allowed}
