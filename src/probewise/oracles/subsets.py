"""Subsets: all sets of k of n elements."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.oracles.base import Members, Oracle


@dataclass(frozen=True)
class Subsets(Oracle):
    """All sets of ``k`` of ``n`` elements: the best one is the top k."""

    n: int
    """Number of elements."""
    k: int
    """Number of elements of a set, from 1 to n-1."""

    def __post_init__(self) -> None:
        if not (isinstance(self.n, int) and isinstance(self.k, int) and 1 <= self.k < self.n):
            raise InvalidProblem(f"subsets need 1 <= k < n, got k = {self.k!r} and n = {self.n!r}.")

    @property
    def size(self) -> int:
        """n."""
        return self.n

    @property
    def kind(self) -> str:
        """Sets of k elements."""
        return f"sets of {self.k} of {self.n} elements"

    @property
    def log_neighbours(self) -> float:
        """j exchanges are a distance of 2j, and there are at most (k(n-k))^j of them."""
        return 0.5 * math.log(self.k * (self.n - self.k))

    def best(self, weights: Array) -> Members:
        """The k largest weights."""
        chosen = np.zeros(self.n, dtype=np.bool_)
        chosen[np.argpartition(weights, self.n - self.k)[self.n - self.k :]] = True
        return chosen
