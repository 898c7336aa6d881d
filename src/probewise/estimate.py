"""Estimates: least squares, ridge and rank-one updating, with exact variances of directions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.linalg.lapack import dgeqp3, dorgqr, dtrtrs

from probewise.coordinates import Array, Coordinates, coordinates
from probewise.design.criterion import Directions, contains
from probewise.design.farthest import square_norms
from probewise.design.memory import remembered
from probewise.errors import InvalidDesign, InvalidMeasurements, NotIdentifiable
from probewise.measurements import Measurements, SumOfSquares, per_probe
from probewise.outcomes import Bettor
from probewise.threads import few

REFRESH = 1000
"""Rank-one updates after which the inverse is computed afresh; O(d³) / REFRESH is far below O(d²)."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Weighted least squares on measurements whose probes were chosen before their outcomes were seen.

    With V = Σ n_i x_i x_i'/σ_i², y'(θ̂ - θ) is sub-Gaussian with variance y'V⁻¹y for each y in range(V), and
    unknown for any other y: its variance is infinite here, never that of a pseudo-inverse.
    """

    theta: Array
    """(d,): the solution of least norm in features scaled to their largest entry; unique if rank is d."""
    information: Array
    """(d, d): V, in the features as given."""
    whitener: Array
    """(d, rank): y'V⁻¹y = |y @ whitener|² for y in range(V)."""
    measured: Coordinates
    """Coordinates of range(V), the span of the measured probes."""
    lack_of_fit: SumOfSquares
    """Σ n_i (mean_i - x_i'θ̂)²/σ_i² with p - rank degrees of freedom, p the number of measured probes."""
    pure_error: SumOfSquares
    """Scatter of replicates in units of σ² with Σ (n_i - 1) degrees of freedom."""
    bettor: Bettor | None = None
    """What bets on the outcomes themselves, if their law does."""
    seen: Array | None = None
    """(p, rank): x_i @ whitener/σ_i² of the measured probes, for bets."""

    def __post_init__(self) -> None:
        for array in (self.theta, self.information, self.whitener):
            array.setflags(write=False)

    @property
    def rank(self) -> int:
        """Dimension of range(V)."""
        return self.measured.rank

    @property
    def residual(self) -> SumOfSquares:
        """Both together, with n - rank degrees of freedom; a mean square near 1 if model and σ are right."""
        lack, pure = self.lack_of_fit, self.pure_error
        return SumOfSquares(lack.value + pure.value, lack.degrees + pure.degrees)

    def mean(self, directions: ArrayLike) -> Array:
        """(k,): y'θ̂ for rows y (k, d); it says nothing where the variance is infinite."""
        return _rows(directions, self.theta.size) @ self.theta

    def variance(self, directions: ArrayLike, magnitudes: Array | None = None) -> Array:
        """(k,): y'V⁻¹y for rows y (k, d), infinite for y outside range(V).

        ``magnitudes`` (k, d), |z| + |z'| for y = z - z', says what the rows were formed from: its rounding is no part
        outside. Without it, |y|.
        """
        rows = _rows(directions, self.theta.size)
        return np.where(self.measured.is_inside(rows, magnitudes), square_norms(rows @ self.whitener), np.inf)

    def largest_variance(self, directions: Directions) -> float:
        """The largest y'V⁻¹y over a set of directions, infinite if one of them lies outside range(V)."""
        _rows(directions.generators, self.theta.size)
        if not contains(self.measured, directions):
            return math.inf
        return directions.mapped(self.whitener).largest()[1]


@few
def least_squares(
    probes: ArrayLike, measurements: Measurements, *, sigma: ArrayLike = 1.0, bettor: Bettor | None = None
) -> Estimate:
    """Weighted least squares of outcomes on probes (n, d), in O(p d²) for p measured probes.

    The range is decided on the measured probes without their weights, in units of the features taken from all
    probes, and weights come in afterwards: neither units nor unequal counts or σ can hide a direction.
    """
    matrix, unit, weight = _checked(probes, measurements, sigma)
    # Without any measurement, one probe of weight 0 stands in as a row of zeros: rank 0.
    index = np.flatnonzero(measurements.count) if measurements.n else np.zeros(1, dtype=np.int64)
    rows = np.where(weight[index, None] > 0, matrix[index], 0.0)
    root, mean = weight[index], measurements.mean[index]
    span = _remembered_span(rows, unit) if rows.size <= _SMALL else _span(rows, unit)
    solution, inverse = _factored(root[:, None] * span.probes, root * mean)
    residual = root * (mean - span.probes @ solution)
    weighted, whitener = root[:, None] * rows, span.transform @ inverse
    weights = root**2 / np.maximum(measurements.count[index], 1)
    return Estimate(
        theta=span.transform @ solution,
        information=weighted.T @ weighted,
        whitener=whitener,
        measured=span,
        lack_of_fit=SumOfSquares(float(residual @ residual), int(np.count_nonzero(root)) - span.rank),
        pure_error=measurements.pure_error(sigma=sigma),
        bettor=bettor,
        seen=None if bettor is None else weights[:, None] * (rows @ whitener),
    )


def _span(rows: Array, unit: Array) -> Coordinates:
    """Coordinates of measured probes (p, d), in units of all probes (d,)."""
    scaled = coordinates(rows / unit)
    return replace(scaled, transform=scaled.transform / unit[:, None], scale=scaled.scale * unit, rows=rows)


_remembered_span = remembered(_span)  # rounds on the same few probes, of one run or of many, share it
_SMALL = 2_000
"""Numbers in a table that is looked up faster than it is decomposed, and kept without crowding out designs."""


@dataclass(frozen=True, eq=False)
class RidgeEstimate:
    """Ridge regression, the estimator of bounds that hold for adaptively chosen probes.

    Abbasi-Yadkori, Pál and Szepesvári 2011: |y'(θ̂ - θ)| ≤ (√(2 log(1/δ) + logdet_ratio) + √η |θ|) √norm2(y).
    """

    theta: Array
    """(d,): (V + ηI)⁻¹ Σ n_i mean_i x_i/σ_i²."""
    whitener: Array
    """(d, d): y'(V + ηI)⁻¹y = |y @ whitener|²."""
    penalty: float
    """η > 0."""
    logdet_ratio: float
    """log det(V + ηI) - log det(ηI)."""

    def __post_init__(self) -> None:
        for array in (self.theta, self.whitener):
            array.setflags(write=False)

    def mean(self, directions: ArrayLike) -> Array:
        """(k,): y'θ̂ for rows y (k, d)."""
        return _rows(directions, self.theta.size) @ self.theta

    def norm2(self, directions: ArrayLike) -> Array:
        """(k,): y'(V + ηI)⁻¹y for rows y (k, d)."""
        return square_norms(_rows(directions, self.theta.size) @ self.whitener)

    def largest_norm2(self, directions: Directions) -> float:
        """The largest y'(V + ηI)⁻¹y over a set of directions."""
        return directions.mapped(self.whitener).largest()[1]


@few
def ridge(
    probes: ArrayLike, measurements: Measurements, *, penalty: float = 1.0, sigma: ArrayLike = 1.0
) -> RidgeEstimate:
    """Ridge regression of outcomes on probes (n, d), by a QR factorisation of the probes above √η·I."""
    if not 0 < penalty < math.inf:
        raise InvalidDesign(f"penalty must be positive and finite, got {penalty!r}; 1 is usual.")
    matrix, unit, weight = _checked(probes, measurements, sigma)
    index = np.flatnonzero(measurements.count)
    root = weight[index] / math.sqrt(penalty)
    stacked = np.vstack([root[:, None] * matrix[index], np.eye(unit.size)])
    target = np.concatenate([root * measurements.mean[index], np.zeros(unit.size)])
    theta, inverse = _factored(stacked, target)
    # inverse @ inverse.T = (I + V/η)⁻¹
    logdet_ratio = -2.0 * float(np.linalg.slogdet(inverse)[1])
    return RidgeEstimate(theta, inverse / math.sqrt(penalty), float(penalty), logdet_ratio)


@dataclass(frozen=True, eq=False)
class RankOne:
    """Least squares or ridge with one measurement at a time, in O(d²) each (Sherman and Morrison 1950).

    Probes and outcomes are in units of the noise, both divided by σ. Every REFRESH updates all is computed
    directly, from sums over that block only: sums over all measurements would cost digits, not restore them.
    """

    inverse: Array
    """(d, d): V⁻¹, where V contains the penalty if there is one."""
    theta: Array
    """(d,): V⁻¹ Σ x r."""
    logdet: float
    """log det V."""
    base: Array
    """(d, d): V when all was last computed directly."""
    origin: Array
    """(d,): theta when all was last computed directly."""
    added: Array
    """(d, d): Σ xx' since then."""
    moment: Array
    """(d,): Σ x (r - x'origin) since then."""
    age: int
    """Number of updates since then."""

    @property
    def information(self) -> Array:
        """(d, d): V."""
        return self.base + self.added

    @classmethod
    def start(cls, information: ArrayLike, moment: ArrayLike | None = None) -> RankOne:
        """State for a positive definite V (d, d), as ηI for ridge, and a moment Σ x r (d,), by default 0."""
        matrix = np.array(information, dtype=np.float64)
        vector = np.zeros(matrix.shape[:1]) if moment is None else np.array(moment, dtype=np.float64)
        if vector.ndim != 1 or matrix.shape != 2 * vector.shape:
            raise InvalidDesign(
                f"information must have shape (d, d) and moment shape (d,), got {matrix.shape} and {vector.shape}."
            )
        return cls._direct(matrix, np.zeros_like(vector), vector)

    @classmethod
    def _direct(cls, information: Array, origin: Array, moment: Array) -> RankOne:
        """State with theta = origin + V⁻¹ moment, by a Cholesky factorisation of V."""
        try:
            factor = np.linalg.cholesky(information)
        except np.linalg.LinAlgError as error:
            raise NotIdentifiable(
                "information must be positive definite, got a matrix without a Cholesky factor; "
                "begin with measurements that span all features, or with a penalty."
            ) from error
        root = linalg.solve_triangular(factor, np.eye(moment.size), lower=True)
        theta = origin + root.T @ (root @ moment)
        logdet = 2.0 * float(np.log(np.diag(factor)).sum())
        zero = np.zeros_like
        return cls(root.T @ root, theta, logdet, information, theta, zero(information), zero(moment), 0)

    def updated(self, x: Array, outcome: float) -> RankOne:
        """The state after one more measurement with ``outcome`` of the probe ``x`` (d,)."""
        if not math.isfinite(outcome):
            raise InvalidMeasurements(f"an outcome must be finite, got {outcome}; leave out what was not observed.")
        added = self.added + np.multiply.outer(x, x)
        moment = self.moment + x * (outcome - float(x @ self.origin))
        if self.age + 1 >= REFRESH:
            return self._direct(self.base + added, self.origin, moment)
        step = self.inverse @ x
        growth = 1.0 + float(x @ step)  # det(V + xx') = det(V)·(1 + x'V⁻¹x)
        half = step / math.sqrt(growth)  # outer(half, half) is symmetric to the last bit
        inverse = self.inverse - np.multiply.outer(half, half)
        theta = self.theta + step * ((outcome - float(x @ self.theta)) / growth)
        logdet = self.logdet + math.log(growth)
        return RankOne(inverse, theta, logdet, self.base, self.origin, added, moment, self.age + 1)

    def mean(self, directions: ArrayLike) -> Array:
        """(k,): y'θ̂ for rows y (k, d)."""
        return _rows(directions, self.theta.size) @ self.theta

    def norm2(self, directions: ArrayLike) -> Array:
        """(k,): y'V⁻¹y for rows y (k, d)."""
        rows = _rows(directions, self.theta.size)
        norms: Array = np.einsum("ij,ij->i", rows @ self.inverse, rows)
        return norms

    def gain(self, probes: ArrayLike, directions: ArrayLike) -> Array:
        """(n, k): (x'V⁻¹y)²/(1 + x'V⁻¹x), by how much y'V⁻¹y falls when x is measured once more."""
        rows = _rows(probes, self.theta.size)
        steps = rows @ self.inverse
        growth = 1.0 + np.einsum("ij,ij->i", steps, rows)
        gains: Array = (steps @ _rows(directions, self.theta.size).T) ** 2 / growth[:, None]
        return gains


def _rows(directions: ArrayLike, dimension: int) -> Array:
    rows = np.asarray(directions, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != dimension:
        raise InvalidDesign(f"rows must be a table with {dimension} columns, got shape {rows.shape}.")
    return rows


def _checked(probes: ArrayLike, measurements: Measurements, sigma: ArrayLike) -> tuple[Array, Array, Array]:
    """Probes (n, d), the unit of each feature (d,), and the weight √n_i/σ_i of each probe (n,)."""
    matrix = np.asarray(probes, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != measurements.n_probes:
        raise InvalidMeasurements(
            f"probes must be a table with a row for each of the {measurements.n_probes} probes "
            f"of the measurements, got shape {matrix.shape}."
        )
    unit = np.abs(matrix).max(axis=0)
    if not np.isfinite(unit).all():
        feature = int(np.argmin(np.isfinite(unit)))
        raise InvalidMeasurements(f"probes must be finite, got NaN or infinity in column {feature}.")
    weight = np.sqrt(measurements.count) / per_probe(sigma, measurements.n_probes, "sigma")
    return matrix, np.where(unit > 0, unit, 1.0), weight


def _factored(rows: Array, target: Array) -> tuple[Array, Array]:
    """The c (r,) of least |rows @ c - target| and a root (r, r) of (rows' rows)⁻¹, by a pivoted QR.

    Rows sorted by size and pivoted columns keep it accurate when weights differ by many orders of magnitude
    (Cox and Higham 1998).
    """
    width = rows.shape[1]
    if width == 0:
        return np.zeros(0), np.zeros((0, 0))
    order = np.argsort(-np.abs(rows).max(axis=1), kind="stable")
    packed, pivots, scales, _, _ = dgeqp3(rows[order], lwork=_BLOCK * (width + 1) + 2 * width)
    inverse, failed = dtrtrs(packed[:width], np.eye(width))  # digits of each column, which an inverse would not keep
    if failed:
        raise np.linalg.LinAlgError
    root = np.zeros((width, width))
    root[pivots - 1] = inverse
    left = dorgqr(packed, scales, lwork=_BLOCK * width)[0]
    return root @ (left.T @ target[order]), root


_BLOCK = 32
"""Columns that LAPACK works on at a time, where there are as many."""
