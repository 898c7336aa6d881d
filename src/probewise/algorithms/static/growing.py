"""A design fixed before the first measurement, checked each time the total has grown by a factor."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.planning import Solver, check_solver, plan
from probewise.confidence import Evidence, StarUnion, Threshold, require
from probewise.coordinates import Array, Counts
from probewise.design import Directions
from probewise.errors import InvalidAlgorithm
from probewise.estimate import least_squares
from probewise.goals import Answer, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design

Sampling = Literal["rounded", "iid"]
Loop = Literal["tight", "code"]


@dataclass(frozen=True, eq=False)
class Growing:
    """The state of a method that follows one design."""

    weights: Array
    """(n,): the design."""
    check: int
    """Number of the last check."""
    data: Measurements
    """All measurements."""
    answer: Answer | None
    """The answer that passed a check."""
    guess: Answer = ()
    """The answer that was checked last."""
    left: NDArray[np.int64] | None = None
    """Once there is an answer: its items, and those that only epsilon keeps out."""
    exact: bool = True
    """Whether it holds without epsilon."""

    @classmethod
    def start(cls, problem: Problem, weights: Array) -> Growing:
        """The state before the first measurement."""
        return cls(weights, 0, Measurements.empty(problem.n_probes), None)

    def told(self, measurements: Measurements) -> Growing:
        """After one more round, not yet checked."""
        return replace(self, check=self.check + 1, data=self.data + measurements)

    def standing(self, n_items: int) -> Standing:
        """All items until one has passed: one that fails a check may pass a later one."""
        if self.left is None:
            return Standing(np.arange(n_items), self.guess, None)
        return Standing(self.left, self.guess, 1.0, self.exact)


@dataclass(frozen=True, kw_only=True)
class Static(Algorithm[Growing]):
    """One design for all rounds; what the design is for, and who may win, is left to the algorithm.

    "tight": the total after check j is the size of the support times growth^j. "code": what the RAGE authors ran, a
    loop that counts every check twice: fresh batches of ⌈u⌉, ⌈u³⌉, ⌈u⁵⌉, … probes drawn from the design.
    """

    growth: float
    """Factor u between checks."""
    variant: Loop = "tight"
    """Which of the two; it decides the two settings below unless they are given."""
    sampling: Sampling | None = None
    """"rounded" to the design as closely as whole numbers allow, or "iid" draws from it; as the variant by default."""
    threshold: Threshold | None = None
    """What the winner must pass; StarUnion for "tight" and the authors' for "code" by default."""
    solver: Solver = "certified"
    """How the design is found; "frank-wolfe" is the authors'."""
    tol: float = 1e-3
    """Certified relative gap of the design."""

    goals: ClassVar[tuple[type[Goal], ...]] = (Goal,)

    def __post_init__(self) -> None:
        if not 1 < self.growth < math.inf:
            raise InvalidAlgorithm(f"growth must be larger than 1, got {self.growth!r}; 1.1 to 2 is usual.")
        if self.variant not in ("tight", "code"):
            raise InvalidAlgorithm(f"variant must be 'tight' or 'code', got {self.variant!r}.")
        if self.sampling not in (None, "rounded", "iid"):
            raise InvalidAlgorithm(f"sampling must be 'rounded' or 'iid', got {self.sampling!r}.")
        check_solver(self.solver)
        require(self.rule, "fixed", "least squares", self.name)

    @abc.abstractmethod
    def directions(self, problem: Problem, goal: Goal) -> Directions:
        """What the design is for."""

    @abc.abstractmethod
    def candidate(self, problem: Problem, goal: Goal) -> Answer | None:
        """The only answer that may pass, or None if the answer at the estimate may."""

    @property
    @abc.abstractmethod
    def authors_threshold(self) -> Threshold:
        """The default threshold of variant "code"."""

    @property
    def rule(self) -> Threshold:
        """The threshold in force."""
        return self.threshold or (self.authors_threshold if self.variant == "code" else StarUnion())

    @property
    def proven(self) -> bool:
        """Whether the threshold is proven: the probes of every round are independent of all outcomes."""
        return self.rule.proven

    def init(self, problem: Problem, goal: Goal) -> Growing:
        """The state before the first measurement, with the design."""
        if (only := settled(problem, goal)) is not None:
            return only
        wanted = self.directions(problem, goal)
        return Growing.start(problem, plan(problem, wanted, tol=self.tol, solver=self.solver).weights)

    def ask(self, problem: Problem, goal: Goal, state: Growing, rng: np.random.Generator) -> Counts:
        """What brings the total to the next check."""
        sampling = self.sampling or ("iid" if self.variant == "code" else "rounded")
        if self.variant == "code":
            return reached(problem, state, state.data.n + math.ceil(self.growth ** self._next(state)), rng, sampling)
        return grown(problem, state, self.growth, rng, sampling)

    def tell(self, problem: Problem, goal: Goal, state: Growing, measurements: Measurements) -> Growing:
        """Add the measurements and check."""
        told = replace(state.told(measurements), check=self._next(state))
        return checked(problem, goal, told, self.rule, self.candidate(problem, goal))

    def answer(self, problem: Problem, goal: Goal, state: Growing) -> Answer | None:
        """The answer that has passed."""
        return state.answer

    def standing(self, problem: Problem, goal: Goal, state: Growing) -> Standing:
        """Where items stand: all may be the answer until one has passed."""
        return state.standing(problem.n_items)

    def _next(self, state: Growing) -> int:
        """Number of the next check: 1, 2, 3, … or, in the authors' loop, 1, 3, 5, …"""
        return state.check + (2 if self.variant == "code" and state.check else 1)


def grown(problem: Problem, state: Growing, growth: float, rng: np.random.Generator, sampling: Sampling) -> Counts:
    """(n,): measurements that bring the total to the next check: the support's size times growth^check, rounded up."""
    first = int(np.count_nonzero(state.weights))
    return reached(problem, state, math.ceil(first * growth**state.check), rng, sampling)


def reached(problem: Problem, state: Growing, total: int, rng: np.random.Generator, sampling: Sampling) -> Counts:
    """(n,): at least one measurement, to bring the total to ``total`` or, if rounded, to the size of the support.

    "rounded" follows the design as closely as whole numbers allow; "iid" draws probes from it, as the authors do.
    """
    total = max(total, state.data.n + 1)
    if sampling == "iid":
        return rng.multinomial(total - state.data.n, state.weights).astype(np.int64)
    total = max(total, int(np.count_nonzero(state.weights)))
    wanted = round_design(state.weights, total, probes=problem.probes).counts
    # divisor methods never take back what they gave for a smaller total
    return np.asarray(np.maximum(wanted - state.data.count, 0), dtype=np.int64)


def checked(
    problem: Problem, goal: Goal, state: Growing, threshold: Threshold, candidate: Answer | None = None
) -> Growing:
    """The state after a check of the answer at the estimate, or of a candidate known beforehand.

    It passes if each of its claims is true by more than its width, up to epsilon (docs/confidence.md, Corollary 3).
    """
    fit = least_squares(problem.probes, state.data, sigma=problem.sigma)
    chosen = goal.answer(problem, problem.items @ fit.theta) if candidate is None else candidate
    claims, width = goal.claims(problem, chosen), threshold.width(evidence(problem, goal, state))
    rows = claims.rows
    sure = fit.mean(rows) + claims.offsets - width * np.sqrt(fit.variance(rows, claims.sizes))
    known = np.where(claims.offsets + goal.epsilon >= 0, np.inf, -np.inf)  # of no direction: whatever θ is
    sure = np.where(rows.any(axis=1), sure, known)
    if not (sure > -goal.epsilon).all():
        return replace(state, guess=chosen)
    left = np.union1d(np.array(chosen, dtype=np.int64), claims.against[~(sure > 0.0)])
    return replace(state, guess=chosen, answer=chosen, left=left, exact=bool((sure > 0.0).all()))


def settled(problem: Problem, goal: Goal) -> Growing | None:
    """The state that has the answer without a measurement, as where there is only one item; None if there is none."""
    answer = goal.answer(problem, np.zeros(problem.n_items))
    if goal.claims(problem, answer).against.size:
        return None
    start = Growing.start(problem, np.full(problem.n_probes, 1.0 / problem.n_probes))
    return replace(start, answer=answer, guess=answer, left=np.array(answer, dtype=np.int64))


def evidence(problem: Problem, goal: Goal, state: Growing) -> Evidence:
    """What a threshold may look at after a round."""
    probes = problem.coordinates.probes
    return Evidence(
        delta=goal.delta,
        check=state.check,
        rivals=goal.rivals(problem),
        items=goal.rivals(problem) + 1,
        measurements=state.data.n,
        dimension=problem.coordinates.rank,
        information=(probes.T * state.data.count) @ probes,
    )
