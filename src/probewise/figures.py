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
    figure = _figure(13.0, 5.4)
    grid = figure.add_gridspec(2, 3, width_ratios=(0.62, 1.0, 1.0))
    _draw_twins(figure.add_subplot(grid[:, 0]), problem, hardness)
    upper = figure.add_subplot(grid[0, 1])
    lower = figure.add_subplot(grid[1, 1], sharex=upper, sharey=upper)
    _draw_shares(upper, problem, hardness, static.weights, STATIC)
    _draw_shares(lower, problem, hardness, hardness.design.weights, ORACLE)
    upper.set_title("Where the measurements go")
    upper.text(0, 0.97, "static design: all comparisons alike", color=STATIC, va="top")
    lower.text(0, 0.97, "oracle design: knows the best item", color=ORACLE, va="top")
    _draw_needs(figure.add_subplot(grid[:, 2]), problem, hardness, needs)
    return figure


def _draw_twins(axes: Axes, problem: Problem, hardness: Hardness) -> None:
    """The best item and its nearest rival, in the plane of the two probes that they are made of."""
    up, across, rival = _plane(problem, hardness)
    z, twin = problem.items[hardness.best][[across, up]], problem.items[rival][[across, up]]
    gap = float(hardness.gaps[rival])
    for item, end, side in ((hardness.best, z, -1), (rival, twin, 1)):
        arrow = {"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0, "lw": 1.5}
        axes.annotate("", end, (0, 0), arrowprops=arrow)
        place = {"textcoords": "offset points", "va": "center", "ha": "right" if side < 0 else "left"}
        axes.annotate(problem.item_names[item], end, (7 * side, -8), **place)
    axes.hlines([z[1], twin[1]], [z[0], twin[0]], 0.27, color=FAINT, lw=0.8, ls=(0, (3, 2)))
    axes.text(0.28, 0.5 * (z[1] + twin[1]), f"their values under θ\ndiffer by {gap:.3f}", va="center", fontsize=9)
    axes.vlines([z[0], twin[0]], 0, [z[1], twin[1]], color=FAINT, lw=0.8, ls=(0, (1, 2)))
    axes.annotate("", (twin[0], -0.05), (z[0], -0.05), arrowprops={"arrowstyle": "-", "color": ORACLE, "lw": 3.0})
    name = problem.probe_names[across]
    axes.text(twin[0] + 0.03, -0.05, f"probe {name} sees a\ndifference of {twin[0] - z[0]:.3f}", va="top", fontsize=9, color=ORACLE)
    axes.set(xlim=(-0.12, 0.62), ylim=(-0.16, 1.06), aspect="equal")
    axes.set_title("Two items nearly tie")
    axes.axis("off")


def _draw_shares(axes: Axes, problem: Problem, hardness: Hardness, weights: Array, colour: str) -> None:
    """Weights of all probes as bars, with the numbers of the two probes that the nearly tied items are made of."""
    axes.bar(range(weights.size), weights, width=0.72, color=colour)
    named = sorted(_plane(problem, hardness)[:2])
    for i in named:
        axes.annotate(f"{weights[i]:.1%}", (i, weights[i]), (0, 3), textcoords="offset points", ha="center", fontsize=9)
    axes.set_xticks([*named, weights.size - 1], [problem.probe_names[i] for i in (*named, weights.size - 1)])
    axes.set_ylim(0, 1.0)
    axes.spines["left"].set_visible(False)
    axes.yaxis.set_visible(False)
    axes.tick_params(axis="x", length=0)


def _draw_needs(axes: Axes, problem: Problem, hardness: Hardness, needs: tuple[Array, Array]) -> None:
    """One row per comparison with the best item, from what it needs under one design to the other."""
    order = np.delete(np.argsort(hardness.gaps, kind="stable"), 0)
    rows = np.arange(order.size)
    static, oracle = needs[0][order], needs[1][order]
    axes.hlines(rows, static, oracle, color="#d0d0d0", lw=2, zorder=1)
    axes.scatter(static, rows, s=34, color=STATIC, zorder=2)
    axes.scatter(oracle, rows, s=34, color=ORACLE, zorder=2)
    axes.axvline(oracle.max(), color=ORACLE, lw=0.8, ls=(0, (3, 2)), zorder=0)
    for value, colour in ((static[0], STATIC), (oracle[0], ORACLE)):
        text = {"textcoords": "offset points", "ha": "center", "color": colour, "fontsize": 9}
        axes.annotate(f"{value:,.0f}", (value, 0), (0, 8), **text)
    axes.set_yticks(rows, [problem.item_names[i] for i in order], fontsize=8)
    axes.set_ylim(order.size - 0.5, -1.2)
    axes.set_xscale("log")
    axes.set_xlabel("measurements needed: variance / gap²")
    axes.set_title(f"What each comparison with {problem.item_names[hardness.best]} needs")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _plane(problem: Problem, hardness: Hardness) -> tuple[int, int, int]:
    """The probe that is the best item, the one along which its nearest rival differs from it, and that rival."""
    rival = int(np.argsort(hardness.gaps, kind="stable")[1])
    up = int(np.argmax(problem.probes @ problem.items[hardness.best]))
    across = int(np.argmax(problem.probes @ (problem.items[rival] - problem.items[hardness.best])))
    return up, across, rival


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
