"""Estimates: least squares, ridge and rank-one updating, with exact variances of directions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
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
    """(p, rank): x_i @ whitener/σ_i² of the measured probes, for bets and a misfit."""
    misfit: Array | None = None
    """(p,): n_i h_i of the measured probes, if the mean of an outcome may be off the model by h_i; else None."""

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
    probes: ArrayLike,
    measurements: Measurements,
    *,
    sigma: ArrayLike = 1.0,
    bettor: Bettor | None = None,
    unit: Array | None = None,
    misfit: Array | None = None,
) -> Estimate:
    """Weighted least squares of outcomes on probes (n, d), in O(p d²) for p measured probes.

    The range is decided on the measured probes without their weights, in units of the features taken from all
    probes, and weights come in afterwards: neither units nor unequal counts or σ can hide a direction. Who knows
    these units, as a ``Problem`` does, has checked probes and ``sigma`` (n,), and saves looking at all of them again.
    """
    matrix, unit, scale = _checked(probes, measurements, sigma, unit)
    index = _measured(measurements)
    weight, mean = measurements.weights[index], measurements.mean[index]
    made = _made(matrix[index], unit, np.sqrt(weight) / scale[index])
    span, root = made.span, made.root
    solution = made.factor.solved(root * mean)
    residual = root * (mean - span.probes @ solution)
    wanted = bettor is not None or misfit is not None
    seen = (root**2 / np.where(weight > 0, weight, 1))[:, None] * (made.rows @ made.whitener) if wanted else None
    return Estimate(
        theta=span.transform @ solution,
        information=made.information,
        whitener=made.whitener,
        measured=span,
        lack_of_fit=SumOfSquares(float(residual @ residual), made.degrees),
        pure_error=measurements.pure_error_in(scale),
        bettor=bettor,
        seen=seen,
        misfit=None if misfit is None else weight * misfit[index],
    )


@few
def solution(probes: Array, measurements: Measurements, *, sigma: Array, unit: Array) -> Array:
    """(d,): the ``theta`` of ``least_squares``, for who needs no more."""
    index = _measured(measurements)
    root = np.sqrt(measurements.weights[index]) / sigma[index]
    span = _spanned(probes[index] if root.any() else np.zeros((1, unit.size)), unit)
    factor = _factored(root[:, None] * span.probes)
    return np.asarray(span.transform @ factor.solved(root * measurements.mean[index]))


def _measured(measurements: Measurements) -> NDArray[np.int64]:
    """(p,): the measured probes; without any, one of weight 0 stands in as a row of zeros: rank 0."""
    index = np.flatnonzero(measurements.count)
    return index if index.size else np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Made:
    """What an estimate has of the p measured probes and their counts alone; in simulations, these come again."""

    rows: Array
    """(p, d): these probes."""
    root: Array
    """(p,): √n_i/σ_i."""
    span: Coordinates
    """Their span, of rank r."""
    factor: _Factor
    """Of the weighted probes in its coordinates."""
    whitener: Array
    """(d, r): y'V⁻¹y = |y @ whitener|²."""
    information: Array
    """(d, d): V."""

    @property
    def degrees(self) -> int:
        """Degrees of freedom that the fit leaves to the means."""
        return int(np.count_nonzero(self.root)) - self.span.rank


def _made(rows: Array, unit: Array, root: Array) -> _Made:
    return _remembered_made(rows, unit, root) if rows.size <= _SMALL else _newly_made(rows, unit, root)


def _newly_made(rows: Array, unit: Array, root: Array) -> _Made:
    rows = np.where(root[:, None] > 0, rows, 0.0)
    span, weighted = _spanned(rows, unit), root[:, None] * rows
    factor = _factored(root[:, None] * span.probes)
    whitener, information = span.transform @ factor.root, weighted.T @ weighted
    for array in (whitener, information):
        array.setflags(write=False)
    return _Made(rows, root, span, factor, whitener, information)


def _spanned(rows: Array, unit: Array) -> Coordinates:
    return _remembered_span(rows, unit) if rows.size <= _SMALL else _span(rows, unit)


def _span(rows: Array, unit: Array) -> Coordinates:
    """Coordinates of measured probes (p, d), in units of all probes (d,)."""
    scaled = coordinates(rows / unit)
    return replace(scaled, transform=scaled.transform / unit[:, None], scale=scaled.scale * unit, rows=rows)


_remembered_made, _remembered_span = remembered(_newly_made), remembered(_span)  # for rounds of one run or of many
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
    matrix, unit, scale = _checked(probes, measurements, sigma)
    index = np.flatnonzero(measurements.count)
    root = np.sqrt(measurements.weights[index]) / scale[index] / math.sqrt(penalty)
    stacked = np.vstack([root[:, None] * matrix[index], np.eye(unit.size)])
    target = np.concatenate([root * measurements.mean[index], np.zeros(unit.size)])
    factor = _factored(stacked)
    theta, inverse = factor.solved(target), factor.root
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


def _checked(
    probes: ArrayLike, measurements: Measurements, sigma: ArrayLike, unit: Array | None = None
) -> tuple[Array, Array, Array]:
    """Probes (n, d), the unit of each feature (d,), and σ_i of each probe (n,); as they are, if the unit is known."""
    matrix = np.asarray(probes, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != measurements.n_probes:
        raise InvalidMeasurements(
            f"probes must be a table with a row for each of the {measurements.n_probes} probes "
            f"of the measurements, got shape {matrix.shape}."
        )
    if unit is not None:
        return matrix, unit, np.asarray(sigma)
    unit = np.abs(matrix).max(axis=0)
    if not np.isfinite(unit).all():
        feature = int(np.argmin(np.isfinite(unit)))
        raise InvalidMeasurements(f"probes must be finite, got NaN or infinity in column {feature}.")
    return matrix, np.where(unit > 0, unit, 1.0), per_probe(sigma, measurements.n_probes, "sigma")


@dataclass(frozen=True, eq=False)
class _Factor:
    """A pivoted QR factorisation of rows (p, r) of full rank r."""

    order: NDArray[np.int64]
    """(p,): the rows, the largest first."""
    left: Array
    """(p, r): an orthonormal basis of their columns, in that order."""
    root: Array
    """(r, r): of (rows' rows)⁻¹."""

    def solved(self, target: Array) -> Array:
        """(r,): the c of least |rows @ c - target| for a target (p,)."""
        return np.asarray(self.root @ (self.left.T @ target[self.order]))


def _factored(rows: Array) -> _Factor:
    """Rows sorted by size and pivoted columns keep it accurate when weights differ by many orders of magnitude.

    Cox and Higham 1998.
    """
    width = rows.shape[1]
    if width == 0:
        return _Factor(np.arange(rows.shape[0]), np.zeros((rows.shape[0], 0)), np.zeros((0, 0)))
    order = np.argsort(-np.abs(rows).max(axis=1), kind="stable")
    packed, pivots, scales, _, _ = dgeqp3(rows[order], lwork=_BLOCK * (width + 1) + 2 * width)
    inverse, failed = dtrtrs(packed[:width], np.eye(width))  # digits of each column, which an inverse would not keep
    if failed:
        raise np.linalg.LinAlgError
    root = np.zeros((width, width))
    root[pivots - 1] = inverse
    return _Factor(order, dorgqr(packed, scales, lwork=_BLOCK * width)[0], root)


_BLOCK = 32
"""Columns that LAPACK works on at a time, where there are as many."""
