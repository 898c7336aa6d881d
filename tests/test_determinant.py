"""Designs for the probes themselves, by the largest determinant; the certificate judges, here too."""

from __future__ import annotations

import numpy as np
import pytest

import probewise as pw
from probewise.coordinates import Array
from probewise.design import largest_variance, optimal_design, points
from probewise.design.solvers import determinant


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seen: list[int] = []
    plain = determinant.solve

    def counted(probes: Array, *, tol: float, first: int, start: Array | None = None) -> determinant.Determinant:
        seen.append(probes.shape[0])
        return plain(probes, tol=tol, first=first, start=start)

    monkeypatch.setattr(determinant, "solve", counted)
    return seen


def gauss(n: int, d: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((n, d))


def levels(n: int) -> Array:
    """Two columns for each factor of two levels: dependent features, and many equal rows."""
    first = (np.random.default_rng(0).random((n, 4)) < 0.5).astype(np.float64)
    return np.hstack([first, 1.0 - first])


CASES = {
    "gauss": gauss(60, 4),
    "many": gauss(3000, 4),
    "wide": gauss(150, 40),
    "on a sphere": gauss(900, 6) / np.linalg.norm(gauss(900, 6), axis=1, keepdims=True),
    "units": gauss(60, 4) * [1e-9, 1.0, 1e7, 1e3],
    "rows of all sizes": gauss(60, 4) * 10.0 ** np.linspace(-8, 8, 60)[:, None],
    "nearly collinear": gauss(60, 4) @ np.array([[1, 1, 0, 0], [0, 1e-9, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
    "twice": np.tile(gauss(40, 4), (2, 1)),
    "equal": np.repeat(np.eye(3), 50, axis=0),
    "dependent": levels(200),
    "one": np.ones((1, 1)),
}


@pytest.mark.parametrize("tol", [1e-2, 1e-6])
@pytest.mark.parametrize("name", CASES)
def test_value_is_the_rank(name: str, tol: float, calls: list[int]) -> None:
    X = CASES[name]
    design = optimal_design(X, points(X), tol=tol)
    rank = np.linalg.matrix_rank(X / np.abs(X).max(axis=0), tol=1e-12)
    assert calls
    assert design.converged
    assert design.lower <= rank * (1 + 1e-9)
    assert rank * (1 - 1e-9) <= design.value <= rank * (1 + tol)


def test_in_any_order_and_with_shorter_directions_beside(calls: list[int]) -> None:
    X = gauss(80, 5)
    more = np.vstack([np.random.default_rng(1).permutation(X), 0.5 * X[:7]])
    design = optimal_design(X, points(more), tol=1e-5)
    assert len(calls) == 1
    assert design.converged
    assert design.value == pytest.approx(5.0, rel=1e-5)


def test_longer_directions_beside_are_noticed(calls: list[int]) -> None:
    X = gauss(80, 5)
    more = np.vstack([X, 4.0 * gauss(3, 5, seed=1)])
    design = optimal_design(X, points(more), tol=1e-5)
    assert calls
    assert design.converged
    assert design.value > 6.0


def test_other_directions_and_unequal_costs_have_no_determinant(calls: list[int]) -> None:
    X = gauss(30, 3)
    cost = np.linspace(1.0, 2.0, 30)
    for design in (
        optimal_design(X, points(X[:20])),
        optimal_design(X, points(X), cost=cost),
        optimal_design(X, pw.pairs(X)),
        optimal_design(X, points(X), solver="frank-wolfe"),
    ):
        assert design.lower > 0
    assert calls == []


def test_equal_costs_scale_the_value() -> None:
    X = gauss(30, 3)
    design = optimal_design(X, points(X), cost=2.5, tol=1e-6)
    assert design.converged
    assert design.value == pytest.approx(7.5, rel=1e-6)


def test_same_value_as_the_general_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    X = gauss(200, 6)

    def fails(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError

    mine = optimal_design(X, points(X), tol=1e-7)
    monkeypatch.setattr(determinant, "solve", fails)
    other = optimal_design(X, points(X), tol=1e-7)
    assert other.converged
    assert mine.value == pytest.approx(other.value, rel=2e-7)
    assert not np.array_equal(mine.weights, other.weights)


def test_working_sets_grow_to_what_all_probes_need() -> None:
    X = gauss(3000, 4)
    found = determinant.solve(X, tol=1e-6, first=30)
    assert found.rounds > 1
    assert largest_variance(X, found.weights, points(X)) <= 4.0 * (1 + 1e-6)
    assert largest_variance(X, found.lean, points(X)) <= 4.0 * (1 + 1e-6)
    assert np.count_nonzero(found.lean) <= np.count_nonzero(found.weights) < 100


def test_begins_with_the_probes_of_a_similar_design(monkeypatch: pytest.MonkeyPatch) -> None:
    X, sizes, plain = gauss(3000, 4), [], determinant._small
    design = optimal_design(X, points(X), tol=1e-4)
    monkeypatch.setattr(determinant, "_small", lambda X, *rest: (sizes.append(len(X)), plain(X, *rest))[1])
    again = optimal_design(X, points(X), tol=1e-4, start=design.weights)
    assert again.converged
    assert sizes[0] <= design.support.size + 4
