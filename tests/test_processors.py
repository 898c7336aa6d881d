"""A table has many rounds that are equally good: the same is chosen whatever kernels a processor is given."""

import json
import os
import platform
import subprocess
import sys

import pytest

ASKED = """
import json, os, sys, tempfile
from pathlib import Path
import numpy as np
from click.testing import CliRunner
import probewise as pw
from probewise.cli import main
LINES = [
    "example lab",
    "new lab/c.campaign --probes lab/probes.csv --items lab/items.csv --sigma 3 --seed 2",
    "ask lab/c.campaign --out lab/first.csv",
    "example-measure lab/first.csv",
    "tell lab/c.campaign lab/first.csv",
    "ask lab/c.campaign --out lab/second.csv",
]
levels = {"ligand": ["A", "B", "C", "D"], "solvent": ["x", "y", "z"], "temperature": [60, 80, 100]}
table = pw.space(levels)
problem, sage, goal = pw.Problem.from_tables(table, table), pw.Sage(max_batch=8), pw.BestItem()
counts = sage.ask(problem, goal, sage.init(problem, goal), np.random.default_rng(0))
found = [counts.tolist(), sage.limits.batch(counts, np.zeros_like(counts), problem.scaled_probes).tolist()]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for line in LINES:
        done = CliRunner().invoke(main, line.split())
        assert done.exit_code == 0, done.output
    found += [Path(name).read_text() for name in ("lab/first.csv", "lab/second.csv")]
    os.chdir("/")
json.dump(found, sys.stdout)
"""


def asked(kernels: str) -> list[list[int] | str]:
    own = {"OPENBLAS_CORETYPE": kernels, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", ASKED], env=os.environ | own, check=True, text=True, capture_output=True
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the kernels named here are for x86-64")
def test_every_processor_asks_for_the_same():
    assert asked("Nehalem") == asked("Sandybridge") == asked("Haswell")
