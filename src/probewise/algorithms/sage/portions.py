"""Portions: what Sage knows of the items of one piece, where they are; functions that travel there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.planning import coarse
from probewise.algorithms.sage.accounts import log_account
from probewise.algorithms.sage.boosting import boosts, capped, near_enough
from probewise.coordinates import Array
from probewise.design.farthest import square_norms
from probewise.estimate import Estimate
from probewise.outcomes import Law
from probewise.pooling import Pooled, Sums
from probewise.shards.pieces import BLOCK, Piece, blocks
from probewise.shards.values import Front
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
    eased: Mapping[int, Array] = field(default_factory=dict)
    """(k,) for each item that was bet on: log of how much more these bets have made if epsilon counts for it."""


class Rules(NamedTuple):
    """How rounds are bet on."""

    law: Law
    """Of outcomes, as it was known before."""
    epsilon: float
    """How far behind the best an answer may be."""
    gap: float | None
    """A lead for which half of the bets are made, epsilon included; None for any."""
    boost: bool
    """Whether bets are boosted, as noise is normal: docs/boosting.md."""


class Bet(NamedTuple):
    """What was bet on rounds: that the leader is better than each other item, and the second than the leader."""

    leader: int
    """Number of the leader."""
    row: Array
    """(d,): its features."""
    own: float
    """log of what the bet of the leader has made."""
    second: int
    """Number of the item on which that was bet."""
    eased: float
    """log of how much more it has made if epsilon counts for the second."""
    noise: float
    """What the scale of the noise was multiplied by to bound it before the rounds."""


class Told(NamedTuple):
    """Rounds, and what goes out with them."""

    sign: float
    """-1 if items are negated."""
    whitener: Array
    """(d, r): unit of precisions."""
    rules: Rules
    """Of the bets on them."""
    fits: tuple[Estimate, ...]
    """The estimate of each round from its own data."""
    bet: Bet | None
    """None if nothing was bet."""
    theta: Array
    """(d,): the estimate from all data."""
    enough: float
    """log of an account that rules out."""
    shown: int
    """How many of those in front are wanted."""


class Settled(NamedTuple):
    """What comes back from a piece after a round."""

    number: int
    """How many items are left."""
    left: Front
    """The first of them."""
    all: Front
    """The first of all that were left before."""


def among(portion: Portion, items: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(k,): which of some items, by number, are in a portion."""
    return np.isin(items, portion.piece.numbered(slice(0, portion.wealth.size)))


def itself(portion: Portion) -> Portion:
    """To bring it here."""
    return portion


def joined(portions: Sequence[Portion]) -> Portion:
    """The portions of several pieces as one."""
    pieces = [own.piece for own in portions]
    numbers = np.concatenate([piece.numbered(slice(0, piece.rows.shape[0])) for piece in pieces])
    wealth, precision, total = (
        np.concatenate([getattr(own, name) for own in portions]) for name in ("wealth", "precision", "total")
    )
    eased = {
        z: np.concatenate([own.eased.get(z, np.zeros(own.wealth.size)) for own in portions])
        for z in sorted({z for own in portions for z in own.eased})
    }
    return Portion(Piece(np.vstack([piece.rows for piece in pieces]), 0, numbers), wealth, precision, total, eased)


def begun(piece: Piece) -> tuple[Portion, None]:
    """Before the first round: nothing is bet, and nobody leads."""
    nothing = np.broadcast_to(0.0, piece.rows.shape[0])  # one number, whatever the size
    return Portion(piece, nothing, nothing, nothing), None


@few
def settled(portion: Portion, told: Told) -> tuple[Portion, Settled]:
    """What rounds have made of the bets on them, who is left, and who is in front."""
    piece, dimension = portion.piece, portion.piece.rows.shape[1]
    wealth, precision, total = portion.wealth, portion.precision, portion.total
    if told.bet is not None:
        wealth, precision, total = wealth.copy(), precision.copy(), total.copy()
    left, first = Front.none(dimension), Front.none(dimension)
    kept, more = np.ones(wealth.size, dtype=np.bool_), np.zeros(wealth.size if told.rules.epsilon else 0)
    easing = None if told.bet is None else portion.eased.get(told.bet.leader)
    for rows, block in blocks(piece.rows, told.sign):
        count, numbers = rows.stop - rows.start, piece.numbered(rows)
        if told.bet is not None:
            before = Sums(_padded(precision[rows]), _padded(total[rows]))
            eased = np.zeros(BLOCK) if easing is None else _padded(easing[rows])
            gain, ease, after = _gained(told, told.bet, block, before, told.enough - _padded(wealth[rows]), eased)
            wealth[rows] += np.where(numbers == told.bet.leader, told.bet.own, gain[:count])
            if told.rules.epsilon:
                more[rows] = ease[:count]
            precision[rows], total[rows] = after.precision[:count], after.total[:count]
        kept[rows] = ~(wealth[rows] >= told.enough)  # what is not a number rules nobody out
        values = (block @ told.theta[:, None])[:count, 0]
        first = Front.of(first, Front.among(values, numbers, block[:count], 1), most=1)
        at = np.flatnonzero(kept[rows])
        left = Front.of(left, Front.among(values[at], numbers[at], block[at], told.shown), most=told.shown)
    own = Portion(piece, wealth, precision, total, _eased(portion, told, more))
    return own if kept.all() else _chosen(own, kept), Settled(int(kept.sum()), left, first)


def _gained(
    told: Told, bet: Bet, block: Array, before: Sums, lacking: Array, easing: Array
) -> tuple[Array, Array, Sums]:
    """(BLOCK,) twice: log of what bets on the leader have made, and of how much more if epsilon counts for it.

    Then what all rounds now say of leader - item. Where a bet has surely made what was ``lacking`` (BLOCK,), which
    rules out, it is not asked how much it was: infinite. ``easing`` is what epsilon had eased before.
    """
    y, sizes = bet.row - block, np.abs(bet.row) + np.abs(block)
    unit, rounds = _unit(y, told.whitener), [Pooled((fit,)).sums(y, sizes) for fit in told.fits]
    gain, more, after = np.zeros(BLOCK), np.zeros(BLOCK), before
    if len(rounds) == 1 and told.rules.gap is None:
        gain[_clearly(told, bet, before, rounds[0], unit) >= lacking + _MARGIN] = np.inf
    at = np.flatnonzero(gain == 0)
    some = np.resize(at, _WIDTH * -(-at.size // _WIDTH))  # whole vectors, so that cuts make no difference to rounding
    for new in rounds:
        bets = before.at(some), new.at(some), unit[some]
        made, eased = bet_on(told.rules, bet.noise, *bets, lacking[some], easing[some])
        gain[at] += made[: at.size]
        more[at] += eased[: at.size]
        after = after + new
    return gain, more, after


def _clearly(told: Told, bet: Bet, before: Sums, new: Sums, unit: Array) -> Array:
    """(BLOCK,): log of what bets on the leader have made at least in a round."""
    known, law = before.lifted(told.rules.epsilon), told.rules.law
    now = known + new
    least = law.account_bounds(now.total, now.precision, unit, bet.noise)[0]
    return np.asarray(least - law.account_bounds(known.total, known.precision, unit, bet.noise)[1])


_MARGIN = 1e-6
"""Far above the rounding of an account's logarithm."""
_WIDTH = 64
"""Numbers of which functions of many are computed together, at most, on any processor."""


def bet_on(
    rules: Rules, noise: float, before: Sums, new: Sums, unit: Array, lacking: Array, easing: Array
) -> tuple[Array, Array]:
    """(k,) twice: log of what bets on y'θ > 0 have made in a round, and of how much more for y'θ > -epsilon.

    Odds follow what was known of y'θ + epsilon before: (1) of docs/sage.md. Accounts were ``lacking`` so much before,
    and ``easing`` less of it if epsilon counts.
    """

    def account(sums: Sums) -> Array:
        return log_account(rules.law, sums.total, sums.precision, unit, noise, rules.gap)

    def raised(made: Array, lacking: Array) -> Array:
        return _raised(rules, noise, known, new.precision, unit, made, lacking) if rules.boost else made

    known = before.lifted(rules.epsilon)
    had = account(known)
    gain = raised(account(known + new) - had, lacking)
    if rules.epsilon == 0:
        return gain, np.zeros(gain.size)
    return gain, raised(account(known + new.lifted(rules.epsilon)) - had, lacking - easing) - gain


def _raised(
    rules: Rules, noise: float, known: Sums, precision: Array, unit: Array, made: Array, lacking: Array
) -> Array:
    """(k,): log of what a round has ``made``, boosted, and then no more than was lacking."""
    near, out = near_enough(precision, lacking), made.copy()
    for low in range(0, near.size, _WIDTH):  # always as many: products of fewer may be rounded otherwise
        at = near[low : low + _WIDTH]
        some = np.resize(at, _WIDTH)
        by = boosts(rules.law, known.at(some), precision[some], unit[some], noise, lacking[some], rules.gap)[: at.size]
        out[at] = capped(made[at], by, lacking[at])
    return out


def _eased(portion: Portion, told: Told, more: Array) -> Mapping[int, Array]:
    """What is eased after a round in which (k,) ``more`` was made on the leader if epsilon counts for it."""
    if told.bet is None or told.rules.epsilon == 0:
        return portion.eased
    out, none = dict(portion.eased), np.zeros(more.size)
    itself = portion.piece.numbered(slice(0, more.size)) == told.bet.leader
    out[told.bet.leader] = out.get(told.bet.leader, none) + np.where(itself, 0.0, more)
    if itself.any():
        out[told.bet.second] = out.get(told.bet.second, none) + np.where(itself, told.bet.eased, 0.0)
    return out


def _unit(y: Array, whitener: Array) -> Array:
    squares = square_norms(y @ whitener)
    return 1.0 / np.where(squares > 0, squares, 1.0)  # the leader and itself


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
        {z: log[kept] for z, log in portion.eased.items()},
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
    epsilon: float = 0.0
    """How far behind the best an answer may be."""
    second: int = -1
    """Number of the item behind the leader."""


class Compared(NamedTuple):
    """What comes back then."""

    gap: float
    """The least lead of the leader."""
    least: float
    """The smallest account of the other items, in which epsilon counts for the leader."""
    own: tuple[float, float] | None
    """The account of the leader, and how much more it has if epsilon counts for the second; None if it is not here."""


@few
def compared(portion: Portion, asked: Asked) -> tuple[Portion, Compared]:
    """With the lead of the leader over each item as a gap."""
    precision, total = portion.precision, portion.total
    if asked.fits is not None:
        precision, total = np.empty(precision.size), np.empty(total.size)
    gaps, least, own_account = np.empty(precision.size), np.inf, None
    for rows, block in blocks(portion.piece.rows, asked.sign):
        count = rows.stop - rows.start
        y = asked.row - block
        if asked.fits is not None:
            sums = Pooled(asked.fits).sums(y, np.abs(asked.row) + np.abs(block))
            precision[rows], total[rows] = sums.precision[:count], sums.total[:count]
        own = _padded(precision[rows])
        own = np.where(own > 0, own, _unit(y, asked.whitener))
        lead = (_padded(total[rows]) / own + asked.epsilon) / asked.noise
        gap = np.maximum(lead, asked.floor / np.sqrt(own))[:count]
        gaps[rows] = np.where(portion.piece.numbered(rows) == asked.leader, np.inf, gap)
    if gaps.size:
        others = portion.piece.numbered(slice(0, gaps.size)) != asked.leader
        account = portion.wealth + portion.eased.get(asked.leader, np.zeros(gaps.size))
        least = float(np.nan_to_num(account[others], nan=-np.inf).min(initial=np.inf))
        if (at := np.flatnonzero(~others)).size:
            easing = portion.eased.get(asked.second, np.zeros(gaps.size))
            own_account = float(portion.wealth[at[0]]), float(easing[at[0]])
    now = Portion(replace(portion.piece, gaps=gaps), portion.wealth, precision, total, portion.eased)
    return now, Compared(float(gaps.min(initial=np.inf)), least, own_account)


@few
def ahead(portion: Portion, sign: float, theta: Array, most: int) -> tuple[Front, Array]:
    """The first items of a portion, and (k,) log of what bets against each have made."""
    found = Front.none(theta.size)
    for rows, block in blocks(portion.piece.rows, sign):
        count = rows.stop - rows.start
        values = (block @ theta[:, None])[:count, 0]
        found = Front.of(found, Front.among(values, portion.piece.numbered(rows), block[:count], most), most=most)
    at = np.searchsorted(portion.piece.numbered(slice(0, portion.wealth.size)), found.numbers)
    return found, portion.wealth[at]


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
