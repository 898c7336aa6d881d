"""Sage: sample-pooling adaptive gap elimination. Every measurement counts, and the design follows the estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from probewise.algorithms.base import Algorithm, Counts, Standing
from probewise.algorithms.planning import plan
from probewise.confidence import log_evidence
from probewise.coordinates import Array
from probewise.design import pairs, star
from probewise.errors import InvalidAlgorithm
from probewise.estimate import Estimate, least_squares
from probewise.goal import BestItem
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design

Items = NDArray[np.int64]
_MANY = 10_000
"""Items beyond which δ is divided evenly: dividing it by closeness looks at all pairs once."""
_SAME = 0.1
"""Relative change of the gaps below which a design is kept."""


@dataclass(frozen=True, eq=False)
class _Standing:
    """What is known between two rounds."""

    whitener: Array
    """(d, r): (z - z')@whitener has the squared length that (z - z')'θ̂ of the first round has as variance."""
    closeness: Array
    """(m,): for each item z', Σ over the others z of 1/|(z - z')@whitener|; infinite for an even division."""
    counts: Counts
    """(n,): the next round."""
    data: Measurements
    """All measurements."""
    fits: tuple[Estimate, ...]
    """The estimate of each round by itself."""
    collected: dict[int, tuple[Array, Array]]
    """For each leader z, over all items z': Σ_s 1/v_s and Σ_s (z - z')'θ̂_s/v_s, v_s the variance in round s."""
    alive: Items
    """Items that may still be the best."""
    winner: int | None
    """The item found."""
    plan: tuple[int, Items, Array, Array] | None
    """Leader, rivals and gaps that the last design was made for, and its weights."""


@dataclass(frozen=True)
class Sage(Algorithm[_Standing]):
    """Rules out each item by the evidence of all rounds together that others are better.

    The evidence against "z' is the best" is a weighted mean over rivals z of mixture likelihood ratios for
    (z - z')'θ > 0. docs/sage.md proves that the best item is ever ruled out with probability at most δ, whatever the
    rounds. The design of a round is the oracle's at the current estimate, with gaps floored by their widths.
    """

    growth: float = 1.15
    """Factor by which the total grows in a round."""
    scale: float = 20.0
    """Scale of the mixture in units of the first round's precision."""
    leaders: int = 8
    """Rivals whose evidence is collected: the items with the highest estimates."""
    tol: float = 0.03
    """Certified relative gap of the designs."""

    name: ClassVar[str] = "sage"
    summary: ClassVar[str] = "Pools all rounds, designs for the current leader, rules items out by mixture evidence."
    reference: ClassVar[str] = "docs/sage.md"

    def __post_init__(self) -> None:
        if not self.growth > 1:
            raise InvalidAlgorithm(f"growth must be above 1, got {self.growth!r}; 1.15 is usual.")
        if not self.scale > 0 or self.leaders < 1:
            raise InvalidAlgorithm(
                f"scale and leaders must be positive, got {self.scale!r} and {self.leaders!r}; 20 and 8 are usual."
            )

    @property
    def proven(self) -> bool:
        """For all settings: docs/sage.md."""
        return True

    def init(self, problem: Problem, goal: BestItem) -> _Standing:
        """The first round: the design for all pairs, two measurements for each probe in it."""
        n, m = problem.n_probes, problem.n_items
        counts = np.zeros(n, dtype=np.int64)
        whitener, closeness = np.zeros((problem.dimension, 0)), np.full(m, np.inf)
        if m > 1:
            weights = plan(problem, pairs(problem.items), tol=self.tol).weights
            counts = _rounded(problem, weights, 0)
            planned = Measurements(counts, np.zeros(n), np.zeros(n))
            whitener = least_squares(problem.probes, planned, sigma=problem.sigma).whitener
            closeness = _closeness((problem.items - problem.items[0]) @ whitener)
        winner = 0 if m == 1 else None
        return _Standing(whitener, closeness, counts, Measurements.empty(n), (), {}, np.arange(m), winner, None)

    def ask(self, problem: Problem, goal: BestItem, state: _Standing, rng: np.random.Generator) -> Counts:
        """The round that was planned."""
        return state.counts

    def tell(self, problem: Problem, goal: BestItem, state: _Standing, measurements: Measurements) -> _Standing:
        """Add a round, rule items out, and plan the next round for the leader."""
        fit = least_squares(problem.probes, measurements, sigma=problem.sigma)
        state = replace(state, data=state.data + measurements, fits=(*state.fits, fit))
        scores = problem.items @ least_squares(problem.probes, state.data, sigma=problem.sigma).theta
        ranked = state.alive[np.argsort(-scores[state.alive], kind="stable")]
        state = replace(state, collected=_collected(problem, state, ranked[: self.leaders]))
        alive = self._alive(problem, goal, state)
        leader = int(next((z for z in ranked if z in alive), ranked[0]))
        if leader not in state.collected:
            state = replace(state, collected=_collected(problem, state, np.array([leader])))
        state = replace(state, alive=alive)
        if alive.size <= 1 or self._good_enough(problem, goal, state, leader):
            return replace(state, winner=leader)
        return self._planned(problem, goal, state, leader)

    def answer(self, problem: Problem, goal: BestItem, state: _Standing) -> int | None:
        """The last item left, or a leader that no item left beats by more than epsilon."""
        return state.winner

    def standing(self, problem: Problem, goal: BestItem, state: _Standing) -> Standing:
        """The items left, the leader, and (lead/width)² of its weakest comparison, which grows like the total."""
        if state.winner is not None or state.plan is None:
            return Standing(state.alive, state.winner, 0.0 if state.winner is None else 1.0)
        leader = state.plan[0]
        lead, width, _ = self._leads(problem, goal, state, leader)
        return Standing(state.alive, leader, float(np.clip(lead / width, 0.0, 1.0).min() ** 2))

    def _evidence(self, problem: Problem, state: _Standing, leader: int, items: Items, epsilon: float = 0.0) -> Array:
        """(k,): log of share × evidence for (leader - z')'θ > -epsilon, for items z'; -inf for the leader."""
        others = items[items != leader]
        precision, total = (part[others] for part in state.collected[leader])
        lengths, share = self._shares(problem, state, leader, others)
        log = np.full(items.size, -np.inf)
        log[items != leader] = np.log(share) + log_evidence(
            total + epsilon * precision, precision, self.scale / lengths**2
        )
        return log

    def _shares(self, problem: Problem, state: _Standing, leader: int, rivals: Items) -> tuple[Array, Array]:
        """(k,), (k,): standard errors of the first round, and the shares of δ: half evenly, half by closeness."""
        lengths = np.linalg.norm((problem.items[leader] - problem.items[rivals]) @ state.whitener, axis=1)
        half = 0.5 if np.isfinite(state.closeness[0]) else 0.0
        return lengths, (1.0 - half) / (problem.n_items - 1) + half / (lengths * state.closeness[rivals])

    def _alive(self, problem: Problem, goal: BestItem, state: _Standing) -> Items:
        """Items against which the collected evidence is below 1/δ."""
        against = [self._evidence(problem, state, leader, state.alive) for leader in state.collected]
        total = np.logaddexp.reduce(against, axis=0)
        return np.asarray(state.alive[~(total >= -math.log(goal.delta))])  # what is not a number rules nobody out

    def _good_enough(self, problem: Problem, goal: BestItem, state: _Standing, leader: int) -> bool:
        """Whether no item left can be ahead of the leader by more than epsilon."""
        if goal.epsilon == 0:
            return False
        rivals = state.alive[state.alive != leader]
        log = self._evidence(problem, state, leader, rivals, goal.epsilon)
        return bool((log >= -math.log(goal.delta)).all())

    def _planned(self, problem: Problem, goal: BestItem, state: _Standing, leader: int) -> _Standing:
        """The oracle's design at the current estimate: gaps in units of the root of the evidence that each needs."""
        rivals = state.alive[state.alive != leader]
        lead, width, need = self._leads(problem, goal, state, leader)
        gaps = np.maximum(lead, width) / np.sqrt(need)
        if state.plan is None or not _same(state.plan, leader, rivals, gaps):
            directions = star(problem.items[np.append(leader, rivals)], 0, np.append(1.0, gaps))
            weights = plan(problem, directions, tol=self.tol).weights
            state = replace(state, plan=(leader, rivals, gaps, weights))
        assert state.plan is not None
        more = math.ceil((self.growth - 1.0) * state.data.n)
        return replace(state, counts=_rounded(problem, state.plan[3], more))

    def _leads(self, problem: Problem, goal: BestItem, state: _Standing, leader: int) -> tuple[Array, Array, Array]:
        """Over the rivals of the leader: its estimated lead plus epsilon, the lead that rules out, and log evidence."""
        rivals = state.alive[state.alive != leader]
        precision, total = (part[rivals] for part in state.collected[leader])
        lengths, share = self._shares(problem, state, leader, rivals)
        extra = self.scale / lengths**2
        # a comparison that was lost with its measurements is planned as if it had the first round's precision
        precision = np.where(precision > 0, precision, 1.0 / lengths**2)
        need = -np.log(2.0 * share * goal.delta) + 0.5 * np.log1p(precision / extra)
        need = np.maximum(need, 0.5)  # with δ above 1/2, Φ(z) ≈ 1 is too coarse
        return total / precision + goal.epsilon, np.sqrt(2.0 * need * (precision + extra)) / precision, need


def _rounded(problem: Problem, weights: Array, n: int) -> Counts:
    """n measurements by a design, at least two for each probe in it on average."""
    least = 2 * int(np.count_nonzero(weights))
    return round_design(weights, max(n, least), probes=problem.scaled_probes).counts


def _same(old: tuple[int, Items, Array, Array], leader: int, rivals: Items, gaps: Array) -> bool:
    """Whether a design for the old gaps will do for the new ones; a common factor does not matter."""
    if old[0] != leader or not np.array_equal(old[1], rivals):
        return False
    ratio = (gaps / gaps.min()) / (old[2] / old[2].min())
    return bool(np.abs(np.log(ratio)).max() <= _SAME)


def _closeness(points: Array) -> Array:
    """(m,): Σ over other rows of 1/distance, by blocks; infinite if there are too many rows."""
    m = points.shape[0]
    if m > _MANY:
        return np.full(m, np.inf)
    out = np.empty(m)
    for low in range(0, m, 256):
        distances = cdist(points[low : low + 256], points)
        rows = np.arange(distances.shape[0])
        distances[rows, rows + low] = np.inf
        out[low : low + 256] = (1.0 / distances).sum(axis=1)
    return out


def _collected(problem: Problem, state: _Standing, leaders: Items) -> dict[int, tuple[Array, Array]]:
    """The sums of all rounds for the leaders of now; a leader that was none before goes through the past rounds."""
    out: dict[int, tuple[Array, Array]] = {}
    for leader in map(int, leaders):
        known = state.collected.get(leader)
        fits = state.fits if known is None else state.fits[-1:]
        zero = np.zeros(problem.n_items)
        precision, total = (zero, zero) if known is None else known
        differences = problem.items[leader] - problem.items
        sizes = np.abs(problem.items[leader]) + np.abs(problem.items)
        for fit in fits:
            variance = fit.variance(differences, sizes)
            more = np.where(variance > 0, 1.0 / np.where(variance > 0, variance, 1.0), 0.0)
            precision, total = precision + more, total + more * fit.mean(differences)
        out[leader] = (precision, total)
    return out
