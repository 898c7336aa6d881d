"""Accounts: what bets on a round have made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from probewise.coordinates import Array
from probewise.pooling import Sums
from probewise.problem import Problem


def account(problem: Problem, sums: Sums, unit: Array, noise: float) -> Array:
    """(k,): log of what bets on y'θ > 0 have made of 1, for the directions y of ``sums``."""
    return problem.outcome.account(sums.total, sums.precision, sums.bets, unit, noise)


def accounts(problem: Problem, several: Sequence[Sums], unit: Array, noise: float) -> list[Array]:
    """(k,) each: the same for several sums of the same directions; where nothing but sums is bet on, by one call."""
    if any(sums.bets is not None for sums in several):
        return [account(problem, sums, unit, noise) for sums in several]
    total, precision = (
        np.concatenate([sums.total for sums in several]),
        np.concatenate([sums.precision for sums in several]),
    )
    together = account(problem, Sums(precision, total), np.tile(unit, len(several)), noise)
    return np.split(together, len(several))
