"""The compiled steps of LinGapE; loaded only where numba is installed.

A measurement of x adds V⁻¹x·e to θ̂ and takes (y'V⁻¹x)²/g from y'V⁻¹y, for numbers e and g: the lead Δ_j of an item z_j
over the leader z_i and the norm N_j of z_j - z_i are kept by O(r) operations each, as long as the leader stays.

Few items need even that. Since the last time that all were looked at, the anchor, V has grown, so that N_j is smaller,
and θ̂ has moved by D in the norm of the anchor's V, so that Δ_j has grown by at most N_j·D. An item for which the
anchor's Δ_j + N_j·(C + D) is below the bound of the present rival is not the rival, and one with Δ_j + N_j·D < 0 does
not lead: only the others, the candidates, are followed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from probewise.algorithms.sequential.steps import TIE
from probewise.coordinates import Array

Ints = NDArray[np.int64]

SPENT, STOPPED, UNKNOWN = range(3)
"""Why ``advance`` returns: no numbers left; the leader is best; the shares of the pair are not in the table."""
LEADER, RIVAL, CANDIDATES = range(3)
"""Entries of ``Work.whole``; with no candidates there is no anchor."""
LOGDET, BOUND, DRIFT, REACH, REST = range(5)
"""Entries of ``Work.real``: log det for the threshold, B, and while D <= DRIFT and C + D <= REACH, no item but the
candidates has a bound above REST."""
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
    "_nrt": False,
}
"""Sums in any order, infinities as they are; nothing allocates, so that arrays need no reference counts, which would
take most of the time."""

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    compiled: Function = njit(**_OPTIONS)(function)
    return compiled


class Setting(NamedTuple):
    """What does not change during a run."""

    probes: Array
    """(n, r): in units of their noise."""
    items: Array
    """(m, r)."""
    cost: Array
    """(n,)."""
    means: Array
    """(n,): true means of the outcomes."""
    sigma: Array
    """(n,): scales of the outcomes."""
    binary: bool
    """Whether an outcome is 1 if its random number is below the mean, and 0 if not."""
    greedy: bool
    """Whether the selection is greedy."""
    shadowed: bool
    """Whether the threshold has a matrix of its own."""
    epsilon: float
    """Stop at B <= epsilon."""
    scale: float
    """The width is √(scale·(constant + log det)) + bias."""
    constant: float
    """A term of the width: see ``scale``."""
    bias: float
    """A term of the width: see ``scale``."""


class Work(NamedTuple):
    """What changes during a run, in place."""

    inverse: Array
    """(r, r): V⁻¹, with the penalty if there is one."""
    theta: Array
    """(r,): θ̂."""
    base: Array
    """(r, r): V at the last refresh."""
    added: Array
    """(r, r): Σ xx' since then."""
    origin: Array
    """(r,): θ̂ at the last refresh."""
    moment: Array
    """(r,): Σ x(y - x'origin) since then."""
    shadow: Array
    """(r, r): inverse of the threshold's own matrix."""
    leverage: Array
    """(n,): x'V⁻¹x, for the greedy selection."""
    counts: Ints
    """(n,)."""
    total: Array
    """(n,): sums of outcomes."""
    keys: Ints
    """(slots,): which pair i·m + j with i < j each slot of the next two describes."""
    support: Ints
    """(slots, r): its probes."""
    share: Array
    """(slots, r): their shares; 0 where there are fewer."""
    candidates: Ints
    """(m,): numbers of the candidates, ascending, in the first places; so in the next three."""
    beyond: Array
    """(m, r): z_j - z_i."""
    lead: Array
    """(m,): Δ_j."""
    square: Array
    """(m,): N_j²."""
    anchor: Array
    """(r,): θ̂ at the anchor."""
    metric: Array
    """(r, r): V at the anchor."""
    values: Array
    """(max(m, n),): for passing use."""
    step: Array
    """(r,): for passing use."""
    whole: Ints
    """(3,): see LEADER."""
    real: Array
    """(5,): see LOGDET."""


@_compiled
def advance(s: Setting, w: Work, numbers: Array) -> tuple[int, int]:
    """Compare and measure until something ends it; how many ``numbers`` were used, and why it ended."""
    used = 0
    while True:
        width = math.sqrt(s.scale * (s.constant + w.real[LOGDET])) + s.bias
        if not (_near(s, w, width) and _compare(s, w, width)):
            _look_at_all(s, w, width)
        if w.real[BOUND] <= s.epsilon:
            return used, STOPPED
        if used == numbers.size:
            return used, SPENT
        probe = _greedy(s, w) if s.greedy else _ratio(s, w)
        if probe < 0:
            return used, UNKNOWN
        _measure(s, w, probe, numbers[used])
        used += 1


@_compiled
def _near(s: Setting, w: Work, width: float) -> bool:
    """Whether the estimate is still where the anchor's choice of candidates is valid."""
    size: int = w.whole[CANDIDATES]
    r = w.theta.size
    if size == 0 or size == s.items.shape[0]:
        return size > 0
    drift = 0.0
    for a in range(r):
        row = 0.0
        for b in range(r):
            row += w.metric[a, b] * (w.theta[b] - w.anchor[b])
        drift += row * (w.theta[a] - w.anchor[a])
    drift = math.sqrt(max(drift, 0.0))
    return bool(drift <= w.real[DRIFT] and width + drift <= w.real[REACH])


@_compiled
def _compare(s: Setting, w: Work, width: float) -> bool:
    """The candidates' rival and B; False if somebody has caught up with the leader or B may not be the largest."""
    leader, size = w.whole[LEADER], w.whole[CANDIDATES]
    score = 0.0
    for a in range(w.theta.size):
        score += s.items[leader, a] * w.theta[a]
    limit, top = -2.0 * TIE * abs(score), -math.inf
    for c in range(size):
        if w.candidates[c] == leader:
            w.values[c] = -math.inf
        elif w.lead[c] >= limit:
            return False
        else:
            w.values[c] = w.lead[c] + width * math.sqrt(max(w.square[c], 0.0))
            top = max(top, w.values[c])
    w.real[BOUND] = top
    w.whole[RIVAL] = w.candidates[_first_largest(w.values, size)]
    return bool(top - 2.0 * TIE * abs(top) > w.real[REST])


@_compiled
def _first_largest(values: Array, size: int) -> int:
    """As ``lingape.first_largest`` on the first ``size`` values."""
    top = values[0]
    for i in range(1, size):
        top = max(top, values[i])
    limit = top - TIE * abs(top)
    for i in range(size):
        if values[i] >= limit:
            return i
    return 0


@_compiled
def _look_at_all(s: Setting, w: Work, width: float) -> None:
    """Leader, rival and B among all items, and candidates that will do until B has fallen by a fifth."""
    m, r = s.items.shape
    for j in range(m):
        w.values[j] = 0.0
        for a in range(r):
            w.values[j] += s.items[j, a] * w.theta[a]
    leader = _first_largest(w.values, m)
    score = w.values[leader]
    top = -math.inf
    for j in range(m):
        w.lead[j], w.square[j] = w.values[j] - score, 0.0
        for a in range(r):
            w.beyond[j, a] = s.items[j, a] - s.items[leader, a]
        for a in range(r):
            row = 0.0
            for b in range(r):
                row += w.inverse[a, b] * w.beyond[j, b]
            w.square[j] += row * w.beyond[j, a]
        w.values[j] = -math.inf if j == leader else w.lead[j] + width * math.sqrt(max(w.square[j], 0.0))
        top = max(top, w.values[j])
    w.whole[LEADER], w.whole[RIVAL] = leader, _first_largest(w.values, m)
    w.real[BOUND], w.real[DRIFT], w.real[REACH] = top, 0.1 * width, 1.15 * width
    _keep_candidates(s, w, -4.0 * TIE * abs(score))
    for a in range(r):
        w.anchor[a] = w.theta[a]
        for b in range(r):
            w.metric[a, b] = w.base[a, b] + w.added[a, b]


@_compiled
def _keep_candidates(s: Setting, w: Work, limit: float) -> None:
    """Of all items, just looked at, those that may become rival or leader."""
    size, rest = 0, -math.inf
    for j in range(s.items.shape[0]):
        norm = math.sqrt(max(w.square[j], 0.0))
        most = w.lead[j] + w.real[REACH] * norm
        if most < 0.8 * w.real[BOUND] and w.lead[j] + w.real[DRIFT] * norm < limit:
            rest = max(rest, most)
            continue
        w.candidates[size], w.lead[size], w.square[size] = j, w.lead[j], w.square[j]
        for a in range(w.theta.size):
            w.beyond[size, a] = w.beyond[j, a]
        size += 1
    w.whole[CANDIDATES], w.real[REST] = size, rest


@_compiled
def _ratio(s: Setting, w: Work) -> int:
    """The probe of the pair's design that lags most behind its share, or -1 if the design is not in the table."""
    i, j = w.whole[LEADER], w.whole[RIVAL]
    key = min(i, j) * s.items.shape[0] + max(i, j)
    slot = key % w.keys.size
    if w.keys[slot] != key:
        return -1
    best: int = -1
    least = math.inf
    for a in range(w.share.shape[1]):
        if w.share[slot, a] > 0.0:
            k = w.support[slot, a]
            if w.counts[k] / w.share[slot, a] < least:
                best = k
                least = w.counts[k] / w.share[slot, a]
    return best


@_compiled
def _greedy(s: Setting, w: Work) -> int:
    """The probe with the largest (x'V⁻¹y)²/(1 + x'V⁻¹x) per cost, y the difference of leader and rival."""
    i, j, r = w.whole[LEADER], w.whole[RIVAL], w.theta.size
    for a in range(r):
        row = 0.0
        for b in range(r):
            row += w.inverse[a, b] * (s.items[i, b] - s.items[j, b])
        w.step[a] = row
    for k in range(s.probes.shape[0]):
        product = 0.0
        for a in range(r):
            product += s.probes[k, a] * w.step[a]
        w.values[k] = product * product / (1.0 + w.leverage[k]) / s.cost[k]
    return _first_largest(w.values, s.probes.shape[0])


@_compiled
def _updated(matrix: Array, probes: Array, k: int, step: Array) -> float:
    """M⁻¹ becomes (M + xx')⁻¹, ``step`` becomes the former M⁻¹x; returns 1 + x'M⁻¹x (Sherman and Morrison 1950)."""
    growth, r = 1.0, step.size
    for a in range(r):
        row = 0.0
        for b in range(r):
            row += matrix[a, b] * probes[k, b]
        step[a] = row
        growth += probes[k, a] * row
    for a in range(r):
        part = step[a] / growth
        for b in range(r):
            matrix[a, b] -= part * step[b]
    return growth


@_compiled
def _measure(s: Setting, w: Work, k: int, number: float) -> None:
    """Draw an outcome of probe k and update everything."""
    outcome = s.means[k] + s.sigma[k] * number
    if s.binary:
        outcome = 1.0 if number < s.means[k] else 0.0
    w.counts[k] += 1
    w.total[k] += outcome
    if s.shadowed:
        w.real[LOGDET] += math.log(_updated(w.shadow, s.probes, k, w.step))
    growth = _updated(w.inverse, s.probes, k, w.step)
    if not s.shadowed:
        w.real[LOGDET] += math.log(growth)
    residual = shift = outcome / s.sigma[k]
    r = w.theta.size
    for a in range(r):
        residual -= s.probes[k, a] * w.theta[a]
        shift -= s.probes[k, a] * w.origin[a]
    residual /= growth
    for a in range(r):
        w.theta[a] += w.step[a] * residual
        w.moment[a] += s.probes[k, a] * shift
        for b in range(r):
            w.added[a, b] += s.probes[k, a] * s.probes[k, b]
    for c in range(w.whole[CANDIDATES]):
        product = 0.0
        for a in range(r):
            product += w.beyond[c, a] * w.step[a]
        w.lead[c] += product * residual
        w.square[c] -= product * product / growth
    if s.greedy:
        for j in range(s.probes.shape[0]):
            product = 0.0
            for a in range(r):
                product += s.probes[j, a] * w.step[a]
            w.leverage[j] -= product * product / growth
