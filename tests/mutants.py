"""Small harmful changes to the sources, each of which the tests next to it must notice: ``make mutants``.

A mutant is one change of one place: a comparison turned round, a constant, a sign, a lost statement, δ not divided, σ
for σ². From each module a sample is drawn by a fixed seed. A mutant is put into a copy of src/, never into src/, and
the test files of its module run on the copy until the first failure. Mutants that nobody can notice are judged in
tests/mutants_judged.json, each with a reason; all others that survive are listed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]
JUDGED = ROOT / "tests/mutants_judged.json"
SEED = 20190621
SAMPLE = 10
"""Mutants of a module, unless told otherwise."""
WANTED = 0.95
"""Share of the mutants, those judged harmless left out, that must be caught."""

TESTS: dict[str, tuple[str, ...]] = {
    "confidence": ("confidence", "guarantees", "unknown_sigma", "sage"),
    "elimination": ("guarantees", "elimination"),
    "estimate": ("estimate", "guarantees"),
    "adequacy": ("guarantees", "adequacy"),
    "theory": ("theory",),
    "rounding": ("rounding",),
    "design/certificate": ("certificate",),
    "algorithms/knowledge": ("guarantees", "sage", "unknown_sigma", "batches"),
    "algorithms/sage": ("guarantees", "sage", "batches", "stock", "forecast"),
    "algorithms/batches": ("batches",),
    "algorithms/prior": ("guarantees", "sage"),
    "algorithms/rage": ("guarantees", "rage", "contract"),
    "algorithms/alba": ("guarantees", "alba", "contract"),
    "algorithms/explore_verify": ("guarantees", "explore_verify", "contract"),
    "algorithms/xy_adaptive": ("guarantees", "xy_adaptive", "contract"),
    "algorithms/growing": ("guarantees", "static", "contract"),
    "algorithms/lingape": ("guarantees", "lingape", "compiled", "contract"),
    "campaign/ledger": ("campaign", "campaign_histories"),
    "campaign/replay": ("campaign", "campaign_histories"),
    "campaign/records": ("campaign_storage", "campaign"),
    "campaign/lines": ("campaign_storage",),
    "campaign/sql": ("campaign_storage",),
    "campaign/storage": ("campaign_storage", "campaign"),
    "campaign/numbers": ("numbers", "guarantees"),
    "campaign/status": ("campaign", "cli_campaign", "report"),
    "campaign/told": ("campaign", "cli_campaign"),
    "campaign/entry": ("campaign", "cli_campaign"),
    "campaign/appraisal": ("numbers", "guarantees"),
    "simulation/engine": ("simulation",),
    "simulation/environment": ("simulation",),
    "simulation/journal": ("simulation",),
}
"""Module -> its test files, the fastest first."""


@dataclass(frozen=True)
class Mutant:
    """One change."""

    module: str
    place: str
    """Function or class."""
    line: int
    kind: str
    """What sort of change."""
    statement: str
    """The statement around it."""
    old: str
    new: str

    @property
    def key(self) -> str:
        """What it is called among the judged: without its line, which moves."""
        return f"{self.module}: {self.place}: {self.old} -> {self.new} in {self.statement}"


NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
EDGES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "any": "all",
    "all": "any",
    "ceil": "floor",
    "floor": "ceil",
    "log1p": "log",
    "takewhile": "filter",
    "tell": "take",
    "take": "tell",
}
IDENTITIES = ("sqrt", "abs", "spent", "sort", "reversed", "sorted", "ceil", "unit_whitener")
"""Functions that a mutant leaves out, keeping their first argument: σ for σ², δ for its share."""
DROPPED = ("sigma", "cost", "since", "magnitudes", "noise", "leader", "after", "replicates", "budget")
"""Keywords that a mutant forgets."""
FACTORS = {"delta": "2.0 * {}", "epsilon": "0.0 * {}", "sigma": "{} ** 2", "n_items": "({} - 1)", "alpha": "2.0 * {}"}
"""Quantities of the guarantee that a mutant gets wrong."""


class Collector(ast.NodeVisitor):
    """Every (node, replacement, kind) of a module, with the function around it."""

    def __init__(self) -> None:
        self.place: list[str] = []
        self.statement: ast.AST | None = None
        self.found: list[tuple[ast.AST, ast.AST, str, str, ast.AST | None]] = []

    def add(self, node: ast.AST, new: ast.AST, kind: str) -> None:
        self.found.append((node, new, kind, ".".join(self.place) or "module", self.statement))

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self.statement = node
        ast.NodeVisitor.visit(self, node)

    def inside(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        self.place.append(node.name)
        for child in node.body:
            self.visit(child)
        if isinstance(node, ast.FunctionDef):
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                self.visit(default)
        self.place.pop()

    visit_ClassDef = inside  # noqa: N815
    visit_FunctionDef = inside  # noqa: N815

    def visit_Import(self, node: ast.AST) -> None:
        return

    visit_ImportFrom = visit_Assert = visit_JoinedStr = visit_Import  # noqa: N815

    def visit_Raise(self, node: ast.Raise) -> None:
        self.add(node, ast.Pass(), "statement dropped")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add(node, ast.Pass(), "statement dropped")
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(node, ast.Pass(), "statement dropped")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        first = type(node.ops[0])
        self.add(node, ast.Compare(node.left, [NEGATED[first](), *node.ops[1:]], node.comparators), "comparison")
        sides = (node.left, *node.comparators)
        whole = any(isinstance(side, ast.Constant) and type(side.value) is int for side in sides)
        if first in EDGES and whole:
            self.add(node, ast.Compare(node.left, [EDGES[first](), *node.ops[1:]], node.comparators), "edge")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.add(node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values), "and, or")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.add(node, node.operand, "sign or not")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in OPERATIONS and not any(map(_is_text, (node.left, node.right))):
            self.add(node, ast.BinOp(node.left, OPERATIONS[type(node.op)](), node.right), "operation")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add(node, ast.Constant(not node.value), "constant")
        elif isinstance(node.value, int):
            self.add(node, ast.Constant(node.value + 1), "constant")
        elif isinstance(node.value, float):
            self.add(node, ast.Constant(2.0 * node.value if node.value else 1.0), "constant")

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in IDENTITIES and node.args:
            self.add(node, node.args[0], "function left out")
        if name in NAMES:
            func = copy.copy(node.func)
            setattr(func, "id" if isinstance(func, ast.Name) else "attr", NAMES[name])
            self.add(node, ast.Call(func, node.args, node.keywords), "function")
        for keyword in node.keywords:
            if keyword.arg in DROPPED:
                rest = [other for other in node.keywords if other is not keyword]
                self.add(node, ast.Call(node.func, node.args, rest), "argument forgotten")
        if name == "replace" and isinstance(node.func, ast.Name) and node.args and node.keywords:
            self.add(node, node.args[0], "state unchanged")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load) and node.attr in FACTORS:
            self.add(node, ast.parse(FACTORS[node.attr].format(ast.unparse(node)), mode="eval").body, "quantity")
        self.generic_visit(node)


def _is_text(node: ast.AST) -> bool:
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)


def mutants(module: str) -> Iterator[tuple[Mutant, str]]:
    """Every mutant of a module, with its whole text."""
    path = ROOT / f"src/probewise/{module}.py"
    tree = ast.parse(path.read_text())
    collector = Collector()
    collector.visit(tree)
    for node, new, kind, place, statement in collector.found:
        text = ast.unparse(_Swap(node, new).visit(tree))
        around = ast.unparse(statement).partition("\n")[0] if statement is not None else ""
        changes = _short(around), _short(ast.unparse(node)), _short(ast.unparse(new))
        yield Mutant(module, place, getattr(node, "lineno", 0), kind, *changes), text


class _Swap(ast.NodeTransformer):
    """A tree with one node replaced; the tree it was given stays as it was."""

    def __init__(self, node: ast.AST, new: ast.AST) -> None:
        self.node, self.new = node, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.node:
            return self.new
        fresh = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(fresh, name, [self.visit(part) if isinstance(part, ast.AST) else part for part in value])
            elif isinstance(value, ast.AST):
                setattr(fresh, name, self.visit(value))
        return fresh


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 150 else f"{line[:100]} … {line[-45:]}"


def sample(module: str, size: int) -> list[tuple[Mutant, str]]:
    """So many mutants of a module, as evenly over the kinds as there are, always the same."""
    rng, kinds = random.Random(f"{SEED} {module}"), defaultdict(list)
    for found in mutants(module):
        kinds[found[0].kind].append(found)
    for group in kinds.values():
        rng.shuffle(group)
    turns = sorted((place, rng.random(), found) for group in kinds.values() for place, found in enumerate(group))
    return [found for _, _, found in turns[:size]]


def tests_of(module: str) -> list[str]:
    """The test files of a module that are there."""
    files = [ROOT / f"tests/test_{name}.py" for name in TESTS[module]]
    return [str(file) for file in files if file.exists()]


def run(source: Path, module: str, limit: float) -> str:
    """Run the tests of a module on the sources in a folder: caught, time-out or survived."""
    environment = os.environ | {
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(source / "hypothesis"),
        **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        "MPLBACKEND": "Agg",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    process = subprocess.Popen(
        [*command, *tests_of(module)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )
    try:
        out, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return "time-out"
    if process.returncode not in (0, 1, 2, 4):
        return f"caught: exit {process.returncode}"
    if process.returncode == 0:
        return "survived"
    failed = next((line for line in out.splitlines()[::-1] if line.startswith(("FAILED", "ERROR"))), "collection")
    return f"caught: {_short(failed.removeprefix('FAILED ').removeprefix('ERROR '))}"


def fresh(folder: Path) -> Path:
    """A copy of src/ to spoil."""
    shutil.copytree(ROOT / "src", folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def checked(module: str, source: Path) -> float:
    """Seconds that the tests of a module take on sound sources; they must pass there, and read the copy."""
    began = time.monotonic()
    outcome = run(source, module, 1800.0)
    assert outcome == "survived", f"the tests of {module} fail without any change: {outcome}"
    seconds = time.monotonic() - began
    path = source / f"probewise/{module}.py"
    text = path.read_text()
    path.write_text("raise SystemExit\n")
    assert run(source, module, 1800.0) != "survived", f"the tests of {module} do not read the copy"
    path.write_text(text)
    return seconds


def tried(
    chosen: list[tuple[Mutant, str]], module: str, limit: float, workers: Queue[Path]
) -> Iterator[tuple[Mutant, str]]:
    """Each mutant and what became of it."""

    def one(found: tuple[Mutant, str]) -> tuple[Mutant, str]:
        mutant, text = found
        folder = workers.get()
        path = folder / f"probewise/{module}.py"
        sound = path.read_text()
        try:
            path.write_text(text)
            return mutant, run(folder, module, limit)
        finally:
            path.write_text(sound)
            workers.put(folder)

    with ThreadPoolExecutor(workers.qsize()) as pool:
        yield from pool.map(one, chosen)


def main() -> int:
    """Run the sample of some modules, or of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("modules", nargs="*", default=[*TESTS], help="such as confidence or campaign/lines")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants of each module")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"), help="one line of JSON for each mutant")
    given = parser.parse_args()
    judged = json.loads(JUDGED.read_text()) if JUDGED.exists() else {}
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary, given.out.open("w") as lines:
        workers: Queue[Path] = Queue()
        for number in range(given.workers):
            workers.put(fresh(Path(temporary) / f"src{number}"))
        spare = fresh(Path(temporary) / "sound")
        print(f"{'module':<28}{'mutants':>8}{'caught':>8}{'judged':>8}{'survived':>10}{'seconds':>9}", flush=True)
        for module in given.modules:
            began, counts = time.monotonic(), Counter()
            found = sample(module, given.sample)
            for mutant, _ in found:
                if mutant.key in judged:
                    counts["judged"] += 1
                    lines.write(json.dumps(asdict(mutant) | {"outcome": f"judged: {judged[mutant.key]}"}) + "\n")
            chosen = [one for one in found if one[0].key not in judged]
            limit = 20.0 + 4.0 * checked(module, spare)
            for mutant, outcome in tried(chosen, module, limit, workers):
                counts["survived" if outcome == "survived" else "caught"] += 1
                lines.write(json.dumps(asdict(mutant) | {"outcome": outcome}) + "\n")
                lines.flush()
                if outcome == "survived":
                    print(f"  survived: line {mutant.line}, {mutant.key}", flush=True)
            totals.update(counts)
            seconds = time.monotonic() - began
            row = (len(found), counts["caught"], counts["judged"], counts["survived"], round(seconds))
            print(f"{module:<28}{row[0]:>8}{row[1]:>8}{row[2]:>8}{row[3]:>10}{row[4]:>9}", flush=True)
    tried_in_all = totals["caught"] + totals["survived"]
    share = totals["caught"] / max(1, tried_in_all)
    print(f"{totals['caught']} of {tried_in_all} caught ({share:.1%}); {totals['judged']} judged harmless.")
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
