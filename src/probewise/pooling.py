"""Pooling: what rounds that were planned one after the other say together, direction by direction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.coordinates import CLEARLY, SURE, Array, Coordinates
from probewise.estimate import Estimate, least_squares, solution
from probewise.measurements import Measurements, SumOfSquares
from probewise.outcomes import Bets
from probewise.problem import Problem


class Sums(NamedTuple):
    """What several rounds say of directions y, each round weighted by its precision."""

    precision: Array
    """(k,): W = Σ_s 1/v_s(y), v_s(y) the variance of y'θ̂_s in round s; 0 where no round determines y."""
    total: Array
    """(k,): S = Σ_s y'θ̂_s/v_s(y); S - W y'θ is a martingale with variance W at most. Less the ``slack``."""
    bets: Bets | None = None
    """What bets have made, where the law of outcomes bets on them directly."""
    slack: Array | None = None
    """(k,): by how much ``total`` is less than S, where outcomes may be off the model by a misfit (docs/misfit.md)."""

    @classmethod
    def none(cls, count: int) -> Sums:
        """Of no round."""
        return cls(np.zeros(count), np.zeros(count))

    @classmethod
    def joined(cls, parts: Sequence[Sums]) -> Sums:
        """Of the same rounds: the directions of each part, one part after the other."""
        bets = [part.bets for part in parts if part.bets is not None]
        slack = [part.slack for part in parts if part.slack is not None]
        precision, total = map(np.concatenate, zip(*(part[:2] for part in parts), strict=True))
        return cls(
            precision,
            total,
            Bets(*map(np.concatenate, zip(*bets, strict=True))) if bets else None,
            np.concatenate(slack) if slack else None,
        )

    def __add__(self, other: object) -> Sums:
        """Both sets of rounds together."""
        if not isinstance(other, Sums):
            return NotImplemented
        slack = other.slack if self.slack is None else self.slack if other.slack is None else self.slack + other.slack
        return Sums(self.precision + other.precision, self.total + other.total, added(self.bets, other.bets), slack)

    @property
    def mean(self) -> Array:
        """(k,): S/W, the estimate of y'θ; NaN where no round determines y."""
        known = self.precision > 0
        return np.where(known, self.whole / np.where(known, self.precision, 1.0), np.nan)

    @property
    def whole(self) -> Array:
        """(k,): S, with the slack."""
        return self.total if self.slack is None else self.total + self.slack

    def at(self, rows: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Sums:
        """The same, for some of the directions."""
        bets = None if self.bets is None else Bets(*(part[rows] for part in self.bets))
        return Sums(self.precision[rows], self.total[rows], bets, None if self.slack is None else self.slack[rows])

    def lifted(self, by: Array | float) -> Sums:
        """The same for y'θ + ``by``, one number or (k,)."""
        if by == 0.0 if isinstance(by, float) else not np.any(by):
            return self
        bets = None if self.bets is None else self.bets.lifted(by)
        return Sums(self.precision, self.total + by * self.precision, bets, self.slack)


def added(one: Bets | None, other: Bets | None) -> Bets | None:
    """Bets on both sets of rounds."""
    if one is None or other is None:
        return other if one is None else one
    return Bets(*(a + b for a, b in zip(one, other, strict=True)))


def _each(
    fits: Sequence[Estimate], rows: Array, magnitudes: Array | None
) -> tuple[Array, Array, list[Bets | None], list[Array | None]]:
    """(rounds, k) twice, W and S of rows y (k, d) in each of some rounds, by one product for all; bets and slack."""
    variance = np.full((len(fits), rows.shape[0]), np.inf)
    ranks = [fit.rank for fit in fits]
    partial = [number for number, rank in enumerate(ranks) if 0 < rank < rows.shape[1]]
    outside = _outside([fits[number].measured for number in partial], rows)
    # a round without rank says nothing, nor does one outside whose span all rows lie that are not 0
    heard = {number: clear for number, clear in zip(partial, outside, strict=True) if rows[~clear].any()}
    known = [number for number, rank in enumerate(ranks) if number in heard or rank == rows.shape[1]]
    if known:
        images = np.hstack([fits[number].whitener for number in known]).T @ rows.T
        starts = np.cumsum([0, *(ranks[number] for number in known)])[:-1]
        variance[known] = np.add.reduceat(images * images, starts)
    for number, clear in heard.items():
        _without_outsiders(fits[number].measured, clear, rows, magnitudes, variance[number])
    precision = _inverse(variance)
    total = precision * (np.array([fit.theta for fit in fits]) @ rows.T)
    bets = [_bets(fit, rows, own) for fit, own in zip(fits, precision, strict=True)]
    slack = [None if fit.misfit is None else own * bias(fit, rows) for fit, own in zip(fits, precision, strict=True)]
    for own, less in zip(total, slack, strict=True):
        if less is not None:
            own -= less  # in place, a row of the totals
    return precision, total, bets, slack


def _one(fit: Estimate, rows: Array, magnitudes: Array | None) -> Sums:
    """The same of one round."""
    image = fit.whitener.T @ rows.T
    variance = np.add.reduce(image * image, axis=0)  # 0 for a round without rank, which determines nothing
    if 0 < fit.rank < rows.shape[1]:
        _without_outsiders(fit.measured, _outside([fit.measured], rows)[0], rows, magnitudes, variance)
    precision = _inverse(variance)
    total = precision * (fit.theta[None] @ rows.T)[0]
    slack = None if fit.misfit is None else precision * bias(fit, rows)
    return Sums(precision, total if slack is None else total - slack, _bets(fit, rows, precision), slack)


def _inverse(variance: Array) -> Array:
    """1/v, and 0 for v = 0: what is known without a measurement is no evidence."""
    precision = np.zeros_like(variance)
    return np.divide(1.0, variance, out=precision, where=variance > 0)


def bias(fit: Estimate, rows: Array) -> Array:
    """(k,): by how much the mean of y'θ̂ may be off y'θ, Σ n_i h_i |a_i| for y'θ̂ = Σ n_i a_i mean_i: docs/misfit.md."""
    if fit.misfit is None or fit.seen is None:
        return np.zeros(len(rows))
    return np.asarray(np.abs((rows @ fit.whitener) @ fit.seen.T) @ fit.misfit)


def _outside(spans: Sequence[Coordinates], rows: Array) -> NDArray[np.bool_]:
    """(rounds, k): whether rows y (k, d) lie so far outside the spans of some rounds that one product shows it."""
    if not spans:
        return np.zeros((0, rows.shape[0]), dtype=np.bool_)
    parts = np.array([span.outsider for span in spans]) @ rows.T
    lengths = np.array([span.scale for span in spans]) ** -2.0 @ (rows**2).T
    return np.asarray(parts * parts > CLEARLY * lengths)


def _without_outsiders(
    span: Coordinates, clear: NDArray[np.bool_], rows: Array, magnitudes: Array | None, variance: Array
) -> None:
    """Set the variance (k,) of rows y (k, d) outside the span of a round to infinity.

    Most lie so far outside that it is ``clear``; the others are looked at more closely.
    """
    (doubtful,) = np.nonzero(~clear & (variance > 0))
    variance[clear] = np.inf
    if doubtful.size:
        inside = span.is_inside(rows[doubtful], None if magnitudes is None else magnitudes[doubtful])
        variance[doubtful[~inside]] = np.inf


def tells_apart(fit: Estimate, items: Array) -> bool:
    """Whether a round may say something of the difference of some two items (m, d); if not, it does not for sure.

    What a round does not measure is looked at along one direction: two items of which the parts differ there, by far
    more than rounding, are not compared. Few pairs are left, and looked at one by one: O(m log m).
    """
    span = fit.measured
    if span.rank in (0, span.scale.size) or fit.bettor is not None or span.condition > SURE:
        return span.rank > 0
    direction = np.random.default_rng(0).standard_normal(span.scale.size)
    direction -= span.basis @ (span.basis.T @ direction)
    places = items @ (direction / span.scale / np.linalg.norm(direction))
    order = np.argsort(places)
    largest = np.sqrt((np.maximum(items.max(axis=0), -items.min(axis=0)) ** 2) @ span.scale**-2.0)
    near = 2.0 * math.sqrt(CLEARLY) * float(largest)
    first, second = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for apart in range(1, items.shape[0]):
        (close,) = np.nonzero(places[order[apart:]] - places[order[:-apart]] <= near)
        if not close.size:
            break
        first, second = np.append(first, order[close]), np.append(second, order[close + apart])
        if first.size > items.shape[0]:
            return True
    rest = (items[first] - items[second]) / span.scale
    rest -= (rest @ span.basis) @ span.basis.T
    return bool((np.einsum("ij,ij->i", rest, rest) <= near**2).any())


def _bets(fit: Estimate, rows: Array, precision: Array) -> Bets | None:
    """Bets on one round, if its outcomes are bet on."""
    if fit.bettor is None or fit.seen is None:
        return None
    bets = fit.bettor.bets(precision[:, None] * ((rows @ fit.whitener) @ fit.seen.T), precision)
    return bets if fit.misfit is None else bets.lessened(bias(fit, rows))


_PRODUCTS = 200_000
"""Numbers in a product with the whiteners of several rounds, for each of their dimensions: it fits into a cache."""


@dataclass(frozen=True, eq=False)
class Pooled:
    """Rounds planned one after the other, each by outcomes of earlier rounds, pooled direction by direction.

    Least squares on all data together would be biased by that planning; each round by itself is not (docs/sage.md).
    """

    fits: tuple[Estimate, ...] = ()
    """The estimate of each round from its own data."""

    def plus(self, fit: Estimate) -> Pooled:
        """The estimate with one more round, whose scatter is added to what is known of the others."""
        more, known, new = Pooled((*self.fits, fit)), self.pure_error, fit.pure_error
        more.__dict__["pure_error"] = SumOfSquares(known.value + new.value, known.degrees + new.degrees)
        return more

    def sums(self, directions: ArrayLike, magnitudes: Array | None = None, *, since: int = 0) -> Sums:
        """W and S of rows y (k, d), of all rounds or of those from number ``since`` on; magnitudes as in ``Estimate``.

        A round that says nothing of y, or everything, as of y = 0, is left out.
        """
        rows = np.asarray(directions, dtype=np.float64)
        if len(self.fits) == since + 1:
            return _one(self.fits[since], rows, magnitudes)
        sums = Sums.none(rows.shape[0])
        for fits in Pooled(self.fits[since:])._blocks(rows):
            precision, total, bets, slack = _each(fits, rows, magnitudes)
            less = [part for part in slack if part is not None]
            sums = sums + Sums(precision.sum(axis=0), total.sum(axis=0), None, np.sum(less, axis=0) if less else None)
            for own in bets:
                sums = sums._replace(bets=added(sums.bets, own))
        return sums

    def each(self, directions: ArrayLike, magnitudes: Array | None = None) -> Iterator[Sums]:
        """W and S of rows y (k, d) in each round by itself, in order."""
        rows = np.asarray(directions, dtype=np.float64)
        for fits in self._blocks(rows):
            yield from map(Sums._make, zip(*_each(fits, rows, magnitudes), strict=True))

    def _blocks(self, rows: Array) -> Iterator[tuple[Estimate, ...]]:
        """The fits, as many at a time as keep products with so many rows small."""
        count = max(1, _PRODUCTS // max(1, rows.size))
        return (self.fits[low : low + count] for low in range(0, len(self.fits), count))

    @property
    def first(self) -> Pooled:
        """The first round alone."""
        return Pooled(self.fits[:1])

    @cached_property
    def plain(self) -> Pooled:
        """The same without bets."""
        if all(fit.bettor is None for fit in self.fits):
            return self
        return Pooled(tuple(replace(fit, bettor=None) for fit in self.fits))

    @cached_property
    def pure_error(self) -> SumOfSquares:
        """Scatter of replicates within rounds, in units of σ²: given the past, that of a round is χ² for Gaussians."""
        return SumOfSquares(
            sum(fit.pure_error.value for fit in self.fits), sum(fit.pure_error.degrees for fit in self.fits)
        )


def fitted(problem: Problem, measurements: Measurements) -> Estimate:
    """The estimate from one round alone, with the bets on it; the law of outcomes is as it was known before."""
    bettor = problem.outcome.bettor(measurements) if problem.outcome.learns and measurements.n else None
    return least_squares(
        problem.probes, measurements, sigma=problem.sigma, unit=problem.unit, bettor=bettor, misfit=problem.slack
    )


def guessed(problem: Problem, data: Measurements) -> Array:
    """(d,): the θ that fits all data best; the rounds' planning biases it, so that it only says where to look."""
    return solution(problem.probes, data, sigma=problem.sigma, unit=problem.unit)


def spread(problem: Problem, rounds: Iterable[Measurements]) -> Array:
    """(n,): the scale of each probe with what can be learned of it from all of these rounds."""
    data = sum(rounds, Measurements.empty(problem.n_probes))
    law = problem.outcome
    law = law.after(problem.probes @ guessed(problem, data), data) if law.learns and data.n else law
    return law.scale(tuple(problem.probe_names))


def learned(problem: Problem, steps: Iterable[Sequence[Measurements]]) -> Pooled:
    """Rounds one after the other, those of a step at once, each with the law as it was known before its step."""
    law, data, pool = problem.outcome, Measurements.empty(problem.n_probes), Pooled()
    for rounds in steps:
        known = problem.knowing(law)
        for measurements in rounds:
            data, pool = data + measurements, pool.plus(fitted(known, measurements))
        if law.learns:
            law = law.after(problem.probes @ guessed(known, data), data)
    return pool
