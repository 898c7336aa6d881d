"""Tallies: how often each probe was measured and with how many successes, instead of a row for each outcome."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from probewise import cells
from probewise.campaign.exchange.given import Line
from probewise.campaign.exchange.rows import COUNT
from probewise.campaign.state.charter import Charter
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.plan import LARGEST
from probewise.campaign.state.sheet import OPEN, VOIDED, Place, row_id


def spread(line: Line, place: Place, ledger: Ledger) -> Iterator[Line]:
    """A line for each outcome that a line with n and successes stands for, from the row that it names on.

    A tally is new or was told before, as a whole: then rows that had an outcome and were voided since belong to it.
    """
    if line.cells["outcome"] is None:
        yield line
        return
    n, successes = tally(line)
    sheet, row = ledger.sheet(place[0]), place[1] - 1
    own = row + np.flatnonzero(sheet.probes[row:] == sheet.probes[row])
    states = zip(own.tolist(), sheet.states[own].tolist(), strict=True)
    rows = [at for at, state in states if state != VOIDED or (place[0], at + 1) in ledger.past]
    if n > len(rows):
        raise line.fault(
            COUNT,
            f"but only {len(rows):,} were asked for from row '{row_id(*place)}' on; tell the rest with --off-plan",
        )
    new = [bool(sheet.states[at] == OPEN) for at in rows[:n]]
    if any(new) and not all(new):
        most = new.index(not new[0])
        said = ("is" if most == 1 else "are") + (" still to be told" if new[0] else " told already")
        raise line.fault(COUNT, f"but {most:,} {said} from row '{row_id(*place)}' on; ask again, and tell the rest so")
    values = outcomes_of(n, successes, ledger.charter, f"row {row_id(*place)}")
    for at, (outcome, found) in enumerate(zip(values, rows[:n], strict=True)):
        notes = line.cells if at == 0 else {}
        yield replace(line, cells={**notes, "measurement": row_id(place[0], found + 1), "outcome": outcome})


def tally(line: Line) -> tuple[int, int]:
    """The number of measurements, and of successes among them."""
    n, successes = _whole(line, COUNT), _whole(line, "outcome")
    if successes > n:
        raise line.fault("outcome", f"expected at most {COUNT}, which is {n:,}")
    return n, successes


def outcomes_of(n: int, successes: int, charter: Charter, what: str) -> list[float]:
    """(n,): the upper end of the range so many times, else the lower one, in an order that the seed draws.

    Which of them were the successes is not known. If it followed a rule, rows that are voided or do not fit the plan
    would be successes, or failures, more often than chance has it. The same tally told twice is the same.
    """
    assert charter.problem.outcome.ends is not None
    low, high = charter.problem.outcome.ends
    key = hashlib.sha256(f"successes of {what} of {charter.seed}".encode()).hexdigest()[:32]
    words = np.random.Philox(key=int(key, 16)).random_raw(n)  # the same in all versions of NumPy
    out = np.full(n, low)
    out[np.argsort(words, kind="stable")[:successes]] = high
    return list(out.tolist())


def _whole(line: Line, column: str) -> int:
    value: Any = line.cells.get(column)
    found = cells.number(value) if isinstance(value, str) else value
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < math.inf or found % 1:
        raise line.fault(column, "expected a whole number of at least 0")
    if found > LARGEST:
        raise line.fault(column, f"expected at most {LARGEST:,}, which a round can have")
    return int(found)
