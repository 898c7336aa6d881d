"""Replays: the state of the algorithm that a ledger leads to, a pure function of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from probewise.algorithms import Algorithm
from probewise.campaign.charter import Charter
from probewise.campaign.ledger import Ledger, Sheet


@dataclass(frozen=True, eq=False)
class Trail:
    """The states of the algorithm from the first round to the last one it was told."""

    charter: Charter
    """What the campaign is about."""
    sheets: tuple[Sheet, ...]
    """The rounds it was told, in that order."""
    states: tuple[Any, ...]
    """The state before the first of them, and after each."""

    @property
    def state(self) -> Any:
        """The state now."""
        return self.states[-1]

    @property
    def answer(self) -> int | None:
        """The item to recommend, or None while undecided."""
        return self.charter.algorithm.answer(self.charter.problem, self.charter.goal, self.state)


def replay(ledger: Ledger, known: Trail | None = None) -> Trail:
    """Tell the algorithm every round up to the first that is not complete or that brings the answer.

    It hears of the outcomes that count now and of nothing else: neither of when they came nor of those that were
    corrected or voided. A round without any outcome is not told. What is ``known`` of a trail with the same rounds at
    its beginning is taken over: a sheet is frozen, so the same object is the same data.
    """
    charter = ledger.charter
    problem, goal, algorithm = charter.problem, charter.goal, charter.algorithm
    before = () if known is None else known.sheets
    told: list[Sheet] = []
    states = [algorithm.init(problem, goal) if known is None else known.states[0]]
    due = [s for s in takewhile(lambda s: s.complete, ledger.sheets) if not s.empty]
    shared = known is not None
    while due and algorithm.answer(problem, goal, states[-1]) is None:
        at = _next(due, algorithm, states[-1])
        if at is None:
            break
        sheet = due[at]
        if algorithm.under_way(states[-1]) and sheet.begins:
            states[-1] = algorithm.conclude(sheet.problem, goal, states[-1])
            continue
        shared = shared and len(told) < len(before) and before[len(told)] is sheet
        told.append(due.pop(at))
        if shared and known is not None:
            states.append(known.states[len(told)])
        else:
            hear = algorithm.tell if sheet.planned else algorithm.take
            states.append(hear(sheet.problem, goal, states[-1], sheet.measurements(problem.n_probes)))
    return Trail(charter, tuple(told), tuple(states))


def _next(due: list[Sheet], algorithm: Algorithm[Any], state: Any) -> int | None:
    """Which round to tell: in order, but rounds of the laboratory's own wait while a round of several batches is
    under way, whose outcomes may have led to them.

    A batch that began a round when it was asked for ends the one before, even if outcomes are missing there now: it
    was planned by them, so it must never become a part of their round.
    """
    if not algorithm.under_way(state):
        return 0
    return next((at for at, sheet in enumerate(due) if sheet.planned), None)
