"""The picture of a sweep: mean measurements with standard errors over the size, and the certified lower bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probewise import figures
from probewise.experiments.sweep import Average, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "Sage": "#117733",
    "RAGE (tight)": "#CC3311",
    "RAGE (code)": "#E07B39",
    "RAGE (paper)": "#E6B800",
    "XY-Adaptive": "#44BB99",
    "LinGapE": "#AA4499",
    "ALBA": "#56B4E9",
    "XY-Static": "#6b6b6b",
    "XY-Oracle": "#3D7EB9",
    "XY-Oracle (tight)": "#004488",
}
"""Of each algorithm, the same in all figures; they stay apart for colour-blind eyes."""
MARKERS = dict(zip(COLOURS, "*Dos^vPXhp", strict=True))
LOWER_BOUND = "lower bound"
_APART = 0.052
"""Least distance of two labels, as a share of the height."""


def plot(sweep: Sweep, rows: list[Average]) -> Figure:
    """Measurements over size, both axes as the sweep says, labels at the ends of the curves."""
    with figures.style():
        figure = figures.blank(8.0, 5.0)
        axes = figure.add_subplot()
        axes.set_yscale("log")
        if sweep.log_axis:
            axes.set_xscale("log")
        _draw(axes, sweep, rows)
    return figure


def _draw(axes: Axes, sweep: Sweep, rows: list[Average]) -> None:
    seen = {row.algorithm for row in rows}
    ends = {curve.label: _curve(axes, curve.label, rows) for curve in sweep.curves if curve.label in seen}
    sizes, bounds = zip(*sorted({(row.size, row.lower_bound) for row in rows}), strict=True)
    axes.plot(sizes, bounds, color=figures.INK, lw=1.0, ls=(0, (4, 3)), zorder=1)
    ends[LOWER_BOUND] = (sizes[-1], bounds[-1])
    axes.minorticks_off()
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_xlabel(sweep.axis)
    axes.set_ylabel("measurements")
    axes.set_title(sweep.title, pad=20)
    most = max(row.runs for row in rows)
    fewer = {row.algorithm: row.runs for row in rows if row.runs < most}
    told = "".join(f", {name} {runs}" for name, runs in fewer.items())
    about = f"mean and standard error of {most} runs{told}, δ = {sweep.delta:g}"
    axes.text(0.0, 1.015, about, transform=axes.transAxes, fontsize=8.5, color=figures.FAINT, va="bottom")
    _labels(axes, ends)


def _curve(axes: Axes, label: str, rows: list[Average]) -> tuple[float, float]:
    """Draw one algorithm; its last point."""
    mine = [row for row in rows if row.algorithm == label]
    sizes, means = [row.size for row in mine], np.array([row.measurements for row in mine])
    errors = np.nan_to_num([row.standard_error for row in mine])
    style: dict[str, Any] = {"color": COLOURS[label], "marker": MARKERS[label], "markersize": 4.5, "lw": 1.5}
    axes.errorbar(sizes, means, np.minimum(errors, 0.9 * means), capsize=2.5, elinewidth=1.0, **style)
    return float(sizes[-1]), float(means[-1])


def _labels(axes: Axes, ends: dict[str, tuple[float, float]]) -> None:
    """Names to the right of the picture, in the order of the last points and never on top of each other."""
    low, high = axes.get_ylim()
    places = {name: float(np.log(y / low) / np.log(high / low)) for name, (_, y) in ends.items()}
    names = sorted(places, key=lambda name: places[name])
    wanted = np.array([places[name] for name in names])
    # least squares with gaps of at least _APART: the isotonic regression of the places less the gaps
    shifted = _isotonic(wanted - _APART * np.arange(wanted.size))
    to_axes = axes.transData + axes.transAxes.inverted()
    for name, place in zip(names, shifted + _APART * np.arange(wanted.size), strict=True):
        colour = COLOURS.get(name, figures.INK)
        end = float(to_axes.transform(ends[name])[0])
        axes.annotate(
            name, (end, places[name]), (1.045, place), xycoords="axes fraction", textcoords="axes fraction",
            color=colour, va="center", fontsize=9, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.6, "alpha": 0.5, "shrinkA": 2, "shrinkB": 2},
        )  # fmt: skip


def _isotonic(values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The non-decreasing sequence nearest to ``values`` (k,), by pooling neighbours that are out of order."""
    pools: list[list[float]] = []
    for value in values:
        pools.append([float(value)])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    return np.concatenate([np.full(len(pool), np.mean(pool)) for pool in pools])
