"""Beliefs: a second-order model of the outcomes, shrunken by empirical Bayes, and what it predicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import ndtr, ndtri

from probewise.coordinates import Array
from probewise.guess.columns import Columns, Rows
from probewise.guess.covariance import Powers
from probewise.measurements import Measurements

_STEP = 0.05
"""Of logarithms of variances, for second derivatives."""
_CAUTION = 0.5
"""Spreads that are taken off the mean of an item before items are compared."""
_JITTER = 1e-8
"""Added to variances, in units of them, so that they can be factorised."""


@dataclass(frozen=True)
class Settings:
    """Where the variances are before anything is known of them, in units of the variance of the outcomes."""

    main: float = 1.0
    """Variance of all main effects together."""
    squares: float = 0.3
    """Variance of a square in units of its linear effect's."""
    pairs: float = 0.5
    """Variance of a product of two effects in units of the product of their variances."""
    triples: float = 0.2
    """Variance of a product of three effects, likewise."""
    rough: float = 0.05
    """Variance of what follows no effects: a surface of which rows that are near each other have much in common."""
    reach: float = 2.0
    """How far that is; two rows that differ by chance in a column are the root of two apart in it."""
    noise: float = 0.05
    """Variance of the noise of a measurement."""
    spread: float = 1.0
    """Standard deviation of the logarithm of each of these, but for the noise."""
    rough_spread: float = 1.5
    """Standard deviation of the logarithm of the variance of the surface."""
    reach_spread: float = 0.4
    """Standard deviation of the logarithm of its reach."""
    noise_spread: float = 1.5
    """Standard deviation of the logarithm of the variance of the noise."""
    draws: int = 4
    """Sets of variances that are believed in side by side; 1 for the likeliest alone."""

    def prior(self, columns: Columns) -> tuple[Array, Array]:
        """(k,), (k,): means and deviations of the logarithms of all variances."""
        blocks, effects = len(columns.blocks), sum(block.effects for block in columns.blocks)
        shared = (self.squares, self.pairs, self.triples, self.rough, self.reach, self.noise)
        mean = np.log([self.main / effects] * blocks + list(shared))
        spreads = [self.spread] * (blocks + 3) + [self.rough_spread, self.reach_spread, self.noise_spread]
        return mean, np.array(spreads)


@dataclass(frozen=True, eq=False)
class _Data:
    """Means of the measured probes, centred and scaled, and what their covariances are made of."""

    rows: Rows
    """(k,): probes that were measured."""
    values: Array
    """(k,): their means."""
    noise: Array
    """(k,): the variance of each in units of the noise."""
    scatter: tuple[float, int]
    """Sum of squares of replicates about their means, and their number less one each."""
    powers: Powers
    """Of these rows with each other."""

    def loss(self, logs: Array, prior: tuple[Array, Array]) -> tuple[float, Array]:
        """Minus the log of likelihood and prior, and its derivatives."""
        variances, off = np.exp(logs), (logs - prior[0]) / prior[1]
        factor = triangle(self.powers.covariance(variances) + np.diag(variances[-1] * self.noise))
        inverse = cho_solve((factor, True), np.eye(self.values.size))
        fit = inverse @ self.values
        (squares, free), noise = self.scatter, variances[-1]
        value = 0.5 * float(self.values @ fit) + float(np.log(np.diag(factor)).sum()) + 0.5 * float(off @ off)
        value += 0.5 * (squares / noise + free * logs[-1])
        weights = 0.5 * (inverse - np.outer(fit, fit))
        slopes = self.powers.slopes(variances, weights)
        last = noise * float(np.diag(weights) @ self.noise) + 0.5 * (free - squares / noise)
        return value, np.append(slopes, last) + off / prior[1]


def triangle(matrix: Array) -> Array:
    """The lower triangular factor of a covariance, which gets a little more variance where it is not definite."""
    size = float(np.trace(matrix)) / max(len(matrix), 1)
    for little in (0.0, _JITTER, 1e-6, 1e-4):
        try:
            return np.asarray(np.linalg.cholesky(matrix + little * size * np.eye(len(matrix))))
        except np.linalg.LinAlgError:
            continue
    return np.asarray(np.linalg.cholesky(matrix + 0.01 * size * np.eye(len(matrix))))


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the data say if the variances are these; in units of the outcomes' scale."""

    columns: Columns
    """Rows of all probes and items."""
    variances: Array
    """(k,): of the blocks, squares, pairs, triples and the noise."""
    data: _Data
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
    posteriors: tuple[Posterior, ...]
    """One for each set of variances that is believed in."""
    centre: float
    """What counts as 0 in units of outcomes,"""
    scale: float
    """and as 1."""
    range: tuple[float, float] | None = None
    """Ends of the range of outcomes, where they are known."""
    sign: float = 1.0
    """-1 if low values are wanted."""

    @cached_property
    def items(self) -> tuple[Array, Array]:
        """(m,), (m,): means and standard deviations of the values of all items, in units of outcomes."""
        cross = Powers.between(self.columns, self.posteriors[0].data.rows, self.columns.items)
        found = [self._clipped(*posterior.at(self.columns.items, cross)) for posterior in self.posteriors]
        means, variances = (np.array(part) for part in zip(*found, strict=True))
        mean = means.mean(axis=0)
        spread = np.sqrt(variances.mean(axis=0) + ((means - mean) ** 2).mean(axis=0))
        return mean, self.honest * spread

    @property
    def best(self) -> int:
        """The item with the highest mean, less half of its spread: the highest of many means is there by luck, too."""
        mean, spread = self.items
        return int(np.argmax(self.sign * mean - _CAUTION * spread))

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
        low, high = ((end - mean) / spread for end in self.range)
        below, above = ndtr(low), ndtr(-high)
        one, two = _density(low), _density(high)
        inside = 1.0 - below - above
        first = mean * inside + spread * (one - two) + self.range[0] * below + self.range[1] * above
        second = (mean**2 + spread**2) * inside + 2.0 * mean * spread * (one - two)
        second += spread**2 * (low * one - high * two) + self.range[0] ** 2 * below + self.range[1] ** 2 * above
        return first, np.maximum(second - first**2, 1e-12 * spread**2)


def _density(x: Array) -> Array:
    return np.asarray(np.exp(-0.5 * np.clip(x, -30.0, 30.0) ** 2) / math.sqrt(2.0 * math.pi))


def believed(
    columns: Columns,
    data: Measurements,
    *,
    relative: Array,
    settings: Settings | None = None,
    range: tuple[float, float] | None = None,
    sign: float = 1.0,
) -> Belief:
    """What to believe after measurements of probes whose noise has the (n,) ``relative`` scales."""
    settings = settings or Settings()
    rows = np.flatnonzero(data.count)
    centre, scale = _scaled(data)
    weights = data.weights[rows]
    pure = float((data.scatter[rows] / relative[rows] ** 2).sum()) / scale**2
    found = _Data(
        rows,
        (data.mean[rows] - centre) / scale,
        relative[rows] ** 2 / weights,
        (pure, int(data.freedom.sum())),
        Powers.between(columns, rows, rows),
    )
    drawn = _drawn(found, settings.prior(columns), settings.draws)
    posteriors = tuple(Posterior(columns, np.exp(logs), found) for logs in drawn)
    return Belief(columns, posteriors, centre, scale, range, sign)


def prior_of(columns: Columns, settings: Settings) -> Posterior:
    """What is believed without any measurement."""
    none = np.zeros(0, dtype=np.int64)
    data = _Data(none, np.zeros(0), np.zeros(0), (0.0, 0), Powers.between(columns, none, none))
    return Posterior(columns, np.exp(settings.prior(columns)[0]), data)


def _scaled(data: Measurements) -> tuple[float, float]:
    """Mean and standard deviation of all outcomes; a scale of 1 where they do not differ."""
    n = max(data.n, 1)
    centre = float(data.total.sum()) / n
    spread = float((data.count * (data.mean - centre) ** 2 + data.scatter).sum()) / n
    return centre, math.sqrt(spread) if spread > 0 else 1.0


def _drawn(data: _Data, prior: tuple[Array, Array], draws: int) -> Array:
    """(draws, k): logarithms of variances: the likeliest, or draws from a normal law about them (Laplace)."""
    mode = _likeliest(data, prior)
    if draws == 1:
        return mode[None, :]
    curves = np.empty((mode.size, mode.size))
    for at in np.arange(mode.size):
        step = _STEP * (np.arange(mode.size) == at)
        curves[at] = (data.loss(mode + step, prior)[1] - data.loss(mode - step, prior)[1]) / (2.0 * _STEP)
    values, vectors = np.linalg.eigh(0.5 * (curves + curves.T))
    values = np.maximum(values, 0.5 / prior[1].max() ** 2)
    points = np.random.default_rng(_POINTS).standard_normal((draws, mode.size))
    points -= points.mean(axis=0)
    return np.asarray(np.clip(mode + (points / np.sqrt(values)) @ vectors.T, *_ends(prior)))


def _ends(prior: tuple[Array, Array]) -> tuple[Array, Array]:
    """(k,), (k,): where logarithms of variances must stay, as for noise of which there is none."""
    return prior[0] - _FAR * prior[1], prior[0] + _FAR * prior[1]


_FAR = 6.0
"""Deviations from its mean that the logarithm of a variance can be."""


_POINTS = 20210207
"""Seed of the draws, which are the same for all data: a belief is a function of them."""


def _likeliest(data: _Data, prior: tuple[Array, Array]) -> Array:
    """(k,): logarithms of the variances that make the data likeliest, as far as two starts find them."""
    from scipy.optimize import minimize  # slow to load, and needed by few

    rugged = prior[0].copy()
    rugged[-4] += 1.5
    rugged[-1] -= 1.5  # effects of three columns instead of noise
    starts, bounds = (prior[0], rugged), list(zip(*_ends(prior), strict=True))
    found = [
        minimize(
            data.loss,
            start,
            args=(prior,),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 40, "gtol": 1e-3},
        )
        for start in starts
    ]
    return np.asarray(min(found, key=lambda one: float(one.fun)).x)
