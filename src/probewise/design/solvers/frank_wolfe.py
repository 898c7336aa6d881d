"""The paper's own solver, for reproduction and comparison: Frank-Wolfe on the longest direction, stopped by a clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probewise.coordinates import Array
from probewise.design.certificate import Witness
from probewise.design.criterion import Directions
from probewise.design.memory import remembered

ITERATIONS = 1000
CHANGE = 0.01
NEGLIGIBLE = 1e-5


@dataclass(frozen=True)
class Trace:
    """Where Frank-Wolfe stopped."""

    weights: Array
    """(n,): summing to 1, or less where negligible weights were dropped without rescaling."""
    witness: Witness
    """The directions met on the way, weighted as the steps weight them: a valid, seldom tight, lower bound."""
    iterations: int
    """Steps taken."""
    last_value: float
    """max_y y'A(w)⁻¹y before the last step, which is what the authors' code hands on as the value."""


@remembered
def solve(
    probes: Array,
    directions: Directions,
    *,
    iterations: int = ITERATIONS,
    change: float = CHANGE,
    negligible: float = NEGLIGIBLE,
    rescale: bool = True,
) -> Trace:
    """Frank-Wolfe from uniform weights on ``probes`` (n, r), as the paper's last appendix says.

    Step k = 1, 2, … moves 2/(k+2) of the weight to the probe with the largest (x'A⁻¹y)², y the longest direction.
    It ends when ‖change of w‖ < ``change``·‖w‖ or after ``iterations`` steps; weights below ``negligible`` are then
    set to 0 and the rest is scaled to sum 1. The relative change is about 2/((k+2)‖w‖) whatever the value: a clock.
    """
    n = probes.shape[0]
    weights = np.full(n, 1.0 / n)
    information = probes.T @ probes / n
    dual: dict[int, float] = {}
    for k in range(1, iterations + 1):
        whitener = np.linalg.inv(np.linalg.cholesky(information)).T
        label, value = directions.mapped(whitener).largest()
        longest = directions.rows(np.array([label]))[0]
        best = int(np.argmax(np.abs(probes @ (whitener @ (longest @ whitener)))))
        step = 2.0 / (k + 2.0)
        move = -step * weights
        move[best] += step
        relative = float(np.linalg.norm(move) / np.linalg.norm(weights))
        weights = weights + move
        information = (1.0 - step) * information + step * np.outer(probes[best], probes[best])
        dual = {y: (1.0 - step) * p for y, p in dual.items()}
        dual[label] = dual.get(label, 0.0) + step
        if relative < change:
            break
    labels = np.array(list(dual), dtype=np.int64)
    vectors = np.linalg.solve(information, directions.rows(labels).T).T
    witness = Witness(labels, np.array(list(dual.values())), vectors)
    weights = np.where(weights < negligible, 0.0, weights)
    return Trace(weights / weights.sum() if rescale else weights, witness, k, value)
