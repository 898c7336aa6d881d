from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise as pw
from probewise.algorithms.lingape import LinGapE
from probewise.confidence import LogLog, SelfNormalised, TrackAndStop
from probewise.goals import BestItem
from probewise.problem import Problem
from probewise.run import loop
from probewise.simulation import compiled

pytest.importorskip("numba")

AUTHORS = (959_360, 54_568)
"""Mean measurements and standard error of the RAGE authors' LinGapE (ratio) on benchmark(5), 2 runs."""

SETTINGS = [
    LinGapE("ratio", norm_bound=2.0),
    LinGapE("greedy", norm_bound=2.0),
    LinGapE("ratio", norm_bound=2.0, penalty=0.1, initial="none", threshold=SelfNormalised()),
    LinGapE("greedy", norm_bound=2.0, initial="none"),
    LinGapE("ratio"),
    LinGapE("greedy"),
    LinGapE("ratio", initial="spanner"),
    LinGapE("greedy", initial="spanner", threshold=TrackAndStop(u=0.3, c=0.5)),
]


def uneven(seed: int) -> tuple[Problem, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, m, d = rng.integers(3, 12), rng.integers(2, 12), rng.integers(1, 4)
    sigma, cost = rng.uniform(0.5, 2.0, n), rng.uniform(0.2, 5.0, n)
    return Problem(rng.normal(size=(n, d)), rng.normal(size=(m, d)), sigma=sigma, cost=cost), rng.normal(size=d)


def check_same(problem, theta, algorithm, *, noise="gaussian", seed=0, budget=None, goal=None):
    """Both paths end the same way; equal estimates mean equal counts and equal outcomes."""
    environment, goal = pw.LinearEnvironment(problem, theta, noise), goal or BestItem(0.1)
    fast = compiled.run(environment, goal, algorithm, np.random.default_rng(seed), budget=budget)
    observe, stream = compiled.in_order(environment, np.random.default_rng(seed)), np.random.default_rng
    slow = loop(problem, goal, algorithm, observe=observe, stream=stream, budget=budget, keep=False)
    for name in ("item", "item_name", "measurements", "rounds", "status", "history"):
        assert getattr(fast, name) == getattr(slow, name), name
    assert fast.cost == pytest.approx(slow.cost, rel=1e-12)
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("algorithm", SETTINGS, ids=str)
def test_same_decisions_on_instances_of_the_paper(algorithm):
    check_same(*pw.instances.benchmark(4, 0.5), algorithm, seed=1)
    check_same(*pw.instances.transductive(4, 0.9), algorithm, seed=2)
    check_same(*pw.instances.sphere(25, 3, seed=1), algorithm, seed=3, budget=700)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(SETTINGS), st.sampled_from(pw.simulation.NOISES), st.booleans())
def test_same_decisions_with_uneven_noise_and_costs(seed, algorithm, noise, minimise):
    problem, theta = uneven(seed)
    if noise == "bernoulli":
        problem = Problem(problem.probes, problem.items, sigma=problem.sigma + 0.5, cost=problem.cost)
    goal = BestItem(0.1, epsilon=0.01, minimise=minimise)
    check_same(problem, theta, algorithm, noise=noise, seed=seed, budget=200, goal=goal)


@pytest.mark.parametrize("algorithm", [SETTINGS[0], SETTINGS[4]], ids=str)
def test_same_decisions_where_most_items_are_not_followed(algorithm, monkeypatch):
    from probewise.simulation import kernel

    followed = []

    def recorded(setting, work, numbers):
        ended = advance(setting, work, numbers)
        followed.append(int(work.whole[kernel.CANDIDATES]))
        return ended

    advance = kernel.advance
    monkeypatch.setattr(kernel, "advance", recorded)
    problem, theta = pw.instances.many_arms(200, 1)
    check_same(Problem(problem.probes, sigma=0.05), theta, algorithm, seed=1, budget=1500)
    assert 0 < min(followed) < 50


def test_same_decisions_across_refreshes(monkeypatch):
    monkeypatch.setattr(compiled, "_BLOCK", 7)
    for algorithm in SETTINGS:
        check_same(*pw.instances.benchmark(3, 0.4), algorithm, seed=4, budget=300)


def test_same_decisions_when_slots_of_the_table_collide(monkeypatch):
    monkeypatch.setattr(compiled, "_SLOTS", 1)
    check_same(*pw.instances.sphere(12, 3, seed=2), SETTINGS[0], seed=5, budget=400)


def test_ends_at_a_budget_in_any_place():
    problem, theta = pw.instances.benchmark(5)
    for budget in (0, 5, 6, 7, 50):
        check_same(problem, theta, LinGapE(norm_bound=2.0), budget=budget)


def test_no_measurement_where_none_is_needed():
    check_same(Problem(np.eye(2), [[1.0, 1.0]]), np.ones(2), LinGapE())
    check_same(*pw.instances.benchmark(3), LinGapE(initial="none", norm_bound=1e-3), goal=BestItem(epsilon=100.0))


def test_rounding_does_not_add_up_over_many_measurements(monkeypatch):
    worst = []

    def checked(setting, work, penalty):
        if work.added.any():
            information = work.base + work.added
            worst.append(np.abs(work.inverse @ information - np.eye(len(information))).max())
            direct = np.linalg.slogdet(information + penalty * np.eye(len(information)))[1]
            worst.append(abs(work.real[0] - direct) / direct)
        refresh(setting, work, penalty)

    refresh = compiled._refresh
    monkeypatch.setattr(compiled, "_refresh", checked)
    problem, theta = pw.instances.benchmark(5)
    for algorithm in (SETTINGS[0], SETTINGS[5]):
        environment = pw.LinearEnvironment(problem, theta)
        compiled.run(environment, BestItem(1e-12), algorithm, np.random.default_rng(0), budget=1_000_000)
    assert len(worst) >= 400
    assert max(worst) < 1e-9


def test_as_many_measurements_as_the_authors_code():
    problem, theta = pw.instances.benchmark(5)
    environment, algorithm = pw.LinearEnvironment(problem, theta), LinGapE("ratio", norm_bound=2.0)
    results = [compiled.run(environment, BestItem(), algorithm, np.random.default_rng(s)) for s in range(6)]
    counts = np.array([r.measurements for r in results])
    slack = 2.0 * np.hypot(counts.std(ddof=1) / np.sqrt(counts.size), AUTHORS[1])
    assert abs(counts.mean() - AUTHORS[0]) <= 0.15 * AUTHORS[0] + slack
    assert all(r.item == 0 for r in results)


def test_lingape_grows_linearly_in_the_number_of_probes_and_rage_does_not():
    goal, few, many = BestItem(), 1000, 4000
    measured = {}
    for n in (few, many):
        problem, theta = pw.instances.many_arms_script(n, 0)
        environment = pw.LinearEnvironment(problem, theta)
        lingape = compiled.run(environment, goal, LinGapE(norm_bound=1.0), np.random.default_rng(0))
        rage = loop(
            problem,
            goal,
            pw.Rage("tight"),
            observe=lambda counts, step, e=environment: e.draw(counts, np.random.default_rng(step)),
            stream=np.random.default_rng,
        )
        measured[n] = (lingape.measurements, rage.measurements)
    assert measured[many][0] - measured[few][0] >= 0.9 * (many - few)
    assert measured[many][1] <= 1.5 * measured[few][1]


@pytest.mark.parametrize("algorithm", [LinGapE("greedy"), LinGapE(norm_bound=1.1)], ids=str)
def test_errors_are_rarer_than_allowed(algorithm):
    environment = pw.LinearEnvironment(*pw.instances.worked_example(2, 0.3))
    runs = [compiled.run(environment, BestItem(0.3), algorithm, np.random.default_rng(s)) for s in range(200)]
    # 76 errors or more in 200 runs have probability below 0.01 if one run errs with probability 0.3
    assert sum(r.item != environment.best for r in runs) <= 75


def test_says_what_it_supports(monkeypatch):
    environment = pw.LinearEnvironment(*pw.instances.benchmark(3))
    rng = np.random.default_rng(0)
    assert compiled.supports(LinGapE())
    assert not compiled.supports(pw.Uniform())
    assert not compiled.supports(LinGapE(threshold=LogLog()))
    assert not compiled.supports(LinGapE(threshold=TrackAndStop(c=2.0)))  # which has to wait
    with pytest.raises(
        pw.InvalidAlgorithm, match="only LinGapE under one of its own thresholds is compiled, got Uniform"
    ):
        compiled.run(environment, BestItem(), pw.Uniform(), rng)
    monkeypatch.setattr(compiled, "find_spec", lambda name: None)
    assert not compiled.supports(LinGapE())
    with pytest.raises(pw.MissingExtra, match=r"needs numba, which is not installed; install probewise\[fast\]"):
        compiled.run(environment, BestItem(), LinGapE(), rng)
