"""Measurements: what has been observed, as sufficient statistics of each probe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from probewise.coordinates import Array, Counts
from probewise.errors import InvalidMeasurements, ProbewiseError


class SumOfSquares(NamedTuple):
    """A sum of squared deviations with its degrees of freedom."""

    value: float
    """The sum, at least 0."""
    degrees: int
    """Degrees of freedom, at least 0."""

    @property
    def mean_square(self) -> float:
        """Unbiased estimate of the variance; NaN without degrees of freedom, when it is unknown."""
        return self.value / self.degrees if self.degrees else math.nan


@dataclass(frozen=True, eq=False)
class Measurements:
    """Outcomes of one round or of many: count, mean and scatter of each of n probes.

    The scatter Σ(r - mean)² is kept instead of Σr², from which a small noise on large outcomes would cancel.
    """

    count: Counts
    """(n,): number of measurements of each probe."""
    mean: Array
    """(n,): mean outcome of each probe, 0 for a probe without measurement."""
    scatter: Array
    """(n,): sum of squared deviations from the mean, 0 for a probe with fewer than two measurements."""
    weight: Array | None = None
    """(n,): as how many measurements they weigh, where rows bring their own precision; None for as many as there are.

    Means and scatters are weighted then: the noise of a row of weight w has the scale σ/√w.
    """
    degrees: Counts | None = None
    """(n,): degrees of freedom of the scatter, where that of some measurements is not known; None if all of it is."""

    def __post_init__(self) -> None:
        count, mean = _whole(self.count, "count"), _finite(self.mean, "mean")
        scatter = _finite(self.scatter, "scatter")
        if count.size == 0 or not count.size == mean.size == scatter.size:
            raise InvalidMeasurements(
                "count, mean and scatter need one entry per probe and at least one probe, "
                f"got lengths {count.size}, {mean.size} and {scatter.size}."
            )
        if count.min() < 0:
            probe = int(np.argmax(count < 0))
            raise InvalidMeasurements(f"count must be at least 0, got {count[probe]} for probe {probe}.")
        impossible = (scatter < 0) | ((count < 2) & (scatter != 0)) | ((count == 0) & (mean != 0))
        if impossible.any():
            probe = int(np.argmax(impossible))
            raise InvalidMeasurements(
                f"probe {probe} has mean {mean[probe]} and scatter {scatter[probe]}, which {count[probe]} "
                "measurements cannot have; build measurements with Measurements.from_outcomes."
            )
        weight, degrees = _weights(self.weight, count), _freedom(self.degrees, count)
        fields = {"count": count, "mean": mean, "scatter": scatter, "weight": weight, "degrees": degrees}
        for name, array in fields.items():
            if array is not None:
                array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def empty(cls, n_probes: int) -> Measurements:
        """No measurement yet of any of ``n_probes`` probes."""
        return cls(np.zeros(n_probes, dtype=np.int64), np.zeros(n_probes), np.zeros(n_probes))

    @classmethod
    def from_outcomes(
        cls, n_probes: int, indices: ArrayLike, outcomes: ArrayLike, weights: ArrayLike | None = None
    ) -> Measurements:
        """Statistics of ``outcomes`` (k,) of the probes numbered ``indices`` (k,), in two passes; (k,) ``weights``."""
        index, outcome = _whole(indices, "indices"), _finite(outcomes, "outcomes")
        if index.size != outcome.size:
            raise InvalidMeasurements(
                f"each outcome needs the index of its probe, got {index.size} indices and {outcome.size} outcomes."
            )
        unknown = (index < 0) | (index >= n_probes)
        if unknown.any():
            at = int(np.argmax(unknown))
            raise InvalidMeasurements(
                f"indices must lie between 0 and {n_probes - 1}, got {index[at]} at position {at}."
            )
        count = np.bincount(index, minlength=n_probes)
        if weights is not None:
            return _weighed(cls, n_probes, index, outcome, _finite(weights, "weights"))
        mean: Array = np.bincount(index, outcome, n_probes) / np.maximum(count, 1)
        # The mean of the deviations from a rounded mean is the rounding error of that mean.
        mean += np.bincount(index, outcome - mean[index], n_probes) / np.maximum(count, 1)
        scatter = np.bincount(index, (outcome - mean[index]) ** 2, n_probes).astype(np.float64)
        return cls(count, mean, scatter)

    def __add__(self, other: Measurements) -> Measurements:
        """Both sets together; the pooled scatter is exact (Chan, Golub and LeVeque 1983)."""
        if self.n_probes != other.n_probes:
            raise InvalidMeasurements(
                f"only measurements of the same probes can be added, got {self.n_probes} and {other.n_probes} probes."
            )
        count = self.count + other.count
        weight = None if self.weight is None and other.weight is None else self.weights + other.weights
        share = other.weights / np.maximum(count, 1) if weight is None else other.weights / np.where(count, weight, 1)
        shift = other.mean - self.mean
        scatter = self.scatter + other.scatter + shift**2 * self.weights * share
        mean = self.mean + shift * share
        if not np.isfinite(mean + scatter).all():
            return Measurements(count, mean, scatter)  # which refuses it
        degrees = None
        if self.degrees is not None or other.degrees is not None:
            degrees = self.freedom + other.freedom + ((self.count > 0) & (other.count > 0))
        return as_they_are(count, mean, scatter, weight, degrees)

    @property
    def n(self) -> int:
        """Number of measurements."""
        return int(self.count.sum())

    @property
    def n_probes(self) -> int:
        """Number of probes, measured or not."""
        return self.count.size

    @property
    def total(self) -> Array:
        """(n,): sum of the outcomes of each probe, weighted."""
        return self.weights * self.mean

    @property
    def weights(self) -> Array:
        """(n,): as how many measurements those of each probe weigh."""
        return self.count if self.weight is None else self.weight  # type: ignore[return-value]

    def unweighed(self, law: str) -> Measurements:
        """These, refused if they bring weights: outcomes of some laws, as 0 and 1, count one each."""
        if self.weight is not None:
            raise InvalidMeasurements(
                f"outcomes of the law '{law}' count one each, but these measurements bring weights; leave weights out, "
                "and tell every outcome."
            )
        return self

    @property
    def freedom(self) -> Counts:
        """(n,): degrees of freedom of the scatter of each probe."""
        return np.maximum(self.count - 1, 0) if self.degrees is None else self.degrees

    def cost(self, cost: ArrayLike = 1.0) -> float:
        """What the measurements cost, for a cost per measurement that is one number or one per probe (n,)."""
        return float(self.count @ per_probe(cost, self.n_probes, "cost"))

    def pure_error(self, *, sigma: ArrayLike = 1.0) -> SumOfSquares:
        """Deviations of replicates from the mean of their probe, squared and summed in units of σ².

        Whatever the means are, the mean square estimates the noise variance without bias if sigma is 1.
        """
        return self.pure_error_in(per_probe(sigma, self.n_probes, "sigma"))

    def pure_error_in(self, scale: Array) -> SumOfSquares:
        """The same for scales (n,) that are known to be positive."""
        return SumOfSquares(float((self.scatter / scale**2).sum()), int(self.freedom.sum()))


def as_they_are(
    count: Counts, mean: Array, scatter: Array, weight: Array | None = None, degrees: Counts | None = None
) -> Measurements:
    """Measurements of which nothing has to be checked, as the sum of two that are possible."""
    made = object.__new__(Measurements)
    made.__dict__.update(count=count, mean=mean, scatter=scatter, weight=weight, degrees=degrees)
    for array in made.__dict__.values():
        if array is not None:
            array.setflags(write=False)
    return made


def _weighed(cls: type[Measurements], n_probes: int, index: Counts, outcome: Array, weights: Array) -> Measurements:
    """Statistics of outcomes that weigh as so many measurements each."""
    if weights.size != outcome.size or (weights <= 0).any():
        raise InvalidMeasurements(
            "every outcome needs a positive weight, the number of measurements that it stands for."
        )
    weight: Array = np.bincount(index, weights, n_probes).astype(np.float64)
    one = np.where(weight > 0, weight, 1.0)
    mean: Array = np.bincount(index, weights * outcome, n_probes) / one
    mean += np.bincount(index, weights * (outcome - mean[index]), n_probes) / one
    scatter = np.bincount(index, weights * (outcome - mean[index]) ** 2, n_probes).astype(np.float64)
    count = np.bincount(index, minlength=n_probes)
    return cls(count, mean, np.where(count > 1, scatter, 0.0), weight)


def _weights(weight: Array | None, count: Counts) -> Array | None:
    if weight is None:
        return None
    found = _finite(weight, "weight")
    if found.shape != count.shape or ((found > 0) != (count > 0)).any() or (found < 0).any():
        raise InvalidMeasurements("weight needs one number per probe, positive where there are measurements, else 0.")
    return found


def _freedom(degrees: Counts | None, count: Counts) -> Counts | None:
    if degrees is None:
        return None
    found = _whole(degrees, "degrees")
    if found.shape != count.shape or (found < 0).any() or (found > np.maximum(count - 1, 0)).any():
        raise InvalidMeasurements("degrees of a probe lie between 0 and the number of its measurements less one.")
    return found


def per_probe(
    value: ArrayLike,
    n_probes: int,
    what: str,
    *,
    names: Sequence[str] | None = None,
    error: type[ProbewiseError] = InvalidMeasurements,
) -> Array:
    """(n,): one positive number per probe, from a number for all or an array; what else is given is an ``error``."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n_probes,)):
        raise error(f"{what} must be one number or one per probe, expected shape ({n_probes},), got {array.shape}.")
    array = np.broadcast_to(array, (n_probes,))
    valid = np.isfinite(array) & (array > 0)
    if not valid.all():
        probe = int(np.argmin(valid))
        name = probe if names is None else f"'{names[probe]}'"
        raise error(f"{what} must be positive and finite, got {array[probe]} for probe {name}.")
    return array


def _whole(values: ArrayLike, what: str) -> Counts:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidMeasurements(
            f"{what} must be a list of whole numbers, got shape {array.shape} and type {array.dtype}."
        )
    return array.astype(np.int64)


def _finite(values: ArrayLike, what: str) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidMeasurements(f"{what} must be a list of numbers, but {error}.") from error
    if array.ndim != 1:
        raise InvalidMeasurements(f"{what} must be a list of numbers, got shape {array.shape}.")
    if not np.isfinite(array).all():
        at = int(np.argmin(np.isfinite(array)))
        raise InvalidMeasurements(
            f"{what} must be finite, got {array[at]} at position {at}; leave out what was not observed."
        )
    return array
