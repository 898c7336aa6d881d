"""Tallies: how often each probe was measured and with how many successes, instead of a row for each outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from probewise import cells
from probewise.campaign.exchange.given import Line
from probewise.campaign.exchange.rows import COUNT
from probewise.campaign.state.charter import Charter
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.sheet import VOIDED, Place, row_id


def spread(line: Line, place: Place, ledger: Ledger) -> Iterator[Line]:
    """A line for each outcome that a line with n and successes stands for, from the row that it names on.

    Which of them were the successes is not known and does not matter; the first are said to be, so that the same tally
    told twice is the same.
    """
    if line.cells["outcome"] is None:
        yield line
        return
    n, successes = tally(line)
    sheet, row = ledger.sheet(place[0]), place[1] - 1
    own = np.flatnonzero((sheet.probes == sheet.probes[row]) & (sheet.states != VOIDED))
    rows = own[own >= row]
    if n > rows.size:
        raise line.fault(
            COUNT,
            f"but only {rows.size:,} were asked for from row '{row_id(*place)}' on; tell the rest with --off-plan",
        )
    values = outcomes_of(n, successes, ledger.charter)
    for at, (outcome, found) in enumerate(zip(values, rows[:n].tolist(), strict=True)):
        notes = line.cells if at == 0 else {}
        yield replace(line, cells={**notes, "measurement": row_id(place[0], found + 1), "outcome": outcome})


def tally(line: Line) -> tuple[int, int]:
    """The number of measurements, and of successes among them."""
    n, successes = _whole(line, COUNT), _whole(line, "outcome")
    if successes > n:
        raise line.fault("outcome", f"expected at most {COUNT}, which is {n:,}")
    return n, successes


def outcomes_of(n: int, successes: int, charter: Charter) -> list[float]:
    """So many successes, then failures: the upper and the lower end of the range."""
    assert charter.problem.outcome.ends is not None
    low, high = charter.problem.outcome.ends
    return [high] * successes + [low] * (n - successes)


def _whole(line: Line, column: str) -> int:
    value: Any = line.cells.get(column)
    found = cells.number(value) if isinstance(value, str) else value
    if isinstance(found, bool) or not isinstance(found, int | float) or found != int(found) or found < 0:
        raise line.fault(column, "expected a whole number of at least 0")
    return int(found)
