"""Contrasts: what each column of a model does, as differences of features averaged over a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from probewise.coordinates import Array
from probewise.model.formula import Term
from probewise.model.model import Factor, Model, Number

LEVELS = 100
"""Levels up to which the effects of a factor are looked at one by one."""


@dataclass(frozen=True, eq=False)
class Contrast:
    """One column changes, and all others stay as they are in each row of the table."""

    column: str
    """Which one."""
    what: str
    """A level, compared with the mean of all levels of the column that items have, or "60 to 100"."""
    span: float | None
    """By how much a number changes, in its own units; None for a level."""
    above: Array
    """(d,): features after the change, as far as they change, averaged over the table;"""
    below: Array
    """(d,): and before it."""
    averaged: bool
    """Whether the difference depends on other columns, so that it is a mean over the table."""


def contrasts(model: Model, probes: Array, items: Array) -> tuple[Contrast, ...]:
    """Every level that an item has, and every number over what both tables (n, d), (m, d) of features span.

    A factor with more than LEVELS levels is left out. A number that is in the model with a power goes from its lowest
    to its middle and from there to its highest value. Means are over the items.
    """
    table = _Table(model, items, np.vstack([probes, items]))
    if any(((part.name, 1),) not in model.terms for part in model.parts):  # columns cannot be told from their products
        return ()
    found: list[Contrast] = []
    for part in model.parts:
        found += _levels(table, part) if isinstance(part, Factor) else _steps(table, part)
    return tuple(own for own in found if (own.above != own.below).any())


@dataclass(frozen=True, eq=False)
class _Table:
    """The items, column by column."""

    model: Model
    items: Array
    """(m, d)."""
    both: Array
    """(n + m, d): probes and items."""

    def block(self, rows: Array, name: str) -> Array:
        """(k, levels or 1): the features of one column by itself."""
        return rows[:, self._places[((name, 1),)]]

    @cached_property
    def _places(self) -> dict[Term, slice]:
        sizes = {part.name: len(part.levels) if isinstance(part, Factor) else 1 for part in self.model.parts}
        ends = np.cumsum([int(np.prod([sizes[name] for name, _ in term])) for term in self.model.terms]).tolist()
        return {term: slice(low, high) for term, low, high in zip(self.model.terms, [0, *ends], ends, strict=False)}

    def at(self, name: str, values: Array) -> Array:
        """(k, d): mean features of the terms that have a column, if that is each of ``values`` (k, levels or 1)."""
        out = np.zeros((len(values), self.items.shape[1]))
        for term, place in self._places.items():
            powers = dict(term)
            if name not in powers:
                continue
            others = [self.block(self.items, other) ** power for other, power in term if other != name]
            mean, axis = _mean_product(others), [own for own, _ in term].index(name)
            product = np.moveaxis(np.multiply.outer(values ** powers[name], mean), 1, axis + 1)
            out[:, place] = product.reshape(len(values), -1)
        return out

    def averaged(self, name: str) -> bool:
        return any(len(term) > 1 and name in dict(term) for term in self.model.terms)


def _mean_product(blocks: list[Array]) -> Array:
    """(d1, d2, …): the mean over rows of products of one column of each block; 1 without any."""
    if not blocks:
        return np.array(1.0)
    letters = "abcdefghijklmnop"[: len(blocks)]
    rule = ",".join(f"z{letter}" for letter in letters)
    return np.asarray(np.einsum(f"{rule}->{letters}", *blocks) / len(blocks[0]))


def _levels(table: _Table, part: Factor) -> Iterator[Contrast]:
    """Each level that an item has against the mean of these levels; of others, nothing need ever be measured."""
    there = np.flatnonzero(table.block(table.items, part.name).any(axis=0))
    if there.size > LEVELS:
        return
    rows = table.at(part.name, np.eye(len(part.levels))[there])
    for row, at in zip(rows, there.tolist(), strict=True):
        yield Contrast(part.name, part.levels[at], None, row, rows.mean(axis=0), table.averaged(part.name))


def _steps(table: _Table, part: Number) -> Iterator[Contrast]:
    """From the lowest value to the highest, by way of the middle if the model is curved."""
    seen = table.block(table.both, part.name)
    curved = any(dict(term).get(part.name, 1) > 1 for term in table.model.terms)
    stops = np.linspace(seen.min(), seen.max(), 3 if curved else 2)
    rows, values = table.at(part.name, stops[:, None]), (part.centre + part.scale * stops).tolist()
    for at, (first, last) in enumerate(pairwise(values)):
        what = f"{first:.6g} to {last:.6g}"
        yield Contrast(part.name, what, last - first, rows[at + 1], rows[at], table.averaged(part.name))
