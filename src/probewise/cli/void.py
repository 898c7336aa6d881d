"""probewise void: rows that do not count."""

from __future__ import annotations

import click

from probewise.cli.campaigns import answered, author_option, opened, path_argument, reason_option
from probewise.cli.output import json_option


@click.command()
@path_argument
@click.argument("measurements", nargs=-1, required=True)
@reason_option
@author_option
@json_option
def command(path: str, measurements: tuple[str, ...], reason: str, author: str | None, as_json: bool) -> None:
    """Take rows out, measured or not.

    The reason must not be the outcome itself, or the confidence is lost: a spilled sample is a reason, an odd value
    is not. `probewise correct` brings a row back.

    \b
    Example
      probewise void coupling.campaign r1-4 r1-7 --reason "spilled"
    """
    campaign = opened(path, author)
    said = campaign.void(measurements, reason=reason)
    answered(campaign, said, as_json=as_json, measurements=list(measurements))
