"""probewise verify: check that all records are there, as they were written."""

from __future__ import annotations

import click

from probewise.cli import output
from probewise.cli.campaigns import check_place, path_argument
from probewise.cli.output import json_option


@click.command()
@path_argument
@click.option("--digest", metavar="D", help="A digest that you kept, from a report or an earlier verify.")
@json_option
@click.pass_context
def command(context: click.Context, path: str, digest: str | None, as_json: bool) -> None:
    """Check that every record is there, as it was written.

    Reads every record, checks its digest against all before it, and tells the algorithm every round again. The digest
    of the last record covers all of them: keep it where nobody can change it, such as on a printed report. With
    --digest, the command says whether any record up to that one is missing or was changed since.

    \b
    Example
      probewise verify coupling.campaign --digest 4f5bb2c9…

    Exit code 1: no record has this digest, so records are missing or were changed.
    """
    from probewise.campaign.verify import verify

    check_place(path)
    with output.working("Reading", quiet=as_json):
        verdict = verify(path, digest)
    if as_json:
        output.print_json(
            {
                "records": verdict.records,
                "digest": verdict.digest,
                "item": verdict.item,
                "kept": verdict.kept,
                "at": verdict.at,
                "sentence": verdict.sentence,
            }
        )
    else:
        output.say(verdict.sentence, style="" if verdict.sound else "bold red")
        click.echo(f"Digest of the last: {verdict.digest}")
    context.exit(0 if verdict.sound else 1)
