"""Beliefs: a second-order model of the outcomes, shrunken by empirical Bayes, and what it predicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import ndtr, ndtri

from probewise.coordinates import Array
from probewise.guess.columns import Columns, Rows
from probewise.guess.covariance import Powers
from probewise.guess.variances import GUESSES, Data, Settings, drawn, fitted, triangle
from probewise.measurements import Measurements
from probewise.threads import few

_CAUTION = 0.25
"""Spreads that are taken off the mean of an item before items are compared."""
_FAR = 30.0
"""Spreads beyond which a normal law has nothing."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the data say if the variances are these; in units of the outcomes' scale."""

    columns: Columns
    """Rows of all probes and items."""
    variances: Array
    """(k,): of the blocks, their reaches, what is alone, squares, pairs, the surface and the noise."""
    data: Data
    """The measurements."""

    @cached_property
    def _solved(self) -> tuple[Array, Array]:
        factor = triangle(self.data.powers.covariance(self.variances) + np.diag(self.noise * self.data.noise))
        return factor, np.asarray(cho_solve((factor, True), self.data.values))

    @property
    def noise(self) -> float:
        """Variance of a measurement of scale 1."""
        return float(self.variances[-1])

    def explained(self, rows: Rows, cross: Powers | None = None) -> tuple[Array, Array]:
        """(r,), (k, r): means of rows, and what makes up the covariance that the data explain."""
        factor, fit = self._solved
        cross = cross or Powers.between(self.columns, self.data.rows, rows)
        covariance = cross.covariance(self.variances)
        return fit @ covariance, np.asarray(solve_triangular(factor, covariance, lower=True))

    def at(self, rows: Rows, cross: Powers | None = None) -> tuple[Array, Array]:
        """(r,), (r,): means and variances of rows."""
        mean, part = self.explained(rows, cross)
        own = Powers.own(self.columns, rows).covariance(self.variances)
        return mean, np.maximum(own - (part**2).sum(axis=0), 1e-10 * own)

    def covariance(self, one: Rows, other: Rows) -> Array:
        """(r, s): covariances of rows given the data."""
        plain = Powers.between(self.columns, one, other).covariance(self.variances)
        return np.asarray(plain - self.explained(one)[1].T @ self.explained(other)[1])

    @cached_property
    def left_out(self) -> Array:
        """(k,): how far each mean is from what the others predict, in units of what they say it may be off."""
        factor, fit = self._solved
        inverse = cho_solve((factor, True), np.eye(fit.size))
        return np.asarray(fit / np.sqrt(np.diag(inverse)))


def jointly(posteriors: Sequence[Posterior], rows: Rows) -> Iterator[tuple[Array, Array]]:
    """For each of some posteriors of the same data: (r,), (r, r): means and covariances of rows."""
    columns, measured = posteriors[0].columns, posteriors[0].data.rows
    among, cross = Powers.between(columns, rows, rows), Powers.between(columns, measured, rows)
    for own in posteriors:
        mean, part = own.explained(rows, cross)
        yield mean, np.asarray(among.covariance(own.variances) - part.T @ part)


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed after some measurements; heuristic."""

    columns: Columns
    """Rows of all probes and items."""
    data: Data
    """The measurements."""
    settings: Settings
    """Where variances were before the data, for guesses,"""
    planning: Settings
    """and for plans."""
    centre: float
    """What counts as 0 in units of outcomes,"""
    scale: float
    """and as 1."""
    range: tuple[float, float] | None = None
    """Ends of the range of values, where they are known; infinite where one is not."""
    sign: float = 1.0
    """-1 if low values are wanted."""
    alone: bool = False
    """Whether the likeliest form of the model is believed in alone."""

    @cached_property
    @few
    def posteriors(self) -> tuple[Posterior, ...]:
        """One for each set of variances that is believed in."""
        fits = [fitted(self.data, prior) for prior in self.settings.forms(self.columns)]
        fits = [max(fits, key=lambda fit: fit.evidence)] if self.alone else fits
        return tuple(Posterior(self.columns, np.exp(logs), self.data) for logs in drawn(fits, self.settings.draws))

    @cached_property
    @few
    def items(self) -> tuple[Array, Array]:
        """(m,), (m,): means and standard deviations of the values of all items, in units of outcomes."""
        cross = Powers.between(self.columns, self.data.rows, self.columns.items)
        found = [self._clipped(*posterior.at(self.columns.items, cross)) for posterior in self.posteriors]
        means, variances = (np.array(part) for part in zip(*found, strict=True))
        mean = means.mean(axis=0)
        spread = np.sqrt(variances.mean(axis=0) + ((means - mean) ** 2).mean(axis=0))
        return mean, self.honest * spread

    @property
    def best(self) -> int:
        """The item with the highest mean, less a quarter of its spread: the highest of many is there by luck, too."""
        mean, spread = self.items
        return int(np.argmax(self.sign * mean - _CAUTION * spread))

    @property
    def limit(self) -> float:
        """How good a value can be, with ``sign`` and in units of ``scale``; infinite if that is not known."""
        low, high = self.range or (-math.inf, math.inf)
        return self.sign * ((high if self.sign > 0 else low) - self.centre) / self.scale

    @property
    def for_plans(self) -> Belief:
        """What the likeliest form alone says: other forms are right less often, but would ask for most measurements.

        Values have no range here: a prediction far beyond its end is to be tried first, not taken for granted.
        """
        return replace(self, settings=self.planning, alone=True, range=None)

    @property
    def for_hopes(self) -> Belief:
        """What all forms say when planning: how high items may be, while hardly anything is known."""
        return replace(self, settings=self.planning, range=None)

    @property
    def noise(self) -> float:
        """Standard deviation of a measurement of a probe of scale 1, as far as can be told."""
        return self.scale * math.sqrt(float(np.mean([own.noise for own in self.posteriors])))

    @cached_property
    def honest(self) -> float:
        """At least 1: how much wider predictions must be, since each measurement is left out and predicted by others.

        The root of the mean square of what they were off, in units of what they said, as if two more were off by 1.
        """
        off = np.mean([own.left_out**2 for own in self.posteriors], axis=0)
        return math.sqrt(max(1.0, (float(off.sum()) + 2.0) / (off.size + 2)))

    def interval(self, item: int, coverage: float = 0.9) -> tuple[float, float]:
        """An interval in which the value of an item is, if the model is right, with this probability."""
        mean, spread = self.items
        half = float(ndtri(0.5 + 0.5 * coverage) * spread[item])
        low, high = float(mean[item]) - half, float(mean[item]) + half
        return (low, high) if self.range is None else (max(low, self.range[0]), min(high, self.range[1]))

    def _clipped(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Means and variances in units of outcomes, of values that a known range cuts off."""
        mean, spread = self.centre + self.scale * mean, self.scale * np.sqrt(variance)
        if self.range is None:
            return mean, spread**2
        least, most = np.maximum(self.range[0], mean - _FAR * spread), np.minimum(self.range[1], mean + _FAR * spread)
        low, high = (least - mean) / spread, (most - mean) / spread
        below, above = ndtr(low), ndtr(-high)
        one, two = _density(low), _density(high)
        inside = 1.0 - below - above
        first = mean * inside + spread * (one - two) + least * below + most * above
        second = (mean**2 + spread**2) * inside + 2.0 * mean * spread * (one - two)
        second += spread**2 * (low * one - high * two) + least**2 * below + most**2 * above
        return first, np.maximum(second - first**2, 1e-12 * spread**2)


def _density(x: Array) -> Array:
    return np.asarray(np.exp(-0.5 * np.clip(x, -_FAR, _FAR) ** 2) / math.sqrt(2.0 * math.pi))


def believed(
    columns: Columns,
    data: Measurements,
    *,
    relative: Array,
    settings: Settings | None = None,
    range: tuple[float, float] | None = None,
    sign: float = 1.0,
) -> Belief:
    """What to believe after measurements of probes whose noise has the (n,) ``relative`` scales.

    Where ``settings`` are given, guesses and plans are both made by them.
    """
    rows = np.flatnonzero(data.count)
    centre, scale = _scaled(data)
    weights = data.weights[rows]
    pure = float((data.scatter[rows] / relative[rows] ** 2).sum()) / scale**2
    found = Data(
        rows,
        (data.mean[rows] - centre) / scale,
        relative[rows] ** 2 / weights,
        (pure, int(data.freedom.sum())),
        Powers.between(columns, rows, rows),
    )
    return Belief(columns, found, settings or GUESSES, settings or Settings(), centre, scale, range, sign)


def prior_of(columns: Columns, settings: Settings) -> Posterior:
    """What is believed without any measurement."""
    none = np.zeros(0, dtype=np.int64)
    data = Data(none, np.zeros(0), np.zeros(0), (0.0, 0), Powers.between(columns, none, none))
    return Posterior(columns, np.exp(settings.prior(columns)[0]), data)


def _scaled(data: Measurements) -> tuple[float, float]:
    """Mean and standard deviation of all outcomes; a scale of 1 where they do not differ."""
    n = max(data.n, 1)
    centre = float(data.total.sum()) / n
    spread = float((data.count * (data.mean - centre) ** 2 + data.scatter).sum()) / n
    return centre, math.sqrt(spread) if spread > 0 else 1.0
