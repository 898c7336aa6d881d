"""A whole identification by Sage with thousands of items: python benchmarks/sage_scale.py [--items 5000 --probes 1000].

Two problems with random features: as they come, and with a rival far from the best item but nearly as good, so that
many rounds are needed. Goal: under 60 s and 1 GB each, on two cores, for 5,000 items, 1,000 probes and 30 features.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np

import probewise as pw
from probewise.simulation import LinearEnvironment


def identified(problem: pw.Problem, theta: np.ndarray, what: str) -> float:
    environment = LinearEnvironment(problem, theta, seed=1)
    start = time.perf_counter()
    result = pw.identify(problem, measure=environment.measure, seed=1)
    seconds = time.perf_counter() - start
    right = "right" if result.item == environment.best else "wrong"
    print(f"  {what:<14}{result.measurements:>12,} measurements{result.rounds:>5} rounds{seconds:>8.1f} s  {right}")
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--probes", type=int, default=1000)
    parser.add_argument("--features", type=int, default=30)
    options = parser.parse_args()
    rng, d = np.random.default_rng(0), options.features
    probes, items, theta = rng.normal(size=(options.probes, d)), rng.normal(size=(options.items, d)), rng.normal(size=d)
    best = items[np.argmax(items @ theta)]
    unit = theta / np.linalg.norm(theta)
    away = rng.normal(size=d)
    close = np.vstack([items[:-1], best + away - (away @ unit) * unit - 0.01 * unit])
    print(f"{options.items:,} items, {options.probes:,} probes, {d} features")
    slowest = max(
        identified(pw.Problem(probes, items), theta, "as they come"),
        identified(pw.Problem(probes, close), theta, "a near tie"),
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"  at most {memory:,.0f} MB")
    return 0 if slowest < 60 and memory < 1000 else 1


if __name__ == "__main__":
    sys.exit(main())
