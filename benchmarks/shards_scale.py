"""Items past memory: time, memory and passes on a local Dask cluster of two processes, and equal results everywhere.

python benchmarks/shards_scale.py [--items 10000000] [--features 10] [--workers 2] [--same] [--passes]; data go to a
folder that is deleted afterwards. --passes measures one look at a million items by each function. --same compares an
array in one piece and in several, a Dask array and frame with 1 and 4 workers, and Parquet, a worker killed in each
phase. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import probewise as pw

GOAL_SECONDS, GOAL_BYTES = 120.0, 2e9
PROBES, SIGMA, SCALE = 200, 1.0, 0.3


def written(folder: Path, items: int, features: int, seed: int = 0, chunk: int = 1_000_000) -> None:
    """Parquet files of float32, a million rows each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for at, low in enumerate(range(0, items, chunk)):
        rows = np.random.default_rng([seed, at]).standard_normal((min(chunk, items - low), features), dtype=np.float32)
        table = pa.table({f"x{j}": rows[:, j] for j in range(features)})
        pq.write_table(
            table, folder / f"part-{at:05}.parquet", compression="none", row_group_size=250_000, use_dictionary=False
        )


def searched(items: Any, features: int, progress: Any = None, seed: int = 0) -> pw.Result:
    rng = np.random.default_rng([seed, 7])
    probes, theta = rng.standard_normal((PROBES, features)), SCALE * rng.standard_normal(features)
    problem = pw.Problem(probes, items, sigma=SIGMA)
    return pw.identify(problem, measure=pw.LinearEnvironment(problem, theta, seed=3).measure, seed=0, progress=progress)


def passes_counted(engine: Any) -> tuple[Counter[str], Counter[str]]:
    """How often all pieces are looked at, and how many seconds of the clock that takes, by what is done."""
    counts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for name in ("each", "kept"):
        own = getattr(type(engine), name)

        def counted(self: Any, function: Any, pieces: Any, *given: Any, own: Any = own) -> Any:
            began = time.perf_counter()
            found = own(self, function, pieces, *given)
            counts[function.__name__] += 1
            seconds[function.__name__] += time.perf_counter() - began  # type: ignore[assignment]
            return found

        setattr(type(engine), name, counted)
    return counts, seconds


def processor_and_peak() -> tuple[float, float]:
    """Seconds and bytes of this process, for a worker to say of itself."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, 1e3 * used.ru_maxrss


def scale(items: int, features: int, workers: int, kept: Path | None) -> bool:
    from probewise.shards.engine import started

    folder = kept or Path(tempfile.mkdtemp(prefix="probewise-shards-"))
    try:
        if not any(folder.glob("*.parquet")):
            folder.mkdir(exist_ok=True)
            written(folder, items, features)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(
            f"{items:,} items × {features} features, {size / 1e9:.2f} GB of Parquet in float32, {PROBES} probes",
            flush=True,
        )
        with started(workers) as client:
            began, own = time.perf_counter(), time.process_time()
            shards = pw.items_from_parquet(folder)
            loaded, (counts, spent) = time.perf_counter() - began, passes_counted(shards.engine)

            def heard(progress: Any) -> None:
                if progress.rounds <= 5:
                    left = progress.standing.unlisted + progress.standing.remaining.size
                    print(f"  round {progress.rounds}: {left:,} left, {time.perf_counter() - began:.1f} s", flush=True)

            result = searched(shards, features, heard)
            seconds, here = time.perf_counter() - began, time.process_time() - own
            used = client.run(processor_and_peak)
            peak = max(most for _, most in used.values())
            print(f"{result}: {seconds:.1f} s by the clock, {loaded:.1f} of them to load;")
            print(
                f"processor: {here:.1f} s here, {', '.join(f'{spent:.1f}' for spent, _ in used.values())} s of workers;"
            )
            print(
                f"peak memory of a worker {peak / 1e9:.2f} GB, of this process {processor_and_peak()[1] / 1e9:.2f} GB;"
            )
            shown = (f"{name} {count} in {spent[name]:.1f} s" for name, count in counts.items())
            print(f"looks at all pieces: {', '.join(shown)}", flush=True)
            return seconds <= GOAL_SECONDS and peak <= GOAL_BYTES
    finally:
        if kept is None:
            shutil.rmtree(folder)


def asked(result: pw.Result) -> tuple[Any, ...]:
    return result.items, result.estimate.tolist(), [own.counts.tolist() for own in result.history]


def same(items: int = 100_000, features: int = 6) -> bool:
    import dask
    import dask.array as da
    import dask.dataframe as dd
    import distributed

    dask.config.set({"distributed.scheduler.allowed-failures": 10, "dataframe.convert-string": False})
    folder = Path(tempfile.mkdtemp(prefix="probewise-shards-"))
    good = True
    try:
        written(folder, items, features, chunk=30_000)
        rows = np.vstack(
            [
                np.random.default_rng([0, at]).standard_normal((min(30_000, items - low), features), dtype=np.float32)
                for at, low in enumerate(range(0, items, 30_000))
            ]
        )
        first = searched(pw.items_in_shards(rows), features)
        print(f"NumPy, one piece: {first}", flush=True)

        def compare(name: str, result: pw.Result) -> bool:
            equal = asked(result) == asked(first)
            print(f"{name}: {'the same' if equal else f'ANOTHER RESULT, {result}'}", flush=True)
            return equal

        good &= compare("NumPy, pieces of 7,001", searched(pw.items_in_shards(rows, size=7_001), features))
        good &= compare("Parquet, this process", searched(pw.items_from_parquet(folder, scheduler="here"), features))
        for workers in (1, 4):
            with (
                distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
                distributed.Client(cluster),
            ):
                array = da.from_array(rows, chunks=(17_003, features))
                good &= compare(f"Dask array, {workers} workers", searched(array, features))
                good &= compare(f"Parquet, {workers} workers", searched(pw.items_from_parquet(folder), features))
                frame = dd.read_parquet(str(folder / "*.parquet"))
                good &= compare(f"Dask frame, {workers} workers", searched(frame, features))
        for phase in ("summary", "begun", "settled", "compared", "divided", "longest", "some_rows"):
            with (
                distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=":0") as cluster,
                distributed.Client(cluster),
                deadly(phase, cluster) as killed,
            ):
                found = searched(pw.items_from_parquet(folder), features)
                good &= bool(killed) and compare(f"a worker of 4 killed in {phase}", found)
    finally:
        shutil.rmtree(folder)
    return good


@contextmanager
def deadly(phase: str, cluster: Any) -> Iterator[list[int]]:
    """Kills a worker a moment after pieces are first looked at by one kind of function; gives the processes killed."""
    from probewise.shards.engine import Cluster

    plain, killed = (Cluster.each, Cluster.kept), []  # type: tuple[Any, Any], list[int]

    def strike(function: Any) -> None:
        if function.__name__ == phase and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            threading.Timer(0.05, os.kill, (killed[0], signal.SIGKILL)).start()

    def each(own: Any, function: Any, *given: Any) -> Any:
        strike(function)
        return plain[0](own, function, *given)

    def kept(own: Any, function: Any, *given: Any) -> Any:
        strike(function)
        return plain[1](own, function, *given)

    Cluster.each, Cluster.kept = each, kept  # type: ignore[method-assign]
    try:
        yield killed
    finally:
        Cluster.each, Cluster.kept = plain  # type: ignore[method-assign]


def passes(items: int = 1_000_000) -> None:
    """Processor time of one look at all items by each function, on one core, in nanoseconds per item."""
    from probewise.algorithms.sage.portions import Asked, Bet, Told, begun, compared, divided, settled
    from probewise.design.reached import longest
    from probewise.pooling import fitted
    from probewise.shards.pieces import Piece, summary

    for features in (5, 10, 20, 40):
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((items, features), dtype=np.float32)
        problem = pw.Problem(rng.standard_normal((PROBES, features)), rows[:2])
        laboratory = pw.LinearEnvironment(problem, SCALE * rng.standard_normal(features))
        fits = tuple(fitted(problem, laboratory.draw(np.ones(PROBES, dtype=np.int64), rng)) for _ in range(10))
        piece, row, unit = Piece(rows, 0), rows[0].astype(float), np.eye(features) / np.sqrt(3.0 * features)
        bet, law = Bet(0, row, 0.0, 1.0), problem.outcome
        told = Told(1.0, unit, law, fits[:1], bet, fits[0].theta, np.inf)
        portion, _ = begun(piece)
        known, _ = compared(portion, Asked(1.0, unit, 0, row, fits, 1.0, 2.0))
        same, other = (Asked(1.0, unit, 0, row, rounds, 1.0, 2.0) for rounds in (None, fits))
        looks = {
            "summary": partial(summary, piece),
            "longest": partial(longest, piece, 1.0, row, (unit, unit), 1.0, 400),
            "settled": partial(settled, portion, told),
            "compared, same leader": partial(compared, portion, same),
            "compared, new leader after 10 rounds": partial(compared, portion, other),
            "divided": partial(divided, known, 0.1),
        }
        found = []
        for name, look in looks.items():
            times = []
            for _ in range(2):
                began = time.process_time()
                look()
                times.append(time.process_time() - began)
            found.append(f"{name} {1e9 * min(times) / items:.0f}")
        print(f"d = {features}: {', '.join(found)} ns per item", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where files are kept for the next time")
    parser.add_argument("--same", action="store_true")
    parser.add_argument("--passes", action="store_true")
    options = parser.parse_args()
    if options.passes:
        passes()
        sys.exit(0)
    fine = same() if options.same else scale(options.items, options.features, options.workers, options.folder)
    sys.exit(0 if fine else 1)
