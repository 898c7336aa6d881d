"""Whole searches on many items, for questions other than the best one: python benchmarks/goals_scale.py [--only top].

The top 10 of 1,000 items, and all of 10,000 that are above a limit or better than a control, by both promises; items
are random points in 10 dimensions, and the probes are 200 of them. A tolerance lets the items at the border be. Goal:
each whole search within 60 s of processor time and 1 GB of memory. Every search has a process of its own, so that its
memory is its own. Exit code 1 if one is missed, or if an answer is wrong.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

import probewise as pw

SECONDS, BYTES = 60.0, 2**30
CASES: dict[str, tuple[int, pw.Goal]] = {
    "top 10 of 1,000": (1_000, pw.TopM(10, epsilon=0.2)),
    "top 10 of 1,000, exactly": (1_000, pw.TopM(10)),
    "above a limit, of 10,000": (10_000, pw.Above(1.0, epsilon=0.2)),
    "above a limit, of 10,000, a share": (10_000, pw.Above(1.0, epsilon=0.2, promise="share")),
    "better than a control, of 10,000": (10_000, pw.BetterThan("0", epsilon=0.2)),
    "better than a control, of 10,000, a share": (10_000, pw.BetterThan("0", epsilon=0.2, promise="share")),
}


def search(name: str) -> dict[str, float | str]:
    """One whole search, in this process."""
    count, goal = CASES[name]
    rng = np.random.default_rng(7)
    items = rng.standard_normal((count, 10)) / np.sqrt(10)
    theta = rng.standard_normal(10)
    theta *= np.sqrt(10) / np.linalg.norm(theta)  # values of items are about standard normal
    problem = pw.Problem(items[:200], items)
    laboratory = pw.LinearEnvironment(problem, theta, seed=1)
    start = time.process_time()
    result = pw.identify(problem, goal, measure=laboratory.measure, seed=1)
    seconds = time.process_time() - start
    values = items @ theta
    wrong = goal.wrong_share(problem, values, result.items or ())
    return {
        "seconds": seconds,
        "bytes": 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "measurements": result.measurements,
        "rounds": result.rounds,
        "listed": len(result.items or ()),
        "wrong": wrong,
        "right": float(goal.right(problem, values, result.items or ())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="Cases whose name contains this.")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        print(json.dumps(search(given.case)))
        return
    missed = 0
    for name in CASES:
        if given.only not in name:
            continue
        ran = subprocess.run(
            [sys.executable, __file__, "--case", name], check=True, text=True, stdout=subprocess.PIPE
        ).stdout
        found = json.loads(ran)
        bad = found["seconds"] > SECONDS or found["bytes"] > BYTES or found["wrong"] > 0.05
        missed += bad
        print(
            f"{name}: {found['seconds']:.1f} s, {found['bytes'] / 2**20:.0f} MB, {found['measurements']:,} "
            f"measurements in {found['rounds']} rounds; {found['listed']} listed, {found['wrong']:.3f} of them wrong"
            f"{' MISSED' * bad}",
            flush=True,
        )
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
