from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import probewise as pw
from probewise.algorithms.alba import ALBA, _Draw
from probewise.run import loop
from probewise.testing.problems import only_differences, unequal_noise


def run(problem: pw.Problem, theta: Any, algorithm: ALBA, goal: pw.BestItem | None = None, seed: int = 0) -> pw.Result:
    environment = pw.LinearEnvironment(problem, theta)
    return loop(
        problem,
        goal or pw.BestItem(),
        algorithm,
        observe=lambda counts, step: environment.draw(counts, np.random.default_rng([seed, step, 1])),
        stream=lambda step: np.random.default_rng([seed, step, 0]),
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"elimination": "z"}, "elimination must be 'y' or 'x', got 'z'"),
        ({"variant": "mine"}, "variant must be 'paper' or 'code', got 'mine'"),
        ({"variant": "code", "elimination": "x"}, "has elimination 'y' only"),
        ({"norm_bound": 0.0}, "norm_bound must be positive and finite, got 0.0"),
        ({"norm_bound": math.inf}, "norm_bound must be positive and finite, got inf"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match=message):
        ALBA(**settings)


def test_it_says_what_it_needs() -> None:
    problem, _ = pw.instances.benchmark(3)
    with pytest.raises(pw.InvalidAlgorithm, match="give norm_bound=L"):
        ALBA().init(problem, pw.BestItem())
    problem, _ = only_differences()
    with pytest.raises(pw.InvalidAlgorithm, match="no combination of probes gives item '0'"):
        ALBA("x", 1.0).init(problem, pw.BestItem())


def test_only_what_is_proved_is_called_proven() -> None:
    assert [ALBA().proven, ALBA("x").proven, ALBA(variant="code").proven] == [True, True, False]


@given(st.floats(1e-3, 1e3), st.floats(1.0, 1e2), st.floats(1e-6, 2.0))
def test_lemma_2_sample_sizes_reach_the_accuracy(bound: float, leverage: float, epsilon: float) -> None:
    draw = _Draw(np.ones(1), np.ones((1, 1)), leverage, np.array([bound]))
    size = max(4 * bound**2, 3) * (2 + (6 + epsilon) * leverage**2) / (epsilon / 2) ** 2
    assert size >= 3 * leverage**2
    assert draw.accuracy(size) <= 0.75 * epsilon / 2


def test_widths_are_those_of_lemma_1() -> None:
    rng = np.random.default_rng(0)
    problem = pw.Problem(rng.standard_normal((9, 3)), sigma=rng.uniform(0.5, 2.0, 9))
    draw = ALBA(norm_bound=2.0).init(problem, pw.BestItem()).draw
    assert draw is not None
    X, means, size = problem.scaled_probes, rng.uniform(0.0, 2.0, 9), 500.0
    inverse = np.linalg.inv(X.T @ (draw.weights[:, None] * X))
    assert draw.leverage == pytest.approx(np.sqrt(max(x @ inverse @ x for x in X[draw.support])))
    assert draw.leverage**2 == pytest.approx(3.0, rel=1e-2)  # Kiefer and Wolfowitz
    for y in rng.standard_normal((5, 3)):
        swings = [abs(y @ inverse @ X[i]) * means[i] for i in draw.support]
        shares = draw.weights[draw.support]
        width = math.sqrt(2 * sum(w * s**2 for w, s in zip(shares, swings, strict=True)) / size)
        width += 2 * (max(swings) + sum(w * s for w, s in zip(shares, swings, strict=True))) / (3 * size)
        width += math.sqrt(y @ inverse @ y * 2 / size * (1 + draw.leverage * math.sqrt(3 / size)))
        assert draw.widths(problem, y[None], means, size)[0] == pytest.approx(width)


def test_estimate_is_that_of_the_known_design() -> None:
    problem, theta = unequal_noise()
    draw = ALBA(norm_bound=1.0).init(problem, pw.BestItem()).draw
    assert draw is not None
    counts = np.rint(1e6 * draw.weights).astype(np.int64)
    means = np.where(counts > 0, problem.probes @ theta, 0.0)
    exact = draw.theta(problem, pw.Measurements(counts, means, np.zeros(4)))
    np.testing.assert_allclose(exact, theta, atol=1e-5)
    twice = counts * np.array([2, 2, 1, 1])  # drawn too often, the probe counts too much: no least squares
    off = draw.theta(problem, pw.Measurements(twice, means, np.zeros(4)))
    assert off[0] == pytest.approx(4 / 3, rel=1e-3)


def test_sample_sizes_are_to_the_unit_those_of_the_authors() -> None:
    """Runs that end in steps 30, 30, 31, 31 and 32 of the last call have the mean and the error that they report."""
    problem, theta = pw.instances.benchmark(5)
    algorithm, goal = ALBA(norm_bound=float(np.linalg.norm(theta)), variant="code"), pw.BestItem()
    first = algorithm.init(problem, goal)
    assert first.draw is not None
    last = replace(first, call=2, entered=2, survivors=np.array([0, 5]))
    sizes = [algorithm._draws(problem, goal, replace(last, step=s), first.draw) for s in range(1, 33)]
    totals = algorithm._draws(problem, goal, first, first.draw) + np.cumsum(sizes)
    runs = totals[[29, 29, 30, 30, 31]]
    assert round(runs.mean()) == 4_175_630
    assert round(runs.std() / math.sqrt(5)) == 273_502


def test_authors_variant_takes_what_they_report() -> None:
    problem, theta = pw.instances.benchmark(5)
    algorithm = ALBA(norm_bound=2.0, variant="code")
    runs = [run(problem, theta, algorithm, seed=seed) for seed in range(12)]
    assert all(result.item == 0 for result in runs)
    mean = np.mean([result.measurements for result in runs])
    assert 2.4e6 < mean < 4.8e6  # theirs: 4.2e6 ± .27e6


def test_probes_come_from_the_span_of_the_survivors() -> None:
    problem, _ = pw.instances.benchmark(5)
    draw = ALBA(norm_bound=2.0)._draw(problem, np.array([0, 5]))
    assert set(draw.support) <= {0, 1, 5}
    assert draw.leverage**2 == pytest.approx(2.0, rel=1e-2)
    sphere, _ = pw.instances.sphere(30, 4)
    draw = ALBA(norm_bound=1.0)._draw(sphere, np.array([3, 8]))
    np.testing.assert_allclose(draw.weights[[3, 8]], 0.5, atol=1e-2)


def test_all_probes_are_used_if_those_in_the_span_do_not_suffice() -> None:
    problem = pw.Problem([[1.0, 0.1, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1.0]], np.eye(3)[:2] + np.eye(3)[2])
    draw = ALBA(norm_bound=1.0)._draw(problem, np.array([0, 1]))
    assert set(draw.support) == {0, 1, 2}


def test_calls_halve_the_items() -> None:
    problem, theta = pw.instances.sphere(40, 8, seed=3)
    algorithm, goal = ALBA("x", 1.0), pw.BestItem()
    result = run(problem, theta, algorithm)
    state, seen = algorithm.init(problem, goal), []
    for step in result.history:
        seen.append((state.call, state.survivors.size))
        assert state.survivors.size > max(1, 8 >> state.call)
        state = algorithm.tell(problem, goal, state, step.measurements)
    assert seen == sorted(seen, key=lambda entry: (entry[0], -entry[1]))
    assert result.item == int(np.argmax(problem.items @ theta))


@pytest.mark.parametrize("elimination", ["y", "x"])
def test_units_of_features_do_not_matter(elimination: Any) -> None:
    problem, theta = pw.instances.benchmark(3, 0.3)
    scale = np.array([2.0**20, 1.0, 2.0**-20])
    first = run(problem, theta, ALBA(elimination, 2.0))
    second = run(pw.Problem(problem.probes * scale), theta / scale, ALBA(elimination, 2.0))
    assert first.measurements == second.measurements
    assert first.item == second.item == 0


@pytest.mark.parametrize("elimination", ["y", "x"])
def test_errors_are_rare_where_items_nearly_tie(elimination: Any) -> None:
    problem = pw.Problem(np.eye(3), [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.5, 0.5, 0.9]])
    theta = np.array([0.5, 0.49, 0.5])
    wrong = sum(run(problem, theta, ALBA(elimination, 0.5), pw.BestItem(0.3), seed).item != 0 for seed in range(30))
    assert wrong <= 9


@pytest.mark.parametrize("elimination", ["y", "x"])
def test_tolerance_saves_measurements(elimination: Any) -> None:
    problem, theta = pw.instances.benchmark(4)
    exact = run(problem, theta, ALBA(elimination, 2.0))
    near = run(problem, theta, ALBA(elimination, 2.0), pw.BestItem(epsilon=0.05))
    assert exact.item == 0
    assert near.item in (0, 4)
    assert near.measurements < 0.1 * exact.measurements


@pytest.mark.parametrize("elimination", ["y", "x"])
def test_lost_measurements_widen_what_is_believed(elimination: Any) -> None:
    problem, theta = pw.instances.benchmark(3, 1.0)
    algorithm, goal = ALBA(elimination, 2.0), pw.BestItem()
    state = algorithm.init(problem, goal)
    counts = algorithm.ask(problem, goal, state, np.random.default_rng(0))
    slacks = []
    for left in (counts, counts // 10, 0 * counts):
        means = np.where(left > 0, problem.probes @ theta / 10, 0.0)
        slacks.append(algorithm.tell(problem, goal, state, pw.Measurements(left, means, np.zeros(4))).slack)
    assert slacks[0] < slacks[1] < slacks[2] == math.inf


def test_rage_takes_far_fewer_on_the_sphere() -> None:
    problem, theta = pw.instances.sphere(50, 5)
    alba = run(problem, theta, ALBA(norm_bound=1.0, variant="code"))
    rage = run(problem, theta, pw.Rage())  # type: ignore[arg-type]
    assert alba.item == rage.item
    assert alba.measurements > 50 * rage.measurements
