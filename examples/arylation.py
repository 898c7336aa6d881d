"""Direct arylation: a model that does not hold, and a tool that says so.

The table has the yield of all 1728 combinations of 4 bases, 12 ligands, 4 solvents, 3 concentrations and 3
temperatures. Main effects explain 60 % of its variance: which ligand is good depends on base and solvent. The
laboratory is made up from the table: a run gives the recorded yield of that combination plus normal noise of standard
deviation 2, so that what the model misses is there in every replicate.

    python examples/arylation.py [picture.png]
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from shared import run

import probewise as pw
from probewise import data, figures
from probewise.adequacy import Adequacy, check_adequacy
from probewise.measurements import Measurements

NOISE = 2.0
GOAL = pw.BestItem(delta=0.05)
FACTORS = ("Base", "Ligand", "Solvent", "Concentration", "Temp_C")

runs = data.arylation()
yields = runs.numbers("yield")
levels = {factor: runs.text(factor) for factor in FACTORS}
names = [", ".join(cells) for cells in zip(*levels.values(), strict=True)]


def problem(formula: str) -> pw.Problem:
    """Every combination may be measured, and every one recommended."""
    return pw.Problem.from_tables(
        runs, model=formula, factors=FACTORS, sigma=NOISE, probe_names=names, item_names=names
    )


def place(name: str) -> int:
    """Where a combination stands on record."""
    return 1 + int((yields > yields[names.index(name)]).sum())


def judge(title: str, believed: pw.Problem, rounds: list[Measurements]) -> Adequacy:
    """How well a model fits the whole table, which nobody knows beforehand, and what the data of the search say."""
    fitted = believed.probes @ np.linalg.lstsq(believed.probes, yields)[0]
    square = 1 - np.var(yields - fitted) / np.var(yields)
    best = place(names[fitted.argmax()])
    check = check_adequacy(believed, GOAL, rounds)
    print(f"{title}: {believed.coordinates.rank} free numbers, R² {square:.2f}, best by the fit is number {best}.")
    if np.isfinite(check.fit.ratio):
        print(f"  Misfit about {check.misfit:.0f}, F = {check.fit.ratio:.0f}: {check.verdict}.")
    else:
        print(f"  {check.fit.found}")
    return check


def main() -> None:
    """Search as if main effects were all, then ask the data whether they are."""
    print(f"Best on record: {names[yields.argmax()]}, {yields.max():.0f} %.")
    lab = data.recorded(yields, sd=NOISE, seed=0)
    with TemporaryDirectory() as folder:
        believed = problem(" + ".join(FACTORS))
        search = pw.Campaign.create(f"{folder}/arylation.db", believed, GOAL, pw.Sage(), seed=0)
        status = run(search, lab, "runs")
        result = search.result()
    print(status.sentence)
    print(f"Certified: {status.item}. {status.leader} is number {place(str(status.leader))} on record.")
    rounds = [round.measurements for round in result.history]
    check = judge("Main effects", believed, rounds)
    judge("The same runs, with pairs of factors", problem(f"({' + '.join(FACTORS)})^2"), rounds)
    if len(sys.argv) > 1:
        figures.save(picture(believed, sum(rounds, Measurements.empty(len(names))), check), Path(sys.argv[1]))


def picture(search: pw.Problem, measured: Measurements, check: Adequacy) -> Any:
    """Means of the measured combinations against the model, and where a ligand is good."""
    fit = pw.least_squares(search.probes, measured, sigma=search.sigma)
    index = np.flatnonzero(measured.count)
    with figures.style():
        figure = figures.blank(9.6, 4.2)
        left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.05))
        left.axline((20, 20), slope=1, color=figures.FAINT, lw=0.8)
        expected, mean = fit.mean(search.probes[index]), measured.mean[index]
        spread = NOISE / np.sqrt(measured.count[index])
        left.errorbar(expected, mean, 2 * spread, fmt="o", ms=3.4, lw=0.8, color=figures.ORACLE, alpha=0.7, mew=0)
        left.set(xlabel="yield by main effects (%)", ylabel="mean of the replicates (%), ± 2 standard errors")
        left.set_title(f"The model is off by about {check.misfit:.0f}, the noise is {NOISE:.0f}")
        draw_ligands(right)
    return figure


def draw_ligands(axes: Any) -> None:
    """Mean yield of each ligand with each base: the order of ligands changes from column to column."""
    ligands, bases = (list(dict.fromkeys(levels[factor])) for factor in ("Ligand", "Base"))
    cells = [[yields[both(ligand, base)].mean() for base in bases] for ligand in ligands]
    grid = np.array(cells)
    order = np.argsort(-grid.mean(axis=1))
    axes.imshow(grid[order], cmap="Blues", aspect="auto", vmin=0)
    for (row, column), value in np.ndenumerate(grid[order]):
        colour = "white" if value > 40 else figures.INK
        axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=8.5, color=colour)
    axes.set_yticks(range(len(ligands)), [ligands[i] for i in order], fontsize=8)
    axes.set_xticks(range(len(bases)), [base.replace(" ", "\n") for base in bases], fontsize=8.5)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_title("Mean yield (%) of each ligand with each base")


def both(ligand: str, base: str) -> Any:
    """Runs with this ligand and this base."""
    return (np.array(levels["Ligand"]) == ligand) & (np.array(levels["Base"]) == base)


if __name__ == "__main__":
    main()
