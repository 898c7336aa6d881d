"""Nearly collinear probes: the certificate against 100 digits, and items far larger than their difference."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms.planning import plan
from probewise.coordinates import Array
from probewise.design import certify, recertified
from probewise.design.certificate import Witness

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "certificate_audit.py"
U = 2.0**-33


def audit():
    """The module of the audit, of which this is a small part."""
    spec = importlib.util.spec_from_file_location("certificate_audit", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["certificate_audit"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_nothing_is_proved_that_is_false(first):
    judge = audit()
    said = [judge.verdict(seed)[0] for seed in range(first, first + 50)]
    assert not [(first + k, word) for k, word in enumerate(said) if word.startswith("FALSE")]
    assert sum(word.startswith("enclosed") for word in said) >= 40


def test_the_audit_sees_a_false_bound(monkeypatch):
    """A judge that accepts everything would be no judge."""
    judge = audit()
    solve = judge.optimal_design
    seeds = [seed for seed in range(8) if judge.verdict(seed)[0] == "enclosed"][:5]
    assert seeds
    seeds.append(772)  # all weight on one probe, which is the only direction
    assert judge.verdict(772)[0] == "enclosed, singular"
    for high, low, word in ((1.01, 1.01, "lower above"), (0.0, 0.9, "value below")):
        calls = []

        def bent(*args, high=high, low=low, calls=calls, **options):
            design = solve(*args, **options)
            calls.append(options)
            if len(calls) % 2 == 0:
                return design  # the second question is the judge's own
            value = design.value * (high or 1 - options["tol"])
            return replace(design, certificate=pw.design.Certificate(value, design.lower * low))

        monkeypatch.setattr(judge, "optimal_design", bent)
        for seed in seeds:
            assert word in judge.verdict(seed)[0]


def test_costs_that_hide_a_feature_hide_no_direction():
    """Divided by roots of costs these probes have rank 3 as far as doubles can tell, and as they are rank 4."""
    assert audit().verdict(2639)[0] == "enclosed"


INDEPENDENT = [
    (
        [
            [7.0, -2.0, -4.0, 3.0000000000002363],
            [-3.0, 7.0, 8.0, 10.999999999999922],
            [-6.0, 4.0, -1.0, 1.9999999999999476],
            [-7.0, -3.0, 2.0, -13.000000000000236],
        ],
        [0.5896925484111952, 1.2926140815640212, 0.9350286045746463, 4.502655261484977],
    ),
    (
        [[-6.0, -2.0, -11.999999999996634], [1.0, 9.0, 2.0000000000134666], [8.0, -5.0, 15.999999999983167]],
        [1.8889044723385604, 4.807444819517482, 1.1732009167632003],
    ),
]


@pytest.mark.parametrize("solver", ["certified", "frank-wolfe"])
@pytest.mark.parametrize(("rows", "cost"), INDEPENDENT)
def test_costs_do_not_make_probes_dependent(rows, cost, solver):
    """As many independent probes as features: x_i - x_j has the variance 1/w_i + 1/w_j, whatever the probes are."""
    X, same = np.array(rows), np.eye(len(rows))
    design = pw.optimal_design(X, pw.pairs(X), cost=cost, tol=1e-6, solver=solver)
    weights = sorted(map(Fraction, design.weights))
    spent = sum(Fraction(c) * Fraction(w) for c, w in zip(cost, design.weights, strict=True))
    assert design.exact
    assert design.lower <= spent * (1 / weights[0] + 1 / weights[1]) <= design.value
    easy = pw.optimal_design(same, pw.pairs(same), cost=cost, tol=1e-6)
    assert max(design.lower, easy.lower) <= min(design.value, easy.value)
    assert design.converged or solver == "frank-wolfe"
    assert recertified(design, X, pw.pairs(X), design.weights, cost=cost).certificate == design.certificate


def test_costs_too_far_apart_to_be_weighed_are_named():
    """At 1e30 what the third probe alone measures is still seen beside the others, at 1e100 no longer."""
    X, directions = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, -1.0]]), pw.points(np.eye(2))
    design = pw.optimal_design(X, directions, cost=[1.0, 1.0, 1e30])
    assert design.converged
    assert design.value == pytest.approx(0.25e30, rel=1e-3)
    with pytest.raises(pw.NotIdentifiable, match=r"columns 0, 1 that only probes far dearer .* bring the costs closer"):
        pw.optimal_design(X, directions, cost=[1.0, 1.0, 1e100])
    with pytest.raises(pw.NotIdentifiable, match=r"columns 0, 1 that no combination of probes measures; add probes"):
        pw.optimal_design(X[:2], directions, cost=[1.0, 1e100])
    near = [[-7.75, 7.0, -15.500000000000105], [3.75, 6.25, 7.499999999999883], [3.5, 4.75, 7.000000000000039]]
    with pytest.raises(pw.NotIdentifiable, match=r"columns 0, 2 that only probes far dearer"):
        pw.optimal_design(near, pw.pairs(np.eye(3)), cost=[3e-11, 2e8, 2e11])


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
def test_the_bounds_of_three_nearly_collinear_probes(tol):
    """With one feature nearly the other, variances are 1e20 and a digit lost in a product moved them by 1 %."""
    X = np.array([[7, 6.9999999994], [-4, -3.9999999997], [6, 5.9999999994]])
    design = pw.optimal_design(X, pw.points(np.eye(2)), tol=tol)
    assert design.converged
    assert 0 <= design.gap <= tol
    other = pw.optimal_design(X, pw.points(np.eye(2)), tol=0.1 * tol)
    assert max(design.lower, other.lower) <= min(design.value, other.value)


def test_a_bound_without_digits_is_wide_and_not_false():
    """Judged in double precision alone, what rounding may have done is taken off: the gap is wide, never negative."""
    X = np.array([[7, 6.9999999999994], [-4, -3.9999999999997], [6, 5.9999999999994]])
    directions = pw.points(np.eye(2))
    design = pw.optimal_design(X, directions, tol=1e-6)
    steep = 1e25 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    rough = certify(X, np.ones(3), directions, design.weights, Witness(np.arange(2), np.ones(2), steep))
    assert rough.lower <= design.value
    assert rough.value >= design.lower
    again = recertified(design, X, directions, design.weights)
    assert again.certificate == design.certificate


@pytest.mark.parametrize("seed", range(6))
def test_wide_problems_with_features_in_all_units(seed):
    """10 to 30 features from 1e-8 to 1e8, one of them nearly a combination of others, some probes twice."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(10, 31))
    X = rng.standard_normal((3 * d, d))
    X[:, -1] = X[:, 0] + X[:, 1] + 10.0 ** -rng.integers(4, 13) * rng.standard_normal(3 * d)
    X = np.vstack([X, X[:5]]) * 10.0 ** rng.uniform(-8, 8, d)
    cost = rng.uniform(0.1, 10.0, len(X)) if seed % 2 else None
    for directions in (pw.pairs(X[:20]), pw.star(X[:20], 3), pw.points(np.diag(np.abs(X).max(axis=0)))):
        fine = pw.optimal_design(X, directions, cost=cost, tol=1e-6)
        coarse = pw.optimal_design(X, directions, cost=cost, tol=1e-3)
        assert coarse.converged
        assert fine.converged
        assert max(fine.lower, coarse.lower) <= min(fine.value, coarse.value)


# ---- items far larger than their difference ----


def large() -> pw.Problem:
    return pw.Problem([[1, 1], [1, -1]], [[2.0**20, 2.0**20], [2.0**20 + 1 + 4 * U, 2.0**20 + 1 - 4 * U]])


@pytest.mark.parametrize("part", [2.0**-20, 4 * U, 2.0**-52])
def test_a_design_leaves_out_no_part_of_a_direction(part):
    """The second probe alone measures what is left of (1 + part, 1 - part) beside (1, 1)."""
    for directions in (pw.explicit([[1 + part, 1 - part]]), pw.star([[0, 0], [1 + part, 1 - part]], 0)):
        design = pw.optimal_design(np.array([[1.0, 1], [1, -1]]), directions)
        assert design.converged
        assert design.support.tolist() == [0, 1]
    plain = pw.optimal_design(np.array([[1.0, 1], [1, -1]]), pw.explicit([[1.0, 1.0]]))
    assert plain.support.tolist() == [0]


def test_the_design_for_large_items_measures_their_difference():
    problem = large()
    for directions in (pw.pairs(problem.items), pw.star(problem.items, 1)):
        assert pw.optimal_design(problem.probes, directions).support.tolist() == [0, 1]


@pytest.mark.parametrize("algorithm", [pw.Sage(), pw.Rage()])
def test_the_better_of_two_large_items_is_found(algorithm):
    """(1, 1) alone says that the second item is ahead by 1; the rest of the difference puts it behind by 1."""
    problem = large()
    theta = np.array([0.5 - 2.0**31, 0.5 + 2.0**31])
    for seed in range(8):
        rng = np.random.default_rng(seed)

        def measure(probes: Array, rng: np.random.Generator = rng) -> Array:
            return problem.probes[probes] @ theta + rng.standard_normal(len(probes))

        found = pw.identify(problem, pw.BestItem(0.01), measure=measure, algorithm=algorithm, seed=seed)
        assert found.item == 0


def test_specks_cost_no_measurements():
    """A difference in the span of one probe up to rounding: the design has a trace of others, the round has not."""
    problem = pw.Problem([[1.0, 3.0], [1.0, -1.0]], [[0.1, 0.3], [0.2, 0.6], [0.3, 0.3 * 3]])
    directions = pw.pairs(problem.items)
    exact = pw.optimal_design(problem.probes, directions, tol=0.01)
    assert exact.converged
    assert exact.support.tolist() == [0, 1]
    assert np.flatnonzero(plan(problem, directions, tol=0.01).weights).tolist() == [0]
    assert np.flatnonzero(plan(large(), pw.pairs(large().items), tol=0.01).weights).tolist() == [0, 1]


def test_items_closer_than_the_rounding_of_their_features_are_named_as_such() -> None:
    rng = np.random.default_rng(2)
    n, d = int(rng.integers(1, 61)), int(rng.integers(2, 7))
    X = rng.standard_normal((n, 1)) @ rng.standard_normal((1, d))
    with pytest.raises(pw.NotIdentifiable, match="so close together that the rounding of their features"):
        pw.optimal_design(X, pw.pairs(np.vstack([X, -X])))
