"""Counts of a Poisson law: bets on them are exact, what is learned helps, and what is not covered is said."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.campaign import Memory
from probewise.campaign.findings.numbers import intervals
from probewise.cli import main
from probewise.measurements import Measurements
from probewise.outcomes.poisson import _SHARES, _STAKES, ExpectedCounts, PoissonRound
from probewise.pooling import Pooled, fitted, learned
from probewise.simulation import LinearEnvironment
from probewise.simulation.table import exact_rate
from probewise.testing import check_outcome


def counted(*totals: int, n: int = 1) -> Measurements:
    """The sums of n counts of each probe; bets do not depend on how they scatter."""
    return Measurements(np.full(len(totals), n), np.array(totals) / n, np.zeros(len(totals)))


@pytest.mark.parametrize("rates", [(1.0, 1.0, 1.0), (0.3, 2.0, 0.3), (3.0, 0.1, 3.0)])
@pytest.mark.parametrize("unit", [0.01, 1.0, 30.0])
def test_a_bet_on_a_tie_makes_exactly_nothing_whatever_the_unit(rates: tuple[float, ...], unit: float) -> None:
    """Every sum of counts that is likely at all: the mean of what each stake makes is 1."""
    row, most, mean = np.array([[0.5, 0.0, -0.5]]), 60, np.zeros(_STAKES.size)
    for n in itertools.product(range(most), repeat=2):
        chance = math.prod(
            math.exp(k * math.log(p) - p - math.lgamma(k + 1)) for k, p in zip(n, rates[::2], strict=True)
        )
        bets = PoissonRound.of(unit, counted(n[0], 5, n[1])).bets(row, np.ones(1))
        mean += chance * np.exp(bets.logs[0])
    np.testing.assert_allclose(mean, 1.0, rtol=1e-6)


def test_stakes_are_as_large_as_no_event_can_ruin_and_rates_follow_them() -> None:
    row = np.array([[2.0, -4.0], [1.0, 3.0]])
    bets = PoissonRound.of(5.0, counted(3, 2)).bets(row, np.array([7.0, 2.0]))
    stakes = bets.rates / np.array([[7.0], [2.0]])
    assert stakes[0].max() == pytest.approx(0.7 / 4.0)  # 1 - 0.7 of a stake is left by each event
    np.testing.assert_allclose(stakes[1], 5.0 * _STAKES)  # nothing can be lost by events
    by_hand = 3 * np.log1p(2.0 * stakes[0]) + 2 * np.log1p(-4.0 * stakes[0])
    np.testing.assert_allclose(bets.logs[0], by_hand)
    assert np.exp(_SHARES).sum() == pytest.approx(1.0)


def test_the_first_round_needs_no_idea_of_the_size_of_counts() -> None:
    goal, sage, made = pw.BestItem(), pw.Sage(), []
    for rate in (0.01, 1.0, 1e4):
        problem = pw.Problem(np.eye(2), outcome=pw.Poisson(rate))
        state = sage.tell(problem, goal, sage.init(problem, goal), counted(900, 700, n=10))
        made.append(state.peaks.plain)
    np.testing.assert_allclose(made[0], made[1], rtol=1e-9)
    np.testing.assert_allclose(made[2], made[1], rtol=1e-9)
    assert made[1].max() > math.log(20.0)  # 90 against 70 of ten counts each: clear at once


def test_what_is_learned_is_the_mean_and_so_the_spread() -> None:
    law = pw.Poisson().after(np.array([4.0, -1.0, np.nan]), counted(400, 20, 0, n=100))
    assert isinstance(law, ExpectedCounts)
    assert law.rate == pytest.approx(1.4)
    assert law.means == pytest.approx((4.0, 3.0 * (1.4 / 300) ** 0.5, 1.4))  # three standard errors of the mean of all
    np.testing.assert_allclose(law.scale(("a", "b", "c")), np.sqrt(law.means))
    assert pw.Poisson().after(np.zeros(2), Measurements.empty(2)) == pw.Poisson()
    nothing = pw.Poisson().after(np.zeros(2), counted(0, 0, n=5))
    assert (nothing.scale(("a", "b")) > 0).all()


@pytest.mark.parametrize("rates", [(30.0, 25.0), (3.0, 2.5), (0.05, 0.04)])
def test_intervals_hold_at_all_times(rates: tuple[float, float]) -> None:
    problem, rng, missed = pw.Problem(np.eye(2), outcome=pw.Poisson()), np.random.default_rng(0), 0
    goal, row = pw.BestItem(0.2), np.array([[1.0, -1.0], [1.0, 0.0]])
    truth = np.array([rates[0] - rates[1], rates[0]])
    for _ in range(60):
        environment, steps, bad = LinearEnvironment(problem, np.array(rates)), [], False
        for size in (10, 20, 60, 200):
            steps.append([environment.draw(np.full(2, size), rng)])
            value, width = intervals(problem, goal, learned(problem, steps), row, np.abs(row))
            bad = bad or bool((np.abs(value - truth) > width).any())
        missed += bad
        assert (width < 20 * np.sqrt(rates[0] / 290)).all()
    assert exact_rate(missed, 60).low <= 0.2


@pytest.mark.parametrize(
    "goal",
    [pw.BestItem(0.1), pw.BestItem(0.1, minimise=True), pw.TopM(2, delta=0.1), pw.Above(5.0, delta=0.1),
     pw.BetterThan("0", delta=0.1), pw.Above(5.0, delta=0.1, promise="share")],
)  # fmt: skip
def test_every_question_is_answered_by_counts(goal: pw.Goal) -> None:
    theta = np.array([8.0, 6.0, 3.0, 2.0])
    problem = pw.Problem(np.eye(4), outcome=pw.Poisson())
    result = pw.identify(problem, goal, measure=LinearEnvironment(problem, theta, seed=1).measure, seed=0)
    assert result.items is not None
    assert goal.right(problem, theta, result.items)


def test_counts_need_about_as_many_measurements_as_known_variances() -> None:
    theta, goal = [30.0, 25.0, 20.0], pw.BestItem(0.05)
    counts = pw.simulate(pw.Problem(np.eye(3), outcome=pw.Poisson()), theta, pw.Sage(), goal, runs=20, seed=0)
    known = pw.simulate(pw.Problem(np.eye(3), sigma=np.sqrt(theta)), theta, pw.Sage(), goal, runs=20, seed=0)
    assert counts.mean("correct") == 1.0
    assert counts.mean("measurements") < 1.4 * known.mean("measurements")


def test_poisson_passes_the_contract_of_laws() -> None:
    check_outcome(pw.Poisson(), [0.9, 0.1, 0.2])
    check_outcome(pw.Poisson(20.0), [30.0, 20.0, 24.0])


class Greedy(pw.Poisson):
    """Bets that take counts for more than they are."""

    def after(self, means: np.ndarray, data: Measurements) -> pw.Law:
        return self

    def bettor(self, measurements: Measurements) -> PoissonRound:
        return PoissonRound.of(
            self.rate, Measurements(measurements.count, 1.3 * measurements.mean, measurements.scatter)
        )


def test_the_contract_notices_bets_that_are_not_fair() -> None:
    from probewise.testing.outcomes import _keeps_its_bets

    with pytest.raises(AssertionError, match=r"bets (on outcomes )?(have )?made"):
        _keeps_its_bets(Greedy(), np.array([2.0, 9.0]))


def test_what_relies_on_light_tails_refuses_counts() -> None:
    problem = pw.Problem(np.eye(2), outcome=pw.Poisson())
    with pytest.raises(
        pw.InvalidAlgorithm, match=r"rage needs noise with light tails, .* law 'poisson' .* choose Sage"
    ):
        pw.identify(problem, measure=lambda at: at, algorithm=pw.Rage())
    batched = pw.Batched(pw.Sage(), 5)
    assert batched.bets_on_outcomes
    for rate in (0.0, -1.0, math.inf, "many", True):
        with pytest.raises(pw.InvalidProblem, match="the rate of counts must be positive and finite"):
            pw.Poisson(rate)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1.0, 0.5, 3.25])
def test_what_is_no_count_is_refused(bad: float) -> None:
    problem = pw.Problem(np.eye(2), outcome=pw.Poisson())
    campaign = pw.Campaign.create(Memory(), problem, seed=0)
    rows = campaign.ask()
    with pytest.raises(pw.InvalidRows, match=r"expected a whole number of at least 0, as outcomes follow .* 'poisson'"):
        campaign.tell(rows.filled([bad] + [1.0] * (len(rows) - 1)))
    with pytest.raises(pw.InvalidMeasurements, match="each a whole number of at least 0"):
        pw.identify(problem, measure=lambda at: np.full(at.size, bad))


def test_a_campaign_with_counts_from_the_first_round_to_the_report(tmp_path: pytest.TempPathFactory) -> None:
    problem, rng = pw.Problem(np.eye(3), outcome=pw.Poisson(), probe_names=["A", "B", "C"]), np.random.default_rng(3)
    campaign = pw.Campaign.create(tmp_path / "counts.campaign", problem, seed=0)  # type: ignore[operator]
    while campaign.status().answer is None:
        rows = campaign.ask()
        campaign.tell(rows.filled(rng.poisson([{"A": 40.0, "B": 25.0, "C": 24.0}[probe] for probe in rows["probe"]])))
    opened = pw.Campaign.open(tmp_path / "counts.campaign")  # type: ignore[operator]
    assert opened.status().answer == ("A",)
    with pytest.raises(pw.InvalidCampaign, match=r"noise with light tails, and outcomes of the law 'poisson'"):
        opened.ask(confirm=4)
    opened.report(tmp_path / "report.html")  # type: ignore[operator]
    text = (tmp_path / "report.html").read_text("utf-8")  # type: ignore[operator]
    assert "counts that scatter more are not covered" in text


def test_counts_that_scatter_more_are_doubted() -> None:
    rng = np.random.default_rng(0)
    for clusters, doubted in ((1, False), (6, True)):
        campaign = pw.Campaign.create(Memory(), pw.Problem(np.eye(2), outcome=pw.Poisson()), seed=0)
        probes = np.repeat([0, 1], 60)
        counts = clusters * rng.poisson(24 / clusters, probes.size)
        campaign.tell(
            [{"probe": str(p), "outcome": int(n)} for p, n in zip(probes, counts, strict=True)], off_plan=True
        )
        warnings = " ".join(campaign.view().appraisal.adequacy.warnings)
        assert ("larger than stated" in warnings) is doubted
        assert ("events that come in clusters" in warnings) is doubted


def test_a_misfit_of_counts_is_allowed_for() -> None:
    """Probes that are off by all that is allowed, at a tie: the mean of what is bet is at most 1."""
    problem, h, n = pw.Problem(np.eye(2), outcome=pw.Poisson(), misfit=0.5), 0.5, 2
    mean, rates = 0.0, (3.0 + h, 3.0 - h)
    for k in itertools.product(range(40), repeat=2):
        chance = math.prod(
            math.exp(c * math.log(n * p) - n * p - math.lgamma(c + 1)) for c, p in zip(k, rates, strict=True)
        )
        sums = Pooled((fitted(problem, counted(*k, n=n)),)).sums(np.array([[1.0, -1.0]]))
        mean += chance * math.exp(problem.outcome.account(sums.total, sums.precision, sums.bets, np.ones(1), 1.0)[0])
    assert 0.9 < mean <= 1 + 1e-9


def test_no_limit_is_claimed_for_outcomes_whose_spread_is_learned(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,x\nA,0\nB,1\n", "utf-8")
    words = ["--probes", str(tmp_path / "p.csv"), "--outcome", "poisson", "--theta", "9,4"]
    done = CliRunner().invoke(main, ["simulate", *words, "--runs", "2"])
    assert done.exit_code == 0, done.output
    assert "No method that errs" not in done.output
    refused = CliRunner().invoke(main, ["hardness", *words])
    assert refused.exit_code == 2
    assert "a lower bound is known for normal noise, and outcomes follow the law 'poisson'" in " ".join(
        refused.output.split()
    )
