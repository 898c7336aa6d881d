"""Formulas: which columns, products and powers a model has, in the notation of statisticians."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TypeAlias

from probewise.errors import InvalidProblem
from probewise.tables import named

Term: TypeAlias = tuple[tuple[str, int], ...]
"""Columns and their powers, multiplied; () is the intercept."""

INTERCEPT: Term = ()
_WORDS = ("main", "interactions", "quadratic", "none")
_TOKEN = re.compile(r"\s*(?:(`[^`]*`|\"[^\"]*\"|'[^']*')|([^\W\d][\w.]*)|(\*\*|[-+:*^().])|([0-9]+)|(\S))")
_UNIT = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*")
_EXAMPLE = "ligand + temperature + temperature^2 + ligand:temperature"
_MOST = 9
"""Largest power."""


def written(term: Term) -> str:
    """A term as formulas have it."""
    return ":".join(f"{name}^{power}" if power > 1 else name for name, power in term) or "intercept"


def bare_name(column: str) -> str:
    """The name of a column without its unit in brackets."""
    return _UNIT.sub("", column)


def terms_of(model: str, columns: Sequence[str], factors: Iterable[str], two_valued: Iterable[str] = ()) -> list[Term]:
    """The terms of "main", "interactions", "quadratic", "none" or a formula, the intercept first if there is one."""
    if model not in _WORDS:
        return parsed(model, columns, set(factors))
    single: list[Term] = [((name, 1),) for name in columns]
    if model == "none":
        return single
    out = [INTERCEPT, *single]
    if model != "main":
        out += [_product(one, other) for one, other in combinations(single, 2)]
    if model == "quadratic":
        out += [((name, 2),) for name in columns if name not in {*factors, *two_valued}]
    return out


def parsed(formula: str, columns: Sequence[str], factors: set[str], every: Sequence[str] | None = None) -> list[Term]:
    """The terms of a formula of +, -, :, *, ^ and parentheses, with an intercept unless it ends in - 1.

    A point stands for ``every`` column, all if not given.
    """
    parser = _Parser(formula, columns, factors, columns if every is None else every)
    if "~" in formula:
        raise parser.fault("leave the outcome and ~ out")
    terms = parser.sum()
    if parser.here is not None:
        raise parser.fault(f"did not expect '{parser.here}'")
    names = {name for term in terms for name, _ in term}
    if not names:
        raise parser.fault("it names no column")
    return sorted(terms, key=lambda term: (sum(power for _, power in term) > 0, len(term) > 1 or _power(term) > 1))


def _power(term: Term) -> int:
    return max((power for _, power in term), default=0)


def _product(one: Term, other: Term, factors: Iterable[str] = ()) -> Term:
    """Both terms multiplied; a factor times itself is itself."""
    powers = dict(one)
    for name, power in other:
        powers[name] = 1 if name in factors else powers.get(name, 0) + power
    return tuple(powers.items())


def same(one: Term, other: Term) -> bool:
    """Whether two terms are one, whatever their order."""
    return dict(one) == dict(other)


class _Parser:
    """One pass from left to right: sum > product > power > name."""

    def __init__(self, formula: str, columns: Sequence[str], factors: set[str], every: Sequence[str]) -> None:
        self.formula, self.columns, self.factors, self.every = formula, columns, factors, every
        self.tokens: list[tuple[str, str]] = []
        kinds = ("quoted", "name", "sign", "number", "other")
        for found in _TOKEN.finditer(formula):
            kind = kinds[(found.lastindex or 1) - 1]
            self.tokens.append((kind, found[found.lastindex or 1]))
        self.at = 0

    @property
    def here(self) -> str | None:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else None

    def fault(self, reason: str) -> InvalidProblem:
        words = f"a model is main, interactions, quadratic, none, or a formula such as {_EXAMPLE}"
        return InvalidProblem(f"the model '{self.formula:.200}' cannot be understood: {reason}; {words}.")

    def take(self, *signs: str) -> str | None:
        """The next sign, if it is one of these."""
        if self.here in signs and self.tokens[self.at][0] == "sign":
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def sum(self) -> list[Term]:
        """Terms added and taken away, from left to right; an intercept stands at the outermost unless taken away."""
        outer = self.at == 0
        terms: list[Term] = [INTERCEPT] if outer else []
        sign = self.take("+", "-") or "+"
        while True:
            for term in self.product():
                terms = [own for own in terms if not same(own, term)] + ([term] if sign == "+" else [])
            sign_here = self.take("+", "-")
            if sign_here is None:
                return terms
            sign = sign_here

    def product(self) -> list[Term]:
        """a:b, or a*b, which is a + b + a:b."""
        if self.here == "0" and self.tokens[self.at][0] == "number":
            raise self.fault("write - 1 to leave the intercept out")
        left = self.power()
        while sign := self.take(":", "*"):
            right = self.power()
            both = [_product(one, other, self.factors) for one in left for other in right]
            left = both if sign == ":" else _union(left, right, both)
        return left

    def power(self) -> list[Term]:
        """x^2, or (a + b + c)^2: all products of two of them."""
        grouped, base = self.here == "(", self.atom()
        if not self.take("^", "**"):
            return base
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("", "nothing")
        if kind != "number" or not 1 <= int(text) <= _MOST:
            raise self.fault(f"a power is a whole number from 1 to {_MOST}, got '{text}'")
        self.at += 1
        if grouped:
            out = base
            for _ in range(int(text) - 1):
                products = [_product(one, other, {name for name, _ in (*one, *other)}) for one in out for other in base]
                out = _union(out, products)
            return out
        ((name, _),) = base[0]
        if name in self.factors:
            raise self.fault(f"'{name}' is a factor, whose powers are itself")
        return [((name, int(text)),)]

    def atom(self) -> list[Term]:
        """A name, 1, . for all columns, or a sum in parentheses."""
        if self.take("("):
            inner = self.sum()
            if not self.take(")"):
                raise self.fault("a parenthesis is not closed")
            return inner
        if self.take("."):
            return [((name, 1),) for name in self.every]
        if self.at >= len(self.tokens):
            raise self.fault("it ends too early" if self.tokens else "it is empty")
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number" and text == "1":
            return [INTERCEPT]
        if kind not in ("name", "quoted"):
            raise self.fault(f"did not expect '{text}'")
        if self.here == "(" and text not in self.columns:
            raise self.fault(f"functions such as {text}(...) are not part of it: add a column with their values")
        return [((self.column(text if kind == "name" else text[1:-1]), 1),)]

    def column(self, wanted: str) -> str:
        """The column of this name, or of this name and a unit: temperature for temperature (°C)."""
        if wanted in self.columns:
            return wanted
        bare = [name for name in self.columns if bare_name(name) == wanted]
        if len(bare) != 1:
            raise self.fault(f"there is no column '{wanted}' to use, but {named(self.columns, most=12)}")
        return bare[0]


def _union(*lists: list[Term]) -> list[Term]:
    out: list[Term] = []
    for term in (term for terms in lists for term in terms):
        if not any(same(term, own) for own in out):
            out.append(term)
    return out
