"""probewise list: every algorithm, what it needs and what is proved about it."""

from __future__ import annotations

import click
import numpy as np

import probewise as pw
from probewise.cli import output
from probewise.cli.choices import build, names
from probewise.cli.inputs import json_option


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Every algorithm: what it does, what it needs, what is proved.

    Proved means that the documentation has a proof of the promise "wrong with probability at most delta", for the
    default settings. Choose an algorithm by the option --algorithm, with settings after its name, as in
    rage,variant=code.

    \b
    Example
      probewise list --json
    """
    rows = [_row(name) for name in names()]
    if as_json:
        output.print_json({"algorithms": rows})
        return
    for row in rows:
        output.title(f"{row['name']} · {'proved' if row['proven'] else 'no proof'}")
        lines = (("does", "summary"), ("needs", "needs"), ("from", "reference"))
        output.facts([(word, "", str(row[key])) for word, key in lines])


def _row(name: str) -> dict[str, object]:
    """What is shown of an algorithm; of one that another package adds, perhaps why it cannot be had."""
    try:
        own = build(name, np.ones(1))
    except pw.ProbewiseError as error:
        return {"name": name, "summary": str(error), "needs": "unknown", "proven": False, "reference": "unknown"}
    texts = {"summary": own.summary, "needs": own.needs, "proven": own.proven, "reference": own.reference}
    return {"name": name, **texts}
