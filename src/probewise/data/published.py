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

from probewise.data.source import Published, cache_folder, checked, fetch, keep, unpacked
from probewise.errors import DataUnavailable
from probewise.reading import read_table
from probewise.tables import Table

_SUZUKI = "olympus/datasets/dataset_suzuki/data.csv"
_CHEMBL = "rdkit/Contrib/FreeWilson/data/CHEMBL2321810"
_ARYLATION = "benchmarks/data/direct_arylation/data.csv"
_RDKIT = (
    "7e698af579efd99cb452e2f697044775169c109527e8a43223d789cefa0788ad",
    "68b267ea0b5847a4de0d71823e0bb2002dffb80d929872aa66bbe8d0b40ec256",
    "03d09f957367eb4e9cb729ac191a43dbd0926f5ea6dcbf36b14682326130b92d",
    "2f1f85e12398fe77cd3eeb45ac2f248e793db569e478a2268337ce20b5c0d5e3",
    "8d9862403a1ca853c951e22d3c92e8449c8894b0dfebe397115ef67144134b14",
    "fb8e9196def0d5015b331398f6e64eaad2f18ff5518119d58f83e387274a5022",
    "c700cb37954d84bb864d8e02a55cff8b0f5ee6daff6d79a53a1cfe12459fa8c0",
    "fa4f8bed07bd6a49f71f49a579b99dc07cd45b9c66af8d5f133adb0a0876361e",
    "29b6176ace255989abde23d40d2187b5ed5effdb2f00dadaced24f181ab27046",
    "0a88d68482d5a3ef2a6faf0b036345bb1f4cca56667076e6aea8655adc5f73d9",
    "6b4b8b814d2190744c812c1f0b0d7fe4f029ade02ca444ed584261a254624ae9",
    "df99d496b7dad86bc5c1de4939bac4eb9996b20092778f467a53d9f0689a028a",
    "70dfa36cbf2efa387d7b7c928bccc896031bfdd7c473a97cdeb13f14cbccf58b",
    "03dc51323756b84e2a3f9b54c1e70c8db9a036b6906aa08e983eddcfff854a5c",
    "dc66f51773c52a057fc19c12b7931dbb8f5dc64c5e59caf789e4872b43c0c56a",
    "655cf6c4df7711254bb925b612af3d00f24f372e6461251f7db579fe9e1476ad",
    "af281ab95422998abe9925e158354a5077ff88ce10f0a5a45f0b42ad0a583451",
    "705168e6bc1e5b4374d6fbe86eb083a0ef4f3bc2ea0a70cb3347806d7a86faee",
    "eb9e644ceaefae059973a873ebc9288bb95ef831b69aad1c08114d8dc7170f37",
    "f773de20d192dd437a4d15794c03c0e33cc9d7900af05763cd8214e8ac98d2dd",
)
"""Wheels for Python 3.11 to 3.15, each for macOS (arm64), Linux (aarch64, x86_64) and Windows (amd64)."""

SOURCES = {
    "suzuki": Published(
        "olymp",
        "0.0.1b0",
        "wheel",
        ("d9aed9fd153c17631e343ea4f0524066398baae0ae1fe208b0d8f456d66142b4",),
        {_SUZUKI: "88e3c2613ee6238300f3b326c34d14dc3f76f0335a3e193cf423750146c819b6"},
        4.8,
        "MIT",
        "Häse and others, Olympus, 2020",
    ),
    "free_wilson": Published(
        "rdkit",
        "2026.9.1",
        "wheel",
        _RDKIT,
        {
            f"{_CHEMBL}.smi": "3feff3aa19f16c7a3aa8695acddd442d1fb3d582485bb7fe8754e7b36dc1894f",
            f"{_CHEMBL}_act.csv": "e74db717fa4704befa07eb41ad4845fa437bf3c12eb2b6a854576dbd2e8819fa",
            f"{_CHEMBL}_scaffold.mol": "cc39cf572c5156f5f3684f600570e51c3932415bc65440a689513a7fba702499",
        },
        32,
        "BSD-3-Clause (rdkit); the data are ChEMBL's, CC BY-SA 3.0",
        "ChEMBL document CHEMBL2321810",
    ),
    "octane": Published(
        "bofire",
        "0.5.0",
        "wheel",
        ("08ff798e3a0094a5ec4318dac594eda559dee87880dfda37a87dc8f85262812f",),
        {"bofire/benchmarks/data/octane.csv": "94cf3dbd3109d40b35f5c7c153813ebdca6b3d118c33304095cc2d2836a69d5d"},
        4.3,
        "BSD-3-Clause (bofire)",
        "npj Computational Materials 2025, article s41524-025-01552-2",
    ),
    "barley": Published(
        "vega_datasets",
        "0.9.0",
        "wheel",
        ("3d7c63917be6ca9b154b565f4779a31fedce57b01b5b9d99d8a34a7608062a1d",),
        {"vega_datasets/_data/barley.json": "800faf5a0524e2145822a72af7821e153b80ad3433631f4bd30100b24c9fa2bc"},
        0.2,
        "MIT (vega_datasets)",
        "Immer, Hayes and Powers, Journal of the American Society of Agronomy 26, 1934",
    ),
    "arylation": Published(
        "baybe",
        "0.15.0",
        "sdist",
        ("c74858b6daee8dfcbddbb4d2113d033d8179c6f82565d4e51cea8ca546fbdecb",),
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
