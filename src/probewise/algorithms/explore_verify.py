"""Explore-verify: find a candidate with little confidence, then prove it on fresh data by the design made for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.planning import plan
from probewise.algorithms.rage import Rage
from probewise.algorithms.static import GStatic
from probewise.confidence import spent
from probewise.coordinates import Array, Counts
from probewise.design import star
from probewise.errors import InvalidAlgorithm
from probewise.estimate import least_squares
from probewise.goals import Answer, BestItem, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design, sufficient_measurements

EXPLORERS: dict[str, type[Algorithm[Any]]] = {"g-static": GStatic, "rage": Rage}
"""Algorithms that may look for the candidate."""
_ROUNDING = 0.1


@dataclass(frozen=True, eq=False)
class _Attempt:
    """Attempt l = 1, 2, …: exploring while nothing is planned, verifying once ``counts`` are."""

    attempt: int
    inner: Any
    """The state of the explorer."""
    data: Measurements
    """The measurements of this attempt's exploration."""
    candidate: int
    counts: Counts | None
    """The plan of the verification."""
    left: NDArray[np.int64] | None
    """Once the candidate is verified: it, and the items within epsilon that it does not beat outright."""

    @property
    def verified(self) -> bool:
        """Whether fresh data have proved the candidate."""
        return self.left is not None


@dataclass(frozen=True)
class ExploreVerify(Algorithm[_Attempt]):
    """Explore at the constant level κ, verify at level δ/(l(l+1)); if the candidate fails, begin again.

    The price of a small δ is paid in the verification only, whose design is the best one for the gaps that the
    exploration saw. No error can come from the exploration: only what fresh data prove is returned.
    """

    explore: Literal["g-static", "rage"] = "g-static"
    """Karnin's static exploration, or RAGE."""
    kappa: float = 0.1
    """Probability κ with which an exploration may fail, and with which a verification may miss a right candidate."""
    tol: float = 1e-2
    """Certified relative gap of the designs of verifications."""

    name: ClassVar[str] = "explore-verify"
    summary: ClassVar[str] = "Finds a candidate with little confidence, then proves it on fresh data."
    reference: ClassVar[str] = "Karnin 2016; docs/explore-verify.md"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)
    needs: ClassVar[str] = "items in the span of the probes, unless RAGE explores"

    def __post_init__(self) -> None:
        if self.explore not in EXPLORERS:
            raise InvalidAlgorithm(f"explore must be one of {', '.join(EXPLORERS)}, got {self.explore!r}.")
        if not 0 < self.kappa < 1 / 3:
            raise InvalidAlgorithm(f"kappa must lie strictly between 0 and 1/3, got {self.kappa!r}; 0.1 is usual.")

    @property
    def proven(self) -> bool:
        """True, whichever algorithm explores: docs/explore-verify.md."""
        return True

    def init(self, problem: Problem, goal: Goal) -> _Attempt:
        """The state that begins attempt l = 1."""
        return self._begun(problem, goal, 1)

    def ask(self, problem: Problem, goal: Goal, state: _Attempt, rng: np.random.Generator) -> Counts:
        """What the explorer asks, or the plan of the verification."""
        if state.counts is not None:
            return state.counts
        explorer, level = self._explorer(goal)
        return explorer.ask(problem, level, state.inner, rng)

    def tell(self, problem: Problem, goal: Goal, state: _Attempt, measurements: Measurements) -> _Attempt:
        """Tell the explorer until it answers; then accept or reject its candidate."""
        if state.counts is not None:
            left = self._accepted(problem, goal, state, measurements)
            return self._begun(problem, goal, state.attempt + 1) if left is None else replace(state, left=left)
        explorer, level = self._explorer(goal)
        inner = explorer.tell(problem, level, state.inner, measurements)
        found = explorer.answer(problem, level, inner)
        state = replace(state, inner=inner, data=state.data + measurements)
        return state if found is None else self._planned(problem, goal, replace(state, candidate=found[0]))

    def answer(self, problem: Problem, goal: Goal, state: _Attempt) -> Answer | None:
        """The candidate, once verified."""
        return None if state.left is None else (state.candidate,)

    def standing(self, problem: Problem, goal: Goal, state: _Attempt) -> Standing:
        """All items until one is verified: what the exploration rules out it may rule out wrongly."""
        if state.left is not None:
            return Standing(state.left, (state.candidate,), 1.0)
        explorer, level = self._explorer(goal)
        seen = explorer.standing(problem, level, state.inner).guess
        return Standing(np.arange(problem.n_items), seen if state.counts is None else (state.candidate,), None)

    def _explorer(self, goal: Goal) -> tuple[Algorithm[Any], Goal]:
        return EXPLORERS[self.explore](), goal.at(self.kappa)

    def _begun(self, problem: Problem, goal: Goal, attempt: int) -> _Attempt:
        """Attempt l before its first measurement; a single item needs none."""
        explorer, level = self._explorer(goal)
        inner = explorer.init(problem, level)
        left = np.zeros(1, dtype=np.int64) if problem.n_items == 1 else None
        return _Attempt(attempt, inner, Measurements.empty(problem.n_probes), 0, None, left)

    def _planned(self, problem: Problem, goal: Goal, state: _Attempt) -> _Attempt:
        """The design for the gaps Δ̃ seen, and N = 2ψ̃(√log(1/δ_l) + √log((|Z| - 1)/κ))²: a width, and its power."""
        fit = least_squares(problem.probes, state.data, sigma=problem.sigma)
        differences, sizes = _compared(problem, state)
        errors = np.sqrt(fit.variance(differences, sizes))
        # each rejection lowers the gaps believed by a standard error, but none below one
        gaps = np.maximum(fit.mean(differences) - (state.attempt - 1) * errors, errors) + goal.epsilon
        gaps[state.candidate] = 1.0
        weights, psi = plan(problem, star(problem.items, state.candidate, gaps), tol=self.tol)
        power = math.log((problem.n_items - 1) / self.kappa)
        wanted = 2 * psi * (1 + _ROUNDING) * (math.sqrt(_log(goal, state)) + math.sqrt(power)) ** 2
        support, rank = int(np.count_nonzero(weights)), problem.coordinates.rank
        n = max(math.ceil(wanted), sufficient_measurements(_ROUNDING, support=support, dimension=rank))
        return replace(state, counts=round_design(weights, n, probes=problem.scaled_probes).counts)

    def _accepted(
        self, problem: Problem, goal: Goal, state: _Attempt, measurements: Measurements
    ) -> NDArray[np.int64] | None:
        """The items left if the candidate beats every other one on the fresh data, up to epsilon; None if not.

        No union bound: a wrong candidate must in particular beat the best item, and that is one comparison.
        """
        fit = least_squares(problem.probes, measurements, sigma=problem.sigma)
        differences, sizes = _compared(problem, state)
        sure = fit.mean(differences) - np.sqrt(2.0 * _log(goal, state) * fit.variance(differences, sizes))
        beaten, own = sure > 0.0, np.arange(problem.n_items) == state.candidate
        return np.flatnonzero(~beaten | own) if bool(np.all((sure > -goal.epsilon) | own)) else None


def _compared(problem: Problem, state: _Attempt) -> tuple[Array, Array]:
    """(m, d), (m, d): the candidate less each item, and the sizes of the numbers that these were formed from."""
    candidate = problem.items[state.candidate]
    return candidate - problem.items, np.abs(candidate) + np.abs(problem.items)


def _log(goal: Goal, state: _Attempt) -> float:
    """log(1/δ_l)."""
    return -math.log(spent(goal.delta, state.attempt))
