"""Outcomes with a link: laws, likelihoods, who takes them, and what their guarantee rests on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import probewise as pw
from probewise.campaign import Memory
from probewise.likelihood import fitted, fitted_on_plane, log_likelihood
from probewise.measurements import Measurements
from probewise.run import loop
from probewise.simulation import by_likelihood

PROBES = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [1.0, -1.0]])
THETA = np.array([1.5, -0.5])
LAWS = (pw.Logistic(), pw.PoissonLog())
ALGORITHMS = (pw.SageGLM(), pw.GLGapE(), pw.RageGLM(norm_bound=1.6, rounding=0.5))


def drawn(law: Any, each: int = 60, seed: int = 0) -> Measurements:
    environment = pw.LinearEnvironment(pw.Problem(PROBES, outcome=law), THETA)
    return environment.draw(np.full(4, each), np.random.default_rng(seed))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_laws_draw_what_they_say(law: Any) -> None:
    rng, linear = np.random.default_rng(0), np.array([-1.0, 0.3, 1.2])
    means, eps = law.mean(linear), 1e-5
    slope = (law.cumulant(linear + eps) - law.cumulant(linear - eps)) / (2 * eps)
    assert means == pytest.approx(slope, rel=1e-6)  # the mean is b'
    curve = (law.mean(linear + eps) - law.mean(linear - eps)) / (2 * eps)
    assert law.information(linear) == pytest.approx(curve, rel=1e-6)  # the variance is b''
    single = np.array([law.outcomes(means, np.ones(3), rng) for _ in range(20_000)])
    assert law.possible(single.ravel()).all()
    assert not law.possible(np.array([0.5, -1.0])).any()
    assert np.abs(single.mean(axis=0) - means).max() < 0.05
    assert single.var(axis=0) == pytest.approx(law.information(linear), rel=0.05)
    for each in (9, 20_000):
        parts = [law.drawn(means, np.ones(3), np.full(3, each), rng) for _ in range(400)]
        assert np.mean([part.mean for part in parts], axis=0) == pytest.approx(means, rel=0.1)
        spread = np.mean([part.scatter for part in parts], axis=0) / (each - 1)
        assert spread == pytest.approx(law.information(linear), rel=0.15)
    assert "x'θ" in law.noise
    with pytest.raises(pw.InvalidAlgorithm, match="choose SageGLM"):
        law.log_account(means, means, means, 1.0)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_largest_likelihood_is_that_of_a_general_optimiser(law: Any) -> None:
    data = drawn(law)

    def negative(theta: Any) -> float:
        return -float(log_likelihood(law, PROBES @ theta, data))

    free = fitted(law, PROBES, data)
    found = optimize.minimize(negative, np.zeros(2), tol=1e-10)
    assert free.converged
    assert free.theta == pytest.approx(found.x, abs=1e-4)
    assert free.value >= -found.fun - 1e-8
    normal, level = np.array([1.0, 2.0]), 0.3
    plane = fitted_on_plane(law, PROBES, data, normal, level)
    line = optimize.minimize_scalar(lambda t: negative(level * normal / 5.0 + t * np.array([-2.0, 1.0])))
    assert plane.converged
    assert normal @ plane.theta == pytest.approx(level)
    assert plane.value == pytest.approx(-float(line.fun), abs=1e-6)
    assert plane.value <= free.value
    penalised = fitted(law, PROBES, data, penalty=5.0)
    assert np.linalg.norm(penalised.theta) < np.linalg.norm(free.theta)


def test_data_that_push_to_infinity_have_the_value_of_the_limit() -> None:
    alike = Measurements(np.array([5, 5, 5, 5]), np.ones(4), np.zeros(4))
    far = fitted(pw.Logistic(), PROBES, alike)
    assert np.abs(far.theta).max() > 10
    assert -1e-7 < far.value <= 0  # every outcome is as good as certain
    near = fitted(pw.Logistic(), PROBES, alike, penalty=0.1)
    assert near.converged
    assert np.abs(near.theta).max() < 10


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
def test_algorithms_find_the_best_item(algorithm: Any) -> None:
    for law in LAWS:
        if law.link not in algorithm.links:
            continue
        problem = pw.Problem(PROBES, outcome=law, item_names=list("ABCD"))
        for seed in (0, 1):
            laboratory = pw.LinearEnvironment(problem, THETA, seed=seed)
            seen: list[Any] = []
            found = pw.identify(
                problem, measure=laboratory.measure, algorithm=algorithm, seed=seed, progress=seen.append
            )
            assert found.item_name == "D"
            assert found.estimate == pytest.approx(THETA, abs=1.0)
            assert seen[-1].standing.guess == (3,)
            assert seen[-1].standing.remaining.tolist() == [3]
            assert all({*each.standing.guess} <= {*each.standing.remaining.tolist()} for each in seen)
    table = pw.simulate(pw.Problem(PROBES, outcome=pw.Logistic()), THETA, algorithm, runs=2)
    again = pw.simulate(pw.Problem(PROBES, outcome=pw.Logistic()), THETA, algorithm, runs=2)
    assert table.digest == again.digest
    one = pw.Problem(PROBES, PROBES[:1], outcome=pw.Logistic())
    assert algorithm.answer(one, pw.BestItem(), algorithm.init(one, pw.BestItem())) == (0,)


@pytest.mark.parametrize("algorithm", [pw.SageGLM(), pw.GLGapE(), pw.RageGLM(1.5)], ids=repr)
def test_a_tie_within_epsilon_ends(algorithm: Any) -> None:
    problem = pw.Problem(np.eye(3), outcome=pw.Logistic())
    laboratory = pw.LinearEnvironment(problem, [1.0, 1.0, -1.0], seed=0)
    goal = pw.BestItem(0.1, 0.8)
    found = pw.identify(problem, goal, measure=laboratory.measure, algorithm=algorithm, seed=0, budget=500_000)
    assert found.status == "identified"
    assert found.item in (0, 1)


def test_who_cannot_do_with_a_link_says_so() -> None:
    problem = pw.Problem(PROBES, outcome=pw.Logistic())
    for algorithm in (pw.Sage(), pw.Rage(), pw.LinGapE(), pw.Uniform()):
        with pytest.raises(pw.InvalidAlgorithm, match=r"whose mean is a curve of x'θ .*choose SageGLM"):
            pw.identify(problem, measure=lambda i: i, algorithm=algorithm)
    with pytest.raises(pw.InvalidAlgorithm, match="'gaussian', whose mean is x'θ itself; choose Sage"):
        pw.identify(pw.Problem(PROBES), measure=lambda i: i, algorithm=pw.SageGLM())
    with pytest.raises(pw.InvalidAlgorithm, match="rage-glm cannot do with outcomes of the law 'poisson-log'"):
        pw.identify(pw.Problem(PROBES, outcome=pw.PoissonLog()), measure=lambda i: i, algorithm=pw.RageGLM(2.0))
    with pytest.raises(pw.InvalidAlgorithm, match="for outcomes with a link"):
        pw.SageGLM().init(pw.Problem(PROBES), pw.BestItem())
    narrow = pw.Problem([[1.0, 1.0], [2.0, 2.0]], outcome=pw.Logistic())
    with pytest.raises(pw.InvalidProblem, match="probes must span all 2 features"):
        pw.SageGLM().init(narrow, pw.BestItem())
    with pytest.raises(pw.InvalidMeasurements, match="each 0 or 1"):
        pw.identify(problem, measure=lambda i: 0.5 * np.ones(len(i)), algorithm=pw.SageGLM())
    with pytest.raises(pw.InvalidCampaign, match="that it can read back"):
        pw.Campaign.create(Memory(), problem, pw.BestItem(), pw.SageGLM())
    many = pw.Problem(PROBES, np.random.default_rng(0).standard_normal((301, 2)), outcome=pw.Logistic())
    with pytest.raises(pw.InvalidAlgorithm, match="lists all pairs"):
        pw.RageGLM(2.0).init(many, pw.BestItem())


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: pw.SageGLM(growth=1.0), "growth must be larger than 1"),
        (lambda: pw.RageGLM(0.0), "norm_bound must be positive"),
        (lambda: pw.RageGLM(1.0, rounding=1.0), "rounding must lie"),
        (lambda: pw.GLGapE(initial=0), "initial must be a whole number"),
        (lambda: pw.GLGapE(lazy=-1.0), "lazy must lie"),
    ],
)
def test_settings_that_cannot_work_are_refused(build: Any, match: str) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match=match):
        build()


def test_the_burn_in_is_as_published() -> None:
    """3(1+ε)κ₀⁻¹·d·γ·log(2n(2+n)/δ) for the design of value d, recomputed by hand."""
    problem, goal = pw.Problem(np.eye(3), outcome=pw.Logistic()), pw.BestItem(0.05)
    counts = pw.RageGLM(norm_bound=2.0, rounding=0.2).init(problem, goal).counts
    slowest = math.exp(2.0) / (1.0 + math.exp(2.0)) ** 2
    gamma = 3 + math.log(6 * 5 / 0.05)
    wanted = 3 * 1.2 / slowest * 3 * gamma * math.log(2 * 3 * 5 / 0.05)
    assert counts.sum() == pytest.approx(wanted, rel=0.02)


def test_predictions_are_probabilities() -> None:
    """The mixture that predicts a round, summed over all outcomes that the round can have, is 1."""
    law, state = pw.Logistic(), pw.SageGLM()
    problem, goal = pw.Problem(np.eye(2), outcome=law), pw.BestItem()
    begun = state.init(problem, goal)
    first = Measurements(np.array([6, 6]), np.array([0.5, 1 / 3]), np.array([1.5, 4 / 3]))
    begun = state.tell(problem, goal, begun, first)
    assert begun.predicted == 0.0  # the first round is not bet on
    total = 0.0
    for a in range(4):
        for b in range(3):
            own = Measurements(np.array([3, 2]), np.array([a / 3, b / 2]), np.array([a * (3 - a) / 3, b * (2 - b) / 2]))
            ways = math.comb(3, a) * math.comb(2, b)
            total += ways * math.exp(state.tell(problem, goal, begun, own).predicted)
    assert total == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("lazy", [0.0, 0.02])
def test_the_compiled_glgape_takes_the_same_decisions(lazy: float) -> None:
    pytest.importorskip("numba")
    algorithm, goal = pw.GLGapE(lazy=lazy), pw.BestItem(0.1)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        cost = rng.uniform(0.5, 2.0, 6)
        problem = pw.Problem(rng.standard_normal((6, 3)), rng.standard_normal((5, 3)), outcome=pw.Logistic(), cost=cost)
        environment = pw.LinearEnvironment(problem, 2.0 * rng.standard_normal(3))
        for budget in (20, 31, 300):
            observe = by_likelihood.in_turn(environment, np.random.default_rng(seed))
            options: Any = {"stream": np.random.default_rng, "budget": budget, "keep": False}
            plain = loop(problem, goal, algorithm, observe=observe, **options)
            quick = by_likelihood.run(environment, goal, algorithm, np.random.default_rng(seed), budget=budget)
            for field in ("items", "item_names", "measurements", "cost", "rounds", "status"):
                assert getattr(plain, field) == getattr(quick, field), field
            np.testing.assert_allclose(quick.estimate, plain.estimate, rtol=1e-6, atol=1e-6)


def test_simulations_of_glgape_are_the_same_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    problem = pw.Problem(PROBES, outcome=pw.Logistic())
    quick = pw.simulate(problem, THETA, pw.GLGapE(), runs=3)
    monkeypatch.setattr(by_likelihood, "find_spec", lambda name: None)
    plain = pw.simulate(problem, THETA, pw.GLGapE(), runs=3)
    for column in ("item", "measurements", "rounds"):
        np.testing.assert_array_equal(quick[column], plain[column])
    environment = pw.LinearEnvironment(problem, np.array(THETA))
    with pytest.raises(pw.MissingExtra, match="numba"):
        by_likelihood.run(environment, pw.BestItem(), pw.GLGapE(), np.random.default_rng(0))
    counts = pw.LinearEnvironment(pw.Problem(PROBES, outcome=pw.PoissonLog()), np.array(THETA))
    with pytest.raises(pw.InvalidAlgorithm, match="only GLGapE on successes and failures"):
        by_likelihood.run(counts, pw.BestItem(), pw.GLGapE(), np.random.default_rng(0))
    assert pw.simulate(counts.problem, THETA, pw.GLGapE(), runs=1)["correct"].all()
