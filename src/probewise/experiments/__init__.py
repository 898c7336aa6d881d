"""The experiments of the paper, one file per figure: settings, a small subset for tests, table and plot."""

from __future__ import annotations

import math
from pathlib import Path

from probewise import figures
from probewise.errors import InvalidProblem
from probewise.experiments import fig1, fig2, fig3, fig4, picture, sweep
from probewise.experiments.sweep import Average, Sweep, Swept, Tick

FIGURES = {"fig1": fig1, "fig2": fig2, "fig3": fig3, "fig4": fig4}
"""Name -> module."""
SCALES = ("quick", "paper")


def settings(figure: str, scale: str) -> Sweep:
    """The sweep of a figure: "paper" as published, "quick" in a minute."""
    if figure not in FIGURES or scale not in SCALES:
        raise InvalidProblem(
            f"figures are {', '.join(FIGURES)} at scale {' or '.join(SCALES)}, got {figure!r} at {scale!r}."
        )
    chosen: Sweep = FIGURES[figure].SETTINGS if scale == "paper" else FIGURES[figure].QUICK
    return chosen


def reproduce(
    chosen: Sweep, folder: Path, *, workers: int = 1, progress: Tick | None = None
) -> tuple[Swept, list[Path]]:
    """Run a sweep, or go on with it, and write its table and its picture beside each other."""
    outcome = sweep.table(chosen, journal=folder / "journal", workers=workers, progress=progress)
    paths = sweep.write(chosen, outcome, folder)
    pictures = [folder / f"{chosen.name}{ending}" for ending in (".png", ".svg")]
    figures.save(picture.plot(chosen, outcome.rows), *pictures)
    return outcome, paths + pictures


def summary(rows: list[Average]) -> tuple[list[str], list[list[str]]]:
    """Header and cells of a table for reading: an algorithm per row, a size per column, mean ± standard error."""
    sizes = sorted({row.size for row in rows})
    cells = {(row.algorithm, row.size): _cell(row) for row in rows}
    names = list(dict.fromkeys(row.algorithm for row in rows))
    bounds = {row.size: _digits(row.lower_bound, 3) for row in rows}
    body = [[name, *(cells.get((name, size), "") for size in sizes)] for name in names]
    return ["", *(f"{size:,}" for size in sizes)], [*body, [picture.LOWER_BOUND, *(bounds[size] for size in sizes)]]


def _cell(row: Average) -> str:
    wrong = f", {row.errors} wrong" if row.errors else ""
    return f"{_digits(row.measurements, 3)} ± {_digits(row.standard_error, 2)}{wrong}"


def _digits(value: float, count: int) -> str:
    """A few digits, thousands apart up to ten million."""
    rounded = float(f"{value:.{count}g}") if math.isfinite(value) else value
    return f"{rounded:,.0f}" if rounded < 1e7 else f"{rounded:.{count - 1}e}".replace("e+", "e")
