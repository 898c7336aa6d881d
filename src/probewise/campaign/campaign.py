"""Campaigns: the loop of identify turned inside out, with everything that happens in a journal."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from probewise.algorithms import Algorithm, Forecast, Sage
from probewise.campaign.exchange import entry
from probewise.campaign.exchange.asked import asked
from probewise.campaign.exchange.rows import Rows, all_rows, no_rows, open_rows, own_columns
from probewise.campaign.exchange.told import Proposal, Told, corrected, place, recorded, unplanned
from probewise.campaign.findings.appraisal import appraised, scrutinised
from probewise.campaign.findings.confirmation import confirmations, confirming
from probewise.campaign.findings.news import Stand, news, settled
from probewise.campaign.findings.status import Status, status
from probewise.campaign.journal import chain
from probewise.campaign.journal.bodies import STOCK
from probewise.campaign.journal.lines import Lines
from probewise.campaign.journal.places import storage_at
from probewise.campaign.journal.records import Record, Request, user
from probewise.campaign.journal.storage import Storage
from probewise.campaign.state.charter import Charter, limits
from probewise.campaign.state.ledger import Ledger, stocked
from probewise.campaign.state.plan import MAX_ROUND, largest
from probewise.campaign.state.replay import Trail, replay
from probewise.campaign.state.sheet import VOIDED, row_id
from probewise.dialects import PLAIN
from probewise.errors import InvalidCampaign, InvalidRows, StorageConflict, StorageUnavailable
from probewise.estimate import least_squares
from probewise.files import new_file
from probewise.goals import Goal, usual_goal
from probewise.problem import Problem
from probewise.quantity import Quantity
from probewise.result import Result, Round
from probewise.run import check
from probewise.tables import TableLike

if TYPE_CHECKING:
    from probewise.campaign.report.view import View

_TRIES = 1000
"""Writes that may come too late in a row."""


class Campaign:
    """A search that may take months, restarts and several people.

    Made by ``create`` or ``open``. All it holds is a copy of the journal and what follows from it; every method first
    reads what others have written, unless it was opened for one look.
    """

    def __init__(self, store: Storage, first: Record, *, author: str | None, once: bool = False) -> None:
        self._store = store
        self.author = author or user()
        """Who writes the next records."""
        self.request: Request | None = None
        """What the next change answers, if that has a key; a change that was made before under it is refused."""
        self._records = [first]
        self._answers: dict[tuple[str, str], Record] = {}
        self._ledger = Ledger.start(first)
        self._trail: Trail | None = None
        self._once = once

    @classmethod
    def create(
        cls,
        path: str | Path | Storage,
        problem: Problem,
        goal: Goal | None = None,
        algorithm: Algorithm[Any] | None = None,
        seed: int | None = None,
        *,
        author: str | None = None,
        outcome_range: tuple[float | None, float | None] = (None, None),
        probe_columns: TableLike | None = None,
        item_columns: TableLike | None = None,
        amendments: float = 0.0,
        outcome_name: str = "",
        unit: str = "",
        aggregated: bool | Literal["means"] = False,
        weighted: bool = False,
    ) -> Campaign:
        """Begin a campaign in a new file (SQLite, or JSON lines if it ends with .jsonl) or in a database (a URL).

        ``probe_columns`` is a table with one row per probe that is shown on every sheet, by default the table that the
        problem was made from, or the features; ``outcome_range`` (low, high) refuses outcomes outside, None being no
        limit. ``amendments`` is a share of delta set aside for data that change after they were looked at.
        ``outcome_name`` and ``unit`` say what is measured, as "yield" and "%": sheets, sentences and reports use them.
        With ``aggregated``, sheets have a row for each probe, to be told with its n and successes or, if there are none
        or it is "means", with mean and standard deviation of all. With ``weighted``, rows bring their own precision.
        """
        store = storage_at(path)
        charter = Charter(
            problem,
            goal or usual_goal(problem),
            algorithm or Sage(),
            secrets.randbits(64) if seed is None else seed,
            limits(*outcome_range),
            own_columns(problem, probe_columns, "probe"),
            own_columns(problem, item_columns, "item"),
            amendments,
            PLAIN if problem.tables is None else problem.tables[0].dialect,
            Quantity(outcome_name, unit),
            aggregated=aggregated,
            weighted=weighted,
        ).prepared()
        first = Record.new("created", charter.to_json(), author=author or user(), after=None)
        try:
            chain.write(store, first)
        except StorageConflict:
            raise InvalidCampaign(f"{store.name} holds a campaign already; open it, or choose another name.") from None
        return cls(store, first, author=author)

    @classmethod
    def open(cls, path: str | Path | Storage, *, author: str | None = None, once: bool = False) -> Campaign:
        """Go on with a campaign; its records are read and checked against their digests.

        With ``once`` it stays as it is now: what others write later is read only before something is written.
        """
        store = storage_at(path)
        records = chain.unread(store, None)
        first = next(records, None)
        if first is None:
            raise InvalidCampaign(f"there is no campaign in {store.name}; create one, or check the name.")
        campaign = store.kind(cls)(store, first, author=author, once=once)
        campaign._take(records)
        return campaign

    def __repr__(self) -> str:
        return f"Campaign({self._store.name}: {self.status().sentence})"

    @property
    def ledger(self) -> Ledger:
        """All that the records say, after reading what others have written."""
        self._read()
        return self._ledger

    @property
    def records(self) -> tuple[Record, ...]:
        """Every record, in order."""
        _ = self.ledger
        return tuple(self._records)

    @property
    def trail(self) -> Trail:
        """The states of the algorithm that the records lead to."""
        return self._replayed(self.ledger)

    @property
    def problem(self) -> Problem:
        """What can be measured, with the stock of now, and what may be recommended."""
        return self._ledger.problem

    @property
    def goal(self) -> Goal:
        """What is to be found."""
        return self._ledger.charter.goal

    @property
    def algorithm(self) -> Algorithm[Any]:
        """The algorithm that plans and decides."""
        return self._ledger.charter.algorithm

    def ask(self, *, due: str | date | None = None, max_round: int = MAX_ROUND, confirm: int | None = None) -> Rows:
        """The rows to measure: those of the round that is not complete or, if all are, of a new one.

        Asked again, it gives the rows that are still open; once an answer is declared, none. ``due`` is the day by
        which a new round is wanted; it stands on the sheet and in the status, and nothing happens if it passes. A new
        round of more than ``max_round`` rows is refused. ``confirm`` plans, after a decision, a round of so many rows
        that compares the winner with its closest rival; its sentence says what would contradict the answer.
        """
        day, most = entry.day(due), largest(max_round)
        self._read()
        self._settle()

        def propose(ledger: Ledger) -> Proposal:
            trail = self._replayed(ledger)
            if confirm is None:
                return asked(ledger, trail, day, most)
            return confirming(ledger, appraised(ledger, trail), confirm, day, most)

        self._write(propose)
        ledger, sheet = self._ledger, self._ledger.waiting
        if sheet is None:
            return no_rows(ledger.charter, self._status().sentence)
        rows = open_rows(ledger.charter, sheet)
        tests = [own.sentence for own in confirmations(ledger) if own.round == sheet.number]
        return replace(rows, sentence=" ".join([rows.sentence, *tests]))

    def tell(self, rows: Any, *, off_plan: bool = False, again: bool = False, dry_run: bool = False) -> Told:
        """Record outcomes: all rows of the table or, if one of them cannot be, none.

        ``rows`` is a file, a data frame, dictionaries with "measurement" and "outcome", or a mapping from ids to
        outcomes, in any order and in any pieces; rows without an outcome are left open. ``off_plan`` takes rows with
        "probe" and "outcome" that the laboratory chose by itself, before it saw any of them, as a round of their own;
        with ``again``, also if it has the same rows as an earlier one.
        """
        told: list[Told] = []

        def propose(ledger: Ledger) -> Proposal:
            proposal, result = unplanned(rows, ledger, dry_run, again) if off_plan else recorded(rows, ledger, dry_run)
            told[:] = [result]
            return None if dry_run else proposal

        if dry_run:
            propose(self.ledger)
            return told[0]
        _, news = self._changed(propose)
        return replace(told[0], sentence=" ".join([told[0].sentence, *news]))

    def correct(self, measurement: str, outcome: float, *, reason: str, spread: float | None = None) -> str:
        """Give a row another outcome, also one that was voided; says what it did to the answer.

        Rows that were told together by their mean, or total, are corrected together. ``spread`` is their standard
        deviation, or what a row brings of its own precision: its standard error or exposure.
        """
        why = entry.said(reason, "a correction")
        written, news = self._changed(lambda ledger: corrected(measurement, outcome, why, ledger, spread))
        value = self._ledger.outcome(place(measurement, self._ledger))
        return " ".join([f"{measurement} is {value!r} now." if written else f"{measurement} was so already.", *news])

    def void(self, measurements: str | Iterable[str], *, reason: str) -> str:
        """Take rows out, measured or not, for a reason that is not their outcome; says what it did to the answer."""
        ids = [measurements] if isinstance(measurements, str) else list(measurements)
        why = entry.said(reason, "voiding")

        def propose(ledger: Ledger) -> Proposal:
            places = dict.fromkeys(own for text in ids for own in ledger.together(place(text, ledger)))
            left = [own for own in places if ledger.sheet(own[0]).states[own[1] - 1] != VOIDED]
            return ("voided", {"rows": [row_id(*own) for own in left], "reason": why}) if left else None

        written, news = self._changed(propose)
        return " ".join(["Voided." if written else "These rows were voided already.", *news])

    def close(self, *, reason: str) -> str:
        """Wait no longer for the rows of this round that are missing; if they come after all, they are accepted."""
        why = entry.said(reason, "closing a round")

        def propose(ledger: Ledger) -> Proposal:
            if ledger.waiting is None:
                raise InvalidCampaign("no round is waiting for rows, so there is none to close; ask for one.")
            return "closed", {"round": ledger.waiting.number, "reason": why}

        _, news = self._changed(propose)
        return " ".join(["The round is closed.", *news])

    def restock(self, probe: str, stock: int | None, *, reason: str) -> None:
        """Say how often a probe can be measured in all; None is without limit. It counts from the next batch on."""
        why = entry.said(reason, "a change of stock")
        if probe not in self.problem.probe_names:
            raise InvalidRows(f"there is no probe '{probe}'; check the name.")
        if stock is not None and not STOCK.fits(stock):
            raise InvalidRows(f"stock must be a whole number of at least 0, or None, got {stock!r:.40}.")

        def propose(ledger: Ledger) -> Proposal:
            body = {"probe": probe, "stock": stock, "reason": why}
            check(stocked(ledger.problem, body), ledger.charter.goal, ledger.charter.algorithm)
            return "stocked", body

        self._read()
        self._write(propose)

    def note(self, text: str) -> None:
        """Put a remark into the journal."""
        remark = entry.said(text, "a note")
        self._read()
        self._write(lambda ledger: ("note", {"text": remark}))

    def status(self) -> Status:
        """Where the campaign stands; writes nothing."""
        self._read()
        return self._status()

    def _status(self) -> Status:
        trail = self._replayed(self._ledger)
        return status(self._ledger, trail, appraised(self._ledger, trail))

    def result(self) -> Result:
        """The outcome so far in the form of ``identify``; its item is None until one is declared, see its ``guess``."""
        standing = self.status()
        ledger, problem, data = self._ledger, self.problem, self._ledger.measured
        n = problem.n_probes
        counted = [sheet for sheet in ledger.sheets if not sheet.empty]
        rounds = tuple(Round(sheet.counts(n), sheet.measurements(n)) for sheet in counted)
        theta = least_squares(problem.probes, data, sigma=problem.sigma).theta
        items = None if standing.answer is None else ledger.declared
        state = "identified" if items is not None else "undecided" if ledger.declared is None else "not certified"
        guess = () if items is not None else tuple(standing.recipes)
        found = Result(items, standing.answer or (), data.n, standing.cost, len(rounds), state, theta, rounds)
        ahead = "" if standing.forecast is None or items is not None else Forecast(**standing.forecast).sentence  # type: ignore[arg-type]
        return replace(found, confidence=standing.confidence, guess=guess, outlook=ahead or standing.unforeseen)

    def report(self, path: str | Path) -> None:
        """Write one HTML file with the decision, the evidence and every record."""
        from probewise.campaign.report.write import write

        write(self.view(), path)

    def view(self) -> View:
        """All that a report shows of the campaign as it is now, computed once."""
        from probewise.campaign.report.view import View, name_of

        trail = self.trail
        appraisal = appraised(self._ledger, trail)
        now = status(self._ledger, trail, appraisal)
        return View(name_of(self._store.name), self._ledger, trail, now, tuple(self._records), appraisal)

    def export(self, path: str | Path) -> None:
        """Write every row with its outcome and state (.csv), or the journal (.jsonl, which opens as a campaign)."""
        path = Path(path)
        if path.suffix.casefold() == ".jsonl":
            Lines(path).begin(record.line for record in self.records)
            return
        ledger = self.ledger
        with new_file(path) as file:
            file.writelines(all_rows(ledger.charter, ledger.sheets))

    def _read(self) -> None:
        """Read what others have written since, unless one look was enough."""
        if not self._once:
            self._take(chain.unread(self._store, self._ledger.last))

    def _replayed(self, ledger: Ledger) -> Trail:
        """The replay of a ledger, which takes over what is known of an earlier one."""
        if self._trail is None or self._trail.ledger is not ledger:
            self._trail = replay(ledger, self._trail)
        return self._trail

    def _take(self, records: Iterable[Record]) -> None:
        for record in records:
            self._ledger = self._ledger.after(record)
            self._records.append(record)
            if record.request is not None:
                self._answers[record.author, record.request.key] = record

    def _check_once(self, request: Request | None) -> None:
        """Refuse a request of this author that is on record."""
        if request is not None and (known := self._answers.get((self.author, request.key))) is not None:
            raise known.repeated(request)

    def _write(self, propose: Callable[[Ledger], Proposal], *, asked: bool = True) -> bool:
        """Record what is proposed on seeing the ledger; if others have written meanwhile, propose anew.

        What nobody asked for, as it follows from other records, is not recorded under the key of a request.
        """
        request = self.request if asked else None
        self._check_once(request)
        ledger = self._ledger
        proposal = propose(ledger)  # it may take long, and so far nobody waits
        for _ in range(_TRIES):
            if proposal is None:
                return False
            with self._store.writing() as alone:
                self._take(chain.unread(alone, ledger.last))
                if self._ledger is not ledger:
                    self._check_once(request)
                    ledger = self._ledger
                    proposal = propose(ledger)
                    if proposal is None:
                        return False
                record = Record.new(*proposal, author=self.author, after=ledger.last, request=request)
                ledger.after(record)  # what cannot be read back is not written
                try:
                    chain.write(alone, record)
                except StorageConflict:
                    continue
                self._take([record])
                return True
        raise StorageConflict(f"{self._store.name} was changed by others {_TRIES} times in a row; try again.")

    def _settle(self) -> None:
        """Declare the answer that the records lead to, or withdraw one to which they no longer lead."""
        while self._write(lambda ledger: settled(ledger, self._replayed(ledger), self._records), asked=False):
            pass

    def _stand(self) -> Stand:
        trail, charter = self._replayed(self._ledger), self._ledger.charter
        standing = charter.algorithm.standing(*trail.search, trail.state)
        return Stand.of(self._ledger.declared, standing, listed=charter.problem.shards is None)

    def _changed(self, propose: Callable[[Ledger], Proposal]) -> tuple[bool, list[str]]:
        """Whether anything was written, and what that did to the answer and to the items that were ruled out."""
        self._read()
        before = self._stand()
        written = self._write(propose)
        try:
            self._settle()
            now = self._stand()
        except StorageUnavailable as error:
            raise StorageUnavailable(f"this is recorded, but not what it does to the answer: {error}") from None
        same, leader = now.declared is None or now == before, (now.declared or (None,))[0]
        # unless the data contradict what it rests on
        certified = same or scrutinised(self._ledger, self._replayed(self._ledger), leader).certifies
        return written, news(before, now, self._ledger, certified=certified)
