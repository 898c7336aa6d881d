"""Lists: what bets against every list of m items have made, of which there are too many to look at each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.sage.prior import Items
from probewise.coordinates import Array


@dataclass(frozen=True, eq=False)
class Lists:
    """Accounts against all lists, by where they differ from the one in front.

    A list is bet against on one pair: the first item of the one in front that it lacks, and the first that it has
    instead. Items change places with those that stand last: docs/lists.md.
    """

    inside: Items
    """(m,): the list in front; items that may have to leave it stand last."""
    outside: Items
    """(M - m,): the others; those that may come in stand last."""
    held: Array
    """(2, m, M - m): log of what bets against each list have made of 1 at least, by the pair on which they are, now and
    at the end of the best round."""
    own: Array
    """(2,): the same of bets against the list in front."""

    @classmethod
    def start(cls, inside: Items, outside: Items) -> Lists:
        """Nothing has been bet."""
        return cls(inside, outside, np.zeros((2, inside.size, outside.size)), np.zeros(2))

    @property
    def pairs(self) -> tuple[Items, Items]:
        """(k,) twice: each item of the list in front, and each of the others beside it."""
        return np.repeat(self.inside, self.outside.size), np.tile(self.outside, self.inside.size)

    def plus(self, gains: Array, own: float = 0.0) -> Lists:
        """After a round: (k,) logs of what bets on each pair have made of 1, and of that against the list in front."""
        return replace(
            self,
            held=np.stack([self.held[0] + gains.reshape(self.held.shape[1:]), self.held[1]]),
            own=self.own + np.array([own, 0.0]),
        )

    def raised(self) -> Lists:
        """At the end of a round: what is held now may be the most there was; what is not a number raises nothing."""
        now, best = self.held
        return replace(
            self,
            held=np.stack([now, np.fmax(now, best)]),
            own=np.array([self.own[0], np.fmax(*self.own)]),
        )

    def sides(self, enough: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(m,), (M - m,): items that no list lacks, or has, but such as bets have made ``enough`` of."""
        out = self.held[1] >= enough
        return np.logical_and.accumulate(out.all(axis=1)), np.logical_and.accumulate(out.all(axis=0))

    def turned(self, front: Items) -> Lists:
        """With another list in front, one exchange of items after the other."""
        now = self
        leaving, coming = self.inside[~np.isin(self.inside, front)], self.outside[np.isin(self.outside, front)]
        for a, b in zip(leaving.tolist(), coming.tolist(), strict=True):
            now = now._last(a, b)._exchanged()
        return now

    def _last(self, a: int, b: int) -> Lists:
        """With ``a`` and ``b`` as the last inside and outside: lists that lack ``a``, or have ``b``, move on."""
        i, j = int(np.flatnonzero(self.inside == a)[0]), int(np.flatnonzero(self.outside == b)[0])
        held = self.held.copy()
        held[:, i + 1 :] = np.minimum(held[:, i + 1 :], held[:, i : i + 1])
        held[:, :, j + 1 :] = np.minimum(held[:, :, j + 1 :], held[:, :, j : j + 1])
        rows, columns = (
            np.append(np.delete(np.arange(k), at), at) for k, at in zip(held.shape[1:], (i, j), strict=True)
        )
        return replace(
            self, inside=self.inside[rows], outside=self.outside[columns], held=held[:, rows[:, None], columns]
        )

    def _exchanged(self) -> Lists:
        """With the last two in each other's place: every list is bet against where it was, but for the two in front."""
        held = self.held.copy()
        held[:, -1, -1] = self.own
        inside, outside = np.append(self.inside[:-1], self.outside[-1]), np.append(self.outside[:-1], self.inside[-1])
        return replace(self, inside=inside, outside=outside, held=held, own=self.held[:, -1, -1])


def order(values: Array, m: int) -> tuple[Items, Items]:
    """(m,), (M - m,): the m largest of (M,) values, from the largest down, and the others from the smallest up."""
    down = np.argsort(-values, kind="stable")
    return down[:m], down[m:][::-1]
