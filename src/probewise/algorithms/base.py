"""What an algorithm is: five pure methods on a frozen dataclass that holds settings only."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.batches import Limits
from probewise.coordinates import Counts
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, Goal, Promise
from probewise.guess import Prediction
from probewise.measurements import Measurements
from probewise.pooling import Pooled
from probewise.problem import Problem

S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class Standing:
    """How far an algorithm has come, for those who watch."""

    remaining: NDArray[np.int64]
    """(k,): numbers of the items that may be in the answer, ascending."""
    guess: Answer
    """The answer as it looks now, if the algorithm has a view; else empty."""
    progress: float | None
    """Between 0 at the start and 1 at the answer; None if the algorithm cannot say."""
    exact: bool = True
    """Whether an answer that is found holds without the tolerance, as far as is not seen by who remains."""
    unlisted: int = 0
    """How many more items may be in the answer, where they are too many to be brought here."""
    sure: Answer = ()
    """Items that are known to be in the answer while others are still open; docs/sage.md says how surely."""

    @property
    def leader(self) -> int | None:
        """The item in front."""
        return self.guess[0] if self.guess else None


@dataclass(frozen=True)
class Forecast:
    """What is left to do until the answer, as far as can be told now."""

    measurements: int
    """Measurements to come: as likely more as fewer."""
    low: int | None
    """Lower end: with probability 90 %, at least as many are needed; None if the number is rough."""
    high: int | None
    """As many or fewer with probability 90 %: from low to high is an interval of 80 %."""
    cost: float
    """Cost of ``measurements``."""
    rounds: int | None
    """Rounds, or batches, that they take; None where the number is rough."""

    @property
    def sentence(self) -> str:
        """The number and, if it is not rough, its interval."""
        about = f"About {self.measurements:,} more measurements are needed"
        if self.low is None or self.high is None:
            return f"{about}."
        return f"{about}, with probability 80 % between {self.low:,} and {self.high:,}."


class Algorithm(abc.ABC, Generic[S]):
    """A sampling rule, a stopping rule and a recommendation; it never loops, draws outcomes or sees θ."""

    name: ClassVar[str]
    """The name used on the command line and in tables."""
    summary: ClassVar[str]
    """What the algorithm does, in one sentence."""
    reference: ClassVar[str]
    """The paper or page that it comes from."""
    needs: ClassVar[str] = "nothing"
    """What a user must know beforehand, in a few words."""
    goals: ClassVar[tuple[type[Goal], ...]]
    """The questions that it can answer; `Goal` itself stands for all of them."""
    promises: ClassVar[tuple[Promise, ...]] = ("all",)
    """What it can promise of a list: that all of it is right, or the share of it that is wrong on average."""
    links: ClassVar[tuple[str, ...]] = ("identity",)
    """The links between x'θ and the mean of an outcome that it can do with."""
    learns_sigma: ClassVar[bool] = False
    """Whether it can do with noise of unknown scale."""
    allows_misfit: ClassVar[bool] = False
    """Whether its guarantee can allow for outcomes that are off the model by no more than is stated."""
    minds_stock: ClassVar[bool] = False
    """Whether it can do with probes of limited stock."""
    takes_any_rounds: ClassVar[bool] = False
    """Whether its guarantee holds for rounds that somebody else planned, overlapping ones too."""
    takes_weights: ClassVar[bool] = False
    """Whether its guarantee holds for rows that bring their own precision."""
    randomised: ClassVar[bool] = True
    """Whether ``ask`` draws from its stream; where it does not, simulations need not make one for every round."""
    takes_shards: ClassVar[bool] = False
    """Whether it can do with items that stay where they are: see ``Shards``."""
    bets_on_outcomes: ClassVar[bool] = False
    """Whether it can do with outcomes that have to be bet on themselves, not on their sums: ``Law.by_sums``."""
    forecasts: ClassVar[bool] = False
    """Whether it can say what is left to do; the two forecasts below are refused unless it can."""
    plans_rounds: ClassVar[bool] = False
    """Whether its setting ``rounds`` says how many rounds should do."""
    before: ClassVar[Mapping[str, Any]] = {}
    """Settings that journals lack which were begun before there were such settings, and what stood for them then."""
    attains: ClassVar[bool] = False
    """Whether it can say how sure its guess has become; ``confidence`` is refused unless it can."""
    predicts: ClassVar[bool] = False
    """Whether its guess comes with a prediction, which is heuristic; ``prediction`` is refused unless it does."""

    @property
    @abc.abstractmethod
    def proven(self) -> bool:
        """Whether a proof of the δ-guarantee, with these settings, stands in the docs."""

    @abc.abstractmethod
    def init(self, problem: Problem, goal: Goal) -> S:
        """The state before any measurement."""

    @abc.abstractmethod
    def ask(self, problem: Problem, goal: Goal, state: S, rng: np.random.Generator) -> Counts:
        """(n,): how often to measure each probe in the next round; the same state and stream give the same counts."""

    @abc.abstractmethod
    def tell(self, problem: Problem, goal: Goal, state: S, measurements: Measurements) -> S:
        """The state after a round."""

    @abc.abstractmethod
    def answer(self, problem: Problem, goal: Goal, state: S) -> Answer | None:
        """The items that answer the question, or None while undecided."""

    @abc.abstractmethod
    def standing(self, problem: Problem, goal: Goal, state: S) -> Standing:
        """How far it has come: the items not ruled out, who leads, and the progress if it can say."""

    def left(self, problem: Problem, goal: Goal, state: S, items: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(k,): which of some items, by number, may be in the answer, listed in ``standing`` or not."""
        return np.isin(items, self.standing(problem, goal, state).remaining)

    def memo(self, problem: Problem, goal: Goal) -> dict[str, Any] | None:
        """What ``init`` solves for, as JSON: a campaign keeps it in its first record. None where that is nothing."""
        return None

    def resume(self, problem: Problem, goal: Goal, memo: Mapping[str, Any]) -> S:
        """The state of ``init`` from what ``memo`` gave for the same question, whatever its δ, without solving.

        InvalidAlgorithm for what no problem of this kind can have given. Anything else must leave the guarantee as it
        is, provided that it was fixed before the first outcome.
        """
        raise InvalidAlgorithm(f"{self.name} keeps nothing of what it begins with, got {', '.join(memo)!a:.40}.")

    def check_memo(self, problem: Problem, goal: Goal, memo: Mapping[str, Any]) -> None:
        """InvalidAlgorithm unless this problem gives such a memo; it may take as long as ``init``."""
        self.resume(problem, goal, memo)

    def pooled(self, state: S) -> Pooled | None:
        """The estimate of each round that it was told, each by itself; None, as here, if it does not keep them."""
        return None

    def tell_overlapping(self, problem: Problem, goal: Goal, state: S, rounds: Sequence[Measurements]) -> S:
        """The state after rounds that overlapped in time, so that each may have been planned by parts of the others.

        The one that began first comes first.
        """
        if len(rounds) == 1:
            return self.tell(problem, goal, state, rounds[0])
        raise InvalidAlgorithm(f"{self.name} cannot take rounds that overlap, got {len(rounds)}; tell them one by one.")

    @property
    def limits(self) -> Limits:
        """What can be measured at once; a round is given out in batches within them, and told as a whole."""
        return Limits()

    def confidence(self, problem: Problem, goal: Goal, state: S) -> float | None:
        """The confidence that the guess of ``standing``, or the answer, has attained; None where it cannot say.

        For each α, with probability at most α, a guess that is not right is ever shown with 1 - α or more, whenever it
        is looked at; at an answer it is at least 1 - δ. 0 is no confidence yet.
        """
        raise InvalidAlgorithm(f"{self.name} cannot say how sure its guess is; choose one that can, such as Sage.")

    def spent(self, problem: Problem, goal: Goal, state: S) -> bool:
        """Whether it asks for nothing more although it has no answer, as when a budget is used up."""
        return False

    def prediction(self, problem: Problem, goal: Goal, state: S) -> Prediction | None:
        """What it predicts of the items, a pure function of the state; None while there is nothing to go by."""
        raise InvalidAlgorithm(f"{self.name} does not predict; choose one that does, such as BestGuess.")

    def forecast(self, problem: Problem, goal: Goal, state: S) -> Forecast | None:
        """What is left to do, a pure function of the state; None while it cannot be told."""
        raise InvalidAlgorithm(f"{self.name} cannot forecast what is left to do; choose one that can, such as Sage.")

    def unforeseen(self, problem: Problem, goal: Goal, state: S | None = None) -> str:
        """One sentence that says why ``forecast`` is None in a state or, without one, will always be; empty if not."""
        return "" if self.forecasts else no_forecast(f"{self.name} makes none")

    def outlook(self, problem: Problem, goal: Goal, state: S) -> str:
        """What is left to do, in one sentence, or why that cannot be told."""
        ahead = self.forecast(problem, goal, state) if self.forecasts else None
        return self.unforeseen(problem, goal, state) if ahead is None else ahead.sentence

    def forecast_for_gap(self, problem: Problem, goal: Goal, gap: float) -> Forecast:
        """Before the first round: what it takes if items differ by ``gap`` where it matters and all is hard to tell.

        The gap is in units of outcomes or, if the scale of the noise is unknown, of the noise.
        """
        raise InvalidAlgorithm(f"{self.name} cannot forecast what is left to do; choose one that can, such as Sage.")


def no_forecast(why: str) -> str:
    """The sentence that stands where a forecast of what is left would stand."""
    return f"There is no forecast of what is left: {why}."


AnyAlgorithm = Algorithm[Any]
