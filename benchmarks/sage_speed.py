"""Processor time of Sage: python benchmarks/sage_speed.py [--against OLD/src] [--large].

Runs per second on benchmark(5) and sphere(200, 5), one core; with ``--large``, one identification each with 100,000
items of equal length (1,000 probes, 20 features) and with 10⁶ items (200 probes, 10 features), and the memory above
that of the table of items. ``--against`` runs the same with another version of the package, in turn. Goals on a quiet
core: 15 and 4 runs per second, 8 s and 8 s. Exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

SMALL = """
import json, time
import probewise as pw
problem, theta = pw.instances.{instance}
run = lambda runs: pw.simulate(problem, theta, pw.Sage(), runs=runs, seed=1)
run(1)
began = time.process_time()
table = run({runs})
print(json.dumps([{runs} / (time.process_time() - began), table.mean("measurements"), 0.0]))
"""
LARGE = """
import json, resource, time
import numpy as np
import probewise as pw
from probewise.simulation import LinearEnvironment
rng = np.random.default_rng(0)
items = rng.standard_normal(({items}, {d}))
if {equal}:
    items /= np.linalg.norm(items, axis=1, keepdims=True)
probes, theta = rng.standard_normal(({probes}, {d})), rng.standard_normal({d})
probes /= np.linalg.norm(probes, axis=1, keepdims=True)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, began = peak(), time.process_time()
problem = pw.Problem(probes, items)
laboratory = LinearEnvironment(problem, theta, seed=1)
result = pw.identify(problem, measure=laboratory.measure, seed=1)
assert result.item == laboratory.best
print(json.dumps([time.process_time() - began, result.measurements, peak() - before]))
"""


def run(code: str, source: str | None) -> list[float]:
    """What the code prints, in a process of its own, by the package here or the one in ``source``."""
    path = {} if source is None else {"PYTHONPATH": source}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={**os.environ, **path}
    )
    return [float(number) for number in json.loads(done.stdout)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", help="the src folder of another version")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    versions = [None] if options.against is None else [options.against, None]
    missed = False
    for instance, runs, goal in (("benchmark(5)", 20, 15.0), ("sphere(200, 5)", 6, 4.0)):
        for source in versions:
            speed, mean, _ = run(SMALL.format(instance=instance, runs=runs), source)
            print(f"{instance:<24}{source or 'here':<30}{speed:>8.2f} runs/s{mean:>12,.0f} measurements", flush=True)
        missed |= speed < goal
    cases = ((100_000, 1_000, 20, True, 8.0), (1_000_000, 200, 10, False, 8.0)) if options.large else ()
    for items, probes, d, equal, goal in cases:
        what = f"{items:,} x {probes:,} x {d}"
        for source in versions:
            seconds, mean, memory = run(LARGE.format(items=items, probes=probes, d=d, equal=equal), source)
            print(
                f"{what:<24}{source or 'here':<30}{seconds:>8.2f} s     {mean:>12,.0f} measurements{memory:>8.0f} MB",
                flush=True,
            )
        missed |= seconds > goal
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
