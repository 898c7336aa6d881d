"""What an algorithm is: five pure methods on a frozen dataclass that holds settings only."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.batches import Limits
from probewise.coordinates import Counts
from probewise.errors import InvalidAlgorithm
from probewise.goal import BestItem
from probewise.measurements import Measurements
from probewise.problem import Problem

S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class Standing:
    """How far an algorithm has come, for those who watch."""

    remaining: NDArray[np.int64]
    """(k,): numbers of the items that are not ruled out, ascending."""
    leader: int | None
    """The one in front, if the algorithm has a view."""
    progress: float | None
    """Between 0 at the start and 1 at the answer; None if the algorithm cannot say."""


@dataclass(frozen=True)
class Forecast:
    """What is left to do until the answer, as far as can be told now."""

    measurements: int
    """Measurements to come: as likely more as fewer."""
    low: int
    """As many or more with probability 90 %."""
    high: int
    """As many or fewer with probability 90 %: from low to high is an interval of 80 %."""
    cost: float
    """Cost of ``measurements``."""
    rounds: int
    """Rounds, or batches, that they take."""


class Algorithm(abc.ABC, Generic[S]):
    """A sampling rule, a stopping rule and a recommendation; it never loops, draws outcomes or sees θ."""

    name: ClassVar[str]
    """As on the command line and in tables."""
    summary: ClassVar[str]
    """One sentence."""
    reference: ClassVar[str]
    """Where it comes from."""
    needs: ClassVar[str] = "nothing"
    """What a user must know beforehand, in a few words."""
    learns_sigma: ClassVar[bool] = False
    """Whether it can do with noise of unknown scale."""
    minds_stock: ClassVar[bool] = False
    """Whether it can do with probes of limited stock."""
    takes_any_rounds: ClassVar[bool] = False
    """Whether its guarantee holds for rounds that somebody else planned, overlapping ones too."""

    @property
    @abc.abstractmethod
    def proven(self) -> bool:
        """Whether a proof of the δ-guarantee, with these settings, stands in the docs."""

    @abc.abstractmethod
    def init(self, problem: Problem, goal: BestItem) -> S:
        """The state before any measurement."""

    @abc.abstractmethod
    def ask(self, problem: Problem, goal: BestItem, state: S, rng: np.random.Generator) -> Counts:
        """(n,): how often to measure each probe in the next round; the same state and stream give the same counts."""

    @abc.abstractmethod
    def tell(self, problem: Problem, goal: BestItem, state: S, measurements: Measurements) -> S:
        """The state after a round."""

    @abc.abstractmethod
    def answer(self, problem: Problem, goal: BestItem, state: S) -> int | None:
        """The item to recommend, or None while undecided."""

    @abc.abstractmethod
    def standing(self, problem: Problem, goal: BestItem, state: S) -> Standing:
        """How far it has come: the items not ruled out, who leads, and the progress if it can say."""

    def tell_overlapping(self, problem: Problem, goal: BestItem, state: S, rounds: Sequence[Measurements]) -> S:
        """The state after rounds that overlapped in time, so that each may have been planned by parts of the others."""
        if len(rounds) == 1:
            return self.tell(problem, goal, state, rounds[0])
        raise InvalidAlgorithm(f"{self.name} cannot take rounds that overlap, got {len(rounds)}; tell them one by one.")

    @property
    def limits(self) -> Limits:
        """What can be measured at once; a round is given out in batches within them, and told as a whole."""
        return Limits()

    def forecast(self, problem: Problem, goal: BestItem, state: S) -> Forecast | None:
        """What is left to do, a pure function of the state; None if the algorithm cannot say."""
        return None


AnyAlgorithm = Algorithm[Any]
