"""Every constant of a guarantee, recomputed by hand: δ and how it is divided, ε, σ, the number of items, the round.

Numbers differ from 1 and from each other, so that none can stand in for another; decisions are tested on both sides of
the limit. Where an error rate is simulated, it is compared with the exact one, not with a δ that leaves it room.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import norm

import probewise as pw
from probewise.adequacy import ALARM, WARNING, _effect, _inflated, _judged, _matters, _Sums, check_adequacy
from probewise.algorithms import ALGORITHMS
from probewise.algorithms.alba import ALBA
from probewise.algorithms.base import Standing
from probewise.algorithms.explore_verify import ExploreVerify, _compared
from probewise.algorithms.planning import plan
from probewise.algorithms.rage import Rage
from probewise.algorithms.static.growing import Growing
from probewise.algorithms.xy_adaptive import XYAdaptive
from probewise.campaign.findings.numbers import Finished, lead_by_round, numbers
from probewise.confidence import (
    Evidence,
    ExplicitRidge,
    ItemsUnion,
    LogLog,
    LogTime,
    PairsUnion,
    ReplicateBound,
    SelfNormalised,
    StarUnion,
    Threshold,
    TrackAndStop,
    TrackAndStopHeuristic,
    log_evidence,
    log_wealth,
    mixture_width,
    noise_bound,
    spent,
)
from probewise.design import remembering
from probewise.elimination import beaten, behind, eliminated
from probewise.estimate import least_squares
from probewise.measurements import Measurements
from probewise.misfit import Risk
from probewise.pooling import Pooled
from probewise.quantity import OUTCOME
from probewise.testing import informed

DELTA, EPSILON = 0.07, 0.3
SIGMA = np.array([0.6, 1.7])
COUNTS = np.array([30, 50])
STEPS = (1 - 1e-9, 1 + 1e-9)
"""On both sides of a limit."""


def told(counts: Any, means: Any, scatter: Any = None) -> Measurements:
    counts = np.asarray(counts)
    return Measurements(counts, np.asarray(means, dtype=float), np.zeros(counts.size) if scatter is None else scatter)


def two_items(sigma: Any = SIGMA, **more: Any) -> pw.Problem:
    """Probes e1 and e2, which are the items."""
    return pw.Problem(np.eye(2), sigma=sigma, **more)


def error(counts: Any = COUNTS, sigma: Any = SIGMA) -> float:
    """Standard error of the difference of both."""
    return float(np.sqrt((np.asarray(sigma) ** 2 / np.asarray(counts)).sum()))


# --- thresholds ----------------------------------------------------------------------------------------------------


EVIDENCE = Evidence(
    delta=0.07,
    check=3,
    rivals=4,
    items=9,
    measurements=130,
    dimension=2,
    logdet=5.5,
    penalty=0.4,
    norm_bound=2.5,
    largest_probe=1.6,
    information=np.array([[7.0, 2.0], [2.0, 11.0]]),
)


@pytest.mark.parametrize(
    ("threshold", "beta"),
    [
        (StarUnion(), math.log(4 * 3 * 4 / 0.07)),
        (PairsUnion(), math.log(9 * 9 * 3 * 3 / 0.07)),
        (PairsUnion(2.5), math.log(2.5 * 9 * 9 * 3 * 3 / 0.07)),
        (ItemsUnion(), math.log(2 * 9 * 3 * 3 / 0.07)),
        (ItemsUnion(2.5), math.log(2.5 * 9 * 3 * 3 / 0.07)),
        (SelfNormalised(), (math.sqrt(2 * math.log(1 / 0.07) + 5.5) + math.sqrt(0.4) * 2.5) ** 2 / 2),
        (SelfNormalised(True), (math.sqrt(2 * math.log(81 / 0.07) + 5.5) + math.sqrt(0.4) * 2.5) ** 2 / 2),
        (
            ExplicitRidge(),
            (math.sqrt(math.log(1 / 0.07) + math.log(1 + 130 * 1.6**2 / (0.4 * 2))) + math.sqrt(0.4 / 2) * 2.5) ** 2,
        ),
        (
            TrackAndStop(0.3, 0.6),
            1.3 * math.log(math.sqrt((1 + 7 / 0.18) * (1 + 11 / 0.18) - (2 / 0.18) ** 2) / 0.07),
        ),
        (TrackAndStopHeuristic(0.3), 1.3 * (math.log(1 / 0.07) + math.log(130) / 2 + math.log(1 + 1 / 0.3))),
        (LogLog(), math.log((1 + math.log(130)) / 0.07)),
        (LogTime(), math.log(131 / 0.07)),
    ],
    ids=lambda value: repr(value) if not isinstance(value, float) else "",
)
def test_thresholds(threshold: Any, beta: float) -> None:
    assert threshold.beta(EVIDENCE) == pytest.approx(beta, rel=1e-12)
    assert threshold.width(EVIDENCE) == pytest.approx(math.sqrt(2 * beta), rel=1e-12)


def test_before_any_measurement_a_determinant_adds_nothing() -> None:
    nothing = Evidence(0.07, 1, 4, 9, 0, 2, penalty=0.4, norm_bound=2.5)
    expected = (math.sqrt(2 * math.log(1 / 0.07)) + math.sqrt(0.4) * 2.5) ** 2 / 2
    assert SelfNormalised().beta(nothing) == pytest.approx(expected, rel=1e-12)
    assert (nothing.information, nothing.largest_probe) == (None, math.inf)


def test_the_unions_keep_their_promise_at_their_least_factor() -> None:
    assert ItemsUnion(math.pi**2 / 6).factor == math.pi**2 / 6
    assert PairsUnion(1.0).factor == 1.0
    for factory, factor in ((ItemsUnion, math.pi**2 / 6), (PairsUnion, 1.0)):
        with pytest.raises(pw.InvalidAlgorithm, match="for the bound to hold"):
            factory(factor * (1 - 1e-9))
    for u, c in ((0.1, 0.0), (0.0, 0.1), (math.inf, 1.0), (1.0, math.inf)):
        with pytest.raises(pw.InvalidAlgorithm, match="u and c must be positive and finite"):
            TrackAndStop(u, c)


def test_track_and_stop_waits_for_its_least_eigenvalue() -> None:
    shown = replace(EVIDENCE, information=np.diag([2.0, 5.0]))
    assert math.isinf(TrackAndStop(c=2.0 * (1 + 1e-9)).beta(shown))
    assert math.isfinite(TrackAndStop(c=2.0 * (1 - 1e-9)).beta(shown))


def test_checks_spend_delta() -> None:
    assert spent(DELTA, 4) == pytest.approx(DELTA / 20)
    assert sum(spent(DELTA, t) for t in range(1, 10_000)) == pytest.approx(DELTA, rel=2e-4)


# --- bets and widths -----------------------------------------------------------------------------------------------


def evidence_of(total: float, precision: float, scale: float) -> float:
    """The half-normal mixture of exp(λS - λ²W/2) by its formula."""
    z = total / math.sqrt(precision + scale)
    return 2 * float(norm.cdf(z)) * math.exp(z * z / 2) * math.sqrt(scale / (precision + scale))


def wealth_of(total: float, precision: float, unit: float) -> float:
    shares = [1 / k for k in range(1, 8)]
    scales = [2 * 10**k * unit for k in range(7)]
    parts = [share * evidence_of(total, precision, scale) for share, scale in zip(shares, scales, strict=True)]
    return math.log(sum(parts) / sum(shares))


@pytest.mark.parametrize("total", [-9.0, -0.4, 0.0, 3.0, 17.0])
def test_bets_make_what_their_formula_says(total: float) -> None:
    row = [np.array([value]) for value in (total, 6.0, 0.35)]
    assert log_evidence(*row)[0] == pytest.approx(math.log(evidence_of(total, 6.0, 0.35)), rel=1e-9, abs=1e-12)
    assert log_wealth(*row)[0] == pytest.approx(wealth_of(total, 6.0, 0.35), rel=1e-9, abs=1e-12)


def test_intervals_end_where_the_two_sided_mixture_is_one_over_alpha() -> None:
    precision, scale, alpha = 6.0, 0.35, 0.013
    width = float(mixture_width(np.array([precision]), np.array([scale]), alpha)[0])
    total = precision * width
    mixture = math.exp(total**2 / (2 * (precision + scale))) * math.sqrt(scale / (precision + scale))
    assert mixture == pytest.approx(1 / alpha, rel=1e-9)
    unknown = mixture_width(np.array([0.0, 3.0]), np.array([0.35, 0.0]), alpha)
    assert np.isinf(unknown).all()


def noise_root(value: float, degrees: int, alpha: float) -> float:
    """Q/q for the q at which the martingales of the page average 1/alpha."""
    rates = 16 / 3.0 ** np.arange(9)

    def mean(q: float) -> float:
        return float(logsumexp(degrees / 2 * np.log(1 + 2 * rates) - rates * q)) - math.log(9 / alpha)

    return value / brentq(mean, 0.0, 10.0 * degrees, xtol=1e-13, rtol=1e-13)


@pytest.mark.parametrize(("degrees", "alpha"), [(5, 0.07), (40, 0.007), (3000, 0.2)])
def test_bounds_on_the_noise(degrees: int, alpha: float) -> None:
    expected = noise_root(3.7, degrees, alpha)
    assert ReplicateBound().variance(3.7, degrees, alpha) == pytest.approx(expected, rel=1e-9)
    assert noise_bound(3.7, degrees, alpha) == pytest.approx(expected, rel=1e-9)


def test_a_bound_on_the_noise_needs_degrees_and_scatter() -> None:
    bound, alpha = ReplicateBound((2.0,)), 0.1
    enough = 2 * math.log(1 / alpha) / math.log(5.0)  # (1 + 2κ)^(ν/2) = 1/alpha
    assert math.isinf(bound.variance(1.0, math.floor(enough), alpha))
    assert math.isfinite(bound.variance(1.0, math.ceil(enough), alpha))
    assert math.isinf(bound.variance(0.0, 50, alpha))
    for rates in ((), (0.0,), (1.0, math.inf)):
        with pytest.raises(pw.InvalidAlgorithm, match="rates must be positive and finite"):
            ReplicateBound(rates)


# --- elimination ---------------------------------------------------------------------------------------------------


def test_who_is_beaten_is_beaten_by_the_whole_width() -> None:
    scores = np.array([1.0, 3.5, 3.0])
    np.testing.assert_array_equal(behind(scores, 2.5), [True, False, False])
    np.testing.assert_array_equal(behind(scores, 2.5 * STEPS[1]), [False, False, False])
    items = np.array([[0.0, 0.0], [3.0, 4.0]])  # at distance 5
    for step, lost in zip(STEPS, ([True, False], [False, False]), strict=True):
        np.testing.assert_array_equal(beaten(items, np.array([1.0, 3.0]), 2.0 / 5.0 * step), lost)
        np.testing.assert_array_equal(beaten(items, np.array([3.0, 1.0]), 2.0 / 5.0 * step), lost[::-1])


def test_beaten_items_beat_others_too_and_equal_scores_beat_nobody() -> None:
    # 2 is beaten by 1 only, which 0 beats; blocks must not forget it
    items = np.array([[0.0, 9.0], [0.0, 0.0], [0.0, 0.1]])
    np.testing.assert_array_equal(beaten(items, np.array([10.0, 0.9, 0.8]), 1.0), [False, True, True])
    np.testing.assert_array_equal(beaten(np.array([[1.0], [1.0]]), np.array([2.0, 2.0]), 1.0), [False, False])
    np.testing.assert_array_equal(beaten(np.array([[1.0], [1.0]]), np.array([2.0, 1.0]), 1.0), [False, True])


def test_blocks_of_rivals_decide_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    items, scores = rng.normal(size=(80, 3)), rng.normal(size=80)
    ahead, apart = scores[:, None] - scores, np.linalg.norm(items[:, None] - items, axis=2)
    expected = ((ahead > 0) & (ahead >= 0.9 * apart)).any(axis=0)
    assert 0 < expected.sum() < 79
    for block in (1, 50, 10**6):
        monkeypatch.setattr("probewise.elimination._BLOCK", block)
        np.testing.assert_array_equal(beaten(items, scores, 0.9), expected)


def test_half_widths_are_those_of_the_widest_comparison_left() -> None:
    problem = pw.Problem(np.eye(2), [[1.0, 0.0], [0.0, 2.0], [-9.0, -9.0]], sigma=SIGMA)
    fit = least_squares(problem.probes, told(COUNTS, [1.0, 0.5]), sigma=SIGMA)
    lost, width = eliminated(problem.items, fit, 2.5)
    assert lost.tolist() == [False, False, True]
    assert width == pytest.approx(2.5 * math.sqrt(0.6**2 / 30 + 4 * 1.7**2 / 50))
    assert eliminated(problem.items[[0, 2]], fit, 2.5)[1] == 0.0
    assert eliminated(problem.items[:1], fit, math.inf)[1] == 0.0
    nobody, infinite = eliminated(problem.items, fit, math.inf)
    assert (nobody.any(), infinite) == (False, math.inf)
    half = least_squares(problem.probes, told([30, 0], [1.0, 0.0]), sigma=SIGMA)
    nobody, infinite = eliminated(problem.items, half, 2.5)
    assert (nobody.any(), infinite) == (False, math.inf)


# --- RAGE ----------------------------------------------------------------------------------------------------------


ITEMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.7], [-3.0, -2.0], [0.2, 0.2]])


def rage_log(variant: str, survivors: int, t: int) -> float:
    items = len(ITEMS)
    return {
        "tight": math.log((survivors - 1) * t * (t + 1) / DELTA),
        "paper": math.log(items**2 * t**2 / DELTA),
        "code": math.log(2 * items**2 * t**2 / DELTA),
    }[variant]


@pytest.mark.parametrize("variant", ["tight", "code", "paper"])
@pytest.mark.parametrize("t", [1, 3])
def test_rage_rules_out_at_its_own_level(variant: Any, t: int) -> None:
    problem, goal, algorithm = pw.Problem(np.eye(2), ITEMS, sigma=SIGMA), pw.BestItem(DELTA, EPSILON), Rage(variant)
    survivors = np.array([0, 1, 4])
    state = replace(algorithm.init(problem, goal), t=t, survivors=survivors)
    pairs = [ITEMS[i] - ITEMS[j] for i in survivors for j in survivors if i > j]
    widest = max(float((y**2 * SIGMA**2 / COUNTS).sum()) for y in pairs)
    factor = math.sqrt(2 * rage_log(variant, 3, t))
    margin = factor * (error() if variant != "paper" else math.sqrt(widest))
    for step, gone in zip(STEPS, (False, True), strict=True):
        lead = margin * step
        after = algorithm.tell(problem, goal, state, told(COUNTS, [1.0 + lead, 1.0]))
        assert (1 not in after.survivors) is gone
        assert after.t == t + 1
    nobody = algorithm.tell(problem, goal, state, told(COUNTS, [0.0, 0.0]))
    assert nobody.width == pytest.approx(factor * math.sqrt(widest))


def test_the_paper_rules_out_by_its_fixed_margin_once_that_is_the_larger() -> None:
    problem, goal, algorithm = two_items(), pw.BestItem(DELTA), Rage("paper")
    counts = np.array([3, 5]) * 10**9
    state = replace(algorithm.init(problem, goal), t=3)
    for step, gone in zip(STEPS, (False, True), strict=True):
        after = algorithm.tell(problem, goal, state, told(counts, [2.0**-5 * step, 0.0]))
        assert (after.survivors.size == 1) is gone


@pytest.mark.parametrize("variant", ["tight", "code", "paper"])
@pytest.mark.parametrize("rounding", [None, 0.4])
def test_rage_plans_what_its_width_takes(variant: Any, rounding: float | None) -> None:
    problem, goal = pw.Problem(np.eye(2), ITEMS, sigma=SIGMA, cost=[1.0, 3.0]), pw.BestItem(DELTA, 0.01)
    algorithm, t, width = Rage(variant, rounding), 3, 0.5
    survivors = np.array([0, 1, 2])
    phase = replace(algorithm.init(problem, goal), t=t, survivors=survivors, width=width)
    slack = rounding or {"paper": 0.2, "code": 0.1, "tight": 0.1}[variant]
    rho = plan(problem, pw.pairs(ITEMS[survivors]), tol=1e-2).rho
    half = {"tight": width / 2, "code": 2.0**-t, "paper": 2.0 ** -(t + 2)}[variant]
    expected = math.ceil(2 * rho * (1 + slack) * rage_log(variant, 3, t) / half**2)
    assert algorithm._planned(problem, goal, phase).counts.sum() == expected
    close = replace(phase, width=1e-9)
    if variant == "tight":  # nothing below epsilon is of use
        expected = math.ceil(2 * rho * (1 + slack) * rage_log(variant, 3, t) / 0.01**2)
        assert algorithm._measurements(problem, goal, close, rho, 2) == expected


def test_rage_rounds_have_their_least_size() -> None:
    problem, goal = two_items(), pw.BestItem(DELTA, 1e9)
    phase = replace(Rage().init(problem, pw.BestItem(DELTA)), width=1e9)
    sizes = {kind: Rage(kind, 0.3)._measurements(problem, goal, phase, 1e-9, 2) for kind in ("tight", "code", "paper")}
    # (p - 1)(1 + 1/ε); 2p/ε; (d(d+1)/2 + 1)/ε
    assert sizes == {"tight": math.ceil(1 + 1 / 0.3), "code": math.ceil(4 / 0.3), "paper": math.ceil(4 / 0.3)}


def test_rage_ends_at_epsilon() -> None:
    problem, algorithm = two_items(), Rage()
    state = replace(algorithm.init(problem, pw.BestItem(DELTA)), width=EPSILON, scores=np.array([0.1, 0.2]))
    assert algorithm.answer(problem, pw.BestItem(DELTA, EPSILON), state) == (1,)
    assert algorithm.answer(problem, pw.BestItem(DELTA, EPSILON * STEPS[0]), state) is None


# --- XY-adaptive ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("threshold", [StarUnion(), PairsUnion(2.5)])
def test_xy_adaptive_rules_out_at_its_own_level(reset: bool, threshold: Any) -> None:
    items = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2], [-3.0, -2.0], [-4.0, -1.0]])
    problem, goal = pw.Problem(np.eye(2), items, sigma=SIGMA), pw.BestItem(DELTA, 1e-3)
    algorithm, j = XYAdaptive(reset=reset, threshold=threshold), 3
    state = replace(algorithm.init(problem, goal), j=j, survivors=np.array([0, 1, 2]))
    among = 5 if reset else 3
    beta = math.log((among - 1) * 12 / DELTA) if isinstance(threshold, StarUnion) else math.log(2.5 * 25 * 9 / DELTA)
    limit = math.sqrt(2 * beta) * error()
    for step, gone in zip(STEPS, (False, True), strict=True):
        after = algorithm.tell(problem, goal, state, told(COUNTS, [1.0 + limit * step, 1.0]))
        assert (1 not in after.survivors) is gone
        assert (after.j, after.leader) == (4, 0)
    if not reset:
        pairs = [items[i] - items[k] for i in (0, 1, 2) for k in (0, 1, 2)]
        widest = max(float((y**2 * SIGMA**2 / COUNTS).sum()) for y in pairs)
        assert algorithm.tell(problem, goal, state, told(COUNTS, [0.0, 0.0])).width == pytest.approx(
            math.sqrt(2 * beta * widest)
        )


def test_xy_adaptive_ends_at_epsilon() -> None:
    problem, algorithm = two_items(), XYAdaptive()
    state = replace(algorithm.init(problem, pw.BestItem(DELTA)), width=EPSILON, leader=1)
    assert algorithm.answer(problem, pw.BestItem(DELTA, EPSILON), state) == (1,)
    assert algorithm.answer(problem, pw.BestItem(DELTA, EPSILON * STEPS[0]), state) is None


# --- one design for all rounds -------------------------------------------------------------------------------------


STATIC: dict[str, tuple[Any, Any]] = {
    "uniform": (pw.Uniform(), lambda t: math.log(2 * t * (t + 1) / DELTA)),
    "xy-static": (pw.XYStatic(), lambda t: math.log(2 * t * (t + 1) / DELTA)),
    "g-static": (pw.GStatic(), lambda t: math.log(2 * t * (t + 1) / DELTA)),
    "xy-static code": (pw.XYStatic(variant="code"), lambda t: math.log(2 * 9 * t**2 / DELTA)),
    "oracle code": (pw.XYOracle([0.5, 0.2], variant="code"), lambda t: math.log(2 * 3 * t**2 / DELTA)),
}


@pytest.mark.parametrize("name", STATIC)
@pytest.mark.parametrize("epsilon", [0.0, EPSILON])
def test_static_designs_pass_at_their_own_level(name: str, epsilon: float) -> None:
    algorithm, beta = STATIC[name]
    problem, goal = pw.Problem(np.eye(2), [[1, 0], [0, 1], [0.2, 0]], sigma=SIGMA), pw.BestItem(DELTA, epsilon)
    before = told(COUNTS - 10, [0.0, 0.0])
    state = replace(algorithm.init(problem, goal), check=2 if "code" not in name else 1, data=before)
    limit = math.sqrt(2 * beta(3)) * error() - epsilon
    for step, passed in ((limit - 1e-9, False), (limit + 1e-9, True)):
        lead = step * COUNTS[0] / 10  # all of it in the last ten
        after = algorithm.tell(problem, goal, state, told([10, 10], [lead, 0.0]))
        assert (algorithm.answer(problem, goal, after) is not None) is passed
        assert (after.check, after.data.n, after.guess) == (3, 80, (0,))
        left = [0] if epsilon == 0 else [0, 1]
        assert algorithm.standing(problem, goal, after).remaining.tolist() == (left if passed else [0, 1, 2])


def test_totals_grow_by_the_factor_from_the_size_of_the_support() -> None:
    problem, goal, rng = two_items(), pw.BestItem(DELTA), np.random.default_rng(0)
    for check, total in ((0, 2), (1, 3), (4, math.ceil(2 * 1.5**4))):
        state = Growing(np.array([0.4, 0.6]), check, told([1, 1], [0.0, 0.0]), None)
        asked = pw.Uniform(growth=1.5).ask(problem, goal, state, rng)
        assert asked.sum() + 2 == max(total, 3)


# --- explore and verify --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attempt", [1, 3])
@pytest.mark.parametrize("epsilon", [0.0, EPSILON])
def test_verification_is_at_the_level_of_its_attempt(attempt: int, epsilon: float) -> None:
    problem, goal = pw.Problem(np.eye(2), [[1, 0], [0, 1], [0.2, 0]], sigma=SIGMA), pw.BestItem(DELTA, epsilon)
    algorithm = ExploreVerify()
    state = replace(algorithm.init(problem, goal), attempt=attempt, counts=COUNTS, candidate=0)
    limit = math.sqrt(2 * math.log(attempt * (attempt + 1) / DELTA)) * error() - epsilon
    for step, passed in ((limit - 1e-9, False), (limit + 1e-9, True)):
        after = algorithm.tell(problem, goal, state, told(COUNTS, [step, 0.0]))
        assert after.verified is passed
        assert after.attempt == attempt + (not passed)
        if passed:
            assert after.left.tolist() == ([0] if epsilon == 0 else [0, 1])


@pytest.mark.parametrize("attempt", [1, 3])
def test_the_verification_takes_what_its_level_and_its_power_need(attempt: int) -> None:
    problem, goal = pw.Problem(np.eye(2), [[1, 0], [0, 1], [-9, -9]], sigma=SIGMA), pw.BestItem(DELTA, EPSILON)
    algorithm, kappa = ExploreVerify(kappa=0.2), 0.2
    data = told(COUNTS, [5.0, 0.5])
    state = replace(algorithm.init(problem, goal), attempt=attempt, data=data, candidate=0)
    far = np.sqrt(((np.array([[1, -1], [10, 9]]) ** 2) * SIGMA**2 / COUNTS).sum(axis=1))
    gaps = np.array([4.5, 10 * 5.0 + 9 * 0.5]) - (attempt - 1) * far + EPSILON
    psi = plan(problem, pw.star(problem.items, 0, np.array([1.0, *gaps])), tol=1e-2).rho
    need = math.sqrt(math.log(attempt * (attempt + 1) / DELTA)) + math.sqrt(math.log(2 / kappa))
    assert algorithm._planned(problem, goal, state).counts.sum() == max(math.ceil(2 * psi * 1.1 * need**2), 11)


def test_gaps_believed_are_at_least_a_standard_error() -> None:
    problem, goal = two_items(), pw.BestItem(DELTA, EPSILON)
    algorithm = ExploreVerify()
    state = replace(algorithm.init(problem, goal), attempt=4, data=told(COUNTS, [0.5, 0.4]), candidate=0)
    psi = plan(problem, pw.star(problem.items, 0, np.array([1.0, error() + EPSILON])), tol=1e-2).rho
    need = math.sqrt(math.log(20 / DELTA)) + math.sqrt(math.log(1 / 0.1))
    assert algorithm._planned(problem, goal, state).counts.sum() == math.ceil(2 * psi * 1.1 * need**2)


def test_exploration_is_at_the_level_kappa_with_the_same_epsilon() -> None:
    explorer, level = ExploreVerify(kappa=0.2)._explorer(pw.BestItem(DELTA, EPSILON))
    assert (explorer, level) == (pw.GStatic(), pw.BestItem(0.2, EPSILON))


# --- ALBA ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "statements"),
    [({}, 7 * 6 / 2 + 2), ({"elimination": "x"}, 7), ({"variant": "code"}, 49 / 2)],
    ids=["y", "x", "code"],
)
def test_alba_divides_delta_among_calls_steps_and_statements(settings: dict[str, Any], statements: float) -> None:
    problem, goal = two_items(), pw.BestItem(DELTA)
    algorithm = ALBA(norm_bound=2.4, **settings)
    first = algorithm.init(problem, goal)
    state = replace(first, call=2, step=4, entered=7)
    log = math.log(5 * statements / (DELTA * (6 / math.pi**2) ** 2 / (3 * 4) ** 2))
    assert algorithm._log(goal, state, first.draw) == pytest.approx(log)
    code = settings.get("variant") == "code"
    accuracy, g2 = (4 / 1.1**4, 2) if code else (2.0**-4, first.draw.leverage**2)
    bound = 2.4 / 0.6
    size = max(4 * bound**2, 3) * (2 + (6 + accuracy) * g2) / (accuracy / 2) ** 2
    asked = algorithm.ask(problem, goal, state, np.random.default_rng(0))
    assert asked.sum() == math.ceil(size * log)


def test_albas_bound_on_outcomes_is_in_units_of_each_noise() -> None:
    draw = ALBA(norm_bound=2.4).init(two_items(), pw.BestItem(DELTA)).draw
    assert draw.bounds == pytest.approx([2.4 / 0.6, 2.4 / 1.7])
    assert draw.bound == pytest.approx(2.4 / 0.6)
    assert draw.suffices(3 * draw.leverage**2)
    assert not draw.suffices(3 * draw.leverage**2 * STEPS[0])


def alba_width(problem: pw.Problem, draw: Any, theta: Any, log: float, n: int, y: Any, means: Any) -> float:
    """Lemma 1 of docs/alba.md for one direction."""
    size, g, X = n / log, draw.leverage, problem.probes / SIGMA[:, None]
    inverse = np.linalg.inv(X.T @ (draw.weights[:, None] * X))
    swing = np.abs(X @ inverse @ y) * means
    mean = float(draw.weights @ swing)
    noise = math.sqrt(2 / size * (1 + g * math.sqrt(3 / size)))
    spread = math.sqrt(2 * float(draw.weights @ swing**2) / size) + 2 * (swing.max() + mean) / (3 * size)
    return spread + math.sqrt(y @ inverse @ y) * noise


def test_alba_rules_out_beyond_its_width() -> None:
    problem, goal, algorithm = two_items(), pw.BestItem(DELTA), ALBA(norm_bound=2.4)
    first = algorithm.init(problem, goal)
    state, draw, y = replace(first, step=3), first.draw, np.array([1.0, -1.0])
    n, log = 40_000, math.log(5 * (1 + 2) / (DELTA * (6 / math.pi**2) ** 2 / (2 * 3) ** 2))  # call 1, step 3
    counts = np.rint(n * draw.weights).astype(np.int64)
    size, g, bounds = n / log, draw.leverage, 2.4 / SIGMA
    accuracy = g * (bounds.max() * (math.sqrt(2 / size) + 2 * (1 + g) / (3 * size)))
    accuracy += g * math.sqrt(2 * (1 + g * math.sqrt(3 / size)) / size)

    def slack(lead: float) -> float:
        theta = draw.theta(problem, told(counts, [lead, 0.0]))
        means = np.minimum(bounds, np.abs(theta / SIGMA) + accuracy)
        return alba_width(problem, draw, theta, log, n, y, means) - float(y @ theta)

    limit = brentq(slack, 0.0, 2.0, xtol=1e-14)
    for step, gone in zip((-1e-9, 1e-9), (False, True), strict=True):
        after = algorithm.tell(problem, goal, state, told(counts, [limit + step, 0.0]))
        assert (after.survivors.size == 1) is gone
    kept = algorithm.tell(problem, goal, state, told(counts, [0.9 * limit, 0.0]))
    assert kept.slack == pytest.approx(slack(0.9 * limit), rel=1e-9)
    assert algorithm.answer(problem, pw.BestItem(DELTA, kept.slack), kept) == (0,)
    assert algorithm.answer(problem, pw.BestItem(DELTA, kept.slack * STEPS[0]), kept) is None


def test_alba_x_has_one_margin_for_all() -> None:
    problem, goal, algorithm = two_items(), pw.BestItem(DELTA), ALBA("x", norm_bound=2.4)
    first = algorithm.init(problem, goal)
    state, draw = replace(first, step=3), first.draw
    X = problem.probes / SIGMA[:, None]
    inverse = np.linalg.inv(X.T @ (draw.weights[:, None] * X))
    longest = math.sqrt(max(z @ inverse @ z for z in problem.items))
    many = 10**9
    counts = np.rint(many * draw.weights).astype(np.int64)
    margin = 2.0**-3 / draw.leverage * longest
    gain = draw.theta(problem, told(counts, [1.0, 0.0]))[0]
    for step, gone in zip((-1e-7, 1e-7), (False, True), strict=True):
        after = algorithm.tell(problem, goal, state, told(counts, [margin / gain + step, 0.0]))
        assert (after.survivors.size == 1) is gone


# --- LinGapE -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm_bound", [None, 2.5])
def test_lingape_stops_at_epsilon(norm_bound: float | None) -> None:
    problem, goal = two_items(), pw.BestItem(DELTA, EPSILON)
    algorithm = pw.LinGapE(norm_bound=norm_bound, penalty=0.4)
    state = algorithm.tell(problem, goal, algorithm.init(problem, goal), told([1, 1], [3.0, 2.0]))
    state = algorithm.tell(problem, goal, state, told(COUNTS - 1, [1.4, 0.5]))
    total = (np.array([3.0, 2.0]) + (COUNTS - 1) * np.array([1.4, 0.5])) / SIGMA**2
    if norm_bound is None:
        # coordinates in which the first round, one of each, has information I
        information, scale = COUNTS / SIGMA**2, 1 / SIGMA**2
        half = math.log(math.prod(1 + COUNTS / 0.1)) / 2
        width = math.sqrt(2 * 1.1 * (half + math.log(1 / DELTA)))
        assert scale.size == 2
    else:
        information = 0.4 + COUNTS / SIGMA**2
        logdet = math.log(math.prod(information / 0.4))
        root = math.sqrt(2 * math.log(4 / DELTA) + logdet)
        width = root + math.sqrt(0.4) * 2.5
    theta = total / information
    bound = theta[1] - theta[0] + width * math.sqrt((1 / information).sum())
    assert state.bound == pytest.approx(bound, rel=1e-6)
    assert (state.leader, state.rival) == (0, 1)
    assert algorithm.answer(problem, pw.BestItem(DELTA, state.bound), state) == (0,)
    assert algorithm.answer(problem, pw.BestItem(DELTA, state.bound * STEPS[0]), state) is None


# --- Sage ----------------------------------------------------------------------------------------------------------


FIRST, SECOND = (np.array([7, 9]), [0.9, 0.4]), (np.array([31, 20]), [1.1, 0.1])


def sage_wealth(unit: float, noise: float, epsilon: float, sigma: Any = SIGMA) -> tuple[float, float]:
    """Of bets on item 0 against item 1 in the second round; and with epsilon counted for item 0."""
    (early, means), (late, later) = FIRST, SECOND
    W1, W2 = 1 / error(early, sigma) ** 2, 1 / error(late, sigma) ** 2
    S1, S2 = W1 * (means[0] - means[1]), W2 * (later[0] - later[1])
    before = wealth_of((S1 + epsilon * W1) / noise, W1, unit)
    after = wealth_of((S1 + S2 + epsilon * W1) / noise, W1 + W2, unit)
    eased = wealth_of((S1 + S2 + epsilon * (W1 + W2)) / noise, W1 + W2, unit)
    return after - before, eased - before


def sage_answer(problem: pw.Problem, goal: pw.BestItem, scatter: Any = (None, None)) -> Any:
    algorithm = pw.Sage(opening=0.0)
    state = algorithm.init(problem, goal)
    for (counts, means), spread in zip((FIRST, SECOND), scatter, strict=True):
        assert algorithm.answer(problem, goal, state) is None
        state = algorithm.tell(problem, goal, state, told(counts, means, spread))
    return algorithm.answer(problem, goal, state)


def unit_of(problem: pw.Problem) -> float:
    """The precision that the first round should have."""
    return float(pw.Sage(opening=0.0).init(problem, pw.BestItem()).prior.unit(problem, 0, np.array([1]))[0])


def test_the_unit_is_the_precision_of_the_first_round_as_planned() -> None:
    problem = two_items()
    settings = ({"opening": 0.0}, {}, {"lean": True})
    old, new, lean = (pw.Sage(**given).init(problem, pw.BestItem()).prior for given in settings)
    assert (old.size, old.least) == (4, 4)  # two per probe of the design, fewer than three per dimension
    assert (new.size, new.least) == (4, 2)  # one per probe later
    assert (lean.size, lean.least) == (2, 2)  # and at first
    assert unit_of(problem) == pytest.approx(4 / (0.6 + 1.7) ** 2, rel=0.03)
    assert new.unit(problem, 0, np.array([1]))[0] == pytest.approx(unit_of(problem) / 2)
    assert lean.unit(problem, 0, np.array([1]))[0] == pytest.approx(unit_of(problem) / 10)
    unknown = pw.Sage(lean=True).init(pw.Problem(np.eye(2), sigma="unknown"), pw.BestItem()).prior
    assert (unknown.size, unknown.least) == (4, 4)  # only replicates show the noise
    nine = pw.Sage().init(pw.Problem(np.eye(9)), pw.BestItem()).prior
    assert (nine.size, nine.least) == (18, 18)
    rng = np.random.default_rng(0)
    many = pw.Problem(rng.normal(size=(60, 6)), rng.normal(size=(90, 6)))
    weights = plan(many, pw.pairs(many.items), tol=0.03).weights
    assert np.count_nonzero(weights) > 9
    prior = pw.Sage().init(many, pw.BestItem()).prior
    assert (prior.size, prior.least) == (18, 18)


@pytest.mark.parametrize("printed", [False, True])
def test_a_tenth_of_each_account_is_spread_over_all_rivals_in_the_first_round(printed: bool) -> None:
    """By quadrature: the scales are 0.1, 1, … of the unit's precision; rivals that are behind add nothing.

    If that is asked for, half of it is bet at the scale of printed intervals, the precision of the round.
    """
    problem, goal, sage = pw.Problem(np.eye(3), sigma=0.5), pw.BestItem(1e-9), pw.Sage(printed=printed)
    state = sage.init(problem, goal)
    means = np.array([1.0, 0.2, -0.4])
    after = sage.tell(problem, goal, state, told(np.array([2, 3, 4]), means))
    unit = (state.prior.size / 2) / (6 * 0.25)  # the design has weights 1/3, so that a pair has the variance 6σ²
    shares = 1 / np.arange(1, 8)

    def made(z: int, other: int) -> float:
        v = 0.25 * (1 / (2, 3, 4)[z] + 1 / (2, 3, 4)[other])
        s, w = (means[z] - means[other]) / v, 1 / v
        out, scales, parts = 0.0, 0.1 * 10.0 ** np.arange(7) * unit, shares / shares.sum()
        if printed:
            scales, parts = np.append(scales, w), np.append(parts, 1.0) / 2
        for share, rho in zip(parts, scales, strict=True):
            width = 1 / math.sqrt(w + rho)
            found = quad(lambda x: math.exp(x * s - x * x * (w + rho) / 2), 0, s * width**2 + 12 * width)  # noqa: B023
            out += share * 2 * math.sqrt(rho / (2 * math.pi)) * found[0]
        return out

    rivals = {0: [], 1: [made(0, 1)], 2: [made(0, 2), made(1, 2)]}
    wanted = [math.log(0.9 + 0.1 * sum(rivals[item]) / 2) for item in after.alive.tolist()]
    np.testing.assert_allclose(after.wealth, wanted, rtol=1e-2)
    np.testing.assert_allclose(after.peaks.plain[after.alive], np.maximum(wanted, 0.0), rtol=1e-2, atol=1e-12)


def test_sage_rules_out_when_bets_have_made_one_over_delta() -> None:
    problem = two_items()
    wealth, _ = sage_wealth(unit_of(problem), 1.0, 0.0)
    delta = math.exp(-wealth)
    assert 0.001 < delta < 0.3
    assert sage_answer(problem, pw.BestItem(delta * STEPS[0])) is None
    assert sage_answer(problem, pw.BestItem(delta * STEPS[1])) == (0,)


def test_sage_ends_within_epsilon_when_eased_bets_have() -> None:
    problem, epsilon = two_items(), 0.2
    plain, eased = sage_wealth(unit_of(problem), 1.0, epsilon)
    assert eased > plain
    delta = math.exp(-eased)
    assert sage_answer(problem, pw.BestItem(delta * STEPS[0], epsilon)) is None
    assert sage_answer(problem, pw.BestItem(delta * STEPS[1], epsilon)) == (0,)


def test_sage_divides_delta_between_unknown_noise_and_bets() -> None:
    """A tenth of δ bounds the noise by the first round's replicates, and nine tenths are left to the bets."""
    relative = np.array([1.0, 1.0])
    problem = pw.Problem(np.eye(2), sigma="unknown")
    scatter = (np.array([1.1, 1.6]), np.array([4.0, 3.0]))
    degrees, squares = int(FIRST[0].sum()) - 2, float(scatter[0].sum())

    def excess(delta: float) -> float:
        noise = math.sqrt(noise_root(squares, degrees, 0.1 * delta))
        return sage_wealth(unit_of(problem), noise, 0.0, relative)[0] + math.log(0.9 * delta)

    delta = brentq(excess, 1e-6, 0.9, xtol=1e-14)
    assert 1e-4 < delta < 0.5
    assert sage_answer(problem, pw.BestItem(delta * (1 - 1e-6)), scatter) is None
    assert sage_answer(problem, pw.BestItem(delta * (1 + 1e-6)), scatter) == (0,)


# --- intervals -----------------------------------------------------------------------------------------------------


def span(precision: float, first: float, alpha: float) -> float:
    """Half-width of the page, with the first round's precision as scale."""
    spread = precision + first
    return math.sqrt(spread * (math.log(spread / first) + 2 * math.log(1 / alpha))) / precision


@pytest.mark.parametrize("known", [True, False])
def test_intervals_share_delta_among_items_and_among_pairs(known: bool) -> None:
    items = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.7], [-3.0, -2.0], [0.2, 0.2]]
    sigma = SIGMA if known else np.ones(2)
    problem = pw.Problem(np.eye(2), items, sigma=SIGMA if known else "unknown")
    goal = pw.BestItem(DELTA)
    rounds = [told(FIRST[0], FIRST[1], np.array([1.1, 1.6])), told(SECOND[0], SECOND[1], np.array([4.0, 3.0]))]
    standings = [Standing(np.arange(5), (0,), 0.5)] * 2
    pool = Finished.each(problem, rounds, problem.sigma).pool
    noise = 1.0 if known else math.sqrt(noise_root(9.7, 63, 0.1 * DELTA))
    if not known:
        assert problem.outcome.bound(pool.pure_error, goal.delta) == pytest.approx(noise, rel=1e-9)
    now = numbers(problem, goal, rounds, standings)
    left = DELTA if known else 0.9 * DELTA
    W = [1 / (sigma[1] ** 2 / counts[1]) for counts in (FIRST[0], SECOND[0])]
    value = now.items[1]
    assert value.high - value.estimate == pytest.approx(noise * span(sum(W), W[0], left / 5), rel=1e-9)
    assert value.estimate - value.low == pytest.approx(value.high - value.estimate)
    W = [1 / error(counts, sigma) ** 2 for counts in (FIRST[0], SECOND[0])]
    half = noise * span(sum(W), W[0], left / 10)  # ten pairs of five items
    assert value.most - value.behind == pytest.approx(half, rel=1e-9)
    assert value.behind - value.least == pytest.approx(max(half, value.behind), rel=1e-9)  # it is not ruled out
    values, widths = lead_by_round(problem, goal, pool, (0, 1))
    own = [1.0, 1.0] if known else [math.sqrt(noise_root(2.7, 14, 0.1 * DELTA)), noise]
    assert widths == pytest.approx(
        [own[0] * span(W[0], W[0], left / 10), own[1] * span(sum(W), W[0], left / 10)], rel=1e-9
    )
    mean = (W[0] * 0.5 + W[1] * 1.0) / sum(W)
    assert values == pytest.approx([0.5, mean], rel=1e-9)
    assert value.behind == pytest.approx(mean, rel=1e-9)


# --- adequacy ------------------------------------------------------------------------------------------------------


def test_three_checks_share_the_alarms() -> None:
    assert (ALARM, WARNING) == (0.01, 0.001)
    limit = math.log(300.0)
    assert _judged(limit * STEPS[1], 0.5, matters=True) == "inadequate"
    assert _judged(limit * STEPS[0], 0.5, matters=True) == "adequate"
    assert _judged(limit * STEPS[1], 0.5, matters=False) == "doubtful"
    assert _judged(0.0, 0.001 * STEPS[0], matters=True) == "doubtful"
    assert _judged(0.0, 0.001, matters=True) == "adequate"


def test_what_larger_noise_does_to_delta() -> None:
    assert _inflated(1.8, DELTA) == pytest.approx(DELTA ** (1 / 1.8))
    assert _inflated(0.5, DELTA) == pytest.approx(DELTA)
    doubling = math.log(DELTA) / math.log(2 * DELTA)
    assert _matters(doubling * (1 + 1e-9), DELTA)
    assert not _matters(doubling * (1 - 1e-9), DELTA)
    assert _effect(1.8, DELTA) == f"the error probability is about {DELTA ** (1 / 1.8):.2g} instead of {DELTA:.2g}"
    assert _effect(1.1, DELTA).endswith(", less than twice")


@pytest.mark.parametrize(("step", "verdict"), [(-1e-6, "doubtful"), (1e-6, "inadequate")])
def test_larger_noise_or_drift_is_refused_once_it_doubles_delta(step: float, verdict: str) -> None:
    """Much data make the evidence certain, so that only what it does to δ decides."""
    problem, goal = two_items(), pw.BestItem(DELTA)
    square, n = math.log(DELTA) / math.log(2 * DELTA) + step, 10**7
    noisy = told([n, n], [0.0, 0.0], square * (n - 1) * SIGMA**2)
    assert check_adequacy(problem, goal, [noisy]).noise.verdict == verdict
    # many rounds whose means lie apart by as much
    rounds, n = 2000, 4
    shift = math.sqrt(square * (rounds - 1) / (rounds * n)) * SIGMA
    data = [told([n, n], (-1) ** number * shift, (n - 1) * SIGMA**2) for number in range(rounds)]
    drift = check_adequacy(problem, goal, data).drift
    assert (drift.squares.mean_square, drift.squares.degrees) == (pytest.approx(square), 2 * (rounds - 1))
    assert drift.verdict == verdict


def test_residuals_are_in_units_of_their_own_error() -> None:
    probes, counts = np.array([[1.0], [2.0], [-1.5], [0.5]]), np.array([4, 7, 3, 5])
    sigma = np.array([0.6, 1.7, 0.9, 1.2])
    means, scatter = np.array([2.0, 1.0, -3.0, 4.0]), np.array([5.0, 60.0, 4.0, 20.0])
    problem = pw.Problem(probes, [[1.0], [-0.3]], sigma=sigma)
    found = check_adequacy(problem, pw.BestItem(DELTA), [told(counts, means, scatter)])
    weight = counts / sigma**2
    x = probes[:, 0]
    theta = (weight * x * means).sum() / (weight * x * x).sum()
    level = (scatter / sigma**2).sum() / (counts - 1).sum()
    free = 1 - weight * x * x / (weight * x * x).sum()
    difference = means - x * theta
    standard = difference / np.sqrt(level * free / weight)
    order = np.argsort(-np.abs(standard))
    assert [residual.probe for residual in found.worst] == order.tolist()
    assert [residual.difference for residual in found.worst] == pytest.approx(difference[order])
    assert [residual.standardised for residual in found.worst] == pytest.approx(standard[order])
    assert [residual.replicates for residual in found.worst] == counts[order].tolist()
    lack = (weight * difference**2).sum()
    assert found.misfit == pytest.approx(math.sqrt((lack - 3 * level) / (weight * free).sum()))
    assert found.fit.squares.value == pytest.approx(lack)


def test_a_misfit_puts_leads_of_large_items_at_risk() -> None:
    problem = far_from_the_span()
    rng = np.random.default_rng(1)
    counts, means = np.full(6, 10), rng.normal(size=6) * 5.0
    found = check_adequacy(problem, pw.BestItem(DELTA), [told(counts, means, np.full(6, 9.0))])
    assert found.misfit > 1.0
    assert len(found.at_risk) >= 3


# --- error rates that leave no room --------------------------------------------------------------------------------


RUNS = 600
LEVEL = 0.6
"""A large δ, so that errors are frequent enough to be counted."""


def first_decisions(algorithm: Any, state: Any, counts: Any, problem: pw.Problem) -> float:
    """How often a round of pure noise leads to item 1, where both items are equal."""
    rng, goal = np.random.default_rng(11), pw.BestItem(LEVEL)
    means = rng.standard_normal((RUNS, 2)) * problem.sigma / np.sqrt(counts)
    with remembering():  # what comes next is planned once
        after = [algorithm.tell(problem, goal, state, told(counts, row)) for row in means]
    return float(np.mean([algorithm.answer(problem, goal, s) == (1,) for s in after]))


def test_one_comparison_errs_exactly_as_often_as_its_level_says() -> None:
    """Φ(-√(2 log 1/δ_t)), within four standard errors on both sides: a wrong δ_t, σ or one side too many is seen."""
    problem, goal, t = two_items(), pw.BestItem(LEVEL), 2
    exact = float(norm.sf(math.sqrt(2 * math.log(t * (t + 1) / LEVEL))))
    allowed = 4 * math.sqrt(exact * (1 - exact) / RUNS)
    rage, adaptive, verify = Rage(), XYAdaptive(), ExploreVerify()
    states = {
        rage: replace(rage.init(problem, goal), t=t),
        adaptive: replace(adaptive.init(problem, goal), j=t),
        verify: replace(verify.init(problem, goal), attempt=t, counts=COUNTS, candidate=1),
        pw.Uniform(): replace(pw.Uniform().init(problem, goal), check=t - 1),
        pw.XYStatic(): replace(pw.XYStatic().init(problem, goal), check=t - 1),
    }
    for algorithm, state in states.items():
        rate = first_decisions(algorithm, state, COUNTS, problem)
        assert abs(rate - exact) < allowed, f"{algorithm.name}: {rate} instead of {exact}"


# --- settings and sizes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "setting", "bad"),
    [
        (ExploreVerify, "kappa", (0.0, 1 / 3, -0.1)),
        (Rage, "rounding", (0.0, 1.0)),
        (XYAdaptive, "alpha", (0.0, 1.0)),
        (XYAdaptive, "resolution", (0,)),
        (pw.Uniform, "growth", (1.0, math.inf)),
        (pw.XYStatic, "growth", (1.0, math.inf)),
        (pw.Sage, "growth", (1.0,)),
        (ALBA, "norm_bound", (0.0, math.inf)),
        (pw.LinGapE, "norm_bound", (0.0, math.inf)),
        (pw.LinGapE, "penalty", (0.0, math.inf)),
    ],
)
def test_settings_at_their_limits_are_refused(kind: Any, setting: str, bad: tuple[float, ...]) -> None:
    for value in bad:
        with pytest.raises(pw.InvalidAlgorithm, match=f"{setting} must"):
            kind(**{setting: value})
    assert getattr(XYAdaptive(resolution=1), "resolution") == 1  # noqa: B009


def far_from_the_span() -> pw.Problem:
    """Items that are large outside the span of the probes, of either sign, and differ only inside it."""
    rng = np.random.default_rng(0)
    probes = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 4))
    return pw.Problem(probes, 1e4 * np.array([0.1, -0.2, 0.3, -0.7]) + rng.normal(size=(5, 6)) @ probes)


def test_differences_of_large_items_are_known() -> None:
    problem, data = far_from_the_span(), told(np.full(6, 50), np.zeros(6))
    fit = least_squares(problem.probes, data)
    exact = [y @ np.linalg.pinv(problem.probes.T @ problem.probes * 50) @ y for y in problem.items[1] - problem.items]
    claims, others = pw.BestItem().claims(problem, (1,)), [0, 2, 3, 4]
    assert claims.against.tolist() == others
    assert fit.variance(claims.rows, claims.sizes) == pytest.approx(np.array(exact)[others], rel=1e-6)
    verify = ExploreVerify("rage")
    state = replace(verify.init(problem, pw.BestItem()), candidate=1)
    differences, sizes = _compared(problem, state)
    np.testing.assert_array_equal(differences, problem.items[1] - problem.items)
    np.testing.assert_array_equal(sizes, np.abs(problem.items[1]) + np.abs(problem.items))
    sage, goal = pw.Sage(), pw.BestItem(1e-6)
    after = sage.tell(problem, goal, sage.init(problem, goal), data)
    assert np.isfinite(after.collected[int(after.alive[0])].mean[1:]).all()


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if issubclass(pw.BestItem, ALGORITHMS[name].goals)])
def test_a_single_item_has_won_and_leads(name: str) -> None:
    problem, goal = pw.Problem(np.eye(2), [[1.0, 2.0]]), pw.BestItem(DELTA)
    algorithm = informed(name, problem, [1.0, 0.5])
    state = algorithm.init(problem, goal)
    now = algorithm.standing(problem, goal, state)
    assert (algorithm.answer(problem, goal, state), now.leader, now.progress, now.remaining.tolist()) == (
        (0,),
        0,
        1.0,
        [0],
    )


def test_a_single_item_need_not_lie_in_the_span() -> None:
    problem, goal = pw.Problem([[1.0, 0.0]], [[1.0, 2.0]]), pw.BestItem(DELTA)
    algorithm = ALBA("x", norm_bound=2.0)
    assert algorithm.answer(problem, goal, algorithm.init(problem, goal)) == (0,)


def test_who_was_ruled_out_when_and_how_clearly() -> None:
    """By the evidence up to that round, against the leader that is clearest, in standard errors of that comparison."""
    problem = pw.Problem(np.eye(2), [[1, 0], [0, 1], [0.3, 0.1]], sigma=SIGMA, item_names=["A", "B", "C"])
    rounds = [told(*FIRST), told(*SECOND)]
    standings = [Standing(np.array(left), (leader,), None) for left, leader in (([0, 1], 1), ([0], 0))]
    now = numbers(problem, pw.BestItem(DELTA), rounds, standings, answer=(0,), labels=[4, 9])
    assert [item.round for item in now.items] == [None, 9, 4]
    W = [1 / error(counts) ** 2 for counts, _ in (FIRST, SECOND)]
    lead, precision = (W[0] * 0.5 + W[1] * 1.0) / sum(W), sum(W)
    clear = lead * math.sqrt(precision)
    assert now.items[1].why == f"ruled out in round 9: {lead:.3g} behind A, {clear:.1f} standard errors"
    # C after the first round: 0.7·0.9 - 0.1·0.4 behind A, -0.3·0.9 + 0.9·0.4 behind B
    y = np.array([0.7, -0.1])
    lead = float(y @ FIRST[1])
    clear = lead / math.sqrt(float((y**2 * SIGMA**2 / FIRST[0]).sum()))
    assert now.items[2].why == f"ruled out in round 4: {lead:.3g} behind A, {clear:.1f} standard errors"
    assert [item.by for item in now.items] == [None, "A", "A"]
    assert (now.leader, now.order[0]) == (0, 0)
    assert now.items[now.order[1]].behind <= now.items[now.order[2]].behind
    assert now.sentence.endswith("all other items are ruled out.")


@pytest.mark.parametrize(
    ("behind_by", "why"),
    [
        (0.1, "within 0.3 of A"),
        (-0.1, "within 0.3 of A"),
        (0.5, "not ruled out, but at most 0.3 better than A"),
        (-0.5, "not ruled out, but at most 0.3 better than A"),
    ],
)
def test_ties_are_within_epsilon_on_both_sides(behind_by: float, why: str) -> None:
    problem = pw.Problem(np.eye(2), sigma=SIGMA, item_names=["A", "B"])
    data = told([10**7, 10**7], [1.0 + behind_by, 1.0])
    now = numbers(problem, pw.BestItem(DELTA, EPSILON), [data], [Standing(np.array([0, 1]), (0,), 1.0)], answer=(0,))
    assert (now.items[1].state, now.items[1].why) == ("tied", why)
    assert now.items[0].why == "nothing left can be more than 0.3 better"
    assert now.sentence.startswith("A is within 0.3 of the best, with confidence 93 %")


def test_noise_without_a_bound_leaves_only_what_needs_none() -> None:
    problem = pw.Problem(np.eye(2), sigma="unknown")
    rounds, standings = [told(*FIRST)], [Standing(np.array([0, 1]), (0,), None)]
    leader, rival = numbers(problem, pw.BestItem(DELTA), rounds, standings).items
    assert (leader.behind, leader.least, leader.most) == (0.0, 0.0, 0.0)
    assert (rival.least, rival.most, rival.high) == (-math.inf, math.inf, math.inf)


def test_a_round_is_finished_by_the_batch_after_which_it_counts() -> None:
    rounds = Finished(Pooled(), (0, 1, 1, 2))
    assert [rounds.batch(number) for number in (0, 1)] == [1, 3]


@pytest.mark.parametrize("leader", [0, 1, 2])
def test_what_a_misfit_of_probes_does_to_items_that_are_probes(leader: int) -> None:
    """The lead is off by Σ a_i f_i - f_z + f_z', with one f where item and probe are the same."""
    probes, counts = np.array([[1.0, 0.0], [0.3, 1.0], [-1.0, 0.7], [0.5, -0.8]]), np.array([4, 7, 3, 5])
    sigma, items = np.array([0.6, 1.7, 0.9, 1.2]), np.array([[1.0, 0.0], [0.5, -0.8], [2.0, 2.0]])
    problem = pw.Problem(probes, items, sigma=sigma)
    sums = _Sums.of(problem, [told(counts, [1.0, 2.0, 3.0, 4.0], np.full(4, 2.0))], sigma)
    weight, misfit = counts / sigma**2, 0.35
    inverse = np.linalg.inv((probes.T * weight) @ probes)
    twins = {0: 0, 1: 3, 2: 4}  # the last item is no probe: its misfit is its own
    for rival in {0, 1, 2} - {leader}:
        pull = np.append(weight * (probes @ inverse @ (items[leader] - items[rival])), [0.0, 0.0])
        pull[twins[leader]] -= 1.0
        pull[twins[rival]] += 1.0
        change = misfit * float(np.linalg.norm(pull))
        lead = float((items[leader] - items[rival]) @ sums.estimate.theta) + EPSILON
        pair = pw.Problem(probes, items[[leader, rival]], sigma=sigma)
        weight = sums.pooled.count / sums.sigma**2
        found = Risk.of(pair, pw.BestItem(DELTA, EPSILON), sums.estimate, weight, misfit, 0, OUTCOME)
        assert (found.lead, found.change) == (pytest.approx(lead), pytest.approx(change))
        assert (found.items.size == 1) is (lead < 2 * change)


def test_albas_probes_suffice_for_what_is_estimated() -> None:
    """The span of both items holds one probe: enough for their difference, not for each of them."""
    probes = np.vstack([np.eye(3), [[0.0, 1.0, -1.0]]])
    problem = pw.Problem(probes, [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [5.0, -3.0, 2.0]])
    supports = {kind: ALBA(kind, norm_bound=2.0)._draw(problem, np.array([0, 1])).support for kind in ("y", "x")}
    assert supports["y"].tolist() == [3]
    assert np.linalg.matrix_rank(probes[supports["x"]]) == 3


def test_lingape_tells_its_threshold_what_is_so_and_waits_while_that_says_nothing() -> None:
    heard: list[Evidence] = []

    class Listening(Threshold):
        name, proven, data, estimator, reference = "listening", False, "adaptive", "any", "this test"

        def beta(self, evidence: Evidence) -> float:
            heard.append(evidence)
            return math.inf

    problem = pw.Problem(np.eye(2), [[1, 0], [0, 1], [0.2, 0.1]], sigma=SIGMA)
    algorithm, goal = pw.LinGapE(norm_bound=2.5, penalty=0.4, threshold=Listening()), pw.BestItem(DELTA, EPSILON)
    state = algorithm.tell(problem, goal, algorithm.init(problem, goal), told(COUNTS, [0.5, 1.4]))
    (shown,) = heard
    assert (shown.delta, shown.check, shown.rivals, shown.items) == (DELTA, 80, 2, 3)
    assert (shown.measurements, shown.dimension, shown.penalty, shown.norm_bound) == (80, 2, 0.4, 2.5)
    assert shown.largest_probe == pytest.approx(1 / 0.6)
    assert shown.logdet == pytest.approx(math.log(math.prod(1 + COUNTS / SIGMA**2 / 0.4)))
    assert (state.leader, state.bound) == (1, math.inf)
    errors = [(y**2 / (0.4 + COUNTS / SIGMA**2)).sum() for y in problem.items - problem.items[1]]
    assert state.rival == int(np.argmax(errors))
    assert algorithm.answer(problem, goal, state) is None
