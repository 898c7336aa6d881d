"""Rounds that are planned after a decision to confirm it: what they measure, what would contradict, and what did."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.campaign import Memory, Record, Storage
from probewise.campaign.journal import chain
from probewise.cli import main

SIGMA = 0.5
PLAIN = pw.Problem(np.eye(3), sigma=SIGMA, item_names=[*"ABC"], probe_names=[*"abc"])
TRUTH = {"a": 9.0, "b": 7.0, "c": 1.0}


def decided(
    problem: pw.Problem = PLAIN,
    goal: pw.Goal | None = None,
    truth: dict[str, float] | None = None,
    store: Storage | None = None,
    algorithm: pw.Algorithm[Any] | None = None,
    **settings: str,
) -> pw.Campaign:
    """A campaign with an answer."""
    campaign = pw.Campaign.create(store or Memory(), problem, goal, algorithm, seed=0, **settings)  # type: ignore[arg-type]
    while len(rows := campaign.ask()):
        campaign.tell(rows.filled([(truth or TRUTH)[probe] for probe in rows["probe"]]))
    return campaign


def test_the_winner_is_compared_with_its_closest_rival(tmp_path: Path) -> None:
    """Both are probes: each is measured by itself, and the criterion is that of the page, fixed in advance."""
    store = Memory()
    campaign = decided(store=store)
    before = campaign.status()
    rows = campaign.ask(confirm=8)
    assert sorted(rows["probe"]) == [*"aaaabbbb"]
    number = rows["round"][0]
    # √(2 log(2/δ)) standard errors of a difference of two means of four
    limit = math.sqrt(2.0 * math.log(2.0 / 0.05)) * SIGMA * math.sqrt(1 / 4 + 1 / 4)
    assert (
        f"Round {number} compares A with B, its closest rival: if A comes out more than {limit:.3g} below B, the "
        "answer is in doubt; if the answer is right, that happens with probability at most 2.5 %. If it were wrong by "
        f"{2 * limit:.3g}, that would be noticed with probability 97.5 % or more."
    ) in rows.sentence
    assert [*campaign.ask(confirm=8)] == [*campaign.ask()] == [*rows]  # asked again, the same
    assert "waits" not in campaign.status().sentence
    assert campaign.status().item == "A"
    campaign.tell(rows.filled([TRUTH[probe] for probe in rows["probe"]]))
    now = pw.Campaign.open(store).status()
    assert now.item == "A"
    assert now.items == before.items  # the answer and its numbers are those of the decision
    assert now.sentence.endswith(
        f"You may stop. The 8 measurements of round {number} to confirm it do not contradict it: A came out 2 above B."
    )
    (found,) = now.confirmations
    assert (found.front, found.behind, found.measurements, found.contradicts) == ("A", "B", 8, False)
    assert found.ahead == pytest.approx(2.0)
    assert found.limit == pytest.approx(limit)
    campaign.report(tmp_path / "r.html")
    head, _, rest = (tmp_path / "r.html").read_text("utf-8").partition("<h2>")
    assert "do not contradict it: A came out 2 above B." in head
    assert f"round {number}: 8 rows on 2 probes, to confirm the answer" in rest
    assert campaign.ask(confirm=2)["probe"] != []
    assert campaign.records[-1].body["confirms"]["level"] == pytest.approx(0.05 / 6)  # the second of them


@pytest.mark.parametrize("minimise", [False, True])
def test_a_contradiction_takes_the_certificate_away(minimise: bool, tmp_path: Path) -> None:
    sign = -1.0 if minimise else 1.0
    truth = {probe: sign * value for probe, value in TRUTH.items()}
    campaign = decided(goal=pw.BestItem(epsilon=0.1, minimise=minimise), truth=truth, outcome_name="yield", unit="%")
    rows = campaign.ask(confirm=8)
    sides, number = ("above", "below") if minimise else ("below", "above"), rows["round"][0]
    limit = 0.1 + math.sqrt(2.0 * math.log(2.0 / 0.05)) * SIGMA * math.sqrt(1 / 2)
    assert f"if A comes out more than {limit:.3g} points {sides[0]} B, the answer is in doubt" in rows.sentence
    campaign.tell(rows.filled([truth[probe] - (3.3 * sign if probe == "a" else 0.0) for probe in rows["probe"]]))
    status = campaign.status()
    assert status.item is None
    assert status.confidence is None
    assert "not certified: measurements made to confirm it contradict it." in status.sentence
    assert status.warnings[0].startswith(
        f"The 8 measurements of round {number} contradict the answer: A came out 1.3 points {sides[0]} B, by more than"
    )
    assert campaign.result().status == "not certified"
    campaign.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "The decision is in doubt: A came out first, but measurements made to confirm it contradict it." in page


def test_rows_that_are_missing_widen_the_limit() -> None:
    """What would contradict depends on the rows that are there; of too few, nothing can be said."""
    for left in (1, 0):
        campaign = decided()
        rows = campaign.ask(confirm=8)
        own = [row for row in rows if row["probe"] == "a"]
        campaign.void([row["measurement"] for row in own[left:]], reason="spilt")
        kept = [row for row in rows if row["probe"] == "b" or row in own[:left]]
        campaign.tell({row["measurement"]: 7.0 + 1.3 * (row["probe"] == "b") for row in kept})  # A is 1.3 below B
        (found,) = campaign.status().confirmations
        if left:
            wide = math.sqrt(2.0 * math.log(2.0 / 0.05)) * SIGMA * math.sqrt(1 + 1 / 4)
            assert found.limit == pytest.approx(wide)
            assert (found.ahead, found.contradicts) == (pytest.approx(-1.3), False)  # it would of all eight
        else:
            assert (found.limit, found.ahead, found.contradicts) == (math.inf, None, None)
            assert "was to compare A with B, its closest rival, but too few of its rows" in found.sentence


def test_a_right_answer_is_contradicted_no_more_often_than_the_level_says() -> None:
    """The rule of the page on normal noise at a tie, where it is most often wrong."""
    rng, level, n = np.random.default_rng(0), 0.05 / 2, 20_000
    standard_error = SIGMA * math.sqrt(1 / 4 + 1 / 4)
    limit = math.sqrt(2.0 * math.log(1.0 / level)) * standard_error
    difference = rng.normal(size=(n, 4)).mean(axis=1) * SIGMA - rng.normal(size=(n, 4)).mean(axis=1) * SIGMA
    assert (difference < -limit).mean() < level
    assert (difference - 2 * limit < -limit).mean() > 1 - level


def test_items_that_are_no_probes_are_compared_by_the_certified_design() -> None:
    probes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.2]])
    items = np.array([[1.0, 0.4], [0.2, 1.0], [0.1, 0.1]])
    problem = pw.Problem(probes, items, sigma=[0.2, 0.3, 0.2, 0.4], item_names=[*"ABC"], probe_names=[*"pqrs"])
    truth = dict(zip("pqrs", probes @ [5.0, 3.0], strict=True))
    campaign = decided(problem, truth=truth)
    counts = np.array([[*campaign.ask(confirm=30)["probe"]].count(name) for name in "pqrs"])
    best = pw.optimal_design(problem.scaled_probes, pw.explicit((items[0] - items[1])[None]))
    fit = (problem.scaled_probes * counts[:, None]).T @ problem.scaled_probes
    direction = items[0] - items[1]
    assert counts.sum() == 30
    assert direction @ np.linalg.solve(fit, direction) <= 1.1 * best.value / 30
    with pytest.raises(pw.InvalidCampaign, match=r"a test of 'A', 'B' needs at least 2 measurements|whole number"):
        decided(problem, truth=truth).ask(confirm=1)


def test_few_probes_like_the_items_are_measured_where_many_would_do() -> None:
    """Of an additive model, any acid would do to compare two doses; the acid of the items is measured."""
    rows = [(acid, solvent, dose) for acid in "XYZ" for solvent in "PQ" for dose in (0, 2)]
    probes = {"acid": [r[0] for r in rows], "solvent": [r[1] for r in rows], "dose": [r[2] for r in rows]}
    items = {"acid": ["Y", "Y"], "solvent": ["Q", "Q"], "dose": [0.5, 1.5]}
    problem = pw.Problem.from_tables(pd.DataFrame(probes), pd.DataFrame(items), sigma=0.1)
    truth = {name: float(row[2]) for name, row in zip(problem.probe_names, rows, strict=True)}
    assert {*decided(problem, truth=truth).ask(confirm=4)["probe"]} == {"Y, Q, 0", "Y, Q, 2"}


def test_a_winner_that_is_a_probe_is_measured_itself() -> None:
    probes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    items = np.array([[1.0, 1.0], [1.0, 0.7]])  # the first is probe r, the second none
    problem = pw.Problem(probes, items, sigma=0.2, item_names=[*"AB"], probe_names=[*"pqr"])
    campaign = decided(problem, truth=dict(zip("pqr", probes @ [5.0, 3.0], strict=True)))
    asked = [*campaign.ask(confirm=12)["probe"]]
    assert asked.count("r") >= 4
    assert len(asked) == 12


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (pw.TopM(2), "compares B with C: if B comes out more than"),
        (pw.BetterThan("C"), "compares B with C: if B comes out more than"),
        (pw.Above(8.5), r"compares A with the limit: if A comes out more than [\d.]+ below the limit"),
        (pw.Above(5.0, minimise=True), r"compares B with the limit: if B comes out more than [\d.]+ below the limit"),
        (pw.Above(12.0), r"compares A with the limit: if A comes out more than [\d.]+ above the limit"),
        (pw.BetterThan("A", minimise=True), "compares A with B: if A comes out more than|compares B with A: if B"),
    ],
)
def test_other_answers_are_confirmed_where_they_have_the_least_to_spare(goal: pw.Goal, said: str) -> None:
    campaign = decided(goal=goal)
    rows = campaign.ask(confirm=6)
    assert re.search(said, rows.sentence), rows.sentence
    campaign.tell(rows.filled([TRUTH[probe] for probe in rows["probe"]]))
    (found,) = campaign.status().confirmations
    assert found.contradicts is False
    assert found.ahead is not None
    assert found.ahead > 0


def test_what_cannot_be_confirmed_is_refused() -> None:
    fresh = pw.Campaign.create(Memory(), PLAIN, seed=0)
    with pytest.raises(pw.InvalidCampaign, match="there is no answer to confirm yet; ask without confirm"):
        fresh.ask(confirm=8)
    begun = len(fresh.ask())
    with pytest.raises(pw.InvalidCampaign, match="there is no answer to confirm yet; ask without confirm"):
        fresh.ask(confirm=8)
    assert len(fresh.ask()) == begun
    with pytest.raises(
        pw.InvalidCampaign, match=r"'uniform' covers only the rounds that it plans, so a round to confirm"
    ):
        decided(algorithm=pw.Uniform()).ask(confirm=8)
    campaign = decided()
    for count in (1, True, 2.5):
        with pytest.raises(pw.InvalidCampaign, match="confirm must be a whole number of at least 2, got"):
            campaign.ask(confirm=count)  # type: ignore[arg-type]
    used = campaign.status().measurements
    campaign.restock("a", used, reason="few are left")
    with pytest.raises(
        pw.OutOfStock, match=r"probe 'a' has \d+ left in stock, and 50 are needed to confirm the answer"
    ):
        campaign.ask(confirm=100)


@pytest.mark.parametrize("algorithm", [pw.Sage(), pw.Sage(max_batch=4)])
def test_the_round_counts_like_any_other_if_the_decision_is_withdrawn(algorithm: pw.Algorithm[Any]) -> None:
    store = Memory()
    campaign = decided(store=store, algorithm=algorithm)
    rows = campaign.ask(confirm=6)
    campaign.tell(rows.filled([TRUTH[probe] for probe in rows["probe"]]))
    first = [k for k, probe in enumerate(campaign.ledger.sheets[0].probes.tolist(), 1) if probe == 0]
    said = campaign.correct(f"r1-{first[0]}", -30.0, reason="misread")
    if "no longer declared" in said:
        assert campaign.status().confirmations == ()
        while len(rows := campaign.ask()):
            campaign.tell(rows.filled([TRUTH[probe] for probe in rows["probe"]]))
    assert pw.Campaign.open(store).status() == campaign.status()


def test_a_forged_confirmation_is_refused() -> None:
    store = Memory()
    campaign = decided(store=store)
    campaign.ask(confirm=4)
    *before, last = campaign.records
    body = {**last.body, "confirms": {**last.body["confirms"], "front": "Z"}}
    forged = Memory()
    for record in [*before, Record.new("asked", body, author="x", after=before[-1])]:
        chain.write(forged, record)
    with pytest.raises(pw.InvalidCampaign, match="it confirms what was not declared, or what cannot be confirmed"):
        pw.Campaign.open(forged)


def test_the_command_plans_and_says(tmp_path: Path) -> None:
    path, sheet = tmp_path / "a.campaign", tmp_path / "confirm.csv"
    from probewise.campaign.journal.places import storage_at

    decided(store=storage_at(path))
    result = CliRunner().invoke(main, ["ask", str(path), "--confirm", "4", "--out", str(sheet)])
    assert result.exit_code == 0, result.output
    assert "the answer is in doubt" in result.output
    table = [line.split(",") for line in sheet.read_text().splitlines()]
    filled = [",".join([*row[:4], str(TRUTH[row[2]]), *row[5:]]) for row in table[1:]]
    sheet.write_text("\n".join([",".join(table[0]), *filled]))
    result = CliRunner().invoke(main, ["tell", str(path), str(sheet)])
    assert "do not contradict it" in " ".join(result.output.split())
    status = json.loads(CliRunner().invoke(main, ["status", str(path), "--json"]).output)
    assert status["confirmations"][0]["contradicts"] is False
