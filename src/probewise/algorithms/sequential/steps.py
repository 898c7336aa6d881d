"""What sampling rules that measure one by one have in common: plain functions of arrays, which numba compiles too."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array

TIE = 1e-9
"""Values closer than this, relative to the largest, count as equal: rounding decides no tie."""


class View(NamedTuple):
    """What a sampling rule sees before it chooses the next probe; it changes nothing of it."""

    probes: Array
    """(n, r): in units of their noise."""
    cost: Array
    """(n,)."""
    counts: NDArray[np.int64]
    """(n,): measurements so far."""
    inverse: Array
    """(r, r): V⁻¹."""
    rows: Array
    """(k, r): the directions y of what the answer at the estimate claims."""
    margins: Array
    """(k,): y'θ̂ + offset + epsilon, which are positive unless there is a tie."""
    squares: Array
    """(k,): y'V⁻¹y."""
    width: float
    """√(2β) of the last check."""


def first_largest(values: Array) -> int:
    """The first of the values (k,) that equal the largest up to TIE."""
    top = values.max()
    return int(np.argmax(values >= top - TIE * abs(top)))


def most_behind(wanted: Array, done: Array) -> int:
    """The first probe whose effort ``done`` (n,) is furthest behind what is ``wanted`` (n,) of it."""
    behind = wanted - done
    return int(np.argmax(behind >= behind.max() - TIE * (1.0 + np.abs(done).sum())))


def spend(weights: Array, cost: Array) -> Array:
    """(n,): what one measurement by ``weights`` (n,), shares of the cost, costs of each probe on average."""
    spent: Array = weights / (weights / cost).sum()
    return spent


def design_inverse(probes: Array, cost: Array, weights: Array) -> Array:
    """(r, r): inverse of Σ w xx'/c, w being shares of the cost; a millionth is equal shares, so that it exists."""
    n = weights.size
    mixed = ((1.0 - 1e-6) * weights + 1e-6 / n) / cost
    inverse: Array = np.linalg.inv(np.ascontiguousarray((probes * mixed.reshape(n, 1)).T) @ probes)  # type: ignore[assignment]
    return inverse


def squared(rows: Array, inverse: Array) -> Array:
    """(k,): y'My for rows y (k, r)."""
    squares: Array = ((rows @ inverse) * rows).sum(axis=1)
    return squares


def hedged(losses: Array, regret: Array) -> Array:
    """(n,): the weights of AdaHedge (de Rooij, van Erven, Grünwald, Koolen 2014), w ∝ exp(-η·losses), η = log n/D."""
    low = losses.min()
    if regret[0] <= 0.0:  # η is infinite: the best ones alone
        weights: Array = (losses <= low + TIE * abs(low)) * 1.0
    else:
        weights = np.exp(-math.log(max(losses.size, 2)) / regret[0] * (losses - low))
    share: Array = weights / weights.sum()
    return share


def hedge(losses: Array, regret: Array, weights: Array, loss: Array) -> None:
    """Let AdaHedge, which played ``weights``, hear a ``loss`` (n,): both of its sums grow in place."""
    regretted(regret, losses.size, weights, loss)
    losses += loss


def regretted(regret: Array, experts: int, weights: Array, loss: Array) -> None:
    """What AdaHedge loses to the mixture of so many experts; those with the same loss may come as one."""
    low = loss.min()
    mixed = low
    if regret[0] > 0.0:
        rate = math.log(max(experts, 2)) / regret[0]
        mixed = low - math.log((weights * np.exp(-rate * (loss - low))).sum()) / rate
    gap = (weights * loss).sum() - mixed
    if gap > TIE * np.abs(loss).max():  # rounding is no regret
        regret[0] += gap


def maximin(payoff: Array) -> Array:
    """(n,): q with the largest min_z (payoff q)_z over the simplex, for payoffs (p, n), by the simplex method.

    After a shift that makes payoffs positive: maximise Σ v with payoff'v ≤ 1, whose dual prices are q up to their sum.
    """
    p, n = payoff.shape
    low, high = payoff.min(), payoff.max()
    if high <= low:
        return np.full(n, 1.0 / n)
    table = np.zeros((n + 1, p + n + 1))
    table[:n, :p] = (payoff.T - low) / (high - low) + 1.0
    for i in range(n):
        table[i, p + i] = 1.0
    table[:n, -1] = 1.0
    table[n, :p] = -1.0
    for _ in range(50 * (p + n)):
        enter = int(np.argmax(table[n, :-1] < -TIE))  # Bland 1977: the first that improves
        if table[n, enter] >= -TIE:
            break
        column = table[:n, enter].copy()
        ratio = np.where(column > TIE, table[:n, -1] / np.where(column > TIE, column, 1.0), np.inf)
        leave = int(np.argmax(ratio <= ratio.min() * (1.0 + TIE)))
        table[leave] /= table[leave, enter]
        for i in range(n + 1):
            if i != leave and table[i, enter] != 0.0:
                table[i] -= table[i, enter] * table[leave]
    prices = np.maximum(table[n, p : p + n], 0.0)
    share: Array = prices / prices.sum()
    return share


def reduction(probes: Array, cost: Array, inverse: Array, row: Array) -> Array:
    """(n,): by how much one more measurement of each probe lowers y'V⁻¹y, for its cost."""
    steps = probes @ inverse
    growth = 1.0 + (steps * probes).sum(axis=1)
    gains: Array = (steps @ row) ** 2 / growth / cost
    return gains
