from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import probewise as pw
from probewise.algorithms.base import Standing
from probewise.campaign import KINDS, Memory, Record, Sheet
from probewise.campaign.findings.news import Stand, news, what_changed
from probewise.campaign.journal import records
from probewise.campaign.state.replay import replay
from probewise.campaign.state.sheet import place_of, row_id
from probewise.design import digest

ROOT = Path(__file__).parents[1]
PROBLEM = pw.Problem(
    [[1, 0], [0, 1], [1, 1]],
    [[1, 0], [0, 1], [0.5, 0.4]],
    sigma=0.5,
    cost=[1, 2, 4],
    probe_names=["mild", "hot", "both"],
    item_names=["A", "B", "C"],
)
THETA = np.array([1.0, 0.2])


def create(**options: Any) -> pw.Campaign:
    given = {"problem": PROBLEM, "seed": 0, "author": "Ada"} | options
    return pw.Campaign.create(Memory(), **given)


def truth(rows: Any) -> list[float]:
    """Outcomes without noise."""
    return [float(PROBLEM.probes[PROBLEM.probe_names.index(name)] @ THETA) for name in rows["probe"]]


def finish(campaign: pw.Campaign) -> pw.Campaign:
    while len(rows := campaign.ask()):
        campaign.tell(rows.filled(truth(rows)))
    return campaign


# Asking


def test_a_campaign_ends_with_the_item_that_identify_finds() -> None:
    problem = pw.Problem(np.eye(3), sigma=0.3)
    theta = np.array([1.0, 0.6, 0.0])
    noise = np.random.default_rng(1)
    campaign = pw.Campaign.create(Memory(), problem, pw.BestItem(0.1), seed=3)
    told: list[np.ndarray] = []
    while len(rows := campaign.ask()):
        outcomes = [theta[int(name)] + 0.3 * noise.standard_normal() for name in rows["probe"]]
        campaign.tell(rows.filled(outcomes))
        order = np.argsort([int(name) for name in rows["probe"]], kind="stable")
        told.append(np.array(outcomes)[order])
    queue = iter(told)
    result = pw.identify(problem, pw.BestItem(0.1), measure=lambda indices: next(queue), algorithm=pw.Sage())
    mine = campaign.result()
    assert (mine.item, mine.measurements, mine.rounds) == (result.item, result.measurements, result.rounds)
    for one, other in zip(mine.history, result.history, strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_allclose(mine.estimate, result.estimate)


def test_asking_again_gives_the_rows_that_are_open() -> None:
    campaign = create()
    rows = campaign.ask()
    assert list(campaign.ask()) == list(rows)
    assert len(campaign.records) == 2
    campaign.tell({rows["measurement"][1]: 0.5})
    assert campaign.ask()["measurement"] == [own for own in rows["measurement"] if own != rows["measurement"][1]]
    assert campaign.status().waiting == len(rows) - 1


def test_a_round_may_have_a_day_by_which_it_is_wanted() -> None:
    campaign = create()
    assert "to measure, due 2026-12-31:" in campaign.ask(due="2026-12-31").sentence
    assert campaign.ask(due="2027-01-31").sentence == campaign.ask().sentence  # the round has been asked for
    assert campaign.status().due == "2026-12-31"
    with pytest.raises(pw.InvalidRows, match="due must be a date such as 2026-12-31, got 'soon'"):
        campaign.ask(due="soon")


def test_the_order_of_measuring_is_random_and_comes_from_the_seed() -> None:
    big = pw.Problem(np.eye(8))
    one, same, other = (pw.Campaign.create(Memory(), big, seed=seed).ask()["probe"] for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert sorted(one) == sorted(other) != one


def test_replicates_are_numbered_within_a_round() -> None:
    sheet = Sheet(1, np.array([2, 0, 2, 2, 0]), np.zeros(5), np.zeros(5, dtype=np.int8), True, PROBLEM)
    assert sheet.replicates.tolist() == [1, 1, 2, 3, 2]


def test_what_a_round_measured_is_summed_up_once_until_it_changes() -> None:
    sheet = Sheet(1, np.array([2, 0, 2]), np.array([1.0, 2.0, 4.0]), np.ones(3, dtype=np.int8), True, PROBLEM)
    found = sheet.measurements(3)
    assert sheet.measurements(3) is found
    assert sheet.measurements(4).count.tolist() == [1, 0, 2, 0]
    assert sheet.measurements(3, np.array([True, True, False])).mean.tolist() == [2.0, 0.0, 1.0]
    changed = sheet.changed(np.array([2]), 7.0, 1)
    assert found.mean.tolist() == [2.0, 0.0, 2.5]
    assert changed.measurements(3).mean.tolist() == [2.0, 0.0, 4.0]


def test_rows_are_a_table_for_the_laboratory(tmp_path: Path) -> None:
    columns = pl.DataFrame({"probe": ["mild", "hot", "both"], "T / °C": [20, 80, None], "round": ["a", "b", "c"]})
    rows = create(probe_columns=columns).ask()
    assert list(rows.columns) == ["measurement", "round", "probe", "replicate", "outcome", "T / °C", "round of probe"]
    first = next(csv.DictReader(io.StringIO(rows.to_csv(tmp_path / "ask.csv"))))
    assert first["measurement"] == "r1-1"
    assert first["outcome"] == ""
    assert (tmp_path / "ask.csv").read_text() == rows.to_csv()
    assert rows.to_polars().height == len(rows.to_pandas()) == len(rows)
    assert "4 of 4 rows of round 1 to measure: 'mild' 2 times, 'hot' 2 times. Repeats are wanted" in repr(rows)
    with pytest.raises(pw.InvalidCampaign, match="one row per probe, expected 3 in 'x', got 2"):
        create(probe_columns=pd.DataFrame({"x": [1, 2]}))
    with pytest.raises(pw.InvalidCampaign, match="must be a data frame or a table, got list"):
        create(probe_columns=[1, 2, 3])


def test_nothing_is_asked_once_an_item_is_declared() -> None:
    campaign = finish(create())
    assert campaign.status().item == "A"
    assert campaign.ask().sentence.startswith("A is the best item, with confidence 95 %")
    assert campaign.records[-1].kind == "decided"
    assert campaign.records[-1].body == {"item": "A", "round": campaign.status().rounds}
    assert campaign.result().status == "identified"


def test_one_item_needs_no_measurement() -> None:
    campaign = pw.Campaign.create(Memory(), pw.Problem(np.eye(2), [[1.0, 0.0]]))
    assert len(campaign.ask()) == 0
    assert campaign.status().item == "0"


# Telling


def told_as(kind: str, table: list[dict[str, Any]], folder: Path) -> Any:
    path = folder / "told.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, table[0])
        writer.writeheader()
        writer.writerows(table)
    return {
        "dictionaries": table,
        "mapping": {row["measurement"]: row["outcome"] for row in table},
        "pandas": pd.DataFrame(table),
        "polars": pl.DataFrame(table),
        "read by pandas": pd.read_csv(path),
        "file": path,
        "name": str(path),
    }[kind]


@pytest.mark.parametrize("kind", ["dictionaries", "mapping", "pandas", "polars", "read by pandas", "file", "name"])
def test_outcomes_come_in_any_table(kind: str, tmp_path: Path) -> None:
    campaign = create()
    rows = campaign.ask()["measurement"]
    table = [{"measurement": own, "outcome": at + 0.5 if at else None} for at, own in enumerate(rows)]
    told = campaign.tell(told_as(kind, table[::-1], tmp_path))
    assert set(told.recorded) == set(rows[1:])
    assert told.empty == 1
    assert told.sentence == f"{len(rows) - 1} recorded, 1 empty."
    assert campaign.ledger.outcome((1, 3)) == 2.5
    again = campaign.tell(told_as(kind, table[::-1], tmp_path))
    assert again.sentence == f"0 recorded, {len(rows) - 1} already recorded, 1 empty."
    assert len(campaign.records) == 3


def test_further_columns_are_kept_as_notes() -> None:
    campaign = create()
    own, other = campaign.ask()["measurement"][:2]
    remark = {"remark": "cloudy", "pH": 7.2, "x0": 3}
    campaign.tell([{"measurement": own, "outcome": 1, **remark}, {"measurement": other, "outcome": 1, "remark": ""}])
    assert campaign.records[-1].body["notes"] == {own: {"remark": "cloudy", "pH": 7.2}}


BAD = [
    ([{"measurement": "r9-1", "outcome": 1}], r"row 0, column 'measurement': got 'r9-1', which was never asked for"),
    ([{"measurement": "r1-99", "outcome": 1}], r"which was never asked for; the last one asked for is 'r1-\d'"),
    ([{"measurement": "17-Mar", "outcome": 1}], r"got '17-Mar', expected an id such as 'r1-4'"),
    ([{"measurement": None, "outcome": 1}], r"column 'measurement': got nothing, expected an id"),
    ([{"measurement": "r1-1", "outcome": math.nan}], r"column 'outcome': got nan, expected a finite number"),
    ([{"measurement": "r1-1", "outcome": "inf"}], r"got 'inf', expected a finite number"),
    ([{"measurement": "r1-1", "outcome": "NaN"}], r"got 'NaN', expected a finite number"),
    ([{"measurement": "r1-1", "outcome": "1,5"}], r"got '1,5', expected a number; use a decimal point"),
    ([{"measurement": "r1-1", "outcome": "high"}], r"got 'high', expected a number; enter a number, or leave"),
    ([{"measurement": "r1-1", "outcome": "1_000"}], r"got '1_000', expected a number; enter a number"),
    ([{"measurement": "r1-1", "outcome": True}], r"got True, expected a number"),
    ([{"measurement": "r1-1", "outcome": [1]}], r"got \[1\], expected a number"),
    ([{"measurement": "r1-1", "outcome": -11}], r"got -11, expected a number from -10 to 10, the range of this camp"),
    ([{"measurement": "r1-1", "outcome": 1}, {"measurement": "R1-01", "outcome": 1}], r"row 0.*more than one row"),
    ([{"measurement": "r1-1", "outcome": 1, "probe": "cold"}], r"column 'probe': got 'cold', expected '\w+' in row"),
    ([{"measurement": "r1-1", "value": 1}], r"row 0 has no 'outcome'; it has 'measurement', 'value'"),
    ([("r1-1", 1.0)], r"row 0 must be a dictionary with 'measurement', 'outcome', got \('r1-1', 1.0\)"),
    (pd.DataFrame({"measurement": ["r1-1"]}), r"the table has no column 'outcome'; it has 'measurement'"),
    (7, r"rows are a table with the columns 'measurement', 'outcome', got int"),
    ("lost.csv", r"there is no file lost.csv"),
]


@pytest.mark.parametrize(("table", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_a_table_with_a_fault_is_refused_whole(table: Any, sentence: str) -> None:
    campaign = create(outcome_range=(-10, 10))
    good = {"measurement": campaign.ask()["measurement"][1], "outcome": 1.0}
    if isinstance(table, list) and isinstance(table[0], dict) and "outcome" in table[0]:
        table = [*table, good]
    before = campaign.records
    for dry_run in (True, False):
        with pytest.raises(pw.InvalidRows, match=sentence):
            campaign.tell(table, dry_run=dry_run)
    assert campaign.records == before


def test_lines_of_a_file_are_named(tmp_path: Path) -> None:
    campaign = create()
    campaign.ask()
    (tmp_path / "told.csv").write_text("measurement,outcome\nr1-1,1\n\nr1-2,?\n")
    with pytest.raises(pw.InvalidRows, match=r"told.csv, line 4, column 'outcome': got '\?', expected a number"):
        campaign.tell(tmp_path / "told.csv")


def test_nothing_was_asked_for() -> None:
    with pytest.raises(pw.InvalidRows, match="nothing has been asked for yet"):
        create().tell({"r1-1": 1.0})


def test_another_value_needs_a_correction() -> None:
    campaign = create()
    campaign.ask()
    campaign.tell({"r1-1": 1.0})
    with pytest.raises(pw.InvalidRows, match=r"got 2.0, but 'r1-1' has 1.0 on record; use correct, with a reason"):
        campaign.tell({"r1-1": 2.0, "r1-2": 1.0})
    assert campaign.correct("1-1", 2.0, reason="typing error") == "1-1 is 2.0 now."
    assert campaign.correct("r1-1", 2.0, reason="typing error") == "r1-1 was so already."
    told = campaign.tell({"r1-1": 1.0, "r1-2": 1.0})
    assert (told.recorded, told.outdated) == (("r1-2",), ("r1-1",))
    assert campaign.ledger.outcome((1, 1)) == 2.0
    with pytest.raises(pw.InvalidRows, match="'r1-3' has no outcome to correct; use tell"):
        campaign.correct("r1-3", 1.0, reason="typing error")
    with pytest.raises(pw.InvalidRows, match="a correction needs a reason in words, got ' '"):
        campaign.correct("r1-1", 1.0, reason=" ")
    with pytest.raises(pw.InvalidRows, match="got nan, expected a finite number"):
        campaign.correct("r1-1", math.nan, reason="typing error")


def test_a_voided_row_counts_again_only_with_a_reason() -> None:
    campaign = create()
    campaign.ask()
    campaign.tell({"r1-1": 1.0})
    assert campaign.void(["r1-1", "r1-2"], reason="spilled") == "Voided."
    assert campaign.void("r1-1", reason="spilled") == "These rows were voided already."
    assert campaign.status().measurements == 0
    with pytest.raises(pw.InvalidRows, match=r"'r1-2' was voided \(spilled\); use correct, with a reason"):
        campaign.tell({"r1-2": 1.0})
    assert campaign.tell({"r1-1": 1.0}).outdated == ("r1-1",)
    campaign.correct("r1-2", 1.0, reason="it was another one that was spilled")
    assert campaign.status().measurements == 1


def test_a_late_row_is_accepted_and_changes_the_state() -> None:
    campaign = create()
    rows = campaign.ask()
    ids, outcomes = rows["measurement"], truth(rows)
    campaign.tell(dict(zip(ids[1:], outcomes[1:], strict=True)))
    assert campaign.close(reason="lost in the mail") == "The round is closed."
    campaign.ask()
    before = campaign.trail
    told = campaign.tell({ids[0]: outcomes[0] + 1.0})
    assert told.late == (ids[0],)
    assert told.sentence == "1 recorded, 1 of them late."
    assert campaign.trail.state is not before.state
    assert "changed once after they had been looked at: over all 2 versions" in campaign.status().warnings[0]
    campaign.tell(dict.fromkeys(campaign.ask()["measurement"], 0.0))
    with pytest.raises(pw.InvalidCampaign, match="no round is waiting for rows"):
        campaign.close(reason="to be sure")


def test_a_round_without_any_outcome_is_asked_for_again() -> None:
    campaign = create()
    first = campaign.ask()
    campaign.close(reason="the freezer broke down")
    again = campaign.ask()
    assert again["round"] == [2] * len(first)
    assert sorted(again["probe"]) == sorted(first["probe"])


# Rows of the laboratory's own


def test_rows_off_plan_are_a_round_of_their_own() -> None:
    campaign = create()
    rows = campaign.ask()
    table = [{"probe": "both", "outcome": 1.25}, {"probe": "mild", "outcome": "0.75"}]
    assert "(dry run: nothing was written)" in campaign.tell(table, off_plan=True, dry_run=True).sentence
    told = campaign.tell(table, off_plan=True)
    assert told.recorded == ("r2-1", "r2-2")
    assert "holds if these rows were chosen before any of their outcomes was seen" in told.sentence
    again = campaign.tell(table[::-1], off_plan=True)
    assert again.recorded == ()
    assert again.sentence.startswith("These rows are on record already, as round 2; if they were measured again")
    assert campaign.tell(table, off_plan=True, again=True, dry_run=True).recorded == ("r3-1", "r3-2")
    assert campaign.trail.sheets == ()  # the round that was asked for comes first, and it is not complete
    campaign.tell(rows.filled(truth(rows)))
    assert [sheet.number for sheet in campaign.trail.sheets] == [1, 2]
    campaign.correct("r2-1", 1.5, reason="typing error")
    assert campaign.tell(table, off_plan=True).recorded == ()
    assert any("the laboratory's own: 1" in warning for warning in campaign.status().warnings)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ([{"probe": "hott", "outcome": 1}], "got 'hott', expected the name of a probe; did you mean 'hot'"),
        ([{"probe": None, "outcome": 1}], "got nothing, expected the name of a probe; the probes are 'mild'"),
        ([{"probe": "hot", "outcome": None}], "column 'outcome': got nothing, expected a number"),
        ([{"measurement": "r1-1", "outcome": 1}], "row 0 has no 'probe'"),
        ([], "a round needs at least one row"),
    ],
)
def test_rows_off_plan_are_checked_too(table: Any, sentence: str) -> None:
    with pytest.raises(pw.InvalidRows, match=sentence):
        create().tell(table, off_plan=True)


def test_rows_off_plan_need_an_algorithm_that_can_take_them() -> None:
    with pytest.raises(pw.InvalidCampaign, match="the guarantee of 'rage' covers only the rounds that it plans"):
        create(algorithm=pw.Rage("tight")).tell([{"probe": "hot", "outcome": 1}], off_plan=True)


# Rounds in batches


def batches(campaign: pw.Campaign) -> list[tuple[int, bool]]:
    """Number of every round, and whether it began a round of the algorithm."""
    return [(sheet.number, sheet.begins) for sheet in campaign.ledger.sheets]


def in_batches() -> pw.Campaign:
    """The first round in two batches, and the first batch of the second round, all told."""
    campaign = create(algorithm=pw.Sage(max_batch=2, opening=0.0))
    for _ in range(3):
        rows = campaign.ask()
        campaign.tell(rows.filled(truth(rows)))
    assert batches(campaign) == [(1, True), (2, False), (3, True)]
    return campaign


def test_a_batch_that_began_a_round_never_joins_the_one_before() -> None:
    """It was planned by their outcomes: the theorem holds for rounds that are planned before theirs."""
    campaign = in_batches()
    before = campaign.trail.reached[1]
    campaign.void("r2-1", reason="spilled")  # the first round is one row short now
    after = campaign.trail.reached[1]
    assert len(before.pool.fits) == len(after.pool.fits) == 1
    assert (before.data.n, after.data.n) == (4, 3)
    assert campaign.trail.open.first.number == 3
    assert same(campaign)


def same(campaign: pw.Campaign) -> bool:
    """Whether one that is opened anew has come to the same state and says the same."""
    other = pw.Campaign.open(campaign._store)
    assert digest(other.trail.reached) == digest(campaign.trail.reached)
    return other.status() == campaign.status()


def test_own_rows_wait_for_the_round_whose_outcomes_may_have_led_to_them() -> None:
    campaign = create(algorithm=pw.Sage(max_batch=2, opening=0.0))
    rows = campaign.ask()
    campaign.tell(rows.filled(truth(rows)))
    campaign.tell([{"probe": "hot", "outcome": 0.3}, {"probe": "mild", "outcome": 1.2}], off_plan=True)
    assert [sheet.number for sheet in campaign.trail.sheets] == [1]
    rows = campaign.ask()
    assert set(rows["round"]) == {3}
    campaign.tell(rows.filled(truth(rows)))
    assert [sheet.number for sheet in campaign.trail.sheets] == [1, 3, 2]
    assert len(campaign.trail.state.pool.fits) == 2
    # a journal of the first form says neither what was planned nor what was open: own rows follow the round before
    sheets = [replace(sheet, whole=None, during=None) for sheet in campaign.ledger.sheets]
    first = replay(replace(campaign.ledger, sheets=tuple(sheets)))
    assert [[sheet.number for sheet in step.sheets] for step in first.steps] == [[1, 3], [2]]


def test_own_rows_are_told_together_with_the_round_that_was_open() -> None:
    """Bets on either know nothing of the other: both were measured before the other was complete."""
    campaign, told = in_batches(), []
    start = campaign.trail.state
    own = [{"probe": "hot", "outcome": 0.3}, {"probe": "mild", "outcome": 1.2}]
    campaign.tell(own, off_plan=True)
    assert campaign.ledger.sheets[-1].during == 3
    assert campaign.trail.state is start
    while campaign.trail.state is start:
        rows = campaign.ask()
        campaign.tell(rows.filled(truth(rows)))
    step = campaign.trail.steps[1]
    told = [sheet.number for sheet in step.sheets]
    assert told[-1] == 4
    assert len(step.rounds) == 2
    assert step.rounds[1].n == 2
    expected = campaign.algorithm.tell_overlapping(campaign.problem, campaign.goal, start, step.rounds)
    assert digest(expected) == digest(campaign.trail.state)
    # after the round nothing is open, and the same rows are a round like any other
    campaign.tell(own, off_plan=True, again=True)
    assert campaign.ledger.sheets[-1].during is None
    assert len(campaign.trail.steps) == 3
    assert same(campaign)


def test_own_rows_beside_a_sheet_that_waits_are_told_together_with_it() -> None:
    campaign = create(algorithm=pw.Sage(opening=0.0))
    campaign.tell((rows := campaign.ask()).filled(truth(rows)))
    start, rows = campaign.trail.state, campaign.ask()
    filled = dict(zip(rows["measurement"], truth(rows), strict=True))
    half = dict(list(filled.items())[:2])
    campaign.tell(half)
    campaign.tell([{"probe": "hot", "outcome": 0.3}], off_plan=True)
    assert campaign.ledger.sheets[-1].during == 2
    campaign.tell(filled)
    assert [sheet.number for sheet in campaign.trail.steps[-1].sheets] == [2, 3]
    expected = campaign.algorithm.tell_overlapping(
        campaign.problem, campaign.goal, start, campaign.trail.steps[-1].rounds
    )
    assert digest(expected) == digest(campaign.trail.state)


def test_rows_beyond_the_plan_are_a_round_of_their_own() -> None:
    """A row that is missing is asked for again; if it comes after all, the round has one more than was planned."""
    campaign = create(algorithm=pw.Sage(max_batch=2, opening=0.0))
    rows = campaign.ask()
    late, outcome = rows["measurement"][0], truth(rows)[0]
    campaign.tell(dict(zip(rows["measurement"][1:], truth(rows)[1:], strict=True)))
    campaign.close(reason="the first vial is lost")
    while not campaign.trail.steps:
        rows = campaign.ask()
        campaign.tell(rows.filled(truth(rows)))
    (round,) = campaign.trail.steps[0].rounds
    whole = campaign.ledger.sheets[0].whole
    np.testing.assert_array_equal(round.count, whole)
    campaign.tell({late: outcome})
    assert campaign.ledger.amended == 1
    fits, more = campaign.trail.steps[0].rounds
    np.testing.assert_array_equal(fits.count, whole)
    assert more.n == 1
    assert same(campaign)


def test_a_row_that_comes_late_while_its_round_is_open_is_no_amendment() -> None:
    campaign = create(algorithm=pw.Sage(max_batch=2, opening=0.0))
    rows = campaign.ask()
    campaign.tell({rows["measurement"][1]: truth(rows)[1]})
    campaign.close(reason="the first vial is late")
    campaign.tell({rows["measurement"][0]: truth(rows)[0]})
    campaign.correct(rows["measurement"][1], 0.25, reason="typing error")
    assert campaign.ledger.open == 1
    assert campaign.ledger.amended == 0
    assert campaign.status().risk == campaign.goal.delta


def test_batches_of_a_round_follow_its_plan_whatever_comes_meanwhile() -> None:
    campaign = create(algorithm=pw.Sage(max_batch=3, growth=2.0))
    for _ in range(6):
        rows = campaign.ask()
        campaign.tell(rows.filled(truth(rows)))
        campaign.tell([{"probe": "hot", "outcome": float(rows["round"][0])}], off_plan=True)
    for step in campaign.trail.steps:
        if step.first.planned:
            np.testing.assert_array_equal(step.rounds[0].count, step.first.whole)
    assert same(campaign)


def test_own_rows_cannot_use_up_what_an_open_round_needs() -> None:
    problem = pw.Problem(np.eye(2), stock=[30, 30], probe_names=["a", "b"])
    campaign = pw.Campaign.create(Memory(), problem, algorithm=pw.Sage(max_batch=2, opening=0.0), seed=0)
    rows = campaign.ask()
    campaign.tell(rows.filled([0.0, 0.0]))
    assert campaign.ledger.open == 1
    need, free = campaign.ledger.reserved, problem.stock - campaign.ledger.measured.count - campaign.ledger.reserved
    assert need.any()
    probe = int(np.argmax(need))
    name = problem.probe_names[probe]
    own = [{"probe": name, "outcome": 1.0}] * int(free[probe])
    message = (
        f"probe '{name}' has {30 - rows['probe'].count(name)} left in stock, of which round 1 needs {need[probe]}; "
    )
    advice = "wait until that round is over or, if there is more, say so first"
    with pytest.raises(pw.InvalidRows, match=f"{message}got {len(own) + 1} rows; {advice}"):
        campaign.tell([*own, own[0]], off_plan=True)
    campaign.tell(own, off_plan=True)
    campaign.void("r2-1", reason="spilt")
    campaign.correct("r2-1", 1.0, reason="it was another one")
    campaign.void("r2-1", reason="spilt")
    campaign.tell(own[:1], off_plan=True)  # takes what became free
    with pytest.raises(pw.InvalidRows, match=f"needs {need[probe]}; got 1 row; {advice}"):
        campaign.correct("r2-1", 1.0, reason="it was another one")
    campaign.void(rows["measurement"][0], reason="spilt")
    campaign.correct(rows["measurement"][0], 0.0, reason="it was another one")  # the round has set this aside
    again = campaign.tell(own, off_plan=True)  # nothing is left for them, and nothing is taken
    assert "on record already, as round 2" in again.sentence
    while campaign.ledger.open is not None:
        rows = campaign.ask()
        campaign.tell(rows.filled([0.0] * len(rows["probe"])))
    np.testing.assert_array_equal(campaign.trail.steps[0].rounds[0].count, campaign.ledger.sheets[0].whole)
    told = campaign.tell([{"probe": name, "outcome": 2.0}] * 31, off_plan=True)  # measured is measured
    assert len(told.recorded) == 31


def test_late_rows_cannot_use_up_what_an_open_round_needs() -> None:
    """Else whoever keeps rows of a closed round back could end the next one by what it has shown."""
    problem = pw.Problem(np.eye(2), stock=[4, 30], probe_names=["a", "b"])
    campaign = pw.Campaign.create(Memory(), problem, algorithm=pw.Sage(max_batch=2, opening=0.0), seed=0)
    rows = campaign.ask()
    late = rows["measurement"][rows["probe"].index("a")]
    campaign.close(reason="the courier is late")
    while campaign.ledger.begun < 4:
        rows = campaign.ask()
        campaign.tell(rows.filled([0.0, 0.0]))
    whole = campaign.ledger.sheet(4).whole
    assert campaign.ledger.open == 4
    assert (problem.stock - campaign.ledger.measured.count - campaign.ledger.reserved)[0] == 0
    message = "probe 'a' has 1 left in stock, of which round 4 needs 1; got 1 row; wait until that round is over or"
    for dry_run in (True, False):
        with pytest.raises(pw.InvalidRows, match=message):
            campaign.tell({late: 9.0}, dry_run=dry_run)
    rows = campaign.ask()
    told = campaign.tell(dict.fromkeys(rows["measurement"], 0.0) | {late: 9.0})  # the round is over with this table
    assert told.late == (late,)
    np.testing.assert_array_equal(campaign.trail.steps[1].came.count, whole)
    assert campaign.ledger.measured.count[0] == 5
    assert same(campaign)


def test_only_own_rounds_of_the_same_rows_are_taken_for_one() -> None:
    campaign = create()
    rows = campaign.ask()
    campaign.tell(rows.filled(truth(rows)))
    own = [{"probe": name, "outcome": value} for name, value in zip(rows["probe"], truth(rows), strict=True)]
    for twin in (own, own[:1], own[1:]):
        assert campaign.tell(twin, off_plan=True).recorded
    assert len(campaign.ledger.sheets) == 4
    again = campaign.tell(own[::-1], off_plan=True)
    assert (again.recorded, again.repeated[0], len(again.repeated)) == ((), "r2-1", len(own))
    assert "on record already, as round 2" in again.sentence


def test_own_rows_between_a_round_and_the_batch_that_makes_up_for_a_void() -> None:
    """They came when it was complete; as it is open again, they are told together with it."""
    campaign = pw.Campaign.create(Memory(), pw.Problem(np.eye(2)), algorithm=pw.Sage(max_batch=2, opening=0.0), seed=0)
    for _ in range(2):
        rows = campaign.ask()
        campaign.tell(rows.filled([0.0, 0.0]))
    campaign.tell([{"probe": campaign.problem.probe_names[0], "outcome": 1.0}], off_plan=True)
    assert [len(step.rounds) for step in campaign.trail.steps] == [1, 1]
    campaign.void("r1-1", reason="spilled")
    rows = campaign.ask()
    assert rows["measurement"] == ["r4-1"]
    assert campaign.trail.steps == ()
    campaign.tell({"r4-1": 0.5})
    assert [len(step.rounds) for step in campaign.trail.steps] == [2]
    assert same(campaign)


def test_a_round_that_ended_for_lack_of_stock_stays_over() -> None:
    """Else rows could be voided while it is open and looked at while it is over, in turn, and no version be counted."""
    campaign = pw.Campaign.create(Memory(), pw.Problem(np.eye(2)), algorithm=pw.Sage(max_batch=2, opening=0.0), seed=0)
    rows = campaign.ask()
    campaign.tell(rows.filled([0.0, 0.0]))
    names = campaign.problem.probe_names
    for probe, name in enumerate(names):
        campaign.restock(name, int(campaign.ledger.measured.count[probe]), reason="counted")
    assert campaign.ledger.open is None
    assert len(campaign.trail.steps) == 1
    for name in names:
        campaign.restock(name, None, reason="found in the fridge")
    assert campaign.ledger.open is None
    assert len(campaign.trail.steps) == 1
    campaign.void(rows["measurement"][0], reason="spilled")
    assert campaign.ledger.amended == 1
    assert same(campaign)
    campaign.ask()
    assert campaign.ledger.sheets[-1].begins


# Data that change afterwards


def test_every_version_of_the_data_has_a_part_of_delta() -> None:
    for share in (0.0, 0.1, 0.5):
        charter = create(amendments=share).ledger.charter
        delta, parts = charter.goal.delta, [charter.goal_of(version).delta for version in range(2000)]
        assert parts[0] == pytest.approx((1 - share) * delta)
        assert parts[1] == pytest.approx((share or 1.0) * delta / 2)
        assert parts[3] == pytest.approx((share or 1.0) * delta / 12)
        for version in (0, 1, 7, 1999):
            bound = delta if share else sum(parts[: version + 1])
            assert charter.risk(version) == pytest.approx(bound)
            assert sum(parts[: version + 1]) <= charter.risk(version) * (1 + 1e-12)


def test_a_replay_spends_the_part_of_its_version() -> None:
    """Each amendment of a complete round, and nothing else, makes a version."""
    campaign = create(amendments=0.5)
    delta = campaign.goal.delta
    rows = campaign.ask()
    ids = rows["measurement"]
    campaign.tell(dict(zip(ids[1:], truth(rows)[1:], strict=True)))
    campaign.correct(ids[1], 0.75, reason="before the round was complete")
    campaign.void(ids[2], reason="before the round was complete")
    assert campaign.trail.goal.delta == pytest.approx(delta / 2)
    campaign.tell({ids[0]: truth(rows)[0]})
    campaign.note("nothing")
    campaign.ask()
    assert (campaign.ledger.amended, campaign.trail.goal.delta) == (0, pytest.approx(delta / 2))
    campaign.correct(ids[1], 0.5, reason="typing error")
    assert (campaign.ledger.amended, campaign.trail.goal.delta) == (1, pytest.approx(delta / 4))
    campaign.void(ids[1], reason="spilled")
    assert (campaign.ledger.amended, campaign.trail.goal.delta) == (2, pytest.approx(delta / 12))
    status = campaign.status()
    assert (status.amendments, status.risk) == (2, delta)
    said = "changed 2 times after they had been looked at: over all 3 versions of the data together, what is declared "
    assert f"{said}is wrong with probability at most 0.05, if nothing was changed" in status.warnings[0]


def test_without_a_share_set_aside_the_bound_that_is_printed_grows() -> None:
    campaign = finish(create())
    assert campaign.status().risk == campaign.goal.delta == 0.05
    assert "with confidence 95 %" in campaign.status().sentence
    first = next(row for row, state in enumerate(campaign.ledger.sheets[0].states) if state == 1)
    outcome = campaign.ledger.outcome((1, first + 1))
    campaign.correct(f"r1-{first + 1}", outcome + 1e-9, reason="one more digit")
    finish(campaign)
    assert campaign.status().risk == pytest.approx(0.075)
    assert "with confidence 92.5 %" in campaign.status().sentence


def test_amended_rounds_of_an_algorithm_that_must_plan_them_are_not_proven(tmp_path) -> None:
    campaign = finish(create(algorithm=pw.Rage("tight")))
    campaign.correct("r1-1", campaign.ledger.outcome((1, 1)) + 1e-9, reason="one more digit")
    finish(campaign)
    assert "for that the error rate of 'rage' is not proven" in campaign.status().warnings[0]
    campaign.report(tmp_path / "report.html")
    assert "no error probability is proven" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("share", [-0.1, 1.0, math.nan, True, "half", 5e-324])
def test_a_share_of_delta_for_amendments_is_checked(share) -> None:
    with pytest.raises(pw.InvalidCampaign, match=r"a share of delta, 0 or from 0\.001 to 0\.999, got"):
        create(amendments=share)
    for most in (0, 0.001, 0.999):
        assert create(amendments=most).ledger.charter.amendments == most


def test_a_void_and_a_look_leave_nothing_behind() -> None:
    """What was concluded before a row was voided must not be used again after it."""
    for seed in range(6):
        campaign = create(algorithm=pw.Sage(max_batch=2, opening=0.0), seed=seed)
        rng = np.random.default_rng(seed)
        for _ in range(5):
            rows = campaign.ask()
            if not len(rows["probe"]):
                break
            campaign.tell(rows.filled(rng.normal(size=len(rows["probe"])).tolist()))
        campaign.void("r3-1", reason="spilled")
        campaign.status()
        campaign.void("r5-1", reason="spilled")
        assert same(campaign)
        campaign.correct("r3-1", 0.5, reason="found again")
        assert same(campaign)


# The answer


def test_a_correction_withdraws_the_answer_loudly() -> None:
    campaign = finish(create())
    last = campaign.trail.sheets[-1].number
    hot = [f"r{last}-{i + 1}" for i, p in enumerate(campaign.ledger.sheet(last).probes) if p == 0]
    said = [campaign.correct(own, -3.0, reason="wrong column") for own in hot]
    assert any("'A' is no longer declared the best. Back among the items that may be the best: " in s for s in said)
    kinds = [record.kind for record in campaign.records]
    withdrawn = campaign.records[kinds.index("withdrawn")]
    assert withdrawn.body["item"] == "A"
    assert withdrawn.body["reason"].endswith("corrected (wrong column)")
    status = campaign.status()
    assert status.item is None
    assert any("'A' was declared the best and withdrawn since" in warning for warning in status.warnings)
    assert campaign.result().status == "undecided"
    for own in hot:
        campaign.correct(own, 1.0, reason="the first value was right")
    assert finish(campaign).status().item == "A"


def test_the_last_round_decides_and_says_so() -> None:
    campaign = create()
    while True:
        rows = campaign.ask()
        told = campaign.tell(rows.filled(truth(rows)))
        if "is the best" in told.sentence:
            break
    assert told.sentence == f"{len(rows)} recorded. 'A' is the best item, with confidence 0.95."
    assert campaign.void(rows["measurement"][0], reason="spilled").startswith("Voided.")


def test_what_changed_is_said_of_every_item_and_of_three_rows() -> None:
    campaign = pw.Campaign.create(Memory(), pw.Problem(np.eye(10)), pw.BestItem(0.1, 0.5), seed=0)
    few, all_of_them = frozenset({0}), frozenset({0, 1, 8})
    said = news(Stand(None, few), Stand(None, all_of_them), campaign.ledger, certified=True)
    assert said == ["Back among the items that may be the best: '1', '8'."]
    said = news(Stand((0,), few), Stand((8,), frozenset({8})), campaign.ledger, certified=True)
    assert said[-1] == "'8' is the best item, with confidence 0.9."
    three = Stand.of((8,), Standing(np.array([0, 1, 8]), (8,), 1.0), listed=True)
    assert three.left == all_of_them
    said = news(Stand((0,), few), three, campaign.ledger, certified=True)
    assert said[0] == "'0' is no longer declared the best."
    assert said[-1] == "'8' is within 0.5 of the best, with confidence 0.9."
    assert news(Stand((8,), few), Stand((8,), few), campaign.ledger, certified=True) == []
    declared = finish(create()).ledger
    for count, rows in ((3, "r1-1, r1-2, r1-3"), (4, "r1-1, r1-2, r1-3 and 1 more")):
        body = {"rows": [f"r1-{row + 1}" for row in range(count)], "reason": "spilt"}
        voided = Record.new("voided", body, author="", after=declared.declaration)
        assert what_changed([voided], declared) == f"{rows} voided (spilt)"


def test_a_replay_that_decides_otherwise_is_not_believed() -> None:
    """A later version of an algorithm may find less in the same records: here, one that believes in more noise."""
    memory = Memory()
    finish(pw.Campaign.create(memory, PROBLEM, seed=0))
    lines = [json.loads(line) for line in memory.lines]
    lines[0]["body"]["problem"]["outcome"]["settings"]["sigma"] = 5.0
    other, last = Memory(), None
    for data in lines:
        last = Record.new(data["kind"], data["body"], author="Ada", after=last)
        other.append(last.line, after=last.seq - 1)
    campaign = pw.Campaign.open(other)
    status = campaign.status()
    assert status.item is None
    assert "'A' was declared the best by probewise" in status.warnings[0]
    assert "replays the records to no answer: believe neither" in status.warnings[0]
    assert len(campaign.records) == len(memory.lines)  # looking writes nothing
    assert len(campaign.ask()) > 0
    assert campaign.records[-2].kind == "withdrawn"
    assert campaign.records[-2].body["reason"].startswith("another version of probewise")


def test_an_answer_whose_declaration_was_lost_in_a_crash_is_declared_later() -> None:
    memory = Memory()
    finish(pw.Campaign.create(memory, PROBLEM, seed=0))
    del memory.lines[-1]
    campaign = pw.Campaign.open(memory)
    assert campaign.status().item is None
    assert "lead to 'A', which has not been declared yet; ask declares it" in campaign.status().warnings[0]
    campaign.ask()
    assert pw.Campaign.open(memory).status().item == "A"


def test_data_that_contradict_the_model_are_not_certified() -> None:
    """Interaction: "both" is far from the sum of the others."""
    campaign = create()
    campaign.tell([{"probe": "both", "outcome": 9.2 + 0.1 * k} for k in range(9)], off_plan=True)
    while len(rows := campaign.ask()):
        told = campaign.tell(
            rows.filled([9.2 if name == "both" else v for v, name in zip(truth(rows), rows["probe"], strict=True)])
        )
    assert told.sentence.endswith("'A' came out first, but is not certified: see status.")
    assert campaign.ledger.declared is not None
    status = campaign.status()
    assert status.item is None
    assert "not certified" in status.sentence
    assert campaign.result().status == "not certified"


# What is stored


def test_every_record_says_who_when_and_by_which_version() -> None:
    campaign = create()
    campaign.note("the window was open")
    record = campaign.records[-1]
    assert (record.seq, record.kind, record.author, record.version) == (2, "note", "Ada", pw.__version__)
    assert record.time.endswith("+00:00")
    assert set(json.loads(record.line)) == {"seq", "time", "author", "version", "form", "kind", "body", "digest"}
    with pytest.raises(pw.InvalidRows, match="a note needs a reason in words"):
        campaign.note("")


def test_the_charter_is_read_back_as_it_was() -> None:
    for algorithm in (pw.Sage(growth=1.3), pw.Rage("tight"), pw.Uniform(), pw.XYOracle([1.0, 0.0]), pw.LinGapE()):
        memory, stock = Memory(), [5, None, 7] if algorithm.minds_stock else [None] * 3
        problem = replace(PROBLEM, stock=stock)
        one = pw.Campaign.create(memory, problem, pw.BestItem(0.1, 0.2), algorithm, seed=5, outcome_range=(0, None))
        other = pw.Campaign.open(memory)
        assert other.ledger.charter.to_json() == one.ledger.charter.to_json()
        assert other.goal == pw.BestItem(0.1, 0.2)
        assert type(other.algorithm) is type(algorithm)
        np.testing.assert_array_equal(other.problem.stock, problem.stock)
        assert other.ledger.charter.outcome_range == (0, math.inf)


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"goal": 0.1}, pw.InvalidGoal, r"such as BestItem\(delta=0.05\), got 0.1"),
        ({"algorithm": "sage"}, pw.InvalidAlgorithm, r"such as Rage\(\), got 'sage'"),
        (
            {"algorithm": pw.Uniform(), "problem": replace(PROBLEM, outcome=pw.Gaussian(PROBLEM.sigma, unknown=True))},
            pw.InvalidAlgorithm,
            "uniform must know sigma",
        ),
        ({"seed": -1}, pw.InvalidCampaign, "seed must be a whole number of at least 0, got -1"),
        ({"outcome_range": (1, 0)}, pw.InvalidCampaign, "low below high"),
    ],
)
def test_a_charter_is_checked(options: dict[str, Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        create(**options)


def test_an_algorithm_must_be_one_that_can_be_read_back() -> None:
    class Mine(pw.Uniform):
        pass

    with pytest.raises(pw.InvalidCampaign, match="an algorithm that it can read back from its file"):
        create(algorithm=Mine())


def test_an_algorithm_of_another_version_is_named() -> None:
    memory = Memory()
    pw.Campaign.create(memory, PROBLEM)
    body = json.loads(memory.lines[0])["body"]
    body["algorithm"]["settings"]["magic"] = 1
    memory.lines[0] = Record.new("created", body, author="Ada", after=None).line
    with pytest.raises(pw.InvalidCampaign, match=r"does not know the algorithm 'sage' with settings .*magic"):
        pw.Campaign.open(memory)


def test_a_record_of_a_newer_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(records, "FORM", 3)
        line = Record.new("note", {"text": "hello"}, author="Ada", after=None).line
    sentence = f"record 1 was written by probewise {pw.__version__} in form 3.* reads forms up to 2; install the newer"
    with pytest.raises(pw.InvalidCampaign, match=sentence):
        Record.read(line, after=None)


def test_stock_counts_from_the_next_round_on() -> None:
    campaign = create()
    rows = campaign.ask()
    before = campaign.trail.state
    count = rows["probe"].count("hot")
    campaign.restock("hot", count, reason="the bottle is empty")
    assert campaign.trail.state is before
    campaign.tell(rows.filled(truth(rows)))
    assert "hot" not in campaign.ask()["probe"]
    with pytest.raises(pw.InvalidAlgorithm, match="this problem limits the stock"):
        create(algorithm=pw.Uniform()).restock("hot", 3, reason="the bottle is empty")
    with pytest.raises(pw.InvalidRows, match="there is no probe 'cold'"):
        campaign.restock("cold", 1, reason="found")
    with pytest.raises(pw.InvalidRows, match=r"whole number of at least 0, or None, got 1\.5"):
        campaign.restock("hot", 1.5, reason="found")  # type: ignore[arg-type]


def test_everything_is_exported(tmp_path: Path) -> None:
    campaign = create()
    campaign.ask()
    campaign.tell({"r1-1": 1.5, "r1-2": 2.5})
    campaign.void("r1-2", reason="spilled")
    campaign.export(tmp_path / "rows.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text())))
    assert [(row["outcome"], row["state"]) for row in rows[:3]] == [("1.5", "recorded"), ("", "voided"), ("", "open")]


def test_a_round_that_waits_is_said_beside_who_leads() -> None:
    campaign = create()
    rows = campaign.ask()
    waits = f"Round 1 waits for {len(rows)} of its {len(rows)} rows."
    assert campaign.status().sentence == f"Nothing has been measured yet; 3 items are to be compared. {waits}"
    ids, outcomes = rows["measurement"], np.array(truth(rows))
    campaign.tell({ids[0]: outcomes[0]})
    waits = f"Round 1 waits for {len(rows) - 1} of its {len(rows)} rows"
    assert campaign.status().sentence == f"{waits}; then 3 items are compared for the first time."
    campaign.tell(dict(zip(ids, outcomes, strict=True)))
    assert (status := campaign.status()).item is None
    assert status.sentence.startswith("A leads: ")
    assert status.sentence.endswith(" Ask for the next round.")
    assert status.waiting == 0
    again = campaign.ask()
    assert campaign.status().waiting == len(again)
    waits = f"Round 2 waits for {len(again)} of its {len(again)} rows."
    assert campaign.status().sentence == status.sentence.replace("Ask for the next round.", waits)


def test_a_batch_that_is_to_come_is_not_called_a_round() -> None:
    campaign = create(algorithm=pw.Sage(max_batch=2, opening=0.0))
    seen = []
    for _ in range(8):
        rows = campaign.ask()
        campaign.tell(rows.filled(truth(rows)))
        seen.append(campaign.status().sentence.split(". ")[-1])
        began = campaign.ledger.open
        assert seen[-1] == f"Ask for the next {'round' if began is None else f'batch of round {began}'}."
    assert len(set(seen)) > 2


def test_a_lingape_campaign_asks_again_for_what_is_missing_of_its_first_round(tmp_path: Path) -> None:
    campaign = pw.Campaign.create(tmp_path / "a.jsonl", pw.Problem(np.eye(2)), algorithm=pw.LinGapE(), seed=0)
    first = campaign.ask()
    campaign.tell({first["measurement"][0]: 1.0})
    campaign.close(reason="the other one broke")
    assert campaign.algorithm.standing(campaign.problem, campaign.goal, campaign.trail.state).guess == ()
    missing = campaign.ask()
    assert missing["probe"] == first["probe"][1:]
    campaign.tell(missing.filled([0.0]))
    state = pw.Campaign.open(tmp_path / "a.jsonl").trail.state
    assert (state.count.tolist(), state.early) == ([1, 1], None)
    np.testing.assert_allclose(sorted(state.items @ state.fit.theta), [0.0, 1.0], atol=1e-8)
    campaign.void("r1-1", reason="wrong bottle")
    assert campaign.ask()["probe"] == first["probe"][:1]


def test_status_is_json_and_says_what_a_machine_needs() -> None:
    campaign = create()
    status = json.loads(json.dumps(campaign.status().to_json(), allow_nan=False))
    wanted = {"item", "leader", "remaining", "measurements", "cost", "rounds", "forecast", "warnings", "items"}
    assert wanted <= set(status)
    assert status["remaining"] == ["A", "B", "C"]
    status = json.loads(json.dumps(finish(campaign).status().to_json(), allow_nan=False))
    assert status["item"] == status["leader"] == status["items"][0]["name"] == "A"
    assert set(status["items"][0]) == {"name", "estimate", "low", "high", "state", "why"}
    assert status["cost"] == campaign.ledger.measured.cost(PROBLEM.cost)


def test_every_kind_of_record_is_explained() -> None:
    page = (ROOT / "docs/campaigns.md").read_text()
    assert [kind for kind in KINDS if f"| `{kind}` |" not in page] == []


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_ids_are_read_with_or_without_their_letter(round_: int, row: int) -> None:
    own = row_id(round_, row)
    assert place_of(own) == place_of(f" {own[1:]} ") == place_of(own.upper()) == (round_, row)


@pytest.mark.parametrize("text", ["", "r", "3", "r0-1", "r1-0", "r-1-2", "r1-2-3", "3.17", "x1-2", "r1_2"])
def test_other_texts_are_no_ids(text: str) -> None:
    assert place_of(text) is None


# Crashes


def test_kill_while_writing() -> None:
    """A small version of benchmarks/campaign_crash.py."""
    command = [sys.executable, str(ROOT / "benchmarks/campaign_crash.py"), "--kills", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("20 kills") == 2


def test_a_campaign_of_rage_in_batches_reports_its_survivors(tmp_path: Path) -> None:
    """Rounds of any algorithm are given out in batches, and who is ruled out is said."""
    path = tmp_path / "rage.campaign"
    problem = pw.Problem(np.eye(4), sigma=0.4, item_names=["A", "B", "C", "D"])
    algorithm = pw.Batched(pw.Rage("tight"), max_batch=6, max_replicates=2)
    campaign = pw.Campaign.create(path, problem, pw.BestItem(0.1), algorithm, seed=0)
    rng, left = np.random.default_rng(0), []
    while len(rows := campaign.ask()):
        assert len(rows) <= 6
        assert max(Counter(rows["probe"]).values()) <= 2
        values = [{"0": 1.0, "1": 0.7, "2": -1.0, "3": -2.0}[probe] + 0.4 * rng.normal() for probe in rows["probe"]]
        campaign.tell(rows.filled(values))
        status = campaign.status()
        left.append(len(status.remaining))
        out = [item for item in status.items if item.state == "eliminated"]
        assert len(out) == 4 - left[-1]
    assert campaign.status().item == "A"
    assert left[0] == 4
    assert 1 < min(left[:-1]) < 4, "some items are ruled out before the end"
    again = pw.Campaign.open(path)
    assert again.algorithm == algorithm
    assert again.status() == campaign.status()
    campaign.report(tmp_path / "rage.html")
    assert "A is the best item, with confidence 90 %" in (tmp_path / "rage.html").read_text("utf-8")


def test_a_seed_that_is_not_given_is_drawn_from_all_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.randbits", lambda bits: 2**bits - 1)
    campaign = create(seed=None)
    assert campaign.ledger.charter.seed == 2**64 - 1
    assert len(campaign.ask())


def test_a_word_among_numbers_with_a_decimal_comma_is_refused_and_no_empty_cell(tmp_path: Path) -> None:
    campaign = create()
    rows = campaign.ask()
    one, two = rows["measurement"][:2]
    (tmp_path / "told.csv").write_text(f"measurement;outcome\n{one};0,5\n{two};lost\n")
    with pytest.raises(pw.InvalidRows, match="column 'outcome': got 'lost', expected a number"):
        campaign.tell(tmp_path / "told.csv")
    assert campaign.records[-1].kind == "asked"
