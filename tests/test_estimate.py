from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probewise import coordinates as module
from probewise import pooling
from probewise.coordinates import Array, coordinates
from probewise.design import remembering
from probewise.design.sets import explicit, pairs, star
from probewise.errors import InvalidDesign, InvalidMeasurements, NotIdentifiable
from probewise.estimate import REFRESH, RankOne, least_squares, ridge, solution
from probewise.measurements import Measurements
from probewise.pooling import Pooled

seeds = st.integers(0, 2**32 - 1)


def data(seed: int, n: int = 12, d: int = 4, k: int = 60) -> tuple[Array, Array, Array, Array]:
    """Probes (n, d), sigma (n,), indices (k,), outcomes (k,); every probe is measured at least once."""
    rng = np.random.default_rng(seed)
    probes = rng.standard_normal((n, d))
    sigma = rng.uniform(0.2, 3.0, n)
    index = np.concatenate([np.arange(n), rng.integers(0, n, k - n)])
    outcomes = probes[index] @ rng.standard_normal(d) + sigma[index] * rng.standard_normal(k)
    return probes, sigma, index, outcomes


def solved(matrix: list[list[Fraction]], vector: list[Fraction]) -> list[Fraction]:
    """Solution of a linear system in exact arithmetic."""
    d = len(vector)
    rows = [[*row, b] for row, b in zip(matrix, vector, strict=True)]
    for k in range(d):
        pivot = next(i for i in range(k, d) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(d):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[k][d] / rows[k][k] for k in range(d)]


@settings(deadline=None, max_examples=50)
@given(seed=seeds)
def test_least_squares_agrees_with_lstsq_on_single_outcomes(seed: int) -> None:
    probes, sigma, index, outcomes = data(seed)
    estimate = least_squares(probes, Measurements.from_outcomes(12, index, outcomes), sigma=sigma)
    rows = probes[index] / sigma[index, None]
    theta, squares, rank, _ = np.linalg.lstsq(rows, outcomes / sigma[index])
    directions = np.random.default_rng(seed).standard_normal((5, 4))
    np.testing.assert_allclose(estimate.theta, theta, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(estimate.mean(directions), directions @ theta, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(estimate.information, rows.T @ rows, rtol=1e-12, atol=1e-10)
    expected = np.einsum("ki,ij,kj->k", directions, np.linalg.inv(rows.T @ rows), directions)
    np.testing.assert_allclose(estimate.variance(directions), expected, rtol=1e-9)
    assert estimate.rank == rank == 4
    assert estimate.residual.value == pytest.approx(squares[0], rel=1e-9)
    assert estimate.residual.degrees == 60 - 4
    assert estimate.lack_of_fit.degrees == 12 - 4


def test_two_rounds_estimate_as_all_at_once() -> None:
    probes, sigma, index, outcomes = data(3)
    rounds = [Measurements.from_outcomes(12, index[s], outcomes[s]) for s in (slice(25), slice(25, None))]
    merged = least_squares(probes, rounds[0] + rounds[1], sigma=sigma)
    whole = least_squares(probes, Measurements.from_outcomes(12, index, outcomes), sigma=sigma)
    np.testing.assert_allclose(merged.theta, whole.theta, rtol=1e-11)
    np.testing.assert_allclose(merged.information, whole.information, rtol=1e-11)
    assert merged.residual.value == pytest.approx(whole.residual.value, rel=1e-11)


def test_variance_is_that_of_the_estimate() -> None:
    rng = np.random.default_rng(5)
    probes, sigma = rng.standard_normal((6, 3)), np.array([0.5, 1.0, 2.0, 1.0, 0.1, 3.0])
    count = np.array([3, 1, 4, 0, 1, 5])
    index = np.repeat(np.arange(6), count)
    theta, y = np.array([1.0, -2.0, 0.5]), np.array([[1.0, 2.0, -1.0], [0.3, 0.0, 4.0]])
    runs = 2500
    errors, residuals = np.empty((runs, 2)), np.empty(runs)
    for run in range(runs):
        outcomes = probes[index] @ theta + sigma[index] * rng.standard_normal(index.size)
        estimate = least_squares(probes, Measurements.from_outcomes(6, index, outcomes), sigma=sigma)
        errors[run] = estimate.mean(y) - y @ theta
        residuals[run] = estimate.residual.value
    # A variance from 2500 draws has relative standard error √(2/2500) = 2.8 %.
    np.testing.assert_allclose(errors.var(axis=0), estimate.variance(y), rtol=0.11)
    assert np.all(np.abs(errors.mean(axis=0)) < 4 * np.sqrt(estimate.variance(y) / runs))
    degrees = estimate.residual.degrees
    assert degrees == 14 - 3
    assert abs(residuals.mean() - degrees) < 4 * math.sqrt(2 * degrees / runs)


@settings(deadline=None, max_examples=50)
@given(seed=seeds)
def test_invertible_maps_of_features_change_nothing(seed: int) -> None:
    probes, sigma, index, outcomes = data(seed)
    rng = np.random.default_rng(seed)
    orthogonal = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    transform = orthogonal * rng.uniform(0.1, 10.0, 4) @ np.linalg.qr(rng.standard_normal((4, 4)))[0]
    directions = rng.standard_normal((5, 4))
    measurements = Measurements.from_outcomes(12, index, outcomes)
    before = least_squares(probes, measurements, sigma=sigma)
    after = least_squares(probes @ transform, measurements, sigma=sigma)
    mapped = directions @ transform
    np.testing.assert_allclose(after.mean(mapped), before.mean(directions), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(after.variance(mapped), before.variance(directions), rtol=1e-7)


@pytest.mark.parametrize("rank", [2, 4])
def test_units_of_features_and_of_outcomes_change_nothing(rank: int) -> None:
    probes, sigma, index, outcomes = data(11)
    probes = probes[:, :rank] @ np.random.default_rng(1).standard_normal((rank, 4))
    units = np.array([1e-6, 1.0, 1e6, 1e3])
    measurements = Measurements.from_outcomes(12, index, outcomes)
    larger = Measurements.from_outcomes(12, index, 1e5 * outcomes)
    directions = np.vstack([probes[:3] - probes[3:6], np.eye(4)])
    before = least_squares(probes, measurements, sigma=sigma)
    scaled = least_squares(probes * units, measurements, sigma=sigma)
    assert before.rank == scaled.rank == rank
    np.testing.assert_allclose(scaled.theta * units, before.theta, rtol=1e-9)
    np.testing.assert_allclose(scaled.variance(directions * units), before.variance(directions), rtol=1e-9)
    in_volts = least_squares(probes, larger, sigma=1e5 * sigma)
    np.testing.assert_allclose(in_volts.theta, 1e5 * before.theta, rtol=1e-9)
    np.testing.assert_allclose(in_volts.variance(directions), 1e10 * before.variance(directions), rtol=1e-9)
    assert in_volts.residual.value == pytest.approx(before.residual.value, rel=1e-9)
    assert np.isinf(before.variance(np.eye(4))).all() == (rank == 2)


def test_a_direction_outside_the_range_has_infinite_variance() -> None:
    probes = np.eye(3)
    measurements = Measurements.from_outcomes(3, [0, 0, 1], [1.0, 3.0, 4.0])
    estimate = least_squares(probes, measurements)
    directions = np.array([[1.0, 0, 0], [1, -1, 0], [0, 0, 1], [1, 0, 1e-6], [0, 0, 0]])
    np.testing.assert_allclose(estimate.variance(directions), [0.5, 1.5, np.inf, np.inf, 0.0], atol=1e-15)
    np.testing.assert_allclose(estimate.theta, [2.0, 4.0, 0.0], atol=1e-15)
    assert estimate.rank == 2
    assert estimate.largest_variance(explicit(directions[:2])) == pytest.approx(1.5)
    assert estimate.largest_variance(explicit(directions[:3])) == math.inf
    # Two items alike in the feature that was not measured: their difference is known though neither item is.
    items = np.array([[1.0, 0.0, 7.0], [0.0, 1.0, 7.0]])
    assert np.isinf(estimate.variance(items)).all()
    assert estimate.largest_variance(pairs(items)) == pytest.approx(1.5)
    assert estimate.largest_variance(pairs(np.vstack([items, np.zeros(3)]))) == math.inf


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("sigma", [1e-10, 1.0, 1e10])
def test_neither_units_nor_noise_hide_an_unmeasured_feature(unit: float, sigma: float) -> None:
    probes = np.eye(2) * np.array([1.0, unit])
    estimate = least_squares(probes, Measurements.from_outcomes(2, [0], [1.0]), sigma=sigma)
    variances = estimate.variance(np.array([[1.0, 0.0], [1.0, unit], [0.0, unit]]))
    np.testing.assert_allclose(variances, [sigma**2, np.inf, np.inf])


def test_no_measurement_determines_nothing() -> None:
    estimate = least_squares(np.ones((3, 2)), Measurements.empty(3))
    assert estimate.rank == 0
    np.testing.assert_array_equal(estimate.variance(np.array([[1.0, 0.0], [0.0, 0.0]])), [np.inf, 0.0])
    np.testing.assert_array_equal(estimate.theta, 0.0)
    assert estimate.residual == (0.0, 0)
    assert estimate.largest_variance(pairs(np.eye(2))) == math.inf


def test_a_measured_zero_probe_counts_only_as_lack_of_fit() -> None:
    estimate = least_squares(np.zeros((1, 2)), Measurements.from_outcomes(1, [0, 0], [1.0, 2.0]))
    assert estimate.rank == 0
    assert estimate.lack_of_fit == (pytest.approx(4.5), 1)
    assert estimate.pure_error == (pytest.approx(0.5), 1)


def test_unequal_noise_and_counts_keep_their_digits() -> None:
    rng = np.random.default_rng(2)
    probes = rng.standard_normal((7, 3))
    sigma = 10.0 ** np.array([5, -5, 3, 4, 2, 5, 4])
    count = np.array([1, 10**6, 1, 3, 10, 1, 1])
    mean = rng.standard_normal(7)
    estimate = least_squares(probes, Measurements(count, mean, np.zeros(7)), sigma=sigma)
    weight = [Fraction(int(c)) / Fraction(s) ** 2 for c, s in zip(count, sigma, strict=True)]
    x = [[Fraction(v) for v in row] for row in probes]
    V = [[sum(w * r[i] * r[j] for w, r in zip(weight, x, strict=True)) for j in range(3)] for i in range(3)]
    b = [sum(w * r[i] * Fraction(m) for w, r, m in zip(weight, x, mean, strict=True)) for i in range(3)]
    np.testing.assert_allclose(estimate.theta, [float(v) for v in solved(V, b)], rtol=1e-12)
    y = [Fraction(v) for v in (1.0, -2.0, 0.5)]
    exact = float(sum(a * b for a, b in zip(y, solved(V, y), strict=True)))
    np.testing.assert_allclose(estimate.variance([[1.0, -2.0, 0.5]]), exact, rtol=1e-12)
    # The precisely measured probe keeps its own variance 1e-16 beside directions of variance 1e4 and more. The last
    # digit of its features has a part in these directions, so no method can come closer than the square of that.
    largest = float(sum(abs(v) for i in range(3) for v in solved(V, [Fraction(int(i == j)) for j in range(3)])))
    last = 3 * np.finfo(float).eps * np.linalg.norm(probes[1])
    np.testing.assert_allclose(estimate.variance(probes[1:2]), 1e-16, rtol=1e-9, atol=largest * last**2)
    assert largest * last**2 < 1e-21


def test_the_solution_alone_and_one_that_was_remembered_are_those_of_least_squares() -> None:
    probes, sigma, index, outcomes = data(5)
    unit, many = np.abs(probes).max(axis=0), Measurements.from_outcomes(12, index, outcomes)
    few = Measurements.from_outcomes(12, index[:2], outcomes[:2])
    other = Measurements(few.count, 2.0 * few.mean, few.scatter)
    for measured in (many, few, Measurements.empty(12)):
        theta = least_squares(probes, measured, sigma=sigma).theta
        np.testing.assert_array_equal(solution(probes, measured, sigma=sigma, unit=unit), theta)
        with remembering():
            least_squares(probes, few, sigma=sigma)
            np.testing.assert_array_equal(least_squares(probes, measured, sigma=sigma, unit=unit).theta, theta)
    with remembering():  # the same counts, other outcomes
        first, second = (least_squares(probes, each, sigma=sigma) for each in (few, other))
        assert first.whitener is second.whitener
        np.testing.assert_allclose(second.theta, 2.0 * first.theta)


def test_largest_variance_is_the_largest_over_the_directions() -> None:
    probes, sigma, index, outcomes = data(8)
    estimate = least_squares(probes, Measurements.from_outcomes(12, index, outcomes), sigma=sigma)
    items = np.random.default_rng(9).standard_normal((30, 4))
    differences = (items[:, None] - items[None]).reshape(-1, 4)
    assert estimate.largest_variance(pairs(items)) == pytest.approx(estimate.variance(differences).max())
    star_rows = items[4] - np.delete(items, 4, axis=0)
    assert estimate.largest_variance(star(items, 4)) == pytest.approx(estimate.variance(star_rows).max())
    regularised = ridge(probes, Measurements.from_outcomes(12, index, outcomes))
    assert regularised.largest_norm2(pairs(items)) == pytest.approx(regularised.norm2(differences).max())


@settings(deadline=None, max_examples=50)
@given(seed=seeds, penalty=st.sampled_from([1e-4, 1.0, 1e4]), n_measured=st.sampled_from([0, 2, 60]))
def test_ridge_agrees_with_its_formula(seed: int, penalty: float, n_measured: int) -> None:
    probes, sigma, index, outcomes = data(seed)
    index, outcomes = index[:n_measured], outcomes[:n_measured]
    estimate = ridge(probes, Measurements.from_outcomes(12, index, outcomes), penalty=penalty, sigma=sigma)
    rows, scaled = probes[index] / sigma[index, None], outcomes / sigma[index]
    V = rows.T @ rows + penalty * np.eye(4)
    y = np.random.default_rng(seed).standard_normal((3, 4))
    np.testing.assert_allclose(estimate.theta, np.linalg.solve(V, rows.T @ scaled), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(estimate.mean(y), y @ estimate.theta)
    np.testing.assert_allclose(estimate.norm2(y), np.einsum("ki,ki->k", y, np.linalg.solve(V, y.T).T), rtol=1e-7)
    ratio = np.linalg.slogdet(V)[1] - 4 * math.log(penalty)
    assert estimate.logdet_ratio == pytest.approx(ratio, rel=1e-8, abs=1e-10)


def test_ridge_determinant_neither_overflows_nor_vanishes() -> None:
    d = 200
    measurements = Measurements(np.full(d, 10**6), np.zeros(d), np.zeros(d))
    assert ridge(np.eye(d), measurements).logdet_ratio == pytest.approx(d * math.log1p(1e6), rel=1e-12)
    tiny = ridge(np.eye(2), Measurements(np.array([1, 1]), np.zeros(2), np.zeros(2)), penalty=1e9)
    assert tiny.logdet_ratio == pytest.approx(2e-9, rel=1e-5)


def test_rank_one_stays_with_direct_factorisation_after_many_updates() -> None:
    rng = np.random.default_rng(4)
    d, steps = 5, 100_000
    probes = rng.standard_normal((8, d)) * np.array([1.0, 1e-2, 1.0, 10.0, 1e-3])
    index = rng.choice(8, steps, p=[0.9, *7 * [0.1 / 7]])
    outcomes = probes[index] @ rng.standard_normal(d) + rng.standard_normal(steps)
    state = RankOne.start(1e-3 * np.eye(d))
    for i, r in zip(index, outcomes.tolist(), strict=True):
        state = state.updated(probes[i], r)
    direct = ridge(probes, Measurements.from_outcomes(8, index, outcomes), penalty=1e-3)
    y = rng.standard_normal((6, d))
    np.testing.assert_allclose(state.theta, direct.theta, rtol=1e-10)
    np.testing.assert_allclose(state.mean(y), direct.mean(y), rtol=1e-10)
    np.testing.assert_allclose(state.norm2(y), direct.norm2(y), rtol=1e-11)
    assert state.logdet - d * math.log(1e-3) == pytest.approx(direct.logdet_ratio, rel=1e-12)
    np.testing.assert_array_equal(state.inverse, state.inverse.T)


@pytest.mark.parametrize(("refresh", "exact"), [(REFRESH, True), (10**9, False)])
def test_refreshing_repairs_a_start_from_almost_nothing(
    refresh: int, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("probewise.estimate.REFRESH", refresh)
    probes, _, index, outcomes = data(13, k=REFRESH + 100)
    state = RankOne.start(1e-12 * np.eye(4))
    for i, r in zip(index, outcomes.tolist(), strict=True):
        state = state.updated(probes[i], r)
    direct = ridge(probes, Measurements.from_outcomes(12, index, outcomes), penalty=1e-12)
    assert np.allclose(state.theta, direct.theta, rtol=1e-10) == exact
    assert np.allclose(state.norm2(np.eye(4)), direct.norm2(np.eye(4)), rtol=1e-10, atol=0) == exact


def test_rank_one_is_refreshed_and_stays_exact_in_between() -> None:
    rng = np.random.default_rng(6)
    moment = np.array([1.0, 0.0, -1.0])
    start = state = RankOne.start(np.eye(3), moment)
    for step in range(1, REFRESH + 2):
        x, outcome = rng.standard_normal(3), rng.standard_normal()
        state, moment = state.updated(x, outcome), moment + outcome * x
        assert state.age == step % REFRESH
        if step in (1, REFRESH - 1, REFRESH, REFRESH + 1):
            np.testing.assert_allclose(state.inverse @ state.information, np.eye(3), atol=1e-12)
            np.testing.assert_allclose(state.theta, state.inverse @ moment, rtol=1e-10)
            assert state.logdet == pytest.approx(np.linalg.slogdet(state.information)[1], rel=1e-12)
    np.testing.assert_array_equal(start.information, np.eye(3))
    np.testing.assert_array_equal(start.theta, [1.0, 0.0, -1.0])


@settings(deadline=None, max_examples=50)
@given(seed=seeds)
def test_gain_is_the_fall_of_the_variance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    probes, y = rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    state = RankOne.start(rng.uniform(0.1, 2.0) * np.eye(3)).updated(rng.standard_normal(3), 1.0)
    falls = [state.norm2(y) - state.updated(x, 0.0).norm2(y) for x in probes]
    np.testing.assert_allclose(state.gain(probes, y), falls, rtol=1e-8, atol=1e-10)


def test_rank_one_without_penalty_goes_on_from_a_first_round() -> None:
    probes, sigma, index, outcomes = data(7)
    rows, scaled = probes[index] / sigma[index, None], outcomes / sigma[index]
    state = RankOne.start(rows[:20].T @ rows[:20], rows[:20].T @ scaled[:20])
    for x, r in zip(rows[20:], scaled[20:].tolist(), strict=True):
        state = state.updated(x, r)
    whole = least_squares(probes, Measurements.from_outcomes(12, index, outcomes), sigma=sigma)
    np.testing.assert_allclose(state.theta, whole.theta, rtol=1e-9)
    np.testing.assert_allclose(state.norm2(np.eye(4)), whole.variance(np.eye(4)), rtol=1e-9)


def test_what_does_not_fit_is_refused() -> None:
    measurements = Measurements.from_outcomes(2, [0, 1], [1.0, 2.0])
    with pytest.raises(InvalidMeasurements, match=r"a row for each of the 2 probes .* got shape \(3, 3\)"):
        least_squares(np.eye(3), measurements)
    with pytest.raises(InvalidMeasurements, match="NaN or infinity in column 1"):
        ridge(np.array([[1.0, np.nan], [0.0, 1.0]]), measurements)
    with pytest.raises(InvalidMeasurements, match=r"sigma must be positive and finite, got -1\.0 for probe 0"):
        least_squares(np.eye(2), measurements, sigma=-1.0)
    with pytest.raises(InvalidDesign, match="penalty must be positive and finite, got 0"):
        ridge(np.eye(2), measurements, penalty=0)
    with pytest.raises(InvalidDesign, match=r"a table with 2 columns, got shape \(1, 3\)"):
        least_squares(np.eye(2), measurements).variance(np.ones((1, 3)))
    with pytest.raises(NotIdentifiable, match="must be positive definite"):
        RankOne.start(np.ones((2, 2)))
    with pytest.raises(InvalidDesign, match=r"got \(2, 2\) and \(3,\)"):
        RankOne.start(np.eye(2), np.zeros(3))
    with pytest.raises(InvalidMeasurements, match="an outcome must be finite, got nan"):
        RankOne.start(np.eye(2)).updated(np.ones(2), math.nan)


def test_pooled_rounds_weight_each_direction_by_its_precision():
    probes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    rng = np.random.default_rng(3)
    rounds = [Measurements.from_outcomes(3, index, rng.normal(size=len(index))) for index in ([0, 1, 2, 2], [0, 0, 0])]
    fits = [least_squares(probes, data) for data in rounds]
    pool = Pooled().plus(fits[0]).plus(fits[1])
    rows = np.array([[1.0, 0.0], [1.0, -1.0], [0.0, 0.0]])
    sums = pool.sums(rows)
    first, second = fits[0].variance(rows[:2]), fits[1].variance(rows[:1])[0]
    np.testing.assert_allclose(sums.precision, [1 / first[0] + 1 / second, 1 / first[1], 0.0])
    both = fits[0].mean(rows)[0] / first[0] + fits[1].mean(rows)[0] / second
    np.testing.assert_allclose(sums.mean[:2], [both / sums.precision[0], fits[0].mean(rows)[1]])
    assert np.isnan(sums.mean[2])
    np.testing.assert_allclose(pool.sums(rows, since=1).precision, [1 / second, 0.0, 0.0])
    assert pool.pure_error.degrees == 1 + 2
    np.testing.assert_allclose(pool.pure_error.value, rounds[0].scatter.sum() + rounds[1].scatter.sum())


def test_rounds_on_the_same_probes_share_their_coordinates() -> None:
    probes = np.random.default_rng(0).standard_normal((5, 3))
    rounds = [Measurements.from_outcomes(5, [0, 1, 1, 2], outcomes) for outcomes in ([1, 2, 3, 4], [5, 6, 7, 9])]
    with remembering():
        one, other = (least_squares(probes, measurements) for measurements in rounds)
        third = least_squares(probes, Measurements.from_outcomes(5, [0, 1, 3], [1, 2, 3]))
    assert one.measured is other.measured
    assert third.measured is not one.measured
    alone = least_squares(probes, rounds[1])
    np.testing.assert_array_equal(alone.theta, other.theta)
    np.testing.assert_array_equal(alone.whitener, other.whitener)


def test_a_row_is_inside_exactly_if_nothing_of_it_is_lost() -> None:
    rng = np.random.default_rng(0)
    for columns in (4, 5):
        basis = np.zeros((3, 5))
        basis[:, :columns] = rng.standard_normal((3, columns))
        space = coordinates(rng.standard_normal((8, 3)) @ basis)
        rows = rng.standard_normal((40, 3)) @ basis
        rows[::2] += 10.0 ** rng.uniform(-18, 0, 20)[:, None] * rng.standard_normal((20, 5))
        inside = space.is_inside(rows)
        assert 5 < inside.sum() < 40
        np.testing.assert_array_equal(inside, ~space.lost(rows).any(axis=1))


def test_rounds_pooled_at_once_are_those_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    probes, rows = rng.standard_normal((6, 4)), np.vstack([rng.standard_normal((7, 4)), np.zeros((1, 4))])
    rows[5:7] = probes[:2]  # what rounds on one or two probes determine
    pool, single = Pooled(), []
    for size in (1, 2, 4, 6, 0, 5, 2):
        asked = rng.choice(6 if size > 2 else 2, size, replace=False)
        asked = np.concatenate([asked, asked[:1]])
        single.append(least_squares(probes, Measurements.from_outcomes(6, asked, rng.standard_normal(asked.size))))
        pool = pool.plus(single[-1])
    variance = np.array([fit.variance(rows) for fit in single])
    precision = np.where(np.isfinite(variance) & (variance > 0), 1.0 / np.where(variance > 0, variance, 1.0), 0.0)
    total = precision * [fit.mean(rows) for fit in single]
    assert 0 < np.count_nonzero(precision) < precision.size
    for numbers in (1, 50, 10**6):  # all rounds by themselves, one or two at a time, and at once
        monkeypatch.setattr(pooling, "_PRODUCTS", numbers)
        sums, each = pool.sums(rows), list(pool.each(rows))
        np.testing.assert_allclose(sums.precision, precision.sum(axis=0), rtol=1e-13)
        np.testing.assert_allclose(sums.total, total.sum(axis=0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose([one.precision for one in each], precision, rtol=1e-13)
        np.testing.assert_allclose([one.total for one in each], total, rtol=1e-12, atol=1e-13)
    assert pool.pure_error == Pooled(tuple(single)).pure_error
    assert pool.pure_error.degrees == 6


def test_rounds_outside_whose_span_all_rows_lie_say_nothing_and_leave_the_others_as_they_are() -> None:
    rng = np.random.default_rng(1)
    probes, rows = rng.standard_normal((6, 4)), np.vstack([rng.standard_normal((7, 4)), np.zeros((1, 4))])
    asked = [np.arange(size) for size in (1, 6, 2, 3, 0, 5)]
    fits = [least_squares(probes, Measurements.from_outcomes(6, own, rng.standard_normal(own.size))) for own in asked]
    each = list(Pooled(tuple(fits)).each(rows))
    for fit, one in zip(fits, each, strict=True):
        expected = 1.0 / fit.variance(rows[:7])
        assert expected.any() == (fit.rank == 4)
        np.testing.assert_allclose(one.precision, [*expected, 0.0], rtol=1e-13)
        np.testing.assert_allclose(one.total[:7], expected * fit.mean(rows[:7]), rtol=1e-12)
        assert one.total[7] == 0.0
    inside = list(Pooled(tuple(fits)).each(np.vstack([rows, probes[1]])))  # in the span of the round on two probes
    assert [one.precision[-1] > 0 for one in inside] == [False, True, True, True, False, True]


def test_what_no_probe_measures_is_refined_until_steps_no_longer_shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, plain = [], module.image
    monkeypatch.setattr(module, "image", lambda *args, **kw: (steps.append(1), plain(*args, **kw))[1])
    space = coordinates(np.random.default_rng(0).standard_normal((3, 6)))
    assert np.abs(plain(space.rows, space.complement / space.scale[:, None], precise=True).rows).max() < 1e-15
    assert len(steps) <= 5


@given(seed=seeds, rank=st.integers(1, 3), same=st.booleans(), hidden=st.booleans())
@settings(max_examples=60)
def test_rounds_that_tell_nothing_apart_are_noticed(seed: int, rank: int, same: bool, hidden: bool) -> None:
    """A round may be left out only if no difference of two items lies in the span of its probes."""
    rng = np.random.default_rng(seed)
    probes = rng.standard_normal((8, 4)) * 10.0 ** rng.uniform(-3, 3, 4)
    probes[:rank, 3] *= not hidden  # a feature that the round does not have
    items = rng.standard_normal((30, 4)) * np.abs(probes).max(axis=0)
    if same:  # two items that differ by what the round measures
        items[7] = items[3] + rng.standard_normal(rank) @ probes[:rank]
    fit = least_squares(probes, Measurements.from_outcomes(8, np.arange(rank), np.zeros(rank)))
    first, second = np.triu_indices(30, 1)
    sizes = np.abs(items[first]) + np.abs(items[second])
    said = np.isfinite(fit.variance(items[first] - items[second], sizes)).any()
    assert said == same
    assert pooling.tells_apart(fit, items) == same
    np.testing.assert_array_equal(
        Pooled((fit, fit)).sums(items[first] - items[second], sizes).precision > 0,
        np.isfinite(fit.variance(items[first] - items[second], sizes)),
    )


def test_rounds_of_full_rank_or_of_none_are_told_at_once() -> None:
    probes, _, index, outcomes = data(3)
    assert pooling.tells_apart(least_squares(probes, Measurements.from_outcomes(12, index, outcomes)), probes)
    assert not pooling.tells_apart(least_squares(probes, Measurements.empty(12)), probes)
    few = least_squares(probes, Measurements.from_outcomes(12, [0], [1.0]))
    assert pooling.tells_apart(few, np.vstack([probes, probes[:6] + probes[0], probes[:6] - probes[0]]))
    assert pooling.tells_apart(few, np.tile(probes, (30, 1)))  # so many near each other that they are not looked at
