"""What an algorithm solves for at the start is kept in the first record, and nobody has to solve for it again."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.algorithms import planning
from probewise.algorithms.sage.knowledge import Knowledge
from probewise.campaign import Memory, verify
from probewise.campaign.journal.records import Record
from probewise.campaign.state import replay
from probewise.cli import main
from probewise.design import digest

PROBLEM = pw.Problem(np.eye(3), [[1.0, 0.2, 0.0], [0.0, 1.0, 0.1], [0.3, 0.0, 1.0]], sigma=0.5)
UNKNOWN = pw.Problem(PROBLEM.probes, PROBLEM.items, outcome=pw.Gaussian(unknown=True))
CASES: dict[str, tuple[pw.Problem, pw.Goal, pw.Algorithm[Any]]] = {
    "best": (PROBLEM, pw.BestItem(), pw.Sage()),
    "top": (PROBLEM, pw.TopM(2), pw.Sage(max_batch=4)),
    "above": (PROBLEM, pw.Above(0.3), pw.Sage()),
    "lowest": (PROBLEM, pw.BestItem(minimise=True), pw.Sage()),
    "unknown": (UNKNOWN, pw.BestItem(epsilon=0.1), pw.Sage()),
    "batched": (PROBLEM, pw.BestItem(), pw.Batched(pw.Sage(), 4)),
}


def measured(store: Any, case: str, **settings: Any) -> pw.Campaign:
    """A campaign after two rounds."""
    problem, goal, algorithm = CASES[case]
    campaign = pw.Campaign.create(store, problem, goal, algorithm, seed=0, **settings)
    laboratory = pw.LinearEnvironment(problem, [0.3, 0.31, 0.3], seed=0)
    for _ in range(2):
        rows = campaign.ask()
        numbers = [problem.probe_names.index(probe) for probe in rows["probe"]]
        campaign.tell(rows.filled(laboratory.measure(np.array(numbers))))
    return campaign


def rewritten(campaign: pw.Campaign, memo: Any) -> Memory:
    """The same records with another memo, or none, and digests that fit."""
    store, last = Memory(), None
    for record in campaign.records:
        body = json.loads(json.dumps(record.body))
        if record.kind == "created":
            del body["memo"]
            body |= {} if memo is None else {"memo": memo}
        last = Record.new(record.kind, body, author=record.author, after=last)
        store.lines.append(last.line)
    return store


@pytest.mark.parametrize("case", CASES)
def test_the_first_design_is_solved_once_for_all_time(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Memory()
    campaign = measured(store, case)
    wanted = digest(campaign.trail.reached)
    monkeypatch.setattr(planning, "optimal_design", None)
    again = pw.Campaign.open(store)
    assert digest(again.trail.reached) == wanted
    monkeypatch.undo()
    problem, goal, algorithm = CASES[case]
    assert digest(again.trail.reached[0]) == digest(algorithm.init(*goal.upward(problem)))
    assert again.status() == campaign.status()


@pytest.mark.parametrize("case", CASES)
def test_the_first_round_is_asked_for_without_solving_again(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, goal, algorithm = CASES[case]
    wanted = pw.Campaign.create(Memory(), problem, goal, algorithm, seed=0)
    store = Memory()
    pw.Campaign.create(store, problem, goal, algorithm, seed=0)
    monkeypatch.setattr(planning, "optimal_design", None)
    rows = pw.Campaign.open(store).ask()
    monkeypatch.undo()
    assert list(rows["probe"]) == list(wanted.ask()["probe"])


@pytest.mark.parametrize("algorithm", [pw.Sage(max_batch=2), pw.Batched(pw.Sage(), 2)], ids=lambda each: each.name)
def test_the_plan_of_a_round_is_solved_once_for_all_its_batches(
    algorithm: pw.Algorithm[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A design is solved when a round begins, also where every batch is asked for by a process of its own."""
    problem, goal = PROBLEM, pw.BestItem()
    store, solve, calls = Memory(), planning.optimal_design, []
    pw.Campaign.create(store, problem, goal, algorithm, seed=0)
    laboratory = pw.LinearEnvironment(problem, [0.3, 0.31, 0.3], seed=0)
    monkeypatch.setattr(planning, "optimal_design", lambda *a, **k: calls.append(1) or solve(*a, **k))
    solved: dict[bool, list[int]] = {True: [], False: []}
    while len(solved[True]) < 4:
        campaign, before = pw.Campaign.open(store), len(calls)
        rows = campaign.ask()
        begins = next(record.body["begins"] for record in reversed(campaign.records) if record.kind == "asked")
        solved[begins].append(len(calls) - before)
        numbers = [problem.probe_names.index(probe) for probe in rows["probe"]]
        campaign.tell(rows.filled(laboratory.measure(np.array(numbers))))
    assert len(solved[False]) >= 4
    assert set(solved[False]) == {0}
    assert any(solved[True])


@pytest.mark.parametrize("case", CASES)
def test_a_journal_without_it_means_the_same(case: str) -> None:
    campaign = measured(Memory(), case, amendments=0.5)
    campaign.correct("r1-1", 0.2, reason="typing error")  # another part of δ, and the same memo
    without = pw.Campaign.open(rewritten(campaign, None))
    assert "memo" not in without.records[0].body
    assert digest(without.trail.reached) == digest(campaign.trail.reached)


def test_other_algorithms_keep_nothing() -> None:
    campaign = pw.Campaign.create(Memory(), PROBLEM, algorithm=pw.Rage(), seed=0)
    assert "memo" not in campaign.records[0].body
    with pytest.raises(pw.InvalidAlgorithm, match="rage keeps nothing of what it begins with, got 'probes'"):
        pw.Rage().resume(PROBLEM, pw.BestItem(), {"probes": [0]})


def test_a_single_item_needs_no_design() -> None:
    problem = pw.Problem(np.eye(2), [[1.0, 0.0]])
    assert pw.Sage().memo(problem, pw.BestItem()) is None
    with pytest.raises(pw.InvalidAlgorithm, match="known without a measurement, so no design can have been kept"):
        pw.Sage().resume(problem, pw.BestItem(), {"probes": [0], "weights": [1.0]})


@pytest.mark.parametrize(
    "memo",
    [
        {},
        {"probes": [0, 1, 2]},
        {"probes": [0, 1, 2], "weights": [0.5, 0.25, 0.25], "more": 1},
        {"probes": [0, 1, 2], "weights": [0.5, 0.25]},
        {"probes": [], "weights": []},
        {"probes": [0, 2, 1], "weights": [0.5, 0.25, 0.25]},
        {"probes": [0, 1, 1], "weights": [0.5, 0.25, 0.25]},
        {"probes": [0, 1, 3], "weights": [0.5, 0.25, 0.25]},
        {"probes": [-1, 1, 2], "weights": [0.5, 0.25, 0.25]},
        {"probes": [0, 1, 10**30], "weights": [0.5, 0.25, 0.25]},
        {"probes": [False, 1, 2], "weights": [0.5, 0.25, 0.25]},
        {"probes": "012", "weights": [0.5, 0.25, 0.25]},
        {"probes": [0, 1, 2], "weights": [0.5, 0.25, 0.24]},
        {"probes": [0, 1, 2], "weights": [1.5, -0.25, -0.25]},
        {"probes": [0, 1, 2], "weights": [0.5, 0.5, 0.0]},
        {"probes": [0, 1, 2], "weights": ["0.5", 0.25, 0.25]},
        {"probes": [0, 1], "weights": [0.5, 0.5]},
    ],
    ids=str,
)
def test_what_is_no_design_is_refused_when_it_is_read(memo: Any) -> None:
    forged = rewritten(measured(Memory(), "best"), memo)
    with pytest.raises(
        pw.InvalidCampaign, match="record 1 of the journal cannot be: the design kept from the start must"
    ):
        pw.Campaign.open(forged)


def test_another_design_is_found_by_verify() -> None:
    """Bets are fair in any unit that was fixed beforehand; whether this one was, only the problem can tell."""
    campaign = measured(Memory(), "best")
    assert verify(campaign._store).records == len(campaign.records)
    forged = rewritten(campaign, {"probes": [0, 1, 2], "weights": [0.9, 0.05, 0.05]})
    assert pw.Campaign.open(forged).status().measurements == campaign.status().measurements
    with pytest.raises(
        pw.InvalidCampaign, match=r"record 1 .* is not that of the problem: its largest variance is 9\.075"
    ):
        verify(forged)


def test_status_takes_the_estimates_of_rounds_from_the_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = measured(Memory(), "batched")
    wanted = campaign.status()
    again = pw.Campaign.open(campaign._store)
    monkeypatch.setattr(replay, "least_squares", None)
    assert again.status() == wanted


def test_leaders_that_come_back_are_not_compared_in_all_rounds_again() -> None:
    problem, goal, algorithm = pw.Problem(np.eye(6), sigma=1.0), pw.BestItem(), pw.Sage()
    laboratory, state = pw.LinearEnvironment(problem, np.zeros(6)), algorithm.init(problem, goal)
    for step in range(30):
        counts = np.full(6, 2, dtype=np.int64)
        state = algorithm.tell(problem, goal, state, laboratory.draw(counts, np.random.default_rng(step)))
    assert isinstance(state, Knowledge)
    assert len(state.collected) > 2
    for z, sums in state.collected.items():
        rows = problem.items[z] - problem.items[state.alive]
        precision, total = state.pool.sums(rows)[:2]
        np.testing.assert_allclose(sums.precision, precision, rtol=1e-12)
        np.testing.assert_allclose(sums.total, total, rtol=1e-9, atol=1e-12)


def test_one_look(tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    campaign = pw.Campaign.create(path, PROBLEM, seed=0)
    look, other = pw.Campaign.open(path, once=True), pw.Campaign.open(path)
    before = look.status()
    other.note("meanwhile")
    assert look.status() == before != other.status()
    look.note("after it")  # what others have written is read before anything is
    assert [record.kind for record in look.records] == ["created", "note", "note"]
    assert look.status() == campaign.status()


def test_a_pipe_from_ask_to_tell(tmp_path: Path) -> None:
    """tell starts together with ask, and must not look before the round is there."""
    path = tmp_path / "a.campaign"
    campaign = pw.Campaign.create(path, PROBLEM, seed=0)

    class Pipe(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if size == 0:  # somebody asks what kind of file it is
                return b""
            return "\n".join(["measurement,outcome", *(f"{id},1" for id in campaign.ask()["measurement"])]).encode()

    done = CliRunner().invoke(main, ["tell", str(path), "-", "--json"], input=Pipe())
    assert len(json.loads(done.stdout)["recorded"]) == campaign.status().measurements > 0


def test_a_campaign_is_made_whoever_reads_what_is_printed(tmp_path: Path) -> None:
    path, program = tmp_path / "a.campaign", [sys.executable, "-m", "probewise"]
    (tmp_path / "probes.csv").write_text("id,x\na,0\nb,1\n")
    tables = ["--probes", str(tmp_path / "probes.csv")]
    with subprocess.Popen([*program, "new", str(path), *tables, "--sigma", "3"], stdout=subprocess.PIPE) as new:
        assert new.stdout is not None
        new.stdout.close()  # as head does once it has its lines
    assert pw.Campaign.open(path).status().waiting == 0
