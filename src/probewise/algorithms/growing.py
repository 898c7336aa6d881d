"""A design fixed before the first measurement, checked each time the total has grown by a factor."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from probewise.algorithms.base import Counts
from probewise.confidence import Evidence, Threshold
from probewise.coordinates import Array
from probewise.estimate import Estimate, least_squares
from probewise.goal import BestItem
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design


@dataclass(frozen=True, eq=False)
class Growing:
    """The state of a method that follows one design."""

    weights: Array
    """(n,): the design."""
    check: int
    """Checks made so far."""
    data: Measurements
    """All measurements."""
    winner: int | None
    """The item that passed a check."""

    def told(self, measurements: Measurements) -> Growing:
        """After one more round, not yet checked."""
        return replace(self, check=self.check + 1, data=self.data + measurements)


def grown(problem: Problem, state: Growing, growth: float, rng: np.random.Generator, sampling: str) -> Counts:
    """(n,): measurements that bring the total to the next check: the support's size times growth^check, rounded up.

    "rounded" follows the design as closely as whole numbers allow; "iid" draws probes from it, as the authors do.
    """
    first = int(np.count_nonzero(state.weights))
    target = max(math.ceil(first * growth**state.check), state.data.n + 1)
    if sampling == "iid":
        return rng.multinomial(target - state.data.n, state.weights).astype(np.int64)
    wanted = round_design(state.weights, target, probes=problem.probes).counts
    # divisor methods never take back what they gave for a smaller total
    return np.asarray(np.maximum(wanted - state.data.count, 0), dtype=np.int64)


def estimate(problem: Problem, data: Measurements) -> Estimate:
    """Least squares on data whose probes were planned beforehand."""
    return least_squares(problem.probes, data, sigma=problem.sigma)


def evidence(problem: Problem, goal: BestItem, state: Growing) -> Evidence:
    """What a threshold may look at after a round."""
    return Evidence(
        delta=goal.delta,
        check=state.check,
        rivals=problem.n_items - 1,
        items=problem.n_items,
        measurements=state.data.n,
        dimension=problem.coordinates.rank,
    )


def winner(problem: Problem, fit: Estimate, candidate: int, width: float, epsilon: float) -> int | None:
    """The candidate, if it beats every other item by more than the width of the comparison less epsilon."""
    rivals = np.delete(np.arange(problem.n_items), candidate)
    differences = problem.items[candidate] - problem.items[rivals]
    lead = fit.mean(differences) + epsilon
    return candidate if bool(np.all(lead > width * np.sqrt(fit.variance(differences)))) else None


def checked(
    problem: Problem, goal: BestItem, state: Growing, threshold: Threshold, candidate: int | None = None
) -> Growing:
    """The state after a check of the leader, or of a candidate known beforehand."""
    fit = estimate(problem, state.data)
    chosen = int(np.argmax(problem.items @ fit.theta)) if candidate is None else candidate
    width = threshold.width(evidence(problem, goal, state))
    return replace(state, winner=winner(problem, fit, chosen, width, goal.epsilon))
