"""One plate of 96 wells for 36 items: python benchmarks/one_plate.py [--plates 400].

Items are the combinations of two factors of six levels each, measured as they are, σ = 1. The best one leads by a gap
that is drawn; the other effects are drawn, too. For each plate: whether the printed intervals of the leader against all
others lie above 0 (they decide), and whether Sage has decided. Exit code 1 if intervals ever decide and Sage does not.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import probewise as pw
from probewise.campaign.findings.numbers import intervals
from probewise.measurements import Measurements

LEVELS = 6


def features() -> np.ndarray:
    """(36, 11): an intercept, and indicators of all levels but the first of both factors."""
    one, two = np.divmod(np.arange(LEVELS**2), LEVELS)
    levels = np.eye(LEVELS)[:, 1:]
    return np.hstack([np.ones((LEVELS**2, 1)), levels[one], levels[two]])


def plate(seed: int, wells: int, delta: float) -> tuple[bool, bool, bool]:
    """Whether the intervals decide, whether Sage does, and whether its leader is the best."""
    rng = np.random.default_rng(seed)
    problem, goal = pw.Problem(features()), pw.BestItem(delta)
    theta = np.append(0.0, rng.uniform(0.0, rng.uniform(1.0, 12.0), 2 * (LEVELS - 1)))
    sage = pw.Sage(min_batch=wells, max_batch=wells)
    state = sage.init(problem, goal)
    counts = sage.ask(problem, goal, state, rng)
    noise = rng.standard_normal(problem.n_probes) / np.sqrt(np.maximum(counts, 1))
    means = np.where(counts > 0, problem.probes @ theta + noise, 0.0)
    after = sage.tell(problem, goal, state, Measurements(counts, means, np.zeros(problem.n_probes)))
    leader = int(after.alive[0])
    others = np.delete(np.arange(problem.n_items), leader)
    rows = problem.items[leader] - problem.items[others]
    sizes = np.abs(problem.items[leader]) + np.abs(problem.items[others])
    # as reports do: at δ over all pairs, of which these rows are 35
    level = goal.delta * len(others) / (problem.n_items * (problem.n_items - 1) / 2)
    value, width = intervals(problem, pw.BestItem(level), after.pool, rows, sizes)
    return bool((value > width).all()), after.winner is not None, leader == int(np.argmax(problem.items @ theta))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plates", type=int, default=400)
    parser.add_argument("--wells", type=int, default=96)
    options = parser.parse_args()
    missed = 0
    for delta in (0.05, 0.2):
        found = np.array([plate(seed, options.wells, delta) for seed in range(options.plates)])
        shown, decided, right = found.T
        missed += int((shown & ~decided).sum())
        print(
            f"δ = {delta}: of {options.plates} plates, printed intervals decide {shown.sum()}, Sage {decided.sum()} "
            f"({(decided & ~right).sum()} wrong); intervals but not Sage: {(shown & ~decided).sum()}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
