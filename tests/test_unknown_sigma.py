from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

import probewise as pw
from probewise.confidence import ReplicateBound, log_wealth
from probewise.measurements import Measurements
from probewise.simulation import LinearEnvironment

GOAL = pw.BestItem()


def unknown(problem):
    return pw.Problem(problem.probes, problem.items, sigma="unknown", cost=problem.cost)


def test_the_bound_holds_at_all_times():
    # one degree of freedom at a time, and more of them after a low scatter: the most that a sampling rule may do
    rng, alpha, runs = np.random.default_rng(0), 0.2, 500
    low = 0
    for _ in range(runs):
        value, degrees, exceeded = 0.0, 0, False
        for _ in range(30):
            more = 1 if value > degrees else 8
            value, degrees = value + rng.chisquare(more), degrees + more
            exceeded |= ReplicateBound().variance(value, degrees, alpha) < 1.0
        low += exceeded
    assert low / runs <= alpha + 3 * math.sqrt(alpha / runs)
    assert low / runs > 0.03, "a bound that is never reached tests nothing"


def test_the_bound_is_where_the_mean_of_the_martingales_is_one_over_alpha():
    bound, value, degrees, alpha = ReplicateBound(), 31.0, 40, 0.01
    rates, variance = np.array(bound.rates), bound.variance(value, degrees, alpha)
    mean = np.mean(np.exp(-rates * value / variance) * (1.0 + 2.0 * rates) ** (degrees / 2))
    assert mean == pytest.approx(1.0 / alpha)
    assert bound.variance(1e5, 100_000, 0.005) < 1.03
    assert bound.variance(4e6 * value, degrees, alpha) == pytest.approx(4e6 * variance)


def test_too_few_replicates_or_replicates_that_agree_bound_nothing():
    assert ReplicateBound().variance(1.0, 1, 0.05) == math.inf
    assert ReplicateBound().variance(0.0, 500, 0.05) == math.inf
    with pytest.raises(pw.InvalidAlgorithm, match="rates must be positive and finite, at least one, got"):
        ReplicateBound((1.0, -1.0))


@pytest.mark.parametrize(("bound", "fair"), [(1.0, True), (1.3, True), (0.7, False)])
def test_bets_by_a_bound_above_sigma_are_fair(bound, fair):
    # the mean gain of a round of precision w on y'θ = 0, for noise of scale 1
    before, precision, w, unit = np.array([6.0]), np.array([9.0]), np.array([30.0]), np.array([0.3])
    already = log_wealth(before / bound, precision, unit)

    def gain(x):
        return math.exp((log_wealth((before + math.sqrt(30.0) * x) / bound, precision + w, unit) - already).item())

    mean = quad(lambda x: gain(x) * math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi), -11, 11)[0]
    assert (mean <= 1.0 + 1e-6) == fair


def test_units_of_outcomes_do_not_matter():
    problem, theta = pw.instances.sphere(20, 3, seed=1)
    environment, algorithm = LinearEnvironment(unknown(problem), theta), pw.Sage()
    problem = environment.problem
    one = other = algorithm.init(problem, GOAL)
    for step in range(8):
        counts = algorithm.ask(problem, GOAL, one, np.random.default_rng(0))
        np.testing.assert_array_equal(counts, algorithm.ask(problem, GOAL, other, np.random.default_rng(0)))
        data = environment.draw(counts, np.random.default_rng(step))
        one = algorithm.tell(problem, GOAL, one, data)
        other = algorithm.tell(problem, GOAL, other, Measurements(counts, 1024 * data.mean, 1024**2 * data.scatter))
        np.testing.assert_array_equal(one.alive, other.alive)


@pytest.mark.parametrize("limits", [{}, {"max_batch": 1}, {"max_replicates": 1, "min_batch": 4}])
def test_rounds_have_replicates(limits):
    problem = unknown(pw.instances.sphere(20, 3, seed=1)[0])
    algorithm, counts = pw.Sage(**limits), np.zeros(20, dtype=np.int64)
    state, environment = algorithm.init(problem, GOAL), LinearEnvironment(problem, np.zeros(3))
    while not state.pool.fits:
        more = algorithm.ask(problem, GOAL, state, np.random.default_rng(0))
        counts, state = (
            counts + more,
            algorithm.tell(problem, GOAL, state, environment.draw(more, np.random.default_rng(1))),
        )
    assert state.pool.pure_error.degrees == counts.sum() - np.count_nonzero(counts)
    assert 3 * state.pool.pure_error.degrees >= counts.sum()


@pytest.mark.parametrize("theta", [[3.0, 0.0], [0.7, 0.0]])
def test_error_rate(theta):
    # the first is decided while the noise is hardly known; the audit does this with thousands of runs
    problem = unknown(pw.Problem(np.eye(2)))
    runs = pw.simulate(problem, theta, pw.Sage(), pw.BestItem(delta=0.3), runs=80, seed=1)
    assert runs.error_rate().errors <= 0.3 * 80


def test_noise_that_is_learned_costs_little():
    problem, theta = pw.instances.sphere(12, 3, alpha=0.3, seed=3)
    known, learned = (pw.simulate(p, theta, pw.Sage(), runs=12, seed=2) for p in (problem, unknown(problem)))
    assert learned.mean("measurements") < 1.5 * known.mean("measurements")


def test_others_must_know_the_noise_and_have_no_limits():
    problem = unknown(pw.Problem(np.eye(2)))
    for algorithm in (pw.Rage(), pw.Uniform(), pw.LinGapE()):
        with pytest.raises(pw.InvalidAlgorithm, match=f"{algorithm.name} must know sigma, the noise of a measurement"):
            pw.simulate(problem, [1.0, 0.0], algorithm, runs=1)
        with pytest.raises(pw.InvalidAlgorithm, match="this problem limits the stock of probes; leave stock out"):
            pw.simulate(pw.Problem(np.eye(2), stock=[9, 9]), [1.0, 0.0], algorithm, runs=1)


def test_whether_the_first_round_is_bet_on_does_not_depend_on_what_was_added_to_it() -> None:
    """Who sees that an open round goes well could otherwise add replicates of anything, and bet on it afterwards."""
    problem, goal, algorithm = pw.Problem(np.eye(2), sigma="unknown"), pw.BestItem(), pw.Sage()
    start = algorithm.init(problem, goal)
    single = Measurements.from_outcomes(2, [0, 1], [5.0, 0.0])
    many = Measurements.from_outcomes(2, [0] * 20, np.random.default_rng(0).standard_normal(20))
    alone = algorithm.tell(problem, goal, start, single)
    both = algorithm.tell_overlapping(problem, goal, start, [single, many])
    assert math.isfinite(both.noise(problem, goal))
    assert (alone.wealth == 0).all()
    assert (both.wealth == 0).all()
    turned = algorithm.tell_overlapping(problem, goal, start, [many, single])
    assert (turned.wealth != 0).all()
