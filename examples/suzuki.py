"""Suzuki coupling: the best of 247 conditions, from runs with little palladium.

The table has one yield for each of 247 conditions (temperature, palladium, boronic ester, base). Palladium is dear, so
only the 185 conditions with at most 3.5 mol% are run; all 247 may be recommended. The laboratory is made up from the
table: a run gives the quadratic fit to the recorded yields plus one of the recorded residuals, drawn at random.

    python examples/suzuki.py [picture.png]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from shared import bars, run

import probewise as pw
from probewise import data, figures
from probewise.adequacy import check_adequacy

CONDITIONS = ("temperature", "pd", "arbpin", "k3po4")
GOAL = pw.BestItem(delta=0.05)
ALGORITHMS: dict[str, pw.Algorithm[Any]] = {
    "Sage": pw.Sage(),
    "RAGE, tight": pw.Rage("tight"),
    "all runs equally": pw.Uniform(),
}

runs = data.suzuki()
yields = runs.numbers("yield")
cheap = runs.numbers("pd") <= 3.5
columns = [runs.numbers(name) for name in CONDITIONS]
names = np.array([f"{t:g} °C, {p:g} % Pd, {a:g} ArBpin, {k:g} K3PO4" for t, p, a, k in zip(*columns, strict=True)])
best = int(yields.argmax())


def laboratory(seed: int) -> data.Laboratory:
    """Fit plus a recorded residual, for the cheap runs."""
    every_run = data.redrawn(features, yields, seed=seed)
    return replace(every_run, means=every_run.means[cheap])


def problem(sigma: float) -> pw.Problem:
    """Cheap runs are probes, all runs are items."""
    named: dict[str, Any] = {"probe_names": names[cheap], "item_names": names}
    return pw.Problem.from_tables(runs.rows(cheap), runs, model="quadratic", shown=["yield"], sigma=sigma, **named)


features = problem(sigma=1.0).items
fitted = features @ np.linalg.lstsq(features, yields)[0]


def repeat(algorithm: pw.Algorithm[Any], laboratories: int = 10) -> tuple[float, float, int]:
    """Mean runs and rounds over several laboratories, and how many answers are the best condition on record."""
    results = []
    for seed in range(laboratories):
        lab = laboratory(seed)
        results.append(pw.identify(problem(lab.sigma), GOAL, measure=lab.measure, algorithm=algorithm, seed=seed))
    means = np.mean([(result.measurements, result.rounds) for result in results], axis=0)
    return float(means[0]), float(means[1]), sum(result.item == best for result in results)


def unkind_laboratory() -> None:
    """The recorded yields themselves, with little noise: now the error of the model is no noise and can be seen."""
    lab = data.recorded(yields[cheap], sd=2.0, seed=0)
    search = problem(lab.sigma)
    result = pw.identify(search, GOAL, measure=lab.measure, algorithm=ALGORITHMS["Sage"], seed=0)
    check = check_adequacy(search, GOAL, [r.measurements for r in result.history], leader=result.item)
    right = "the best" if result.item == best else "not the best"
    print(f"Recorded yields with noise 2: {result.item_name}, {right} on record.")
    print(f"The fit is {check.fit.verdict}: {check.fit.found}")


def main() -> None:
    """Fit, run a campaign, compare algorithms, and be unkind."""
    explained = 1 - np.var(yields - fitted) / np.var(yields)
    print(f"{len(runs)} conditions, {cheap.sum()} of them cheap; {features.shape[1]} features, R² {explained:.3f}.")
    print(f"Best on record: {names[best]}; best by the fit: {names[fitted.argmax()]}.")
    lab = laboratory(seed=0)
    print(f"A run scatters by {lab.errors.std():.1f} % yield; with its tails, sigma is {lab.sigma:.1f}.")
    with TemporaryDirectory() as folder:
        search = pw.Campaign.create(f"{folder}/suzuki.db", problem(lab.sigma), GOAL, ALGORITHMS["Sage"], seed=0)
        print(run(search, lab, "runs").sentence)
    needs = {name: repeat(algorithm) for name, algorithm in ALGORITHMS.items()}
    for name, (count, rounds, right) in needs.items():
        print(f"  {name:16s} {count:6,.0f} runs in {rounds:4.1f} rounds on average, {right} of 10 answers right")
    unkind_laboratory()
    if len(sys.argv) > 1:
        figures.save(picture({name: need[0] for name, need in needs.items()}), Path(sys.argv[1]))


def picture(needs: dict[str, float]) -> Any:
    """The fit, and what each algorithm needs."""
    with figures.style():
        figure = figures.blank(9.0, 3.7)
        left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.1))
        left.axline((0, 0), slope=1, color=figures.FAINT, lw=0.8)
        for group, colour in ((cheap, figures.ORACLE), (~cheap, figures.STATIC)):
            left.scatter(fitted[group], yields[group], s=15, color=colour, alpha=0.75, lw=0)
        left.scatter(fitted[best], yields[best], s=90, facecolor="none", edgecolor=figures.INK)
        left.annotate("best", (fitted[best], yields[best]), (-2, 9), textcoords="offset points", ha="right")
        left.text(0, 92, f"{cheap.sum()} runs with at most\n3.5 % Pd: the probes", color=figures.ORACLE, va="top")
        left.text(53, 16, f"{(~cheap).sum()} runs with 5 % Pd:\nitems only", color=figures.STATIC, va="top")
        left.set(xlim=(-5, 105), ylim=(-5, 110), title="A model that fits")
        left.set(xlabel="yield by the quadratic model (%)", ylabel="yield on record (%)")
        bars(right, needs)
        right.set(xlabel="runs until the best is known with confidence 95 %", title="What certainty costs")
    return figure


if __name__ == "__main__":
    main()
