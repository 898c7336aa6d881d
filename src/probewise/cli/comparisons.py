"""How hard each comparison with the best item is under a given design."""

from __future__ import annotations

import numpy as np

import probewise as pw
from probewise.coordinates import Array, coordinates


def needs(problem: pw.Problem, hardness: pw.Hardness, weights: Array) -> Array:
    """(m,): (cost·w) ‖z_* - z‖²_{A(w)⁻¹} / Δ(z)² for every item z, 0 for the best; at the optimum ψ* is the largest."""
    support = np.flatnonzero(weights)
    # in these coordinates A(w) is the number of support points times the identity
    measured = coordinates(problem.scaled_probes[support] * np.sqrt(weights[support, None]))
    rows = pw.star(problem.items, hardness.best, hardness.gaps)
    squares = np.sum((rows.vectors @ measured.transform) ** 2, axis=1) / support.size
    inside = measured.is_inside(rows.vectors, rows.magnitudes)
    out = np.zeros(problem.n_items)
    out[rows.names] = np.where(inside, float(problem.cost @ weights) * squares, np.inf)
    return out
