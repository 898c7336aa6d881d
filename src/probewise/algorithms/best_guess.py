"""BestGuess: a fixed number of measurements, planned for the best guess at the end; what is proven, Sage judges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.batches import Limits
from probewise.algorithms.sage import Sage
from probewise.algorithms.sage.knowledge import Knowledge
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, BestItem, Goal
from probewise.guess import Prediction
from probewise.guess.belief import Belief, believed
from probewise.guess.columns import Columns, columns_of
from probewise.guess.improvement import Batch, first_batch, next_batch
from probewise.guess.variances import Settings
from probewise.measurements import Measurements
from probewise.pooling import Pooled
from probewise.problem import Problem
from probewise.threads import few

_BATCHES = 12
"""Batches that a budget is divided into where nothing limits them."""
_SEED = 20190621
"""Seed of the draws of an expected gain, which makes it a pure function of the state."""


@dataclass(frozen=True, eq=False)
class Guessed:
    """What is known between two rounds: what Sage makes of it, and what the model believes."""

    judged: Knowledge
    """Sage's accounts of all rounds."""
    columns: Columns
    """What the model's effects are made of."""
    relative: Array
    """(n,): the noise of each probe in units of that of a typical one."""
    range: tuple[float, float] | None
    """Ends of the range of values, where they are known."""
    sign: float
    """-1 if low outcomes are wanted."""

    @property
    def data(self) -> Measurements:
        """All measurements."""
        return self.judged.data

    @cached_property
    def belief(self) -> Belief | None:
        """What the model believes; None before any measurement."""
        if not self.data.n:
            return None
        return believed(self.columns, self.data, relative=self.relative, range=self.range, sign=self.sign)


@dataclass(frozen=True)
class BestGuess(Algorithm[Guessed]):
    """Plans a budget of measurements for the best guess at its end, by a second-order model that may be wrong.

    The model only plans and guesses. Each batch is a round that was planned before its outcomes, so that Sage's
    accounts judge it like any other: the confidence attained, and an answer if there is one, are as proven as Sage's.
    """

    budget: int = 96
    """Measurements in all."""
    max_batch: int | None = None
    """Measurements that can be made at once; None for a twelfth of the budget."""
    max_replicates: int | None = None
    """Measurements of one probe in a batch at most."""
    low: float = -math.inf
    """No item has a value below it, as far as is known; guesses rely on it, the accounts do not."""
    high: float = math.inf
    """No item has a value above it, likewise."""

    name: ClassVar[str] = "best-guess"
    summary: ClassVar[str] = "A budget planned for the best guess, by a shrunken second-order model; judged by Sage."
    reference: ClassVar[str] = "docs/budget.md"
    needs: ClassVar[str] = "a number of measurements"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)
    learns_sigma: ClassVar[bool] = True
    allows_misfit: ClassVar[bool] = True
    minds_stock: ClassVar[bool] = True
    takes_any_rounds: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    bets_on_outcomes: ClassVar[bool] = True
    attains: ClassVar[bool] = True
    predicts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.budget, bool) or not isinstance(self.budget, int) or self.budget < 1:
            raise InvalidAlgorithm(f"a budget must be a whole number of at least 1, got {self.budget!r}.")
        for name in ("low", "high"):
            if isinstance(own := getattr(self, name), bool) or not isinstance(own, int | float):
                raise InvalidAlgorithm(f"{name} must be a number, got {own!r:.80}.")
            object.__setattr__(self, name, float(own))
        if not self.low < self.high:
            raise InvalidAlgorithm(f"values range from low to a higher high, got {self.low!r} to {self.high!r}.")
        self.limits  # noqa: B018  raises if they do not fit together

    @property
    def limits(self) -> Limits:
        """What a laboratory can measure at once."""
        return Limits(self.max_batch, None, self.max_replicates)

    @property
    def proven(self) -> bool:
        """True: what is declared, and the confidence attained, are Sage's; the guess and its interval are heuristic."""
        return True

    def init(self, problem: Problem, goal: Goal) -> Guessed:
        """Nothing known."""
        return self._started(problem, _SAGE.init(problem, goal))

    def memo(self, problem: Problem, goal: Goal) -> dict[str, Any] | None:
        """What Sage keeps."""
        return _SAGE.memo(problem, goal)

    def resume(self, problem: Problem, goal: Goal, memo: Mapping[str, Any]) -> Guessed:
        """The state of ``init`` with what Sage kept."""
        return self._started(problem, _SAGE.resume(problem, goal, memo))

    def check_memo(self, problem: Problem, goal: Goal, memo: Mapping[str, Any]) -> None:
        """As Sage checks it."""
        _SAGE.check_memo(problem, goal, memo)

    @few
    def ask(self, problem: Problem, goal: Goal, state: Guessed, rng: np.random.Generator) -> Counts:
        """The next batch: at first well spread, then what the best guess gains most from; nothing once all is spent."""
        left = self.budget - state.data.n
        batch = self._batch(problem, state, size := self._size(left), size >= left, rng)
        return np.zeros(problem.n_probes, dtype=np.int64) if batch is None else batch.counts

    def tell(self, problem: Problem, goal: Goal, state: Guessed, measurements: Measurements) -> Guessed:
        """Add the evidence of a round, whoever planned it."""
        return self.tell_overlapping(problem, goal, state, [measurements])

    def tell_overlapping(self, problem: Problem, goal: Goal, state: Guessed, rounds: Sequence[Measurements]) -> Guessed:
        """Add the evidence of rounds that overlapped."""
        return replace(state, judged=state.judged.plus(problem, goal, rounds))

    def pooled(self, state: Guessed) -> Pooled | None:
        """The estimates on which Sage bets."""
        return state.judged.pool

    def answer(self, problem: Problem, goal: Goal, state: Guessed) -> Answer | None:
        """Sage's, if its accounts have found the best item before the budget ends and the model agrees.

        Where outcomes are not linear in the features, what the accounts find may be wrong; the model then says so.
        """
        found = _SAGE.answer(problem, goal, state.judged)
        return found if found is None or state.belief is None or found == (state.belief.best,) else None

    def spent(self, problem: Problem, goal: Goal, state: Guessed) -> bool:
        """Whether the budget, or the stock of all probes, is used up."""
        return state.data.n >= self.budget or not (problem.stock - state.data.count > 0).any()

    def standing(self, problem: Problem, goal: Goal, state: Guessed) -> Standing:
        """The items that Sage has not ruled out, and the best guess of the model."""
        judged = _SAGE.standing(problem, goal, state.judged)
        if self.answer(problem, goal, state) is not None or state.belief is None:
            return judged
        return replace(judged, guess=(state.belief.best,), progress=None)

    def confidence(self, problem: Problem, goal: Goal, state: Guessed) -> float | None:
        """What the guess has attained by Sage's accounts, which hold for any item: docs/confidence-attained.md."""
        guess = self.standing(problem, goal, state).leader
        return state.judged.confidence(problem, goal, guess)

    def unforeseen(self, problem: Problem, goal: Goal, state: Guessed | None = None) -> str:
        """Nothing: what is left is what is left of the budget."""
        return ""

    @few
    def prediction(self, problem: Problem, goal: Goal, state: Guessed) -> Prediction | None:
        """The model's guess, with its interval, and what the next batch may add to it; heuristic."""
        belief = state.belief
        if belief is None:
            return None
        mean, spread = belief.items
        batch = self._batch(problem, state, self._size(self.budget), True, np.random.default_rng(_SEED))
        gain = 0.0 if batch is None else max(batch.gain, 0.0)
        low, high = belief.interval(belief.best)
        measured = state.data.count[problem.twins] * (problem.twins >= 0)
        return Prediction(
            belief.best, mean, spread, low, high, gain, belief.noise, belief.honest, measured,
            max(self.budget - state.data.n, 0), belief.columns.described,
        )  # fmt: skip

    def _started(self, problem: Problem, judged: Any) -> Guessed:
        relative = problem.sigma / float(np.median(problem.sigma))
        low, high = problem.outcome.ends or (-math.inf, math.inf)
        ends = max(self.low, low), min(self.high, high)
        known = ends if any(math.isfinite(end) for end in ends) else None
        return Guessed(judged, columns_of(problem), relative, known, problem.sign)

    def _size(self, left: int) -> int:
        """Measurements of the next of equal batches, if so many are left."""
        most = self.max_batch or -(-self.budget // _BATCHES)
        return -(-left // -(-left // most)) if left > 0 else 0

    def _batch(self, problem: Problem, state: Guessed, size: int, last: bool, rng: np.random.Generator) -> Batch | None:
        """The next batch of that size, as far as there is stock; the last one is planned for the guess after it."""
        room = np.maximum(problem.stock - state.data.count, 0)
        if not size or not (room > 0).any():
            return None
        limits: dict[str, Any] = {
            "room": room,
            "relative": state.relative,
            "cost": problem.cost / problem.cost.min(),
            "replicates": self.max_replicates,
        }
        if state.belief is None:
            return Batch(first_batch(state.columns, size, settings=Settings(), rng=rng, **limits), math.nan)
        return next_batch(state.belief, size, last=last, rng=rng, **limits)


_SAGE = Sage(scattered=False)
"""The judge; its rounds are planned here, so that its settings do not matter."""
