"""Above: which items have a value above a limit, or below it?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from probewise.coordinates import Array
from probewise.design.criterion import Directions
from probewise.design.sets import points
from probewise.errors import InvalidGoal
from probewise.goals.base import Answer, Claims, Goal, Promise, check_risk
from probewise.goals.comparable import check_measurable
from probewise.problem import Problem


@dataclass(frozen=True)
class Above(Goal):
    """Find all items with z'θ above a value, and no others, with probability at least 1-delta.

    With ``promise="share"``, list items so that at most a share delta of those listed is wrong on average.
    """

    value: float
    """The limit, in units of outcomes."""
    delta: float = 0.05
    """Largest probability of a wrong list, or largest mean share of wrong items in it, strictly between 0 and 1."""
    epsilon: float = 0.0
    """An item within epsilon of the limit may be listed or not."""
    minimise: bool = False
    """Whether the items below the limit are wanted."""
    promise: Promise = "all"
    """What delta bounds: "all", that anything is wrong, or "share", the share of those listed that is."""

    name: ClassVar[str] = "above"
    summary: ClassVar[str] = "All items whose value is above a limit, perhaps none."
    argument: ClassVar[str | None] = "value"
    in_units: ClassVar[bool] = True
    separate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_risk(self)
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not math.isfinite(self.value):
            raise InvalidGoal(f"value must be a finite number, got {self.value!r}; it is the limit.")
        object.__setattr__(self, "value", float(self.value))

    @property
    def predicate(self) -> str:
        """Above the limit, or below it."""
        return f"{self.found} {self.value:.4g}"

    @property
    def found(self) -> str:
        """On the side that is wanted."""
        return "below" if self.minimise else "above"

    def turned(self) -> Above:
        """The limit is negated too."""
        return replace(self, value=-self.value, minimise=not self.minimise)

    def check(self, problem: Problem) -> None:
        """Each item by itself can be known."""
        check_measurable(problem)

    def answer(self, problem: Problem, values: Array) -> Answer:
        """Those above, the largest first."""
        own, limit = self.sign * values, self.sign * self.value
        return tuple(int(item) for item in np.argsort(-own, kind="stable") if own[item] > limit)

    def right(self, problem: Problem, values: Array, answer: Answer) -> bool:
        """None listed is more than epsilon below, none left out more than epsilon above."""
        own, inside = self.sign * (values - self.value), np.isin(np.arange(values.size), answer)
        margins = np.where(inside, own, -own)
        return bool((margins + self.epsilon >= 0).all())

    def claims(self, problem: Problem, answer: Answer) -> Claims:
        """Those listed are above, the others below."""
        items, limit = self.upward(problem)[0].items, self.sign * self.value
        inside, zero = np.isin(np.arange(problem.n_items), answer), np.zeros_like(items)
        above, below = np.where(inside[:, None], items, zero), np.where(inside[:, None], zero, items)
        return Claims(above, below, np.where(inside, -limit, limit), np.arange(problem.n_items))

    def rivals(self, problem: Problem) -> int:
        """A wrong list has an item on its wrong side."""
        return problem.n_items

    def apart(self, problem: Problem) -> int:
        """The same claims: each is about one item."""
        return self.rivals(problem)

    def right_side(self, problem: Problem, values: Array, item: int) -> bool:
        """No more than epsilon below the limit."""
        return bool(self.sign * (values[item] - self.value) + self.epsilon >= 0)

    def directions(self, problem: Problem) -> Directions:
        """The items."""
        return points(problem.items)
