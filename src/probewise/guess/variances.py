"""Variances: how much each kind of effect counts, as far as the data say, in forms of the model with few or all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from probewise.coordinates import Array
from probewise.guess.columns import Columns, Rows
from probewise.guess.covariance import NONE, Powers

_STEP = 0.05
"""Of logarithms of variances, for second derivatives."""
_JITTER = 1e-8
"""Added to variances, in units of them, so that they can be factorised."""
_FAR = 8.0
"""Deviations from its mean that the logarithm of a variance can be."""
_POINTS = 20210207
"""Seed of the draws, which are the same for all data: a belief is a function of them."""
_ALONE, _ROUGH = -5, -2
"""Where the variances of what rows have to themselves and of the surface are; before them are those of the blocks."""

Prior = tuple[Array, Array]
"""(k,), (k,): means and deviations of the logarithms of all variances; a deviation of 0 holds one fixed."""


@dataclass(frozen=True)
class Settings:
    """Where the variances are before anything is known of them, in units of the variance of the outcomes."""

    main: float = 1.0
    """Variance of all main effects together."""
    alone: float = 0.03
    """Variance of what a row has to itself, the same whenever it is measured."""
    squares: float = 0.3
    """Variance of a square in units of its linear effect's."""
    pairs: float = 0.5
    """Variance of a product of two effects in units of the product of their variances."""
    rough: float = 0.05
    """Variance of what follows no effects: a surface of which rows that are near each other have much in common."""
    reach: float = 2.0
    """How far that is, in each column; two rows that differ by chance are the root of two apart in it."""
    noise: float = 0.15
    """Variance of the noise of a measurement."""
    spread: float = 1.0
    """Standard deviation of the logarithm of each of these, but for the noise."""
    rough_spread: float = 1.5
    """Standard deviation of the logarithm of the variance of the surface, and of that of single rows."""
    reach_spread: float = 1.0
    """Standard deviation of the logarithm of its reach in a column of numbers."""
    level_spread: float = 0.4
    """The same in a column of levels, which have no distances of their own."""
    noise_spread: float = 1.2
    """Standard deviation of the logarithm of the variance of the noise."""
    draws: int = 8
    """Sets of variances that are believed in side by side; 1 for the likeliest ones of one form."""
    simpler: bool = True
    """Whether forms of the model without the surface, and also without what is alone, are, too."""

    def prior(self, columns: Columns) -> Prior:
        """Of the form that has everything."""
        blocks, effects = len(columns.blocks), sum(block.effects for block in columns.blocks)
        shared = (self.alone, self.squares, self.pairs, self.rough, self.noise)
        mean = np.log([self.main / effects] * blocks + [self.reach] * blocks + list(shared))
        reaches = [self.level_spread if block.exclusive else self.reach_spread for block in columns.blocks]
        spreads = [self.spread] * blocks + reaches + [self.rough_spread] + [self.spread] * 2
        return mean, np.array([*spreads, self.rough_spread, self.noise_spread])

    def forms(self, columns: Columns) -> list[Prior]:
        """Of every form of the model, all equally likely at first: the simplest is first."""
        whole = self.prior(columns)
        if not self.simpler:
            return [whole]
        return [without(whole, _ALONE, _ROUGH), without(whole, _ROUGH), whole]


GUESSES = Settings(alone=0.1, noise=0.1, noise_spread=2.5, rough_spread=2.0)
"""For guesses: nothing is taken for granted of the noise, so that replicates decide whether a row that stands out is
one that is better or one that was lucky. Plans by these would look too closely at single rows while little is known."""


def without(prior: Prior, *kinds: int) -> Prior:
    """The form of the model that lacks some kinds of effects."""
    mean, spread = prior[0].copy(), prior[1].copy()
    for kind in kinds:
        mean[kind], spread[kind] = math.log(NONE), 0.0
    if _ROUGH in kinds:
        blocks = (mean.size + _ALONE) // 2
        spread[blocks : 2 * blocks] = 0.0  # the reaches of no surface
    return mean, spread


@dataclass(frozen=True, eq=False)
class Data:
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

    def loss(self, logs: Array, prior: Prior) -> tuple[float, Array]:
        """Minus the log of likelihood and prior, and its derivatives, which are 0 for what is fixed."""
        variances, held = np.exp(logs), prior[1] == 0.0
        off = np.where(held, 0.0, logs - prior[0]) / np.where(held, 1.0, prior[1])
        factor = triangle(self.powers.covariance(variances) + np.diag(variances[-1] * self.noise))
        inverse = cho_solve((factor, True), np.eye(self.values.size))
        fit = inverse @ self.values
        (squares, free), noise = self.scatter, variances[-1]
        value = 0.5 * float(self.values @ fit) + float(np.log(np.diag(factor)).sum()) + 0.5 * float(off @ off)
        value += 0.5 * (squares / noise + free * logs[-1])
        weights = 0.5 * (inverse - np.outer(fit, fit))
        slopes = self.powers.slopes(variances, weights)
        last = noise * float(np.diag(weights) @ self.noise) + 0.5 * (free - squares / noise)
        return value, np.where(held, 0.0, np.append(slopes, last) + off / np.where(held, 1.0, prior[1]))


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
class Fit:
    """A form of the model with what the data say of its variances: a normal law of their logarithms (Laplace)."""

    prior: Prior
    """What was believed before."""
    mode: Array
    """(k,): the likeliest logarithms."""
    values: Array
    """(f,): curvatures of the loss there, in directions that are free,"""
    vectors: Array
    """(k, f): and these directions."""
    evidence: float
    """Logarithm of how likely the data are under this form, but for a constant."""

    def at(self, point: Array) -> Array:
        """(k,): logarithms, so many deviations from the likeliest ones."""
        step = self.vectors @ (point[: self.values.size] / np.sqrt(self.values))
        return np.asarray(np.clip(self.mode + step, *_ends(self.prior)))


def drawn(fits: Sequence[Fit], draws: int) -> Array:
    """(draws, k): logarithms of variances, from forms of the model as often as the data make these likely."""
    weights = np.exp([own.evidence - max(fit.evidence for fit in fits) for own in fits])
    ends = np.cumsum(weights) / weights.sum()
    points = np.random.default_rng(_POINTS).standard_normal((draws, fits[-1].mode.size))
    points -= points.mean(axis=0)
    which = np.minimum(np.searchsorted(ends, (np.arange(draws) + 0.5) / draws), len(fits) - 1)
    return np.array([fits[at].at(point) for at, point in zip(which, points, strict=True)])


def fitted(data: Data, prior: Prior) -> Fit:
    """What the data say of the variances of a form."""
    mode, free = _likeliest(data, prior), np.flatnonzero(prior[1])
    (loss, slopes), curves = data.loss(mode, prior), np.empty((free.size, free.size))
    for own, at in enumerate(free):
        curves[own] = (data.loss(mode + _STEP * (np.arange(mode.size) == at), prior)[1] - slopes)[free] / _STEP
    values, turned = np.linalg.eigh(0.5 * (curves + curves.T))
    values = np.maximum(values, 0.5 / prior[1].max() ** 2)
    vectors = np.zeros((mode.size, free.size))
    vectors[free] = turned
    evidence = -loss - 0.5 * float(np.log(values).sum()) - float(np.log(prior[1][free]).sum())
    return Fit(prior, mode, values, vectors, evidence)


def _ends(prior: Prior) -> tuple[Array, Array]:
    """(k,), (k,): where logarithms of variances must stay, as for noise of which there is none."""
    return prior[0] - _FAR * prior[1], prior[0] + _FAR * prior[1]


def _likeliest(data: Data, prior: Prior) -> Array:
    """(k,): logarithms of the likeliest variances; as far as two starts find them, where there is a surface."""
    from scipy.optimize import minimize  # slow to load, and needed by few

    starts, bounds = [prior[0]], list(zip(*_ends(prior), strict=True))
    if prior[1][_ROUGH]:
        rugged, blocks = prior[0].copy(), (prior[0].size + _ALONE) // 2
        rugged[[_ALONE, -1]] -= 1.5  # a surface in place of noise
        rugged[_ROUGH] += 1.5
        rugged[blocks : 2 * blocks] -= 1.5
        starts.append(rugged)
    found = [
        minimize(
            data.loss,
            start,
            args=(prior,),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 40, "gtol": 1e-2},
        )
        for start in starts
    ]
    return np.asarray(min(found, key=lambda one: float(one.fun)).x)
