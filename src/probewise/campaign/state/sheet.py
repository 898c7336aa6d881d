"""Sheets: the rows of a round, or of a batch of it, and what came back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from probewise.campaign.state.plan import Plan
from probewise.coordinates import Array, Counts
from probewise.measurements import Measurements
from probewise.problem import Problem

OPEN, RECORDED, VOIDED = 0, 1, 2
"""States of a row."""

Place = tuple[int, int]
"""Round and row, both from 1."""

_ID = re.compile(r"\s*[rR]?0*([1-9][0-9]{0,8})-0*([1-9][0-9]{0,8})\s*")


def row_id(round_: int, row: int) -> str:
    """r3-17: row 17 of round 3; the letter keeps spreadsheets from reading a date."""
    return f"r{round_}-{row}"


def place_of(text: str) -> Place | None:
    """Round and row that an id names, the letter left out or not; None if it is no id."""
    found = _ID.fullmatch(text)
    return None if found is None else (int(found[1]), int(found[2]))


@dataclass(frozen=True)
class Confirms:
    """What a round that was planned after a decision is to confirm."""

    answer: tuple[str, ...]
    """The items declared."""
    front: str | None
    """The item that the answer puts ahead of another one, or above a limit."""
    behind: str | None
    """The item that it puts behind, or below a limit."""
    level: float
    """Probability at most of contradicting a right answer."""
    scale: float
    """Factor of the stated noise that was known to bound it."""


@dataclass(frozen=True)
class Tally:
    """Rows that were told together by their mean: they count, or are voided, together."""

    rows: tuple[int, ...]
    """Their numbers, from 0, all of one probe."""
    scatter: float | None
    """Sum of squared deviations from their mean; None if that is not known."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """One round: its rows in the order of measuring, and what came back."""

    number: int
    """Number of the round, from 1."""
    plan: Plan | NDArray[np.int64]
    """The plan that determines the rows, or (k,): the probe of each row."""
    outcomes: Array
    """(k,): the outcome that counts now, NaN where there is none."""
    states: NDArray[np.int8]
    """(k,): OPEN, RECORDED or VOIDED."""
    planned: bool
    """False for a round that the laboratory chose by itself."""
    problem: Problem
    """The problem when the round began, with the stock of that time."""
    begins: bool = True
    """False for a further batch of a round that the algorithm had planned as a whole."""
    whole: NDArray[np.int64] | None = None
    """(n,): how often the round that begins here measures each probe, if it is given out in batches."""
    during: int | None = None
    """The round that was open when the laboratory measured this one by itself."""
    due: str | None = None
    """The day by which the rows are wanted."""
    closed: str | None = None
    """Why the rows that are missing are not waited for."""
    confirms: Confirms | None = None
    """What it is to confirm, if it was planned after a decision."""
    tallies: tuple[Tally, ...] = ()
    """Rows that were told together; the outcome of each of them is their mean."""
    weights: Array | None = None
    """(k,): as how many measurements each row weighs, where rows bring their own precision."""

    @property
    def probes(self) -> NDArray[np.int64]:
        """(k,): the probe of each row."""
        return self.plan.rows if isinstance(self.plan, Plan) else self.plan

    @property
    def size(self) -> int:
        """Number k of rows."""
        return self.plan.size

    def counts(self, n_probes: int) -> NDArray[np.int64]:
        """(n,): rows of each probe."""
        if not isinstance(self.plan, Plan):
            return np.bincount(self.plan, minlength=n_probes)
        out = np.zeros(n_probes, dtype=np.int64)
        out[self.plan.probes] = self.plan.counts
        return out

    @cached_property
    def left(self) -> int:
        """Rows that are open; OPEN is 0."""
        return self.size - int(np.count_nonzero(self.states))

    @cached_property
    def complete(self) -> bool:
        """Whether an algorithm may be told of it."""
        return self.closed is not None or self.left == 0

    @cached_property
    def empty(self) -> bool:
        """Whether no row has an outcome."""
        return self.left == self.size or not (self.states == RECORDED).any()

    @property
    def replicates(self) -> NDArray[np.int64]:
        """(k,): 1 for the first row of its probe in this round, 2 for the second, …"""
        return nth(self.probes) + 1

    def measurements(self, n_probes: int, wanted: NDArray[np.bool_] | None = None) -> Measurements:
        """What is recorded and not voided, in the order of the rows: it does not matter when each came.

        Of all rows or of those ``wanted`` (k,), among which a tally is as a whole or not at all.
        """
        if wanted is None and n_probes == self.problem.n_probes:
            return self._recorded
        there = self.states == RECORDED
        return self._of(n_probes, there if wanted is None else there & wanted)

    @cached_property
    def _recorded(self) -> Measurements:
        """The measurements of all rows, which everything that looks at a round shares."""
        return self._of(self.problem.n_probes, self.states == RECORDED)

    def _of(self, n_probes: int, there: NDArray[np.bool_]) -> Measurements:
        """The measurements of some of the recorded rows."""
        if self.empty:
            return Measurements.empty(n_probes)
        weights = None if self.weights is None else self.weights[there]
        found = Measurements.from_outcomes(n_probes, self.probes[there], self.outcomes[there], weights)
        tallies = [tally for tally in self.tallies if there[tally.rows[0]]]
        if not tallies:
            return found
        scatter, degrees = found.scatter.copy(), found.freedom.copy()
        for tally in tallies:
            probe = self.probes[tally.rows[0]]
            scatter[probe] += tally.scatter or 0.0
            degrees[probe] -= len(tally.rows) - 1 if tally.scatter is None else 0
        return Measurements(found.count, found.mean, scatter, found.weight, degrees)

    def tally(self, row: int) -> Tally | None:
        """The rows that were told with a row, numbered from 0, if it was told with others or with their spread."""
        return next((tally for tally in self.tallies if row in tally.rows), None)

    def changed(
        self,
        rows: NDArray[np.int64],
        outcomes: float | Array,
        state: int,
        tallies: tuple[Tally, ...] = (),
        weights: Array | None = None,
    ) -> Sheet:
        """The sheet with other outcomes and states of some rows, numbered from 0; ``tallies`` are of these rows."""
        values, states = self.outcomes.copy(), self.states.copy()
        values[rows], states[rows] = outcomes, state
        now = replace(self, outcomes=values, states=states)
        if tallies:
            new = {row for tally in tallies for row in tally.rows}
            now = replace(now, tallies=(*(old for old in self.tallies if new.isdisjoint(old.rows)), *tallies))
        if weights is not None:
            own = np.ones(self.size) if self.weights is None else self.weights.copy()
            own[rows] = weights
            now = replace(now, weights=own)
        return now


def nth(values: NDArray[np.int64]) -> Counts:
    """(k,): how many equal values stand before each."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(values[order]) != 0))
    out = np.empty(values.size, dtype=np.int64)
    out[order] = np.arange(values.size) - np.repeat(starts, np.diff(np.append(starts, values.size)))
    return out
