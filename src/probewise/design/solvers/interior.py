"""Primal-dual interior-point method for the design problem on small sets of probes and directions."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from probewise.coordinates import Array
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
    directions = directions / np.sqrt(_longest(probes, directions, weights))
    local = _local(probes, directions, 1.05 * weights)
    primal = np.concatenate([local.amounts, np.maximum(local.h - 1.0, 0.3)])
    point = _Point(n, primal, 2.0 * local.total / (n + k) / primal)
    best = Restricted(weights, np.full(k, 1.0 / k), np.inf, 0)
    for iteration in range(1, ITERATIONS + 1):
        gap = local.upper / local.lower(point.q) - 1.0
        if gap < best.gap:
            best = Restricted(local.amounts / local.total, point.q / point.q.sum(), gap, iteration)
        if gap <= tol:
            break
        try:
            step = _Newton(local, point).step(point, floor=0.05 * tol * local.upper / (n + k))
            point = point.moved(step, min(1.0, _BACK_OFF * point.room(step)))
            if not np.isfinite(point.complementarity):
                break
            local = _local(probes, directions, point.amounts, best.gap)
        except np.linalg.LinAlgError:
            break
    return best


@dataclass(frozen=True)
class _Point:
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
    """Values and derivatives of the constraints at amounts μ, in coordinates where A(μ) is the identity."""

    def __init__(self, probes: Array, directions: Array, amounts: Array) -> None:
        root, failed = dpotrf((probes * amounts[:, None]).T @ probes, lower=1)
        if failed:
            raise np.linalg.LinAlgError
        inverse = dtrtri(root, lower=1)[0].T
        self.amounts = amounts
        self.total = float(amounts.sum())
        self.probes = probes @ inverse
        self.directions = directions @ inverse
        self.f = np.asarray(np.einsum("ij,ij->i", self.directions, self.directions))
        self.h = 1.0 / self.f
        self.upper = self.total * float(self.f.max())

    def moment(self, weights: Array) -> Array:
        """(r, r): Σ weight · yy'."""
        return np.asarray((self.directions.T * weights) @ self.directions)

    def lower(self, q: Array) -> float:
        """The bound h²/g for weights p = q/Σq on the directions; f = 1 where q matters."""
        scores = np.einsum("ij,ij->i", self.probes @ self.moment(q), self.probes)
        return float((q @ self.f) ** 2 / (scores.max() * q.sum()))

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


def _local(probes: Array, directions: Array, amounts: Array, gap: float = np.inf) -> _Local:
    """Matrices on the probes, or on svec features where those are far fewer and few digits are left to find."""
    return (_Lifted if few_features(*probes.shape) and gap > _LIFTED_DIGITS else _Dense)(probes, directions, amounts)


class _Dense(_Local):
    """Derivatives as (k, n) and (n, n) matrices: O(n²(n + k)) a step."""

    def __init__(self, probes: Array, directions: Array, amounts: Array) -> None:
        _Local.__init__(self, probes, directions, amounts)
        self.cross = self.directions @ self.probes.T
        self.jacobian = (self.cross / self.f[:, None]) ** 2

    def pull(self, q: Array) -> Array:
        return np.asarray(q @ self.jacobian)

    def push(self, change: Array) -> Array:
        return np.asarray(self.jacobian @ change)

    def factor(self, q: Array, extra: Array, ratio: Array) -> DenseFactor:
        # -Σ q_y ∇²h_y = 2 G∘(B'diag(q/f²)B) - 2 J'diag(q f)J, with G = XA⁻¹X' and B the cross products
        matrix = self.probes @ self.probes.T
        matrix *= gram(self.cross, 2.0 * q / self.f**2)
        matrix += gram(self.jacobian, extra - 2.0 * q * self.f)
        matrix *= self.amounts[:, None] * self.amounts
        return DenseFactor(cholesky(matrix, ratio * self.amounts**2), self.amounts)


class _Lifted(_Local):
    """Derivatives through the features svec(xx') of dimension m = r(r+1)/2: O((n + k)m² + m³) a step.

    (y'x)² = <yy', xx'> and (x'z)(x'Mz) = <xx', M zz'>, so that J = T S' and the curvature is S C S' for rows
    s = svec(xx') and t = svec(yy')/f².
    """

    def __init__(self, probes: Array, directions: Array, amounts: Array) -> None:
        _Local.__init__(self, probes, directions, amounts)
        self.s = svec(self.probes)
        self.t = svec(self.directions) / (self.f**2)[:, None]

    def pull(self, q: Array) -> Array:
        return np.asarray(self.s @ (q @ self.t))

    def push(self, change: Array) -> Array:
        return np.asarray(self.t @ (change @ self.s))

    def factor(self, q: Array, extra: Array, ratio: Array) -> LiftedFactor:
        r = self.probes.shape[1]
        basis = basis_of(r)
        m = basis.shape[0]
        moved = (basis.reshape(-1, r) @ self.moment(2.0 * q / self.f**2)).reshape(m, -1)
        core = moved @ basis.reshape(m, -1).T
        core = 0.5 * (core + core.T) + gram(self.t, extra - 2.0 * q * self.f)
        return LiftedFactor(self.s, core, 1.0 / ratio)


class _Newton:
    """The Newton system at a point, factorised once and used for the predictor and the corrector."""

    def __init__(self, local: _Local, point: _Point) -> None:
        n = point.n
        self._local, self._ratio = local, point.dual / point.primal
        self._dual_residual = 1.0 - local.pull(point.q) - point.dual[:n]
        self._primal_residual = local.h - 1.0 - point.primal[n:]
        self._factor = local.factor(point.q, self._ratio[n:], self._ratio[:n])

    def solve(self, point: _Point, level: float, second: Array | None) -> _Point:
        """The step towards complementarity ``level``, with second-order corrections."""
        n, step = point.n, np.empty_like(point.primal)
        target = level / point.primal - point.dual
        if second is not None:
            target -= second / point.primal
        right = target[:n] - self._dual_residual
        right += self._local.pull(target[n:] - self._ratio[n:] * self._primal_residual)
        step[:n] = self._factor.solve(right)
        step[n:] = self._local.push(step[:n]) + self._primal_residual
        return _Point(n, step, target - self._ratio * step)

    def step(self, point: _Point, *, floor: float) -> _Point:
        """Mehrotra's step; the target never falls below ``floor``, so that complementarity waits for feasibility."""
        predictor = self.solve(point, 0.0, None)
        now = point.complementarity
        after = point.moved(predictor, point.room(predictor)).complementarity
        level = max(now * max((after / now) ** 3, 1e-6), min(floor, now))
        return self.solve(point, level, predictor.primal * predictor.dual)
