"""Models: from the columns of a table to features, the same for every table that they are given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.model.derived import Derived, check_derived
from probewise.model.formula import Term, bare_name, written
from probewise.model.kinds import column
from probewise.numerals import plural
from probewise.tables import Labelled, Table, as_text, named

Use: TypeAlias = Literal["name", "factor", "number", "constant", "cost", "noise", "stock", "shown", "ignored"]

_SHOWN = 8
"""Levels that are named."""
_LARGEST = 2 << 30
"""Bytes of features, of all rows together."""
_NAMED = 6
"""Columns that a name may be made of."""


@dataclass(frozen=True)
class Role:
    """What a column is for."""

    column: str
    """Its name."""
    role: Use
    """The role, in one word."""
    reason: str
    """Why it has this role, or what it holds."""


@dataclass(frozen=True)
class Number:
    """A column of numbers: its feature is (x - centre) / scale."""

    name: str
    """Of the column."""
    centre: float
    """The middle of what both tables span, or 0."""
    scale: float
    """Half of what both tables span, or 1."""


@dataclass(frozen=True)
class Factor:
    """A column of levels, each with a feature of its own that is 1 or 0: no level is the reference."""

    name: str
    """Of the column."""
    levels: tuple[str, ...]
    """All levels of both tables, in the order of the alphabet."""


@dataclass(frozen=True)
class Model:
    """Roles of all columns, and the features that are made of some."""

    given: str
    """As it was asked for: main, interactions, quadratic, none or a formula."""
    parts: tuple[Number | Factor, ...]
    """The columns that features are made of."""
    terms: tuple[Term, ...]
    """Products of powers of them; () is the intercept."""
    roles: tuple[Role, ...]
    """Every column of both tables, in order."""
    id_column: str | None = None
    """The column that names the rows, where it was said."""
    derived: tuple[Derived, ...] = ()
    """Columns that follow from others, which further rows have to do too."""

    def __post_init__(self) -> None:
        parts = [part.name for part in self.parts]
        if len(set(parts)) < len(parts) or {name for term in self.terms for name, _ in term} - set(parts):
            raise InvalidProblem("the terms of a model must be made of its columns, each of which is there once.")
        if any(len(set(part.levels)) < len(part.levels) for part in self.parts if isinstance(part, Factor)):
            raise InvalidProblem("the levels of a factor must differ.")

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, such as temperature^2 and ligand=A."""
        return tuple(feature for term in self.terms for feature in self._names(term))

    @property
    def dimension(self) -> int:
        """Number of features."""
        sizes = {part.name: len(part.levels) if isinstance(part, Factor) else 1 for part in self.parts}
        return sum(math.prod(sizes[name] for name, _ in term) for term in self.terms)

    @property
    def formula(self) -> str:
        """All terms, written out."""
        words = [written(term) for term in self.terms]
        return " + ".join(words if () in self.terms else [*words, "0"]).replace(" + 0", " - 1")

    @property
    def in_units(self) -> Model:
        """The same model with numbers as they are, neither centred nor scaled: for effects in the users' own units."""
        plain = (Number(p.name, 0.0, 1.0) if isinstance(p, Number) else p for p in self.parts)
        return replace(self, parts=tuple(plain))

    def coded(self, table: Table) -> Labelled:
        """(k, d): the features of each row, with names of rows and features; a level that is not known is refused."""
        size = 8 * len(table) * self.dimension
        if size > _LARGEST:
            raise InvalidProblem(
                f"{plural(len(table), 'row')} of {table.name} with {plural(self.dimension, 'feature')} take "
                f"{size / 1e9:.1f} GB, and {_LARGEST / 1e9:.1f} is the most; choose a smaller model or fewer rows."
            )
        for own in self.derived:
            check_derived(own, table)
        blocks = {part.name: _block(part, table) for part in self.parts}
        values = [_multiplied([blocks[name] ** power for name, power in term], len(table)) for term in self.terms]
        return Labelled(np.hstack(values), self.names(table), self.features)

    def names(self, table: Table) -> tuple[str, ...]:
        """A name for each row: of the column for it, else of the index, else made of the cells or of its number."""
        if (own := id_column(table, self.id_column)) is not None:
            return table.text(own)
        if table.index is not None and table.index != tuple(map(str, range(len(table)))):
            return table.index
        columns = [part.name for part in self.parts]
        if not 0 < len(columns) <= _NAMED:
            return tuple(f"row {number}" for number in range(1, len(table) + 1))
        several = sum(isinstance(part, Number) for part in self.parts) > 1
        cells = (_worded(part, table, several) for part in self.parts)
        return _numbered([", ".join(row) for row in zip(*cells, strict=True)])

    def describe(self) -> list[str]:
        """Lines for people: the role of every column, and the terms of the model."""
        wide = max((len(role.column) for role in self.roles), default=0)
        lines = [f"{role.column:{wide}}  {role.role:8}  {role.reason}" for role in self.roles]
        return [*lines, f"model: {self.formula} ({plural(self.dimension, 'feature')})"]

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON has them."""
        parts = [{"kind": type(part).__name__.lower(), **asdict(part)} for part in self.parts]
        return {
            "given": self.given,
            "parts": [{**part, "levels": list(part["levels"])} if "levels" in part else part for part in parts],
            "terms": [[list(pair) for pair in term] for term in self.terms],
            "roles": [asdict(role) for role in self.roles],
            "id_column": self.id_column,
            "derived": [{**asdict(own), "shares": [list(pair) for pair in own.shares]} for own in self.derived],
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Model:
        """What ``to_json`` wrote."""
        return cls(
            body["given"],
            tuple(_part(part) for part in body["parts"]),
            tuple(tuple((name, power) for name, power in term) for term in body["terms"]),
            tuple(Role(**role) for role in body["roles"]),
            body["id_column"],
            tuple(Derived(**{**own, "shares": tuple((n, s) for n, s in own["shares"])}) for own in body["derived"]),
        )

    def _names(self, term: Term) -> list[str]:
        out = [""]
        for name, power in term:
            part = next(part for part in self.parts if part.name == name)
            if isinstance(part, Factor):
                own = [f"{name}={level}" for level in part.levels]
            else:
                own = [written(((name, power),))]
            out = [f"{before}:{after}".lstrip(":") for before in out for after in own]
        return out if term else ["intercept"]


def id_column(table: Table, wanted: str | None) -> str | None:
    """The column that names the rows: the one wanted, else the one called id in any case."""
    if wanted is not None:
        table.column(wanted)
        return wanted
    found = [name for name in table.header if name.casefold() == "id"]
    if len(found) > 1:
        raise InvalidProblem(f"{table.name} has more than one column called id, {named(found)}; say which one it is.")
    return found[0] if found else None


def level_codes(part: Factor, table: Table) -> NDArray[np.int64]:
    """(k,): which level each row has."""
    levels = column(table, part.name, factor=True).levels
    place = {level: at for at, level in enumerate(part.levels)}
    if unknown := [row for row, level in enumerate(levels) if level not in place]:
        raise InvalidProblem(
            f"{table.place(unknown[0])}, column '{part.name}': '{levels[unknown[0]]}' is not one of the levels that "
            f"the model has, {named(part.levels, most=_SHOWN)}; use one of these, or begin anew with both tables."
        )
    return np.array([place[level] for level in levels], dtype=np.int64)


def _block(part: Number | Factor, table: Table) -> Array:
    """(k, number of levels) of 0 and 1, or (k, 1) of numbers."""
    if isinstance(part, Factor):
        out = np.zeros((len(table), len(part.levels)))
        out[np.arange(len(table)), level_codes(part, table)] = 1.0
        return out
    read = column(table, part.name)
    if read.numbers is None:
        raise InvalidProblem(f"column '{part.name}' of {table.name} must hold numbers, got {read.kind}.")
    return np.asarray((read.numbers - part.centre) / part.scale)[:, None]


def _multiplied(blocks: list[Array], rows: int) -> Array:
    """(k, d1·d2·…): all products of one column of each block; ones without any."""
    out = np.ones((rows, 1))
    for block in blocks:
        out = (out[:, :, None] * block[:, None, :]).reshape(rows, out.shape[1] * block.shape[1])
    return out


def _worded(part: Number | Factor, table: Table, several: bool) -> list[str]:
    """Cells as names have them: 60 °C if the heading has the unit, and dose 3 if there are several numbers."""
    if isinstance(part, Factor):
        return table.texts(part.name)
    numbers = column(table, part.name).numbers
    cells = [] if numbers is None else map(as_text, numbers.tolist())
    bare = bare_name(part.name)
    unit = part.name[len(bare) :].strip(" ()[]") if part.name.startswith(bare) else ""
    return [f"{f'{bare} ' if several and not unit else ''}{cell}{unit and f' {unit}'}" for cell in cells]


def _numbered(names: list[str]) -> tuple[str, ...]:
    """The same names, those that came before with a number: A, B, A (2)."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(out)


def _part(body: Mapping[str, Any]) -> Number | Factor:
    if body["kind"] == "number":
        return Number(body["name"], body["centre"], body["scale"])
    return Factor(body["name"], tuple(body["levels"]))
