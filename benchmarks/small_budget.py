"""The best guess that 24, 48 or 96 runs can buy, beside what else a laboratory would use.

    python benchmarks/small_budget.py [--seeds 40] [--batch 8] [--tables suzuki,…] [--methods guess,…] [--half]
    python benchmarks/small_budget.py --held-back FOLDER [--tables hplc,…]     # the tables below, once

A laboratory has a table of recipes. A run of a recipe gives its recorded value plus normal noise that no method is
told. After 24, 48 and 96 runs each method recommends a row; printed is the best recorded value less that of its
recommendation, mean ± standard error over the seeds, and the processor time of a batch (for ``guess``, that of its
three campaigns over the batches of the longest). With ``--half``, a random half of the rows can be measured, and all
may be recommended.

  guess    what ``identify(budget=n, batch=8)`` measures and recommends, for each n; only the last batches of the three
           campaigns differ; the judge is left out
  told     the same with ``BestGuess(n, 8, low=0, high=100)``, for tables of yields, which every laboratory knows
  sage     Sage's leader: ``identify(algorithm=Sage(max_batch=8), budget=n)`` with the noise known, once for each n
  ridge    second-order features, penalty by leave-one-out; the first batch at random, then the highest not yet measured
  random   rows at random, recommended by the same ridge regression
  optuna   Optuna's TPE with its defaults; recommends the highest outcome that it saw
  baybe    BayBE with its defaults and one-hot factors; recommends the highest posterior mean; may measure rows again
           where there are fewer than 96

The last two are run where they are installed, in an environment of their own. The made-up tables are drawn anew for
each seed: ``quadratic``, 400 points in four numbers with a concave quadratic, noise 3 % of the range; ``categorical``,
4⁵ rows, five factors with normal main effects and interactions of all pairs with a fifth of their standard deviation,
noise 10 % of the range. Recorded tables get noise of 2 points.

Three further tables were held back: nothing about the model or the plan was chosen by them, and they were run once at
the end. They are, with the sha256 of their files:

* fullerenes (246 rows, three numbers, mole fraction of the product): the wheel olymp 0.0.1b0,
  olympus/datasets/dataset_fullerenes/data.csv, 87aa0927f0180a0f7d46dffb0b707df5caccc879492dbc0688ac3252414d4441;
* amination (the rows of 4-halobenzotrifluorides, four factors, yield): the repository b-shields/edbo on GitHub,
  experiments/data/aryl_amination/experiment_index.csv,
  88e47ff4ebcd1dac2316eef39813e56933823e05b70a30101d0a2d4edd89c485;
* coupling (3,696 rows, five factors, yield): the same repository, experiments/data/suzuki/experiment_index.csv,
  cc1abd59e4f5f8f87721155bbdde7c6dcf95ff14d66484ca9e71c17c001c9768.

Since these were run once, they are held back no longer. Three more were named when the surface and the plan of the last
batch had been built, before any method was run on them. Their values are from 0 to 100 over the table, with noise of 2;
runs of one recipe are averaged, since then also those of fullerenes:

* hplc (1,386 runs of 1,007 recipes, six numbers, peak area): the same wheel, olympus/datasets/dataset_hplc/data.csv,
  9c94222798229c1391f75445f44d9c0ed285e83c1b1e0608ab76b28bf05decef;
* blends (1,040 runs of 1,020 recipes, amounts of four materials, the least degradation is the best): the same wheel,
  olympus/datasets/dataset_photo_wf3/data.csv, e9a26f291a85692fb6322ebae93d285b0a4fe212b2cf2a067c479e0e591fb64f;
* pyridines (the rows of 3-halopyridines, four factors, yield): other rows of the file of aminations.

These were run once, too, when the model had got its forms and what rows have to themselves. The next three were named
when its surface had got a reach for every column and plans were made by the likeliest form, before any method was run
on them, in the same way:

* alkox (208 runs, four numbers, conversion): the same wheel, olympus/datasets/dataset_alkox/data.csv,
  133ff07b39a05c21be3d22ad18d14eee73fe0a1a75f95814a68b4591a042be22;
* pce10 (1,040 runs, amounts of four other materials, the least degradation is the best): the same wheel,
  olympus/datasets/dataset_photo_pce10/data.csv, b41c72b8e38e73a5ddd175db19e62f1bbd51da75e040fe6bd08afbdf87f0c4cf;
* anisoles (the rows of 4-haloanisoles, four factors, yield): other rows of the file of aminations.

The last three were named when variances of columns, the noise and the plan had been looked at again, before any method
was run on them; the best has 100 and the worst 0, with noise of 2:

* deoxyf (740 rows, three factors of 4, 5 and 37 levels, yield): the repository beef-broccoli/ochem-data on GitHub,
  deebo/deoxyf.csv, 1c6b0f2401e2d945fc8f0fc0a905249eb2eb7e42fdc92782e85ab2cbb4c90e85;
* amidation (960 rows, four factors, yield): the same repository, deebo/amidation.csv,
  e77f6a498387888eec63423265d6feb9d8b1ff9299b8afbc3bcc1218a7e5857a;
* colors (241 runs of 161 recipes, amounts of five dyes, the least difference from green is the best): the wheel olymp
  0.0.1b0, olympus/datasets/dataset_colors_bob/data.csv,
  2b5bd2a26e595cf69813237d6ba19b9f3efa25f8a5576fba2b2f4008522a433f.

The next three were named when guesses had got priors of their own, the second batch its hopes and the last one its
replicate, before any method was run on them; the best has 100 and the worst 0, with noise of 2:

* borylation (759 rows, two factors of electrophiles and ligands, yield): the same repository, deebo/nib-etoh.csv,
  d5216a673eefbaacc4ae961f4ff6acb73dbc1c83e37d0548fa7eaf84bbe5607c;
* scope (1,536 rows, three factors of ligands, electrophiles and nucleophiles, yield): the same repository,
  deebo/aryl-scope-ligand.csv, c522309d47837fc8b01219d4a67672837608ae7ed08e1010305ffef1eb363f90;
* nanomoles (1,536 rows, four factors of electrophiles, nucleophiles, catalysts and bases, relative_count): the same
  repository, deebo/merck-cn.csv, aee7489f19590dcb3c222269f8cbe614fb08f79544c108f8bbf236e2e339bf3d.

The last three were named when half of a second batch had got to be planned as later ones are where all levels were
measured, before any method was run on them. They have numbers alone, since that changes nothing for the nine tables
with factors of more than eight levels; the best has 100 and the worst 0, with noise of 2:

* snar (66 recipes, four numbers, the least e-factor is the best): the wheel olymp 0.0.1b0,
  olympus/datasets/dataset_snar/data.csv, 06a913889bb2b40cb515ec9eb3817025dea99b43c240aeb42e48cf77fe3eba67;
* benzylation (73 runs of 72 recipes, four numbers, the least impurity is the best): the same wheel,
  olympus/datasets/dataset_benzylation/data.csv, a33e4d224f9b77f8e15c1010afb4c8d569261d4d09b7e5eb83a51e1f4ec25ad3;
* dyes (102 recipes, amounts of three dyes, the least difference from green is the best): the same wheel,
  olympus/datasets/dataset_colors_n9/data.csv, db1bdb8a4d93ea1cf2d6781058a23d924012b89a9a8cb666a53709d21a8d3997.

FOLDER has all of them as fullerenes.csv, amination.csv, coupling.csv, hplc.csv, blends.csv, alkox.csv, pce10.csv,
deoxyf.csv, amidation.csv, colors.csv, borylation.csv, scope.csv, nanomoles.csv, snar.csv, benzylation.csv and dyes.csv.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import probewise as pw
from probewise.coordinates import Array
from probewise.design import remembering
from probewise.guess.belief import Belief, believed
from probewise.guess.columns import Columns, columns_of
from probewise.guess.improvement import first_batch, next_batch
from probewise.guess.variances import Settings
from probewise.measurements import Measurements
from probewise.tables import Table

CHECKS = (24, 48, 96)
"""Runs after which a recommendation is looked at."""
HELD_BACK = {
    "fullerenes": "87aa0927f0180a0f7d46dffb0b707df5caccc879492dbc0688ac3252414d4441",
    "amination": "88e47ff4ebcd1dac2316eef39813e56933823e05b70a30101d0a2d4edd89c485",
    "coupling": "cc1abd59e4f5f8f87721155bbdde7c6dcf95ff14d66484ca9e71c17c001c9768",
    "hplc": "9c94222798229c1391f75445f44d9c0ed285e83c1b1e0608ab76b28bf05decef",
    "blends": "e9a26f291a85692fb6322ebae93d285b0a4fe212b2cf2a067c479e0e591fb64f",
    "alkox": "133ff07b39a05c21be3d22ad18d14eee73fe0a1a75f95814a68b4591a042be22",
    "pce10": "b41c72b8e38e73a5ddd175db19e62f1bbd51da75e040fe6bd08afbdf87f0c4cf",
    "deoxyf": "1c6b0f2401e2d945fc8f0fc0a905249eb2eb7e42fdc92782e85ab2cbb4c90e85",
    "amidation": "e77f6a498387888eec63423265d6feb9d8b1ff9299b8afbc3bcc1218a7e5857a",
    "colors": "2b5bd2a26e595cf69813237d6ba19b9f3efa25f8a5576fba2b2f4008522a433f",
    "borylation": "d5216a673eefbaacc4ae961f4ff6acb73dbc1c83e37d0548fa7eaf84bbe5607c",
    "scope": "c522309d47837fc8b01219d4a67672837608ae7ed08e1010305ffef1eb363f90",
    "nanomoles": "aee7489f19590dcb3c222269f8cbe614fb08f79544c108f8bbf236e2e339bf3d",
    "snar": "06a913889bb2b40cb515ec9eb3817025dea99b43c240aeb42e48cf77fe3eba67",
    "benzylation": "a33e4d224f9b77f8e15c1010afb4c8d569261d4d09b7e5eb83a51e1f4ec25ad3",
    "dyes": "db1bdb8a4d93ea1cf2d6781058a23d924012b89a9a8cb666a53709d21a8d3997",
}
Rows = NDArray[np.int64]
_YIELDS = (0.0, 100.0)
"""Between what yields lie."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A table of recipes with the value of each."""

    columns: dict[str, Any]
    """Name -> (m,) numbers or m words."""
    values: Array
    """(m,): the recorded values."""
    sd: float
    """Standard deviation of the noise, which no method but Sage is told."""
    model: str
    """What Sage takes outcomes to be linear in."""
    ends: tuple[float, float] | None = None
    """Between what values lie, where that is known of any such table; it is for ``told`` alone."""

    @property
    def table(self) -> Table:
        """The recipes without their values."""
        return Table("recipes", tuple(self.columns), tuple(self.columns.values()))

    def problem(self, rows: Rows, sigma: float) -> pw.Problem:
        """Some rows can be measured, and all may be recommended."""
        names = [f"row {number}" for number in range(len(self.values))]
        return pw.Problem.from_tables(
            self.table.rows(rows), self.table, model=self.model, sigma=sigma,
            probe_names=[names[row] for row in rows], item_names=names,
        )  # fmt: skip


@cache
def suzuki() -> Recorded:
    runs = pw.data.suzuki()
    names = ("temperature", "pd", "arbpin", "k3po4")
    columns = {name: runs.numbers(name) for name in names}
    return Recorded(columns, runs.numbers("yield"), 2.0, "quadratic", _YIELDS)


@cache
def arylation() -> Recorded:
    runs = pw.data.arylation()
    columns: dict[str, Any] = {name: list(runs.text(name)) for name in ("Base", "Ligand", "Solvent")}
    columns |= {name: runs.numbers(name) for name in ("Concentration", "Temp_C")}
    return Recorded(columns, runs.numbers("yield"), 2.0, "main", _YIELDS)


def quadratic(seed: int) -> Recorded:
    rng = np.random.default_rng([seed, 1])
    points, root, best = rng.uniform(-1, 1, (400, 4)), rng.normal(size=(4, 4)), rng.uniform(-0.6, 0.6, 4)
    curve = root @ root.T / 4 + 0.3 * np.eye(4)
    values = -np.einsum("ij,jk,ik->i", points - best, curve, points - best)
    return Recorded({f"x{j}": x for j, x in enumerate(points.T)}, _percent(values), 3.0, "quadratic")


def categorical(seed: int) -> Recorded:
    rng = np.random.default_rng([seed, 2])
    codes = np.array(list(itertools.product(range(4), repeat=5)))
    values = sum(rng.normal(size=4)[codes[:, j]] for j in range(5))
    for i, j in itertools.combinations(range(5), 2):
        values = values + 0.2 * rng.normal(size=(4, 4))[codes[:, i], codes[:, j]]
    columns = {f"factor {j}": [f"level {code}" for code in codes[:, j]] for j in range(5)}
    return Recorded(columns, _percent(np.asarray(values)), 10.0, "main")


def _percent(values: Array) -> Array:
    return np.asarray(100.0 * (values - values.min()) / np.ptp(values))


TABLES: dict[str, Callable[[int], Recorded]] = {
    "suzuki": lambda seed: suzuki(),
    "arylation": lambda seed: arylation(),
    "quadratic": quadratic,
    "categorical": categorical,
}


def held_back(folder: Path) -> dict[str, Callable[[int], Recorded]]:
    """The tables that were named before anything was built."""
    for name, sha256 in HELD_BACK.items():
        found = hashlib.sha256((folder / f"{name}.csv").read_bytes()).hexdigest()
        if found != sha256:
            raise SystemExit(f"{name}.csv is not the file that was named: {found}")
    made = {
        "fullerenes": _numbers(folder / "fullerenes.csv", lambda mole_fraction: 100.0 * mole_fraction),
        "amination": _amination(folder, "FC(F)(F)c1ccc({})cc1"),
        "coupling": _factors(_dicts(folder / "coupling.csv")),
        "hplc": _numbers(folder / "hplc.csv", _percent),
        "blends": _numbers(folder / "blends.csv", lambda degradation: _percent(-degradation)),
        "pyridines": _amination(folder, "{}c1cccnc1"),
        "alkox": _numbers(folder / "alkox.csv", _percent),
        "pce10": _numbers(folder / "pce10.csv", lambda degradation: _percent(-degradation)),
        "anisoles": _amination(folder, "COc1ccc({})cc1"),
        "deoxyf": _factors(_dicts(folder / "deoxyf.csv"), "_name", _percent),
        "amidation": _factors(_dicts(folder / "amidation.csv"), "_name", _percent),
        "colors": _numbers(folder / "colors.csv", lambda difference: _percent(-difference)),
        "borylation": _factors(_dicts(folder / "borylation.csv"), ("electrophile_id", "ligand_name"), _percent),
        "scope": _factors(_dicts(folder / "scope.csv"), ("ligand_name", "electrophile_id", "nucleophile_id"), _percent),
        "nanomoles": _factors(
            _dicts(folder / "nanomoles.csv"),
            ("electrophile", "nucleophile", "catalyst", "base"),
            _percent,
            "relative_count",
        ),
        "snar": _numbers(folder / "snar.csv", lambda factor: _percent(-factor)),
        "benzylation": _numbers(folder / "benzylation.csv", lambda impurity: _percent(-impurity)),
        "dyes": _numbers(folder / "dyes.csv", lambda difference: _percent(-difference)),
    }
    return {name: lambda seed, own=own: own for name, own in made.items()}  # type: ignore[misc]


def _numbers(path: Path, valued: Callable[[Array], Array]) -> Recorded:
    """All columns but the last are numbers; the last one has the values, of which those of one recipe are averaged."""
    cells = np.loadtxt(path, delimiter=",")
    recipes, which = np.unique(cells[:, :-1], axis=0, return_inverse=True)
    values = np.bincount(which.ravel(), cells[:, -1]) / np.bincount(which.ravel())
    return Recorded({f"x{j}": x for j, x in enumerate(recipes.T)}, valued(values), 2.0, "quadratic")


def _dicts(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _factors(
    rows: list[dict[str, str]],
    endings: str | tuple[str, ...] = "_SMILES",
    valued: Callable[[Array], Array] = np.asarray,
    value: str = "yield",
) -> Recorded:
    """All columns with these endings are factors."""
    values = valued(np.array([float(row[value]) for row in rows]))
    names = [name for name in rows[0] if name.endswith(endings)]
    return Recorded({name: [row[name] or "none" for row in rows] for name in names}, values, 2.0, "main")


def _amination(folder: Path, halide: str) -> Recorded:
    """The aryl halides that differ in their halogen only."""
    wanted = {halide.format(halogen) for halogen in ("Cl", "Br", "I")}
    return _factors([row for row in _dicts(folder / "amination.csv") if row["Aryl_halide_SMILES"] in wanted])


@dataclass
class Bench:
    """A laboratory with rows that can be measured, and the recommendations of a method."""

    table: Recorded
    rows: Rows
    rng: np.random.Generator
    batch: int
    seed: int

    def measure(self, probes: Rows) -> Array:
        """Outcomes of some of the measurable rows, by their number among these."""
        return np.asarray(self.table.values[self.rows[probes]] + self.table.sd * self.rng.normal(size=len(probes)))

    def regret(self, item: int) -> float:
        """What a recommendation is short of the best."""
        return float(self.table.values.max() - self.table.values[item])


def guess(bench: Bench, ends: tuple[float, float] | None = None) -> Iterator[tuple[int, int]]:
    """A campaign for each number of runs, since the last batch is planned as the last; what goes before is the same."""
    problem = bench.table.problem(bench.rows, 1.0)
    columns, data = columns_of(problem), Measurements.empty(problem.n_probes)
    for step in itertools.count():
        belief = _belief(columns, data, ends) if data.n else None
        if data.n + bench.batch in CHECKS:
            ended = data + _outcomes(bench, problem, belief, step, last=True)
            yield ended.n, _belief(columns, ended, ends).best
        data = data + _outcomes(bench, problem, belief, step, last=False)


def told(bench: Bench) -> Iterator[tuple[int, int]]:
    """With the range of values known."""
    if bench.table.ends is None:
        raise SystemExit("told is for tables of yields alone; leave it out, or choose --tables suzuki,arylation.")
    return guess(bench, bench.table.ends)


def _belief(columns: Columns, data: Measurements, ends: tuple[float, float] | None) -> Belief:
    return believed(columns, data, relative=np.ones(columns.n_probes), range=ends)


def _outcomes(bench: Bench, problem: pw.Problem, belief: Belief | None, step: int, last: bool) -> Measurements:
    """The outcomes of one batch, planned with draws as in ``identify``."""
    n, rng = problem.n_probes, np.random.default_rng(np.random.SeedSequence(bench.seed, spawn_key=(step,)))
    shared: dict[str, Any] = {"room": problem.stock, "relative": np.ones(n), "cost": problem.cost, "replicates": None}
    if belief is None:
        counts = first_batch(columns_of(problem), bench.batch, settings=Settings(), rng=rng, **shared)
    else:
        counts = next_batch(belief, bench.batch, last=last, rng=rng, **shared).counts
    probes = np.repeat(np.arange(n), counts)
    return Measurements.from_outcomes(n, probes, bench.measure(probes))


def sage(bench: Bench) -> Iterator[tuple[int, int]]:
    """A search of its own for each number of runs."""
    problem = bench.table.problem(bench.rows, bench.table.sd)
    for budget in CHECKS:
        found = pw.identify(
            problem, measure=bench.measure, algorithm=pw.Sage(max_batch=bench.batch), budget=budget, seed=bench.seed
        )
        yield budget, int(np.argmin(bench.table.values)) if found.item is None else found.item


def _second_order(table: Recorded) -> Array:
    """(m, d): main effects, squares and products of pairs of columns, each with mean 0 and length 1."""
    blocks = columns_of(table.problem(np.arange(len(table.values)), 1.0))
    parts = [b.main if b.squares is None else np.hstack([b.main, b.squares]) for b in blocks.blocks]
    parts = [part[blocks.items] for part in parts]
    pairs = [(a[:, :, None] * b[:, None, :]).reshape(len(a), -1) for a, b in itertools.combinations(parts, 2)]
    return np.hstack([*parts, *pairs])


def _ridge(features: Array, rows: Rows, outcomes: Array) -> Array:
    """(m,): fitted values of all rows, with the penalty that predicts best what is left out."""
    A, mean = features[rows], float(outcomes.mean())
    values, vectors = np.linalg.eigh(A @ A.T)
    turned = vectors.T @ (outcomes - mean)
    losses = []
    for penalty in 10.0 ** np.arange(-2, 4.1, 0.5):
        left = vectors @ (turned * penalty / (values + penalty))
        kept = (vectors**2) @ (penalty / (values + penalty)) - 1.0 / rows.size
        losses.append((float(np.sum((left / np.maximum(kept, 1e-9)) ** 2)), penalty))
    penalty = min(losses)[1]
    return np.asarray(mean + features @ (A.T @ (vectors @ (turned / (values + penalty)))))


def _fitted(bench: Bench, greedy: bool) -> Iterator[tuple[int, int]]:
    features = _second_order(bench.table)
    probes, outcomes = np.zeros(0, dtype=np.int64), np.zeros(0)
    score = bench.rng.random(len(bench.rows))
    while True:
        score[probes] = -np.inf
        new = np.argsort(-score)[: bench.batch]
        probes, outcomes = np.append(probes, new), np.append(outcomes, bench.measure(new))
        fitted = _ridge(features, bench.rows[probes], outcomes)
        score = fitted[bench.rows].copy() if greedy else bench.rng.random(len(bench.rows))
        yield probes.size, int(np.argmax(fitted))


def optuna(bench: Bench) -> Iterator[tuple[int, int]]:
    """The rows of a batch are asked for before any is told; a proposal that is no row is taken to the nearest one."""
    import optuna as peer

    peer.logging.set_verbosity(peer.logging.ERROR)
    cells = {name: np.asarray(own) for name, own in bench.table.columns.items()}
    space: dict[str, Any] = {}
    for name, own in cells.items():
        words = own.dtype.kind not in "if"
        space[name] = (
            peer.distributions.CategoricalDistribution(sorted(set(own.tolist())))
            if words
            else peer.distributions.FloatDistribution(float(own.min()), float(own.max()))
        )
    study = peer.create_study(direction="maximize", sampler=peer.samplers.TPESampler(seed=bench.seed))
    best, count = (-np.inf, 0), 0
    while True:
        trials = [study.ask(space) for _ in range(bench.batch)]
        probes = np.array([_nearest(cells, trial.params, bench.rows) for trial in trials])
        for trial, probe, outcome in zip(trials, probes, bench.measure(probes), strict=True):
            study.tell(trial, float(outcome))
            best = max(best, (float(outcome), int(bench.rows[probe])))
        count += bench.batch
        yield count, best[1]


def _nearest(cells: dict[str, NDArray[Any]], wanted: dict[str, Any], rows: Rows) -> int:
    """The measurable row nearest to a proposal: a wrong level counts like the whole range of a number."""
    away = np.zeros(rows.size)
    for name, own in cells.items():
        here = own[rows]
        numbers = own.dtype.kind in "if"
        away += ((here - wanted[name]) / np.ptp(own)) ** 2 if numbers else (here != wanted[name]).astype(float)
    return int(np.argmin(away))


def baybe(bench: Bench) -> Iterator[tuple[int, int]]:
    """One-hot factors and discrete numbers, candidates as given; the recommendation is the highest posterior mean."""
    import pandas as pd
    from baybe import Campaign
    from baybe.objectives import SingleTargetObjective
    from baybe.parameters import CategoricalParameter, NumericalDiscreteParameter
    from baybe.searchspace import SearchSpace
    from baybe.targets import NumericalTarget

    frame = pd.DataFrame(bench.table.columns)
    parameters = [
        NumericalDiscreteParameter(name, sorted(set(frame[name])))
        if frame[name].dtype.kind in "if"
        else CategoricalParameter(name, sorted(set(frame[name])), encoding="OHE")
        for name in frame
    ]
    measurable = frame.iloc[bench.rows].reset_index(drop=True)
    space = SearchSpace.from_dataframe(measurable, parameters)
    campaign = Campaign(
        space,
        SingleTargetObjective(NumericalTarget("outcome")),
        allow_recommending_already_recommended=len(measurable) < CHECKS[-1],  # else it ends in an error
    )
    keys = {tuple(row): number for number, row in enumerate(measurable.itertuples(index=False))}
    count = 0
    while True:
        asked = campaign.recommend(bench.batch)
        probes = np.array([keys[tuple(row)] for row in asked[list(frame)].itertuples(index=False)])
        campaign.add_measurements(asked.assign(outcome=bench.measure(probes)))
        count += bench.batch
        if count in CHECKS:
            means = campaign.posterior(frame).mean
            yield count, int(np.argmax(np.asarray(means.detach()).ravel()))


METHODS: dict[str, Callable[[Bench], Iterator[tuple[int, int]]]] = {
    "guess": guess,
    "told": told,
    "sage": sage,
    "ridge": lambda bench: _fitted(bench, greedy=True),
    "random": lambda bench: _fitted(bench, greedy=False),
    "optuna": optuna,
    "baybe": baybe,
}


def regrets(method: str, table: Recorded, seed: int, batch: int, half: bool) -> tuple[list[float], float]:
    """What a method's recommendations are short of, and the processor time of a batch."""
    rng, m = np.random.default_rng([seed, 11]), len(table.values)
    rows = np.sort(rng.choice(m, m // 2, replace=False)) if half else np.arange(m)
    bench = Bench(table, rows, np.random.default_rng([seed, 7]), batch, seed)
    found: dict[int, float] = {}
    begun = time.process_time()
    for count, item in METHODS[method](bench):
        if count in CHECKS:
            found[count] = bench.regret(item)
        if count >= CHECKS[-1]:
            break
    return [found[count] for count in CHECKS], (time.process_time() - begun) * batch / CHECKS[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument(
        "--first", type=int, default=1000, help="the first seed; those below 1000 were used in building"
    )
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tables", help="all by default")
    parser.add_argument("--methods", default="guess,sage,ridge,random")
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--held-back", type=Path)
    parser.add_argument("--json", type=Path, help="append the regrets of every run to this file")
    options = parser.parse_args()
    tables = TABLES if options.held_back is None else held_back(options.held_back)
    wanted = list(tables) if options.tables is None else options.tables.split(",")
    print(f"batches of {options.batch}, {'half of the rows' if options.half else 'all rows'} measurable", flush=True)
    with remembering():
        for name, method in itertools.product(wanted, options.methods.split(",")):
            runs = []
            for seed in range(options.first, options.first + options.seeds):
                runs.append(regrets(method, tables[name](seed), seed, options.batch, options.half))
            values, seconds = np.array([run[0] for run in runs]), np.array([run[1] for run in runs])
            error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
            cells = " / ".join(
                f"{mean:5.2f} ± {own:4.2f}" for mean, own in zip(values.mean(axis=0), error, strict=True)
            )
            print(f"{name:12} {method:7} {cells}   {seconds.mean():5.2f} s a batch, {len(values)} seeds", flush=True)
            if options.json is not None:
                with options.json.open("a") as file:
                    about = {"table": name, "method": method, "batch": options.batch, "half": options.half}
                    file.write(json.dumps(about | {"first": options.first, "regrets": values.tolist()}) + "\n")


if __name__ == "__main__":
    main()
