"""Journals that earlier versions wrote (tests/journals) mean today what they meant then."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms import ALGORITHMS
from probewise.campaign.journal.records import KINDS

HERE = Path(__file__).parent / "journals"
JOURNALS = sorted(path for path in HERE.glob("[0-9]*/*") if path.suffix in (".jsonl", ".campaign"))
said = runpy.run_path(str(HERE / "make.py"))["said"]

# What version 0.1.0 did not know, or said otherwise: docs/campaigns.md, "Journals of earlier versions".
CHANGED = "Rounds were changed"
"""Begins the warning about changed rounds, which now says the bound that holds over all versions of the data."""
LEAD = re.compile(r"is estimated [\d.]+ .*?, the closest rival(, and at (least|most) [\d.]+ (above|below) it)?")
"""How far the winner is ahead: now with the bound that matters for the claim; the numbers of the items are the same."""
SURVIVORS = ("rage-begun", "alba-x")
"""Algorithms other than Sage did not say which items they had ruled out; the estimates are the same."""
LEAD = re.compile(
    r"(?<=is estimated )[^a-z]+(?= above| below)| \([^)]*\)(?=, the clos)|(?<=, the closest rival)[^;]*(?=;)"
)
"""How far a leader is ahead of its rival, which now comes with the bound that matters."""
SUGGESTED = re.compile(r" Or begin again and allow for a misfit of [\d.]+\.")
"""A further piece of advice where the model misses the probes."""
OPEN = re.compile(r"(?<=You may stop), but .*(?=\.)")
"""What a decision leaves open, which was not said beside it."""


def opened(path: Path, folder: Path) -> pw.Campaign:
    """A copy, with its side files."""
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, folder)
    return pw.Campaign.open(folder / path.name)


def then(path: Path) -> dict[str, Any]:
    return json.loads(path.with_suffix(".json").read_text("utf-8"))


def about(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("path", JOURNALS, ids=about)
def test_a_journal_means_what_it_meant(path: Path, tmp_path: Path) -> None:
    wanted, campaign = then(path), opened(path, tmp_path)
    found = said(campaign)
    for own in (wanted, found):
        own["warnings"] = [text for text in own["warnings"] if not text.startswith(CHANGED)]
        own["warnings"] = [text.replace("and was withdrawn:", "and withdrawn since:") for text in own["warnings"]]
        own["warnings"] = [SUGGESTED.sub("", text) for text in own["warnings"]]
        own["sentence"] = OPEN.sub("", LEAD.sub("", own["sentence"]))
        del own["version"]
        own["forecast"] = own["forecast"] is not None  # what is to come, as this version expects it
        if own["answer"] is not None:
            own["sentence"] = LEAD.sub("leads", own["sentence"])
    if path.stem in SURVIVORS:
        assert set(found.pop("remaining")) < set(wanted.pop("remaining"))
        assert found.pop("sentence") != wanted.pop("sentence")
        for own in (wanted, found):
            own["items"] = {name: numbers for name, (*numbers, _) in own["items"].items()}
    assert found == wanted


@pytest.mark.parametrize("path", JOURNALS, ids=about)
def test_a_journal_goes_on(path: Path, tmp_path: Path) -> None:
    wanted, campaign = then(path), opened(path, tmp_path)
    rows = campaign.ask()
    if wanted["open"]:
        number = len(wanted["sheets"])
        assert rows["measurement"] == [f"r{number}-{row}" for row in wanted["open"]]
    elif wanted["answer"] is not None:
        assert len(rows) == 0
    campaign.tell(rows.filled(np.linspace(0.4, 0.6, len(rows))))
    campaign.note("still alive")
    again = pw.Campaign.open(tmp_path / path.name)
    assert again.status() == campaign.status()
    assert [record.line for record in again.records] == [record.line for record in campaign.records]
    assert again.status().measurements == wanted["measurements"] + len(rows)
    assert [record.kind for record in again.records][: len(wanted["kinds"])] == wanted["kinds"]


def test_the_bound_of_campaigns_that_set_nothing_aside(tmp_path: Path) -> None:
    path = next(path for path in JOURNALS if path.name == "amended.jsonl")
    status = opened(path, tmp_path).status()
    assert status.amendments == then(path)["amended"] == 5
    assert status.risk == pytest.approx(6 * 0.1)
    assert any(text.startswith(CHANGED) and "at most 0.6" in text for text in status.warnings)


FIRST = {
    "alba", "explore-verify", "g-static", "lingape", "rage", "sage", "uniform", "xy-adaptive", "xy-oracle", "xy-static",
}  # fmt: skip
"""The algorithms of 0.1.0."""


def test_the_journals_have_everything() -> None:
    texts = [path.read_text("utf-8") for path in JOURNALS if path.suffix == ".jsonl"]
    records = [json.loads(line) for text in texts for line in text.split("\n") if line]
    assert {record.get("kind") for record in records} >= set(KINDS)
    begun = [record["body"]["algorithm"] for record in records if record.get("kind") == "created"]
    assert {algorithm["name"] for algorithm in begun} == FIRST  # later ones have no journals of that version
    assert set(ALGORITHMS) >= FIRST
    sides = {path.name.partition(".")[2] for path in HERE.glob("*/*-log.*")}
    assert sides == {"campaign", "campaign-wal", "campaign-shm", "json"}
