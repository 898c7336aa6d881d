"""Betting laws: outcomes are bet on themselves, at stakes fixed beforehand; what is learned places the bets."""

from __future__ import annotations

import abc
import math
from typing import ClassVar

import numpy as np

from probewise.confidence import log_wealth, mixture_width
from probewise.coordinates import Array
from probewise.measurements import SumOfSquares
from probewise.outcomes.base import Bets, Law

MOST = 0.7
"""Of the largest stake that cannot ruin an account in a round, as much may be used."""
BLOCK = 1_000_000
"""Numbers that are worked on at once."""
_NEAREST, _ERRORS = 0.25, 3.0
"""Part of the mean of all outcomes, and standard errors of it, below which none is expected; the lesser counts."""


def rough(mean: float, variance: float, n: float) -> float:
    """What is expected of a probe at least while estimates are rough, for outcomes from 0 with such a mean.

    One that happens to be estimated at nearly nothing would seem to scatter as little, and count for far too much.
    """
    return min(_NEAREST * mean, _ERRORS * math.sqrt(variance / n)) if n else 0.0


class BettingLaw(Law):
    """A law of which only the bets are needed: nothing of δ is spent on what is learned of it."""

    learns: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def shares(self) -> Array:
        """(L,): log of the share of an account that begins on each stake."""

    @property
    def known(self) -> bool:
        """True: no scale has to be learned for the proof."""
        return True

    @property
    def part(self) -> float:
        """Nothing: what is learned only decides how bets are placed."""
        return 0.0

    @property
    def replicates(self) -> int:
        """One."""
        return 1

    def bound(self, replicates: SumOfSquares, delta: float) -> float:
        """1."""
        return 1.0

    def guess(self, replicates: SumOfSquares) -> float:
        """1."""
        return 1.0

    def log_account(self, total: Array, precision: Array, unit: Array, bound: float) -> Array:
        """A mixture of Gaussian bets, as for any noise that is sub-Gaussian with its scale; else see ``by_sums``."""
        return log_wealth(total / bound, precision, unit)

    def account(self, total: Array, precision: Array, bets: Bets | None, unit: Array, bound: float) -> Array:
        """The mean over all stakes of what the bets on outcomes have made: docs/bounded.md."""
        if bets is not None:
            return np.asarray(np.logaddexp.reduce(self.shares + bets.logs, axis=-1))
        return self.log_account(total, precision, unit, bound) if self.by_sums else np.zeros(np.shape(total))

    def width(self, sums: tuple[Array, Array], bets: tuple[Bets, Bets] | None, scale: Array, alpha: float) -> Array:
        """The farther of the two ends, each beyond which half of alpha is bet: docs/bounded.md."""
        plain = mixture_width(sums[0], scale, alpha)
        if bets is None:
            return plain if self.by_sums else np.full(plain.shape, np.inf)
        known = sums[0] > 0
        mean = np.where(known, sums[1] / np.where(known, sums[0], 1.0), 0.0)
        ends = [
            self._reach(own, sign * mean, plain, math.log(2.0 / alpha)) for own, sign in zip(bets, (1, -1), strict=True)
        ]
        return np.where(known, np.maximum(*ends), np.inf)

    def _reach(self, bets: Bets, mean: Array, start: Array, needed: float) -> Array:
        """(k,): how far below ``mean`` y'θ may be, until bets on its being higher would have made so much."""
        near, far = np.zeros(mean.size), np.where(np.isfinite(start), start, 1.0)
        for _ in range(60):  # doubled until it is too far, then halved
            made = np.logaddexp.reduce(self.shares + bets.lifted(far - mean).logs, axis=-1)
            far = np.where(made >= needed, far, 2.0 * far)
            if (made >= needed).all():
                break
        for _ in range(40):
            middle = 0.5 * (near + far)
            made = np.logaddexp.reduce(self.shares + bets.lifted(middle - mean).logs, axis=-1)
            near, far = np.where(made >= needed, near, middle), np.where(made >= needed, middle, far)
        return far
