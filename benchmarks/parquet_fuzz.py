"""Change one byte of a Parquet file, many times: python benchmarks/parquet_fuzz.py [--changes 2000] [--seed 0].

A process that reads the files directly shows how often a reader crashes; every such file, and a sample of the others,
then goes through read_table, which must give a table or a sentence.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import probewise as pw
from probewise.reading import read_table

DIRECT = """
import sys
import {module} as library
for line in sys.stdin:
    try:
        library.{function}(line.strip())
        print("read", flush=True)
    except Exception:
        print("refused", flush=True)
"""


class Direct:
    """A process that reads files one after the other, started again when it crashes."""

    def __init__(self, module: str, function: str) -> None:
        self.code = DIRECT.format(module=module, function=function)
        self.process = self.start()

    def start(self) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", self.code]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(words, text=True, **pipes)

    def read(self, path: Path) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        if said := self.process.stdout.readline().strip():
            return said
        self.process.wait()
        self.process = self.start()
        return "crashed"


def files(folder: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    columns = {"id": [f"probe {i}" for i in range(200)], "x": rng.normal(size=200), "n": list(range(200))}
    frame = pl.DataFrame({**columns, "kind": ["a", "b", None, "d"] * 50, "on": [True, False] * 100})
    paths = []
    for compression in ("uncompressed", "snappy", "zstd"):
        paths.append(folder / f"polars-{compression}.parquet")
        frame.write_parquet(paths[-1], compression=compression)
    paths.append(folder / "arrow.parquet")
    pq.write_table(pa.table(columns), paths[-1])
    return paths


def through(path: Path) -> str:
    try:
        read_table(path)
        return "a table"
    except pw.InvalidProblem as error:
        if "\n" in str(error):
            return "more than a sentence"
        return "a sentence: its reader crashed" if "its reader crashed" in str(error) else "a sentence: another reason"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=2000)
    parser.add_argument("--sample", type=int, default=40, help="Files that do not crash a reader, also read.")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, crashing, calm = np.random.default_rng(options.seed), [], []
    seen = {name: Counter[str]() for name in ("polars", "pyarrow")}
    readers = {"polars": Direct("polars", "read_parquet"), "pyarrow": Direct("pyarrow.parquet", "read_table")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = [path.read_bytes() for path in files(folder)]
        for change in range(options.changes):
            content = sources[change % len(sources)]
            at = int(rng.integers(len(content)))
            path = folder / f"{change}.parquet"
            path.write_bytes(content[:at] + bytes([content[at] ^ int(rng.integers(1, 256))]) + content[at + 1 :])
            said = {reader: direct.read(path) for reader, direct in readers.items()}
            for reader, word in said.items():
                seen[reader][word] += 1
            (crashing if said["polars"] == "crashed" else calm).append(path)
        for reader, counts in seen.items():
            print(f"{reader} in its own process, {options.changes} files with one changed byte: {dict(counts)}")
        print(f"read_table, the {len(crashing)} that crash polars:", dict(Counter(map(through, crashing))))
        print(f"read_table, {options.sample} of the others:", dict(Counter(map(through, calm[: options.sample]))))


if __name__ == "__main__":
    main()
