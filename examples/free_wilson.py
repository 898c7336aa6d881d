"""Free-Wilson: the most active of 546 molecules, most of which nobody has made.

628 inhibitors share one scaffold and differ in three groups, R1, R3 and R10; activity (pIC50) is the sum of what each
group brings (Free and Wilson 1964). Compounds that were made are probes, all combinations of their groups are items.
The laboratory is made up from the table: an assay gives the fit to the recorded activities plus one of the recorded
residuals, drawn at random.

    python examples/free_wilson.py [picture.png]
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from shared import bars

import probewise as pw
from probewise import data, figures
from probewise.coordinates import coordinates
from probewise.model import build
from probewise.tables import Table

SITES = ("R1", "R3", "R10")
MODEL = "R1 + R3 + R10"
ALGORITHMS: dict[str, pw.Algorithm[Any]] = {
    "Sage": pw.Sage(),
    "RAGE, tight": pw.Rage("tight"),
    "all compounds equally": pw.Uniform(),
}


def restricted(compounds: Table, least: int) -> Table:
    """The compounds all of whose groups occur at least so often."""
    often = np.ones(len(compounds), dtype=bool)
    for site in SITES:
        count = Counter(compounds.text(site))
        often &= [count[group] >= least for group in compounds.text(site)]
    return compounds.rows(often)


def library(compounds: Table) -> Table:
    """Every combination of the groups."""
    return pw.space({site: list(dict.fromkeys(compounds.text(site))) for site in SITES})


def problem(compounds: Table, sigma: float = 1.0, every: int = 1) -> pw.Problem:
    """Compounds as probes, every so-manieth member of their library as items; a feature is the presence of a group."""
    virtual = library(compounds)
    items = virtual.rows(np.arange(0, len(virtual), every))
    return pw.Problem.from_tables(compounds, items, model=MODEL, sigma=sigma, probe_names=compounds.text("compound"))


def comparable(compounds: Table) -> Any:
    """For each member of the library, whether the compounds can compare it with the first one."""
    model, virtual = build(compounds, model=MODEL), library(compounds)
    span, items = coordinates(model.coded(compounds).values), model.coded(virtual).values
    return np.concatenate([span.is_inside(block - items[0]) for block in np.array_split(items, 50)])


def repeat(search: pw.Problem, features: Any, activity: Any, algorithm: pw.Algorithm[Any]) -> float:
    """Mean number of assays in five laboratories, each of which must find the best by the fit."""
    best = int((search.items @ np.linalg.lstsq(features, activity)[0]).argmax())
    counts = []
    for seed in range(5):
        lab = data.redrawn(features, activity, seed=seed)
        result = pw.identify(search, measure=lab.measure, algorithm=algorithm, seed=seed)
        counts.append(result.measurements)
        if result.item != best:
            print(f"  {algorithm.name} was wrong in laboratory {seed}.")
    return float(np.mean(counts))


def main() -> None:
    """The whole series is refused with a reason; the groups that occur often are enough for a search."""
    compounds = data.free_wilson()
    features = build(compounds, model=MODEL).coded(compounds).values
    known = comparable(compounds)
    free = features.shape[1] - len(SITES)
    print(f"{len(compounds)} compounds, {known.size:,} combinations; rank {np.linalg.matrix_rank(features)} of {free}.")
    print(f"{(~known).sum():,} combinations ({np.mean(~known):.1%}) cannot be compared with the others. As a message:")
    try:
        pw.BestItem().check(problem(compounds, every=10))  # a tenth of the library shows it, and is light
    except pw.InvalidProblem as error:
        print(f"  {error}")
    compounds = restricted(compounds, least=3)
    features, activity = build(compounds, model=MODEL).coded(compounds).values, compounds.numbers("pIC50")
    fitted = features @ np.linalg.lstsq(features, activity)[0]
    lab = data.redrawn(features, activity, seed=0)
    search = problem(compounds, lab.sigma)
    print(f"Groups seen three times: {search}, R² {1 - np.var(activity - fitted) / np.var(activity):.2f}.")
    values = search.items @ np.linalg.lstsq(features, activity)[0]
    needs = {name: repeat(search, features, activity, algorithm) for name, algorithm in ALGORITHMS.items()}
    for name, count in needs.items():
        print(f"  {name:21s} {count:5,.0f} assays on average")
    made = set(zip(*(compounds.text(site) for site in SITES), strict=True))
    groups = tuple(search.item_names[int(values.argmax())].split(", "))
    print(f"{groups}, pIC50 {values.max():.1f}: {'made' if groups in made else 'nobody has made it'}.")
    print(f"Best compound on record: pIC50 {activity.max():.1f}.")
    if len(sys.argv) > 1:
        figures.save(picture(compounds, values, needs), Path(sys.argv[1]))


def picture(compounds: Table, values: Any, needs: dict[str, float]) -> Any:
    """What was made and what could be, for R10 = H, and what each algorithm needs."""
    R1, R3, R10 = (list(dict.fromkeys(compounds.text(site))) for site in SITES)
    hydrogen = R10.index("[H][*:10]")
    grid = values.reshape(len(R1), len(R3), len(R10))[:, :, hydrogen]
    rows, columns = np.argsort(-grid.mean(axis=1)), np.argsort(-grid.mean(axis=0))
    with figures.style():
        figure = figures.blank(9.6, 4.0)
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
        shown = left.imshow(grid[np.ix_(rows, columns)], cmap="Blues", aspect="auto")
        for r1, r3, r10 in zip(*(compounds.text(site) for site in SITES), strict=True):
            if r10 == R10[hydrogen]:
                place = columns.tolist().index(R3.index(r3)), rows.tolist().index(R1.index(r1))
                left.scatter(*place, s=20, color=figures.INK, edgecolor="white", lw=0.5)
        row, column = np.unravel_index(grid[np.ix_(rows, columns)].argmax(), grid.shape)
        left.scatter(column, row, s=110, marker="s", facecolor="none", edgecolor=figures.STATIC, lw=2.0)
        left.set(xlabel=f"{len(R3)} groups at R3", ylabel=f"{len(R1)} groups at R1", xticks=[], yticks=[])
        left.set_title("Dots were made, the square is the best of all")
        bar = figure.colorbar(shown, ax=left, shrink=0.7, pad=0.02)
        bar.set_label("pIC50 by the fit")
        bar.outline.set_visible(False)
        bars(right, needs)
        right.set(xlabel="assays until it is known with confidence 95 %", title="What certainty costs")
    return figure


if __name__ == "__main__":
    main()
