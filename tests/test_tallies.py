"""Sheets with one row for each probe: n and successes out, and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.campaign import Memory
from probewise.cli import main

PAGES = pw.Problem(
    np.column_stack([np.ones(4), [0, 1, 0, 1], [0, 0, 1, 1]]),
    outcome=pw.Bounded(),
    probe_names=["plain", "photo", "button", "both"],
    item_names=["plain", "photo", "button", "both"],
)
RATES = PAGES.probes @ np.array([0.1, 0.3, 0.2])


def begun() -> pw.Campaign:
    return pw.Campaign.create(Memory(), PAGES, pw.BestItem(0.1), pw.Sage(growth=2.0), seed=0, aggregated=True)


def test_a_sheet_has_a_row_for_each_probe() -> None:
    campaign = begun()
    rows = campaign.ask()
    assert list(rows.columns)[:5] == ["measurement", "round", "probe", "n", "successes"]
    assert len(rows) == len(rows["probe"]) == len(set(rows["probe"])) == 4
    assert rows["successes"] == [None] * 4
    assert sum(rows["n"]) == campaign.status().waiting
    assert "measurements of round 1 to make" in rows.sentence
    assert rows.to_csv().splitlines()[0].startswith("measurement,round,probe,n,successes")
    assert rows.to_polars().columns[:5] == list(rows.to_pandas())[:5] == list(rows.columns)[:5]


def test_counts_are_what_rows_would_be() -> None:
    """The same campaign told row by row and by counts comes to the same answer, after the same rounds."""
    rng = np.random.default_rng(0)
    tallied, single = begun(), pw.Campaign.create(Memory(), PAGES, pw.BestItem(0.1), pw.Sage(growth=2.0), seed=0)
    for _ in range(20):
        rows, each = tallied.ask(), single.ask()
        if not rows:
            break
        hits = [
            int(rng.binomial(n, RATES[PAGES.probe_names.index(p)]))
            for p, n in zip(rows["probe"], rows["n"], strict=True)
        ]
        tallied.tell(rows.filled(hits))
        left = dict(zip(rows["probe"], hits, strict=True))
        outcomes = []
        for probe in each["probe"]:
            outcomes.append(float(left[probe] > 0))
            left[probe] -= left[probe] > 0
        single.tell(each.filled(outcomes))
    one, other = tallied.result(), single.result()
    assert one.item_name == other.item_name == "both"
    assert one.measurements == other.measurements


def test_what_is_told_twice_counts_once_and_a_part_may_come_first() -> None:
    campaign = begun()
    rows = campaign.ask()
    own = rows["measurement"][0]
    told = campaign.tell([{"measurement": own, "n": 1, "successes": 1}])
    assert len(told.recorded) == 1
    assert not campaign.tell([{"measurement": own, "n": 1, "successes": 1}]).recorded
    with pytest.raises(pw.InvalidRows, match=r"has 1\.0 on record; use correct"):
        campaign.tell([{"measurement": own, "n": 1, "successes": 0}])
    with pytest.raises(pw.InvalidRows, match=r"column 'n': got 500, but only \d+ were asked for from row"):
        campaign.tell([{"measurement": own, "n": 500, "successes": 2}])


def long() -> pw.Campaign:
    """Twenty rows of each of two pages in a batch."""
    problem = pw.Problem(np.eye(2), outcome=pw.Bounded(), probe_names=["a", "b"])
    sage = pw.Sage(growth=2.0, min_batch=40, max_batch=40)
    return pw.Campaign.create(Memory(), problem, pw.BestItem(0.1), sage, seed=0, aggregated=True)


@pytest.mark.parametrize("successes", [0, 2, 5])
@pytest.mark.parametrize("voided", [0, 2, 4])
def test_what_is_told_twice_counts_once_although_a_row_was_voided_meanwhile(successes: int, voided: int) -> None:
    campaign = long()
    own = {"measurement": campaign.ask()["measurement"][0], "n": 5, "successes": successes}
    told = campaign.tell([own])
    campaign.void(told.recorded[voided], reason="a robot")
    again = campaign.tell([own])
    assert not again.recorded
    assert (len(again.repeated), len(again.outdated)) == (4, 1)
    assert campaign.status().measurements == 4


def test_a_tally_is_new_or_told_before_as_a_whole() -> None:
    campaign = long()
    own = campaign.ask()["measurement"][0]
    rows = [at + 1 for at in np.flatnonzero(campaign.ledger.sheets[0].probes == campaign.ledger.sheets[0].probes[0])]
    campaign.void(f"r1-{rows[3]}", reason="no visitor")
    campaign.correct(f"r1-{rows[3]}", 0.0, reason="there was one")
    with pytest.raises(pw.InvalidRows, match="got 19, but 3 are still to be told from row 'r1-1' on; ask again"):
        campaign.tell([{"measurement": own, "n": campaign.ask()["n"][0], "successes": 0}])
    assert len(campaign.tell([{"measurement": own, "n": 3, "successes": 0}]).recorded) == 3
    with pytest.raises(pw.InvalidRows, match="got 6, but 4 are told already from row 'r1-1' on"):
        campaign.tell([{"measurement": own, "n": 6, "successes": 0}])
    rest = campaign.ask()
    assert (f"r1-{rows[4]}", 16) in zip(rest["measurement"], rest["n"], strict=True)


def test_how_much_of_a_tally_is_to_be_told_is_counted_from_its_row() -> None:
    campaign = long()
    rows, sheet = campaign.ask(), campaign.ledger.sheets[0]
    second = f"r1-{np.flatnonzero(sheet.probes == sheet.probes[0])[1] + 1}"
    campaign.void(second, reason="no visitor")
    campaign.correct(second, 0.0, reason="there was one")
    with pytest.raises(pw.InvalidRows, match="got 5, but 1 is still to be told from row 'r1-1' on"):
        campaign.tell([{"measurement": rows["measurement"][0], "n": 5, "successes": 0}])


def test_rows_beyond_the_plan_are_not_the_failures() -> None:
    """Of a page that came more often than planned the last rows are a round of their own, whatever their outcomes."""
    campaign = long()
    campaign.tell([{"probe": name, "n": 40, "successes": 20} for name in "ab"], off_plan=True)
    first = campaign.ask()
    part = [{"measurement": own, "n": 10, "successes": 5} for own in first["measurement"]]
    campaign.tell(part)
    late = campaign.ask()
    campaign.close(reason="the weekend")
    second = campaign.ask()
    campaign.tell(second.filled([n // 2 for n in second["n"]]))
    third = campaign.ask()
    campaign.tell([{"measurement": own, "n": 5, "successes": 3} for own in late["measurement"]])
    campaign.tell(third.filled([n // 2 for n in third["n"]]))
    planned, beyond = campaign.trail.steps[-1].rounds
    assert planned.count.tolist() == [40, 40]
    assert beyond.count.tolist() == [5, 5]
    assert beyond.mean == pytest.approx([0.5, 0.5], abs=0.3)


@pytest.mark.parametrize(
    ("n", "successes", "sentence"),
    [
        (float("inf"), 1, "column 'n': got inf, expected a whole number of at least 0"),
        (10**12, 1, "column 'n': got 1000000000000, expected at most 999,999,999"),
        (1, "1e400", "column 'successes': got '1e400', expected a whole number of at least 0"),
        (2, 3, "column 'successes': got 3, expected at most n, which is 2"),
        (1.5, 1, "column 'n': got 1.5, expected a whole number of at least 0"),
        (-1, 0, "column 'n': got -1, expected a whole number"),
        (None, 1, "column 'n': got nothing, expected a whole number"),
        (1, "yes", "column 'successes': got 'yes', expected a whole number"),
        (1, True, "column 'successes': got True, expected a whole number"),
    ],
)
def test_what_is_no_tally_is_refused(n: object, successes: object, sentence: str) -> None:
    campaign = begun()
    own = campaign.ask()["measurement"][0]
    with pytest.raises(pw.InvalidRows, match=sentence):
        campaign.tell([{"measurement": own, "n": n, "successes": successes}])
    assert campaign.status().measurements == 0


def test_own_rounds_are_told_by_counts() -> None:
    campaign = begun()
    campaign.tell(
        [{"probe": name, "n": 50, "successes": k} for name, k in zip(PAGES.probe_names, (5, 20, 15, 30), strict=True)],
        off_plan=True,
    )
    assert campaign.status().measurements == 200
    assert campaign.status().leader == "both"


def test_own_columns_called_n_give_way_only_there() -> None:
    table = {"n": [1, 2, 3, 4], "successes": ["a", "b", "c", "d"]}
    shown = pytest.importorskip("pandas").DataFrame(table)
    options = {"seed": 0, "probe_columns": shown}
    counted = pw.Campaign.create(Memory(), PAGES, aggregated=True, **options).ask()
    assert list(counted.columns)[5:] == ["n of probe", "successes of probe"]
    single = pw.Campaign.create(Memory(), PAGES, **options).ask()
    assert list(single.columns)[5:] == ["n", "successes"]


def test_a_campaign_with_clicks_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "pages.csv").write_text("id,picture,button\na,photo,red\nb,photo,green\nc,none,red\nd,none,green\n")
    path, sheet = str(tmp_path / "clicks.jsonl"), tmp_path / "ask.csv"
    run = CliRunner().invoke
    common = ["--probes", str(tmp_path / "pages.csv"), "--outcome", "bounded", "--aggregated", "--seed", "0"]
    assert run(main, ["new", path, *common]).exit_code == 0
    assert run(main, ["ask", path, "--out", str(sheet)]).exit_code == 0
    lines = sheet.read_text().splitlines()
    assert lines[0] == "measurement,round,probe,n,successes,picture,button"
    filled = [lines[0], *(",".join([*line.split(",")[:4], "0", *line.split(",")[5:]]) for line in lines[1:])]
    sheet.write_text("\n".join(filled) + "\n")
    told = run(main, ["tell", path, str(sheet)])
    assert told.exit_code == 0, told.output
    assert "recorded" in told.output
    again = pw.Campaign.open(path)
    assert again.status().waiting == 0
    assert again.ledger.charter.aggregated
    other = ["new", str(tmp_path / "other.jsonl"), "--probes", str(tmp_path / "pages.csv"), "--aggregated", "often"]
    refused = run(main, other)
    assert refused.exit_code == 2
    assert "'often' is not one of" in refused.output
