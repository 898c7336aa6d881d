"""Every system call of a write fails once, in every way: nothing confirmed is lost, nothing refused is there.

A writer's n-th call on its files fails with ENOSPC, EIO or EINTR, is done by half, goes on failing, or kills the
writer, for each n, while a second writer is at work. Then the file opens; each note that was confirmed is there once;
none is there that was reported as failed. Needs Linux and a C compiler.

    python benchmarks/fault_injection.py
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import probewise as pw
from probewise.campaign import Campaign
from probewise.campaign.journal import lines, sqlite

ENDINGS = (".jsonl", ".campaign")
"""Endings of the storages that are attacked."""
FAIL, KILL, SHORT = range(3)
MODES: dict[str, tuple[int, int, bool]] = {
    "ENOSPC": (FAIL, errno.ENOSPC, False),
    "EIO": (FAIL, errno.EIO, False),
    "EINTR": (FAIL, errno.EINTR, False),
    "kill": (KILL, 0, False),
    "half, then ENOSPC": (SHORT, errno.ENOSPC, False),
    "ENOSPC from then on": (FAIL, errno.ENOSPC, True),
    "EIO from then on": (FAIL, errno.EIO, True),
}
"""Name -> what happens, the error, and whether it stays."""
LEAN = 25
"""Calls of a write that fail in a lean run, each in one way."""
BEYOND = 10
"""Calls more than one writer alone makes: another one makes it try again."""


@dataclass(frozen=True)
class Fault:
    """Where and how."""

    at: int
    """Number of the call, from 1; 0 for none."""
    mode: str
    """One of MODES."""


class Shim:
    """The library that counts calls and lets one fail."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.faults_hit.restype = ctypes.c_char_p

    def arm(self, folder: Path, fault: Fault) -> None:
        how, error, stays = MODES[fault.mode]
        self._library.faults_arm(str(folder).encode(), fault.at, how, error, stays)

    def disarm(self) -> tuple[int, str]:
        """How many calls there were, and which one failed."""
        self._library.faults_disarm()
        return self._library.faults_count(), self._library.faults_hit().decode()


class Child:
    """A forked process and what it says, line by line."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        self._end, pipe = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                work(lambda said: (os.write(pipe, f"{said}\n".encode()), None)[1])
                code = 0
            except BaseException as error:
                os.write(pipe, f"broken {type(error).__name__} {error}\n".encode())
            finally:
                os._exit(code)
        os.close(pipe)

    def wait(self) -> list[str]:
        os.waitpid(self.pid, 0)
        with os.fdopen(self._end) as pipe:
            return pipe.read().splitlines()


def _try(say: Callable[[str], None], token: str, action: Callable[[], Any]) -> None:
    """Announce, act, and say what came of it."""
    say(f"begun {token}")
    try:
        action()
    except pw.ProbewiseError as error:
        known = "not known" not in str(error)
        say(f"{'failed' if known else 'unknown'} {token} {error}")
    else:
        say(f"confirmed {token}")


def _patience(seconds: int) -> None:
    """How long to wait for a lock: not for long while calls fail."""
    lines.PATIENCE = sqlite.PATIENCE = sqlite._READER = seconds


def victim(path: Path, shim: Shim, fault: Fault) -> Callable[[Callable[[str], None]], None]:
    """Write a note while a call fails, and another one afterwards."""

    def work(say: Callable[[str], None]) -> None:
        campaign = Campaign.open(path, author="victim")
        _patience(2)
        shim.arm(path.parent, fault)
        _try(say, "v1", lambda: campaign.note("v1"))
        calls, hit = shim.disarm()
        say(f"calls {calls} {hit}")
        _patience(60)
        _try(say, "v2", lambda: campaign.note("v2"))

    return work


def other(path: Path, until: Path) -> Callable[[Callable[[str], None]], None]:
    """Write notes until told to stop, and one more."""

    def work(say: Callable[[str], None]) -> None:
        campaign, number, last = Campaign.open(path, author="other"), 0, False
        while not last:
            last = until.exists()
            _try(say, f"o{number}", lambda: campaign.note(f"o{number}"))  # noqa: B023
            number += 1

    return work


def noted(path: Path) -> Counter[str]:
    """The notes on file, and how often each is there."""
    return Counter(record.body["text"] for record in Campaign.open(path).records if record.kind == "note")


def case(base: Path, shim: Shim, fault: Fault) -> tuple[str, list[str]]:
    """Which call failed, and what is wrong afterwards."""
    with tempfile.TemporaryDirectory() as name:
        place, until = Path(name) / "files", Path(name) / "until"
        place.mkdir()
        path = Path(shutil.copy(base, place))
        second = Child(other(path, until))
        said = Child(victim(path, shim, fault)).wait()
        until.touch()
        all_said = said + second.wait()
        hit = next((line.split(" ", 2)[2] for line in said if line.startswith("calls ")), "killed")
        return hit, wrong(path, all_said)


def wrong(path: Path, said: list[str]) -> list[str]:
    """What does not hold of a file, after what was said about it."""
    out = [line for line in said if line.startswith("broken")]
    try:
        there = noted(path)
    except pw.ProbewiseError as error:
        return [*out, f"the file does not open: {error}"]
    for line in said:
        what, token, *rest = line.split(" ", 2)
        if what == "confirmed" and there[token] != 1:
            out.append(f"{token} was confirmed and is there {there[token]} times")
        if what == "failed" and there[token]:
            out.append(f"{token} is there, but was reported as failed: {rest}")
        if what in ("failed", "unknown") and token != "v1":
            out.append(f"{token} failed, though nothing was wrong any more: {rest}")
    return out


def creation(ending: str, shim: Shim, fault: Fault) -> tuple[str, list[str]]:
    """The same for the first record of all."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"new{ending}"

        def work(say: Callable[[str], None]) -> None:
            _patience(2)
            shim.arm(path.parent, fault)
            _try(say, "creation", lambda: create(path))
            calls, hit = shim.disarm()
            say(f"calls {calls} {hit}")

        said = Child(work).wait()
        hit = next((line.split(" ", 2)[2] for line in said if line.startswith("calls ")), "killed")
        out = [line for line in said if line.startswith("broken")]
        confirmed = any(line.startswith("confirmed") for line in said)
        failed = any(line.startswith("failed") for line in said)
        try:
            found = len(Campaign.open(path).records)
        except pw.InvalidCampaign as error:
            found = 0
            if "there is no campaign in" not in str(error):
                out.append(f"the file does not open: {error}")
        if confirmed and found != 1:
            out.append("the creation was confirmed, and there is no campaign")
        if failed and found:
            out.append(f"the creation was reported as failed, and there is a campaign: {said}")
        try:
            if not found:
                create(path).note("after all")
        except pw.ProbewiseError as error:
            out.append(f"it cannot be created again: {error}")
        return hit, out


def create(path: Path) -> Campaign:
    return Campaign.create(path, pw.Problem(np.eye(2)), seed=0)


def run(ending: str, *, lean: bool) -> int:
    """Every case of a storage; how many went wrong."""
    shim, bad, hits, start = Shim(), 0, Counter[str](), time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name) / f"base{ending}"
        create(base).note("before")
        alone = [Child(victim(_copied(base), shim, Fault(0, "EIO"))).wait(), Child(_counted(ending, shim)).wait()]
        counts = [int(next(line for line in said if line.startswith("calls ")).split()[1]) for said in alone]
        attacks: tuple[tuple[str, int, Callable[[Fault], tuple[str, list[str]]]], ...] = (
            ("note", counts[0] + BEYOND, lambda fault: case(base, shim, fault)),
            ("creation", counts[1], lambda fault: creation(ending, shim, fault)),
        )
        cases = 0
        for what, calls, attack in attacks:
            for at in range(1, calls + 1, max(calls // LEAN, 1) if lean else 1):
                for mode in [[*MODES][at % len(MODES)]] if lean else MODES:
                    hit, found = attack(Fault(at, mode))
                    hits[hit or "none"] += 1
                    cases += 1
                    bad += bool(found)
                    for line in found:
                        print(f"  {ending}, {what}, call {at} ({hit}), {mode}: {line}", flush=True)
    at = ", ".join(f"{name} {count}" for name, count in hits.most_common())
    seconds = time.perf_counter() - start
    print(f"{ending}: {cases} cases ({at}), {bad} went wrong; {seconds:.0f} s", flush=True)
    return bad


def _copied(base: Path) -> Path:
    folder = base.parent / "copy"
    folder.mkdir()
    return Path(shutil.copy(base, folder))


def _counted(ending: str, shim: Shim) -> Callable[[Callable[[str], None]], None]:
    def work(say: Callable[[str], None]) -> None:
        with tempfile.TemporaryDirectory() as name:
            shim.arm(Path(name), Fault(0, "EIO"))
            create(Path(name) / f"new{ending}")
            say(f"calls {shim.disarm()[0]}")

    return work


def compiled(folder: Path) -> Path | None:
    """The library, or None where there is no compiler."""
    tool = shutil.which("cc")
    if tool is None or not sys.platform.startswith("linux"):
        return None
    library = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run([tool, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lean", action="store_true", help="some of the calls, each in one way")
    parser.add_argument("--ending", choices=ENDINGS, action="append", help="of a storage; by default all")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        warnings.simplefilter("ignore", pw.TornJournal)
        raise SystemExit(sum([run(ending, lean=options.lean) for ending in options.ending or ENDINGS]) > 0)
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder))
        if library is None:
            raise SystemExit("needs Linux and a C compiler (cc)")
        command = [sys.executable, __file__, "--inside", *sys.argv[1:]]
        raise SystemExit(subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(library)}).returncode)


if __name__ == "__main__":
    main()
