"""probewise tell: record outcomes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from probewise.cli import output
from probewise.cli.campaigns import answered, author_option, opened, path_argument, table_at
from probewise.cli.inputs import FILE
from probewise.cli.output import json_option


@click.command()
@path_argument
@click.argument("table", type=FILE)
@click.option("--dry-run", is_flag=True, help="Check the table without recording anything.")
@click.option(
    "--off-plan",
    is_flag=True,
    help="The rows (probe and outcome) were not asked for; record them as a separate round.",
)
@author_option
@json_option
def command(path: str, table: Path, dry_run: bool, off_plan: bool, author: str | None, as_json: bool) -> None:
    """Record outcomes: all rows of a table, or none.

    TABLE has the columns measurement and outcome, as `probewise ask` wrote them, with some or all of the rows in any
    order; - stands for standard input. Rows without an outcome stay open. You may tell the same table twice without
    harm. Extra columns are kept as notes. Where sheets are aggregated, the columns are n and successes, total, or mean
    with sd (the standard deviation of the n outcomes, divided by n - 1) or sum_of_squares (of the outcomes).

    \b
    Example
      probewise tell coupling.campaign ask.csv
    """
    with table_at(table) as file, output.working("Recording", quiet=as_json):
        campaign = opened(path, author)  # once all of a pipe is here: what comes out of ask may go in
        told = campaign.tell(file, off_plan=off_plan, dry_run=dry_run)
    parts = {name: part for name, part in asdict(told).items() if name != "sentence"}
    answered(campaign, told.sentence, as_json=as_json, **parts)
