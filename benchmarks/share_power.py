"""How many good items are listed after so many measurements, by both promises: python benchmarks/share_power.py.

200 items are measured one by one; a fifth of them is above the limit by one σ, the others are below it by as much. One
curve promises that all of a list is right, each item by its own account (a Bonferroni bound), the other that at most a
share δ of the list is wrong on average (e-BH). Both see the same outcomes, in rounds that measure every item once, so
that only the promise differs. Writes docs/figures/share_power.png and prints the figures.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from probewise.algorithms.sage.listing import accepted
from probewise.confidence import log_wealth

ITEMS, ROUNDS, DELTA = 200, 45, 0.05
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "share_power.png"


def power(good: float, runs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rounds, 2), (rounds, 2), (rounds,): mean share of good items that are listed, by "all" and by "share"; standard
    errors; and mean share of wrong items in the list of "share"."""
    found, wrong = np.zeros((runs, ROUNDS, 2)), np.zeros((runs, ROUNDS))
    truth = np.where(np.arange(ITEMS) < good * ITEMS, 1.0, -1.0)
    needed = math.log(ITEMS / DELTA)
    for run in range(runs):
        total, peak = np.zeros(ITEMS), np.full(ITEMS, -np.inf)
        rng = np.random.default_rng([20260801, run])
        for step in range(ROUNDS):
            total += truth + rng.standard_normal(ITEMS)
            precision, unit = np.full(ITEMS, step + 1.0), np.ones(ITEMS)  # unit: half of a first round of two each
            wealth = log_wealth(total, precision, unit)
            peak = np.fmax(peak, wealth)
            inside = total > 0
            listed = accepted(log_wealth(np.abs(total), precision, unit), inside, needed) & inside
            found[run, step] = (peak >= needed)[truth > 0].mean(), listed[truth > 0].mean()
            wrong[run, step] = (listed & (truth < 0)).sum() / max(listed.sum(), 1)
    return found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(runs), wrong.mean(axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), sharey=True, layout="constrained")
    for axis, good in zip(axes, (0.05, 0.2), strict=True):
        mean, error, wrong = power(good, runs)
        measured = ITEMS * np.arange(1, ROUNDS + 1)
        for column, (name, colour) in enumerate((("all of it right", "#666666"), ("a share right", "#0b6e99"))):
            axis.plot(measured, mean[:, column], color=colour, label=name)
            axis.fill_between(
                measured, mean[:, column] - 2 * error[:, column], mean[:, column] + 2 * error[:, column],
                color=colour, alpha=0.2, lw=0,
            )  # fmt: skip
            half, most = (int(measured[np.argmax(mean[:, column] >= level)]) for level in (0.5, 0.9))
            print(
                f"{good:.0%} good, {name}: half of them listed after {half:,} measurements, nine tenths after {most:,}"
            )
        print(
            f"{good:.0%} good: largest mean share of wrong items in a list {wrong.max():.4f} (δ = {DELTA:g})",
            flush=True,
        )
        axis.set_title(f"{good:.0%} of {ITEMS} items are good", fontsize=10)
        axis.set_xlabel("measurements")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("good items listed")
    axes[0].legend(frameon=False, title="promise", loc="lower right")
    figure.savefig(FIGURE, dpi=150)


if __name__ == "__main__":
    main()
