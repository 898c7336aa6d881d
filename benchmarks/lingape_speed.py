"""Time LinGapE per measurement: a straightforward NumPy loop, the four methods, and the compiled path, side by side.

python benchmarks/lingape_speed.py [measurements]; exit code 1 if the compiled path is not at least 100 times faster
than the loop on the benchmark instance with d = 5. Times are of the processor: other work on the machine adds little.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from probewise import BestItem, LinearEnvironment, LinGapE, instances
from probewise.algorithms.sequential.shares import shares
from probewise.coordinates import Array
from probewise.problem import Problem
from probewise.run import Counts, loop
from probewise.simulation import compiled
from probewise.threads import one

GOAL = BestItem(0.05)
BOUND = 2.0
LEAST = 100.0


def plain(problem: Problem, theta: Array, n: int, rng: np.random.Generator) -> Counts:
    """The ratio rule as one would write it down: one measurement at a time, V⁻¹ and log det by rank-one updates."""
    X, (k, d) = problem.probes, problem.probes.shape
    inverse, logdet, b, counts = np.eye(d), 0.0, np.zeros(d), np.zeros(k, dtype=np.int64)
    for t in range(n):
        if t < k:
            arm = t
        else:
            estimate = inverse @ b
            scores = X @ estimate
            i = int(np.argmax(scores))
            Y = X - X[i]
            norms = np.sqrt(np.sum((Y @ inverse) * Y, axis=1))
            width = np.sqrt(2 * np.log(k**2 / GOAL.delta) + logdet) + BOUND
            bounds = scores - scores[i] + width * norms
            bounds[i] = -np.inf
            j = int(np.argmax(bounds))
            if bounds[j] <= GOAL.epsilon:
                break
            support, share = shares(problem, i, j)
            arm = support[np.argmin(counts[support] / share)]
        x = X[arm]
        outcome = x @ theta + rng.standard_normal()
        step = inverse @ x
        growth = 1.0 + x @ step
        inverse -= np.outer(step, step) / growth
        logdet += np.log(growth)
        b += x * outcome
        counts[arm] += 1
    return counts


def nanoseconds(work: Callable[[int], object], n: int) -> float:
    """Per measurement, in the best of three runs of ``work(n)`` after a short one."""
    work(100)
    best = np.inf
    for _ in range(3):
        began = time.process_time()
        work(n)
        best = min(best, time.process_time() - began)
    return 1e9 * best / n


def table(d: int, n: int) -> float:
    """Print one instance; how many times faster the compiled path is than the loop."""
    problem, theta = instances.benchmark(d)
    environment, algorithm = LinearEnvironment(problem, theta), LinGapE(norm_bound=BOUND)

    def methods(budget: int) -> object:
        observe = compiled.in_order(environment, np.random.default_rng(0))
        stream = np.random.default_rng
        return loop(problem, GOAL, algorithm, observe=observe, stream=stream, budget=budget, keep=False)

    slow = nanoseconds(lambda n: plain(problem, theta, n, np.random.default_rng(0)), n)
    four = nanoseconds(methods, n // 4)
    with one:  # as in every simulation: idle threads of linear algebra would count as time of the processor
        fast = nanoseconds(
            lambda n: compiled.run(environment, GOAL, algorithm, np.random.default_rng(0), budget=n), 20 * n
        )
    print(f"{f'benchmark({d})':<16}{slow:>12,.0f}{four:>14,.0f}{fast:>12,.0f}{slow / fast:>10,.0f}")
    return slow / fast


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"{'ns/measurement':<16}{'NumPy loop':>12}{'four methods':>14}{'compiled':>12}{'ratio':>10}")
    ratio = table(5, n)
    table(20, n)
    return 0 if ratio >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
