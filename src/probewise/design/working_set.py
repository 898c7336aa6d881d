"""Certified designs at scale: small problems on working sets of probes and of directions, grown by violation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dtrtrs

from probewise.coordinates import Array, Coordinates, coordinates
from probewise.design.certificate import Witness
from probewise.design.criterion import Directions, Vectors
from probewise.design.farthest import Labels, spread, square_norms
from probewise.design.solvers import interior
from probewise.design.support import factors, needed

AT_ONCE = 16
"""Batches up to which all probes and directions are in the first small problem: one problem instead of two or three."""
_SHORT = 1e-4
"""Part of the largest square below which a direction hardly matters; if it does, it comes later."""
ROUNDS = 200
"""Small problems at most; 3 to 20 are usual."""
_FORGETFUL = 30
"""Rounds in which idle probes and directions are dropped if a bound has improved; later the sets only grow."""
_NEARLY = 0.98
"""Share of the target above which the exact search collects directions: those that the next design would make long."""
_FIRST = 400
"""Probes to begin with, if that is neither few nor many for their dimension: a Newton step may take their cube."""
_EARLIER = 1e-6
"""How much shorter the last probe is taken to be than the first where long ones are wanted."""
_CONIC_SIZE = 20_000
"""Largest number of cones that is handed to the conic solver when the interior-point method falls short."""


@dataclass(frozen=True)
class Solved:
    """Designs and the witness of their optimality, all to be judged by the certificate."""

    candidates: tuple[Array, ...]
    """Weights (n,) summing to 1: first on few probes, last as the method left them."""
    witness: Witness
    """Directions, multipliers and vectors for the lower bound."""
    rounds: int
    """Small problems solved."""


def first_probes(r: int) -> int:
    """How many probes of dimension ``r`` the first working set has, if nothing is known of the design."""
    return min(max(_FIRST, 4 * _batch(r)), 16 * _batch(r))


def _batch(r: int) -> int:
    return max(10, 3 * r)


def solve(probes: Array, directions: Directions, *, tol: float, start: Labels | None = None) -> Solved:
    """Minimise max_y y'A(w)⁻¹y over weights on ``probes`` (n, r), which have full rank, to relative gap ``tol``.

    Each round solves the problem on the working sets and prices both sides. Probes: those whose x'A⁻¹MA⁻¹x exceeds
    that of the ones in the set. Directions: those longer than the ones in the set, under the new design or, where
    that is no better than the best design so far, half-way between the two, which steadies the search. Directions
    are looked for quickly in every round, and exactly before the end. The first probes are those in ``start``, or
    those that a rough design for the average direction likes best.
    """
    n, r = probes.shape
    batch, basis = _batch(r), cache(partial(_basis, probes))
    if start is None and isinstance(directions, Vectors) and _is_small(n, directions.size, r):
        chosen, labels, inner_tol = np.arange(n), directions.long(_SHORT), 0.4 * tol
    else:
        chosen, labels, inner_tol = *_first_sets(probes, directions, basis(), start), 0.2
    lower = 0.0
    best: _DirectionPrices | None = None
    for rounds in range(1, ROUNDS + 1):
        small = _restricted(probes[chosen], directions.rows(labels), inner_tol)
        dual = _ProbePrices(probes, directions, chosen, labels, small)
        better = dual.lower > lower
        if better:
            lower, witness = dual.lower, dual.witness
        new = np.zeros(n)
        new[chosen] = small.weights / small.weights.sum()
        tried = [_DirectionPrices(probes, directions, new, dual.whitener, dual, batch)]
        if best is not None and tried[0].upper > best.upper:
            half = 0.5 * (new + best.weights)
            tried += [_DirectionPrices(probes, directions, half, _whitener(probes, half), dual, batch), best]
        better = better or best is None or min(prices.upper for prices in tried) < best.upper
        best = min(tried, key=lambda prices: prices.upper)
        if best.upper <= (target := lower * (1.0 + 0.8 * tol)):
            best.look_everywhere(_NEARLY * target, 6 * batch)
        if best.upper <= target:
            break
        more_probes = dual.worse(4 * batch)
        more_labels = np.setdiff1d(np.concatenate([prices.longer for prices in tried]), labels)
        stuck = more_probes.size + more_labels.size == 0
        if stuck and (small.gap > inner_tol or small.gap <= 0.01 * tol):
            break
        if better and rounds <= _FORGETFUL:
            chosen, labels = dual.useful()
        chosen = np.union1d(np.concatenate([chosen, more_probes]), basis())
        labels = np.concatenate([labels, more_labels])
        gap = best.upper / lower - 1.0
        inner_tol = 0.1 * inner_tol if stuck else max(0.4 * tol, min(inner_tol, 0.1 * gap))
    assert best is not None
    return Solved((best.purified(lower * (1.0 + tol), labels, 0.1 * tol), best.weights), witness, rounds)


def _is_small(n: int, directions: int, r: int) -> bool:
    """Whether the first small problem may have all ``n`` probes and all directions; for few of these few probes do."""
    batch = _batch(r)
    return directions <= AT_ONCE * batch and n <= (AT_ONCE * batch if directions > 4 * batch else first_probes(r))


def _basis(probes: Array) -> Labels:
    """(r,): probes that span all of them; of equally good ones the first, however a processor rounds."""
    n, r = probes.shape
    earlier = 1.0 - _EARLIER * np.arange(n) / n
    return np.asarray(qr(probes.T * earlier, mode="r", pivoting=True, check_finite=False)[1][:r], dtype=np.int64)


def _first_sets(probes: Array, directions: Directions, basis: Labels, start: Labels | None) -> tuple[Labels, Labels]:
    """Probes and labels of directions to begin with."""
    n, r = probes.shape
    if start is None:
        first = _average_design(probes, directions.moment())
        chosen = np.union1d(basis, np.argsort(-first, kind="stable")[: first_probes(r)])
    else:
        chosen = np.union1d(basis, start)
        first = np.bincount(chosen, minlength=n) / chosen.size
    metric = directions.mapped(_whitener(probes, first))
    return chosen, metric.seek(0.0, 4 * _batch(r), basis[:0])[0]


class _ProbePrices:
    """What all probes say about the multipliers of a small solution: a lower bound and the probes that limit it."""

    def __init__(
        self,
        probes: Array,
        directions: Directions,
        chosen: Labels,
        labels: Labels,
        small: interior.Restricted,
    ) -> None:
        self._chosen, self.labels, self._small = chosen, labels, small
        rows = directions.rows(labels)
        self.whitener = _whitener(probes[chosen], small.weights)
        whitened = rows @ self.whitener
        self._squares = square_norms(whitened)
        self.inner = float(self._squares.max())
        lifted = (whitened / self._squares[:, None]) @ self.whitener.T  # v_y'y = 1: docs/theory.md, theorem 3
        self._vectors = lifted if small.vectors is None else small.vectors
        factors = self._vectors * np.sqrt(small.multipliers)[:, None]
        if factors.shape[0] > factors.shape[1]:
            factors = np.asarray(np.linalg.qr(factors, mode="r"))
        self._images = probes @ factors.T
        self._scores = square_norms(self._images)
        products = np.einsum("ij,ij->i", self._vectors, rows)
        self.lower = float(small.multipliers @ products) ** 2 / float(self._scores.max())

    @property
    def carrying(self) -> Labels:
        """Labels of the directions that matter in the small solution."""
        return np.asarray(self.labels[self._small.multipliers > 1e-3 * self._small.multipliers.max()])

    @property
    def witness(self) -> Witness:
        """The directions that carry weight, with their vectors."""
        dual = self._small.multipliers
        carry = dual > 1e-12 * dual.max()
        return Witness(self.labels[carry], dual[carry], self._vectors[carry])

    def worse(self, count: int) -> Labels:
        """At most ``count`` probes that violate optimality, unlike each other, most violating first."""
        worse = np.flatnonzero(self._scores > self._scores[self._chosen].max())
        return np.asarray(worse[spread(self._images[worse], count)])

    def useful(self) -> tuple[Labels, Labels]:
        """The probes and labels of the working sets that are active or not far from it."""
        scores, weights, dual = self._scores[self._chosen], self._small.weights, self._small.multipliers
        probes = (scores > 0.95 * scores.max()) | (weights > 0.1 / weights.size)
        labels = (self._squares > 0.95 * self.inner) | (dual > 0.1 / dual.size)
        return self._chosen[probes], self.labels[labels]


class _DirectionPrices:
    """What all directions say about a design: an upper bound, and the directions that are too long."""

    def __init__(
        self, probes: Array, directions: Directions, weights: Array, whitener: Array, dual: _ProbePrices, count: int
    ) -> None:
        self._probes, self._directions, self.weights, self._whitener = probes, directions, weights, whitener
        self._metric = directions.mapped(whitener)
        known = float(square_norms(self._metric.rows(dual.labels)).max())
        self.longer, self._looked = self._metric.seek(dual.inner, count, dual.carrying)
        self.upper = max(known, self._longest(self.longer))
        if self._looked:  # it may be as large as all directions, and nothing is left to look for
            del self._metric

    def _longest(self, labels: Labels) -> float:
        return float(square_norms(self._metric.rows(labels)).max(initial=0.0))

    def look_everywhere(self, limit: float, count: int) -> None:
        """Find directions above ``limit``, if there are any, exactly; once is enough."""
        if self._looked:
            return
        self._looked = True
        more = self._metric.longer(limit, count)
        self.longer = np.union1d(self.longer, more)
        self.upper = max(self.upper, self._longest(more))

    def purified(self, limit: float, labels: Labels, tol: float) -> Array:
        """Weights on few probes: the heavy ones, as they are or solved anew, if their value stays below ``limit``.

        Where that are more than are ever needed, so many of them with the same information, if that is soon found.
        """
        rows = self._directions.rows(np.union1d(labels, self.longer))
        images = self._probes @ self._whitener
        useful = self._useful(images)
        full, enough = np.zeros(useful.size), needed(images.shape[1])
        for threshold in _HEAVY:
            heavy = np.flatnonzero(useful > threshold * useful.max())
            if _REDUCED >= enough < heavy.size:
                break
            span = coordinates(self._probes[heavy])
            if not _nearly_contains(span, self._directions.generators):
                continue
            for again in (False, True):
                weights = interior.solve(span.probes, span(rows), tol=tol).weights if again else useful[heavy]
                full[heavy] = weights / weights.sum()
                metric = span.transform @ _whitener(span.probes, full[heavy])
                if square_norms(rows @ metric).max() <= limit:
                    return full
        if enough > _REDUCED:
            return np.asarray(useful / useful.sum())
        heavy = np.flatnonzero(useful)
        full[heavy] = useful[heavy] * factors(images[heavy] * np.sqrt(useful[heavy])[:, None], useful[heavy])
        return np.asarray(full / full.sum())

    def _useful(self, images: Array) -> Array:
        """Weights without the probes that estimate no direction: w_i x_i'A⁻¹y is 0, up to rounding, for all y."""
        moment = self._whitener.T @ self._directions.moment() @ self._whitener
        used = self.weights * np.einsum("ij,ij->i", images @ moment, images)
        return np.where(used > 1e-14 * used.max(), self.weights, 0.0)


_REDUCED = 300
"""Probes ever needed up to which such a design is reduced to them: in 50 dimensions, 1,276, that takes 12 s."""
_HEAVY = (1e-2, 1e-4, 1e-6)
"""Parts of the largest weight above which others are heavy."""


def _nearly_contains(span: Coordinates, rows: Array) -> bool:
    """Whether the rows lie in a span up to what changes of coordinates may leave; the certificate decides exactly."""
    if span.rank == span.scale.size:
        return True
    scaled = rows / span.scale
    outside = scaled - (scaled @ span.basis) @ span.basis.T
    return bool((square_norms(outside) <= 1e-18 * square_norms(scaled)).all())


def _whitener(probes: Array, weights: Array) -> Array:
    """(r, r): W with WW' = A(w)⁻¹, from a triangular factor of the probes themselves."""
    carry = np.flatnonzero(weights)
    factor = np.asarray(np.linalg.qr(probes[carry] * np.sqrt(weights[carry])[:, None], mode="r"))
    inverse, failed = dtrtrs(factor, np.eye(factor.shape[0]))
    if failed:
        raise np.linalg.LinAlgError
    return np.asarray(inverse)


def _average_design(probes: Array, moment: Array) -> Array:
    """(n,): roughly the weights that minimise the sum of y'A(w)⁻¹y, by a few multiplicative steps; all positive."""
    weights = np.full(probes.shape[0], 1.0 / probes.shape[0])
    factor = np.linalg.cholesky(moment / np.trace(moment) + 1e-9 * np.eye(moment.shape[0]))
    for _ in range(_AVERAGE_STEPS):
        information = (probes * weights[:, None]).T @ probes
        weights = weights * np.sqrt(square_norms(probes @ np.linalg.solve(information, factor)))
        weights /= weights.sum()
    return weights


_AVERAGE_STEPS = 15


def _restricted(probes: Array, rows: Array, tol: float) -> interior.Restricted:
    """The small problem, by the interior-point method; where it falls short and the size allows, by the conic one."""
    small = interior.solve(probes, rows, tol=tol)
    if small.gap > tol and probes.shape[0] * rows.shape[0] <= _CONIC_SIZE:
        from probewise.design.solvers import conic  # seldom needed, and slow to load

        other = conic.solve(probes, rows, tol=tol)
        return other if other.gap < small.gap else small
    return small
