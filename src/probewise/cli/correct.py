"""probewise correct: replace the outcome of one row."""

from __future__ import annotations

import click

from probewise.cells import number
from probewise.cli.campaigns import answered, author_option, opened, path_argument, reason_option
from probewise.cli.inputs import NUMBER
from probewise.cli.output import json_option


@click.command(context_settings={"ignore_unknown_options": True})  # an outcome may be negative
@path_argument
@click.argument("measurement")
@click.argument("outcome")
@click.option(
    "--spread",
    type=NUMBER,
    metavar="NUMBER",
    help="Standard deviation of rows that were told together by their mean (OUTCOME), or the standard error "
    "or exposure that the row brings.",
)
@reason_option
@author_option
@json_option
def command(
    path: str, measurement: str, outcome: str, spread: float | None, reason: str, author: str | None, as_json: bool
) -> None:
    """Replace the outcome of a row, or bring back a voided one.

    Everything is recomputed: items that were ruled out may come back, and an item that was declared the best may
    be withdrawn. The old outcome stays in the journal. Rows that were told together by their mean, or total, are
    corrected together.

    \b
    Example
      probewise correct coupling.campaign r1-4 73.5 --reason "typing error"
    """
    campaign = opened(path, author)
    said = campaign.correct(measurement, _value(outcome), reason=reason, spread=spread)
    answered(campaign, said, as_json=as_json, measurement=measurement)


def _value(text: str) -> float:
    """The number in a text; other text is passed on, and the campaign refuses it."""
    value = number(text)
    return text if value is None else value  # type: ignore[return-value]
