"""probewise simulate: many runs on your own tables, with an assumed truth."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

import probewise as pw
from probewise.cli import output
from probewise.cli.choices import (
    ALGORITHM,
    bars,
    build,
    delta_option,
    epsilon_option,
    goal_option,
    seed_option,
    workers_option,
)
from probewise.cli.hardness import assumed
from probewise.cli.inputs import FILE, WHOLE, Source, json_option, source_options
from probewise.cli.roles import print_roles, roles

if TYPE_CHECKING:
    from probewise.simulation.environment import Noise


@click.command()
@source_options
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
@seed_option
@workers_option
@click.option(
    "--out", type=FILE, metavar="FOLDER",
    help="Write one table of runs per algorithm to this folder; an interrupted command continues from there.",
)  # fmt: skip
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
    seed: int,
    workers: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """How many measurements an algorithm takes and how often it errs.

    Assumes that theta is the truth and draws outcomes from it. The 99 % interval of the error rate is exact.

    \b
    Example
      probewise simulate --probes probes.csv --items items.csv --theta 1,0.2,0 --algorithm sage --algorithm rage
    """
    from probewise.goals import goal_from

    problem, goal = source.problem(), goal_from(question, delta=delta, epsilon=epsilon)
    truth = assumed(theta, problem, goal)
    means = problem.probes @ truth
    if noise == "bernoulli" and not ((means >= 0) & (means <= 1)).all():
        raise pw.InvalidProblem(
            "outcomes 0 and 1 need expectations between 0 and 1, but theta gives the probes "
            f"{means.min():g} to {means.max():g}; scale theta or choose another noise."
        )
    # refuses a tie, which no method would ever decide; where epsilon allows one, nothing is known of a bound
    bound = None if epsilon > 0 else pw.hardness(problem, truth, goal=goal, tol=1e-3).lower_bound(delta)
    found: dict[str, pw.Runs] = {}
    with bars(quiet=as_json) as progress:
        for text in algorithms:
            stem = None if out is None else out / re.sub(r"[^\w.=-]+", "-", text)
            found[text] = pw.simulate(
                problem,
                truth,
                build(text, truth),
                goal,
                runs=runs,
                seed=seed,
                workers=workers,
                noise=cast("Noise | None", noise),
                progress=lambda done, total, text=text: progress(text, done, total),  # type: ignore[misc]
                journal=None if stem is None else Path(f"{stem}.jsonl"),
            )
            if stem is not None:
                found[text].write(Path(f"{stem}.csv"))
    rows = [_row(text, table) for text, table in found.items()]
    if as_json:
        content = {"delta": delta, "epsilon": epsilon, "lower_bound": bound, "algorithms": rows, "out": out}
        output.print_json(content | roles(problem))
        return
    print_roles(problem)
    costly = source.cost_column is not None
    header = ("algorithm", "measurements", "± s.e.", *(["cost"] if costly else []), "rounds", "wrong")
    output.table((*header, "error rate, 99 % interval"), [_cells(row, costly=costly) for row in rows])
    if bound is not None:
        least = f"{'a cost below' if costly else 'fewer measurements than'} {output.number(round(bound))}"
        output.say(
            f"No method that errs with probability at most {delta:g}, whatever the truth, can expect {least}, if noise "
            "is Gaussian."
        )


def _cells(row: dict[str, str | float], *, costly: bool) -> tuple[str, ...]:
    error = float(row["standard_error"])
    return (
        str(row["algorithm"]),
        output.number(round(float(row["measurements"]))),
        output.number(round(error)) if math.isfinite(error) else "",
        *([output.number(round(float(row["cost"])))] if costly else []),
        f"{row['rounds']:.1f}",
        f"{row['errors']} of {row['runs']}",
        f"{row['error_low']:.4f} to {row['error_high']:.4f}",
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
    }
