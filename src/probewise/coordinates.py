"""Coordinates of the span of the probes, in which scales of features no longer matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

OUTSIDE = 1e-8
"""A vector whose relative distance to a span is below this lies in it up to rounding of its entries."""


@dataclass(frozen=True)
class Coordinates:
    """An isomorphism of span(X) with R^r under which the uniform design has the identity as information matrix.

    For y in span(X) and any weights w, y'A(w)⁻¹y is the same in both coordinates, so designs carry over.
    Columns are scaled to maximum 1 before the rank is decided: units of features have no influence on it.
    """

    transform: Array
    """(d, r): a row vector y of features becomes ``y @ transform``."""
    probes: Array
    """(n, r): the probes in the new coordinates; probes.T @ probes = n·I."""
    scale: Array
    """(d,): the largest absolute entry of each feature over the probes, 1 where a feature is zero on all."""
    basis: Array
    """(d, r): orthonormal basis of the span of the scaled probes."""

    @property
    def rank(self) -> int:
        """Dimension of span(X)."""
        return self.transform.shape[1]

    def __call__(self, vectors: Array) -> Array:
        """Coordinates (k, r) of rows (k, d) that lie in span(X)."""
        return vectors @ self.transform

    def outside(self, vectors: Array) -> Array:
        """(k, d): the part of each row, in scaled features, that is orthogonal to the span of the probes."""
        scaled = vectors / self.scale
        return scaled - (scaled @ self.basis) @ self.basis.T

    def is_inside(self, vectors: Array) -> NDArray[np.bool_]:
        """(k,): whether each row lies in span(X) up to rounding."""
        size = np.linalg.norm(vectors / self.scale, axis=1)
        inside: NDArray[np.bool_] = np.linalg.norm(self.outside(vectors), axis=1) <= OUTSIDE * size
        return inside


def coordinates(probes: Array) -> Coordinates:
    """Coordinates of the span of the rows of ``probes`` (n, d), by one thin singular value decomposition."""
    n, d = probes.shape
    scale = np.abs(probes).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    left, singular, right = np.linalg.svd(probes / scale, full_matrices=False)
    rank = int(np.sum(singular > singular[0] * max(n, d) * np.finfo(float).eps)) if singular.size else 0
    basis = right[:rank].T
    transform = basis / singular[:rank] * np.sqrt(n) / scale[:, None]
    return Coordinates(transform, left[:, :rank] * np.sqrt(n), scale, basis)
