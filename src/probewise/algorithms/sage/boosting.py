"""Boosting: where noise is normal, a bet may be raised by what it could win beyond what is needed."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.sage.accounts import log_account
from probewise.coordinates import Array
from probewise.outcomes import Law
from probewise.pooling import Sums

_LACKING = math.log(12.0)
"""Log of what an account may lack to be boosted; for those that lack more it would bring nearly nothing."""
_LOWEST, _HIGHEST, _STEPS = -4.0, 5.0, 8
"""Between which standard errors a bet is looked at, and at how many places in each of them."""
_CELLS = 64
"""Cells in which the true scale of the noise, in units of the stated one, is looked for."""
_HALVINGS = 14
"""Halvings of the interval in which the boost is; the lower end, which is safe, is taken."""
_SLACK = 1e-9
"""By how much the mean stays below 1, for rounding."""
CAP = 1e-12
"""What is added to the log of what is lacking, so that rounding does not keep an account below it."""


class Table(NamedTuple):
    """Weights by which the mean of an increasing f(X), X ~ N(0, ρ²), is bounded for all ρ of a cell at once."""

    places: Array
    """(p,): x, ascending, 0 among them."""
    weights: Array
    """(p, cells): of f at the places, if f is convex between them."""
    lefts: Array
    """(p - 1, cells): the part of the weight of a place that comes from the piece to its right."""


@cache
def table() -> Table:
    """For X ≥ 0 the largest ρ of a cell, for X < 0 the smallest; beyond both ends f counts as at the end."""
    places = np.arange(int(_LOWEST * _STEPS), int(_HIGHEST * _STEPS) + 1) / _STEPS
    zero, scales = int(np.searchsorted(places, 0.0)), np.linspace(0.0, 1.0, _CELLS + 1)
    weights, lefts = np.zeros((places.size, _CELLS)), np.zeros((places.size - 1, _CELLS))
    for cell in range(_CELLS):
        for part, rho in ((slice(0, zero + 1), scales[cell]), (slice(zero, places.size), scales[cell + 1])):
            own = places[part]
            left, right = _pieces(own, float(rho))
            weights[part.start + 1 : part.stop, cell] += right
            weights[part.start : part.stop - 1, cell] += left
            lefts[part.start : part.stop - 1, cell] += left
        weights[[0, -1], cell] += [_tail(places[0], scales[cell]), _tail(places[-1], scales[cell + 1])]
        weights[zero, cell] += 0.5 if cell == 0 else 0.0  # of the cell that begins at ρ = 0, half lies there
    return Table(places, weights, lefts)


def _pieces(places: Array, rho: float) -> tuple[Array, Array]:
    """(p - 1,) twice: what f at the left and at the right end of a piece counts in the mean of a line between them."""
    from scipy.special import ndtr

    if rho == 0.0:
        return np.zeros(places.size - 1), np.zeros(places.size - 1)
    mass = np.diff(ndtr(places / rho))
    density = np.exp(-0.5 * (places / rho) ** 2) / math.sqrt(2.0 * math.pi)
    right = (-rho * np.diff(density) - places[:-1] * mass) / np.diff(places)
    right = np.clip(right, 0.0, mass)
    return mass - right, right


def _tail(end: float, rho: float) -> float:
    """P(|X| beyond one end)."""
    from scipy.special import ndtr

    return float(ndtr(-abs(end) / rho)) if rho > 0 else 0.0


def boosts(
    law: Law, before: Sums, precision: Array, unit: Array, bound: float, lacking: Array, gap: float | None = None
) -> Array:
    """(k,): log of b ≥ 1 such that min(b·R, c) has mean at most 1 for all normal noise of at most the stated scale.

    R is what a round of this ``precision`` makes of bets by what was known ``before``, and log c = ``lacking``: how
    much an account must still make. 0 where much is lacking. docs/boosting.md.
    """
    out = np.zeros(lacking.size)
    near = near_enough(precision, lacking)
    if near.size:
        known, more, own = before.at(near), precision[near], unit[near]
        steps = bound * np.sqrt(more)[:, None] * table().places
        after = known.total[:, None] + steps, (known.precision + more)[:, None]
        ahead = log_account(law, *after, own[:, None], bound, gap)
        log = ahead - log_account(law, known.total, known.precision, own, bound, gap)[:, None]
        out[near] = _largest(log, np.exp(lacking[near]))
    return out


def capped(made: Array, by: Array, lacking: Array) -> Array:
    """(k,): log of what bets that ``made`` so much have, boosted ``by`` that, and then no more than was lacking."""
    return np.where(by > 0, np.minimum(made + by, lacking + CAP), made)


def near_enough(precision: Array, lacking: Array) -> NDArray[np.int64]:
    """(j,): which of k bets are boosted at all: those on a round that says something, and that lack little."""
    return np.flatnonzero((lacking > 0) & (lacking < _LACKING) & (precision > 0))


def _largest(log: Array, enough: Array) -> Array:
    """(k,): log of the largest boost found for (k, p) logs of bets at the places, by halving; 0 is always safe."""
    zero = int(np.searchsorted(table().places, 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        made = np.exp(log)
        low, high = np.zeros(enough.size), np.maximum(np.nan_to_num(-log[:, zero], posinf=0.0), 0.0)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            safe = _mean(np.exp(middle)[:, None] * made, enough) <= 1.0 - _SLACK  # what is no number is not safe
            low, high = np.where(safe, middle, low), np.where(safe, high, middle)
    return low


def _mean(made: Array, enough: Array) -> Array:
    """(k,): upper bound on the mean of min(made, enough) for (k, p) values at the places, over all scales of noise."""
    _, weights, lefts = table()
    below = made < enough[:, None]
    kept = np.where(below, made, enough[:, None])  # not np.minimum: what is no number stays so
    kept[:, -1] = enough
    # in the piece in which it reaches enough, all of it counts as that
    piece = np.clip(np.count_nonzero(below, axis=1) - 1, 0, lefts.shape[0] - 1)
    lost = enough - kept[np.arange(enough.size), piece]
    return np.asarray((kept @ weights + lost[:, None] * lefts[piece]).max(axis=1))
