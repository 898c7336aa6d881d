"""simulate: many runs of an algorithm against a known θ, the same whatever the number of workers."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.algorithms import Algorithm
from probewise.algorithms.glm.glgape import GLGapE
from probewise.algorithms.lingape import LinGapE
from probewise.algorithms.sequential import Sequential
from probewise.coordinates import Array
from probewise.design import digest, remembering
from probewise.errors import InvalidProblem, MissingExtra, WorkerLost
from probewise.goals import BestItem, Goal, usual_goal
from probewise.measurements import Measurements
from probewise.problem import Problem
from probewise.result import Result
from probewise.run import Observe, loop
from probewise.simulation import by_likelihood, compiled, one_by_one
from probewise.simulation.environment import LinearEnvironment, Noise
from probewise.simulation.journal import Journal, Row, described, file_stem
from probewise.simulation.table import SHARE, Runs
from probewise.threads import one

Backend = Literal["loky", "dask"]
BACKENDS: dict[str, str] = {"loky": "parallel", "dask": "dask"}
"""Name of a joblib back end -> extra that installs it."""
_ALGORITHM, _OUTCOMES = 0, 1
_CHUNKS_PER_WORKER = 8


class Trial(NamedTuple):
    """What one run is about."""

    problem: Problem
    """Probes and items."""
    theta: Array
    """(d,): the truth."""
    algorithm: Algorithm[Any]
    """Which may know part of the truth, if it is an oracle."""


def simulate(
    problem: Problem,
    theta: ArrayLike,
    algorithm: Algorithm[Any] | Mapping[str, Algorithm[Any]],
    goal: Goal | None = None,
    *,
    runs: int,
    seed: int = 0,
    workers: int = 1,
    noise: Noise | None = None,
    progress: Callable[[int, int], None] | None = None,
    backend: Backend | None = None,
    journal: str | Path | None = None,
    budget: int | None = None,
) -> Runs:
    """Runs 0 … runs-1 of an algorithm on outcomes x'θ + noise, as a table with one row each.

    Run r takes its numbers from streams keyed by (seed, r, round), so that 1 and many ``workers`` give the same rows.
    ``progress(finished, runs)`` is called now and then. ``journal`` names a file in which finished runs are kept: the
    same call goes on where an interruption, or a smaller number of runs, ended. ``backend`` is how joblib starts
    workers: "loky" on this machine, "dask" on a cluster that has been connected to. A run that ``budget``
    measurements end has no answer: its best guess is not in the table, where item is -1 and correct is False. Outcomes
    follow the law that the problem states, or ``noise``.

    A mapping, name -> algorithm, gives one table of all with a column "algorithm": run r of each draws from the same
    streams, ``progress`` counts the runs of all, and ``journal`` is a folder with one file for each.
    """
    truth = LinearEnvironment(problem, np.asarray(theta, dtype=np.float64), noise).theta
    goal = goal or usual_goal(problem)
    shared = {"problem": _fingerprint(problem), "theta": described(truth)}

    def simulated(each: Algorithm[Any], path: str | Path | None, heard: Callable[[int, int], None] | None) -> Runs:
        trial, about = Trial(problem, truth, each), shared | {"algorithm": described(each)}
        return repeat(
            lambda run: trial, goal, about=about, runs=runs, seed=seed, workers=workers, noise=noise,
            progress=heard, backend=backend, journal=path, budget=budget,
        )  # fmt: skip

    if not isinstance(algorithm, Mapping):
        return simulated(algorithm, journal, progress)
    if not algorithm:
        raise InvalidProblem("algorithm must be an algorithm or a mapping that names some, got an empty mapping.")
    tables: dict[str, Runs] = {}
    for place, (name, each) in enumerate(algorithm.items()):
        path = None if journal is None else Path(journal) / f"{file_stem(name)}.jsonl"
        tables[name] = simulated(each, path, _counted(progress, place * runs, len(algorithm) * runs))
    return Runs.together(tables)


def _counted(progress: Callable[[int, int], None] | None, before: int, total: int) -> Callable[[int, int], None] | None:
    """Progress of one algorithm as that of all."""
    return None if progress is None else lambda finished, _: progress(before + finished, total)


def _fingerprint(problem: Problem) -> str:
    """Digest of all of a problem that a run depends on."""
    more = [part for part in (problem.slack, problem.blocks or None) if part is not None]
    return digest(problem.probes, problem.items, problem.outcome, problem.cost, problem.stock, *more).hex()


def repeat(
    draw: Callable[[int], Trial],
    goal: Goal | None = None,
    *,
    about: dict[str, Any],
    runs: int,
    seed: int = 0,
    workers: int = 1,
    noise: Noise | None = None,
    progress: Callable[[int, int], None] | None = None,
    backend: Backend | None = None,
    journal: str | Path | None = None,
    budget: int | None = None,
) -> Runs:
    """As ``simulate``, run r being about ``draw(r)``; ``about`` is what the provenance says of it."""
    runs, seed, workers = _whole("runs", runs, 1), _whole("seed", seed, 0), _whole("workers", workers, 1)
    if backend is not None and backend not in BACKENDS:
        raise InvalidProblem(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}.")
    goal = goal or BestItem()
    provenance = about | {
        "goal": described(goal),
        "noise": noise,
        "seed": seed,
        "budget": budget,
        "versions": versions(),
    }
    book = Journal(None if journal is None else Path(journal), provenance)
    rows = {row["run"]: row for row in book.finished() if row["run"] < runs}
    left = [run for run in range(runs) if run not in rows]

    def work(chunk: list[int]) -> list[Row]:
        return [one_run(draw(run), goal, noise, seed, run, budget) for run in chunk]

    try:
        for finished in _spread(work, left, workers, backend):
            book.append(finished)
            rows |= {row["run"]: row for row in finished}
            if progress is not None:
                progress(len(rows), runs)
    except BrokenExecutor:
        kept = "the journal has these, and the same call goes on after them" if journal else "a journal would keep them"
        raise WorkerLost(
            f"a worker was ended from outside, perhaps for lack of memory, when {len(rows)} of {runs} runs were "
            f"finished; {kept}; use fewer workers if memory is short."
        ) from None
    return Runs.of(rows.values(), provenance | {"runs": runs})


def one_run(trial: Trial, goal: Goal, noise: Noise | None, seed: int, run: int, budget: int | None = None) -> Row:
    """The row of one run."""
    problem, theta, algorithm = trial
    environment = LinearEnvironment(problem, theta, noise)

    def stream(step: int, user: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run, step, user)))

    began = time.perf_counter()
    result = _identified(environment, goal, algorithm, stream, budget)
    seconds = time.perf_counter() - began
    answer = result.items if result.status == "identified" else None  # a guess at the end of a budget is none
    return {
        "run": run,
        "seed": seed,
        "item": answer[0] if answer else -1,
        "correct": answer is not None and goal.right(problem, problem.items @ theta, answer),
        "measurements": result.measurements,
        "cost": result.cost,
        "rounds": result.rounds,
        "seconds": seconds,
        **_shared(problem, goal, problem.items @ theta, result),
    }


def _shared(problem: Problem, goal: Goal, values: Array, result: Result) -> dict[str, float]:
    """Where the goal promises that a share of a list is wrong at most: that share, whatever ended the run."""
    if goal.promise == "all":
        return {}
    return {SHARE: goal.wrong_share(problem, values, result.items or ())}


def _identified(
    environment: LinearEnvironment,
    goal: Goal,
    algorithm: Algorithm[Any],
    stream: Callable[[int, int], np.random.Generator],
    budget: int | None,
) -> Result:
    """Rounds are drawn as a whole, except for methods that measure one by one, by numbers from one stream in turn."""

    def drawn(counts: NDArray[np.int64], step: int) -> Measurements:
        return environment.draw(counts, stream(step, _OUTCOMES))

    observe: Observe = drawn
    if isinstance(algorithm, LinGapE) and environment.additive is not None:
        numbers = stream(0, _OUTCOMES)
        if compiled.supports(algorithm):
            return compiled.run(environment, goal, algorithm, numbers, budget=budget)
        observe = compiled.in_order(environment, numbers)  # the same rows without numba
    if isinstance(algorithm, Sequential) and environment.additive is not None:
        numbers = stream(0, _OUTCOMES)
        if one_by_one.supports(algorithm):
            return one_by_one.run(environment, goal, algorithm, numbers, budget=budget)
        observe = compiled.in_order(environment, numbers)
    if isinstance(algorithm, GLGapE) and by_likelihood.meant(environment, algorithm):
        numbers = stream(0, _OUTCOMES)
        if by_likelihood.supports(algorithm):
            return by_likelihood.run(environment, goal, algorithm, numbers, budget=budget)
        observe = by_likelihood.in_turn(environment, numbers)
    return loop(
        environment.problem,
        goal,
        algorithm,
        observe=observe,
        stream=lambda step: stream(step, _ALGORITHM),
        budget=budget,
        keep=False,
    )


def versions() -> dict[str, str]:
    """What the rows may depend on besides the settings."""
    return {"python": platform.python_version()} | {
        name: version(name) for name in ("probewise", "numpy", "scipy", "clarabel")
    }


def _spread(
    work: Callable[[list[int]], list[Row]], left: list[int], workers: int, backend: Backend | None
) -> Iterator[list[Row]]:
    """The rows of all runs, chunk by chunk, in the order in which they are finished."""
    if workers == 1 and backend is None:
        with one, remembering():
            for run in left:
                yield work([run])
        return
    parallel, delayed = started(backend or "loky", workers)
    size = max(1, -(-len(left) // (_CHUNKS_PER_WORKER * workers)))
    chunks = [left[low : low + size] for low in range(0, len(left), size)]
    yield from parallel(delayed(_alone)(work, chunk) for chunk in chunks)


def _alone(work: Callable[[list[int]], list[Row]], chunk: list[int]) -> list[Row]:
    """A chunk in a process of its own."""
    with one, remembering(keep=True):
        return work(chunk)


def started(backend: Backend, workers: int) -> tuple[Callable[..., Iterable[Any]], Callable[..., Any]]:
    """How joblib spreads work over so many workers: what runs calls, in no order, and what makes a call of one."""
    try:
        import joblib

        if backend == "dask":
            import distributed  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            f"workers of the back end '{backend}' need {error.name}, which is not installed; "
            f"install probewise[{BACKENDS[backend]}] or use 1 worker."
        ) from None
    with joblib.parallel_config(backend=backend, n_jobs=workers):
        return joblib.Parallel(n_jobs=workers, return_as="generator_unordered"), joblib.delayed


def _whole(name: str, value: int, least: int) -> int:
    if not isinstance(value, int | np.integer) or not least <= value < 2**63:
        raise InvalidProblem(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)
