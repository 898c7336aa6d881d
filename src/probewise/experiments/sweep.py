"""Sweeps: several algorithms on one family of instances of growing size, as a table and as a picture."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from probewise.algorithms import Algorithm
from probewise.coordinates import Array
from probewise.goals import BestItem
from probewise.instances import Instance
from probewise.problem import Problem
from probewise.simulation import Runs, Trial, repeat
from probewise.simulation.engine import versions
from probewise.simulation.journal import described
from probewise.theory import hardness

Make = Callable[[Problem, Array], Algorithm[Any]]
"""An algorithm for an instance; oracles, and methods that must be told a bound on θ, look at the truth."""
Tick = Callable[[str, int, int], None]
"""(what is running, runs finished, runs in all)."""


@dataclass(frozen=True)
class Curve:
    """One algorithm over some sizes."""

    label: str
    """Label in the table and the picture."""
    make: Make
    """The algorithm for an instance."""
    sizes: tuple[int, ...] | None = None
    """Sizes at which it is affordable; None means all."""
    runs: int | None = None
    """Number of runs, if fewer than usual are affordable."""


@dataclass(frozen=True)
class Sweep:
    """The settings of a figure."""

    name: str
    """Name of the figure and of its files."""
    title: str
    """Title of the picture, one line."""
    axis: str
    """What the size means, on the axis."""
    instance: Callable[[int, np.random.SeedSequence], Instance]
    """(size, seed) -> problem and θ."""
    sizes: tuple[int, ...]
    """From small to large."""
    curves: tuple[Curve, ...]
    """The algorithms."""
    random: bool = False
    """Whether every run draws an instance of its own, the same one for all algorithms."""
    runs: int = 20
    """Runs of each algorithm at each size."""
    delta: float = 0.05
    """Probability of error allowed."""
    seed: int = 0
    """Seed of all streams."""
    log_axis: bool = False
    """Whether sizes are drawn on a logarithmic axis; measurements always are."""

    def instances(self, size: int) -> Callable[[int], Instance]:
        """Run -> instance."""
        if self.random:
            return lambda run: self.instance(size, np.random.SeedSequence(self.seed, spawn_key=(run,)))
        only = self.instance(size, np.random.SeedSequence(self.seed))
        return lambda run: only

    def smaller(self, sizes: tuple[int, ...], runs: int, *, without: tuple[str, ...] = ()) -> Sweep:
        """The same with fewer sizes, runs or algorithms."""
        kept = tuple(curve for curve in self.curves if curve.label not in without)
        return replace(self, sizes=sizes, runs=runs, curves=kept)


class Average(NamedTuple):
    """One algorithm at one size."""

    size: int
    algorithm: str
    runs: int
    measurements: float
    """Mean over the runs."""
    standard_error: float
    errors: int
    """Runs with a wrong answer."""
    rounds: float
    """Mean number of rounds."""
    lower_bound: float
    """2ψ*·log(1/2.4δ) with certified ψ*, mean over the instances of all runs."""


class Swept(NamedTuple):
    """What a sweep has found."""

    rows: list[Average]
    """By size, then in the order of the curves."""
    runs: dict[tuple[int, str], Runs]
    """(size, algorithm) -> every run."""


def table(sweep: Sweep, *, journal: Path | None = None, workers: int = 1, progress: Tick | None = None) -> Swept:
    """Every algorithm at every size; finished runs are kept in the folder ``journal``."""
    rows: list[Average] = []
    found: dict[tuple[int, str], Runs] = {}
    for size in sweep.sizes:
        chosen = [curve for curve in sweep.curves if curve.sizes is None or size in curve.sizes]
        bound = _lower_bound(sweep, size)
        for curve in chosen:
            runs = _runs(sweep, curve, size, journal, workers, progress)
            mean, error = runs.mean("measurements"), runs.standard_error("measurements")
            wrong = runs.error_rate().errors
            rows.append(Average(size, curve.label, len(runs), mean, error, wrong, runs.mean("rounds"), bound))
            found[size, curve.label] = runs
    return Swept(rows, found)


def _runs(sweep: Sweep, curve: Curve, size: int, journal: Path | None, workers: int, progress: Tick | None) -> Runs:
    instance, make = sweep.instances(size), curve.make
    what = f"{sweep.name}, {curve.label}, {size}"
    name = re.sub(r"[^a-z0-9]+", "-", what.casefold()).strip("-")
    about = {"figure": sweep.name, "size": size, "label": curve.label, "algorithm": described(make(*instance(0)))}

    def draw(run: int) -> Trial:
        problem, theta = instance(run)
        return Trial(problem, theta, make(problem, theta))

    return repeat(
        draw,
        BestItem(sweep.delta),
        about=about,
        runs=min(sweep.runs, curve.runs or sweep.runs),
        seed=sweep.seed,
        workers=workers,
        journal=None if journal is None else journal / f"{name}.jsonl",
        progress=None if progress is None else lambda done, total: progress(what, done, total),
    )


def _lower_bound(sweep: Sweep, size: int) -> float:
    instance = sweep.instances(size)
    count = sweep.runs if sweep.random else 1
    return float(np.mean([hardness(*instance(run), tol=1e-3).lower_bound(sweep.delta) for run in range(count)]))


def write(sweep: Sweep, outcome: Swept, folder: Path) -> list[Path]:
    """The table, every run and the settings, beside each other; the same sweep gives the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    summary, each, settings = (folder / f"{sweep.name}{end}" for end in (".csv", "_runs.csv", ".json"))
    with summary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Average._fields)
        writer.writerows([_digits(cell) for cell in row] for row in outcome.rows)
    with each.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["size", "algorithm", "run", "item", "correct", "measurements", "rounds"])
        for (size, label), runs in outcome.runs.items():
            columns = [runs[name].tolist() for name in ("run", "item", "correct", "measurements", "rounds")]
            writer.writerows([size, label, *cells] for cells in zip(*columns, strict=True))
    about = {
        "figure": sweep.name,
        "title": sweep.title,
        "delta": sweep.delta,
        "seed": sweep.seed,
        "versions": versions(),
        "cells": [runs.provenance["algorithm"] | {"size": s, "label": a} for (s, a), runs in outcome.runs.items()],
    }
    settings.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return [summary, each, settings]


def _digits(cell: Any) -> Any:
    return ("" if math.isnan(cell) else float(f"{cell:.6g}")) if isinstance(cell, float) else cell
