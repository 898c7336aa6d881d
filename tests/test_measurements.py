from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probewise.errors import InvalidMeasurements
from probewise.measurements import Measurements, SumOfSquares

outcomes_of_probes = st.lists(
    st.tuples(st.integers(0, 3), st.floats(-1e3, 1e3, allow_subnormal=False)), min_size=0, max_size=40
)


def measured(pairs: list[tuple[int, float]]) -> Measurements:
    return Measurements.from_outcomes(4, [i for i, _ in pairs], [r for _, r in pairs])


def assert_same(a: Measurements, b: Measurements, scale: float) -> None:
    np.testing.assert_array_equal(a.count, b.count)
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-12, atol=1e-12 * scale**2)


@settings(deadline=None, max_examples=100)
@given(pairs=outcomes_of_probes)
def test_statistics_are_those_of_the_outcomes(pairs: list[tuple[int, float]]) -> None:
    m = measured(pairs)
    assert m.n == len(pairs)
    for probe in range(4):
        own = [r for i, r in pairs if i == probe]
        assert m.count[probe] == len(own)
        mean = math.fsum(own) / len(own) if own else 0.0
        assert m.mean[probe] == pytest.approx(mean, rel=1e-12, abs=1e-10)
        assert m.total[probe] == pytest.approx(math.fsum(own), rel=1e-12, abs=1e-9)
        assert m.scatter[probe] == pytest.approx(math.fsum((r - mean) ** 2 for r in own), rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=100)
@given(first=outcomes_of_probes, second=outcomes_of_probes)
def test_two_rounds_merge_to_all_at_once(first: list[tuple[int, float]], second: list[tuple[int, float]]) -> None:
    merged = measured(first) + measured(second)
    assert_same(merged, measured(first + second), 1e4)
    assert_same(merged, measured(second) + measured(first), 1e4)


def test_empty_is_neutral() -> None:
    m = Measurements.from_outcomes(3, [0, 2, 2], [1.5, 2.0, 4.0])
    for merged in (m + Measurements.empty(3), Measurements.empty(3) + m):
        np.testing.assert_array_equal(merged.count, m.count)
        np.testing.assert_array_equal(merged.mean, m.mean)
        np.testing.assert_array_equal(merged.scatter, m.scatter)
    assert Measurements.empty(3).n == 0
    assert Measurements.from_outcomes(3, [], []).n == 0


def test_small_noise_on_large_outcomes_does_not_cancel() -> None:
    rng = np.random.default_rng(0)
    noise = np.round(1e-3 * rng.standard_normal(4000), 6)
    index = np.arange(4000) % 2
    outcomes = 1e6 + noise
    exact = sum(np.sum((noise[index == i] - noise[index == i].mean()) ** 2) for i in range(2))
    naive = sum(np.sum(outcomes[index == i] ** 2) - outcomes[index == i].sum() ** 2 / 2000 for i in range(2))
    assert abs(naive / exact - 1) > 0.1  # sums of squares lose every digit
    whole = Measurements.from_outcomes(2, index, outcomes)
    halves = Measurements.from_outcomes(2, index[:700], outcomes[:700])
    halves += Measurements.from_outcomes(2, index[700:], outcomes[700:])
    one_by_one = Measurements.empty(2)
    for i, r in zip(index, outcomes, strict=True):
        one_by_one += Measurements.from_outcomes(2, [i], [r])
    for m in (whole, halves, one_by_one):
        assert m.pure_error().value == pytest.approx(exact, rel=1e-6)
        assert m.pure_error().degrees == 3998


def test_the_mean_of_many_equal_outcomes_is_their_value() -> None:
    m = Measurements.from_outcomes(1, np.zeros(100_000, dtype=int), np.full(100_000, 1e6 + 0.1))
    assert m.mean[0] == pytest.approx(1e6 + 0.1, rel=1e-15)
    assert m.pure_error().value < 1e-14  # a running sum alone leaves the mean off by 1e-6, a scatter of 1e-7


def test_pure_error_ignores_the_means_and_counts_in_units_of_sigma() -> None:
    m = Measurements.from_outcomes(4, [0, 0, 1, 2, 2, 2], [1.0, 3.0, 50.0, -1.0, 0.0, 1.0])
    value, degrees = m.pure_error()
    assert (value, degrees) == (4.0, 3)
    assert m.pure_error().mean_square == pytest.approx(4 / 3)
    assert m.pure_error(sigma=[2.0, 1.0, 0.5, 1.0]) == SumOfSquares(2 / 4 + 2 / 0.25, 3)
    assert math.isnan(Measurements.from_outcomes(2, [0, 1], [1.0, 2.0]).pure_error().mean_square)


def test_cost_is_that_of_each_probe_times_its_count() -> None:
    m = Measurements.from_outcomes(3, [0, 2, 2], [0.0, 0.0, 0.0])
    assert m.cost() == 3.0
    assert m.cost(0.5) == 1.5
    assert m.cost([1.0, 10.0, 100.0]) == 201.0


def test_arrays_cannot_be_written_and_are_not_shared() -> None:
    mean = np.array([1.0])
    m = Measurements(np.array([1]), mean, np.array([0.0]))
    mean[0] = 7.0
    assert m.mean[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        m.mean[0] = 2.0


@pytest.mark.parametrize(
    ("indices", "outcomes", "sentence"),
    [
        ([0, 1], [1.0], "got 2 indices and 1 outcomes"),
        ([0, 1], [1.0, np.nan], "outcomes must be finite, got nan at position 1"),
        ([0, 1], [-np.inf, 1.0], "outcomes must be finite, got -inf at position 0"),
        ([0, 1], [1.0, None], "outcomes must be finite, got nan at position 1"),
        ([0, 1], [1.0, "low"], "outcomes must be a list of numbers, but could not convert"),
        ([0, 3], [1.0, 1.0], "between 0 and 2, got 3 at position 1"),
        ([-1, 0], [1.0, 1.0], "between 0 and 2, got -1 at position 0"),
        ([0.0, 1.0], [1.0, 1.0], "indices must be a list of whole numbers, got .* float64"),
        ([[0]], [1.0], r"indices must be a list of whole numbers, got shape \(1, 1\)"),
        ([0], [[1.0]], r"outcomes must be a list of numbers, got shape \(1, 1\)"),
    ],
)
def test_bad_outcomes_are_refused(indices: list[float], outcomes: list[float], sentence: str) -> None:
    with pytest.raises(InvalidMeasurements, match=sentence):
        Measurements.from_outcomes(3, indices, outcomes)


@pytest.mark.parametrize(
    ("count", "mean", "scatter", "sentence"),
    [
        ([1, -2], [0.0, 0.0], [0.0, 0.0], "count must be at least 0, got -2 for probe 1"),
        ([1, 2], [0.0], [0.0, 0.0], "got lengths 2, 1 and 2"),
        ([], [], [], "got lengths 0, 0 and 0"),
        ([2, 2], [0.0, 0.0], [0.0, -1.0], "probe 1 has mean 0.0 and scatter -1.0"),
        ([2, 1], [0.0, 0.0], [0.0, 3.0], "probe 1 .* which 1 measurements cannot have"),
        ([0, 1], [4.0, 0.0], [0.0, 0.0], "probe 0 has mean 4.0 .* which 0 measurements cannot have"),
        ([0, 1], [0.0, np.inf], [0.0, 0.0], "mean must be finite, got inf at position 1"),
    ],
)
def test_impossible_statistics_are_refused(
    count: list[int], mean: list[float], scatter: list[float], sentence: str
) -> None:
    with pytest.raises(InvalidMeasurements, match=sentence):
        Measurements(np.array(count), np.array(mean), np.array(scatter))


def test_what_does_not_fit_the_probes_is_refused() -> None:
    m = Measurements.from_outcomes(3, [0], [1.0])
    with pytest.raises(InvalidMeasurements, match="got 3 and 2 probes"):
        m + Measurements.empty(2)
    with pytest.raises(InvalidMeasurements, match=r"cost must be one number or one per probe, .* got \(2,\)"):
        m.cost([1.0, 2.0])
    with pytest.raises(InvalidMeasurements, match=r"sigma must be positive and finite, got 0\.0 for probe 1"):
        m.pure_error(sigma=[1.0, 0.0, 1.0])


def test_a_sum_that_is_no_number_is_refused_and_a_large_one_is_not() -> None:
    one, other = (Measurements.from_outcomes(2, [0, 1], [v, v]) for v in (1.5e308, -1.5e308))
    np.testing.assert_array_equal((one + one).mean, one.mean)  # whose sum is more than a float holds
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(InvalidMeasurements, match="must be finite"):
        one + other
