"""Improvement: the measurements from which the best guess among all items, measurable or not, gains most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array, Counts
from probewise.guess.belief import Belief, Posterior, jointly, prior_of
from probewise.guess.columns import Columns, Rows
from probewise.guess.covariance import Powers
from probewise.guess.variances import Settings, triangle

_FRONT = 100
"""Items that may be the best as far as is looked at: the highest by mean and spread."""
_OPTIMISM = 2.0
"""Spreads above its mean at which an item is looked at."""
_DRAWS = 96
"""Draws of the values of these items, over all sets of variances."""
_CHOICE = 200
"""Probes that are compared for each measurement; of more, those that promise most at first."""
_FIRST = 800
"""Probes that the first batch is chosen from; of more, so many at random."""
_NOTHING = 1e-9
"""A promise, in units of the variance of the outcomes or of its root, below which it is nothing."""
_CHUNK = 2000
"""Probes looked at in one go."""
_SAMPLE = 300
"""Items for which the first two batches are planned."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Measurements, one after the other, each chosen for what those before it leave open."""

    counts: Counts
    """(n,): how often each probe is measured."""
    gain: float
    """By how much the highest mean is expected to rise, in units of outcomes; 0 or more but for the error of draws."""


@dataclass
class _View:
    """What one set of variances says of the items in front and of the probes, as measurements are chosen."""

    means: Array
    """(t, s): means of the items in front after what was imagined so far, for each draw."""
    inner: Array
    """(t, t): covariances of the items in front,"""
    cross: Array
    """(t, c): with the probes to choose from,"""
    outer: Array
    """(c, c): and of these."""
    noise: Array
    """(c,): variance of a measurement of each probe."""

    @classmethod
    def all(
        cls, posteriors: Sequence[Posterior], items: Rows, probes: Rows, draws: int, relative: Array
    ) -> list[_View]:
        """Of each set of variances, before anything is imagined."""
        views, t = [], items.size
        for own, (mean, joint) in zip(posteriors, jointly(posteriors, np.append(items, probes)), strict=True):
            means, noise = np.tile(mean[:t, None], draws), own.noise * relative[probes] ** 2
            views.append(cls(means, joint[:t, :t], joint[:t, t:], joint[t:, t:], noise))
        return views

    def measure(self, at: int, rng: np.random.Generator) -> None:
        """Imagine a measurement of a probe."""
        size = np.sqrt(self.outer[at, at] + self.noise[at])
        told, learned = self.outer[at] / size, self.cross[:, at] / size
        self.outer = self.outer - np.outer(told, told)
        self.cross = self.cross - np.outer(learned, told)
        self.inner = self.inner - np.outer(learned, learned)
        self.means = self.means + np.outer(learned, rng.standard_normal(self.means.shape[1]))

    def promise(self, sign: float, rng: np.random.Generator) -> Array:
        """(c,): what a measurement takes off the variance of how far the best item, whichever it is, is ahead.

        Ahead of the item that leads now: what is known to lead need not be known to many digits.
        """
        share = _shares(self.means, self.inner, sign, rng)
        best, leader = share > 0, int(np.argmax(sign * self.means.mean(axis=1)))
        learned = self.cross[best] - self.cross[leader]
        return np.asarray(share[best] @ learned**2 / self._variances)

    def told(self, item: int) -> Array:
        """(c,): what a measurement takes off the variance of one of the items in front."""
        return np.asarray(self.cross[item] ** 2 / self._variances)

    def gain(self, sign: float, rng: np.random.Generator) -> Array:
        """(c,): by how much the highest mean is expected to rise by a measurement (its knowledge gradient)."""
        means, learned = sign * self.means.T, self.cross / np.sqrt(self._variances)
        rise = np.zeros(learned.shape[1])
        for mean, size in zip(means, rng.standard_normal(len(means)), strict=True):
            step = size * learned
            rise += np.maximum.reduce(mean[:, None] + step) + np.maximum.reduce(mean[:, None] - step)
        return np.asarray(0.5 * rise / len(means) - means.max(axis=1).mean())

    @property
    def _variances(self) -> Array:
        """(c,): of an outcome of each probe."""
        return np.asarray(np.diag(self.outer) + self.noise)

    @property
    def spread(self) -> Array:
        """(c,): what a measurement takes off the variances of all items together."""
        return np.asarray((self.cross**2).sum(axis=0) / self._variances)


def _shares(means: Array, covariance: Array, sign: float, rng: np.random.Generator) -> Array:
    """(t,): how often each item is the best, in a draw for each column of (t, s) means."""
    values = means + triangle(covariance) @ rng.standard_normal(means.shape)
    return np.asarray(np.bincount(np.argmax(sign * values, axis=0), minlength=len(means)) / means.shape[1])


def next_batch(
    belief: Belief,
    size: int,
    *,
    room: Array,
    relative: Array,
    cost: Array,
    replicates: int | None,
    last: bool,
    rng: np.random.Generator,
) -> Batch:
    """At most ``size`` measurements, no more of a probe than its (n,) ``room`` and ``replicates`` allow.

    In the last batch, each is the one by which, for its (n,) cost, the highest mean is expected to rise most; if
    nothing was measured twice, the first is the row with the highest outcome, which tells noise from what rows have to
    themselves. Before, it is the one that takes most off the variance of how far the best item, whichever it is in
    draws from the belief, is ahead of the one that leads. After a first batch alone, half of them are such, or none
    where levels were not measured, and ``_hopeful`` finds the others. Noise has the (n,) ``relative`` scales. The
    likeliest form of the model plans.
    """
    room = room if replicates is None else np.minimum(room, replicates)
    new = np.setdiff1d(np.flatnonzero(room > 0), belief.data.rows)
    if last or not belief.data.rows.size <= size <= new.size:
        return _promising(belief, size, room, relative, cost, last, rng)
    given = np.zeros(relative.size, dtype=np.int64)
    if size > 1 and not _untried(belief, new):
        given = _promising(belief, size // 2, room, relative, cost, last, rng).counts
    left = np.setdiff1d(new, np.flatnonzero(given))
    return _hopeful(belief, size - int(given.sum()), given, left, relative, cost, rng)


def _untried(belief: Belief, new: Rows) -> bool:
    """Whether a level can be measured that never was."""
    levels = [block.levels for block in belief.columns.blocks if block.exclusive]
    return any(np.setdiff1d(own[new], own[belief.data.rows]).size for own in levels)


def _promising(
    belief: Belief, size: int, room: Array, relative: Array, cost: Array, last: bool, rng: np.random.Generator
) -> Batch:
    """Measurements that tell most of which item is the best; in the last batch, those that raise the guess."""
    again = _standing_out(belief, room) if last and size > 1 and not belief.data.scatter[1] else None
    limit, belief = belief.limit, belief.for_plans
    mean, spread = belief.items
    front = np.argsort(-(belief.sign * mean + _OPTIMISM * spread), kind="stable")[:_FRONT]
    items, draws = belief.columns.items[front], -(-_DRAWS // len(belief.posteriors))
    choice = _choice(belief, items, np.flatnonzero(room > 0), draws, relative, rng)
    choice = choice if again is None else np.union1d(choice, again)
    views = _View.all(belief.posteriors, items, choice, draws, relative)
    before = _highest(views, belief.sign, limit)
    counts, left = np.zeros(relative.size, dtype=np.int64), room[choice].copy()
    for step in np.arange(size):
        if not (free := left > 0).any():
            break
        promise = np.sum([(view.gain if last else view.promise)(belief.sign, rng) for view in views], axis=0)
        if step == 0 and again is not None:
            promise = (choice == again).astype(np.float64)
        elif promise[free].max() <= _NOTHING:  # the leader is not in doubt: learn of all
            promise = np.sum([view.spread for view in views], axis=0)
        at = int(np.argmax(np.where(free, promise / cost[choice], -np.inf)))
        counts[choice[at]] += 1
        left[at] -= 1
        for view in views:
            view.measure(at, rng)
    return Batch(counts, belief.scale * (_highest(views, belief.sign, limit) - before))


def _highest(views: Sequence[_View], sign: float, limit: float) -> float:
    """The highest mean, but no higher than values can be, on average over all draws."""
    return float(np.mean([np.minimum((sign * view.means).max(axis=0), limit) for view in views]))


def _standing_out(belief: Belief, room: Array) -> int | None:
    """The measured probe with the highest outcome, if it can be measured again."""
    data = belief.data
    probe = int(data.rows[np.argmax(belief.sign * data.values)])
    return probe if room[probe] > 0 else None


def _hopeful(
    belief: Belief, size: int, given: Counts, new: Rows, relative: Array, cost: Array, rng: np.random.Generator
) -> Batch:
    """Of the items that were not measured, those that may be highest, and for each the new probe that tells most of it.

    An item may be as high as two spreads above its mean. Each probe, and each item, counts once: while little is
    known, a batch tries many items that may be good, and measures each itself where it can. The (n,) ``given``
    measurements are in the batch already.
    """
    limit, belief = belief.limit, belief.for_hopes
    mean, spread = belief.items
    hope = belief.sign * mean + _OPTIMISM * spread
    front = np.argsort(-hope, kind="stable")[:_SAMPLE]
    items = belief.columns.items[front]
    telling = _telling(belief.posteriors[len(belief.posteriors) // 2], items, new, relative, cost, size)
    probes = np.union1d(telling, np.flatnonzero(given))
    views = _View.all(belief.posteriors, items, probes, -(-_DRAWS // len(belief.posteriors)), relative)
    means = np.array([view.means[:, 0] for view in views])
    middle, between = means.mean(axis=0), means.var(axis=0)
    before = _highest(views, belief.sign, limit)
    open_ = ~Powers.between(belief.columns, items, belief.data.rows).same.any(axis=1)
    same = Powers.between(belief.columns, items, probes).same
    counts, left = given.copy(), given[probes] == 0
    for at in np.repeat(np.arange(probes.size), given[probes]).tolist():
        open_ &= ~same[:, at]
        for view in views:
            view.measure(at, rng)
    for _ in np.arange(size):
        variances = np.mean([np.diag(view.inner) for view in views], axis=0) + between
        high = belief.sign * middle + _OPTIMISM * np.sqrt(np.maximum(variances, 0.0))
        item = int(np.argmax(np.where(open_, high, -np.inf)))
        told = np.mean([view.told(item) for view in views], axis=0) / cost[probes]
        at = int(np.argmax(np.where(left, told, -1.0)))
        counts[probes[at]], left[at] = 1, False
        open_ &= ~same[:, at]
        open_[item] = False
        for view in views:
            view.measure(at, rng)
    return Batch(counts, belief.scale * (_highest(views, belief.sign, limit) - before))


def _telling(posterior: Posterior, items: Rows, new: Rows, relative: Array, cost: Array, size: int) -> Rows:
    """For each of some items the new probe that tells most of it; more of them, if these are not enough for a batch."""
    if new.size <= _CHOICE:
        return new
    most, which, sums = np.zeros(items.size), np.zeros(items.size, dtype=np.int64), np.empty(new.size)
    for at in range(0, new.size, _CHUNK):
        part = new[at : at + _CHUNK]
        variance = posterior.at(part)[1] + posterior.noise * relative[part] ** 2
        told = posterior.covariance(items, part) ** 2 / (variance * cost[part])
        best, sums[at : at + _CHUNK] = np.argmax(told, axis=1), told.sum(axis=0)
        more = told[np.arange(items.size), best] > most
        most, which = np.where(more, told.max(axis=1), most), np.where(more, at + best, which)
    found = np.unique(which)
    if found.size < size:
        found = np.union1d(found, np.argsort(-sums, kind="stable")[:_CHOICE])
    return np.asarray(new[found])


def _choice(
    belief: Belief, items: Rows, free: Rows, draws: int, relative: Array, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Probes worth comparing: all, or those that promise most by themselves."""
    if free.size <= _CHOICE:
        return free
    posterior = belief.posteriors[len(belief.posteriors) // 2]
    means, promise = np.tile(posterior.explained(items)[0][:, None], _DRAWS), np.empty(free.size)
    share = _shares(means, posterior.covariance(items, items), belief.sign, rng)
    likely = share > 0
    for at in range(0, free.size, _CHUNK):
        part = free[at : at + _CHUNK]
        noise = posterior.noise * relative[part] ** 2
        cross = posterior.covariance(items[likely], part)
        promise[at : at + _CHUNK] = share[likely] @ cross**2 / (posterior.at(part)[1] + noise)
    return np.sort(free[np.argsort(-promise, kind="stable")[:_CHOICE]])


def first_batch(
    columns: Columns,
    size: int,
    *,
    room: Array,
    relative: Array,
    cost: Array,
    replicates: int | None,
    settings: Settings,
    rng: np.random.Generator,
) -> Counts:
    """(n,): measurements that together say most of all items before anything is known; every first few are spread.

    Each takes most, for its cost, off the mean variance of the items under the prior.
    """
    room = room if replicates is None else np.minimum(room, replicates)
    free = np.flatnonzero(room > 0)
    probes = free if free.size <= _FIRST else np.sort(rng.choice(free, _FIRST, replace=False))
    items = columns.items
    items = items if items.size <= _SAMPLE else np.sort(rng.choice(items, _SAMPLE, replace=False))
    (view,) = _View.all([prior_of(columns, settings)], items, probes, 1, relative)
    counts, left = np.zeros(relative.size, dtype=np.int64), room[probes].copy()
    even = 1.0 + 1e-6 * rng.random(probes.size)  # whatever the order of the rows
    for _ in np.arange(size):
        if not (open_ := left > 0).any():
            break
        promise = view.spread * even / cost[probes]
        at = int(np.argmax(np.where(open_, promise, -1.0)))
        counts[probes[at]] += 1
        left[at] -= 1
        view.measure(at, rng)
    return counts
