"""How long a large campaign takes to open and to ask: 2,000 items, 500 probes, d = 20, 200 rounds of 500 rows.

The rounds are drawn, not planned: planning 200 of them is not what is measured.

    python benchmarks/campaign_scale.py
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import probewise as pw
from probewise.campaign import Campaign, Record, storage_at


def written(path: Path, rounds: int, rows: int, items: int, probes: int, d: int, sigma: float) -> None:
    """A journal of complete rounds whose probes were drawn at random."""
    rng = np.random.default_rng(0)
    X, theta = rng.standard_normal((probes, d)), rng.standard_normal(d)
    problem = pw.Problem(X, rng.standard_normal((items, d)), sigma=sigma)
    Campaign.create(path, problem, pw.BestItem(0.05), seed=0)
    store = storage_at(path)
    last = Record.read(store.read()[0], after=None)
    for number in range(1, rounds + 1):
        indices = rng.integers(0, probes, rows)
        outcomes = X[indices] @ theta + sigma * rng.standard_normal(rows)
        ids = [f"r{number}-{row}" for row in range(1, rows + 1)]
        for kind, body in (
            ("asked", {"round": number, "probes": indices.tolist(), "begins": True, "due": None}),
            ("recorded", {"rows": ids, "outcomes": outcomes.tolist()}),
        ):
            record = Record.new(kind, body, author="benchmark", after=last)
            store.append(record.line, after=last.seq)
            last = record


def timed(what: str, work: Callable[[], Any]) -> Any:
    start, used = time.perf_counter(), time.process_time()
    result = work()
    print(f"  {what}: {time.perf_counter() - start:.2f} s, {time.process_time() - used:.2f} s of processor", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--probes", type=int, default=500)
    parser.add_argument("--dimension", type=int, default=20)
    parser.add_argument("--sigma", type=float, default=100.0, help="the larger, the more items remain to plan for")
    options = parser.parse_args()
    size = (options.rounds, options.rows, options.items, options.probes, options.dimension, options.sigma)
    for ending in (".campaign", ".jsonl"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"large{ending}")
            written(path, *size)
            print(f"{ending}: {options.rounds * options.rows:,} measurements, {path.stat().st_size / 1e6:.1f} MB")
            campaign = timed("open and check every digest", lambda: Campaign.open(path))  # noqa: B023
            timed("replay: the state of the algorithm", lambda: campaign.trail)  # noqa: B023
            status = timed("status: every item with its interval", campaign.status)
            rows = timed("ask", campaign.ask)
            timed("ask again", campaign.ask)
            outcomes = np.zeros(len(rows))
            timed("tell a round", lambda: campaign.tell(rows.filled(outcomes)))  # noqa: B023
            print(f"  {len(rows)} rows asked for; {len(status.remaining)} items remained")


if __name__ == "__main__":
    main()
