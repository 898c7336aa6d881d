"""What the stories share: a campaign from its first to its last row, and bars for the pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

import probewise as pw
from probewise import data, figures
from probewise.campaign import Status


def run(search: pw.Campaign, lab: data.Laboratory, unit: str, *, rounds: int | None = None) -> Status:
    """Ask, measure and tell until nothing is asked, or for some rounds; a line per round, and warnings as they come."""
    number = {name: i for i, name in enumerate(search.problem.probe_names)}
    status = search.status()
    while (rounds is None or status.rounds < rounds) and len(rows := search.ask()):
        before = status.warnings
        search.tell(rows.filled(lab.measure(np.array([number[name] for name in rows["probe"]]))))
        status = search.status()
        line = f"  {status.measurements:,} {unit}: {len(status.remaining):,} of {len(status.items):,} left"
        print(f"{line}, {to_go(status)}" if status.forecast else line)
        if status.warnings and not before:
            print(f"  {status.warnings[0]}")
    return status


def to_go(status: Status) -> str:
    """The forecast in words."""
    if status.forecast is None or not status.forecast["measurements"]:
        return "done"
    low, high = status.forecast["low"], status.forecast["high"]
    return f"about {status.forecast['measurements']:,.0f} more to go ({low:,.0f} to {high:,.0f})"


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
