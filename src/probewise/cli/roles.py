"""Roles of columns, as every command that reads tables says them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import probewise as pw
from probewise.cli import output
from probewise.model import remarks
from probewise.numerals import plural


def print_roles(problem: pw.Problem) -> None:
    """What each column is for, the terms of the model, and what was unusual about the tables."""
    if problem.model is None or problem.tables is None:
        return
    model = problem.model
    terms = f"{model.formula} ({plural(problem.dimension, 'feature')})"
    rows = [(role.column, role.role, role.reason) for role in model.roles]
    output.facts([*rows, ("", "model", terms)], words=True)
    for remark in remarks(model, *problem.tables):
        output.say(remark, style="yellow")


def roles(problem: pw.Problem) -> dict[str, Any]:
    """The same for JSON; of a campaign, the model and the roles only."""
    model = problem.model
    said = {
        "model": None if model is None else model.formula,
        "roles": [] if model is None else [asdict(role) for role in model.roles],
    }
    if model is None or problem.tables is None:
        return said
    return said | {"table_remarks": remarks(model, *problem.tables)}
