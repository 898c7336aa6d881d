from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms.explore_verify import ExploreVerify
from probewise.algorithms.static.g_static import GStatic
from probewise.run import loop

TWO = pw.Problem(np.eye(2))


def run(problem: pw.Problem, theta: Any, algorithm: Any, goal: pw.BestItem | None = None, seed: int = 0) -> pw.Result:
    environment = pw.LinearEnvironment(problem, theta)
    return loop(
        problem,
        goal or pw.BestItem(),
        algorithm,
        observe=lambda counts, step: environment.draw(counts, np.random.default_rng([seed, step, 1])),
        stream=lambda step: np.random.default_rng([seed, step, 0]),
    )


def explored(problem: pw.Problem, theta: Any, candidate: int, goal: pw.BestItem, algorithm: ExploreVerify) -> Any:
    """A state in which ``candidate`` is to be verified and all gaps are known exactly."""
    many = np.full(problem.n_probes, 10**12)
    data = pw.Measurements(many, problem.probes @ np.asarray(theta), np.zeros(problem.n_probes))
    return algorithm._planned(problem, goal, replace(algorithm.init(problem, goal), data=data, candidate=candidate))


def acceptance(problem: pw.Problem, theta: Any, state: Any, goal: pw.BestItem, runs: int) -> float:
    environment = pw.LinearEnvironment(problem, theta)
    rounds = [environment.draw(state.counts, np.random.default_rng(seed)) for seed in range(runs)]
    left = [ExploreVerify()._accepted(problem, goal, state, measurements) for measurements in rounds]
    return float(np.mean([items is not None for items in left]))


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(pw.InvalidAlgorithm, match="explore must be one of g-static, rage, got 'luck'"):
        ExploreVerify("luck")  # type: ignore[arg-type]
    with pytest.raises(pw.InvalidAlgorithm, match=r"kappa must lie strictly between 0 and 1/3, got 0\.5"):
        ExploreVerify(kappa=0.5)


def test_wrong_advice_is_not_believed() -> None:
    goal, algorithm = pw.BestItem(0.3), ExploreVerify()
    state = explored(TWO, [0.0, 1.0], 1, goal, algorithm)  # the exploration was sure that item 1 is the best
    assert 0 < acceptance(TWO, [1e-6, 0.0], state, goal, 500) <= 0.15  # a tie, but for 1e-6
    assert acceptance(TWO, [1.0, 0.0], state, goal, 500) == 0.0


def test_right_advice_is_mostly_accepted() -> None:
    problem, theta = pw.instances.transductive(6, 0.5)
    goal = pw.BestItem(0.05)
    state = explored(problem, theta, 0, goal, ExploreVerify())
    assert acceptance(problem, theta, state, goal, 300) >= 0.9


@pytest.mark.parametrize("delta", [0.05, 1e-9])
def test_verification_takes_what_the_lower_bound_says(delta: float) -> None:
    problem, theta = pw.instances.benchmark(5)
    state = explored(problem, theta, 0, pw.BestItem(delta), ExploreVerify(kappa=0.1))
    psi = pw.hardness(problem, theta).psi
    expected = 2.2 * psi * (math.sqrt(math.log(2 / delta)) + math.sqrt(math.log(5 / 0.1))) ** 2
    assert state.counts.sum() == pytest.approx(expected, rel=0.02)


def test_a_rejected_candidate_means_another_attempt_from_nothing() -> None:
    goal, algorithm = pw.BestItem(), ExploreVerify()
    state = explored(TWO, [0.0, 1.0], 1, goal, algorithm)
    contrary = pw.Measurements(state.counts, np.array([1.0, 0.0]), np.zeros(2))
    again = algorithm.tell(TWO, goal, state, contrary)
    assert (again.attempt, again.data.n, again.counts, again.verified) == (2, 0, None, False)
    assert algorithm.answer(TWO, goal, again) is None
    third = algorithm.tell(TWO, goal, replace(again, candidate=1, counts=state.counts), contrary)
    assert third.attempt == 3


def test_the_level_of_an_attempt_falls() -> None:
    goal, algorithm = pw.BestItem(0.1), ExploreVerify()
    state = explored(TWO, [0.0, 1.0], 1, goal, algorithm)
    error = math.sqrt((1 / state.counts).sum())
    for attempt in (1, 2, 5):
        width = error * math.sqrt(2 * math.log(attempt * (attempt + 1) / 0.1))
        for lead, verified in ((width * 1.001, True), (width * 0.999, False)):
            outcome = pw.Measurements(state.counts, np.array([0.0, lead]), np.zeros(2))
            assert algorithm.tell(TWO, goal, replace(state, attempt=attempt), outcome).verified is verified


@pytest.mark.parametrize(("explore", "explorer"), [("g-static", GStatic()), ("rage", pw.Rage())])
def test_exploration_is_that_of_the_explorer_at_level_kappa(explore: Any, explorer: Any) -> None:
    problem, theta = pw.instances.benchmark(4, 0.4)
    whole = run(problem, theta, ExploreVerify(explore, kappa=0.2), pw.BestItem(1e-6))
    part = run(problem, theta, explorer, pw.BestItem(0.2))
    assert whole.rounds > part.rounds
    for first, second in zip(whole.history[: part.rounds], part.history, strict=True):
        np.testing.assert_array_equal(first.counts, second.counts)
    assert whole.item == part.item == 0


def test_gaps_that_were_not_seen_are_not_presumed() -> None:
    problem, goal = pw.Problem(np.eye(3)), pw.BestItem()
    algorithm = ExploreVerify()
    data = pw.Measurements(np.full(3, 100), np.array([1.0, 1.0, 0.0]), np.zeros(3))  # items 0 and 1 look equal
    state = algorithm._planned(problem, goal, replace(algorithm.init(problem, goal), data=data, candidate=0))
    assert state.counts is not None
    assert 0 < state.counts.sum() < 1e5


@pytest.mark.parametrize("explore", ["g-static", "rage"])
def test_errors_are_rare_where_items_nearly_tie(explore: Any) -> None:
    theta = [0.05, 0.0]
    results = [run(TWO, theta, ExploreVerify(explore, kappa=0.3), pw.BestItem(0.3), seed) for seed in range(30)]
    assert sum(result.item != 0 for result in results) <= 9


def test_a_small_delta_costs_less_than_with_the_static_design_alone() -> None:
    problem, theta = pw.instances.benchmark(6, 0.1)
    goal = pw.BestItem(1e-10)
    both, static = (
        np.mean([run(problem, theta, algorithm, goal, seed).measurements for seed in range(4)])
        for algorithm in (ExploreVerify(), GStatic())
    )
    assert both < 0.75 * static
