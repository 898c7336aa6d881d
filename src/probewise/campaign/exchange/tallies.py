"""Tallies: how often each probe was measured, and successes or the mean of all, instead of a row for each outcome."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from probewise import cells
from probewise.campaign.exchange.given import Line
from probewise.campaign.exchange.rows import COUNT, SPREADS
from probewise.campaign.state.charter import Charter
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.plan import LARGEST
from probewise.campaign.state.sheet import OPEN, VOIDED, Place, row_id
from probewise.outcomes import Law


def spread(line: Line, place: Place, ledger: Ledger) -> Iterator[Line]:
    """A line for each outcome that a line with n and successes stands for, from the row that it names on.

    A tally is new or was told before, as a whole: then rows that had an outcome and were voided since belong to it.
    """
    if line.cells["outcome"] is None:
        yield line
        return
    n, values, scatter = told_together(line, ledger.charter, f"row {row_id(*place)}")
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
    by_means = ledger.charter.by_means
    if by_means and n and not new[0] and len(ledger.together((place[0], rows[0] + 1))) != n:
        raise line.fault(COUNT, f"but row '{row_id(*place)}' was told with another number; use correct, with a reason")
    for at, (outcome, found) in enumerate(zip(values, rows[:n], strict=True)):
        yield replace(
            line,
            cells={**(line.cells if at == 0 else {}), "measurement": row_id(place[0], found + 1), "outcome": outcome},
            value=outcome if by_means else None,
            tally=(n, scatter) if by_means and at == 0 else None,
        )


def told_together(line: Line, charter: Charter, what: str) -> tuple[int, list[float], float | None]:
    """How many outcomes a line stands for, each of them, or their mean in place of each, and how they scatter."""
    if not charter.by_means:
        n, successes = tally(line)
        return n, outcomes_of(n, successes, charter, what), None
    n, law = _whole(line, COUNT), charter.problem.outcome
    if law.summed == "total":
        mean, scatter = _total(line, law) / max(n, 1), None
    else:
        mean, scatter = _number(line, "outcome"), _scatter(line, n, law)
        if scatter is None and law.needs_spread and n > 1:
            raise line.fault("sd", "expected the standard deviation of the outcomes, or their sum of squares")
    if n == 0:
        return 0, [], None
    mean_line = replace(line, cells={**line.cells, "outcome": mean})
    if reason := law.impossible(n, mean, None):
        raise mean_line.fault("outcome", reason)
    if reason := law.impossible(n, mean, scatter):
        raise line.fault(next(name for name in SPREADS if line.cells.get(name) is not None), reason)
    low, high = charter.outcome_range
    if not low <= mean <= high:
        raise mean_line.fault("outcome", f"expected a mean from {low:g} to {high:g}, the range of this campaign")
    return n, [mean] * n, scatter


def _scatter(line: Line, n: int, law: Law) -> float | None:
    """The sum of squared deviations from the mean that a line tells; None if it does not."""
    given = [name for name in SPREADS if line.cells.get(name) is not None]
    if len(given) > 1:
        raise line.fault(SPREADS[0], f"and '{SPREADS[1]}' as well; keep one of them")
    if not given:
        return None
    value, mean = _number(line, given[0]), _number(line, "outcome")
    if given[0] == SPREADS[0]:
        if value < 0 or (n < 2 and value != 0):
            raise line.fault(SPREADS[0], f"expected a number of at least 0{', and 0 of a single outcome' * (n < 2)}")
        return (n - 1) * value**2 if n > 1 else 0.0
    found = value - n * mean**2
    if found < -1e-9 * max(abs(value), n * mean**2):
        raise line.fault(SPREADS[1], f"but {n:,} outcomes with a mean of {mean:g} have at least {n * mean**2:.6g}")
    return max(found, 0.0) if n > 1 else 0.0


def _total(line: Line, law: Law) -> float:
    """A sum of counts."""
    value = _number(line, "outcome")
    if not law.possible(np.array([value]))[0]:
        raise line.fault("outcome", f"expected {law.expected}, as outcomes follow the law '{law.name}'")
    return value


def _number(line: Line, column: str) -> float:
    value: Any = line.cells.get(column)
    found = cells.number(value) if isinstance(value, str) else value
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) <= sys.float_info.max:
        raise line.fault(column, "expected a finite number")
    return float(found)


def weight(line: Line, probe: int, charter: Charter) -> float:
    """As how many measurements a row weighs; 1 where it brings no precision of its own."""
    column = charter.told[1]
    if line.cells.get(column) is None:
        return 1.0
    value, scale = _number(line, column), charter.problem.sigma[probe]
    if value <= 0:
        raise line.fault(column, "expected a positive number")
    found = float(charter.problem.outcome.weights(np.array([value]), np.array([scale]))[0])
    if not 0 < found < math.inf:
        raise line.fault(column, f"which is too far from what is stated, {scale:g}")
    return found


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
