"""Accounts: what bets on a round have made."""

from __future__ import annotations

from probewise.coordinates import Array
from probewise.pooling import Sums
from probewise.problem import Problem


def account(problem: Problem, sums: Sums, unit: Array, noise: float) -> Array:
    """(k,): log of what bets on y'θ > 0 have made of 1, for the directions y of ``sums``."""
    return problem.outcome.account(sums.total, sums.precision, sums.bets, unit, noise)
