"""The state after any history is the state of the clean one: a campaign told only what is true in the end, in order."""

from __future__ import annotations

import contextlib
import functools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import probewise as pw
from probewise.campaign import Memory, Record, Storage, storage_at
from probewise.campaign.ledger import OPEN, RECORDED, VOIDED, row_id
from probewise.design import digest, remembering
from probewise.errors import OutOfStock

HISTORIES = {
    ("memory", "sage"): 300,
    ("memory", "batches"): 300,
    ("memory", "uniform"): 1000,
    ("memory", "rage"): 200,
    ("jsonl", "batches"): 160,
    ("sqlite", "sage"): 40,
}
"""Storage and algorithm -> histories: 2,000 in all."""
PROBLEMS = (
    pw.Problem(np.eye(2), sigma=0.5),
    pw.Problem([[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [0.5, 0.6]], sigma=[0.5, 1.0, 0.7], cost=[1, 2, 3]),
)
ALGORITHMS: dict[str, Any] = {
    "sage": pw.Sage(),
    "batches": pw.Sage(max_batch=3, growth=1.5),
    "uniform": pw.Uniform(),
    "rage": pw.Rage("tight"),
}
values = st.integers(-8, 8).map(lambda quarter: quarter / 4)
reasons = st.sampled_from(["spilled", "typing error"])


def asked(campaign: pw.Campaign) -> Any:
    """The rows, or why there are none."""
    try:
        return campaign.ask()
    except OutOfStock as error:
        return str(error)


class Racing(Storage):
    """A storage to which somebody else writes at the worst moment."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self.rivals = 0

    @property
    def name(self) -> str:
        return self.inner.name

    def read(self, after: int = 0) -> Any:
        return self.inner.read(after)

    def append(self, line: str, *, after: int) -> None:
        if self.rivals:
            self.rivals -= 1
            pw.Campaign.open(self.inner, author="rival").note("me first")
        self.inner.append(line, after=after)


class Histories(RuleBasedStateMachine):
    """Two people, one campaign, and everything that can happen to it.

    The model is a list of rounds, each a list of rows: [probe, outcome or None, state].
    """

    kind = "memory"
    algorithm = "sage"

    def __init__(self) -> None:
        RuleBasedStateMachine.__init__(self)
        self.folder = tempfile.mkdtemp()
        self.rounds: list[list[list[Any]]] = []
        self.planned: list[bool] = []
        self.closed: set[int] = set()
        self.past: dict[str, set[float]] = {}
        self.acknowledged: list[tuple[str, float]] = []
        self.stocked: list[tuple[int, dict[str, Any]]] = []
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(remembering(keep=True))

    @initialize(
        problem=st.sampled_from(PROBLEMS),
        delta=st.sampled_from([0.05, 0.6]),
        seed=st.integers(0, 3),
    )
    def begin(self, problem: pw.Problem, delta: float, seed: int) -> None:
        files = {"jsonl": Path(self.folder, "a.jsonl"), "sqlite": Path(self.folder, "a.pw")}
        self.store = Racing(storage_at(files[self.kind]) if self.kind in files else Memory())
        algorithm = ALGORITHMS[self.algorithm]
        self.people = [pw.Campaign.create(self.store, problem, pw.BestItem(delta=delta), algorithm, seed)]
        self.people.append(pw.Campaign.open(self.store, author="colleague"))

    def person(self, who: int) -> pw.Campaign:
        return self.people[who]

    def rows(self, *states: int) -> list[str]:
        return [
            row_id(i + 1, j + 1)
            for i, round_ in enumerate(self.rounds)
            for j, row in enumerate(round_)
            if row[2] in states
        ]

    def row(self, own: str) -> list[Any]:
        round_, row = own[1:].split("-")
        return self.rounds[int(round_) - 1][int(row) - 1]

    def records(self, own: str, value: float) -> None:
        row = self.row(own)
        if row[2] == RECORDED:
            self.past.setdefault(own, set()).add(row[1])
        row[1:] = [value, RECORDED]
        self.acknowledged.append((own, value))

    def journal(self) -> int:
        return len(self.store.read())

    @rule(who=st.integers(0, 1))
    def ask(self, who: int) -> None:
        waiting = any(row[2] == OPEN for i, r in enumerate(self.rounds) if i not in self.closed for row in r)
        rows, again = asked(self.person(who)), asked(self.person(1 - who))
        if isinstance(rows, str):
            assert rows == again
            return
        assert list(rows) == list(again)
        if waiting:
            number = max(i for i, r in enumerate(self.rounds) if i not in self.closed and any(x[2] == OPEN for x in r))
            wanted = [row_id(number + 1, j + 1) for j, row in enumerate(self.rounds[number]) if row[2] == OPEN]
            assert rows["measurement"] == wanted
        elif len(rows):
            assert rows["measurement"] == [row_id(len(self.rounds) + 1, j + 1) for j in range(len(rows))]
            names = self.people[0].problem.probe_names
            self.rounds.append([[names.index(name), None, OPEN] for name in rows["probe"]])
            self.planned.append(True)
        else:
            assert self.person(who).ledger.declared is not None

    @rule(who=st.integers(0, 1), data=st.data())
    def tell_some(self, who: int, data: st.DataObject) -> None:
        """In any order, with rows that are known and rows that are empty between them; late ones too."""
        fresh = data.draw(st.lists(st.sampled_from(self.rows(OPEN)), unique=True)) if self.rows(OPEN) else []
        known = (
            data.draw(st.lists(st.sampled_from(self.rows(RECORDED)), unique=True, max_size=2))
            if self.rows(RECORDED)
            else []
        )
        told = {own: data.draw(values) for own in fresh} | {own: self.row(own)[1] for own in known}
        table = [{"measurement": own, "outcome": told[own]} for own in data.draw(st.permutations(list(told)))]
        table += [{"measurement": own, "outcome": None} for own in self.rows(OPEN) if own not in told][:1]
        before = self.journal()
        assert set(self.person(who).tell(table, dry_run=True).recorded) == set(fresh)
        assert self.journal() == before
        said = self.person(who).tell(table)
        assert set(said.recorded) == set(fresh)
        assert set(said.repeated) == set(known)
        for own in fresh:
            self.records(own, told[own])

    @precondition(lambda self: self.rows(OPEN))
    @rule(who=st.integers(0, 1), value=values, step=values)
    def tell_all(self, who: int, value: float, step: float) -> None:
        rows = self.rows(OPEN)
        told = {own: value + step * self.row(own)[0] for own in rows}
        assert self.person(who).tell(told).recorded == tuple(rows)
        for own in rows:
            self.records(own, told[own])

    @precondition(lambda self: self.acknowledged)
    @rule(who=st.integers(0, 1), data=st.data())
    def repeat(self, who: int, data: st.DataObject) -> None:
        """A file of some time ago, entered again: what it says was corrected or voided since, or is known."""
        table = dict(data.draw(st.lists(st.sampled_from(self.acknowledged), min_size=1, max_size=4)))
        before = self.journal()
        said = self.person(who).tell(table)
        assert said.recorded == ()
        assert set(said.repeated) == {own for own, value in table.items() if self.row(own)[1:] == [value, RECORDED]}
        assert set(said.outdated) == set(table) - set(said.repeated)
        assert self.journal() == before

    @precondition(lambda self: self.rows(RECORDED, VOIDED))
    @rule(who=st.integers(0, 1), data=st.data())
    def contradict(self, who: int, data: st.DataObject) -> None:
        """All rows or none, and no value replaces another without a reason."""
        own = data.draw(st.sampled_from(self.rows(RECORDED, VOIDED)))
        fresh = dict.fromkeys(self.rows(OPEN)[:1], 0.0)
        before = self.journal()
        with pytest.raises(pw.InvalidRows, match="use correct"):
            self.person(who).tell({**fresh, own: 99.0})
        assert self.journal() == before

    @precondition(lambda self: self.rows(RECORDED, VOIDED))
    @rule(who=st.integers(0, 1), data=st.data(), value=values, reason=reasons)
    def correct(self, who: int, data: st.DataObject, value: float, reason: str) -> None:
        own = data.draw(st.sampled_from(self.rows(RECORDED, VOIDED)))
        self.person(who).correct(own, value, reason=reason)
        if self.row(own)[1:] != [value, RECORDED]:
            self.records(own, value)

    @precondition(lambda self: self.rounds)
    @rule(who=st.integers(0, 1), data=st.data(), reason=reasons)
    def void(self, who: int, data: st.DataObject, reason: str) -> None:
        rows = data.draw(st.lists(st.sampled_from(self.rows(OPEN, RECORDED, VOIDED)), min_size=1, max_size=3))
        self.person(who).void(rows, reason=reason)
        for own in rows:
            self.row(own)[1:] = [None, VOIDED]

    @rule(who=st.integers(0, 1), reason=reasons)
    def close(self, who: int, reason: str) -> None:
        waiting = self.person(who).ledger.waiting
        if waiting is None:
            with pytest.raises(pw.InvalidCampaign, match="none to close"):
                self.person(who).close(reason=reason)
        else:
            self.person(who).close(reason=reason)
            self.closed.add(waiting.number - 1)

    @rule(who=st.integers(0, 1), data=st.data())
    def off_plan(self, who: int, data: st.DataObject) -> None:
        campaign = self.person(who)
        names = campaign.problem.probe_names
        rows = data.draw(st.lists(st.tuples(st.integers(0, len(names) - 1), values), min_size=1, max_size=4))
        table = [{"probe": names[probe], "outcome": value} for probe, value in rows]
        if campaign.algorithm.name != "sage":
            with pytest.raises(pw.InvalidCampaign, match="only the rounds that it plans"):
                campaign.tell(table, off_plan=True)
            return
        said = campaign.tell(table, off_plan=True)
        if said.recorded:
            self.rounds.append([[probe, value, RECORDED] for probe, value in rows])
            self.planned.append(False)
            self.acknowledged += list(zip(said.recorded, (value for _, value in rows), strict=True))
        before = self.journal()
        assert campaign.tell(table, off_plan=True).recorded == ()
        assert self.journal() == before

    @rule(who=st.integers(0, 1), probe=st.sampled_from("01"), stock=st.sampled_from([0, 9, 30, None]), reason=reasons)
    def restock(self, who: int, probe: str, stock: int | None, reason: str) -> None:
        if not self.person(who).algorithm.minds_stock:
            return
        self.person(who).restock(probe, stock, reason=reason)
        self.stocked.append((len(self.rounds), {"probe": probe, "stock": stock, "reason": reason}))

    @rule(who=st.integers(0, 1))
    def note(self, who: int) -> None:
        self.person(who).note("the window was open")

    @rule(who=st.integers(0, 1))
    def reopen(self, who: int) -> None:
        self.people[who] = pw.Campaign.open(self.store)

    @rule(rivals=st.integers(1, 2))
    def race(self, rivals: int) -> None:
        """The next writes come too late."""
        self.store.rivals = rivals

    @rule(half=st.sampled_from([b'{"seq":', b'{"seq":3,"kind":"note","body":{}']))
    def crash(self, half: bytes) -> None:
        """Nobody remembers anything, and the last line may be half there."""
        if self.kind == "jsonl":
            with Path(self.folder, "a.jsonl").open("ab") as file:
                file.write(half)
        self.people = [pw.Campaign.open(self.store), pw.Campaign.open(self.store)]

    @invariant()
    def the_ledger_is_the_model(self) -> None:
        if not self.rounds:
            return
        ledger = self.people[0].ledger
        assert [s.planned for s in ledger.sheets] == self.planned
        for sheet, round_ in zip(ledger.sheets, self.rounds, strict=True):
            assert sheet.probes.tolist() == [row[0] for row in round_]
            assert sheet.states.tolist() == [row[2] for row in round_]
            wanted = [np.nan if row[1] is None else row[1] for row in round_]
            np.testing.assert_array_equal(sheet.outcomes, wanted)

    def teardown(self) -> None:
        try:
            if "store" in vars(self):
                self.the_state_is_that_of_the_clean_history()
                self.nothing_is_lost()
        finally:
            self.stack.close()
            shutil.rmtree(self.folder)

    def the_state_is_that_of_the_clean_history(self) -> None:
        messy, clean = self.people[0], pw.Campaign.open(self.clean_history())
        clean._settle()
        one, other = messy.trail, clean.trail
        assert digest(one.state) == digest(other.state)
        assert digest(pw.Campaign.open(self.store).trail.state) == digest(other.state)
        assert one.answer == other.answer
        assert messy.ledger.declared == one.answer
        if len(messy.records) % 3 == 0:  # a forecast takes time
            left, right = messy.status().to_json(), clean.status().to_json()
            for own in ("warnings", "digest"):
                del left[own], right[own]
            assert left == right
        one, other = asked(messy), asked(clean)
        assert one == other if isinstance(one, str) else one["probe"] == other["probe"]

    def clean_history(self) -> Memory:
        """The same rounds, and each row with its last outcome once; what is voided was never told."""
        memory = Memory()
        memory.append(self.store.read()[0], after=0)
        campaign = pw.Campaign.open(memory)
        for number, rows in enumerate(self.rounds):
            body: dict[str, Any] = {"round": number + 1, "probes": [row[0] for row in rows]}
            if self.planned[number]:
                body |= {"begins": self.people[0].ledger.sheets[number].begins, "due": None}
            else:
                body["outcomes"] = [99.0 if row[1] is None else row[1] for row in rows]
            self.append(memory, [("stocked", change) for at, change in self.stocked if at == number])
            self.append(memory, [("asked" if self.planned[number] else "unplanned", body)])
            ids = [row_id(number + 1, j + 1) for j in range(len(rows))]
            campaign.tell({own: row[1] for own, row in zip(ids, rows, strict=True) if row[1] is not None})
            if gone := [own for own, row in zip(ids, rows, strict=True) if row[2] == VOIDED]:
                campaign.void(gone, reason="voided")
            if campaign.ledger.sheets[number].complete is False and number in self.closed:
                campaign.close(reason="closed")
        self.append(memory, [("stocked", change) for at, change in self.stocked if at == len(self.rounds)])
        return memory

    @staticmethod
    def append(memory: Memory, bodies: list[tuple[str, dict[str, Any]]]) -> None:
        for kind, body in bodies:
            last = functools.reduce(lambda last, line: Record.read(line, after=last), memory.lines, None)
            assert last is not None
            memory.append(Record.new(kind, body, author="clean", after=last).line, after=last.seq)

    def nothing_is_lost(self) -> None:
        written: set[tuple[str, float]] = set()
        for record in self.people[1].records:
            body = record.body
            if record.kind == "recorded":
                written |= set(zip(body["rows"], body["outcomes"], strict=True))
            elif record.kind == "corrected":
                written.add((body["row"], body["outcome"]))
            elif record.kind == "unplanned":
                written |= {(row_id(body["round"], j + 1), value) for j, value in enumerate(body["outcomes"])}
        assert set(self.acknowledged) <= written


@pytest.mark.filterwarnings("ignore::probewise.TornJournal")
@pytest.mark.parametrize(("kind", "algorithm"), HISTORIES)
def test_any_history_ends_in_the_state_of_the_clean_one(kind: str, algorithm: str) -> None:
    machine = type(f"{algorithm.title()}In{kind.title()}", (Histories,), {"kind": kind, "algorithm": algorithm})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=HISTORIES[kind, algorithm], stateful_step_count=10, deadline=None)
    )
