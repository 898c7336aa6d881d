"""Coordinates of the span of the probes, in which scales of features no longer matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
    seen: NDArray[np.bool_]
    """(d,): whether a feature differs from 0 in some probe."""
    size: float
    """Norm of the matrix of the scaled probes."""

    @property
    def rank(self) -> int:
        """Dimension of span(X)."""
        return int(self.transform.shape[1])

    def __call__(self, vectors: Array) -> Array:
        """Coordinates (k, r) of rows (k, d) that lie in span(X)."""
        return vectors @ self.transform

    def lost(self, vectors: Array, magnitudes: Array | None = None) -> Array:
        """(k, d): the part of each row, in scaled features, that no combination of probes gives; 0 if it is rounding.

        ``magnitudes`` (k, d) bounds the numbers whose rounding moved the entries of a row: |z| + |z'| for z - z';
        without it, |row|. A row y counts as measurable if y + e = (X + E)'a for some |e| <= u·magnitudes in each
        feature and ‖E‖ <= u‖X‖, where u = 4·max(n, d)·eps. With a of least norm, its part outside the span is then
        at most u‖X‖‖a‖ + ‖u·magnitudes‖ in scaled features. A feature that is 0 in all probes has no scale and no
        E, and is tested by itself.
        """
        n, d = self.probes.shape[0], self.scale.size
        if self.rank == d:
            return np.zeros(vectors.shape)
        unit = 4 * max(n, d) * np.finfo(np.float64).eps
        scaled = vectors / self.scale
        rounding = unit * (np.abs(scaled) if magnitudes is None else magnitudes / self.scale)
        rounding = np.where(scaled != 0, rounding, 0.0)
        combination = np.linalg.norm(self(vectors), axis=1) / np.sqrt(n)
        slack = unit * self.size * combination + np.linalg.norm(rounding[:, self.seen], axis=1)
        # the decomposition leaves its own rounding where all probes are 0, so that the row itself is taken there
        outside = np.where(self.seen, scaled - (scaled @ self.basis) @ self.basis.T, scaled)
        return np.where(np.abs(outside) > np.where(self.seen, slack[:, None], rounding), outside, 0.0)

    def is_inside(self, vectors: Array, magnitudes: Array | None = None) -> NDArray[np.bool_]:
        """(k,): whether each row lies in span(X) up to rounding; ``magnitudes`` as in ``lost``."""
        if self.rank == self.scale.size:
            return np.ones(vectors.shape[0], dtype=np.bool_)
        return np.asarray(~np.any(self.lost(vectors, magnitudes), axis=1))


def coordinates(probes: Array) -> Coordinates:
    """Coordinates of the span of the rows of ``probes`` (n, d), by one thin singular value decomposition."""
    n, d = probes.shape
    scale = np.abs(probes).max(axis=0)
    seen = scale > 0
    scale = np.where(seen, scale, 1.0)
    left, singular, right = np.linalg.svd(probes / scale, full_matrices=False)
    rank = int(np.sum(singular > singular[0] * max(n, d) * np.finfo(float).eps)) if singular.size else 0
    basis = right[:rank].T
    transform = basis / singular[:rank] * np.sqrt(n) / scale[:, None]
    return Coordinates(transform, left[:, :rank] * np.sqrt(n), scale, basis, seen, float(np.linalg.norm(singular)))
