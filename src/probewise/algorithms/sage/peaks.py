"""Peaks: the most that every account has held, by which a guess is as sure as it has become."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from probewise.algorithms.sage.prior import Items
from probewise.coordinates import Array


@dataclass(frozen=True, eq=False)
class Peaks:
    """Running maxima of accounts between rounds; those of items that are ruled out stay as they were then."""

    plain: Array
    """(m,): log of the most that bets against "this item is the best" have ever made of 1."""
    eased: Mapping[int, Array] = field(default_factory=dict)
    """(m,) for each item z that was bet on, where epsilon counts: the same if it counts for z."""

    def raised(self, alive: Items, wealth: Array, eased: Mapping[int, Array]) -> Peaks:
        """After a round, with logs (k,) of the accounts of the items ``alive``, and what they gain if eased."""
        more = {z: _raised(self.eased.get(z, self.plain), alive, wealth + gain) for z, gain in eased.items()}
        return Peaks(_raised(self.plain, alive, wealth), more)

    def doubt(self, item: int) -> float:
        """1/κ: one over the smallest peak of another item, at most 1; nothing is left of it for a single item."""
        others = np.delete(self.eased.get(item, self.plain), item)
        return math.exp(-float(others.min(initial=math.inf)))


def _raised(peak: Array, alive: Items, wealth: Array) -> Array:
    """(m,): the larger of the two where there is another; what is not a number raises nothing."""
    out = peak.copy()
    out[alive] = np.fmax(peak[alive], wealth)
    return out
