"""The design problem on small sets as a second-order cone program, handed to Clarabel: an independent judge."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from probewise.coordinates import Array
from probewise.design.solvers.interior import Restricted


def solve(probes: Array, directions: Array, *, tol: float) -> Restricted:
    """min Σμ subject to X'u_y = y, Σ_i t_yi <= 1, u_yi² <= μ_i t_yi, for probes (n, d) and directions (k, d).

    Variables are μ (n), then u and t (k·n each); the last constraint is a second-order cone of size 3.
    """
    import clarabel

    n, d = probes.shape
    k = directions.shape[0]
    scale = float(np.linalg.norm(directions, axis=1).max())
    size = k * n
    identity = sparse.identity(k, format="csr")
    equalities = sparse.hstack(
        [sparse.csr_matrix((k * d, n)), sparse.kron(identity, probes.T), sparse.csr_matrix((k * d, size))]
    )
    budgets = sparse.hstack([sparse.csr_matrix((k, n + size)), sparse.kron(identity, np.ones((1, n)))])
    matrix = sparse.csc_matrix(sparse.vstack([equalities, budgets, _cones(n, k)]))
    right = np.concatenate([(directions / scale).ravel(), np.ones(k), np.zeros(3 * size)])
    cones = [clarabel.ZeroConeT(k * d), clarabel.NonnegativeConeT(k)]
    cones += [clarabel.SecondOrderConeT(3)] * size
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = min(1e-8, tol / 10.0)
    objective = np.concatenate([np.ones(n), np.zeros(2 * size)])
    quadratic = sparse.csc_matrix((n + 2 * size, n + 2 * size))
    solution = clarabel.DefaultSolver(quadratic, objective, matrix, right, cones, settings).solve()
    amounts = np.maximum(np.asarray(solution.x)[:n], 0.0)
    # a trace of every probe keeps the information matrix invertible and costs one part in 1e10
    weights = amounts / amounts.sum() * (1.0 - 1e-10) + 1e-10 / n
    dual, multipliers = np.split(np.asarray(solution.z)[: k * d + k], [k * d])
    multipliers = np.where(multipliers > 1e-12 * multipliers.max(), multipliers, 0.0)
    # ν_y of X'u_y = y and z_y of the budgets are feasible for the dual: Σ_y (x'ν_y)²/z_y <= 4 for each x
    with np.errstate(divide="ignore", invalid="ignore"):
        vectors = np.where(multipliers[:, None] > 0, -dual.reshape(k, d) / multipliers[:, None], 0.0)
    gap = abs(solution.obj_val - solution.obj_val_dual) / abs(solution.obj_val)
    return Restricted(weights, multipliers / multipliers.sum(), float(gap), int(solution.iterations), vectors)


def _cones(n: int, k: int) -> sparse.csr_matrix:
    """Rows (μ + t, μ - t, 2u) with a minus sign, three for each pair of direction and probe."""
    size = k * n
    entry = np.arange(size)
    probe = entry % n
    u, t = n + entry, n + size + entry
    rows = np.concatenate([3 * entry, 3 * entry, 3 * entry + 1, 3 * entry + 1, 3 * entry + 2])
    columns = np.concatenate([probe, t, probe, t, u])
    ones = np.ones(size)
    values = np.concatenate([-ones, -ones, -ones, ones, -2.0 * ones])
    return sparse.csr_matrix((values, (rows, columns)), shape=(3 * size, n + 2 * size))
