"""Sage on instances of later papers: python benchmarks/later.py FILE.json [--runs 100] [--budget-runs 2400].

FILE.json holds the instances and the published means: the top m of given probes, and wrong answers at a fixed budget.
For each top-m instance: Sage's mean measurements with standard error, asked for the top m and for the best sum of m,
beside the certified limit and what was published; methods marked "h" stop by a heuristic threshold. Then the share of
wrong guesses at the two budgets of soare(10), where P1-RAGE and others were run. Exit code 1 if the better of Sage's
means, for noise said to be normal, is above a mean published for a method with a proof, above 1.1 times one for a
heuristic, or if the upper end of the 95 % interval of its share of wrong guesses is above a tenth of P1-RAGE's.
`--only reda_top3`, `--only budget` and `--first 400` (number of the first run at a budget) make pieces of it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

import probewise as pw

TOP = ("reda_top3_of_10", "reda_top8_of_10", "mislid_a_top3_of_10")
BUDGETS = (1010, 2010)
SELDOM = 1e-4
"""δ so small that searches seldom end before the budget does."""


def top(given: dict[str, Any], probes: Any, runs: int, *, normal: bool, sums: bool) -> tuple[float, float, int]:
    """Mean measurements, standard error and wrong answers of Sage, asked for the top m or for the best sum of m."""
    outcome, features, m = pw.Gaussian(float(given["sigma"]), normal=normal), np.array(probes), given["m"]
    subsets = [features[[*chosen]].sum(axis=0) for chosen in itertools.combinations(range(len(features)), m)]
    problem = pw.Problem(features, np.array(subsets) if sums else None, outcome=outcome)
    goal: pw.Goal = pw.BestItem(given["delta"]) if sums else pw.TopM(m, delta=given["delta"])
    found = pw.simulate(problem, given["theta"], pw.Sage(lean=True), goal, runs=runs, seed=1)
    n = np.asarray(found["measurements"], dtype=float)
    return float(n.mean()), float(n.std(ddof=1) / np.sqrt(runs)), int(runs - np.sum(found["correct"]))


def wrong(runs: int, budget: int, first: int) -> int:
    """Wrong guesses of Sage at the end of a budget on soare(10), of so many runs from number ``first`` on."""
    problem, theta = pw.instances.benchmark(10, angle=0.1)
    means, best = problem.probes @ theta, int(np.argmax(problem.items @ theta))
    missed = 0
    for run in range(first, first + runs):
        rng = np.random.default_rng([run, budget])
        result = pw.identify(
            problem,
            pw.BestItem(SELDOM),
            measure=lambda at, rng=rng: means[at] + rng.standard_normal(at.size),
            algorithm=pw.Sage(lean=True),
            budget=budget,
            seed=run,
        )
        missed += result.item != best
    return missed


def most(missed: int, runs: int) -> float:
    """Upper end of the exact one-sided 95 % interval of a share."""
    return float(beta.ppf(0.95, missed + 1, runs - missed)) if missed < runs else 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--budget-runs", type=int, default=2400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="", help="Instances whose name contains this; budget-1010, budget-2010.")
    parser.add_argument("--asked", choices=("top m", "best sum"), help="How the question is asked; both by default.")
    options = parser.parse_args()
    given, good = json.loads(options.file.read_text()), True
    for name in TOP:
        if options.only not in name:
            continue
        own = given[name]
        probes = (
            own["probes"] if isinstance(own["probes"], list) else given[own["probes"].removeprefix("as ")]["probes"]
        )
        best, goal = np.inf, pw.TopM(own["m"], delta=own["delta"])
        problem = pw.Problem(np.array(probes), sigma=float(own["sigma"]))
        limit = pw.hardness(problem, own["theta"], goal=goal).kl_lower_bound(own["delta"])
        for sums, normal in itertools.product((False, True), (False, True)):
            if options.asked not in (None, "best sum" if sums else "top m"):
                continue
            mean, error, missed = top(own, probes, options.runs, normal=normal, sums=sums)
            best = min(best, mean) if normal else best
            parts = [f"{mean / limit:.2f} of the limit"]
            parts += [f"{mean / published:.2f} of {method}" for method, published in own["published"].items()]
            law, asked = "normal" if normal else "sub-Gaussian", "best sum" if sums else "top m"
            print(
                f"{name:<20} {asked:<9}{law:<13}{mean:8,.0f} ± {error:<6,.0f} wrong {missed:<3} {', '.join(parts)}",
                flush=True,
            )
        for method, published in own["published"].items():
            good = good and best <= (1.1 if method.endswith(" h") else 1.0) * published
    for budget, published in zip(BUDGETS, given["fixed_budget_soare10"]["published"]["P1-RAGE"], strict=True):
        if options.only not in f"budget-{budget}":
            continue
        missed = wrong(options.budget_runs, budget, options.first)
        share, high = missed / options.budget_runs, most(missed, options.budget_runs)
        good = good and high <= 0.1 * published
        print(
            f"soare(10), budget {budget}: {missed} of {options.budget_runs} wrong, {share:.4f} (≤ {high:.4f}), "
            f"P1-RAGE {published:.4f}",
            flush=True,
        )
    print("all goals met:", "yes" if good else "NO")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
