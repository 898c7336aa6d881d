"""What the stories share: a campaign from its first to its last row, and bars for the pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

import probewise as pw
from probewise import data, figures
from probewise.campaign import Status


def run(search: pw.Campaign, lab: data.Laboratory, *, measurements: str, items: str) -> Status:
    """Ask, measure and tell until nothing is asked; a line per round."""
    number = {name: i for i, name in enumerate(search.problem.probe_names)}
    while len(rows := search.ask()):
        search.tell(rows.filled(lab.measure(np.array([number[name] for name in rows["probe"]]))))
        status = search.status()
        print(f"  round {status.rounds}: {status.measurements:,} {measurements}, {items} left: {len(status.remaining)}")
    return search.status()


def bars(axes: Any, needs: dict[str, float]) -> None:
    """One bar each, the first in colour."""
    counts = list(needs.values())
    axes.barh(range(len(counts)), counts, height=0.5, color=[figures.ORACLE, "#b5b5b5", "#b5b5b5"])
    for row, count in enumerate(counts):
        axes.annotate(f"{count:,.0f}", (count, row), (5, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(counts)), needs)
    axes.set(ylim=(len(counts) - 0.4, -0.6), xlim=(0, 1.14 * max(counts)))
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
