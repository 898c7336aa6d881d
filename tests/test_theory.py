"""Hardness, gauge and bounds against closed forms, against each other, and against a simulated RAGE."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise as pw
from probewise import instances
from probewise.design import explicit, optimal_design, pairs, points
from probewise.errors import InvalidDesign, InvalidGoal, InvalidProblem, NotIdentifiable
from probewise.problem import Problem
from probewise.theory import gauge, hardness, rage_bound, rho_bounds

seeds = st.integers(0, 10**6)


def overlap(low, high, design):
    """Whether the certified interval of a design meets [low, high]."""
    return design.lower <= high and low <= design.value and design.lower <= design.value * (1 + 1e-12)


def encloses(design, value, slack=1e-9):
    """Whether a known optimum lies in the certified interval of a design."""
    return design.lower <= value * (1 + slack) and value <= design.value * (1 + slack)


def worked(d, angle):
    """ψ* of section 3's example, by hand: min 1/a + (cot²(α/2) + d - 2)/(1 - a) over a in (0, 1)."""
    return (1 + math.sqrt(1 / math.tan(angle / 2) ** 2 + d - 2)) ** 2


# ---- ψ* ----


@pytest.mark.parametrize("d", [2, 5, 10, 20, 35])
def test_psi_of_the_benchmark(d):
    fine = hardness(*instances.benchmark(d)).design
    assert fine.converged
    assert overlap(10_052, 10_113, fine)
    assert encloses(fine, worked(d, 0.01) / 4)


@pytest.mark.parametrize(("d", "psi"), [(2, 109.9), (5, 110.8), (6, 111.1), (10, 112.1), (20, 114.7), (35, 118.6)])
def test_psi_of_the_benchmark_at_a_wider_angle(d, psi):
    design = hardness(*instances.benchmark(d, 0.1)).design
    assert overlap(psi * 0.995, psi * 1.005, design)
    assert encloses(design, worked(d, 0.1) / 4)


@pytest.mark.parametrize(
    ("d", "psi", "static"),
    [(10, 445, (11.94, 12)), (20, 451, (23.9, 24)), (40, 463.5, (47.5, 48.1)), (80, 489, (94, 96.5))],
)
def test_psi_and_static_value_of_the_transductive_instance(d, psi, static):
    problem, theta = instances.transductive(d)
    design = hardness(problem, theta).design
    sine = 1 + math.sin(0.2)
    assert overlap(psi * 0.995, psi * 1.005, design)
    assert encloses(design, (1 + math.sqrt(1 / math.tan(0.05) ** 2 + (d / 2 - 1) * sine)) ** 2)
    every = optimal_design(problem.probes, pairs(problem.items), tol=1e-4)
    assert overlap(*static, every)
    assert encloses(every, d * sine)


@pytest.mark.parametrize("n", [100, 1000])
def test_psi_of_the_many_arms_script(n):
    assert overlap(11.2 * 0.995, 11.2 * 1.005, hardness(*instances.many_arms_script(n, 1)).design)


def test_worked_example_is_hard_when_its_angle_is_small():
    """Erratum E7: ψ* is about 4/α², not free of the gap; the static design needs 8d/α⁴."""
    assert hardness(*instances.worked_example(4, 0.1)).psi == pytest.approx(442, rel=1e-3)
    for angle in (0.2, 0.1, 0.05):
        problem, theta = instances.worked_example(5, angle)
        found = hardness(problem, theta)
        assert encloses(found.design, worked(5, angle))
        every = optimal_design(problem.probes, pairs(problem.items), tol=1e-4)
        assert encloses(every, 10.0)
        least = np.sort(found.gaps)[1]
        assert least == pytest.approx(angle**2 / 2, rel=0.01)
        assert every.value / least**2 == pytest.approx(8 * 5 / angle**4, rel=0.01)


@pytest.mark.parametrize("d", [4, 8, 16])
def test_proposition_1(d):
    """A static design for all of Θ needs 2d/γ; for a known θ, 4/γ + O(d) is enough."""
    gamma = (1 - math.cos(0.1)) ** 2
    rows = []
    for truth in range(d):
        problem, theta = instances.static_lower_bound(d, 0.1, truth)
        values = (theta - problem.items) @ theta
        rows += [(theta - z) / v for z, v in zip(problem.items, values, strict=True) if v > 0]
        if truth < 2:
            found = hardness(problem, theta)
            assert found.best == truth
            assert 4 / gamma <= found.psi
            assert found.psi_lower <= 4 / gamma + (d - 2) / (1 - gamma / 2)
    static = optimal_design(problem.probes, explicit(rows), tol=1e-4)
    assert encloses(static, 2 * d / gamma)


def test_two_items_have_the_classical_characteristic_time():
    found = hardness(Problem(np.eye(2)), [0.5, 0.0])
    assert encloses(found.design, 4 / 0.5**2)
    assert found.lower_bound(0.05) == pytest.approx(8 / 0.5**2 * math.log(1 / 0.12), rel=1e-3)
    np.testing.assert_allclose(found.design.weights, 0.5, atol=0.02)


def test_the_nearest_alternative_is_at_distance_one_over_two_psi():
    """The factor 2 of erratum E2: at w*, the least divergence to a θ' with another best item is 1/(2ψ*)."""
    problem, theta = instances.transductive(6, 0.3)
    found = hardness(problem, theta, tol=1e-6)
    weights = found.design.weights
    information = problem.probes.T @ (weights[:, None] * problem.probes)
    divergences = []
    for item in np.delete(problem.items, found.best, axis=0):
        y = problem.items[found.best] - item
        spread = np.linalg.pinv(information) @ y
        alternative = theta - (y @ theta) * spread / (y @ spread)
        assert y @ alternative == pytest.approx(0, abs=1e-9)
        divergences.append(weights @ (problem.probes @ (theta - alternative)) ** 2 / 2)
    assert min(divergences) == pytest.approx(1 / (2 * found.psi), rel=1e-4)


def test_lower_bounds():
    found = hardness(*instances.benchmark(3, 0.3))
    assert found.psi_lower <= found.psi
    for delta in (1e-6, 0.01, 0.05, 0.3):
        assert found.lower_bound(delta) == 2 * found.paper_lower_bound(delta)
        assert found.lower_bound(delta) <= found.kl_lower_bound(delta)
        assert found.lower_bound(delta) == pytest.approx(-2 * found.psi_lower * math.log(2.4 * delta))
    assert found.kl_lower_bound(1e-9) / found.lower_bound(1e-9) == pytest.approx(1, abs=0.06)
    assert found.lower_bound(0.5) == found.paper_lower_bound(0.9) == found.kl_lower_bound(0.6) == 0


@given(seed=seeds, factor=st.floats(0.1, 10))
@settings(deadline=None, max_examples=15)
def test_scales_of_theta_noise_and_cost(seed, factor):
    rng = np.random.default_rng(seed)
    X, Z, theta = rng.standard_normal((6, 3)), rng.standard_normal((4, 3)), rng.standard_normal(3)
    sigma, cost = rng.uniform(0.5, 2, 6), rng.uniform(0.5, 2, 6)

    def psi(**options):
        return hardness(Problem(X, Z, **options), options.pop("theta", theta), tol=1e-5).psi

    base = psi(sigma=sigma, cost=cost)
    assert psi(sigma=factor * sigma, cost=cost) == pytest.approx(factor**2 * base, rel=1e-4)
    assert psi(sigma=sigma, cost=factor * cost) == pytest.approx(factor * base, rel=1e-4)
    # a measurement of cost c is worth 1/c of a measurement: c·σ² is all that matters
    assert psi(sigma=sigma * np.sqrt(cost)) == pytest.approx(base, rel=1e-4)
    doubled = hardness(Problem(X, Z, sigma=sigma, cost=cost), factor * theta, tol=1e-5).psi
    assert doubled == pytest.approx(base / factor**2, rel=1e-4)


def test_hardness_errors():
    problem = Problem([[1.0, 0], [0, 1], [1, 1]], item_names=["red", "green", "blue"])
    with pytest.raises(InvalidProblem, match=r"one entry per feature, expected shape \(2,\), got \(3,\)"):
        hardness(problem, [1, 2, 3])
    with pytest.raises(InvalidProblem, match="theta must be finite, got NaN"):
        hardness(problem, [1, np.nan])
    with pytest.raises(InvalidProblem, match=r"must be unique, but under theta it is a tie \('red', 'blue'\)"):
        hardness(problem, [1, 0])
    with pytest.raises(InvalidProblem, match=r"a tie \('red', 'green', 'blue'\)"):
        hardness(problem, [0, 0])
    with pytest.raises(InvalidProblem, match="known without a measurement"):
        hardness(Problem(np.eye(2), [[1.0, 0.0]]), [1, 0])
    for delta in (0, 1, -0.1, math.nan):
        with pytest.raises(InvalidGoal, match="delta must lie strictly between 0 and 1"):
            hardness(problem, [1, 2]).lower_bound(delta)


# ---- gauge and bounds on ρ ----


@given(y=st.lists(st.floats(-100, 100), min_size=1, max_size=6))
@settings(deadline=None, max_examples=30)
def test_gauge_of_the_basis_is_one_over_the_sum_of_sizes(y):
    y = np.where(np.abs(y) < 1e-9, 0.0, y)
    expected = 1 / np.abs(y).sum() if y.any() else math.inf
    assert gauge(np.eye(y.size), y) == pytest.approx(expected, rel=1e-8)


@given(seed=seeds, n=st.integers(1, 12), d=st.integers(1, 5))
@settings(deadline=None, max_examples=40)
def test_elfving(seed, n, d):
    """ρ({y}) = 1/γ(y)², between two programs that share no code: a design and a linear programme."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, d)
    y = rng.standard_normal(n) @ X
    assert encloses(optimal_design(X, explicit([y]), tol=1e-5), gauge(X, y) ** -2, slack=1e-7)


@given(seed=seeds)
@settings(deadline=None, max_examples=20)
def test_gauge_does_not_depend_on_coordinates(seed):
    rng = np.random.default_rng(seed)
    X, y, T = rng.standard_normal((7, 3)), rng.standard_normal(3), rng.standard_normal((3, 3))
    expected = gauge(X, y)
    assert gauge(X @ T, y @ T) == pytest.approx(expected, rel=1e-6)
    assert gauge(np.vstack([X, -X[:2]]), y) == pytest.approx(expected, rel=1e-9)
    assert gauge(X, -3 * y) == pytest.approx(expected / 3, rel=1e-9)
    assert gauge(X, X[0]) >= 1 - 1e-9


def test_gauge_of_a_set_is_the_least():
    rng = np.random.default_rng(1)
    X, Z = rng.standard_normal((8, 3)), rng.standard_normal((6, 3))
    every = [gauge(X, Z[i] - Z[j]) for i in range(6) for j in range(i)]
    assert gauge(X, pairs(Z)) == pytest.approx(min(every), rel=1e-12)
    assert gauge(X, Z) == pytest.approx(min(gauge(X, z) for z in Z), rel=1e-12)


def test_gauge_of_the_worked_example():
    """Erratum E8: γ of all differences is 1/2 exactly, so the Lemma gives ρ <= 4d; in truth ρ = 2d."""
    problem, _ = instances.worked_example(6, 0.05)
    assert gauge(problem.probes, pairs(problem.items)) == pytest.approx(0.5)
    tilt = problem.items[0] - problem.items[-1]
    assert gauge(problem.probes, tilt) == pytest.approx(1 / (1 - math.cos(0.05) + math.sin(0.05)))


def test_gauge_keeps_small_entries():
    assert gauge(np.eye(2), [8.0, 1e-7]) == pytest.approx(1 / (8 + 1e-7), rel=1e-10)


def test_gauge_at_the_edges():
    assert gauge(np.eye(2), [0, 0]) == math.inf
    with pytest.raises(NotIdentifiable, match="direction 1 lies outside the span of the probes"):
        gauge([[1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]])
    with pytest.raises(InvalidDesign, match="as many features as the probes, expected 2, got 3"):
        gauge(np.eye(2), [1.0, 2.0, 3.0])
    for wrong in (np.ones(3), [[1.0, np.nan]], np.ones((0, 2))):
        with pytest.raises(InvalidDesign, match="probes must be a table of finite numbers"):
            gauge(wrong, [1.0, 2.0])


@given(seed=seeds, n=st.integers(1, 10), d=st.integers(1, 5), k=st.integers(1, 6))
@settings(deadline=None, max_examples=40)
def test_rho_lies_between_its_bounds(seed, n, d, k):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1)
    Y = rng.standard_normal((k, n)) @ X
    bounds = rho_bounds(X, Y)
    design = optimal_design(X, explicit(Y), tol=1e-4)
    rank = min(n, d, k)
    assert bounds.lower <= bounds.elfving * (1 + 1e-9)
    assert bounds.elfving <= design.value * (1 + 1e-9)
    assert design.lower <= bounds.upper * (1 + 1e-9)
    assert bounds.upper == pytest.approx(rank / bounds.gauge**2)
    assert bounds.upper <= bounds.upper_printed * (1 + 1e-12)


def test_the_printed_lower_bound_on_rho_is_wrong():
    """Erratum E5."""
    bounds = rho_bounds([[2.0]], [[1.0]])
    rho = optimal_design([[2.0]], explicit([[1.0]])).value
    assert rho == pytest.approx(0.25)
    assert bounds.lower == bounds.elfving == bounds.upper == 0.25
    assert bounds.lower_printed == 0.5 > rho


@pytest.mark.parametrize(("n", "d", "rank"), [(10, 3, 3), (6, 6, 6), (8, 5, 2)])
def test_kiefer_wolfowitz(n, d, rank):
    """The G-optimal value is the rank of the probes, and the bound q/γ² is tight there: γ = 1."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    assert encloses(optimal_design(X, points(X), tol=1e-5), rank)
    assert rho_bounds(X, X).upper >= rank * (1 - 1e-9)


# ---- Theorem 2 ----


def test_each_phase_has_the_design_of_the_items_that_may_be_left():
    bound = rage_bound(Problem(np.eye(4)), [1.0, 0.9, 0.8, 0.0])  # k items are compared with variance 2k at best
    assert [phase.items for phase in bound.phases] == [4, 3, 2]
    assert [phase.rho for phase in bound.phases] == pytest.approx([8.0, 6.0, 4.0], rel=1e-3)


def test_phases_of_the_worked_example():
    problem, theta = instances.worked_example(5, 0.1)
    bound = rage_bound(problem, theta, 0.05)
    assert [phase.items for phase in bound.phases] == [6] + [2] * 6  # Δ_min = .005: 2^-7 >= Δ_min > 2^-8
    assert bound.rounding == 36  # six probes, ε = 1/5
    first, last = bound.phases[0], bound.phases[-1]
    assert encloses(optimal_design(problem.probes, pairs(problem.items)), 10)
    assert first.rho_lower <= 10 <= first.rho * (1 + 1e-9)
    assert first.measurements == math.ceil(8 * 16 * first.rho * 1.2 * math.log(36 / 0.05))
    assert last.accuracy == 2.0**-9
    assert last.measurements == math.ceil(8 * 4**8 * last.rho * 1.2 * math.log(49 * 36 / 0.05))
    assert bound.total == sum(row["measurements"] for row in bound.table())
    assert rage_bound(problem, theta, 0.05, rounding=10**6).phases[1].measurements == 10**6


def test_large_gaps_still_take_one_phase():
    """Erratum E6: where Δ_min > 1/2 the printed sum is empty, but the algorithm measures."""
    problem = Problem(np.eye(3))
    bound = rage_bound(problem, [5.0, 0.0, 1.0], 0.1)
    assert [phase.items for phase in bound.phases] == [3]
    assert 0 < bound.total <= bound.closed_form


@pytest.mark.parametrize(("gap", "count"), [(0.5, 1), (0.25, 2), (0.2500001, 1), (0.2499999, 2), (2.0**-10, 10)])
def test_a_phase_is_reached_while_its_level_is_not_below_the_gap(gap, count):
    assert len(rage_bound(Problem(np.eye(2)), [gap, 0.0]).phases) == count


@given(seed=seeds, scale=st.floats(-1, 1))
@settings(deadline=None, max_examples=20)
def test_the_closed_form_is_above_the_sum_of_phases(seed, scale):
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(3) * 10.0**scale
    problem = Problem(rng.standard_normal((7, 3)), rng.standard_normal((5, 3)))
    bound = rage_bound(problem, theta, 0.05)
    sizes = [phase.items for phase in bound.phases]
    assert sizes[0] == 5
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] > 1
    assert bound.total <= bound.closed_form


def test_rage_stays_below_its_bound():
    """The paper's algorithm, with θ̂ drawn from its law: right, and never above Theorem 2, at a δ of 1/2."""
    problem, theta = instances.benchmark(3, 0.7)
    delta, epsilon, rng = 0.5, 0.2, np.random.default_rng(0)
    bound = rage_bound(problem, theta, delta, epsilon=epsilon)
    designs, totals = {}, []
    for _ in range(40):
        alive, t, total = frozenset(range(4)), 0, 0
        while len(alive) > 1:
            t += 1
            Z = problem.items[sorted(alive)]
            if alive not in designs:
                designs[alive] = optimal_design(problem.probes, pairs(Z))
            design = designs[alive]
            n = math.ceil(8 * 4 ** (t + 1) * design.value * (1 + epsilon) * math.log(16 * t**2 / delta))
            information = problem.probes.T @ (n * design.weights[:, None] * problem.probes)
            values, vectors = np.linalg.eigh(information)
            seen = values > 1e-9 * values[-1]
            noise = vectors[:, seen] @ (rng.standard_normal(seen.sum()) / np.sqrt(values[seen]))
            scores = Z @ (vectors[:, seen] @ (vectors[:, seen].T @ theta) + noise)
            alive = frozenset(
                i for i, s in zip(sorted(alive), scores, strict=True) if scores.max() - s < 2.0 ** -(t + 2)
            )
            total += max(n, bound.rounding)
        assert alive == {0}
        totals.append(total)
    assert max(totals) <= bound.total * (1 + 1e-3)
    assert bound.total <= 50 * np.mean(totals)


def test_rage_bound_errors():
    problem, theta = instances.benchmark(2)
    with pytest.raises(InvalidGoal, match="delta must lie strictly between 0 and 1, got 2"):
        rage_bound(problem, theta, 2)
    with pytest.raises(InvalidGoal, match="epsilon must be positive, got 0"):
        rage_bound(problem, theta, 0.1, epsilon=0)
    with pytest.raises(InvalidProblem, match="one entry per feature"):
        rage_bound(problem, [1.0], 0.1)


@pytest.mark.parametrize(
    ("outcome", "goal", "why"),
    [
        (None, pw.BestItem(epsilon=0.3), r"within 0\.3 several may be; ask without epsilon"),
        (None, pw.Above(0.5, promise="share"), "all of an answer must be right; ask with promise='all'"),
        (pw.Bounded(), pw.BestItem(), "outcomes follow the law 'bounded'; give sigma instead"),
    ],
)
def test_no_lower_bound_is_claimed_where_none_is_known(outcome: pw.Law | None, goal: pw.Goal, why: str) -> None:
    problem = pw.Problem(np.eye(3)) if outcome is None else pw.Problem(np.eye(3), outcome=outcome)
    with pytest.raises(pw.InvalidProblem, match=why):
        pw.hardness(problem, [0.9, 0.8, 0.2], goal=goal)
