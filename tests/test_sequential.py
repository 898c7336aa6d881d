"""Methods that measure one by one: their steps, their stopping rule, and that compiled ones take the same decisions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import probewise as pw
import probewise.estimate
import probewise.goals
import probewise.measurements
from probewise.algorithms.sequential.steps import hedge, hedged, maximin, squared
from probewise.confidence import (
    ExplicitRidge,
    LogLog,
    LogTime,
    SelfNormalised,
    StarUnion,
    TrackAndStop,
    TrackAndStopHeuristic,
)
from probewise.run import loop
from probewise.simulation import compiled, one_by_one

EASY = pw.instances.benchmark(3, 0.7)
RULES = [
    pw.FWS(),
    pw.LinGame(),
    pw.LazyTrackAndStop(elimination="both"),
]


def questions(seed: int) -> tuple[pw.Problem, np.ndarray, pw.goals.Goal]:
    rng = np.random.default_rng(seed)
    n, m, d = rng.integers(3, 9), rng.integers(3, 9), rng.integers(1, 4)
    sigma, cost = rng.uniform(0.5, 2.0, n), rng.uniform(0.2, 5.0, n)
    problem = pw.Problem(rng.normal(size=(n, d)), rng.normal(size=(m, d)), sigma=sigma, cost=cost)
    goals = (pw.BestItem(0.1, epsilon=0.01), pw.TopM(2, 0.1, epsilon=0.02), pw.Above(0.1, 0.1, epsilon=0.05))
    return problem, rng.normal(size=d), goals[seed % 3]


def both(problem, theta, algorithm, goal, seed, budget=None):
    environment = pw.LinearEnvironment(problem, theta)
    fast = one_by_one.run(environment, goal, algorithm, np.random.default_rng(seed), budget=budget)
    observe = compiled.in_order(environment, np.random.default_rng(seed))
    slow = loop(problem, goal, algorithm, observe=observe, stream=np.random.default_rng, budget=budget, keep=False)
    for name in ("items", "measurements", "rounds", "status"):
        assert getattr(fast, name) == getattr(slow, name), name
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("algorithm", RULES, ids=lambda rule: rule.name)
def test_compiled_rules_take_the_same_decisions(algorithm) -> None:
    pytest.importorskip("numba")
    both(*EASY, algorithm, pw.BestItem(0.1), 1)
    both(*pw.instances.transductive(4, 0.9), algorithm, pw.BestItem(0.1), 2, budget=400)
    for seed in range(6):
        problem, theta, goal = questions(seed)
        both(problem, theta, algorithm, goal, seed, budget=150)


def test_simulations_are_the_same_without_numba(monkeypatch) -> None:
    pytest.importorskip("numba")
    fast = pw.simulate(*EASY, pw.FWS(), pw.BestItem(0.2), runs=2, seed=4)
    monkeypatch.setattr("probewise.simulation.one_by_one.find_spec", lambda name: None)
    slow = pw.simulate(*EASY, pw.FWS(), pw.BestItem(0.2), runs=2, seed=4)
    assert fast.digest == slow.digest
    with pytest.raises(pw.MissingExtra, match="numba"):
        one_by_one.run(pw.LinearEnvironment(*EASY), pw.BestItem(), pw.FWS(), np.random.default_rng())


def test_rules_that_draw_are_not_compiled() -> None:
    assert not one_by_one.supports(pw.TopTwo())
    with pytest.raises(pw.InvalidAlgorithm, match="draw nothing themselves"):
        one_by_one.run(pw.LinearEnvironment(*EASY), pw.BestItem(), pw.TopTwo(), np.random.default_rng())


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_maximin_is_the_value_of_the_game(seed: int) -> None:
    rng = np.random.default_rng(seed)
    payoff = rng.normal(size=(rng.integers(1, 6), rng.integers(1, 7))) * 10.0 ** rng.integers(-3, 4)
    q = maximin(payoff)
    n = payoff.shape[1]
    best = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.hstack([-payoff, np.ones((len(payoff), 1))]),
        b_ub=np.zeros(len(payoff)),
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
    )
    assert q.sum() == pytest.approx(1.0)
    assert (q >= 0).all()
    assert (payoff @ q).min() == pytest.approx(-best.fun, abs=1e-7 * np.abs(payoff).max())


def test_adahedge_keeps_its_regret_bound() -> None:
    """R <= 2√(V log n) + 16 log n/3 + 2 for losses in [0, 1], V = Σ of variances <= t/4 (de Rooij et al. 2014)."""
    rng, n, t = np.random.default_rng(0), 8, 2000
    losses, regret, lost = np.zeros(n), np.zeros(1), 0.0
    for step in range(t):
        loss = rng.uniform(size=n) * (0.9 if step % 3 else 0.2)
        weights = hedged(losses, regret)
        lost += weights @ loss
        hedge(losses, regret, weights, loss)
    assert lost - losses.min() <= 2 * np.sqrt(t / 4 * np.log(n)) + 16 * np.log(n) / 3 + 2


def test_norms_are_those_of_the_inverse() -> None:
    """FWS's public code never inverts its matrix."""
    from probewise.algorithms.sequential.steps import design_inverse

    rng = np.random.default_rng(0)
    probes, weights = rng.normal(size=(5, 3)), np.full(5, 0.2)
    inverse = design_inverse(probes, np.ones(5), weights)
    np.testing.assert_allclose(inverse @ (probes.T @ probes / 5), np.eye(3), atol=1e-9)
    assert squared(probes, inverse).sum() == pytest.approx(15.0)


@pytest.mark.parametrize("elimination", ["none", "stopping"])
def test_it_stops_exactly_when_every_claim_has_passed(elimination) -> None:
    """The same measurements, looked at from outside: with elimination a claim may have passed earlier."""
    (problem, theta), goal = EASY, pw.BestItem(0.1)
    algorithm = pw.TopTwo(leader="estimate", threshold=LogLog(), elimination=elimination)
    laboratory, rng = pw.LinearEnvironment(problem, theta), np.random.default_rng(5)
    state, data, passed = algorithm.init(problem, goal), pw.measurements.Measurements.empty(4), {}
    while algorithm.answer(problem, goal, state) is None:
        counts = algorithm.ask(problem, goal, state, rng)
        data += (now := laboratory.draw(counts, rng))
        state = algorithm.tell(problem, goal, state, now)
        fit = pw.estimate.least_squares(problem.probes, data)
        best = int(np.argmax(problem.items @ fit.theta))
        rows = np.delete(problem.items[best] - problem.items, best, axis=0)
        beta = np.log((1 + np.log(data.n)) / 0.1)
        beyond = (rows @ fit.theta) ** 2 / 2 > beta * fit.variance(rows)
        ever = passed.get(best, False) | beyond
        passed[best] = ever
        assert state.done == bool((ever if elimination != "none" else beyond).all())
    assert algorithm.answer(problem, goal, state) == (0,)


def test_elimination_never_stops_later_than_without() -> None:
    plain, early = (
        pw.simulate(*EASY, pw.FWS(threshold=LogLog(), elimination=how), pw.BestItem(0.1), runs=20, seed=1)
        for how in ("none", "stopping")
    )
    assert (early["measurements"] <= plain["measurements"]).all()


def test_the_design_of_lazy_track_and_stop_is_that_of_the_lower_bound() -> None:
    problem, theta = pw.instances.benchmark(3, 0.5)
    algorithm, goal = pw.LazyTrackAndStop(tol=1e-4), pw.BestItem()
    state = algorithm.init(problem, goal)
    exact = pw.LinearEnvironment(pw.Problem(problem.probes, sigma=1e-9), theta)
    for step in range(12):
        rng = np.random.default_rng(step)
        now = exact.draw(algorithm.ask(problem, goal, state, rng), rng)
        state = algorithm.heard(problem, goal, state, now)
        state = algorithm.chosen(problem, goal, state)
    best = pw.hardness(problem, theta).psi
    A = problem.probes.T @ (state.memory.weights[:, None] * problem.probes)
    rows = (problem.items[0] - problem.items[1:]) / ((problem.items[0] - problem.items[1:]) @ theta)[:, None]
    assert squared(rows, np.linalg.inv(A)).max() <= best * 1.001


def test_proven_is_the_threshold_and_nothing_else() -> None:
    assert pw.FWS().proven
    assert pw.FWS(norm_bound=2.0).proven
    assert not pw.FWS(threshold=LogLog()).proven


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: pw.FWS(threshold=StarUnion()), "holds only"),
        (lambda: pw.FWS(norm_bound=1.0, threshold=TrackAndStop()), "for least squares"),
        (lambda: pw.FWS(slack="none"), "slack must be"),
        (lambda: pw.FWS(norm_bound=-1.0), "norm_bound must be positive"),
        (lambda: pw.FWS(penalty=0.0), "penalty must be positive"),
        (lambda: pw.FWS(initial="none"), "initial must be"),
        (lambda: pw.FWS(elimination="yes"), "elimination must be"),
        (lambda: pw.LinGame(learners="many"), "learners must be"),
        (lambda: pw.LazyTrackAndStop(growth=1.0), "growth must be larger"),
        (lambda: pw.TopTwo(leader="me"), "leader must be"),
        (lambda: pw.LinGame(learners="pairs").init(EASY[0], pw.TopM(2)), "for the best item"),
        (lambda: pw.MLinGapE(selection="best"), "selection must be 'greedy' or 'ratio'"),
        (lambda: pw.LinGIFA(elimination="both"), "no claim can be dropped"),
        (lambda: pw.LinGIFA(selection="best"), "selection must be 'greedy' or 'variance'"),
        (
            lambda: pw.LinGIFA(selection="variance").init(pw.instances.transductive(4, 0.9)[0], pw.BestItem()),
            "is no probe; choose 'greedy'",
        ),
    ],
)
def test_what_does_not_fit_is_refused(build, words) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match=words):
        build()


def test_peps_has_the_moments_of_the_posterior_where_the_guess_is_wrong() -> None:
    """By drawing from it, for one claim."""
    from probewise.algorithms.sequential.peps import Memory, learned
    from probewise.algorithms.sequential.steps import View

    rng = np.random.default_rng(0)
    root = rng.normal(size=(2, 2))
    inverse, row, margin = root @ root.T, np.array([1.0, -0.5]), 0.2
    probes, cost = np.eye(2), np.ones(2)
    square = squared(row[None], inverse)
    view = View(probes, cost, np.array([1, 1]), inverse, row[None], np.array([margin]), square, 1.0)
    memory = Memory(np.zeros(2), np.zeros(1))
    learned(view, memory)
    draws = rng.standard_normal((400_000, 2)) @ root.T
    wrong = draws[draws @ row < -margin]
    assert -memory.losses / 2 == pytest.approx((wrong**2).mean(axis=0), rel=0.03)


@pytest.mark.parametrize(
    "algorithm",
    [pw.MLinGapE(), pw.MLinGapE(selection="ratio"), pw.LinGIFA(), pw.LinGIFA(selection="variance")],
    ids=lambda each: f"{each.name}-{each.selection}",
)
def test_the_top_items_are_found(algorithm) -> None:
    problem = pw.Problem(np.eye(4))
    found = pw.simulate(problem, [3.0, 2.5, 0.0, -1.0], algorithm, pw.TopM(2, 0.05), runs=3, seed=0)
    assert found["correct"].all()


def test_ratios_follow_the_optimal_design_of_the_comparison() -> None:
    """Elfving: e_1 - e_2 by probes 2e_1 and e_2 takes one measurement of the first for two of the second."""
    problem = pw.Problem(np.array([[2.0, 0.0], [0.0, 1.0], [0.3, 0.3]]), np.eye(2))
    algorithm, goal, rng = pw.MLinGapE(selection="ratio"), pw.BestItem(1e-12), np.random.default_rng(0)
    laboratory, state = pw.LinearEnvironment(problem, [0.1, 0.0]), algorithm.init(problem, goal)
    for _ in range(31):
        state = algorithm.tell(problem, goal, state, laboratory.draw(algorithm.ask(problem, goal, state, rng), rng))
    assert state.count.tolist() == [11, 21, 1]
    assert not one_by_one.supports(algorithm)


def test_lingifa_by_variance_measures_the_item_that_is_known_least() -> None:
    problem = pw.Problem(np.eye(3), sigma=[1.0, 2.0, 1.0])
    algorithm, goal, rng = pw.LinGIFA(selection="variance"), pw.BestItem(1e-12), np.random.default_rng(0)
    laboratory, state = pw.LinearEnvironment(problem, [1.0, 1.0, -9.0]), algorithm.init(problem, goal)
    for _ in range(41):
        state = algorithm.tell(problem, goal, state, laboratory.draw(algorithm.ask(problem, goal, state, rng), rng))
    assert state.count[1] == pytest.approx(4 * state.count[0], abs=4)  # variances of both means are the same


SAMPLING = [
    pw.FWS, pw.LinGame, pw.LazyTrackAndStop, pw.TopTwo, pw.MLinGapE, pw.LinGIFA, pw.PEPS,
]  # fmt: skip


@pytest.mark.parametrize("rule", SAMPLING, ids=lambda each: each.name)
def test_any_rule_stops_by_any_threshold_for_adaptive_data(rule) -> None:
    """Sampling and stopping are apart: the same rule under each threshold, proven if that is.

    Of two thresholds the larger one stops no earlier, as long as the rule does not look at the width.
    """
    problem, theta = EASY
    taken = {}
    for threshold in (TrackAndStop(), TrackAndStopHeuristic(), LogLog(), LogTime()):
        algorithm = rule(threshold=threshold)
        found = pw.simulate(problem, theta, algorithm, pw.BestItem(0.1), runs=2, seed=5)
        assert found["correct"].all()
        assert algorithm.proven == threshold.proven
        taken[threshold.name] = found["measurements"]
    if not (rule.uses_width or rule is pw.LinGIFA):
        assert (taken["loglog"] <= taken["logtime"]).all()
        assert (taken["loglog"] <= taken["track-and-stop"]).all()
    for threshold in (SelfNormalised(), ExplicitRidge()):
        algorithm = rule(threshold=threshold, norm_bound=2.0)
        assert pw.simulate(problem, theta, algorithm, pw.BestItem(0.1), runs=1, seed=5)["correct"].all()
        assert algorithm.proven
    for elimination in () if rule is pw.LinGIFA else ("stopping", "both"):
        algorithm = rule(elimination=elimination)
        assert pw.simulate(problem, theta, algorithm, pw.BestItem(0.1), runs=1, seed=5)["correct"].all()
