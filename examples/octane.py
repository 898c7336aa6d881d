"""Octane: the best of 232 fuel blends, from measurements of pure components only.

The table has 722 motor octane numbers, 366 of a pure component and 356 of blends: probes and items are disjoint. The
model says that a blend has the mean octane number of its parts. That is not so, and this story is about what the error
does. The laboratory is made up from the table: a measurement is the recorded number of the component (the mean, if
there are several) plus normal noise of standard deviation 1.

    python examples/octane.py [picture.png]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import probewise as pw
from probewise import data, figures
from probewise.adequacy import check_adequacy

SIGMA = 1.0

fuels = data.octane()
components = fuels.header[2:]
labels = np.array(fuels.text("Label"))
octane = fuels.numbers("MON")
shares = np.column_stack([fuels.numbers(name) for name in components]) / 100.0
pure = np.count_nonzero(shares, axis=1) == 1
known = np.unique(shares[pure].argmax(axis=1))
"""Components on record as pure fuels."""
records = [np.flatnonzero(pure & (shares[:, component] > 0)) for component in known]
means = np.array([octane[rows].mean() for rows in records])
names = [f"{labels[rows[0]].lower()} ({components[component]})" for rows, component in zip(records, known, strict=True)]


def different_blends() -> Any:
    """Rows of the blends, the first of each group of equal ones."""
    rows = np.flatnonzero(~pure)
    return rows[np.sort(np.unique(shares[rows], axis=0, return_index=True)[1])]


def problem(blends: Any) -> pw.Problem:
    """Pure components are probes, blends are items; without an intercept, a blend is the mean of its parts."""
    probes = fuels.rows([rows[0] for rows in records])
    options: dict[str, Any] = {"model": ". - 1", "shown": ["MON", "Label"], "sigma": SIGMA}
    return pw.Problem.from_tables(probes, fuels.rows(blends), **options, probe_names=names, item_names=labels[blends])


def main() -> None:
    """Refused with all blends, solved with those made of known components; then how wrong the model is."""
    blends = different_blends()
    print(f"{pure.sum()} records of {known.size} pure components; {(~pure).sum()} of {blends.size} different blends.")
    try:
        problem(blends)
    except pw.InvalidProblem as error:
        print(f"All blends as items: {error}")
    unknown = np.setdiff1d(np.arange(len(components)), known)
    blends = blends[~shares[blends][:, unknown].any(axis=1)]
    search = problem(blends)
    print(f"Blends of known components: {search}.")
    lab = data.recorded(means, sd=SIGMA, seed=0)
    result = pw.identify(search, measure=lab.measure, algorithm=pw.Sage(), seed=0)
    counts = sum(round.counts for round in result.history)
    print(f"{result}; {np.count_nonzero(counts)} of {known.size} components were measured.")
    check = check_adequacy(search, pw.BestItem(), [round.measurements for round in result.history])
    print(check.fit.found)
    print(check.fit.advice)
    linear, recorded, found = shares[blends][:, known] @ means, octane[blends], result.item or 0
    bias = recorded - linear
    print(f"Recorded less model: mean {bias.mean():+.1f}, sd {bias.std():.1f}, largest {bias.max():+.0f}.")
    place = 1 + int((recorded > recorded[found]).sum())
    print(
        f"{labels[blends][found]} is number {place} on record: {recorded[found]:g}, by the model {linear[found]:.1f}."
    )
    order, lead = np.argsort(-linear), np.argsort(-recorded)
    print(f"First three by the model: {', '.join(labels[blends][order[:3]])}.")
    print(f"First three on record: {', '.join(labels[blends][lead[:3]])}.")
    if len(sys.argv) > 1:
        figures.save(picture(linear, recorded, found, counts), Path(sys.argv[1]))


def picture(linear: Any, recorded: Any, found: int, counts: Any) -> Any:
    """How wrong the model is, and which components were measured."""
    measured = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    with figures.style():
        figure = figures.blank(9.4, 4.0)
        left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.0))
        left.axline((50, 50), slope=1, color=figures.FAINT, lw=0.8)
        left.scatter(linear, recorded, s=15, color=figures.ORACLE, alpha=0.65, lw=0)
        left.scatter(linear[found], recorded[found], s=90, facecolor="none", edgecolor=figures.INK)
        best = (linear[found], recorded[found])
        left.annotate("found, and best on record", best, (-4, 10), textcoords="offset points", ha="right")
        left.text(110, 22, "Most blends are better than\nthe mean of their parts,\nsome by more than 20.", ha="right")
        left.set(xlabel="mean octane number of the parts", ylabel="octane number on record", ylim=(-4, 116))
        left.set_title("A biased model, and the right answer")
        right.barh(range(measured.size), counts[measured], height=0.62, color=figures.ORACLE)
        right.set_yticks(range(measured.size), [names[i].split(" (")[0] for i in measured], fontsize=8.5)
        right.set_ylim(measured.size - 0.4, -0.6)
        right.tick_params(axis="y", length=0)
        right.spines["left"].set_visible(False)
        right.set_xlabel(f"measurements; the {known.size - measured.size} other components: none")
        right.set_title("What was measured")
        right.xaxis.get_major_locator().set_params(integer=True)
    return figure


if __name__ == "__main__":
    main()
