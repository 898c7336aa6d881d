"""probewise identify: find the best item with a command that measures, or with a simulated laboratory."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from click.core import ParameterSource
from numpy.typing import NDArray

import probewise as pw
from probewise.cli import output
from probewise.cli.choices import (
    algorithm_option,
    asked_goal,
    build,
    delta_option,
    epsilon_option,
    fitting,
    goal_option,
    minimise_option,
    misfit_option,
    promise_option,
    seed_option,
)
from probewise.cli.hardness import assumed
from probewise.cli.inputs import WHOLE, Source, search_options
from probewise.cli.output import json_option
from probewise.cli.roles import print_roles, roles
from probewise.coordinates import Array
from probewise.numerals import attained, listed, percent, plural

Measure = Callable[[NDArray[np.int64]], Array]


@click.command()
@search_options
@click.option(
    "--measure",
    metavar="COMMAND",
    help="Command that measures: reads names of probes, one per line, and prints an outcome for each.",
)
@click.option(
    "--theta", metavar="FILE|LIST", help="Instead of --measure: simulate a laboratory in which this is the truth."
)
@algorithm_option
@click.option(
    "--budget", type=WHOLE, metavar="N",
    help="Make at most N measurements in total, then name the best guess; without --algorithm, planned for it.",
)  # fmt: skip
@click.option("--batch", type=WHOLE, metavar="N", help="Make at most N measurements at once.")
@delta_option
@epsilon_option
@goal_option
@minimise_option
@promise_option
@misfit_option
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
    batch: int | None,
    delta: float,
    epsilon: float,
    question: str,
    minimise: bool,
    promise: str | None,
    misfit: float,
    seed: int,
    as_json: bool,
) -> None:
    """Find the best item, round by round.

    Every round starts COMMAND once. It gets the names of the probes to measure on standard input, one per line, each
    as often as it is to be measured, and must print as many numbers, one per line, in the same order.

    \b
    Example
      probewise identify --probes probes.csv --items items.csv --measure "python laboratory.py"

    Exit code 1: the budget ended before an answer.
    """
    from probewise.run import planned

    if (measure is None) == (theta is None):
        raise click.UsageError("give either --measure COMMAND or --theta, which simulates one")
    problem = source.problem(misfit)
    goal = fitting(asked_goal(question, delta, epsilon, minimise, promise), problem)
    truth = None if theta is None else assumed(theta, problem, goal)
    laboratory: Measure
    if measure is not None:
        laboratory = _commanded(problem, _words(measure))
    else:
        assert truth is not None
        laboratory = pw.LinearEnvironment(problem, truth, seed=seed).measure
    named = context.get_parameter_source("algorithm") is not ParameterSource.DEFAULT
    chosen = planned(problem, build(algorithm, truth) if named else None, goal, budget, batch)
    with output.working("Measuring", quiet=as_json):
        result = pw.identify(
            problem,
            goal,
            measure=laboratory,
            algorithm=chosen,
            seed=seed,
            budget=budget,
        )
    if as_json:
        output.print_json(
            {
                "status": result.status,
                "item": result.item_name,
                "items": None if result.items is None else list(result.item_names),
                "measurements": result.measurements,
                "cost": result.cost,
                "rounds": result.rounds,
                "confidence": result.confidence,
                "prediction": _predicted(result),
                "delta": delta,
                "epsilon": epsilon,
                "estimate": dict(zip(problem.feature_names, result.estimate.tolist(), strict=True)),
                **roles(problem),
            }
        )
    else:
        print_roles(problem)
        _report(result, goal, chosen, costly=source.cost_column is not None)
    context.exit(0 if result.status == "identified" else 1)


def _report(result: pw.Result, goal: pw.Goal, algorithm: pw.Algorithm[Any], *, costly: bool) -> None:
    rows, total = [], 0
    for number, past in enumerate(result.history, 1):
        total += past.measurements.n
        rows.append(
            (str(number), output.number(past.measurements.n), output.number(total), str(np.count_nonzero(past.counts)))
        )
    if rows:
        output.table(("round", "measurements", "so far", "probes used"), rows)
    effort = f"{output.number(result.measurements)} measurements in {plural(result.rounds, 'round')}"
    effort += f", cost {output.number(result.cost)}" if costly else ""
    if result.status != "identified":
        guess = _guessed(result, algorithm, goal)
        output.say(f"No answer after {effort}: the budget allows no further round. {guess}", style="yellow")
        return
    output.title(goal.claim([f"'{name}'" for name in result.item_names], exact=goal.epsilon == 0))
    proof = "" if algorithm.proven else ", which is not proved for these settings"
    wrong = f"wrong with probability at most {goal.delta:g}"
    if goal.promise == "share":
        wrong = f"of such a list at most {percent(goal.delta)} is wrong on average"
    output.say(f"{effort}; {wrong}{proof}.")


def _guessed(result: pw.Result, algorithm: pw.Algorithm[Any], goal: pw.Goal) -> str:
    """The best guess, and how sure it is."""
    epsilon = goal.epsilon
    if goal.promise == "share":
        names = [repr(name) for name in result.item_names]
        if not names:
            return f"No item can be listed as {goal.predicate} yet."
        return f"{goal.claim(names, exact=epsilon == 0)} so far{goal.assurance(goal.delta)}."
    if result.items is None:
        return "That is too little for a guess."
    within = f", to within {epsilon:.4g}" if epsilon else ""
    guess = f"Best guess: {listed([repr(name) for name in result.item_names])}{within}"
    if result.confidence is None:
        return f"{guess}; {algorithm.name} does not say how sure that is."
    return f"{guess}, {attained(result.confidence)}.{_foreseen(result)}"


def _foreseen(result: pw.Result) -> str:
    """What the model behind a guess says of it, in a sentence."""
    if (own := _predicted(result)) is None:
        return ""
    span = f"{own['low']:.3g} to {own['high']:.3g} with probability 90 % if its model is right"
    return f" Predicted, which is not proven: {own['value']:.3g} ({span})."


def _predicted(result: pw.Result) -> dict[str, float] | None:
    """What the model behind a guess says of it, which is heuristic."""
    own = result.prediction
    if own is None:
        return None
    return {"value": float(own.mean[own.item]), "low": own.low, "high": own.high, "gain": own.gain, "noise": own.noise}


def _words(command: str) -> list[str]:
    """The words of a command, as a shell splits them."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise click.UsageError(f"--measure cannot be split into words ({str(error).lower()}): {command}") from None
    if not words:
        raise click.UsageError("--measure must name a command, got an empty one")
    return words


def _commanded(problem: pw.Problem, words: list[str]) -> Measure:
    """A laboratory that starts a command in every round."""

    def measure(indices: NDArray[np.int64]) -> Array:
        names = "".join(f"{problem.probe_names[i]}\n" for i in indices)
        try:
            done = subprocess.run(words, input=names, stdout=subprocess.PIPE, text=True, check=False)
        except OSError as error:
            raise pw.InvalidMeasurements(f"the command {words[0]} cannot be started: {error.strerror}.") from None
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
