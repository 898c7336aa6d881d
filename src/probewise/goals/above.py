"""Above: which items have a value above a limit?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from probewise.coordinates import Array
from probewise.design.criterion import Directions, points
from probewise.errors import InvalidGoal
from probewise.goals.base import Answer, Claims, Goal, check_risk
from probewise.goals.comparable import check_measurable
from probewise.problem import Problem


@dataclass(frozen=True)
class Above(Goal):
    """Find all items with z'θ above a value, and no others, with probability at least 1-delta."""

    value: float
    """The limit, in units of outcomes."""
    delta: float = 0.05
    """Largest probability of a wrong list, strictly between 0 and 1."""
    epsilon: float = 0.0
    """An item within epsilon of the limit may be listed or not."""

    name: ClassVar[str] = "above"
    summary: ClassVar[str] = "All items whose value is above a limit, perhaps none."
    argument: ClassVar[str | None] = "value"
    found: ClassVar[str] = "above"

    def __post_init__(self) -> None:
        check_risk(self)
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not math.isfinite(self.value):
            raise InvalidGoal(f"value must be a finite number, got {self.value!r}; it is the limit.")
        object.__setattr__(self, "value", float(self.value))

    @property
    def predicate(self) -> str:
        """Above the limit."""
        return f"above {self.value:.4g}"

    def check(self, problem: Problem) -> None:
        """Each item by itself can be known."""
        check_measurable(problem)

    def answer(self, problem: Problem, values: Array) -> Answer:
        """Those above, the largest first."""
        return tuple(int(item) for item in np.argsort(-values, kind="stable") if values[item] > self.value)

    def right(self, problem: Problem, values: Array, answer: Answer) -> bool:
        """None listed is more than epsilon below, none left out more than epsilon above."""
        inside = np.isin(np.arange(values.size), answer)
        margins = np.where(inside, values - self.value, self.value - values)
        return bool((margins + self.epsilon >= 0).all())

    def claims(self, problem: Problem, answer: Answer) -> Claims:
        """Those listed are above, the others below."""
        inside = np.isin(np.arange(problem.n_items), answer)
        zero = np.zeros_like(problem.items)
        above, below = np.where(inside[:, None], problem.items, zero), np.where(inside[:, None], zero, problem.items)
        return Claims(above, below, np.where(inside, -self.value, self.value), np.arange(problem.n_items))

    def rivals(self, problem: Problem) -> int:
        """A wrong list has an item on its wrong side."""
        return problem.n_items

    def directions(self, problem: Problem) -> Directions:
        """The items."""
        return points(problem.items)
