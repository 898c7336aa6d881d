"""How far it is from a command to the solver: frames on the way, files entered, reads of the journal, replays.

Each command of a campaign runs in this process under a profiler. Frames are those of this package at the deepest call
of a design's solver, or at the deepest call at all where no design is solved; files are those that were entered.

    python benchmarks/walks.py
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from click.testing import CliRunner

import probewise
from probewise.cli import main

HOME = str(Path(probewise.__file__).parent)
COUNTED = {
    "unread": "reads",
    "replay": "replays",
    "tell_overlapping": "told",
    "optimal_design": "designs",
    "check_adequacy": "checks",
}
"""Name of a function -> what its calls are counted as.

A second replay takes over what is known: rounds told to the algorithm are what replays cost."""
_BEGINNING = 4
"""Bytes of code up to which a function has just begun."""


class Walk:
    """What a command enters."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.deepest = 0
        self.solving = 0
        self.counts: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(HOME) or frame.f_code.co_name == "<module>":
            return
        self.files.add(name)
        counted = COUNTED.get(frame.f_code.co_name)
        if counted is not None and frame.f_lasti <= _BEGINNING:  # a generator is entered again for each record
            self.counts[counted] += 1
        depth, at = 0, frame
        while at is not None:
            depth += at.f_code.co_filename.startswith(HOME) and at.f_code.co_name != "<module>"
            at = at.f_back  # type: ignore[assignment]
        self.deepest = max(self.deepest, depth)
        if "/design/solvers/" in name.replace("\\", "/"):
            self.solving = max(self.solving, depth)


def walked(arguments: list[str]) -> Walk:
    walk = Walk()
    sys.setprofile(walk)
    try:
        result = CliRunner().invoke(main, arguments)
    finally:
        sys.setprofile(None)
    assert result.exit_code == 0, result.output
    return walk


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lab, campaign, sheet = f"{folder}/lab", f"{folder}/lab/walk.campaign", f"{folder}/ask.csv"
        begin = ["new", campaign, "--probes", f"{lab}/probes.csv", "--items", f"{lab}/items.csv", "--sigma", "3"]
        CliRunner().invoke(main, ["example", lab])
        walked([*begin, "--seed", "1"])
        CliRunner().invoke(main, ["ask", campaign, "--out", sheet])
        CliRunner().invoke(main, ["example-measure", sheet])
        tell = walked(["tell", campaign, sheet])
        found = {
            "ask": walked(["ask", campaign]),
            "tell": tell,
            "status": walked(["status", campaign]),
            "report": walked(["report", campaign, "--out", f"{folder}/report.html"]),
        }
    print("command   frames   files    reads  replays     told  designs   checks")
    for name, walk in found.items():
        counts = [walk.counts[what] for what in COUNTED.values()]
        frames = walk.solving or walk.deepest
        print(f"{name:8}{frames:8}{len(walk.files):8}" + "".join(f"{count:9}" for count in counts))


if __name__ == "__main__":
    run()
