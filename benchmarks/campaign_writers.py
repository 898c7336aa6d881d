"""Many writers on one campaign: nothing is lost or doubled, and how many records they write in a second.

For each storage, first one writer, then several, each a process of its own that writes notes as fast as it can.

    python benchmarks/campaign_writers.py --seconds 60 --writers 16
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _postgres import Postgres

import probewise as pw
from probewise.campaign import Campaign, storage_at


class Run(NamedTuple):
    """What some writers did."""

    records: int
    """Records that were acknowledged, all of them on file once."""
    rate: float
    """Records in a second."""
    typical: float
    """Median of the seconds that one took."""
    worst: float
    """The longest."""
    reading: float
    """Median of the seconds that a reader took meanwhile."""
    slowest: float
    """The longest of these."""


def write(place: str, name: str, until: float, out: Path) -> None:
    """Notes until that time; a line for each that was acknowledged, with the seconds it took."""
    campaign = Campaign.open(place, author=name)
    with out.open("w") as said:
        number = 0
        while time.time() < until:
            start = time.perf_counter()
            campaign.note(f"{name}-{number}")
            said.write(f"{name}-{number} {time.perf_counter() - start}\n")
            number += 1


def read(place: str, until: float, out: Path) -> None:
    """Look at the last record ten times a second; a line for the seconds that each look took."""
    store, known = storage_at(place), 0
    with out.open("w") as said:
        while time.time() < until:
            start = time.perf_counter()
            known += len(store.read(known))
            said.write(f"{time.perf_counter() - start}\n")
            time.sleep(0.1)


def run(place: str, writers: int, seconds: float) -> Run:
    """Several writers on a new campaign."""
    Campaign.create(place, pw.Problem(np.eye(2)), seed=0)
    with tempfile.TemporaryDirectory() as folder:
        outs = [Path(folder) / str(number) for number in range(writers)]
        start = time.time() + 0.5
        works = [partial(write, place, f"w{number}", start + seconds, out) for number, out in enumerate(outs)]
        looked = Path(folder) / "reader"
        children = [_started(work) for work in (*works, partial(read, place, start + seconds, looked))]
        failed = [os.waitpid(child, 0)[1] for child in children]
        assert not any(failed), "a writer or reader failed"
        looks = [float(line) for line in looked.read_text().splitlines()]
        lines = [line.split() for out in outs for line in out.read_text().splitlines()]
    acknowledged = [token for token, _ in lines]
    stored = Counter(record.body["text"] for record in Campaign.open(place).records[1:])
    assert max(stored.values(), default=0) <= 1, "a record is there twice"
    assert set(acknowledged) == set(stored), "a record was lost, or is there without an acknowledgement"
    waits = [float(wait) for _, wait in lines]
    rate = len(waits) / seconds
    return Run(len(waits), rate, statistics.median(waits), max(waits), statistics.median(looks), max(looks))


def _started(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--storage", choices=["sqlite", "lines", "postgresql"], action="append")
    options = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for storage in options.storage or ["sqlite", "lines", "postgresql"]:
            if storage == "postgresql":
                server = Postgres()
                stack.callback(server.close)
            for writers in (1, options.writers):
                file = f"{folder}/{writers}{'.campaign' if storage == 'sqlite' else '.jsonl'}"
                place = f"{server.url}#{writers}" if storage == "postgresql" else file
                found = run(place, writers, options.seconds)
                print(
                    f"{storage}: {writers} writer{'s' * (writers > 1)}, {options.seconds:g} s: {found.records} records "
                    f"that are there once, {found.rate:.1f} in a second; one took {found.typical:.3f} s, at most "
                    f"{found.worst:.2f} s; a reader took {found.reading:.3f} s, at most {found.slowest:.2f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
