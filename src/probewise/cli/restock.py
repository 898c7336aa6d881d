"""probewise restock: how often a probe can be measured."""

from __future__ import annotations

import click

import probewise as pw
from probewise.cli.campaigns import answered, author_option, opened, path_argument, reason_option
from probewise.cli.output import json_option


@click.command()
@path_argument
@click.argument("probe")
@click.argument("stock", metavar="N|unlimited")
@reason_option
@author_option
@json_option
def command(path: str, probe: str, stock: str, reason: str, author: str | None, as_json: bool) -> None:
    """Say how often a probe can be measured in total.

    It takes effect with the next batch. N includes the measurements already made; 0 means never again.

    \b
    Example
      probewise restock coupling.campaign "XPhos, THF, 60" 0 --reason "used up"
    """
    count = _number(stock)
    campaign = opened(path, author)
    campaign.restock(probe, count, reason=reason)
    said = f"'{probe}' can be measured {'without limit' if count is None else f'{count} times in all'}."
    answered(campaign, said, as_json=as_json, probe=probe, stock=count)


def _number(stock: str) -> int | None:
    if stock == "unlimited":
        return None
    if not (stock.isascii() and stock.isdigit() and len(stock) <= 40):
        raise pw.InvalidRows(f"the stock must be a whole number of at least 0, or unlimited, got '{stock}'.")
    return int(stock)
