"""The second part of the demo: one problem of the paper, its certified designs, the search, and a picture."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import probewise as pw
from probewise.cli import live, output
from probewise.cli.comparisons import needs
from probewise.coordinates import Array

DIMENSION, ANGLE, DELTA, SEED = 20, 0.1, 0.05, 1


def shown(out: Path | None, *, quiet: bool) -> dict[str, Any]:
    """Solve, draw and print, the last unless ``quiet``; what --json says."""
    problem, theta = pw.instances.transductive(DIMENSION, ANGLE)
    with output.working("Solving for both designs", quiet=quiet):
        static = pw.optimal_design(problem.scaled_probes, pw.pairs(problem.items))
        found = pw.hardness(problem, theta)
        claims = pw.BestItem().directions_at(problem, theta)
        need = (needs(problem, static.weights, claims), needs(problem, found.design.weights, claims))
    pictures: list[Path] = []
    if out is not None:
        with output.working("Drawing", quiet=quiet):
            pictures = _drawn(out, problem, found, static, need)
    bound = found.lower_bound(DELTA)
    # with the proportions of a design w, the proof of Theorem 1 gives 2ψ(w)·log(1/2.4δ)
    static_bound = 2.0 * float(need[0].max()) * math.log(1.0 / (2.4 * DELTA))
    if not quiet:
        _report(found, static, need[0].max(), (static_bound, bound))
        output.title("Now without knowing the truth: rounds in a simulated laboratory, unit Gaussian noise")
    search = _search(problem, theta, quiet=quiet)
    if not quiet:
        taken = search["measurements"]
        output.say(
            f"Found: {search['item']}, the best item with confidence {1 - DELTA:.0%} (docs/sage.md has the proof), "
            f"after {taken:,} measurements in {search['rounds']} rounds: {taken / bound:.1f} times the bound for any "
            f"method, {static_bound / taken:.0f} times fewer than the least that the static design can do with."
        )
    return {
        "instance": "transductive",
        "dimension": DIMENSION,
        "angle": ANGLE,
        "delta": DELTA,
        "best": problem.item_names[found.best],
        "static": _certificate(static) | {"need": float(need[0].max()), "lower_bound": static_bound},
        "oracle": _certificate(found.design) | {"need": found.psi, "lower_bound": bound},
        "identification": search,
        "pictures": pictures,
    }


def _drawn(
    out: Path, problem: pw.Problem, found: pw.Hardness, static: pw.Design, need: tuple[Array, Array]
) -> list[Path]:
    """The pictures of the two designs."""
    from probewise import figures

    pictures = [out / "transductive.png", out / "transductive.svg"]
    figures.save(figures.draw_demo(problem, found, static, need), *pictures)
    return pictures


def _search(problem: pw.Problem, theta: Array, *, quiet: bool) -> dict[str, Any]:
    """The default algorithm on the instance, one line a round."""
    laboratory = pw.LinearEnvironment(problem, theta, seed=SEED)
    with live.rounds(problem, quiet=quiet) as progress:
        result = pw.identify(problem, pw.BestItem(DELTA), measure=laboratory.measure, seed=SEED, progress=progress)
    return {"item": result.item_name, "measurements": result.measurements, "rounds": result.rounds}


def _certificate(design: pw.Design) -> dict[str, float]:
    return {"value": design.value, "lower": design.lower, "gap": design.gap}


def _report(found: pw.Hardness, static: pw.Design, need: float, bounds: tuple[float, float]) -> None:
    half, designs = DIMENSION // 2, (static, found.design)
    output.title(f"The transductive instance of Fiez, Jain, Jamieson and Ratliff (2019), d = {DIMENSION}")
    output.say(
        f"You can measure e1 to e{DIMENSION} and want the best of {DIMENSION} items: e1 to e{half}, and each of these "
        f"tilted by {ANGLE} rad towards an axis of its own. The best is e1, and its tilted twin, which cannot be "
        f"measured, is only {found.gaps[half]:.3f} worse: the answer hangs on e{half + 1}, the one probe that tells "
        "the two apart."
    )
    output.table(
        ("", "static, for all pairs", "oracle, knows the best"),
        [
            ("value, each of its own criterion", *(f"{design.value:.3f}" for design in designs)),
            ("certified: no design is below", *(f"{design.lower:.3f}" for design in designs)),
            (f"share of measurements on e{half + 1}", *(f"{design.weights[half]:.1%}" for design in designs)),
            ("hardest comparison, variance / gap²", f"{need:,.0f}", f"{found.psi:,.0f}"),
            (f"measurements at least, δ = {DELTA}", *(f"{bound:,.0f}" for bound in bounds)),
        ],
    )
    output.say(
        f"The last line is what a method that errs with probability at most {DELTA} needs on average if it measures in "
        f"these shares. Those of the oracle need {bounds[0] / bounds[1]:.0f} times fewer, and no method that is as "
        "sure, whatever the truth, needs less: this is what there is to gain by adapting to outcomes."
    )
