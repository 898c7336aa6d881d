"""optimal_design: from probes and directions to a design with its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from probewise.coordinates import Array, Coordinates, coordinates
from probewise.design import working_set
from probewise.design.certificate import Certificate, Witness, certify
from probewise.design.criterion import Directions, Pairs, as_matrix, contains
from probewise.design.farthest import Labels
from probewise.design.memory import remembered
from probewise.design.solvers import frank_wolfe
from probewise.errors import InvalidDesign, NotIdentifiable

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
    def converged(self) -> bool:
        """Whether the certified gap is at most the tolerance asked for."""
        return self.gap <= self.tol

    @property
    def support(self) -> Labels:
        """Numbers of the probes with positive weight."""
        return np.flatnonzero(self.weights > 0).astype(np.int64)

    def __repr__(self) -> str:
        return (
            f"Design({self.weights.size} probes, {self.support.size} in the support, "
            f"value {self.value:.6g}, optimum >= {self.lower:.6g}, gap {self.gap:.1e})"
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
def _solved(X: Array, directions: Directions, c: Array, tol: float, solver: str, start: Labels | None) -> Design:
    # with budget shares b_i = c_i w_i / (c·w) the problem is the one of unit costs with probes x_i/√c_i
    space = coordinates(X / np.sqrt(c)[:, None])
    _check_directions(space, directions)
    mapped = directions.mapped(space.transform)
    candidates: tuple[Array, ...]
    if solver == "frank-wolfe":
        trace = frank_wolfe.solve(space.probes, mapped)
        candidates, witness, rounds = (trace.weights,), trace.witness, trace.iterations
    else:
        outcome = working_set.solve(space.probes, mapped, tol=tol, start=start)
        candidates, witness, rounds = outcome.candidates, outcome.witness, outcome.rounds
    # judged on the probes and directions as they were given: v'(yT) = (Tv)'y
    witness = Witness(witness.labels, witness.multipliers, witness.vectors @ space.transform.T)
    for shares in candidates:
        weights = shares / c / (shares / c).sum()
        certificate = certify(X, c, directions, weights, witness)
        if certificate.gap <= tol:
            break
    return Design(weights, certificate, tol, solver, rounds)


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


def _check_directions(space: Coordinates, directions: Directions) -> None:
    generators = directions.generators
    if generators.shape[1] != space.scale.size:
        raise InvalidDesign(
            f"probes and directions must have the same features, got {space.scale.size} and {generators.shape[1]}."
        )
    if not generators.any():
        raise InvalidDesign("all directions are zero: there is nothing to learn; give items that differ.")
    with np.errstate(over="ignore"):
        ratio = float(np.abs(generators / space.scale).max())
    if not _LIMIT**-1 < ratio < _LIMIT:  # squares must not leave the range of floating-point numbers
        raise InvalidDesign(
            f"directions must be of a size like the probes', got {ratio:.0e} times it; change the units."
        )
    if not contains(space, directions):
        lost = space.lost(generators, directions.magnitudes)
        row = int(np.argmax(np.abs(lost).max(axis=1)))
        columns = np.flatnonzero(np.abs(lost[row]) > 1e-3 * np.abs(lost[row]).max())
        what = f"item {row} cannot be compared with the others" if isinstance(directions, Pairs) else f"direction {row}"
        raise NotIdentifiable(
            f"{what}: it has a part in feature columns {', '.join(map(str, columns[:8]))} that no combination of "
            "probes measures; add probes that vary these features, or leave it out."
        )
