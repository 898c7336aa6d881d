"""LinGapE: one measurement at a time, for the comparison of the leader with its most plausible rival."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.sequential.first import spanner, told, unit
from probewise.algorithms.sequential.shares import shares
from probewise.algorithms.sequential.steps import first_largest
from probewise.confidence import Estimator, Evidence, SelfNormalised, Threshold, TrackAndStop, require
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm
from probewise.estimate import RankOne
from probewise.goals import Answer, BestItem, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem


@dataclass(frozen=True, eq=False)
class Comparison:
    """Between two measurements: the estimate, and which two items to compare next."""

    probes: Array
    """(n, r): in the coordinates of the estimate and in units of their noise."""
    items: Array
    """(m, r): in the same coordinates."""
    threshold: Threshold
    """What decides that the leader is best."""
    count: Counts
    """(n,): measurements so far."""
    fit: RankOne | None
    """The estimate; None for least squares until what was measured spans all features."""
    leader: int = 0
    """The item i with the largest estimate."""
    rival: int = 0
    """The item j that may exceed it by most."""
    bound: float = math.inf
    """By how much: B = (z_j - z_i)'θ̂ + C·‖z_i - z_j‖ in the norm of V⁻¹."""
    early: Measurements | None = None
    """What was measured while there was no estimate yet."""


@dataclass(frozen=True)
class LinGapE(Algorithm[Comparison]):
    """Gap-based exploration: stops when no item can exceed the leader by more than epsilon.

    With a ``norm_bound``, as published: ridge, and a threshold that knows the bound. Without one, least squares from
    the first round on, and a threshold that needs to know nothing. Items need not be probes; where noise or costs
    differ, effort is counted in variance and in cost.
    """

    selection: Literal["ratio", "greedy"] = "ratio"
    """"ratio": keep to the optimal design for the comparison (analysed); "greedy": reduce its variance fastest."""
    initial: Literal["every", "spanner", "none"] = "every"
    """The first round: each probe once, as published; a few that span the others well; or none, with ridge only."""
    norm_bound: float | None = None
    """S, at least the Euclidean norm of θ."""
    penalty: float = 1.0
    """The ridge parameter η."""
    threshold: Threshold | None = None
    """By default SelfNormalised(union=True), as published, with a ``norm_bound``, else TrackAndStop."""

    name: ClassVar[str] = "lingape"
    summary: ClassVar[str] = "One measurement at a time, for the leader against its most plausible rival."
    reference: ClassVar[str] = "Xu, Honda, Sugiyama 2018, Algorithm 1"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)
    needs: ClassVar[str] = "nothing; a bound on the norm of θ to run as published"

    def __post_init__(self) -> None:
        if self.selection not in ("ratio", "greedy"):
            raise InvalidAlgorithm(f"selection must be 'ratio' or 'greedy', got {self.selection!r}.")
        if self.initial not in ("every", "spanner", "none"):
            raise InvalidAlgorithm(f"initial must be 'every', 'spanner' or 'none', got {self.initial!r}.")
        if self.norm_bound is not None and not 0 < self.norm_bound < math.inf:
            raise InvalidAlgorithm(f"norm_bound must be positive and finite, or None, got {self.norm_bound!r}.")
        if not 0 < self.penalty < math.inf:
            raise InvalidAlgorithm(f"penalty must be positive and finite, got {self.penalty!r}; 1 is usual.")
        if self.initial == "none" and self.norm_bound is None:
            raise InvalidAlgorithm(
                "initial='none' leaves nothing to begin least squares with; give a norm_bound, which makes it ridge, "
                "or choose 'every' or 'spanner'."
            )
        if self.threshold is not None:
            require(self.threshold, "adaptive", self.estimator, self.name)

    @property
    def estimator(self) -> Estimator:
        """Ridge if the norm of θ is known to be bounded."""
        return "least squares" if self.norm_bound is None else "ridge"

    @property
    def proven(self) -> bool:
        """Whether the threshold is proven."""
        return self.threshold is None or self.threshold.proven

    def init(self, problem: Problem, goal: Goal) -> Comparison:
        """V = ηI for ridge; for least squares, coordinates in which the first round gives V = I."""
        count = np.zeros(problem.n_probes, dtype=np.int64)
        if problem.n_items == 1:
            return Comparison(problem.scaled_probes, problem.items, self.threshold or TrackAndStop(), count, None)
        if self.norm_bound is None:
            transform = unit(problem.coordinates.probes, self._first(problem))
            probes, items = problem.coordinates.probes @ transform, problem.coordinates(problem.items) @ transform
            return Comparison(probes, items, self.threshold or TrackAndStop(), count, None)
        fit = RankOne.start(self.penalty * np.eye(problem.dimension))
        threshold = self.threshold or SelfNormalised(union=True)
        state = Comparison(problem.scaled_probes, problem.items, threshold, count, fit)
        return self._compared(problem, goal, state) if self.initial == "none" else state

    def ask(self, problem: Problem, goal: Goal, state: Comparison, rng: np.random.Generator) -> Counts:
        """The first round, what is missing of it as long as there is no estimate, then one measurement at a time."""
        if state.fit is None or (self.initial != "none" and not state.count.any()):
            return np.asarray(np.maximum(self._first(problem) - state.count, 0), dtype=np.int64)
        counts = np.zeros(problem.n_probes, dtype=np.int64)
        counts[self._choice(problem, state)] = 1
        return counts

    def tell(self, problem: Problem, goal: Goal, state: Comparison, measurements: Measurements) -> Comparison:
        """θ̂ and V with the new measurements, then the next comparison."""
        if problem.n_items == 1:
            return state
        count = state.count + measurements.count
        heard = measurements if state.early is None else state.early + measurements
        fit = told(state.probes, state.fit, heard.count, heard.mean / problem.sigma)
        if fit is None:
            return replace(state, count=count, early=heard)
        return self._compared(problem, goal, replace(state, count=count, fit=fit, early=None))

    def answer(self, problem: Problem, goal: Goal, state: Comparison) -> Answer | None:
        """The leader, once B <= epsilon."""
        return (state.leader,) if problem.n_items == 1 or state.bound <= goal.epsilon else None

    def standing(self, problem: Problem, goal: Goal, state: Comparison) -> Standing:
        """All items until the leader is the answer; then it and those within epsilon that it does not beat outright."""
        answer, fit = self.answer(problem, goal, state), state.fit
        if answer is None or fit is None:
            guess = (state.leader,) if fit is not None and state.count.any() else answer or ()
            return Standing(np.arange(problem.n_items), guess, None if answer is None else 1.0)
        scores, width = state.items @ fit.theta, state.threshold.width(self._evidence(problem, goal, state))
        bounds = scores - scores[answer[0]] + width * _norms(fit, state.items, answer[0])
        bounds[answer[0]] = math.inf
        return Standing(np.flatnonzero(bounds > 0.0), answer, 1.0)

    def _first(self, problem: Problem) -> Counts:
        """(n,): the first round."""
        if self.initial == "every":
            return np.ones(problem.n_probes, dtype=np.int64)
        return np.bincount(spanner(problem.coordinates.probes), minlength=problem.n_probes)

    def _compared(self, problem: Problem, goal: Goal, state: Comparison) -> Comparison:
        """Leader, rival and B."""
        assert state.fit is not None
        scores = state.items @ state.fit.theta
        leader = first_largest(scores)
        norms = _norms(state.fit, state.items, leader)
        width = state.threshold.width(self._evidence(problem, goal, state))
        if math.isinf(width):  # too early to decide: the rival in the limit of a large width
            norms[leader] = -math.inf
            return replace(state, leader=leader, rival=first_largest(norms), bound=math.inf)
        bounds = scores - scores[leader] + width * norms
        bounds[leader] = -math.inf
        return replace(state, leader=leader, rival=first_largest(bounds), bound=float(bounds.max()))

    def _evidence(self, problem: Problem, goal: Goal, state: Comparison) -> Evidence:
        assert state.fit is not None
        n, r = int(state.count.sum()), state.items.shape[1]
        known = Evidence(goal.delta, max(n, 1), problem.n_items - 1, problem.n_items, n, problem.coordinates.rank)
        if self.norm_bound is None:
            return replace(known, information=state.fit.information)
        return replace(
            known,
            logdet=state.fit.logdet - r * math.log(self.penalty),
            penalty=self.penalty,
            norm_bound=self.norm_bound,
            largest_probe=float(np.linalg.norm(state.probes, axis=1).max()),
        )

    def _choice(self, problem: Problem, state: Comparison) -> int:
        """The probe to measure next for the comparison of leader and rival."""
        if self.selection == "ratio":
            support, share = shares(problem, state.leader, state.rival)
            return int(support[np.argmin(state.count[support] / share)])
        assert state.fit is not None
        direction = state.items[state.leader] - state.items[state.rival]
        return first_largest(state.fit.gain(state.probes, direction[None])[:, 0] / problem.cost)


def _norms(fit: RankOne, items: Array, leader: int) -> Array:
    """(m,): ‖z - z_leader‖ in the norm of V⁻¹."""
    return np.sqrt(np.maximum(fit.norm2(items - items[leader]), 0.0))
