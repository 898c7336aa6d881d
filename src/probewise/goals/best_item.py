"""BestItem: which item has the largest value, or the smallest?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from probewise.coordinates import Array
from probewise.design.criterion import Directions
from probewise.design.sets import pairs
from probewise.goals.base import Answer, Claims, Goal, check_risk
from probewise.goals.comparable import check_comparable
from probewise.numerals import listed
from probewise.problem import Problem


@dataclass(frozen=True)
class BestItem(Goal):
    """Find the item with the largest z'θ with probability at least 1-delta, up to a tolerance epsilon."""

    delta: float = 0.05
    """Largest probability of a wrong answer, strictly between 0 and 1."""
    epsilon: float = 0.0
    """An item within epsilon of the best also counts as right."""
    minimise: bool = False
    """Whether the item with the smallest value is wanted."""

    name: ClassVar[str] = "best"
    summary: ClassVar[str] = "The item with the largest value."
    ranks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_risk(self)

    @property
    def predicate(self) -> str:
        """The best, or the lowest."""
        return "the lowest" if self.minimise else "the best"

    @property
    def found(self) -> str:
        """The best in either case."""
        return "best"

    @property
    def question(self) -> str:
        """For one item."""
        return f"Which item is {self.predicate}?"

    def check(self, problem: Problem) -> None:
        """All items can be compared with each other."""
        check_comparable(problem)

    def answer(self, problem: Problem, values: Array) -> Answer:
        """The item with the largest value; the first of several."""
        return (int(np.argmax(self.sign * values)),)

    def right(self, problem: Problem, values: Array, answer: Answer) -> bool:
        """One item, within epsilon of the largest."""
        own = self.sign * values
        return len(answer) == 1 and bool(own.max() - own[answer[0]] <= self.epsilon)

    def claims(self, problem: Problem, answer: Answer) -> Claims:
        """The claims that the item is ahead of every other one."""
        items, others = self.upward(problem)[0].items, np.delete(np.arange(problem.n_items), answer[0])
        own = np.broadcast_to(items[answer[0]], (others.size, problem.dimension))
        return Claims(own, items[others], np.zeros(others.size), others)

    def rivals(self, problem: Problem) -> int:
        """Every other item would have to be ahead of the best one."""
        return problem.n_items - 1

    def directions(self, problem: Problem) -> Directions:
        """All differences of two items."""
        return pairs(problem.items)

    def claim(self, names: Sequence[str], *, exact: bool = True) -> str:
        """The best item, or one that is close enough."""
        best = "the lowest of all" if self.minimise else "the best item"
        what = best if exact else f"within {self.epsilon:.4g} of {self.predicate}"
        return f"{listed(names) or 'No item'} {'is' if len(names) <= 1 else 'are'} {what}"
