"""probewise simulate: many runs on your own tables, with an assumed truth."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

import probewise as pw
from probewise.cli import output
from probewise.cli.choices import (
    ALGORITHM,
    asked_goal,
    bars,
    build,
    delta_option,
    epsilon_option,
    fitting,
    goal_option,
    minimise_option,
    misfit_option,
    promise_option,
    seed_option,
    workers_option,
)
from probewise.cli.hardness import assumed
from probewise.cli.inputs import FILE, WHOLE, Source, search_options
from probewise.cli.output import json_option
from probewise.cli.roles import print_roles, roles
from probewise.theory import no_bound

if TYPE_CHECKING:
    from probewise.simulation.environment import Noise


@click.command()
@search_options
@click.option(
    "--theta", required=True, metavar="FILE|LIST", help="The assumed truth: a table, or numbers such as 1,0,0.5."
)
@click.option(
    "--algorithm", "algorithms", multiple=True, default=("sage",), show_default=True, metavar=ALGORITHM,
    help="Algorithm and its settings; may be repeated to compare several. `probewise list` shows them all.",
)  # fmt: skip
@click.option("--runs", type=WHOLE, default=100, show_default=True, help="Number of runs of each algorithm.")
@click.option(
    "--noise",
    help="Simulate noise of this law instead of the stated one: gaussian, rademacher, uniform or bernoulli.",
)
@delta_option
@epsilon_option
@goal_option
@minimise_option
@promise_option
@misfit_option
@seed_option
@workers_option
@click.option(
    "--out", type=FILE, metavar="FOLDER",
    help="Write one table of runs per algorithm to this folder; an interrupted command continues from there.",
)  # fmt: skip
@click.option("--plot", type=FILE, metavar="FILE", help="Draw the comparison: .png, .svg or .pdf.")
@json_option
def command(
    source: Source,
    theta: str,
    algorithms: tuple[str, ...],
    runs: int,
    noise: str | None,
    delta: float,
    epsilon: float,
    question: str,
    minimise: bool,
    promise: str | None,
    misfit: float,
    seed: int,
    workers: int,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """How many measurements an algorithm takes and how often it errs.

    Assumes that theta is the truth and draws outcomes from it, for each algorithm from the same seeds. The 99 %
    interval of the error rate is exact.

    \b
    Example
      probewise simulate --probes probes.csv --items items.csv --theta 1,0.2,0 --algorithm sage --algorithm rage
    """
    from probewise import figures
    from probewise.simulation.journal import file_stem

    if plot is not None:
        figures.check(plot)
    problem = source.problem(misfit)
    goal = fitting(asked_goal(question, delta, epsilon, minimise, promise), problem)
    truth = assumed(theta, problem, goal)
    means = problem.probes @ truth
    if noise == "bernoulli" and not ((means >= 0) & (means <= 1)).all():
        raise pw.InvalidProblem(
            "outcomes 0 and 1 need expectations between 0 and 1, but theta gives the probes "
            f"{means.min():g} to {means.max():g}; scale theta or choose another noise."
        )
    # refuses a tie, which no method would ever decide
    known = not no_bound(problem, goal)
    bound = pw.hardness(problem, truth, goal=goal, tol=1e-3).lower_bound(delta) if known else None
    built = {text: build(text, truth) for text in algorithms}
    with bars(quiet=as_json) as progress:
        found = pw.simulate(
            problem,
            truth,
            built,
            goal,
            runs=runs,
            seed=seed,
            workers=workers,
            noise=cast("Noise | None", noise),
            progress=lambda done, _: progress(list(built)[(done - 1) // runs], (done - 1) % runs + 1, runs),
            journal=out,
        )
    tables, costly = found.by_algorithm(), source.cost_column is not None
    if out is not None:
        for text, table in tables.items():
            table.write(out / f"{file_stem(text)}.csv")
    if plot is not None:
        figures.save(figures.draw_runs(found, column="cost" if costly else "measurements", lower=bound), plot)
    rows = [_row(text, table) for text, table in tables.items()]
    if as_json:
        content = {"delta": delta, "epsilon": epsilon, "lower_bound": bound, "algorithms": rows}
        output.print_json(content | {"out": out, "plot": plot} | roles(problem))
        return
    print_roles(problem)
    header = ("algorithm", "measurements", "± s.e.", *(["cost"] if costly else []), "rounds", "wrong")
    last = "wrong of those listed, mean ± s.e." if goal.promise == "share" else "error rate, 99 % interval"
    output.table((*header, last), [_cells(row, costly=costly) for row in rows])
    if bound is not None:
        least = f"{'a cost below' if costly else 'fewer measurements than'} {output.number(round(bound))}"
        output.say(
            f"No method that errs with probability at most {delta:g}, whatever the truth, can expect {least}, if noise "
            "is Gaussian."
        )
    output.written(plot)


def _cells(row: dict[str, str | float], *, costly: bool) -> tuple[str, ...]:
    error = float(row["standard_error"])
    return (
        str(row["algorithm"]),
        output.number(round(float(row["measurements"]))),
        output.number(round(error)) if math.isfinite(error) else "",
        *([output.number(round(float(row["cost"])))] if costly else []),
        f"{row['rounds']:.1f}",
        f"{row['errors']} of {row['runs']}",
        f"{row['wrong_share']:.4f} ± {row['wrong_share_error']:.4f}"
        if "wrong_share" in row
        else f"{row['error_low']:.4f} to {row['error_high']:.4f}",
    )


def _row(name: str, runs: pw.Runs) -> dict[str, str | float]:
    rate = runs.error_rate()
    return {
        "algorithm": name,
        "runs": len(runs),
        "measurements": runs.mean("measurements"),
        "standard_error": runs.standard_error("measurements"),
        "cost": runs.mean("cost"),
        "rounds": runs.mean("rounds"),
        "errors": rate.errors,
        "error_rate": rate.value,
        "error_low": rate.low,
        "error_high": rate.high,
        **(
            {"wrong_share": runs.mean("wrong_share"), "wrong_share_error": runs.standard_error("wrong_share")}
            if "wrong_share" in runs.columns
            else {}
        ),
    }
