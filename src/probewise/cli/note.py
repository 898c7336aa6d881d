"""probewise note: a remark for the journal."""

from __future__ import annotations

import click

from probewise.cli import output
from probewise.cli.campaigns import author_option, opened, path_argument
from probewise.cli.output import json_option


@click.command()
@path_argument
@click.argument("text")
@author_option
@json_option
def command(path: str, text: str, author: str | None, as_json: bool) -> None:
    """Put a remark into the journal.

    It appears in the report and changes nothing else.

    \b
    Example
      probewise note coupling.campaign "new bottle of solvent from round 3 on"
    """
    campaign = opened(path, author)
    campaign.note(text)
    if as_json:
        output.print_json({"record": campaign.records[-1].seq})
    else:
        output.say("Noted.")
