"""Journals of a version, and what it said of them: run once under that version, never again.

    PYTHONPATH=<a check-out of 0.1.0>/src python tests/journals/make.py tests/journals/0.1.0

Each story below becomes NAME.jsonl (some also NAME.campaign, a file of SQLite) and NAME.json beside it, which
tests/test_journals.py compares with what today's version says. A later version may add stories for the form of records
that it writes, in a folder of its own.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import probewise as pw

PROBES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.6, -0.4]])
ITEMS = np.array([[1.0, 0.2], [0.3, 0.9], [0.7, 0.6], [0.1, 0.1]])
THETA = np.array([1.0, 0.1])
PROBLEM: dict[str, Any] = {
    "probes": PROBES,
    "items": ITEMS,
    "sigma": 0.8,
    "probe_names": ["mild", "hot", "both", "Δ 7"],
    "item_names": ["A", "B", "C", "D"],
    "feature_names": ["base", "heat"],
}


class Laboratory:
    """A campaign in a file and somebody who measures, always the same."""

    def __init__(self, path: Path, goal: Any = None, algorithm: Any = None, *, misfit: float = 0.0, **own: Any) -> None:
        problem = {name: own.pop(name, value) for name, value in PROBLEM.items()}
        problem |= {name: own.pop(name) for name in ("cost", "stock") if name in own}
        self.campaign = pw.Campaign.create(
            path, pw.Problem(**problem), goal or pw.BestItem(0.1), algorithm, seed=7, author="lab", **own
        )
        self.rng, self.misfit, self.path = np.random.default_rng(11), misfit, path

    def outcome(self, probe: str) -> float:
        at = self.campaign.problem.probe_names.index(probe)
        x = self.campaign.problem.probes[at]
        scale = float(self.campaign.problem.sigma[at]) if self.campaign.problem.sigma_known else 0.4
        value = x @ THETA + self.misfit * x[0] * x[1] + scale * self.rng.normal()
        return round(float(value), 3)

    def ask(self) -> list[dict[str, Any]]:
        return [{**row, "outcome": self.outcome(row["probe"])} for row in self.campaign.ask()]

    def rounds(self, most: int) -> Laboratory:
        """So many sheets, each told at once, or until there is an answer."""
        for _ in range(most):
            if not (rows := self.ask()):
                break
            self.campaign.tell(rows)
        return self

    def own(self, *probes: str) -> None:
        rows = [{"probe": probe, "outcome": self.outcome(probe)} for probe in probes]
        self.campaign.tell(rows, off_plan=True)

    def under_way(self) -> Laboratory:
        """On to a moment when batches of a round are still to come, and none is waiting."""
        for _ in range(50):
            self.rounds(1)
            if self.campaign.algorithm.under_way(self.campaign.trail.state):
                return self
        raise AssertionError("no round took several batches")


Story = Callable[[Path], Laboratory]


def every_kind(path: Path) -> Laboratory:
    lab = Laboratory(path, outcome_range=(-5.0, 9.0))
    campaign = lab.campaign
    rows = lab.ask()
    campaign.tell(rows[1:3])
    campaign.tell(rows[2:-1])
    campaign.void(rows[0]["measurement"], reason="spilled")
    campaign.close(reason="the week is over")
    lab.own("both", "both", "hot")
    campaign.note("a new lamp")
    campaign.restock("hot", 40, reason="what is in the freezer")
    campaign.tell([rows[-1]])
    lab.rounds(60)
    assert campaign.ledger.declared is not None
    row = rows[1]["measurement"]
    for outcome in (-4.9, 8.9):
        campaign.correct(row, outcome, reason="typing error")
    for sheet in campaign.ledger.sheets[1:]:
        if campaign.ledger.declared is None:
            break
        campaign.void([f"r{sheet.number}-{at + 1}" for at in range(sheet.probes.size)], reason="wrong solvent")
    campaign.note("start again")
    return lab


def decided(path: Path) -> Laboratory:
    return Laboratory(path).rounds(60)


def created(path: Path) -> Laboratory:
    return Laboratory(path)


def asked(path: Path) -> Laboratory:
    lab = Laboratory(path)
    lab.campaign.ask(due="2026-12-31")
    return lab


def in_pieces(path: Path) -> Laboratory:
    lab = Laboratory(path).rounds(2)
    lab.campaign.tell(lab.ask()[::2])
    return lab


def single_item(path: Path) -> Laboratory:
    lab = Laboratory(path, items=ITEMS[:1], item_names=["A"])
    lab.campaign.ask()
    return lab


def empty_rounds(path: Path) -> Laboratory:
    lab = Laboratory(path).rounds(1)
    ids = [row["measurement"] for row in lab.ask()]
    lab.campaign.void(ids, reason="all broken")
    lab.campaign.ask()
    lab.campaign.close(reason="nobody there")
    return lab.rounds(1)


def misfit(path: Path) -> Laboratory:
    return Laboratory(path, misfit=9.0, sigma=0.5).rounds(14)


def amended(path: Path) -> Laboratory:
    lab = Laboratory(path).rounds(2)
    rows = lab.ask()
    lab.campaign.tell(rows[1:])
    lab.campaign.close(reason="one is lost")
    lab.rounds(1)
    lab.campaign.tell([rows[0]])  # late
    lab.campaign.correct("r1-1", 1.25, reason="typing error")
    lab.campaign.correct("r2-1", 0.75, reason="typing error")
    lab.campaign.void("r2-2", reason="spilled")
    lab.campaign.correct("r2-2", 0.5, reason="it was not")
    return lab.rounds(1)


def withdrawn(path: Path) -> Laboratory:
    lab = decided(path)
    sheet = lab.campaign.ledger.sheets[0]
    for row in range(sheet.probes.size):
        if lab.campaign.ledger.declared is None:
            break
        lab.campaign.correct(f"r1-{row + 1}", float(row % 2) * 3.0, reason="another instrument")
    assert lab.campaign.records[-1].kind == "withdrawn" or lab.campaign.ledger.declared is None
    return lab


def own_rounds(path: Path) -> Laboratory:
    lab = Laboratory(path)
    lab.own("mild", "hot", "mild")
    lab.rounds(2)
    lab.own("both", "Δ 7")
    lab.campaign.tell([{"probe": "both", "outcome": 1.0}], off_plan=True)
    lab.campaign.tell([{"probe": "both", "outcome": 1.0}], off_plan=True, again=True)
    return lab.rounds(1)


def own_during_a_round(path: Path) -> Laboratory:
    lab = Laboratory(path).rounds(1)
    rows = lab.ask()
    lab.campaign.tell(rows[:1])
    lab.own("both", "hot")
    lab.campaign.tell(rows[1:])
    return lab.rounds(1)


BATCHES = pw.Sage(max_batch=4, max_replicates=2)


def batches(path: Path) -> Laboratory:
    return Laboratory(path, algorithm=BATCHES).rounds(80)


def batches_full(path: Path) -> Laboratory:
    return Laboratory(path, algorithm=pw.Sage(max_batch=5, min_batch=3)).rounds(14)


def batches_grown(path: Path) -> Laboratory:
    """Rounds of more and more batches; the last is under way."""
    return Laboratory(path, algorithm=pw.Sage(growth=1.6, max_batch=4), sigma=1.5).rounds(12).under_way()


def replicates(path: Path) -> Laboratory:
    return Laboratory(path, algorithm=pw.Sage(max_replicates=1)).rounds(9)


def batches_open(path: Path) -> Laboratory:
    return Laboratory(path, algorithm=BATCHES).rounds(3).under_way()


def batches_waiting(path: Path) -> Laboratory:
    lab = batches_open(path)
    lab.campaign.tell(lab.ask()[:2])
    return lab


def batches_voided(path: Path) -> Laboratory:
    lab = batches_open(path).rounds(3)
    lab.campaign.void("r1-1", reason="spilled")
    lab.campaign.void(["r2-1", "r2-2"], reason="spilled")
    return lab.rounds(2)


def batches_voided_in_time(path: Path) -> Laboratory:
    lab = Laboratory(path, algorithm=BATCHES)
    rows = lab.ask()
    lab.campaign.void(rows[0]["measurement"], reason="spilled")
    lab.campaign.tell(rows[1:])
    return lab.rounds(4)


def batches_closed(path: Path) -> Laboratory:
    lab = Laboratory(path, algorithm=BATCHES)
    rows = lab.ask()
    lab.campaign.tell(rows[:-2])
    lab.campaign.close(reason="the week is over")
    lab.rounds(3)
    lab.campaign.tell(rows[-2:])  # late
    return lab.rounds(2)


def batches_closed_own(path: Path) -> Laboratory:
    """As before, with a round of the laboratory's own between the batches, and the last round under way."""
    lab = Laboratory(path, algorithm=BATCHES)
    rows = lab.ask()
    lab.campaign.tell(rows[:-2])
    lab.campaign.close(reason="the week is over")
    lab.rounds(1)
    lab.own("both", "hot")
    lab.rounds(1)
    lab.campaign.tell(rows[-2:])  # late
    return lab


def batches_voided_last(path: Path) -> Laboratory:
    """A round that was complete, and is so no longer."""
    lab = Laboratory(path, algorithm=BATCHES).rounds(4)
    assert not lab.campaign.algorithm.under_way(lab.campaign.trail.state)
    lab.campaign.void("r4-1", reason="spilled")
    return lab


def batches_used_up(path: Path) -> Laboratory:
    """A probe that runs out with the last batch, before the size of its round is reached."""
    algorithm = pw.Sage(growth=1.6, max_batch=4)
    return Laboratory(path, algorithm=algorithm, sigma=1.5, stock=[5, None, 7, 30]).rounds(5)


def batches_own_open(path: Path) -> Laboratory:
    lab = batches_open(path)
    lab.own("both", "hot")
    return lab


def batches_own(path: Path) -> Laboratory:
    return batches_own_open(path).rounds(6)


def batches_own_before(path: Path) -> Laboratory:
    lab = Laboratory(path, algorithm=BATCHES)
    lab.own("mild", "hot", "mild")
    return lab.rounds(7)


def unknown_sigma(path: Path) -> Laboratory:
    return Laboratory(path, sigma="unknown").rounds(4)


def unknown_sigma_decided(path: Path) -> Laboratory:
    return Laboratory(path, sigma="unknown").rounds(60)


def unknown_sigma_batches(path: Path) -> Laboratory:
    return Laboratory(path, algorithm=pw.Sage(max_batch=6), sigma="unknown").rounds(7)


def stock(path: Path) -> Laboratory:
    lab = Laboratory(path, stock=[6, None, 9, None]).rounds(3)
    lab.campaign.restock("both", 4, reason="spilled")
    lab.campaign.restock("mild", None, reason="bought")
    return lab.rounds(3)


def stock_batches(path: Path) -> Laboratory:
    lab = Laboratory(path, algorithm=pw.Sage(max_batch=4), stock=[5, None, 7, 30]).rounds(4)
    lab.campaign.restock("hot", 12, reason="counted")
    return lab.rounds(4)


def costs(path: Path) -> Laboratory:
    return Laboratory(path, cost=[1.0, 4.0, 2.5, 0.5], sigma=[0.3, 0.2, 0.4, 0.3]).rounds(6)


def epsilon(path: Path) -> Laboratory:
    return Laboratory(path, pw.BestItem(0.05, epsilon=0.6)).rounds(60)


def of(algorithm: Any, rounds: int = 60, **problem: Any) -> Story:
    return lambda path: Laboratory(path, algorithm=algorithm, **problem).rounds(rounds)


def closed_early(algorithm: Any) -> Story:
    """Of a round that is large, few outcomes."""

    def story(path: Path) -> Laboratory:
        lab = Laboratory(path, algorithm=algorithm)
        lab.campaign.tell(lab.ask()[::20])
        lab.campaign.close(reason="the money is spent")
        return lab

    return story


STORIES: dict[str, Story] = {
    story.__name__.replace("_", "-"): story
    for story in (
        *(every_kind, decided, created, asked, in_pieces, single_item, empty_rounds, misfit, amended, withdrawn),
        *(own_rounds, own_during_a_round, batches, batches_full, batches_grown, replicates, batches_open),
        *(
            batches_waiting,
            batches_voided,
            batches_voided_in_time,
            batches_closed,
            batches_closed_own,
            batches_own_open,
            batches_own,
            batches_own_before,
        ),
        *(batches_voided_last, batches_used_up),
        *(unknown_sigma, unknown_sigma_decided, unknown_sigma_batches, stock, stock_batches, costs, epsilon),
    )
} | {
    "alba": closed_early(pw.ALBA(norm_bound=0.01)),
    "alba-x": closed_early(pw.ALBA(elimination="x", norm_bound=0.01)),
    "alba-code": of(pw.ALBA(variant="code", norm_bound=0.01), 2),
    "explore-verify": of(pw.ExploreVerify(), 8),
    "g-static": of(pw.GStatic(), 40),
    "lingape": of(pw.LinGapE(), 40),
    "lingape-greedy": of(pw.LinGapE(selection="greedy"), 15),
    "rage": of(pw.Rage(), 3),
    "rage-begun": of(pw.Rage(), 1),
    "rage-code": of(pw.Rage(variant="code"), 1),
    "rage-tight": of(pw.Rage(variant="tight"), 2),
    "uniform": of(pw.Uniform(), 30),
    "xy-adaptive": of(pw.XYAdaptive(), 8),
    "xy-oracle": of(pw.XYOracle(THETA), 30),
    "xy-static": of(pw.XYStatic(), 30),
}
IN_SQLITE = ("every-kind", "batches-open", "unknown-sigma")


def rounded(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.9g}")


def first(answer: tuple[int, ...] | None) -> int | None:
    """Its one item, as version 0.1.0 had it."""
    return None if answer is None else answer[0]


def said(campaign: pw.Campaign) -> dict[str, Any]:
    """What this version says of a campaign."""
    ledger, trail, status = campaign.ledger, campaign.trail, campaign.status()
    waiting = ledger.waiting
    return {
        "version": pw.__version__,
        "digest": status.digest,
        "kinds": [record.kind for record in campaign.records],
        "declared": first(ledger.declared),
        "answer": first(trail.answer),
        "item": status.item,
        "leader": status.leader,
        "remaining": list(status.remaining),
        "progress": rounded(status.progress),
        "measurements": status.measurements,
        "cost": rounded(status.cost),
        "forecast": status.forecast and {name: rounded(value) for name, value in status.forecast.items()},
        "waiting": status.waiting,
        "due": status.due,
        "open": [] if waiting is None else (np.flatnonzero(waiting.states == 0) + 1).tolist(),
        "sheets": [[len(s.probes), int((s.states == 1).sum()), int((s.states == 2).sum())] for s in ledger.sheets],
        "outcomes": [[rounded(value) for value in sheet.outcomes[sheet.states == 1]] for sheet in ledger.sheets],
        "amended": ledger.amended,
        "estimate": [rounded(value) for value in campaign.result().estimate],
        "items": {own.name: [*map(rounded, (own.estimate, own.low, own.high)), own.state] for own in status.items},
        "warnings": list(status.warnings),
        "sentence": status.sentence,
    }


def make(name: str, folder: Path) -> None:
    if name not in IN_SQLITE:
        lab = STORIES[name](folder / f"{name}.jsonl")
    else:
        lab = STORIES[name](folder / f"{name}.campaign")
        shutil.copy(lab.path, folder / f"{name}-log.campaign")
        with_log(folder / f"{name}-log.campaign", shared=name == "every-kind")
        lab.campaign.note("the last word")
        lab.campaign.export(folder / f"{name}.jsonl")
    (folder / f"{name}.json").write_text(json.dumps(said(lab.campaign), ensure_ascii=False) + "\n", "utf-8")


def with_log(path: Path, *, shared: bool) -> None:
    """Leave the last records in a write-ahead log, as a program does that is killed; with its shared memory or not."""
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("SELECT count(*) FROM probewise_journal").fetchone()
        campaign = pw.Campaign.open(path, author="lab")
        campaign.note("killed soon")
        campaign.note("killed now")
        side = [Path(f"{path}{end}") for end in ("", "-wal", *(("-shm",) if shared else ()))]
        for file in side:
            shutil.copy(file, f"{file}.kept")
        said_now = said(campaign)
    for file in side:
        Path(f"{file}.kept").replace(file)
    path.with_suffix(".json").write_text(json.dumps(said_now, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for story in sys.argv[2:] or STORIES:
        make(story, target)
        print(story, *(f"{file.suffix}: {file.stat().st_size}" for file in sorted(target.glob(f"{story}.*"))))
