"""How hard each claim of the right answer is under a given design."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import probewise as pw
from probewise.coordinates import Array, coordinates

if TYPE_CHECKING:
    from probewise.design.criterion import Vectors


def needs(problem: pw.Problem, weights: Array, claims: Vectors) -> Array:
    """(m,): (cost·w) ‖z_* - z‖²_{A(w)⁻¹} / Δ(z)² for every item z, 0 for the best; at the optimum ψ* is the largest.

    Of other ``claims``, divided by their margins, the hardest of those that keep an item in its place.
    """
    support = np.flatnonzero(weights)
    # in these coordinates A(w) is the number of support points times the identity
    measured = coordinates(problem.scaled_probes[support] * np.sqrt(weights[support, None]))
    squares = np.sum((claims.vectors @ measured.transform) ** 2, axis=1) / support.size
    inside = measured.is_inside(claims.vectors, claims.magnitudes)
    out = np.zeros(problem.n_items)
    np.maximum.at(out, claims.names, np.where(inside, float(problem.cost @ weights) * squares, np.inf))
    return out
