"""Ledgers: what the records of a campaign say, all together. A pure fold, without input or output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probewise.campaign.journal.records import Record
from probewise.campaign.state.aggregates import tallies_of, told_of
from probewise.campaign.state.charter import Charter
from probewise.campaign.state.plan import Plan
from probewise.campaign.state.sheet import OPEN, RECORDED, VOIDED, Confirms, Place, Sheet
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidCampaign, ProbewiseError
from probewise.goals import Answer, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.run import check


@dataclass(frozen=True, eq=False)
class Ledger:
    """The campaign after some record."""

    charter: Charter
    """What the campaign is about."""
    problem: Problem
    """The problem of the charter, with the present stock."""
    last: Record
    """The last record; its digest stands for all of them."""
    sheets: tuple[Sheet, ...] = ()
    """Every round, in order; all but the last planned one are complete."""
    past: Mapping[Place, tuple[float, ...]] = field(default_factory=dict)
    """Outcomes that were corrected or voided since."""
    reasons: Mapping[Place, str] = field(default_factory=dict)
    """Why a row was voided or corrected last."""
    declared: Answer | None = None
    """The answer that was declared and not withdrawn."""
    declaration: Record | None = None
    """The record that declared it or withdrew it."""
    amended: int = 0
    """Records that changed rounds which had been complete, and so had been looked at: the version of the data."""
    ended: int = 0
    """The number of the last planned round that was over when the stock changed: more of it does not open it again."""

    @classmethod
    def start(cls, record: Record) -> Ledger:
        """The ledger after the first record."""
        if record.kind != "created":
            raise record.fault(f"a journal begins with 'created', got '{record.kind}'")
        try:
            charter = Charter.from_json(record.body)
        except InvalidCampaign:
            raise
        except ProbewiseError as error:
            raise record.fault(str(error).rstrip(".")) from None
        return cls(charter, charter.problem, record)

    def after(self, record: Record) -> Ledger:
        """The ledger after one more record."""
        return replace(_FOLD[record.kind](self, record), last=record)

    @property
    def goal(self) -> Goal:
        """What is to be found, with the part of δ that this version of the data may spend."""
        return self.charter.goal_of(self.amended)

    @property
    def risk(self) -> float:
        """A bound on the probability that a wrong answer was ever declared, over all versions of the data."""
        return self.charter.risk(self.amended)

    @property
    def waiting(self) -> Sheet | None:
        """The sheet that is not complete."""
        return next((sheet for sheet in reversed(self.sheets) if not sheet.complete), None)

    @cached_property
    def begun(self) -> int:
        """The number of the last sheet that began a planned round, or 0."""
        return next((sheet.number for sheet in reversed(self.sheets) if sheet.planned and sheet.begins), 0)

    @cached_property
    def open(self) -> int | None:
        """The number of the planned round that is not complete, if one is: rows or whole batches are still to come."""
        batches = [sheet for sheet in self.sheets[self.begun - 1 :] if sheet.planned] if self.begun else []
        if not all(sheet.complete for sheet in batches):
            return self.begun
        if not batches or batches[0].whole is None or self.begun == self.ended:
            return None
        came = sum((s.measurements(self.problem.n_probes).count for s in batches), np.zeros_like(batches[0].whole))
        return self.begun if came.any() and self.wanted(batches[0].whole, came).any() else None

    def wanted(self, whole: Counts, came: Counts) -> Counts:
        """(n,): what is missing of a plan, as far as the stock allows."""
        room = np.maximum(self.problem.stock - self.measured.count, 0)
        return np.asarray(np.minimum(np.maximum(whole - came, 0), room), dtype=np.int64)

    @cached_property
    def reserved(self) -> Counts:
        """(n,): what the open round still needs."""
        out = np.zeros(self.problem.n_probes, dtype=np.int64)
        if self.open is None:
            return out
        batches = [sheet for sheet in self.sheets[self.open - 1 :] if sheet.planned]
        if batches[0].whole is None:
            return np.bincount(batches[0].probes[batches[0].states == OPEN], minlength=out.size)
        came = sum((sheet.measurements(out.size).count for sheet in batches), out)
        return np.asarray(np.maximum(batches[0].whole - came, 0))

    @cached_property
    def measured(self) -> Measurements:
        """All that is recorded, whether the algorithm has heard of it or not."""
        n = self.charter.problem.n_probes
        sheets = [sheet for sheet in self.sheets if not sheet.empty]
        if not sheets:
            return Measurements.empty(n)
        if any(sheet.tallies or sheet.weights is not None for sheet in sheets):
            return sum((sheet.measurements(n) for sheet in sheets), Measurements.empty(n))
        there = [sheet.states == RECORDED for sheet in sheets]
        probes = np.concatenate([s.probes[t] for s, t in zip(sheets, there, strict=True)])
        outcomes = np.concatenate([s.outcomes[t] for s, t in zip(sheets, there, strict=True)])
        return Measurements.from_outcomes(n, probes, outcomes)

    def in_open(self, place: Place) -> bool:
        """Whether a row belongs to the open round, which has set stock aside for it."""
        return self.sheet(place[0]).planned and self.open is not None and place[0] >= self.open

    def sheet(self, number: int) -> Sheet:
        """The round of that number."""
        return self.sheets[number - 1]

    def has(self, place: Place) -> bool:
        """Whether there is such a row."""
        return place[0] <= len(self.sheets) and place[1] <= self.sheet(place[0]).size

    def outcome(self, place: Place) -> float | None:
        """The outcome that counts now."""
        sheet, row = self.sheet(place[0]), place[1] - 1
        return float(sheet.outcomes[row]) if sheet.states[row] == RECORDED else None

    def together(self, place: Place) -> list[Place]:
        """The rows that were told with a row by their mean, or the row alone."""
        tally = self.sheet(place[0]).tally(place[1] - 1)
        return [place] if tally is None else [(place[0], row + 1) for row in tally.rows]

    def changed(
        self,
        places: list[Place],
        outcomes: float | Array,
        state: int,
        *,
        tallies: Sequence[tuple[int, float | None]] = (),
        weights: Array | None = None,
    ) -> Ledger:
        """The ledger with other outcomes and states of some rows; so many of them each were told by their mean."""
        inside: dict[int, list[int]] = {}
        for at, (number, _) in enumerate(places):
            inside.setdefault(number, []).append(at)
        sheets, amended = list(self.sheets), False
        for number, given in inside.items():
            sheet, rows = sheets[number - 1], np.array([places[at][1] - 1 for at in given])
            counts = state == RECORDED or bool((sheet.states[rows] == RECORDED).any())
            amended |= counts and self.concluded(sheet)
            sheets[number - 1] = sheet.changed(
                rows,
                outcomes if isinstance(outcomes, float) else outcomes[given],
                state,
                tuple(own for place, own in tallies_of(places, tallies) if place == number),
                None if weights is None else weights[given],
            )
        return replace(self, sheets=tuple(sheets), amended=self.amended + amended)

    def concluded(self, sheet: Sheet) -> bool:
        """Whether a round is complete, batches and all, and so may have been looked at with its answer."""
        began = sheet.during
        if sheet.planned:
            began = next(s.number for s in self.sheets[sheet.number - 1 :: -1] if s.planned and s.begins)
        return sheet.complete and (self.open is None or began != self.open)

    def kept(self, places: list[Place], reason: str) -> Ledger:
        """With the outcomes that count now among those of the past, and with the reason for leaving them."""
        past = dict(self.past)
        for place in places:
            if (outcome := self.outcome(place)) is not None:
                past[place] = (*past.get(place, ()), outcome)
        return replace(self, past=past, reasons={**self.reasons, **dict.fromkeys(places, reason)})


def _rows(ledger: Ledger, record: Record, ids: list[str], *states: int) -> list[Place]:
    """The rows that ids name, each once; all of them must be in one of some states."""
    places = [(int(round_), int(row)) for round_, row in (text[1:].split("-") for text in ids)]
    for own, text in zip(places, ids, strict=True):
        if not ledger.has(own):
            raise record.fault(f"there is no row '{text}'")
        if ledger.sheet(own[0]).states[own[1] - 1] not in states:
            raise record.fault(f"row '{text}' cannot be {record.kind} as it stood")
    if len(set(places)) < len(places):
        raise record.fault("a row is named twice")
    return places


def _probes(ledger: Ledger, record: Record) -> NDArray[np.int64]:
    """The probes of a new round."""
    if record.body["round"] != len(ledger.sheets) + 1:
        raise record.fault(f"round {record.body['round']} comes after round {len(ledger.sheets)}")
    probes = np.array(record.body["probes"], dtype=np.int64)
    if probes.max() >= (n := ledger.charter.problem.n_probes):
        raise record.fault(f"there is no probe number {probes.max()} among {n}, which are numbered from 0")
    return probes


def _outcomes(ledger: Ledger, record: Record, outcomes: list[float], count: int) -> Array:
    """One outcome for each row, in the range of the campaign."""
    values = np.array(outcomes, dtype=np.float64)
    if values.size != count:
        raise record.fault(f"it has {values.size} outcomes of {count} rows")
    low, high = ledger.charter.outcome_range
    if not ((low <= values) & (values <= high)).all():
        raise record.fault(f"an outcome lies outside the range of the campaign, {low:g} to {high:g}")
    return values


def _whole(ledger: Ledger, record: Record) -> Counts | None:
    """(n,): the plan of the round that a batch begins."""
    if (body := record.body.get("whole")) is None:
        return None
    probes, counts, n = np.array(body["probes"]), np.array(body["counts"]), ledger.charter.problem.n_probes
    if probes.shape != counts.shape or np.unique(probes).size < probes.size or probes.max() >= n:
        raise record.fault(f"the plan of the round must name probes below {n}, each once, with a count of each")
    whole = np.zeros(n, dtype=np.int64)
    whole[probes] = counts
    return whole


def _plan(record: Record, probes: NDArray[np.int64]) -> Plan:
    counts = np.array(record.body.get("counts", []), dtype=np.int64)
    try:
        return Plan(probes, counts, record.body.get("key", ""))
    except InvalidCampaign as error:
        raise record.fault(str(error).rstrip(".")) from None


def _asked(ledger: Ledger, record: Record) -> Ledger:
    if ledger.waiting is not None:
        raise record.fault(f"round {ledger.waiting.number} is not complete")
    probes, body = _probes(ledger, record), record.body
    plan: Plan | NDArray[np.int64] = probes  # of each row, in form 1
    if "counts" in body or "key" in body:
        plan = _plan(record, probes)
    empty = np.broadcast_to(np.nan, plan.size)  # one number, whatever the size
    states = np.broadcast_to(np.int8(OPEN), plan.size)
    if not body["begins"] and not ledger.begun:
        raise record.fault("it goes on with a round, and none has begun")
    whole = _whole(ledger, record)
    sheet = Sheet(body["round"], plan, empty, states, True, ledger.problem, body["begins"], whole, due=body["due"])
    sheet = replace(sheet, confirms=_confirms(ledger, record))
    return replace(ledger, sheets=(*ledger.sheets, sheet))


def _confirms(ledger: Ledger, record: Record) -> Confirms | None:
    """What a round is to confirm; the algorithm must take rounds that it did not plan."""
    if (body := record.body.get("confirms")) is None:
        return None
    names = ledger.charter.problem.item_names
    ends = [name for name in (body["front"], body["behind"]) if name is not None]
    known = all(name in names for name in (*body["answer"], *ends)) and body["front"] != body["behind"]
    if not (known and ledger.charter.algorithm.takes_any_rounds and ledger.declared is not None):
        raise record.fault("it confirms what was not declared, or what cannot be confirmed")
    return Confirms(tuple(body["answer"]), body["front"], body["behind"], body["level"], body["scale"])


def _recorded(ledger: Ledger, record: Record) -> Ledger:
    places = _rows(ledger, record, record.body["rows"], OPEN)
    outcomes = _outcomes(ledger, record, record.body["outcomes"], len(places))
    probes = np.array([ledger.sheet(number).probes[row - 1] for number, row in places])
    return ledger.changed(places, outcomes, RECORDED, **told_of(ledger.charter, record, places, probes))


def _unplanned(ledger: Ledger, record: Record) -> Ledger:
    if not ledger.charter.algorithm.takes_any_rounds:
        raise record.fault(f"'{ledger.charter.algorithm.name}' takes no rounds of the laboratory's own")
    probes = _probes(ledger, record)
    outcomes = _outcomes(ledger, record, record.body["outcomes"], probes.size)
    states = np.full(probes.size, RECORDED, dtype=np.int8)
    if "during" in record.body and (during := record.body["during"]) != ledger.open:
        raise record.fault(f"it says that round {during} was open, and that was round {ledger.open}")
    sheet = Sheet(
        record.body["round"], probes, outcomes, states, False, ledger.problem, during=record.body.get("during")
    )
    places = [(sheet.number, row + 1) for row in range(sheet.size)]
    told = told_of(ledger.charter, record, places, probes)
    tallies = tuple(own for _, own in tallies_of(places, told["tallies"]))
    sheet = replace(sheet, tallies=tallies, weights=told["weights"])
    return replace(ledger, sheets=(*ledger.sheets, sheet))


def _corrected(ledger: Ledger, record: Record) -> Ledger:
    body = record.body
    places = ledger.together(_rows(ledger, record, [body["row"]], RECORDED, VOIDED)[0])
    outcome = _outcomes(ledger, record, [body["outcome"]], 1)
    if ("scatter" in body) != ledger.charter.by_means or ("weight" in body) != ledger.charter.weighted:
        raise record.fault("it does not say what rows of this campaign have to say")
    more: dict[str, Any] = {"tallies": [(len(places), body["scatter"])]} if "scatter" in body else {}
    more |= {"weights": np.full(len(places), body["weight"])} if "weight" in body else {}
    return ledger.kept(places, body["reason"]).changed(places, np.full(len(places), outcome[0]), RECORDED, **more)


def _voided(ledger: Ledger, record: Record) -> Ledger:
    places = _rows(ledger, record, record.body["rows"], OPEN, RECORDED)
    if not all({*ledger.together(own)} <= {*places} for own in places):
        raise record.fault("it voids a part of rows that were told together")
    return ledger.kept(places, record.body["reason"]).changed(places, np.nan, VOIDED)


def _closed(ledger: Ledger, record: Record) -> Ledger:
    number = record.body["round"]
    if ledger.waiting is None or ledger.waiting.number != number:
        raise record.fault(f"round {number} is not waiting for rows")
    sheet = replace(ledger.waiting, closed=record.body["reason"])
    return replace(ledger, sheets=(*ledger.sheets[: number - 1], sheet, *ledger.sheets[number:]))


def _stocked(ledger: Ledger, record: Record) -> Ledger:
    if record.body["probe"] not in ledger.problem.probe_names:
        raise record.fault(f"there is no probe {record.body['probe']!a:.40}")
    problem = stocked(ledger.problem, record.body)
    try:
        check(problem, ledger.charter.goal, ledger.charter.algorithm)
    except ProbewiseError as error:
        raise record.fault(str(error).rstrip(".")) from None
    return replace(ledger, problem=problem, ended=ledger.begun if ledger.open is None else ledger.ended)


def stocked(problem: Problem, change: Mapping[str, Any]) -> Problem:
    """The problem with another stock of one probe."""
    stock = problem.stock.copy()
    stock[problem.probe_names.index(change["probe"])] = np.inf if change["stock"] is None else change["stock"]
    return replace(problem, stock=stock)


def declared_names(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The items that a record declares or withdraws."""
    return (body["item"],) if "item" in body else tuple(body["items"])


def declaration(names: Sequence[str]) -> dict[str, Any]:
    """How a record names them; the first form had always one."""
    return {"item": names[0]} if len(names) == 1 else {"items": list(names)}


def _answer(ledger: Ledger, record: Record) -> Answer:
    names = ledger.charter.problem.item_names
    if ("item" in record.body) == ("items" in record.body):
        raise record.fault("it must name an item or several items")
    for name in declared_names(record.body):
        if name not in names:
            raise record.fault(f"there is no item {name!a:.40}")
    return tuple(names.index(name) for name in declared_names(record.body))


def _decided(ledger: Ledger, record: Record) -> Ledger:
    answer = _answer(ledger, record)
    if ledger.declared is not None or record.body["round"] > len(ledger.sheets):
        raise record.fault("an answer is declared already, or the round that decided is not there")
    return replace(ledger, declared=answer, declaration=record)


def _withdrawn(ledger: Ledger, record: Record) -> Ledger:
    if ledger.declared != _answer(ledger, record):
        raise record.fault(f"{', '.join(declared_names(record.body))!a:.60} is not declared")
    return replace(ledger, declared=None, declaration=record)


def _created(ledger: Ledger, record: Record) -> Ledger:
    raise record.fault("a campaign is created once")


def _note(ledger: Ledger, record: Record) -> Ledger:
    return ledger


_FOLD: dict[str, Callable[[Ledger, Record], Ledger]] = {
    "created": _created,
    "asked": _asked,
    "recorded": _recorded,
    "unplanned": _unplanned,
    "corrected": _corrected,
    "voided": _voided,
    "closed": _closed,
    "stocked": _stocked,
    "decided": _decided,
    "withdrawn": _withdrawn,
    "note": _note,
}
