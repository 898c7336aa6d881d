"""Seconds that `import probewise` adds to a fresh interpreter, and what `probewise status` takes from start to end.

The goal of the first is below 0.5. With the sources of another version, its status is timed on the same campaign, which
that version must be able to open (and so makes), turn by turn with ours.

    python benchmarks/import_time.py [--against /path/to/other/src]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parents[1] / "src"
MAKE = """
import numpy as np, sys, probewise as pw
X = np.random.default_rng(0).standard_normal((40, 5))
campaign = pw.Campaign.create(sys.argv[1], pw.Problem(X, sigma=3.0), seed=1)
campaign.tell(dict.fromkeys(campaign.ask()["measurement"], 0.5))
"""
STATUS = """
import atexit, sys
if len(sys.argv) > 3:
    atexit.register(lambda: print(len(sys.modules), file=sys.stderr))
from probewise.cli import main
sys.argv = ["probewise", "status", sys.argv[1]]
main()
"""


def ran(code: str, *words: str, source: Path = HERE) -> str:
    """What a fresh interpreter with one version of the package says on standard error; bytecode is kept, as usual."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept = {"PYTHONPATH": str(source), "PYTHONPYCACHEPREFIX": tempfile.gettempdir() + "/import-time"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], check=True, env=own | kept, text=True, capture_output=True
    )
    return done.stderr


def seconds(code: str, *words: str, source: Path = HERE) -> tuple[float, float]:
    """Wall-clock and processor seconds of one fresh interpreter that runs ``code``."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran(code, *words, source=source)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(code: str, runs: int = 7) -> tuple[float, float]:
    """Medians over ``runs`` interpreters, after one that fills the caches."""
    seconds(code)
    walls, processors = zip(*(seconds(code) for _ in range(runs)), strict=True)
    return statistics.median(walls), statistics.median(processors)


def status(against: Path | None) -> None:
    """Processor seconds and modules of `probewise status`, of this version and of another one in turn."""
    versions = {"this version": HERE} | ({} if against is None else {"the other one": against})
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "status.campaign"))
        ran(MAKE, path, source=against or HERE)
        taken: dict[str, list[float]] = {name: [] for name in versions}
        for turn in range(8):
            for name, source in versions.items():
                processor = seconds(STATUS, path, source=source)[1]
                taken[name] += [processor] * bool(turn)  # the first fills the caches
        middle = {name: statistics.median(own) for name, own in taken.items()}
        for name, source in versions.items():
            modules = ran(STATUS, path, "-", "modules", source=source).split()[-1]
            print(f"probewise status, {name:<16} {middle[name]:6.3f} s processor (median of 7), {modules} modules")
        if against is not None:
            print(f"ratio {middle['this version'] / middle['the other one']:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", type=Path, metavar="SRC")
    options = parser.parse_args()
    status(options.against)
    empty = median("pass")
    for code in ("import numpy", "import probewise", "import probewise; probewise.optimal_design"):
        wall, processor = (a - b for a, b in zip(median(code), empty, strict=True))
        print(f"{code:<45} {wall:6.3f} s wall, {processor:6.3f} s processor (median of 7)")
