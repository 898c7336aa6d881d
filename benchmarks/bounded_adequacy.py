"""Whether a wrong model is noticed where outcomes are clicks: python benchmarks/bounded_adequacy.py.

48 web pages whose rates are linear in five parts (benchmarks/clicks.py), each page off by so much up or down, in six
rounds: all pages, then five times 14 of them. Verdicts of the check of linearity, with the bets of docs/adequacy.md,
Theorem 3, and without them; about two minutes.
"""

from __future__ import annotations

from collections import Counter

import clicks
import numpy as np

import probewise as pw
from probewise.adequacy import check_adequacy
from probewise.departure import departure
from probewise.measurements import Measurements


def drawn(rates: np.ndarray, each: int, rng: np.random.Generator) -> list[Measurements]:
    """Six rounds."""
    rounds = []
    for number in range(6):
        at = rng.choice(rates.size, 14, replace=False) if number else np.arange(rates.size)
        n = np.zeros(rates.size, dtype=np.int64)
        n[at] = each
        k = rng.binomial(n, rates)
        rounds.append(Measurements(n, k / np.maximum(n, 1), k * (n - k) / np.maximum(n, 1)))
    return rounds


def main() -> None:
    rng = np.random.default_rng(0)
    for low, high in ((0.02, 0.04), (0.45, 0.55)):
        features, theta = clicks.pages(low, high)
        problem = pw.Problem(features, outcome=pw.Bounded())
        for bend in (0.0, 0.25, 0.5):
            off = bend * (high - low) * np.where(rng.random(len(features)) < 0.5, 1.0, -1.0)
            for each in (200, 2000):
                with_bets: Counter[str] = Counter()
                without: Counter[str] = Counter()
                for _ in range(20 if bend else 100):
                    rounds = drawn(features @ theta + off, each, rng)
                    made = departure(problem, [[own] for own in rounds])
                    with_bets[check_adequacy(problem, pw.BestItem(), rounds, departed=made).fit.verdict] += 1
                    without[check_adequacy(problem, pw.BestItem(), rounds).fit.verdict] += 1
                shown = f"{dict(with_bets)}, without bets {dict(without)}"
                print(f"rates {low:g} to {high:g}, off by {bend * (high - low):g}, {each:,} each: {shown}", flush=True)


if __name__ == "__main__":
    main()
