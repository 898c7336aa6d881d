"""Windows: the items of which something is shown: all or, of items that stay where they are, the few that matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Standing
from probewise.campaign.findings.words import ALL_SEEN, Unseen
from probewise.campaign.state.replay import Trail
from probewise.goals import Answer
from probewise.problem import Problem

_SHOWN = 20
"""Items at most that are shown of those that stay where they are: the first of now, then of the rounds before."""
_UNMEASURED = 10
"""The same before anything is measured: the first by number."""


@dataclass(frozen=True, eq=False)
class Window:
    """A problem with the items that are shown, in memory, and where the search stood after each sheet."""

    problem: Problem
    """With these items only."""
    whose: Sequence[int]
    """(k,): the number of each in the whole problem, ascending."""
    standings: tuple[Standing, ...]
    """After each sheet, of these items, by their place here."""
    left: tuple[int, ...]
    """How many of all items were left after each sheet."""
    now: Standing
    """Where the search stands, of all items."""
    unseen: Unseen = ALL_SEEN
    """The others."""

    def places(self, items: Answer) -> Answer:
        """The places of some of the items, which are shown."""
        return items if self.unseen is ALL_SEEN else tuple(int(np.searchsorted(self.whose, item)) for item in items)


def window(trail: Trail) -> Window:
    """All items; of those that stay where they are, the few that led, and the answer."""
    charter, problem = trail.charter, trail.charter.problem
    algorithm, search = charter.algorithm, trail.search
    standings = tuple(algorithm.standing(*search, state) for state in trail.states)
    now = standings[-1] if standings else algorithm.standing(*search, trail.state)
    left = tuple(own.remaining.size + own.unlisted for own in standings)
    if problem.shards is None:
        return Window(problem, range(problem.n_items), standings, left, now)
    numbers = _chosen(standings, trail.ledger.declared or (), problem.n_items)
    there = [algorithm.left(*search, state, numbers) for state in (*trail.states, trail.state)]
    others = now.remaining.size + now.unlisted - int(there[-1].sum())
    unseen = Unseen(problem.n_items - numbers.size, others)
    few = Window(problem.some(numbers), numbers.tolist(), (), left, now, unseen)
    states = zip(standings, there[:-1], strict=True)
    listed = (replace(own, remaining=np.flatnonzero(at), guess=few.places(own.guess)) for own, at in states)
    return replace(few, standings=tuple(listed))


def _chosen(standings: Sequence[Standing], declared: Answer, items: int) -> NDArray[np.int64]:
    """Numbers of the items that are shown, ascending."""
    found: dict[int, None] = dict.fromkeys(declared)
    for standing in reversed(standings):
        found |= dict.fromkeys([*standing.guess, *standing.remaining.tolist()])
        if len(found) >= _SHOWN:
            break
    return np.sort(np.array(list(found)[:_SHOWN] or range(min(_UNMEASURED, items)), dtype=np.int64))
