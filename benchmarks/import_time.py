"""Seconds that `import probewise` adds to a fresh interpreter; the goal is below 0.5."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time


def seconds(code: str) -> tuple[float, float]:
    """Wall-clock and processor seconds of one fresh interpreter that runs ``code``."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(code: str, runs: int = 7) -> tuple[float, float]:
    """Medians over ``runs`` interpreters, after one that fills the caches."""
    seconds(code)
    walls, processors = zip(*(seconds(code) for _ in range(runs)), strict=True)
    return statistics.median(walls), statistics.median(processors)


if __name__ == "__main__":
    empty = median("pass")
    for code in ("import numpy", "import probewise", "import probewise; probewise.optimal_design"):
        wall, processor = (a - b for a, b in zip(median(code), empty, strict=True))
        print(f"{code:<45} {wall:6.3f} s wall, {processor:6.3f} s processor (median of 7)")
