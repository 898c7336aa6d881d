"""Trees of leaders: an account for each of any number of combinations, none of which is ever formed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array

Levels = tuple[int, ...]
"""A combination, or the beginning of one: which level each block has, the blocks in the order of the tree."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Logs of accounts of all combinations, each of which bets on the first block in which it is not the leader.

    Two combinations that begin alike, up to and with the block in which they leave all leaders that there were, have
    been bet alike. So a node for each beginning of a leader, with a number for each level of the next block, holds
    everything: the account of a combination is the sum over the nodes on its way (docs/product-spaces.md).
    """

    sizes: tuple[int, ...]
    """Levels of each block, in the order in which blocks are looked at."""
    nodes: dict[Levels, Array] = field(default_factory=dict)
    """Beginning of a leader -> (size of the next block,): log of what bets on that block have made of 1."""
    leaders: dict[Levels, float] = field(default_factory=dict)
    """Combination that was leader -> log of what its own bets have made meanwhile."""

    def plus(self, leader: Levels, gains: Sequence[Array], own: float) -> Tree:
        """After a round before which ``leader`` led: gains (size,) of bets on each block, and of the leader's own."""
        nodes = dict(self.nodes)
        for at, gain in enumerate(gains):
            before = nodes.get(leader[:at])
            made = np.where(np.arange(self.sizes[at]) == leader[at], 0.0, gain)
            nodes[leader[:at]] = made if before is None else before + made
        return replace(self, nodes=nodes, leaders={**self.leaders, leader: self.leaders.get(leader, 0.0) + own})

    def account(self, combination: Levels) -> float:
        """log of the account of one combination."""
        made = self.leaders.get(combination, 0.0)
        for at, level in enumerate(combination):
            if (node := self.nodes.get(combination[:at])) is None:
                break
            made += float(node[level])
        return made

    def least(self, alive: Sequence[NDArray[np.bool_]], besides: Levels) -> float:
        """The smallest account of all combinations of levels alive (size,) of each block, but of one; inf of none.

        By a walk over the beginnings of leaders: where a combination leaves them all, its other levels do not matter.
        """
        if besides not in self.leaders:
            return self.plus(besides, [np.zeros(size) for size in self.sizes], 0.0).least(alive, besides)
        below, lowest = self._below(), np.inf
        waiting: list[tuple[Levels, float]] = [((), 0.0)]
        while waiting:
            start, made = waiting.pop()
            if len(start) == len(self.sizes):
                lowest = lowest if start == besides else min(lowest, made + self.leaders[start])
                continue
            node, free = self.nodes[start], alive[len(start)].copy()
            for level in below[start]:
                if free[level]:
                    waiting.append(((*start, level), made + float(node[level])))
                    free[level] = False
            if all(left.any() for left in alive[len(start) + 1 :]):
                lowest = min(lowest, made + float(node[free].min(initial=np.inf)))
        return float(lowest)

    def _below(self) -> dict[Levels, set[int]]:
        """Beginning of a leader -> levels with which leaders go on."""
        out: dict[Levels, set[int]] = {}
        for leader in self.leaders:
            for at, level in enumerate(leader):
                out.setdefault(leader[:at], set()).add(level)
        return out
