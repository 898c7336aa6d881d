"""Why figures of the field differ from published ones: what public code does otherwise, each difference run by itself.

    python benchmarks/published_reasons.py lazy|budget [--runs N]

"lazy": Lazy Track-and-Stop on benchmark(6, .1), with the constant c that the first probes of the public port have.
"budget": P1-RAGE and Peace on benchmark(10, .1), by their public schedule and by designs of their public solver.
"""

from __future__ import annotations

import argparse
import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

import probewise as pw
from probewise.confidence import TrackAndStop
from probewise.design import optimal_design, pairs, points

Array = NDArray[np.float64]
LAZY = {0.1: 7651, 0.01: 8290, 0.001: 8952, 0.0001: 9575}
"""δ -> measurements of Lazy Track-and-Stop with its proven threshold in the table of FWS's paper."""


def lazy(runs: int) -> None:
    """The port draws probes at random until they have full rank; two of e_1, e_2 and the close one are among them.

    Each pair is as likely as the others. c is the least eigenvalue of their information: 1, 1 - sin .1 or 1 - cos .1.
    """
    problem, theta = pw.instances.benchmark(6, 0.1)
    for delta, published in LAZY.items():
        means, errors = [], []
        for c in (1.0, 1.0 - math.sin(0.1), 1.0 - math.cos(0.1)):
            algorithm = pw.LazyTrackAndStop(threshold=TrackAndStop(c=c))
            found = pw.simulate(problem, theta, algorithm, pw.BestItem(delta), runs=runs, seed=1)
            means.append(found.mean("measurements"))
            errors.append(found.standard_error("measurements"))
        mean, error = np.mean(means), math.hypot(*errors) / 3
        each = ", ".join(f"{value:,.0f}" for value in means)
        print(
            f"δ = {delta:g}: c = 1, .90, .005: {each}; mean {mean:,.0f} ± {error:.0f}; published {published:,}",
            flush=True,
        )


class Public:
    """Designs and schedules of the public code of P1-RAGE and Peace, with their solver or with optimal designs."""

    def __init__(self, items: Array, exact: bool) -> None:
        self.items, self.exact = items, exact
        self.known: dict[tuple[int, ...], tuple[Array, float]] = {}
        self.all = self._solved(items, points(items))[0]

    def _solved(self, rows: Array, criterion: object) -> tuple[Array, float]:
        if self.exact:
            design = optimal_design(self.items, criterion, tol=1e-3)
            return design.weights, design.value
        return frank_wolfe(self.items, rows)

    def design(self, chosen: NDArray[np.int64]) -> tuple[Array, float]:
        """For all pairs of some items: weights and the largest variance."""
        key = tuple(sorted(int(item) for item in chosen))
        if key not in self.known:
            if len(key) == 1:
                self.known[key] = np.full(len(self.items), 1.0 / len(self.items)), 0.0
            else:
                part = self.items[list(key)]
                first, second = np.triu_indices(len(part), k=1)
                self.known[key] = self._solved(part[first] - part[second], pairs(part))
        return self.known[key]

    @property
    def epochs(self) -> int:
        """⌈log₂ ρ⌉."""
        return math.ceil(math.log2(self.design(np.arange(len(self.items)))[1]))

    def mixed(self, theta: Array, relative: bool) -> Array:
        """Half for all items, half the mean of designs for items within 2^-i, or within 2^-i of the largest gap."""
        gaps = (self.items @ theta).max() - self.items @ theta
        scale = 2.0 * gaps.max() if relative else 1.0
        near, designs = np.arange(len(self.items)), []
        while near.size > 1 and len(designs) < 15:
            designs.append(self.design(near)[0])
            near = np.flatnonzero(gaps <= scale * 2.0 ** -len(designs))
        return 0.5 * self.all + 0.5 * np.mean(designs, axis=0)

    def p1_rage(self, theta: Array, budget: int, rng: np.random.Generator, relative: bool, early: bool) -> bool:
        """Inverse propensities; designs at 0, T/E, 2T/E, …, the first after one single outcome (``early``) or none."""
        length = budget // self.epochs
        weights, moment, done = self.all, np.zeros(len(theta)), 0
        ends = ([1] if early else []) + [1 + length * k for k in range(1, self.epochs + 1)]
        for end in [*(e for e in ends if e < budget), budget]:
            drawn = rng.multinomial(end - done, weights)
            total = drawn * (self.items @ theta) + np.sqrt(drawn) * rng.standard_normal(len(drawn))
            information = self.items.T @ (weights[:, None] * self.items)
            moment += np.linalg.pinv(information) @ (self.items.T @ total)
            done = end
            weights = self.mixed(moment / done, relative)
        return int(np.argmax(self.items @ moment)) == 0

    def peace(self, theta: Array, budget: int, rng: np.random.Generator) -> bool:
        """Epochs of equal length, least squares of each alone; the part of the ranking with half the variance stays."""
        left, length = np.arange(len(self.items)), budget // self.epochs
        for epoch in range(self.epochs):
            weights, rho = self.design(left)
            n = length if epoch < self.epochs - 1 else budget - length * epoch
            counts = pw.round_design(weights, n, probes=self.items).counts
            total = counts * (self.items @ theta) + np.sqrt(counts) * rng.standard_normal(len(counts))
            information = self.items.T @ (counts[:, None] * self.items)
            scores = self.items @ (np.linalg.pinv(information) @ (self.items.T @ total))
            left = left[np.argsort(-scores[left], kind="stable")]
            if epoch < self.epochs - 1:
                low, high = 1, left.size
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (low, middle) if self.design(left[:middle])[1] > rho / 2 else (middle, high)
                left = left[:low]
                if left.size == 1:
                    break
        return int(left[np.argmax(scores[left])]) == 0


def frank_wolfe(probes: Array, rows: Array) -> tuple[Array, float]:
    """999 steps of length .5/(k + 2) from equal weights: what starts there still has a share of 3 % at the end."""
    weights, largest = np.full(len(probes), 1.0 / len(probes)), 0.0
    for k in range(1, 1000):
        inverse = np.linalg.pinv(probes.T @ (weights[:, None] * probes))
        variances = ((rows @ inverse) * rows).sum(axis=1)
        largest = float(variances.max())
        step = 0.5 / (k + 2)
        at = int(np.argmax((probes @ inverse @ rows[np.argmax(variances)]) ** 2))
        weights = (1.0 - step) * weights
        weights[at] += step
    return weights, largest


@cache
def public(exact: bool) -> Public:
    """For benchmark(10, .1)."""
    return Public(pw.instances.benchmark(10, 0.1)[0].items, exact)


def budget(runs: int, only: str = "") -> None:
    """Wrong answers at two budgets."""
    theta = pw.instances.benchmark(10, 0.1)[1]
    ways = {
        "P1-RAGE, public schedule and solver": lambda n, rng: public(False).p1_rage(theta, n, rng, False, True),
        "P1-RAGE, optimal designs": lambda n, rng: public(True).p1_rage(theta, n, rng, False, True),
        "P1-RAGE, and relative gaps": lambda n, rng: public(True).p1_rage(theta, n, rng, True, True),
        "P1-RAGE, and none after one outcome": lambda n, rng: public(True).p1_rage(theta, n, rng, True, False),
        "Peace, public solver": lambda n, rng: public(False).peace(theta, n, rng),
        "Peace, optimal designs": lambda n, rng: public(True).peace(theta, n, rng),
    }
    for name, way in ways.items():
        for n in (1010, 2010):
            wrong = np.mean([not way(n, np.random.default_rng([n, run])) for run in range(runs)])
            error = math.sqrt(wrong * (1 - wrong) / runs)
            print(f"{name}, {n}: wrong {wrong:.4f} ± {error:.4f}", flush=True)
    print("epochs", public(False).epochs, public(True).epochs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("lazy", "budget"))
    parser.add_argument("--runs", type=int, default=100)
    given = parser.parse_args()
    {"lazy": lazy, "budget": budget}[given.part](given.runs)


if __name__ == "__main__":
    main()
