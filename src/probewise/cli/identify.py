"""probewise identify: find the best item with a command that measures, or with a simulated laboratory."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable

import click
import numpy as np
from numpy.typing import NDArray

import probewise as pw
from probewise.cli import output
from probewise.cli.choices import ALGORITHM, build, delta_option, epsilon_option, seed_option
from probewise.cli.hardness import read_theta
from probewise.cli.inputs import Source, json_option, source_options
from probewise.coordinates import Array

Measure = Callable[[NDArray[np.int64]], Array]


@click.command()
@source_options
@click.option("--measure", metavar="COMMAND", help="Reads names of probes, one per line; prints an outcome for each.")
@click.option("--theta", metavar="FILE|LIST", help="Instead of --measure: simulate a laboratory with this truth.")
@click.option("--algorithm", default="rage", show_default=True, metavar=ALGORITHM, help="See `probewise list`.")
@click.option(
    "--budget", type=click.IntRange(1), metavar="N", help="Stop before a round that would exceed N measurements."
)
@delta_option
@epsilon_option
@seed_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    source: Source,
    measure: str | None,
    theta: str | None,
    algorithm: str,
    budget: int | None,
    delta: float,
    epsilon: float,
    seed: int,
    as_json: bool,
) -> None:
    """Find the best item, round by round.

    In every round, COMMAND is started once. It gets the names of the probes to measure on standard input, one per
    line, a name as often as it is to be measured, and must print as many numbers, one per line, in the same order.

    \b
    Example
      probewise identify --probes probes.csv --items items.csv --measure "python laboratory.py"

    Exit code 1: the budget ended before an answer.
    """
    if (measure is None) == (theta is None):
        raise click.UsageError("give either --measure COMMAND or --theta, which simulates one")
    problem = source.problem()
    truth = None if theta is None else read_theta(theta, problem.feature_names)
    laboratory: Measure
    if measure is not None:
        laboratory = _commanded(problem, shlex.split(measure))
    else:
        assert truth is not None
        laboratory = pw.LinearEnvironment(problem, truth, seed=seed).measure
    with output.working("Measuring", quiet=as_json):
        result = pw.identify(
            problem,
            pw.BestItem(delta, epsilon),
            measure=laboratory,
            algorithm=build(algorithm, truth),
            seed=seed,
            budget=budget,
        )
    if as_json:
        output.print_json(
            {
                "status": result.status,
                "item": result.item_name,
                "measurements": result.measurements,
                "cost": result.cost,
                "rounds": result.rounds,
                "delta": delta,
                "epsilon": epsilon,
                "estimate": dict(zip(problem.feature_names, result.estimate.tolist(), strict=True)),
            }
        )
    else:
        _report(problem, result, delta)
    context.exit(0 if result.item is not None else 1)


def _report(problem: pw.Problem, result: pw.Result, delta: float) -> None:
    rows, total = [], 0
    for number, past in enumerate(result.history, 1):
        total += past.measurements.n
        rows.append(
            (str(number), output.number(past.measurements.n), output.number(total), str(np.count_nonzero(past.counts)))
        )
    if rows:
        output.table(("round", "measurements", "so far", "probes used"), rows)
    effort = f"{output.number(result.measurements)} measurements in {result.rounds} rounds"
    if result.item is None:
        output.say(f"No answer after {effort}: the next round would exceed the budget.", style="yellow")
        return
    output.title(f"The best item is '{result.item_name}'")
    output.say(f"{effort}; wrong with probability at most {delta:g}.")


def _commanded(problem: pw.Problem, words: list[str]) -> Measure:
    """A laboratory that starts a command in every round."""

    def measure(indices: NDArray[np.int64]) -> Array:
        names = "".join(f"{problem.probe_names[i]}\n" for i in indices)
        done = subprocess.run(words, input=names, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise pw.InvalidMeasurements(
                f"the command {words[0]} ended with exit code {done.returncode}; nothing is kept."
            )
        try:
            outcomes = np.array([float(line) for line in done.stdout.split()])
        except ValueError as error:
            raise pw.InvalidMeasurements(f"the command {words[0]} must print one number per line ({error}).") from None
        if outcomes.size != indices.size:
            raise pw.InvalidMeasurements(
                f"the command {words[0]} must print one outcome per probe asked for, "
                f"expected {indices.size}, got {outcomes.size}."
            )
        return outcomes

    return measure
