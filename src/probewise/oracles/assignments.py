"""Assignments: each row gets a column of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.oracles.base import Members, Oracle, checked_edges


@dataclass(frozen=True)
class Assignments(Oracle):
    """All ways to give each of ``rows`` rows one of ``columns`` columns of its own; the elements are pairs of both.

    Without ``pairs`` every pair is allowed, and element i·columns + j is row i with column j.
    """

    rows: int
    """Number of rows, at most the number of columns."""
    columns: int
    """Number of columns."""
    pairs: Sequence[tuple[int, int]] | None = None
    """The pairs (row, column) that are allowed: element e is the e-th of them."""

    def __post_init__(self) -> None:
        whole = isinstance(self.rows, int) and isinstance(self.columns, int)
        if not (whole and 1 <= self.rows <= self.columns and self.columns >= 2):
            raise InvalidProblem(
                f"an assignment needs at least two columns and no more rows than columns, got {self.rows!r} rows and "
                f"{self.columns!r} columns."
            )
        if self.pairs is not None:
            pairs = checked_edges(self.pairs, "pairs")
            object.__setattr__(self, "pairs", pairs)
            if outside := [pair for pair in pairs if pair[0] >= self.rows or pair[1] >= self.columns]:
                raise InvalidProblem(f"pairs are (row, column) from 0 on, got {outside[0]} of {self.rows} rows.")
            try:
                self.best(np.zeros(len(pairs)))
            except ValueError:
                raise InvalidProblem("these pairs do not allow a column for every row; add some.") from None

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """(n, 2): row and column of each element."""
        if self.pairs is not None:
            return np.array(self.pairs, dtype=np.int64)
        rows, columns = np.divmod(np.arange(self.rows * self.columns), self.columns)
        return np.column_stack([rows, columns]).astype(np.int64)

    @property
    def size(self) -> int:
        """Number of pairs."""
        return len(self._places)

    @property
    def kind(self) -> str:
        """Assignments."""
        return f"assignments of {self.columns} columns to {self.rows} rows"

    @property
    def log_neighbours(self) -> float:
        """Another column for j rows is a distance of 2j: (rows choose j)·columns^j / j! ≤ (rows·columns)^j ways.

        With as many columns as rows it is a permutation of j of them, at most rows^j ways.
        """
        return 0.5 * math.log(self.columns * (1 if self.rows == self.columns else self.rows))

    def best(self, weights: Array) -> Members:
        """By the shortest augmenting paths of scipy, which is loaded when used."""
        from scipy.optimize import linear_sum_assignment

        row, column = self._places.T
        table = np.full((self.rows, self.columns), -np.inf)
        table[row, column] = weights
        chosen = np.zeros((self.rows, self.columns), dtype=np.bool_)
        chosen[linear_sum_assignment(table, maximize=True)] = True
        return np.asarray(chosen[row, column])
