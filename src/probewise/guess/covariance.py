"""Covariances: what the model says that rows have in common, by effects, their products and a surface."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.guess.columns import Columns, Rows

_CONSTANT = 4.0
"""Variance of the overall mean about that of the outcomes, in units of their variance."""
_SAME = 1e-6
"""Rows that are nearer are one recipe."""
NONE = 1e-6
"""Variance of what a form of the model does not have, in the units of that variance."""
_PIECE = 1 << 14
"""Covariances that are found at once: what they are made of then stays near the processor."""


@dataclass(frozen=True, eq=False)
class Powers:
    """What covariances of some rows with others are made of, whatever the variances."""

    powers: tuple[tuple[Array, ...], ...]
    """For each block: see ``Block.powers``."""
    squares: tuple[Array | None, ...]
    """For each block: products of the squares, if it has any."""
    apart: tuple[Array, ...]
    """For each block: squares of the distances between the rows in it."""

    @classmethod
    def between(cls, columns: Columns, one: Rows, other: Rows) -> Powers:
        """For every pair of rows."""
        powers = tuple(block.powers(one, other) for block in columns.blocks)
        sizes = (block.sizes(one)[0][:, None] + block.sizes(other)[0] for block in columns.blocks)
        apart = tuple(np.maximum(size - 2.0 * own[0], 0.0) for size, own in zip(sizes, powers, strict=True))
        return cls(powers, tuple(None if q is None else q[one] @ q[other].T for q in columns.squares), apart)

    @classmethod
    def own(cls, columns: Columns, rows: Rows) -> Powers:
        """For every row with itself."""
        powers = tuple(block.sizes(rows) for block in columns.blocks)
        squares = tuple(None if q is None else (q[rows] ** 2).sum(axis=1) for q in columns.squares)
        return cls(powers, squares, tuple(np.zeros(rows.size) for _ in powers))

    def effects(self, variances: Array) -> Iterator[tuple[Array, Array, Array | None]]:
        """For each block: sums of linear effects, of their squares, and of squares of numbers."""
        for v, powers, square in zip(variances, self.powers, self.squares, strict=False):
            first = v * powers[0]
            second = v**2 * powers[1] if len(powers) > 1 else first * first  # powers are slow
            yield first, second, None if square is None else variances[-4] * v * square

    def sums(self, variances: Array) -> tuple[Array, ...]:
        """What ``effects`` says, over all blocks."""
        total = tuple(np.zeros_like(self.powers[0][0]) for _ in range(3))
        for parts in self.effects(variances):
            for sum_, part in zip(total, parts, strict=True):
                if part is not None:
                    sum_ += part
        return total

    def covariance(self, variances: Array) -> Array:
        """Covariances of the model: products of two effects are what the square of their sum has beyond squares."""
        found = np.empty_like(self.apart[0])
        step = max(1, _PIECE * len(found) // max(found.size, 1))
        for at in range(0, len(found), step):
            part = self._rows(slice(at, at + step))
            p, q, curved = part.sums(variances)
            surface = part.surface(variances) if variances[-2] > 2.0 * NONE else 0.0
            found[at : at + step] = _CONSTANT + p + curved + (0.5 * variances[-3]) * (p * p - q) + surface
        found[self.same] += variances[-5]
        return found

    @cached_property
    def same(self) -> NDArray[np.bool_]:
        """Where two rows are one recipe."""
        return np.asarray(sum(self.apart) < _SAME**2)

    def surface(self, variances: Array) -> Array:
        """Covariances of what follows no effects."""
        return np.asarray(variances[-2] * _matern(self._far(variances)[0]))

    def _far(self, variances: Array) -> tuple[Array, list[Array]]:
        """Distances in units of the reach of every block, and the squares of which they are made."""
        blocks = len(self.apart)
        parts = [own / reach**2 for own, reach in zip(self.apart, variances[blocks : 2 * blocks], strict=True)]
        return np.sqrt(sum(parts)), parts

    def _rows(self, rows: slice) -> Powers:
        """Of some of the rows with all of the others."""
        powers = tuple(tuple(each[rows] for each in own) for own in self.powers)
        squares = tuple(None if q is None else q[rows] for q in self.squares)
        return Powers(powers, squares, tuple(own[rows] for own in self.apart))

    def slopes(self, variances: Array, weights: Array) -> Array:
        """(k - 1,): derivatives of Σ weights · covariance with respect to the logarithms of all but the noise."""
        p, q, curved = self.sums(variances)
        pairs, rough = variances[-3:-1]
        by = (weights * (1.0 + pairs * p), -pairs * weights, weights)
        found = [
            sum(float(np.vdot(part, each)) for part, each in zip(parts, by, strict=True) if part is not None)
            for parts in self.effects(variances)
        ]
        far, parts = self._far(variances)
        steep = 3.0 * rough * np.exp(-math.sqrt(3.0) * far) * weights
        reaches = [np.vdot(steep, part) for part in parts]
        alone = variances[-5] * float(weights[self.same].sum())
        shared = (curved, (0.5 * pairs) * (p * p - q), rough * _matern(far))
        return np.array([*found, *reaches, alone, *(np.vdot(weights, each) for each in shared)])


def _matern(far: Array) -> Array:
    """Correlation of a surface that is smooth once, at some distances (Matérn, 3/2)."""
    size = math.sqrt(3.0) * far
    return np.asarray((1.0 + size) * np.exp(-size))
