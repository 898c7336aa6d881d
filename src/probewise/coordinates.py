"""Coordinates of the span of the probes, in which scales of features no longer matter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.arithmetic import image

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
FORGIVEN = 2.0**-36
"""Part of a difference, relative to its size, that may be put down to rounding; a larger one never is."""
CLEARLY = 1e-12
"""Square of a part, far above what is forgiven, that lies outside for sure."""
SURE = 1e6
"""Condition of probes up to which a basis of their span is exact to far less than what lies clearly outside."""
_EPS = float(np.finfo(np.float64).eps)


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
    rows: Array
    """(n, d): the probes as given."""

    @property
    def rank(self) -> int:
        """Dimension of span(X)."""
        return int(self.transform.shape[1])

    @property
    def condition(self) -> float:
        """Condition number of the scaled probes: by how much rounding of the features may grow in the coordinates."""
        inverse = float(np.linalg.norm(self.transform * self.scale[:, None]))
        return self.size * inverse / float(np.sqrt(self.probes.shape[0]))

    @cached_property
    def complement(self) -> Array:
        """(d, k): a basis of what no probe measures, in scaled features; 0 in features that are 0 in all probes.

        Orthonormal up to rounding, and refined until X @ complement is as small as its own rounding: the singular
        vectors alone are off by the condition of the probes times that.
        """
        n, seen, out = self.probes.shape[0], np.flatnonzero(self.seen), self._rough
        if out.shape[1] == 0 or self.rank == 0:
            return out
        null, last = out[seen] / self.scale[seen, None], np.inf
        for _ in range(_REFINEMENTS):
            left = image(self.rows[:, seen], null, precise=True).rows
            step = self.transform[seen] @ (self.probes.T @ left) / n
            null = null - step
            size = float(np.abs(step * self.scale[seen, None]).max())
            if size < 2.0**-56 or size > 0.5 * last:  # what is left is the rounding of the step itself
                break
            last = size
        out[seen] = null * self.scale[seen, None]
        return out

    @property
    def _rough(self) -> Array:
        """(d, k): the complement as the singular vectors have it."""
        seen = np.flatnonzero(self.seen)
        out = np.zeros((self.scale.size, seen.size - self.rank))
        if out.shape[1] and self.rank:
            out[seen] = np.linalg.qr(self.basis[seen], mode="complete")[0][:, self.rank :]
        return out

    @cached_property
    def outsider(self) -> Array:
        """(d,): in the features as given, one direction that no probe measures; 0 if there is none.

        A row of which the product with it is clearly not 0 lies outside; hardly a row that lies outside has a product
        of nearly 0. It is refined only where the singular vectors alone could show a row as outside that is not.
        """
        some = np.where(self.seen, _some(self.scale.size), 0.0)
        if self.condition <= SURE:
            some = some - self.basis @ (self.basis.T @ some)
        else:
            some = self.complement @ (self.complement.T @ some)
        size = float(np.linalg.norm(some)) if self.rank < np.count_nonzero(self.seen) else 0.0
        return np.asarray(some / size / self.scale) if size > 0 else np.zeros(self.scale.size)

    def __call__(self, vectors: Array) -> Array:
        """Coordinates (k, r) of rows (k, d) that lie in span(X)."""
        return vectors @ self.transform

    def lost(
        self, vectors: Array, magnitudes: Array | None = None, *, most: float = FORGIVEN, apart: Array | None = None
    ) -> Array:
        """(k, d): the part of each row, in scaled features, that no combination of probes gives; 0 if it is rounding.

        ``magnitudes`` (k, d) bounds the numbers whose rounding moved the entries of a row: |z| + |z'| for z - z';
        without it, |row|. A row y counts as measurable if y + e = (X + E)'a for some |e| <= u·magnitudes in each
        feature and ‖E‖ <= u‖X‖, where u = 4·max(n, d)·eps. With a of least norm, its part outside the span is then
        at most u‖X‖‖a‖ + ‖u·magnitudes‖ in scaled features. Of that, no more than ``most`` times the size of the row
        itself, or of ``apart`` (k,) if that is less, is forgiven: items may be as large as they like, what counts is
        their difference. A feature that is 0 in all probes has no scale and no E, and is tested by itself, relative
        to its magnitude.
        """
        d = self.scale.size
        if self.rank == d:
            return np.zeros(vectors.shape)
        compared = self._compared(vectors, magnitudes, most, apart)
        slack, outside = compared.slack, compared.outside
        inside = _norms(outside) <= slack
        outside = np.where(inside[:, None] | (np.abs(outside) <= slack[:, None] / d), 0.0, outside)
        if self.sees_all:
            return outside
        return np.where(self.seen, outside, np.where(self._alone(compared, most), compared.scaled, 0.0))

    def _alone(self, compared: _Compared, most: float) -> NDArray[np.bool_]:
        """(k, d): which entries are more than rounding of their magnitude; asked of features that no probe has."""
        scaled, sizes, own, limit, *_ = compared
        # how much of its magnitude the row is, in the feature where that is most
        share = np.max(np.abs(scaled) / np.where(sizes > 0, sizes, 1.0), axis=1, where=self.seen, initial=0.0)
        share *= limit / np.where(own > 0, own, 1.0)
        unit = 4 * max(self.probes.shape[0], self.scale.size) * _EPS
        return np.asarray(np.abs(scaled) > np.minimum(unit, most * share[:, None]) * sizes)

    def _compared(self, vectors: Array, magnitudes: Array | None, most: float, apart: Array | None) -> _Compared:
        n = self.probes.shape[0]
        unit = 4 * max(n, self.scale.size) * _EPS
        scaled = vectors / self.scale
        sizes = np.abs(scaled) if magnitudes is None else np.maximum(magnitudes / self.scale, np.abs(scaled))
        some, their = (scaled, sizes) if self.sees_all else (scaled[:, self.seen], sizes[:, self.seen])
        own = _norms(some)
        combination = _norms(self(vectors)) / np.sqrt(n)
        slack = unit * self.size * combination + unit * _norms(their)
        limit = own if apart is None else np.minimum(own, apart)
        slack = np.minimum(slack, most * limit) + unit * limit
        return _Compared(scaled, sizes, own, limit, slack, (scaled @ self.complement) @ self.complement.T)

    @cached_property
    def sees_all(self) -> bool:
        """Whether every feature differs from 0 in some probe."""
        return bool(self.seen.all())

    def _surely_inside(self, vectors: Array) -> bool:
        """Whether the part of every row outside is at most half of what is always forgiven: the rest is rounding."""
        scaled = vectors / self.scale
        if not self.sees_all and scaled[:, ~self.seen].any():
            return False
        most = 2 * max(self.probes.shape[0], self.scale.size) * _EPS * _norms(scaled)
        return bool((_norms(scaled @ self.complement) <= most).all())

    def is_inside(
        self, vectors: Array, magnitudes: Array | None = None, *, apart: Array | None = None
    ) -> NDArray[np.bool_]:
        """(k,): whether each row lies in span(X) up to rounding; ``magnitudes`` and ``apart`` as in ``lost``."""
        if self.rank == self.scale.size:
            return np.ones(vectors.shape[0], dtype=np.bool_)
        if apart is None and self._surely_inside(vectors):
            return np.ones(vectors.shape[0], dtype=np.bool_)
        compared = self._compared(vectors, magnitudes, FORGIVEN, apart)
        # a row longer than its slack outside has an entry longer than slack/d there
        inside: NDArray[np.bool_] = _norms(compared.outside) <= compared.slack
        if not self.sees_all:
            inside &= ~(self._alone(compared, FORGIVEN) & ~self.seen).any(axis=1)
        return inside


class _Compared(NamedTuple):
    """Rows beside what is forgiven of them."""

    scaled: Array
    """(k, d): rows in scaled features."""
    sizes: Array
    """(k, d): magnitudes in scaled features."""
    own: Array
    """(k,): sizes of the rows, in features that some probe has."""
    limit: Array
    """(k,): what the forgiven part is measured by."""
    slack: Array
    """(k,): what is forgiven."""
    outside: Array
    """(k, d): the part outside the span."""


@cache
def _some(d: int) -> Array:
    """(d,): any direction."""
    return np.random.default_rng(0).standard_normal(d)


def _norms(rows: Array) -> Array:
    """(k,): as ``np.linalg.norm`` of each row, several times faster where they are few."""
    norms: Array = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return norms


def coordinates(probes: Array) -> Coordinates:
    """Coordinates of the span of the rows of ``probes`` (n, d), by one thin singular value decomposition."""
    n, d = probes.shape
    scale = np.abs(probes).max(axis=0)
    seen = scale > 0
    scale = np.where(seen, scale, 1.0)
    left, singular, right = np.linalg.svd(probes / scale, full_matrices=False)
    rank = int(np.sum(singular > singular[0] * max(n, d) * _EPS)) if singular.size else 0
    basis = right[:rank].T
    transform = basis / singular[:rank] * np.sqrt(n) / scale[:, None]
    size = float(np.linalg.norm(singular))
    return Coordinates(transform, left[:, :rank] * np.sqrt(n), scale, basis, seen, size, probes)


def budgeted(probes: Array, cost: Array) -> Coordinates:
    """Coordinates of the rows x_i/√c_i of ``probes`` (n, d), at ``cost`` (n,), of no lower rank than the probes have.

    What can be measured does not depend on what it costs, but divided and rounded, nearly collinear probes may lose a
    dimension. They then get the coordinates of the probes as given, and the divided rows theirs in these. Only costs
    so far apart that a dimension is as good as lost even so, in twice the working precision, leave the rank lower.
    """
    root = np.sqrt(cost)[:, None]
    space = coordinates(probes / root)
    if space.rank == space.scale.size or (plain := coordinates(probes)).rank <= space.rank:
        return space
    # columns of a transform grow from left to right; each is combined with smaller ones only, and keeps its digits
    triangle = np.linalg.qr(plain.probes / root, mode="r")
    if (np.abs(np.diag(triangle)) <= max(probes.shape) * _EPS * np.linalg.norm(triangle, axis=0)).any():
        return space
    from scipy.linalg import solve_triangular  # slow to load, and no command needs it for its help

    transform = np.sqrt(len(probes)) * solve_triangular(triangle, plain.transform.T, trans=1).T
    rows = image(probes, transform, precise=True).rows / root
    judged, sizes = coordinates(rows), np.linalg.norm(rows, axis=0)  # equal sizes, were it not for rounding
    if judged.rank < plain.rank or judged.condition > _WORST or sizes.min() * _WORST < sizes.max():
        return space
    basis = np.linalg.qr(plain.basis * (plain.scale / space.scale)[:, None])[0]
    return replace(space, transform=transform, probes=rows, basis=basis)


def unscaled(space: Coordinates, probes: Array) -> Coordinates:
    """Coordinates of ``probes`` (n, d) whose rows ``space`` has scaled, to judge spans without the rounding of that.

    Where the scaled rows have another rank as far as doubles can tell, what they lack counts: then ``space`` itself.
    """
    if space.rank == space.scale.size:
        return space
    plain = coordinates(probes)
    return plain if plain.rank == space.rank else space


_WORST = 1e6
"""Condition of rows above which their information matrix, whose condition is the square, has few digits left."""
_REFINEMENTS = 20
"""Steps at most, each of which gains the digits that the condition of the probes leaves: one or two are usual."""
