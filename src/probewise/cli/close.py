"""probewise close: stop waiting for the rest of a round."""

from __future__ import annotations

import click

from probewise.cli.campaigns import answered, author_option, opened, path_argument, reason_option
from probewise.cli.output import json_option


@click.command()
@path_argument
@reason_option
@author_option
@json_option
def command(path: str, reason: str, author: str | None, as_json: bool) -> None:
    """Stop waiting for the missing rows of a round.

    If they arrive later, they are still accepted. The reason must not be what the outcomes look like.

    \b
    Example
      probewise close coupling.campaign --reason "the instrument is away until May"
    """
    campaign = opened(path, author)
    answered(campaign, campaign.close(reason=reason), as_json=as_json)
