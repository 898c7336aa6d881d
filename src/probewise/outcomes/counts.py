"""Counts: how counts of a Poisson law are drawn, whatever their mean depends on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array, Counts
from probewise.outcomes.base import Drawn, Law

_SPLIT = 10_000
"""Counts up to which the scatter of outcomes is drawn one by one."""


class CountLaw(Law):
    """Outcomes that are counts 0, 1, 2, … with a variance equal to their mean."""

    def outcomes(self, means: Array, scale: Array, rng: np.random.Generator) -> Array:
        """Counts with these means; one below 0 cannot be had."""
        return rng.poisson(np.maximum(means, 0.0)).astype(np.float64)

    def drawn(self, means: Array, scale: Array, counts: Counts, rng: np.random.Generator) -> Drawn:
        """A sum of counts is a count; given the sum, its parts are multinomial, and many scatter as their mean does."""
        totals = rng.poisson(counts * np.maximum(means, 0.0))
        scatter = np.zeros(means.size)
        for i, (n, total) in enumerate(zip(counts.tolist(), totals.tolist(), strict=True)):
            if n <= _SPLIT:
                parts = rng.multinomial(total, np.full(n, 1.0 / n))
                scatter[i] = float(((parts - total / n) ** 2).sum())
            else:
                scatter[i] = total / n * rng.chisquare(n - 1)
        return Drawn(totals / counts, scatter)

    @property
    def expected(self) -> str:
        """What an outcome may be, in words."""
        return "a whole number of at least 0"

    def possible(self, outcomes: Array) -> NDArray[np.bool_]:
        """True for whole numbers from 0 on."""
        return np.asarray((outcomes >= 0) & (outcomes == np.floor(outcomes)))
