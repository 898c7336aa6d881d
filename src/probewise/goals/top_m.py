"""TopM: which m items have the largest values?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from probewise.coordinates import Array
from probewise.design.criterion import Directions
from probewise.design.sets import pairs
from probewise.errors import InvalidGoal, InvalidProblem
from probewise.goals.base import Answer, Claims, Goal, check_risk
from probewise.goals.comparable import check_comparable
from probewise.numerals import listed
from probewise.problem import Problem


@dataclass(frozen=True)
class TopM(Goal):
    """Find the m items with the largest z'θ, in any order, with probability at least 1-delta."""

    m: int
    """How many, at least 1."""
    delta: float = 0.05
    """Largest probability of a wrong answer, strictly between 0 and 1."""
    epsilon: float = 0.0
    """No item left out may be ahead of one that is listed by more than epsilon."""
    minimise: bool = False
    """Whether the m items with the smallest values are wanted."""

    name: ClassVar[str] = "top"
    summary: ClassVar[str] = "The m items with the largest values, in any order."
    argument: ClassVar[str | None] = "m"

    def __post_init__(self) -> None:
        check_risk(self)
        if isinstance(self.m, bool) or not isinstance(self.m, int) or self.m < 1:
            raise InvalidGoal(f"m must be a whole number of at least 1, got {self.m!r}.")

    @property
    def predicate(self) -> str:
        """Among the top m, or the lowest m."""
        return f"among the {self.found} {self.m}"

    @property
    def found(self) -> str:
        """At the top, or the lowest."""
        return "lowest" if self.minimise else "top"

    @property
    def question(self) -> str:
        """For m of them."""
        return f"Which {self.m} items are the {'lowest' if self.minimise else 'best'}?"

    def check(self, problem: Problem) -> None:
        """There are more than m items, and they can be compared with each other."""
        if problem.n_items <= self.m:
            raise InvalidProblem(f"the top {self.m} of {problem.n_items} items are all of them; ask for fewer.")
        check_comparable(problem)

    def answer(self, problem: Problem, values: Array) -> Answer:
        """The m largest, the largest first."""
        return tuple(int(item) for item in np.argsort(-self.sign * values, kind="stable")[: self.m])

    def right(self, problem: Problem, values: Array, answer: Answer) -> bool:
        """m items, none of them more than epsilon behind one that is left out."""
        inside = np.isin(np.arange(values.size), answer)
        if len(answer) != self.m or inside.sum() != self.m:
            return False
        own = self.sign * values
        return bool(own[inside].min() + self.epsilon >= own[~inside].max(initial=-np.inf))

    def claims(self, problem: Problem, answer: Answer) -> Claims:
        """Each of them is ahead of every item that is left out."""
        items, others = self.upward(problem)[0].items, np.delete(np.arange(problem.n_items), answer)
        above = np.repeat(items[list(answer)], others.size, axis=0)
        below = np.tile(items[others], (len(answer), 1))
        return Claims(above, below, np.zeros(len(above)), np.tile(others, len(answer)))

    def rivals(self, problem: Problem) -> int:
        """Without a tolerance, those about the last of the top m and the first of the others: docs/sage.md.

        With one, a wrong list puts one of the others ahead of one of the top m.
        """
        return problem.n_items - 1 if self.epsilon == 0 else self.apart(problem)

    def apart(self, problem: Problem) -> int:
        """An item on its wrong side is ahead of one of the top m, or behind one of the others."""
        return self.m * (problem.n_items - self.m)

    def directions(self, problem: Problem) -> Directions:
        """All differences of two items."""
        return pairs(problem.items)

    def claim(self, names: Sequence[str], *, exact: bool = True) -> str:
        """The top m, or as good."""
        close = "" if exact else f", or no more than {self.epsilon:.4g} behind"
        return f"{listed(names) or 'No item'} {'is' if len(names) <= 1 else 'are'} the {self.found} {self.m}{close}"
