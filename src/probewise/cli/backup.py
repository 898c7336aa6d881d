"""probewise backup: a copy of a campaign, checked."""

from __future__ import annotations

from pathlib import Path

import click

from probewise.cli import output
from probewise.cli.campaigns import check_place, path_argument
from probewise.cli.inputs import FILE
from probewise.cli.output import json_option
from probewise.numerals import plural


@click.command()
@path_argument
@click.argument("to", type=FILE, metavar="TO")
@json_option
def command(path: str, to: Path, as_json: bool) -> None:
    """Copy a campaign into a new file, even while others write.

    TO is a text file if its name ends in .jsonl, otherwise an SQLite file; either opens as a campaign. The copy is read
    back and compared before it gets its name. An existing file is never overwritten.

    \b
    Example
      probewise backup coupling.campaign coupling-monday.campaign
    """
    from probewise.campaign.journal.backup import backup

    check_place(path)
    with output.working("Copying", quiet=as_json):
        last = backup(path, to)
    if as_json:
        output.print_json({"records": last.seq, "digest": last.digest, "out": to})
        return
    output.say(f"{plural(last.seq, 'record')}, read again and compared.")
    click.echo(f"Digest of the last: {last.digest}")
    output.written(to)
