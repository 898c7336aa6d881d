"""Results: what an identification ends with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.guess import Prediction
from probewise.measurements import Measurements
from probewise.numerals import attained


@dataclass(frozen=True, eq=False)
class Round:
    """One batch planned before any of its outcomes was seen."""

    counts: NDArray[np.int64]
    """(n,): how often each probe was asked for."""
    measurements: Measurements
    """The outcomes of the round."""


@dataclass(frozen=True, eq=False)
class Result:
    """The item found or guessed, what it cost, and every round on the way."""

    items: tuple[int, ...] | None
    """Numbers of the items that answer the question, or of the best guess if the budget ended first; None without."""
    item_names: tuple[str, ...]
    """Their names."""
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
    confidence: float | None = None
    """What items or guess have attained, 0 for none yet: docs/confidence-attained.md; None if that cannot be said."""
    prediction: Prediction | None = None
    """What the model behind a guess predicts, which is heuristic; None if there is none."""
    guess: tuple[str, ...] = ()
    """Names of the best guess of a campaign that is not decided: ``confidence`` is what it has attained."""
    outlook: str = ""
    """What is left to go, in one sentence, or why there is no forecast of it; empty once there is an answer."""

    @property
    def item(self) -> int | None:
        """Number of the first of these items; None if there is none."""
        return self.items[0] if self.items else None

    @property
    def item_name(self) -> str | None:
        """Its name."""
        return self.item_names[0] if self.item_names else None

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.item_names))
        found = f"item{'s' * (len(self.item_names) > 1)} {names}" if names else "no item"
        names = ", ".join(map(repr, self.guess)) or (names if self.status == "budget exhausted" else "")
        if names:
            found = f"best guess {names}" + ("" if self.confidence is None else f", {attained(self.confidence)}")
        return f"Result({self.status}: {found}, {self.measurements:,} measurements in {self.rounds} rounds)"
