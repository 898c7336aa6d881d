"""Successes and failures with a logistic link: measurements of each algorithm, a linear mean beside, and an audit.

    python benchmarks/logistic.py [--runs 20] [--audit 0]

Instances: the benchmark of the linear literature (e_1 … e_d and one item at an angle), random items on a sphere, and
rates of three pages, where each probe has a feature of its own, so that a linear mean (`Bounded`) is right as well. The
audit counts wrong answers of SageGLM at δ = 0.1 where two items are nearly tied.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import probewise as pw
from probewise.simulation.table import exact_rate


def soare(d: int, angle: float) -> tuple[np.ndarray, np.ndarray]:
    near = np.zeros(d)
    near[:2] = np.cos(angle), np.sin(angle)
    return np.vstack([np.eye(d), near]), 2.0 * np.eye(d)[0]


def sphere(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    theta = rng.standard_normal(d)
    return rows / np.linalg.norm(rows, axis=1)[:, None], 2.0 * theta / np.linalg.norm(theta)


INSTANCES = {
    "e_1 … e_5 and one at 0.5": soare(5, 0.5),
    "e_1 … e_10 and one at 0.5": soare(10, 0.5),
    "20 items on a sphere, d = 5": sphere(20, 5, 1),
}


def compare(runs: int) -> None:
    for name, (probes, theta) in INSTANCES.items():
        problem = pw.Problem(probes, outcome=pw.Logistic())
        values = np.sort(probes @ theta)
        print(f"{name}: gap {values[-1] - values[-2]:.3g}")
        for algorithm in (pw.SageGLM(), pw.GLGapE(), pw.RageGLM(norm_bound=2.0)):
            _row(problem, theta, algorithm, runs)
    rates = np.array([0.5, 0.4, 0.3])
    print(f"rates {rates}, a feature for each")
    _row(pw.Problem(np.eye(3), outcome=pw.Logistic()), np.log(rates / (1 - rates)), pw.SageGLM(), runs)
    _row(pw.Problem(np.eye(3), outcome=pw.Bounded(0, 1)), rates, pw.Sage(), runs, "sage, bounded")
    _row(pw.Problem(np.eye(3), sigma=0.5), rates, pw.Sage(), runs, "sage, sigma ½", noise="bernoulli")


def _row(problem: pw.Problem, theta: np.ndarray, algorithm, runs: int, label: str | None = None, **more) -> None:
    began = time.process_time()
    table = pw.simulate(problem, theta, algorithm, runs=runs, **more)
    seconds = (time.process_time() - began) / runs
    proof = "proven" if algorithm.proven else "heuristic"
    print(f"  {label or algorithm.name:14} {proof:9} {table!r}, {seconds:.2f} s a run", flush=True)


def audit(runs: int) -> None:
    goal = pw.BestItem(0.1)
    for name, probes, theta in (
        ("two rates, nearly tied", np.eye(2), np.array([0.5, 0.3])),
        ("three items in two dimensions", np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.5]]), np.array([1.0, 0.55])),
        ("rare successes", np.eye(2), np.array([-2.6, -3.2])),
    ):
        problem = pw.Problem(probes, outcome=pw.Logistic())
        table = pw.simulate(problem, theta, pw.SageGLM(), goal, runs=runs, budget=20_000)
        ended = table["item"] >= 0
        wrong = int(np.count_nonzero(ended & ~table["correct"]))
        rate = exact_rate(wrong, runs)
        print(
            f"audit, {name}: {wrong} wrong of {runs} ({ended.mean():.0%} ended), rate {rate.value:.4f}, "
            f"99 % upper bound {rate.high:.4f}, δ = 0.1",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--audit", type=int, default=0, help="runs of the audit")
    given = parser.parse_args()
    if given.runs:
        compare(given.runs)
    if given.audit:
        audit(given.audit)


if __name__ == "__main__":
    main()
