"""Primal-dual interior-point method for the design problem on small sets of probes and directions."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from probewise.coordinates import Array
from probewise.design.farthest import square_norms
from probewise.design.solvers.factors import (
    DenseFactor,
    Factored,
    LiftedFactor,
    basis_of,
    cholesky,
    few_features,
    gram,
    svec,
)
from probewise.threads import many

ITERATIONS = 100
"""Newton steps at most; 5 to 25 are usual."""
_BACK_OFF = 0.995
_LIFTED_DIGITS = 1e-3
"""Relative gap below which the factorisation through svec features loses too many digits."""


@dataclass(frozen=True)
class Restricted:
    """Solution of a design problem on explicit probes and directions."""

    weights: Array
    """(n,): positive weights on the probes, summing to 1; nearly zero outside the support."""
    multipliers: Array
    """(k,): non-negative weights on the directions, summing to 1."""
    gap: float
    """Relative gap between the value of the weights and the bound from the multipliers."""
    iterations: int
    """Newton steps taken."""
    vectors: Array | None = None
    """(k, d): dual vectors v_y, where the method has better ones than A(w)⁻¹y: these fail where A(w) is singular."""


def solve(probes: Array, directions: Array, *, tol: float) -> Restricted:
    """Minimise max_y y'A(w)⁻¹y over weights w on ``probes`` (n, r), of full rank, for ``directions`` (k, r).

    The problem solved is min Σμ subject to h_y(μ) = 1/(y'A(μ)⁻¹y) >= 1, with w = μ/Σμ. Each h_y is concave and
    homogeneous of degree one, so that its linearisation is exact along rays and Newton steps are long. Steps are
    Mehrotra's predictor and corrector, with one factorisation each.
    """
    with many(probes.shape[0]), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _solved(probes, directions, tol)


def _solved(probes: Array, directions: Array, tol: float) -> Restricted:
    n, k = probes.shape[0], directions.shape[0]
    weights = np.full(n, 1.0 / n)
    rows = np.concatenate([probes, directions / np.sqrt(_longest(probes, directions, weights))])
    local = _local(rows, 1.05 * weights)
    primal = np.concatenate([local.amounts, np.maximum(local.h - 1.0, 0.3)])
    point = _Point(n, primal, 2.0 * local.total / (n + k) / primal)
    best, least, iteration = (weights, np.full(k, 1.0 / k)), np.inf, 0
    for step in range(1, ITERATIONS + 1):
        pull = local.pull(point.q)
        gap = local.upper / (float(point.q.sum()) / float(pull.max())) - 1.0
        if gap < least:
            best, least, iteration = (local.amounts, point.q), gap, step
        if gap <= tol:
            break
        try:
            newton = _Newton(local, point, pull)
            point = newton.moved(floor=0.05 * tol * local.upper / (n + k))
            if not np.isfinite(point.complementarity):
                break
            local = _local(rows, point.amounts, least)
        except np.linalg.LinAlgError:
            break
    amounts, q = best
    return Restricted(amounts / amounts.sum(), q / q.sum(), least, iteration)


class _Point(NamedTuple):
    """Amounts μ, slacks r of the directions, and their multipliers s (of μ >= 0) and q (of h >= 1)."""

    n: int
    """Number of probes."""
    primal: Array
    """(n + k,): μ and r."""
    dual: Array
    """(n + k,): s and q."""

    @property
    def amounts(self) -> Array:
        return self.primal[: self.n]

    @property
    def q(self) -> Array:
        return self.dual[self.n :]

    @property
    def complementarity(self) -> float:
        return float(self.primal @ self.dual) / self.primal.size

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(self.n, self.primal + length * step.primal, self.dual + length * step.dual)

    def room(self, step: _Point) -> float:
        """The longest step in (0, 1] that keeps everything non-negative."""
        least = min(float((step.primal / self.primal).min()), float((step.dual / self.dual).min()))
        return 1.0 / max(1.0, -least)


class _Local(abc.ABC):
    """Values and derivatives of the constraints at amounts μ of probes, the first ``rows``; directions are the others.

    In coordinates where A(μ) is the identity, and for directions y/f_y, whose squared length is h_y = 1/f_y.
    """

    def __init__(self, rows: Array, amounts: Array) -> None:
        n, probes = amounts.size, rows[: amounts.size]
        root, failed = dpotrf((probes.T * amounts) @ probes, lower=1)
        if failed:
            raise np.linalg.LinAlgError
        self.amounts = amounts
        self.total = float(amounts.sum())
        self.rows = rows @ dtrtri(root, lower=1)[0].T
        self.probes, self.directions = self.rows[:n], self.rows[n:]
        self.h = 1.0 / square_norms(self.directions)
        self.directions *= self.h[:, None]
        self.upper = self.total / float(self.h.min())

    @abc.abstractmethod
    def pull(self, q: Array) -> Array:
        """(n,): J'q, where J_yx = ∂h_y/∂μ_x = (y'A⁻¹x)²/f_y²."""

    @abc.abstractmethod
    def push(self, change: Array) -> Array:
        """(k,): J times a change of the amounts."""

    @abc.abstractmethod
    def factor(self, q: Array, extra: Array, ratio: Array) -> Factored:
        """The matrix diag(ratio) - Σ q_y ∇²h_y + J'diag(extra)J of the Newton system, factorised."""


def _longest(probes: Array, directions: Array, weights: Array) -> float:
    """max_y y'A(w)⁻¹y."""
    root = np.linalg.cholesky((probes * weights[:, None]).T @ probes)
    whitened = dtrtrs(root, directions.T, lower=1)[0]
    return float(np.einsum("ij,ij->j", whitened, whitened).max())


def _local(rows: Array, amounts: Array, gap: float = np.inf) -> _Local:
    """Matrices on the probes, or on svec features where those are far fewer and few digits are left to find."""
    return (_Lifted if gap > _LIFTED_DIGITS and few_features(amounts.size, rows.shape[1]) else _Dense)(rows, amounts)


class _Dense(_Local):
    """Derivatives as (k, n) and (n, n) matrices: O(n²(n + k)) a step."""

    def __init__(self, rows: Array, amounts: Array) -> None:
        _Local.__init__(self, rows, amounts)
        self.cross = self.directions @ self.probes.T
        self.jacobian = self.cross**2

    def pull(self, q: Array) -> Array:
        return np.asarray(q @ self.jacobian)

    def push(self, change: Array) -> Array:
        return np.asarray(self.jacobian @ change)

    def factor(self, q: Array, extra: Array, ratio: Array) -> DenseFactor:
        # -Σ q_y ∇²h_y = 2 G∘(B'diag(q)B) - 2 J'diag(q/h)J, with G = XA⁻¹X' and B the cross products
        matrix = self.probes @ self.probes.T
        matrix *= gram(self.cross, 2.0 * q)
        matrix += gram(self.jacobian, extra - 2.0 * q / self.h)
        matrix *= self.amounts[:, None] * self.amounts
        return DenseFactor(cholesky(matrix, ratio * self.amounts**2), self.amounts)


class _Lifted(_Local):
    """Derivatives through the features svec(xx') of dimension m = r(r+1)/2: O((n + k)m² + m³) a step.

    (y'x)² = <yy', xx'> and (x'z)(x'Mz) = <xx', M zz'>, so that J = T S' and the curvature is S C S' for rows
    s = svec(xx') and t = svec(yy')/f².
    """

    def __init__(self, rows: Array, amounts: Array) -> None:
        _Local.__init__(self, rows, amounts)
        features = svec(self.rows)
        self.s, self.t = features[: amounts.size], features[amounts.size :]

    def pull(self, q: Array) -> Array:
        return np.asarray(self.s @ (q @ self.t))

    def push(self, change: Array) -> Array:
        return np.asarray(self.t @ (change @ self.s))

    def factor(self, q: Array, extra: Array, ratio: Array) -> LiftedFactor:
        r = self.probes.shape[1]
        basis = basis_of(r)
        m = basis.shape[0]
        moment = (self.directions.T * (2.0 * q)) @ self.directions
        core = (basis.reshape(-1, r) @ moment).reshape(m, -1) @ basis.reshape(m, -1).T
        core += gram(self.t, extra - 2.0 * q / self.h)
        return LiftedFactor(self.s, core, 1.0 / ratio)


class _Newton:
    """The Newton system at a point, factorised once and used for the predictor and the corrector."""

    def __init__(self, local: _Local, point: _Point, pull: Array) -> None:
        n = point.n
        self._local, self._point, self._ratio = local, point, point.dual / point.primal
        self._dual_residual = 1.0 - pull - point.dual[:n]
        self._primal_residual = local.h - 1.0 - point.primal[n:]
        self._factor = local.factor(point.q, self._ratio[n:], self._ratio[:n])

    def _step(self, target: Array) -> _Point:
        """The step that changes dual + ratio · primal by ``target`` (n + k,), and removes the residuals."""
        n, step = self._point.n, np.empty_like(target)
        right = target[:n] - self._dual_residual
        right += self._local.pull(target[n:] - self._ratio[n:] * self._primal_residual)
        step[:n] = self._factor.solve(right)
        step[n:] = self._local.push(step[:n])
        step[n:] += self._primal_residual
        return _Point(n, step, target - self._ratio * step)

    def moved(self, *, floor: float) -> _Point:
        """The point after Mehrotra's step; the level of complementarity that it aims at is never below ``floor``.

        So complementarity waits for feasibility.
        """
        point = self._point
        predictor = self._step(-point.dual)
        now = point.complementarity
        after = point.moved(predictor, point.room(predictor)).complementarity
        level = max(now * max((after / now) ** 3, 1e-6), min(floor, now))
        step = self._step((level - predictor.primal * predictor.dual) / point.primal - point.dual)
        return point.moved(step, min(1.0, _BACK_OFF * point.room(step)))
