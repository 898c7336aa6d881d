"""Journals of SQLite that were deleted, damaged, cut or are of another file: never a silent loss.

A writer is killed at each system call of a write. What it leaves, the file and the journal beside it, is opened as it
is, without the journal, with single bits of it changed, with a part of it, and with that of another file. Each is
refused with a sentence, or has all records that were acknowledged, now and after one more. Needs Linux and cc.

    python benchmarks/side_files.py --seed 0
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import probewise as pw
from probewise.campaign import Campaign
from probewise.campaign.journal import sides

KILL = 1
"""What happens at the call: see faults.c."""
CALLS = 60
"""More than a write makes."""


class Left(NamedTuple):
    """What a dead writer left."""

    file: bytes
    journal: bytes | None
    kept: list[str]
    """Records that had been acknowledged."""


def lines(path: Path) -> list[str]:
    return [record.line for record in Campaign.open(path).records]


def left(folder: Path, rng: random.Random) -> Iterator[Left]:
    """After every call of a small, a larger and a large write."""
    library = ctypes.CDLL(None)
    for size in (10, 3_000, 20_000):
        base = folder / f"base-{size}.campaign"
        campaign = Campaign.create(base, pw.Problem(np.eye(2)), seed=0)
        for _ in range(rng.randrange(3, 40)):
            campaign.note("x" * rng.choice([5, 200, 2_500, 6_000]))
        kept = lines(base)
        for call in range(1, CALLS):
            place = folder / f"{size}-{call}"
            place.mkdir()
            path = Path(shutil.copy(base, place / "a.campaign"))
            if (child := os.fork()) == 0:
                victim = Campaign.open(path)
                library.faults_arm(str(place).encode(), call, KILL, 0, 0)
                victim.note("y" * size)
                os._exit(0)
            if os.WIFEXITED(os.waitpid(child, 0)[1]):
                break
            journal = sides.beside(path, "-journal")
            yield Left(path.read_bytes(), journal.read_bytes() if journal.exists() else None, kept)


def attacks(own: Left, everybody: list[Left], rng: random.Random) -> Iterator[tuple[str, bytes | None]]:
    """Names, and journals beside the file."""
    yield "as it was", own.journal
    if not own.journal:
        return
    yield "deleted", None
    for at in [*range(32), *(rng.randrange(len(own.journal)) for _ in range(25))]:
        changed = bytearray(own.journal)
        changed[at] ^= 1 << rng.randrange(8)
        yield "changed", bytes(changed)
    for _ in range(10):
        yield "cut", own.journal[: rng.randrange(len(own.journal))]
    for other in rng.sample(everybody, 20):
        if other.journal and other.kept != own.kept:
            yield "of another", other.journal


def outcome(path: Path, own: Left, journal: bytes | None) -> str:
    """What becomes of it."""
    path.write_bytes(own.file)
    beside = sides.beside(path, "-journal")
    beside.unlink(missing_ok=True)
    if journal is not None:
        beside.write_bytes(journal)
    try:
        campaign = Campaign.open(path)
        if [record.line for record in campaign.records][: len(own.kept)] != own.kept:
            return "lost"
        campaign.note("one more")
    except pw.ProbewiseError:
        return "refused"
    return "whole" if lines(path)[: len(own.kept)] == own.kept else "lost"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if "faults.so" not in os.environ.get("LD_PRELOAD", ""):
        _again_with_faults()
    sides._LOOKS, sides._PAUSE = 2, 0.001  # nobody else writes
    rng, found = random.Random(options.seed), Counter[tuple[str, str]]()
    with tempfile.TemporaryDirectory() as folder:
        states = [*left(Path(folder), rng)]
        for own in states:
            for name, journal in attacks(own, states, rng):
                found[name, outcome(Path(folder) / "t.campaign", own, journal)] += 1
    print(f"{len(states)} moments of dying, {sum(bool(own.journal) for own in states)} with a journal")
    for (name, what), count in sorted(found.items()):
        print(f"{name}: {count} {what}")
    assert not any(what == "lost" for _, what in found), "records were lost without a word"
    assert ("as it was", "refused") not in found, "what a dead writer left must open"


def _again_with_faults() -> None:
    if not sys.platform.startswith("linux") or (tool := shutil.which("cc")) is None:
        raise SystemExit("needs Linux and a C compiler (cc)")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "faults.so"
        source = Path(__file__).with_name("faults.c")
        subprocess.run([tool, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        command = [sys.executable, *sys.argv]
        raise SystemExit(subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(library)}).returncode)


if __name__ == "__main__":
    main()
