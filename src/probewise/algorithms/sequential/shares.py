"""Shares: the optimal design for one direction, such as the comparison of two items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.sequential.first import spanner
from probewise.algorithms.sequential.steps import TIE
from probewise.coordinates import Array
from probewise.errors import NotIdentifiable
from probewise.problem import Problem


class Shares(NamedTuple):
    """The optimal design for one comparison."""

    support: NDArray[np.int64]
    """(k,): numbers of probes, ascending; k <= r."""
    share: Array
    """(k,): their shares of the measurements, positive, with sum 1."""


@dataclass(frozen=True)
class _Memo:
    """Shares of one problem."""

    start: NDArray[np.int64]
    """Probes with which every linear programme begins."""
    found: dict[bytes, Shares]
    """Shares by direction."""


_MEMOS: WeakKeyDictionary[Problem, _Memo] = WeakKeyDictionary()
"""What ``shares`` has returned: a pure function of frozen arguments, so that remembering it changes no decision."""


def shares(problem: Problem, i: int, j: int) -> Shares:
    """The design of least cost for z_i - z_j at a given variance."""
    low, high = min(i, j), max(i, j)
    return towards(problem, problem.items[low] - problem.items[high])


def towards(problem: Problem, direction: Array) -> Shares:
    """The design of least cost for y'θ at a given variance, once for each ``direction`` y (d,) that comes up.

    Of all u with Σ u_k x_k/σ_k = y take the least Σ √c_k |u_k|, by linear programming; then measurements in proportion
    to |u_k|/√c_k are optimal (Elfving 1952), as Cauchy and Schwarz give Σ c_k n_k · Σ u_k²/n_k >= that².
    """
    memo = _MEMOS.get(problem)
    if memo is None:
        few = problem.n_probes <= _MANY
        start = np.arange(problem.n_probes) if few else spanner(problem.coordinates.probes)
        memo = _MEMOS.setdefault(problem, _Memo(start, {}))
    key = direction.tobytes()
    if key not in memo.found:
        memo.found[key] = _elfving(problem, direction, memo.start)
    return memo.found[key]


_MANY = 100
"""Up to so many probes all enter the linear programme at once; beyond, as many at a time as it asks for."""


def _elfving(problem: Problem, direction: Array, chosen: NDArray[np.int64]) -> Shares:
    """The least combination from the ``chosen`` probes, with more of them until no other would make it smaller."""
    probes, root = problem.coordinates.probes, np.sqrt(problem.cost)
    y = problem.coordinates(direction)
    y = y / np.linalg.norm(y)
    while True:
        amount, dual = _least(probes[chosen], root[chosen], y)
        price = np.abs(probes @ dual) / root
        price[chosen] = 0.0
        worse = np.flatnonzero(price > 1.0 + TIE)  # dual feasible if no |x'v| exceeds √c: then all is optimal
        if worse.size == 0:
            break
        chosen = np.union1d(chosen, worse[np.argsort(-price[worse], kind="stable")[:_MANY]])
    amount = amount / root[chosen]
    support = np.flatnonzero(amount > TIE * amount.max())
    return Shares(chosen[support], amount[support] / amount[support].sum())


def _least(probes: Array, root: Array, y: Array) -> tuple[Array, Array]:
    """(k,): |u| for the u of least Σ root·|u| with probes'u = y; and (r,) dual variables v."""
    from scipy.optimize import linprog  # slow to load

    solution = linprog(
        np.concatenate([root, root]),
        A_eq=np.hstack([probes.T, -probes.T]),
        b_eq=y,
        method="highs-ds",  # the simplex method ends in a vertex, with at most r probes
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solution.status != 0 or solution.x is None:
        reason = f"the linear programme of the ratio rule failed ({solution.message})"
        raise NotIdentifiable(f"{reason}; choose selection='greedy' or remove probes that are nearly multiples.")
    u: Array = solution.x
    return np.abs(u[: root.size] - u[root.size :]), np.asarray(solution.eqlin.marginals)
