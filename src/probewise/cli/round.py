"""probewise round: from the weights of a design to whole numbers of measurements."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
import numpy as np

import probewise as pw
from probewise.cli import output
from probewise.cli.inputs import FILE, INTEGER, Criterion, Source, criterion_options, out_option, source_options
from probewise.cli.output import json_option
from probewise.cli.roles import print_roles, roles
from probewise.coordinates import Array
from probewise.reading import read_table
from probewise.tables import duplicated, named

if TYPE_CHECKING:
    from probewise.rounding import Method

COLUMNS = ("probe", "count", "weight")


@click.command()
@click.argument("design", type=FILE)
@click.option("-n", "n", type=INTEGER, required=True, metavar="N", help="Total number of measurements.")
@source_options
@criterion_options
@click.option(
    "--method",
    type=click.Choice(["efficient", "regret", "best"]),
    default="efficient",
    show_default=True,
    help="efficient: close to the weights, every probe at least once. regret: one by one, even if N is below the "
    "number of probes. best: the one with the better proved bound.",
)
@out_option("probe, count, weight")
@json_option
@click.pass_context
def command(
    context: click.Context,
    design: Path,
    n: int,
    source: Source,
    criterion: Criterion,
    method: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """How often to measure each probe, N times in all.

    DESIGN is a table with the columns probe and weight, as `probewise design --out` writes it. Whole counts cannot
    follow the weights exactly; the inflation is the factor by which the largest variance grows, and the guarantee is a
    bound on it that was proved beforehand. With --items, the inflation is about their comparisons, otherwise about
    all directions.

    \b
    Example
      probewise round design.csv --probes probes.csv --items items.csv -n 100 --out counts.csv

    Exit code 1: these counts leave a comparison undetermined; N is too small.
    """
    if source.items is None and criterion.criterion != "pairs":
        raise click.UsageError("--criterion is about items; give --items too")
    problem = source.measured()
    weights = read_weights(design, problem)
    with output.working("Rounding", quiet=as_json):
        plan = pw.round_design(weights, n, probes=problem.scaled_probes, method=cast("Method", method))
        directions = None if source.items is None else criterion.directions(problem)
        inflation = plan.inflation(directions)
    error = None if directions is None else _standard_error(problem, plan, criterion)
    rows = _rows(problem, plan)
    output.write_csv(out, COLUMNS, rows)
    if as_json:
        output.print_json(
            {
                "n": plan.n,
                "method": plan.method,
                "support": int(np.count_nonzero(weights)),
                "inflation": inflation,
                "guarantee": plan.guarantee,
                "standard_error": error,
                "cost": float(plan.counts @ problem.cost),
                "counts": output.records(COLUMNS, rows),
                "out": out,
                **roles(problem),
            }
        )
    else:
        print_roles(problem)
        _report(problem, plan, rows, criterion if source.items else None, inflation, error)
        output.written(out)
    context.exit(0 if math.isfinite(inflation) else 1)


def read_weights(path: Path, problem: pw.Problem) -> Array:
    """(n,): the column weight of a table, in the order of the probes, 0 for those that it does not name."""
    table = read_table(path)
    names, given = table.text("probe"), table.numbers("weight")
    if twice := duplicated(names):
        raise pw.InvalidDesign(f"{path.name} gives more than one weight to {named(twice)}; keep one of each.")
    place = {name: i for i, name in enumerate(problem.probe_names)}
    if unknown := [name for name in names if name not in place]:
        raise pw.InvalidDesign(
            f"{path.name} names probes that the table of probes lacks: {named(unknown)}; "
            "give the probes that the design was made for."
        )
    if (given < 0).any():
        low = int(np.argmin(given))
        raise pw.InvalidDesign(f"weights must be at least 0, but {path.name} gives {given[low]:g} to '{names[low]}'.")
    weights = np.zeros(problem.n_probes)
    weights[[place[name] for name in names]] = given
    return weights


def _standard_error(problem: pw.Problem, plan: pw.Allocation, criterion: Criterion) -> float:
    from probewise.design import largest_variance

    return math.sqrt(
        largest_variance(problem.scaled_probes, plan.counts / plan.n, criterion.directions(problem)) / plan.n
    )


def _rows(problem: pw.Problem, plan: pw.Allocation) -> list[tuple[str, int, float]]:
    """Probe, count and weight of every probe to be measured, most often first."""
    order = [i for i in np.argsort(-plan.counts, kind="stable") if plan.counts[i] > 0]
    return [(problem.probe_names[i], int(plan.counts[i]), float(plan.weights[i])) for i in order]


def _report(
    problem: pw.Problem,
    plan: pw.Allocation,
    rows: list[tuple[str, int, float]],
    criterion: Criterion | None,
    inflation: float,
    error: float | None,
) -> None:
    output.title(f"{plan.n} measurements of {len(rows)} probes, by {plan.method} rounding")
    output.table(COLUMNS, [(p, str(c), f"{w:.4f}") for p, c, w in rows], bars=[c for _, c, _ in rows])
    about = "all directions" if criterion is None else criterion.phrase
    facts = [
        ("inflation", output.number(inflation), f"of the largest variance, over {about}"),
        ("guarantee", output.number(plan.guarantee), "proved bound on it, whatever is compared"),
    ]
    if (problem.cost != 1.0).any():
        planned = plan.n * float(plan.weights @ problem.cost)
        facts.append(("cost", output.number(float(plan.counts @ problem.cost)), f"in all; planned: {planned:.5g}"))
    output.facts(facts)
    if math.isinf(inflation):
        output.say("These counts leave some comparison undetermined: raise N.", style="yellow")
    elif criterion is not None:
        output.say(f"They give {criterion.phrase} a standard error of at most {error:.3g}.")
