"""Misfit: what a model misses at the probes, what could explain it, and which leads it could turn around."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.estimate import Estimate
from probewise.goals import Goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.quantity import Quantity

LIKELY = 2.0
"""Standard deviations of the misfit within which a lead is at risk."""


class Residual(NamedTuple):
    """What a probe reads beyond the model."""

    probe: int
    """Number of the probe."""
    name: str
    """Its name."""
    replicates: int
    """How often it was measured."""
    difference: float
    """Its mean less what the model says."""
    standardised: float
    """The difference over its standard deviation; beyond 3 is rare."""


def suggested(misfit: float) -> float:
    """Two standard deviations of the misfit that was seen, rounded up to two digits: heuristic."""
    if misfit <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(LIKELY * misfit)) - 1)
    return float(f"{math.ceil(LIKELY * misfit / unit) * unit:.2g}")


def least(rows: Array, target: Array, allowed: Array) -> float:
    """A lower bound, nearly sharp, on |target - rows c - b|² over c and all |b| ≤ ``allowed`` (p,); sharp if that is 0.

    c and b are improved in turn. A residual u that is orthogonal to the rows proves that the least is at least
    2u'target - |u|² - 2|u|'allowed: linear in what may be chosen, and concave in u.
    """
    if not allowed.any():
        gap = target - rows @ np.linalg.lstsq(rows, target)[0]
        return float(gap @ gap)
    basis, off, best = np.linalg.qr(rows)[0], np.zeros(target.size), 0.0
    for _ in range(_STEPS):
        rest = target - off
        rest = rest - basis @ (basis.T @ rest)
        best = max(best, float(2.0 * (rest @ target) - rest @ rest - 2.0 * (np.abs(rest) @ allowed)))
        moved = np.clip(rest + off, -allowed, allowed)
        if np.abs(moved - off).max() <= 1e-9 * allowed.max():
            break
        off = moved
    return best


_STEPS = 300
"""Improvements of a misfit that explains the data."""


def residuals(
    problem: Problem, fit: Estimate, data: Measurements, sigma: Array, level: float
) -> tuple[float, tuple[Residual, ...]]:
    """Misfit of the probes with noise removed, and residuals, largest first in units of their standard deviation.

    ``level`` is the mean square that noise alone gives.
    """
    lack = fit.lack_of_fit
    if not lack.degrees:
        return 0.0, ()
    index = np.flatnonzero(data.count)
    weight = data.weights[index] / sigma[index] ** 2
    rows = problem.probes[index]
    free = np.clip(1.0 - weight * ((rows @ fit.whitener) ** 2).sum(axis=1), 0.0, 1.0)
    # E Σ w_i residual_i² = (p - r)·level + misfit² Σ w_i (1 - h_i), if the misfits are uncorrelated
    misfit = math.sqrt(max(0.0, lack.value - lack.degrees * level) / float((weight * free).sum()))
    difference = data.mean[index] - rows @ fit.theta
    spread = np.sqrt(level * free / weight)
    known = np.flatnonzero(free > 1e-9)  # a probe with leverage 1 fits whatever it reads
    order = known[np.argsort(-np.abs(difference[known] / spread[known]), kind="stable")]
    columns = (index, data.count[index], difference, difference / np.where(free > 0, spread, 1.0))
    probes, counts, differences, sizes = (column[order].tolist() for column in columns)
    names = [problem.probe_names[probe] for probe in probes]
    return misfit, tuple(map(Residual, probes, names, counts, differences, sizes))


@dataclass(frozen=True, eq=False)
class Risk:
    """Which comparisons the misfit could turn around."""

    leader: int
    items: NDArray[np.int64]
    """Rivals at risk, closest call first."""
    nearest: int | None
    """The rival with the smallest lead in units of what the misfit could change; None without any."""
    lead: float
    """The lead over that rival, plus epsilon."""
    change: float
    """Standard deviation of what the misfit adds to that lead."""
    quantity: Quantity
    """What outcomes are called."""

    @classmethod
    def of(
        cls,
        problem: Problem,
        goal: Goal,
        fit: Estimate,
        weight: Array,
        misfit: float,
        leader: int | None,
        what: Quantity,
    ) -> Risk:
        """Item z truly has z'θ + f_z, probe i has x_i'θ + f_i, all f uncorrelated of size ``misfit``.

        Least squares with weights w gives y'θ̂ = Σ a_i m_i, a_i = w_i x_i'V⁻¹y, for y = z - z'; so the lead is off by
        Σ a_i f_i - f_z + f_z', of variance misfit²·|a - e_z + e_z'|², where e is 0 for items that are no probes.
        """
        items = problem.items
        leader = int(np.argmax(goal.sign * (items @ fit.theta))) if leader is None else leader
        differences = items[leader] - items
        whitened, probes = differences @ fit.whitener, problem.probes @ fit.whitener
        square = (weight[:, None] * probes).T @ (weight[:, None] * probes)
        norm2 = np.einsum("ij,jk,ik->i", whitened, square, whitened) + 2.0
        twin = problem.twins
        own = np.where(twin >= 0, weight[twin] * (probes[twin] * whitened).sum(axis=1), 0.0)
        if twin[leader] >= 0:
            norm2 -= 2.0 * weight[twin[leader]] * (whitened @ probes[twin[leader]])
        change = misfit * np.sqrt(np.maximum(norm2 + 2.0 * own, 0.0))
        lead = goal.sign * (differences @ fit.theta) + goal.epsilon
        known = np.isfinite(fit.variance(differences, np.abs(items[leader]) + np.abs(items)))
        rivals = np.flatnonzero(known & (np.arange(len(items)) != leader))
        if not rivals.size:
            return cls(leader, rivals, None, math.nan, math.nan, what)
        slack = lead - LIKELY * change
        first = int((order := rivals[np.argsort(slack[rivals], kind="stable")])[0])
        at_risk = order[(slack[order] < 0) & (misfit > 0)]
        return cls(leader, at_risk, first, float(lead[first]), float(change[first]), what)

    def sentence(self, problem: Problem) -> str:
        """Whether the lead stands."""
        if self.nearest is None:
            return "no comparison depends on it."
        names, change = problem.item_names, self.quantity.difference(f"{self.change:.2g}")
        ahead = self.quantity.difference(f"{self.lead:.3g}")
        lead = f"over {names[self.nearest]} it is {ahead}, and the misfit changes that by about {change}"
        if not self.items.size:
            return f"that is too little to overturn the lead of {names[self.leader]}: {lead}."
        which = "1 item" if self.items.size == 1 else f"{self.items.size:,} items"
        return f"that could overturn the lead of {names[self.leader]} over {which}: {lead}."
