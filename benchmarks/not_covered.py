"""How often Sage answers where it should not, as an assumption fails: python benchmarks/not_covered.py [--runs 300].

Two items tie, δ = 0.05; whatever is declared is there by luck, and at most 2δ of the runs may declare anything. Counts
that scatter more than a Poisson law, and rows whose standard error was computed from their own three readings and told
as known, are not covered: this shows by how much. Rows with errors that were known before are beside them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import probewise as pw
from probewise.design import remembering
from probewise.run import loop

Draw = Callable[[np.ndarray, np.random.Generator], pw.Measurements]


def counts(times: float) -> Draw:
    """Counts about 5 whose variance is so many times their mean (negative binomial)."""

    def draw(wanted: np.ndarray, rng: np.random.Generator) -> pw.Measurements:
        at = np.repeat(np.arange(2), wanted)
        outcomes = (
            rng.poisson(5.0, at.size) if times == 1 else rng.negative_binomial(5.0 / (times - 1), 1 / times, at.size)
        )
        return pw.Measurements.from_outcomes(2, at, outcomes.astype(float))

    return draw


def readings(*, known: bool) -> Draw:
    """Means of three readings, weighed by a standard error that was known before, or by that of the readings."""

    def draw(wanted: np.ndarray, rng: np.random.Generator) -> pw.Measurements:
        at = np.repeat(np.arange(2), wanted)
        values = rng.standard_normal((at.size, 3))
        weights = np.full(at.size, 3.0) if known else 3.0 / values.var(axis=1, ddof=1)
        return pw.Measurements.from_outcomes(2, at, values.mean(axis=1), weights)

    return draw


def declared(law: pw.Law, draw: Draw, runs: int, budget: int) -> int:
    """Runs that end with an answer."""
    problem, found = pw.Problem(np.eye(2), outcome=law), 0
    with remembering(keep=True):
        for run in range(runs):
            result = loop(
                problem,
                pw.BestItem(0.05),
                pw.Sage(growth=1.5),
                observe=lambda wanted, step, run=run: draw(wanted, np.random.default_rng([run, step, 1])),
                stream=lambda step, run=run: np.random.default_rng([run, step]),
                budget=budget,
                keep=False,
            )
            found += result.status == "identified"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    given = parser.parse_args()
    for times in (1.0, 2.0, 4.0):
        found = declared(pw.Poisson(), counts(times), given.runs, 3000)
        print(f"counts, variance {times:g} times the mean: {found} of {given.runs} declare an item", flush=True)
    for known in (True, False):
        found = declared(pw.Gaussian(), readings(known=known), given.runs, 2000)
        what = "known before" if known else "of its own three readings"
        print(f"rows with a standard error {what}: {found} of {given.runs} declare an item", flush=True)


if __name__ == "__main__":
    main()
