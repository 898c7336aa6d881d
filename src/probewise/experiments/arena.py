"""The arena: every method on every instance that it can do, in multiples of the certified limit, with its errors."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from probewise.algorithms import (
    ALGORITHMS,
    EXTENSIONS,
    GLM_ALGORITHMS,
    SET_ALGORITHMS,
    Algorithm,
    Rage,
    algorithm_named,
)
from probewise.algorithms.glm import RageGLM
from probewise.algorithms.sets import SageSets
from probewise.coordinates import Array
from probewise.errors import DataUnavailable, InvalidAlgorithm, InvalidProblem, ProbewiseError
from probewise.experiments.grounds import GROUNDS, Ground, Kind
from probewise.experiments.limits import limit
from probewise.experiments.sweep import Make, Tick
from probewise.extensions import extensions
from probewise.problem import Problem
from probewise.simulation import Runs, exact_rate, simulate
from probewise.simulation.engine import started, versions
from probewise.simulation.journal import described, file_stem
from probewise.testing.algorithms import informed

MOST = 1_000
"""Measurements after which a run is given up, in multiples of the limit."""
_LEAST = 3
"""Runs of a cell at least; a run may take its share of what the cell may take."""
_PILOT = 300
"""Measurements of the first run of a cell, whose time is taken; each after it has more, until one ends."""
_LONGER = 4
"""Factor between the lengths of these runs."""
_CELLS = "cells.jsonl"
"""Finished cells, in the folder of the journals."""


@dataclass(frozen=True)
class Scale:
    """How much is run."""

    deltas: tuple[float, ...]
    """Error rates that are promised."""
    runs: int
    """Runs of a cell: one method on one instance at one δ."""
    seconds: float
    """Processor time that a cell may take, about; slow methods get fewer runs, or are cut, and the page says so."""


SCALES: dict[str, Scale] = {"quick": Scale((0.05,), 12, 16.0), "full": Scale((0.2, 0.05, 0.01), 1_000, 600.0)}
"""Name -> scale; quick takes less than half an hour on two cores."""


class Cell(NamedTuple):
    """One method on one instance at one δ."""

    method: str
    instance: str
    delta: float
    proven: bool
    """Whether a proof of the method, with its settings, stands in the docs."""
    limit: float
    """What no method with this δ can expect to do without, by a certificate."""
    runs: int
    wrong: int
    """Runs that ended with a wrong item."""
    unfinished: int
    """Runs that were given up."""
    high: float
    """Upper end of the 99 % interval of the share of wrong answers."""
    measurements: float
    """Mean over all runs; a lower bound of it where some are unfinished."""
    standard_error: float
    seconds: float
    """Median of a run, on a machine that may have been busy."""
    refused: str
    """Why there is no result; empty if there is one."""
    cut: bool = False
    """Whether there is none because the time of the cell was over."""
    spent: float = 0.0
    """Processor seconds of the cell as a whole, compilation included."""

    @property
    def ratio(self) -> float:
        """Measurements in multiples of the limit."""
        return self.measurements / self.limit


def contenders(kind: Kind | None = None) -> dict[str, Make]:
    """Every algorithm of the package and of others installed here, with its defaults; what must be known is told.

    Those for one ``kind`` of instances, or for all. Methods that spend a fixed budget make no promise about δ, and are
    compared with each other: docs/field.md.
    """
    items: dict[str, Make] = {name: partial(informed, name) for name, own in ALGORITHMS.items() if not _spends(own)}
    items |= {name: partial(_installed, name) for name in extensions(EXTENSIONS) if name not in items}
    items["rage-paper"] = lambda problem, theta: Rage("paper")
    sets: dict[str, Make] = {name: partial(_plain, own) for name, own in SET_ALGORITHMS.items()}
    sets["uniform-sets"] = lambda problem, theta: SageSets("uniform")
    links: dict[str, Make] = {name: partial(_plain, own) for name, own in GLM_ALGORITHMS.items()}
    links["rage-glm"] = lambda problem, theta: RageGLM(norm_bound=float(np.linalg.norm(theta)))
    known: dict[Kind, dict[str, Make]] = {"items": items, "sets": sets, "links": links}
    return items | sets | links if kind is None else known[kind]


def _spends(kind: type[Algorithm[Any]]) -> bool:
    return "budget" in {own.name for own in fields(kind)}  # type: ignore[arg-type]


def _plain(kind: type[Algorithm[Any]], problem: Problem, theta: Array) -> Algorithm[Any]:
    return kind()


def _installed(name: str, problem: Problem, theta: Array) -> Algorithm[Any]:
    """An algorithm of another package, with its defaults."""
    kind = algorithm_named(name)
    if kind is None:
        raise InvalidAlgorithm(f"there is no algorithm '{name}'.")
    return kind()


def arena(
    methods: Iterable[str],
    instances: Iterable[str],
    scale: Scale,
    *,
    seed: int = 0,
    workers: int = 1,
    journal: Path | None = None,
    progress: Tick | None = None,
) -> Iterator[Cell]:
    """Every cell, in the order in which they are finished; methods meet the instances of their kind.

    With a ``journal``, a folder, finished cells and runs are kept and not run again; several processes may share it.
    """
    methods, fights = tuple(methods), list[Callable[[], Cell]]()
    for instance in instances:
        ground = GROUNDS[instance]
        chosen = {name: make for name, make in contenders(ground.kind).items() if name in methods}
        try:
            problem, theta = ground.draw()
        except DataUnavailable as error:
            yield from (_refused(method, instance, delta, str(error)) for delta in scale.deltas for method in chosen)
            continue
        nats = limit(problem, theta, ground.goal) if chosen else math.nan
        for delta in scale.deltas:
            least = nats * max(0.0, -math.log(2.4 * delta))
            for method, make in chosen.items():
                fight = _Fight(method, instance, delta, least, scale, seed, journal)
                fights.append(partial(fight.fought, problem, theta, make))
    for done, cell in enumerate(_spread(fights, workers), start=1):
        if progress is not None:
            progress("cells", done, len(fights))
        yield cell


def _spread(fights: list[Callable[[], Cell]], workers: int) -> Iterator[Cell]:
    if workers == 1:
        yield from (fight() for fight in fights)
        return
    parallel, delayed = started("loky", workers)
    yield from parallel(delayed(fight)() for fight in fights)


def ordered(cells: Iterable[Cell], methods: Iterable[str], instances: Iterable[str]) -> list[Cell]:
    """Cells by instance, δ and method, whoever was finished first."""
    by_method, by_instance = list(methods), list(instances)
    return sorted(cells, key=lambda c: (by_instance.index(c.instance), -c.delta, by_method.index(c.method)))


class _Fight(NamedTuple):
    """What one cell is about."""

    method: str
    instance: str
    delta: float
    limit: float
    scale: Scale
    seed: int
    journal: Path | None

    def fought(self, problem: Problem, theta: Array, make: Make) -> Cell:
        """The cell on file, or a new one; who cannot do it says why."""
        try:
            algorithm = make(problem, theta)
        except ProbewiseError as error:
            return _refused(self.method, self.instance, self.delta, str(error), self.limit)
        known = self._known(algorithm)
        if known is not None:
            return known
        began = time.process_time()
        try:
            cell = self._run(problem, theta, algorithm, GROUNDS[self.instance])
        except ProbewiseError as error:
            cell = _refused(self.method, self.instance, self.delta, str(error), self.limit)
        cell = cell._replace(spent=round(time.process_time() - began, 3))
        self._keep(algorithm, cell)
        return cell

    def _run(self, problem: Problem, theta: Array, algorithm: Algorithm[Any], ground: Ground) -> Cell:
        """As many runs as the time allows; if one of them is longer than the time allows, there is no mean."""
        most, slow = self._afforded(problem, theta, algorithm, ground)
        runs = int(np.clip(self.scale.seconds / slow, min(_LEAST, self.scale.runs), self.scale.runs))
        found = self._runs(problem, theta, algorithm, ground, runs, most)
        given_up = (found["item"] < 0) & ~found["correct"]
        unfinished, wrong = int(np.count_nonzero(given_up)), int(np.count_nonzero(~found["correct"] & ~given_up))
        taken = np.where(given_up, most, found["measurements"])  # a run that is given up would have taken more
        cell = Cell(
            self.method, self.instance, self.delta, algorithm.proven, self.limit, runs, wrong, unfinished,
            exact_rate(wrong, runs).high, float(taken.mean()), _standard_error(taken),
            float(np.median(found["seconds"])), "",
        )  # fmt: skip
        if unfinished and most < self._given_up:
            return cell._replace(
                measurements=math.nan, standard_error=math.nan, cut=True,
                refused=f"{unfinished} of {runs} runs had not ended at {most / self.limit:.1f} times the limit.",
            )  # fmt: skip
        return cell

    @property
    def _given_up(self) -> int:
        """Measurements after which no run goes on."""
        return math.ceil(MOST * self.limit)

    def _afforded(self, problem: Problem, theta: Array, algorithm: Algorithm[Any], ground: Ground) -> tuple[int, float]:
        """Measurements that a run may take, and the processor seconds of one: by runs that grow until one ends.

        A method may be compiled in the first of all, which is not timed. What more measurements take follows from the
        last two runs: a plan at the beginning is not made again by each of them.
        """
        allowed, size, before, spent = self.scale.seconds / _LEAST, min(_PILOT, self._given_up), 0, 0.0
        self._once(problem, theta, algorithm, ground, size)
        while True:
            seconds, ended = self._once(problem, theta, algorithm, ground, size)
            if ended or size == self._given_up:
                return self._given_up, max(seconds, 1e-9)
            pace = max(seconds - spent, 1e-9) / (size - before)
            left = int(max(allowed - seconds, 0.0) / pace)
            if left < (_LONGER - 1) * size:
                return min(size + left, self._given_up), max(seconds, allowed)
            size, before, spent = min(_LONGER * size, self._given_up), size, seconds

    def _once(
        self, problem: Problem, theta: Array, algorithm: Algorithm[Any], ground: Ground, most: int
    ) -> tuple[float, bool]:
        """Processor seconds of a run with so many measurements at most, and whether it ended by itself."""
        began = time.process_time()
        goal = ground.goal.at(self.delta)
        run = simulate(problem, theta, algorithm, goal, runs=1, seed=self.seed, noise=ground.noise, budget=most)
        return time.process_time() - began, bool(run["correct"][0] or run["item"][0] >= 0)

    def _runs(
        self, problem: Problem, theta: Array, algorithm: Algorithm[Any], ground: Ground, runs: int, most: int
    ) -> Runs:
        name = f"{self.instance} {self.delta:g} {self.method}" + (f" {most}" if most < self._given_up else "")
        path = None if self.journal is None else self.journal / f"{file_stem(name)}.jsonl"
        return simulate(
            problem, theta, algorithm, ground.goal.at(self.delta), runs=runs, seed=self.seed, noise=ground.noise,
            journal=path, budget=most,
        )  # fmt: skip

    def _about(self, algorithm: Algorithm[Any]) -> dict[str, Any]:
        """What a cell depends on."""
        return {
            "settings": described(algorithm), "runs": self.scale.runs, "seconds": self.scale.seconds,
            "seed": self.seed, "versions": versions(),
        }  # fmt: skip

    def _known(self, algorithm: Algorithm[Any]) -> Cell | None:
        """The cell on file, if it is about the same."""
        path = None if self.journal is None else self.journal / _CELLS
        if path is None or not path.is_file():
            return None
        about = json.loads(json.dumps(self._about(algorithm)))
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            cell = Cell(**row["cell"])
            if cell[:3] == self[:3] and row["about"] == about:
                return cell
        return None

    def _keep(self, algorithm: Algorithm[Any], cell: Cell) -> None:
        if self.journal is not None:
            row = {"about": self._about(algorithm), "cell": cell._asdict()}
            with (self.journal / _CELLS).open(
                "a", encoding="utf-8"
            ) as file:  # one write of one line, whoever else does
                file.write(json.dumps(row) + "\n")


def _standard_error(values: Array) -> float:
    """Of the mean; NaN for a single value."""
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan


def _refused(method: str, instance: str, delta: float, why: str, least: float = math.nan) -> Cell:
    return Cell(method, instance, delta, False, least, 0, 0, 0, 1.0, math.nan, math.nan, math.nan, why)


def geometric_mean(cells: Iterable[Cell]) -> float:
    """Of the multiples of the limit; NaN if there is none."""
    ratios = [cell.ratio for cell in cells if not cell.refused]
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else math.nan


def check_names(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a name that nobody has."""
    listed = list(known)
    for name in given:
        if name not in listed:
            raise InvalidProblem(f"there is no {kind} '{name:.60}'; they are {', '.join(listed)}.")
