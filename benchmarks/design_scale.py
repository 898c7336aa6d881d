"""Time, peak memory and growth of certified designs of all pairs, each in a fresh process.

python benchmarks/design_scale.py [--quick]. Goals: many_arms(30000) to 1e-3 in 2 s and 500 MB; sphere with 100,000
probes and items in 20 dimensions to 1e-2 in 120 s and 2 GB. Exit code 1 if a goal is missed. Growth is the slope of
log processor time over log size; the number of rounds grows with d, the search for far pairs with m.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

SETUP = """
import json, resource, time
import numpy as np
from probewise import instances
from probewise.design import optimal_design, pairs

def sphere(n, d, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)

def solve(X, Z, tol):
    optimal_design(np.eye(2), pairs(np.eye(2)))  # libraries are loaded before the clock starts
    start, processor = time.perf_counter(), time.process_time()
    design = optimal_design(X, pairs(Z), tol=tol)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([seconds, processor, peak, design.gap, design.rounds, int(design.support.size)]))
"""
HEADER = f"{'problem':<34}{'seconds':>9}{'processor':>11}{'peak MB':>9}{'gap':>9}{'rounds':>8}{'support':>9}"


def run(label: str, code: str) -> tuple[float, float, float, float]:
    """Seconds by the clock and of the processor, peak megabytes and certified gap of one problem; printed as a row."""
    out = subprocess.run([sys.executable, "-c", SETUP + code], check=True, capture_output=True, text=True).stdout
    seconds, processor, peak, gap, rounds, support = json.loads(out)
    print(f"{label:<34}{seconds:>9.2f}{processor:>11.2f}{peak:>9.0f}{gap:>9.1e}{rounds:>8}{support:>9}", flush=True)
    return seconds, processor, peak, gap


def goal(label: str, code: str, tol: float, seconds: float, megabytes: float) -> bool:
    took, _, peak, gap = run(label, code)
    return took <= seconds and peak <= megabytes and gap <= tol


def growth(what: str, sizes: list[int], code: str) -> None:
    """Solve at each size, and print the slope of log processor seconds over log size."""
    times = [run(f"sphere, {what} = {size}", code.format(size=size))[1] for size in sizes]
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"  seconds grow like {what}^{slope:.2f} from {sizes[0]} to {sizes[-1]}\n")


if __name__ == "__main__":
    quick = "--quick" in sys.argv
    print(HEADER)
    arms, large = (3_000, 3_000) if quick else (30_000, 100_000)
    met = [
        goal(f"many_arms({arms})", f"Z = instances.many_arms({arms})[0].probes; solve(Z, Z, 1e-3)", 1e-3, 2, 500),
        goal(f"sphere, n = m = {large}, d = 20", f"Z = sphere({large}, 20); solve(Z, Z, 1e-2)", 1e-2, 120, 2048),
    ]
    print()
    sizes = [500, 1000, 2000] if quick else [1000, 3000, 10_000, 30_000]
    growth("n", sizes, "solve(sphere({size}, 8), sphere(1000, 8, 1), 1e-3)")
    growth("m", sizes, "solve(sphere(1000, 8), sphere({size}, 8, 1), 1e-3)")
    growth("n = m", sizes, "Z = sphere({size}, 8); solve(Z, Z, 1e-3)")
    growth("d", [3, 6, 12] if quick else [3, 6, 12, 24], "Z = sphere(2000, {size}); solve(Z, Z, 1e-3)")
    print("many arms in 2 s and 500 MB:", "yes" if met[0] else "NO")
    print("sphere in 120 s and 2 GB:", "yes" if met[1] else "NO")
    sys.exit(0 if quick or all(met) else 1)
