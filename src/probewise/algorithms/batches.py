"""Batches: a planned round given out in parts that a laboratory can take, each of them like the whole."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probewise.errors import InvalidAlgorithm

Counts = NDArray[np.int64]


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

    def allow(self, counts: Counts) -> bool:
        """Whether a batch keeps within what is allowed at most."""
        most, replicates = self.most or math.inf, self.replicates or math.inf
        return bool(counts.sum() <= most and counts.max() <= replicates)

    def batch(self, plan: Counts, told: Counts) -> Counts:
        """(n,): the next measurements of a plan of which ``told`` have come: what makes equal batches of the rest.

        Measurement k = 0, 1, … of a probe planned n_i times has its place (k + ½)/n_i in the plan; those not yet told
        come in that order, so that every part of the plan is like the whole.
        """
        rest: Counts = np.maximum(plan - told, 0)
        if self.allow(rest):
            return rest
        batches = 1 if self.most is None else -(-int(rest.sum()) // self.most)
        n = -(-int(rest.sum()) // max(batches, 1))
        candidates = np.minimum(rest, n if self.replicates is None else min(n, self.replicates))
        probe = np.repeat(np.arange(plan.size), candidates)
        nth = np.arange(probe.size) - np.repeat(np.cumsum(candidates) - candidates, candidates)
        # without the first (plan - rest) of each probe
        place = ((plan - rest)[probe] + nth + 0.5) / plan[probe]
        chosen = probe[np.argsort(place, kind="stable")[:n]]
        return np.bincount(chosen, minlength=plan.size).astype(np.int64)
