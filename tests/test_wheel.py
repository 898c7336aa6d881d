"""What ships: the wheel is built, installed in an empty environment, and must hold what users need and nothing more."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UNREACHABLE = ("Could not find a version", "No matching distribution", "Failed to establish", "Connection")


def ran(*command: str | Path, folder: Path) -> str:
    """What a command printed; where packages cannot be had, the test is skipped."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    if done.returncode and any(text in done.stderr for text in UNREACHABLE):
        pytest.skip(f"packages cannot be had here: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_the_package_and_nothing_else_and_works(tmp_path: Path) -> None:
    """Installed in an empty environment with what it asks for: the command, the example, a campaign and its report."""
    ran(sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", tmp_path, ROOT, folder=tmp_path)
    wheel = next(tmp_path.glob("probewise-*.whl"))
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "probewise").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if not name.split("/")[0].endswith(".dist-info")} == sources
    assert {"probewise/py.typed", "probewise/campaign/report/report.css"} <= names

    ran(sys.executable, "-m", "venv", tmp_path / "empty", folder=tmp_path)
    scripts = tmp_path / "empty" / ("Scripts" if os.name == "nt" else "bin")
    known = ROOT / "constraints.txt"
    ran(scripts / "python", "-m", "pip", "install", "-q", "-c", known, wheel, folder=tmp_path)
    command = scripts / "probewise"
    ran(command, "example", "lab", folder=tmp_path)
    tables = ("--probes", "lab/probes.csv", "--items", "lab/items.csv")
    ran(command, "new", "a.campaign", *tables, "--sigma", "3", "--seed", "1", folder=tmp_path)
    ran(command, "ask", "a.campaign", "--out", "ask.csv", folder=tmp_path)
    ran(command, "example-measure", "ask.csv", folder=tmp_path)
    assert "recorded" in ran(command, "tell", "a.campaign", "ask.csv", folder=tmp_path)
    ran(command, "report", "a.campaign", "--out", "report.html", folder=tmp_path)
    assert "<html" in (tmp_path / "report.html").read_text("utf-8")
