"""Signs: what bets against every way to put items on two sides have made; there are too many to look at each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array

Sides = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Signs:
    """Accounts against all patterns of sides, by where they differ first from the one in front.

    A pattern is bet against on one item: the first, in an order, that stands on another side. Items change sides when
    they stand last in it: docs/sides.md.
    """

    inside: Sides
    """(k,): the pattern in front."""
    order: NDArray[np.int64]
    """(k,): numbers of the items; those that may change sides stand last."""
    held: Array
    """(2, k): log of what bets against each pattern have made of 1 at least, by the item on which they are, now and at
    the end of the best round."""
    own: Array
    """(2,): the same of bets against the pattern in front."""

    @classmethod
    def start(cls, inside: Sides, order: NDArray[np.int64]) -> Signs:
        """Nothing has been bet."""
        return cls(inside, order, np.zeros((2, inside.size)), np.zeros(2))

    def plus(self, gains: Array, own: float = 0.0) -> Signs:
        """After a round: (k,) logs of what bets on each item made of 1, and of that against the pattern in front."""
        return replace(self, held=np.stack([self.held[0] + gains, self.held[1]]), own=self.own + np.array([own, 0.0]))

    def raised(self) -> Signs:
        """At the end of a round: what is held now may be the most there was; what is not a number raises nothing."""
        own = np.array([self.own[0], np.fmax(*self.own)])
        return replace(self, held=np.stack([self.held[0], np.fmax(*self.held)]), own=own)

    def known(self, enough: float) -> Sides:
        """(k,): items on whose side all patterns agree but such as bets have made ``enough`` of."""
        out = np.zeros(self.inside.size, dtype=np.bool_)
        out[self.order] = np.logical_and.accumulate(self.held[1][self.order] >= enough)
        return out

    def turned(self, inside: Sides) -> Signs:
        """With another pattern in front, one item after the other: it is put last, and changes its side there."""
        changed = inside != self.inside
        if not changed.any():
            return self
        mask = changed[self.order]
        kept, moved = self.order[~mask], self.order[mask]
        now = self.held[:, self.order]
        # each item that changes has passed on the least of those before it, and so has what stands behind it
        least = np.minimum.accumulate(np.where(mask, now, np.inf), axis=1)
        passed = least[:, mask]
        held = np.empty_like(self.held)
        held[:, kept] = np.minimum(now, least)[:, ~mask]
        taken = np.column_stack([self.own, passed[:, :-1]])  # of the pattern that was in front before each change
        taken[:, :-1] = np.minimum(taken[:, :-1], passed[:, -1:])
        held[:, moved] = taken
        return Signs(inside, np.append(kept, moved), held, passed[:, -1])
