"""RAGE's cost per run against its number of measurements: rounds are drawn as sufficient statistics.

The same run with every outcome drawn and stored, as a laboratory would hand them over, is timed beside it.
"""

from __future__ import annotations

import time

import probewise as pw
from probewise.coordinates import Array
from probewise.design import remembering
from probewise.threads import one

ANGLES = (0.3, 0.1, 0.03, 0.01, 0.003)
RUNS = 5
LARGEST = 2_000_000
"""Measurements up to which outcomes are drawn one by one too."""


def one_by_one(problem: pw.Problem, theta: Array) -> float:
    """Least seconds of a run whose outcomes are an array."""
    seconds = []
    for seed in range(RUNS):
        laboratory = pw.LinearEnvironment(problem, theta, seed=seed)
        began = time.perf_counter()
        pw.identify(problem, measure=laboratory.measure, algorithm=pw.Rage("code"), seed=seed)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def main() -> None:
    print("benchmark(5, angle), Rage('code'), designs solved once; least time of", RUNS, "runs")
    header = ("measurements", "rounds", "ms per run", "ms per round", "one by one, ms")
    print(f"{'angle':>7}", *(f"{name:>15}" for name in header))
    per_round = []
    for angle in ANGLES:
        problem, theta = pw.instances.benchmark(5, angle)
        with one, remembering():
            pw.simulate(problem, theta, pw.Rage("code"), runs=RUNS)
            runs = pw.simulate(problem, theta, pw.Rage("code"), runs=RUNS)
            n = runs.mean("measurements")
            slow = one_by_one(problem, theta) if n <= LARGEST else None
        each = float((runs["seconds"] / runs["rounds"]).min())
        per_round.append(each)
        cells = (f"{n:,.0f}", f"{runs.mean('rounds'):.1f}", f"{1e3 * runs['seconds'].min():.1f}", f"{1e3 * each:.2f}")
        print(f"{angle:7g}", *(f"{cell:>15}" for cell in (*cells, "" if slow is None else f"{1e3 * slow:.0f}")))
    growth = per_round[-1] / per_round[0]
    print(f"a round costs {growth:.1f} times as much at the last angle as at the first")
    if growth > 3.0:
        raise SystemExit("the cost of a round grows with its measurements")


if __name__ == "__main__":
    main()
