"""probewise report: the decision and its evidence, as one file of HTML."""

from __future__ import annotations

from pathlib import Path

import click

from probewise.cli import output
from probewise.cli.campaigns import check_ending, opened, path_argument
from probewise.cli.inputs import FILE
from probewise.cli.output import json_option


@click.command()
@path_argument
@click.option("--out", type=FILE, required=True, metavar="FILE.html", help="File to write the report to.")
@json_option
def command(path: str, out: Path, as_json: bool) -> None:
    """The decision and its evidence, as one file of HTML.

    The report has the ranking, the assumptions, the check of the model and every record. The file needs no other file,
    and can be read on screen or printed.

    \b
    Example
      probewise report coupling.campaign --out report.html
    """
    check_ending(out, ".html", ".htm")
    campaign = opened(path)
    with output.working("Drawing", quiet=as_json):
        campaign.report(out)
    if as_json:
        output.print_json({"item": campaign.status().item, "digest": campaign.records[-1].digest, "out": out})
    else:
        output.written(out)
