"""BetterThan: which items have a larger value than a control?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from probewise.coordinates import Array
from probewise.design.criterion import Directions
from probewise.design.sets import star
from probewise.errors import InvalidGoal, InvalidProblem
from probewise.goals.base import Answer, Claims, Goal, Promise, check_risk
from probewise.goals.comparable import check_comparable
from probewise.problem import Problem
from probewise.tables import named


@dataclass(frozen=True)
class BetterThan(Goal):
    """Find all items with a larger z'θ than a control, and no others, with probability at least 1-delta.

    With ``promise="share"``, list items so that at most a share delta of those listed is wrong on average.
    """

    control: str
    """Name of the item that the others are compared with; it is never listed."""
    delta: float = 0.05
    """Largest probability of a wrong list, or largest mean share of wrong items in it, strictly between 0 and 1."""
    epsilon: float = 0.0
    """An item within epsilon of the control may be listed or not."""
    minimise: bool = False
    """Whether the items with smaller values than the control are wanted."""
    promise: Promise = "all"
    """What delta bounds: "all", that anything is wrong, or "share", the share of those listed that is."""

    name: ClassVar[str] = "better-than"
    summary: ClassVar[str] = "All items that are better than a control, perhaps none."
    argument: ClassVar[str | None] = "control"
    separate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_risk(self)
        if not isinstance(self.control, str) or not self.control:
            raise InvalidGoal(f"control must be the name of an item, got {self.control!r}.")

    @property
    def predicate(self) -> str:
        """Better than the control, or lower."""
        return f"{self.found} than {self.control}"

    @property
    def found(self) -> str:
        """Better, or lower."""
        return "lower" if self.minimise else "better"

    def check(self, problem: Problem) -> None:
        """The control is an item, there is another one, and they can be compared."""
        self._place(problem)
        if problem.n_items == 1:
            raise InvalidProblem(f"'{self.control}' is the only item, so there is nothing to compare it with.")
        check_comparable(problem)

    def answer(self, problem: Problem, values: Array) -> Answer:
        """Those above the control, the largest first."""
        own, control = self.sign * values, self._place(problem)
        return tuple(int(item) for item in np.argsort(-own, kind="stable") if own[item] > own[control])

    def right(self, problem: Problem, values: Array, answer: Answer) -> bool:
        """None listed is more than epsilon behind the control, none left out more than epsilon ahead of it."""
        control, inside = self._place(problem), np.isin(np.arange(values.size), answer)
        ahead = self.sign * (values - values[control])
        margins = np.where(inside, ahead, -ahead)
        return control not in answer and bool((margins + self.epsilon >= 0).all())

    def claims(self, problem: Problem, answer: Answer) -> Claims:
        """Those listed are ahead of the control, the others behind it."""
        items, control = self.upward(problem)[0].items, self._place(problem)
        others = np.delete(np.arange(problem.n_items), control)
        own, rest = np.broadcast_to(items[control], (others.size, problem.dimension)), items[others]
        inside = np.isin(others, answer)[:, None]
        return Claims(np.where(inside, rest, own), np.where(inside, own, rest), np.zeros(others.size), others)

    def aside(self, problem: Problem) -> Answer:
        """The control."""
        return (self._place(problem),)

    def rivals(self, problem: Problem) -> int:
        """A wrong list has an item on the wrong side of the control."""
        return problem.n_items - 1

    def apart(self, problem: Problem) -> int:
        """The same claims: each is about one item."""
        return self.rivals(problem)

    def right_side(self, problem: Problem, values: Array, item: int) -> bool:
        """No more than epsilon behind the control, and not the control itself."""
        control = self._place(problem)
        return item != control and bool(self.sign * (values[item] - values[control]) + self.epsilon >= 0)

    def directions(self, problem: Problem) -> Directions:
        """Differences to the control."""
        return star(problem.items, self._place(problem))

    def _place(self, problem: Problem) -> int:
        if self.control not in problem.item_names:
            raise InvalidProblem(f"the control '{self.control}' is none of the items {named(problem.item_names)}.")
        return problem.item_names.index(self.control)
