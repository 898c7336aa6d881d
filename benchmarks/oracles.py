"""Best sets that are never listed: measurements, answer and processor time of each algorithm.

    python benchmarks/oracles.py [--runs 3] [--only grid] [--by CLUCB] [--seed 0] [--audit 2000]

Each of the four families has standard normal values and noise of scale 1, at δ = 0.05. The limit is the lower bound on
measurements, 2ψ·kl(δ, 1-δ), for the closest rivals of each element: the true one may be larger, not smaller.
The audit counts wrong answers at δ = 0.1 where sets are nearly tied; a run that takes 50,000 measurements has none.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator

import numpy as np

import probewise as pw
from probewise.algorithms.sets.designs import set_design
from probewise.algorithms.sets.elements import rivals
from probewise.simulation.table import exact_rate

FAMILIES: dict[str, pw.Oracle] = {
    "10 of 60": pw.Subsets(60, 10),
    "assignment 25 × 25": pw.Assignments(25, 25),
    "tree of 40 vertices": pw.SpanningTrees.complete(40),
    "path on a 30 × 30 grid": pw.Paths.grid(30, 30),
}
ALGORITHMS: dict[str, pw.Algorithm] = {
    "Sage": pw.SageSets(),
    "Sage, uniform": pw.SageSets("uniform", growth=1.2),
    "disagreement": pw.Disagreement(),
    "CLUCB, lazy 10 %": pw.CLUCB(lazy=0.1),
    "CLUCB, lazy 50 %": pw.CLUCB(lazy=0.5),
}
DELTA = 0.05


def limit(oracle: pw.Oracle, values: np.ndarray) -> tuple[float, float, float]:
    """The lower bound on measurements, that of uniform sampling, and the smallest gap."""
    leader = oracle.best(values)
    others = rivals(oracle, values, leader)
    gaps = values[leader].sum() - others @ values
    ones = np.ones(values.size)
    design = set_design(leader, others, gaps, ones, ones, tol=0.01)
    nats = 2.0 * (1 - 2 * DELTA) * math.log((1 - DELTA) / DELTA)
    uniform = float((values.size * (others != leader).sum(axis=1) / gaps**2).max())
    return nats * design.lower, nats * uniform, float(gaps.min())


def rows(name: str, runs: int, seed: int, by: str) -> Iterator[str]:
    oracle = FAMILIES[name]
    values = np.random.default_rng(seed).standard_normal(oracle.size)
    problem, goal = pw.Problem(np.eye(oracle.size)), pw.BestSet(oracle, DELTA)
    least, uniform, gap = limit(oracle, values)
    best = tuple(int(e) for e in np.flatnonzero(oracle.best(values)))
    yield f"{name}: {oracle.size} elements, gap {gap:.3g}, limit {least:,.0f}, of uniform {uniform:,.0f}"
    for label, algorithm in ALGORITHMS.items():
        if by not in label:
            continue
        taken, right, rounds, began = [], 0, [], time.process_time()
        for run in range(runs):
            laboratory = pw.LinearEnvironment(problem, values, seed=run)
            stream = np.random.default_rng([seed, run])
            state = algorithm.init(problem, goal)
            count = np.zeros(oracle.size, dtype=np.int64)
            rounds.append(0)
            while (answer := algorithm.answer(problem, goal, state)) is None:
                counts = algorithm.ask(problem, goal, state, stream)
                state = algorithm.tell(problem, goal, state, laboratory.draw(counts, stream))
                count, rounds[-1] = count + counts, rounds[-1] + 1
            taken.append(int(count.sum()))
            right += answer == best
        seconds = (time.process_time() - began) / runs
        yield (
            f"  {label:18} {np.mean(taken):14,.0f} measurements = {np.mean(taken) / least:7.1f} limits, "
            f"{np.mean(rounds):6.0f} rounds, {right}/{runs} right, {seconds:7.1f} s a run"
        )


def audit(runs: int) -> None:
    """Wrong answers of each algorithm where the best set is hardly ahead of many others."""
    tied = {
        "3 of 8, the third hardly ahead": (pw.Subsets(8, 3), np.array([1, 1, 0.25, 0, 0, 0, 0, 0.15])),
        "3 × 3 assignment, one swap": (pw.Assignments(3, 3), np.array([0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1])),
        "paths of a 3 × 3 grid": (pw.Paths.grid(3, 3), np.linspace(0.5, 0.0, 12) ** 2),
    }
    for name, (oracle, values) in tied.items():
        problem, goal = pw.Problem(np.eye(oracle.size)), pw.BestSet(oracle, 0.1)
        for algorithm in (pw.SageSets(), pw.SageSets("uniform"), pw.Disagreement(), pw.CLUCB(lazy=0.2)):
            table = pw.simulate(problem, values, algorithm, goal, runs=runs, budget=50_000)
            ended = table["item"] >= 0
            rate = exact_rate(int(np.count_nonzero(ended & ~table["correct"])), runs)
            print(
                f"audit, {name}, {algorithm!r}: {rate.errors} wrong of {runs} ({ended.mean():.0%} ended), "
                f"99 % upper bound {rate.high:.4f}, δ = 0.1",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="families whose name contains this")
    parser.add_argument("--by", default="", help="algorithms whose name contains this")
    parser.add_argument("--audit", type=int, default=0, help="runs of the audit, in place of the comparison")
    given = parser.parse_args()
    if given.audit:
        audit(given.audit)
        return
    for name in FAMILIES:
        if given.only in name:
            for row in rows(name, given.runs, given.seed, given.by):
                print(row, flush=True)


if __name__ == "__main__":
    main()
