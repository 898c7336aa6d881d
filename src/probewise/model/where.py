"""Conditions: which rows of a table are kept, in a small language of comparisons that can do nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.errors import InvalidProblem
from probewise.model.formula import bare_name
from probewise.tables import named

Values = Any
"""A number, a word, or (k,) of them, one per row."""

_TOLERANCE = 1e-9
"""Numbers that differ by less, relative to their size, are equal: 0.1 + 0.2 is 0.3."""
_LONGEST = 2000
_EXAMPLE = "temperature < 100 or ligand == 'A'"
_SUMS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}


def kept(where: str, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """(k,): for which rows of the columns a condition holds."""
    rows = len(next(iter(columns.values())))
    condition = _Condition(where, columns)
    with np.errstate(all="ignore"):
        found = condition.truth(condition.tree)
    return np.array(np.broadcast_to(found, (rows,)))


class Condition(NamedTuple):
    """A condition and the columns that it names."""

    text: str
    """As it was written."""
    names: tuple[str, ...]
    """In the order in which they occur."""


def conditions(where: str, columns: Mapping[str, NDArray[Any]]) -> tuple[Condition, ...]:
    """The conditions that "and" joins to one, each with the columns that it names."""
    whole = _Condition(where, columns)
    joined = isinstance(whole.tree, ast.BoolOp) and isinstance(whole.tree.op, ast.And)
    parts = whole.tree.values if joined and isinstance(whole.tree, ast.BoolOp) else [whole.tree]
    return tuple(Condition(whole.text(part), whole.names(part)) for part in parts)


class _Condition:
    """One condition and the columns that it may name."""

    def __init__(self, where: str, columns: Mapping[str, NDArray[Any]]) -> None:
        self.where, self.columns = where, columns
        self.quoted: list[str] = []
        plain = re.sub("`([^`]*)`", self._stand_in, where)
        try:
            if len(where) > _LONGEST:
                raise ValueError("it is too long")
            self.tree = ast.parse(plain.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self.fault(error.msg if isinstance(error, SyntaxError) else str(error)) from None

    def _stand_in(self, found: re.Match[str]) -> str:
        """A name that Python can read, for one between backticks."""
        self.quoted.append(found[1])
        return f"_quoted_{len(self.quoted) - 1}"

    def text(self, part: ast.expr) -> str:
        """A part of it as it was written."""
        return re.sub("_quoted_([0-9]+)", lambda found: f"`{self.quoted[int(found[1])]}`", ast.unparse(part))

    def names(self, part: ast.expr) -> tuple[str, ...]:
        """The columns that a part names."""
        own = (self.name(node.id) for node in ast.walk(part) if isinstance(node, ast.Name))
        return tuple(dict.fromkeys(own))

    def fault(self, reason: str) -> InvalidProblem:
        """What is wrong with the condition."""
        return InvalidProblem(
            f"the condition '{self.where:.200}' cannot be used: {reason}; it compares columns, as in {_EXAMPLE}."
        )

    def truth(self, node: ast.expr) -> NDArray[np.bool_]:
        """Whether a part holds, for each row or for all."""
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(part) for part in node.values]
            both = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            out = parts[0]
            for part in parts[1:]:
                out = both(out, part)
            return out
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return np.logical_not(self.truth(node.operand))
        if isinstance(node, ast.Compare):
            return self.compared(node)
        raise self.fault(f"{ast.unparse(node)} is neither true nor false")

    def compared(self, node: ast.Compare) -> NDArray[np.bool_]:
        """a < b <= c, or a in ['x', 'y']."""
        out: NDArray[np.bool_] = np.array(True)
        left = self.value(node.left)
        for sign, other in zip(node.ops, node.comparators, strict=True):
            if isinstance(sign, ast.In | ast.NotIn):
                if not isinstance(other, ast.List | ast.Tuple | ast.Set):
                    raise self.fault("what follows in is a list, as in ['A', 'B']")
                found: NDArray[np.bool_] = np.array(False)
                for each in other.elts:
                    found = found | self.sign(ast.Eq(), left, self.value(each))
                out = out & (found if isinstance(sign, ast.In) else ~found)
            else:
                right = self.value(other)
                out = out & self.sign(sign, left, right)
                left = right
        return out

    def sign(self, sign: ast.cmpop, left: Values, right: Values) -> NDArray[np.bool_]:
        """One comparison; words can only be equal or not."""
        one, other = np.asarray(left), np.asarray(right)
        words = {array.dtype.kind == "U" for array in (one, other)}
        if len(words) > 1:
            raise self.fault("a word is compared with a number")
        if True in words:
            if not isinstance(sign, ast.Eq | ast.NotEq):
                raise self.fault("words are equal or not, and not larger")
            return np.asarray((one == other) == isinstance(sign, ast.Eq))
        slack = _TOLERANCE * np.maximum(np.abs(one), np.abs(other))
        equal = np.abs(one - other) <= slack
        if isinstance(sign, ast.Eq | ast.NotEq):
            return np.asarray(equal == isinstance(sign, ast.Eq))
        if isinstance(sign, ast.Lt | ast.LtE):
            return np.asarray(np.where(equal, isinstance(sign, ast.LtE), one < other))
        if isinstance(sign, ast.Gt | ast.GtE):
            return np.asarray(np.where(equal, isinstance(sign, ast.GtE), one > other))
        raise self.fault("is and is not compare nothing here")

    def value(self, node: ast.expr) -> Values:
        """A column, a number, a word, or arithmetic of numbers."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
            return str(node.value).lower() if isinstance(node.value, bool) else self.constant(node.value)
        if isinstance(node, ast.Name):
            return self.column(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            number = self.number(node.operand)
            return -number if isinstance(node.op, ast.USub) else number
        if isinstance(node, ast.BinOp) and type(node.op) in _SUMS:
            out = _SUMS[type(node.op)](self.number(node.left), self.number(node.right))
            if not np.isfinite(out).all():
                raise self.fault(f"{ast.unparse(node)} is not a number in some row")
            return out
        raise self.fault(f"{ast.unparse(node)[:80]} is not a column, number or word")

    def constant(self, value: float | str) -> float | str:
        """A number of the condition, or a word."""
        if isinstance(value, str):
            return value
        try:
            return float(value)
        except OverflowError:
            raise self.fault("a number in it is too large") from None

    def number(self, node: ast.expr) -> Any:
        """Numbers to calculate with."""
        value = np.asarray(self.value(node))
        if value.dtype.kind == "U":
            raise self.fault(f"{ast.unparse(node)} is text, with which nothing can be calculated")
        return value

    def column(self, name: str) -> NDArray[Any]:
        """A column by its name, or by its name without a unit."""
        return self.columns[self.name(name)]

    def name(self, name: str) -> str:
        """The column that is meant."""
        wanted = self.quoted[int(name[8:])] if re.fullmatch("_quoted_[0-9]+", name) else name
        if wanted in self.columns:
            return wanted
        bare = [own for own in self.columns if bare_name(own) == wanted]
        if len(bare) != 1:
            raise self.fault(f"there is no column '{wanted}', but {named(self.columns, most=12)}")
        return bare[0]
