"""Replays: the state of the algorithm that a ledger leads to, a pure function of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from probewise.campaign.charter import Charter
from probewise.campaign.ledger import RECORDED, Ledger, Sheet


@dataclass(frozen=True, eq=False)
class Trail:
    """The states of the algorithm from the first round to the last one it was told."""

    charter: Charter
    """What the campaign is about."""
    sheets: tuple[Sheet, ...]
    """The rounds it was told, in order."""
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

    It hears of rounds by their number, of the outcomes that count now and of nothing else: neither of the order in
    which they came nor of outcomes that were corrected or voided. A round without any outcome is not told. What is
    ``known`` of rounds that have not changed since is taken over.
    """
    charter = ledger.charter
    problem, goal, algorithm = charter.problem, charter.goal, charter.algorithm
    complete = takewhile(lambda sheet: sheet.complete, ledger.sheets)
    due = [sheet for sheet in complete if (sheet.states == RECORDED).any()]
    told = [] if known is None else _shared(due, known.sheets)
    states = [algorithm.init(problem, goal)] if known is None else list(known.states[: len(told) + 1])
    for sheet in due[len(told) :]:
        if algorithm.answer(problem, goal, states[-1]) is not None:
            break
        states.append(algorithm.tell(sheet.problem, goal, states[-1], sheet.measurements(problem.n_probes)))
        told.append(sheet)
    return Trail(charter, tuple(told), tuple(states))


def _shared(due: list[Sheet], known: tuple[Sheet, ...]) -> list[Sheet]:
    """The rounds at the beginning of both; a sheet is frozen, so the same object is the same data."""
    return [one for one, _ in takewhile(lambda pair: pair[0] is pair[1], zip(due, known, strict=False))]
