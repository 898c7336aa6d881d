"""Rounding: from the weights of a design to integer counts, with a proved bound on what that costs.

Everything claimed here is proved in docs/rounding.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from probewise.coordinates import Array, Coordinates, Counts, coordinates
from probewise.errors import InvalidDesign
from probewise.threads import few

Method = Literal["efficient", "regret", "best"]

LARGEST = 2**53
"""Above this number of measurements, float64 no longer tells neighbouring counts apart."""

_TIE = 1e-9
"""Scores closer than this, relatively, are equal up to rounding; the earlier probe is taken."""

_STEPS_PER_DIMENSION = 4
"""Measurements per dimension that regret rounding still chooses one by one after a head start."""

WORK = 1e12
"""Multiplications beyond which regret rounding refuses to start, several minutes on one core."""


class Largest(Protocol):
    """What rounding needs of a set of directions; those of ``probewise.design`` have it."""

    @property
    def generators(self) -> Array:
        """(m, d): rows that span the directions."""

    def mapped(self, transform: Array) -> Largest:
        """The directions in the coordinates ``y @ transform``."""

    def largest(self) -> tuple[int, float]:
        """Label and squared norm of the longest direction."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """Integer counts on the probes, with the design that they stand for."""

    counts: Counts
    """(n_probes,): how often each probe is measured."""
    weights: Array
    """(n_probes,): the design, normalised to sum 1."""
    probes: Array
    """(n_probes, d)."""
    method: str
    """The rounding that made the counts."""
    guarantee: float
    """Proved bound on ``inflation`` for every set of directions; inf where nothing is proved."""

    def __post_init__(self) -> None:
        probes, weights = _validated(self.probes, self.weights)
        counts = np.array(self.counts)
        if counts.shape != weights.shape or not np.issubdtype(counts.dtype, np.integer):
            raise InvalidDesign(
                f"counts must be one integer per probe, expected shape {weights.shape}, "
                f"got {counts.dtype} of shape {counts.shape}."
            )
        if (counts < 0).any() or not counts.any():
            raise InvalidDesign("counts must be at least 0 and not all 0; give each probe a number of measurements.")
        if counts[weights == 0].any():
            probe = int(np.flatnonzero((weights == 0) & (counts > 0))[0])
            raise InvalidDesign(f"probe {probe} has a count but weight 0; counts must stay in the support.")
        for name, value in (("counts", counts.astype(np.int64)), ("weights", weights), ("probes", probes)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        """Number of measurements, the sum of the counts."""
        return int(self.counts.sum())

    def inflation(self, directions: Largest | None = None) -> float:
        """n·max_y y'V⁻¹y / max_y y'A(w)⁻¹y with V = Σ counts_i x_i x_i'; by default the worst over all y.

        inf if a direction lies outside the span of the probes with a positive weight or count; below 1 if the
        counts are better than the design.
        """
        share = self.counts / self.n
        if directions is None:
            return _worst_inflation(self.probes, self.weights, share)
        planned, realised = (_largest_variance(self.probes, w, directions) for w in (self.weights, share))
        if math.isinf(planned) or math.isinf(realised):
            return math.inf
        return realised / planned if planned > 0 else 1.0


@few
def round_design(weights: ArrayLike, n: int, *, probes: ArrayLike, method: Method = "efficient") -> Allocation:
    """Counts that sum to exactly ``n`` and inflate max_y y'A(w)⁻¹y / n as little as can be proved.

    ``weights`` (n_probes,) sum to 1, ``probes`` (n_probes, d). "efficient": Pukelsheim and Rieder (1992), for
    n at least the size of the support. "regret": after Allen-Zhu, Li, Singh and Wang (2017), with
    replacement. "best": the one with the smaller guarantee that takes at most minutes.
    """
    _check_method(method)
    matrix, design = _validated(probes, weights)
    n = _checked_count(n, "n")
    support = np.flatnonzero(design)
    if not matrix[support].any():
        raise InvalidDesign("All probes with positive weight are zero vectors; measuring them says nothing.")
    rows, rank = matrix[support], matrix.shape[1]
    if method != "efficient":
        rows = rows @ _whitening(matrix, design)[1]
        rank = rows.shape[1]

    def bound(name: Method) -> float:
        return proved_inflation(n, support=support.size, dimension=rank, method=name)

    if method == "best":
        proves_more = bound("regret") <= bound("efficient") and _work(n, support.size, rank) <= WORK
        method = "regret" if proves_more or n < support.size else "efficient"
    counts = np.zeros(design.size, dtype=np.int64)
    counts[support] = _efficient(design[support], n) if method == "efficient" else _regret(rows, design[support], n)
    return Allocation(counts, design, matrix, method, bound(method))


def efficient_counts(weights: Array, n: int) -> Counts:
    """(n_probes,): the counts of efficient rounding alone, of a design known to be one, on at most ``n`` probes."""
    support = np.flatnonzero(weights)
    counts = np.zeros(weights.size, dtype=np.int64)
    counts[support] = _efficient(weights[support] / weights.sum(), n)
    return counts


def proved_inflation(n: int, *, support: int, dimension: int, method: Method = "efficient") -> float:
    """Bound on the inflation by ``n`` measurements of a design on ``support`` probes spanning ``dimension``.

    efficient: n/(n-p+1). regret: 1/(1-√(2(r-√r)/n))², or the bound with a head start where that is smaller.
    """
    _check_method(method)
    n, support = _checked_count(n, "n"), _checked_count(support, "support")
    dimension = _checked_count(dimension, "dimension")
    shares = {"efficient": _efficient_share(n, support), "regret": _tail(n, support, dimension)[1]}
    share = max(shares.values()) if method == "best" else shares[method]
    return 1.0 / share if share > 0 else math.inf


def sufficient_measurements(epsilon: float, *, support: int, dimension: int, method: Method = "efficient") -> int:
    """Number from which on the proved inflation is at most 1 + ``epsilon``.

    efficient: (p-1)(1+ε)/ε, at least p. regret: 2(r-√r)/(1-1/√(1+ε))², which is below 8r(1+ε)²/ε².
    """
    _check_method(method)
    if not 0 < epsilon < math.inf:
        raise InvalidDesign(f"epsilon must be positive and finite, got {epsilon!r}; 0.2 is usual.")
    support, dimension = _checked_count(support, "support"), _checked_count(dimension, "dimension")
    exact = {
        "efficient": max(support, (support - 1) * (1 + 1 / epsilon)),
        "regret": max(1.0, _price(dimension) / (1 - 1 / math.sqrt(1 + epsilon)) ** 2),
    }
    needed = min(exact.values()) if method == "best" else exact[method]
    return math.ceil(needed * (1 - 1e-12))  # 5·(1 + 1/0.2) is 30, not the 31 of its rounding error


def _efficient_share(n: int, support: int) -> float:
    """Theorem 1: V ⪰ share · n · A(w)."""
    return (n - support + 1) / n if n >= support else 0.0


def _price(rank: int) -> float:
    """2(r-√r): what regret rounding pays for not knowing in advance which direction will be worst."""
    return 2.0 * (rank - math.sqrt(rank))


def _tail(n: int, support: int, rank: int) -> tuple[int, float]:
    """How many measurements regret rounding chooses one by one, and the share that theorems 2 and 3 prove."""
    price, tail = math.sqrt(_price(rank)), _STEPS_PER_DIMENSION * rank
    plain = max(0.0, math.sqrt(n) - price) ** 2 / n
    if n - tail >= support:
        head_start = (n - tail - support + 1 + (math.sqrt(tail) - price) ** 2) / n
        if head_start >= plain:
            return tail, head_start
    return n, plain


def _work(n: int, support: int, rank: int) -> float:
    """Multiplications of regret rounding; on a line there is nothing to choose."""
    return float(_tail(n, support, rank)[0]) * (support * rank**2 + rank**3) if rank > 1 else 0.0


def _efficient(weights: Array, n: int) -> Counts:
    """The n smallest of the numbers k/w_i, k = 0, 1, ...: counts (p,) that maximise min_i counts_i / w_i.

    With ν = min counts_i/w_i, n-p+1 <= ν <= n, so only the k between ⌈(n-p)w_i⌉ and ⌈n·w_i⌉ need sorting:
    at most about 2p. The margin covers the rounding of the products.
    """
    p = weights.size
    if n < p:
        raise InvalidDesign(
            f"Efficient rounding gives every probe of the support at least one measurement, got n = {n} for "
            f'a support of {p}; raise n, reduce the support of the design or use method="regret".'
        )
    margin = 1.0 + 32.0 * np.finfo(float).eps * n
    counts = np.maximum(np.ceil((n - p - margin) * weights), 1.0).astype(np.int64)
    candidates = np.maximum(np.ceil((n + margin) * weights).astype(np.int64) - counts, 0)
    probe = np.repeat(np.arange(p), candidates)
    offset = np.arange(probe.size) - np.repeat(np.cumsum(candidates) - candidates, candidates)
    order = np.argsort((counts[probe] + offset) / weights[probe], kind="stable")
    chosen = probe[order[: n - int(counts.sum())]]
    return counts + np.bincount(chosen, minlength=p)


def _regret(whitened: Array, weights: Array, n: int) -> Counts:
    """Counts (p,) by follow the regularised leader with -2·tr(U^½), for rows (p, r) with Σ w_i x_i x_i' = I.

    Each step takes the probe with the largest x'M⁻²x / (1 + α·x'M⁻¹x), M = α·S + cI, tr M⁻² = 1, where S is
    the sum of x x'/n so far; α maximises the bound that is proved.
    """
    p, rank = whitened.shape
    if rank == 1:  # the longest probe is best at every step
        return np.bincount([int(np.argmax(np.abs(whitened[:, 0])))], minlength=p) * n
    steps, _ = _tail(n, p, rank)
    if _work(n, p, rank) > WORK:
        raise InvalidDesign(
            f"Regret rounding would choose {steps} measurements one by one among {p} probes; first reduce "
            f'the support of the design to {rank * (rank + 1) // 2 + 1} probes, or use method="efficient".'
        )
    counts = _efficient(weights, n - steps) if steps < n else np.zeros(p, dtype=np.int64)
    alpha, rows = _learning_rate(n, steps, rank), whitened / math.sqrt(n)
    total = alpha * (rows.T * counts) @ rows
    for _ in range(steps):
        eigenvalues, basis = np.linalg.eigh(total)
        inverse = (basis / _regularised(eigenvalues)) @ basis.T
        pushed = rows @ inverse
        score = np.einsum("ij,ij->i", pushed, pushed) / (1.0 + alpha * np.einsum("ij,ij->i", pushed, rows))
        best = int(np.argmax(score >= (1.0 - _TIE) * score.max()))
        counts[best] += 1
        total += alpha * np.outer(rows[best], rows[best])
    return counts


def _learning_rate(n: int, steps: int, rank: int) -> float:
    """The α that maximises steps/(n + α√r) - 2(√r-1)/α; where no α makes it positive, that of 4r steps."""
    steps = steps if steps > _price(rank) else _STEPS_PER_DIMENSION * rank
    return n * math.sqrt(_price(rank) / rank) / (math.sqrt(steps) - math.sqrt(_price(rank)))


def _regularised(eigenvalues: Array) -> Array:
    """Eigenvalues plus the c for which the sum of their inverse squares is 1, by Newton's method.

    As a function of the smallest regularised eigenvalue t >= 1, (Σ (gap+t)⁻²)^(-½) is concave and increasing,
    so that Newton's steps from t = 1 rise to the root without passing it.
    """
    gaps, t = eigenvalues - eigenvalues[0], 1.0
    while True:
        inverse = 1.0 / (gaps + t)
        square = float(inverse @ inverse)
        step = (square**1.5 - square) / float(inverse @ inverse**2)
        t += step
        if step <= 1e-13 * t:
            return np.asarray(gaps + t)


def _whitening(probes: Array, weights: Array) -> tuple[Coordinates, Array]:
    """Coordinates of the span of the probes with positive weight, and (d, r) T with Σ w_i T'x_i x_i'T = I."""
    support = np.flatnonzero(weights)
    system = coordinates(probes[support])
    root = np.sqrt(weights[support])[:, None] * system.probes
    _, singular, right = np.linalg.svd(root, full_matrices=False)
    if singular[-1] <= singular[0] * max(root.shape) * np.finfo(float).eps:
        raise InvalidDesign(
            f"Some weights are too small to compute with, the smallest is {weights[support].min():.1e}; set "
            "them to 0 and normalise, or give them more."
        )
    return system, system.transform @ (right.T / singular)


def _largest_variance(probes: Array, weights: Array, directions: Largest) -> float:
    """max_y y'A(w)⁻¹y; inf if some direction lies outside the range of A(w)."""
    system, transform = _whitening(probes, weights)
    if not system.is_inside(directions.generators).all():
        return math.inf
    return directions.mapped(transform).largest()[1]


def _worst_inflation(probes: Array, weights: Array, share: Array) -> float:
    """Largest eigenvalue of A(share)⁻¹ relative to A(w)⁻¹; inf if the span of the probes has shrunk."""
    system, transform = _whitening(probes, weights)
    measured = np.flatnonzero(share)
    if coordinates(probes[measured]).rank < system.rank:
        return math.inf
    root = np.sqrt(share[measured])[:, None] * (probes[measured] @ transform)
    return float(np.linalg.svd(root, compute_uv=False)[-1] ** -2.0)


def _check_method(method: str) -> None:
    if method not in ("efficient", "regret", "best"):
        raise InvalidDesign(f'method must be "efficient", "regret" or "best", got {method!r}.')


def _checked_count(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidDesign(f"{name} must be an integer, got {value!r}.")
    if not 1 <= value <= LARGEST:
        raise InvalidDesign(f"{name} must lie between 1 and 2^53, got {value}.")
    return int(value)


def _validated(probes: ArrayLike, weights: ArrayLike) -> tuple[Array, Array]:
    """Copies of probes (n_probes, d) and of weights (n_probes,), normalised."""
    matrix, design = np.array(probes, dtype=np.float64), np.array(weights, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or not np.isfinite(matrix).all():
        raise InvalidDesign(f"probes must be a table of finite numbers, got one of shape {matrix.shape}.")
    if design.shape != matrix.shape[:1]:
        raise InvalidDesign(
            f"weights must have one entry per probe, expected shape ({matrix.shape[0]},), got {design.shape}."
        )
    if not (design >= 0).all():
        probe = int(np.flatnonzero(~(design >= 0))[0])
        raise InvalidDesign(f"weights must be at least 0, got {design[probe]} for probe {probe}.")
    total = float(design.sum())
    if not abs(total - 1.0) <= 1e-6:
        raise InvalidDesign(f"weights must sum to 1, got a sum of {total:.9g}; divide them by their sum.")
    return matrix, design / total
