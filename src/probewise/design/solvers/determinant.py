"""Primal-dual interior-point method for the design of largest determinant, which is best for the probes themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dtrtri

from probewise.coordinates import Array
from probewise.design.farthest import Labels, square_norms
from probewise.design.solvers.factors import DenseFactor, Factored, LiftedFactor, cholesky, few_features, svec
from probewise.threads import many

ROUNDS = 50
"""Working sets at most; 1 to 6 are usual."""
_ITERATIONS = 60
"""Newton steps for a working set at most; 3 to 8 are usual."""
_BACK_OFF = 0.995
_FIRST_STEPS = 10
"""Multiplicative steps before the first working set: each costs a twentieth of a Newton step, or less."""


@dataclass(frozen=True)
class Determinant:
    """A design of nearly the largest determinant."""

    weights: Array
    """(n,): non-negative, summing to 1."""
    lean: Array
    """(n,): the same without negligible weights, as far as the gap asked for allows."""
    largest: float
    """max_i x_i'A(w)⁻¹x_i for ``weights``; r at the optimum."""
    rounds: int
    """Working sets."""


def solve(probes: Array, *, tol: float, first: int, start: Labels | None = None) -> Determinant:
    """Maximise log det A(w) over weights on ``probes`` (n, r), of full rank, until (max_i x_i'A⁻¹x_i/r)² <= 1 + tol.

    By Kiefer and Wolfowitz (1960) this design also minimises max_i x_i'A(w)⁻¹x_i. Each round solves the problem on a
    working set, of ``first`` probes at first or of those in ``start``, and adds the probes that violate optimality.
    """
    n, r = probes.shape
    amounts = _multiplied(probes, _FIRST_STEPS)
    basis = qr(probes.T, mode="r", pivoting=True)[1][:r].astype(np.int64)
    chosen = np.union1d(basis, np.argsort(-amounts, kind="stable")[:first] if start is None else start)
    inner, goal, rounds = 0.2, float(np.sqrt(1.0 + tol)), 0
    while rounds < ROUNDS:
        rounds += 1
        with many(chosen.size):
            small = _small(probes[chosen], amounts[chosen], 0.5 * tol if chosen.size == n else inner)
        amounts = np.zeros(n)
        amounts[chosen] = small
        variances = _variances(probes, amounts)
        ratio = float(amounts.sum() * variances.max()) / r
        worse = np.flatnonzero(variances > variances[chosen].max())
        if ratio <= goal or chosen.size == n or (worse.size == 0 and inner <= 0.1 * tol):
            break
        inner = 0.1 * inner if worse.size == 0 else max(0.4 * tol, min(inner, 0.1 * (ratio**2 - 1.0)))
        worse = worse[np.argsort(-variances[worse], kind="stable")[: max(first // 2, 1)]]
        useful = (amounts[chosen] > 0.01 * r / chosen.size) | (variances[chosen] > 0.95)
        amounts[worse] = 0.1 * r / chosen.size
        chosen = np.union1d(np.concatenate([chosen[useful], worse]), basis)
    weights = amounts / amounts.sum()
    return Determinant(weights, _lean(probes, weights, r * goal), r * ratio, rounds)


def _multiplied(probes: Array, steps: int) -> Array:
    """(n,): amounts μ with Σμ = r after some multiplicative steps from equal ones (Titterington 1976)."""
    n, r = probes.shape
    amounts = np.full(n, r / n)
    for _ in range(steps):
        amounts = amounts * _variances(probes, amounts)
    return amounts


def _whitened(probes: Array, amounts: Array) -> Array:
    """(n, r): the probes in coordinates in which A(μ) is the identity."""
    used = amounts > 0
    factor, failed = dpotrf((probes[used] * amounts[used, None]).T @ probes[used], lower=1)
    if failed:
        raise np.linalg.LinAlgError
    return np.asarray(probes @ dtrtri(factor, lower=1)[0].T)


def _variances(probes: Array, amounts: Array) -> Array:
    """(n,): x_i'A(μ)⁻¹x_i."""
    return square_norms(_whitened(probes, amounts))


def _lean(probes: Array, weights: Array, limit: float) -> Array:
    """(n,): the weights of the heavy probes only, if no variance is above ``limit`` then."""
    for threshold in (1e-2, 1e-4, 1e-6):
        lean = np.where(weights > threshold * weights.max(), weights, 0.0)
        lean /= lean.sum()
        try:
            if _variances(probes, lean).max() <= limit:
                return lean
        except np.linalg.LinAlgError:
            continue
    return weights


def _small(probes: Array, amounts: Array, tol: float) -> Array:
    """(n,): μ > 0 that minimises Σμ - log det A(μ), by Mehrotra's predictor and corrector.

    At the optimum Σμ = r and 1 - x_i'A(μ)⁻¹x_i = s_i >= 0, with s_i μ_i = 0. The Newton matrix is
    H + diag(s/μ), H_ij = (x_i'A⁻¹x_j)²: O(n²r + n³) a step.
    """
    n, r = probes.shape
    mu = np.maximum(amounts, 1e-6 * r / n)
    mu *= r / mu.sum()
    s = None
    for _ in range(_ITERATIONS):
        try:
            white = _whitened(probes, mu)
        except np.linalg.LinAlgError:
            break
        variances = square_norms(white)
        ratio = float(mu.sum() * variances.max()) / r
        if ratio**2 <= 1.0 + tol:
            break
        if s is None:
            s = np.maximum(1.0 - variances, 0.3 * (ratio - 1.0) * r / n / mu)
        step_mu, step_s = _step(white, variances, mu, s, floor=0.02 * tol * r / n)
        length = _room(mu, s, step_mu, step_s)
        mu, s = mu + length * step_mu, s + length * step_s
    return np.asarray(mu)


def _step(white: Array, variances: Array, mu: Array, s: Array, *, floor: float) -> tuple[Array, Array]:
    """Changes of μ and s towards complementarity that falls as fast as the predictor shows, to ``floor`` at least."""
    factor = _factor(white, mu, s)

    def solved(target: Array | float) -> tuple[Array, Array]:
        change = factor.solve(variances - 1.0 + target / mu)
        return change, (target - s * change) / mu - s

    step_mu, step_s = solved(0.0)
    length, now = _room(mu, s, step_mu, step_s), float(s @ mu) / mu.size
    after = float((mu + length * step_mu) @ (s + length * step_s)) / mu.size
    level = max(now * max((after / now) ** 3, 1e-4), min(floor, now))
    return solved(level - step_mu * step_s)


def _factor(white: Array, mu: Array, s: Array) -> Factored:
    """Of H + diag(s/μ); through the features svec(xx'), of which H is the matrix of products, where they are few."""
    if few_features(*white.shape):
        features = svec(white)
        return LiftedFactor(features, np.eye(features.shape[1]), mu / s)
    matrix = white @ white.T
    matrix *= matrix
    matrix *= mu[:, None]
    matrix *= mu
    return DenseFactor(cholesky(matrix, s * mu), mu)


def _room(mu: Array, s: Array, step_mu: Array, step_s: Array) -> float:
    """The length of the step, at most 1, that keeps both positive."""
    return min(1.0, _BACK_OFF / max(float(np.max(-step_mu / mu)), float(np.max(-step_s / s)), _BACK_OFF))
