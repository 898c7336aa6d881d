"""Batched: any algorithm in batches that a laboratory can take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from probewise.algorithms.base import Algorithm, Forecast, Standing
from probewise.algorithms.batches import Limits
from probewise.coordinates import Counts
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, Goal
from probewise.guess import Prediction
from probewise.measurements import Measurements
from probewise.pooling import Pooled
from probewise.problem import Problem

_DECLARED = (
    "goals",
    "promises",
    "learns_sigma",
    "allows_misfit",
    "minds_stock",
    "takes_any_rounds",
    "takes_weights",
    "bets_on_outcomes",
    "forecasts",
    "attains",
    "predicts",
    "needs",
)


@dataclass(frozen=True)
class Batched(Algorithm[Any]):
    """Gives out each round of an algorithm in batches, and tells it the round when all of them are there.

    The algorithm plans as if there were no batches, so that all it promises holds.
    """

    algorithm: Algorithm[Any]
    """The algorithm that plans and decides."""
    max_batch: int | None = None
    """Measurements that can be made at once."""
    min_batch: int | None = None
    """Measurements that a batch must have at least, as far as ``max_replicates`` and the stock allow."""
    max_replicates: int | None = None
    """Measurements of one probe in a batch at most."""

    name: ClassVar[str] = "batched"
    summary: ClassVar[str] = "Another algorithm, whose rounds are given out in batches."
    reference: ClassVar[str] = "docs/sage.md, Lemma 4"
    needs: ClassVar[str] = "another algorithm"
    goals: ClassVar[tuple[type[Goal], ...]] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, Algorithm):
            raise InvalidAlgorithm(f"Batched needs an algorithm, such as Batched(Rage(), 96), got {self.algorithm!r}.")
        if self.algorithm.limits != Limits():
            raise InvalidAlgorithm(f"{self.algorithm!r} has batches of its own; give their limits only once.")
        self.limits  # noqa: B018  raises if they do not fit together
        for what in _DECLARED:  # it can do what the algorithm can
            object.__setattr__(self, what, getattr(self.algorithm, what))

    @property
    def limits(self) -> Limits:
        """What a laboratory can measure at once."""
        return Limits(self.max_batch, self.min_batch, self.max_replicates)

    @property
    def proven(self) -> bool:
        """Whether the algorithm is proven, also for rounds that were filled up and so are not as it planned them."""
        return self.algorithm.proven and (self.min_batch is None or self.takes_any_rounds)

    def init(self, problem: Problem, goal: Goal) -> Any:
        """The first state of the algorithm."""
        return self.algorithm.init(problem, goal)

    def memo(self, problem: Problem, goal: Goal) -> dict[str, Any] | None:
        """What the algorithm would keep."""
        return self.algorithm.memo(problem, goal)

    def resume(self, problem: Problem, goal: Goal, memo: Mapping[str, Any]) -> Any:
        """The first state of the algorithm, from what it kept."""
        return self.algorithm.resume(problem, goal, memo)

    def check_memo(self, problem: Problem, goal: Goal, memo: Mapping[str, Any]) -> None:
        """As the algorithm checks it."""
        self.algorithm.check_memo(problem, goal, memo)

    def ask(self, problem: Problem, goal: Goal, state: Any, rng: np.random.Generator) -> Counts:
        """What the algorithm asks, with more of the same probes where batches would be too small."""
        counts = self.algorithm.ask(problem, goal, state, rng)
        return self.limits.filled(counts, np.maximum(problem.stock, counts))

    def tell(self, problem: Problem, goal: Goal, state: Any, measurements: Measurements) -> Any:
        """Tell the algorithm of a round."""
        return self.algorithm.tell(problem, goal, state, measurements)

    def tell_overlapping(self, problem: Problem, goal: Goal, state: Any, rounds: Sequence[Measurements]) -> Any:
        """Tell the algorithm of rounds that overlapped."""
        return self.algorithm.tell_overlapping(problem, goal, state, rounds)

    def pooled(self, state: Any) -> Pooled | None:
        """What the algorithm keeps of rounds."""
        return self.algorithm.pooled(state)

    def answer(self, problem: Problem, goal: Goal, state: Any) -> Answer | None:
        """The answer of the algorithm."""
        return self.algorithm.answer(problem, goal, state)

    def standing(self, problem: Problem, goal: Goal, state: Any) -> Standing:
        """Where items stand for the algorithm."""
        return self.algorithm.standing(problem, goal, state)

    def confidence(self, problem: Problem, goal: Goal, state: Any) -> float | None:
        """Of the algorithm; a round that is not complete does not count."""
        return self.algorithm.confidence(problem, goal, state)

    def spent(self, problem: Problem, goal: Goal, state: Any) -> bool:
        """Whether the algorithm asks for nothing more."""
        return self.algorithm.spent(problem, goal, state)

    def prediction(self, problem: Problem, goal: Goal, state: Any) -> Prediction | None:
        """What the algorithm predicts."""
        return self.algorithm.prediction(problem, goal, state)

    def forecast(self, problem: Problem, goal: Goal, state: Any) -> Forecast | None:
        """The forecast of the algorithm; each of its rounds may take several batches."""
        return self.algorithm.forecast(problem, goal, state)

    def unforeseen(self, problem: Problem, goal: Goal, state: Any | None = None) -> str:
        """What the algorithm says."""
        return self.algorithm.unforeseen(problem, goal, state)

    def forecast_for_gap(self, problem: Problem, goal: Goal, gap: float) -> Forecast:
        """The forecast of the algorithm; each of its rounds may take several batches."""
        return self.algorithm.forecast_for_gap(problem, goal, gap)
