"""Designs for algorithms: weights on few probes and their variance, by the certified solver or as the authors did."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.arithmetic import coarsely
from probewise.coordinates import Array, Counts, coordinates, unscaled
from probewise.design import Directions, Pairs, largest_variance, optimal_design, recertified, reduce_support
from probewise.design.criterion import contains
from probewise.design.memory import remembered
from probewise.design.solvers import frank_wolfe
from probewise.errors import InvalidAlgorithm, NotIdentifiable, OutOfStock
from probewise.goals import Claims
from probewise.problem import Problem
from probewise.rounding import efficient_counts, round_design
from probewise.tables import named

Solver = Literal["certified", "frank-wolfe"]
_AUTHORS_ITERATIONS = 4999
_frank_wolfe = remembered(frank_wolfe.solve)


class Weighted(NamedTuple):
    """Weights and what they attain."""

    weights: Array
    """(n,): summing to 1."""
    rho: float
    """max_y y'A(w)⁻¹y, the largest variance after one measurement, with probes in units of their noise."""


def plan(
    problem: Problem,
    directions: Directions,
    *,
    tol: float,
    solver: Solver = "certified",
    among: NDArray[np.bool_] | None = None,
    start: NDArray[np.bool_] | None = None,
) -> Weighted:
    """The design of least cost for ``directions``, on all probes or ``among`` (n,) some of them.

    "frank-wolfe" is the authors' code: up to 4999 steps, stopped by a clock, with the value before the last step,
    which is close to that of the weights but no bound on it. ``start`` (n,) marks the probes of a similar design.
    """
    certified = _remembered if directions.size <= _COMPARED else _certified  # whose parts are remembered anyway
    if among is not None and not among.all():
        begin = None if start is None else start[among]
        part = certified(problem.scaled_probes[among], directions, problem.cost[among], tol, begin)
        weights = np.zeros(problem.n_probes)
        weights[among] = part.weights
        return Weighted(weights, part.rho)
    if solver == "certified":
        return certified(problem.scaled_probes, directions, problem.cost, tol, start)
    # shares of the cost: probes x_i/√c_i at unit cost, as in optimal_design
    space = coordinates(problem.scaled_probes / problem.cost[:, None] ** 0.5)
    trace = _frank_wolfe(space.probes, directions.mapped(space.transform), iterations=_AUTHORS_ITERATIONS)
    weights = trace.weights / problem.cost
    weights = weights / weights.sum()
    return Weighted(weights, trace.last_value / float(problem.cost @ weights))


def _certified(
    probes: Array, directions: Directions, cost: Array, tol: float, start: NDArray[np.bool_] | None
) -> Weighted:
    design = optimal_design(probes, directions, cost=cost, tol=tol, start=start)
    weights = reduce_support(probes, _without_specks(probes, directions, design.weights, tol), cost=cost)
    # value = (cost·w) max_y y'A(w)⁻¹y is the same for both, whatever their scale
    return Weighted(weights, design.value / float(cost @ weights))


_remembered = remembered(_certified)


def _without_specks(probes: Array, directions: Directions, weights: Array, tol: float) -> Array:
    """(n,): weights without those far below the tolerance, if the other probes determine every direction without them.

    An exact design has such specks where directions lie in the span of its other probes up to rounding; each would
    cost a measurement in every round. What they add is less than what estimates forgive.
    """
    heavy = weights > _SPECK * tol * weights.max()
    if heavy.all() or np.array_equal(heavy, weights > 0) or directions.size > _COMPARED:
        return weights
    kept = np.where(heavy, weights, 0.0) / weights[heavy].sum()
    space = coordinates(probes[heavy])
    if not all(space.is_inside(*_rows_and_sizes(part)).all() for part in directions.parts):
        return weights
    limit = (1.0 + tol) * largest_variance(probes, weights, directions)
    return kept if largest_variance(probes, kept, directions) <= limit else weights


def _rows_and_sizes(directions: Directions) -> tuple[Array, Array]:
    """(k, d) twice: every direction, and the sizes of what it was formed from."""
    if not isinstance(directions, Pairs):
        return directions.generators, directions.magnitudes
    first, second = np.triu_indices(directions.items.shape[0], 1)
    one, other = directions.items[first], directions.items[second]
    return one - other, np.abs(one) + np.abs(other)


_SPECK = 0.02
_COMPARED = 5_000
"""Directions that are looked at one by one; with more of them a design seldom has specks, and keeps them."""


def allocated(
    problem: Problem,
    directions: Directions,
    n: int,
    room: Array,
    *,
    tol: float,
    replicates: int = 1,
    start: NDArray[np.bool_] | None = None,
    solved: Array | None = None,
) -> Counts:
    """(n_probes,): ``n`` measurements by the design of least cost, none of a probe beyond its ``room`` (n_probes,).

    What a probe has no room for goes to the others, by the best design among them; fewer than ``n``, or none at all,
    where these cannot determine the directions. Where there is room, ``replicates`` at a time. ``start``: see ``plan``;
    ``solved`` (n_probes,) is that design among all probes, if it is known.
    """
    if n > 0 and solved is None and directions.size <= _COMPARED and room.min() == math.inf:
        try:
            each = _counts(problem.scaled_probes, directions, problem.cost, tol, start, -(-n // replicates))
            return replicates * each
        except NotIdentifiable:
            return np.zeros(problem.n_probes, dtype=np.int64)
    counts, room = np.zeros(problem.n_probes, dtype=np.int64), np.maximum(room, 0)
    while (left := n - int(counts.sum())) > 0 and (free := counts < room).any():
        try:
            known = solved if free.all() else None
            weights = plan(problem, directions, tol=tol, among=free, start=start).weights if known is None else known
        except NotIdentifiable:
            break
        more = replicates * _rounded(problem.scaled_probes, weights, -(-left // replicates))
        counts += np.minimum(more, room - counts).astype(np.int64)  # all of it, or one more probe is full
    return counts


@remembered
def _counts(
    probes: Array, directions: Directions, cost: Array, tol: float, start: NDArray[np.bool_] | None, n: int
) -> Counts:
    """(n_probes,): ``n`` measurements by the design of least cost; rounds of many runs have the same sizes."""
    return _rounded(probes, _remembered(probes, directions, cost, tol, start).weights, n)


def kept(weights: Array) -> dict[str, Any]:
    """The weights of a design as JSON: the probes that have weight, and it."""
    (probes,) = np.nonzero(weights)
    return {"probes": probes.tolist(), "weights": weights[probes].tolist()}


def recalled(problem: Problem, directions: Directions, memo: Mapping[str, Any]) -> Array:
    """(n,): the weights that ``kept`` gave; refused unless they are a design that determines every direction."""
    weights = np.zeros(problem.n_probes)
    if {*memo} == {"probes", "weights"}:
        _put(memo["probes"], memo["weights"], weights)
    if abs(weights.sum() - 1.0) <= _SUM:
        rows, shares = problem.scaled_probes[weights > 0], weights[weights > 0]
        # rounding may hide a direction from either of two systems that span the same
        for system in (coordinates(rows), unscaled(coordinates(rows * np.sqrt(shares)[:, None]), rows)):
            if system.rank == problem.coordinates.rank or contains(system, directions):
                return weights
    raise InvalidAlgorithm(
        "the design kept from the start must have probes in ascending order and positive weights that sum to 1, and "
        f"must determine all that is compared, got {str({**memo})!a:.80}."
    )


def _put(probes: Any, given: Any, weights: Array) -> None:
    """Put weights where they belong, if these are lists of as many probes, ascending, and positive numbers."""
    if not (isinstance(probes, list) and isinstance(given, list) and len(probes) == len(given) > 0):
        return
    fits = all(type(weight) is float and 0 < weight <= 1 for weight in given)
    if (
        fits
        and all(type(probe) is int and 0 <= probe < weights.size for probe in probes)
        and (np.diff(probes) > 0).all()
    ):
        weights[probes] = given


_SUM = 1e-9
"""What rounding may do to the sum of weights, with room to spare."""


def check_recalled(problem: Problem, directions: Directions, memo: Mapping[str, Any], *, tol: float) -> None:
    """Refuse a design that is worse than ``plan`` can have given: within tol of the best, twice for its specks.

    By its certificate, or by its largest variance: each may be spoilt by rounding where probes are nearly dependent.
    """
    weights, probes = recalled(problem, directions, memo), problem.scaled_probes
    best = optimal_design(probes, directions, cost=problem.cost, tol=tol)
    found = recertified(best, probes, directions, weights, cost=problem.cost)
    own, other = (
        float(problem.cost @ each) * largest_variance(probes, each, directions) for each in (weights, best.weights)
    )
    most = (1.0 + tol) ** 2 * (1.0 + _SUM)
    if not (found.value <= most * best.value or own <= most * other < math.inf):
        raise InvalidAlgorithm(
            f"the design kept from the start is not that of the problem: its largest variance is {own:.6g}, and that "
            f"of the best is {other:.6g}."
        )


def unit_whitener(problem: Problem, weights: Array) -> Array:
    """(d, r): |y @ whitener|² = y'A(w)⁻¹y, the variance after one measurement by a design, for y that it determines."""
    system = coordinates(problem.scaled_probes * np.sqrt(weights)[:, None])
    return system.transform / math.sqrt(problem.n_probes)


def check_stock(problem: Problem, claims: Claims, counts: Counts, room: Array) -> None:
    """Refuse a round, limited by what is left of probes, that says nothing of some of the claims."""
    if np.isinf(room).all():
        return
    lost = np.ones(claims.against.size, dtype=np.bool_)
    if counts.any():
        lost = ~coordinates(problem.scaled_probes[counts > 0]).is_inside(claims.rows, claims.sizes)
    if lost.any():
        short = [problem.probe_names[i] for i in np.flatnonzero(counts >= room)]
        raise OutOfStock(
            f"too little is left of probes {named(short)} to decide about items "
            f"{named([problem.item_names[i] for i in dict.fromkeys(claims.against[lost].tolist())])}; "
            "add to their stock or leave these items out."
        )


def _rounded(probes: Array, weights: Array, n: int) -> Counts:
    """(n_probes,): ``n`` measurements by a design, even if it has more probes than that; of equal ones the first."""
    weights = coarsely(weights)
    weights = weights / weights.sum()
    if n >= np.count_nonzero(weights):
        return efficient_counts(weights, n)
    return round_design(weights, n, probes=probes, method="regret").counts


def check_solver(solver: str) -> None:
    """Refuse an unknown solver."""
    if solver not in ("certified", "frank-wolfe"):
        raise InvalidAlgorithm(f"solver must be 'certified' or 'frank-wolfe', got {solver!r}.")


def coarse(gaps: Array) -> Array:
    """(k,): gaps over the smallest, u = log gap on a grid of log(1 + u): far rivals hardly shape a design."""
    return np.asarray(np.exp(np.expm1(_STEP * np.round(np.log1p(np.log(gaps / gaps.min())) / _STEP))))


_STEP = 0.1
"""Grid of the smallest gaps' logarithms, coarser for others: nearly equal gaps share a design, solved once."""
