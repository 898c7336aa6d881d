"""Thresholds and widths: how far an estimate may be from the truth, each marked proven or heuristic.

A threshold β turns the variance v of a comparison y'θ̂ into the half-width √(2βv). Proofs: docs/confidence.md.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np

from probewise.coordinates import Array
from probewise.errors import InvalidAlgorithm

Data = Literal["fixed", "adaptive"]
"""fixed: the probes of a round do not depend on its outcomes; adaptive: each measurement may depend on all before."""
Estimator = Literal["least squares", "ridge", "any"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a threshold may look at when a decision is taken."""

    delta: float
    """Probability of error allowed over all checks."""
    check: int
    """Number of this check, from 1; numbers may be left out."""
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
    """The ridge parameter η."""
    norm_bound: float = math.inf
    """A bound S on the norm of θ."""
    largest_probe: float = math.inf
    """L: the largest norm of a probe, in units of its noise."""
    information: Array | None = None
    """(r, r): V in coordinates of the span of the probes that were fixed before the first measurement."""


def spent(delta: float, check: int) -> float:
    """The part δ/(t(t+1)) of δ that check t = 1, 2, … may spend; all parts together are δ."""
    return delta / (check * (check + 1))


class Threshold(abc.ABC):
    """β(evidence): a comparison holds where y'θ̂ > √(2βv)."""

    name: ClassVar[str]
    proven: ClassVar[bool]
    """Whether docs/confidence.md proves it."""
    data: ClassVar[Data]
    """The most general data that it allows, or is used with."""
    estimator: ClassVar[Estimator]
    reference: ClassVar[str]

    @abc.abstractmethod
    def beta(self, evidence: Evidence) -> float:
        """β for this check."""

    def width(self, evidence: Evidence) -> float:
        """√(2β): the half-width is this times the standard error."""
        return math.sqrt(2.0 * self.beta(evidence))


def require(threshold: Threshold, data: Data, estimator: Estimator, user: str) -> None:
    """Refuse a threshold that does not hold for the data or the estimate of an algorithm."""
    if data == "adaptive" and threshold.data == "fixed":
        raise InvalidAlgorithm(
            f"{user} chooses each measurement by the outcomes before it, but threshold '{threshold.name}' holds only "
            "for rounds planned before their outcomes; choose one that allows adaptive data, such as 'self-normalised'."
        )
    if threshold.estimator not in (estimator, "any"):
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
    estimator: ClassVar[Estimator] = "least squares"
    reference: ClassVar[str] = "docs/confidence.md, Theorem 1"

    def beta(self, evidence: Evidence) -> float:
        """log(rivals/δ_t), δ_t = δ/(t(t+1))."""
        return math.log(max(evidence.rivals, 1) / spent(evidence.delta, evidence.check))


@final
@dataclass(frozen=True)
class PairsUnion(Threshold):
    """log(c K²/δ_t) with δ_t = δ/t²: the paper (c = 1) and its authors' code (c = 2; c = π²/3 for XY-Adaptive)."""

    factor: float = 1.0
    """The constant c, at least 1."""

    name: ClassVar[str] = "pairs"
    proven: ClassVar[bool] = True
    data: ClassVar[Data] = "fixed"
    estimator: ClassVar[Estimator] = "least squares"
    reference: ClassVar[str] = "RAGE paper, Algorithm 1; docs/confidence.md, Corollary 2 (mends erratum E1)"

    def __post_init__(self) -> None:
        _check_factor(self.factor, 1.0)

    def beta(self, evidence: Evidence) -> float:
        """log(c K² t²/δ)."""
        return math.log(self.factor * evidence.items**2 * evidence.check**2 / evidence.delta)


@final
@dataclass(frozen=True)
class ItemsUnion(Threshold):
    """log(c K/δ_t) with δ_t = δ/t²: the authors' XY-Oracle (c = 2)."""

    factor: float = 2.0
    """The constant c, at least π²/6 = Σ 1/t²."""

    name: ClassVar[str] = "items"
    proven: ClassVar[bool] = True
    data: ClassVar[Data] = "fixed"
    estimator: ClassVar[Estimator] = "least squares"
    reference: ClassVar[str] = "code of the RAGE authors; docs/confidence.md, Corollary 2"

    def __post_init__(self) -> None:
        _check_factor(self.factor, math.pi**2 / 6.0)

    def beta(self, evidence: Evidence) -> float:
        """log(c K t²/δ)."""
        return math.log(self.factor * evidence.items * evidence.check**2 / evidence.delta)


@final
@dataclass(frozen=True)
class SelfNormalised(Threshold):
    """½(√(2 log(1/δ) + logdet) + √η S)²: every direction and every time at once (Abbasi-Yadkori et al. 2011)."""

    union: bool = False
    """Whether to pay for K² directions too, as LinGapE's paper does without need."""

    name: ClassVar[str] = "self-normalised"
    proven: ClassVar[bool] = True
    data: ClassVar[Data] = "adaptive"
    estimator: ClassVar[Estimator] = "ridge"
    reference: ClassVar[str] = "Abbasi-Yadkori, Pál, Szepesvári 2011, Theorem 2; docs/confidence.md, Theorem 3"

    def beta(self, evidence: Evidence) -> float:
        """β of Theorem 3 in docs/confidence.md; with ``union``, δ is divided by K²."""
        delta = evidence.delta / (evidence.items**2 if self.union else 1)
        return _ridge_beta(delta, evidence.logdet, evidence, self.name)


@final
@dataclass(frozen=True)
class ExplicitRidge(Threshold):
    """The same with r·log(1 + tL²/(ηr)) in place of the determinant, which it exceeds (LinGame)."""

    name: ClassVar[str] = "explicit-ridge"
    proven: ClassVar[bool] = True
    data: ClassVar[Data] = "adaptive"
    estimator: ClassVar[Estimator] = "ridge"
    reference: ClassVar[str] = "Degenne, Ménard, Shang, Valko 2020; docs/confidence.md, Corollary 4"

    def beta(self, evidence: Evidence) -> float:
        """(√(log(1/δ) + (r/2) log(1 + tL²/(ηr))) + √(η/2) S)²."""
        _check_known(evidence.largest_probe, "largest_probe", "the largest norm of a probe", self.name)
        r, trace = evidence.dimension, evidence.measurements * evidence.largest_probe**2
        logdet = r * math.log1p(trace / (evidence.penalty * r))
        return _ridge_beta(evidence.delta, logdet, evidence, self.name)


@final
@dataclass(frozen=True)
class TrackAndStop(Threshold):
    """(1+u)·log(√det(V/(uc) + I)/δ) once V ⪰ cI, infinite before: needs a bound on neither θ nor the items."""

    u: float = 0.1
    """Price of doing without a penalty in the estimate."""
    c: float = 1.0
    """Least eigenvalue of V from which on it is tested; in coordinates where the uniform design has V = nI."""

    name: ClassVar[str] = "track-and-stop"
    proven: ClassVar[bool] = True
    data: ClassVar[Data] = "adaptive"
    estimator: ClassVar[Estimator] = "least squares"
    reference: ClassVar[str] = "Jedra and Proutiere 2020; docs/confidence.md, Theorem 5"

    def __post_init__(self) -> None:
        if not (0 < self.u < math.inf and 0 < self.c < math.inf):
            raise InvalidAlgorithm(f"u and c must be positive and finite, got {self.u!r} and {self.c!r}.")

    def beta(self, evidence: Evidence) -> float:
        """The formula of the class; infinite while an eigenvalue of the information is below c."""
        if evidence.information is None:
            raise InvalidAlgorithm(f"threshold '{self.name}' needs the information matrix; choose another.")
        values = np.linalg.eigvalsh(evidence.information)
        if values.min(initial=math.inf) < self.c:
            return math.inf
        half = 0.5 * float(np.log1p(np.maximum(values, 0.0) / (self.u * self.c)).sum())
        return (1.0 + self.u) * (half + math.log(1.0 / evidence.delta))


@final
@dataclass(frozen=True)
class TrackAndStopHeuristic(Threshold):
    """(1+u)(log(1/δ) + ½ log t + (r/2) log(1 + 1/u)): used in experiments, not proven."""

    u: float = 0.1
    """The parameter u of ``TrackAndStop``."""

    name: ClassVar[str] = "track-and-stop-heuristic"
    proven: ClassVar[bool] = False
    data: ClassVar[Data] = "adaptive"
    estimator: ClassVar[Estimator] = "any"
    reference: ClassVar[str] = "code of Jedra and Proutiere 2020"

    def beta(self, evidence: Evidence) -> float:
        """The formula of the class at t measurements so far."""
        size = 0.5 * (math.log(max(evidence.measurements, 1)) + evidence.dimension * math.log1p(1.0 / self.u))
        return (1.0 + self.u) * (math.log(1.0 / evidence.delta) + size)


@final
@dataclass(frozen=True)
class LogLog(Threshold):
    """log((1 + log t)/δ): used in experiments by many, not proven."""

    name: ClassVar[str] = "loglog"
    proven: ClassVar[bool] = False
    data: ClassVar[Data] = "adaptive"
    estimator: ClassVar[Estimator] = "any"
    reference: ClassVar[str] = "Garivier and Kaufmann 2016, section 6"

    def beta(self, evidence: Evidence) -> float:
        """The formula of the class at t measurements so far."""
        return math.log((1.0 + math.log(max(evidence.measurements, 1))) / evidence.delta)


@final
@dataclass(frozen=True)
class LogTime(Threshold):
    """log((t + 1)/δ): used in experiments, not proven."""

    name: ClassVar[str] = "logtime"
    proven: ClassVar[bool] = False
    data: ClassVar[Data] = "adaptive"
    estimator: ClassVar[Estimator] = "any"
    reference: ClassVar[str] = "Tirinzoni and Degenne 2022, experiments"

    def beta(self, evidence: Evidence) -> float:
        """The formula of the class at t measurements so far."""
        return math.log((evidence.measurements + 1.0) / evidence.delta)


THRESHOLDS: dict[str, type[Threshold]] = {
    "star": StarUnion,
    "pairs": PairsUnion,
    "items": ItemsUnion,
    "self-normalised": SelfNormalised,
    "explicit-ridge": ExplicitRidge,
    "track-and-stop": TrackAndStop,
    "track-and-stop-heuristic": TrackAndStopHeuristic,
    "loglog": LogLog,
    "logtime": LogTime,
}
"""Every threshold by its name."""


def _ridge_beta(delta: float, logdet: float, evidence: Evidence, name: str) -> float:
    """½(√(2 log(1/δ) + logdet) + √η S)²."""
    _check_known(evidence.norm_bound, "norm_bound", "a bound on the norm of theta", name)
    root = math.sqrt(2.0 * math.log(1.0 / delta) + logdet)
    return 0.5 * (root + math.sqrt(evidence.penalty) * evidence.norm_bound) ** 2


def _check_known(value: float, field: str, what: str, name: str) -> None:
    if not math.isfinite(value):
        raise InvalidAlgorithm(f"threshold '{name}' needs {what} ({field}), got none; give it or choose another.")


def _check_factor(factor: float, least: float) -> None:
    if not least <= factor < math.inf:
        raise InvalidAlgorithm(f"factor must be at least {least:.4g} for the bound to hold, got {factor!r}.")


def log_evidence(total: Array, precision: Array, scale: Array) -> Array:
    """(k,): log of the half-normal mixture of exp(λS - λ²W/2), S = ``total``, W = ``precision``, λ ~ |N(0, 1/scale)|.

    Where S is a martingale with sub-Gaussian variance proxy W, it is a non-negative supermartingale that starts at 1:
    it ever exceeds 1/δ with probability at most δ (docs/sage.md).
    """
    from scipy.special import erfcx, log_ndtr

    spread = precision + scale
    z = total / np.sqrt(spread)
    ahead = np.maximum(z, 0.0)
    log = math.log(2.0) + 0.5 * ahead**2 + log_ndtr(ahead)
    if (z < 0).any():  # log 2Φ(z)exp(z²/2): both factors are huge or tiny for z ≪ 0, where erfcx is their product
        log = np.where(z < 0, np.log(erfcx(np.maximum(-z, 0.0) / math.sqrt(2.0))), log)
    return np.asarray(log - 0.5 * np.log(spread / scale))


def log_wealth(total: Array, precision: Array, unit: Array) -> Array:
    """(k,): log of a mixture of ``log_evidence`` over the scales 2·unit, 20·unit, …, with weights ∝ 1, 1/2, 1/3, …

    Sharp over seven decades of W/unit: what is decided late pays little more than what is decided early.
    """
    if np.size(total) > _MANY and np.shape(total) == np.shape(precision) == np.shape(unit) == (np.size(total),):
        blocks = (slice(low, low + _MANY) for low in range(0, np.size(total), _MANY))  # which fit into a cache
        return np.concatenate([log_wealth(total[at], precision[at], unit[at]) for at in blocks])
    shares, scales = (part.reshape(-1, *(1,) * np.ndim(unit)) for part in DECADES)
    return np.asarray(np.logaddexp.reduce(shares + log_evidence(total, precision, scales * unit)))


_MANY = 10_000
_SHARES = 1.0 / np.arange(1, 8)
DECADES = np.log(_SHARES / _SHARES.sum()), 2.0 * 10.0 ** np.arange(7)
"""Logs of the shares of an account, and the scales at which each is bet, in units of the first round."""


def mixture_width(precision: Array, scale: Array, alpha: float) -> Array:
    """(k,): half-width of S/W, W = ``precision``, from the two-sided mixture λ ~ N(0, 1/scale); infinite for W = 0.

    S/W stays within it of what it estimates at all times at once, with probability at least 1 - alpha
    (docs/confidence.md, Theorem 6).
    """
    known = (precision > 0) & (scale > 0)
    spread = np.where(known, precision + scale, 1.0)
    log = np.log(spread / np.where(known, scale, 1.0)) + 2.0 * math.log(1.0 / alpha)
    return np.where(known, np.sqrt(spread * log) / np.where(known, precision, 1.0), np.inf)


@final
@dataclass(frozen=True)
class ReplicateBound:
    """An upper bound on σ² at all times at once, from the scatter of Gaussian replicates within rounds."""

    rates: tuple[float, ...] = tuple(16.0 * 3.0**-k for k in range(9))
    """κ > 0 of the martingales exp(-κ Q/σ²)·(1 + 2κ)^(ν/2) that are averaged; small ones serve many degrees ν."""

    name: ClassVar[str] = "replicates"
    proven: ClassVar[bool] = True
    assumes: ClassVar[str] = "independent Gaussian replicates of one σ, up to the relative scales given"
    reference: ClassVar[str] = "docs/confidence.md, Theorem 7"

    def __post_init__(self) -> None:
        if not self.rates or not all(0 < rate < math.inf for rate in self.rates):
            raise InvalidAlgorithm(f"rates must be positive and finite, at least one, got {self.rates!r}.")

    def variance(self, value: float, degrees: int, alpha: float) -> float:
        """The bound for scatter Q = ``value`` with ν = ``degrees``; infinite with too few, or if replicates all agree.

        It is Q/q for the q at which the mean of exp(-κq)(1 + 2κ)^(ν/2) is 1/alpha. Its logarithm f is convex and falls
        with q: Newton's steps from 0 rise to the root without passing it, so that each of them gives a bound.
        """
        rates = np.array(self.rates)
        growth, wanted = 0.5 * degrees * np.log1p(2.0 * rates), math.log(rates.size / alpha)
        if value <= 0 or float(np.logaddexp.reduce(growth)) <= wanted:
            return math.inf
        q = 0.0
        for _ in range(100):
            logs = growth - rates * q
            top = float(logs.max())
            parts = np.exp(logs - top)
            excess = top + math.log(parts.sum()) - wanted
            step = excess * float(parts.sum() / (parts @ rates))
            if step <= 1e-12 * q:
                break
            q += step
        return value / q


def noise_bound(value: float, degrees: int, alpha: float) -> float:
    """``ReplicateBound().variance``: an upper bound on σ² at all times at once."""
    return ReplicateBound().variance(value, degrees, alpha)
