"""Sage: sample-pooling adaptive gap elimination. Every measurement counts, and the design follows the estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from probewise.algorithms.base import Algorithm, Counts, Standing
from probewise.algorithms.batches import Limits
from probewise.algorithms.knowledge import Knowledge, OpenRound
from probewise.algorithms.planning import allocated, check_stock
from probewise.algorithms.prior import Prior
from probewise.coordinates import Array
from probewise.design import Directions, pairs, star
from probewise.errors import InvalidAlgorithm
from probewise.estimate import Pooled
from probewise.goal import BestItem
from probewise.measurements import Measurements
from probewise.problem import Problem

_STEP = 0.1
"""Grid of the smallest gaps' logarithms, coarser for others: nearly equal gaps share a design, solved once."""


@dataclass(frozen=True)
class Sage(Algorithm[Knowledge]):
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

    def init(self, problem: Problem, goal: BestItem) -> Knowledge:
        """Scales and shares; a single item is the answer at once."""
        prior, data = Prior.of(problem, self.scale, self.tol), Measurements.empty(problem.n_probes)
        winner = 0 if problem.n_items == 1 else None
        return Knowledge(prior, data, Pooled(), np.arange(problem.n_items), {}, winner)

    def ask(self, problem: Problem, goal: BestItem, state: Knowledge, rng: np.random.Generator) -> Counts:
        """The next batch of the open round, or of a new one, by the design for what is least known."""
        start = state if state.open is None else state.open.since
        came = np.zeros_like(state.data.count) if state.open is None else state.open.data.count
        directions, room = self._directions(problem, goal, start), problem.stock - state.data.count
        least, replicates = self.min_batch or 1, 1 if problem.sigma_known else 2
        wanted = max(self._size(start), int(came.sum()) + least)
        whole = allocated(problem, directions, wanted, room, tol=self.tol, replicates=replicates)
        counts = self.limits.batch(whole, came)
        if counts.sum() < least:
            left = np.minimum(room - came - counts, (self.max_replicates or np.inf) - counts)
            counts = counts + allocated(problem, directions, least - int(counts.sum()), left, tol=self.tol)
        check_stock(problem, start.alive, np.maximum(whole, came + counts), room)
        return counts

    def tell(self, problem: Problem, goal: BestItem, state: Knowledge, measurements: Measurements) -> Knowledge:
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
            return replace(state, open=OpenRound(start, data))
        return self.take(problem, goal, replace(state, open=None), data)

    def take(self, problem: Problem, goal: BestItem, state: Knowledge, measurements: Measurements) -> Knowledge:
        """Add the evidence of a round, whoever planned it, and rule items out; an open round stays open."""
        return state.plus(problem, goal, measurements, self.leaders)

    def under_way(self, state: Knowledge) -> bool:
        """Whether more batches of the open round are to come."""
        return state.open is not None

    def conclude(self, problem: Problem, goal: BestItem, state: Knowledge) -> Knowledge:
        """Add the evidence of the open round as it is."""
        return state if state.open is None else self.take(problem, goal, replace(state, open=None), state.open.data)

    def answer(self, problem: Problem, goal: BestItem, state: Knowledge) -> int | None:
        """The last item left, or a leader that no item left beats by more than epsilon."""
        return state.winner

    def standing(self, problem: Problem, goal: BestItem, state: Knowledge) -> Standing:
        """The items left, the leader, and (lead/width)² of its weakest comparison, which grows like the total."""
        remaining = np.sort(state.alive)
        if state.winner is not None or not state.collected:
            return Standing(remaining, state.winner, 0.0 if state.winner is None else 1.0)
        lead, width, _ = state.leads(problem, goal)
        return Standing(remaining, int(state.alive[0]), float(np.clip(lead / width, 0.0, 1.0).min() ** 2))

    def _size(self, state: Knowledge) -> int:
        """Measurements of a round that begins now."""
        return self.limits.size(max(math.ceil((self.growth - 1.0) * state.data.n), state.prior.size))

    def _directions(self, problem: Problem, goal: BestItem, state: Knowledge) -> Directions:
        """All pairs at first; then the oracle's, gaps in units of the root of the evidence that each needs."""
        if not state.collected:
            return pairs(problem.items)
        lead, width, need = state.leads(problem, goal)
        gaps = coarse(np.maximum(lead, width) / np.sqrt(need))
        order = np.argsort(state.alive[1:])  # one order of the same rivals, whoever is second
        rows = np.append(state.alive[0], state.alive[1:][order])
        return star(problem.items[rows], 0, np.append(1.0, gaps[order]))


def coarse(gaps: Array) -> Array:
    """(k,): gaps over the smallest, u = log gap on a grid of log(1 + u): far rivals hardly shape a design."""
    return np.asarray(np.exp(np.expm1(_STEP * np.round(np.log1p(np.log(gaps / gaps.min())) / _STEP))))
