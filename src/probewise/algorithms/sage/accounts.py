"""Accounts: what bets on a round have made."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from probewise.confidence import log_evidence
from probewise.coordinates import Array
from probewise.outcomes import Law
from probewise.pooling import Sums
from probewise.problem import Problem

SMALL = 3.0
"""What a round adds at most, in units of what is known of a comparison, if bets on it may wait."""
_AT_GAP = 0.5
"""Scale of the bets for a gap, in units of 1/gap²: sharp for leads from two thirds of the gap to three times it."""


def log_account(law: Law, total: Array, precision: Array, unit: Array, noise: float, gap: float | None) -> Array:
    """(k,): log of what bets on S > 0 have made of 1; where a ``gap`` matters, half of it is bet on leads like that."""
    wide = law.log_account(total, precision, unit, noise)
    if gap is None:
        return wide
    own = log_evidence(total / noise, precision, np.asarray(_AT_GAP / gap**2))
    return np.asarray(np.logaddexp(wide, own) - math.log(2.0))


def account(problem: Problem, sums: Sums, unit: Array, noise: float, gap: float | None = None) -> Array:
    """(k,): log of what bets on y'θ > 0 have made of 1, for the directions y of ``sums``."""
    if sums.bets is not None:
        return problem.outcome.account(sums.total, sums.precision, sums.bets, unit, noise)
    return log_account(problem.outcome, sums.total, sums.precision, unit, noise, gap)


def accounts(
    problem: Problem, several: Sequence[Sums], unit: Array, noise: float, gap: float | None = None
) -> list[Array]:
    """(k,) each: the same for several sums of the same directions; where nothing but sums is bet on, by one call."""
    if any(sums.bets is not None for sums in several):
        return [account(problem, sums, unit, noise, gap) for sums in several]
    total, precision = (
        np.concatenate([sums.total for sums in several]),
        np.concatenate([sums.precision for sums in several]),
    )
    together = account(problem, Sums(precision, total), np.concatenate([unit] * len(several)), noise, gap)
    return [together[at * unit.size : (at + 1) * unit.size] for at in range(len(several))]
