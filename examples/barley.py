"""Barley: two varieties that differ by 0.01 bushels per acre, while plots scatter by 4.6.

The table of Immer, Hayes and Powers (1934) has one yield for each of 10 varieties at 6 sites in 2 years. A probe is a
plot of one variety in one of the 12 places (site and year), an item is a variety. The laboratory is made up from the
table: a plot yields variety effect plus place effect, both fitted to the record, plus one of the recorded residuals,
drawn at random.

    python examples/barley.py [picture.png]
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from shared import run

import probewise as pw
from probewise import data, figures

EPSILON = 2.0

plots = data.barley()
yields = plots.numbers("yield")
places = np.array([f"{site} {year}" for site, year in zip(plots.text("site"), plots.text("year"), strict=True)])
here = plots.rows(places == places[0])
varieties = here.text("variety")


def problem(sigma: float) -> pw.Problem:
    """Plots are probes; a variety in the first place is an item, as the place makes no difference to differences."""
    options: dict[str, Any] = {"model": "variety + site:year", "factors": ["year"], "item_names": varieties}
    return pw.Problem.from_tables(plots, here, sigma=sigma, **options)


features = problem(sigma=1.0).probes
theta = np.linalg.lstsq(features, yields)[0]
worth = problem(sigma=1.0).items @ theta


def plots_until(trial: pw.Problem, epsilon: float) -> float:
    """Mean number of plots that Sage needs in three laboratories."""
    counts = []
    for seed in range(3):
        lab, goal = data.redrawn(features, yields, seed=seed), pw.BestItem(0.05, epsilon=epsilon)
        counts.append(pw.identify(trial, goal, measure=lab.measure, seed=seed).measurements)
    return float(np.mean(counts))


def main() -> None:
    """What a tie costs, and how a campaign with a tolerance ends."""
    lab = data.redrawn(features, yields, seed=0)
    trial = problem(lab.sigma)
    first, second, third = np.argsort(-worth)[:3]
    print(
        f"{len(plots)} plots of {len(varieties)} varieties; residual sd {lab.errors.std():.2f}, sigma {lab.sigma:.2f}."
    )
    near, far = worth[first] - worth[second], worth[first] - worth[third]
    print(f"{varieties[first]} leads {varieties[second]} by {near:.4f} and {varieties[third]} by {far:.2f}.")
    least = pw.hardness(trial, theta).lower_bound(0.05)
    print(f"To tell the first two apart with confidence 95 %, any method needs at least {least:,.0f} plots on average.")
    with TemporaryDirectory() as folder:
        print("A campaign without a tolerance, given up after six rounds:")
        run(pw.Campaign.create(f"{folder}/exact.db", trial, pw.BestItem(0.05), seed=0), lab, "plots", rounds=6)
        print(f"With a tolerance of {EPSILON:g}:")
        goal = pw.BestItem(delta=0.05, epsilon=EPSILON)
        status = run(pw.Campaign.create(f"{folder}/barley.db", trial, goal, seed=0), lab, "plots")
    print(status.sentence)
    for item in status.items:
        print(f"  {item.name:16s} {item.state:10s} {item.why}")
    if len(sys.argv) > 1:
        needs = {epsilon: plots_until(trial, epsilon) for epsilon in (0.25, 1.0, 4.0)}
        figures.save(picture((near, least), needs), Path(sys.argv[1]))


def picture(tie: tuple[float, float], needs: dict[float, float]) -> Any:
    """Plots and varieties on record, and what it costs to resolve a difference."""
    with figures.style():
        figure = figures.blank(9.4, 3.9)
        left, right = figure.subplots(1, 2, width_ratios=(1.1, 1.0))
        draw_plots(left)
        left.set_title(f"The first two differ by {tie[0]:.4f}")
        gaps = np.geomspace(tie[0], 8.0, 100)
        right.plot(gaps, tie[1] * (tie[0] / gaps) ** 2, color=figures.FAINT, lw=1.2)
        right.text(0.0045, 1.2e3, "fewest for any method,\nif this is the gap", color=figures.FAINT, fontsize=9)
        offset: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9}
        right.scatter(*tie, s=36, color=figures.STATIC, zorder=3)
        right.annotate(f"{tie[1] / 1e6:.0f} million for\nthe tie itself", tie, (9, 0), color=figures.STATIC, **offset)
        right.scatter(list(needs), list(needs.values()), s=30, color=figures.ORACLE, zorder=3)
        for epsilon, count in needs.items():
            right.annotate(f"{count:,.0f}", (epsilon, count), (6, 3), color=figures.ORACLE, **offset)
        right.text(0.45, 5e4, "Sage, with this\ntolerance", color=figures.ORACLE, fontsize=9)
        right.set(xscale="log", yscale="log", xlim=(0.003, 12), ylim=(8, 6e7))
        right.minorticks_off()
        right.set_xticks([0.01, 0.1, 1.0, 10.0], ["0.01", "0.1", "1", "10"])
        right.set_yticks(
            [10**k for k in range(1, 8)], ["10", "100", "1,000", "10,000", "100,000", "1 million", "10 million"]
        )
        right.set(xlabel="difference that matters (bushels per acre)", title="Plots needed to resolve a difference")
    return figure


def draw_plots(axes: Any) -> None:
    """Each plot on record, less the effect of its place, and the mean of each variety."""
    grown = np.array(plots.text("variety"))
    place = features @ theta - worth[[varieties.index(variety) for variety in grown]]
    even = yields - place + place.mean()
    for row, variety in enumerate(np.argsort(worth)):
        own = even[grown == varieties[variety]]
        colour = figures.ORACLE if row >= len(varieties) - 2 else "#a9a9a9"
        axes.scatter(own, np.full(own.size, row), s=16, color=colour, alpha=0.65, lw=0)
        axes.scatter(own.mean(), row, s=110, marker="|", color=figures.INK, lw=2.0)
    axes.set_yticks(range(len(varieties)), [varieties[i] for i in np.argsort(worth)])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("bushels per acre, places evened out")


if __name__ == "__main__":
    main()
