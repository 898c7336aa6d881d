"""Pictures: each function returns a matplotlib figure, drawn without a display; matplotlib is loaded when used."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probewise.campaign.findings.numbers import Numbers
from probewise.coordinates import Array
from probewise.design import Design
from probewise.errors import InvalidDesign, MissingExtra
from probewise.problem import Problem
from probewise.simulation import Runs
from probewise.theory import Hardness

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#222222", "#8a8a8a"
STATIC, ORACLE = "#D55E00", "#0072B2"
"""Two colours that stay apart for colour-blind eyes (Okabe and Ito 2008)."""

BARS = 30
"""Probes that a picture of a design names; the rest is summed up in a line."""
DOTS = 300
"""Runs of an algorithm that a picture shows one by one; its means and shares are of all."""
FORMATS = {".png": "Creation Time", ".svg": "Date", ".pdf": "CreationDate"}
"""Ending of a file -> its field for the date, which is left out."""

_RUNS_KEY = "dot: a run · cross: a run with a wrong answer or none · bar: the mean"
_STYLE: dict[Any, Any] = {
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
    """Write a figure to each path, in the format that its ending names; the same figure gives the same bytes."""
    check(*paths)
    with style():
        for path in paths:
            undated: dict[str, Any] = {FORMATS[path.suffix.casefold()]: None}
            figure.savefig(path, dpi=160, facecolor="white", metadata=undated)


def check(*paths: Path) -> None:
    """Refuse what ``save`` could not write, before long work is done for it."""
    for path in paths:
        if path.suffix.casefold() not in FORMATS:
            raise InvalidDesign(f"pictures are written as {', '.join(FORMATS)}, got the name {path}; change its end.")
    style()


def draw_design(problem: Problem, design: Design) -> Figure:
    """The weights of a design as bars, largest first, with its certificate."""
    order = np.argsort(-design.weights, kind="stable")[: min(BARS, design.support.size)]
    weights, rest = design.weights[order], design.support.size - order.size
    value = f"value {design.value:.5g}, no design is below {design.lower:.5g} (gap {design.gap:.1e})"
    with style():
        figure = blank(7.0, 1.5 + 0.24 * order.size)
        axes = figure.add_subplot()
        axes.barh(range(order.size), weights, height=0.62, color=ORACLE)
        for row, weight in enumerate(weights):
            axes.annotate(f"{weight:.4f}", (weight, row), (4, 0), textcoords="offset points", va="center", fontsize=9)
        axes.set_yticks(range(order.size), [_short(problem.probe_names[i]) for i in order])
        axes.set_ylim(order.size - 0.4, -0.6)
        axes.spines[["bottom", "left"]].set_visible(False)
        axes.xaxis.set_visible(False)
        axes.tick_params(axis="y", length=0)
        tail = f"{rest} more probes share {1.0 - weights.sum():.2g}\n" if rest > 0 else ""
        figure.suptitle(f"{design.support.size} of {problem.n_probes} probes are measured", x=0.02, ha="left")
        figure.supxlabel(f"{tail}share of the measurements · {value}", x=0.02, ha="left", fontsize=9, color=FAINT)
    return figure


def draw_runs(runs: Runs, *, column: str = "measurements", lower: float | None = None) -> Figure:
    """What each algorithm of a table took and how often it erred; ``lower`` bounds the mean of any."""
    tables = runs.by_algorithm()
    with style():
        from matplotlib.ticker import LogLocator

        figure = blank(9.0, 1.7 + 0.62 * len(tables))
        axes = figure.add_subplot()
        axes.set_xscale("log")
        for row, table in enumerate(tables.values()):
            _draw_row(axes, row, table, column)
        axes.set_yticks(range(len(tables)), [_short(name) for name in tables])
        axes.set_ylim(len(tables) - 0.4, -0.75)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.minorticks_off()
        most = max(len(table) for table in tables.values())
        axes.set_xlabel(f"{column} until the answer · {most:,} run{'s' * (most > 1)} each, from the same seeds")
        axes.text(
            1.02, -0.75, "mean ± s.e.", transform=axes.get_yaxis_transform(), va="bottom", fontsize=9, color=FAINT
        )
        figure.supxlabel(_RUNS_KEY, fontsize=9, color=FAINT)
        if lower is not None:
            axes.axvline(lower, color=INK, lw=1.0, ls=(0, (4, 3)), zorder=1)
            said = f"lower bound of the mean: {lower:,.{0 if lower >= 10 else 1}f}"
            axes.annotate(said, (lower, -0.75), (0, 4), textcoords="offset points", va="bottom", fontsize=9)
    return figure


def _draw_row(axes: Axes, row: int, table: Runs, column: str) -> None:
    """One algorithm: its runs, scattered within the row, their mean, and its numbers to the right."""
    values, right = table[column], table["correct"]
    heights = row + 0.5 * ((np.arange(len(table)) * 0.618034) % 1.0 - 0.5)
    shown = right & (np.arange(len(table)) < DOTS)
    axes.scatter(values[shown], heights[shown], s=9, color=ORACLE, alpha=0.45, lw=0, zorder=2)
    axes.scatter(values[~right], heights[~right], s=26, color=STATIC, marker="x", lw=1.4, zorder=3)
    axes.vlines(table.mean(column), row - 0.36, row + 0.36, color=INK, lw=2.2, zorder=4)
    rate, error = table.error_rate(), table.standard_error(column)
    spread = f" ± {error:,.0f}" if np.isfinite(error) else ""
    said = f"{table.mean(column):,.0f}{spread}\n{rate.errors} of {rate.runs} wrong"
    axes.annotate(said, (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=9, annotation_clip=False)


def draw_search(
    first: Numbers, last: Numbers, truth: Mapping[str, float], runs: Mapping[tuple[str, str], int], *, name: str
) -> Figure:
    """A search in a simulated laboratory: how far behind the winner each item is, after its first and last round.

    ``truth`` has the true value of each item, ``runs`` how often each probe was run, by its row and column in a grid;
    ``name`` is that of an outcome.
    """
    with style():
        figure = blank(12.0, 1.6 + 0.19 * len(last.items))
        grid = figure.add_gridspec(1, 2, width_ratios=(1.0, 0.55))
        _draw_behind(figure.add_subplot(grid[0]), first, last, truth, name)
        _draw_grid(figure.add_subplot(grid[1]), runs)
    return figure


def _draw_behind(axes: Axes, first: Numbers, last: Numbers, truth: Mapping[str, float], name: str) -> None:
    """One row per item, the best first: how far it is behind the leader, with intervals, and the truth."""
    items, winner = [last.items[i] for i in last.order], last.items[last.order[0]].name
    for numbers, colour, width in ((first, "#dddddd", 6.0), (last, FAINT, 1.6)):
        for row, i in enumerate(last.order[1:] if numbers.leader == last.leader else (), start=1):
            item = numbers.items[i]
            axes.hlines(row, item.least, item.most, color=colour, lw=width, zorder=1 + (numbers is last))
    rows = list(range(len(items)))
    colours = [ORACLE, *[FAINT] * (len(items) - 1)]
    axes.axvline(0.0, color=ORACLE, lw=1.0, zorder=1)
    axes.scatter([item.behind for item in items], rows, s=26, color=colours, zorder=3)
    behind = [truth[winner] - truth[item.name] for item in items]
    axes.scatter(behind[1:], rows[1:], s=52, color=STATIC, marker="|", lw=1.6, zorder=4)
    axes.set_yticks(rows, [item.name for item in items], fontsize=8.5)
    axes.set_ylim(len(items) - 0.4, -0.8)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title(f"How far behind {winner}")
    axes.set_xlabel(f"{name} · band: after the first round · dot and line: after the last · orange: the truth")


def _draw_grid(axes: Axes, runs: Mapping[tuple[str, str], int]) -> None:
    """How often each probe was run, in a grid."""
    rows, columns = (list(dict.fromkeys(key[side] for key in runs)) for side in (0, 1))
    most = max(runs.values())
    for (name, column), count in runs.items():
        at = (columns.index(column), rows.index(name))
        axes.scatter(*at, s=20 + 320 * count / most, color=ORACLE if count else "#e4e4e4", lw=0)
        if count:
            axes.annotate(str(count), at, ha="center", va="center_baseline", color="white", fontsize=8.5)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlim(-0.6, len(columns) - 0.4)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.spines[["bottom", "left"]].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title(f"{sum(runs.values())} runs, on {sum(map(bool, runs.values()))} of {len(runs)} probes")


def draw_demo(problem: Problem, hardness: Hardness, static: Design, needs: tuple[Array, Array]) -> Figure:
    """The transductive instance: its two nearly tied items, where two designs measure, what each comparison needs.

    ``needs`` holds, for the static design and for that of ``hardness``, one variance/gap² per item (m,).
    """
    with style():
        figure = blank(13.0, 5.4)
        grid = figure.add_gridspec(2, 3, width_ratios=(0.62, 1.0, 1.0))
        _draw_twins(figure.add_subplot(grid[:, 0]), problem, hardness)
        upper = figure.add_subplot(grid[0, 1])
        lower = figure.add_subplot(grid[1, 1], sharex=upper, sharey=upper)
        _draw_shares(upper, problem, hardness, static.weights, STATIC, "static design,\nfor all comparisons")
        _draw_shares(lower, problem, hardness, hardness.design.weights, ORACLE, "oracle design,\nknows the best item")
        upper.set_title("Where the measurements go")
        _draw_needs(figure.add_subplot(grid[:, 2]), problem, hardness, needs)
    return figure


def _draw_twins(axes: Axes, problem: Problem, hardness: Hardness) -> None:
    """The best item and its nearest rival, in the plane of the two probes that they are made of."""
    up, across, rival = _plane(problem, hardness)
    z, twin = problem.items[hardness.best][[across, up]], problem.items[rival][[across, up]]
    for item, end, shift in ((hardness.best, z, -5), (rival, twin, 18)):
        arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0, "lw": 1.5}
        axes.annotate("", end, (0, 0), arrowprops=arrow)
        place: dict[str, Any] = {"textcoords": "offset points", "va": "center", "ha": "right" if shift < 0 else "left"}
        axes.annotate(problem.item_names[item], 0.6 * end, (shift, 0), **place)
    values = f"probe {problem.probe_names[up]} sees a\ndifference of {z[1] - twin[1]:.3f}"
    axes.hlines([z[1], twin[1]], [z[0], twin[0]], 0.22, color=FAINT, lw=0.8)
    axes.text(0.24, 0.5 * (z[1] + twin[1]), values, va="center", fontsize=9)
    apart = f"probe {problem.probe_names[across]} sees a\ndifference of {twin[0] - z[0]:.3f}"
    axes.vlines([z[0], twin[0]], -0.05, [0.0, twin[1]], color=FAINT, lw=0.8)
    axes.hlines(-0.05, z[0], twin[0], color=INK, lw=3.0)
    axes.text(twin[0] + 0.03, -0.05, apart, va="center", fontsize=9)
    axes.set(xlim=(-0.08, 0.64), ylim=(-0.12, 1.04), aspect="equal", anchor="NW")
    axes.set_title("Two items nearly tie")
    axes.axis("off")


def _draw_shares(axes: Axes, problem: Problem, hardness: Hardness, weights: Array, colour: str, text: str) -> None:
    """Weights of all probes as bars, with the numbers of the two probes that the nearly tied items are made of."""
    left = np.arange(weights.size) - 0.36
    axes.bar(left, weights, width=0.72, align="edge", color=colour)
    named = sorted(_plane(problem, hardness)[:2])
    for i in named:
        axes.annotate(f"{weights[i]:.1%}", (left[i], weights[i]), (0, 3), textcoords="offset points", fontsize=9)
    axes.text(left[0], 0.62, text, color=colour, va="center", linespacing=1.4)
    axes.set_xticks([*named, weights.size - 1], [problem.probe_names[i] for i in (*named, weights.size - 1)])
    axes.set_ylim(0, 1.06)
    axes.spines["left"].set_visible(False)
    axes.yaxis.set_visible(False)
    axes.tick_params(axis="x", length=0)


def _draw_needs(axes: Axes, problem: Problem, hardness: Hardness, needs: tuple[Array, Array]) -> None:
    """One row per comparison with the best item, from what it needs under one design to the other."""
    order = np.argsort(hardness.gaps, kind="stable")[1:]
    rows = np.arange(order.size)
    static, oracle = needs[0][order], needs[1][order]
    axes.hlines(rows, static, oracle, color="#d0d0d0", lw=2, zorder=1)
    for values, colour in ((static, STATIC), (oracle, ORACLE)):
        axes.scatter(values, rows, s=34, color=colour, zorder=2)
        place: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "color": colour, "fontsize": 9}
        axes.annotate(f"{values[0]:,.0f}", (values[0], 0), (0, 8), **place)
    best = problem.item_names[hardness.best]
    gain = (
        f"The {order.size - 1} others differ from {best} by {hardness.gaps[order[1]]:.2g}\n"
        "or more. The static design knows\nthem far better than it must; the\noracle spreads the effort so that\n"
        f"none lags behind, and needs\n{static.max() / oracle.max():.0f} times fewer measurements."
    )
    axes.text(1.45 * oracle.max(), 0.5 * order.size, gain, va="center", fontsize=9.5, linespacing=1.5)
    axes.set_yticks(rows, [problem.item_names[i] for i in order], fontsize=8.5)
    axes.set_ylim(order.size - 0.5, -1.2)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("measurements needed, in proportion: variance / gap²")
    axes.set_title(f"What each comparison with {best} needs")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _plane(problem: Problem, hardness: Hardness) -> tuple[int, int, int]:
    """The probe that is the best item, the one along which its nearest rival differs from it, and that rival."""
    rival = int(np.argsort(hardness.gaps, kind="stable")[1])
    up = int(np.argmax(problem.probes @ problem.items[hardness.best]))
    across = int(np.argmax(problem.probes @ (problem.items[rival] - problem.items[hardness.best])))
    return up, across, rival


def style() -> AbstractContextManager[object]:
    """The common style, for drawing and for writing: ticks are made only when a figure is written."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("pictures need matplotlib; install probewise[plot], or leave the picture out.") from None
    return matplotlib.rc_context(_STYLE)


def blank(width: float, height: float) -> Figure:
    """An empty figure, laid out without overlaps."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08, wspace=0.03))


def _short(name: str) -> str:
    """A name of at most 28 letters; names that are long often differ at their end."""
    return name if len(name) <= 28 else f"{name[:13]}…{name[-14:]}"
