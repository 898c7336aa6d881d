"""Batches: a planned round given out in parts that a laboratory can take, each of them like the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm


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
        parts = self._parts(plan)
        short = (self.least or 1) * parts - int(plan.sum())
        if short <= 0:
            return plan
        ceiling = np.inf if self.replicates is None else float(self.replicates * parts)
        left = np.where(plan > 0, np.minimum(np.minimum(room, ceiling) - plan, short), 0).astype(np.int64)
        return plan + _first(short, left, plan, plan)

    def cut(self, plan: Counts, n: int) -> Counts:
        """(n,): a plan like this of at most ``n`` measurements that batches can make up; zeros if there is none."""
        if int(plan.sum()) <= n:
            return plan
        size = self.size(n)
        return _first(size if size <= n else 0, plan, plan, np.zeros_like(plan))

    def batch(self, plan: Counts, told: Counts) -> Counts:
        """(n,): the next measurements of a plan of which ``told`` have come: what makes equal batches of the rest.

        Measurement k = 0, 1, … of a probe planned n_i times has its place (k + ½)/n_i in the plan; those not yet told
        come in that order, so that every part of the plan is like the whole.
        """
        rest: Counts = np.maximum(plan - told, 0)
        parts = self._parts(rest)
        if parts <= 1:
            return rest
        n = -(-int(rest.sum()) // parts)
        replicates = n if self.replicates is None else min(n, self.replicates)
        forced = np.maximum(rest - (parts - 1) * replicates, 0)  # or the batches to come could not hold them
        return forced + _first(n - int(forced.sum()), np.minimum(rest, replicates) - forced, plan, plan - rest + forced)

    def _parts(self, counts: Counts) -> int:
        """Batches that counts take."""
        most = counts.max(initial=0) if self.replicates is not None else 0
        return max(self.batches(int(counts.sum())), -(-int(most) // (self.replicates or 1)), 1)


def _first(n: int, candidates: Counts, plan: Counts, begun: Counts) -> Counts:
    """(n_probes,): the first ``n`` of ``candidates`` in the order of their places; ``begun`` are gone before."""
    probe = np.repeat(np.arange(plan.size), candidates)
    nth = np.arange(probe.size) - np.repeat(np.cumsum(candidates) - candidates, candidates)
    place = (begun[probe] + nth + 0.5) / plan[probe]
    chosen = probe[np.argsort(place, kind="stable")[: max(n, 0)]]
    return np.bincount(chosen, minlength=plan.size).astype(np.int64)
