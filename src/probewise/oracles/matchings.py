"""Matchings: pairs of vertices of any graph, as many as it allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from probewise.coordinates import Array
from probewise.errors import InvalidProblem, MissingExtra
from probewise.oracles.base import Members, Oracle, checked_edges


@dataclass(frozen=True)
class Matchings(Oracle):
    """All matchings of a graph with as many pairs as it allows: partners of one group, where each has one at most.

    The elements are the ``edges``. It needs networkx, and Assignments is far faster where there are two groups.
    """

    edges: Sequence[tuple[int, int]]
    """The two ends of each edge, as numbers of vertices."""

    def __post_init__(self) -> None:
        ordered = [tuple(sorted(edge)) for edge in checked_edges(self.edges, "edges")]
        object.__setattr__(self, "edges", checked_edges(ordered, "edges"))
        if any(a == b for a, b in self.edges):
            raise InvalidProblem("a pair has two different ends; leave loops out.")

    @property
    def size(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def kind(self) -> str:
        """Matchings."""
        return f"largest matchings of {self.size} edges"

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {edge: at for at, edge in enumerate(self.edges)}

    def best(self, weights: Array) -> Members:
        """By the blossom algorithm of networkx."""
        try:
            import networkx
        except ImportError:
            raise MissingExtra(
                "matchings of one group need networkx, which is not installed; install probewise[graphs], or use "
                "Assignments if there are two groups."
            ) from None
        graph = networkx.Graph()
        graph.add_weighted_edges_from((a, b, w) for (a, b), w in zip(self.edges, weights.tolist(), strict=True))
        chosen = np.zeros(self.size, dtype=np.bool_)
        for a, b in networkx.max_weight_matching(graph, maxcardinality=True):
            chosen[self._numbers[min(a, b), max(a, b)]] = True
        return chosen
