"""Pictures: each function returns a matplotlib figure, drawn without a display; matplotlib is loaded when used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probewise.coordinates import Array
from probewise.design import Design
from probewise.errors import InvalidDesign, MissingExtra
from probewise.problem import Problem
from probewise.theory import Hardness

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#222222", "#8a8a8a"
STATIC, ORACLE = "#D55E00", "#0072B2"
"""Two colours that stay apart for colour-blind eyes (Okabe and Ito 2008)."""

BARS = 30
"""Probes that a picture of a design names; the rest is summed up in a line."""
FORMATS = (".png", ".svg", ".pdf")

_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titlepad": 10,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "svg.hashsalt": "probewise",  # the same picture gives the same file
}


def save(figure: Figure, *paths: Path) -> None:
    """Write a figure to each path, in the format that its ending names."""
    for path in paths:
        if path.suffix.casefold() not in FORMATS:
            raise InvalidDesign(f"pictures are written as {', '.join(FORMATS)}, got the name {path}; change its ending.")
    for path in paths:
        undated = {"CreationDate": None} if path.suffix.casefold() == ".pdf" else {"Date": None}
        metadata = None if path.suffix.casefold() == ".png" else undated
        figure.savefig(path, dpi=160, facecolor="white", metadata=metadata)


def draw_design(problem: Problem, design: Design) -> Figure:
    """The weights of a design as bars, largest first, with value and certificate in the title."""
    order = np.argsort(-design.weights, kind="stable")[: min(BARS, design.support.size)]
    weights, rest = design.weights[order], design.support.size - order.size
    figure = _figure(7.0, 1.5 + 0.24 * order.size)
    axes = figure.add_subplot()
    axes.barh(range(order.size), weights, height=0.62, color=ORACLE)
    for row, weight in enumerate(weights):
        axes.annotate(f"{weight:.3g}", (weight, row), (4, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set_yticks(range(order.size), [_short(problem.probe_names[i]) for i in order])
    axes.set_ylim(order.size - 0.4, -0.6)
    _bare(axes)
    tail = f"{rest} more probes share {1.0 - weights.sum():.2g}\n" if rest > 0 else ""
    figure.suptitle(f"{design.support.size} of {problem.n_probes} probes are worth measuring", x=0.02, ha="left")
    value = f"value {design.value:.5g}, no design is below {design.lower:.5g} (gap {design.gap:.1e})"
    figure.supxlabel(f"{tail}share of the measurements · {value}", x=0.02, ha="left", fontsize=9, color=FAINT)
    return figure


def draw_demo(problem: Problem, hardness: Hardness, static: Design, needs: tuple[Array, Array]) -> Figure:
    """The transductive instance: its two nearly tied items, where two designs measure, what each comparison needs.

    ``needs`` holds, for the static design and for that of ``hardness``, one variance/gap² per item (m,).
    """
    figure = _figure(13.0, 5.6)
    grid = figure.add_gridspec(2, 3, width_ratios=(1.0, 1.15, 1.3))
    _draw_twins(figure.add_subplot(grid[:, 0]), problem, hardness)
    upper = figure.add_subplot(grid[0, 1])
    lower = figure.add_subplot(grid[1, 1], sharex=upper, sharey=upper)
    _draw_shares(upper, problem, static.weights, STATIC, "static: for all pairs, before any outcome")
    _draw_shares(lower, problem, hardness.design.weights, ORACLE, "oracle: for the best item, known beforehand")
    upper.set_title("Where the measurements go")
    _draw_needs(figure.add_subplot(grid[:, 2]), problem, hardness, needs)
    return figure


def _draw_twins(axes: Axes, problem: Problem, hardness: Hardness) -> None:
    """The plane of the best item and the axis along which its nearest rival differs from it."""
    best = hardness.best
    rival = _rival(hardness)
    axis = int(np.argmax(np.abs(problem.items[rival] - problem.items[best])))
    first = int(np.argmax(np.abs(problem.items[best])))
    z, twin = problem.items[best][[first, axis]], problem.items[rival][[first, axis]]
    for end, name in ((z, problem.item_names[best]), (twin, problem.item_names[rival])):
        axes.annotate("", end, (0, 0), arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0, "lw": 1.4})
        axes.annotate(name, end, (6, 0), textcoords="offset points", va="center")
    axes.set_title("Two items nearly tie")


def _draw_shares(axes: Axes, problem: Problem, weights: Array, colour: str, text: str) -> None:
    """Weights of all probes as bars from one axis."""
    axes.bar(range(weights.size), weights, width=0.7, color=colour)
    axes.text(0.01, 0.93, text, transform=axes.transAxes, color=colour, va="top", fontsize=9.5)


def _draw_needs(axes: Axes, problem: Problem, hardness: Hardness, needs: tuple[Array, Array]) -> None:
    """One row per comparison with the best item, from what it needs under one design to the other."""


def _rival(hardness: Hardness) -> int:
    """Number of the item with the smallest positive gap."""
    return int(np.argmin(np.where(np.arange(hardness.gaps.size) == hardness.best, np.inf, hardness.gaps)))


def _figure(width: float, height: float) -> Figure:
    """An empty figure in the common style."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("pictures need matplotlib; install probewise[plot], or leave the picture out.") from None
    matplotlib.rcParams.update(_STYLE)
    return Figure(figsize=(width, height), layout="constrained")


def _bare(axes: Any) -> None:
    """No frame and no horizontal scale: the bars carry their numbers."""
    axes.spines[["bottom", "left"]].set_visible(False)
    axes.xaxis.set_visible(False)
    axes.tick_params(axis="y", length=0)


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:27]}…"
