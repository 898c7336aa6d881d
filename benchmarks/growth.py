"""How a search grows: processor time and memory in probes, items, features, rounds and processes, measured and fitted.

python benchmarks/growth.py [--only table|shards|rounds|processes] varies one number at a time about a search of usual
size, each in a process of its own, and fits time = constant · number^power to the upper points; memory is what the
process takes at most beyond what it has before the search. Items are normal, d = 10 and 200 probes if nothing else is
said. Numbers of rounds differ, so that times are shown by round, too.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

PROBES, ITEMS, FEATURES, FAR = 200, 100_000, 10, 1_000_000
SCALE = 0.3


def used() -> tuple[float, float]:
    """Processor seconds of this process, and the most bytes that it had."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime, 1e3 * own.ru_maxrss


def search(kind: str, n: int, m: int, d: int) -> dict[str, float]:
    """One search on items in a table, or in shards that are kept in this process."""
    import probewise as pw

    rng = np.random.default_rng([n, m, d])
    probes, items = rng.standard_normal((n, d)), rng.standard_normal((m, d), dtype=np.float32)
    theta = SCALE * rng.standard_normal(d)
    if kind == "table":
        items = items.astype(np.float64)
    warm = pw.Problem(probes[:50], items[:50].astype(np.float64))
    pw.identify(
        warm, measure=pw.LinearEnvironment(warm, theta, seed=1).measure, seed=0, budget=500, algorithm=pw.Sage()
    )
    before = used()
    problem = pw.Problem(probes, items if kind == "table" else pw.items_in_shards(items, size=1_000_000))
    result = pw.identify(problem, measure=pw.LinearEnvironment(problem, theta, seed=3).measure, seed=0)
    after = used()
    return {"seconds": after[0] - before[0], "bytes": after[1] - before[1], "rounds": result.rounds}


def told(rounds: int) -> dict[str, float]:
    """So many rounds of 5 measurements told one by one, as a campaign replays them."""
    import probewise as pw

    rng = np.random.default_rng(0)
    problem, goal, sage = (
        pw.Problem(rng.standard_normal((30, 5)), rng.standard_normal((20, 5))),
        pw.BestItem(),
        pw.Sage(),
    )
    truth = pw.LinearEnvironment(problem, np.full(5, 0.01))
    state, before = sage.init(problem, goal), used()
    for _ in range(rounds):
        counts = np.bincount(rng.integers(0, 30, 5), minlength=30)
        state = sage.tell(problem, goal, state, truth.draw(counts, rng))
    after = used()
    return {"seconds": after[0] - before[0], "bytes": after[1] - before[1], "rounds": rounds}


def processes(workers: int, m: int = 4_000_000) -> dict[str, float]:
    """One search on Parquet files by so many processes; seconds are of the clock, bytes of the largest worker."""
    sys.path.insert(0, str(Path(__file__).parent))
    import shards_scale

    import probewise as pw
    from probewise.shards.engine import started

    with tempfile.TemporaryDirectory() as folder:
        shards_scale.written(Path(folder), m, FEATURES)
        with started(workers) as client:
            began = time.perf_counter()
            result = shards_scale.searched(pw.items_from_parquet(folder), FEATURES)
            seconds = time.perf_counter() - began
            most = max(size for _, size in client.run(shards_scale.processor_and_peak).values())
    return {"seconds": seconds, "bytes": most, "rounds": result.rounds}


def alone(name: str, *given: Any) -> dict[str, float]:
    """What a function here says, from a process of its own."""
    call = [sys.executable, __file__, "--call", json.dumps([name, *given])]
    found: dict[str, float] = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    return found


def grown(title: str, name: str, values: list[int], given: list[list[Any]]) -> None:
    """One table: a number that grows, and the powers with which time and memory do."""
    rows = [alone(name, *own) for own in given]
    print(f"\n{title}")
    for value, row in zip(values, rows, strict=True):
        per = f"{1e3 * row['seconds'] / row['rounds']:.2f} ms a round"
        print(
            f"  {value:>12,}: {row['seconds']:8.2f} s in {row['rounds']:,} rounds, {per}, {row['bytes'] / 1e6:7.0f} MB"
        )
    upper = slice(-3, None)
    logs = np.log(values[upper])
    powers = [
        np.polyfit(logs, np.log([max(row[part], 1e-3) for row in rows[upper]]), 1)[0] for part in ("seconds", "bytes")
    ]
    print(f"  time grows with the power {powers[0]:.2f}, memory with the power {powers[1]:.2f}", flush=True)


def main(only: str | None) -> None:
    n, m, d = [200, 1_000, 5_000, 20_000], [10_000, 100_000, 300_000, 1_000_000], [5, 10, 20, 40]
    if only in (None, "table"):
        grown("a table in memory, in probes", "search", n, [["table", v, ITEMS, FEATURES] for v in n])
        grown("a table in memory, in items", "search", m, [["table", PROBES, v, FEATURES] for v in m])
        grown("a table in memory, in features", "search", d, [["table", PROBES, ITEMS, v] for v in d])
    if only in (None, "shards"):
        far = [100_000, 300_000, 1_000_000, 3_000_000]
        grown("shards in this process, in probes", "search", n, [["shards", v, FAR, FEATURES] for v in n])
        grown("shards in this process, in items", "search", far, [["shards", PROBES, v, FEATURES] for v in far])
        grown("shards in this process, in features", "search", d, [["shards", PROBES, FAR, v] for v in d])
    if only in (None, "rounds"):
        rounds = [100, 200, 400, 800]
        grown("rounds of 5 measurements, 20 items", "told", rounds, [[v] for v in rounds])
    if only in (None, "processes"):
        grown("processes, 4,000,000 items, by the clock", "processes", [1, 2], [[1], [2]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["table", "shards", "rounds", "processes"])
    parser.add_argument("--call", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.call:
        function, *rest = json.loads(options.call)
        print(json.dumps({"search": search, "told": told, "processes": processes}[function](*rest)))
    else:
        main(options.only)
