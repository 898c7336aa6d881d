"""Knowledge: what Sage knows between two rounds, and the evidence that it has for each comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from probewise.algorithms.prior import Items, Prior
from probewise.confidence import ReplicateBound, log_evidence
from probewise.coordinates import Array
from probewise.estimate import Pooled, Sums, least_squares
from probewise.goal import BestItem
from probewise.measurements import Measurements
from probewise.problem import Problem

_NOISE = 0.1
"""Part of δ that a bound on noise of unknown scale may spend."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What all finished rounds say."""

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
    open: OpenRound | None = None
    """The round under way, if it takes several batches."""

    @property
    def told(self) -> Measurements:
        """All measurements, those of the open round too."""
        return self.data if self.open is None else self.data + self.open.data

    def plus(self, problem: Problem, goal: BestItem, measurements: Measurements, leaders: int) -> Knowledge:
        """With one more round: evidence for the ``leaders`` items with the highest estimates, and what it rules out."""
        data = self.data + measurements
        theta = least_squares(problem.probes, data, sigma=problem.sigma).theta
        order = np.argsort(-(problem.items[self.alive] @ theta), kind="stable")
        known = {leader: sums.at(order) for leader, sums in self.collected.items()}
        pool = self.pool.plus(least_squares(problem.probes, measurements, sigma=problem.sigma))
        now = replace(self, data=data, pool=pool, alive=self.alive[order])
        now = replace(now, collected=now.collect(problem, now.alive[:leaders], known))._without_ruled_out(problem, goal)
        done = now.alive.size == 1 or now._good_enough(problem, goal)
        return replace(now, winner=int(now.alive[0]) if done else None)

    def collect(self, problem: Problem, leaders: Items, known: dict[int, Sums]) -> dict[int, Sums]:
        """The sums over items alive; a leader that was ``known`` before the last round needs only that round."""
        out: dict[int, Sums] = {}
        for leader in map(int, leaders):
            rows = problem.items[leader] - problem.items[self.alive]
            sizes = np.abs(problem.items[leader]) + np.abs(problem.items[self.alive])
            before = known.get(leader)
            since = len(self.pool.fits) - 1 if before is not None else 0
            sums = self.pool.sums(rows, sizes, since=since)
            out[leader] = before + sums if before is not None else sums
        return out

    def evidence(self, problem: Problem, goal: BestItem, leader: int, epsilon: float = 0.0) -> Array:
        """(k,): log of share × evidence for (leader - z')'θ > -epsilon, for items z' alive; -inf for the leader."""
        others = self.alive != leader
        rivals, (precision, total) = self.alive[others], self.collected[leader].at(others)
        total = total + epsilon * precision
        scale, share = self.prior.scale(problem, leader, rivals), self.prior.share(problem, leader, rivals)
        log = np.log(share) + log_evidence(total / self.noise(problem, goal), precision, scale)
        if not problem.sigma_known:
            log = np.where(total > 0, log, -np.inf)  # a bound above σ weakens evidence for a lead only
        out = np.full(self.alive.size, -np.inf)
        out[others] = log
        return out

    def leads(self, problem: Problem, goal: BestItem) -> tuple[Array, Array, Array]:
        """Over the rivals of the leader: its lead plus epsilon, the lead that rules out, and the log evidence needed.

        Both leads are in units of the noise.
        """
        leader, rivals = int(self.alive[0]), self.alive[1:]
        precision, total = (part[1:] for part in self.collected[leader])
        scale, share = self.prior.scale(problem, leader, rivals), self.prior.share(problem, leader, rivals)
        # a comparison that was lost with its measurements is planned as if it had the first round's precision
        precision = np.where(precision > 0, precision, scale / self.prior.factor)
        need = -np.log(2.0 * share * available(problem, goal)) + 0.5 * np.log1p(precision / scale)
        need = np.maximum(need, 0.5)  # with δ above 1/2, Φ(z) ≈ 1 is too coarse
        lead = (total / precision + goal.epsilon) / self.noise(problem, goal)
        return lead, np.sqrt(2.0 * need * (precision + scale)) / precision, need

    def noise(self, problem: Problem, goal: BestItem) -> float:
        """1, or an upper bound on the unknown scale of the noise at all times at once."""
        if problem.sigma_known:
            return 1.0
        return math.sqrt(ReplicateBound().variance(*self.pool.pure_error, _NOISE * goal.delta))

    def _without_ruled_out(self, problem: Problem, goal: BestItem) -> Knowledge:
        """Without the items against which the collected evidence is 1/δ or more; if that is all, with the first."""
        total = np.logaddexp.reduce([self.evidence(problem, goal, leader) for leader in self.collected], axis=0)
        kept = ~(total >= -math.log(available(problem, goal)))  # what is not a number rules nobody out
        kept[0] |= not kept.any()
        known = {leader: sums.at(kept) for leader, sums in self.collected.items()}
        now = replace(self, alive=self.alive[kept])
        first = now.alive[:1] if int(now.alive[0]) not in known else now.alive[:0]
        return replace(now, collected=known | now.collect(problem, first, {}))

    def _good_enough(self, problem: Problem, goal: BestItem) -> bool:
        """Whether no item left can be ahead of the leader by more than epsilon."""
        if goal.epsilon == 0:
            return False
        log = self.evidence(problem, goal, int(self.alive[0]), goal.epsilon)
        return bool((log[1:] >= -math.log(available(problem, goal))).all())


@dataclass(frozen=True, eq=False)
class OpenRound:
    """A round of which some batches have come: nothing is concluded from them before the last."""

    since: Knowledge
    """What was known when the round began: it is planned by nothing else."""
    data: Measurements
    """Its measurements so far."""


def available(problem: Problem, goal: BestItem) -> float:
    """What is left of δ for comparisons, once the noise has had its part."""
    return goal.delta if problem.sigma_known else (1.0 - _NOISE) * goal.delta
