"""Campaigns on items that stay in Parquet files: the charter names the files, and only few items are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.campaign.verify import verify
from probewise.cli import main

RNG = np.random.default_rng(3)
ITEMS = RNG.standard_normal((9_000, 3)).astype(np.float32)
PROBES = RNG.standard_normal((20, 3))
THETA = np.array([1.0, -0.5, 0.25])
BEST = int(np.argmax(ITEMS.astype(np.float64) @ THETA))


@pytest.fixture(autouse=True)
def _stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few items stay where they are here, too, so that tests are quick."""
    monkeypatch.setattr("probewise.shards.items.NEAR", 0)


def _library(folder: Path, names: list[str] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    for at, low in enumerate(range(0, 9_000, 4_000)):
        rows = ITEMS[low : low + 4_000]
        own = [f"M{low + row}" for row in range(len(rows))] if names is None else names[low : low + 4_000]
        columns = {"id": own, **{f"x{j}": rows[:, j] for j in range(3)}}
        pq.write_table(pa.table(columns), folder / f"{at}.parquet", row_group_size=1_500)
    return folder


def _problem(folder: Path, **settings: Any) -> pw.Problem:
    items = pw.items_from_parquet(folder, columns=["x0", "x1", "x2"], scheduler="here", **settings)
    return pw.Problem(PROBES, items, sigma=0.1, feature_names=["x0", "x1", "x2"])


def _round(campaign: pw.Campaign, rng: np.random.Generator) -> str:
    rows = campaign.ask()
    probes = np.array([int(name) for name in rows["probe"]])
    outcomes = PROBES[probes] @ THETA + 0.1 * rng.standard_normal(probes.size)
    return campaign.tell(dict(zip(rows["measurement"], outcomes.tolist(), strict=True))).sentence


def test_a_campaign_from_beginning_to_end(tmp_path: Path) -> None:
    folder, rng = _library(tmp_path / "library"), np.random.default_rng(0)
    path = tmp_path / "far.campaign"
    campaign = pw.Campaign.create(path, _problem(folder, names="id"), seed=1)
    first = campaign.status()
    assert first.sentence == "Nothing has been measured yet; 9,000 items are to be compared. Ask for the next round."
    assert (first.unseen, first.unlisted, len(first.items)) == (8_990, 9_000, 10)
    kept = campaign.records[0].body["problem"]
    assert {"items", "item_names"}.isdisjoint(kept)
    assert [Path(file["path"]).name for file in kept["parquet"]["files"]] == ["0.parquet", "1.parquet", "2.parquet"]
    assert kept["parquet"]["rows"] == 9_000
    news = [_round(campaign, rng)]
    assert f"M{BEST} leads" in campaign.status().sentence
    while campaign.result().items is None:
        news.append(_round(campaign, rng))
        campaign = pw.Campaign.open(path)  # the journal and the files are all there is
    assert news[-1].endswith(f"'M{BEST}' is the best item, with confidence 0.95.")
    assert not any("Back among" in told for told in news)
    found, now = campaign.result(), campaign.status()
    assert (found.items, found.item_names, found.status) == ((BEST,), (f"M{BEST}",), "identified")
    assert now.answer == (f"M{BEST}",)
    assert "all other items are ruled out" in now.sentence
    assert now.recipes == {f"M{BEST}": dict(zip(("x0", "x1", "x2"), ITEMS[BEST].tolist(), strict=True))}
    assert now.items[0].name == f"M{BEST}"
    assert 2 <= len(now.items) <= 20
    assert {row.state for row in now.items[1:]} == {"eliminated"}
    assert all(row.why.startswith("ruled out in round") for row in now.items[1:])
    for row in now.items:  # intervals hold for all items, so they are wide enough for these
        value = float(ITEMS[int(row.name[1:])] @ THETA)
        assert row.low is not None
        assert row.high is not None
        assert row.low <= value <= row.high
    campaign.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 of 9,000" in page
    assert "Shown are those of 9,000 items that were in front; the others stay in files." in page
    assert "items in 0.parquet, 1.parquet, 2.parquet" in page
    assert verify(path).item == f"M{BEST}"
    rows = campaign.ask(confirm=20)
    assert f"compares M{BEST} with {now.items[1].name}, its closest rival" in rows.sentence
    _round(campaign, rng)
    assert "do not contradict it" in pw.Campaign.open(path).status().sentence


def test_it_asks_for_what_identify_asks_for(tmp_path: Path) -> None:
    problem = _problem(_library(tmp_path / "library"))
    result = pw.identify(problem, algorithm=pw.Sage(), measure=lambda at: PROBES[at] @ THETA, seed=1)
    campaign = pw.Campaign.create(tmp_path / "far.jsonl", problem, seed=1)
    for round_ in result.history:
        rows = campaign.ask()
        probes = np.array([int(name) for name in rows["probe"]])
        np.testing.assert_array_equal(np.bincount(probes, minlength=20), round_.counts)
        campaign.tell(dict(zip(rows["measurement"], (PROBES[probes] @ THETA).tolist(), strict=True)))
    assert campaign.result().items == result.items == (BEST,)
    assert campaign.status().answer == (str(BEST),)  # a row number without a column of names


@pytest.mark.parametrize("minimise", [False, True])
def test_a_tolerance(tmp_path: Path, minimise: bool) -> None:
    goal = pw.BestItem(epsilon=0.5, minimise=minimise)
    campaign = pw.Campaign.create(tmp_path / "far.campaign", _problem(_library(tmp_path / "library")), goal, seed=1)
    rng = np.random.default_rng(0)
    while campaign.result().items is None:
        news = _round(campaign, rng)
    now = campaign.status()
    assert f"is within 0.5 of the {'lowest' if minimise else 'best'}, with confidence 0.95" in news
    assert "tied within epsilon" in now.sentence
    assert now.unlisted + len(now.remaining) > 1
    value = ITEMS[int(now.answer[0])] @ THETA  # type: ignore[index]
    assert goal.sign * value >= float((goal.sign * ITEMS @ THETA).max()) - 0.5
    assert {row.state for row in now.items} <= {"best", "tied", "eliminated"}


def test_files_that_are_gone_or_changed(tmp_path: Path) -> None:
    folder = _library(tmp_path / "library")
    problem = _problem(folder)
    path = tmp_path / "far.campaign"
    pw.Campaign.create(path, problem, seed=1)
    del problem
    file = folder / "1.parquet"
    good = file.read_bytes()
    file.write_bytes(good[:-4] + b"PAR2")
    with pytest.raises(pw.InvalidCampaign, match=r"1\.parquet is not the file of items .* contents have changed since"):
        pw.Campaign.open(path)
    file.write_bytes(good + b"x")
    with pytest.raises(pw.InvalidCampaign, match=rf"it has {len(good) + 1:,} bytes, and had {len(good):,}"):
        pw.Campaign.open(path)
    file.unlink()
    with pytest.raises(pw.InvalidCampaign, match=r"items of this campaign are in .*1\.parquet, and there is no such"):
        pw.Campaign.open(path)
    file.write_bytes(good)
    assert pw.Campaign.open(path).problem.n_items == 9_000


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "far.campaign"
    with pytest.raises(pw.InvalidCampaign, match="a campaign must find its items again, and these are an array"):
        pw.Campaign.create(path, pw.Problem(PROBES, pw.items_in_shards(ITEMS)))
    twice = _problem(_library(tmp_path / "twice", ["M"] * 2 + [f"M{row}" for row in range(8_998)]), names="id")
    with pytest.raises(pw.InvalidProblem, match="every item needs its own name, but several are called 'M'"):
        pw.Campaign.create(path, twice)
    empty: list[Any] = [None, *(f"M{row}" for row in range(8_999))]
    with pytest.raises(pw.InvalidProblem, match="every item needs a name, but 1 cells of 'id' are empty"):
        pw.Campaign.create(path, _problem(_library(tmp_path / "empty", empty), names="id"))
    columns = pa.table({"a": list(range(9_000))})
    with pytest.raises(pw.InvalidCampaign, match="have no columns here; leave item_columns out"):
        pw.Campaign.create(path, _problem(_library(tmp_path / "library")), item_columns=columns)
    assert not path.exists()


def test_names_are_found_again(tmp_path: Path) -> None:
    names = _problem(_library(tmp_path / "library"), names="id").item_names
    assert names.index("M8765") == 8_765
    assert names[8_765] == "M8765"
    assert "M8999" in names
    assert "M9000" not in names
    with pytest.raises(ValueError, match="there is no item 'M9000'"):
        names.index("M9000")
    numbers = _problem(tmp_path / "library").item_names
    assert (numbers.index("77"), "9000" in numbers, "077" in numbers) == (77, False, False)


def test_on_the_command_line(tmp_path: Path) -> None:
    folder = _library(tmp_path / "library")
    rows = [f"p{at},{','.join(map(repr, row))}" for at, row in enumerate(PROBES.tolist())]
    (tmp_path / "probes.csv").write_text("\n".join(["id,x0,x1,x2", *rows]))
    given = ["--probes", str(tmp_path / "probes.csv"), "--items", str(folder / "*.parquet"), "--sigma", "0.1"]
    run = CliRunner().invoke
    refused = run(main, ["new", str(tmp_path / "a.campaign"), *given])
    assert refused.exit_code == 2
    assert "stay there, with their columns as features; give --model none" in refused.output
    made = run(main, ["new", str(tmp_path / "a.campaign"), *given, "--model", "none"])
    assert made.exit_code == 0, made.output
    assert "9,000 items by 20 probes" in made.output
    assert "Beyond the range of the probes" in made.output
    status = run(main, ["status", str(tmp_path / "a.campaign")])
    assert "9,000 items are to be compared" in status.output
    assert pw.Campaign.open(tmp_path / "a.campaign").problem.item_names[5] == "M5"
    design = run(main, ["design", *given[:4], "--model", "none"])
    assert design.exit_code == 0, design.output
    (folder / "0.parquet").unlink()
    gone = run(main, ["status", str(tmp_path / "a.campaign")])
    assert "there is no such file; put it back where it was" in gone.output
