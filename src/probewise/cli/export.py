"""probewise export: every row, or every record."""

from __future__ import annotations

from pathlib import Path

import click

import probewise as pw
from probewise.cli import output
from probewise.cli.campaigns import check_ending, opened, path_argument
from probewise.cli.inputs import FILE
from probewise.cli.output import json_option


@click.command()
@path_argument
@click.option(
    "--out", type=FILE, required=True, metavar="FILE.csv|.jsonl", help="File to write; it must not exist yet."
)
@json_option
def command(path: str, out: Path, as_json: bool) -> None:
    """Write every row as CSV, or the journal as JSON lines.

    A journal (.jsonl) opens as a campaign; a table (.csv) has the columns of `probewise ask` and the
    state of each row.

    \b
    Example
      probewise export coupling.campaign --out copy.jsonl
    """
    check_ending(out, ".csv", ".jsonl")
    campaign = opened(path)
    if out.exists():
        raise pw.InvalidCampaign(f"{out} is there already and is never overwritten; choose another name.")
    campaign.export(out)
    if as_json:
        output.print_json({"records": len(campaign.records), "digest": campaign.records[-1].digest, "out": out})
    else:
        output.written(out)
