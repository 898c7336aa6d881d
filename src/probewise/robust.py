"""Robust estimates from random probes: each value by itself, whatever the number of features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from probewise.coordinates import Array
from probewise.errors import InvalidDesign, InvalidMeasurements, NotIdentifiable

STEPS = 60
"""Halvings of the interval in which a mean lies."""


@dataclass(frozen=True, eq=False)
class RobustEstimates:
    """Values v'θ, each with the half-width of its interval; all intervals hold together with probability 1-δ."""

    values: Array
    """(k,): robust means."""
    widths: Array
    """(k,): half-widths, the bias of a penalty included."""


def robust_values(
    probes: ArrayLike,
    weights: ArrayLike,
    indices: ArrayLike,
    outcomes: ArrayLike,
    targets: ArrayLike,
    *,
    largest_mean: float,
    sigma: float,
    delta: float = 0.05,
    penalty: float = 0.0,
    norm_bound: float = 0.0,
) -> RobustEstimates:
    """v'θ for ``targets`` (k, d) from T probes drawn independently by ``weights`` (n,): RIPS, docs/kernels.md.

    |x'θ| ≤ ``largest_mean`` for every probe and the noise has variance at most σ². A ``penalty`` γ replaces A(λ) by
    A(λ) + γI, and needs ``norm_bound`` ≥ ‖θ‖. The probes must have been drawn at random: a planned allocation is no
    sample. Camilleri, Katz-Samuels, Jamieson 2021; the mean of each is Catoni's (2012).
    """
    X, V = np.asarray(probes, dtype=np.float64), np.atleast_2d(np.asarray(targets, dtype=np.float64))
    share = np.asarray(weights, dtype=np.float64)
    index, outcome = np.asarray(indices), np.asarray(outcomes, dtype=np.float64)
    _check(X, share, index, outcome, V)
    _check_bounds(largest_mean, sigma, delta, penalty, norm_bound)
    log = math.log(2.0 * len(V) / delta)
    if index.size <= 2.0 * log:
        raise InvalidMeasurements(f"{index.size} measurements are too few for {len(V)} values at delta = {delta:g}; "
                                  f"take more than {2.0 * log:.0f}.")  # fmt: skip
    information = (X.T * share) @ X + penalty * np.eye(X.shape[1])
    solved = _solved(information, V)
    variance = np.maximum((V * solved).sum(axis=1), 0.0)
    spread = np.sqrt((largest_mean**2 + sigma**2) * variance)
    rows = (X[index] * outcome[:, None]) @ solved.T
    means = np.array([_catoni(rows[:, j], spread[j], log) for j in range(len(V))])
    bias = math.sqrt(penalty) * norm_bound * np.sqrt(variance)
    return RobustEstimates(means, spread * math.sqrt(2.0 * log / (index.size - 2.0 * log)) + bias)


def _catoni(draws: Array, spread: float, log: float) -> float:
    """The m with Σψ(α(Y-m)) = 0, ψ(x) = sign(x)·log(1 + |x| + x²/2), for variance at most spread²."""
    if spread == 0.0:
        return 0.0
    n = draws.size
    alpha = math.sqrt(2.0 * log / (n * spread**2 * (1.0 + 2.0 * log / (n - 2.0 * log))))
    low, high = float(draws.min()), float(draws.max())
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        scaled = alpha * (draws - middle)
        total = float((np.sign(scaled) * np.log1p(np.abs(scaled) + 0.5 * scaled**2)).sum())
        low, high = (middle, high) if total > 0 else (low, middle)
    return 0.5 * (low + high)


def _solved(information: Array, targets: Array) -> Array:
    """(k, d): A⁻¹v for each target; what A does not determine is refused."""
    values, vectors = np.linalg.eigh(information)
    kept = values > values.size * np.finfo(float).eps * values[-1]
    inside = targets @ vectors
    lost = np.linalg.norm(inside[:, ~kept], axis=1) > 1e-9 * np.linalg.norm(targets, axis=1)
    if lost.any():
        raise NotIdentifiable(f"the weights do not determine target {int(np.argmax(lost))}; add probes or a penalty.")
    return np.asarray((inside[:, kept] / values[kept]) @ vectors[:, kept].T)


def _check(X: Array, share: Array, index: Array, outcome: Array, V: Array) -> None:
    if X.ndim != 2 or share.shape != (len(X),) or (share < 0).any() or not math.isclose(float(share.sum()), 1.0):
        raise InvalidDesign(f"weights must be one per probe, at least 0 and with sum 1, got shape {share.shape}.")
    if V.shape[1] != X.shape[1]:
        raise InvalidDesign(f"targets need the {X.shape[1]} features of the probes, got {V.shape[1]}.")
    if index.ndim != 1 or index.shape != outcome.shape or index.dtype.kind not in "iu":
        raise InvalidMeasurements(f"each outcome needs the number of its probe, got {index.shape} and {outcome.shape}.")
    if not np.isfinite(outcome).all() or (index < 0).any() or (index >= len(X)).any() or (share[index] == 0).any():
        raise InvalidMeasurements("outcomes must be finite, and of probes that the weights can draw.")


def _check_bounds(largest_mean: float, sigma: float, delta: float, penalty: float, norm_bound: float) -> None:
    if not (largest_mean >= 0 and sigma >= 0 and largest_mean + sigma > 0 and 0 < delta < 1):
        raise InvalidMeasurements("largest_mean and sigma must be at least 0, not both 0, and delta between 0 and 1.")
    if penalty < 0 or (penalty > 0 and norm_bound <= 0):
        raise InvalidMeasurements("a penalty must be at least 0 and needs a norm_bound, or its bias is not bounded.")
