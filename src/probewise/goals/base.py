"""What a goal is: a question about the items, what would answer it, and the words for both."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.design.criterion import Directions, Vectors
from probewise.errors import InvalidGoal, InvalidProblem
from probewise.numerals import listed, percent
from probewise.problem import Problem
from probewise.tables import named

Answer: TypeAlias = tuple[int, ...]
"""Numbers of the items that answer a question: one, several or none."""
Promise = Literal["all", "share"]
"""All of a list is right with probability 1-delta, or at most a share delta of those listed is wrong on average."""


@dataclass(frozen=True, eq=False)
class Claims:
    """What an answer says: y'θ + offset ≥ 0 for each of k directions y. With a tolerance, it may miss by that much."""

    above: Array
    """(k, d): y is the difference of such a row"""
    below: Array
    """(k, d): and such a row, which may be 0."""
    offsets: Array
    """(k,)."""
    against: NDArray[np.int64]
    """(k,): the item that each claim keeps in its place, in the answer or out of it."""

    @property
    def rows(self) -> Array:
        """(k, d): the directions y."""
        return self.above - self.below

    @property
    def sizes(self) -> Array:
        """(k, d): sizes of the numbers whose rounding moved the entries of the directions."""
        return np.abs(self.above) + np.abs(self.below)

    def at(self, which: NDArray[np.bool_]) -> Claims:
        """Some of them."""
        return Claims(self.above[which], self.below[which], self.offsets[which], self.against[which])

    def margins(self, theta: Array) -> Array:
        """(k,): y'θ + offset."""
        return np.asarray(self.rows @ theta + self.offsets)

    def rounding(self, theta: Array) -> Array:
        """(k,): what rounding can have done to the margins: a sum of d products moves by d·eps times their sizes."""
        sizes = self.sizes @ np.abs(theta) + np.abs(self.offsets)
        return np.asarray(theta.size * np.finfo(float).eps * sizes)


class Goal(abc.ABC):
    """A question about the items, to be answered rightly with probability at least 1-delta.

    A goal is a frozen dataclass whose fields are its settings: numbers, flags and text. Everything else, such as its
    form in a journal and on the command line, follows from them.
    """

    name: ClassVar[str]
    """The name used on the command line and in journals."""
    summary: ClassVar[str]
    """The question in one sentence."""
    argument: ClassVar[str | None] = None
    """The field that stands behind the name on the command line, as 3 in top:3."""
    ranks: ClassVar[bool] = False
    """Whether the answer is the first of a ranking, so that its lead over the next one is what decides."""
    combines: ClassVar[bool] = False
    """Whether it can be asked where items make up combinations, one of each block."""
    in_units: ClassVar[bool] = False
    """Whether there is a value in units of outcomes in its words, as a limit."""
    separate: ClassVar[bool] = False
    """Whether an answer makes one claim about each item by itself, so that items are listed or left out one by one."""
    delta: float
    """Largest probability of a wrong answer, strictly between 0 and 1."""
    epsilon: float
    """How far behind its place an item may be and still count as right."""
    minimise: bool = False
    """Whether low values are wanted; a goal that can do so has a setting of that name."""
    promise: Promise = "all"
    """What delta bounds; a goal that can promise a share has a setting of that name, and is ``separate``."""

    @property
    def found(self) -> str:
        """What an item of the answer is called in tables, in one word."""
        return "found"

    @property
    @abc.abstractmethod
    def predicate(self) -> str:
        """What is said of each item of the answer, as in "A is …" and "A may be …"."""

    @property
    def question(self) -> str:
        """What is asked, in words."""
        return f"Which items are {self.predicate}?"

    @abc.abstractmethod
    def check(self, problem: Problem) -> None:
        """Refuse a problem in which the question has no answer that measurements could find."""

    @abc.abstractmethod
    def answer(self, problem: Problem, values: Array) -> Answer:
        """The answer if these (m,) were the values of the items, the first item first."""

    @abc.abstractmethod
    def right(self, problem: Problem, values: Array, answer: Answer) -> bool:
        """Whether an answer is right if these (m,) are the values of the items."""

    @abc.abstractmethod
    def claims(self, problem: Problem, answer: Answer) -> Claims:
        """What an answer says of θ; it is right if all of it is true up to epsilon."""

    def aside(self, problem: Problem) -> Answer:
        """Items that cannot be in any answer, as the control with which others are compared."""
        return ()

    @abc.abstractmethod
    def rivals(self, problem: Problem) -> int:
        """How many claims, fixed by θ, are enough that every wrong answer makes one of them, and makes it falsely."""

    def apart(self, problem: Problem) -> int | None:
        """How many claims, fixed by θ, are enough that an item put on its wrong side makes one of them falsely.

        An item is put into the answer, or out of it, if all claims of an answer about it alone are beyond doubt. None,
        as here, if no such number is known: nothing is then said of an item before all of the answer is.
        """
        return None

    @abc.abstractmethod
    def directions(self, problem: Problem) -> Directions:
        """Whatever may have to be known, as long as nothing is known of θ."""

    def directions_at(self, problem: Problem, theta: Array) -> Vectors:
        """What must be known if θ is the truth: each direction over its distance from changing the answer."""
        answer, margins = self.settled(problem, theta)
        claims = self.claims(problem, answer)
        if not margins.size:
            raise InvalidProblem("the answer is known without a measurement, so there is nothing to design.")
        return Vectors(claims.rows / margins[:, None], claims.against, (claims.above, claims.below), margins)

    def settled(self, problem: Problem, theta: Array) -> tuple[Answer, Array]:
        """The one answer that is right under θ, and (k,) the margins of its claims; a tie is refused."""
        answer = self.answer(problem, problem.items @ theta)
        claims = self.claims(problem, answer)
        margins = claims.margins(theta)
        if (tied := np.flatnonzero(margins <= claims.rounding(theta))).size:
            raise tie(problem, (*answer, *claims.against[tied].tolist()))
        return answer, margins

    @property
    def sign(self) -> float:
        """What values are multiplied with, so that more is better."""
        return -1.0 if self.minimise else 1.0

    def turned(self) -> Goal:
        """The same question if all values are negated."""
        return replace(self, minimise=not self.minimise)  # type: ignore[type-var]

    def upward(self, problem: Problem) -> tuple[Problem, Goal]:
        """Problem and question in the form that algorithms are given, in which more is always better.

        To minimise z'θ is to maximise (-z)'θ: items are negated, and neither probes nor outcomes nor θ change.
        """
        return (problem.turned, self.turned()) if self.minimise else (problem, self)

    def at(self, delta: float) -> Goal:
        """The same question with another δ."""
        return replace(self, delta=delta)  # type: ignore[type-var]

    def strict(self) -> Goal:
        """The same question without a tolerance."""
        return replace(self, epsilon=0.0)  # type: ignore[type-var]

    def claim(self, names: Sequence[str], *, exact: bool = True) -> str:
        """What is claimed of the items of an answer; ``exact`` unless the tolerance was needed."""
        close = "" if exact else f", up to {self.epsilon:.4g}"
        verb = ("is" if len(names) <= 1 else "are") + " listed as" * (self.promise == "share")
        return f"{listed(names) or 'No item'} {verb} {self.predicate}{close}"

    def assurance(self, risk: float) -> str:
        """How sure that is if δ is ``risk``, to be put behind the claim."""
        if self.promise == "share":
            return f"; of such a list at most {percent(risk)} is wrong on average"
        return f", with confidence {percent(1.0 - risk)}"

    def wrong_share(self, problem: Problem, values: Array, answer: Answer) -> float:
        """The share of the items listed that are wrong, more than epsilon on the other side; 0 of none.

        For a goal that is not ``separate``, 1 if the answer is not right.
        """
        if not self.separate:
            return float(not self.right(problem, values, answer))
        right = [self.right_side(problem, values, item) for item in answer]
        return right.count(False) / max(len(right), 1)

    def right_side(self, problem: Problem, values: Array, item: int) -> bool:
        """Whether an item may be listed by itself; only asked of a goal that is ``separate``."""
        raise InvalidGoal(f"the goal '{self.name}' does not judge items one by one.")


def tie(problem: Problem, items: Answer) -> InvalidProblem:
    """What is said where several items are equally good."""
    names = named(problem.item_names[i] for i in sorted({*items}))
    return InvalidProblem(
        f"the answer must be unique, but under theta it is a tie ({names}) that no method can break; keep one of these "
        "items, or allow for a tolerance."
    )


def check_risk(goal: Goal) -> None:
    """Refuse a delta or an epsilon that means nothing."""
    if not (isinstance(goal.delta, int | float) and 0 < goal.delta < 1):
        raise InvalidGoal(f"delta must lie strictly between 0 and 1, got {goal.delta!r}; 0.05 is usual.")
    if not (isinstance(goal.epsilon, int | float) and 0 <= goal.epsilon < math.inf):
        raise InvalidGoal(f"epsilon must be a finite number of at least 0, got {goal.epsilon!r}.")
    if goal.promise not in get_args(Promise):
        raise InvalidGoal(f"promise must be 'all' or 'share', got {goal.promise!r:.40}.")
