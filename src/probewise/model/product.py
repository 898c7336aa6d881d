"""Products: spaces whose combinations are never listed, as parts whose effects add up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probewise.errors import InvalidProblem
from probewise.model.model import Model
from probewise.model.where import Condition, kept
from probewise.tables import Labelled, Table, as_text, named

_MOST = 1_000_000
"""Combinations of columns that interact, which are listed."""
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Space:
    """All combinations of one row of each part for which the conditions hold; what is not listed need not fit anywhere.

    It serves as the items of `Problem.from_tables`, if the model adds up what parts contribute.
    """

    parts: tuple[Columns, ...]
    """Columns with their values; those of a mixture are together, every other one is by itself."""
    conditions: tuple[Condition, ...] = ()
    """What combinations have to fulfil, each by itself."""

    @property
    def header(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(name for part in self.parts for name in part)

    @property
    def size(self) -> int:
        """Number of combinations, whether they fulfil the conditions or not."""
        return math.prod(map(_rows, self.parts))

    def __repr__(self) -> str:
        return f"Space({self.size:,} combinations of {', '.join(self.header)})"

    def reduced(self) -> Space:
        """The same, with conditions on the columns of one part fulfilled by what is left of it."""
        own = [[c for c in self.conditions if set(c.names) <= set(part)] for part in self.parts]
        done = {condition for some in own for condition in some}
        parts = tuple(_kept(part, some) for part, some in zip(self.parts, own, strict=True))
        return Space(parts, tuple(condition for condition in self.conditions if condition not in done))

    @property
    def example(self) -> Table:
        """A table in which every value of every column occurs, one part varied at a time, to build a model from."""
        first = {name: column[:1] for part in self.parts for name, column in part.items()}
        rows = [{**first, **part} for part in self.parts]
        return _table([_filled(row) for row in rows])

    def blocks(self, model: Model) -> tuple[Columns, ...]:
        """Columns that the model or a condition ties to each other, with all their combinations; the rest by itself.

        A block of one row makes no difference and is left out, unless all are.
        """
        used = {part.name for part in model.parts} | {own.name for own in model.derived}
        if idle := [name for part in self.parts for name in part if _rows(part) > 1 and name not in used]:
            raise InvalidProblem(
                f"{named(idle)} of the space makes no difference in the model, so that no combination can be the best; "
                "add it to the model, or leave it out of the space."
            )
        ties = [{name for name, _ in term} for term in model.terms]
        ties += [set(condition.names) for condition in self.conditions]
        joined = [self._listed(group) for group in _connected([set(part) for part in self.parts], ties)]
        return tuple(block for block in joined if _rows(block) > 1) or tuple(joined[:1])

    def levels(self, blocks: Sequence[Columns]) -> tuple[Table, Table, tuple[str, ...]]:
        """Each row of each block with the first row of all others; the same with only its own cells; and names."""
        fixed = {name: column[:1] for part in self.parts for name, column in part.items()}
        fixed |= {name: column[:1] for block in blocks for name, column in block.items()}
        whole = _table([_filled({**fixed, **block}) for block in blocks])
        shown: dict[str, list[str]] = {name: [] for name in fixed if any(name in block for block in blocks)}
        names: list[str] = []
        for block in blocks:
            texts = {name: [as_text(cell) for cell in column.tolist()] for name, column in block.items()}
            for name, cells in shown.items():
                cells.extend(texts.get(name, [""] * _rows(block)))
            names += [", ".join(f"{name}={texts[name][row]}" for name in texts) for row in range(_rows(block))]
        return whole, Table(whole.name, tuple(shown), tuple(shown.values())), tuple(names)

    def _listed(self, group: set[str]) -> Columns:
        """All combinations of the parts with these columns for which the conditions on them hold."""
        parts = [part for part in self.parts if group & set(part)]
        sizes, own = tuple(map(_rows, parts)), [c for c in self.conditions if set(c.names) & group]
        if (total := math.prod(sizes)) > _MOST:
            raise InvalidProblem(
                f"{named(sorted(group))} depend on each other, by the model or by a condition, so that their {total:,} "
                f"combinations would have to be listed, and {_MOST:,} are the most; leave interactions or conditions "
                "out, or give fewer values."
            )
        at = np.unravel_index(np.arange(total), sizes)
        rows = {name: column[where] for part, where in zip(parts, at, strict=True) for name, column in part.items()}
        return _kept(rows, own)


def _rows(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _kept(columns: Columns, conditions: Sequence[Condition]) -> Columns:
    """The rows for which all conditions hold; there must be some."""
    rows, total = columns, _rows(columns)
    for condition in conditions:
        chosen = kept(condition.text, rows)
        rows = {name: column[chosen] for name, column in rows.items()}
    if not _rows(rows):
        raise InvalidProblem(
            f"none of the {total:,} combinations of {named(rows)} fulfils {named(c.text for c in conditions)}; "
            "change it."
        )
    return rows


def _filled(columns: Columns) -> Columns:
    """All columns as long as the longest, those of one value repeated."""
    longest = max(map(len, columns.values()))
    return {name: np.repeat(column, longest) if len(column) == 1 else column for name, column in columns.items()}


def _table(parts: Sequence[Columns]) -> Table:
    """The rows of all parts, one after the other."""
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    cells = (column.astype(object) if column.dtype.kind == "U" else column for column in columns.values())
    return Table("the space", tuple(columns), tuple(cells))


def _connected(groups: Iterable[set[str]], ties: Iterable[set[str]]) -> list[set[str]]:
    """Groups that ties hold together become one, where the first of them was."""
    out = list(groups)
    for tie in ties:
        touched = [group for group in out if group & tie]
        if len(touched) > 1:
            at = out.index(touched[0])
            out[at] = set().union(*touched)
            out = [group for group in out if group is out[at] or not any(group is own for own in touched[1:])]
    return out


def coded(model: Model, space: Space) -> tuple[Labelled, Table, tuple[int, ...]]:
    """Features of every row of every block, with the first row of all others; their table; how many each block has."""
    blocks = space.blocks(model)
    whole, shown, names = space.levels(blocks)
    return Labelled(model.coded(whole).values, names, model.features), shown, tuple(map(_rows, blocks))
