"""Told: what becomes of a laboratory's table of outcomes, as a record and as a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from probewise.algorithms import ALGORITHMS
from probewise.campaign.exchange import entry, given
from probewise.campaign.exchange.entry import Entry, checked, own_rows
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.sheet import OPEN, Place, Sheet, row_id
from probewise.errors import InvalidCampaign, InvalidRows
from probewise.numerals import plural

Proposal = tuple[str, dict[str, Any]] | None
"""Kind and body of a record, or None: there is nothing to record."""


@dataclass(frozen=True)
class Told:
    """What became of a table of outcomes."""

    recorded: tuple[str, ...]
    """Ids of the rows that were recorded."""
    late: tuple[str, ...]
    """Those of them whose round had been closed without them."""
    repeated: tuple[str, ...]
    """Ids that were on record already, with the same outcome."""
    outdated: tuple[str, ...]
    """Ids whose outcome has been corrected or voided since; they stay as they are."""
    empty: int
    """Rows without an outcome."""
    dry_run: bool
    """Whether nothing was written, because only a check was asked for."""
    sentence: str
    """All of it in one sentence, and what it did to the answer."""


def recorded(rows: Any, ledger: Ledger, dry_run: bool) -> tuple[Proposal, Told]:
    """What to do with rows that were asked for."""
    found = checked(rows, ledger)
    told = _told(found, dry_run)
    if not found.places:
        return None, told
    late = [own for own in found.late if not ledger.in_open(own)]
    check_stock(ledger, _probes(late, ledger), _probes(set(found.places).difference(late), ledger))
    body: dict[str, Any] = {"rows": [*told.recorded], "outcomes": [*found.outcomes]}
    return (
        "recorded",
        body | _more(found.tallies, found.weights) | ({"notes": found.notes} if found.notes else {}),
    ), told


def _more(tallies: Sequence[tuple[int, float | None]], weights: Sequence[float]) -> dict[str, Any]:
    """What a record says of rows that were told by their mean, or that bring their own precision."""
    own = {"tallies": [{"n": n, "scatter": scatter} for n, scatter in tallies]} if tallies else {}
    return own | ({"weights": [*weights]} if weights else {})


def _told(found: Entry, dry_run: bool) -> Told:
    recorded, late, repeated, outdated = (
        tuple(row_id(*own) for own in part) for part in (found.places, found.late, found.repeated, found.outdated)
    )
    parts = [
        f"{len(recorded)} recorded",
        f"{len(late)} of them late" * bool(late),
        f"{len(repeated)} already recorded" * bool(repeated),
        f"{len(outdated)} corrected or voided since and left so" * bool(outdated),
        f"{found.empty} empty" * bool(found.empty),
    ]
    sentence = ", ".join(part for part in parts if part) + (" (dry run: nothing was written)." if dry_run else ".")
    return Told(recorded, late, repeated, outdated, found.empty, dry_run, sentence)


def unplanned(rows: Any, ledger: Ledger, dry_run: bool, again: bool) -> tuple[Proposal, Told]:
    """What to do with rows that the laboratory chose by itself."""
    algorithm = ledger.charter.algorithm
    if not algorithm.takes_any_rounds:
        able = [name for name, other in ALGORITHMS.items() if other.takes_any_rounds]
        raise InvalidCampaign(
            f"the guarantee of '{algorithm.name}' covers only the rounds that it plans, so rounds of the laboratory's "
            f"own cannot be added; a campaign with {' or '.join(able)} can take them."
        )
    found = own_rows(rows, ledger)
    probes, outcomes = found.probes, found.outcomes
    number = len(ledger.sheets) + 1
    twin = None if again else _twin(ledger, probes, outcomes)
    ids = tuple(row_id(twin or number, row + 1) for row in range(len(probes)))
    if twin is not None:
        sentence = f"These rows are on record already, as round {twin}; if they were measured again, say so (again)."
        return None, Told((), (), ids, (), 0, dry_run, sentence)
    check_stock(ledger, probes)
    ending = " (dry run: nothing was written)." if dry_run else "."
    sentence = (
        f"{len(ids)} recorded as round {number}; the confidence holds if these rows were chosen before any of their "
        f"outcomes was seen, and all of them are here{ending}"
    )
    body = {"round": number, "probes": probes, "outcomes": outcomes, "during": ledger.open}
    return ("unplanned", body | _more(found.tallies, found.weights)), Told(ids, (), (), (), 0, dry_run, sentence)


def place(measurement: str, ledger: Ledger) -> Place:
    """The row of an id; refused if there is none."""
    return entry.place(given.Line("the row", {"measurement": measurement}), ledger)


def corrected(measurement: str, outcome: Any, reason: str, ledger: Ledger, spread: Any = None) -> Proposal:
    """What to do with another outcome of one row, or of the rows that were told with it."""
    own = place(measurement, ledger)
    value, more = entry.corrected(own, outcome, spread, ledger)
    now, sheet = ledger.outcome(own), ledger.sheet(own[0])
    if now is None and sheet.states[own[1] - 1] == OPEN:
        raise InvalidRows(f"row '{row_id(*own)}' has no outcome to correct; use tell.")
    if now is None and not ledger.in_open(own):
        check_stock(ledger, [int(sheet.probes[own[1] - 1])] * len(ledger.together(own)))
    if now == value and more == entry.precision_of(own, ledger):
        return None
    return "corrected", {"row": row_id(*own), "outcome": value, **more, "reason": reason}


def check_stock(ledger: Ledger, probes: list[int], own: Sequence[int] = ()) -> None:
    """Refuse rows that use up what an open round needs beside its own: they could end it by what it has shown."""
    problem = ledger.problem
    given, came = (np.bincount(np.array(part, dtype=np.int64), minlength=problem.n_probes) for part in (probes, own))
    left, needed = problem.stock - ledger.measured.count - came, np.maximum(ledger.reserved - came, 0)
    for probe in np.flatnonzero((given > 0) & (needed > 0) & (given > left - needed))[:1]:
        raise InvalidRows(
            f"probe '{problem.probe_names[probe]}' has {max(left[probe], 0):g} left in stock, of which round "
            f"{ledger.open} needs {needed[probe]}; got {plural(int(given[probe]), 'row')}; wait until that round is "
            "over or, if there is more, say so first (restock)."
        )


def _probes(places: Iterable[Place], ledger: Ledger) -> list[int]:
    return [int(ledger.sheet(number).probes[row - 1]) for number, row in places]


def _twin(ledger: Ledger, probes: list[int], outcomes: list[float]) -> int | None:
    """The round of the laboratory's own that was entered with the same rows."""
    given = Counter(zip(probes, outcomes, strict=True))
    for sheet in ledger.sheets:
        if not sheet.planned and Counter(zip(sheet.probes.tolist(), _first(ledger, sheet), strict=True)) == given:
            return sheet.number
    return None


def _first(ledger: Ledger, sheet: Sheet) -> list[float]:
    """The outcomes of a round as they were entered, before any correction."""
    now = sheet.outcomes.tolist()
    return [ledger.past.get((sheet.number, row + 1), (value,))[0] for row, value in enumerate(now)]
