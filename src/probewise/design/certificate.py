"""The proof of optimality that every design carries; this module cannot import a solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probewise.coordinates import Array
from probewise.design.criterion import Directions, largest_variance
from probewise.design.farthest import Labels


@dataclass(frozen=True)
class Witness:
    """Weights p_y on some directions and a vector v_y for each: anything gives a valid bound, good ones a tight one."""

    labels: Labels
    """(k,): labels of directions of the set."""
    multipliers: Array
    """(k,): non-negative p_y."""
    vectors: Array
    """(k, d): v_y; A(w)⁻¹y of an optimal w is best."""


@dataclass(frozen=True)
class Certificate:
    """lower <= optimum <= value."""

    value: float
    """(cost·w) max_y y'A(w)⁻¹y of the design."""
    lower: float
    """Proven lower bound on the same quantity over all designs."""

    @property
    def gap(self) -> float:
        """Relative distance value/lower - 1."""
        return self.value / self.lower - 1.0 if self.lower > 0 else float("inf")


def lower_bound(probes: Array, cost: Array, directions: Directions, witness: Witness) -> float:
    """The bound (Σ p_y v_y'y)² / (Σ p_y · max_x Σ p_y (x'v_y)²/c_x) on the optimum, in O(nkd).

    For every design w of cost 1, Σ p_y y'A(w)⁻¹y >= Σ p_y (2s v_y'y - s² v_y'A(w)v_y) for each s, and
    Σ p_y v_y'A(w)v_y = Σ_x w_x Σ_y p_y (x'v_y)² <= max_x Σ_y p_y (x'v_y)²/c_x; the best s gives the bound.
    """
    p = witness.multipliers
    if not (np.isfinite(p).all() and (p >= 0).all() and np.isfinite(witness.vectors).all()):
        return 0.0
    h = float(p @ np.einsum("ij,ij->i", witness.vectors, directions.rows(witness.labels)))
    g = float(np.max(_quadratic(probes, witness.vectors * np.sqrt(p)[:, None]) / cost))
    return h * h / (g * float(p.sum())) if h > 0 and g > 0 else 0.0


def _quadratic(probes: Array, factors: Array) -> Array:
    """(n,): Σ_y (x'v_y)², through the smaller of the two products."""
    if factors.shape[0] > factors.shape[1]:
        factors = np.asarray(np.linalg.qr(factors, mode="r"))
    return np.asarray(((probes @ factors.T) ** 2).sum(axis=1))


def certify(probes: Array, cost: Array, directions: Directions, weights: Array, witness: Witness) -> Certificate:
    """Both bounds for ``weights`` (n,): the value by an exact maximum over directions, the optimum by ``witness``."""
    value = float(cost @ weights) * largest_variance(probes, weights, directions)
    return Certificate(value, lower_bound(probes, cost, directions, witness))
