"""How hard a problem is: ψ* and its lower bounds, the gauge and its bounds on ρ, and Theorem 2.

Source throughout: Fiez, Jain, Jamieson and Ratliff (2019). Where the print is wrong, ``docs/errata.md`` says
what is right (E1 to E28); printed values are offered beside the right ones.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from probewise.coordinates import Array, coordinates
from probewise.design import Design, Directions, Pairs, explicit, optimal_design, pairs, star
from probewise.design.apart import Apart
from probewise.design.reached import Reached
from probewise.errors import InvalidDesign, InvalidGoal, InvalidProblem, NotIdentifiable
from probewise.goals import Answer, BestItem, Goal, check_question, tie, usual_goal
from probewise.problem import Problem
from probewise.shards.values import Front, Gaps, behind, highest


@dataclass(frozen=True)
class Hardness:
    """The least effort that any method needs on one instance, and the design that an oracle would use."""

    design: Design
    """The weights that minimise max over z of ‖z_* - z‖²_{A(w)⁻¹} / Δ(z)², with their certificate.

    For other questions than that for the best item z_*: over all claims y'θ of the right answer."""
    answer: Answer
    """The right answer."""
    gaps: Array | Gaps
    """(m,): how far every item is from changing it: Δ(z) = (z_* - z)'θ; 0 for one that cannot, as the best itself.

    Of items that stay where they are, those asked for by number are computed: gaps[[3, 5]]."""

    @property
    def best(self) -> int:
        """Number of the first item of the answer, z_*; an answer without items has none."""
        if not self.answer:
            raise InvalidProblem("the answer has no item, so that none is the first; look at answer.")
        return self.answer[0]

    @property
    def psi(self) -> float:
        """ψ* from above: what the design attains."""
        return self.design.value

    @property
    def psi_lower(self) -> float:
        """ψ* from below, by the certificate of the design; the lower bounds use this one."""
        return self.design.lower

    def lower_bound(self, delta: float) -> float:
        """2ψ*·log(1/2.4δ): no δ-correct method expects a lower cost under Gaussian noise (Theorem 1, E2)."""
        return 2.0 * self.paper_lower_bound(delta)

    def kl_lower_bound(self, delta: float) -> float:
        """2ψ*·kl(δ, 1-δ), slightly larger than ``lower_bound`` and equally true (Kaufmann et al. 2016)."""
        _check_delta(delta)
        # A method that may err half of the time may toss a coin between two items: no bound there.
        kl = (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta) if delta < 0.5 else 0.0
        return 2.0 * self.psi_lower * kl

    def paper_lower_bound(self, delta: float) -> float:
        """ψ*·log(1/2.4δ) as Theorem 1 prints it: true, but half of what its proof gives (E2)."""
        _check_delta(delta)
        return self.psi_lower * max(0.0, -math.log(2.4 * delta))


def hardness(problem: Problem, theta: ArrayLike, *, goal: Goal | None = None, tol: float = 1e-4) -> Hardness:
    """ψ* of an instance whose true parameter is ``theta`` (d,), to a certified relative gap of ``tol``.

    Probes count in units of their noise, so that ψ* contains σ². Where costs differ, ψ* and the bounds are
    about the expected cost of all measurements: the proof of Theorem 1 carries over.
    """
    goal, truth = goal or usual_goal(problem), parameter(problem, theta)
    check_question(problem, goal)
    if why := no_bound(problem, goal):
        raise InvalidProblem(why)
    if problem.shards is not None:
        return _far(problem, goal, truth, tol)
    answer, gaps = answer_and_gaps(problem, truth, goal)
    design = optimal_design(problem.scaled_probes, goal.directions_at(problem, truth), cost=problem.cost, tol=tol)
    return Hardness(design, answer, gaps)


def no_bound(problem: Problem, goal: Goal) -> str:
    """Why no lower bound is known for a question about such outcomes, in a sentence; empty if one is."""
    if goal.epsilon > 0:
        return (
            f"a lower bound is known where one answer is right, and within {goal.epsilon:g} several may be; ask "
            "without epsilon."
        )
    if goal.promise == "share":
        return "a lower bound is known where all of an answer must be right; ask with promise='all'."
    if problem.outcome.learns:
        return (
            f"a lower bound is known for normal noise, and outcomes follow the law '{problem.outcome.name}'; give "
            "sigma instead, with the standard deviation that you expect."
        )
    return ""


def _far(problem: Problem, goal: Goal, theta: Array, tol: float) -> Hardness:
    """The same for items that stay where they are: two looks find the best and all gaps, those of the design follow."""
    shards = goal.upward(problem)[0].shards
    assert shards is not None
    sign, engine = shards.sign, shards.engine
    if len(shards) == 1:
        raise InvalidProblem("the answer is known without a measurement, so there is nothing to design.")
    best = Front.of(*engine.each(highest, shards.pieces, sign, theta, 1), most=1)
    number, row = int(best.numbers[0]), best.rows[0]
    pieces, found = engine.kept(behind, shards.pieces, sign, number, row, theta)
    if tied := [own.tied for own in found if own.tied is not None]:
        raise tie(problem, (number, tied[0]))
    least = min(own.least for own in found)
    directions = Reached(shards, row, pieces, least=least, key=f"behind {theta.tobytes().hex()}")
    design = optimal_design(problem.scaled_probes, directions, cost=problem.cost, tol=tol)
    return Hardness(design, (number,), Gaps(shards, number, theta))


def answer_and_gaps(problem: Problem, theta: ArrayLike, goal: Goal) -> tuple[Answer, Array]:
    """The right answer, and (m,) how far every item is from changing it, 0 for one that cannot."""
    truth = parameter(problem, theta)
    answer, margins = goal.settled(problem, truth)
    gaps = np.full(problem.n_items, np.inf)
    np.minimum.at(gaps, goal.claims(problem, answer).against, margins)
    return answer, np.where(np.isfinite(gaps), gaps, 0.0)


def parameter(problem: Problem, theta: ArrayLike) -> Array:
    """(d,): θ, one finite number per feature."""
    vector = np.asarray(theta, dtype=np.float64)
    if vector.shape != (problem.dimension,):
        expected = f"expected shape ({problem.dimension},), got {vector.shape}"
        raise InvalidProblem(f"theta must have one entry per feature, {expected}.")
    if not np.isfinite(vector).all():
        raise InvalidProblem("theta must be finite, got NaN or infinity; give a number for every feature.")
    return vector


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InvalidGoal(f"delta must lie strictly between 0 and 1, got {delta!r}; 0.05 is usual.")


def gauge(probes: ArrayLike, y: ArrayLike | Directions) -> float:
    """γ(y) = max{c : c·y ∈ conv(X ∪ -X)} of a direction (d,), or the least of several, by linear programming.

    It is the *reciprocal* of what convex analysis calls the gauge of y (E9), and ρ({y}) = 1/γ(y)² (Elfving
    1952). γ(0) is infinite. A y outside span(X), where γ would be 0, raises ``NotIdentifiable``. A set of
    directions takes one linear programme per direction at worst.
    """
    return _gauge(_table(probes), _directions(y))[0]


def _table(probes: ArrayLike) -> Array:
    table = np.asarray(probes, dtype=np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise InvalidDesign(f"probes must be a table of finite numbers, got shape {table.shape}; check its entries.")
    return table


def _directions(y: ArrayLike | Directions) -> Directions:
    return y if isinstance(y, Directions) else explicit(np.atleast_2d(np.asarray(y, dtype=np.float64)))


def _gauge(probes: Array, directions: Directions) -> tuple[float, int, float]:
    """γ_Y, dim span(Y) and max over y of ‖y‖₂²."""
    rows = _rows(directions)
    if rows.shape[1] != probes.shape[1]:
        counts = f"expected {probes.shape[1]}, got {rows.shape[1]}"
        raise InvalidDesign(f"directions must have as many features as the probes, {counts}.")
    span = coordinates(probes)
    outside = np.flatnonzero(~span.is_inside(rows))
    if outside.size:
        raise NotIdentifiable(
            f"direction {outside[0]} lies outside the span of the probes, so they tell nothing about it; "
            "add a probe with what it lacks."
        )
    mapped = span(rows)
    norms = np.linalg.norm(mapped, axis=1)
    largest = 0.0
    for i in np.argsort(-norms):
        # Elfving: the least ‖u‖₁ is at most ‖y‖_{A(w)⁻¹} for every design w; here A(uniform) = I.
        if norms[i] <= largest:
            break
        largest = max(largest, float(norms[i]) * _least_combination(span.probes, mapped[i] / norms[i]))
    if largest == 0.0:
        return math.inf, 0, 0.0
    dimension = int(np.linalg.matrix_rank(mapped[norms > 0] / norms[norms > 0, None]))
    return 1.0 / largest, dimension, float(np.max(np.sum(rows**2, axis=1)))


def _least_combination(probes: Array, y: Array) -> float:
    """min ‖u‖₁ over (n,) u with X'u = y: the gauge of conv(X ∪ -X) at y."""
    from scipy.optimize import linprog  # slow to load

    columns = probes.T
    solution = linprog(
        np.ones(2 * columns.shape[1]),
        A_eq=np.hstack([columns, -columns]),
        b_eq=y,
        method="highs",
        # the strictest that HiGHS takes: its default of 1e-7 would drop small entries of y
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solution.status != 0 or solution.fun is None:
        reason = f"the linear programme of the gauge failed ({solution.message})"
        raise NotIdentifiable(f"{reason}; remove probes that are nearly multiples of one another.")
    return float(solution.fun)


def _rows(directions: Directions) -> Array:
    """(k, d): every direction of the set, each pair once."""
    out = []
    for part in directions.parts:
        labels = np.arange(part.size)
        if isinstance(part, Pairs | Apart):
            i, j = np.tril_indices(part.count, -1)
            labels = i * part.count + j
        out.append(part.rows(labels))
    return np.vstack(out)


@dataclass(frozen=True)
class RhoBounds:
    """Bounds on ρ(Y) = min over designs of max over y of ‖y‖²_{A(w)⁻¹}, without solving for a design."""

    lower: float
    """max ‖y‖² / max ‖x‖², the Lemma's lower bound with the square that the print lacks (E5)."""
    elfving: float
    """1/γ_Y², the ρ of the worst single direction: at least ``lower``, and the same in all coordinates."""
    upper: float
    """q/γ_Y² with q = dim span(Y) <= d; for q = 1 it is Elfving's theorem, and equal to ``elfving``."""
    lower_printed: float
    """max ‖y‖² / max ‖x‖ as printed: no bound, as probe 2 and direction 1 have ρ = 1/4, and it is 1/2."""
    upper_printed: float
    """d/γ_Y² as printed: true, and never less than ``upper``."""
    gauge: float
    """γ_Y, the least over Y of max{c : c·y ∈ conv(X ∪ -X)}."""


def rho_bounds(probes: ArrayLike, directions: ArrayLike | Directions) -> RhoBounds:
    """Both sides of the paper's Lemma on ρ(Y) for ``probes`` (n, d) and a set of directions (section 3, E5).

    The upper bound: γ_Y·y = Σ u_i x_i with ‖u‖₁ <= 1, hence γ_Y² yy' ⪯ Σ |u_i| x_i x_i'; mixing these designs
    by the Kiefer-Wolfowitz weights of Y itself, whose span has dimension q, gives ρ(Y) <= q/γ_Y².
    """
    table = _table(probes)
    gamma, dimension, longest = _gauge(table, _directions(directions))
    widest = float(np.max(np.sum(table**2, axis=1)))
    return RhoBounds(
        lower=longest / widest,
        elfving=gamma**-2,
        upper=dimension * gamma**-2,
        lower_printed=longest / math.sqrt(widest),
        upper_printed=table.shape[1] * gamma**-2,
        gauge=gamma,
    )


@dataclass(frozen=True)
class Phase:
    """One phase of the paper's algorithm in the worst case that Theorem 2 allows."""

    phase: int
    """Number of the phase, t = 1, 2, ..."""
    items: int
    """|S_t|: items that may still be there; S_1 = Z, and S_t = {z : Δ(z) <= 2^-t} afterwards."""
    accuracy: float
    """2^-(t+2): half-width of every difference at the end of the phase."""
    rho_lower: float
    """ρ(Y(S_t)) from below."""
    rho: float
    """ρ(Y(S_t)) from above, which the bound uses."""
    measurements: int
    """max{⌈8·4^(t+1)·ρ(Y(S_t))·(1+ε)·log(t²|Z|²/δ)⌉, r(ε)}."""


@dataclass(frozen=True)
class RageBound:
    """Theorem 2 for one instance: with probability 1-δ or more, RAGE takes at most ``total`` measurements."""

    phases: tuple[Phase, ...]
    """The phases that can be reached while the confidence bounds hold."""
    closed_form: float
    """128(1+ε)ψ*·(T-1+max(1, 4Δ_max²))·log(T²|Z|²/δ) + (1+r(ε))T with T phases: at least ``total``. It is the
    last line of the proof, made true where gaps exceed 1/2 (E6)."""
    rounding: int
    """r(ε), the least batch for which rounding loses no more than a factor 1+ε."""

    @property
    def total(self) -> int:
        """Sum of the measurements of all phases."""
        return sum(phase.measurements for phase in self.phases)

    def table(self) -> list[dict[str, float]]:
        """One row per phase, with the fields of ``Phase`` as columns."""
        return [asdict(phase) for phase in self.phases]


def rage_bound(
    problem: Problem,
    theta: ArrayLike,
    delta: float = 0.05,
    *,
    epsilon: float = 0.2,
    rounding: int | None = None,
    tol: float = 1e-3,
) -> RageBound:
    """The sample-complexity bound of Theorem 2, phase by phase, with S_1 = Z so that gaps may be large (E6).

    Measurements are counted, not costs. ``rounding`` is r(ε); by default ⌈p(1+1/ε)⌉, which suffices for
    efficient apportionment over p = min(n, r(r+1)/2 + 1) probes, where r is the rank of all probes (E4).
    """
    _check_delta(delta)
    if not epsilon > 0:
        raise InvalidGoal(f"epsilon must be positive, got {epsilon!r}; the paper uses 0.2.")
    check_question(problem, BestItem())
    (best,), gaps = answer_and_gaps(problem, theta, BestItem())
    psi = optimal_design(problem.scaled_probes, star(problem.items, best, gaps), tol=tol).value
    rank = problem.coordinates.rank
    if rounding is None:
        rounding = math.ceil(min(problem.n_probes, rank * (rank + 1) // 2 + 1) * (1.0 + 1.0 / epsilon))
    phases = _phases(problem, gaps, delta, epsilon, rounding, tol)
    count = len(phases)
    # 4^t ρ(Y(S_t)) <= 4·4^t max over S_t of ‖z_* - z‖² <= 4ψ*·max(1, 4^t Δ²); only S_1 can have Δ > 2^-t.
    spread = count - 1 + max(1.0, 4.0 * float(gaps.max()) ** 2)
    main = 128 * (1 + epsilon) * psi * spread * math.log(count**2 * problem.n_items**2 / delta)
    return RageBound(phases, main + (1 + rounding) * count, rounding)


def _phases(
    problem: Problem, gaps: Array, delta: float, epsilon: float, rounding: int, tol: float
) -> tuple[Phase, ...]:
    """The phases of Theorem 2: the first on all items, phase t >= 2 while S_t holds a second item."""
    phases: list[Phase] = []
    alive, design = np.ones(gaps.size, dtype=bool), None
    while (size := int(alive.sum())) > 1:
        t = len(phases) + 1
        if design is None or size != phases[-1].items:  # the sets are nested: same size, same set
            design = optimal_design(problem.scaled_probes, pairs(problem.items[alive]), tol=tol)
        log = math.log(t**2 * problem.n_items**2 / delta)
        count = math.ceil(8 * 4 ** (t + 1) * design.value * (1 + epsilon) * log)
        phases.append(Phase(t, size, 2.0 ** -(t + 2), design.lower, design.value, max(count, rounding)))
        alive = gaps <= 2.0 ** -(t + 1)
    return tuple(phases)
