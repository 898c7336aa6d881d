"""optimal_design: from probes and directions to a design with its certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from probewise.coordinates import Array, Coordinates, budgeted, coordinates, unscaled
from probewise.design import working_set
from probewise.design.certificate import Certificate, Frame, Witness, framed, lower_in, value_of
from probewise.design.criterion import Directions, Pairs, Vectors, as_matrix, contains
from probewise.design.farthest import Labels
from probewise.design.memory import remembered
from probewise.design.solvers import determinant, frank_wolfe
from probewise.design.working_set import Solved
from probewise.errors import InvalidDesign, NotIdentifiable
from probewise.threads import few

SOLVERS = ("certified", "frank-wolfe")


@dataclass(frozen=True)
class Design:
    """Weights on probes with a certificate: lower <= optimum <= value."""

    weights: Array
    """(n,): the share of the measurements that each probe gets; non-negative, summing to 1."""
    certificate: Certificate
    """Value and lower bound, computed by code that knows no solver."""
    tol: float
    """The relative gap that was asked for."""
    solver: str
    """How the weights were found."""
    rounds: int
    """Small problems, or Frank-Wolfe steps, that it took."""

    @property
    def value(self) -> float:
        """(cost·w) max_y y'A(w)⁻¹y: measurements, or cost, per unit of precision."""
        return self.certificate.value

    @property
    def lower(self) -> float:
        """Proven lower bound on the value of every design."""
        return self.certificate.lower

    @property
    def gap(self) -> float:
        """value/lower - 1."""
        return self.certificate.gap

    @property
    def exact(self) -> bool:
        """Whether the certificate is about the numbers as given, and not about the nearest dependent ones."""
        return self.certificate.exact

    @property
    def converged(self) -> bool:
        """Whether the certified gap is at most the tolerance asked for, for the numbers as given."""
        return self.exact and self.gap <= self.tol

    @property
    def support(self) -> Labels:
        """Numbers of the probes with positive weight."""
        return np.flatnonzero(self.weights > 0).astype(np.int64)

    def __repr__(self) -> str:
        return (
            f"Design({self.weights.size} probes, {self.support.size} in the support, "
            f"value {self.value:.6g}, optimum >= {self.lower:.6g}, gap {self.gap:.1e}"
            f"{'' if self.exact else ', of probes that depend on each other up to rounding'})"
        )


def optimal_design(
    probes: ArrayLike,
    directions: Directions,
    *,
    cost: ArrayLike | None = None,
    tol: float = 1e-3,
    solver: str = "certified",
    start: ArrayLike | None = None,
) -> Design:
    """The design that minimises (cost·w) max_y y'A(w)⁻¹y over weights w on the rows of ``probes`` (n, d).

    A(w) = Σ w_i x_i x_i'. "certified" works to relative gap ``tol``, shown by the certificate; "frank-wolfe" is the
    paper's solver, which stops by a clock and reports whatever gap is left. ``cost`` (n,) is 1 each by default.
    ``start`` (n,), the weights of a design for similar directions, saves time where probes are many: the certified
    solver begins with the probes that have weight in it.
    """
    if not isinstance(directions, Directions):
        raise InvalidDesign(f"directions come from pairs, star, points or explicit, got {type(directions).__name__}.")
    X = as_matrix(probes, "probes")
    c = _checked_cost(cost, X.shape[0])
    if solver not in SOLVERS:
        raise InvalidDesign(f"solver must be one of {', '.join(SOLVERS)}, got {solver!r}.")
    if not 1e-10 <= tol < 1.0:
        raise InvalidDesign(f"tol must lie between 1e-10 and 1, got {tol!r}; 1e-3 is usual.")
    return _solved(X, directions, c, tol, solver, _first_probes(start, *X.shape))


@remembered
@few
def _solved(X: Array, directions: Directions, c: Array, tol: float, solver: str, start: Labels | None) -> Design:
    # with budget shares b_i = c_i w_i / (c·w) the problem is the one of unit costs with probes x_i/√c_i
    space = budgeted(X, c)
    _check_directions(space, X, directions)
    exact = space.rank == X.shape[1] or directions.exactly_in(X) == (space.rank, True)
    precise = _ROUNDING * space.condition > tol
    own = _labels_of_probes(X, directions) if solver == "certified" and (c == c[0]).all() else None
    while True:
        frame = framed(X, directions, space.transform, precise=precise)
        probes = frame.probes.rows / np.sqrt(c)[:, None] if precise else space.probes
        outcome = _outcome(probes, frame.directions, tol, solver, start, own)
        lower = lower_in(frame, c, outcome.witness)
        for shares in outcome.candidates:
            weights, value, sure = _judged(X, c, directions, frame, shares, tol, exact)
            if (certificate := Certificate(value, lower, sure)).gap <= tol:
                break
        if certificate.gap <= tol or solver == "frank-wolfe" or (precise and own is None):
            return Design(weights, certificate, tol, solver, outcome.rounds)
        precise, own = True, own if not precise else None  # what rounding hides may be all that is missing


def _outcome(
    probes: Array, directions: Directions, tol: float, solver: str, start: Labels | None, own: Labels | None
) -> Solved:
    """Designs by the solver asked for; by determinants where each probe is a direction, of label ``own`` (n,)."""
    if solver == "frank-wolfe":
        trace = frank_wolfe.solve(probes, directions)
        return Solved((trace.weights,), trace.witness, trace.iterations)
    if own is None:
        return working_set.solve(probes, directions, tol=tol, start=start)
    try:
        found = determinant.solve(probes, tol=0.8 * tol, first=working_set.first_probes(probes.shape[1]), start=start)
    except np.linalg.LinAlgError:
        return working_set.solve(probes, directions, tol=tol, start=start)
    carry = np.flatnonzero(found.weights)
    # for the multipliers w on the probes as directions, x'A⁻¹MA⁻¹x is x'A⁻¹x, and the bound is r²/max_x x'A⁻¹x
    vectors = np.linalg.solve((probes * found.weights[:, None]).T @ probes, probes[carry].T).T
    witness = Witness(own[carry], found.weights[carry], np.asarray(vectors, dtype=np.float64))
    return Solved((found.lean, found.weights), witness, found.rounds)


def _labels_of_probes(X: Array, directions: Directions) -> Labels | None:
    """(n,): for each probe a direction that is the same, or None if some probe is no direction."""
    if not isinstance(directions, Vectors) or directions.size < X.shape[0]:
        return None
    if directions.vectors.shape == X.shape and np.array_equal(directions.vectors, X):
        return np.arange(X.shape[0])
    if not (directions.vectors == X[0]).all(axis=1).any():
        return None
    known = {row.tobytes(): label for label, row in enumerate(directions.vectors + 0.0)}  # -0.0 becomes 0.0
    labels = [known.get(row.tobytes(), -1) for row in X + 0.0]
    return None if -1 in labels else np.array(labels, dtype=np.int64)


@few
def recertified(
    design: Design, probes: ArrayLike, directions: Directions, weights: Array, *, cost: ArrayLike | None = None
) -> Design:
    """The design with other ``weights`` (n,) and their value, for the probes, directions and costs that it is for."""
    X = as_matrix(probes, "probes")
    c = _checked_cost(cost, X.shape[0])
    space = budgeted(X, c)
    exact = space.rank == X.shape[1] or directions.exactly_in(X) == (space.rank, True)
    frame = framed(X, directions, space.transform, precise=_ROUNDING * space.condition > design.tol)
    value, sure = value_of(X, c, directions, weights, frame, exact=exact)
    return replace(design, weights=weights, certificate=Certificate(value, design.lower, sure))


_ROUNDING = 1e-14
"""Relative error of a well-conditioned certificate, with room: times the condition it must be below the tolerance."""


def _judged(
    X: Array, c: Array, directions: Directions, frame: Frame, shares: Array, tol: float, exact: bool
) -> tuple[Array, float, bool]:
    """Weights (n,) for shares of the budget, their value, and whether that is about the numbers as given.

    Where the directions lie in the span of the support up to rounding only, a small share goes to probes outside.
    """
    weights = shares / c / (shares / c).sum()
    value, sure = value_of(X, c, directions, weights, frame, exact=exact)
    if np.isinf(value) and (extra := _missing(frame.probes.rows, np.flatnonzero(weights))).size:
        shares = (1.0 - _SMALL * tol) * shares
        shares[extra] += _SMALL * tol / extra.size
        weights = shares / c / (shares / c).sum()
        value, sure = value_of(X, c, directions, weights, frame, exact=exact)
    return weights, value, sure


_SMALL = 0.01


def _missing(probes: Array, support: Labels) -> Labels:
    """Probes that, with those in the support, span all of them; none if the support does."""
    _, singular, basis = np.linalg.svd(np.linalg.qr(probes[support], mode="r"))
    rank = int(np.sum(singular > 1e-10 * singular[0]))
    left = basis[rank:] @ probes.T
    return np.asarray(qr(left, mode="r", pivoting=True)[1][: probes.shape[1] - rank], dtype=np.int64)


def _checked_cost(cost: ArrayLike | None, n: int) -> Array:
    if cost is None:
        return np.ones(n)
    c = np.asarray(cost, dtype=np.float64)
    if c.shape not in ((), (n,)) or not (np.isfinite(c).all() and (c > 0).all()):
        raise InvalidDesign(f"cost must be positive and finite, one number per probe ({n}), got {c!r}.")
    return np.broadcast_to(c, (n,)).copy()


def _first_probes(start: ArrayLike | None, n: int, d: int) -> Labels | None:
    """The probes to begin with; none in particular where the solver would begin with all or nearly all of them."""
    if start is None:
        return None
    weights = np.asarray(start)
    if weights.shape != (n,):
        raise InvalidDesign(f"start must have one weight per probe, expected shape ({n},), got {weights.shape}.")
    return np.flatnonzero(weights > 0).astype(np.int64) if n > working_set.first_probes(d) else None


_LIMIT = 1e100


def _check_directions(space: Coordinates, X: Array, directions: Directions) -> None:
    generators = directions.generators
    if generators.shape[1] != space.scale.size:
        raise InvalidDesign(
            f"probes and directions must have the same features, got {space.scale.size} and {generators.shape[1]}."
        )
    if not generators.any():
        raise InvalidDesign("all directions are zero: there is nothing to learn; give items that differ.")
    with np.errstate(over="ignore"):
        ratio = float((np.maximum(generators.max(axis=0), -generators.min(axis=0)) / space.scale).max())
    if not _LIMIT**-1 < ratio < _LIMIT:  # squares must not leave the range of floating-point numbers
        raise InvalidDesign(
            f"directions must be of a size like the probes', got {ratio:.0e} times it; change the units."
        )
    if not contains(space := unscaled(space, X), directions):
        lost = space.lost(generators, directions.magnitudes)
        if not lost.any():  # each difference to one item is measurable up to rounding, which is not far below them all
            raise NotIdentifiable(
                "some items are so close together that the rounding of their features hides whether the probes can "
                "tell them apart; keep one of such items, or take off what features of all items have in common."
            )
        row = int(np.argmax(np.abs(lost).max(axis=1)))
        columns = np.flatnonzero(np.abs(lost[row]) > 1e-3 * np.abs(lost[row]).max())
        what = f"item {row} cannot be compared with the others" if isinstance(directions, Pairs) else f"direction {row}"
        measured = "no combination of probes measures; add probes that vary these features"
        if coordinates(X).rank > space.rank:
            measured = "only probes far dearer than the others measure; bring the costs closer together"
        raise NotIdentifiable(
            f"{what}: it has a part in feature columns {', '.join(map(str, columns[:8]))} that {measured}, "
            "or leave it out."
        )
