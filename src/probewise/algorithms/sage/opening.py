"""Opening: nothing is known before the first round, so a share of each account is bet on it, on all rivals alike."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from probewise.algorithms.sage.accounts import account
from probewise.algorithms.sage.prior import Items, Prior
from probewise.confidence import log_evidence
from probewise.coordinates import Array
from probewise.pooling import Pooled
from probewise.problem import Problem

_MOST = 300
"""Items up to which the first round is bet on: all of them against each other."""
_PAIRS = 2_000
"""Pairs of items that are looked at at a time: memory for them is kept, and not taken from the system anew."""
WIDER = 0.05
"""Of the scales of later bets: the smallest is 0.05 of the first round's precision, for leads of several errors."""


@dataclass(frozen=True)
class Opening:
    """What is bet on the first round."""

    share: float
    """Share of each account that is bet, spread over all rivals."""
    printed: bool
    """Whether half of that is bet at the odds of the intervals that reports print, so that these decide."""

    @classmethod
    def of(cls, share: float, items: int, *, printed: bool) -> Opening:
        """For so many items; if ``printed``, no more than makes up for those intervals' union over all pairs."""
        if items > _MOST:
            return NOTHING
        return cls(min(share, 2.0 / items) if printed else share, printed)

    def accounts(self, problem: Problem, pool: Pooled, prior: Prior, noise: float) -> Array:
        """(m,): log of the accounts after the first round, or several that overlapped."""
        m = problem.n_items
        made = np.full(m, -np.inf)
        for low in range(0, m, block := max(1, _PAIRS // m)):
            rivals, others = (part.ravel() for part in np.mgrid[low : min(low + block, m), :m])
            log = self._against(problem, pool, prior, noise, rivals, others).reshape(-1, m)
            made = np.logaddexp.reduce(np.vstack([made, log]))
        return np.asarray(np.logaddexp(math.log1p(-self.share), math.log(self.share / (m - 1)) + made))

    def _against(
        self, problem: Problem, pool: Pooled, prior: Prior, noise: float, rivals: Items, others: Items
    ) -> Array:
        """(k,): log of what bets on a rival each have made of 1 against another item; -∞ where nothing is bet."""
        rows, sizes = differences(problem, rivals, others)
        plain = pool.plain.sums(rows, sizes)
        (bet,) = np.nonzero((plain.precision > 0) & (plain.total > 0))  # nothing is claimed of the others
        sums = plain.at(bet) if pool.plain is pool else pool.sums(rows[bet], sizes[bet])
        log = account(problem, sums, WIDER * prior.unit(problem, rivals[bet], others[bet]), noise)
        if self.printed and sums.bets is None:
            alone = len(pool.fits) == 1
            # of the round that began first: fixed before
            scale = sums.precision if alone else pool.first.sums(rows[bet], sizes[bet]).precision
            own = log_evidence(sums.total / noise, sums.precision, np.where(scale > 0, scale, 1.0))
            log = np.where(scale > 0, np.logaddexp(log, own) - math.log(2.0), log)
        out = np.full(rivals.size, -np.inf)
        out[bet] = log
        return out


NOTHING = Opening(0.0, printed=False)
"""Nothing is bet."""


def differences(problem: Problem, leader: int | Items, others: Items) -> tuple[Array, Array]:
    """(k, d) twice: leader - z' for the items z', of one leader or one each; sizes of what that was formed from."""
    first, rest = problem.items[leader], problem.items[others]
    return first - rest, np.abs(first) + np.abs(rest)
