"""A difference that matters: half of Sage's bets are made for it, and what is proven stays the same."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.stats import norm

import probewise as pw
from probewise.algorithms.sage.accounts import log_account
from probewise.algorithms.sage.boosting import boosts
from probewise.algorithms.sage.knowledge import Knowledge
from probewise.cli import main
from probewise.pooling import Sums

LAW = pw.Gaussian(1.0, normal=True)
GAP = 0.02


@pytest.mark.parametrize("shown", [0.01, 0.3, 1.0, 3.0])
def test_bets_for_a_gap_are_fair_at_a_tie(shown: float) -> None:
    """The mean over S ~ N(0, W) of what half-normal bets make is 1 exactly."""
    x, precision = np.linspace(-40, 40, 80_001), shown / GAP**2
    own = np.full(x.size, precision)
    made = log_account(LAW, math.sqrt(precision) * x, own, own, 1.0, GAP)
    assert np.trapezoid(np.exp(made + norm.logpdf(x)), x) == pytest.approx(1.0, abs=1e-6)


def test_half_is_bet_on_the_gap_so_that_no_more_than_log_two_is_lost() -> None:
    """A lead of the gap, or of two, that just shows gains a factor of 1.8; no other loses more than a half."""
    leads = np.array([1.0, 2.0]) * GAP
    precision = 9.0 / leads**2
    gains = [log_account(LAW, leads * precision, precision, np.ones(2), 1.0, gap) for gap in (GAP, None)]
    assert (gains[0] - gains[1] > math.log(1.8)).all()
    precision = np.logspace(-2, 8, 400)
    for lead in (3.0, -1.0, 0.0):
        total = lead * np.sqrt(precision)
        with_it, without = (log_account(LAW, total, precision, np.ones(400), 1.0, gap) for gap in (GAP, None))
        assert (with_it - without > -math.log(2.0) - 1e-9).all()


def test_boosts_are_those_of_the_bets_for_the_gap() -> None:
    """The mean of a boosted bet is at most 1 at every scale of the noise, and near 1 at one of them."""
    precision, more, lacking = np.array([2e4]), np.array([2e3]), np.array([math.log(1.5)])
    total = 2.5 * np.sqrt(precision)
    (by,) = boosts(LAW, Sums(precision, total), more, np.ones(1), 1.0, lacking, GAP)
    edges = np.linspace(-9, 9, 7201)
    x, mass = (edges[1:] + edges[:-1]) / 2, np.diff(norm.cdf(edges))
    begun = log_account(LAW, total, precision, np.ones(1), 1.0, GAP)
    means = []
    for rho in np.linspace(0, 1, 9):
        at = total + rho * math.sqrt(more[0]) * x
        log = log_account(LAW, at, np.full(x.size, 2.2e4), np.ones(x.size), 1.0, GAP) - begun
        means.append(mass @ np.exp(np.minimum(log + by, lacking)))
    assert by > 0.01
    assert 0.98 < max(means) <= 1.0


def test_a_gap_counts_from_epsilon_on_and_is_part_of_the_forecast() -> None:
    problem = pw.Problem(np.eye(3), outcome=LAW)
    state = pw.Sage(gap=0.5).init(problem, pw.BestItem(0.05, epsilon=0.25))
    assert isinstance(state, Knowledge)
    assert state.prior.gap == 0.75
    goal = pw.BestItem(0.05)
    told, wide = (pw.Sage(gap=gap).forecast_for_gap(problem, goal, GAP).measurements for gap in (GAP, None))
    assert told < 0.9 * wide
    listed = pw.Sage(gap=0.5).init(problem, pw.TopM(1, delta=0.05, epsilon=0.25))
    assert listed.prior.gap == 0.75


def test_fewer_measurements_where_it_is_right() -> None:
    """A ladder in steps of the gap, on the same noise."""
    problem = pw.Problem(np.eye(3), outcome=LAW)
    theta = np.array([2.0, 1.0, 0.0]) * GAP
    runs = [pw.simulate(problem, theta, pw.Sage(gap=gap, lean=True), runs=25, seed=3) for gap in (GAP, None)]
    told, wide = (found.mean("measurements") for found in runs)
    assert told < 0.9 * wide


@pytest.mark.parametrize("gap", [0.0, -1.0, math.inf, math.nan])
def test_no_such_gap(gap: float) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match="gap must be positive and finite"):
        pw.Sage(gap=gap)


def test_refused_where_bets_are_placed_otherwise() -> None:
    problem = pw.Problem(np.eye(3), outcome=pw.Bounded(0, 1))
    with pytest.raises(pw.InvalidAlgorithm, match="outcomes of the law 'bounded' are bet on otherwise; omit gap"):
        pw.Sage(gap=0.1).init(problem, pw.BestItem(0.05))
    levels = replace(pw.Problem(np.eye(4)), blocks=(2, 2))
    with pytest.raises(pw.InvalidAlgorithm, match="combinations of levels are bet on otherwise"):
        pw.Sage(gap=0.1).init(levels, pw.BestCombination(0.05))


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line), prog_name="probewise")


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("id,a,b\nA,1,0\nB,0,1\nC,1,1\n")
    new = "new lab.campaign --probes p.csv --items p.csv --sigma 1 --matters 0.5"
    found = run(f"{new} --json")
    assert found.exit_code == 0, found.stderr
    assert [row["gap"] for row in json.loads(found.stdout)["forecasts"]] == [1.0, 0.5, 0.25]
    assert pw.Campaign.open("lab.campaign").algorithm.gap == 0.5  # type: ignore[attr-defined]
    refused = run(f"{new.replace('lab', 'other')} --budget 20")
    assert "which --matters does not go with" in refused.stderr
    assert "is not a setting of rage" in run(f"{new.replace('lab', 'other')} --algorithm rage").stderr
