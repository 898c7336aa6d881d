"""The example of the quick start: two small tables of our own, and a make-believe laboratory that knows the truth.

With which ligand, in which solvent and at which temperature (°C) should the plant run a coupling? The laboratory can
try 48 combinations in sealed vials; the plant takes no DMF and stays below the boiling point of the solvent.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from probewise.cells import csv_lines
from probewise.errors import InvalidTable
from probewise.files import new_file
from probewise.problem import Problem
from probewise.reading import read_table
from probewise.tables import named

SIGMA = 3.0
"""Standard deviation of the yield of one run, in percentage points."""
TABLES = ("items.csv", "probes.csv")
_LIGANDS = {"PPh3": 30.0, "dppf": 38.0, "SPhos": 44.0, "XPhos": 51.0}
_SOLVENTS = {"THF": 0.0, "ethanol": 2.0, "toluene": -3.0, "DMF": 9.0}
_PER_DEGREE = 0.45
_NOT_CSV = (".xlsx", ".ods", ".parquet")


def example_path(name: str) -> Path:
    """Where a table of the example is installed: "items.csv" or "probes.csv"."""
    if name not in TABLES:
        raise InvalidTable(f"the example has the tables {named(TABLES)}, got '{name}'.")
    return Path(__file__).with_name("quickstart") / name


def copy_example(directory: str | Path) -> tuple[Path, ...]:
    """Copy both tables into a folder, which is made if need be; a file that is there and differs is left alone."""
    folder = Path(directory)
    pairs = [(example_path(name), folder / name) for name in TABLES]
    for source, target in pairs:
        if target.exists() and not (target.is_file() and target.read_bytes() == source.read_bytes()):
            raise InvalidTable(f"{target} is there already and is not the example; choose another folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, target in pairs:
            target.write_bytes(source.read_bytes())
    except OSError as error:
        raise InvalidTable(f"{folder} cannot be written ({error.strerror}); choose another folder.") from None
    return tuple(target for _, target in pairs)


def fill_outcomes(ask_csv: str | Path, out_csv: str | Path, seed: int = 0) -> int:
    """Fill in the empty outcomes of a table of the example and return their number.

    The noise of a row is fixed by the seed and the id of the measurement: filled twice, the outcomes are the same.
    """
    if Path(ask_csv).suffix.casefold() in _NOT_CSV:
        raise InvalidTable(f"the laboratory of the example fills in CSV files, got {ask_csv}; ask for a .csv.")
    table = read_table(ask_csv)
    # a campaign may call its outcomes as it likes; they follow the replicates
    own = table.header[table.header.index("replicate") + 1 :] if "replicate" in table.header else ()
    heading = own[0] if own and "outcome" not in table.header else "outcome"
    outcomes = [str(cell) for cell in table.column(heading)]
    ids, probes = table.text("measurement"), table.text("probe")
    means = true_yields("probes.csv")
    if strangers := sorted(set(probes) - set(means)):
        raise InvalidTable(f"{table.name} asks for {named(strangers)}, which the example does not have; make it anew.")
    filled = [
        cell or f"{means[probe] + SIGMA * _noise(seed, name):.2f}"
        for cell, probe, name in zip(outcomes, probes, ids, strict=True)
    ]
    cells = [filled if name == heading else [str(cell) for cell in table.column(name)] for name in table.header]
    with new_file(out_csv) as file:
        file.writelines(csv_lines([table.header, *zip(*cells, strict=True)]))
    return sum(not cell for cell in outcomes)


def true_yields(name: str) -> dict[str, float]:
    """The mean yield of each row of a table of the example, which only its laboratory knows."""
    path = example_path(name)
    table, names = read_table(path), Problem.from_tables(path).probe_names
    rows = zip(table.text("ligand"), table.text("solvent"), table.numbers("temperature").tolist(), strict=True)
    means = (_LIGANDS[ligand] + _SOLVENTS[solvent] + _PER_DEGREE * (heat - 60.0) for ligand, solvent, heat in rows)
    return dict(zip(names, means, strict=True))


def _noise(seed: int, name: str) -> float:
    """A standard normal number that depends on the seed and the name alone."""
    key = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return float(np.random.default_rng(int.from_bytes(key)).normal())
