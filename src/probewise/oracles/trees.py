"""SpanningTrees: edges that connect all vertices of a graph without a cycle."""

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
class SpanningTrees(Oracle):
    """All spanning trees of a connected graph with these ``edges``, which have no direction; they are the elements."""

    edges: Sequence[tuple[int, int]]
    """The two ends of each edge, as numbers of vertices."""

    def __post_init__(self) -> None:
        ordered = [tuple(sorted(edge)) for edge in checked_edges(self.edges, "edges")]
        object.__setattr__(self, "edges", checked_edges(ordered, "edges"))
        if any(a == b for a, b in self.edges):
            raise InvalidProblem("an edge of a tree has two different ends; leave loops out.")
        if int(self.best(np.zeros(self.size)).sum()) < self._vertices - 1:
            raise InvalidProblem("the edges must connect all vertices, numbered from 0 on; add some.")
        if self.size == self._vertices - 1:
            raise InvalidProblem("these edges are a tree, so there is nothing to choose; add some.")

    @classmethod
    def complete(cls, vertices: int) -> SpanningTrees:
        """All trees on so many vertices; edges (0, 1), (0, 2), … in this order."""
        return cls([(i, j) for i in range(vertices) for j in range(i + 1, vertices)])

    @property
    def size(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def kind(self) -> str:
        """Spanning trees."""
        return f"spanning trees of {self._vertices} vertices"

    @property
    def log_neighbours(self) -> float:
        """j exchanges are a distance of 2j: at most ((vertices-1)·(n-vertices+1))^j of them."""
        inside = self._vertices - 1
        return 0.5 * math.log(inside * (self.size - inside))

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.array(self.edges, dtype=np.int64)

    @property
    def _vertices(self) -> int:
        return 1 + int(np.array(self.edges).max())

    def best(self, weights: Array) -> Members:
        """The tree of scipy for the ranks of the weights: a tree depends on their order only, and ranks are not 0."""
        from scipy import sparse
        from scipy.sparse import csgraph

        rank = np.empty(self.size)
        rank[np.argsort(-weights, kind="stable")] = np.arange(1.0, self.size + 1.0)
        shape = (self._vertices, self._vertices)
        tree = csgraph.minimum_spanning_tree(sparse.csr_array((rank, self._ends.T), shape=shape))  # type: ignore[type-var]
        chosen = np.zeros(self.size + 1, dtype=np.bool_)
        chosen[tree.data.astype(np.int64)] = True
        return np.asarray(chosen[rank.astype(np.int64)])
