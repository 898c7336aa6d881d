"""Prior: what Sage fixes before its first round, the unit in which the precision of a comparison is counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.planning import plan, recalled, unit_whitener
from probewise.coordinates import Array
from probewise.design import Directions
from probewise.design.farthest import square_norms
from probewise.problem import Problem

Items = NDArray[np.int64]
Memo = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Prior:
    """The first round as planned, by which all comparisons are measured.

    It depends on probes, items, noise and costs alone: neither on outcomes nor on what happens to be in stock.
    """

    size: int
    """Measurements of the first round."""
    least: int
    """Measurements of any later round at least."""
    counted: float
    """Measurements by the first design whose precision is the unit."""
    whitener: Array
    """(d, r): (z - z')@whitener has the squared length of the variance in which (z - z')'θ̂ is counted."""
    weights: Array
    """(n,): the design of the first round."""
    gap: float | None = None
    """A lead that matters, epsilon included, in units of outcomes or of noise of unknown scale; None for any."""

    @classmethod
    def of(
        cls,
        problem: Problem,
        directions: Directions | None,
        tol: float,
        memo: Memo | None = None,
        *,
        opening: bool,
        lean: bool = False,
    ) -> Prior:
        """From the design for all that may matter: three measurements per dimension, or two per probe if fewer.

        Where the first round is bet on (``opening``), one per probe is enough for later rounds on few items, and if
        ``lean`` for the first, too. The design is solved for unless there is a ``memo`` of it.
        """
        if directions is None:
            return cls(0, 0, 0.0, np.zeros((problem.dimension, 0)), np.zeros(problem.n_probes))
        weights = plan(problem, directions, tol=tol).weights if memo is None else recalled(problem, directions, memo)
        probes, enough = int(np.count_nonzero(weights)), 3 * problem.coordinates.rank
        size = min(enough, 2 * probes)
        least, counted = size, _WIDE * size if opening else size
        if opening and problem.n_items <= FEW:
            least = min(size, probes)
            if lean:
                size = least = min(size, problem.outcome.replicates * probes)
                counted = _WIDER * size
        return cls(size, least, counted, unit_whitener(problem, weights) / math.sqrt(counted), weights)

    def unit(self, problem: Problem, leader: int | Items, rivals: Items) -> Array:
        """(k,): the unit of the precision of (leader - rival)'θ̂, 1/v₁ in docs/sage.md; one leader, or one each."""
        if rivals.size <= _BLOCK:
            return 1.0 / square_norms((problem.items[leader] - problem.items[rivals]) @ self.whitener)
        squares = np.empty(rivals.size)
        for low in range(0, rivals.size, _BLOCK):
            at = slice(low, low + _BLOCK)
            ahead = leader if isinstance(leader, int) else leader[at]
            squares[at] = square_norms((problem.items[ahead] - problem.items[rivals[at]]) @ self.whitener)
        return 1.0 / squares


_BLOCK = 20_000
"""Items whose differences to another one are formed at a time."""
FEW = 8
"""Items among which the one in front after a small round is seldom there by luck."""
_WIDE = 0.5
"""Part of the first round whose precision is the unit, so that leads which show in that round are bet on well."""
_WIDER = 0.2
"""The same where the first round measures each probe once."""
