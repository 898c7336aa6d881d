"""Departure: evidence that means are not linear in the features, where outcomes themselves are bet on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from probewise.coordinates import Array
from probewise.measurements import Measurements
from probewise.outcomes import Bets
from probewise.pooling import added, guessed
from probewise.problem import Problem


def departure(problem: Problem, steps: Iterable[Sequence[Measurements]]) -> float:
    """Log of what bets against a linear mean have made of 1, by rounds one after the other, those of a step at once.

    Each round is bet on the sum Σ n_i a_i mean_i of which every linear mean is 0, with the a that the misfit of all
    steps before it suggests: docs/adequacy.md, Theorem 3. 0 if the law of outcomes takes no such bets.
    """
    law, data, bets = problem.outcome, Measurements.empty(problem.n_probes), None
    for rounds in steps:
        known = problem.knowing(law)
        if data.n:
            off = np.where(data.count > 0, data.mean - problem.probes @ guessed(known, data), 0.0)
            for own in rounds:
                bets = added(bets, _against(known, own, off))
        data = sum(rounds, data)
        if law.learns and data.n:
            law = law.after(problem.probes @ guessed(known, data), data)
    if bets is None:
        return 0.0
    nothing = np.zeros(1)
    return float(problem.outcome.account(nothing, nothing, bets, np.ones(1), 1.0)[0])


def _against(problem: Problem, measurements: Measurements, off: Array) -> Bets | None:
    """Bets on a round that probes are off the model by ``off`` (n,), less what a linear mean, or a misfit, explains.

    In units of the stakes, what ``off`` suggests is 1.
    """
    bettor = problem.outcome.bettor(measurements) if measurements.n else None
    at = np.flatnonzero(measurements.count)
    if bettor is None or not off[at].any():
        return None
    rows, scale, count = problem.probes[at] / problem.unit, problem.sigma[at], measurements.weights[at]
    root = np.sqrt(count) / scale
    rest = root * off[at]
    basis = np.linalg.svd(root[:, None] * rows, full_matrices=False)
    inside = basis[0][:, basis[1] > 1e-10 * basis[1].max(initial=1e-300)]
    rest = rest - inside @ (inside.T @ rest)
    rest = rest - inside @ (inside.T @ rest)  # what rounding left: Σ n_i a_i x_i is 0 to the last digits
    parts = (rest / (root * scale**2) / bettor.unit)[None]
    return bettor.bets(parts, np.ones(1)).lessened(np.abs(parts) @ (count * problem.misfit[at]))
