"""XY-Adaptive: phases of greedy measurements for the pairs of surviving items, each followed by elimination."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from probewise.algorithms.base import Algorithm, Standing
from probewise.confidence import Evidence, StarUnion, Threshold, require, spent
from probewise.coordinates import Array, Counts
from probewise.design.farthest import square_norms
from probewise.design.memory import remembered
from probewise.elimination import eliminated
from probewise.errors import InvalidAlgorithm
from probewise.estimate import least_squares
from probewise.goals import Answer, BestItem, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem

Rule = Literal["normalised", "literal"]
_TIE = 1e-9


@dataclass(frozen=True)
class Stop:
    """When a phase ends: after n measurements with ρ = max_y y'V⁻¹y, all three hold."""

    rho: float = math.inf
    """ρ is at most this."""
    ratio: float = math.inf
    """ρ/n is below this."""
    total: float = 0.0
    """n is at least this."""

    def __call__(self, rho: float, total: int) -> bool:
        """Whether all three hold."""
        return rho <= self.rho and rho / total < self.ratio and total >= self.total


@dataclass(frozen=True, eq=False)
class _Phase:
    """Before phase j: the survivors, and what is planned."""

    j: int
    survivors: NDArray[np.int64]
    rho: float
    """max_y y'V⁻¹y at the end of the phase planned."""
    counts: Counts
    width: float
    """Half-width that no comparison of survivors exceeded in the last phase."""
    leader: int


@dataclass(frozen=True)
class XYAdaptive(Algorithm[_Phase]):
    """Greedy phases that end when the largest variance has fallen enough; each phase uses its own data only.

    "literal" reads the printed criterion as the RAGE authors do: ρ/n, with ρ = max_y y'V⁻¹y not normalised, falls by
    α, so that phases grow by α^-½. "normalised": ρ itself falls by α, and phases grow by 1/α. The greedy choice
    depends on outcomes through the survivors only, so that a whole phase is one round. Costs are not considered.
    """

    criterion: Rule = "literal"
    """Which of the two readings of the printed criterion."""
    alpha: float = 0.1
    """Factor by which the criterion falls from phase to phase."""
    reset: bool = False
    """Whether every phase eliminates among all items, as the paper of 2014 prints, or among the survivors.

    An item beaten before then returns unless this phase measures it well enough, and the criterion would compare
    different directions. So phases with reset grow by the same factor, and an α-th of the last one's size goes to a
    basis of the probes; as printed, the method need not end.
    """
    threshold: Threshold = field(default_factory=StarUnion)
    """The threshold of the elimination; the RAGE authors use PairsUnion(π²/3)."""
    resolution: int = 500
    """After n measurements of a phase the next ⌈n/resolution⌉ are chosen together."""

    name: ClassVar[str] = "xy-adaptive"
    summary: ClassVar[str] = "Phases of greedy measurements for the pairs of surviving items, then elimination."
    reference: ClassVar[str] = "Soare, Lazaric, Munos 2014; elimination: docs/confidence.md, Theorem 1"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)

    def __post_init__(self) -> None:
        if self.criterion not in ("normalised", "literal"):
            raise InvalidAlgorithm(f"criterion must be 'normalised' or 'literal', got {self.criterion!r}.")
        if not 0 < self.alpha < 1:
            raise InvalidAlgorithm(f"alpha must lie strictly between 0 and 1, got {self.alpha!r}; 0.1 is usual.")
        if self.resolution < 1:
            raise InvalidAlgorithm(f"resolution must be at least 1, got {self.resolution!r}; 500 is usual.")
        require(self.threshold, "fixed", "least squares", self.name)

    @property
    def proven(self) -> bool:
        """Whether the threshold is proven."""
        return self.threshold.proven

    def init(self, problem: Problem, goal: Goal) -> _Phase:
        """All items; the criterion starts from ρ = 1 after d(d+1)+1 measurements, or at its value after as many."""
        nothing = np.zeros(problem.n_probes, dtype=np.int64)
        phase = _Phase(1, np.arange(problem.n_items), math.nan, nothing, math.inf, 0)
        if problem.n_items == 1:
            return phase
        r = problem.coordinates.rank
        n = r * (r + 1) + 1
        if self.criterion == "literal":
            return self._planned(problem, phase, Stop(ratio=self.alpha / n))
        return self._planned(problem, phase, Stop(total=n))

    def ask(self, problem: Problem, goal: Goal, state: _Phase, rng: np.random.Generator) -> Counts:
        """The counts of the planned phase, which is one round."""
        return state.counts

    def tell(self, problem: Problem, goal: Goal, state: _Phase, measurements: Measurements) -> _Phase:
        """Eliminate by this phase's measurements, and plan the next phase."""
        fit = least_squares(problem.probes, measurements, sigma=problem.sigma)
        among = np.arange(problem.n_items) if self.reset else state.survivors
        # a threshold for all times at once holds for one set of data, and every phase begins another
        delta = goal.delta if self.threshold.data == "fixed" else spent(goal.delta, state.j)
        evidence = Evidence(
            delta=delta,
            check=state.j,
            rivals=among.size - 1,
            items=problem.n_items,
            measurements=measurements.n,
            dimension=problem.coordinates.rank,
            information=(problem.coordinates.probes.T * measurements.count) @ problem.coordinates.probes,
        )
        lost, width = eliminated(problem.items[among], fit, self.threshold.width(evidence))
        left = among[~lost]
        leader = int(left[np.argmax(problem.items[left] @ fit.theta)])
        after = replace(state, j=state.j + 1, survivors=left, width=width, leader=leader)
        if self.answer(problem, goal, after) is not None:
            return after
        n = int(state.counts.sum())
        if self.reset:
            growth = self.alpha ** (-0.5 if self.criterion == "literal" else -1.0)
            return self._planned(problem, after, Stop(total=growth * n), spread=self.alpha * n)
        if self.criterion == "literal":
            return self._planned(problem, after, Stop(ratio=self.alpha * state.rho / n))
        return self._planned(problem, after, Stop(rho=self.alpha * state.rho))

    def answer(self, problem: Problem, goal: Goal, state: _Phase) -> Answer | None:
        """The survivor, or the leader once no comparison is wider than epsilon."""
        if state.survivors.size == 1:
            return (int(state.survivors[0]),)
        return (state.leader,) if state.width <= goal.epsilon else None

    def standing(self, problem: Problem, goal: Goal, state: _Phase) -> Standing:
        """The survivors, and the leader of the last phase; with ``reset``, items that were ruled out may return."""
        answer = self.answer(problem, goal, state)
        guess = (state.leader,) if state.j > 1 else ()
        return Standing(state.survivors, guess if answer is None else answer, None if answer is None else 1.0)

    def _planned(self, problem: Problem, phase: _Phase, stop: Stop, spread: float = 0.0) -> _Phase:
        """The phase with its counts, of which ``spread`` go to a basis of the probes."""
        items = problem.coordinates(problem.items[phase.survivors])
        each = max(1, math.ceil(spread / problem.coordinates.rank))
        counts, rho = greedy(problem.coordinates.probes, items, self.resolution, stop, each=each)
        return replace(phase, counts=counts, rho=rho)


@remembered
def greedy(probes: Array, items: Array, resolution: int, stop: Stop, *, each: int = 1) -> tuple[Counts, float]:
    """(n,): ``each`` of a basis of ``probes`` (n, r), then always the probe after which max_y y'V⁻¹y is least; and it.

    y runs over the pairs of ``items`` (m, r); O(m²) numbers are kept. With b measurements of x, y'V⁻¹y falls by
    b(x'V⁻¹y)²/(1 + b x'V⁻¹x) (Sherman and Morrison).
    """
    counts = np.zeros(probes.shape[0], dtype=np.int64)
    basis = linalg.qr(probes.T, mode="r", pivoting=True)[1][: probes.shape[1]]
    counts[basis] = each
    total, limit, rho = each * basis.size, math.inf, math.inf
    while not stop(rho, total):
        block = -(-total // resolution)
        if limit == math.inf:
            inverse = np.asarray(np.linalg.inv((probes.T * counts) @ probes), dtype=np.float64)
        steps = probes @ inverse
        growth = 1.0 + block * np.einsum("ij,ij->i", steps, probes)
        if limit == math.inf:
            directions, limit = _long(items, inverse, 0.5 / float(growth.max()))
        values = np.einsum("ij,ij->i", directions @ inverse, directions)
        # by Cauchy-Schwarz no step brings y'V⁻¹y below y'V⁻¹y/growth: shorter ones cannot be the largest afterwards
        floor = float(values.max() / growth.max())
        if floor < limit:
            limit = math.inf
            continue
        near = values >= floor
        gains = (steps @ directions[near].T) ** 2 * (block / growth)[:, None]
        worst = (values[near] - gains).max(axis=1)
        rho, total = float(worst.min()), total + block
        # one probe seldom shortens all of the longest directions: many probes are then equal, and the sum decides
        best = int(np.argmax(np.where(worst <= (1.0 + _TIE) * rho, gains.sum(axis=1), -1.0)))
        counts[best] += block
        inverse = inverse - np.outer(steps[best], steps[best] * (block / growth[best]))
    return counts, rho


def _long(items: Array, inverse: Array, share: float) -> tuple[Array, float]:
    """(k, r): the differences y of items whose y'V⁻¹y is at least a ``share`` of the largest; and that limit."""
    white = (items - items.mean(axis=0)) @ np.linalg.cholesky(inverse)
    squares = square_norms(white)
    table = np.triu(squares[:, None] + squares - 2.0 * white @ white.T, 1)
    limit = share * float(table.max())
    first, second = np.nonzero(table >= limit)
    return items[first] - items[second], limit
