"""Newton matrices of interior-point methods, factorised: on the probes, or through features of their squares."""

from __future__ import annotations

import abc
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgetrf, dgetrs, dpotrf, dpotrs

from probewise.coordinates import Array


class Factored(abc.ABC):
    """A Newton matrix that is ready to solve systems."""

    @abc.abstractmethod
    def solve(self, right: Array) -> Array:
        """(n,): the solution of the Newton system."""


class DenseFactor(Factored):
    """By the Cholesky factor of the matrix with rows and columns times the amounts."""

    def __init__(self, factor: Array, amounts: Array) -> None:
        self._factor, self._amounts = factor, amounts

    def solve(self, right: Array) -> Array:
        """(n,): the solution of the Newton system."""
        return np.asarray(self._amounts * dpotrs(self._factor, self._amounts * right, lower=1)[0])


class LiftedFactor(Factored):
    """diag(1/θ) + S C S' through the (m, m) matrix I + C S'ΘS, refined once until digits are safe."""

    def __init__(self, s: Array, core: Array, theta: Array) -> None:
        self._s, self._core, self._theta = s, core, theta
        self._sure = False
        self._weighted = s * theta[:, None]
        inner = core @ (self._weighted.T @ s)
        _diagonal(inner)[:] += 1.0
        self._inner, self._pivots, failed = dgetrf(inner)
        if failed:
            raise np.linalg.LinAlgError

    def _once(self, right: Array) -> Array:
        z = dgetrs(self._inner, self._pivots, self._core @ (right @ self._weighted))[0]
        return np.asarray(self._theta * right - self._weighted @ z)

    def solve(self, right: Array) -> Array:
        """(n,): the solution of the Newton system."""
        found = self._once(right)
        if self._sure:
            return found
        left = right - found / self._theta - self._s @ (self._core @ (found @ self._s))
        self._sure = bool(left @ left <= _DIGITS_LOST**2 * (right @ right))
        return found if self._sure else found + self._once(left)


_DIGITS_LOST = 1e-8


def few_features(n: int, r: int) -> bool:
    """Whether the features svec(xx') of ``n`` probes of dimension ``r`` are far fewer than the probes."""
    return n > 100 and 3 * r * (r + 1) // 2 < n


def svec(rows: Array) -> Array:
    """(n, m): the upper triangles of xx', off-diagonal entries times √2, so that inner products are (x'z)²."""
    r = rows.shape[1]
    i, j = _upper(r)
    columns = np.ascontiguousarray(rows.T)
    out = columns.take(i, axis=0)
    out *= columns.take(j, axis=0)
    out[r:] *= np.sqrt(2.0)
    return out.T


@cache
def _upper(r: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(m,), (m,): rows and columns of the upper triangle, the diagonal first."""
    i, j = np.triu_indices(r, 1)
    diagonal = np.arange(r)
    return np.concatenate([diagonal, i]), np.concatenate([diagonal, j])


@cache
def basis_of(r: int) -> Array:
    """(m, r, r): the orthonormal basis of symmetric matrices in which svec has its entries."""
    i, j = _upper(r)
    basis = np.zeros((i.size, r, r))
    entry = np.where(i == j, 1.0, np.sqrt(0.5))
    basis[np.arange(i.size), i, j] = entry
    basis[np.arange(i.size), j, i] = entry
    return basis


_SMALL = 10_000
"""Numbers in rows of which a general product is formed faster than it is decided how to form a symmetric one."""


def gram(rows: Array, weights: Array) -> Array:
    """Σ weight · row'row, by symmetric products, which cost half of general ones."""
    if rows.size <= _SMALL:
        return np.asarray((rows * weights[:, None]).T @ rows)
    if (weights >= 0).all():
        scaled = rows * np.sqrt(weights)[:, None]
        return np.asarray(scaled.T @ scaled)
    up = rows[weights > 0] * np.sqrt(weights[weights > 0])[:, None]
    down = rows[weights < 0] * np.sqrt(-weights[weights < 0])[:, None]
    return np.asarray(up.T @ up - down.T @ down)


def cholesky(matrix: Array, diagonal: Array) -> Array:
    """Lower Cholesky factor of matrix + diag; equal probes make it singular up to rounding, which a ridge mends.

    Entries above the diagonal are not those of the factor.
    """
    on_diagonal = _diagonal(matrix)
    on_diagonal += diagonal
    ridge = np.finfo(float).eps * float(on_diagonal.max())
    for _ in range(8):
        factor, failed = dpotrf(matrix, lower=1, clean=0)
        if failed == 0:
            return np.asarray(factor)
        on_diagonal += ridge
        ridge *= 10.0
    raise np.linalg.LinAlgError


def _diagonal(matrix: Array) -> Array:
    """The diagonal, to be written to."""
    return np.asarray(np.einsum("ii->i", matrix))
