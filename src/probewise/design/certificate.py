"""The proof of optimality that every design carries, rounding included; this module cannot import a solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from probewise.arithmetic import UNIT, Image, image
from probewise.coordinates import Array, coordinates
from probewise.design.criterion import Directions, contains
from probewise.design.farthest import Labels, square_norms


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
    """lower <= optimum <= value, whatever was lost to rounding on the way."""

    value: float
    """At least (cost·w) max_y y'A(w)⁻¹y of the design, by no more than rounding."""
    lower: float
    """Proven lower bound on the same quantity over all designs."""
    exact: bool = True
    """Whether it is about the numbers as given; if not, probes depend on each other up to rounding only, or
    directions lie in their span up to rounding only, and it is about the nearest numbers for which they do."""

    @property
    def gap(self) -> float:
        """Relative distance value/lower - 1."""
        return self.value / self.lower - 1.0 if self.lower > 0 else float("inf")


@dataclass(frozen=True)
class Frame:
    """Probes and directions in coordinates y @ transform, with bounds on what rounding did to them."""

    probes: Image
    """(n, r)."""
    directions: Directions
    """The directions, of dimension r."""
    error: float
    """A bound on the Euclidean error of every direction."""
    precise: bool
    """Whether products were formed in twice the working precision."""

    @property
    def rank(self) -> int:
        """The dimension r."""
        return int(self.probes.rows.shape[1])


def framed(probes: Array, directions: Directions, transform: Array, *, precise: bool) -> Frame:
    """Probes (n, d) and directions in the coordinates of ``transform`` (d, r), which is taken to be exact."""
    mapped, error = directions.image(transform, precise=precise)
    return Frame(image(probes, transform, precise=precise), mapped, error, precise)


def lower_bound(probes: Array, cost: Array, directions: Directions, witness: Witness) -> float:
    """The bound (Σ p_y v_y'y)² / (Σ p_y · max_x Σ p_y (x'v_y)²/c_x) on the optimum, less its rounding, in O(nkd).

    For every design w of cost 1, Σ p_y y'A(w)⁻¹y >= Σ p_y (2s v_y'y - s² v_y'A(w)v_y) for each s, and
    Σ p_y v_y'A(w)v_y = Σ_x w_x Σ_y p_y (x'v_y)² <= max_x Σ_y p_y (x'v_y)²/c_x; the best s gives the bound.
    """
    largest = np.abs(probes).max(axis=0)
    unit = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))))  # powers of two scale without rounding
    frame = framed(probes, directions, np.diag(1.0 / unit), precise=False)
    return lower_in(frame, cost, Witness(witness.labels, witness.multipliers, witness.vectors * unit))


def lower_in(frame: Frame, cost: Array, witness: Witness) -> float:
    """The lower bound for a witness in the coordinates of a frame (docs/theory.md, theorem 8)."""
    p, vectors = witness.multipliers, witness.vectors
    if not (np.isfinite(p).all() and (p >= 0).all() and np.isfinite(vectors).all()):
        return 0.0
    p, vectors = _near_one(p, vectors)
    rows = frame.directions.rows(witness.labels)
    unit = _unit(*vectors.shape)
    doubt = frame.error + unit * frame.directions.reach
    h = float(p @ (np.einsum("ij,ij->i", vectors, rows) - doubt * np.sqrt(square_norms(vectors))))
    root, stretch, error = _triangle(vectors * np.sqrt(p)[:, None])
    norms = np.sqrt(square_norms(frame.probes.rows))
    size = stretch * float(np.linalg.norm(root)) + error
    lengths = stretch * np.sqrt(square_norms(frame.probes.rows @ root.T))
    lengths += size * (frame.probes.errors + unit * norms) + error * norms
    g = float(np.max(lengths**2 / cost))
    return (1.0 - unit) * h * h / (g * float(p.sum())) if h > 0 and g > 0 else 0.0


def _near_one(p: Array, vectors: Array) -> tuple[Array, Array]:
    """Multipliers and vectors times powers of two, which leave the bound as it is: no square underflows that counts."""
    _, exponent = np.frexp(p.max(initial=0.0))
    p = np.ldexp(p, -2 * (exponent // 2))  # so that roots, too, change by a power of two
    vectors = np.where(p[:, None] > 0, vectors, 0.0)
    _, exponent = np.frexp(np.abs(vectors * np.sqrt(p)[:, None]).max(initial=0.0))
    return p, np.ldexp(vectors, -exponent)


def _unit(*shape: int) -> float:
    """A bound on the relative rounding of what is summed over dimensions of this shape, with room to spare."""
    return 4.0 * (sum(shape) + 10) * UNIT


def _triangle(factors: Array) -> tuple[Array, float, float]:
    """R of at most r rows, s and e with ‖Fx‖ <= s‖Rx‖ + e‖x‖ for all x: F = QR as computed, judged by its residual."""
    k, r = factors.shape
    if k <= r:
        return factors, 1.0, 0.0
    q, root = np.linalg.qr(factors)
    unit = _unit(k, r)
    error = float(np.linalg.norm(factors - q @ root)) + unit * float(np.linalg.norm(q) * np.linalg.norm(root))
    skew = float(np.linalg.norm(q.T @ q - np.eye(r))) + unit * r
    return root, float(np.sqrt(1.0 + 1.01 * skew)), 1.01 * error


def largest_in(frame: Frame, support: Labels, weights: Array) -> float:
    """At least max_y y'A(w)⁻¹y for ``weights`` (p,) on the probes in ``support``; infinite if they lack full rank.

    W from a QR factorisation makes G = W'A(w)W nearly the identity. Whatever W is, y'A⁻¹y <= ‖W'y‖²/λ, λ the
    smallest eigenvalue of G, and λ >= 1 - ‖G - I‖ (docs/theory.md, theorem 9).
    """
    rows, root = frame.probes.rows[support], np.sqrt(weights)
    triangle = np.asarray(np.linalg.qr(root[:, None] * rows, mode="r"))
    if triangle.shape[0] < frame.rank or not np.diag(triangle).all():
        return float("inf")
    with np.errstate(over="ignore", invalid="ignore"):
        whitener = np.asarray(solve_triangular(triangle, np.eye(frame.rank), check_finite=False))
        size = float(np.linalg.norm(whitener))
        if not size < 1e15:
            return float("inf")
        unit = _unit(*rows.shape)
        white = (root[:, None] * rows) @ whitener
        slip = size * float(np.linalg.norm(root * (frame.probes.errors[support] + unit * np.sqrt(square_norms(rows)))))
        skew = float(np.linalg.norm(white.T @ white - np.eye(frame.rank))) + unit * float(np.linalg.norm(white)) ** 2
        skew += 2.0 * slip * float(np.sqrt(1.0 + skew)) + slip**2
    if not skew < 0.5:
        return float("inf")
    square = frame.directions.mapped(whitener).largest()[1] * (1.0 + _unit(frame.rank) * (16 + 4 * frame.rank))
    length = float(np.sqrt(square)) + size * (frame.error + unit * frame.directions.reach)
    return (1.0 + unit) * length**2 / (1.0 - 1.01 * skew)


def value_of(
    probes: Array, cost: Array, directions: Directions, weights: Array, frame: Frame, *, exact: bool
) -> tuple[float, bool]:
    """At least (cost·w) max_y y'A(w)⁻¹y for ``weights`` (n,), and whether that is about the numbers as given.

    ``exact`` says so of the frame. Probes with weight that span less than the frame must hold every direction
    exactly; or up to rounding, where the frame does no better.
    """
    support = np.flatnonzero(weights > 0)
    if support.size == 0:
        return float("inf"), exact
    spent = float(cost[support] @ weights[support]) * (1.0 + _unit(support.size))
    largest = largest_in(frame, support, weights[support])
    if largest < np.inf:
        return spent * largest, exact
    measured = coordinates(probes[support])
    if 0 < measured.rank < frame.rank:
        sure = directions.exactly_in(probes[support]) == (measured.rank, True)
        if sure or (not exact and contains(measured, directions)):
            part = framed(probes[support], directions, measured.transform, precise=frame.precise)
            everything = np.arange(support.size)
            return spent * largest_in(part, everything, weights[support]), sure
    return float("inf"), exact


def certify(probes: Array, cost: Array, directions: Directions, weights: Array, witness: Witness) -> Certificate:
    """Both bounds for ``weights`` (n,): the value by an exact maximum over directions, the optimum by ``witness``."""
    space = coordinates(probes)
    exact = space.rank == probes.shape[1] or directions.exactly_in(probes) == (space.rank, True)
    frame = framed(probes, directions, space.transform, precise=False)
    value, exact = value_of(probes, cost, directions, weights, frame, exact=exact)
    return Certificate(value, lower_bound(probes, cost, directions, witness), exact)
