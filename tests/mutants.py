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
import hashlib
import json
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TextIO

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
os.environ |= {"MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"}
sys.dont_write_bytecode = True
# what every run needs is loaded once: runs are forks
import hypothesis.stateful  # noqa: E402, F401
import numpy  # noqa: E402, F401
import pytest  # noqa: E402
import scipy.optimize  # noqa: E402
import scipy.stats  # noqa: E402, F401

ROOT = Path(__file__).parents[1]
JUDGED = ROOT / "tests/mutants_judged.json"
SEED = 20190621
SAMPLE = 6
"""Mutants of a module, unless told otherwise."""
SLOW = (
    "system_call_that_fails",
    "forged_journals",
    "cut_journals",
    "errs_exactly",
    "authors",
    "postgresql",
    "server",
    "errors_are_r",
    "while_others_write",
    "kill_while_writing",
    "wealth_of_the_truth",
    "fewer_measurements_than",
    "error_rate",
    "whoever_plans_by",
    "intervals_hold_for_all",
    "holds_at_all_times",
    "costs_little",
    "hold_what_they_promise",
    "as_many_as_it_does",
    "limits_are_kept_and",
)
"""Parts of names of tests that take long and find what others find sooner."""
LONGEST = 900.0
"""Seconds, by the clock, after which a run is ended whatever it does."""
WANTED = 0.95
"""Share of the mutants, those judged harmless left out, that must be caught."""

TESTS: dict[str, tuple[str, ...]] = {
    "confidence": ("confidence", "guarantees"),
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
    "algorithms/rage": ("guarantees", "rage"),
    "algorithms/alba": ("guarantees", "alba"),
    "algorithms/explore_verify": ("guarantees", "explore_verify"),
    "algorithms/xy_adaptive": ("guarantees", "xy_adaptive"),
    "algorithms/growing": ("guarantees", "static"),
    "algorithms/lingape": ("guarantees", "lingape"),
    "campaign/ledger": ("campaign_faults", "campaign"),
    "campaign/replay": ("campaign",),
    "campaign/charter": ("campaign_faults", "campaign"),
    "campaign/sheet": ("campaign", "sheets"),
    "campaign/plan": ("campaign", "sheets"),
    "campaign/news": ("campaign",),
    "campaign/records": ("campaign_faults", "campaign"),
    "campaign/bodies": ("campaign_faults", "campaign"),
    "campaign/chain": ("campaign_storage", "campaign", "verify_backup"),
    "campaign/lines": ("campaign_lines", "campaign_storage"),
    "campaign/sqlite": ("campaign_sqlite", "campaign_storage"),
    "campaign/tables": ("campaign_storage", "campaign_sqlite"),
    "campaign/storage": ("campaign_storage", "campaign_sqlite"),
    "campaign/verify": ("verify_backup",),
    "campaign/backup": ("verify_backup",),
    "campaign/numbers": ("numbers", "guarantees"),
    "campaign/status": ("campaign",),
    "campaign/told": ("campaign",),
    "campaign/entry": ("campaign", "sheets"),
    "campaign/appraisal": ("numbers", "guarantees"),
    "simulation/engine": ("simulation",),
    "simulation/environment": ("simulation",),
    "simulation/journal": ("simulation",),
}
"""Package and module, in whichever room of the package it lives -> its test files, the fastest first."""


def file_of(module: str) -> str:
    """The file of a module below src/."""
    package, _, name = f"probewise/{module}".rpartition("/")
    found = [path.relative_to(ROOT / "src") for path in (ROOT / "src" / package).rglob(f"{name}.py")]
    near = [path for path in found if str(path.parent) == package] or found
    assert len(near) == 1, f"{module} is one of {len(near)} files below src/{package}."
    return str(near[0])


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

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if not (isinstance(node.type, ast.Name) and node.type.id == "ImportError"):  # what another system needs
            self.generic_visit(node)

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
        if type(node.op) in OPERATIONS and not any(map(_is_no_number, (node.left, node.right))):
            self.add(node, ast.BinOp(node.left, OPERATIONS[type(node.op)](), node.right), "operation")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in ("strict", "repr", "compare"):
            self.visit(node.value)

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


def _is_no_number(node: ast.AST) -> bool:
    """Whether a node is a text, a list or a type, which + and | join."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes | None)
    name = node.value if isinstance(node, ast.Subscript) else node
    types = ("bool", "int", "float", "str", "bytes", "list", "dict", "tuple")
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.Dict) or ast.unparse(name) in types


Found = tuple[Mutant, Callable[[], str]]
"""A mutant, and what makes the whole text of its module."""


def mutants(module: str) -> Iterator[Found]:
    """Every mutant of a module."""
    tree = ast.parse((ROOT / "src" / file_of(module)).read_text())
    collector = Collector()
    collector.visit(tree)
    for node, new, kind, place, statement in collector.found:
        around = ast.unparse(statement).partition("\n")[0] if statement is not None else ""
        changes = _short(around), _short(ast.unparse(node)), _short(ast.unparse(new))
        swap = _Swap(node, new)
        yield (
            Mutant(module, place, getattr(node, "lineno", 0), kind, *changes),
            lambda swap=swap: ast.unparse(swap.visit(tree)),
        )


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


def sample(module: str, size: int) -> list[Found]:
    """So many mutants of a module, as evenly over the kinds as there are; changes elsewhere leave the choice alone."""
    kinds: dict[str, list[tuple[str, Found]]] = defaultdict(list)
    for found in mutants(module):
        kinds[found[0].kind].append((hashlib.sha256(f"{SEED} {found[0].key}".encode()).hexdigest(), found))
    ordered = [sorted(group, key=lambda one: one[0]) for group in kinds.values()]
    turns = [(place, mark, found) for group in ordered for place, (mark, found) in enumerate(group)]
    return [found for _, _, found in sorted(turns, key=lambda turn: turn[:2])[:size]]


def tests_of(module: str) -> list[str]:
    """The test files of a module that are there."""
    files = [ROOT / f"tests/test_{name}.py" for name in TESTS[module]]
    return [str(file) for file in files if file.exists()]


def start(source: Path, module: str, seconds: float) -> int:
    """Run the tests of a module on the sources in a folder, in a process of its own with so much time; its number."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
        out = os.open(source / "out.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(ROOT)
        os.environ |= {"PYTHONPATH": str(source), "HYPOTHESIS_STORAGE_DIRECTORY": str(source / "hypothesis")}
        sys.path.insert(0, str(source))
        code = int(pytest.main([*OPTIONS, "-k", f"not ({' or '.join(SLOW)})", *tests_of(module)]))
        probewise = sys.modules.get("probewise")  # absent if the mutant cannot be imported
        if probewise is not None and not str(probewise.__file__).startswith(str(source)):
            code = 71
    finally:
        os._exit(code)


OPTIONS = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--no-header", "--assert=plain")


def ended(child: int, source: Path, limit: float) -> str | None:
    """What became of a run: caught, time-out or survived; None while it goes on."""
    done, status = os.waitpid(child, os.WNOHANG)
    if not done and time.monotonic() < limit:
        return None
    if not done:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "time-out"
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return "survived"
    assert code != 71, f"the tests did not read the copy in {source}"
    lines = (source / "out.txt").read_text(errors="replace").splitlines()
    failed = next((line for line in lines[::-1] if line.startswith(("FAILED", "ERROR"))), f"exit {code}")
    return f"caught: {_short(failed.removeprefix('FAILED ').removeprefix('ERROR '))}"


def fresh(folder: Path) -> Path:
    """A copy of src/ to spoil."""
    shutil.copytree(ROOT / "src", folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def checked(module: str, source: Path) -> float:
    """Seconds of a processor that the tests of a module take on sound sources, where they must pass."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    child = start(source, module, LONGEST)
    while (outcome := ended(child, source, time.monotonic() + LONGEST)) is None:
        time.sleep(0.05)
    assert outcome == "survived", f"the tests of {module} fail without any change: {outcome}"
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def tried(chosen: list[Found], module: str, seconds: float, folders: list[Path]) -> Iterator[tuple[Mutant, str]]:
    """Each mutant and what became of it, one in each folder at a time."""
    file = file_of(module)
    sound = (folders[0] / file).read_text()
    waiting, running = chosen[::-1], {}
    while waiting or running:
        for folder in folders:
            path = folder / file
            if folder in running:
                mutant, child, limit = running[folder]
                if (outcome := ended(child, folder, limit)) is not None:
                    del running[folder]
                    path.write_text(sound)
                    yield mutant, outcome
            elif waiting:
                mutant, text = waiting.pop()
                path.write_text(text())
                running[folder] = mutant, start(folder, module, seconds), time.monotonic() + LONGEST
        time.sleep(0.05)


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
        folders = [fresh(Path(temporary) / f"src{number}") for number in range(given.workers)]
        print(f"{'module':<28}{'mutants':>8}{'caught':>8}{'judged':>8}{'survived':>10}{'seconds':>9}", flush=True)
        for module in given.modules:
            totals += one_module(module, given.sample, judged, folders, lines)
    tried_in_all = totals["caught"] + totals["survived"]
    share = totals["caught"] / max(1, tried_in_all)
    print(f"{totals['caught']} of {tried_in_all} caught ({share:.1%}); {totals['judged']} judged harmless.")
    return 0 if share >= WANTED else 1


def one_module(module: str, size: int, judged: dict[str, str], folders: list[Path], lines: TextIO) -> Counter[str]:
    """Try the sample of a module, note each outcome and print a line of the table."""
    began, counts, found = time.monotonic(), Counter[str](), sample(module, size)
    outcomes = [(mutant, f"judged: {judged[mutant.key]}") for mutant, _ in found if mutant.key in judged]
    chosen = [one for one in found if one[0].key not in judged]
    seconds = 10.0 + 3.0 * checked(module, folders[0])
    for mutant, outcome in chain(outcomes, tried(chosen, module, seconds, folders)):
        kind = outcome.partition(":")[0].replace("time-out", "caught")
        counts[kind] += 1
        lines.write(json.dumps(asdict(mutant) | {"outcome": outcome}, ensure_ascii=False) + "\n")
        lines.flush()
        if kind == "survived":
            print(f"  survived: line {mutant.line}, {mutant.key}", flush=True)
    row = (len(found), counts["caught"], counts["judged"], counts["survived"], round(time.monotonic() - began))
    print(f"{module:<28}{row[0]:>8}{row[1]:>8}{row[2]:>8}{row[3]:>10}{row[4]:>9}", flush=True)
    return counts


if __name__ == "__main__":
    sys.exit(main())
