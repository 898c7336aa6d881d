from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from probewise.coordinates import Array, Counts
from probewise.design.sets import explicit, pairs, points
from probewise.errors import InvalidDesign
from probewise.rounding import (
    Allocation,
    Method,
    _regularised,
    efficient_counts,
    proved_inflation,
    round_design,
    sufficient_measurements,
)

METHODS: tuple[Method, ...] = ("efficient", "regret", "best")


def random_design(seed: int, *, p: int = 20, d: int = 4) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    weights = np.maximum(rng.dirichlet(np.full(p, 0.7)), 1e-6)
    return rng.normal(size=(p, d)), weights / weights.sum()


def literal_apportionment(weights: Array, n: int) -> Counts:
    """The two phases of Pukelsheim and Rieder, one measurement at a time."""
    counts = np.ceil((n - weights.size / 2) * weights).astype(np.int64)
    while counts.sum() < n:
        counts[np.argmin(counts / weights)] += 1
    while counts.sum() > n:
        counts[np.argmax((counts - 1) / weights)] -= 1
    return counts


positive_weights = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=30).map(lambda w: np.array(w) / np.sum(w))


# Efficient rounding


@settings(deadline=None, max_examples=200)
@given(positive_weights, st.integers(0, 10**12))
def test_efficient_counts_are_an_optimal_apportionment(weights: Array, extra: int) -> None:
    p, n = weights.size, weights.size + extra
    counts = round_design(weights, n, probes=np.eye(p)).counts
    assert counts.dtype == np.int64
    assert counts.sum() == n
    assert counts.min() >= 1
    # (n_i - 1)/w_i <= min_j n_j/w_j for all i holds exactly for the counts that maximise min_j n_j/w_j
    least = (counts / weights).min()
    assert ((counts - 1) / weights).max() <= least * (1 + 1e-14)
    assert least >= (n - p + 1) * (1 - 1e-12)


@settings(deadline=None, max_examples=100)
@given(positive_weights, st.integers(0, 200))
def test_efficient_agrees_with_the_literal_procedure(weights: Array, extra: int) -> None:
    n = weights.size + extra
    counts = round_design(weights, n, probes=np.eye(weights.size)).counts
    literal = literal_apportionment(weights / weights.sum(), n)
    # with ties there is a choice, but the n-th smallest of the k/w_i, and the least n_i/w_i, have no choice
    for shift, extreme in ((0, np.min), (1, np.max)):
        assert extreme((counts - shift) / weights) == pytest.approx(extreme((literal - shift) / weights))


@pytest.mark.parametrize("seed", range(20))
def test_efficient_is_the_literal_procedure_where_there_are_no_ties(seed: int) -> None:
    probes, weights = random_design(seed, p=50)
    for n in (50, 51, 80, 1000, 123_457):
        counts = round_design(weights, n, probes=probes).counts
        assert counts.tolist() == literal_apportionment(weights, n).tolist()


@settings(deadline=None, max_examples=50)
@given(positive_weights, st.integers(0, 300))
def test_efficient_counts_never_fall_when_n_rises(weights: Array, extra: int) -> None:
    n = weights.size + extra
    probes = np.eye(weights.size)
    more = round_design(weights, n + 1, probes=probes).counts - round_design(weights, n, probes=probes).counts
    assert sorted(more) == [0] * (weights.size - 1) + [1]


@pytest.mark.parametrize("n", [100_000, 123_456, 10**12, 2**53])
def test_efficient_with_many_probes_and_many_measurements(n: int) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(100_000))
    allocation = round_design(weights, n, probes=np.ones((100_000, 1)))
    assert allocation.n == n
    assert (allocation.counts >= (n - 100_000 + 1) * weights * (1 - 1e-12)).all()


def sharp_design(p: int, head: int) -> tuple[Array, Array]:
    """Probes e_i, weights for which ⌈·⌉ costs p - 1 measurements, directions √w_i e_i of equal variance."""
    weights = np.append(np.full(p - 1, 1.0 + 1e-6), head)
    weights = weights / weights.sum()
    return weights, np.diag(np.sqrt(weights))


def test_p_over_epsilon_measurements_are_not_enough() -> None:
    epsilon, p, n = 0.2, 7, 35  # n = p/ε
    weights, directions = sharp_design(p, 23)
    allocation = round_design(weights, n, probes=np.eye(p))
    assert allocation.counts.tolist() == [2] * 6 + [23]
    assert allocation.inflation(explicit(directions)) > 1 + epsilon
    assert allocation.inflation(explicit(directions)) == pytest.approx(35 / 29, rel=1e-5)
    assert allocation.guarantee == pytest.approx(35 / 29)  # the bound is sharp
    # and no allocation of 35 does better: this is not a weakness of the method
    regret = round_design(weights, n, probes=np.eye(p), method="regret")
    assert regret.inflation(explicit(directions)) >= allocation.inflation(explicit(directions)) - 1e-12


@pytest.mark.parametrize(("p", "epsilon"), [(2, 0.1), (6, 0.2), (7, 0.2), (20, 0.5), (55, 0.01), (4, 3.0)])
def test_sufficient_measurements_of_efficient_is_the_smallest_number(p: int, epsilon: float) -> None:
    n = sufficient_measurements(epsilon, support=p, dimension=p)
    assert n <= math.ceil(p * (1 + 1 / epsilon))
    assert proved_inflation(n, support=p, dimension=p) <= (1 + epsilon) * (1 + 1e-12)
    assert n == p or proved_inflation(n - 1, support=p, dimension=p) > 1 + epsilon


# Regret rounding


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(0.0, 1e12), min_size=1, max_size=20).map(lambda v: np.sort(np.array(v))))
def test_regularised_eigenvalues_have_inverse_squares_that_sum_to_one(eigenvalues: Array) -> None:
    regularised = _regularised(eigenvalues)
    assert np.sum(regularised**-2.0) == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_allclose(np.diff(regularised), np.diff(eigenvalues), rtol=1e-9, atol=1e-12 * regularised[-1])


@pytest.mark.parametrize("seed", range(20))
def test_the_potential_falls_by_the_score_and_bounds_the_smallest_eigenvalue(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank, alpha = int(rng.integers(1, 8)), float(rng.uniform(0.1, 30))
    root = rng.normal(size=(rank, rank)) * rng.uniform(0, 1)
    total, x = root @ root.T, rng.normal(size=rank)

    def potential(matrix: Array) -> float:
        eigenvalues: Array = np.linalg.eigvalsh(alpha * matrix).astype(np.float64)
        regularised = _regularised(eigenvalues)
        return float(regularised[0] - eigenvalues[0] + np.sum(1 / regularised))

    eigenvalues, basis = np.linalg.eigh(alpha * total)
    inverse = (basis / _regularised(eigenvalues)) @ basis.T
    score = x @ inverse @ inverse @ x / (1 + alpha * x @ inverse @ x)
    smallest = eigenvalues[0] / alpha
    assert potential(np.zeros((rank, rank))) == pytest.approx(2 * math.sqrt(rank))
    assert potential(total + np.outer(x, x)) <= potential(total) - alpha * score + 1e-9
    assert 2 - potential(total) <= alpha * smallest + 1e-9
    assert potential(total) <= 2 * math.sqrt(rank) - alpha * smallest + 1e-9


def literal_regret(probes: Array, weights: Array, n: int) -> Counts:
    """The rule of docs/rounding.md, from dense inverses, with α and c by search."""
    d = probes.shape[1]
    alpha = minimize_scalar(
        lambda a: 2 * (math.sqrt(d) - 1) / a - n / (n + a * math.sqrt(d)),
        bounds=(1e-3, 100 * n),
        method="bounded",
    ).x
    rows = probes @ np.linalg.inv(np.linalg.cholesky(n * probes.T @ (weights[:, None] * probes))).T
    counts = np.zeros(weights.size, dtype=np.int64)
    for _ in range(n):
        total = alpha * rows.T @ (counts[:, None] * rows)

        def trace(c: float, total: Array = total) -> float:
            return float(np.trace(np.linalg.matrix_power(np.linalg.inv(total + c * np.eye(d)), 2))) - 1.0

        low = -np.linalg.eigvalsh(total)[0]
        inverse = np.linalg.inv(total + brentq(trace, low + 0.5, low + 2 * math.sqrt(d)) * np.eye(d))
        scores = [x @ inverse @ inverse @ x / (1 + alpha * x @ inverse @ x) for x in rows]
        counts[np.argmax(scores)] += 1
    return counts


@pytest.mark.parametrize("seed", range(3))
def test_regret_follows_the_rule(seed: int) -> None:
    probes, weights = random_design(seed, p=40, d=3)
    counts = round_design(weights, 30, probes=probes, method="regret").counts
    assert counts.tolist() == literal_regret(probes, weights, 30).tolist()


@pytest.mark.parametrize("rank", [1, 2, 5, 20])
@pytest.mark.parametrize("epsilon", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("support", [1, 30, 3000])
def test_sufficient_measurements_of_regret_suffice(rank: int, epsilon: float, support: int) -> None:
    support = max(support, rank)
    n = sufficient_measurements(epsilon, support=support, dimension=rank, method="regret")
    assert n <= 8 * rank * (1 + epsilon) ** 2 / epsilon**2 + 1
    for more in (0, 1, 10, 1000, 10**6):
        bound = proved_inflation(n + more, support=support, dimension=rank, method="regret")
        assert bound <= (1 + epsilon) * (1 + 1e-9)


def test_regret_needs_fewer_measurements_than_probes() -> None:
    probes, weights = random_design(1, p=400, d=4)
    allocation = round_design(weights, 60, probes=probes, method="regret")
    assert allocation.n == 60
    assert allocation.inflation(points(probes)) <= allocation.guarantee < 2
    assert allocation.inflation() <= allocation.guarantee


def test_regret_on_a_line_measures_the_longest_probe() -> None:
    allocation = round_design([0.5, 0.3, 0.2], 10**12, probes=[[1.0, 2.0], [-2.0, -4.0], [0.0, 0.0]], method="regret")
    assert allocation.counts.tolist() == [0, 10**12, 0]
    assert allocation.guarantee == 1.0
    assert allocation.inflation() == pytest.approx((0.5 + 0.3 * 4) / 4)


def test_regret_with_a_huge_number_of_measurements_is_fast_and_close() -> None:
    probes, weights = random_design(2, p=36, d=8)
    allocation = round_design(weights, 10**12, probes=probes, method="regret")
    assert allocation.n == 10**12
    assert allocation.inflation() <= allocation.guarantee * (1 + 1e-12)
    assert allocation.guarantee < 1 + 1e-9


def test_the_head_start_is_used_only_where_it_proves_more() -> None:
    plain = [1 / (1 - math.sqrt(2 * (6 - math.sqrt(6)) / n)) ** 2 for n in range(20, 3000)]
    bound = [proved_inflation(n, support=40, dimension=6, method="regret") for n in range(20, 3000)]
    assert all(b <= p * (1 + 1e-12) for b, p in zip(bound, plain, strict=True))
    assert bound[0] == pytest.approx(plain[0])
    assert bound[-1] < plain[-1]
    assert (np.diff(bound) < 0).all()


# Both


@pytest.mark.parametrize("seed", range(100))
def test_no_guarantee_is_exceeded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, p = int(rng.integers(1, 7)), int(rng.integers(1, 41))
    probes, weights = random_design(seed, p=p, d=d)
    if seed % 4 == 0:
        probes = np.eye(d)[rng.integers(d, size=p)]
    for method in METHODS:
        n = int(rng.integers(p if method == "efficient" else 1, 4 * p + 20))
        allocation = round_design(weights, n, probes=probes, method=method)
        assert allocation.n == n
        assert allocation.inflation() <= allocation.guarantee * (1 + 1e-9)
        if p > 1:
            assert allocation.inflation(pairs(probes)) <= allocation.inflation() * (1 + 1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(5))
def test_counts_and_inflation_do_not_change_under_linear_maps(method: Method, seed: int) -> None:
    probes, weights = random_design(seed)
    transform = np.random.default_rng(seed + 100).normal(size=(4, 4)) * 10.0 ** np.array([-6, 0, 3, 6])
    one = round_design(weights, 90, probes=probes, method=method)
    two = round_design(weights, 90, probes=probes @ transform, method=method)
    assert one.counts.tolist() == two.counts.tolist()
    assert one.inflation(pairs(probes)) == pytest.approx(two.inflation(pairs(probes @ transform)), rel=1e-6)
    assert one.inflation() == pytest.approx(two.inflation(), rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_inflation_is_the_ratio_of_the_largest_variances(method: Method) -> None:
    probes, weights = random_design(3)
    allocation = round_design(weights, 40, probes=probes, method=method)
    differences = (probes[:, None] - probes[None]).reshape(-1, 4)
    information = [probes.T @ (w[:, None] * probes) for w in (allocation.counts / 40, weights)]
    realised, planned = (np.einsum("ij,ij->i", differences @ np.linalg.inv(a), differences).max() for a in information)
    assert allocation.inflation(pairs(probes)) == pytest.approx(realised / planned)
    relative = np.linalg.eigvals(np.linalg.solve(information[0], information[1])).real.max()
    assert allocation.inflation() == pytest.approx(relative)


@pytest.mark.parametrize("method", METHODS)
def test_probes_without_weight_get_no_measurement(method: Method) -> None:
    probes, weights = random_design(4)
    weights[5:] = 0.0
    weights /= weights.sum()
    allocation = round_design(weights, 50, probes=probes, method=method)
    assert allocation.counts[5:].sum() == 0
    assert allocation.counts.sum() == 50


@pytest.mark.parametrize("method", METHODS)
def test_singular_designs_round_in_their_span(method: Method) -> None:
    rng = np.random.default_rng(5)
    plane = rng.normal(size=(2, 5))
    probes = np.vstack([rng.normal(size=(8, 2)) @ plane, rng.normal(size=(3, 5))])
    weights = np.append(np.full(8, 1 / 8), np.zeros(3))  # only probes in a plane of R^5 have weight
    allocation = round_design(weights, 60, probes=probes, method=method)
    assert allocation.inflation(explicit(plane)) <= allocation.guarantee < 2
    assert math.isinf(allocation.inflation(explicit(rng.normal(size=(1, 5)))))  # no pseudo-inverse variance
    assert math.isinf(allocation.inflation(pairs(probes)))


def test_inflation_is_infinite_exactly_for_what_the_counts_lost() -> None:
    probes = np.eye(3)
    allocation = Allocation(np.array([2, 3, 0]), np.full(3, 1 / 3), probes, "given", math.inf)
    assert allocation.inflation(explicit(probes[:2])) == pytest.approx(5 / 2 / 3)
    assert math.isinf(allocation.inflation(explicit(probes[2:])))
    assert math.isinf(allocation.inflation())


def test_directions_of_length_zero_are_not_inflated() -> None:
    allocation = round_design([0.5, 0.5], 3, probes=np.eye(2))
    assert allocation.inflation(explicit([[0.0, 0.0]])) == 1.0


def test_best_takes_the_smaller_guarantee() -> None:
    probes, weights = random_design(6, p=200, d=3)
    few, many = (round_design(weights, n, probes=probes, method="best") for n in (150, 20_000))
    assert (few.method, many.method) == ("regret", "efficient")
    for n in (150, 250, 2_000, 20_000):
        bounds = [proved_inflation(n, support=200, dimension=3, method=m) for m in METHODS]
        assert bounds[2] == min(bounds[:2])
    assert round_design(weights, 1, probes=probes, method="best").n == 1


def test_allocations_cannot_be_changed() -> None:
    weights = np.array([0.5, 0.5])
    allocation = round_design(weights, 4, probes=np.eye(2))
    weights[0] = 7.0
    assert allocation.weights.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        allocation.counts[0] = 3


# Errors


@pytest.mark.parametrize(
    ("weights", "n", "probes", "method", "message"),
    [
        ([0.5, 0.5], 1, np.eye(2), "efficient", 'got n = 1 for a support of 2; .* method="regret"'),
        ([0.5, 0.5], 0, np.eye(2), "efficient", "n must lie between 1 and 2\\^53, got 0"),
        ([0.5, 0.5], 2**53 + 1, np.eye(2), "efficient", "n must lie between"),
        ([0.5, 0.5], 2.0, np.eye(2), "efficient", "n must be an integer, got 2.0"),
        ([0.5, 0.5], True, np.eye(2), "efficient", "n must be an integer, got True"),
        ([0.5, 0.4], 5, np.eye(2), "efficient", "weights must sum to 1, got a sum of 0.9; divide"),
        ([1.5, -0.5], 5, np.eye(2), "efficient", "at least 0, got -0.5 for probe 1"),
        ([0.5, math.nan], 5, np.eye(2), "efficient", "at least 0, got nan for probe 1"),
        ([1.0], 5, np.eye(2), "efficient", r"one entry per probe, expected shape \(2,\), got \(1,\)"),
        ([0.5, 0.5], 5, [[1.0], [math.inf]], "efficient", "probes must be a table of finite numbers"),
        ([1.0, 0.0], 5, [[0.0], [1.0]], "efficient", "All probes with positive weight are zero"),
        ([0.5, 0.5], 5, np.eye(2), "floor", "method must be .* got 'floor'"),
        ([1.0 - 1e-40, 1e-40], 5, np.eye(2), "regret", "too small to compute with, the smallest is 1.0e-40"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    weights: list[float], n: int, probes: Array, method: Method, message: str
) -> None:
    with pytest.raises(InvalidDesign, match=message):
        round_design(weights, n, probes=probes, method=method)


def test_regret_refuses_hours_of_work() -> None:
    probes, weights = random_design(0, p=20_000, d=3)
    with pytest.raises(InvalidDesign, match="one by one among 20000 probes; first reduce the support of the des"):
        round_design(weights, 10_000_000, probes=probes, method="regret")
    assert round_design(weights, 10_000_000, probes=probes, method="best").method == "efficient"


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_epsilon_must_be_positive(epsilon: float) -> None:
    with pytest.raises(InvalidDesign, match="epsilon must be positive and finite"):
        sufficient_measurements(epsilon, support=3, dimension=3)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1.0, 2.0, 3.0], "one integer per probe"),
        ([1, 2], "one integer per probe"),
        ([1, -2, 0], "at least 0"),
        ([0, 0, 0], "not all 0"),
        ([1, 0, 1], "probe 2 has a count but weight 0"),
    ],
)
def test_impossible_allocations_cannot_be_built(counts: list[int], message: str) -> None:
    with pytest.raises(InvalidDesign, match=message):
        Allocation(np.array(counts), np.array([0.5, 0.5, 0.0]), np.eye(3), "given", math.inf)


def test_counts_alone_are_those_of_the_allocation():
    rng = np.random.default_rng(3)
    weights = np.where(rng.random(20) < 0.5, rng.random(20), 0.0)
    weights /= weights.sum()
    for n in (20, 57, 10**6):
        whole = round_design(weights, n, probes=rng.standard_normal((20, 3)))
        np.testing.assert_array_equal(efficient_counts(weights, n), whole.counts)
