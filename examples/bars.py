"""Bars of counts, for the pictures of the stories."""

from __future__ import annotations

from typing import Any

from probewise import figures


def bars(axes: Any, needs: dict[str, float]) -> None:
    """One bar each, the first in colour."""
    counts = list(needs.values())
    axes.barh(range(len(counts)), counts, height=0.5, color=[figures.ORACLE, "#b5b5b5", "#b5b5b5"])
    for row, count in enumerate(counts):
        axes.annotate(f"{count:,.0f}", (count, row), (5, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(counts)), needs)
    axes.set(ylim=(len(counts) - 0.4, -0.6), xlim=(0, 1.14 * max(counts)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
