"""Thresholds and widths: how far an estimate may be from the truth, each marked proven or heuristic.

A threshold β turns the variance v of a comparison y'θ̂ into the half-width √(2βv). Proofs: docs/confidence.md.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar, Literal, final

from probewise.errors import InvalidAlgorithm

Data = Literal["fixed", "adaptive"]
"""fixed: the probes of a round do not depend on its outcomes; adaptive: each measurement may depend on all before."""


@dataclass(frozen=True)
class Evidence:
    """What a threshold may look at when a decision is taken."""

    delta: float
    """Probability of error allowed over all checks."""
    check: int
    """Number of this check, from 1."""
    rivals: int
    """Number of items, the candidate not counted, that the comparison must hold for."""
    items: int
    """Number of items of the problem."""
    measurements: int
    """Measurements in the estimate."""
    dimension: int
    """Dimension of the span of the probes."""
    logdet: float = 0.0
    """log det(V + ηI)/det(ηI) for an estimate with penalty η; V in units of the noise."""
    penalty: float = 0.0
    """η."""
    norm_bound: float = math.inf
    """A bound S on the norm of θ, in units of the noise."""
    largest_probe: float = math.inf
    """L: the largest norm of a probe."""


def spent(delta: float, check: int) -> float:
    """The part δ/(t(t+1)) of δ that check t = 1, 2, … may spend; all parts together are δ."""
    return delta / (check * (check + 1))


class Threshold(abc.ABC):
    """β(evidence): a comparison holds where y'θ̂ > √(2βv)."""

    name: ClassVar[str]
    proven: ClassVar[bool]
    data: ClassVar[Data]
    """The most general data that it allows."""
    estimator: ClassVar[Literal["least squares", "ridge"]]
    reference: ClassVar[str]

    @abc.abstractmethod
    def beta(self, evidence: Evidence) -> float:
        """β for this check."""

    def width(self, evidence: Evidence) -> float:
        """√(2β): the half-width is this times the standard error."""
        return math.sqrt(2.0 * self.beta(evidence))


def require(threshold: Threshold, data: Data, estimator: str, user: str) -> None:
    """Refuse a threshold that does not hold for the data or the estimate of an algorithm."""
    if data == "adaptive" and threshold.data == "fixed":
        raise InvalidAlgorithm(
            f"{user} chooses each measurement by the outcomes before it, but threshold '{threshold.name}' holds only "
            "for rounds planned before their outcomes; choose one that allows adaptive data, such as 'self-normalised'."
        )
    if threshold.estimator != estimator:
        raise InvalidAlgorithm(
            f"{user} uses {estimator}, but threshold '{threshold.name}' is for {threshold.estimator}; choose another."
        )


@final
@dataclass(frozen=True)
class StarUnion(Threshold):
    """log((number of rivals)/δ_t): only the best item against each other, one-sided."""

    name: ClassVar[str] = "star"
    proven: ClassVar[bool] = True
    data: ClassVar[Data] = "fixed"
    estimator: ClassVar[Literal["least squares", "ridge"]] = "least squares"
    reference: ClassVar[str] = "docs/confidence.md, Theorem 1"

    def beta(self, evidence: Evidence) -> float:
        """log(rivals/δ_t), δ_t = δ/(t(t+1))."""
        return math.log(max(evidence.rivals, 1) / spent(evidence.delta, evidence.check))


@final
@dataclass(frozen=True)
class PairsUnion(Threshold):
    """log(c K²/δ_t) with δ_t = δ/t²: the paper (c = 1) and its authors' code (c = 2)."""

    factor: float = 1.0
    """c: 1 in the paper, 2 in the code."""

    name: ClassVar[str] = "pairs"
    proven: ClassVar[bool] = True
    data: ClassVar[Data] = "fixed"
    estimator: ClassVar[Literal["least squares", "ridge"]] = "least squares"
    reference: ClassVar[str] = "RAGE paper, Algorithm 1; docs/confidence.md, Corollary 2 (mends erratum E1)"

    def beta(self, evidence: Evidence) -> float:
        """log(c K² t²/δ)."""
        return math.log(self.factor * evidence.items**2 * evidence.check**2 / evidence.delta)


@final
@dataclass(frozen=True)
class SelfNormalised(Threshold):
    """½(√(2 log(1/δ) + logdet) + √η S)²: every direction and every time at once (Abbasi-Yadkori et al. 2011)."""

    union: bool = False
    """Whether to pay for K² directions too, as LinGapE's paper does without need."""

    name: ClassVar[str] = "self-normalised"
    proven: ClassVar[bool] = True
    data: ClassVar[Data] = "adaptive"
    estimator: ClassVar[Literal["least squares", "ridge"]] = "ridge"
    reference: ClassVar[str] = "Abbasi-Yadkori, Pál, Szepesvári 2011, Theorem 2; docs/confidence.md, Theorem 3"

    def beta(self, evidence: Evidence) -> float:
        """As the class says; with ``union``, δ is divided by K²."""
        delta = evidence.delta / (evidence.items**2 if self.union else 1)
        root = math.sqrt(2.0 * math.log(1.0 / delta) + evidence.logdet)
        return 0.5 * (root + math.sqrt(evidence.penalty) * evidence.norm_bound) ** 2
