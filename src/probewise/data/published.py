"""Tables that laboratories recorded and others published, one loader each; docs/stories.md tells what they show."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from probewise.data.source import Source, cache_folder, checked, fetch, keep, unpacked
from probewise.errors import DataUnavailable
from probewise.tables import Table, read_table

_SUZUKI = "olympus/datasets/dataset_suzuki/data.csv"
_CHEMBL = "rdkit/Contrib/FreeWilson/data/CHEMBL2321810"
_ARYLATION = "benchmarks/data/direct_arylation/data.csv"

SOURCES = {
    "suzuki": Source(
        "olymp",
        "0.0.1b0",
        "wheel",
        {_SUZUKI: "88e3c2613ee6238300f3b326c34d14dc3f76f0335a3e193cf423750146c819b6"},
        4.8,
        "MIT",
        "Häse and others, Olympus, 2020",
    ),
    "free_wilson": Source(
        "rdkit",
        "2026.9.1",
        "wheel",
        {
            f"{_CHEMBL}.smi": "3feff3aa19f16c7a3aa8695acddd442d1fb3d582485bb7fe8754e7b36dc1894f",
            f"{_CHEMBL}_act.csv": "e74db717fa4704befa07eb41ad4845fa437bf3c12eb2b6a854576dbd2e8819fa",
            f"{_CHEMBL}_scaffold.mol": "cc39cf572c5156f5f3684f600570e51c3932415bc65440a689513a7fba702499",
        },
        32,
        "BSD-3-Clause (rdkit); the data are ChEMBL's, CC BY-SA 3.0",
        "ChEMBL document CHEMBL2321810",
    ),
    "octane": Source(
        "bofire",
        "0.5.0",
        "wheel",
        {"bofire/benchmarks/data/octane.csv": "94cf3dbd3109d40b35f5c7c153813ebdca6b3d118c33304095cc2d2836a69d5d"},
        4.3,
        "BSD-3-Clause (bofire)",
        "npj Computational Materials 2025, article s41524-025-01552-2",
    ),
    "barley": Source(
        "vega_datasets",
        "0.9.0",
        "wheel",
        {"vega_datasets/_data/barley.json": "800faf5a0524e2145822a72af7821e153b80ad3433631f4bd30100b24c9fa2bc"},
        0.2,
        "MIT (vega_datasets)",
        "Immer, Hayes and Powers, Journal of the American Society of Agronomy 26, 1934",
    ),
    "arylation": Source(
        "baybe",
        "0.15.0",
        "sdist",
        {_ARYLATION: "0aac33253d799c2e5f978b2962c34f9b57ba4863dae408721cabe8fa815d74ea"},
        1.4,
        "Apache-2.0 (baybe)",
        "Shields and others, Nature 590, 2021",
    ),
}
"""Where each file is, what it must be, and whose it is."""


def suzuki() -> Table:
    """247 Suzuki couplings: temperature (°C), pd (mol%), arbpin and k3po4 (equivalents), yield (%)."""
    (path,) = fetch(SOURCES["suzuki"])
    names = ("temperature", "pd", "arbpin", "k3po4", "yield")
    return Table("suzuki", names, tuple(np.loadtxt(path, delimiter=",").T))


def octane() -> Table:
    """722 motor octane numbers (MON) of fuels (Label) by their percentage of 423 components, 366 of one alone."""
    (path,) = fetch(SOURCES["octane"])
    return read_table(path)


def barley() -> Table:
    """120 yields (bushels per acre) of 10 varieties of barley at 6 sites in 2 years: variety, site, year, yield."""
    (path,) = fetch(SOURCES["barley"])
    rows = json.loads(path.read_text())
    text = tuple([str(row[name]) for row in rows] for name in ("variety", "site", "year"))
    return Table("barley", ("variety", "site", "year", "yield"), (*text, np.array([row["yield"] for row in rows])))


def arylation() -> Table:
    """1728 direct arylations: Base, Ligand, Solvent, Concentration (M), Temp_C, yield (%)."""
    (path,) = fetch(SOURCES["arylation"])
    return read_table(path)


def free_wilson() -> Table:
    """628 inhibitors on one scaffold: compound, smiles, groups R1, R3 and R10, and activity pIC50.

    rdkit cuts the groups from the structures: the installed one, else that of the wheel, unpacked for the occasion.
    Only the small table is kept.
    """
    source, path = SOURCES["free_wilson"], cache_folder() / "rdkit" / "CHEMBL2321810_groups.csv"
    if not path.is_file():
        if importlib.util.find_spec("rdkit") is not None:
            table = _decomposed(fetch(source), None)
        else:
            with unpacked(source) as wheel:
                table = _decomposed(checked(source, wheel), wheel)
        keep(path, table)
    return read_table(path)


_DECOMPOSE = """
import json, sys
from rdkit import Chem, rdBase
from rdkit.Chem.rdRGroupDecomposition import RGroupDecompose
scaffold, *smiles = json.load(sys.stdin)
with rdBase.BlockLogs():
    groups, lost = RGroupDecompose(
        [Chem.MolFromMolFile(scaffold)], [Chem.MolFromSmiles(s) for s in smiles], asSmiles=True, asRows=False
    )
json.dump({"lost": list(lost), **{name: groups[name] for name in ("R1", "R3", "R10")}}, sys.stdout)
"""
"""Run by itself, since a wheel that is unpacked for a moment must not be imported into this process."""


def _decomposed(files: tuple[Path, ...], wheel: Path | None) -> bytes:
    """A CSV table of the compounds that have the scaffold."""
    structures = [line.split() for line in files[0].read_text().splitlines()]
    activity = dict(row for row in csv.reader(files[1].read_text().splitlines()[1:]))
    path = os.pathsep.join([*([str(wheel)] if wheel else []), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", _DECOMPOSE],
        input=json.dumps([str(files[2]), *(smiles for smiles, _ in structures)]),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    if done.returncode != 0:
        reason = (done.stderr.strip() or "it says nothing").splitlines()[-1].rstrip(".")
        raise DataUnavailable(f"rdkit could not cut the compounds into groups ({reason}); install rdkit and try again.")
    groups = json.loads(done.stdout)
    lost = set(groups["lost"])
    kept = [row for i, row in enumerate(structures) if i not in lost]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["compound", "smiles", "R1", "R3", "R10", "pIC50"])
    for row, (smiles, name) in enumerate(kept):
        writer.writerow([name, smiles, *(groups[site][row] for site in ("R1", "R3", "R10")), activity[name]])
    return out.getvalue().encode()
