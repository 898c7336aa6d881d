"""probewise list: every algorithm, goal and law of outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import numpy as np

import probewise as pw
from probewise.cli import output
from probewise.cli.choices import build, names
from probewise.cli.output import json_option


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Every algorithm, goal and law of outcomes.

    Of each algorithm it shows what it does, what it needs, and whether it is proved: whether the documentation has a
    proof of the promise "wrong with probability at most delta", for the default settings. Choose an algorithm by the
    option --algorithm, with settings after its name, as in rage,variant=code.

    \b
    Example
      probewise list --json
    """
    from probewise.goals import goal_named, goal_names
    from probewise.outcomes import law_named, law_names

    rows = [_row(name) for name in names()]
    goals = [_named(name, goal_named) for name in goal_names()]
    laws = [_named(name, law_named) for name in law_names()]
    if as_json:
        output.print_json({"algorithms": rows, "goals": goals, "outcomes": laws})
        return
    for row in rows:
        output.title(f"{row['name']} · {'proved' if row['proven'] else 'no proof'}")
        lines = (("does", "summary"), ("needs", "needs"), ("from", "reference"))
        output.facts([(word, "", str(row[key])) for word, key in lines])
    output.title("Goals, for the option --goal")
    output.facts([(str(row["name"]), "", str(row["summary"])) for row in goals])
    output.say("Each may be asked the other way round, where low outcomes are wanted, by --minimise.")
    output.title("Laws of outcomes, for the option --outcome")
    output.facts([(str(row["name"]), "", str(row["summary"])) for row in laws])


def _named(name: str, find: Callable[[str], Any]) -> dict[str, object]:
    """What is shown of a goal or a law; of one that another package adds, perhaps why it cannot be had."""
    try:
        own = find(name)
    except pw.ProbewiseError as error:
        return {"name": name, "summary": str(error)}
    argument = getattr(own, "argument", None)
    return {"name": name if argument is None else f"{name}:{argument.upper()}", "summary": own.summary}


def _row(name: str) -> dict[str, object]:
    """What is shown of an algorithm; of one that another package adds, perhaps why it cannot be had."""
    try:
        own = build(name, np.ones(1))
    except pw.ProbewiseError as error:
        return {"name": name, "summary": str(error), "needs": "unknown", "proven": False, "reference": "unknown"}
    texts = {"summary": own.summary, "needs": own.needs, "proven": own.proven, "reference": own.reference}
    return {"name": name, **texts}
