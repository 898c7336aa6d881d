"""The first round of a method that measures one by one, and its estimate from then on."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from probewise.algorithms.sequential.steps import TIE
from probewise.coordinates import Array, Counts
from probewise.estimate import RankOne


def spanner(probes: Array) -> NDArray[np.int64]:
    """(r,): rows of ``probes`` (n, r) of rank r, ascending; coefficients in [-2, 2] make all others of them.

    Awerbuch and Kleinberg 2004: each exchange more than doubles the volume; a pivoted QR gives a good start.
    """
    chosen = linalg.qr(probes.T, mode="r", pivoting=True)[1][: probes.shape[1]]
    while True:
        coefficients = np.abs(np.linalg.solve(probes[chosen].T, probes.T))
        row, column = np.unravel_index(int(np.argmax(coefficients)), coefficients.shape)
        if coefficients[row, column] <= 2.0:
            return np.sort(chosen).astype(np.int64)
        chosen[row] = column


def unit(probes: Array, counts: Counts) -> Array:
    """(r, r): a transform of ``probes`` (n, r) under which ``counts`` (n,) of them have information I.

    It is larger by TIE, so that V ⪰ I, which TrackAndStop waits for, holds from then on whatever the rounding.
    """
    root = np.linalg.cholesky(probes.T @ (counts[:, None] * probes))
    return math.sqrt(1.0 + TIE) * linalg.solve_triangular(root, np.eye(len(root)), lower=True).T


def told(probes: Array, fit: RankOne | None, count: Counts, mean: Array) -> RankOne | None:
    """The estimate with ``count`` (n,) more measurements of each probe, of ``mean`` (n,), all in units of the noise.

    None as long as they do not span all features, as when rows of the first round, whose information is I, are missing.
    """
    asked = np.flatnonzero(count)
    rows, weight, outcome = probes[asked], count[asked], mean[asked]
    if fit is not None and weight.sum() == 1:
        return fit.updated(rows[0], float(outcome[0]))
    information, moment = (weight * rows.T) @ rows, rows.T @ (weight * outcome)
    if fit is not None:
        information, moment = information + fit.information, moment + fit.information @ fit.theta
    elif np.linalg.eigvalsh(information)[0] <= TIE:
        return None
    return RankOne.start(information, moment)
