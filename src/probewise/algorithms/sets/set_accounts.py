"""Accounts against sets that are never listed: each is the exponential of a sum over the elements of the set."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.oracles import Members, Oracle

STAKES = 12
"""Stakes that are mixed, each half of the one before."""


@dataclass(frozen=True, eq=False)
class Accounts:
    """log K_k(z) = constant_k + Σ_{e in z} slope_ke for every set z at once, one of K stakes κ_k each.

    A round with N measurements, means m, variances c of these means and the leader l multiplies K_k(z) by
    exp(κN(l-z)'m - κ²N²/2·Σ_{e in l or z, not both} c_e): docs/sets.md, Lemma 1.
    """

    stakes: Array
    """(K,): κ, fixed before the first outcome."""
    constants: Array
    """(K,): the part that is the same for all sets, with the log of the share of each stake."""
    slopes: Array
    """(K, n): what each element adds."""
    led: tuple[tuple[bytes, float], ...] = ()
    """Sets that have led, and the measurements of the rounds in which they did."""

    @classmethod
    def start(cls, noise: Array) -> Accounts:
        """Equal shares of 1 for each stake; ``noise`` is σ² (n,) of each element.

        The largest stake is that for sets that differ in two of the elements and are told apart after four
        measurements of each, the smallest for sets that take 2²² times as many.
        """
        n = noise.size
        largest = np.sqrt(14.0 / (16.0 * n * float(noise.mean())))
        stakes = largest * 0.5 ** np.arange(STAKES)
        return cls(stakes, np.full(STAKES, -np.log(STAKES)), np.zeros((STAKES, n)))

    def after(self, leader: Members, count: NDArray[np.int64], mean: Array, noise: Array) -> Accounts:
        """With a round whose leader and plan were known before it; one that leaves an element out is not bet on."""
        if not count.all():
            return self
        total, variance = float(count.sum()), noise / count
        stake = self.stakes * total
        penalty = 0.5 * stake**2
        constants = self.constants + stake * mean[leader].sum() - penalty * variance[leader].sum()
        sign = np.where(leader, -1.0, 1.0)
        slopes = self.slopes - stake[:, None] * mean - penalty[:, None] * (sign * variance)
        led = dict(self.led)
        led[leader.tobytes()] = led.get(leader.tobytes(), 0.0) + total
        return replace(self, constants=constants, slopes=slopes, led=tuple(led.items()))

    def eased(self, leader: Members, epsilon: float) -> Accounts:
        """What counts if sets that are ahead of this leader by no more than epsilon do no harm."""
        rounds = dict(self.led).get(leader.tobytes(), 0.0)
        return replace(self, constants=self.constants + self.stakes * rounds * epsilon)

    def each(self, sets: NDArray[np.bool_]) -> Array:
        """(k, K): the logs for ``sets`` (k, n)."""
        return np.asarray(self.constants + sets @ self.slopes.T)

    def log(self, sets: NDArray[np.bool_]) -> Array:
        """(k,): the log of the whole account of each of ``sets`` (k, n)."""
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
        """The same for all sets with an element and without those that are barred."""
        forced = np.zeros(barred.size, dtype=np.bool_)
        forced[element] = True
        tried: set[int] = set()
        while stake not in tried:
            tried.add(stake)
            lowest = oracle.best_with(-self.slopes[stake], forced=forced, barred=barred)
            if not lowest[element] or (lowest & barred).any():
                return True  # there is no such set
            logs = self.each(lowest[None])[0]
            if logs[stake] >= level:
                return True
            if np.logaddexp.reduce(logs) < level:
                return False
            wanted = int(np.argmax(logs))
            stake = (stake + wanted) // 2 if abs(stake - wanted) > 1 else wanted
        return False
