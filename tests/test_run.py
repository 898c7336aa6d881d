from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import probewise as pw

PROBLEM = pw.Problem(np.eye(2))


def identify(outcomes: Any = lambda indices: np.zeros(indices.size), goal: Any = None, **options: Any) -> pw.Result:
    return pw.identify(PROBLEM, goal, measure=outcomes, seed=0, budget=100, **options)


@pytest.mark.parametrize("algorithm", ["rage", pw.Rage])
def test_an_algorithm_is_an_object(algorithm: Any) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match=r"an object such as Rage\(\), got .*[Rr]age"):
        identify(algorithm=algorithm)
    with pytest.raises(pw.InvalidAlgorithm, match=r"an object such as Rage\(\), got .*[Rr]age"):
        pw.simulate(PROBLEM, [1.0, 0.0], algorithm, runs=1)


def test_a_goal_is_an_object() -> None:
    with pytest.raises(pw.InvalidGoal, match=r"such as BestItem\(delta=0.05\), got 0.1"):
        identify(goal=0.1)


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        (lambda indices: ["much"] * indices.size, "must return numbers, one per index .*'much'"),
        (lambda indices: None, r"one outcome per index, asked for 9, got shape \(\)"),
        (lambda indices: np.zeros((indices.size, 1)), r"got shape \(9, 1\)"),
        (lambda indices: np.full(indices.size, np.nan), "outcomes must be finite, got nan at position 0"),
    ],
)
def test_outcomes_that_are_none(outcomes: Any, sentence: str) -> None:
    with pytest.raises(pw.InvalidMeasurements, match=sentence):
        identify(outcomes)


def test_what_a_laboratory_raises_goes_through() -> None:
    def broken(indices: Any) -> Any:
        raise ValueError("out of acid")

    with pytest.raises(ValueError, match="out of acid"):
        identify(broken)


def test_items_that_never_differ_end_with_the_budget() -> None:
    result = identify()
    assert result.status == "budget exhausted"
    assert result.item in (0, 1)  # a guess, without any confidence
    assert (result.confidence, result.measurements) == (0.0, 100)
    assert f"best guess '{result.item}', no confidence yet" in repr(result)


@pytest.mark.parametrize("algorithm", [pw.Sage(growth=2.0), pw.Rage("tight"), pw.XYStatic(growth=2.0)])
def test_an_exact_tie_ends_without_an_answer(algorithm: Any) -> None:
    table = pw.simulate(PROBLEM, [1.0, 1.0], algorithm, pw.BestItem(1e-6), runs=2)
    assert table.mean("measurements") >= 2**45


def test_outcomes_may_bring_weights_that_count_as_so_many_measurements() -> None:
    """A mean of four with noise σ/2, told with weight 4, is as good as four outcomes; without weights, as one."""
    problem, noise, needed = pw.Problem(np.eye(3)), np.random.default_rng(4), {}
    theta = np.array([1.0, 0.0, 0.2])
    for weight in (1.0, 4.0):

        def measure(indices: Any, weight: float = weight) -> Any:
            outcomes = theta[indices] + noise.standard_normal(indices.size) / np.sqrt(weight)
            return outcomes, np.full(indices.size, weight)

        found = [pw.identify(problem, measure=measure, seed=0) for _ in range(12)]
        assert all(result.item == 0 for result in found[:3])
        needed[weight] = np.median([result.measurements for result in found])
        assert found[0].history[0].measurements.weights.sum() == weight * found[0].history[0].counts.sum()
    assert needed[4.0] < 0.6 * needed[1.0]


def test_weights_of_one_change_nothing() -> None:
    outcomes = np.random.default_rng(0).standard_normal(10_000)
    alone = identify(lambda indices: outcomes[: indices.size] + (indices == 0), algorithm=pw.Sage())
    weighed = identify(
        lambda indices: (outcomes[: indices.size] + (indices == 0), np.ones(indices.size)), algorithm=pw.Sage()
    )
    assert (alone.items, alone.measurements) == (weighed.items, weighed.measurements)
    np.testing.assert_allclose(alone.estimate, weighed.estimate)


def test_counts_may_bring_exposures() -> None:
    problem, rng = pw.Problem(np.eye(2), outcome=pw.Poisson()), np.random.default_rng(1)
    rates, hours = np.array([2.0, 5.0]), 3.0

    def measure(indices: Any) -> Any:
        return rng.poisson(hours * rates[indices]), np.full(indices.size, hours)

    found = pw.identify(problem, measure=measure, seed=0)
    assert found.item == 1
    np.testing.assert_allclose(found.estimate, rates, atol=1.5)


@pytest.mark.parametrize(
    ("problem", "weights", "algorithm", "sentence"),
    [
        (PROBLEM, lambda k: np.zeros(k), None, "weights must be positive and finite, but measure returned 0 for probe"),
        (PROBLEM, lambda k: np.full(k, np.inf), None, "weights must be positive and finite, but measure returned inf"),
        (PROBLEM, lambda k: np.ones(k + 1), None, "one weight per index, asked for"),
        (PROBLEM, lambda k: ["much"] * k, None, "must return numbers, one per index .*'much'"),
        (PROBLEM, lambda k: np.ones(k), pw.Rage(), "rage relies on the noise that is stated, .* choose Sage"),
        (
            pw.Problem(np.eye(2), outcome=pw.Bounded()),
            lambda k: np.ones(k),
            None,
            "of a known scale, or counts; .*'bounded'",
        ),
        (pw.Problem(np.eye(2), sigma="unknown"), lambda k: np.ones(k), None, "'gaussian' of unknown scale, so measure"),
    ],
)
def test_weights_that_are_none(problem: Any, weights: Any, algorithm: Any, sentence: str) -> None:
    with pytest.raises(pw.InvalidMeasurements, match=sentence):
        pw.identify(
            problem, measure=lambda indices: (np.zeros(indices.size), weights(indices.size)), algorithm=algorithm
        )


def test_sets_take_no_weights() -> None:
    """Their accounts count rows, so that a row of little precision would count for too much."""
    with pytest.raises(pw.InvalidMeasurements, match="sage-sets relies on the noise that is stated"):
        pw.identify(
            pw.Problem(np.eye(4)),
            pw.BestSet(pw.Subsets(4, 2)),
            measure=lambda indices: (np.zeros(indices.size), np.full(indices.size, 0.01)),
            algorithm=pw.SageSets(),
        )


def test_a_pair_of_numbers_is_two_outcomes() -> None:
    found = identify(lambda indices: tuple(float(i) for i in indices), algorithm=pw.Sage(), batch=2)
    assert found.measurements > 0
