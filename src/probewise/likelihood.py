"""Likelihoods of outcomes with a canonical link: where they are largest, on all parameters or on a plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probewise.coordinates import Array, Counts
from probewise.measurements import Measurements
from probewise.outcomes import CanonicalLaw

STEPS, DECREMENT = 60, 1e-9
"""Newton steps at most, and the gain at which the next one is not needed."""
LARGEST = 1e4
"""Parameters beyond which a likelihood counts as one that is largest at infinity."""
RIDGE = 1e-3
"""What is added to the information, in units of one measurement per feature, where an estimate must be finite."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The parameters at which a likelihood is largest."""

    theta: Array
    """(d,): where."""
    value: float
    """Σ n_i(mean_i·η_i - b(η_i)) there, less the penalty if there is one."""
    information: Array
    """(d, d): Σ n_i b''(η_i)x_ix_i', plus the penalty."""
    converged: bool
    """Whether the next step would gain less than 1e-9, also far out, where data push θ to infinity."""


def log_likelihood(law: CanonicalLaw, linear: Array, data: Measurements) -> Array:
    """(k,): Σ_i n_i(mean_i·η_i - b(η_i)) for each row of ``linear`` η (k, n), without what does not depend on θ."""
    data = data.unweighed(law.name)
    return np.asarray(linear @ data.total - law.cumulant(linear) @ data.count.astype(np.float64))


def fitted(
    law: CanonicalLaw,
    probes: Array,
    data: Measurements,
    *,
    penalty: float = 0.0,
    offset: Array | None = None,
    start: Array | None = None,
) -> Fit:
    """The largest likelihood of ``data`` on ``probes`` (n, d), less penalty·‖θ‖²/2, by Newton steps with halving.

    An ``offset`` (n,) is added to η = Xθ. Steps begin at ``start`` (d,), or at 0.
    """
    asked = np.flatnonzero(data.count)
    rows = probes[asked]
    part = _Part(law, rows, np.zeros(asked.size) if offset is None else offset[asked], data, asked, penalty)
    theta, ridge = np.zeros(probes.shape[1]) if start is None else start, penalty * np.eye(probes.shape[1])
    value = part.value(theta)
    for _ in range(STEPS):
        linear = part.linear(theta)
        information = (rows.T * (part.count * law.information(linear))) @ rows + ridge
        slope = rows.T @ (part.total - part.count * law.mean(linear)) - penalty * theta
        try:
            step = np.linalg.solve(information, slope)
        except np.linalg.LinAlgError:
            break
        gain = float(slope @ step)
        if not np.isfinite(gain) or np.abs(theta).max(initial=0.0) > LARGEST:
            break
        if gain <= DECREMENT:
            return Fit(theta, value, information, True)
        size, better = 1.0, part.value(theta + step)
        while not better >= value + 0.1 * size * gain and size > 1e-9:
            size /= 2.0
            better = part.value(theta + size * step)
        theta, value = theta + size * step, better
    return Fit(theta, value, information, False)


def fitted_on_plane(law: CanonicalLaw, probes: Array, data: Measurements, normal: Array, level: float = 0.0) -> Fit:
    """The same without a penalty, for parameters with normal'θ = level; ``normal`` (d,) is not 0."""
    basis = np.linalg.svd(normal[None])[2][1:].T
    start = level * normal / float(normal @ normal)
    own = fitted(law, probes @ basis, data, offset=probes @ start)
    return Fit(start + basis @ own.theta, own.value, own.information, own.converged)


class _Part:
    """The probes that were measured, and the value of parameters for them."""

    def __init__(
        self, law: CanonicalLaw, rows: Array, offset: Array, data: Measurements, asked: Counts, penalty: float
    ) -> None:
        self.law, self.rows, self.offset, self.penalty = law, rows, offset, penalty
        own = data.unweighed(law.name)
        self.count, self.total = own.count[asked].astype(np.float64), own.total[asked]

    def linear(self, theta: Array) -> Array:
        return np.asarray(self.rows @ theta + self.offset)

    def value(self, theta: Array) -> float:
        linear = self.linear(theta)
        with np.errstate(over="ignore", invalid="ignore"):
            own = float(linear @ self.total - self.law.cumulant(linear) @ self.count)
        return own - 0.5 * self.penalty * float(theta @ theta)
