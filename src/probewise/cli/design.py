"""probewise design: the weights that determine all comparisons best, with a proof."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
import numpy as np

import probewise as pw
from probewise.cli import output
from probewise.cli.inputs import FILE, NUMBER, Criterion, Source, criterion_options, out_option, source_options
from probewise.cli.output import json_option
from probewise.cli.roles import print_roles, roles

COLUMNS = ("probe", "weight", "cost_share")
INEXACT = (
    "Features of the probes depend on each other up to rounding only: weights and bounds are those of the nearest "
    "probes for which they truly do. Leave superfluous features out to be rid of the doubt."
)


@click.command()
@source_options
@criterion_options
@click.option(
    "--tol",
    type=NUMBER,
    default=1e-3,
    show_default=True,
    help="Allowed relative distance to the optimum; it is proved, not estimated.",
)
@click.option(
    "--solver",
    type=click.Choice(["certified", "frank-wolfe"]),
    default="certified",
    show_default=True,
    help="frank-wolfe is the solver of the paper; it cannot tell when it has converged.",
)
@click.option("--small-support", is_flag=True, help="Look for a design of the same precision on fewer probes.")
@out_option("probe, weight, cost_share")
@click.option("--plot", type=FILE, metavar="FILE", help="Draw the weights: .png, .svg or .pdf.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    source: Source,
    criterion: Criterion,
    tol: float,
    solver: str,
    small_support: bool,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Which probes to measure, and in which shares.

    The answer is a design: a weight for each probe, its share of the measurements. It comes with a proved lower
    bound that no design can beat, so you know how close to the optimum it is. Without --items, the probes
    themselves are compared.

    \b
    Example
      probewise design --probes probes.csv --items items.csv --out design.csv --plot design.png

    Exit code 1: the gap to the lower bound is larger than --tol.
    """
    problem = source.problem()
    with output.working("Solving for the optimal design", quiet=as_json):
        design = solve(problem, criterion, tol, solver, small_support)
    rows = weights_table(problem, design.weights)
    output.write_csv(out, COLUMNS, rows)
    if plot is not None:
        from probewise import figures

        figures.save(figures.draw_design(problem, design), plot)
    if as_json:
        content = _record(problem, criterion, design) | {
            "weights": output.records(COLUMNS, rows),
            "out": out,
            "plot": plot,
            **roles(problem),
        }
        output.print_json(content)
    else:
        print_roles(problem)
        _report(problem, criterion, design, costly=source.cost_column is not None)
        output.written(out, plot)
    context.exit(0 if design.gap <= tol else 1)


def _record(problem: pw.Problem, criterion: Criterion, design: pw.Design) -> dict[str, Any]:
    """What --json says besides the weights."""
    return {
        "criterion": criterion.criterion,
        "reference": criterion.reference,
        "n_probes": problem.n_probes,
        "n_items": problem.n_items,
        "dimension": problem.dimension,
        "solver": design.solver,
        "tol": design.tol,
        "converged": design.converged,
        "exact": design.exact,
        "value": design.value,
        "lower": design.lower,
        "gap": design.gap,
        "support": design.support.size,
    }


def solve(problem: pw.Problem, criterion: Criterion, tol: float, solver: str, small_support: bool) -> pw.Design:
    """The design, on few probes if asked for; its value is then computed afresh."""
    from probewise.design import recertified
    from probewise.goals import check_comparable

    if criterion.criterion != "points":
        check_comparable(problem)
    directions, X, cost = criterion.directions(problem), problem.scaled_probes, problem.cost
    design = pw.optimal_design(X, directions, cost=cost, tol=tol, solver=solver)
    if not small_support:
        return design
    weights = pw.reduce_support(X, design.weights, cost=cost)
    return recertified(design, X, directions, weights, cost=cost)


def weights_table(problem: pw.Problem, weights: np.ndarray) -> list[tuple[str, float, float]]:
    """Probe, weight and share of the cost of every probe in the support, largest weight first."""
    share = weights * problem.cost / float(weights @ problem.cost)
    order = [i for i in np.argsort(-weights, kind="stable") if weights[i] > 0]
    return [(problem.probe_names[i], float(weights[i]), float(share[i])) for i in order]


def print_weights(rows: list[tuple[str, float, float]], *, costly: bool) -> None:
    """The table of a design; shares of the cost only where costs differ from 1."""
    header = ("probe", "weight", "share of cost") if costly else ("probe", "weight")
    cells = [(name, f"{weight:.4f}", f"{share:.4f}")[: len(header)] for name, weight, share in rows]
    output.table(header, cells, bars=[weight for _, weight, _ in rows])


def _report(problem: pw.Problem, criterion: Criterion, design: pw.Design, *, costly: bool) -> None:
    rows = weights_table(problem, design.weights)
    output.title(f"A design on {len(rows)} of {problem.n_probes} probes, for {criterion.phrase}")
    print_weights(rows, costly=costly)
    unit = "cost" if costly else "measurements"
    output.facts(
        [
            ("value", output.number(design.value), f"largest variance, times {unit}"),
            ("lower bound", output.number(design.lower), "proved: no design has a smaller value"),
            ("gap", f"{design.gap:.1e}", f"value / lower bound - 1; asked for: {design.tol:g}"),
        ]
    )
    value, error = output.number(design.value), output.number(float(f"{math.sqrt(design.value / 1000):.3g}"))
    spent = "A budget of N spent" if costly else "N measurements"
    verb = "gives" if costly else "give"
    output.say(
        f"{spent} by this design {verb} {criterion.phrase} a standard error of at most √({value}/N): {error} for "
        "N = 1000. Whole counts cost a little more: probewise round says how much."
    )
    if not design.exact:
        output.say(INEXACT, style="yellow")
    if design.gap > design.tol:
        output.say(
            f"The gap is above {design.tol:g}: there may be a better design, of value {output.number(design.lower)} "
            "at best.",
            style="yellow",
        )
