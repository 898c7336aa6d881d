"""Certificates of designs on nearly collinear probes, judged in arithmetic of 100 digits.

python benchmarks/certificate_audit.py [--problems 10000] [--first 0] [--processes 1]; the seed of a problem is its
number: --first 7278 --problems 1 is that one again. Small problems, most of them of whole numbers, whose features
depend on each other up to 1e-6 to 1e-14. Each is solved to a tolerance of 1e-3, 1e-6 or 1e-9. The numbers as given
are taken to be exact. The value of the returned weights is computed in 100 digits and must not exceed `value`. The
optimum is found by Newton's method on the optimality conditions, in 100 digits, and enclosed by the value of its
weights and the bound of its multipliers: `lower` must not exceed it, and `value` not fall below. Where a design has
`exact` False, the same is asked in the coordinates that it was found in. A refusal must name columns. Exit code 1 if
anything fails.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

from probewise.arithmetic import rank_and_members
from probewise.coordinates import Array, budgeted
from probewise.design import Directions, explicit, optimal_design, pairs, points, star
from probewise.errors import InvalidDesign, NotIdentifiable

DIGITS = 100
Matrix = NDArray[Any]
"""Of numbers of 100 digits."""
exactly = np.vectorize(mp.mpf, otypes=[object])


class Problem(NamedTuple):
    """Probes, directions, and what both are, exactly."""

    probes: Array
    directions: Directions
    rows: Matrix
    cost: Array
    tol: float
    apart: float


def drawn(seed: int) -> Problem:
    """A problem of 2 to 4 features, of which one is nearly a combination of others."""
    rng = np.random.default_rng([11, seed])
    n, d = int(rng.integers(2, 9)), int(rng.integers(2, 5))
    n = max(n, d)
    apart = 10.0 ** rng.uniform(-14, -6)
    X = rng.integers(-9, 10, (n, d)).astype(float)
    if rng.random() < 0.2:
        X = X + rng.standard_normal((n, d))
    X[:, -1] = X[:, : max(1, d - 2)] @ rng.integers(1, 3, max(1, d - 2))
    X[:, -1] += apart * (rng.integers(-9, 10, n) if rng.random() < 0.7 else X[:, -1] * rng.standard_normal(n))
    kind = rng.choice(["identity", "pairs of the identity", "pairs", "star", "star with gaps", "probes"])
    Z = np.eye(d) if "identity" in kind else rng.integers(-9, 10, (int(rng.integers(2, 6)), d)).astype(float)
    if kind == "probes":
        Z = X.copy()
    if rng.random() < 0.2:
        X = np.vstack([X, X[rng.integers(n, size=2)]])  # some probes twice
    if rng.random() < 0.2:
        units = 10.0 ** rng.uniform(-8, 8, d)
        X, Z = X * units, Z * units if kind != "identity" else Z
    cost = rng.uniform(0.2, 5.0, len(X)) if rng.random() < 0.2 else np.ones(len(X))
    gaps = rng.uniform(0.01, 1.0, len(Z)) if kind == "star with gaps" else np.ones(len(Z))
    directions: Directions = points(Z) if kind == "identity" else pairs(Z)
    exact = exactly(Z)
    rows = np.array([y - z for k, z in enumerate(exact) for y in exact[:k]])
    if kind == "identity":
        rows = exact
    if kind.startswith("star"):
        directions = star(Z, 0, gaps if kind.endswith("gaps") else None)
        rows = (exact[:1] - exact[1:]) / exactly(gaps[1:, None])
    return Problem(X, directions, rows, cost, float(rng.choice([1e-3, 1e-6, 1e-9])), apart)


class State(NamedTuple):
    """What weights give: f_y, x'A⁻¹y and x'A⁻¹x'."""

    squares: Matrix
    cross: Matrix
    gram: Matrix


def solved(A: Matrix, right: Matrix) -> Matrix:
    """A⁻¹ times the right side, by Gauss and Jordan with pivots."""
    A, right = A.copy(), right.copy()
    for i in range(len(A)):
        pivot = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, pivot]], right[[i, pivot]] = A[[pivot, i]], right[[pivot, i]]
        if A[i, i] == 0:
            raise ZeroDivisionError
        right[i], A[i] = right[i] / A[i, i], A[i] / A[i, i]
        factors = A[:, i].copy()
        factors[i] = mp.mpf(0)
        A, right = A - factors[:, None] * A[i], right - factors[:, None] * right[i]
    return right


def definite(A: Matrix) -> bool:
    """Whether a matrix is positive definite with 30 digits to spare."""
    sizes, A = np.diag(A).copy(), A.copy()
    for i in range(len(A)):
        if A[i, i] <= mp.mpf(10) ** -65 * sizes[i]:
            return False
        A[i + 1 :, i + 1 :] -= A[i + 1 :, i, None] * A[i, i + 1 :] / A[i, i]
    return True


def state(X: Matrix, rows: Matrix, weights: Matrix) -> State | None:
    """In 100 digits; None if A(w) is singular."""
    A = (X * weights[:, None]).T @ X
    if not definite(A):
        return None
    inverse = solved(A, exactly(np.eye(len(A))))
    half = X @ inverse
    return State(((rows @ inverse) * rows).sum(axis=1), half @ rows.T, half @ X.T)


def value(cost: Matrix, weights: Matrix, now: State | None) -> Any:
    """(cost·w) max f."""
    return mp.inf if now is None else (cost @ weights) * max(now.squares)


def whitened(X: Matrix, rows: Matrix) -> tuple[Matrix, Matrix]:
    """Both in coordinates in which the probes are orthonormal: Gram and Schmidt on the features, in 100 digits."""
    X, rows = X.copy(), rows.copy()
    for j in range(X.shape[1]):
        size = mp.sqrt((X[:, j] ** 2).sum())
        X[:, j], rows[:, j] = X[:, j] / size, rows[:, j] / size
        shares = X[:, j] @ X[:, j + 1 :]
        X[:, j + 1 :] -= X[:, j, None] * shares
        rows[:, j + 1 :] -= rows[:, j, None] * shares
    return X, rows


def singular_value(X: Matrix, rows: Matrix, cost: Matrix, weights: Matrix) -> Any:
    """As ``value`` where A(w) is singular: by A(w) plus 1e-70 of its size; infinite if some row is not measured."""
    X, rows = whitened(X, rows)
    A = (X * weights[:, None]).T @ X
    size = np.trace(A)
    largest = max((solved(A + size * mp.mpf(10) ** -70 * exactly(np.eye(len(A))), rows.T) * rows.T).sum(axis=0))
    return (cost @ weights) * largest if largest * size < mp.mpf(10) ** 30 * (rows**2).sum() else mp.inf


def optimum(X: Matrix, rows: Matrix, cost: Matrix, weights: Matrix) -> tuple[Any, Any]:
    """(lower, upper) bounds on the optimum: weights found where probes are orthonormal, then Newton's method.

    The change of coordinates is made in 100 digits, so that rounding to doubles afterwards costs nothing.
    """
    upper = value(cost, weights, state(X, rows, weights))
    X, rows = whitened(X, rows)
    plain, easy = X.astype(float), (rows / mp.sqrt((rows**2).sum())).astype(float)
    found = optimal_design(plain, explicit(easy), cost=cost.astype(float), tol=1e-9).weights
    start = exactly(found)
    upper = min(upper, value(cost, start, state(X, rows, start)))
    lower = mp.mpf(0)
    for light, short in ((1e-5, 1e-6), (1e-7, 1e-8)):
        low, high = newton(X, rows, cost, start, light, short)
        lower, upper = max(lower, low), min(upper, high)
        if upper <= lower * (1 + mp.mpf(10) ** -18):
            break
    return lower, upper


def newton(X: Matrix, rows: Matrix, cost: Matrix, weights: Matrix, light: float, short: float) -> tuple[Any, Any]:
    """Bounds after Newton's steps on: f_y = t for long y, Σ p_y (x'A⁻¹y)² = t c_x for heavy x, c·w = 1."""
    w = np.where(cost * weights / (cost @ weights) > light, weights, mp.mpf(0))
    w = w / (cost @ w)
    S = np.flatnonzero(w)
    if (now := state(X, rows, w)) is None:
        return mp.mpf(0), mp.inf
    t = max(now.squares)
    T = np.flatnonzero(now.squares > (1 - short) * t)
    s, k = len(S), len(T)
    b = now.cross[np.ix_(S, T)] ** 2
    p = regression(np.vstack([b, exactly(np.ones((1, k))) * t]), np.append(t * cost[S], t))
    best = max(mp.mpf(0), dual(cost, p, T, now)), value(cost, w, now)
    for _ in range(4):
        cross = now.cross[np.ix_(S, T)]
        J = exactly(np.zeros((s + k + 1, s + k + 1)))
        J[:k, :s], J[:k, -1] = -(cross.T**2), mp.mpf(-1)
        J[k:-1, :s] = -2 * now.gram[np.ix_(S, S)] * ((cross * p) @ cross.T)
        J[k:-1, s:-1], J[k:-1, -1] = cross**2, -cost[S]
        J[-1, :s] = cost[S]
        e = np.concatenate([now.squares[T] - t, (cross**2) @ p - t * cost[S], [cost @ w - 1]])
        step = regression(J, -e)
        length = min([mp.mpf(1), *(-mp.mpf("0.9") * v / m for v, m in zip(w[S], step[:s], strict=True) if v + m <= 0)])
        w[S], p, t = w[S] + length * step[:s], p + length * step[s:-1], t + length * step[-1]
        if (now := state(X, rows, w)) is None:
            break
        best = max(best[0], dual(cost, p, T, now)), min(best[1], value(cost, w, now))
        if best[1] <= best[0] * (1 + mp.mpf(10) ** -18):
            break
    return best


def regression(A: Matrix, right: Matrix) -> Matrix:
    """Least squares by normal equations, which 100 digits can afford, with a ridge where the solution is not unique."""
    scale = np.array([mp.sqrt((column**2).sum()) + mp.mpf(10) ** -80 for column in A.T])
    A = A / scale
    N = A.T @ A + exactly(np.eye(A.shape[1])) * mp.mpf(10) ** -50
    return np.asarray(solved(N, (A.T @ right)[:, None])[:, 0] / scale)


def dual(cost: Matrix, p: Matrix, T: NDArray[np.int64], now: State) -> Any:
    """The bound of multipliers on the directions in T, negative ones left out, with v_y = A⁻¹y."""
    p = np.where(p > 0, p, mp.mpf(0))
    h = p @ now.squares[T]
    g = max((now.cross[:, T] ** 2 @ p) / cost)
    return h * h / (g * p.sum()) if h > 0 and g > 0 else mp.mpf(0)


def verdict(seed: int) -> tuple[str, float]:
    """What became of a problem, and the relative width of the enclosure of its optimum."""
    mp.mp.dps = DIGITS
    X, directions, rows, cost, tol, _ = drawn(seed)
    try:
        design = optimal_design(X, directions, cost=cost, tol=tol)
    except NotIdentifiable as error:
        return ("refused, columns named" if re.search(r"feature columns \d", str(error)) else "FALSE: no columns"), 0.0
    except InvalidDesign as error:
        return ("refused: all directions zero" if "all directions are zero" in str(error) else f"FALSE: {error}"), 0.0
    table, c, w = exactly(X), exactly(cost), exactly(design.weights)
    if not design.exact or rank_and_members(X, X[:1])[0] < X.shape[1]:
        transform = exactly(budgeted(X, cost).transform)
        table, rows = table @ transform, rows @ transform
    singular = (now := state(table, rows, w)) is None
    attained = singular_value(table, rows, c, w) if singular else value(c, w, now)
    lower, upper = optimum(table, rows, c, w)
    upper = min(upper, attained)
    width = float(upper / lower - 1) if lower > 0 else float("inf")
    if design.lower > upper:
        return "FALSE: lower above the optimum", width
    if design.value < attained and (design.exact or not singular):
        return "FALSE: value below that of the weights", width
    if design.value < lower:
        return "FALSE: value below the optimum", width
    if design.converged != (design.exact and design.gap <= tol) or (design.lower > 0 and design.gap < 0):
        return "FALSE: gap", width
    kind = "" if design.exact else ", dependent up to rounding"
    kind += ", singular" if singular else ""
    return ("enclosed" if design.converged else "not converged, enclosed") + kind, width


def main(first: int, problems: int, processes: int) -> int:
    """Print how often each came out."""
    counts: Counter[str] = Counter()
    widths = []
    with ProcessPoolExecutor(processes) as pool:
        seeds = range(first, first + problems)
        for seed, (said, width) in zip(seeds, pool.map(verdict, seeds, chunksize=20), strict=True):
            counts[said] += 1
            if "enclosed" in said:
                widths.append(width)
            if said.startswith("FALSE"):
                print(f"problem {seed}: {said}", flush=True)
    for said, count in counts.most_common():
        print(f"{count:>7,}  {said}")
    known = np.array(widths)
    print(f"{len(known):>7,}  optima enclosed by 100 digits, {np.mean(known <= 1e-18):.1%} of them to 18 digits, "
          f"{np.mean(known <= 1e-6):.1%} to 6")  # fmt: skip
    return int(any(said.startswith("FALSE") for said in counts))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    sys.exit(main(arguments.first, arguments.problems, arguments.processes))
