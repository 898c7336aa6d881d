"""Designs for sets: how often to measure each element so that the leader and its rivals are told apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array
from probewise.oracles import Members

STEPS, GAP, HALVINGS = 400, 0.03, 24
"""Steps at most, the gap at which they end, and those of a line search."""


class SetDesign(NamedTuple):
    """Weights with their certificate, for the rivals that were given."""

    weights: Array
    """(n,): measurements of each element per unit of cost."""
    value: float
    """max over the rivals of Σ σ²/weight over the elements that differ, over the square of the margin."""
    lower: float
    """No weights have a smaller value."""


def set_design(
    leader: Members, rivals: NDArray[np.bool_], margins: Array, noise: Array, cost: Array, tol: float = GAP
) -> SetDesign:
    """min over weights of max over ``rivals`` (k, n) of Σ_e noise_e/weight_e/margin², Σ cost·weight = 1.

    Frank-Wolfe on the dual: for a mixture of rivals with noise m = Σ p_i·noise·|l-z_i|/margin_i², the weights √(m/cost)
    are optimal, with value (Σ√(m·cost))², a lower bound that is concave in p.
    """
    from scipy import sparse  # rivals differ in few elements

    differ = sparse.csr_array((rivals != leader).astype(np.float64))
    scales, root = 1.0 / margins**2, np.sqrt(cost)
    mixture = noise * (differ.T @ scales) / len(scales)
    for step in range(STEPS + 1):
        scale = float((np.sqrt(mixture) * root).sum())
        weights = np.sqrt(mixture) / root / scale
        inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)
        values = scales * (differ @ (noise * inverse))
        worst = int(np.argmax(values))
        if values[worst] <= (1.0 + tol) * scale**2 or step == STEPS:
            break
        mixture = _searched(mixture, scales[worst] * noise * (rivals[worst] != leader), root)
    return SetDesign(weights, float(values[worst]), scale**2)


def _searched(mixture: Array, atom: Array, root: Array) -> Array:
    """The best point between the mixture and an atom, where Σ√(m·cost) is largest: its slope decides."""
    low, high = 0.0, 1.0
    change = atom - mixture
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        at = mixture + middle * change
        slope = float((change * root)[at > 0] @ (1.0 / np.sqrt(at[at > 0])))
        low, high = (middle, high) if slope > 0 else (low, middle)
    return np.asarray(mixture + low * change)
