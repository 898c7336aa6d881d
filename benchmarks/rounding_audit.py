"""Round random designs by both methods and print the worst realised inflation as a share of the proved one.

python benchmarks/rounding_audit.py [designs] [seed]; exit code 1 if a proved bound was exceeded.
The inflation is the worst over all directions that the design determines, so it bounds any set of them.
"excess used" is the worst (realised - 1)/(proved - 1) where at least 1 % was allowed: 1 means a sharp bound.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from probewise.coordinates import Array
from probewise.rounding import Allocation, round_design

ROUNDING = 1e-9
"""Relative error allowed to the computed inflation of ill-conditioned designs."""


def random_design(rng: np.random.Generator) -> tuple[Array, Array]:
    """Probes (p, d) and weights (p,): sparse, skewed, singular, with duplicates, badly scaled."""
    d, p = int(rng.integers(1, 9)), int(rng.integers(1, 61))
    probes = rng.normal(size=(p, d))
    shape = rng.integers(5)
    if shape == 0:
        probes = np.eye(d)[rng.integers(d, size=p)] * rng.choice([-1.0, 1.0, 0.1], size=(p, 1))
    elif shape == 1:
        probes = probes @ rng.normal(size=(d, max(1, d // 2))) @ rng.normal(size=(max(1, d // 2), d))
    elif shape == 2:
        probes = probes[rng.integers(p, size=p)]
    elif shape == 3:
        probes = probes * 10.0 ** rng.uniform(-6, 6, size=d)
    weights = rng.dirichlet(np.full(p, 10.0 ** rng.uniform(-1, 2)))
    if rng.random() < 0.2:  # the shape that makes the efficient bound sharp: all but one just above an integer
        weights = np.append(np.full(p - 1, 1.0 + 1e-4), float(rng.integers(1, 3 * p + 1)))
    weights = np.where(weights > 1e-9, weights, 0.0)
    return probes, weights / weights.sum()


def random_count(rng: np.random.Generator, low: int) -> int:
    """A number of measurements from ``low`` on, mostly small, sometimes huge."""
    return low + int(rng.integers(1, 10**12)) if rng.random() < 0.1 else low + int(rng.geometric(1 / 60)) - 1


@dataclass
class Tally:
    """What was seen of one method."""

    rounded: int = 0
    proved: int = 0
    exceeded: int = 0
    worst: float = 0.0
    excess: float = 0.0
    improved: int = 0

    def add(self, allocation: Allocation) -> None:
        inflation = allocation.inflation()
        self.rounded += 1
        self.improved += inflation < 1.0
        if np.isfinite(allocation.guarantee):
            ratio = inflation / allocation.guarantee
            self.proved += 1
            self.worst = max(self.worst, ratio)
            self.exceeded += ratio > 1.0 + ROUNDING
            if allocation.guarantee > 1.01:
                self.excess = max(self.excess, (inflation - 1.0) / (allocation.guarantee - 1.0))


def audit(designs: int, seed: int) -> dict[str, Tally]:
    """Tallies of both methods over the same random designs."""
    rng = np.random.default_rng(seed)
    tallies = {"efficient": Tally(), "regret": Tally()}
    for _ in range(designs):
        probes, weights = random_design(rng)
        p = int(np.count_nonzero(weights))
        tallies["efficient"].add(round_design(weights, random_count(rng, p), probes=probes))
        n = random_count(rng, 1)
        tallies["regret"].add(round_design(weights, n, probes=probes, method="regret"))
    return tallies


def main(arguments: list[str]) -> int:
    designs, seed = (int(a) for a in (arguments + ["10000", "0"][len(arguments) :])[:2])
    start = time.perf_counter()
    tallies = audit(designs, seed)
    print(f"{designs} designs, seed {seed}, {time.perf_counter() - start:.0f} s")
    print("method     rounded  proved  exceeded  realised/proved  excess used  below 1")
    for name, t in tallies.items():
        row = f"{name:10} {t.rounded:7} {t.proved:7} {t.exceeded:9} {t.worst:16.10f}"
        print(f"{row} {t.excess:12.4f} {t.improved:8}")
    return int(any(t.exceeded for t in tallies.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
