"""Paths: from a source to a target in a directed graph without cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.oracles.base import Members, Oracle, checked_edges


@dataclass(frozen=True)
class Paths(Oracle):
    """All paths from ``source`` to ``target`` along directed ``edges`` without a cycle; the elements are the edges.

    The shortest path, with lengths as values, is the best one for ``BestSet(..., minimise=True)``. A graph with cycles
    is refused: with weights of both signs, which confidence bounds have, its best path is NP-hard to find.
    """

    edges: Sequence[tuple[int, int]]
    """(from, to) of each edge, as numbers of vertices."""
    source: int
    """Where paths begin."""
    target: int
    """Where they end."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", checked_edges(self.edges, "edges"))
        useful = self._reached(forward=True) & self._reached(forward=False)
        if self.source == self.target or not useful[[self.source, self.target]].all():
            raise InvalidProblem(f"there must be a path from {self.source} to another vertex {self.target}.")
        ends = np.array(self.edges)
        if not (useful[ends[:, 0]] & useful[ends[:, 1]]).all():
            at = int(np.argmin(useful[ends[:, 0]] & useful[ends[:, 1]]))
            raise InvalidProblem(
                f"edge {self.edges[at]} is on no path from {self.source} to {self.target}; leave it out."
            )
        _ = self._levels

    @classmethod
    def grid(cls, rows: int, columns: int) -> Paths:
        """Paths from one corner of a grid to the opposite one that only go right or down.

        Vertex i·columns + j is row i and column j; the edges to the right come first, row by row, then those down.
        """
        number = np.arange(rows * columns).reshape(rows, columns)
        right = zip(number[:, :-1].ravel().tolist(), number[:, 1:].ravel().tolist(), strict=True)
        down = zip(number[:-1].ravel().tolist(), number[1:].ravel().tolist(), strict=True)
        return cls([*right, *down], 0, rows * columns - 1)

    @property
    def size(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def kind(self) -> str:
        """Paths."""
        return f"paths along {self.size} edges"

    def best(self, weights: Array) -> Members:
        """The heaviest path, level by level: every edge goes from a lower level to a higher one."""
        value = np.full(self._vertices, -np.inf)
        value[self.source] = 0.0
        for edges, tails, heads, starts in self._levels:
            value[heads] = np.maximum.reduceat(value[tails] + weights[edges], starts)
        chosen, vertex = np.zeros(self.size, dtype=np.bool_), self.target
        while vertex != self.source:
            edges, tails = self._into[vertex]
            last = int(np.argmax(value[tails] + weights[edges]))
            chosen[edges[last]] = True
            vertex = int(tails[last])
        return chosen

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.array(self.edges, dtype=np.int64)

    @property
    def _vertices(self) -> int:
        return 1 + max(self.source, self.target, int(np.array(self.edges).max()))

    @cached_property
    def _into(self) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]:
        """For each vertex: the edges into it, and where they come from."""
        into = [np.flatnonzero(self._ends[:, 1] == vertex) for vertex in range(self._vertices)]
        return tuple((edges, self._ends[edges, 0]) for edges in into)

    @cached_property
    def _levels(self) -> tuple[tuple[NDArray[np.int64], ...], ...]:
        """For each level: the edges into it, sorted by their heads, their tails, these heads, where each begins."""
        ends, level = self._ends, np.zeros(self._vertices, dtype=np.int64)
        for _ in range(self._vertices):
            raised = level.copy()
            np.maximum.at(raised, ends[:, 1], level[ends[:, 0]] + 1)
            if (raised == level).all():
                break
            level = raised
        else:
            raise InvalidProblem("the edges must not form a cycle, which no level of vertices can follow.")
        levels = []
        for at in range(1, int(level.max()) + 1):
            edges = np.flatnonzero(level[ends[:, 1]] == at)
            edges = edges[np.argsort(ends[edges, 1], kind="stable")]
            heads, starts = np.unique(ends[edges, 1], return_index=True)
            levels.append((edges, ends[edges, 0], heads, starts))
        return tuple(levels)

    def _reached(self, *, forward: bool) -> NDArray[np.bool_]:
        """(vertices,): what can be reached from the source, or from where the target can be reached."""
        out, into = self._ends.T if forward else self._ends.T[::-1]
        reached = np.zeros(self._vertices, dtype=np.bool_)
        reached[self.source if forward else self.target] = True
        while True:
            more = reached.copy()
            more[into[reached[out]]] = True
            if (more == reached).all():
                return reached
            reached = more
