"""Entries: a laboratory's table of outcomes, checked row by row before anything is recorded."""

from __future__ import annotations

import difflib
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from probewise import cells
from probewise.campaign.exchange.given import Line, Tabular, lines
from probewise.campaign.exchange.rows import OWN, STATE, STATES, shown_columns
from probewise.campaign.exchange.tallies import outcomes_of, spread, tally
from probewise.campaign.state.charter import Charter
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.sheet import RECORDED, VOIDED, Place, place_of, row_id
from probewise.errors import InvalidRows
from probewise.tables import named


@dataclass(frozen=True)
class Entry:
    """What a table says, row by row, measured against the ledger."""

    places: tuple[Place, ...] = ()
    """Rows to record."""
    outcomes: tuple[float, ...] = ()
    """Their outcomes."""
    late: tuple[Place, ...] = ()
    """Those of them that belong to a round which was closed without them."""
    repeated: tuple[Place, ...] = ()
    """Rows that are recorded already, with the same outcome."""
    outdated: tuple[Place, ...] = ()
    """Rows whose outcome was corrected or voided since; they stay as they are now."""
    empty: int = 0
    """Rows without an outcome."""
    notes: Mapping[str, Mapping[str, Any]] | None = None
    """Id -> further cells of the table."""


def number(line: Line, charter: Charter) -> float:
    """The outcome of a row."""
    value = line.cells["outcome"]
    if isinstance(value, str):
        found = cells.number(value)
        if found is None:
            hint = cells.advice(value, "enter a number, or leave it empty")
            raise line.fault("outcome", f"expected a number; {hint}")
        value = found
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise line.fault("outcome", "expected a number")
    if not abs(value) <= sys.float_info.max:
        raise line.fault("outcome", "expected a finite number; leave the cell empty if there is none, or void the row")
    law = charter.problem.outcome
    if not law.possible(np.array([float(value)]))[0]:
        raise line.fault("outcome", f"expected {law.expected}, as outcomes follow the law '{law.name}'")
    low, high = charter.outcome_range
    if not low <= value <= high:
        raise line.fault("outcome", f"expected a number from {low:g} to {high:g}, the range of this campaign")
    return float(value)


def place(line: Line, ledger: Ledger) -> Place:
    """The row of the campaign that a line is about."""
    text = line.cells["measurement"]
    found = None if text is None else place_of(str(text))
    if found is None:
        raise line.fault("measurement", "expected an id such as 'r1-4', as in the table that was asked for")
    if not ledger.has(found):
        asked = f"the last one asked for is '{_last(ledger)}'" if ledger.sheets else "nothing has been asked for yet"
        raise line.fault("measurement", f"which was never asked for; {asked}")
    probe = line.cells.get("probe")
    expected = ledger.charter.problem.probe_names[ledger.sheet(found[0]).probes[found[1] - 1]]
    if probe is not None and expected not in (str(probe), str(probe).strip()):
        raise line.fault("probe", f"expected '{expected}' in row '{row_id(*found)}'; rows may have been shifted")
    return found


def _last(ledger: Ledger) -> str:
    sheet = ledger.sheets[-1]
    return row_id(sheet.number, sheet.size)


def checked(table: Tabular, ledger: Ledger) -> Entry:
    """What a table with ids and outcomes would record; InvalidRows at the first row that cannot be."""
    given = lines(table, "measurement", ledger.charter)
    if ledger.charter.aggregated:
        given = [one for line in given for one in spread(line, place(line, ledger), ledger)]
    filled = [line for line in given if line.cells["outcome"] is not None]
    known = [place(line, ledger) for line in given]
    places = [own for own, line in zip(known, given, strict=True) if line.cells["outcome"] is not None]
    outcomes = [number(line, ledger.charter) for line in filled]
    _check_once(filled, places)
    new, repeated, outdated = [], [], []
    for at, (line, own, outcome) in enumerate(zip(filled, places, outcomes, strict=True)):
        now, state = ledger.outcome(own), ledger.sheet(own[0]).states[own[1] - 1]
        if outcome == now:
            repeated.append(own)
        elif state in (RECORDED, VOIDED):
            if outcome not in ledger.past.get(own, ()):
                raise _contradiction(line, own, now, ledger)
            outdated.append(own)
        else:
            new.append(at)
    fresh = tuple(places[at] for at in new)
    return Entry(
        fresh,
        tuple(outcomes[at] for at in new),
        tuple(own for own in fresh if ledger.sheet(own[0]).complete),
        tuple(repeated),
        tuple(outdated),
        len(given) - len(filled),
        _notes([filled[at] for at in new], fresh, ledger.charter),
    )


def _contradiction(line: Line, own: Place, now: float | None, ledger: Ledger) -> InvalidRows:
    if now is not None:
        return line.fault("outcome", f"but '{row_id(*own)}' has {now!r} on record; use correct, with a reason")
    why = ledger.reasons.get(own, "")
    return line.fault("outcome", f"but '{row_id(*own)}' was voided ({why}); use correct, with a reason, if it counts")


def _check_once(given: list[Line], places: Sequence[Place]) -> None:
    twice = {own for own, count in Counter(places).items() if count > 1}
    for line, own in zip(given, places, strict=True):
        if own in twice:
            raise line.fault("measurement", "which appears in more than one row of this table")


def _notes(given: Iterable[Line], places: Iterable[Place], charter: Charter) -> dict[str, dict[str, Any]]:
    """Cells of columns that neither the sheet nor an export has."""
    known = {*OWN, *shown_columns(charter)}  # that of outcomes is called so by now
    out = {}
    for line, own in zip(given, places, strict=True):
        more = {name: _plain(value) for name, value in line.cells.items() if name not in known and value is not None}
        if more.get(STATE) in STATES:
            del more[STATE]
        if more:
            out[row_id(*own)] = more
    return out


def _plain(value: Any) -> Any:
    finite = not isinstance(value, float) or math.isfinite(value)
    return value if isinstance(value, bool | int | float | str) and finite else str(value)


def own_rows(table: Tabular, ledger: Ledger) -> tuple[list[int], list[float]]:
    """Probes and outcomes of a round that the laboratory chose by itself."""
    problem = ledger.charter.problem
    numbers = {name: at for at, name in enumerate(problem.probe_names)}
    probes: list[int] = []
    outcomes: list[float] = []
    for line in lines(table, "probe", ledger.charter):
        name = line.cells["probe"]
        own = next((text for text in (str(name), str(name).strip()) if text in numbers), None)
        if own is None:
            close = difflib.get_close_matches(str(name), problem.probe_names, 1)
            hint = f"did you mean '{close[0]}'" if close else f"the probes are {named(problem.probe_names)}"
            raise line.fault("probe", f"expected the name of a probe; {hint}")
        if line.cells["outcome"] is None:
            raise line.fault("outcome", "expected a number")
        if ledger.charter.aggregated:
            n, successes = tally(line)
            probes += [numbers[own]] * n
            outcomes += outcomes_of(
                n, successes, ledger.charter, f"round {len(ledger.sheets) + 1} from {len(outcomes)}"
            )
            continue
        probes.append(numbers[own])
        outcomes.append(number(line, ledger.charter))
    if not probes:
        raise InvalidRows("a round needs at least one row, got none.")
    return probes, outcomes


def said(reason: str, what: str) -> str:
    """A reason without blanks around it."""
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidRows(f"{what} needs a reason in words, got {reason!r}; it stays in the journal.")
    return reason.strip()


def day(due: str | date | None) -> str | None:
    """A date as ISO 8601."""
    try:
        return None if due is None else date.fromisoformat(str(due)).isoformat()
    except ValueError:
        raise InvalidRows(f"due must be a date such as 2026-12-31, got {due!r}.") from None
