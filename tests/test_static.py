from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms import GStatic, Uniform, XYOracle, XYStatic
from probewise.algorithms.static.growing import Growing, evidence
from probewise.confidence import Data, Estimator, Evidence, LogLog, SelfNormalised, Threshold, TrackAndStop
from probewise.design import largest_variance
from probewise.simulation import LinearEnvironment
from probewise.testing.problems import only_differences

GOAL = pw.BestItem()


def weights(algorithm: Any, problem: pw.Problem) -> Any:
    return algorithm.init(problem, GOAL).weights


def near_ties() -> tuple[pw.Problem, Any]:
    """Eight items almost as good as the best one, and one far behind; more items than probes."""
    turns = 0.1 * np.arange(-4.0, 5.0)
    items = np.vstack([np.column_stack([np.cos(turns), np.sin(turns)]), [[-1.0, 0.0]]])
    return pw.Problem(np.eye(2), items), np.array([1.0, 0.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: XYStatic(growth=1.0), "growth must be larger than 1, got 1.0"),
        (lambda: GStatic(variant="paper"), "variant must be 'tight' or 'code', got 'paper'"),
        (lambda: XYStatic(sampling="any"), "sampling must be 'rounded' or 'iid', got 'any'"),
        (lambda: XYStatic(solver="barrier"), "solver must be 'certified' or 'frank-wolfe', got 'barrier'"),
        (lambda: XYStatic(threshold=SelfNormalised()), "xy-static uses least squares, but threshold 'self-normalised'"),
        (lambda: XYOracle([[1.0]]), r"theta must be a list of finite numbers, one per feature, got shape \(1, 1\)"),
        (lambda: XYOracle([1.0, math.nan]), "theta must be a list of finite numbers"),
    ],
)
def test_settings_that_cannot_work_are_refused(make: Any, message: str) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match=message):
        make()


def test_the_oracle_checks_its_theta_against_the_problem() -> None:
    problem, _ = pw.instances.benchmark(3)
    with pytest.raises(pw.InvalidProblem, match="theta must have one entry per feature"):
        XYOracle([1.0, 0.0]).init(problem, GOAL)
    with pytest.raises(pw.InvalidProblem, match="the answer must be unique"):
        XYOracle([0.0, 1.0, 1.0]).init(pw.Problem(np.eye(3)), GOAL)


def test_g_static_needs_items_that_probes_can_give() -> None:
    problem, _ = only_differences()
    with pytest.raises(pw.InvalidAlgorithm, match="no combination of probes gives item '0'; use xy-static"):
        GStatic().init(problem, GOAL)


def test_settings_are_values() -> None:
    assert XYOracle(np.array([1.0, 2.0])) == XYOracle((1.0, 2.0))
    assert hash(XYOracle([1.0])) == hash(XYOracle([1.0]))
    assert XYStatic().proven
    assert XYStatic(variant="code").proven
    assert not XYStatic(threshold=LogLog()).proven


def test_each_follows_its_own_optimal_design() -> None:
    problem, theta = pw.instances.sphere(30, 4, seed=1)
    X, Z = problem.probes, problem.items
    values = Z @ theta
    best, gaps = int(np.argmax(values)), values.max() - values
    cases = [
        (XYStatic(), pw.pairs(Z)),
        (GStatic(), pw.points(Z)),
        (XYOracle(theta), pw.star(Z, best, gaps)),
    ]
    for algorithm, directions in cases:
        attained = largest_variance(X, weights(algorithm, problem), directions)
        assert attained <= 1.002 * pw.optimal_design(X, directions, tol=1e-4).value
    assert largest_variance(X, weights(GStatic(), problem), pw.points(Z)) == pytest.approx(4.0, rel=2e-3)


def test_designs_mind_noise_and_cost() -> None:
    rng = np.random.default_rng(2)
    X, sigma, cost = rng.standard_normal((12, 3)), rng.uniform(0.2, 3.0, 12), rng.uniform(0.1, 10.0, 12)
    problem = pw.Problem(X, sigma=sigma, cost=cost)
    w = weights(XYStatic(), problem)
    value = float(cost @ w) * largest_variance(X / sigma[:, None], w, pw.pairs(X))
    assert value <= 1.002 * pw.optimal_design(X / sigma[:, None], pw.pairs(X), cost=cost, tol=1e-4).value


def told(problem: pw.Problem, algorithm: Any, rounds: int) -> list[Growing]:
    """States after rounds of outcomes 0, by which no item ever wins."""
    states, state = [], algorithm.init(problem, GOAL)
    for step in range(rounds):
        counts = algorithm.ask(problem, GOAL, state, np.random.default_rng(step))
        zero = np.zeros(problem.n_probes)
        state = algorithm.tell(problem, GOAL, state, pw.Measurements(counts, zero, zero))
        states.append(state)
    return states


def test_checks_come_at_geometric_totals() -> None:
    problem, _ = pw.instances.benchmark(4)
    states = told(problem, XYStatic(growth=1.5), 12)
    support = int(np.count_nonzero(states[0].weights))
    assert [s.data.n for s in states] == [math.ceil(support * 1.5**j) for j in range(12)]
    assert [s.check for s in states] == list(range(1, 13))
    wanted = pw.round_design(states[-1].weights, states[-1].data.n, probes=problem.probes).counts
    np.testing.assert_array_equal(states[-1].data.count, wanted)


def test_the_authors_loop_counts_every_check_twice() -> None:
    problem, theta = pw.instances.benchmark(4)
    K, delta = problem.n_items, GOAL.delta
    for algorithm, u, union in [
        (XYStatic(variant="code"), 1.35, K**2),
        (XYOracle(theta, variant="code"), 1.1, K),
    ]:
        states = told(problem, algorithm, 9)
        totals = [0] + [s.data.n for s in states]
        assert np.diff(totals).tolist() == [math.ceil(u**j) for j in range(1, 18, 2)]
        assert [s.check for s in states] == list(range(1, 18, 2))
        for s in states:
            beta = algorithm.rule.beta(evidence(problem, GOAL, s))
            assert beta == pytest.approx(math.log(2 * s.check**2 * union / delta))


AUTHORS = [  # mean measurements and standard error of the RAGE authors' code, 2 to 20 runs
    ("benchmark", 5, XYStatic, 2_158_138, 292_623),
    ("transductive", 20, XYStatic, 2_011_582, 366_247),
    ("benchmark", 5, XYOracle, 355_571, 29_878),
    ("benchmark", 20, XYOracle, 380_225, 29_135),
    ("transductive", 40, XYOracle, 32_564, 1_522),
]


@pytest.mark.parametrize(("instance", "d", "kind", "mean", "error"), AUTHORS)
def test_authors_figures_are_reproduced(instance: str, d: int, kind: Any, mean: float, error: float) -> None:
    problem, theta = getattr(pw.instances, instance)(d)
    settings: dict[str, Any] = {"variant": "code", "solver": "frank-wolfe"}
    algorithm = kind(theta, **settings) if kind is XYOracle else kind(**settings)
    runs = pw.simulate(problem, theta, algorithm, runs=15, seed=3)
    noise = 2 * math.hypot(error, runs.standard_error("measurements"))
    assert abs(runs.mean("measurements") - mean) <= 0.15 * mean + noise


def test_why_the_authors_oracle_stops_early_on_transductive_20() -> None:
    """Their design hardly measures some probes, and a pseudo-inverse drops what was not measured."""
    problem, theta = pw.instances.transductive(20)
    oracle = XYOracle(theta, variant="code", solver="frank-wolfe")
    w = weights(oracle, problem)
    assert np.count_nonzero(w * 18_858 < 1.0) >= 4
    counts = np.floor(w * 100_000).astype(np.int64) * (w > 1e-3)
    means = problem.probes @ theta * (counts > 0)  # noiseless, so that only the missing probes can hold it up
    data = pw.Measurements(counts, means, np.zeros(w.size))
    assert oracle.tell(problem, GOAL, oracle.init(problem, GOAL), data).answer is None
    full = np.maximum(counts, 100_000)
    data = pw.Measurements(full, problem.probes @ theta, np.zeros(w.size))
    assert oracle.tell(problem, GOAL, oracle.init(problem, GOAL), data).answer == (0,)


def measurements_with_pseudo_inverse(seed: int) -> int:
    """The authors' oracle on transductive(20), with the variances that their code takes."""
    problem, theta = pw.instances.transductive(20)
    oracle, rng = XYOracle(theta, variant="code", solver="frank-wolfe"), np.random.default_rng(seed)
    environment, state = LinearEnvironment(problem, theta), oracle.init(problem, GOAL)
    best = int(np.argmax(problem.items @ theta))
    rows = problem.items[best] - np.delete(problem.items, best, axis=0)
    while True:
        state = oracle.tell(problem, GOAL, state, environment.draw(oracle.ask(problem, GOAL, state, rng), rng))
        inverse = np.linalg.pinv((problem.probes.T * state.data.count) @ problem.probes)
        lead = rows @ inverse @ problem.probes.T @ (state.data.count * state.data.mean)
        variances = np.einsum("ij,jk,ik->i", rows, inverse, rows)
        if (lead > oracle.rule.width(evidence(problem, GOAL, state)) * np.sqrt(variances)).all():
            return state.data.n


def test_the_authors_oracle_on_transductive_20_needs_its_pseudo_inverse() -> None:
    """18,858 ± 1,262 in 20 runs of their code; with the true variances it takes several times as many."""
    needed = np.array([measurements_with_pseudo_inverse(seed) for seed in range(40)])
    noise = 2 * math.hypot(1_262, needed.std(ddof=1) / math.sqrt(needed.size))
    assert abs(needed.mean() - 18_858) <= 0.15 * 18_858 + noise


@dataclass(frozen=True)
class Careless(Threshold):
    """Pays too little for one comparison at one check."""

    name: ClassVar[str] = "careless"
    proven: ClassVar[bool] = False
    data: ClassVar[Data] = "fixed"
    estimator: ClassVar[Estimator] = "least squares"
    reference: ClassVar[str] = "a mistake"

    def beta(self, evidence: Evidence) -> float:
        return 0.1 * math.log(1.0 / evidence.delta)


@pytest.mark.parametrize(
    "algorithm",
    [
        XYStatic(growth=3.0),
        XYStatic(growth=3.0, variant="code"),
        GStatic(growth=3.0, sampling="iid"),
        Uniform(growth=3.0),
    ],
)
def test_errors_are_rarer_than_delta(algorithm: Any) -> None:
    problem, theta = near_ties()
    runs = pw.simulate(problem, theta, algorithm, pw.BestItem(delta=0.3), runs=80, seed=1)
    assert runs.error_rate(0.99).high <= 0.3


def test_a_careless_threshold_is_found_out() -> None:
    problem, theta = near_ties()
    algorithm = XYStatic(growth=3.0, threshold=Careless())
    runs = pw.simulate(problem, theta, algorithm, pw.BestItem(delta=0.3), runs=80, seed=1)
    assert runs.error_rate(0.99).low > 0.3


@pytest.mark.parametrize("kind", [XYStatic, GStatic])
def test_near_ties_end_early_with_a_tolerance(kind: Any) -> None:
    problem, theta = near_ties()
    loose = pw.simulate(problem, theta, kind(), pw.BestItem(epsilon=0.3), runs=10, seed=1)
    exact = pw.simulate(problem, theta, kind(), runs=2, seed=1)
    assert loose["correct"].all()
    assert 20 * loose.mean("measurements") < exact.mean("measurements")


def test_any_threshold_for_its_data_may_be_used() -> None:
    problem, theta = pw.Problem(np.eye(3)), np.array([1.0, 0.0, -1.0])
    star = pw.simulate(problem, theta, XYStatic(), runs=10, seed=1)
    other = pw.simulate(problem, theta, XYStatic(threshold=TrackAndStop()), runs=10, seed=1)
    assert other["correct"].all()
    assert other.mean("measurements") > star.mean("measurements")


def test_static_is_far_above_the_oracle() -> None:
    problem, theta = pw.instances.transductive(20)
    static = pw.simulate(problem, theta, XYStatic(), runs=5, seed=1).mean("measurements")
    assert static > 20 * pw.simulate(problem, theta, XYOracle(theta), runs=5, seed=1).mean("measurements")


def test_growth_and_thresholds_are_those_of_the_papers() -> None:
    """δ_j = δ/(2 j² K²) for all pairs, δ/(2 j² K) where the best item is known."""
    known = Evidence(delta=0.07, check=3, rivals=4, items=9, measurements=130, dimension=2)
    for algorithm, growth, union in (
        (XYStatic(), 1.35, 81),
        (GStatic(), 1.35, 81),
        (XYOracle((1.0, 0.0)), 1.1, 9),
    ):
        assert algorithm.growth == growth
        assert algorithm.authors_threshold.beta(known) == pytest.approx(math.log(2 * 9 * union / 0.07))


def test_every_item_must_be_a_combination_of_probes_for_its_value_to_be_measured() -> None:
    problem = pw.Problem(np.eye(3)[:2], [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]], item_names=["A", "B", "C"])
    with pytest.raises(pw.InvalidAlgorithm, match="no combination of probes gives item 'B'; use xy-static"):
        GStatic().directions(problem, GOAL)
