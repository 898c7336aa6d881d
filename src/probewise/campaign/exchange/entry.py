"""Entries: a laboratory's table of outcomes, checked row by row before anything is recorded."""

from __future__ import annotations

import difflib
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np

from probewise import cells
from probewise.campaign.exchange.given import Line, Tabular, lines
from probewise.campaign.exchange.rows import COUNT, OWN, SPREADS, STATE, STATES, shown_columns
from probewise.campaign.exchange.tallies import spread, told_together, weight
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
    tallies: tuple[tuple[int, float | None], ...] = ()
    """How many of the rows to record were told together by their mean, one after the other, and their scatter."""
    weights: tuple[float, ...] = ()
    """As how many measurements the rows to record weigh, where they bring their own precision."""


def number(line: Line, charter: Charter) -> float:
    """The outcome of a row."""
    if line.value is not None:
        return line.value
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
    weights = _weights(filled, places, ledger)
    outcomes = [number(line, ledger.charter) / own for line, own in zip(filled, _rates(weights, ledger), strict=True)]
    _check_once(filled, places)
    new, repeated, outdated = [], [], []
    for at, (line, own, outcome) in enumerate(zip(filled, places, outcomes, strict=True)):
        now, state = ledger.outcome(own), ledger.sheet(own[0]).states[own[1] - 1]
        if outcome == now and _same(line, own, weights[at], ledger):
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
        tuple(tally for at in new if (tally := filled[at].tally) is not None),
        tuple(weights[at] for at in new) if ledger.charter.weighted else (),
    )


def corrected(own: Place, outcome: Any, spread: Any, ledger: Ledger) -> tuple[float, dict[str, Any]]:
    """The outcome of a correction, and what its record says of the spread or the precision of the row."""
    charter = ledger.charter
    cells = {"outcome": outcome, **({charter.told[-1]: spread} if spread is not None else {})}
    line = Line(f"row '{row_id(*own)}'", cells)
    if spread is not None and not (charter.weighted or "sd" in charter.told):
        raise InvalidRows("a row of this campaign has an outcome and nothing else; leave the spread out.")
    if charter.by_means:
        line = replace(line, cells={**cells, COUNT: len(ledger.together(own))})
        _, values, scatter = told_together(line, charter, line.where)
        return values[0], {"scatter": scatter}
    if not charter.weighted:
        return number(line, charter), {}
    sheet, row = ledger.sheet(own[0]), own[1] - 1
    kept = spread is None and sheet.weights is not None
    weights = [float(sheet.weights[row]) if kept else weight(line, int(sheet.probes[row]), charter)]  # type: ignore[index]
    return number(line, charter) / _rates(weights, ledger)[0], {"weight": weights[0]}


def precision_of(own: Place, ledger: Ledger) -> dict[str, Any]:
    """What is on record of the spread or the precision of a row."""
    sheet = ledger.sheet(own[0])
    if ledger.charter.by_means:
        tally = sheet.tally(own[1] - 1)
        return {"scatter": None if tally is None else tally.scatter}
    return {"weight": float(sheet.weights[own[1] - 1])} if sheet.weights is not None else {}


def _weights(filled: Sequence[Line], places: Sequence[Place], ledger: Ledger) -> list[float]:
    """As how many measurements each row weighs."""
    if not ledger.charter.weighted:
        return [1.0] * len(filled)
    probes = [int(ledger.sheet(number).probes[row - 1]) for number, row in places]
    return [weight(line, probe, ledger.charter) for line, probe in zip(filled, probes, strict=True)]


def _rates(weights: Sequence[float], ledger: Ledger) -> Sequence[float]:
    """What outcomes are divided by: counts by their exposure."""
    return weights if ledger.charter.problem.outcome.summed == "total" else [1.0] * len(weights)


def _same(line: Line, own: Place, weight: float, ledger: Ledger) -> bool:
    """Whether a row was told so before, with the same spread or precision."""
    sheet = ledger.sheet(own[0])
    tally = sheet.tally(own[1] - 1)
    if line.tally is not None and tally is not None and line.tally[1] != tally.scatter:
        return False
    return sheet.weights is None or float(sheet.weights[own[1] - 1]) == weight


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
    known = {
        *OWN,
        *charter.told,
        *SPREADS[: 2 * charter.by_means],
        *shown_columns(charter),
    }  # that of outcomes is called so by now
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


@dataclass(frozen=True)
class OwnRows:
    """A round that the laboratory chose by itself."""

    probes: list[int]
    """The probe of each row."""
    outcomes: list[float]
    """The outcome of each row, or the mean of those told with it."""
    tallies: list[tuple[int, float | None]]
    """How many rows were told together by their mean, one after the other, and their scatter."""
    weights: list[float]
    """As how many measurements each row weighs, where rows bring their own precision."""


def own_rows(table: Tabular, ledger: Ledger) -> OwnRows:
    """Rows of a round that the laboratory chose by itself."""
    problem = ledger.charter.problem
    numbers = {name: at for at, name in enumerate(problem.probe_names)}
    rows = OwnRows([], [], [], [])
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
            what = f"round {len(ledger.sheets) + 1} from {len(rows.outcomes)}"
            n, values, scatter = told_together(line, ledger.charter, what)
            rows.probes.extend([numbers[own]] * n)
            rows.outcomes.extend(values)
            rows.tallies.extend([(n, scatter)] * (ledger.charter.by_means and n > 0))
            continue
        weights = [weight(line, numbers[own], ledger.charter)] if ledger.charter.weighted else [1.0]
        rows.probes.append(numbers[own])
        rows.outcomes.append(number(line, ledger.charter) / _rates(weights, ledger)[0])
        rows.weights.extend(weights if ledger.charter.weighted else [])
    if not rows.probes:
        raise InvalidRows("a round needs at least one row, got none.")
    return rows


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
