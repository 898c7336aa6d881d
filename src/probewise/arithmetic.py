"""Products of tables beyond double precision, with bounds on their rounding; spans by exact arithmetic; ties."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
UNIT = 2.0**-53
"""The rounding unit of double precision."""
_SPLIT = 2.0**27 + 1.0
_TINY = 1e-290
"""Above what underflow in a product of numbers of at most 1 can lose."""
_PRIMES = (2147483629, 2147483587)
"""Below 2³¹, so that a product of two residues fits in 64 bits."""


class Image(NamedTuple):
    """The product of a table with a matrix, rounded."""

    rows: Array
    """(k, r)."""
    errors: Array
    """(k,): bounds on the Euclidean distance of each row from the exact one."""


class Difference(NamedTuple):
    """Numbers as unevaluated sums of two doubles, of which the second is below the rounding of the first."""

    high: Array
    """The rounded numbers."""
    low: Array
    """What rounding took from them, exactly."""


def coarsely(values: Array) -> Array:
    """The same with 30 bits each, so that what rounding alone tells apart is equal and its order that of the rows."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, 30)), exponent)


def difference(one: Array, other: Array) -> Difference:
    """one - other, exactly (Knuth 1969)."""
    high = one - other
    part = high - one
    return Difference(high, (one - (high - part)) - (other + part))


def image(rows: Array | Difference, matrix: Array, *, precise: bool) -> Image:
    """``rows`` (k, d) @ ``matrix`` (d, r) with a bound on the rounding of each row (docs/theory.md, lemma 7).

    In double precision the bound is (d+2)u Σ_j |x_j|‖t_j‖, t_j the rows of the matrix; ``precise``, in twice the
    precision, it is u‖row‖ plus u times as much, so that cancellation costs nothing.
    """
    whole = rows if isinstance(rows, Difference) else Difference(rows, np.zeros((1, 1)))
    d, norms = matrix.shape[0], np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    if not precise:
        return Image(whole.high @ matrix, 1.01 * (d + 3) * UNIT * _sizes(whole.high, norms))
    scale = np.exp2(np.ceil(np.log2(np.maximum(np.abs(whole.high).max(axis=0), 1e-290))))
    matrix, high, low = matrix * scale[:, None], whole.high / scale, whole.low / scale
    out = _doubled_product(high, np.broadcast_to(low, high.shape), matrix)
    sizes = np.abs(high) @ (norms * scale) + _TINY * np.sqrt(matrix.size) * (1.0 + np.abs(matrix).max())
    return Image(out, 1.01 * UNIT * (np.sqrt(np.einsum("ij,ij->i", out, out)) + 8 * (d + 2) ** 2 * UNIT * sizes))


def _sizes(rows: Array, norms: Array) -> Array:
    """(k,): |rows| @ norms, by blocks."""
    out = np.empty(rows.shape[0])
    for low in range(0, out.size, step := max(1, _BLOCK // max(1, rows.shape[1]))):
        out[low : low + step] = np.abs(rows[low : low + step]) @ norms
    return out


_BLOCK = 1_000_000
"""Numbers that are formed at a time."""


def _doubled_product(high: Array, low: Array, matrix: Array) -> Array:
    """(k, r): (high + low) @ matrix, accumulated in pairs of doubles (Ogita, Rump and Oishi 2005, Dot2)."""
    total = np.zeros((high.shape[0], matrix.shape[1]))
    rest = np.zeros_like(total)
    for j in range(matrix.shape[0]):
        one, other = high[:, j, None], matrix[j]
        product = one * other
        one_top, one_end = _halves(one)
        other_top, other_end = _halves(other)
        error = one_end * other_end - (((product - one_top * other_top) - one_end * other_top) - one_top * other_end)
        moved = total + product
        part = moved - total
        rest += (total - (moved - part)) + (product - part) + error + low[:, j, None] * other
        total = moved
    return np.asarray(total + rest)


def _halves(numbers: Array) -> tuple[Array, Array]:
    """Numbers as sums of two of 26 digits each (Dekker 1971)."""
    big = _SPLIT * numbers
    top = big - (big - numbers)
    return top, numbers - top


def rank_and_members(rows: Array, others: Array, less: Array | None = None) -> tuple[int, NDArray[np.bool_]]:
    """The rank of ``rows`` (n, d) as the rational numbers that they are, and which of ``others`` lie in their span.

    ``others`` (k, d), or others - less (d,) or (k, d), formed exactly. By residues modulo two primes: the rank is
    never too large, and errs, like a member that is none, only for numbers made for these primes.
    """
    ranks, inside = [], np.ones(others.shape[0], dtype=np.bool_)
    for prime in _PRIMES:
        null, rank = _orthogonal(_residues(rows, prime), prime)
        table = _residues(others, prime)
        if less is not None:
            table = (table - _residues(less, prime)) % prime
        inside &= ~_product(table, null, prime).any(axis=1)
        ranks.append(rank)
    return max(ranks), inside


@cache
def _powers(prime: int) -> NDArray[np.int64]:
    """2^k modulo the prime for k from -1200 to 1199."""
    return np.array([pow(2, k, prime) for k in range(-1200, 1200)], dtype=np.int64)


def _residues(numbers: Array, prime: int) -> NDArray[np.int64]:
    """Doubles, which are whole numbers times powers of two, modulo a prime."""
    fraction, exponent = np.frexp(numbers)
    whole = (fraction * 2.0**53).astype(np.int64) % prime
    return np.asarray(whole * _powers(prime)[exponent - 53 + 1200] % prime)


def _product(one: NDArray[np.int64], other: NDArray[np.int64], prime: int) -> NDArray[np.int64]:
    out = np.zeros((one.shape[0], other.shape[1]), dtype=np.int64)
    for j in range(other.shape[0]):
        out = (out + one[:, j, None] * other[j]) % prime
    return out


def _orthogonal(rows: NDArray[np.int64], prime: int) -> tuple[NDArray[np.int64], int]:
    """As ``_null_space``, by elimination among few of many rows: those that add to the span of the others."""
    few = rows[: 4 * rows.shape[1]]
    while True:
        null, rank = _null_space(few, prime)
        more = np.flatnonzero(_product(rows, null, prime).any(axis=1))
        if more.size == 0:
            return null, rank
        few = np.vstack([few, rows[more[: 4 * rows.shape[1]]]])


def _null_space(rows: NDArray[np.int64], prime: int) -> tuple[NDArray[np.int64], int]:
    """(d, d - rank): a basis of the vectors orthogonal to all rows, modulo the prime, and the rank."""
    rows, d = rows.copy(), rows.shape[1]
    pivots: list[int] = []
    for column in range(d):
        rank = len(pivots)
        found = np.flatnonzero(rows[rank:, column])
        if found.size == 0:
            continue
        rows[[rank, rank + found[0]]] = rows[[rank + found[0], rank]]
        rows[rank] = rows[rank] * pow(int(rows[rank, column]), -1, prime) % prime
        factors = rows[:, column].copy()
        factors[rank] = 0
        use = np.flatnonzero(factors)
        rows[use] = (rows[use] - factors[use, None] * rows[rank]) % prime
        pivots.append(column)
    free = np.setdiff1d(np.arange(d), pivots)
    null = np.zeros((d, free.size), dtype=np.int64)
    null[pivots] = (-rows[: len(pivots)][:, free]) % prime
    null[free, np.arange(free.size)] = 1
    return null, len(pivots)
