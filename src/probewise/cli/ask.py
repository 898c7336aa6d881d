"""probewise ask: what to measure next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import probewise as pw
from probewise.cli import output
from probewise.cli.campaigns import author_option, check_ending, check_folder, opened, path_argument, print_table
from probewise.cli.inputs import FILE, INTEGER
from probewise.cli.output import json_option

if TYPE_CHECKING:
    from probewise.campaign import Campaign, Rows


@click.command()
@path_argument
@click.option(
    "--out", type=FILE, metavar="FILE.csv|.xlsx", help="Write the table to this file instead of standard output."
)
@click.option("--due", metavar="DATE", help="Day by which the new round should be measured, for example 2026-12-31.")
@click.option(
    "--max-round",
    type=INTEGER,
    default=100_000,
    show_default=True,
    metavar="N",
    help="Refuse a new round with more rows than this.",
)
@click.option(
    "--confirm", type=INTEGER, metavar="N",
    help="After an answer: plan N measurements of the winner and its closest rival, and say what would contradict it.",
)  # fmt: skip
@author_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    path: str,
    out: Path | None,
    due: str | None,
    max_round: int,
    confirm: int | None,
    author: str | None,
    as_json: bool,
) -> None:
    """What to measure next, as a table to fill in.

    Measure in the order of the rows, write each outcome into its row, and pass the table to `probewise tell`. If you
    run `ask` again, it gives the rows that are still open. Columns: measurement (the id), round, probe, replicate,
    outcome (empty), then the probe's own.

    \b
    Example
      probewise ask coupling.campaign --out ask.csv

    Exit code 1: an item has been declared the best, so there is nothing to measure.
    """
    campaign = opened(path, author)
    if out is not None:
        check_ending(out, ".csv", ".xlsx")
        check_folder(out)
        _check_told(campaign, out)
    with output.working("Planning", quiet=as_json):
        rows = campaign.ask(due=due, max_round=max_round, confirm=confirm)
    try:
        _give(rows, out, as_json)
    except OSError as error:
        raise pw.InvalidRows(
            f"the round is stored, but its table cannot be written to {out or 'standard output'} "
            f"({error.strerror or error}): ask again, perhaps with another --out, to get the same rows."
        ) from None
    context.exit(0 if rows else 1)


def _give(rows: Rows, out: Path | None, as_json: bool) -> None:
    if rows and out is not None and out.suffix.casefold() == ".xlsx":
        rows.write_xlsx(out)
    elif rows and out is not None:
        rows.to_csv(out)
    if as_json:
        output.print_json({"sentence": rows.sentence, "rows": list(rows), "out": out if rows else None})
        return
    if out is None:
        print_table(rows.csv_lines())
    output.line(rows.sentence, err=True)
    output.written(out if rows else None)


def _check_told(campaign: Campaign, out: Path) -> None:
    """Refuse to overwrite a table, which may hold outcomes that nobody has told yet."""
    if not out.exists():
        return
    try:
        told = campaign.tell(out, dry_run=True)
    except pw.ProbewiseError as error:
        raise pw.InvalidRows(f"{out} exists and is not overwritten, because it cannot be told: {error}") from None
    if told.recorded:
        raise pw.InvalidRows(
            f"{out} holds {len(told.recorded)} outcomes that are not recorded yet; tell them first, or choose another "
            "name."
        )
