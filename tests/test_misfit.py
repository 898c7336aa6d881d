"""A model that is only nearly linear (docs/misfit.md)."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import lsq_linear

import probewise as pw
from probewise.adequacy import check_adequacy
from probewise.campaign import Memory
from probewise.campaign.findings.numbers import intervals
from probewise.cli import main
from probewise.measurements import Measurements
from probewise.misfit import least, suggested
from probewise.pooling import Pooled, bias, fitted

PROBES = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
ITEMS = np.array([[1.0, 0.5], [-1.0, 0.5]])
H = 0.5
PROBLEM = pw.Problem(PROBES, ITEMS, misfit=H, item_names=["A", "B"])
UP = np.array([H, H, -H, -H])


def test_what_a_misfit_can_add_is_taken_off_and_no_more() -> None:
    """By hand: y'θ̂ is a sum of n_i a_i times means, and the largest bias is Σ n_i h_i |a_i|, with the counts."""
    problem = dataclasses.replace(PROBLEM, misfit=[0.1, 0.2, 0.3, 0.4], outcome=pw.Gaussian([1.0, 2.0, 1.0, 0.5]))
    counts, rng = np.array([3, 1, 4, 2]), np.random.default_rng(0)
    fit = fitted(problem, Measurements(counts, rng.standard_normal(4), np.zeros(4)))
    rows = rng.standard_normal((5, 2))
    weight = counts / problem.sigma**2
    parts = rows @ np.linalg.solve((PROBES.T * weight) @ PROBES, PROBES.T * weight)
    assert parts @ PROBES == pytest.approx(rows)
    assert bias(fit, rows) == pytest.approx(np.abs(parts) @ problem.misfit)
    sums, plain = (Pooled((dataclasses.replace(fit, misfit=own),)).sums(rows) for own in (fit.misfit, None))
    assert sums.total == pytest.approx(plain.total - plain.precision * bias(fit, rows))
    assert sums.mean == pytest.approx(plain.mean)
    # a bias of all signs attains the bound
    worst = np.sign(parts[0]) * problem.misfit
    shifted = fitted(problem, Measurements(counts, PROBES @ np.array([0.3, -0.2]) + worst, np.zeros(4)))
    assert float(rows[0] @ shifted.theta) == pytest.approx(float(rows[0] @ [0.3, -0.2] + bias(fit, rows)[0]))


def test_sums_keep_what_was_taken_off() -> None:
    rng = np.random.default_rng(1)
    rounds = [Measurements(np.array([2, 1, 1, 2]), rng.standard_normal(4), np.zeros(4)) for _ in range(3)]
    rows, fits = rng.standard_normal((4, 2)), [fitted(PROBLEM, own) for own in rounds]
    pool = Pooled(tuple(fits))
    each = list(pool.each(rows))
    together = each[0] + each[1] + each[2]
    for own in (pool.sums(rows), together, together.at(slice(None))):
        assert own.slack == pytest.approx(sum(bias(fit, rows) / fit.variance(rows) for fit in fits))
        assert own.whole == pytest.approx(own.total + own.slack)
    assert together.lifted(0.7).mean == pytest.approx(together.mean + 0.7)
    assert (pool.sums(rows) + Pooled(()).sums(rows)).slack == pytest.approx(together.slack)


@pytest.mark.parametrize(
    "goal", [pw.BestItem(), pw.TopM(1), pw.BetterThan("B"), pw.BetterThan("B", promise="share"), pw.Above(0.0)]
)
def test_a_bias_that_favours_the_wrong_answer_does_not_win(goal: pw.Goal) -> None:
    """A and B tie, and all probes are off in favour of A: without the slack, A wins every time."""
    found = []
    for own in (PROBLEM, dataclasses.replace(PROBLEM, misfit=0.0)):
        listed = 0
        for seed in range(12):
            lab = pw.LinearEnvironment(own, np.array([-1e-9, 0.0]), bias=UP, seed=seed)
            result = pw.identify(own, goal, measure=lab.measure, seed=seed, budget=120, algorithm=pw.Sage(growth=1.5))
            listed += result.status == "identified" or (goal.promise == "share" and bool(result.items))
        found.append(listed)
    assert found[0] <= 4  # by chance at most one run in twenty each
    assert found[1] >= 10


def test_every_bet_on_coins_that_are_off_is_worth_at_most_one() -> None:
    """All outcomes of a round of coins at a tie, each off by its misfit: the mean of what bets have made is exact."""
    law = pw.Bounded()
    probes = np.array([[1.0, 0.1], [1.0, -0.1]])
    problem = pw.Problem(probes, outcome=law, misfit=[0.2, 0.25])
    rows, theta = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.2]]), np.array([0.4, 0.0])
    counts, off = np.array([6, 5]), np.array([0.2, -0.25])
    for sign in (off, -off):
        chances, means = probes @ theta + sign, np.zeros(3)
        plain = np.zeros(3)
        for k in range(7):
            for j in range(6):
                hits = np.array([k, j])
                weight = math.prod(
                    math.comb(n, h) * p**h * (1 - p) ** (n - h) for n, h, p in zip(counts, hits, chances, strict=True)
                )
                data = Measurements(counts, hits / counts, hits * (counts - hits) / counts)
                fit = fitted(problem, data)
                sums = Pooled((fit,)).sums(rows).lifted(-(rows @ theta))  # at the edge of what is claimed
                bare = Pooled((dataclasses.replace(fit, misfit=None),)).sums(rows).lifted(-(rows @ theta))
                means += weight * np.exp(law.account(*sums[:3], np.ones(3), 1.0))
                plain += weight * np.exp(law.account(*bare[:3], np.ones(3), 1.0))
        assert (means <= 1.0 + 1e-12).all()
        assert plain.max() > 1.0 + 1e-3


def test_intervals_are_wider_by_the_misfit() -> None:
    rng = np.random.default_rng(2)
    data = Measurements(np.full(4, 3), rng.standard_normal(4), np.zeros(4))
    rows = np.array([[1.0, 0.0], [0.3, 2.0]])
    for law in (pw.Gaussian(), pw.Gaussian(unknown=True)):
        own = dataclasses.replace(PROBLEM, outcome=law)
        if not law.known:
            data = Measurements(np.full(4, 3), data.mean, np.ones(4))
        fit = fitted(own, data)
        wide, narrow = (
            intervals(own, pw.BestItem(), Pooled((dataclasses.replace(fit, misfit=part),)), rows, np.abs(rows))
            for part in (fit.misfit, None)
        )
        assert wide[0] == pytest.approx(narrow[0])
        assert wide[1] == pytest.approx(narrow[1] + bias(fit, rows))


def test_who_takes_a_misfit() -> None:
    lab = pw.LinearEnvironment(PROBLEM, np.array([1.0, 0.0]))
    for algorithm in (pw.Rage(), pw.XYStatic(), pw.Batched(pw.Uniform(), 4)):
        with pytest.raises(pw.InvalidAlgorithm, match="takes outcomes to be exactly linear in the features, and this"):
            pw.identify(PROBLEM, measure=lab.measure, algorithm=algorithm)
    for wrong, match in (
        (-1.0, "misfit must be finite and at least 0, got -1.0 for probe '0'"),
        ([0.1, 0.2, np.inf, 0.0], "got inf for probe '2'"),
        ([0.1, 0.2], "misfit must be one number or one per probe, expected 4, got"),
    ):
        with pytest.raises(pw.InvalidProblem, match=match):
            pw.Problem(PROBES, misfit=wrong)
    with pytest.raises(pw.InvalidProblem, match="bias must be 4 finite numbers, one per probe"):
        pw.LinearEnvironment(PROBLEM, np.zeros(2), bias=np.zeros(3))


def test_what_a_misfit_explains_is_not_held_against_the_model() -> None:
    """The dual bound is that of a solver for least squares in a box."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        rows, target = rng.standard_normal((7, 2)), rng.standard_normal(7)
        allowed = rng.uniform(0.0, 0.6, 7)
        free = np.full(2, np.inf)
        box = (np.append(-free, -allowed - 1e-12), np.append(free, allowed + 1e-12))
        exact = 2.0 * lsq_linear(np.hstack([rows, np.eye(7)]), target, box, tol=1e-12).cost
        found = least(rows, target, allowed)
        assert found <= exact + 1e-9
        assert found == pytest.approx(exact, rel=1e-3, abs=1e-6)
    assert least(rows, target, np.full(7, 100.0)) == 0.0


def test_the_check_of_linearity_knows_of_the_misfit() -> None:
    x = np.linspace(-1, 1, 9)
    probes, bent = np.column_stack([np.ones(9), x]), 1 + x - 0.8 * x**2
    rng, at = np.random.default_rng(0), np.repeat(np.arange(9), 4)
    rounds = [Measurements.from_outcomes(9, at, bent[at] + 0.1 * rng.normal(size=at.size)) for _ in range(3)]
    found = {h: check_adequacy(pw.Problem(probes, sigma=0.1, misfit=h), pw.BestItem(), rounds) for h in (0.0, 0.1, 0.5)}
    assert [own.fit.verdict for own in found.values()] == ["inadequate", "inadequate", "adequate"]
    assert "allow for a misfit of 0.65" in found[0.0].fit.advice
    assert found[0.0].suggested == suggested(found[0.0].misfit) == 0.65
    assert suggested(0.0) == 0.0
    assert "up to the misfit of 0.5 that is allowed for" in found[0.5].fit.found


def _told(campaign: pw.Campaign, lab: pw.LinearEnvironment) -> pw.Status:
    while len(rows := campaign.ask()):
        campaign.tell(rows.filled(lab.measure([lab.problem.probe_names.index(probe) for probe in rows["probe"]])))
    return campaign.status()


def test_a_campaign_keeps_and_says_its_misfit(tmp_path: Path) -> None:
    lab, store = pw.LinearEnvironment(PROBLEM, np.array([3.0, 0.0]), bias=UP, seed=0), Memory()
    campaign = pw.Campaign.create(store, PROBLEM, seed=0)
    assert campaign.status().forecast is None
    status = _told(campaign, lab)
    assert status.item == "A"
    assert "This allows for outcomes that are off the model by up to 0.5" in status.sentence
    again = pw.Campaign.open(store)
    assert again.problem.misfit.tolist() == [H] * 4
    assert again.status() == status
    campaign.report(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "is linear in its features, up to 0.5, and an item" in text
    assert "This allows for outcomes that are off the model" in text


def test_commands_take_a_misfit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("id,a,b\nA,1,0\nB,0,1\n")

    def ran(*words: str, code: int = 0) -> Any:
        result = CliRunner().invoke(main, words)
        assert result.exit_code == code, result.output
        return " ".join(result.output.split())

    tables = ("--probes", "p.csv", "--model", "none", "--sigma", "0.1")
    assert "Allowed for: outcomes that are off the model by up to 0.2." in ran(
        "new", "a.campaign", *tables, "--misfit", "0.2"
    )
    assert pw.Campaign.open(tmp_path / "a.campaign").problem.misfit.tolist() == [0.2, 0.2]
    assert "'A' is the best item" in ran("identify", *tables, "--misfit", "0.2", "--theta", "1,0")
    assert "budget" in ran("identify", *tables, "--misfit", "0.2", "--theta", "0.3,0", "--budget", "300", code=1)
    assert "misfit must be finite and at least 0" in ran(
        "identify", *tables, "--misfit", "-1", "--theta", "1,0", code=2
    )
