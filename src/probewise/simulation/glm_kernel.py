"""The compiled steps of GLGapE for successes and failures; loaded only where numba is installed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from probewise.algorithms.glm.steps import LEAST, compared, most_telling, width
from probewise.algorithms.sequential.steps import TIE
from probewise.coordinates import Array
from probewise.likelihood import DECREMENT, LARGEST, STEPS
from probewise.simulation.steps_kernel import called, rebuilt, source

SPENT, STOPPED, SHORT = range(3)
"""Why ``advance`` returns: the limit is reached; no item may exceed the leader; there are no numbers left."""
LEADER, RIVAL, ROUNDS = range(3)
"""Entries of ``Work.whole``."""


class Setting(NamedTuple):
    """What does not change during a run."""

    probes: Array
    """(n, d)."""
    items: Array
    """(m, d)."""
    cost: Array
    """(n,)."""
    means: Array
    """(n,): true probabilities of a success."""
    penalty: float
    """Of the estimate."""
    nats: float
    """log(1/δ)."""
    epsilon: float
    """What a rival may be ahead."""
    lazy: float
    """Share of the measurements so far that are made before the next estimate."""
    limit: float
    """Measurements at most."""


class Work(NamedTuple):
    """What changes during a run, in place."""

    theta: Array
    """(d,): the estimate."""
    counts: NDArray[np.int64]
    """(n,)."""
    total: Array
    """(n,): successes."""
    whole: NDArray[np.int64]
    """(3,): leader, rival and rounds."""


@cache
def advance() -> Callable[..., tuple[int, int, Array]]:
    """(setting, work, inverse, numbers) -> numbers used, why it ended, and the inverse of the information.

    What was compiled once is kept on disk, under a name that changes with the source of anything in it.
    """
    about = source(_steps) + repr((STEPS, DECREMENT, LARGEST, LEAST, TIE))
    name = f"glgape_{hashlib.sha256(about.encode()).hexdigest()[:16]}"
    calls = {name: rebuilt(other) for name, other in called(_steps).items()}
    copy = FunctionType(_steps.__code__, {**_steps.__globals__, **calls}, name)
    copy.__qualname__ = name
    found: Callable[..., tuple[int, int, Array]] = njit(error_model="numpy", cache=True)(copy)
    return found


def _value(rows: Array, counts: NDArray[np.int64], total: Array, penalty: float, theta: Array) -> float:
    """The log likelihood less the penalty."""
    linear = rows @ theta
    found = -0.5 * penalty * (theta * theta).sum()
    for i in range(linear.size):
        larger = max(linear[i], 0.0)
        found += linear[i] * total[i] - counts[i] * (larger + math.log1p(math.exp(-abs(linear[i]))))
    return float(found)


def _score(s: Setting, w: Work, theta: Array, information: Array, slope: Array) -> None:
    """The information (d, d) and the slope (d,) of the penalised likelihood at ``theta``, in place."""
    d = theta.size
    for a in range(d):
        slope[a] = -s.penalty * theta[a]
        for b in range(d):
            information[a, b] = s.penalty if a == b else 0.0
    for i in range(w.counts.size):
        linear = 0.0
        for a in range(d):
            linear += s.probes[i, a] * theta[a]
        odds = math.exp(-abs(linear))
        weight = w.counts[i] * odds / (1.0 + odds) ** 2
        missing = w.total[i] - w.counts[i] * (1.0 if linear > 0.0 else odds) / (1.0 + odds)
        for a in range(d):
            slope[a] += missing * s.probes[i, a]
            for b in range(d):
                information[a, b] += weight * s.probes[i, a] * s.probes[i, b]


def _fitted(s: Setting, w: Work) -> Array:
    """``likelihood.fitted`` from the last estimate on, which it changes; the inverse information (d, d) there."""
    d = w.theta.size
    theta, information, slope = w.theta.copy(), np.empty((d, d)), np.empty(d)
    inverse, value = information, 0.0
    for count in range(STEPS):
        _score(s, w, theta, information, slope)
        inverse = np.ascontiguousarray(np.linalg.inv(information))
        step = inverse @ slope
        gain = (slope * step).sum()
        if not math.isfinite(gain) or np.abs(theta).max() > LARGEST or gain <= DECREMENT:
            break
        if count == 0:
            value = _value(s.probes, w.counts, w.total, s.penalty, theta)
        size, better = 1.0, _value(s.probes, w.counts, w.total, s.penalty, theta + step)
        while not better >= value + 0.1 * size * gain and size > 1e-9:
            size /= 2.0
            better = _value(s.probes, w.counts, w.total, s.penalty, theta + size * step)
        theta, value = theta + size * step, better
    w.theta[:] = theta
    return inverse


def _steps(s: Setting, w: Work, inverse: Array, numbers: Array) -> tuple[int, int, Array]:
    """Choose, measure, estimate and compare, until something ends it."""
    used = 0
    told = np.empty(w.counts.size)
    while True:
        done = w.counts.sum()
        size = max(1, math.floor(s.lazy * done))
        if done + size > s.limit:
            return used, SPENT, inverse
        if used + size > numbers.size:
            return used, SHORT, inverse
        linear = s.probes @ w.theta
        for i in range(told.size):
            odds = math.exp(-abs(linear[i]))
            told[i] = odds / (1.0 + odds) ** 2
        row = s.items[w.whole[LEADER]] - s.items[w.whole[RIVAL]]
        k = most_telling(s.probes, s.cost, told, inverse, row)
        for number in numbers[used : used + size]:
            w.total[k] += 1.0 if number < s.means[k] else 0.0
        w.counts[k] += size
        w.whole[ROUNDS] += 1
        used += size
        inverse = _fitted(s, w)
        wide = width(s.nats, w.theta.size, float(w.counts.sum()))
        w.whole[LEADER], w.whole[RIVAL], bound = compared(s.items, w.theta, inverse, wide)
        if bound <= s.epsilon:
            return used, STOPPED, inverse
