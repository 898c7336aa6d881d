"""Covariances: what the model says that rows have in common, by effects, their products and a surface."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from probewise.coordinates import Array
from probewise.guess.columns import Columns, Rows

_CONSTANT = 4.0
"""Variance of the overall mean about that of the outcomes, in units of their variance."""
_SAME = 1e-6
"""Rows that are nearer are one recipe."""
_PIECE = 1 << 14
"""Covariances that are found at once: what they are made of then stays near the processor."""


@dataclass(frozen=True, eq=False)
class Powers:
    """What covariances of some rows with others are made of, whatever the variances."""

    powers: tuple[tuple[Array, ...], ...]
    """For each block: see ``Block.powers``."""
    squares: tuple[Array | None, ...]
    """For each block: products of the squares, if it has any."""
    apart: Array
    """Distances between the rows."""

    @classmethod
    def between(cls, columns: Columns, one: Rows, other: Rows) -> Powers:
        """For every pair of rows."""
        powers = tuple(block.powers(one, other) for block in columns.blocks)
        sizes = sum(block.sizes(one)[0][:, None] + block.sizes(other)[0] for block in columns.blocks)
        apart = np.sqrt(np.maximum(sizes - 2.0 * sum(own[0] for own in powers), 0.0))
        return cls(powers, tuple(None if q is None else q[one] @ q[other].T for q in columns.squares), apart)

    @classmethod
    def own(cls, columns: Columns, rows: Rows) -> Powers:
        """For every row with itself."""
        powers = tuple(block.sizes(rows) for block in columns.blocks)
        squares = tuple(None if q is None else (q[rows] ** 2).sum(axis=1) for q in columns.squares)
        return cls(powers, squares, np.zeros(rows.size))

    def effects(self, variances: Array) -> Iterator[tuple[Array, Array, Array, Array | None, Array | None]]:
        """For each block: sums of linear effects, of their squares and of their cubes, of squares of numbers, and own.

        The last is the product of a number's linear effect and its own square, which is no term of the model.
        """
        for v, powers, square in zip(variances, self.powers, self.squares, strict=False):
            first = v * powers[0]
            second, third = (v**2 * powers[1], v**3 * powers[2]) if len(powers) > 1 else _cubed(first)
            curved = None if square is None else variances[-6] * v * square
            yield first, second, third, curved, None if curved is None or len(powers) > 1 else first * curved

    def sums(self, variances: Array) -> tuple[Array, ...]:
        """What ``effects`` says, over all blocks."""
        total = tuple(np.zeros_like(self.powers[0][0]) for _ in range(5))
        for parts in self.effects(variances):
            for sum_, part in zip(total, parts, strict=True):
                if part is not None:
                    sum_ += part
        return total

    def orders(self, variances: Array) -> tuple[Array, Array, Array]:
        """Covariances of single effects, of products of two, and of products of three or of one with a square."""
        p, q, r, curved, own = self.sums(variances)
        pairs, triples = variances[-5:-3]
        two = p * p
        three = ((two - 3.0 * q) * p + 2.0 * r) / 6.0 + p * curved - own
        return p + curved, (0.5 * pairs) * (two - q), triples * three

    def covariance(self, variances: Array) -> Array:
        """Covariances of the model: products of effects are elementary symmetric polynomials of them."""
        found, (rough, reach) = np.empty_like(self.apart), variances[-3:-1]
        step = max(1, _PIECE * len(found) // max(found.size, 1))
        for at in range(0, len(found), step):
            part = self._rows(slice(at, at + step))
            one, two, three = part.orders(variances)
            found[at : at + step] = _CONSTANT + one + two + three + rough * _matern(part.apart / reach)
        found[self.apart < _SAME] += variances[-7]
        return found

    def _rows(self, rows: slice) -> Powers:
        """Of some of the rows with all of the others."""
        powers = tuple(tuple(each[rows] for each in own) for own in self.powers)
        return Powers(powers, tuple(None if q is None else q[rows] for q in self.squares), self.apart[rows])

    def slopes(self, variances: Array, weights: Array) -> Array:
        """(k - 1,): derivatives of Σ weights · covariance with respect to the logarithms of all but the noise."""
        p, q, _, curved, own = self.sums(variances)
        pairs, triples, rough, reach = variances[-5:-1]
        linear = weights * (1.0 + pairs * p + triples * ((p * p - q) / 2.0 + curved))
        cubic = triples * weights
        by = (linear, -weights * (pairs + triples * p), cubic, weights * (1.0 + triples * p), -2.0 * cubic)
        found = [
            sum(float(np.vdot(part, each)) for part, each in zip(parts, by, strict=True) if part is not None)
            for parts in self.effects(variances)
        ]
        squares = np.vdot(curved, by[3]) - np.vdot(own, cubic)
        _, two, three = self.orders(variances)
        far = self.apart / reach
        surface = (rough * _matern(far), 3.0 * rough * far**2 * np.exp(-math.sqrt(3.0) * far))
        alone = variances[-7] * float(weights[self.apart < _SAME].sum())
        return np.array([*found, alone, squares, *(np.vdot(weights, each) for each in (two, three, *surface))])


def _cubed(effects: Array) -> tuple[Array, Array]:
    """Squares and cubes, by products: powers are slow."""
    squares = effects * effects
    return squares, squares * effects


def _matern(far: Array) -> Array:
    """Correlation of a surface that is smooth once, at some distances (Matérn, 3/2)."""
    size = math.sqrt(3.0) * far
    return np.asarray((1.0 + size) * np.exp(-size))
