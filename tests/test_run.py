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
