"""MELK: which items are above a limit, by rounds of a design for the items that are not decided yet."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.planning import plan
from probewise.confidence import spent
from probewise.coordinates import Array, Counts
from probewise.design import points
from probewise.errors import InvalidAlgorithm
from probewise.estimate import least_squares
from probewise.goals import Above, Answer, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.rounding import round_design, sufficient_measurements


@dataclass(frozen=True, eq=False)
class _Decided:
    """Before round t."""

    t: int
    open: NDArray[np.int64]
    """(k,): items not decided yet."""
    margins: Array
    """(m,): the last estimate of each item, less the limit; 0 at first."""
    width: float
    """The largest half-width of an item that is open."""
    exact: bool
    """Whether no item was decided by the tolerance."""
    counts: Counts | None


@dataclass(frozen=True)
class MELK(Algorithm[_Decided]):
    """Each round halves the width of the items that are open; one is decided when the limit is outside its interval.

    Least squares of each round by itself and a union over the items; the paper estimates by inverse propensities, with
    other constants.
    """

    rounding: float = 0.1
    """ε of the rounding."""
    tol: float = 1e-2
    """Certified relative gap of the designs."""

    name: ClassVar[str] = "melk"
    summary: ClassVar[str] = "Above a limit or below: rounds of a design for the items not decided yet."
    reference: ClassVar[str] = "Mason, Camilleri, Mukherjee, Jamieson, Nowak, Jain 2022; docs/field.md"
    goals: ClassVar[tuple[type[Goal], ...]] = (Above,)

    def __post_init__(self) -> None:
        if not 0 < self.rounding < 1:
            raise InvalidAlgorithm(f"rounding must lie strictly between 0 and 1, got {self.rounding!r}; 0.1 is usual.")

    @property
    def proven(self) -> bool:
        """It is: docs/field.md."""
        return True

    def init(self, problem: Problem, goal: Goal) -> _Decided:
        """No item is decided."""
        start = _Decided(1, np.arange(problem.n_items), np.zeros(problem.n_items), math.inf, True, None)
        return self._planned(problem, goal, start)

    def ask(self, problem: Problem, goal: Goal, state: _Decided, rng: np.random.Generator) -> Counts:
        """The round."""
        assert state.counts is not None
        return state.counts

    def tell(self, problem: Problem, goal: Goal, state: _Decided, measurements: Measurements) -> _Decided:
        """θ̂ from this round only; decide what is clear of the limit, or known within epsilon."""
        assert isinstance(goal, Above)
        fit = least_squares(problem.probes, measurements, sigma=problem.sigma)
        items = problem.items[state.open]
        margins = state.margins.copy()
        margins[state.open] = fit.mean(items) - goal.value
        widths = _factor(problem, goal, state.t) * np.sqrt(fit.variance(items))
        clear = np.abs(margins[state.open]) > widths
        close = ~clear & (widths <= goal.epsilon)
        left = ~(clear | close)
        width = float(widths[left].max(initial=0.0))
        exact = state.exact and not close.any()
        return self._planned(problem, goal, _Decided(state.t + 1, state.open[left], margins, width, exact, None))

    def answer(self, problem: Problem, goal: Goal, state: _Decided) -> Answer | None:
        """Those above, the largest first, once all are decided."""
        return self._above(state) if state.open.size == 0 else None

    def standing(self, problem: Problem, goal: Goal, state: _Decided) -> Standing:
        """Those decided to be above, and those that are open."""
        guess = self._above(state)
        left = np.union1d(np.array(guess, dtype=np.int64), state.open)
        decided = 1.0 - state.open.size / problem.n_items
        return Standing(left, guess, decided, state.exact)

    def _above(self, state: _Decided) -> Answer:
        order = np.argsort(-state.margins, kind="stable")
        return tuple(int(item) for item in order if state.margins[item] > 0)

    def _planned(self, problem: Problem, goal: Goal, state: _Decided) -> _Decided:
        """As many measurements as halve the width; in the first round, the fewest."""
        if state.open.size == 0:
            return state
        design = plan(problem, points(problem.items[state.open]), tol=self.tol)
        support, rank = int(np.count_nonzero(design.weights)), problem.coordinates.rank
        wanted = max(state.width / 2.0, goal.epsilon)
        n = math.ceil((1 + self.rounding) * design.rho * (_factor(problem, goal, state.t) / wanted) ** 2)
        n = max(n, sufficient_measurements(self.rounding, support=support, dimension=rank))
        return replace(state, counts=round_design(design.weights, n, probes=problem.scaled_probes).counts)


def _factor(problem: Problem, goal: Goal, t: int) -> float:
    """√(2 log(m/δ_t)): half-widths are this many standard errors."""
    return math.sqrt(2.0 * math.log(problem.n_items / spent(goal.delta, t)))
