"""Simulated laboratories: a known θ, and outcomes drawn as sufficient statistics of whole rounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.measurements import Measurements, as_they_are
from probewise.outcomes import Gaussian
from probewise.problem import Problem

Noise = Literal["gaussian", "rademacher", "uniform", "bernoulli"]
NOISES: tuple[Noise, ...] = ("gaussian", "rademacher", "uniform", "bernoulli")
_DIGITS = 48
_ONE_BY_ONE = 1000


@dataclass(frozen=True, eq=False)
class LinearEnvironment:
    """Outcomes with mean x'θ, by the law that the problem states or with another noise of the same scale σ.

    "gaussian": of variance σ². "rademacher": ±σ. "uniform": on [-√3σ, √3σ]. "bernoulli": 1 with probability x'θ
    clipped to [0, 1], which is ½-sub-Gaussian: σ must be at least ½.
    """

    problem: Problem
    """Probes and their noise."""
    theta: Array
    """(d,): the truth."""
    noise: Noise | None = None
    """Another law of the noise than the problem states."""
    seed: int | None = None
    """Seed of the stream that ``measure`` uses."""
    bias: Array | None = None
    """(n,): by how much the mean outcome of each probe is off x'θ; None for nothing."""

    def __post_init__(self) -> None:
        theta = np.array(self.theta, dtype=np.float64)
        if theta.shape != (self.problem.dimension,) or not np.isfinite(theta).all():
            raise InvalidProblem(
                f"theta must be {self.problem.dimension} finite numbers, one per feature, got shape {theta.shape}."
            )
        if self.noise is not None and self.noise not in NOISES:
            raise InvalidProblem(f"noise must be one of {', '.join(NOISES)}, got {self.noise!r}.")
        if self.noise == "bernoulli" and (self.problem.sigma < 0.5).any():
            raise InvalidProblem(
                f"outcomes 0 and 1 are ½-sub-Gaussian: sigma must be at least 0.5, got {self.problem.sigma.min()}."
            )
        if self.bias is not None:
            bias = np.array(self.bias, dtype=np.float64)
            if bias.shape != (self.problem.n_probes,) or not np.isfinite(bias).all():
                raise InvalidProblem(
                    f"bias must be {self.problem.n_probes} finite numbers, one per probe, got shape {bias.shape}."
                )
            object.__setattr__(self, "bias", bias)
        theta.setflags(write=False)
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "_rng", np.random.default_rng(self.seed))

    @property
    def additive(self) -> Noise | None:
        """The noise that is added to means, if outcomes are made in that way, or "bernoulli"; else None."""
        return "gaussian" if self.noise is None and isinstance(self.problem.outcome, Gaussian) else self.noise

    @cached_property
    def means(self) -> Array:
        """(n,): the expected outcome of each probe."""
        linear = np.asarray(self.problem.probes @ self.theta) + (0.0 if self.bias is None else self.bias)
        means = self.problem.outcome.mean(linear)
        return np.clip(means, 0.0, 1.0) if self.noise == "bernoulli" else means

    @property
    def best(self) -> int:
        """The best item."""
        return int(np.argmax(self.problem.items @ self.theta))

    def measure(self, indices: ArrayLike) -> Array:
        """One outcome for each index, from the environment's own stream."""
        rng: np.random.Generator = self._rng  # type: ignore[attr-defined]
        at = np.asarray(indices, dtype=np.int64)
        means, sigma = self.means[at], self.problem.sigma[at]
        if self.noise is None:
            return self.problem.outcome.outcomes(means, sigma, rng)
        if self.noise == "bernoulli":
            return (rng.random(at.size) < means).astype(np.float64)
        return np.asarray(means + sigma * unit_noise(self.noise, at.size, rng))

    def draw(self, counts: NDArray[np.int64], rng: np.random.Generator) -> Measurements:
        """The measurements of a round, drawn as count, mean and scatter: the cost does not grow with the counts."""
        asked = np.flatnonzero(counts)
        n = counts[asked]
        mean, scatter = np.zeros(counts.size), np.zeros(counts.size)
        if self.noise is None:
            law, scale = self.problem.outcome, self.problem.sigma[asked]
            mean[asked], scatter[asked] = law.drawn(self.means[asked], scale, n, rng)
            if isinstance(law, Gaussian):  # which draws what is possible
                return as_they_are(counts.copy(), mean, scatter)
        elif self.noise == "bernoulli":
            hits = rng.binomial(n, self.means[asked])
            mean[asked], scatter[asked] = hits / n, hits * (n - hits) / n
        else:
            sums, spreads = _totals(self.noise, n, rng)
            sigma = self.problem.sigma[asked]
            mean[asked] = self.means[asked] + sigma * sums / n
            scatter[asked] = sigma**2 * spreads
        return Measurements(counts, mean, scatter)


def unit_noise(noise: Noise, size: int, rng: np.random.Generator) -> Array:
    """(size,): noise of variance 1, number by number the same whether drawn at once or in parts."""
    if noise == "gaussian":
        return rng.standard_normal(size)
    if noise == "rademacher":
        return np.asarray(2.0 * rng.integers(0, 2, size) - 1.0, dtype=np.float64)
    return np.asarray(np.sqrt(3.0) * rng.uniform(-1.0, 1.0, size), dtype=np.float64)


def _totals(noise: Noise, n: NDArray[np.int64], rng: np.random.Generator) -> tuple[Array, Array]:
    """(p,), (p,): for n_i draws of unit noise, their sum and their scatter Σ(e - ē)²."""
    if noise == "gaussian":
        spreads = np.where(n > 1, rng.chisquare(np.maximum(n - 1, 1)), 0.0)
        return np.asarray(np.sqrt(n) * rng.standard_normal(n.size), dtype=np.float64), spreads
    if noise == "rademacher":
        sums = 2.0 * rng.binomial(n, 0.5) - n
        return np.asarray(sums, dtype=np.float64), np.asarray(n - sums**2 / n, dtype=np.float64)
    parts = [_uniform_total(int(count), rng) for count in n]
    return np.array([p[0] for p in parts]), np.array([p[1] for p in parts])


def _uniform_total(n: int, rng: np.random.Generator) -> tuple[float, float]:
    """Sum and scatter of n uniform draws of variance 1; for many, the sum is drawn digit by digit.

    A uniform number is Σ_j 2^-j b_j with fair bits, so that the sum of n of them is Σ_j 2^-j Binomial(n, ½), exact
    to 2^-48. The scatter of many draws is taken as normal with its own mean and variance 4n/5.
    """
    if n <= _ONE_BY_ONE:
        draws = unit_noise("uniform", n, rng)
        return float(draws.sum()), float(((draws - draws.mean()) ** 2).sum())
    bits = rng.binomial(n, 0.5, _DIGITS)
    total = float(np.sqrt(3.0) * (2.0 * (bits @ 2.0 ** -np.arange(1.0, _DIGITS + 1)) - n))
    return total, max(float(n - 1 + np.sqrt(0.8 * n) * rng.standard_normal()), 0.0)
