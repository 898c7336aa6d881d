"""Bounded: outcomes that lie in a known range, as clicks, yields or ratings; how much they scatter is learned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array, Counts
from probewise.errors import InvalidProblem
from probewise.measurements import Measurements
from probewise.outcomes.base import Bets, Bettor, Drawn, Law
from probewise.outcomes.betting import BLOCK, MOST, BettingLaw, rough

_LEVELS = (0.02, 0.15, 0.5, 0.85, 0.98)
"""Of the range: where outcomes may be, as long as nothing is known of them."""
_STAKES = 10.0 ** -np.arange(0.0, 5.05, 0.15)
"""(L,): the λ that are bet on, in units of the range: differences from all of it to a hundred thousandth."""
_FALLING = 1.0 / (7.0 + np.arange(_STAKES.size))
_SHARES = np.log(np.tile(_FALLING / _FALLING.sum() / len(_LEVELS), len(_LEVELS)))
"""(5 L,): log of the share of an account that begins on each level and stake."""


_ROUNDED = 0.01
"""By how much of itself a scatter may be too large, as numbers that people write are rounded."""


@dataclass(frozen=True)
class Bounded(BettingLaw):
    """Outcomes between two bounds, with a mean that is linear in the features; nothing else is assumed."""

    low: float = 0.0
    """No outcome is below it."""
    high: float = 1.0
    """No outcome is above it."""
    wary: bool = True
    """Whether no outcome is expected near a bound while estimates are rough: docs/bounded.md; no proof asks for it."""

    name: ClassVar[str] = "bounded"
    summary: ClassVar[str] = "Outcomes in a known range, as clicks, yields or ratings; their spread is learned."
    before: ClassVar[Mapping[str, Any]] = {"wary": False}

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InvalidProblem(
                f"a range needs two finite numbers, the lower one first, got {self.low!r} to {self.high!r}."
            )
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    @property
    def span(self) -> float:
        """Width of the range."""
        return self.high - self.low

    @property
    def ends(self) -> tuple[float, float]:
        """The two bounds."""
        return self.low, self.high

    @property
    def needs_spread(self) -> bool:
        """True: the mean alone does not say how outcomes scatter, and half of the range would be wasteful."""
        return True

    def impossible(self, n: int, mean: float, scatter: float | None) -> str:
        """A mean beyond the range, or more scatter than outcomes at the two bounds have with that mean."""
        if not self.low <= mean <= self.high:
            return f"expected {self.expected}, as outcomes follow the law '{self.name}'"
        most = n * (mean - self.low) * (self.high - mean)
        if scatter is not None and scatter > (1.0 + _ROUNDED) * most + 1e-12 * self.span**2:
            top = math.sqrt(most / (n - 1)) if n > 1 else 0.0
            return (
                f"but {n:,} outcomes from {self.low:g} to {self.high:g} with a mean of {mean:g} have a standard "
                f"deviation of at most {top:.4g}"
            )
        return ""

    @property
    def shares(self) -> Array:
        """(5 L,): level after level of a first round."""
        return np.asarray(_SHARES)

    def scale(self, probes: tuple[str, ...]) -> Array:
        """(n,): half of the range, which is sub-Gaussian for any outcomes in it."""
        return np.full(len(probes), 0.5 * self.span)

    def after(self, means: Array, data: Measurements) -> Law:
        """With expected outcomes and their spread, as far as can be told."""
        own = np.clip(data.mean, self.low, self.high)
        # of outcomes at the two bounds only, as 0 and 1, the ratio is 1; of others it is less
        most = float((data.count * (own - self.low) * (self.high - own)).sum())
        little = 0.25 * self.span**2
        ratio = min(1.0, (float(data.scatter.sum()) + little) / (most + little))
        expected = np.where(np.isfinite(means), means, 0.5 * (self.low + self.high))
        expected = np.clip(expected, *self._within(max(self.span / (data.n + 2), self._doubt(own, data, ratio))))
        spread = np.sqrt(ratio * (expected - self.low) * (self.high - expected))
        return Expected(self.low, self.high, self.wary, tuple(expected.tolist()), tuple(spread.tolist()))

    def bettor(self, measurements: Measurements) -> Bettor | None:
        """Bets on a round about which nothing is known."""
        return FirstRound(
            tuple(
                BoundedRound.of(self, np.full(measurements.n_probes, self.low + level * self.span), measurements)
                for level in _LEVELS
            )
        )

    def _doubt(self, own: Array, data: Measurements, ratio: float) -> float:
        """How far from the bounds outcomes are expected at least while estimates are rough, by the ``own`` means."""
        if not self.wary:
            return 0.0
        mean = float(np.average(own, weights=data.count)) if data.n else 0.5 * (self.low + self.high)
        return rough(min(mean - self.low, self.high - mean), ratio * (mean - self.low) * (self.high - mean), data.n)

    def _within(self, edge: float) -> tuple[float, float]:
        return self.low + edge, self.high - edge

    def outcomes(self, means: Array, scale: Array, rng: np.random.Generator) -> Array:
        """Outcomes at the two bounds, the most that they can scatter."""
        return np.where(rng.random(means.size) < self._chance(means), self.high, self.low)

    def drawn(self, means: Array, scale: Array, counts: Counts, rng: np.random.Generator) -> Drawn:
        """Means of outcomes at the two bounds, and their scatter."""
        hits = rng.binomial(counts, self._chance(means))
        return Drawn(
            np.asarray(self.low + self.span * hits / counts),
            np.asarray(self.span**2 * hits * (counts - hits) / counts),
        )

    def _chance(self, means: Array) -> Array:
        """(k,): of the upper bound; a mean beyond the range cannot be had."""
        return np.clip((means - self.low) / self.span, 0.0, 1.0)

    @property
    def expected(self) -> str:
        """What an outcome may be, in words."""
        return f"a number from {self.low:g} to {self.high:g}"

    def possible(self, outcomes: Array) -> NDArray[np.bool_]:
        """Within the range."""
        return (outcomes >= self.low) & (outcomes <= self.high)

    @property
    def noise(self) -> str:
        """What is known of the noise, in words."""
        return f"such that outcomes lie between {self.low:.4g} and {self.high:.4g}; how much they scatter is learned"


@dataclass(frozen=True)
class Expected(Bounded):
    """The same, with what earlier rounds let us expect of each probe."""

    means: tuple[float, ...] = ()
    """The outcome of each probe, within the range."""
    spreads: tuple[float, ...] = ()
    """Its standard deviation."""

    def scale(self, probes: tuple[str, ...]) -> Array:
        """(n,): the spread that is expected; a guess, by which estimates are weighted and rounds designed."""
        return np.array(self.spreads)

    def bettor(self, measurements: Measurements) -> Bettor | None:
        """Bets about what is expected."""
        return BoundedRound.of(self, np.array(self.means), measurements)


@dataclass(frozen=True, eq=False)
class FirstRound:
    """Bets on a round before which nothing was known: an equal share on each of some levels of all outcomes."""

    rounds: tuple[BoundedRound, ...]
    """The bets if all outcomes are expected at one level, with the spread of outcomes at the bounds."""

    @property
    def unit(self) -> float:
        """The range."""
        return self.rounds[0].unit

    def bets(self, coefficients: Array, precision: Array) -> Bets:
        """(k, 5 L) twice, level after level."""
        logs, rates = [], []
        for own in self.rounds:
            law, level = own.law, own.expected[:1]
            ratio = 0.25 * law.span**2 / ((level - law.low) * (law.high - level))  # of the variances
            made, rate = own.each(ratio * coefficients, ratio * precision)
            logs.append(made)
            rates.append(rate)
        return Bets(np.concatenate(logs, axis=1), np.concatenate(rates, axis=1))


@dataclass(frozen=True, eq=False)
class BoundedRound:
    """Bets on the p probes that a round measured: each outcome r multiplies a stake u by 1 + u(r - expected)."""

    law: Bounded
    """The range."""
    expected: Array
    """(p,): fixed before the round, inside the range."""
    count: Counts
    """(p,)."""
    mean: Array
    """(p,): of the outcomes."""
    scatter: Array
    """(p,): of the outcomes about their mean."""

    @classmethod
    def of(cls, law: Bounded, expected: Array, measurements: Measurements) -> BoundedRound:
        """For all n probes, of which some were measured."""
        at = np.flatnonzero(measurements.count)
        data = measurements.unweighed(law.name)
        count, mean = data.count[at], data.mean[at]
        # scatter of which a part is not known is no more than that of outcomes at the two bounds
        most = np.maximum(count * (mean - law.low) * (law.high - mean), 0.0)
        return cls(law, expected[at], count, mean, np.where(data.freedom[at] < count - 1, most, data.scatter[at]))

    @property
    def unit(self) -> float:
        """The range."""
        return self.law.span

    def bets(self, coefficients: Array, precision: Array) -> Bets:
        """(k, 5 L) twice: the same for all levels of the first round."""
        return Bets(*(np.tile(part, len(_LEVELS)) for part in self.each(coefficients, precision)))

    def each(self, coefficients: Array, precision: Array) -> tuple[Array, Array]:
        """(k, L) twice: log of what each stake has made, and stakes times ``precision`` (k,): docs/bounded.md."""
        stakes = self._stakes(coefficients)
        size = max(1, BLOCK // max(1, stakes.shape[1] * self.count.size))
        parts = range(0, len(stakes), size)
        logs = [self._logs(coefficients[at : at + size], stakes[at : at + size]) for at in parts]
        return np.concatenate(logs) if logs else np.zeros(stakes.shape), stakes * precision[:, None]

    def _stakes(self, coefficients: Array) -> Array:
        """(k, L): the stakes, as large as wanted where no outcome within the range could cost everything."""
        below, above = self.expected - self.law.low, self.law.high - self.expected
        worst = np.max(np.where(coefficients > 0, coefficients * below, -coefficients * above), axis=1, initial=0.0)
        most = np.divide(MOST, worst, out=np.full(worst.size, np.inf), where=worst > 0)
        return np.asarray(np.minimum(self.law.span * _STAKES, most[:, None]))

    def _logs(self, coefficients: Array, stakes: Array) -> Array:
        """(k, L): the larger of two lower bounds on Σ log(1 + u(r - expected)), by all that is kept of outcomes r."""
        u = stakes[:, :, None] * coefficients[:, None, :]  # (k, L, p)
        below, above = self.expected - self.law.low, self.law.high - self.expected
        up, down = np.log1p(u * above), np.log1p(-u * below)
        hits = np.clip(self.count * (self.mean - self.law.low) / self.law.span, 0.0, self.count)
        made = up @ hits + down @ (self.count - hits)  # as if all outcomes were at the two bounds
        if not self._at_bounds(hits):
            made = self._curved(u, np.where(u > 0, down, up), np.where(u > 0, below, above), up, down, hits)
        return np.asarray(made + u @ (self.count * self.expected))

    def _curved(self, u: Array, low: Array, reach: Array, up: Array, down: Array, hits: Array) -> Array:
        """(k, L): the same with the spread of outcomes, probe by probe whichever bound is larger."""
        off = self.mean - self.expected
        squares = self.scatter + self.count * off**2
        curved = u * (self.count * off) + (low + np.abs(u) * reach) * (squares / reach**2)
        return np.asarray(np.maximum(hits * up + (self.count - hits) * down, curved).sum(axis=-1))

    def _at_bounds(self, hits: Array) -> bool:
        """Whether all outcomes were at the two bounds: nothing is lost by taking them so."""
        most = self.law.span**2 * hits * (self.count - hits) / self.count
        return bool((self.scatter >= (1.0 - 1e-9) * most).all())
