"""What an oracle is: a family of sets that is never listed, and a way to find its best set for any weights."""

from __future__ import annotations

import abc
import math

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.errors import InvalidProblem

Members = NDArray[np.bool_]
"""(n,): which of the n elements are in a set."""


class Oracle(abc.ABC):
    """A family of sets of the elements 0 … size-1, of which no set contains another.

    An oracle is a frozen dataclass. Families can be astronomically large: all that is ever asked of one is the set
    with the largest sum of weights, also with some elements forced in or kept out.
    """

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Number n of elements."""

    @property
    @abc.abstractmethod
    def kind(self) -> str:
        """What its sets are, in a few words, as in "the best of all …"."""

    @abc.abstractmethod
    def best(self, weights: Array) -> Members:
        """(n,): a set of the family with the largest sum of ``weights`` (n,), which may be negative."""

    @property
    def log_neighbours(self) -> float:
        """Φ: at most exp(Φk) sets differ from any given one in exactly k elements, whatever k ≥ 1 is."""
        return math.log(self.size)  # there are at most n choose k

    def best_with(self, weights: Array, *, forced: Members | None = None, barred: Members | None = None) -> Members:
        """(n,): the best set that has all ``forced`` elements and none of the ``barred`` ones.

        Where there is no such set, one that breaks as few of these rules as a set can.
        """
        # more than any two sets can differ by
        large = 1.0 + 2.0 * float(np.abs(weights).sum())
        own = weights if forced is None else weights + large * forced
        return self.best(own if barred is None else own - large * barred)


def checked_edges(edges: object, kind: str) -> tuple[tuple[int, int], ...]:
    """Pairs of whole numbers from 0 on, at least one, none of them twice."""
    try:
        array = np.array(list(edges), dtype=np.float64)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise InvalidProblem(f"{kind} must be pairs of whole numbers, got {edges!r:.80}.") from None
    if array.ndim != 2 or array.shape[1] != 2 or (array != np.floor(array)).any() or (array < 0).any():
        raise InvalidProblem(f"{kind} must be pairs of whole numbers from 0 on, at least one, got {edges!r:.80}.")
    pairs = tuple((int(a), int(b)) for a, b in array)
    if len(set(pairs)) < len(pairs):
        twice = next(pair for at, pair in enumerate(pairs) if pair in pairs[:at])
        raise InvalidProblem(f"each of the {kind} may be there once, but {twice} is there several times; keep one.")
    return pairs
