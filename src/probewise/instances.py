"""Instances of Fiez, Jain, Jamieson and Ratliff (2019): each function returns a problem and its true θ.

The first four are the experiments of section 5. Functions ending in ``_script`` are what the authors' public
scripts draw where these differ from the text (erratum E28). Two illustrate sections 2 and 3; ``reda`` and ``mislid``
are of later papers.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.problem import Problem

Instance = tuple[Problem, Array]
Seed = int | np.random.SeedSequence | np.random.Generator


def benchmark(d: int, angle: float = 0.01) -> Instance:
    """Probes and items e_1..e_d and cos(ω)e_1 + sin(ω)e_2, with θ = 2e_1 (Soare et al. 2014; section 5).

    ψ* is a quarter of that of ``worked_example``: 10100 at d = 2 and 10108 at d = 35 for ω = .01.
    """
    problem, theta = worked_example(d, angle)
    return problem, 2.0 * theta


def many_arms(n: int, seed: Seed = 0, *, spread: float = 0.3) -> Instance:
    """Unit vectors of the plane at angles 0, 3π/4 and π/4 + φ_i, φ_i ~ N(0, spread²), θ = e_1 (section 5).

    The text prints φ ~ N(0, .09), read here as a variance; ``spread=0.09`` is the other reading.
    """
    _at_least(n, 3, "n")
    angles = np.pi / 4 + spread * np.random.default_rng(seed).standard_normal(n - 2)
    return _plane(_unit(np.concatenate([[0.0, 3 * np.pi / 4], angles])))


def many_arms_script(n: int, seed: Seed = 0) -> Instance:
    """As ``many_arms``, with angles 0.78 + 0.1·U(0, 1) and the second probe (-.707, .707) (public script).

    No item is nearly tied with the best, as it is in ``many_arms``: all gaps are above 1 - cos(.78) = .289.
    """
    _at_least(n, 3, "n")
    angles = 0.78 + 0.1 * np.random.default_rng(seed).random(n - 2)
    return _plane(np.vstack([[1.0, 0.0], [-0.707, 0.707], _unit(angles)]))


def sphere(n: int, d: int, alpha: float = 0.01, seed: Seed = 0) -> Instance:
    """Probes and items uniform on the unit sphere; θ = x + α(v - x) for the closest two x, v (section 5).

    With c the inner product of the two, any other item w has w'x <= c and w'v <= c, so that
    x'θ - w'θ >= (1 - α)(1 - c), and the least gap is (1 - 2α)(1 - c), that of v.
    """
    _at_least(n, 2, "n")
    _at_least(d, 2, "d")
    if not 0 <= alpha < 0.5:
        raise InvalidProblem(f"alpha must lie in [0, 0.5) for the first item to be the best, got {alpha!r}.")
    points = np.random.default_rng(seed).standard_normal((n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    best, second = closest_pair(points)
    theta = points[best] + alpha * (points[second] - points[best])
    return _linear_bandit(points, [f"x{i + 1}" for i in range(n)]), theta


def sphere_script(n: int, seed: Seed = 0) -> Instance:
    """As ``sphere`` with d = 9 and α = 0 (public script; the text has d = 5 and α = .01)."""
    return sphere(n, 9, 0.0, seed)


def transductive(d: int, angle: float = 0.1) -> Instance:
    """Probes e_1..e_d; items e_j and cos(ω)e_j + sin(ω)e_{j+d/2} for j <= d/2; θ = e_1; d even (section 5).

    For ω <= π/4, ψ* = (1 + √(cot²(ω/2) + (d/2 - 1)(1 + sin 2ω)))², and ρ(Y(Z)) = d(1 + sin 2ω) if d >= 4.
    """
    items, names = _twins(d, angle)
    basis = np.eye(d)
    problem = Problem(basis, items, probe_names=[f"e{i + 1}" for i in range(d)], item_names=names)
    return problem, basis[0].copy()


def transductive_script(d: int, angle: float = 0.1) -> Instance:
    """``transductive`` in dimension 2d: what the public script calls d is half of the text's d."""
    return transductive(2 * d, angle)


def static_lower_bound(d: int, alpha: float = 0.1, truth: int = 0) -> Instance:
    """Proposition 1: probes and items e_j and cos(α)e_j + sin(α)e_{j+d/2}, j <= d/2, and θ = item ``truth``.

    The set Θ of the proposition is the d items, its γ is (1 - cos α)². One static design for all of Θ needs
    2d/γ, as it must tell every item from its twin; for a known θ, 4/γ <= ψ* <= 4/γ + (d - 2)/(1 - γ/2).
    """
    items, names = _twins(d, alpha)
    if not 0 <= truth < d:
        raise InvalidProblem(f"truth must be the number of one of the {d} items, got {truth!r}.")
    return _linear_bandit(items, names), items[truth].copy()


def worked_example(d: int, alpha: float = 0.1) -> Instance:
    """Section 3: probes and items e_1..e_d and cos(α)e_1 + sin(α)e_2, with θ = e_1, so Δ_min = 1 - cos α.

    Only e_1..e_d are worth measuring, and ψ* = (1 + √(cot²(α/2) + d - 2))² ≈ (1 + 2/α)² (erratum E7).
    """
    _at_least(d, 2, "d")
    _check_angle(alpha)
    tilted = np.zeros(d)
    tilted[:2] = np.cos(alpha), np.sin(alpha)
    names = [*(f"e{i + 1}" for i in range(d)), "e1 tilted"]
    return _linear_bandit(np.vstack([np.eye(d), tilted]), names), np.eye(d)[0]


def reda() -> Instance:
    """Ten probes of five features that are the items, θ = e_1, σ = ½: for the 3 or the 8 best (Réda et al. 2021)."""
    return Problem(np.array(_REDA), sigma=0.5, probe_names=[f"x{i + 1}" for i in range(10)]), np.eye(5)[0]


def mislid() -> Instance:
    """Ten probes of five features that are the items, σ = 1: for the 3 best (Réda, Tirinzoni, Degenne 2021)."""
    theta = np.array([-0.470218, 1.0, 0.557854, 0.522406, -0.456142])
    return _linear_bandit(np.array(_MISLID), [f"x{i + 1}" for i in range(10)]), theta


def closest_pair(points: Array) -> tuple[int, int]:
    """Row numbers i < j of the two closest unit rows of ``points`` (n, d), exactly, in O(n) memory."""
    if points.shape[1] > 6:  # where a k-d tree prunes little
        return _closest_by_sweep(points)
    distances, neighbours = map(np.asarray, cKDTree(points).query(points, k=2))
    i = int(np.argmin(distances[:, 1]))
    j = int(neighbours[i, neighbours[i] != i][0])  # of two equal rows either may be called the nearest
    return min(i, j), max(i, j)


def _closest_by_sweep(points: Array) -> tuple[int, int]:
    """As ``closest_pair``, by inner products of blocks of rows sorted by their first coordinate.

    With D the least distance so far, only rows whose first coordinates differ by at most D can be closer.
    Blocks are searched in single precision; what comes within its error of the best is computed again.
    """
    order = np.argsort(points[:, 0])
    rows, key = points[order], points[order, 0]
    single = rows.astype(np.float32)
    slack = 4 * points.shape[1] * float(np.finfo(np.float32).eps)
    best, pair = -1.0, (0, 1)
    for low in range(0, len(rows) - 1, _BLOCK):
        high = min(low + _BLOCK, len(rows))
        reach = np.sqrt(max(2.0 - 2.0 * best, 0.0))  # |x - v|² = 2 - 2x'v
        end = int(np.searchsorted(key, key[high - 1] + reach, side="right"))
        products = single[low:high] @ single[low:end].T
        np.fill_diagonal(products, -np.inf)
        if (top := float(products.max())) < best - slack:
            continue
        for i, j in np.argwhere(products >= max(top, best) - 2 * slack):
            if (exact := float(rows[low + i] @ rows[low + j])) > best:
                best, pair = exact, (int(order[low + i]), int(order[low + j]))
    return min(pair), max(pair)


_BLOCK = 256


def _twins(d: int, angle: float) -> tuple[Array, list[str]]:
    """(d, d): e_1..e_{d/2}, then each turned by ``angle`` towards its own new axis; and their names."""
    if d < 2 or d % 2:
        raise InvalidProblem(f"d must be an even number of at least 2, got {d!r}.")
    _check_angle(angle)
    first, second = np.eye(d)[: d // 2], np.eye(d)[d // 2 :]
    names = [f"e{i + 1}" for i in range(d // 2)]
    turned = np.cos(angle) * first + np.sin(angle) * second
    return np.vstack([first, turned]), names + [f"{name} tilted" for name in names]


def _unit(angles: Array) -> Array:
    """(n, 2): points of the unit circle."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _plane(points: Array) -> Instance:
    """Probes and items ``points`` (n, 2), with θ = e_1."""
    return _linear_bandit(points, [f"x{i + 1}" for i in range(len(points))]), np.array([1.0, 0.0])


def _linear_bandit(points: Array, names: list[str]) -> Problem:
    return Problem(points, probe_names=names)


def _check_angle(angle: float) -> None:
    if not 0 < angle < np.pi / 2:
        raise InvalidProblem(f"the angle must lie strictly between 0 and π/2, got {angle!r}.")


def _at_least(value: int, least: int, name: str) -> None:
    if value < least:
        raise InvalidProblem(f"{name} must be at least {least}, got {value!r}.")


_REDA = [
    [0.187642, 0.219318, 0.083698, -0.152804, 0.000704],
    [-0.027322, -0.139468, -0.279171, 0.106989, 0.402491],
    [-0.114764, 0.228702, -0.551065, -0.349415, 0.124532],
    [0.059557, 0.081039, 0.00151, 0.027315, 0.069034],
    [-0.153245, -0.043155, 0.010518, -0.234787, 0.063918],
    [-0.128085, 0.073962, 0.127117, 0.035265, 0.13537],
    [-0.203391, -0.294834, 0.209571, -0.075949, 0.059558],
    [-0.182188, 0.460066, -0.189376, 0.281645, -0.097075],
    [-0.015901, -0.497931, -0.262754, 0.187295, -0.130772],
    [0.334716, -0.096911, -0.423297, 0.298653, 0.491457],
]
_MISLID = [
    [0.348961, -0.368166, -0.501141, -1.0, -0.962964],
    [-0.263913, 1.0, 0.106035, 0.788283, 0.38602],
    [-1.0, 0.478149, -0.979701, 0.712875, 0.183334],
    [-1.0, -0.622359, 0.462287, -0.096026, -0.415658],
    [0.73749, -0.632513, 0.246237, 1.0, -0.008494],
    [-0.117882, 0.185016, 0.392712, -1.0, -0.246731],
    [0.069509, -0.247797, -1.0, 0.208175, -0.003588],
    [-1.0, 0.543, -0.995243, -0.646023, -0.883958],
    [-0.485029, 0.155457, -0.208591, -1.0, 0.504089],
    [-1.0, -0.516686, -0.55018, -0.460386, 0.382617],
]
