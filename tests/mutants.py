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
from collections.abc import Callable, Iterable, Iterator, Sequence
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
SAMPLE = 4
"""Mutants of a module, unless told otherwise."""
SLOW = (
    "system_call_that_fails",
    "forged_journals",
    "cut_journals",
    "errs_exactly",
    "authors_figures",
    "authors_variant",
    "authors_run",
    "authors_oracle",
    "authors_code",
    "errors_are_r",
    "while_others_write",
    "kill_while_writing",
    "killed_twenty_times",
    "stops_in_the_middle",
    "lock_that_is_held",
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
    "near_duplicate_does_not",
    "takes_no_memory_until",
    "refuses_before_it_writes",
    "far_above_the_oracle",
    "dask_workers",
    "files_are_read_back",
    "a_browser",
    "libreoffice",
    "without_room",
)
"""Parts of names of tests that take long and find what others find sooner."""
SERVED = ("postgresql", "server")
"""Parts of names of tests that need a server; they run for the modules that speak with one."""
LONGEST = 900.0
"""Seconds, by the clock, after which a run is ended whatever it does."""
WANTED = 0.95
"""Share of the mutants, those judged harmless left out, that must be caught."""

TESTS: dict[str, tuple[str, ...]] = {
    "arithmetic": ("arithmetic", "coordinates", "collinear"),
    "measurements": ("measurements", "estimate"),
    "confidence": ("confidence", "guarantees", "unknown_sigma"),
    "elimination": ("guarantees", "elimination"),
    "pooling": ("estimate", "guarantees", "bounded", "misfit"),
    "estimate": ("estimate", "guarantees", "measurements"),
    "departure": ("departure",),
    "misfit": ("misfit", "adequacy"),
    "adequacy": ("guarantees", "adequacy", "misfit"),
    "theory": ("theory",),
    "rounding": ("rounding",),
    "design/certificate": ("certificate", "collinear"),
    "run": ("unknown_sigma", "run", "outcomes"),
    "goals/base": ("goals", "guarantees"),
    "goals/comparable": ("problem", "goals", "model"),
    "goals/best_item": ("guarantees", "goals", "problem"),
    "goals/best_set": ("sets",),
    "goals/top_m": ("goals",),
    "goals/above": ("goals",),
    "goals/better_than": ("goals",),
    "goals/best_combination": ("product",),
    "outcomes/base": ("outcomes",),
    "outcomes/betting": ("bounded", "poisson"),
    "outcomes/counts": ("poisson", "links"),
    "outcomes/poisson": ("poisson",),
    "outcomes/bounded": ("bounded",),
    "outcomes/canonical": ("links",),
    "outcomes/gaussian": ("outcomes", "estimate", "unknown_sigma"),
    "algorithms/clucb": ("sets",),
    "algorithms/comb_game": ("sets",),
    "algorithms/peace_sets": ("sets",),
    "algorithms/designs": ("sets",),
    "algorithms/disagreement": ("sets",),
    "algorithms/elements": ("sets",),
    "algorithms/sage_sets": ("sets",),
    "algorithms/set_accounts": ("sets",),
    "algorithms/glgape": ("links",),
    "algorithms/models": ("links",),
    "algorithms/rage_glm": ("links",),
    "algorithms/sage_glm": ("links",),
    "algorithms/base": ("forecast", "batches", "unknown_sigma", "goals", "contract"),
    "algorithms/batches": ("batches",),
    "algorithms/batched": ("batches", "forecast"),
    "algorithms/planning": ("stock", "guarantees", "rage", "collinear", "sage"),
    "algorithms/knowledge": ("guarantees", "unknown_sigma", "batches", "attained", "sage"),
    "algorithms/claims": ("batches", "goals", "attained", "shares"),
    "algorithms/listing": ("shares",),
    "algorithms/lists": ("lists",),
    "algorithms/combined": ("product",),
    "algorithms/tree": ("product",),
    "algorithms/scattered": ("shards_of_items",),
    "algorithms/shared": ("lists", "goals"),
    "algorithms/sided": ("sides", "goals"),
    "algorithms/signs": ("sides",),
    "algorithms/fitting": ("forecast",),
    "algorithms/portions": ("shards_of_items",),
    "algorithms/peaks": ("attained", "guarantees", "sage"),
    "algorithms/boosting": ("boosting", "sage"),
    "algorithms/opening": ("guarantees", "boosting", "mini", "sage"),
    "algorithms/prior": ("guarantees", "attained", "sage"),
    "algorithms/forecasting": ("forecast", "goals"),
    "algorithms/accounts": ("guarantees", "sage"),
    "algorithms/sage": ("guarantees", "batches", "stock", "forecast", "attained", "sage", "goals"),
    "algorithms/best_guess": ("best_guess",),
    "algorithms/rage": ("guarantees", "rage"),
    "algorithms/alba": ("alba", "guarantees"),
    "algorithms/explore_verify": ("guarantees", "explore_verify"),
    "algorithms/xy_adaptive": ("guarantees", "xy_adaptive"),
    "algorithms/growing": ("guarantees", "static", "goals"),
    "algorithms/g_static": ("guarantees", "static"),
    "algorithms/xy_static": ("guarantees", "static"),
    "algorithms/xy_oracle": ("guarantees", "static"),
    "algorithms/uniform": ("guarantees", "run", "contract"),
    "algorithms/first": ("sequential", "contract"),
    "algorithms/halving": ("budgeted", "contract"),
    "algorithms/lingifa": ("sequential", "contract"),
    "algorithms/melk": ("budgeted",),
    "algorithms/p1_rage": ("budgeted", "contract"),
    "algorithms/peace": ("budgeted", "contract"),
    "algorithms/peace_budget": ("budgeted", "contract"),
    "algorithms/peps": ("sequential", "contract"),
    "algorithms/phased": ("budgeted", "contract"),
    "algorithms/fws": ("sequential", "contract"),
    "algorithms/lazy": ("sequential", "contract"),
    "algorithms/lingame": ("sequential", "contract"),
    "algorithms/m_lingape": ("sequential", "contract"),
    "algorithms/sequential": ("sequential", "contract"),
    "algorithms/steps": ("sequential", "contract"),
    "algorithms/top_two": ("sequential", "contract"),
    "algorithms/lingape": ("guarantees", "lingape"),
    "algorithms/shares": ("lingape",),
    "campaign/aggregates": ("aggregates",),
    "campaign/attaining": ("best_guess",),
    "campaign/campaign": ("campaign", "campaign_faults", "campaign_storage", "sheets"),
    "campaign/ledger": ("campaign_faults", "campaign", "sheets"),
    "campaign/replay": ("campaign", "attained", "journals"),
    "campaign/charter": ("campaign_faults", "campaign"),
    "campaign/settings": ("campaign_faults", "campaign", "goals", "journals"),
    "campaign/sheet": ("campaign", "sheets"),
    "campaign/plan": ("campaign", "sheets"),
    "campaign/asked": ("campaign", "batches", "sheets"),
    "campaign/told": ("campaign",),
    "campaign/tallies": ("tallies",),
    "campaign/given": ("campaign", "sheets", "spreadsheets"),
    "campaign/entry": ("campaign", "sheets", "spreadsheets"),
    "campaign/rows": ("campaign", "sheets", "spreadsheets"),
    "campaign/numbers": ("numbers", "guarantees", "goals"),
    "campaign/window": ("shards_campaign",),
    "campaign/words": ("numbers", "quantity", "goals"),
    "campaign/effects": ("effects",),
    "campaign/guesses": ("best_guess",),
    "campaign/confirmation": ("confirm",),
    "campaign/appraisal": ("numbers", "guarantees", "campaign"),
    "campaign/status": ("campaign", "goals", "attained", "cli_campaign"),
    "campaign/news": ("campaign", "goals"),
    "campaign/prospect": ("forecast", "campaign", "cli_campaign"),
    "campaign/records": ("campaign_faults", "campaign"),
    "campaign/bodies": ("campaign_faults", "campaign"),
    "campaign/chain": ("campaign_storage", "campaign", "verify_backup"),
    "campaign/storage": ("campaign_storage", "campaign_sqlite", "campaign_lines"),
    "campaign/tables": ("campaign_storage", "campaign_sqlite", "campaign_postgresql"),
    "campaign/places": ("campaign_storage", "extensions", "campaign_lines"),
    "campaign/addresses": ("campaign_postgresql",),
    "campaign/lines": ("campaign_lines", "campaign_storage", "verify_backup"),
    "campaign/sides": ("campaign_sqlite", "campaign_storage", "verify_backup"),
    "campaign/sqlite": ("campaign_sqlite", "campaign_storage", "verify_backup"),
    "campaign/postgresql": ("campaign_postgresql", "campaign_storage"),
    "campaign/verify": ("verify_backup",),
    "campaign/backup": ("verify_backup",),
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
    def change(self) -> tuple[str, ...]:
        """What it is, whatever else its statement says."""
        return self.place, self.kind, self.old, self.new

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


@dataclass(frozen=True)
class Run:
    """Some test files on a copy of the sources, with one change or none."""

    tests: tuple[str, ...]
    served: bool
    """Whether tests that need a server run."""
    mutant: Mutant | None = None
    text: Callable[[], str] | None = None
    """What makes the whole text of the module with the change."""
    seconds: float = LONGEST
    """Time of a processor that it may take."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """What pytest is told."""
        files = [ROOT / f"tests/test_{name}.py" for name in self.tests]
        left_out = SLOW if self.served else (*SLOW, *SERVED)
        return (*OPTIONS, "-k", f"not ({' or '.join(left_out)})", *map(str, files))


def served(module: str) -> bool:
    """Whether a module speaks with a server."""
    return "campaign_postgresql" in TESTS[module]


OPTIONS = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--no-header", "--assert=plain")


def start(source: Path, run: Run) -> int:
    """Begin a run on the sources in a folder, in a process of its own; its number."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(run.seconds), math.ceil(run.seconds) + 1))
        out = os.open(source / "out.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(ROOT)
        os.environ |= {"PYTHONPATH": str(source), "HYPOTHESIS_STORAGE_DIRECTORY": str(source / "hypothesis")}
        sys.path.insert(0, str(source))
        code = int(pytest.main([*run.arguments]))
        probewise = sys.modules.get("probewise")  # absent if the mutant cannot be imported
        if probewise is not None and not str(probewise.__file__).startswith(str(source)):
            code = 71
    finally:
        os._exit(code)


def ended(child: int, source: Path, limit: float) -> tuple[str, float] | None:
    """What became of a run (caught, time-out or survived) and its seconds of a processor; None while it goes on."""
    done, status, used = os.wait4(child, os.WNOHANG)
    if not done and time.monotonic() < limit:
        return None
    if not done:
        os.killpg(child, signal.SIGKILL)
        return "time-out", os.wait4(child, 0)[2].ru_utime
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return "survived", used.ru_utime
    if code == -signal.SIGXCPU:
        return "time-out", used.ru_utime
    assert code != 71, f"the tests did not read the copy in {source}"
    lines = (source / "out.txt").read_text(errors="replace").splitlines()
    failed = next((line for line in lines[::-1] if line.startswith(("FAILED", "ERROR"))), f"exit {code}")
    return f"caught: {_short(failed.removeprefix('FAILED ').removeprefix('ERROR '))}", used.ru_utime


def fresh(folder: Path) -> Path:
    """A copy of src/ to spoil."""
    shutil.copytree(ROOT / "src", folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def done(runs: Iterable[Run], folders: Sequence[Path]) -> Iterator[tuple[Run, str, float]]:
    """Each run, what became of it and its seconds, one in each folder at a time."""
    waiting, running = list(runs)[::-1], dict[Path, tuple[Run, int, float]]()
    while waiting or running:
        for folder in folders:
            if folder in running:
                run, child, limit = running[folder]
                if (end := ended(child, folder, limit)) is not None:
                    del running[folder]
                    if run.mutant is not None:
                        file = file_of(run.mutant.module)
                        shutil.copy(ROOT / "src" / file, folder / file)
                    yield run, *end
            elif waiting:
                run = waiting.pop()
                if run.mutant is not None and run.text is not None:
                    (folder / file_of(run.mutant.module)).write_text(run.text())
                running[folder] = run, start(folder, run), time.monotonic() + LONGEST
        time.sleep(0.05)


def checked(modules: Sequence[str], folders: Sequence[Path]) -> dict[str, float]:
    """Seconds that a run of each module may take; a test that fails without any change would catch everything."""
    alone = dict.fromkeys(Run((name,), served(module)) for module in modules for name in TESTS[module])
    took = {}
    for run, outcome, seconds in done(alone, folders):
        if outcome != "survived":
            raise SystemExit(f"A test fails without any change, so that no mutant was tried: {outcome}")
        took[run] = seconds
    return {of: 10.0 + 3.0 * sum(took[Run((name,), served(of))] for name in TESTS[of]) for of in modules}


Outcomes = list[tuple[Mutant, str]]


def main() -> int:
    """Run the sample of some modules, or of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("modules", nargs="*", default=[*TESTS], help="such as confidence or campaign/lines")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants of each module")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"), help="one line of JSON for each mutant")
    parser.add_argument("--again", type=Path, help="such a file: try only those that were not caught in it")
    given = parser.parse_args()
    if given.again:
        known, chosen = earlier(given.again)
    else:
        known, chosen = [], {module: sample(module, given.sample) for module in given.modules}
    judged = json.loads(JUDGED.read_text()) if JUDGED.exists() else {}
    known += [(one, f"judged: {judged[one.key]}") for one, _ in chain(*chosen.values()) if one.key in judged]
    rest = {module: [one for one in found if one[0].key not in judged] for module, found in chosen.items()}
    with tempfile.TemporaryDirectory() as temporary, given.out.open("w") as lines:
        folders = [fresh(Path(temporary) / f"src{number}") for number in range(given.workers)]
        return summed(noted(chain(known, tried(rest, folders)), lines))


def earlier(file: Path) -> tuple[Outcomes, dict[str, list[Found]]]:
    """Of an earlier run, the mutants that were caught, and those of the rest that the sources still have."""
    caught, rest = Outcomes(), dict[str, list[Found]]()
    for line in file.read_text().splitlines():
        fields = json.loads(line)
        outcome, one = fields.pop("outcome"), Mutant(**fields)
        if outcome.startswith(("caught", "time-out")):
            caught.append((one, outcome))
            continue
        same = [found for found in mutants(one.module) if found[0].change == one.change]
        if not same:
            print(f"  gone from the sources, and left out: {one.key}")
        near = sorted(same, key=lambda found: (found[0].key != one.key, abs(found[0].line - one.line)))
        rest.setdefault(one.module, []).extend(near[:1])
    return caught, rest


def tried(chosen: dict[str, list[Found]], folders: Sequence[Path]) -> Iterator[tuple[Mutant, str]]:
    """Each mutant and what became of it; first it is seen that the tests pass without any."""
    began, left = time.monotonic(), Counter({module: len(found) for module, found in chosen.items()})
    limits = checked([module for module, found in chosen.items() if found], folders)
    print(f"The tests of {len(limits)} modules pass without a change: {time.monotonic() - began:.0f} s.", flush=True)
    runs = [Run(TESTS[of], served(of), one, text, limits[of]) for of, found in chosen.items() for one, text in found]
    for run, outcome, _ in done(runs, folders):
        assert run.mutant is not None
        yield run.mutant, outcome
        left[run.mutant.module] -= 1
        if not left[run.mutant.module]:
            print(f"{time.monotonic() - began:6.0f} s  {run.mutant.module} is done.", flush=True)


def noted(outcomes: Iterable[tuple[Mutant, str]], lines: TextIO) -> Outcomes:
    """Each outcome on a line of JSON, and survivors on the screen as well."""
    out = Outcomes()
    for mutant, outcome in outcomes:
        lines.write(json.dumps(asdict(mutant) | {"outcome": outcome}, ensure_ascii=False) + "\n")
        lines.flush()
        if outcome == "survived":
            print(f"  survived: line {mutant.line}, {mutant.key}", flush=True)
        out.append((mutant, outcome))
    return out


def summed(outcomes: Outcomes) -> int:
    """Print a table of all modules; 0 if enough were caught."""
    kinds = ("caught", "judged", "survived")
    counts = Counter((one.module, end.partition(":")[0].replace("time-out", "caught")) for one, end in outcomes)
    print(f"{'module':<28}{'mutants':>8}" + "".join(f"{kind:>10}" for kind in kinds))
    for module in dict.fromkeys(one.module for one, _ in outcomes):
        row = [counts[module, kind] for kind in kinds]
        print(f"{module:<28}{sum(row):>8}" + "".join(f"{number:>10}" for number in row))
    caught, judged, survived = (sum(counts[one, of] for one, of in counts if of == kind) for kind in kinds)
    share = caught / max(1, caught + survived)
    print(f"{caught} of {caught + survived} caught ({share:.1%}); {judged} judged harmless; {survived} survived.")
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
