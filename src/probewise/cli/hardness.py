"""probewise hardness: how many measurements any method needs if theta is the truth."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

import probewise as pw
from probewise.cells import number
from probewise.cli import output
from probewise.cli.choices import asked_goal, delta_option, fitting, goal_option, minimise_option
from probewise.cli.comparisons import needs
from probewise.cli.design import COLUMNS, INEXACT, print_weights, weights_table
from probewise.cli.inputs import NUMBER, Source, out_option, source_options
from probewise.cli.output import json_option
from probewise.cli.roles import print_roles, roles
from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.reading import read_table
from probewise.tables import duplicated, named


@click.command()
@source_options
@click.option(
    "--theta", required=True, metavar="FILE|LIST", help="The assumed truth: a table, or numbers such as 1,0,0.5."
)
@delta_option
@goal_option
@minimise_option
@click.option(
    "--tol",
    type=NUMBER,
    default=1e-4,
    show_default=True,
    help="Allowed relative error of ψ*; it is proved, not estimated.",
)
@out_option("probe, weight, cost_share")
@json_option
@click.pass_context
def command(
    context: click.Context,
    source: Source,
    theta: str,
    delta: float,
    question: str,
    minimise: bool,
    tol: float,
    out: Path | None,
    as_json: bool,
) -> None:
    """How many measurements any method needs.

    Assumes that the value of an item is its features times theta, and that the method errs with probability at most
    delta, whatever the truth. The difficulty of a problem is ψ*: the largest squared ratio of standard error to gap,
    under the best design. THETA is one number per feature in the units of your columns, the intercept first, or a
    table: one row with a column per feature, or the columns feature and value. Without --items, the probes themselves
    are compared.

    \b
    Example
      probewise hardness --probes probes.csv --items items.csv --theta 1,0.2,0 --delta 0.05

    Exit code 1: ψ* was not found to within --tol.
    """
    problem = source.problem()
    goal = fitting(asked_goal(question, delta, 0.0, minimise), problem)
    with output.working("Solving for the oracle design", quiet=as_json):
        truth = assumed(theta, problem, goal)
        found = pw.hardness(problem, truth, goal=goal, tol=tol)
    bounds = (found.lower_bound(delta), found.kl_lower_bound(delta), found.paper_lower_bound(delta))
    rows = weights_table(problem, found.design.weights)
    output.write_csv(out, COLUMNS, rows)
    comparisons = _comparisons(problem, found, goal, truth)
    names = [problem.item_names[item] for item in found.answer]
    if as_json:
        output.print_json(
            {
                "best": names[0] if names else None,
                "answer": names,
                "psi": found.psi,
                "psi_lower": found.psi_lower,
                "gap": found.design.gap,
                "tol": tol,
                "converged": found.design.converged,
                "exact": found.design.exact,
                "delta": delta,
                "lower_bound": bounds[0],
                "kl_lower_bound": bounds[1],
                "paper_lower_bound": bounds[2],
                "items": output.records(("item", "gap", "need"), comparisons),
                "weights": output.records(COLUMNS, rows),
                "out": out,
                **roles(problem),
            }
        )
    else:
        costly = source.cost_column is not None
        print_roles(problem)
        _report(names, goal, found, comparisons, bounds, costly=costly)
        output.title("Where an oracle that knows theta would measure")
        print_weights(rows, costly=costly)
        output.written(out)
    context.exit(0 if found.design.gap <= found.design.tol else 1)


def assumed(text: str, problem: pw.Problem, goal: pw.Goal) -> Array:
    """(d,): the truth that a text or file gives in the units of the tables, for the features as they are coded.

    A tie, which no method would ever decide, is refused unless epsilon allows it; it is looked for in these units,
    where the numbers are as they were given.
    """
    theta = read_theta(text, problem.feature_names)
    model, tables, n = problem.model, problem.tables, problem.n_probes
    coded, plain = theta, problem
    if model is not None and tables is not None and model.in_units != model:
        rows = np.vstack([model.in_units.coded(table).values for table in tables])
        coded = np.asarray(np.linalg.lstsq(np.vstack([problem.probes, problem.items]), rows @ theta, rcond=None)[0])
        plain = pw.Problem(rows[:n], rows[n:], item_names=problem.item_names)
    if goal.epsilon == 0:
        goal.settled(plain, theta)
    return coded


def read_theta(text: str, features: tuple[str, ...]) -> Array:
    """(d,): numbers separated by commas, or a file with a column per feature or the columns feature and value."""
    if not Path(text).is_file():
        values = [number(part) for part in text.split(",")]
        if None in values:
            raise InvalidProblem(
                f"theta must be a file or numbers separated by commas, got '{text}'; there is no such file."
            )
        theta = np.array(values, dtype=np.float64)
        if theta.size != len(features) or not np.isfinite(theta).all():
            raise InvalidProblem(
                f"theta must be {len(features)} finite numbers, one for each of {named(features)}, got '{text}'."
            )
        return theta
    table = read_table(text)
    if set(table.header) == {"feature", "value"}:
        names = table.text("feature")
        if twice := duplicated(names):
            raise InvalidProblem(f"{table.name} gives more than one value to {named(twice)}; keep one of each.")
        if unknown := [name for name in names if name not in features]:
            raise InvalidProblem(f"{table.name} has values for {named(unknown)}, which the probes lack; remove them.")
        given = dict(zip(names, table.numbers("value").tolist(), strict=True))
    elif len(table) == 1:
        given = {name: float(table.numbers(name)[0]) for name in features if name in table.header}
    else:
        raise InvalidProblem(
            f"{table.name} must have one row with a column per feature, or the columns feature and value, "
            f"got {len(table)} rows of {named(table.header)}."
        )
    if missing := [name for name in features if name not in given]:
        raise InvalidProblem(f"{table.name} has no value of theta for {named(missing)}; add it.")
    return np.array([given[name] for name in features])


def _comparisons(
    problem: pw.Problem, found: pw.Hardness, goal: pw.Goal, theta: Array
) -> list[tuple[str, float, float]]:
    """Name, gap and need under the oracle design of every item that could change the answer, smallest gap first."""
    need = needs(problem, found.design.weights, goal.directions_at(problem, theta))
    order = [i for i in np.argsort(found.gaps, kind="stable") if found.gaps[i] > 0]
    return [(problem.item_names[i], float(found.gaps[i]), float(need[i])) for i in order]


def _report(
    names: list[str],
    goal: pw.Goal,
    found: pw.Hardness,
    comparisons: list[tuple[str, float, float]],
    bounds: tuple[float, float, float],
    *,
    costly: bool,
) -> None:
    delta, gap_to = goal.delta, f"gap to '{names[0]}'" if goal.ranks else "gap"
    output.title(f"Under theta, {goal.claim([repr(name) for name in names])}")
    cells = [(name, output.number(gap), output.number(need)) for name, gap, need in comparisons]
    output.table(("item", gap_to, "variance / gap²"), cells, bars=[need for *_, need in comparisons])
    least = f"proved at least {output.number(found.psi_lower)}"
    output.facts(
        [
            ("ψ*", output.number(found.psi), f"the hardest variance / gap² under the best design, {least}"),
            (
                "lower bound",
                f"{bounds[0]:,.1f}",
                f"expected {'cost' if costly else 'measurements'} at least: 2ψ*·log(1/2.4δ), δ = {delta:g}",
            ),
            ("sharper", f"{bounds[1]:,.1f}", "2ψ*·kl(δ, 1-δ), equally true"),
            (
                "as printed",
                f"{bounds[2]:,.1f}",
                "ψ*·log(1/2.4δ), in Theorem 1 of the paper: half of what its proof gives",
            ),
        ]
    )
    output.say(
        f"No method that errs with probability at most {delta:g}, whatever the truth, gets by with less on average, if "
        "noise is Gaussian and the truth is this theta."
    )
    if not found.design.exact:
        output.say(INEXACT, style="yellow")
    if found.design.gap > found.design.tol:
        output.say(f"ψ* is known to a relative gap of {found.design.gap:.1e} only.", style="yellow")
