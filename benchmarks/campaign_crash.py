"""SIGKILL at random moments of writing: two writers on one campaign, one of them killed, again and again.

After every kill: the file opens, every record that was acknowledged is there, and nothing is there twice.

    python benchmarks/campaign_crash.py --kills 500
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NoReturn

import numpy as np

import probewise as pw
from probewise.campaign import Campaign, Ledger

FRESH = 25
"""Kills after which a new file is begun, so that files stay short."""


def outcome(row: str) -> float:
    """What a row measures: the same whoever enters it."""
    return (sum(row.encode()) % 17) / 17


def write(path: Path, name: str, pipe: int) -> NoReturn:
    """Ask, tell and take notes for ever; each step is announced before it begins and acknowledged when it is done."""
    number = 0
    while True:
        campaign = Campaign.open(path, author=name)
        for _ in range(5):
            token = f"{name}-{number}"
            os.write(pipe, f"begin {token}\n".encode())
            campaign.note(token)
            os.write(pipe, f"note {token}\n".encode())
            rows = campaign.ask()["measurement"][:3]
            told = {row: outcome(row) for row in rows}
            os.write(pipe, f"begin {' '.join(rows)}\n".encode())
            campaign.tell(told)
            os.write(pipe, f"rows {' '.join(rows)}\n".encode())
            number += 1


class Writer:
    """A process that writes until it is killed."""

    def __init__(self, path: Path, name: str) -> None:
        self.end, pipe = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                write(path, name, pipe)
            finally:
                os._exit(1)
        os.close(pipe)

    def kill(self) -> list[str]:
        """Kill it and give back all it said."""
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        assert os.WIFSIGNALED(status), "a writer ended by itself"
        with os.fdopen(self.end) as pipe:
            return pipe.read().splitlines()


def check(path: Path, acknowledged: list[str]) -> None:
    """All that was acknowledged is on file, and nothing twice."""
    records = Campaign.open(path).records
    ledger = functools.reduce(Ledger.after, records[1:], Ledger.start(records[0]))  # the other writer goes on
    notes = Counter(record.body["text"] for record in records if record.kind == "note")
    rows = Counter(row for record in records if record.kind == "recorded" for row in record.body["rows"])
    assert max(notes.values(), default=0) <= 1, "a note is there twice"
    assert max(rows.values(), default=0) <= 1, "a row is counted twice"
    assert ledger.measured.n == len(rows), "measurements and rows differ"
    for line in acknowledged:
        kind, _, rest = line.partition(" ")
        for own in rest.split():
            assert own in (notes if kind == "note" else rows), f"{own} was acknowledged and is lost"


def run(folder: Path, ending: str, kills: int, seed: int = 0) -> tuple[int, int]:
    """How many of the kills came in the middle of a step, and how many records were written."""
    rng, inside, records = random.Random(seed), 0, 0
    writers: list[Writer] = []
    for number in range(kills):
        if number % FRESH == 0:
            for writer in writers:
                writer.kill()
            path, acknowledged = folder / f"{number}{ending}", []
            Campaign.create(path, pw.Problem(np.eye(2)), pw.BestItem(1e-9), pw.Uniform(), seed=0)
            writers = [Writer(path, f"a{number}"), Writer(path, f"b{number}")]
        time.sleep(rng.uniform(0.0, 0.1))
        victim = rng.randrange(2)
        said = writers[victim].kill()
        inside += bool(said) and said[-1].startswith("begin")
        acknowledged += [line for line in said if not line.startswith("begin")]
        check(path, acknowledged)
        writers[victim] = Writer(path, f"{'ab'[victim]}{number + 1}")
        if number % FRESH == FRESH - 1 or number == kills - 1:
            records += len(Campaign.open(path).records)
    for writer in writers:
        writer.kill()
    return inside, records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for ending in (".campaign", ".jsonl"):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            inside, records = run(Path(folder), ending, options.kills, options.seed)
            seconds = time.perf_counter() - start
        print(f"{ending}: {options.kills} kills, {inside} inside a step, {records} records, all sound; {seconds:.0f} s")


if __name__ == "__main__":
    main()
