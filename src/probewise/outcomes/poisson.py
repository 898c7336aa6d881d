"""Poisson: counts whose mean is linear in the features, as events, particles or calls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.measurements import Measurements
from probewise.outcomes.base import Bets, Bettor, Law
from probewise.outcomes.betting import BLOCK, MOST, BettingLaw, rough
from probewise.outcomes.counts import CountLaw

_STAKES = 10.0 ** (1.0 - np.arange(0.0, 6.05, 0.15))
"""(L,): the λ that are bet on, in units of the mean count: differences from ten times it to a hundred thousandth."""
_FALLING = 1.0 / (7.0 + np.arange(_STAKES.size))
_SHARES = np.log(_FALLING / _FALLING.sum())
"""(L,): log of the share of an account that begins on each stake."""
_LEAST = 0.01
"""Of the mean of all counts: what is expected of a probe at least."""


@dataclass(frozen=True)
class Poisson(CountLaw, BettingLaw):
    """Counts of a Poisson law, with a mean that is linear in the features: independent events at a steady rate.

    Counts that scatter more than their mean, as events that come in clusters do, are not covered.
    """

    rate: float = 1.0
    """A count that one would expect, for the forecast before the first round; nothing else depends on it."""
    wary: bool = True
    """Whether no probe is expected to have nearly no counts while estimates are rough: docs/counts.md."""

    name: ClassVar[str] = "poisson"
    summary: ClassVar[str] = "Counts of independent events (Poisson); counts that scatter more are not covered."
    before: ClassVar[Mapping[str, Any]] = {"wary": False}
    by_sums: ClassVar[bool] = False
    summed: ClassVar[str] = "total"
    weighed: ClassVar[str | None] = "exposure"

    def __post_init__(self) -> None:
        if isinstance(self.rate, bool) or not isinstance(self.rate, int | float) or not 0 < self.rate < math.inf:
            raise InvalidProblem(f"the rate of counts must be positive and finite, got {self.rate!r:.40}.")
        object.__setattr__(self, "rate", float(self.rate))

    @property
    def shares(self) -> Array:
        """(L,): falling slowly with the stake."""
        return np.asarray(_SHARES)

    def scale(self, probes: tuple[str, ...]) -> Array:
        """(n,): the root of the rate, the same for all while nothing is known; it bounds nothing."""
        return np.full(len(probes), math.sqrt(self.rate))

    def after(self, means: Array, data: Measurements) -> Law:
        """With the counts that are expected of each probe, and so how much they scatter."""
        if not data.n:
            return self
        seen = float(data.weights.sum())
        overall = max(float(data.total.sum()), 1.0) / seen
        doubt = rough(overall, overall, seen) if self.wary else 0.0
        least = max(1.0 / seen, _LEAST * overall, doubt)
        expected = np.maximum(np.where(np.isfinite(means), means, overall), least)
        return ExpectedCounts(overall, self.wary, tuple(expected.tolist()))

    def bettor(self, measurements: Measurements) -> Bettor | None:
        """Bets in units of the rate; where the same is expected of all probes, it cancels."""
        return PoissonRound.of(self.rate, measurements)

    def weights(self, told: Array, scale: Array) -> Array:
        """(k,): the exposure itself; an outcome is then a count divided by it."""
        return told

    @property
    def noise(self) -> str:
        """What is known of the noise, in words."""
        return "of counts whose variance is their mean (Poisson); counts that scatter more are not covered"

    @property
    def remedy(self) -> str:
        """Counts that scatter more break the assumption."""
        return (
            "What is proven does not hold for such counts: look for events that come in clusters, or rates that vary "
            "between replicates; begin again with the law 'bounded' if counts have a limit, else with a sigma."
        )


@dataclass(frozen=True)
class ExpectedCounts(Poisson):
    """The same, with what earlier rounds let us expect of each probe."""

    means: tuple[float, ...] = ()
    """The mean count of each probe, positive."""

    def scale(self, probes: tuple[str, ...]) -> Array:
        """(n,): the roots of the means; guesses, by which estimates are weighted and rounds designed."""
        return np.sqrt(self.means)


@dataclass(frozen=True, eq=False)
class PoissonRound:
    """Bets on the p probes that a round measured: each event multiplies a stake u by 1 + u."""

    unit: float
    """Of stakes."""
    total: Array
    """(p,): events that were counted."""

    @classmethod
    def of(cls, unit: float, measurements: Measurements) -> PoissonRound:
        """For all n probes, of which some were measured."""
        return cls(unit, measurements.total[np.flatnonzero(measurements.count)])

    def bets(self, coefficients: Array, precision: Array) -> Bets:
        """(k, L) twice: docs/counts.md, Lemma 1; stakes are as large as wanted where no event costs everything."""
        worst = np.max(-coefficients, axis=1, initial=0.0)
        most = np.divide(MOST, worst, out=np.full(worst.size, np.inf), where=worst > 0)
        stakes = np.minimum(self.unit * _STAKES, most[:, None])
        size = max(1, BLOCK // max(1, stakes.shape[1] * self.total.size))
        logs = np.zeros(stakes.shape)
        for at in range(0, len(stakes), size):
            some = slice(at, at + size)
            logs[some] = np.log1p(stakes[some, :, None] * coefficients[some, None, :]) @ self.total
        return Bets(logs, stakes * precision[:, None])
