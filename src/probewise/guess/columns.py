"""Columns: the features from which second-order effects are made, for probes and items alike."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.model import Factor, Model, Number
from probewise.numerals import plural
from probewise.problem import Problem

_OWN = 12
"""Features up to which each has a variance of its own, where they were given as they are."""
_LITTLE = 1e-9
"""A feature that varies less, in units of its size, is constant."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Block:
    """Main effects that share one variance: the levels of a factor, a number, or numbers of which there are many."""

    main: Array
    """(rows, k): features with mean 0 and mean square 1, or the levels of a factor, centred, of length 1."""
    squares: Array | None
    """(rows, k'): squares of numbers without what is constant or linear in them; None where there are none."""
    exclusive: bool
    """Whether the features are levels, of which no two can meet in a product."""

    @property
    def effects(self) -> int:
        """How many main effects it counts for: one for a factor or a number."""
        return 1 if self.exclusive else self.main.shape[1]

    @property
    def levels(self) -> Rows:
        """(rows,): the level of each row; only where features are levels."""
        return np.asarray(np.argmax(self.main, axis=1))

    def powers(self, one: Rows, other: Rows) -> tuple[Array, ...]:
        """Σ_j (x_j x'_j)^k over the effects j of each of some rows and of others: k = 1, and 2 if there are more."""
        first, second = self.main[one], self.main[other]
        return (first @ second.T,) if self.effects == 1 else (first @ second.T, first**2 @ (second**2).T)

    def sizes(self, rows: Rows) -> tuple[Array, ...]:
        """The powers of each row with itself."""
        own = self.main[rows] ** 2
        return (own.sum(axis=1),) if self.effects == 1 else (own.sum(axis=1), (own**2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Columns:
    """All blocks, over the rows of the probes and then of the items."""

    blocks: tuple[Block, ...]
    """At least one."""
    n_probes: int
    """Rows that are probes; the others are items."""
    n_items: int
    """Rows that are items."""
    described: str
    """What second-order effects are made of, in words."""

    @property
    def squares(self) -> tuple[Array | None, ...]:
        """The squares of each block."""
        return tuple(block.squares for block in self.blocks)

    @property
    def probes(self) -> Rows:
        """Rows of the probes."""
        return np.arange(self.n_probes)

    @property
    def items(self) -> Rows:
        """Rows of the items."""
        return self.n_probes + np.arange(self.n_items)


def columns_of(problem: Problem) -> Columns:
    """The columns of a problem that was made from tables, as its main effects have them; else every feature."""
    X = np.vstack([problem.probes, problem.sign * problem.items])  # negated items turned back
    if problem.model is None or (mains := _mains(problem.model)) is None:
        return _of_features(problem, X)
    blocks = [_levels(X[:, at]) for part, at in mains.items() if isinstance(part, Factor)]
    numbers = [X[:, at] for part, at in mains.items() if isinstance(part, Number)]
    blocks += _numbers(np.hstack(numbers)) if numbers else []
    names = ", ".join(part.name for part in mains)
    about = f"the columns {names}: squares of numbers, products of two columns, a surface, and single rows"
    return Columns(tuple(blocks), problem.n_probes, problem.n_items, about)


def _mains(model: Model) -> dict[Number | Factor, slice] | None:
    """Where each column has its own features; None if one has none."""
    sizes = {part.name: len(part.levels) if isinstance(part, Factor) else 1 for part in model.parts}
    places, at = {}, 0
    for term in model.terms:
        size = math.prod(sizes[name] for name, _ in term)
        places[term] = slice(at, at + size)
        at += size
    found = {part: places.get(((part.name, 1),)) for part in model.parts}
    kept = {part: place for part, place in found.items() if place is not None}
    return kept if len(kept) == len(found) else None


def _of_features(problem: Problem, X: Array) -> Columns:
    """Features that vary."""
    varies = np.ptp(X, axis=0) > _LITTLE * np.abs(X).max(axis=0)
    blocks = _numbers(X[:, varies]) or [Block(np.zeros((len(X), 1)), None, exclusive=False)]
    shared = " that share one variance" if varies.sum() > _OWN else ""
    features = plural(int(varies.sum()), "feature")
    made = "their squares, products of two of them, a surface, and single rows"
    about = f"{features}, each taken as a number{shared}: {made}"
    return Columns(tuple(blocks), problem.n_probes, problem.n_items, about)


def _levels(indicators: Array) -> Block:
    """(rows, L) of 0 and 1, centred, so that a row has length 1 and two levels have the product -1/(L - 1)."""
    count = indicators.shape[1]
    return Block((indicators - 1.0 / count) * np.sqrt(count / (count - 1.0)), None, exclusive=True)


def _numbers(values: Array) -> list[Block]:
    """A block for each of the columns of (rows, k), or one for all of them if they are many."""
    centred = values - values.mean(axis=0)
    scaled = centred / np.sqrt(np.mean(centred**2, axis=0))
    squares = [_square(column) for column in scaled.T]
    if scaled.shape[1] > _OWN:
        kept = [own for own in squares if own is not None]
        return [Block(scaled, np.column_stack(kept) if kept else None, exclusive=False)]
    pairs = zip(scaled.T, squares, strict=True)
    return [Block(x[:, None], None if q is None else q[:, None], exclusive=False) for x, q in pairs]


def _square(x: Array) -> Array | None:
    """(rows,): x² without its constant and its linear part, with mean square 1; None if nothing is left."""
    q = x**2 - 1.0
    q = q - x * float(np.mean(q * x))
    size = float(np.sqrt(np.mean(q**2)))
    return q / size if size > 1e-6 else None
