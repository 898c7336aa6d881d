"""Processor seconds from 100,000 items (3 factors, 5 numbers) to a problem that is checked; the goal is below 2."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import probewise as pw
from probewise.reading import read_table
from probewise.tables import Table
from probewise.writing import write_table


def items(rows: int, seed: int) -> Table:
    """Different rows of 12, 4 and 6 levels and of 101 values of each of 5 numbers."""
    rng = np.random.default_rng(seed)
    numbers = {f"x{j}": rng.integers(0, 101, 2 * rows) / 2.0 for j in range(5)}
    factors = {f"f{j}": rng.integers(0, count, 2 * rows) for j, count in enumerate((12, 4, 6))}
    table = np.column_stack([*factors.values(), *numbers.values()])
    kept = np.sort(np.unique(table, axis=0, return_index=True)[1])[:rows]
    words = [np.array([f"L{code}" for code in codes[kept]], dtype=object) for codes in factors.values()]
    return Table("items", (*factors, *numbers), (*words, *(column[kept] for column in numbers.values())))


def main(rows: int = 100_000) -> None:
    table = items(rows, seed=1)
    probes = table.rows(np.random.default_rng(2).choice(rows, 400, replace=False))
    with TemporaryDirectory() as folder:
        write_table(table, Path(folder) / "items.csv")
        start = time.process_time()
        read = read_table(Path(folder) / "items.csv")
        print(f"{time.process_time() - start:.2f} s to read {rows:,} rows of CSV")
    for model in ("main", "interactions"):
        for source, name in ((table, "typed columns"), (read, "cells of a CSV file")):
            start = time.process_time()
            problem = pw.Problem.from_tables(probes, source, model=model)
            coded = time.process_time() - start
            try:
                pw.BestItem().check(problem)
                said = "checked"
            except pw.InvalidProblem:
                said = "refused, as 400 probes lack some combination of levels"
            print(f"{coded:.2f} s to code, {time.process_time() - start:.2f} s with the check: {model}, {name}, {said}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
