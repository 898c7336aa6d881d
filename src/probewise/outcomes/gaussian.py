"""Gaussian: normal outcomes, or any with tails no heavier; their scale is known for each probe, or up to a factor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.confidence import DECADES, log_wealth, noise_bound
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidProblem
from probewise.measurements import SumOfSquares, per_probe
from probewise.outcomes.base import Drawn, Law

_PART = 0.1
"""Part of δ that a bound on noise of unknown scale may spend."""


@dataclass(frozen=True)
class Gaussian(Law):
    """Noise that is sub-Gaussian with a known scale; or normal, with at most that scale or an unknown one."""

    sigma: ArrayLike = 1.0
    """The scale, one number or one per probe, kept as a tuple; if it is unknown, in units of one scale for all."""
    unknown: bool = False
    """Whether that scale is unknown."""
    normal: bool = False
    """Whether noise is known to be normal, with a standard deviation of at most sigma; of unknown scale it must be."""

    name: ClassVar[str] = "gaussian"
    weighed: ClassVar[str | None] = "se"
    summary: ClassVar[str] = "Noise with light tails, of a known scale, or normal noise of an unknown one."

    def __post_init__(self) -> None:
        try:
            values = np.asarray(self.sigma, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidProblem(f"sigma must be numbers, got {self.sigma!r:.80}; or 'unknown'.") from None
        if values.ndim > 1:
            raise InvalidProblem(f"sigma must be one number or one per probe, got shape {values.shape}.")
        object.__setattr__(self, "sigma", tuple(values.tolist()) if values.ndim else float(values))
        object.__setattr__(self, "unknown", bool(self.unknown))
        object.__setattr__(self, "normal", bool(self.normal))

    @property
    def known(self) -> bool:
        """Whether sigma is in units of outcomes."""
        return not self.unknown

    @property
    def is_normal(self) -> bool:
        """Whether that was said, or the scale is unknown."""
        return self.normal or self.unknown

    @property
    def part(self) -> float:
        """A tenth of δ if the scale is unknown, otherwise nothing."""
        return _PART if self.unknown else 0.0

    @property
    def replicates(self) -> int:
        """Two if the scale is unknown, since only replicates show it; otherwise one."""
        return 2 if self.unknown else 1

    @property
    def noise(self) -> str:
        """The scale and the tails of the noise, in words."""
        if self.unknown:
            scale = "that is unknown, estimated from replicates, and normally distributed"
            return f"of standard deviation {scale}"
        low, high = np.min(self.sigma), np.max(self.sigma)
        scale = f"at most σ = {low:.4g}" if low == high else f"as stated for each probe ({low:.4g} to {high:.4g})"
        tails = "normally distributed" if self.normal else "light tails (sub-Gaussian)"
        return f"of standard deviation {scale} and {tails}"

    def scale(self, probes: tuple[str, ...]) -> Array:
        """(n,): sigma."""
        return np.array(per_probe(self.sigma, len(probes), "sigma", names=probes, error=InvalidProblem))

    def bound(self, replicates: SumOfSquares, delta: float) -> float:
        """1, or the bound of docs/confidence.md, Theorem 7."""
        return math.sqrt(noise_bound(*replicates, _PART * delta)) if self.unknown else 1.0

    def guess(self, replicates: SumOfSquares) -> float:
        """1, or the root of the mean square of replicates, once they differ."""
        return math.sqrt(replicates.mean_square) if self.unknown and replicates.value > 0 else 1.0

    def log_account(self, total: Array, precision: Array, unit: Array, bound: float) -> Array:
        """A mixture of Gaussian bets: docs/sage.md, Lemma 2."""
        return log_wealth(total / bound, precision, unit)

    def weights(self, told: Array, scale: Array) -> Array:
        """(k,): (σ/se)², for standard errors that were known before the outcomes."""
        return np.asarray((scale / told) ** 2)

    def told_weights(self, weights: Array, scale: Array) -> Array:
        """(k,): the standard errors, σ/√weight."""
        return np.asarray(scale / np.sqrt(weights))

    def account_bounds(self, total: Array, precision: Array, unit: Array, bound: float) -> tuple[Array, Array]:
        """Without the normal distribution."""
        return log_wealth_bounds(total / bound, precision, unit)

    def outcomes(self, means: Array, scale: Array, rng: np.random.Generator) -> Array:
        """Outcomes with normal noise."""
        return np.asarray(means + scale * rng.standard_normal(means.size))

    def drawn(self, means: Array, scale: Array, counts: Counts, rng: np.random.Generator) -> Drawn:
        """Normal means and their scatter, which is independent of them."""
        spreads = np.where(counts > 1, rng.chisquare(np.maximum(counts - 1, 1)), 0.0)
        errors = np.sqrt(counts) * rng.standard_normal(counts.size)
        return Drawn(np.asarray(means + scale * errors / counts), np.asarray(scale**2 * spreads))

    @property
    def expected(self) -> str:
        """What an outcome may be, in words."""
        return "a finite number"

    def possible(self, outcomes: Array) -> NDArray[np.bool_]:
        """True for every number."""
        return np.ones(outcomes.size, dtype=np.bool_)


def log_wealth_bounds(total: Array, precision: Array, unit: Array) -> tuple[Array, Array]:
    """(k,) twice: a lower and an upper bound on ``log_wealth``, in a fraction of its time.

    For S ≥ 0, 1 ≤ 2Φ(z) ≤ 2, and the weights sum to 1: a mixture is at least its largest term and at most twice the
    largest of its parts without their weights. For S < 0 the lower bound is minus infinity.
    """
    lower, upper = np.full(np.shape(total), -np.inf), np.full(np.shape(total), -np.inf)
    square = 0.5 * np.maximum(total, 0.0) ** 2
    for share, scale in zip(*DECADES, strict=True):
        own = scale * unit
        spread = precision + own
        log = square / spread - 0.5 * np.log(spread / own)
        np.maximum(lower, share + log, out=lower)
        np.maximum(upper, log, out=upper)
    return np.where(total >= 0, lower, -np.inf), upper + math.log(2.0)
