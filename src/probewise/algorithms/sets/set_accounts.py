"""Accounts against sets that are never listed: each is the exponential of a sum over the elements of the set."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.oracles import Members, Oracle

STAKES = 12
"""Stakes with equal shares of an account, each half of the one before; one share more is for all smaller stakes."""


@dataclass(frozen=True, eq=False)
class Accounts:
    """log K_k(z) = log w_k + κ_k·A(z) - κ_k²/2·B(z) for every set z at once and stakes κ_k, k = 0, 1, 2, …

    A(z) and B(z) are sums over elements. A round with N measurements, means m, variances c of these means and the
    leader l adds N(l-z)'m to A and N²·Σ_{e in l or z, not both} c_e to B: docs/sets.md, Lemma 1. So every stake,
    however small, has been bet with from the first round on, whenever it is looked at.
    """

    largest: float
    """κ_0, fixed before the first outcome; κ_k = κ_0/2^k."""
    gain: float
    """The part of A that is the same for all sets."""
    gains: Array
    """(n,): what each element adds to A."""
    spread: float
    """The part of B that is the same for all sets."""
    spreads: Array
    """(n,): what each element adds to B."""
    widest: float = 0.0
    """B of a set that would differ from all leaders in all elements: at least that of any set."""
    led: tuple[tuple[bytes, float], ...] = ()
    """Sets that have led, and the measurements of the rounds in which they did."""

    @classmethod
    def start(cls, noise: Array) -> Accounts:
        """Nothing gained yet; ``noise`` is σ² (n,) of each element.

        The largest stake is that for sets that differ in two of the elements and are told apart after four
        measurements of each.
        """
        nothing = np.zeros(noise.size)
        return cls(math.sqrt(14.0 / (16.0 * noise.size * float(noise.mean()))), 0.0, nothing, 0.0, nothing)

    @property
    def stakes(self) -> Array:
        """(K,): those that are looked at; smaller ones hold nearly what they began with, as κ²·B is below 1."""
        useful = math.log2(max(self.largest * math.sqrt(self.widest), 1.0))
        return np.asarray(self.largest * 0.5 ** np.arange(max(STAKES, math.ceil(useful) + 1)))

    @property
    def shares(self) -> Array:
        """(K,): log w_k. All w_k together, of infinitely many, are 1: docs/sets.md."""
        smaller = np.arange(1.0, self.stakes.size - STAKES + 1)
        return -np.log((STAKES + 1) * np.append(np.ones(STAKES), smaller * (smaller + 1.0)))

    def after(self, leader: Members, count: NDArray[np.int64], mean: Array, noise: Array) -> Accounts:
        """With a round whose leader and plan were known before it; one that leaves an element out is not bet on."""
        if not count.all():
            return self
        total = float(count.sum())
        spread = total**2 * noise / count
        led = dict(self.led)
        led[leader.tobytes()] = led.get(leader.tobytes(), 0.0) + total
        return replace(
            self,
            gain=self.gain + total * float(mean[leader].sum()),
            gains=self.gains - total * mean,
            spread=self.spread + float(spread[leader].sum()),
            spreads=self.spreads + np.where(leader, -spread, spread),
            widest=self.widest + float(spread.sum()),
            led=tuple(led.items()),
        )

    def eased(self, leader: Members, epsilon: float) -> Accounts:
        """What counts if sets that are ahead of this leader by no more than epsilon do no harm."""
        rounds = dict(self.led).get(leader.tobytes(), 0.0)
        return replace(self, gain=self.gain + rounds * epsilon)

    def each(self, sets: NDArray[np.bool_]) -> Array:
        """(k, K): the logs for ``sets`` (k, n)."""
        gain, spread = self.gain + sets @ self.gains, self.spread + sets @ self.spreads
        return np.asarray(self.shares + np.outer(gain, self.stakes) - 0.5 * np.outer(spread, self.stakes**2))

    def log(self, sets: NDArray[np.bool_]) -> Array:
        """(k,): the log of what the account of each of ``sets`` (k, n) holds at least."""
        return np.asarray(np.logaddexp.reduce(self.each(sets), axis=1))

    def all_above(self, oracle: Oracle, leader: Members, level: float, known: NDArray[np.bool_]) -> bool:
        """Whether it is certain that the account of every set but the leader is at least exp(level).

        Every other set has an element that the leader lacks. For each of these elements in turn, the smallest account
        of a set with it, and without those before it, is found for one stake by one call of the oracle: the account is
        at least that. ``known`` (k, n) are sets close to the leader; elements of which the best stake is small come
        first. If no stake is enough for all sets with an element, the answer is no, though it might be yes.
        """
        if (self.log(known) < level).any():
            return False
        barred = np.zeros(leader.size, dtype=np.bool_)
        for element, stake in self._order(leader, known):
            if not self._above(oracle, element, stake, barred, level):
                return False
            barred[element] = True
        return True

    def _order(self, leader: Members, known: NDArray[np.bool_]) -> list[tuple[int, int]]:
        """Elements that the leader lacks, with the number of the stake to try first, the smallest stake first."""
        best = np.argmax(self.each(known), axis=1)
        stake = np.zeros(leader.size, dtype=np.int64)
        for own, number in zip(known, best, strict=True):
            entering = own & ~leader
            stake[entering] = np.maximum(stake[entering], number)
        outside = np.flatnonzero(~leader)
        return [(int(e), int(stake[e])) for e in outside[np.argsort(-stake[outside], kind="stable")]]

    def _above(self, oracle: Oracle, element: int, stake: int, barred: Members, level: float) -> bool:
        """The same for all sets with an element and without those that are barred: whether one stake does for all."""
        forced = np.zeros(barred.size, dtype=np.bool_)
        forced[element] = True
        stakes = self.stakes
        left = list(range(stakes.size))
        while left:
            slopes = stakes[stake] * self.gains - 0.5 * stakes[stake] ** 2 * self.spreads
            lowest = oracle.best_with(-slopes, forced=forced, barred=barred)
            if not lowest[element] or (lowest & barred).any():
                return True  # there is no such set
            logs = self.each(lowest[None])[0]
            if logs[stake] >= level:
                return True
            left = [other for other in left if logs[other] >= level]  # the others are not enough for this set
            wanted = (stake + int(np.argmax(logs))) / 2.0
            stake = min(left, key=lambda other: (abs(other - wanted), -other), default=stake)
        return False
