"""Outcomes in a known range: bets on them are fair, and what is learned saves measurements."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise as pw
from probewise.campaign.findings.numbers import intervals
from probewise.campaign.state.settings import from_json as read_back
from probewise.campaign.state.settings import to_json as settings_of
from probewise.measurements import Measurements
from probewise.outcomes.bounded import _SHARES, _STAKES, BoundedRound, Expected
from probewise.pooling import Pooled, fitted, learned
from probewise.simulation import LinearEnvironment
from probewise.simulation.table import exact_rate


def by_hand(law: pw.Bounded, expected: np.ndarray, groups: list[np.ndarray], row: np.ndarray) -> np.ndarray:
    """(L,): log of f(λ) of docs/bounded.md, Lemma 1, outcome by outcome, with the stakes that the round allows."""
    worst = max(c * (p - law.low) if c > 0 else -c * (law.high - p) for c, p in zip(row, expected, strict=True))
    stakes = np.minimum(law.span * _STAKES, 0.7 / worst if worst > 0 else np.inf)
    logs = np.zeros(stakes.size)
    for c, p, group in zip(row, expected, groups, strict=True):
        for r in group:
            logs += np.log1p(stakes * c * (r - p)) + stakes * c * p
    return logs


def round_of(law: pw.Bounded, expected: np.ndarray, groups: list[np.ndarray]) -> BoundedRound:
    index = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return BoundedRound.of(law, expected, Measurements.from_outcomes(len(groups), index, np.concatenate(groups)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(0.0, 1.0), (-3.0, 5.0)]))
def test_bets_on_clicks_are_exact(seed: int, bounds: tuple[float, float]) -> None:
    law, rng = pw.Bounded(*bounds), np.random.default_rng(seed)
    expected = rng.uniform(*bounds, 3)
    groups = [np.where(rng.random(rng.integers(1, 9)) < 0.4, law.high, law.low) for _ in range(3)]
    row, precision = rng.normal(size=(1, 3)) * 10.0 ** rng.integers(-3, 2), np.array([2.5])
    bets = round_of(law, expected, groups).bets(row, precision)
    np.testing.assert_allclose(bets.logs[0], np.tile(by_hand(law, expected, groups, row[0]), 5), rtol=1e-9, atol=1e-9)
    assert (bets.rates[0] <= law.span * np.tile(_STAKES, 5) * 2.5 * (1 + 1e-12)).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(0.0, 1.0), (-3.0, 5.0)]))
def test_bets_on_other_outcomes_make_no_more_than_the_exact_ones(seed: int, bounds: tuple[float, float]) -> None:
    law, rng = pw.Bounded(*bounds), np.random.default_rng(seed)
    expected = rng.uniform(*bounds, 2)
    groups = [rng.beta(*rng.uniform(0.2, 30, 2), size=rng.integers(1, 9)) * law.span + law.low for _ in range(2)]
    row = rng.normal(size=(1, 2)) * 10.0 ** rng.integers(-3, 2)
    bets = round_of(law, expected, groups).bets(row, np.ones(1))
    exact = np.tile(by_hand(law, expected, groups, row[0]), 5)
    assert (bets.logs[0] <= exact + 1e-9 * (1 + np.abs(exact))).all()


def test_outcomes_that_scatter_little_are_bet_on_by_their_spread() -> None:
    law, rng = pw.Bounded(), np.random.default_rng(0)
    groups = [rng.uniform(0.5, 0.54, 200), rng.uniform(0.46, 0.5, 200)]
    row = np.array([[1.0, -1.0]]) / 200 * 4000
    made = round_of(law, np.array([0.5, 0.5]), groups).bets(row, np.ones(1)).logs[0]
    at_ends = [np.repeat([0.0, 1.0], [200 - round(200 * g.mean()), round(200 * g.mean())]) for g in groups]
    coarse = round_of(law, np.array([0.5, 0.5]), at_ends).bets(row, np.ones(1)).logs[0]
    assert made.max() > coarse.max() + 2.0


@pytest.mark.parametrize("rates", [(0.03, 0.03, 0.03), (0.5, 0.5, 0.5), (0.9, 0.2, 0.9)])
@pytest.mark.parametrize("guess", [0.02, 0.5, 0.97])
def test_no_bet_on_a_tie_makes_anything_whatever_was_expected(rates: tuple[float, float, float], guess: float) -> None:
    """All outcomes of a round of two, three and one clicks: the mean of what each stake makes is at most 1."""
    law, expected, counts = pw.Bounded(), np.full(3, guess), (2, 3, 1)
    row = np.array([[0.5, 0.0, -1.0]]) * 3.0  # the mean of the first less the third: equal
    mean = 0.0
    for hits in itertools.product(*(range(n + 1) for n in counts)):
        chance = math.prod(
            math.comb(n, k) * p**k * (1 - p) ** (n - k) for n, k, p in zip(counts, hits, rates, strict=True)
        )
        groups = [np.repeat([1.0, 0.0], [k, n - k]) for n, k in zip(counts, hits, strict=True)]
        mean = mean + chance * np.exp(round_of(law, expected, groups).bets(row, np.ones(1)).logs[0])
    assert (mean <= 1 + 1e-9).all()
    assert mean.max() > 0.5


def test_a_bet_makes_nothing_where_the_lead_is_minus_epsilon_and_epsilon_counts() -> None:
    problem, epsilon, n, p = pw.Problem(np.eye(2), outcome=pw.Bounded()), 0.2, 4, 0.5
    mean = 0.0
    for hits in itertools.product(range(n + 1), repeat=2):
        chance = math.comb(n, hits[0]) * p ** hits[0] * (1 - p) ** (n - hits[0])
        chance *= math.comb(n, hits[1]) * (p + epsilon) ** hits[1] * (1 - p - epsilon) ** (n - hits[1])
        index = np.repeat([0, 0, 1, 1], [hits[0], n - hits[0], hits[1], n - hits[1]])
        outcomes = np.repeat([1.0, 0.0, 1.0, 0.0], [hits[0], n - hits[0], hits[1], n - hits[1]])
        fit = fitted(problem, Measurements.from_outcomes(2, index, outcomes))
        sums = Pooled((fit,)).sums(np.array([[1.0, -1.0]])).lifted(epsilon)
        mean += chance * math.exp(problem.outcome.account(sums.total, sums.precision, sums.bets, np.ones(1), 1.0)[0])
    assert 0.5 < mean <= 1 + 1e-12


@pytest.mark.parametrize("rate", [0.01, 0.04, 0.5, 0.97])
@pytest.mark.parametrize("by", [0.0, 0.1, -0.1])
def test_bets_on_a_first_round_make_nothing_where_the_claim_is_just_false(rate: float, by: float) -> None:
    """y'θ + c = 0 for two coins: whether c is added or taken away, the mean is at most 1."""
    problem, n = pw.Problem(np.eye(2), outcome=pw.Bounded()), 5
    other = rate + by
    if not 0 <= other <= 1:
        other, rate = rate, rate - by
    mean = 0.0
    for hits in itertools.product(range(n + 1), repeat=2):
        chance = math.prod(
            math.comb(n, k) * p**k * (1 - p) ** (n - k) for k, p in zip(hits, (rate, other), strict=True)
        )
        outcomes = np.repeat([1.0, 0.0, 1.0, 0.0], [hits[0], n - hits[0], hits[1], n - hits[1]])
        fit = fitted(problem, Measurements.from_outcomes(2, np.repeat([0, 1], n), outcomes))
        sums = Pooled((fit,)).sums(np.array([[1.0, -1.0]])).lifted(other - rate)
        mean += chance * math.exp(problem.outcome.account(sums.total, sums.precision, sums.bets, np.ones(1), 1.0)[0])
    assert 0.3 < mean <= 1 + 1e-12


def test_a_large_first_round_counts_by_how_much_its_outcomes_scatter() -> None:
    """Two pages with 2,500 visitors each, 140 and 61 clicks: clear at once, though not by σ = ½."""
    problem, goal = pw.Problem(np.eye(2), outcome=pw.Bounded()), pw.BestItem(0.05)
    data = Measurements(np.array([2500, 2500]), np.array([0.056, 0.0244]), np.array([132.16, 59.5116]))
    sage = pw.Sage()
    assert sage.answer(problem, goal, sage.tell(problem, goal, sage.init(problem, goal), data)) == (0,)
    half = pw.Problem(np.eye(2), sigma=0.5)
    assert sage.answer(half, goal, sage.tell(half, goal, sage.init(half, goal), data)) is None


def test_shares_sum_to_one_and_stakes_span_the_range() -> None:
    assert np.exp(_SHARES).sum() == pytest.approx(1.0)
    assert _STAKES[0] == 1.0
    assert _STAKES[-1] < 1.5e-5


def test_what_is_learned_is_the_mean_and_the_spread() -> None:
    law, rng = pw.Bounded(0.0, 10.0), np.random.default_rng(0)
    clicks = Measurements.from_outcomes(2, np.repeat([0, 1], 500), np.where(rng.random(1000) < 0.1, 10.0, 0.0))
    learned = law.after(np.array([1.0, -4.0]), clicks)
    assert isinstance(learned, Expected)
    assert learned.means == pytest.approx((1.0, 0.25 * float(clicks.mean.mean())))  # a quarter of the mean of all
    assert learned.spreads[0] == pytest.approx(3.0, rel=1e-3)  # √(1·9): outcomes at the bounds
    narrow = Measurements.from_outcomes(2, np.repeat([0, 1], 500), rng.uniform(4.0, 6.0, 1000))
    assert law.after(np.array([5.0, 5.0]), narrow).scale(("a", "b")) == pytest.approx(np.full(2, 2 / 12**0.5), rel=0.1)
    nowhere = law.after(np.array([np.nan, 5.0]), narrow)
    assert nowhere.means[0] == 5.0


@pytest.mark.parametrize(("low", "high", "mirrored"), [(0.0, 1.0, False), (0.0, 1.0, True), (-2.0, 6.0, False)])
def test_no_outcome_is_expected_near_a_bound_before_many_were_seen(low: float, high: float, mirrored: bool) -> None:
    """The distance is a quarter of that of the mean of all, then three standard errors of it, and vanishes."""
    law, span = pw.Bounded(low, high), high - low
    for n, hits in ((500, 20), (50_000, 2_000), (5_000_000, 200_000)):
        rate = hits / n
        count = np.array([n // 2, n // 2])
        mean = np.full(2, low + span * (1.0 - rate if mirrored else rate))
        data = Measurements(count, mean, span**2 * rate * (1.0 - rate) * count)
        at = low if not mirrored else high
        learned = law.after(np.array([at, mean[1]]), data)
        assert isinstance(learned, Expected)
        distance = abs(learned.means[0] - at) / span
        assert distance == pytest.approx(min(0.25 * rate, 3.0 * (rate * (1.0 - rate) / n) ** 0.5), rel=1e-6)
        assert learned.means[1] == pytest.approx(mean[1])
    assert distance < 0.01 * rate


@pytest.mark.parametrize(("now", "settings"), [(pw.Bounded(0.0, 2.0), ("low", "high")), (pw.Poisson(3.0), ("rate",))])
def test_campaigns_that_were_begun_before_keep_their_guesses(
    now: pw.Bounded | pw.Poisson, settings: tuple[str, ...]
) -> None:
    kept = settings_of(now)
    assert kept["settings"]["wary"] is True
    assert read_back(kept, pw.Law) == now  # type: ignore[type-abstract]
    old = {**kept, "settings": {name: kept["settings"][name] for name in settings}}
    assert read_back(old, pw.Law) == replace(now, wary=False)  # type: ignore[type-abstract]
    data = Measurements.from_outcomes(2, [0, 0, 1, 1] * 25, [2.0, 0.0] * 50)
    hasty, wary = (own.after(np.array([1.0, 0.0]), data).scale(("a", "b")) for own in (read_back(old, pw.Law), now))  # type: ignore[type-abstract]
    assert hasty[1] < 0.5 * wary[1]
    assert hasty[0] == wary[0]


@pytest.mark.parametrize("rates", [(0.03, 0.02), (0.5, 0.4), (0.97, 0.9)])
def test_intervals_hold_at_all_times_and_are_narrower_than_half_the_range_allows(rates: tuple[float, float]) -> None:
    problem, rng, missed, widths = pw.Problem(np.eye(2), outcome=pw.Bounded()), np.random.default_rng(0), 0, []
    goal, row = pw.BestItem(0.2), np.array([[1.0, -1.0]])
    for _ in range(60):
        environment, steps, bad = LinearEnvironment(problem, np.array(rates)), [], False
        for size in (20, 100, 400, 1500):
            steps.append([environment.draw(np.full(2, size), rng)])
            value, width = intervals(problem, goal, learned(problem, steps), row, np.abs(row))
            bad |= bool(abs(value[0] - (rates[0] - rates[1])) > width[0])
        missed += bad
        widths.append(width[0])
    assert exact_rate(missed, 60).low <= 0.2
    plain = Pooled(tuple(fit for step in steps for fit in learned(pw.Problem(np.eye(2), sigma=0.5), [step]).fits))
    coarse = intervals(pw.Problem(np.eye(2), sigma=0.5), goal, plain, row, np.abs(row))[1][0]
    assert np.mean(widths) < (1.3 if rates[0] == 0.5 else 0.8) * coarse


def test_a_search_with_clicks_takes_far_fewer_visitors() -> None:
    rows = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    probes = np.column_stack([np.ones(8), rows])
    theta = np.array([0.02, 0.012, 0.006, 0.02])
    coarse, learned = pw.Problem(probes, sigma=0.5), pw.Problem(probes, outcome=pw.Bounded())
    few = pw.simulate(learned, theta, pw.Sage(), runs=6, seed=0)
    many = pw.simulate(coarse, theta, pw.Sage(), runs=6, seed=0, noise="bernoulli")
    assert few.mean("correct") == many.mean("correct") == 1.0
    assert few.mean("measurements") < many.mean("measurements") / 3


@pytest.mark.parametrize("goal", [pw.TopM(2, 0.1), pw.Above(0.5, 0.1, 0.05), pw.BestItem(0.1, 0.05)])
def test_other_questions_are_answered_with_bounded_outcomes(goal: pw.BestItem) -> None:
    problem, theta = pw.Problem(np.eye(4), outcome=pw.Bounded()), np.array([0.9, 0.7, 0.2, 0.1])
    result = pw.identify(problem, goal, measure=LinearEnvironment(problem, theta, seed=1).measure, seed=0)
    assert goal.right(problem, theta, result.items)
    assert result.confidence is not None
    assert result.confidence >= 0.9


def test_rounds_that_overlap_are_bet_on_by_what_was_known_before_all_of_them() -> None:
    problem, goal, rng = pw.Problem(np.eye(3), outcome=pw.Bounded()), pw.BestItem(1e-6), np.random.default_rng(0)
    environment, sage = LinearEnvironment(problem, np.array([0.6, 0.5, 0.4])), pw.Sage()
    start = sage.tell(problem, goal, sage.init(problem, goal), environment.draw(np.full(3, 20), rng))
    one, two = (environment.draw(np.full(3, n), rng) for n in (10, 30))
    together = sage.tell_overlapping(problem, goal, start, [one, two])
    swapped = sage.tell_overlapping(problem, goal, start, [two, one])
    np.testing.assert_allclose(together.wealth, swapped.wealth, rtol=1e-9)
    in_turn = sage.tell(problem, goal, sage.tell(problem, goal, start, one), two)
    assert np.abs(in_turn.wealth - together.wealth).max() > 1e-3


def test_a_range_is_checked_and_so_are_outcomes() -> None:
    for low, high in ((1.0, 1.0), (2.0, 1.0), (0.0, math.inf), (math.nan, 1.0)):
        with pytest.raises(pw.InvalidProblem, match="a range needs two finite numbers, the lower one first"):
            pw.Bounded(low, high)
    problem = pw.Problem(np.eye(2), outcome=pw.Bounded())
    assert problem.sigma == pytest.approx([0.5, 0.5])
    with pytest.raises(pw.ProbewiseError, match="a number from 0 to 1"):
        pw.identify(problem, measure=lambda indices: np.full(indices.size, 2.0))


def test_a_range_is_two_floats_whatever_it_was_given_as() -> None:
    law = pw.Bounded(0, 5)
    assert (type(law.low), type(law.high)) == (float, float)


def test_bounded_passes_the_contract_of_laws() -> None:
    from probewise.testing import check_outcome

    check_outcome(pw.Bounded(), [0.2, 0.5, 0.9])
    check_outcome(pw.Bounded(-1.0, 3.0), [0.0, 1.0, 2.5])


def test_a_round_without_outcomes_says_nothing() -> None:
    problem, goal, algorithm = pw.Problem(np.eye(2), outcome=pw.Bounded()), pw.BestItem(), pw.Sage()
    state = algorithm.tell(problem, goal, algorithm.init(problem, goal), Measurements.empty(2))
    assert (state.wealth == math.log1p(-algorithm.opening)).all()
    state = algorithm.tell(problem, goal, state, Measurements.from_outcomes(2, [0, 1], [1.0, 0.0]))
    assert np.isfinite(state.wealth).all()


def test_the_turned_problem_knows_the_same() -> None:
    problem = pw.Problem(np.eye(2), outcome=pw.Bounded())
    assert (problem.turned.sigma == 0.5).all()
    law = problem.outcome.after(np.array([0.1, 0.9]), Measurements.from_outcomes(2, [0, 1] * 9, [0.0, 1.0] * 9))
    assert (problem.knowing(law).turned.sigma == problem.knowing(law).sigma).all()


@pytest.mark.parametrize("law", [pw.Bounded(), pw.Logistic()])
def test_outcomes_that_count_one_each_bring_no_weights(law: pw.Law) -> None:
    """With weights of 100 and 0.1, bets on two outcomes of each probe ruled out the one whose outcomes were all 1."""
    problem, goal = pw.Problem(np.eye(2), outcome=law), pw.BestItem(0.05)
    algorithm = pw.Sage() if law.link == "identity" else pw.SageGLM()
    told = Measurements.from_outcomes(2, [0, 0, 1, 1], [1, 1, 0, 1], weights=[100, 100, 0.1, 0.1])
    with pytest.raises(pw.InvalidMeasurements, match=f"the law '{law.name}' count one each, but these .* bring"):
        algorithm.tell(problem, goal, algorithm.init(problem, goal), told)


def test_scatter_that_is_not_known_is_taken_as_the_most_there_can_be() -> None:
    """Else a mean told without its spread would count as outcomes that all agree."""
    law, expected, row = pw.Bounded(), np.array([0.4, 0.5]), np.array([[0.3, -0.2]])
    count, mean = np.array([8, 8]), np.array([0.5, 0.25])
    unknown = Measurements(count, mean, np.zeros(2), degrees=np.zeros(2, dtype=np.int64))
    most = Measurements(count, mean, count * mean * (1.0 - mean))
    alike = Measurements(count, mean, np.zeros(2))
    logs = [BoundedRound.of(law, expected, data).each(row, np.ones(1))[0] for data in (unknown, most, alike)]
    assert logs[0].tolist() == logs[1].tolist()
    assert (logs[2] > logs[0] + 1e-3).any()
