"""docs/mini.py, the method on a few screens, against the package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import probewise as pw

PATH = Path(__file__).parents[1] / "docs/mini.py"


@pytest.fixture(scope="module")
def mini() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mini", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def instance(seed: int) -> tuple[pw.Problem, np.ndarray]:
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(6, 3))
    return pw.Problem(rng.normal(size=(8, 3)), items, sigma=0.7), items[0] / np.linalg.norm(items[0])


def test_it_is_short_and_needs_numpy_and_scipy_only() -> None:
    text = PATH.read_text()
    assert len(text.splitlines()) <= 185
    assert "probewise" not in text


def test_its_story_ends_well(mini: ModuleType) -> None:
    found = [mini.demo(seed) for seed in range(5)]
    assert [item for item, _ in found] == 5 * [1]
    assert np.mean([n for _, n in found]) < 200


def test_it_finds_the_best_item(mini: ModuleType) -> None:
    right = 0
    for seed in range(4):
        problem, theta = instance(seed)
        laboratory = np.random.default_rng(1000 + seed)

        def measure(
            counts: np.ndarray, x: np.ndarray = problem.probes @ theta, rng: np.random.Generator = laboratory
        ) -> np.ndarray:
            return np.asarray(x + 0.7 * rng.normal(size=x.size) / np.sqrt(np.maximum(counts, 1)))

        item, _ = mini.find_best(problem.probes, problem.items, 0.7, measure)
        right += item == int(np.argmax(problem.items @ theta))
    assert right == 4


@pytest.mark.parametrize("seed", range(4))
def test_its_designs_are_nearly_optimal(mini: ModuleType, seed: int) -> None:
    problem, _ = instance(seed)
    one, two = np.triu_indices(problem.n_items, 1)
    directions = problem.items[one] - problem.items[two]
    weights = mini.optimal_design(problem.probes, directions)
    assert weights.sum() == pytest.approx(1.0)
    value = mini.variances(problem.probes.T @ (weights[:, None] * problem.probes), directions).max()
    design = pw.optimal_design(problem.probes, pw.pairs(problem.items))
    assert design.lower * (1 - 1e-9) <= value <= 1.05 * design.lower


def test_counts_sum_and_miss_no_probe(mini: ModuleType) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        weights = rng.dirichlet(np.full(7, 0.3)) * (rng.random(7) < 0.8)
        weights /= weights.sum()
        counts = mini.rounded(weights, 20)
        assert counts.sum() == 20
        assert ((counts > 0) == (weights > 0)).all()
        assert np.abs(counts - 20 * weights).max() < 4


@pytest.mark.parametrize("seed", range(6))
def test_its_accounts_are_those_of_sage(mini: ModuleType, seed: int) -> None:
    """The same rounds, planned by Sage: the same items left, in the same order, with the same log wealth."""
    problem, theta = instance(seed)
    goal, sage, rng = pw.BestItem(delta=0.05), pw.Sage(patient=False), np.random.default_rng(seed)
    state = sage.init(problem, goal)
    planned = np.linalg.inv(state.prior.whitener @ state.prior.whitener.T)
    accounts, settled = mini.Accounts(problem.items, planned, 0.05), 0
    while state.winner is None:
        counts = sage.ask(problem, goal, state, rng)
        probes = np.repeat(np.arange(problem.n_probes), counts)
        outcomes = problem.probes[probes] @ theta + 0.7 * rng.normal(size=probes.size)
        measurements = pw.Measurements.from_outcomes(problem.n_probes, probes, outcomes)
        state = sage.tell(problem, goal, state, measurements)
        accounts.tell(*mini.fit(problem.probes, counts, measurements.mean, 0.7))
        assert accounts.alive.tolist() == state.alive.tolist()
        np.testing.assert_allclose(accounts.wealth[accounts.alive], state.wealth, rtol=1e-9, atol=1e-9)
        settled += 1
    assert settled > 1
    assert state.wealth.size == 1
    assert accounts.wealth.max() >= accounts.enough


def test_an_undetermined_comparison_is_said(mini: ModuleType) -> None:
    items = np.eye(2)
    accounts = mini.Accounts(items, np.eye(2))
    accounts.tell(np.diag([1.0, 0.0]), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="leave a comparison undetermined"):
        mini.next_design(np.eye(2), items, accounts)


def test_mini_runs_as_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    import runpy

    before = set(sys.modules)
    runpy.run_path(str(PATH), run_name="__main__")
    assert capsys.readouterr().out.startswith("Program 2 is the best, after ")
    assert "mini" not in set(sys.modules) - before
