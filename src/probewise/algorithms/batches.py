"""Batches: a planned round given out in parts that a laboratory can take, each of them like the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array, Counts, coordinates
from probewise.errors import InvalidAlgorithm

_ORDERED = 1_000
"""Probes of a plan whose order is looked at; those that would come later are in the order of their numbers."""
_TIE = 1e-9
"""Relative difference of squared lengths that may be rounding."""
_SORTED = 10_000
"""Measurements that are sorted as a whole at most."""
_NOTHING = 1e-9
"""Part of its length, squared, below which a row adds nothing to the rows before it."""


@dataclass(frozen=True)
class Limits:
    """What a laboratory can measure at once."""

    most: int | None = None
    """Measurements in a batch at most."""
    least: int | None = None
    """Measurements in a batch at least."""
    replicates: int | None = None
    """Measurements of one probe in a batch at most."""

    def __post_init__(self) -> None:
        for name, value in (("max_batch", self.most), ("min_batch", self.least), ("max_replicates", self.replicates)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InvalidAlgorithm(f"{name} must be a whole number of at least 1, or None, got {value!r}.")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise InvalidAlgorithm(
                f"min_batch must not exceed max_batch, got {self.least} and {self.most}; lower it or raise the other."
            )

    @property
    def split(self) -> bool:
        """Whether a round may take several batches."""
        return self.most is not None or self.replicates is not None

    def size(self, wanted: int) -> int:
        """A number of measurements near ``wanted`` that batches within the limits can make up."""
        least = self.least or 1
        wanted = max(wanted, least)
        # k batches hold between k·least and k·most; the largest such k leaves each of them full enough
        return wanted if self.most is None else min(wanted, wanted // least * self.most)

    def batches(self, size: int) -> int:
        """Batches that a round takes, if replicates do not limit it more."""
        return 1 if self.most is None else -(-size // self.most)

    def filled(self, plan: Counts, room: Array) -> Counts:
        """(n,): the plan with more of its probes, within their ``room`` (n,), where its batches would be too small."""
        if self.least is None:
            return plan
        parts = self._parts(plan)
        short = self.least * parts - int(plan.sum())
        if short <= 0:
            return plan
        ceiling = np.inf if self.replicates is None else float(self.replicates * parts)
        left = np.where(plan > 0, np.minimum(np.minimum(room, ceiling) - plan, short), 0).astype(np.int64)
        return plan + _first(short, left, plan, plan)

    def cut(self, plan: Counts, n: int, probes: Array | None = None) -> Counts:
        """(n,): a plan like this of at most ``n`` measurements that batches can make up; zeros if there is none."""
        if int(plan.sum()) <= n:
            return plan
        size = self.size(n)
        return _first(size if size <= n else 0, plan, plan, np.zeros_like(plan), probes)

    def batch(self, plan: Counts, told: Counts, probes: Array | None = None) -> Counts:
        """(n,): the next measurements of a plan of which ``told`` have come: what makes equal batches of the rest.

        Measurement k = 0, 1, … of a probe planned n_i times has its place (k + ½)/n_i in the plan; those not yet told
        come in that order, so that every part of the plan is like the whole. With ``probes`` (n, d), in units of their
        noise, as few as determine all that the plan does come first, and equal places go by ``spread``.
        """
        rest: Counts = np.maximum(plan - told, 0)
        parts = self._parts(rest) if self.split else 1
        if parts <= 1:
            return rest
        n = -(-int(rest.sum()) // parts)
        replicates = n if self.replicates is None else min(n, self.replicates)
        forced = np.maximum(rest - (parts - 1) * replicates, 0)  # or the batches to come could not hold them
        begun, free = plan - rest + forced, np.minimum(rest, replicates) - forced
        return forced + _first(n - int(forced.sum()), free, plan, begun, probes)

    def _parts(self, counts: Counts) -> int:
        """Batches that counts take."""
        most = counts.max(initial=0) if self.replicates is not None else 0
        return max(self.batches(int(counts.sum())), -(-int(most) // (self.replicates or 1)), 1)


def _first(n: int, candidates: Counts, plan: Counts, begun: Counts, probes: Array | None = None) -> Counts:
    """(n_probes,): the first ``n`` of ``candidates`` in the order of their places; ``begun`` are gone before."""
    order, rank = (np.arange(plan.size), 0) if probes is None else spread(probes, plan)
    sure, left = _surely_first(n, candidates, plan, begun, order < rank)
    probe = np.repeat(np.arange(plan.size), left)
    nth = (begun + sure)[probe] + np.arange(probe.size) - np.repeat(np.cumsum(left) - left, left)
    place = (nth + 0.5) / plan[probe]
    place = np.where((nth == 0) & (order[probe] < rank), 0.0, place)
    chosen = probe[np.lexsort((order[probe], place))[: max(n - int(sure.sum()), 0)]]
    return sure + np.bincount(chosen, minlength=plan.size).astype(np.int64)


def _surely_first(
    n: int, candidates: Counts, plan: Counts, begun: Counts, leading: NDArray[np.bool_]
) -> tuple[Counts, Counts]:
    """(n_probes,) each: of large plans those that are among the first ``n`` whatever rounding does; those in question.

    Fewer than n places are below a bound that is found by halving; of each probe the last one below it and a few after
    it are in question. Plans are never sorted as a whole, as large ones have more measurements than memory.
    """
    nobody = np.zeros_like(candidates)
    if n <= 0 or int(candidates.sum()) <= _SORTED:
        return nobody, candidates
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = np.clip(np.floor(middle * plan - begun + 0.5), 0, candidates)
        low, high = (middle, high) if below.sum() + np.count_nonzero(leading) < n else (low, middle)
    below = np.clip(np.floor(low * plan - begun + 0.5), 0, candidates).astype(np.int64)
    sure = np.maximum(below - 1, nobody)
    return sure, np.minimum(candidates - sure, 4 + np.count_nonzero(leading))


def spread(probes: Array, plan: Counts) -> tuple[Counts, int]:
    """(n,): the place of each probe of a plan in an order in which every few of them are like the whole; and the rank.

    Of probes (n, d), each next one has the largest part, in units of the whole plan, outside the span of those before
    it; once they span what the plan does, which is so after as many as its rank, the rest begin anew.
    """
    order, (used,) = np.full(plan.size, plan.size, dtype=np.int64), np.nonzero(plan)
    if not used.size:
        return order, 0
    space = coordinates(probes[used] * np.sqrt(plan[used])[:, None])
    rows, left = space.probes, np.arange(used.size)
    size, part, at, anew = np.einsum("ij,ij->i", rows, rows), rows, 0, True
    while left.size and at < _ORDERED:
        lengths = np.einsum("ij,ij->i", part, part)
        pick = int(np.argmax(lengths >= (1.0 - _TIE) * lengths.max()))  # the first of several, whoever rounds
        if lengths[pick] <= _NOTHING * size[left[pick]]:
            if anew:  # the rest are rows of zeros
                break
            part, anew = rows[left], True
            continue
        anew = False
        unit = part[pick] / np.sqrt(lengths[pick])
        order[used[left[pick]]], at = at, at + 1
        part = np.delete(part - np.outer(part @ unit, unit), pick, axis=0)
        left = np.delete(left, pick)
    order[used[left]] = at + np.arange(left.size)
    return order, space.rank
