"""Effects: what each column of the tables does to the outcome, with intervals that hold together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probewise.campaign.findings.numbers import intervals
from probewise.estimate import Estimate
from probewise.goals import Goal
from probewise.model.contrasts import Contrast, contrasts
from probewise.numerals import listed
from probewise.pooling import Pooled
from probewise.problem import Problem


@dataclass(frozen=True)
class Effect:
    """What one level, or one number over its range, does to the outcome."""

    column: str
    """The column that changes."""
    what: str
    """The level, or from where to where the number goes."""
    against: str
    """What a level is compared with."""
    estimate: float | None
    """By how much the outcome changes; None if the probes measured so far do not determine it."""
    low: float | None
    """Lower end of an interval that holds for all effects and at all times at once; None if there is none."""
    high: float | None
    """Upper end."""
    per_unit: float | None
    """Of a number: the estimate for a change by 1 in its own units."""
    note: str
    """How it is meant where it depends on other columns, and why there is no interval."""

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def effects(problem: Problem, goal: Goal, pool: Pooled, data: Estimate) -> tuple[Effect, ...]:
    """The effects of all columns, in the order of the model; none where features were given as they are.

    Each set of rounds planned before its outcomes adds to the intervals what it determines by itself; where none does,
    the estimate is that of all data together and has no interval. δ is divided among the effects: docs/report.md.
    """
    if problem.model is None or not pool.fits:
        return ()
    found = contrasts(problem.model, problem.probes, problem.items)
    if not found:
        return ()
    above, below = (np.array([getattr(own, side) for own in found]) for side in ("above", "below"))
    rows, sizes = above - below, np.abs(above) + np.abs(below)
    value, width = intervals(problem, goal, pool, rows, sizes)
    known = np.isfinite(data.variance(rows, sizes))
    value = np.where(np.isnan(value) & known, rows @ data.theta, value)
    columns = zip(found, value.tolist(), width.tolist(), strict=True)
    return tuple(_effect(problem, own, middle, half) for own, middle, half in columns)


def _effect(problem: Problem, own: Contrast, value: float, width: float) -> Effect:
    unknown, open_ended = np.isnan(value), not np.isfinite(width)
    notes = ["mean over the items"] * own.averaged
    assert problem.model is not None
    if changed := [d.name for d in problem.model.derived if any(name == own.column for name, _ in d.shares)]:
        notes.append(f"{listed(changed)} changes with it")
    if unknown:
        notes.append("not determined by the probes measured so far")
    elif open_ended:
        notes.append("no round determines it by itself, so there is no interval")
    return Effect(
        own.column,
        own.what,
        "the mean of the levels that items have" if own.span is None else "",
        None if unknown else value,
        None if open_ended else value - width,
        None if open_ended else value + width,
        None if unknown or not own.span else value / own.span,
        "; ".join(notes),
    )


def grouped(found: Sequence[Effect]) -> list[list[Effect]]:
    """The effects of each column, what changes the outcome most first; levels from the highest to the lowest."""
    groups: dict[str, list[Effect]] = {}
    for own in found:
        groups.setdefault(own.column, []).append(own)
    order = sorted(groups.values(), key=lambda group: -reach(group))
    return [sorted(group, key=lambda e: -(e.estimate or 0.0)) if group[0].against else group for group in order]


def reach(group: Sequence[Effect]) -> float:
    """How far a column moves the outcome: between its best and its worst level, or over the range of a number."""
    known = [own.estimate for own in group if own.estimate is not None]
    if not known:
        return 0.0
    if group[0].against:
        return max(known) - min(known)
    stops = np.cumsum([0.0, *known])
    return float(stops.max() - stops.min())
