"""Parameters that fit the data of a search that is not over, for forecasts; heuristic."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.design.farthest import square_norms

CANDIDATES = 400
"""Parameters that are drawn around the estimate, of which few are chosen."""
_MOST = 1.0
"""Standard deviations by which candidates are taken to be harder than what they are drawn around, at most."""
_OVER = 0.02
"""Probability that a search is not over, at least."""
_LEAST = 0.5
"""Logarithm of what an account must make, at least, where what it pays for its scale is taken off."""


def picked(leads: Array, limits: Array, count: int) -> NDArray[np.int64]:
    """(count,): numbers of candidates, evenly over all that fit, by what each of k comparisons has of its ``limits``.

    Both are (c + 1, k), in standard errors of today: true leads, infinite for none, and those that would decide. The
    first row is that of the estimate. A candidate weighs the more the less probable it is that a search on it is not
    over by now. Noise makes items look closer than they are, once in the estimate and once more in what is drawn around
    it: where most candidates are harder than the estimate, both are taken off, as in a bias-corrected bootstrap.
    """
    from scipy.special import ndtr, ndtri  # loaded when needed

    clear = (leads / limits).min(axis=1)
    own, others = clear[0], clear[1:]
    weights = 1.0 / _going(leads[1:], limits[1:])
    weights = weights / weights.sum()
    easier = float(weights @ ((others > own) + 0.5 * (others == own)))
    shift = min(max(float(ndtri(easier)), -_MOST), 0.0)
    order = np.argsort(-others, kind="stable")
    at = np.searchsorted(np.cumsum(weights[order]), ndtr(2.0 * shift + ndtri((np.arange(count) + 0.5) / count)))
    return np.asarray(order[np.minimum(at, others.size - 1)])


def limit(precision: Array, unit: Array, needed: float) -> Array:
    """Standard errors by which a lead is known once bets on it, of a scale like its precision, make ``needed``."""
    paid = needed - math.log(2.0) + 0.5 * np.log1p(precision / unit)
    return np.asarray(np.sqrt(2.0 * (1.0 + unit / precision) * np.maximum(paid, _LEAST)))


def precisions(rows: Array, whitener: Array) -> Array:
    """(…, k): 1/|row @ whitener|², and a very small number for rows that are 0."""
    squares = square_norms((rows @ whitener).reshape(-1, whitener.shape[1])).reshape(rows.shape[:-1])
    return 1.0 / np.where(squares > 0, squares, 1e300)


def _going(leads: Array, limits: Array) -> Array:
    """(c,): probability that the slowest comparison has not been decided at any time so far.

    Limits of sums grow like the root of the precision; for walks with a drift, the straight line that touches that
    curve now is passed with a probability known in closed form.
    """
    from scipy.special import log_ndtr, ndtr

    known = np.where(np.isfinite(leads), leads, 1e3)
    earlier = np.exp(np.minimum(limits * (known - 0.5 * limits) + log_ndtr(-known), 0.0))
    return np.asarray(np.maximum(1.0 - ndtr(known - limits) - earlier, _OVER).max(axis=1))
