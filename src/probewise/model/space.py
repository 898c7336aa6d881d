"""Spaces: all combinations of levels, grids of numbers and shares of mixtures, as a table of items or probes."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from probewise.errors import InvalidProblem
from probewise.model.product import Space
from probewise.model.where import conditions, kept
from probewise.tables import Table, duplicated, named

Values: TypeAlias = Iterable[Any] | Mapping[str, float]
"""Levels or numbers, or a grid of numbers: from, to, and step or count."""

_BLOCK = 1 << 20
"""Combinations that are looked at together."""
_MOST_TRIED, _MOST_KEPT = 10**9, 1 << 31
"""Combinations that are looked at in all; bytes of those that are kept."""
_GRID = {"from", "to", "step", "count"}


@overload
def space(
    columns: Mapping[str, Values],
    *,
    where: str | None = None,
    mixture: Sequence[str] = (),
    step: float = 0.1,
    lazy: Literal[False] = False,
) -> Table: ...
@overload
def space(
    columns: Mapping[str, Values],
    *,
    where: str | None = None,
    mixture: Sequence[str] = (),
    step: float = 0.1,
    lazy: Literal[True],
) -> Space: ...
def space(
    columns: Mapping[str, Values],
    *,
    where: str | None = None,
    mixture: Sequence[str] = (),
    step: float = 0.1,
    lazy: bool = False,
) -> Table | Space:
    """The table of all combinations of the values of each column for which ``where`` holds.

    A column is a list of levels or numbers, or {"from": 60, "to": 100, "step": 10} (or "count": 5). The columns of
    ``mixture`` are shares in steps of ``step`` that sum to 1. ``where`` compares columns, as in
    "temperature < 100 or ligand == 'A'"; numbers that differ by rounding count as equal. With ``lazy`` nothing is
    listed: any number of combinations can be the items of `Problem.from_tables`, if the model is a sum of what columns,
    or small groups of them, contribute.
    """
    blocks = [{name: _values(name, values)} for name, values in columns.items()]
    if mixture:
        blocks.append(_shares(mixture, step))
    names = [name for block in blocks for name in block]
    if twice := duplicated(names):
        raise InvalidProblem(f"each column of a space needs its own name, but {named(twice)} stands in it twice.")
    if not names:
        raise InvalidProblem("a space needs at least one column; give levels, numbers or shares.")
    if lazy:
        found = {name: column for block in blocks for name, column in block.items()}
        return Space(tuple(blocks), () if where is None else conditions(where, found)).reduced()
    sizes = [len(next(iter(block.values()))) for block in blocks]
    return _combined(blocks, sizes, where)


@overload
def read_space(path: str | Path, *, lazy: Literal[False] = False) -> Table: ...
@overload
def read_space(path: str | Path, *, lazy: Literal[True]) -> Space: ...
def read_space(path: str | Path, *, lazy: bool = False) -> Table | Space:
    """The space that a TOML file describes: [columns], where, and [mixture] with columns and step."""
    path = Path(path)
    if not path.is_file():
        raise InvalidProblem(f"there is no file {path}; check the name and the folder.")
    try:
        content = tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidProblem(f"{path.name} cannot be read as TOML: {str(error).rstrip('.')}.") from None
    if unknown := sorted(set(content) - {"columns", "where", "mixture"}):
        raise InvalidProblem(f"{path.name} has {named(unknown)}; a space has [columns], where and [mixture].")
    columns, mixture, where = content.get("columns", {}), content.get("mixture", {}), content.get("where")
    if not isinstance(columns, dict) or not isinstance(mixture, dict) or not isinstance(where, str | None):
        raise InvalidProblem(f"{path.name} needs tables [columns] and [mixture], and where as text in quotes.")
    if set(mixture) - {"columns", "step"} or not isinstance(mixture.get("columns", []), list):
        raise InvalidProblem(f"[mixture] of {path.name} has columns, a list, and step, got {named(mixture)}.")
    shares, step = [str(name) for name in mixture.get("columns", [])], mixture.get("step", 0.1)
    if lazy:
        return space(columns, where=where, mixture=shares, step=step, lazy=True)
    return space(columns, where=where, mixture=shares, step=step)


def _values(name: str, given: Values) -> NDArray[Any]:
    """(k,): the values of one column, all numbers or all words, each once."""
    if isinstance(given, Mapping):
        return _grid(name, given)
    values = [given] if isinstance(given, str | int | float) else list(given)
    values = [str(value).lower() if isinstance(value, bool | np.bool_) else value for value in values]
    if not values:
        raise InvalidProblem(f"column '{name}' of the space has no values; give at least one.")
    if all(isinstance(value, int | float | np.number) for value in values):
        out: NDArray[Any] = np.array(values, dtype=np.float64)
        if not np.isfinite(out).all():
            raise InvalidProblem(f"numbers of '{name}' must be finite, got {out[~np.isfinite(out)][0]}.")
    elif all(isinstance(value, str) and value.strip() for value in values):
        out = np.array(values)
    else:
        raise InvalidProblem(f"values of '{name}' must be all numbers or all words, got {named(values)}.")
    if len(np.unique(out)) < len(out):
        raise InvalidProblem(
            f"values of '{name}' must differ, but {named(duplicated(map(str, values)))} is there twice."
        )
    return out


def _grid(name: str, given: Mapping[str, Any]) -> NDArray[np.float64]:
    """From, to and step or count: both ends are in it."""
    numbers = all(isinstance(v, int | float) and math.isfinite(v) for v in given.values())
    right = set(given) in ({"from", "to", "step"}, {"from", "to", "count"})
    if not numbers or not right:
        raise InvalidProblem(f"a grid has from, to and step, or from, to and count; '{name}' has {named(given)}.")
    low, high = float(given["from"]), float(given["to"])
    steps = given["count"] - 1 if "count" in given else (high - low) / given["step"] if given["step"] else -1.0
    whole = round(steps)
    if not (0 < whole < _MOST_TRIED and abs(steps - whole) <= 1e-9 * whole and low < high):
        raise InvalidProblem(
            f"the grid of '{name}' must go from a number to a larger one in whole steps, got from {low:g} to {high:g} "
            f"with {'count' if 'count' in given else 'step'} {given.get('count', given.get('step')):g}."
        )
    return _rounded(low + (high - low) * np.arange(whole + 1) / whole)


def _shares(names: Sequence[str], step: float) -> dict[str, NDArray[np.float64]]:
    """All ways to share 1 among the names in whole steps."""
    parts = round(1.0 / step) if isinstance(step, int | float) and 0 < step <= 1 else 0
    if len(names) < 2 or parts < 1 or abs(parts * step - 1.0) > 1e-9:
        raise InvalidProblem(
            f"a mixture needs two or more columns and a step that divides 1, as 0.1, got {named(names)} and {step!r}."
        )
    count = math.comb(parts + len(names) - 1, len(names) - 1)
    if 8 * count * len(names) > _MOST_KEPT:
        raise InvalidProblem(
            f"a mixture of {len(names)} columns has {count:,} shares in steps of {step:g}; take larger ones."
        )
    # bars among stars: each choice of places for the bars is a way to share
    bars = np.array(list(combinations(range(parts + len(names) - 1), len(names) - 1)), dtype=np.int64)
    ends = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), parts + len(names) - 1)])
    shares = _rounded((np.diff(ends, axis=1) - 1) / parts)
    return {name: shares[:, at] for at, name in enumerate(names)}


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers as people write them: 0.3, not 0.30000000000000004."""
    return np.array([float(f"{value:.12g}") for value in values.ravel().tolist()]).reshape(values.shape)


def _combined(blocks: Sequence[Mapping[str, NDArray[Any]]], sizes: Sequence[int], where: str | None) -> Table:
    """All combinations of one row of each block, some at a time, the last block changing fastest."""
    total = math.prod(sizes)
    width = sum(len(block) for block in blocks)
    if total > _MOST_TRIED or (where is None and 8 * width * total > _MOST_KEPT):
        raise InvalidProblem(
            f"the space has {total:,} combinations, more than memory holds; give fewer values, or a condition (where)."
        )
    parts: list[dict[str, NDArray[Any]]] = []
    size = 0
    for start in range(0, total, _BLOCK):
        places = np.unravel_index(np.arange(start, min(start + _BLOCK, total)), tuple(sizes))
        rows = {name: column[at] for block, at in zip(blocks, places, strict=True) for name, column in block.items()}
        if where is not None:
            chosen = kept(where, rows)
            rows = {name: column[chosen] for name, column in rows.items()}
        parts.append(rows)
        size += sum(column.nbytes for column in rows.values())
        if size > _MOST_KEPT:
            raise InvalidProblem(f"more combinations than memory holds fulfil '{where}'; give fewer values.")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if not len(next(iter(columns.values()))):
        raise InvalidProblem(f"none of the {total:,} combinations fulfils the condition '{where}'; change it.")
    cells = (column.astype(object) if column.dtype.kind == "U" else column for column in columns.values())
    return Table("the space", tuple(columns), tuple(cells))
