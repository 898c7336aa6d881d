"""Speed and size, against the goals that each script states: python benchmarks/all.py [--list] [--only NAME].

What `make bench` runs: one script after the other, each some seconds to some minutes, about twenty minutes in all on a
quiet machine of two cores. A script that misses its goal does not stop the others. Audits and statistics take hours,
or need files: they are named at the end, each with the pages that quote it, which give its command and its figures, or
else with what it says of itself.
Exit code 1 if a goal was missed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
QUICK = (
    "design_speed.py",
    "threads.py --quick",
    "high_dimension.py --quick",
    "warm_start.py --quick",
    "design_scale.py --quick",
    "sage_speed.py --large",
    "sage_scale.py",
    "rage_cost.py",
    "lingape_speed.py",
    "goals_scale.py --only top",
    "product_space.py --only scale",
    "shards_scale.py --items 1000000",
    "campaign_scale.py --rounds 2000 --rows 5",
    "tables_speed.py",
    "import_time.py",
    "walks.py",
)
"""What is run, with its options."""
LIMIT = 1800
"""Seconds after which a script is ended, as a miss."""


def others() -> dict[str, list[str]]:
    """The scripts that are not run, and the pages on which they are quoted."""
    root = HERE.parent
    pages = {path: path.read_text("utf-8") for path in sorted([*root.glob("docs/**/*.md"), *root.glob("*.md")])}
    run = {command.partition(" ")[0] for command in QUICK} | {Path(__file__).name}
    scripts = (path.name for path in sorted(HERE.glob("[a-z]*.py")) if path.name not in run)
    return {name: [str(path.relative_to(root)) for path, text in pages.items() if name in text] for name in scripts}


def met(command: str) -> bool:
    """Run one of them, and say whether it met its goals in time."""
    script, *options = command.split()
    print(f"\n== benchmarks/{command}", flush=True)
    began = time.perf_counter()
    try:
        good = subprocess.run([sys.executable, str(HERE / script), *options], timeout=LIMIT).returncode == 0
    except subprocess.TimeoutExpired:
        good = False
    print(f"-- {time.perf_counter() - began:.0f} s, {'goals met' if good else 'MISSED A GOAL'}", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="only say what is run, and what is not")
    parser.add_argument("--only", default="", help="those whose name contains this")
    options = parser.parse_args()
    chosen = [command for command in QUICK if options.only in command]
    missed = [] if options.list else [command for command in chosen if not met(command)]
    print(f"\nRun: {', '.join(chosen)}.\nNot run, and quoted in:")
    for name, pages in others().items():
        own = (HERE / name).read_text("utf-8").partition("\n")[0].strip('"')
        print(f"  {name:<26}{', '.join(pages) or own}")
    print(f"Goals missed: {', '.join(missed) or 'none'}." if not options.list else "")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
