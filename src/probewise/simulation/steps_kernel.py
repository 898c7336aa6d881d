"""Sampling rules that measure one by one, compiled from their own source; loaded only where numba is installed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from probewise.algorithms.sequential.steps import View, squared
from probewise.coordinates import Array

SPENT, CHECK, MOVED, DUE = range(4)
"""Why ``advance`` returns: no numbers left; a claim may be beyond doubt; another answer; a plan is due."""


class Laboratory(NamedTuple):
    """What does not change during a run."""

    probes: Array
    """(n, r): in units of their noise."""
    cost: Array
    """(n,)."""
    means: Array
    """(n,): true means of the outcomes."""
    sigma: Array
    """(n,): scales of the outcomes."""
    binary: bool
    """Whether an outcome is 1 if its random number is below the mean, and 0 if not."""


class Work(NamedTuple):
    """What changes during a run, in place."""

    inverse: Array
    """(r, r): V⁻¹, with the penalty if there is one."""
    theta: Array
    """(r,): θ̂."""
    added: Array
    """(r, r): Σ xx' since the last refresh."""
    origin: Array
    """(r,): θ̂ at the last refresh."""
    moment: Array
    """(r,): Σ x(y - x'origin) since then."""
    counts: NDArray[np.int64]
    """(n,)."""
    total: Array
    """(n,): sums of outcomes."""


class Asked(NamedTuple):
    """What ends the steps."""

    rows: Array
    """(k, r): what the guess claims."""
    offsets: Array
    """(k,)."""
    active: NDArray[np.bool_]
    """(k,): which of it is in doubt."""
    sampled: NDArray[np.int64]
    """(s,): which of it the rule sees."""
    epsilon: float
    """A margin below it is of another answer."""
    level: float
    """β of the last check; -1 if that was infinite."""
    width: float
    """√(2β) of it."""
    any_claim: bool
    """Whether one claim beyond β is enough to look, or all of them must be."""
    old: int
    """Measurements at which the width is too old."""
    due: float
    """Measurements at which a plan is due."""


def called(function: Any) -> dict[str, FunctionType]:
    """Name -> functions of this package that a function calls."""
    names, known = function.__code__.co_names, function.__globals__
    return {name: known[name] for name in names if isinstance(known.get(name), FunctionType)}


def rebuilt(function: FunctionType) -> Any:
    """The same function, compiled, with all that it calls."""
    if function not in _REBUILT:
        calls = {name: rebuilt(other) for name, other in called(function).items()}
        copy = FunctionType(function.__code__, {**function.__globals__, **calls}, function.__name__)
        _REBUILT[function] = njit(error_model="numpy")(copy)
    return _REBUILT[function]


def source(function: Any) -> str:
    """What decides the compiled code: the byte code and the constants of a function and of all that it calls."""
    own = repr((function.__code__.co_code, function.__code__.co_consts, function.__code__.co_names))
    return own + "".join(source(other) for _, other in sorted(called(function).items()))


_REBUILT: dict[FunctionType, Any] = {}


def measure(lab: Laboratory, w: Work, k: int, number: float) -> None:
    """Draw an outcome of probe k and update everything (Sherman and Morrison 1950)."""
    outcome = lab.means[k] + lab.sigma[k] * number
    if lab.binary:
        outcome = 1.0 if number < lab.means[k] else 0.0
    w.counts[k] += 1
    w.total[k] += outcome
    r = w.theta.size
    step = np.empty(r)
    growth, residual, shift = 1.0, outcome / lab.sigma[k], outcome / lab.sigma[k]
    for a in range(r):
        row = 0.0
        for b in range(r):
            row += w.inverse[a, b] * lab.probes[k, b]
        step[a] = row
        growth += lab.probes[k, a] * row
        residual -= lab.probes[k, a] * w.theta[a]
        shift -= lab.probes[k, a] * w.origin[a]
    for a in range(r):
        w.theta[a] += step[a] * residual / growth
        w.moment[a] += lab.probes[k, a] * shift
        for b in range(r):
            w.inverse[a, b] -= step[a] * step[b] / growth
            w.added[a, b] += lab.probes[k, a] * lab.probes[k, b]


@cache
def advance(step: FunctionType) -> Callable[..., tuple[int, int]]:
    """(laboratory, work, asked, memory, numbers) -> how many numbers were used, and why it ended; for one rule.

    What was compiled once is kept on disk, under a name that changes with the source of anything in it.
    """
    digest = hashlib.sha256((source(step) + source(_steps)).encode()).hexdigest()[:16]
    calls = {name: rebuilt(other) for name, other in called(_steps).items()} | {"choose": rebuilt(step)}
    copy = FunctionType(_steps.__code__, {**_steps.__globals__, **calls}, f"steps_{step.__name__}_{digest}")
    copy.__qualname__ = copy.__name__
    found: Callable[..., tuple[int, int]] = njit(error_model="numpy", cache=True)(copy)
    return found


def choose(view: View, memory: Any) -> int:
    """The sampling rule, which takes this place."""
    raise NotImplementedError


def _steps(lab: Laboratory, w: Work, asked: Asked, memory: Any, numbers: Array) -> tuple[int, int]:
    """Choose, measure and look, until something ends it."""
    used, all_of_it = 0, asked.sampled.size == asked.rows.shape[0]
    margins, squares = asked.rows @ w.theta + asked.offsets, squared(asked.rows, w.inverse)
    while True:
        if w.counts.sum() >= asked.due:
            return used, DUE
        if used == numbers.size:
            return used, SPENT
        view = View(lab.probes, lab.cost, w.counts, w.inverse, asked.rows, margins, squares, asked.width)
        if not all_of_it:
            at = asked.sampled
            view = View(
                lab.probes, lab.cost, w.counts, w.inverse, asked.rows[at], margins[at], squares[at], asked.width
            )
        measure(lab, w, choose(view, memory), numbers[used])
        used += 1
        margins, squares = asked.rows @ w.theta + asked.offsets, squared(asked.rows, w.inverse)
        if margins.min() < asked.epsilon:
            return used, MOVED
        if far(margins, squares, asked) > asked.level or w.counts.sum() >= asked.old:
            return used, CHECK


def far(margins: Array, squares: Array, asked: Asked) -> float:
    """How far the likelihood falls until a claim in doubt is false: of all of them the least, or the most."""
    found = 0.0 if asked.any_claim else math.inf
    for i in range(margins.size):
        if asked.active[i]:
            value = math.inf if margins[i] >= 0.0 else 0.0
            if squares[i] > 0.0:
                value = max(margins[i], 0.0) ** 2 / (2.0 * squares[i])
            found = max(found, value) if asked.any_claim else min(found, value)
    return found
