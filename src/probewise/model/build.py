"""Building models: the role of every column of two tables, decided jointly, or a sentence that says what is open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.model.derived import found
from probewise.model.formula import INTERCEPT, Term, parsed, same, terms_of, written
from probewise.model.kinds import Column, column
from probewise.model.model import Factor, Model, Number, Role, Use, id_column
from probewise.numerals import plural
from probewise.tables import Table, named

_SHOWN = 8
"""Levels that a role names."""
_ROUNDING = 1e-12
"""A column that spans no more of its size is constant, but for rounding."""
_WORDS = ("main", "interactions", "quadratic", "none")


@dataclass(frozen=True, eq=False)
class _Tables:
    """Both tables, and what was said about their columns."""

    probes: Table
    """What can be measured."""
    items: Table
    """What may be recommended; the probes themselves if there is no other table."""
    said: Mapping[str, tuple[Use, str]]
    """Column -> role and reason, as the user said."""
    factors: Collection[str]
    """Columns that are factors, whatever their cells."""

    @property
    def both(self) -> tuple[Table, ...]:
        """The tables that differ."""
        return (self.probes,) if self.items is self.probes else (self.probes, self.items)

    @property
    def header(self) -> list[str]:
        """Every column of both tables once."""
        return list(dict.fromkeys(name for table in self.both for name in table.header))

    @property
    def free(self) -> list[str]:
        """Columns of which nothing was said."""
        return [name for name in self.header if name not in self.said]


def build(
    probes: Table,
    items: Table | None = None,
    model: str = "main",
    *,
    id_name: str | None = None,
    columns: Mapping[str, Use] | None = None,
    factors: Iterable[str] = (),
    shown: Iterable[str] = (),
) -> Model:
    """The model of two tables: roles of all columns and features, or one sentence.

    ``columns`` are roles that were said (cost, noise, stock), ``factors`` columns to be levels even if they are
    numbers, ``shown`` columns to be kept out of the model.
    """
    said = _said(probes, items, id_name, columns or {}, shown)
    tables = _Tables(probes, probes if items is None else items, said, tuple(factors))
    for name in tables.factors:
        if name in tables.said:
            raise InvalidProblem(f"column '{name}' cannot be a factor and {tables.said[name][0]}; say one of them.")
        tables.probes.column(name)
    for table in tables.both:
        if not len(table):
            raise InvalidProblem(f"{table.name} has no rows; give at least one.")
    word = model.strip()
    used = tables.free if word in _WORDS else _named_in(word, tables.free)
    _check_in_both(tables, used)
    read = {name: _read(tables, name) for name in used}
    roles = {name: _role(tables, name, read[name]) for name in used}
    if word == "none":
        roles = {name: _plain(tables, role) for name, role in roles.items()}
    numbers = {name: _all(read[name]) for name in used if roles[name].role == "number"}
    centred = word in _WORDS[:3] or (word not in _WORDS and INTERCEPT in parsed(word, used, set()))
    derived = found(numbers) if centred else ()
    for own in derived:
        follows = (
            f"follows from {named((name for name, _ in own.shares), most=10)} in every row, so that it adds nothing"
        )
        roles[own.name] = Role(own.name, "ignored", follows)
    parts = tuple(
        _part(name, read[name], roles[name], word) for name in used if roles[name].role in ("factor", "number")
    )
    _check_names(tables, parts, roles)
    terms = _terms(word, tables.free, parts, roles, read)
    _check_levels(tables, parts, terms, read)
    listed = [_listed(tables, name, roles) for name in tables.header]
    if not centred and word != "none":
        parts = tuple(_uncentred(part, read) for part in parts)
    return Model(word, parts, tuple(terms), tuple(listed), id_name, derived)


def remarks(model: Model, *tables: Table) -> list[str]:
    """What is worth a look, in sentences: how files were read, and levels that look alike."""
    out = [remark for table in dict.fromkeys(tables) for remark in table.remarks]
    for part in model.parts:
        if isinstance(part, Factor):
            alike: dict[str, list[str]] = {}
            for level in part.levels:
                alike.setdefault("".join(level.casefold().split()), []).append(level)
            for levels in alike.values():
                if len(levels) > 1:
                    out.append(
                        f"The levels {named(levels)} of '{part.name}' count as different; write them alike if not."
                    )
    return out


def _said(
    probes: Table, items: Table | None, id_name: str | None, columns: Mapping[str, Use], shown: Iterable[str]
) -> dict[str, tuple[Use, str]]:
    """Roles that the user gave, and the column called id."""
    out: dict[str, tuple[Use, str]] = {}
    for table in (probes, *([] if items is None else [items])):
        if (own := id_column(table, id_name)) is not None:
            out[own] = ("name", "names the rows" if id_name else "names the rows, being called id")
    for name, use in columns.items():
        probes.column(name)
        _add(out, name, use, f"the {use} of each probe, as was said")
    for name in shown:
        if items is None:
            probes.column(name)
        elif name not in (*probes.header, *items.header):
            raise InvalidProblem(f"neither {probes.name} nor {items.name} has a column '{name}' to show.")
        _add(out, name, "shown", "shown only, as was said")
    return out


def _add(roles: dict[str, tuple[Use, str]], name: str, use: Use, reason: str) -> None:
    if name in roles and roles[name][0] != use:
        raise InvalidProblem(f"column '{name}' cannot be {roles[name][0]} and {use}; say one of them.")
    roles[name] = (use, reason)


def _named_in(formula: str, columns: Sequence[str]) -> list[str]:
    """Columns that a formula uses, in the order of the tables."""
    used = {name for term in parsed(formula, columns, set()) for name, _ in term}
    return [name for name in columns if name in used]


def _check_in_both(tables: _Tables, used: Sequence[str]) -> None:
    for table, other in ((tables.probes, tables.items), (tables.items, tables.probes)):
        lacking = [name for name in used if name not in table.header]
        if lacking:
            near = [
                name for name in table.header if _bare(name) in {_bare(own) for own in lacking} and name not in used
            ]
            near += [name for name in used if name not in other.header and _bare(name) in map(_bare, lacking)]
            hint = f" (is it '{near[0]}' there?)" if near else ""
            is_, it, they = ("is", "it", "it is") if len(lacking) == 1 else ("are", "them", "they are")
            raise InvalidProblem(
                f"{named(lacking)} {is_} in {other.name} and not in {table.name}{hint}; add {it} there, say what "
                f"{they} (--cost-column, --sigma-column, --stock-column, or --show if only shown), or give a formula "
                "of the columns to use (--model)."
            )


def _bare(name: str) -> str:
    """A heading without its unit, blanks and case."""
    return "".join(name.casefold().partition("(")[0].partition("[")[0].replace("_", " ").split())


def _read(tables: _Tables, name: str) -> tuple[Column, ...]:
    """The column of each table; both must be of one kind."""
    read = tuple(column(table, name, factor=name in tables.factors) for table in tables.both)
    kinds = {own.kind for own in read}
    if len(kinds) > 1:
        first, second = (f"{_KINDS[own.kind]} in {table.name}" for own, table in zip(read, tables.both, strict=True))
        raise InvalidProblem(
            f"column '{name}' holds {first} and {second}; fill it in alike, say that it is a factor (--factor, "
            "factors=) if its numbers are levels, or only shown (--show, shown=)."
        )
    return read


_KINDS = {"number": "numbers", "text": "text", "empty": "nothing"}


def _role(tables: _Tables, name: str, read: tuple[Column, ...]) -> Role:
    """What a column is by its cells."""
    if read[0].kind == "empty":
        return Role(name, "ignored", "all its cells are empty")
    if read[0].kind == "text":
        levels = _levels(read)
        if len(levels) == 1:
            return Role(name, "constant", f"'{levels[0]}' in every row, so it makes no difference")
        why = "as was said" if name in tables.factors else "text"
        return Role(name, "factor", f"{why}; {plural(len(levels), 'level')}: {_some(levels)}")
    low, high = _span(read)
    if low == high:
        return Role(name, "constant", f"{low:g} in every row, so it makes no difference")
    return Role(name, "number", f"{low:g} to {high:g}")


def _plain(tables: _Tables, role: Role) -> Role:
    """For features as they are: constant ones are features too, and levels are none."""
    if role.role == "factor" or (role.role == "constant" and role.reason.startswith("'")):
        raise InvalidProblem(
            f"the model none takes numbers as they are, but column '{role.column}' holds text; choose another model, "
            "or say that the column is only shown (--show) or names the rows (--id-column)."
        )
    return Role(role.column, "number", role.reason.partition(",")[0] + ", as it is") if role.role != "ignored" else role


def _some(levels: Sequence[str]) -> str:
    rest = f" and {len(levels) - _SHOWN} more" if len(levels) > _SHOWN else ""
    return ", ".join(levels[:_SHOWN]) + rest


def _levels(read: tuple[Column, ...]) -> tuple[str, ...]:
    """All levels: numbers by size, then words by the alphabet."""
    return tuple(sorted({level for own in read for level in own.levels}, key=_order))


def _order(level: str) -> tuple[bool, float, str]:
    try:
        return False, float(level), level
    except ValueError:
        return True, 0.0, level


def _span(read: tuple[Column, ...]) -> tuple[float, float]:
    values = _all(read)
    low, high = float(values.min()), float(values.max())
    return (low, low) if high - low <= _ROUNDING * max(abs(low), abs(high)) else (low, high)


def _part(name: str, read: tuple[Column, ...], role: Role, model: str) -> Number | Factor:
    if role.role == "factor":
        return Factor(name, _levels(read))
    low, high = _span(read)
    return Number(name, 0.0, 1.0) if model == "none" else Number(name, 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low)


def _uncentred(part: Number | Factor, read: Mapping[str, tuple[Column, ...]]) -> Number | Factor:
    """Without an intercept, zero is zero: numbers are scaled only."""
    if isinstance(part, Factor):
        return part
    low, high = _span(read[part.name])
    return Number(part.name, 0.0, max(abs(low), abs(high)))


def _all(read: tuple[Column, ...]) -> Array:
    return np.concatenate([own.numbers for own in read if own.numbers is not None])


def _check_names(tables: _Tables, parts: Sequence[Number | Factor], roles: Mapping[str, Role]) -> None:
    """A column with another text in every row may name the rows or be a factor: somebody has to say which."""
    if len(parts) == 1 or any(use == "name" for use, _ in tables.said.values()):
        return
    for part in parts:
        if not isinstance(part, Factor) or part.name in tables.factors:
            continue
        if all(len(table) > 1 and len(set(table.texts(part.name))) == len(table) for table in tables.both):
            raise InvalidProblem(
                f"column '{part.name}' has another text in every row: say --id-column '{part.name}' if it names the "
                f"rows, or --factor '{part.name}' if it matters for the outcome."
            )


def _terms(
    model: str,
    free: Sequence[str],
    parts: Sequence[Number | Factor],
    roles: Mapping[str, Role],
    read: Mapping[str, tuple[Column, ...]],
) -> list[Term]:
    if not parts:
        raise InvalidProblem(
            "no column makes a difference between rows: "
            + ("; ".join(f"'{role.column}' is {role.role}" for role in roles.values()) or "all have other roles")
            + "; give at least one that does."
        )
    factors = [part.name for part in parts if isinstance(part, Factor)]
    if model in _WORDS:
        flat = [name for name, own in read.items() if own[0].kind == "number" and len(_values(own)) < 3]
        return terms_of(model, [part.name for part in parts], factors, flat)
    useless = {name: role.reason for name, role in roles.items() if role.role in ("constant", "ignored")}
    terms = parsed(model, free, set(factors), [name for name in free if name not in useless])
    for name in dict.fromkeys(name for term in terms for name, _ in term):
        if name in useless:
            raise InvalidProblem(f"the formula names '{name}', which cannot be used: {useless[name]}; leave it out.")
    if INTERCEPT in terms:
        _check_hierarchy(terms, set(factors))
    return terms


def _values(read: tuple[Column, ...]) -> set[float]:
    return {value for own in read if own.numbers is not None for value in np.unique(own.numbers).tolist()}


def _check_hierarchy(terms: Sequence[Term], factors: set[str]) -> None:
    """x^2 needs x, and x:y needs both: else the answer would depend on where the scale of x has its zero."""
    for term in terms:
        for name, _ in term:
            if name in factors:
                continue
            lower = tuple((own, p - (own == name)) for own, p in term if (own, p) != (name, 1))
            if not any(_contains(own, lower, factors) for own in terms):
                raise InvalidProblem(
                    f"the formula has {written(term)} and not {written(lower)}, so the answer would depend on the "
                    f"zero of '{name}'; add {written(lower)}."
                )


def _contains(term: Term, wanted: Term, factors: set[str]) -> bool:
    """Whether a term is the wanted one, perhaps with more factors, whose features add up to it."""
    return same(tuple(pair for pair in term if pair[0] not in factors or pair in wanted), wanted)


def _check_levels(
    tables: _Tables, parts: Sequence[Number | Factor], terms: Sequence[Term], read: Mapping[str, tuple[Column, ...]]
) -> None:
    """Levels that no probe has, and numbers that no probe varies, are named with what could be done."""
    if tables.items is tables.probes:
        return
    single = [
        part for part in parts if any(same(term, ((part.name, 1),)) for term in terms)
    ]  # the problem tells others
    for part in single:
        if isinstance(part, Factor):
            _check_seen(tables, part.name, *read[part.name])
    fixed = {
        part.name: second.numbers != first.numbers[0]
        for part in single
        if (first := read[part.name][0]).numbers is not None
        and (second := read[part.name][1]).numbers is not None
        and np.ptp(first.numbers) == 0.0 < np.ptp(second.numbers)
    }
    if fixed:
        (is_, it, does) = ("is", "it", "does") if len(fixed) == 1 else ("are", "they", "do")
        count = int(np.any(list(fixed.values()), axis=0).sum())
        raise InvalidProblem(
            f"{named(fixed)} {is_} the same in every probe, but {plural(count, 'item')} of {len(tables.items)} "
            f"{'differs' if count == 1 else 'differ'} from that, and no probe shows what {it} {does}: add probes in "
            f"which {it} {'differs' if it == 'it' else 'differ'}, or leave these items out."
        )


def _check_seen(tables: _Tables, name: str, probes: Column, items: Column) -> None:
    """Every level of the items must be in a probe, unless all items share one that is not: it drops out."""
    unseen = sorted(set(items.levels) - set(probes.levels), key=_order)
    if not unseen or len(set(items.levels)) == 1:
        return
    rows = [row for row, level in enumerate(items.levels) if level in set(unseen)]
    it, s = ("it", "") if len(unseen) == 1 else ("them", "s")
    raise InvalidProblem(
        f"no probe has the level{s} {named(unseen)} of '{name}', but {plural(len(rows), 'item')} "
        f"{'has' if len(rows) == 1 else 'have'} {it} ({tables.items.place(rows[0])}), so nothing can be learned "
        f"about {it}{_near(unseen, probes.levels)}: add probes with {it}, leave these items out, or use a formula "
        f"without '{name}' if it surely does not matter."
    )


def _near(unseen: Sequence[str], known: Iterable[str]) -> str:
    """A guess at what was meant."""
    import difflib

    folded = {level.casefold(): level for level in known}
    for level in unseen:
        if close := difflib.get_close_matches(level.casefold(), list(folded), n=1, cutoff=0.8):
            return f" (is '{level}' the same as '{folded[close[0]]}'?)"
    return ""


def _listed(tables: _Tables, name: str, roles: Mapping[str, Role]) -> Role:
    if name in tables.said:
        return Role(name, *tables.said[name])
    return roles.get(name) or Role(name, "ignored", "the formula does not name it")
