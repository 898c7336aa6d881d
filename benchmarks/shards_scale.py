"""Items past memory: time, memory and passes on a local Dask cluster of two processes, and equal results everywhere.

python benchmarks/shards_scale.py [--items 10000000] [--features 10] [--workers 2] [--folder DIR]; data go to a folder
that is deleted afterwards, unless it is named. --same prints one table: searches of a plain array in memory, searches
and designs on the array in one piece and in several, a Dask array and frame with 1 and 4 workers, and Parquet, a worker
killed in each phase. --campaign runs a campaign on the files, and --passes measures one look at a million items by each
function. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
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


def asked(result: pw.Result) -> str:
    """A digest of all counts asked for, the estimate and the answer."""
    parts = [repr(result.items), result.estimate.tobytes(), *(own.counts.tobytes() for own in result.history)]
    return sha256(b"".join(part.encode() if isinstance(part, str) else part for part in parts)).hexdigest()[:12]


def solved(items: Any, features: int, seed: int = 0) -> str:
    """A digest of the hardness of the same problem, and of the design for all pairs."""
    rng = np.random.default_rng([seed, 7])
    probes, theta = rng.standard_normal((PROBES, features)), SCALE * rng.standard_normal(features)
    problem = pw.Problem(probes, items, sigma=SIGMA)
    found, design = pw.hardness(problem, theta), pw.optimal_design(probes, pw.pairs(problem.items))
    parts = found.answer, found.psi, found.psi_lower, design.value, design.weights.tolist()
    return sha256(repr(parts).encode()).hexdigest()[:12]


ONE_THREAD = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
SEARCHING = ("summary", "some_rows", "longest", "begun", "settled", "compared", "divided", "itself")
SOLVING = ("highest", "behind", "longest", "partners")


def same(items: int = 100_000, features: int = 6) -> bool:
    """One table: the same search and the same designs wherever items are, with a worker killed in each phase."""
    import dask
    import dask.array as da
    import dask.dataframe as dd
    import distributed

    dask.config.set({"dataframe.convert-string": False})
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what is killed here is killed on purpose
    folder = Path(tempfile.mkdtemp(prefix="probewise-shards-"))
    written(folder, items, features, chunk=30_000)
    parts = [(at, min(30_000, items - low)) for at, low in enumerate(range(0, items, 30_000))]
    rows = np.vstack(
        [np.random.default_rng([0, at]).standard_normal((k, features), dtype=np.float32) for at, k in parts]
    )
    first: list[tuple[str, str]] = []
    good = True
    print(f"{items:,} items × {features} features, {PROBES} probes")
    print(f"{'items are':24} {'workers':>7}  {'killed in':12} {'found':>7} {'rounds':>6} {'asked':>8}  search, designs")

    def row(
        where: str, workers: int, source: Any, *, killed: str = "", search: bool = True, solve: bool = True
    ) -> None:
        nonlocal good
        found = searched(source(), features) if search else None
        digests = ("" if found is None else asked(found), solved(source(), features) if solve else "")
        first.append(digests)
        equal = all(own in ("", known) for own, known in zip(digests, first[0], strict=True))
        good &= equal
        shown = ("", "", "") if found is None else (found.item_names[0], found.rounds, f"{found.measurements:,}")
        text = f"{where:24} {workers:>7}  {killed:12} {shown[0]:>7} {shown[1]:>6} {shown[2]:>8}  "
        print(f"{text}{', '.join(filter(None, digests))} {'the same' if equal else 'ANOTHER RESULT'}", flush=True)

    try:
        row("NumPy, one piece", 0, lambda: pw.items_in_shards(rows))
        row("NumPy, plain table", 0, lambda: rows, solve=False)
        row("NumPy, pieces of 7,001", 0, lambda: pw.items_in_shards(rows, size=7_001))
        row("Parquet, this process", 0, lambda: pw.items_from_parquet(folder, scheduler="here"))
        for workers in (1, 4):
            with (
                distributed.LocalCluster(n_workers=workers, **ONE_THREAD) as cluster,
                distributed.Client(cluster),
            ):
                row("Dask array", workers, lambda: da.from_array(rows, chunks=(17_003, features)))
                row("Dask data frame", workers, lambda: dd.read_parquet(str(folder / "*.parquet")))
                row("Parquet", workers, lambda: pw.items_from_parquet(folder))
        for phase in (*SEARCHING, *SOLVING):
            with (
                distributed.LocalCluster(n_workers=4, **ONE_THREAD) as cluster,
                distributed.Client(cluster),
                deadly(phase) as killed,
            ):
                search = phase in SEARCHING and not (phase == "longest" and first[-1][0] == "")
                row("Parquet", 4, lambda: pw.items_from_parquet(folder), killed=phase, search=search, solve=not search)
                good &= killed.exists()
        few = rows[:5_000]
        near = [asked(searched(own, features)) for own in (few, pw.items_in_shards(few, size=1_201))]
        print(f"5,000 of them, which a problem brings into memory: {near[0]} {near[1]}")
        return good and near[0] == near[1]
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True)
class Deadly:
    """A function of a piece that kills the process in which it is called first."""

    function: Any
    flag: str

    def __call__(self, *given: Any) -> Any:
        try:
            os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return self.function(*given)
        os.kill(os.getpid(), signal.SIGKILL)
        return None


@contextmanager
def deadly(phase: str) -> Iterator[Path]:
    """Kills the worker that first looks at a piece by one kind of function, in the middle of it; a file says so."""
    from probewise.shards.engine import Cluster

    flag = Path(tempfile.mkdtemp(prefix="probewise-killed-")) / "killed"
    plain = Cluster.each, Cluster.kept

    def aimed(function: Any) -> Any:
        return Deadly(function, str(flag)) if function.__name__ == phase else function

    def each(own: Any, function: Any, *given: Any) -> Any:
        return plain[0](own, aimed(function), *given)

    def kept(own: Any, function: Any, *given: Any) -> Any:
        return plain[1](own, aimed(function), *given)

    Cluster.each, Cluster.kept = each, kept  # type: ignore[method-assign]
    try:
        yield flag
    finally:
        Cluster.each, Cluster.kept = plain  # type: ignore[method-assign]
        shutil.rmtree(flag.parent)


def campaign(items: int, features: int, kept: Path | None, rounds: int = 3) -> None:
    """A campaign on Parquet files in this process: what it takes to begin, to ask and tell, and to look at it again."""
    folder = kept or Path(tempfile.mkdtemp(prefix="probewise-shards-"))
    journal = Path(tempfile.mkdtemp(prefix="probewise-journal-")) / "far.campaign"
    if not any(folder.glob("*.parquet")):
        folder.mkdir(exist_ok=True)
        written(folder, items, features)
    rng = np.random.default_rng([0, 7])
    probes, theta = rng.standard_normal((PROBES, features)), SCALE * rng.standard_normal(features)
    began, clock = time.process_time(), time.perf_counter()

    def passed(what: str) -> None:
        nonlocal began, clock
        print(
            f"{what}: {time.process_time() - began:.1f} s of processor, {time.perf_counter() - clock:.1f} by the clock"
        )
        began, clock = time.process_time(), time.perf_counter()

    try:
        problem = pw.Problem(probes, pw.items_from_parquet(folder, scheduler="here"), sigma=SIGMA)
        passed(f"{problem.n_items:,} items read")
        own = pw.Campaign.create(journal, problem, seed=0)
        passed("begun, files digested, first design")
        for number in range(rounds):
            rows = own.ask()
            at = np.array([int(name) for name in rows["probe"]])
            outcomes = probes[at] @ theta + SIGMA * rng.standard_normal(at.size)
            own.tell(dict(zip(rows["measurement"], outcomes.tolist(), strict=True)))
            passed(f"round {number + 1} asked and told")
        del own, problem
        print(pw.Campaign.open(journal).status().sentence)
        passed("opened again, files read and digests checked, all rounds replayed")
        print(f"peak memory {processor_and_peak()[1] / 1e9:.2f} GB")
    finally:
        shutil.rmtree(journal.parent)
        if kept is None:
            shutil.rmtree(folder)


def passes(items: int = 1_000_000) -> None:
    """Processor time of one look at all items by each function, on one core, in nanoseconds per item."""
    from probewise.algorithms.sage.portions import Asked, Bet, Rules, Told, begun, compared, divided, settled
    from probewise.algorithms.sage.scattered import SHOWN
    from probewise.design.apart import partners
    from probewise.design.reached import longest
    from probewise.pooling import fitted
    from probewise.shards.pieces import Piece, summary
    from probewise.shards.values import behind, highest

    for features in (5, 10, 20, 40):
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((items, features), dtype=np.float32)
        problem = pw.Problem(rng.standard_normal((PROBES, features)), rows[:2])
        laboratory = pw.LinearEnvironment(problem, SCALE * rng.standard_normal(features))
        fits = tuple(fitted(problem, laboratory.draw(np.ones(PROBES, dtype=np.int64), rng)) for _ in range(10))
        piece, row, unit = Piece(rows, 0), rows[0].astype(float), np.eye(features) / np.sqrt(3.0 * features)
        bet, rules = Bet(0, row, 0.0, 1, 0.0, 1.0), Rules(problem.outcome, 0.0, None, boost=False)
        told, unbet = (Told(1.0, unit, rules, fits[:1], own, fits[0].theta, np.inf, SHOWN) for own in (bet, None))
        portion, _ = begun(piece)
        known, _ = compared(portion, Asked(1.0, unit, 0, row, fits, 1.0, 2.0))
        same, other = (Asked(1.0, unit, 0, row, rounds, 1.0, 2.0) for rounds in (None, fits))
        looks = {
            "summary": partial(summary, piece),
            "longest": partial(longest, piece, 1.0, row, (unit, unit), 1.0, 1_000),
            "partners": partial(partners, piece, 1.0, row, (unit, unit), rows[:40].astype(float)),
            "highest": partial(highest, piece, 1.0, row, 1),
            "behind": partial(behind, piece, 1.0, 0, row, row),
            "settled, nothing bet": partial(settled, portion, unbet),
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
    parser.add_argument("--campaign", action="store_true")
    options = parser.parse_args()
    if options.passes:
        passes()
        sys.exit(0)
    if options.campaign:
        campaign(options.items, options.features, options.folder)
        sys.exit(0)
    fine = same() if options.same else scale(options.items, options.features, options.workers, options.folder)
    sys.exit(0 if fine else 1)
