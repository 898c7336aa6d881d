"""Portions: what Sage knows of the items of one piece, where they are; functions that travel there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.sage.claims import coarse
from probewise.coordinates import Array
from probewise.design.farthest import square_norms
from probewise.estimate import Estimate
from probewise.outcomes import Law
from probewise.pooling import Pooled, Sums
from probewise.shards.pieces import BLOCK, Piece, blocks
from probewise.threads import few


@dataclass(frozen=True, eq=False)
class Portion:
    """Items of a piece that are not ruled out."""

    piece: Piece
    """Their rows."""
    wealth: Array
    """(k,): log of what bets against "this item is the best" have made of 1."""
    precision: Array
    """(k,): W of leader - item."""
    total: Array
    """(k,): S of leader - item."""


class Bet(NamedTuple):
    """What was bet on rounds: that the leader is better than each other item, and the second than the leader."""

    leader: int
    """Number of the leader."""
    row: Array
    """(d,): its features."""
    own: float
    """log of what the bet of the leader has made."""
    noise: float
    """What the scale of the noise was multiplied by to bound it before the rounds."""


class Told(NamedTuple):
    """Rounds, and what goes out with them."""

    sign: float
    """-1 if items are negated."""
    whitener: Array
    """(d, r): unit of precisions."""
    law: Law
    """Of outcomes, as it was known before."""
    fits: tuple[Estimate, ...]
    """The estimate of each round from its own data."""
    bet: Bet | None
    """None if nothing was bet."""
    theta: Array
    """(d,): the estimate from all data."""
    enough: float
    """log of an account that rules out."""


class Front(NamedTuple):
    """Items with the highest estimates, the highest first."""

    values: Array
    """(k,): estimates."""
    numbers: NDArray[np.int64]
    """(k,)."""
    rows: Array
    """(k, d)."""

    @classmethod
    def of(cls, *several: Front, most: int) -> Front:
        """The highest of several; of equal ones that with the smaller number."""
        values, numbers, rows = (np.concatenate(part) for part in zip(*several, strict=True))
        order = np.lexsort((numbers, -values))[:most]
        return cls(values[order], numbers[order], rows[order])

    @classmethod
    def none(cls, dimension: int) -> Front:
        """Of no items."""
        return cls(np.empty(0), np.empty(0, dtype=np.int64), np.empty((0, dimension)))


class Settled(NamedTuple):
    """What comes back from a piece after a round."""

    number: int
    """How many items are left."""
    left: Front
    """The first two of them."""
    all: Front
    """The first of all that were left before."""


def itself(portion: Portion) -> Portion:
    """To bring it here."""
    return portion


def joined(portions: Sequence[Portion]) -> Portion:
    """The portions of several pieces as one."""
    pieces = [own.piece for own in portions]
    numbers = np.concatenate([piece.numbered(slice(0, piece.rows.shape[0])) for piece in pieces])
    arrays = (np.concatenate([getattr(own, name) for own in portions]) for name in ("wealth", "precision", "total"))
    return Portion(Piece(np.vstack([piece.rows for piece in pieces]), 0, numbers), *arrays)


def begun(piece: Piece) -> tuple[Portion, None]:
    """Before the first round: nothing is bet, and nobody leads."""
    k = piece.rows.shape[0]
    return Portion(piece, np.zeros(k), np.zeros(k), np.zeros(k)), None


@few
def settled(portion: Portion, told: Told) -> tuple[Portion, Settled]:
    """What rounds have made of the bets on them, who is left, and who is in front."""
    piece, dimension = portion.piece, portion.piece.rows.shape[1]
    wealth, precision, total = portion.wealth.copy(), portion.precision.copy(), portion.total.copy()
    left, first = Front.none(dimension), Front.none(dimension)
    kept = np.ones(wealth.size, dtype=np.bool_)
    for rows, block in blocks(piece.rows, told.sign):
        count, numbers = rows.stop - rows.start, piece.numbered(rows)
        if told.bet is not None:
            before = Sums(_padded(precision[rows]), _padded(total[rows]))
            gain, after = _gained(told, told.bet, block, before)
            wealth[rows] += np.where(numbers == told.bet.leader, told.bet.own, gain[:count])
            precision[rows], total[rows] = after.precision[:count], after.total[:count]
        kept[rows] = ~(wealth[rows] >= told.enough)  # what is not a number rules nobody out
        values = (block @ told.theta[:, None])[:count, 0]
        first = Front.of(first, _front(values, numbers, block, 1), most=1)
        at = np.flatnonzero(kept[rows])
        left = Front.of(left, _front(values[at], numbers[at], block[at], 2), most=2)
    own = Portion(piece, wealth, precision, total)
    return own if kept.all() else _chosen(own, kept), Settled(int(kept.sum()), left, first)


def _gained(told: Told, bet: Bet, block: Array, before: Sums) -> tuple[Array, Sums]:
    """(BLOCK,): log of what bets on the leader have made, and what all rounds now say of leader - item."""
    y, sizes = bet.row - block, np.abs(bet.row) + np.abs(block)
    unit, after, gain = _unit(y, told.whitener), before, np.zeros(BLOCK)
    start = told.law.account(before.total, before.precision, None, unit, bet.noise)
    for fit in told.fits:
        new = Pooled((fit,)).sums(y, sizes)
        with_it = before + new
        gain += told.law.account(with_it.total, with_it.precision, None, unit, bet.noise) - start
        after = after + new
    return gain, after


def _unit(y: Array, whitener: Array) -> Array:
    squares = square_norms(y @ whitener)
    return 1.0 / np.where(squares > 0, squares, 1.0)  # the leader and itself


def _front(values: Array, numbers: NDArray[np.int64], rows: Array, most: int) -> Front:
    order = np.lexsort((numbers, -values))[:most] if values.size <= most else _highest(values, numbers, most)
    return Front(values[order], numbers[order], rows[order])


def _highest(values: Array, numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The places of the highest values, ties by number."""
    bar = np.partition(values, values.size - most)[values.size - most]
    at = np.flatnonzero(values >= bar)
    return np.asarray(at[np.lexsort((numbers[at], -values[at]))[:most]])


def _padded(values: Array) -> Array:
    out = np.zeros(BLOCK)
    out[: values.size] = values
    return out


def _chosen(portion: Portion, kept: NDArray[np.bool_]) -> Portion:
    """The portion of some of the items."""
    piece = portion.piece
    numbers = piece.numbered(slice(0, kept.size))[kept]
    return Portion(
        Piece(piece.rows[kept], piece.first, numbers),
        portion.wealth[kept],
        portion.precision[kept],
        portion.total[kept],
    )


class Asked(NamedTuple):
    """What goes out once it is known who leads."""

    sign: float
    """-1 if items are negated."""
    whitener: Array
    """(d, r): unit of precisions."""
    leader: int
    """Number of the leader."""
    row: Array
    """(d,): its features."""
    fits: tuple[Estimate, ...] | None
    """All rounds, if there is another leader than before."""
    noise: float
    """What the scale of the noise is multiplied by."""
    floor: float
    """Standard errors below which a lead is not believed."""


@few
def compared(portion: Portion, asked: Asked) -> tuple[Portion, tuple[float, float]]:
    """With the lead of the leader over each item as a gap; the least gap and the smallest account of the others."""
    precision, total = portion.precision.copy(), portion.total.copy()
    gaps, least = np.empty(precision.size), np.inf
    for rows, block in blocks(portion.piece.rows, asked.sign):
        count = rows.stop - rows.start
        y = asked.row - block
        if asked.fits is not None:
            sums = Pooled(asked.fits).sums(y, np.abs(asked.row) + np.abs(block))
            precision[rows], total[rows] = sums.precision[:count], sums.total[:count]
        own = _padded(precision[rows])
        own = np.where(own > 0, own, _unit(y, asked.whitener))
        lead = _padded(total[rows]) / own / asked.noise
        gap = np.maximum(lead, asked.floor / np.sqrt(own))[:count]
        gaps[rows] = np.where(portion.piece.numbered(rows) == asked.leader, np.inf, gap)
    if gaps.size:
        others = portion.piece.numbered(slice(0, gaps.size)) != asked.leader
        least = float(np.nan_to_num(portion.wealth[others], nan=-np.inf).min(initial=np.inf))
    piece = replace(portion.piece, gaps=gaps)
    return Portion(piece, portion.wealth, precision, total), (float(gaps.min(initial=np.inf)), least)


@few
def divided(portion: Portion, smallest: float) -> tuple[Piece, None]:
    """The rows, with gaps in units of the smallest of all, on a grid as in ``coarse``."""
    gaps = portion.piece.gaps
    assert gaps is not None
    out = np.empty(gaps.size)
    for low in range(0, gaps.size, BLOCK):
        some = gaps[low : low + BLOCK]
        padded = np.full(BLOCK + 8, smallest)
        padded[8 : 8 + some.size] = some
        out[low : low + BLOCK] = coarse(padded)[8 : 8 + some.size]
    return replace(portion.piece, gaps=out), None
