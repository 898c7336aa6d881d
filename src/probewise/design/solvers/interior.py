"""Primal-dual interior-point method for the design problem on small sets of probes and directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from probewise.coordinates import Array

ITERATIONS = 100
_BACK_OFF = 0.995


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


@dataclass(frozen=True)
class _Point:
    """Amounts μ, slacks r of the directions, and their multipliers s (of μ >= 0) and q (of h >= 1)."""

    amounts: Array
    slacks: Array
    s: Array
    q: Array

    @property
    def complementarity(self) -> float:
        return float(self.amounts @ self.s + self.slacks @ self.q) / (self.amounts.size + self.slacks.size)

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(
            self.amounts + length * step.amounts,
            self.slacks + length * step.slacks,
            self.s + length * step.s,
            self.q + length * step.q,
        )

    def room(self, step: _Point) -> float:
        """The longest step in (0, 1] that keeps everything non-negative."""
        values = np.concatenate([self.amounts, self.slacks, self.s, self.q])
        change = np.concatenate([step.amounts, step.slacks, step.s, step.q])
        return float(1.0 / max(1.0, np.max(-change / values)))


def solve(probes: Array, directions: Array, *, tol: float, start: Array | None = None) -> Restricted:
    """Minimise max_y y'A(w)⁻¹y over weights w on ``probes`` (n, d), of full rank, for ``directions`` (k, d).

    The problem solved is min Σμ subject to h_y(μ) = 1/(y'A(μ)⁻¹y) >= 1, with w = μ/Σμ. Each h_y is concave and
    homogeneous of degree one, so that its linearisation is exact along rays and Newton steps are long. Steps are
    Mehrotra's predictor and corrector, one Cholesky factorisation of an (n, n) matrix each: O(n²(n + k + d)).
    """
    n, k = probes.shape[0], directions.shape[0]
    weights = np.full(n, 1.0 / n) if start is None else start
    variances = _Local(probes, directions, weights).f
    directions = directions / np.sqrt(variances.max())
    local = _Local(probes, directions, 2.0 * weights)
    slacks = np.maximum(local.h - 1.0, 0.5)
    level = local.total / (n + k)
    point = _Point(local.amounts, slacks, level / local.amounts, level / slacks)
    best = Restricted(weights, np.full(k, 1.0 / k), np.inf, 0)
    for iteration in range(1, ITERATIONS + 1):
        gap = local.upper / local.lower(point.q) - 1.0
        if gap < best.gap:
            best = Restricted(local.amounts / local.total, point.q / point.q.sum(), gap, iteration)
        if gap <= tol:
            break
        try:
            newton = _Newton(local, point)
            floor = 0.05 * tol * local.upper / (n + k)
            step = newton.step(point, floor)
            point = point.moved(step, min(1.0, _BACK_OFF * point.room(step)))
            local = _Local(probes, directions, point.amounts)
        except np.linalg.LinAlgError:
            break
    return best


class _Local:
    """Values and derivatives of the constraints at amounts μ."""

    def __init__(self, probes: Array, directions: Array, amounts: Array) -> None:
        root = np.linalg.cholesky((probes * amounts[:, None]).T @ probes)
        self.amounts = amounts
        self.total = float(amounts.sum())
        self.probes = solve_triangular(root, probes.T, lower=True, check_finite=False)
        whitened = solve_triangular(root, directions.T, lower=True, check_finite=False)
        self.f = np.einsum("ij,ij->j", whitened, whitened)
        self.h = 1.0 / self.f
        self.cross = whitened.T @ self.probes
        """(k, n): y'A⁻¹x."""
        self.jacobian = (self.cross / self.f[:, None]) ** 2
        """(k, n): ∂h_y/∂μ_x = (y'A⁻¹x)²/f_y²."""
        self.upper = self.total * float(self.f.max())

    def lower(self, q: Array) -> float:
        """The bound h²/g for weights p = q/Σq on the directions; f = 1 where q matters."""
        return float((q @ self.f) ** 2 / ((q @ self.cross**2).max() * q.sum()))


def _gram(rows: Array, weights: Array) -> Array:
    """Σ weight · row'row, by symmetric products, which cost half of general ones."""
    up = rows[weights > 0] * np.sqrt(weights[weights > 0])[:, None]
    down = rows[weights < 0] * np.sqrt(-weights[weights < 0])[:, None]
    gram = up.T @ up
    return gram - down.T @ down if down.size else gram


def _factor(matrix: Array, diagonal: Array) -> tuple[Array, bool]:
    """Cholesky factor of matrix + diag; equal probes make it singular up to rounding, which a ridge mends."""
    at = np.diag_indices_from(matrix)
    matrix[at] += diagonal
    ridge = np.finfo(float).eps * float(matrix[at].max())
    for _ in range(6):
        try:
            factor: tuple[Array, bool] = cho_factor(matrix, check_finite=False)
            return factor
        except np.linalg.LinAlgError:
            matrix[at] += ridge
            ridge *= 10.0
    raise np.linalg.LinAlgError


class _Newton:
    """The Newton system at a point, factorised once and used for the predictor and the corrector."""

    def __init__(self, local: _Local, point: _Point) -> None:
        mu, r, s, q = point.amounts, point.slacks, point.s, point.q
        self.jacobian = local.jacobian
        self.dual_residual = 1.0 - self.jacobian.T @ q - s
        self.primal_residual = local.h - 1.0 - r
        # -Σ q_y ∇²h_y = 2 G∘(B' diag(q/f²) B) - 2 J' diag(q f) J, with G = X'A⁻¹X and B the cross products
        curvature = local.probes.T @ local.probes
        curvature *= _gram(local.cross, 2.0 * q / local.f**2)
        curvature += _gram(self.jacobian, q / r - 2.0 * q * local.f)
        curvature *= mu[:, None] * mu
        self.factor = _factor(curvature, s * mu)

    def solve(self, point: _Point, level: float, second_mu: Array | float, second_r: Array | float) -> _Point:
        """The step towards complementarity ``level``, with second-order corrections."""
        mu, r, s, q = point.amounts, point.slacks, point.s, point.q
        target_s = level - s * mu - second_mu
        target_q = level - q * r - second_r
        right = target_s / mu - self.dual_residual
        right += self.jacobian.T @ ((target_q - q * self.primal_residual) / r)
        d_mu = mu * cho_solve(self.factor, mu * right, check_finite=False)
        d_r = self.jacobian @ d_mu + self.primal_residual
        return _Point(d_mu, d_r, (target_s - s * d_mu) / mu, (target_q - q * d_r) / r)

    def step(self, point: _Point, floor: float) -> _Point:
        """Mehrotra's step; the target never falls below ``floor``, so that complementarity waits for feasibility."""
        predictor = self.solve(point, 0.0, 0.0, 0.0)
        now = point.complementarity
        after = point.moved(predictor, point.room(predictor)).complementarity
        level = max(now * max((after / now) ** 3, 1e-6), min(floor, now))
        return self.solve(point, level, predictor.amounts * predictor.s, predictor.slacks * predictor.q)
