"""The arena: every method on every instance that it can do, in multiples of the certified limit, with its errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from probewise.algorithms import ALGORITHMS, EXTENSIONS, Algorithm, Rage, algorithm_named
from probewise.coordinates import Array
from probewise.errors import DataUnavailable, InvalidAlgorithm, InvalidProblem, ProbewiseError
from probewise.experiments.audit import TRAPS
from probewise.experiments.sweep import Make, Tick
from probewise.extensions import extensions
from probewise.goals import BestItem
from probewise.instances import Instance, benchmark, many_arms, sphere, transductive
from probewise.problem import Problem
from probewise.simulation import Runs, exact_rate, simulate
from probewise.simulation.environment import Noise
from probewise.simulation.journal import file_stem
from probewise.testing.algorithms import informed
from probewise.theory import hardness

MOST = 1_000
"""Measurements after which a run is given up, in multiples of the limit."""
_LEAST = 3
"""Runs of a method that takes longer than a cell may take."""
_PILOT = 300
"""Measurements after which a method that measures one by one is known to be fast enough or not."""
_USUAL = 5.0
"""Measurements that such a method needs, in multiples of the limit, about."""


class Ground(NamedTuple):
    """An instance with its noise and where it comes from."""

    draw: Callable[[], Instance]
    noise: Noise | None
    source: str
    """The paper, or "hostile", or "recorded"."""
    why: str
    """What it is, in a few words."""


def _recorded() -> Instance:
    """Suzuki couplings: the quadratic model that fits the recorded yields best, with the scatter that it leaves."""
    from probewise import data

    table = data.suzuki()
    features, outcomes = [name for name in table.header if name != "yield"], table.numbers("yield")
    plain = {name: table.numbers(name) for name in features}
    problem = Problem.from_tables(plain, model="quadratic")
    theta = np.linalg.lstsq(problem.probes, outcomes, rcond=None)[0]
    left = outcomes - problem.probes @ theta
    sigma = float(np.sqrt(left @ left / (outcomes.size - np.linalg.matrix_rank(problem.probes))))
    return Problem(problem.probes, problem.items, sigma=sigma), np.asarray(theta, dtype=np.float64)


GROUNDS: dict[str, Ground] = {
    "benchmark(5)": Ground(partial(benchmark, 5), None, "paper", "unit vectors and one close to the best"),
    "benchmark(20)": Ground(partial(benchmark, 20), None, "paper", "the same in 20 dimensions"),
    "many arms(100)": Ground(partial(many_arms, 100, 0), None, "paper", "100 items near two directions of a plane"),
    "sphere(50, 5)": Ground(partial(sphere, 50, 5), None, "paper", "50 random unit vectors, two of them close"),
    "transductive(20)": Ground(partial(transductive, 20), None, "paper", "items that cannot be measured themselves"),
    "soare(6)": Ground(partial(benchmark, 6, 0.1), None, "later", "the benchmark with a wider angle"),
    "near tie": Ground(TRAPS["near tie"].draw, TRAPS["near tie"].noise, "hostile", TRAPS["near tie"].why),
    "few probes": Ground(TRAPS["few probes"].draw, TRAPS["few probes"].noise, "hostile", TRAPS["few probes"].why),
    "many probes": Ground(TRAPS["many probes"].draw, TRAPS["many probes"].noise, "hostile", TRAPS["many probes"].why),
    "coins": Ground(TRAPS["coins"].draw, TRAPS["coins"].noise, "hostile", TRAPS["coins"].why),
    "suzuki": Ground(_recorded, None, "recorded", "247 recorded yields; outcomes drawn about the quadratic fit"),
}
"""Name -> instance."""


@dataclass(frozen=True)
class Scale:
    """How much is run."""

    deltas: tuple[float, ...]
    """Error rates that are promised."""
    runs: int
    """Runs of a cell: one method on one instance at one δ."""
    seconds: float
    """What a cell may take, about; slow methods get fewer runs, and the page says how many."""


SCALES: dict[str, Scale] = {"quick": Scale((0.05,), 20, 5.0), "full": Scale((0.2, 0.05, 0.01), 1_000, 600.0)}
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
    """Why the method cannot do it; empty if it can."""

    @property
    def ratio(self) -> float:
        """Measurements in multiples of the limit."""
        return self.measurements / self.limit


def contenders() -> dict[str, Make]:
    """Every algorithm of the package and of others installed here, with its defaults; what must be known is told.

    Methods that spend a fixed budget make no promise about δ, and are compared with each other: docs/field.md.
    """
    own: dict[str, Make] = {name: partial(informed, name) for name, kind in ALGORITHMS.items() if not _spends(kind)}
    own |= {name: partial(_installed, name) for name in extensions(EXTENSIONS) if name not in own}
    own["rage-paper"] = lambda problem, theta: Rage("paper")
    return own


def _spends(kind: type[Algorithm[Any]]) -> bool:
    return "budget" in {own.name for own in fields(kind)}  # type: ignore[arg-type]


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
    """Every cell, as it is finished; with a ``journal``, a folder, finished runs are kept and not run again."""
    known = contenders()
    chosen = {name: known[name] for name in methods}
    for instance in instances:
        ground = GROUNDS[instance]
        try:
            problem, theta = ground.draw()
        except DataUnavailable as error:
            yield from (_refused(method, instance, delta, str(error)) for delta in scale.deltas for method in chosen)
            continue
        limits = hardness(problem, theta, tol=1e-3)
        for delta in scale.deltas:
            for method, make in chosen.items():
                if progress is not None:
                    progress(f"{instance}, δ = {delta:g}: {method}", 0, scale.runs)
                cell = _Fight(method, instance, delta, limits.lower_bound(delta), scale, seed, workers, journal)
                yield cell.fought(problem, theta, make, ground.noise)


class _Fight(NamedTuple):
    """What one cell is about."""

    method: str
    instance: str
    delta: float
    limit: float
    scale: Scale
    seed: int
    workers: int
    journal: Path | None

    def fought(self, problem: Problem, theta: Array, make: Make, noise: Noise | None) -> Cell:
        """The faster of two runs, as one may compile, tells how many the time allows; who cannot do it says why."""
        try:
            algorithm = make(problem, theta)
            self._check_pace(problem, theta, algorithm, noise)
            found = self._runs(problem, theta, algorithm, noise, min(2, self.scale.runs))
            slow = max(float(found["seconds"].min()), 1e-9)
            runs = int(np.clip(self.workers * self.scale.seconds / slow, min(_LEAST, self.scale.runs), self.scale.runs))
            found = self._runs(problem, theta, algorithm, noise, runs)
        except ProbewiseError as error:
            return _refused(self.method, self.instance, self.delta, str(error), self.limit)
        given_up = found["item"] < 0
        wrong = int(np.count_nonzero(~found["correct"] & ~given_up))
        return Cell(
            self.method, self.instance, self.delta, algorithm.proven, self.limit, runs, wrong,
            int(np.count_nonzero(given_up)), exact_rate(wrong, runs).high, found.mean("measurements"),
            found.standard_error("measurements"), float(np.median(found["seconds"])), "",
        )  # fmt: skip

    def _check_pace(self, problem: Problem, theta: Array, algorithm: Algorithm[Any], noise: Noise | None) -> None:
        """Refuse a method that measures one by one and would take far longer than a cell may."""
        few = min(_PILOT, math.ceil(self.limit))
        pilot = simulate(
            problem, theta, algorithm, BestItem(self.delta), runs=2, seed=self.seed, noise=noise, budget=few
        )
        slow = float((pilot["seconds"] / np.maximum(pilot["measurements"], 1)).min()) * _USUAL * self.limit
        if (pilot["rounds"] > 0.5 * few).any() and slow > 2 * self.scale.seconds * self.workers:
            raise InvalidAlgorithm(f"left out at this scale: a run would take about {slow:.0f} s.")

    def _runs(self, problem: Problem, theta: Array, algorithm: Algorithm[Any], noise: Noise | None, runs: int) -> Runs:
        name = file_stem(f"{self.instance} {self.delta:g} {self.method}")
        path = None if self.journal is None else self.journal / f"{name}.jsonl"
        return simulate(
            problem, theta, algorithm, BestItem(self.delta), runs=runs, seed=self.seed, workers=self.workers,
            noise=noise, journal=path, budget=math.ceil(MOST * self.limit),
        )  # fmt: skip


def _refused(method: str, instance: str, delta: float, why: str, limit: float = math.nan) -> Cell:
    return Cell(method, instance, delta, False, limit, 0, 0, 0, 1.0, math.nan, math.nan, math.nan, why)


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
