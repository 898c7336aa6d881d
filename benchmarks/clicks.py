"""Visitors that a test of 48 web pages needs, by what is assumed of a click: python benchmarks/clicks.py [--runs 40].

Pages are combinations of five parts, and click rates are sums of effects of the parts. Three assumptions side by side:
σ = ½, which holds for any outcomes 0 and 1; the law "bounded", which learns how much clicks scatter; and, as the best
that can be hoped for, normal outcomes whose standard deviations are known. Goals: at rates of 2 to 4 % at most a sixth
of the visitors that σ = ½ needs, and at most 1.35 times what known deviations need; at rates near ½ at most 1.25 times.
Exit code 1 if one is missed. Means are geometric.
"""

from __future__ import annotations

import argparse
import itertools
import sys

import numpy as np

import probewise as pw

LEVELS = (2, 3, 2, 2, 2)
EFFECTS = np.array([0.5, -0.3, 0.4, -0.6, 0.3, -0.4])


def pages(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Features of all pages, and θ for which rates go from low to high."""
    rows = list(itertools.product(*map(range, LEVELS)))
    features = [[float(v == k) for v, count in zip(row, LEVELS, strict=True) for k in range(1, count)] for row in rows]
    values = np.array(features) @ EFFECTS
    theta = EFFECTS * (high - low) / (values.max() - values.min())
    start = low - (np.array(features) @ theta).min()
    return np.column_stack([np.ones(len(rows)), features]), np.append(start, theta)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    missed = 0
    for (low, high), most, part in (((0.02, 0.04), 1.35, 6.0), ((0.45, 0.55), 1.25, None)):
        features, theta = pages(low, high)
        rates = features @ theta
        laws = {
            "sigma = 1/2": (pw.Problem(features, sigma=0.5), "bernoulli"),
            "bounded": (pw.Problem(features, outcome=pw.Bounded()), None),
            "known": (pw.Problem(features, sigma=np.sqrt(rates * (1 - rates))), None),
        }
        logs, wrong = {}, {}
        for name, (problem, noise) in laws.items():
            runs = pw.simulate(problem, theta, pw.Sage(), runs=given.runs, seed=1, workers=given.workers, noise=noise)  # type: ignore[arg-type]
            logs[name], wrong[name] = np.log(runs["measurements"]), int((~np.array(runs["correct"])).sum())
        print(f"rates {low:g} to {high:g}, {given.runs} runs, δ = 0.05")
        for name, log in logs.items():
            error = log.std(ddof=1) / np.sqrt(given.runs)
            print(f"  {name:12} {np.exp(log.mean()):12,.0f} visitors (±{100 * error:.0f} %), {wrong[name]} wrong")
        saved = np.exp(logs["sigma = 1/2"].mean() - logs["bounded"].mean())
        above = np.exp(logs["bounded"].mean() - logs["known"].mean())
        spread = np.sqrt((logs["bounded"].var(ddof=1) + logs["known"].var(ddof=1)) / given.runs)
        print(f"  1/{saved:.2f} of sigma = 1/2, {above:.3f} (±{above * spread:.3f}) of known deviations", flush=True)
        missed += above > most or (part is not None and saved < part)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
