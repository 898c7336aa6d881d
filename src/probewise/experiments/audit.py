"""The audit: how often each method errs on instances chosen to hurt it, against the δ that it promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from probewise.experiments import methods
from probewise.experiments.sweep import Make
from probewise.goals import BestItem
from probewise.instances import Instance, many_arms
from probewise.outcomes import Gaussian
from probewise.problem import Problem
from probewise.simulation import Rate, exact_rate, simulate
from probewise.simulation.environment import Noise

DELTAS = (0.3, 0.1, 0.05, 0.01)


class Trap(NamedTuple):
    """An instance and its noise, with what it is meant to catch."""

    draw: Callable[[], Instance]
    noise: Noise
    why: str


def _two_items() -> Instance:
    return Problem(np.eye(2)), np.array([0.2, -0.2])


def _hairline() -> Instance:
    return Problem(np.eye(2)), np.array([0.015, -0.015])


def _near_tie() -> Instance:
    return Problem(np.eye(3)), np.array([1.0, 0.8, 0.0])


def _few_probes() -> Instance:
    angles = np.concatenate([[0.0], np.random.default_rng(1).uniform(0.7, np.pi, 199)])
    return Problem(np.eye(2), np.column_stack([np.cos(angles), np.sin(angles)])), np.array([1.0, 0.0])


def _many_probes() -> Instance:
    probes = np.random.default_rng(2).standard_normal((300, 3))
    return Problem(probes / np.linalg.norm(probes, axis=1, keepdims=True), np.eye(3)), np.array([0.9, 0.5, 0.0])


def _coins() -> Instance:
    return Problem(np.eye(3), sigma=0.5), np.array([0.6, 0.4, 0.3])


TRAPS: dict[str, Trap] = {
    "two items": Trap(_two_items, "gaussian", "one comparison: nothing is lost to a union bound"),
    "near tie": Trap(_near_tie, "gaussian", "two of three items nearly tied"),
    "near duplicates": Trap(lambda: many_arms(40, 3, spread=0.02), "gaussian", "38 items that hardly differ"),
    "few probes": Trap(_few_probes, "gaussian", "2 probes, 200 items: |X| in a union bound would be too few"),
    "many probes": Trap(_many_probes, "gaussian", "300 probes, 3 items"),
    "signs": Trap(_near_tie, "rademacher", "outcomes ±σ, where the sub-Gaussian bound is attained"),
    "coins": Trap(_coins, "bernoulli", "outcomes 0 and 1 with σ = ½"),
    "hairline": Trap(_hairline, "gaussian", "a gap of 0.03, which shows after dozens of checks at which it does not"),
}
"""Name -> instance."""


class Cell(NamedTuple):
    """One method at one δ on one instance."""

    instance: str
    rate: Rate
    measurements: float
    """Mean over all runs."""


class Finding(NamedTuple):
    """One method at one δ, on some instances with as many runs each."""

    method: str
    delta: float
    cells: tuple[Cell, ...]

    @property
    def rate(self) -> Rate:
        """Over all instances; the exact interval holds for a mean of different rates too (Hoeffding 1956)."""
        return exact_rate(sum(cell.rate.errors for cell in self.cells), sum(cell.rate.runs for cell in self.cells))

    @property
    def worst(self) -> Cell:
        """The instance with most errors."""
        return max(self.cells, key=lambda cell: cell.rate.errors)

    @property
    def measurements(self) -> float:
        """Mean over all runs."""
        return float(np.mean([cell.measurements for cell in self.cells]))

    @property
    def passed(self) -> bool:
        """Whether the upper end of the interval is at most δ."""
        return self.rate.high <= self.delta

    @property
    def parts(self) -> tuple[Finding, ...]:
        """Each instance by itself."""
        return tuple(Finding(self.method, self.delta, (cell,)) for cell in self.cells)


def audit(
    chosen: Iterable[str] = tuple(methods.PROVEN),
    deltas: Iterable[float] = DELTAS,
    *,
    runs: int = 1000,
    seed: int = 0,
    workers: int = 1,
    journal: Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Iterator[Finding]:
    """Every method at every δ, ``runs`` times on each of the instances TRAPS that it is meant for."""
    for name in chosen:
        for delta in deltas:
            yield _finding(name, methods.PROVEN[name], delta, runs, seed, workers, journal, progress)


def _finding(
    name: str,
    make: Make,
    delta: float,
    runs: int,
    seed: int,
    workers: int,
    journal: Path | None,
    progress: Callable[[str, int, int], None] | None,
) -> Finding:
    cells = []
    for number, (trap, (draw, noise, _)) in enumerate(TRAPS.items()):
        problem, theta = draw()
        if name in methods.UNKNOWN_SIGMA:
            if noise != "gaussian":
                continue
            problem = replace(problem, outcome=Gaussian(problem.sigma, unknown=True))
        what = f"{name}, δ = {delta:g}, {trap}"
        found = simulate(
            problem,
            theta,
            make(problem, theta),
            BestItem(delta),
            runs=runs,
            seed=seed + number,
            workers=workers,
            noise=noise,
            journal=None if journal is None else journal / f"{name}-{delta:g}-{trap}.jsonl".replace(" ", "-"),
            progress=None if progress is None else lambda done, total, what=what: progress(what, done, total),  # type: ignore[misc]
        )
        cells.append(Cell(trap, found.error_rate(), found.mean("measurements")))
    return Finding(name, delta, tuple(cells))
