from __future__ import annotations

import ast
import inspect
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import probewise as pw

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

HEAVY = (
    "cvxpy",
    "clarabel",
    "click",
    "matplotlib",
    "numba",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "psycopg",
    "sqlite3",
    "threadpoolctl",
    "starlette",
    "uvicorn",
    "argon2",
    "anyio",
    "asyncio",
)

# Promised parameters of each public name, those after * by keyword only; more keywords may be added.
PUBLIC = {
    "Problem": "probes items * sigma cost probe_names item_names",
    "BestItem": "delta epsilon minimise",
    "pairs": "items",
    "star": "items reference gaps",
    "points": "items",
    "explicit": "directions",
    "optimal_design": "probes directions * cost tol solver",
    "round_design": "weights n * probes method",
    "hardness": "problem theta * tol",
    "gauge": "probes y",
}
OTHERS = ("Design", "Allocation", "Hardness", "InvalidProblem", "instances")

# Where packages are served from; spelt in two halves so that this file does not name one.
REGISTRIES = tuple(
    ".".join(halves).encode() for halves in [("pypi", "org"), ("pythonhosted", "org"), ("anaconda", "org")]
)


def sources() -> list[Path]:
    return sorted((ROOT / "src").rglob("*.py"))


def files() -> list[Path]:
    """Every file of the repository, found without asking git: a source archive has the same ones."""
    folders = [ROOT / name for name in ("src", "tests", "docs", "benchmarks", ".ci", ".github")]
    below = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    made = {"__pycache__", "_build"}
    return [p for p in (*ROOT.iterdir(), *below) if p.is_file() and not made & set(p.parts)]


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, probewise; print(*sorted(set(sys.modules) & set({HEAVY})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_status_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    campaign = pw.Campaign.create(tmp_path / "a.campaign", pw.Problem(np.eye(3)), seed=0)
    campaign.tell(dict.fromkeys(campaign.ask()["measurement"], 0.5))
    code = (
        "import atexit, sys; atexit.register(lambda: print('loaded', *sys.modules)); "
        f"from probewise.cli import main; main(['status', {str(tmp_path / 'a.campaign')!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(done.stdout.partition("loaded ")[2].split())
    assert {"probewise.cli.status", "rich", "scipy.linalg", "sqlite3"} <= modules
    needless = {*HEAVY, "scipy.optimize", "scipy.sparse", "scipy.spatial", "scipy.stats", "asyncio"}
    needless -= {"click", "rich", "sqlite3", "threadpoolctl"}
    needless |= {"probewise.cli.ask", "probewise.simulation", "probewise.experiments", "probewise.campaign.report"}
    assert not needless & modules


def test_star_import_gives_the_public_names() -> None:
    namespace: dict[str, object] = {}
    exec("from probewise import *", namespace)
    assert set(PUBLIC) | set(OTHERS) <= set(namespace)
    assert set(pw.__all__) <= set(dir(pw))


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_keep_their_parameters(name: str) -> None:
    positional, _, keyword = (part.split() for part in PUBLIC[name].partition("*"))
    parameters = inspect.signature(getattr(pw, name)).parameters.values()
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == positional
    assert set(keyword) <= {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        pw.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", [*PUBLIC, *OTHERS])
def test_public_names_are_documented(name: str) -> None:
    public = getattr(pw, name)
    assert inspect.getdoc(public)
    where = "errors" if getattr(public, "__module__", "") == "probewise.errors" else name
    reference = "".join(page.read_text() for page in sorted(ROOT.glob("docs/reference/*.md")))
    assert re.search(rf"^\.\. auto\w+:: probewise\.{where}$", reference, flags=re.M)


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_fit_on_a_few_screens(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_versions_agree() -> None:
    assert re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[0] == VERSION
    assert re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.M) == [VERSION]
    assert pw.__version__ == VERSION


def test_no_file_names_a_registry() -> None:
    assert [path for path in files() if any(host in path.read_bytes() for host in REGISTRIES)] == []


def test_every_benchmark_is_run_or_named() -> None:
    """`make bench` runs a script with options that it knows, or says where its figures are quoted."""
    own = runpy.run_path(str(ROOT / "benchmarks" / "all.py"))
    run = [command.split() for command in own["QUICK"]]
    scripts = {path.name for path in (ROOT / "benchmarks").glob("[a-z]*.py")}
    assert {name for name, *_ in run} | {*own["others"](), "all.py"} == scripts
    for name, *options in run:
        text = (ROOT / "benchmarks" / name).read_text("utf-8")
        assert all(option in text for option in options if option.startswith("--")), name
    assert "docs/how-it-grows.md" in own["others"]()["growth.py"]


def test_every_decision_is_listed() -> None:
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (ROOT / "docs/decisions/README.md").read_text())
    assert listed == sorted(path.name for path in (ROOT / "docs/decisions").glob("[0-9]*.md"))


def test_mutants_are_made_of_every_module_of_a_guarantee_or_a_journal() -> None:
    tree = ast.parse((ROOT / "tests/mutants.py").read_text())
    assigned = [node for node in tree.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "TESTS"]
    table = ast.literal_eval(assigned[0].value)
    rooms = {"algorithms", "goals", "outcomes", "campaign"}
    below = [path.relative_to(ROOT / "src/probewise") for path in sources() if path.name != "__init__.py"]
    there = {f"{p.parts[0]}/{p.stem}" for p in below if p.parts[0] in rooms and "report" not in p.parts[:-1]}
    assert there == {name for name in table if name.partition("/")[0] in rooms}
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests").glob("test_*.py")}
    assert {name for names in table.values() for name in names} <= tests
