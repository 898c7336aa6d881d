"""Replays: the state of the algorithm that a ledger leads to, a pure function of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probewise.campaign.state.charter import Charter
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.sheet import RECORDED, Sheet, nth
from probewise.coordinates import Counts
from probewise.estimate import Estimate, least_squares
from probewise.goals import Answer, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.threads import few


@dataclass(frozen=True, eq=False)
class Step:
    """What the algorithm is told at once: a round with all its batches, and what came from elsewhere meanwhile."""

    problem: Problem
    """What the campaign is about."""
    sheets: tuple[Sheet, ...]
    """The batches of a round, then the laboratory's own rounds that were measured while it was open."""

    @property
    def first(self) -> Sheet:
        """The sheet with which it began."""
        return self.sheets[0]

    @property
    def batches(self) -> tuple[Sheet, ...]:
        """The sheets of the round itself."""
        return tuple(sheet for sheet in self.sheets if sheet.planned == self.first.planned)

    @cached_property
    def came(self) -> Measurements:
        """What is recorded of the round itself, more than was planned included."""
        first, *rest = (sheet.measurements(self.problem.n_probes) for sheet in self.batches)
        return sum(rest, first)

    @cached_property
    def rounds(self) -> tuple[Measurements, ...]:
        """Round by round: what fits the plan, what exceeds it, and each round of the laboratory's own.

        Of a probe that came more often than planned, the first rows fit, by number; it does not matter when they came.
        """
        n, own = self.problem.n_probes, [sheet for sheet in self.sheets if sheet not in self.batches]
        found = [self.came]
        if self.first.whole is not None and (self.came.count > self.first.whole).any():
            probes = np.concatenate([sheet.probes[sheet.states == RECORDED] for sheet in self.batches])
            outcomes = np.concatenate([sheet.outcomes[sheet.states == RECORDED] for sheet in self.batches])
            fits = nth(probes) < self.first.whole[probes]
            if any(sheet.tallies or sheet.weights is not None for sheet in self.batches):
                return self._divided(fits) + tuple(part for sheet in own if (part := sheet.measurements(n)).n)
            found = [Measurements.from_outcomes(n, probes[part], outcomes[part]) for part in (fits, ~fits)]
        found += [sheet.measurements(n) for sheet in own]
        return tuple(round for round in found if round.n)

    def _divided(self, fits: NDArray[np.bool_]) -> tuple[Measurements, ...]:
        """What fits the plan and what exceeds it, by which recorded rows do; a tally fits as a whole or not at all."""
        n, parts, start = self.problem.n_probes, [Measurements.empty(self.problem.n_probes)] * 2, 0
        for sheet in self.batches:
            wanted, (there,) = np.zeros(sheet.size, dtype=np.bool_), np.nonzero(sheet.states == RECORDED)
            wanted[there] = fits[start : start + there.size]
            for tally in sheet.tallies:
                wanted[list(tally.rows)] = wanted[list(tally.rows)].all()
            parts = [parts[0] + sheet.measurements(n, wanted), parts[1] + sheet.measurements(n, ~wanted)]
            start += there.size
        return tuple(part for part in parts if part.n)

    @cached_property
    def fits(self) -> tuple[Estimate, ...]:
        """The estimate of each round by itself."""
        return tuple(least_squares(self.problem.probes, round, sigma=self.problem.sigma) for round in self.rounds)

    def same(self, other: Step) -> bool:
        """Whether it has the same data; a sheet is frozen, so the same object is the same data."""
        return len(self.sheets) == len(other.sheets) and all(map(_is, self.sheets, other.sheets))


@dataclass(frozen=True, eq=False)
class Trail:
    """The states of the algorithm from the first round to the last one it was told."""

    ledger: Ledger
    """The records that lead here."""
    goal: Goal
    """What is to be found, with the part of δ that this version of the data may spend."""
    steps: tuple[Step, ...]
    """What it was told, in that order."""
    reached: tuple[Any, ...]
    """The state before the first of them, and after each."""
    open: Step | None = None
    """The round of which batches are still to come: nothing of it has been told."""

    @property
    def charter(self) -> Charter:
        """What the campaign is about."""
        return self.ledger.charter

    @property
    def search(self) -> tuple[Problem, Goal]:
        """Problem and goal as the algorithm is given them."""
        return self.goal.upward(self.charter.problem)

    @property
    def state(self) -> Any:
        """The state now."""
        return self.reached[-1]

    @property
    def answer(self) -> Answer | None:
        """The items that answer the question, or None while undecided."""
        return self.charter.algorithm.answer(*self.search, self.state)

    @property
    def came(self) -> Measurements:
        """The measurements of the open round so far."""
        return Measurements.empty(self.charter.problem.n_probes) if self.open is None else self.open.came

    @cached_property
    def sheets(self) -> tuple[Sheet, ...]:
        """The sheets with outcomes that it was told, in that order, then the complete batches of the open round."""
        batches = () if self.open is None else self.open.batches
        return tuple(sheet for sheets in (*(step.sheets for step in self.steps), batches) for sheet in _heard(sheets))

    @cached_property
    def states(self) -> tuple[Any, ...]:
        """The state after each of the sheets; that of a round changes with the last one told."""
        out = []
        for step, before, after in zip(self.steps, self.reached[:-1], self.reached[1:], strict=True):
            out += [before] * (len(_heard(step.sheets)) - 1) + [after]
        return (*out, *[self.state] * (len(self.sheets) - len(out)))

    @cached_property
    def finished(self) -> tuple[int, ...]:
        """How many rounds were finished after each of the sheets."""
        out, done = [], 0
        for step in self.steps:
            out += [done] * (len(_heard(step.sheets)) - 1) + [done + len(step.rounds)]
            done = out[-1]
        return (*out, *[done] * (len(self.sheets) - len(out)))


@few
def replay(ledger: Ledger, known: Trail | None = None) -> Trail:
    """Tell the algorithm every round up to the first that is not complete or that brings the answer.

    It hears of the outcomes that count now and of nothing else: neither of when they came nor of those that were
    corrected or voided. A round without any outcome is not told. What is ``known`` of a trail with the same goal and
    the same rounds at its beginning is taken over.
    """
    charter, goal = ledger.charter, ledger.goal
    search, algorithm = goal.upward(charter.problem), charter.algorithm
    if known is not None and known.goal != goal:
        known = None
    told: list[Step] = []
    reached = [charter.start(goal) if known is None else known.reached[0]]
    due = list(_steps(ledger))
    while due and algorithm.answer(*search, reached[-1]) is None:
        step, rest = _divided(due.pop(0), ledger, goal, reached[-1], told)
        if rest is not None:
            due = sorted([rest, *due], key=lambda step: step.first.number)
        if not _over(step, ledger, goal, reached[-1], told):
            return Trail(ledger, goal, tuple(told), tuple(reached), step)
        if not step.rounds:
            continue
        at = len(told)
        if known is not None and at < len(known.steps) and known.steps[at].same(step):
            told.append(known.steps[at])
            reached.append(known.reached[at + 1])
        else:
            known = None
            told.append(step)
            # one that takes its own rounds only has no others, and hears of all rows of its round
            rounds = step.rounds if algorithm.takes_any_rounds else (step.came,)
            reached.append(algorithm.tell_overlapping(*goal.upward(step.first.problem), reached[-1], rounds))
    return Trail(ledger, goal, tuple(told), tuple(reached))


def _steps(ledger: Ledger) -> Iterator[Step]:
    """The rounds in the order in which they began, each with what was measured from elsewhere while it was open.

    In journals of the first form nothing says what was open when, and a round of the laboratory's own follows the round
    before it.
    """
    groups: list[list[Sheet]] = []
    for sheet in ledger.sheets:
        if sheet.planned and not sheet.begins:
            next(group for group in reversed(groups) if group[0].planned).append(sheet)
        elif sheet.during is not None:
            next(group for group in groups if group[0].number == sheet.during).append(sheet)
        else:
            groups.append([sheet])
    for group in [group for group in groups if group[0].planned and group[0].whole is not None]:
        last = max(sheet.number for sheet in group if sheet.planned)
        between = [own for own in groups if own and not own[0].planned and group[0].number < own[0].number < last]
        group += [own.pop() for own in between]
    for group in filter(None, groups):
        ordered = sorted(group, key=lambda sheet: (not sheet.planned, sheet.number))
        yield Step(ledger.charter.problem, tuple(ordered))


def _over(step: Step, ledger: Ledger, goal: Goal, state: Any, told: Sequence[Step]) -> bool:
    """Whether a round is complete: all sheets are, and no batch is to come."""
    if not all(sheet.complete for sheet in step.sheets):
        return False
    first, algorithm = step.first, ledger.charter.algorithm
    if not first.planned or not algorithm.limits.split or not step.came.n or first.number < ledger.begun:
        return True
    if first.whole is not None:
        return first.number == ledger.ended or not ledger.wanted(first.whole, step.came.count).any()
    plan = _first_form(step, ledger, goal, state)
    return _reached(step, int(plan.sum()), told) or not ledger.wanted(plan, step.came.count).any()


def _first_form(step: Step, ledger: Ledger, goal: Goal, state: Any) -> Counts:
    """(n,): the plan of a round whose record has none; its size, which is all that counts, follows from the state."""
    stream = ledger.charter.stream(step.first.number)
    return ledger.charter.algorithm.ask(*goal.upward(step.first.problem), state, stream)


def _reached(step: Step, size: int, told: Sequence[Step]) -> bool:
    """Whether a round of the first form has its size, or its last batch has used up a probe."""
    if step.came.n >= size or not (batches := _heard(step.batches)):
        return step.came.n >= size
    n = step.problem.n_probes
    before = sum((round.count for own in told for round in own.rounds), np.zeros(n, dtype=np.int64))
    last = batches[-1]
    used = (last.measurements(n).count > 0) & (before + step.came.count >= last.problem.stock)
    return bool(used.any())


def _divided(step: Step, ledger: Ledger, goal: Goal, state: Any, told: Sequence[Step]) -> tuple[Step, Step | None]:
    """A round of the first form and the batches that it can do without, if rows that came late have filled it.

    Such a round ended with the batch that reached its size, and further batches were a round of their own.
    """
    count = len(step.batches)
    if not ledger.amended or count == 1 or not step.first.planned or step.first.whole is not None:
        return step, None
    size = int(_first_form(step, ledger, goal, state).sum())
    for last in range(1, count):  # batches come first, then rounds of the laboratory's own
        enough = Step(step.problem, step.sheets[:last])
        if _reached(enough, size, told):
            return enough, Step(step.problem, step.sheets[last:])
    return step, None


def _heard(sheets: Sequence[Sheet]) -> list[Sheet]:
    return [sheet for sheet in sheets if sheet.complete and not sheet.empty]


def _is(one: object, other: object) -> bool:
    return one is other
