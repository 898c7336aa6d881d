"""Sage: sample-pooling adaptive gap elimination. Every measurement counts, and the design follows the estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from probewise.algorithms.base import Algorithm, Counts, Standing
from probewise.algorithms.batches import Limits
from probewise.algorithms.planning import allocated, check_stock
from probewise.algorithms.prior import Items, Prior
from probewise.confidence import ReplicateBound, log_evidence
from probewise.coordinates import Array
from probewise.design import Directions, pairs, star
from probewise.errors import InvalidAlgorithm
from probewise.estimate import Pooled, Sums, least_squares
from probewise.goal import BestItem
from probewise.measurements import Measurements
from probewise.problem import Problem

_NOISE = 0.1
"""Part of δ that a bound on noise of unknown scale may spend."""
_STEP = 0.1
"""Grid of the smallest gaps' logarithms, coarser for others: nearly equal gaps share a design, solved once."""


@dataclass(frozen=True, eq=False)
class _Standing:
    """What is known between two rounds."""

    prior: Prior
    """Scales and shares, fixed before the first round."""
    data: Measurements
    """Measurements of all finished rounds."""
    pool: Pooled
    """The estimate of each round by itself."""
    alive: Items
    """Items that may still be the best, the highest estimate first."""
    collected: dict[int, Sums]
    """For each leader z: what all rounds say of z - z' for the items z' alive."""
    winner: int | None
    """The item found."""
    open: _Open | None = None
    """The round under way, if it takes several batches."""

    @property
    def told(self) -> Measurements:
        """All measurements, those of the open round too."""
        return self.data if self.open is None else self.data + self.open.data


@dataclass(frozen=True, eq=False)
class _Open:
    """A round of which some batches have come: nothing is concluded from them before the last."""

    since: _Standing
    """What was known when the round began: it is planned by nothing else."""
    data: Measurements
    """Its measurements so far."""


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
    max_batch: int | None = None
    """Measurements that can be made at once; a larger round is given out in batches."""
    min_batch: int | None = None
    """Measurements that a batch must have at least, as far as ``max_replicates`` and the stock allow."""
    max_replicates: int | None = None
    """Measurements of one probe in a batch at most."""

    name: ClassVar[str] = "sage"
    summary: ClassVar[str] = "Pools all rounds, designs for the current leader, rules items out by mixture evidence."
    reference: ClassVar[str] = "docs/sage.md"
    learns_sigma: ClassVar[bool] = True
    minds_stock: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.growth > 1:
            raise InvalidAlgorithm(f"growth must be above 1, got {self.growth!r}; 1.15 is usual.")
        if not self.scale > 0 or self.leaders < 1:
            raise InvalidAlgorithm(
                f"scale and leaders must be positive, got {self.scale!r} and {self.leaders!r}; 20 and 8 are usual."
            )
        self.limits  # noqa: B018  raises if they do not fit together

    @property
    def limits(self) -> Limits:
        """Of a batch."""
        return Limits(self.max_batch, self.min_batch, self.max_replicates)

    @property
    def proven(self) -> bool:
        """For all settings: docs/sage.md."""
        return True

    def init(self, problem: Problem, goal: BestItem) -> _Standing:
        """Scales and shares; a single item is the answer at once."""
        prior, data = Prior.of(problem, self.tol), Measurements.empty(problem.n_probes)
        winner = 0 if problem.n_items == 1 else None
        return _Standing(prior, data, Pooled(), np.arange(problem.n_items), {}, winner)

    def ask(self, problem: Problem, goal: BestItem, state: _Standing, rng: np.random.Generator) -> Counts:
        """The next batch of the open round, or of a new one, by the design for what is least known."""
        start = state if state.open is None else state.open.since
        came = np.zeros_like(state.data.count) if state.open is None else state.open.data.count
        directions, room = self._directions(problem, goal, start), problem.stock - state.data.count
        least, pairs_of = self.min_batch or 1, 1 if problem.sigma_known else 2
        wanted = max(self._size(start), int(came.sum()) + least)
        whole = allocated(problem, directions, wanted, room, tol=self.tol, replicates=pairs_of)
        counts = self.limits.batch(whole, came)
        if counts.sum() < least:
            left = np.minimum(room - came - counts, (self.max_replicates or np.inf) - counts)
            counts = counts + allocated(problem, directions, least - int(counts.sum()), left, tol=self.tol)
        check_stock(problem, start.alive, np.maximum(whole, came + counts), room)
        return counts

    def tell(self, problem: Problem, goal: BestItem, state: _Standing, measurements: Measurements) -> _Standing:
        """Add a batch of the open round; with the last one, add the evidence of the round and rule items out.

        A batch beyond the limits is none of its own: a round that somebody else planned.
        """
        if not self.limits.split or not self.limits.allow(measurements.count):
            return self.take(problem, goal, state, measurements)
        start, data = (
            (state, measurements) if state.open is None else (state.open.since, state.open.data + measurements)
        )
        used_up = (measurements.count > 0) & (state.data.count + data.count >= problem.stock)
        if measurements.n > 0 and data.n < self._size(start) and not used_up.any():
            return replace(state, open=_Open(start, data))
        return self.take(problem, goal, replace(state, open=None), data)

    def take(self, problem: Problem, goal: BestItem, state: _Standing, measurements: Measurements) -> _Standing:
        """Add the evidence of a round, whoever planned it, and rule items out; an open round stays open."""
        pool = state.pool.plus(least_squares(problem.probes, measurements, sigma=problem.sigma))
        data = state.data + measurements
        theta = least_squares(problem.probes, data, sigma=problem.sigma).theta
        order = np.argsort(-(problem.items[state.alive] @ theta), kind="stable")
        known = {leader: sums.at(order) for leader, sums in state.collected.items()}
        state = replace(state, data=data, pool=pool, alive=state.alive[order])
        state = replace(state, collected=_collected(problem, state, state.alive[: self.leaders], known))
        state = self._ruled_out(problem, goal, state)
        done = state.alive.size == 1 or self._good_enough(problem, goal, state)
        return replace(state, winner=int(state.alive[0]) if done else None)

    def under_way(self, state: _Standing) -> bool:
        """Whether more batches of the open round are to come."""
        return state.open is not None

    def conclude(self, problem: Problem, goal: BestItem, state: _Standing) -> _Standing:
        """Add the evidence of the open round as it is."""
        return state if state.open is None else self.take(problem, goal, replace(state, open=None), state.open.data)

    def answer(self, problem: Problem, goal: BestItem, state: _Standing) -> int | None:
        """The last item left, or a leader that no item left beats by more than epsilon."""
        return state.winner

    def standing(self, problem: Problem, goal: BestItem, state: _Standing) -> Standing:
        """The items left, the leader, and (lead/width)² of its weakest comparison, which grows like the total."""
        remaining = np.sort(state.alive)
        if state.winner is not None or not state.collected:
            return Standing(remaining, state.winner, 0.0 if state.winner is None else 1.0)
        lead, width, _ = self._leads(problem, goal, state)
        return Standing(remaining, int(state.alive[0]), float(np.clip(lead / width, 0.0, 1.0).min() ** 2))

    def _size(self, state: _Standing) -> int:
        """Measurements of a round that begins now."""
        return self.limits.size(max(math.ceil((self.growth - 1.0) * state.data.n), state.prior.size))

    def _evidence(self, problem: Problem, goal: BestItem, state: _Standing, leader: int, epsilon: float = 0.0) -> Array:
        """(k,): log of share × evidence for (leader - z')'θ > -epsilon, for items z' alive; -inf for the leader."""
        others = state.alive != leader
        rivals, (precision, total) = state.alive[others], state.collected[leader].at(others)
        total = total + epsilon * precision
        extra = self.scale / state.prior.variance(problem, leader, rivals)
        log = np.full(state.alive.size, -np.inf)
        log[others] = log_evidence(total / _noise(problem, goal, state), precision, extra)
        log[others] += np.log(state.prior.share(problem, leader, rivals))
        if not problem.sigma_known:
            log[others] = np.where(total > 0, log[others], -np.inf)  # a bound above σ weakens evidence for a lead only
        return log

    def _ruled_out(self, problem: Problem, goal: BestItem, state: _Standing) -> _Standing:
        """Without the items against which the collected evidence is 1/δ or more; if that is all, with the first."""
        total = np.logaddexp.reduce(
            [self._evidence(problem, goal, state, leader) for leader in state.collected], axis=0
        )
        kept = ~(total >= -math.log(_delta(problem, goal)))  # what is not a number rules nobody out
        kept[0] |= not kept.any()
        known = {leader: sums.at(kept) for leader, sums in state.collected.items()}
        state = replace(state, alive=state.alive[kept])
        first = state.alive[:1] if int(state.alive[0]) not in known else state.alive[:0]
        return replace(state, collected=known | _collected(problem, state, first, {}))

    def _good_enough(self, problem: Problem, goal: BestItem, state: _Standing) -> bool:
        """Whether no item left can be ahead of the leader by more than epsilon."""
        if goal.epsilon == 0:
            return False
        log = self._evidence(problem, goal, state, int(state.alive[0]), goal.epsilon)
        return bool((log[1:] >= -math.log(_delta(problem, goal))).all())

    def _directions(self, problem: Problem, goal: BestItem, state: _Standing) -> Directions:
        """All pairs at first; then the oracle's, gaps in units of the root of the evidence that each needs."""
        if not state.collected:
            return pairs(problem.items)
        lead, width, need = self._leads(problem, goal, state)
        gaps = coarse(np.maximum(lead, width) / np.sqrt(need))
        order = np.argsort(state.alive[1:])  # one order of the same rivals, whoever is second
        rows = np.append(state.alive[0], state.alive[1:][order])
        return star(problem.items[rows], 0, np.append(1.0, gaps[order]))

    def _leads(self, problem: Problem, goal: BestItem, state: _Standing) -> tuple[Array, Array, Array]:
        """Over the rivals of the leader: its estimated lead plus epsilon and the lead that rules out, both in units of
        the noise, and log evidence.
        """
        leader, rivals = int(state.alive[0]), state.alive[1:]
        precision, total = (part[1:] for part in state.collected[leader])
        first, share = (f(problem, leader, rivals) for f in (state.prior.variance, state.prior.share))
        extra = self.scale / first
        # a comparison that was lost with its measurements is planned as if it had the first round's precision
        precision = np.where(precision > 0, precision, 1.0 / first)
        need = -np.log(2.0 * share * _delta(problem, goal)) + 0.5 * np.log1p(precision / extra)
        need = np.maximum(need, 0.5)  # with δ above 1/2, Φ(z) ≈ 1 is too coarse
        lead = (total / precision + goal.epsilon) / _noise(problem, goal, state)
        return lead, np.sqrt(2.0 * need * (precision + extra)) / precision, need


def _delta(problem: Problem, goal: BestItem) -> float:
    """What is left of δ for comparisons."""
    return goal.delta if problem.sigma_known else (1.0 - _NOISE) * goal.delta


def _noise(problem: Problem, goal: BestItem, state: _Standing) -> float:
    """1, or an upper bound on the unknown scale of the noise at all times at once."""
    if problem.sigma_known:
        return 1.0
    return math.sqrt(ReplicateBound().variance(*state.pool.pure_error, _NOISE * goal.delta))


def coarse(gaps: Array) -> Array:
    """(k,): gaps over the smallest, u = log gap on a grid of log(1 + u): far rivals hardly shape a design."""
    return np.asarray(np.exp(np.expm1(_STEP * np.round(np.log1p(np.log(gaps / gaps.min())) / _STEP))))


def _collected(problem: Problem, state: _Standing, leaders: Items, known: dict[int, Sums]) -> dict[int, Sums]:
    """The sums of all rounds over items alive; a leader that was ``known`` before the last round needs only that."""
    out: dict[int, Sums] = {}
    for leader in map(int, leaders):
        rows = problem.items[leader] - problem.items[state.alive]
        sizes = np.abs(problem.items[leader]) + np.abs(problem.items[state.alive])
        before = known.get(leader)
        since = len(state.pool.fits) - 1 if before is not None else 0
        sums = state.pool.sums(rows, sizes, since=since)
        out[leader] = before + sums if before is not None else sums
    return out
