"""Recorded outcomes in place of a laboratory: what stands in for the next measurement, said plainly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from probewise.coordinates import Array


@dataclass(frozen=True, eq=False)
class Laboratory:
    """An outcome of probe i is ``means[i]``, plus one of ``errors`` drawn at random, plus normal noise."""

    means: Array
    """(n,): one per probe."""
    errors: Array
    """(k,): with mean 0."""
    sd: float
    """Standard deviation of the normal noise."""
    rng: np.random.Generator
    """Generator of the draws."""

    def measure(self, indices: NDArray[np.int64]) -> Array:
        """One outcome per index."""
        drawn = self.rng.choice(self.errors, size=len(indices))
        return np.asarray(self.means[indices] + drawn + self.sd * self.rng.normal(size=len(indices)))

    @property
    def sigma(self) -> float:
        """Sub-Gaussian scale of an outcome: its square is that of the errors plus sd²."""
        return float(np.hypot(_scale(self.errors), self.sd))


def recorded(outcomes: ArrayLike, *, sd: float, seed: int) -> Laboratory:
    """The recorded outcome of each probe again, plus normal noise: what a model misses stays missed."""
    return Laboratory(np.asarray(outcomes, dtype=np.float64), np.zeros(1), sd, np.random.default_rng(seed))


def redrawn(features: Array, outcomes: ArrayLike, *, seed: int) -> Laboratory:
    """The least-squares fit of each row (k, d) plus one of the k residuals: what a model misses counts as noise.

    Residuals are enlarged by √(k/(k - rank)), since the fit made them too small.
    """
    y = np.asarray(outcomes, dtype=np.float64)
    theta, _, rank, _ = np.linalg.lstsq(features, y, rcond=None)
    residuals = y - features @ theta
    errors = (residuals - residuals.mean()) * np.sqrt(y.size / (y.size - rank))
    return Laboratory(features @ theta, errors, 0.0, np.random.default_rng(seed))


def _scale(errors: Array) -> float:
    """max over λ of √(2 log E exp(λε))/|λ| for ε drawn from ``errors`` of mean 0; at least their deviation."""
    spread = float(errors.std())
    if spread == 0:
        return 0.0

    def minus_scale(t: float) -> float:
        log_mean = logsumexp(t / spread * errors) - np.log(errors.size)
        return -spread * float(np.sqrt(2.0 * max(log_mean, 0.0))) / abs(t)

    sides = ((0.01, 50.0), (-50.0, -0.01))
    return max(spread, *(-float(minimize_scalar(minus_scale, bounds=side, method="bounded").fun) for side in sides))
