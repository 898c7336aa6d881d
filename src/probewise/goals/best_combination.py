"""BestCombination: which combination of one item of each block has the largest value, if values add up?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.design.criterion import Directions
from probewise.design.within import pairs_within
from probewise.goals.base import Answer, Claims, Goal, check_risk
from probewise.goals.comparable import check_comparable
from probewise.numerals import listed
from probewise.problem import Problem

_comparable: WeakSet[Problem] = WeakSet()
"""Problems whose blocks have passed, so that a thousand runs on one of them check it once."""


@dataclass(frozen=True)
class BestCombination(Goal):
    """Find the best item of every block with probability at least 1-delta; a problem without blocks is one block.

    Where the value of a combination is the sum of what its items contribute, these make up the best of all
    combinations, however many there are: docs/product-spaces.md.
    """

    delta: float = 0.05
    """Largest probability that any item of the answer is wrong, strictly between 0 and 1."""
    epsilon: float = 0.0
    """How far each item may be behind the best of its block; the combination is behind by the sum at most."""
    minimise: bool = False
    """Whether the combination with the smallest value is wanted."""

    name: ClassVar[str] = "combination"
    summary: ClassVar[str] = "The best combination of one level of each factor, where their effects add up."
    combines: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_risk(self)

    @property
    def predicate(self) -> str:
        """Part of the best combination, or of the lowest."""
        return f"part of the {'lowest' if self.minimise else 'best'} combination"

    @property
    def found(self) -> str:
        """The best of its block in either case."""
        return "best"

    @property
    def question(self) -> str:
        """For one combination."""
        return f"Which combination is the {'lowest' if self.minimise else 'best'}?"

    def check(self, problem: Problem) -> None:
        """All items of a block can be compared with each other."""
        if not problem.blocks:
            check_comparable(problem)
        elif problem not in _comparable:
            for number, size in enumerate(problem.blocks):
                if size > 1:
                    check_comparable(problem.block(number))
            _comparable.add(problem)

    def answer(self, problem: Problem, values: Array) -> Answer:
        """The largest of each block; the first of several."""
        return tuple(int(rows[np.argmax(self.sign * values[rows])]) for rows in numbers(problem))

    def right(self, problem: Problem, values: Array, answer: Answer) -> bool:
        """One item of each block, within epsilon of its largest."""
        own, blocks = self.sign * values, list(numbers(problem))
        return len(answer) == len(blocks) and all(
            item in rows and own[rows].max() - own[item] <= self.epsilon
            for item, rows in zip(answer, blocks, strict=True)
        )

    def claims(self, problem: Problem, answer: Answer) -> Claims:
        """The claims that each item is ahead of every other one of its block."""
        items = self.upward(problem)[0].items
        others = [rows[rows != item] for item, rows in zip(answer, numbers(problem), strict=True)]
        own = np.repeat(answer, [rows.size for rows in others])
        rivals = np.concatenate(others)
        return Claims(items[own], items[rivals], np.zeros(rivals.size), rivals)

    def rivals(self, problem: Problem) -> int:
        """A wrong item would have to be ahead of the best one of its block."""
        return problem.n_items - max(len(problem.blocks), 1)

    def directions(self, problem: Problem) -> Directions:
        """All differences of two items of the same block."""
        return pairs_within(problem.items, problem.blocks or (problem.n_items,))

    def claim(self, names: Sequence[str], *, exact: bool = True) -> str:
        """The best combination, or one whose items are close enough."""
        what = f"the {'lowest' if self.minimise else 'best'} combination"
        close = "" if exact else f", each item within {self.epsilon:.4g} of its best"
        return f"{listed(names) or 'No item'} {'is' if len(names) <= 1 else 'are'} {what}{close}"


def numbers(problem: Problem) -> Iterator[NDArray[np.int64]]:
    """The numbers of the items of each block."""
    low = 0
    for size in problem.blocks or (problem.n_items,):
        yield np.arange(low, low + size)
        low += size
