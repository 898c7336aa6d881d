"""Parquet files, read in another process: one changed byte can crash the libraries that read them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from probewise.errors import InvalidProblem, MissingExtra

READERS = (("polars", "read_parquet"), ("pyarrow.parquet", "read_table"), ("pandas", "read_parquet"))
"""Modules and functions, the first that is there first."""
NO_READER, REFUSED = 3, 4
"""Exit codes of the other process: the reader lacks a part; it gave a reason in a sentence."""
SECONDS, MEMORY = 60, 4 << 30
"""What reading may take, besides what the size of the file allows: seconds, and bytes of memory."""

_CHILD = """
import json, sys
limit, *paths = json.loads(sys.argv[1])
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
except (ImportError, ValueError, OSError):
    pass  # a system without such limits; the time is limited everywhere
sys.path[:] = paths
from probewise.reading import hand_over
hand_over(*sys.argv[2:])
"""


def handed_over(path: Path) -> dict[str, NDArray[np.generic]]:
    """What ``reading.hand_over`` made of a file, in a process of its own."""
    for module, function in READERS:
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            continue
        with TemporaryDirectory() as folder:
            out = Path(folder) / "columns.npz"
            done = _run(path, module, function, str(path), str(out))
            if done.returncode == NO_READER:
                continue
            if done.returncode == 0 and out.is_file():
                with np.load(out, allow_pickle=False) as parts:
                    return dict(parts)
        # 1 is an exception elsewhere, whose last line says what
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reason = (
            said[-1].rstrip(".")
            if done.returncode in (1, REFUSED) and said
            else "it is damaged, and its reader crashed"
        )
        raise _unreadable(path, reason)
    raise MissingExtra(f"reading {path.name} needs polars; install probewise[parquet] or save the table as CSV.")


def _run(path: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    size = path.stat().st_size
    seconds = SECONDS + size / 1e6
    about = json.dumps([MEMORY + 50 * size, *sys.path])
    command = [sys.executable, "-P", "-c", _CHILD, about, *words]
    few = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")  # each takes memory
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, env={**few, **os.environ}
        )
    except subprocess.TimeoutExpired:
        raise _unreadable(path, f"its reader was not done after {seconds:.0f} s") from None


def _unreadable(path: Path, reason: str) -> InvalidProblem:
    return InvalidProblem(f"{path.name} cannot be read as a Parquet file: {reason}.")
