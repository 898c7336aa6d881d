"""Results: what an identification ends with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.measurements import Measurements


@dataclass(frozen=True, eq=False)
class Round:
    """One batch planned before any of its outcomes was seen."""

    counts: NDArray[np.int64]
    """(n,): how often each probe was asked for."""
    measurements: Measurements
    """What came back."""


@dataclass(frozen=True, eq=False)
class Result:
    """The item found, what it cost, and every round on the way."""

    item: int | None
    """Number of the item recommended; None if the budget ended first."""
    item_name: str | None
    """Its name."""
    measurements: int
    """Measurements taken."""
    cost: float
    """Their cost."""
    rounds: int
    """Rounds of measurements."""
    status: str
    """"identified" or "budget exhausted"."""
    estimate: Array
    """(d,): least-squares estimate of θ from all measurements, for display; decisions were the algorithm's."""
    history: tuple[Round, ...]
    """Every round, in order; enough to replay the run."""

    def __repr__(self) -> str:
        found = f"item {self.item_name!r}" if self.item is not None else "no item"
        return f"Result({self.status}: {found}, {self.measurements:,} measurements in {self.rounds} rounds)"
