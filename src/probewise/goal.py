"""Goals: what is to be found, and how surely."""

from __future__ import annotations

import math
from dataclasses import dataclass

from probewise.errors import InvalidGoal


@dataclass(frozen=True)
class BestItem:
    """Find the item with the largest z'θ with probability at least 1-delta, up to a tolerance epsilon."""

    delta: float = 0.05
    """Largest probability of a wrong answer, strictly between 0 and 1."""
    epsilon: float = 0.0
    """An item within epsilon of the best also counts as right."""

    def __post_init__(self) -> None:
        if not (isinstance(self.delta, int | float) and 0 < self.delta < 1):
            raise InvalidGoal(f"delta must lie strictly between 0 and 1, got {self.delta!r}; 0.05 is usual.")
        if not (isinstance(self.epsilon, int | float) and 0 <= self.epsilon < math.inf):
            raise InvalidGoal(f"epsilon must be a finite number of at least 0, got {self.epsilon!r}.")
