"""Designs of Sage that begin with the probes of the last round, beside the same designs from nothing.

python benchmarks/warm_start.py [--quick]. Each problem is solved once by Sage; every design after the first is made
both ways in turn; means of processor times. Goal: the start saves time on each. Exit code 1 if not.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import probewise as pw
from probewise.coordinates import Array
from probewise.design import Directions, remembering


def compared(name: str, problem: pw.Problem, theta: Array) -> bool:
    """Whether starts save time on a problem; printed as a row."""
    algorithm, goal, rng = pw.Sage(), pw.BestItem(), np.random.default_rng(1)
    environment, times = pw.LinearEnvironment(problem, theta), []
    state = algorithm.init(problem, goal)
    while algorithm.answer(problem, goal, state) is None:
        if state.last is not None:
            directions = algorithm._directions(problem, goal, state)
            times.append([seconds(problem, directions, start, algorithm.tol) for start in (None, state.last)])
        with remembering(keep=True):
            counts = algorithm.ask(problem, goal, state, rng)
        state = algorithm.tell(problem, goal, state, environment.draw(counts, rng))
    fresh, warm = np.mean(times, axis=0)
    print(f"{name:<38}{len(times):>8}{1e3 * fresh:>12.1f}{1e3 * warm:>12.1f}{fresh / warm:>8.2f}", flush=True)
    return bool(warm < fresh)


def seconds(problem: pw.Problem, directions: Directions, start: Array | None, tol: float) -> float:
    """Processor seconds of one design."""
    begin = time.process_time()
    design = pw.optimal_design(problem.scaled_probes, directions, tol=tol, start=start)
    taken = time.process_time() - begin
    assert design.converged
    return taken


def random(items: int, probes: int, d: int) -> tuple[pw.Problem, Array]:
    """Random features, and a truth so small that many rounds are needed."""
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((probes, d)), rng.standard_normal((items, d))
    return pw.Problem(X, Z), 0.05 * rng.standard_normal(d)


if __name__ == "__main__":
    cases = {
        "many_arms(1000)": pw.instances.many_arms(1000, seed=4),
        "sphere(1000, 6)": pw.instances.sphere(1000, 6, seed=0),
    }
    if "--quick" not in sys.argv:
        cases["5,000 items, 1,000 probes, d = 30"] = random(5000, 1000, 30)
        cases["1,000 items, 20,000 probes, d = 15"] = random(1000, 20_000, 15)
    print(f"{'problem':<38}{'designs':>8}{'ms fresh':>12}{'ms warm':>12}{'ratio':>8}")
    faster = [compared(name, *case) for name, case in cases.items()]
    sys.exit(0 if all(faster) else 1)
