"""The state after any history is what a model of a few lines, which knows no journal, makes of the rows that count."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections import Counter
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
from probewise.campaign import Memory, Storage, storage_at
from probewise.campaign.state.sheet import OPEN, RECORDED, VOIDED, row_id
from probewise.design import digest, remembering
from probewise.errors import OutOfStock
from probewise.measurements import Measurements

HISTORIES = {
    ("memory", "sage"): 200,
    ("memory", "batches"): 400,
    ("memory", "uniform"): 400,
    ("memory", "rage"): 100,
    ("memory", "rage in batches"): 100,
    ("jsonl", "batches"): 100,
    ("sqlite", "sage"): 40,
}
"""Storage and algorithm -> histories."""
PROBLEMS = (
    pw.Problem(np.eye(2), sigma=0.5),
    pw.Problem([[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [0.5, 0.6]], sigma=[0.5, 1.0, 0.7], cost=[1, 2, 3]),
)
ALGORITHMS: dict[str, Any] = {
    "sage": pw.Sage(),
    "batches": pw.Sage(max_batch=3, growth=1.5),
    "uniform": pw.Uniform(),
    "rage": pw.Rage("tight"),
    "rage in batches": pw.Batched(pw.Rage("tight"), max_batch=4, max_replicates=3),
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
        self.whole: list[dict[int, int] | None] = []
        self.begins: list[bool] = []
        self.during: list[int | None] = []
        self.version = 0
        self.closed: set[int] = set()
        self.past: dict[str, set[float]] = {}
        self.acknowledged: list[tuple[str, float]] = []
        self.stock: dict[int, float] = {}
        self.ended: int | None = None
        self.concluded: tuple[int, list[bytes]] = (0, [])
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(remembering(keep=True))

    @initialize(
        problem=st.sampled_from(PROBLEMS),
        delta=st.sampled_from([0.05, 0.6]),
        aside=st.sampled_from([0.0, 0.5]),
        seed=st.integers(0, 3),
    )
    def begin(self, problem: pw.Problem, delta: float, aside: float, seed: int) -> None:
        files = {"jsonl": Path(self.folder, "a.jsonl"), "sqlite": Path(self.folder, "a.pw")}
        self.store = Racing(storage_at(files[self.kind]) if self.kind in files else Memory())
        algorithm, self.delta, self.aside, self.problem = ALGORITHMS[self.algorithm], delta, aside, problem
        self.people = [
            pw.Campaign.create(self.store, problem, pw.BestItem(delta=delta), algorithm, seed, amendments=aside)
        ]
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

    # What the model says of rounds

    def group(self, sheet: int) -> int | None:
        """The sheet that began the round to which a sheet belongs, or during which it came."""
        if not self.planned[sheet]:
            return self.during[sheet]
        return max(i for i in range(sheet + 1) if self.planned[i] and self.begins[i])

    def batches(self, first: int) -> list[int]:
        return [i for i in range(first, len(self.rounds)) if self.planned[i] and self.group(i) == first]

    def waits(self, sheet: int) -> bool:
        return sheet not in self.closed and any(row[2] == OPEN for row in self.rounds[sheet])

    def counts(self, sheets: Any) -> Counter[int]:
        return Counter(row[0] for i in sheets for row in self.rounds[i] if row[2] == RECORDED)

    def missing(self, first: int) -> bool:
        """Whether something that can be measured is missing of the plan of a round in batches."""
        came, all_ = self.counts(self.batches(first)), self.counts(range(len(self.rounds)))
        if (plan := self.whole[first]) is None or not came or first == self.ended:
            return False
        return any(n > came[p] and self.stock.get(p, np.inf) > all_[p] for p, n in plan.items())

    def open(self) -> int | None:
        """The sheet that began the planned round of which something is to come."""
        begun = [i for i in range(len(self.rounds)) if self.planned[i] and self.begins[i]]
        if not begun:
            return None
        first = begun[-1]
        return first if any(map(self.waits, self.batches(first))) or self.missing(first) else None

    def amends(self, rows: list[str], *, voids: bool) -> None:
        """Count a version if rows that counted, or count now, belong to a round from which something was concluded."""
        opened = self.open()
        for own in rows:
            sheet = int(own[1:].split("-")[0]) - 1
            counts = not voids or self.row(own)[2] == RECORDED
            if counts and not self.waits(sheet) and (opened is None or self.group(sheet) != opened):
                self.version += 1
                return

    def steps(self) -> list[list[list[list[Any]]] | None]:
        """For each step its rounds, each a list of rows: what fits its plan, what exceeds it, others; None if open."""
        own = {i for i in range(len(self.rounds)) if not self.planned[i]}
        out: list[tuple[int, list[list[list[Any]]] | None]] = []
        for first in [i for i in range(len(self.rounds)) if self.planned[i] and self.begins[i]]:
            batches = self.batches(first)
            with_it = sorted(i for i in own if self.during[i] == first)
            if self.whole[first] is not None:
                with_it = sorted({*with_it, *(i for i in own if first < i < batches[-1])})
            own -= set(with_it)
            later = any(self.planned[i] and self.begins[i] for i in range(first + 1, len(self.rounds)))
            if any(map(self.waits, batches)) or (not later and self.missing(first)):
                out.append((first, None))
                continue
            fits: list[list[Any]] = []
            more: list[list[Any]] = []
            left = Counter(self.whole[first]) if self.whole[first] is not None else None
            for row in (row for i in batches for row in self.rounds[i] if row[2] == RECORDED):
                (fits if left is None or left[row[0]] > 0 else more).append(row)
                if left is not None:
                    left[row[0]] -= 1
            rest = [[row for row in self.rounds[i] if row[2] == RECORDED] for i in with_it]
            out.append((first, [rows for rows in (fits, more, *rest) if rows]))
        out += [(i, [[row for row in self.rounds[i] if row[2] == RECORDED]]) for i in own]
        return [rounds for _, rounds in sorted(out, key=lambda step: step[0])]

    def measured(self, rows: list[list[Any]]) -> Measurements:
        return Measurements.from_outcomes(self.problem.n_probes, [row[0] for row in rows], [row[1] for row in rows])

    def expected(self) -> tuple[pw.BestItem, Any]:
        """Goal and state that the rows lead to, told to the algorithm without any campaign."""
        k = self.version
        part = (self.aside or 1.0) / (k * (k + 1)) if k else 1.0 - self.aside
        goal, algorithm = pw.BestItem(part * self.delta), ALGORITHMS[self.algorithm]
        state = algorithm.init(self.problem, goal)
        for rounds in self.steps():
            if rounds is None or algorithm.answer(self.problem, goal, state) is not None:
                break  # the round that is open, and all after it, are not told
            if not algorithm.takes_any_rounds:  # it has no others, and hears of all rows of its round at once
                rounds = [[row for rows in rounds for row in rows]]
            told = [self.measured(rows) for rows in rounds if rows]
            if told:
                state = algorithm.tell_overlapping(self.problem, goal, state, told)
        return goal, state

    def records(self, own: str, value: float) -> None:
        row = self.row(own)
        if row[2] == RECORDED:
            self.past.setdefault(own, set()).add(row[1])
        row[1:] = [value, RECORDED]
        self.acknowledged.append((own, value))

    def appended(self, rows: list[list[Any]], *, planned: bool, begins: bool = True, whole: Any = None) -> None:
        self.during.append(None if planned else self.open())
        self.rounds.append(rows)
        self.planned.append(planned)
        self.begins.append(begins)
        self.whole.append(whole)

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
            record = next(r for r in reversed(self.people[0].records) if r.kind == "asked").body
            whole = record.get("whole")
            self.appended(
                [[names.index(name), None, OPEN] for name in rows["probe"]],
                planned=True,
                begins=record["begins"],
                whole=None if whole is None else dict(zip(whole["probes"], whole["counts"], strict=True)),
            )
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
        if self.starves(fresh):
            for dry_run in (True, False):
                with pytest.raises(pw.InvalidRows, match="left in stock"):
                    self.person(who).tell(table, dry_run=dry_run)
            assert self.journal() == before
            return
        assert set(self.person(who).tell(table, dry_run=True).recorded) == set(fresh)
        assert self.journal() == before
        said = self.person(who).tell(table)
        assert set(said.recorded) == set(fresh)
        assert set(said.repeated) == set(known)
        self.amends(fresh, voids=False)
        for own in fresh:
            self.records(own, told[own])

    @precondition(lambda self: self.rows(OPEN))
    @rule(who=st.integers(0, 1), value=values, step=values)
    def tell_all(self, who: int, value: float, step: float) -> None:
        rows = self.rows(OPEN)
        told = {own: value + step * self.row(own)[0] for own in rows}
        if self.starves(rows):
            with pytest.raises(pw.InvalidRows, match="left in stock"):
                self.person(who).tell(told)
            return
        assert self.person(who).tell(told).recorded == tuple(rows)
        self.amends(rows, voids=False)
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
        if self.row(own)[2] == VOIDED and self.starves([own]):
            with pytest.raises(pw.InvalidRows, match="left in stock"):
                self.person(who).correct(own, value, reason=reason)
            return
        self.person(who).correct(own, value, reason=reason)
        if self.row(own)[1:] != [value, RECORDED]:
            self.amends([own], voids=False)
            self.records(own, value)

    @precondition(lambda self: self.rounds)
    @rule(who=st.integers(0, 1), data=st.data(), reason=reasons)
    def void(self, who: int, data: st.DataObject, reason: str) -> None:
        rows = data.draw(st.lists(st.sampled_from(self.rows(OPEN, RECORDED, VOIDED)), min_size=1, max_size=3))
        self.person(who).void(rows, reason=reason)
        self.amends(rows, voids=True)
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
        if self.short(Counter(probe for probe, _ in rows)):
            with pytest.raises(pw.InvalidRows, match="left in stock"):
                campaign.tell(table, off_plan=True)
            return
        said = campaign.tell(table, off_plan=True)
        if said.recorded:
            self.appended([[probe, value, RECORDED] for probe, value in rows], planned=False)
            self.acknowledged += list(zip(said.recorded, (value for _, value in rows), strict=True))
        before = self.journal()
        assert campaign.tell(table, off_plan=True).recorded == ()
        assert self.journal() == before

    def starves(self, rows: list[str]) -> bool:
        """Whether rows that the open round does not have take what it still needs beside those that it has."""
        first, own, others = self.open(), Counter[int](), Counter[int]()
        for row in rows:
            sheet = int(row[1:].split("-")[0]) - 1
            inside = first is not None and sheet >= first and self.planned[sheet]
            (own if inside else others)[self.row(row)[0]] += 1
        return self.short(others, own)

    def short(self, given: Counter[int], own: Counter[int] | None = None) -> bool:
        """Whether rows take of the stock what the open round still needs."""
        used, first, needed = self.counts(range(len(self.rounds))), self.open(), Counter[int]()
        if first is not None and (plan := self.whole[first]) is not None:
            came = self.counts(self.batches(first))
            needed = Counter({probe: n - came[probe] for probe, n in plan.items() if n > came[probe]})
        elif first is not None:
            needed = Counter(row[0] for row in self.rounds[first] if row[2] == OPEN)
        needed, used = needed - (own or Counter()), used + (own or Counter())
        return any(needed[p] and used[p] + needed[p] + n > self.stock.get(p, np.inf) for p, n in given.items())

    @rule(who=st.integers(0, 1), probe=st.sampled_from("01"), stock=st.sampled_from([0, 9, 30, None]), reason=reasons)
    def restock(self, who: int, probe: str, stock: int | None, reason: str) -> None:
        if not self.person(who).algorithm.minds_stock:
            return
        if self.open() is None:  # a round that is over stays over, however much is found
            self.ended = max((i for i in range(len(self.rounds)) if self.planned[i] and self.begins[i]), default=None)
        self.person(who).restock(probe, stock, reason=reason)
        self.stock[int(probe)] = np.inf if stock is None else stock

    @rule(who=st.integers(0, 1), look=st.sampled_from(["trail", "ledger", "records", "result", "status"]))
    def look(self, who: int, look: str) -> None:
        """Reading writes nothing and leaves nothing behind."""
        before, seen = self.journal(), getattr(self.person(who), look)
        if callable(seen):
            seen()
        assert self.journal() == before

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

    @invariant()
    def who_lives_and_who_comes_agree(self) -> None:
        """The living objects, with all that they have seen, and one that is opened anew come to the same."""
        if not self.rounds:
            return
        fresh = pw.Campaign.open(self.store).trail
        for person in self.people:
            assert person.trail.goal == fresh.goal
            assert digest(person.trail.reached) == digest(fresh.reached)
            assert digest(person.trail.came.count, person.trail.came.mean) == digest(fresh.came.count, fresh.came.mean)

    @invariant()
    def a_version_only_adds_to_what_was_concluded(self) -> None:
        """Nobody looks at two versions of a round while one is counted."""
        if not self.rounds:
            return
        campaign = self.people[0]
        steps = [[(round_.count, round_.mean) for round_ in step.rounds] for step in campaign.trail.steps]
        version, now = campaign.ledger.amended, [digest(*(part for own in step for part in own)) for step in steps]
        if version == self.concluded[0]:
            assert now[: len(self.concluded[1])] == self.concluded[1]
        self.concluded = version, now

    def teardown(self) -> None:
        try:
            if "store" in vars(self):
                self.the_state_is_that_of_the_model()
                self.nothing_is_lost()
        finally:
            self.stack.close()
            shutil.rmtree(self.folder)

    def the_state_is_that_of_the_model(self) -> None:
        goal, state = self.expected()
        for campaign in (*self.people, pw.Campaign.open(self.store)):
            trail = campaign.trail
            assert trail.goal.delta == pytest.approx(goal.delta)
            assert campaign.ledger.amended == self.version
            assert digest(trail.state) == digest(state)
            assert trail.answer == ALGORITHMS[self.algorithm].answer(self.problem, goal, state)
        assert self.people[0].ledger.declared == trail.answer
        one, other = (asked(campaign) for campaign in self.people)
        assert one == other if isinstance(one, str) else one["probe"] == other["probe"]

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
def test_any_history_ends_in_the_state_of_the_model(kind: str, algorithm: str) -> None:
    machine = type(f"{algorithm.title()}In{kind.title()}", (Histories,), {"kind": kind, "algorithm": algorithm})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=HISTORIES[kind, algorithm], stateful_step_count=10, deadline=None)
    )
