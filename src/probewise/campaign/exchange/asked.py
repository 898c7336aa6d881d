"""What is asked for: the next batch of an open round, or the first of a new one."""

from __future__ import annotations

from typing import Any

import numpy as np

from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.plan import Plan, check_size
from probewise.campaign.state.replay import Trail


def asked(ledger: Ledger, trail: Trail, due: str | None, most: int) -> tuple[str, dict[str, Any]] | None:
    """The record of the next batch, of at most so many rows; None if one is waiting, or nothing more is asked."""
    if ledger.waiting is not None or trail.answer is not None:
        return None
    charter, number, limits = ledger.charter, len(ledger.sheets) + 1, ledger.charter.algorithm.limits
    whole, came = None if trail.open is None else trail.open.first.whole, trail.came.count
    body: dict[str, Any] = {"round": number, "begins": whole is None, "due": due}
    if whole is None:
        problem, goal = trail.goal.upward(ledger.problem)
        if charter.algorithm.spent(problem, goal, trail.state):
            return None
        whole = charter.algorithm.ask(problem, goal, trail.state, charter.stream(number))
        if limits.split:
            body["whole"] = {"probes": np.flatnonzero(whole).tolist(), "counts": whole[whole > 0].tolist()}
    counts = limits.batch(came + ledger.wanted(whole, came), came, ledger.problem.scaled_probes)
    check_size(counts, most, charter)
    return "asked", body | Plan.of(counts, charter.seed, number).to_json()
