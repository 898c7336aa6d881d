"""Sage on instances of later papers: python benchmarks/later.py FILE.json [--runs 100] [--budget-runs 2000].

FILE.json holds the instances and the published means: the top m of given probes, and wrong answers at a fixed budget.
For each top-m instance: Sage's mean measurements with standard error, asked for the top m and for the best sum of m,
beside what was published; methods marked "h" stop by a heuristic threshold. Then the share of wrong guesses at the two
budgets of soare(10), where P1-RAGE and others were run. Exit code 1 if the better of Sage's means, for noise said to be
normal, is above a mean published for a method with a proof, above 1.1 times one for a heuristic, or if its share of
wrong guesses is above a tenth of P1-RAGE's.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import probewise as pw

TOP = ("reda_top3_of_10", "reda_top8_of_10", "mislid_a_top3_of_10")
BUDGETS = (1010, 2010)


def top(given: dict[str, Any], probes: Any, runs: int, *, normal: bool, sums: bool) -> tuple[float, float, int]:
    """Mean measurements, standard error and wrong answers of Sage, asked for the top m or for the best sum of m."""
    outcome, features, m = pw.Gaussian(float(given["sigma"]), normal=normal), np.array(probes), given["m"]
    subsets = [features[[*chosen]].sum(axis=0) for chosen in itertools.combinations(range(len(features)), m)]
    problem = pw.Problem(features, np.array(subsets) if sums else None, outcome=outcome)
    goal: pw.Goal = pw.BestItem(given["delta"]) if sums else pw.TopM(m, delta=given["delta"])
    found = pw.simulate(problem, given["theta"], pw.Sage(lean=True), goal, runs=runs, seed=1)
    n = np.asarray(found["measurements"], dtype=float)
    return float(n.mean()), float(n.std(ddof=1) / np.sqrt(runs)), int(runs - np.sum(found["correct"]))


def wrong(runs: int, budget: int) -> float:
    """Share of wrong guesses of Sage at the end of a budget on soare(10)."""
    problem, theta = pw.instances.benchmark(10, angle=0.1)
    means, best = problem.probes @ theta, int(np.argmax(problem.items @ theta))
    missed = 0
    for run in range(runs):
        rng = np.random.default_rng([run, budget])
        result = pw.identify(
            problem, measure=lambda at, rng=rng: means[at] + rng.standard_normal(at.size), budget=budget, seed=run
        )
        missed += result.item != best
    return missed / runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--budget-runs", type=int, default=2000)
    options = parser.parse_args()
    given, good = json.loads(options.file.read_text()), True
    for name in TOP:
        own = given[name]
        probes = (
            own["probes"] if isinstance(own["probes"], list) else given[own["probes"].removeprefix("as ")]["probes"]
        )
        best = np.inf
        for sums, normal in itertools.product((False, True), (False, True)):
            mean, error, missed = top(own, probes, options.runs, normal=normal, sums=sums)
            best = min(best, mean) if normal else best
            parts = [f"{mean / published:.2f} of {method}" for method, published in own["published"].items()]
            law, asked = "normal" if normal else "sub-Gaussian", "best sum" if sums else "top m"
            print(
                f"{name:<20} {asked:<9}{law:<13}{mean:8,.0f} ± {error:<6,.0f} wrong {missed:<3} {', '.join(parts)}",
                flush=True,
            )
        for method, published in own["published"].items():
            good = good and best <= (1.1 if method.endswith(" h") else 1.0) * published
    for budget, published in zip(BUDGETS, given["fixed_budget_soare10"]["published"]["P1-RAGE"], strict=True):
        share = wrong(options.budget_runs, budget)
        good = good and share <= 0.1 * published
        print(f"soare(10), budget {budget}: {share:.4f} wrong, P1-RAGE {published:.4f}", flush=True)
    print("all goals met:", "yes" if good else "NO")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
