"""Kernels: exact features for finitely many probes and items, so that every linear method works with a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from probewise.coordinates import Array
from probewise.errors import InvalidProblem

Kernel = Callable[[Array, Array], Array]
"""(a, p), (b, p) -> (a, b): k of each pair of rows."""


def rbf(length: float = 1.0) -> Kernel:
    """exp(-‖x-z‖²/(2·length²)): functions that are smooth at that length."""
    _positive(length, "length")
    return lambda a, b: np.asarray(np.exp(-0.5 * _squares(a, b) / length**2))


def matern52(length: float = 1.0) -> Kernel:
    """The Matérn kernel of order 5/2: functions with two derivatives."""
    _positive(length, "length")

    def kernel(a: Array, b: Array) -> Array:
        far = math.sqrt(5.0) * np.sqrt(_squares(a, b)) / length
        return np.asarray((1.0 + far + far**2 / 3.0) * np.exp(-far))

    return kernel


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Features whose inner products are the kernel, so that f(x) = features(x)'θ with ‖θ‖ the norm of f."""

    probes: Array
    """(n, r): of the probes."""
    items: Array
    """(m, r): of the items; those of the probes if there are no others."""
    error: float
    """The largest difference between an inner product of features and the kernel."""

    @property
    def rank(self) -> int:
        """Number r of features."""
        return int(self.probes.shape[1])


def kernel_features(
    kernel: Kernel, probes: ArrayLike, items: ArrayLike | None = None, *, tol: float = 1e-12
) -> KernelFeatures:
    """Features for ``probes`` (n, p) and ``items`` (m, p) from the eigenvectors of their joint Gram matrix.

    Directions whose eigenvalue is below ``tol`` times the largest are left out, and ``error`` says what that costs.
    The Gram matrix has (n+m)² entries.
    """
    X = _points(probes, "probes")
    Z = X if items is None else _points(items, "items")
    if X.shape[1] != Z.shape[1]:
        raise InvalidProblem(f"probes and items need the same columns, got {X.shape[1]} and {Z.shape[1]}.")
    if not 0 <= tol < 1:
        raise InvalidProblem(f"tol must lie between 0 and 1, got {tol!r}.")
    rows, back = np.unique(np.vstack([X, Z]), axis=0, return_inverse=True)  # the same point has the same features
    gram = np.asarray(kernel(rows, rows), dtype=np.float64)
    if gram.shape != (len(rows), len(rows)) or not np.isfinite(gram).all():
        raise InvalidProblem(f"a kernel gives a finite number for each pair of rows, got shape {gram.shape}.")
    if not np.allclose(gram, gram.T, rtol=1e-9, atol=1e-12 * float(np.abs(gram).max())):
        raise InvalidProblem("a kernel must be symmetric, and k(x, z) differs from k(z, x).")
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    if values[0] < -1e-8 * values[-1] or values[-1] <= 0:
        raise InvalidProblem(
            f"a kernel must be positive semidefinite, but its Gram matrix has eigenvalue {values[0]:.3g}."
        )
    kept = values > max(tol, len(rows) * np.finfo(float).eps) * values[-1]
    features = vectors[:, kept] * np.sqrt(values[kept])
    error = float(np.abs(features @ features.T - gram).max())
    own = features[back.ravel()]
    return KernelFeatures(own[: len(X)], own[len(X) :] if items is not None else own[: len(X)], error)


def _squares(a: Array, b: Array) -> Array:
    """(a, b): squared distances."""
    both = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None] - 2.0 * a @ b.T
    return np.asarray(np.maximum(both, 0.0))


def _points(given: ArrayLike, what: str) -> Array:
    rows = np.array(given, dtype=np.float64)
    if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
        raise InvalidProblem(f"{what} must be finite numbers, one row each, got shape {rows.shape}.")
    return rows


def _positive(value: float, what: str) -> None:
    if not 0 < value < math.inf:
        raise InvalidProblem(f"{what} must be positive and finite, got {value!r}.")
