"""BestSet: which set of items, of all that an oracle allows, has the largest sum of values, or the smallest?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from probewise.coordinates import Array
from probewise.design.criterion import Directions
from probewise.errors import InvalidGoal, InvalidProblem
from probewise.goals.base import Answer, Claims, Goal, check_risk
from probewise.numerals import listed
from probewise.oracles import Oracle
from probewise.problem import Problem


@dataclass(frozen=True)
class BestSet(Goal):
    """Find the set of items with the largest sum of z'θ, of all sets of a family that is never listed.

    The answer is the items of the set. The family is an ``Oracle``: item e of the problem is its element e.
    """

    oracle: Oracle
    """The sets that are allowed."""
    delta: float = 0.05
    """Largest probability of a wrong answer, strictly between 0 and 1."""
    epsilon: float = 0.0
    """A set within epsilon of the best also counts as right."""
    minimise: bool = False
    """Whether the set with the smallest sum is wanted, as a shortest path."""

    name: ClassVar[str] = "set"
    summary: ClassVar[str] = "The set of items with the largest sum of values, of all that an oracle allows."

    def __post_init__(self) -> None:
        check_risk(self)
        if not isinstance(self.oracle, Oracle):
            raise InvalidGoal(f"oracle is an object such as Subsets(60, 10), got {self.oracle!r:.80}.")

    @property
    def predicate(self) -> str:
        """In the best set, or in the lowest."""
        return f"in the {self.found} set"

    @property
    def found(self) -> str:
        """Best or lowest."""
        return "lowest" if self.minimise else "best"

    @property
    def question(self) -> str:
        """Which of all sets."""
        return f"Which of all {self.oracle.kind} has the {'smallest' if self.minimise else 'largest'} sum?"

    def check(self, problem: Problem) -> None:
        """Items are the probes, none of them a combination of the others, and the oracle is about as many."""
        if problem.n_items != self.oracle.size:
            raise InvalidProblem(
                f"the oracle is about {self.oracle.size} elements, one for each item, but there are {problem.n_items} "
                "items."
            )
        same = problem.n_items == problem.n_probes and np.array_equal(problem.items, problem.probes)
        if not same or problem.coordinates.rank < problem.n_probes:
            raise InvalidProblem(
                "for a best set each element must be measured by itself: items must be the probes, with features of "
                "which none is a combination of others, such as Problem(np.eye(n))."
            )

    def answer(self, problem: Problem, values: Array) -> Answer:
        """The items of the best set, ascending."""
        return tuple(int(item) for item in np.flatnonzero(self.oracle.best(self.sign * values)))

    def right(self, problem: Problem, values: Array, answer: Answer) -> bool:
        """A set of the family within epsilon of the largest sum; what is equal up to rounding is equal."""
        own, members = self.sign * values, np.isin(np.arange(values.size), answer)
        if len({*answer}) != len(answer) or not self._allowed(members):
            return False
        short = own[self.oracle.best(own)].sum() - own[members].sum()
        return bool(short <= self.epsilon + values.size * np.finfo(float).eps * np.abs(own).sum())

    def _allowed(self, members: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> bool:
        """A set is in the family if it is the best one where nothing but its own elements counts."""
        return np.array_equal(self.oracle.best(np.where(members, 1.0, -1.0)), members)

    def claims(self, problem: Problem, answer: Answer) -> Claims:
        """Refused: that a set is ahead of every other one are too many claims to list."""
        raise self._unlisted()

    def rivals(self, problem: Problem) -> int:
        """Refused, as the claims."""
        raise self._unlisted()

    def directions(self, problem: Problem) -> Directions:
        """Refused, as the claims."""
        raise self._unlisted()

    def _unlisted(self) -> InvalidGoal:
        return InvalidGoal(
            f"there are too many {self.oracle.kind} to compare each with every other; choose an algorithm for sets, "
            "such as SageSets()."
        )

    def claim(self, names: Sequence[str], *, exact: bool = True) -> str:
        """The best set, or one that is close enough."""
        what = f"the {self.found} set" if exact else f"a set within {self.epsilon:.4g} of the {self.found}"
        return f"{listed(names) or 'No item'} {'is' if len(names) <= 1 else 'are'} {what}"
