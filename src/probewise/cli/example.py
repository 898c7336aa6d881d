"""probewise example: two small tables to try a campaign with."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from probewise.cli import output
from probewise.cli.inputs import FILE
from probewise.cli.output import json_option


@click.command()
@click.argument("folder", type=FILE)
@json_option
def command(folder: Path, as_json: bool) -> None:
    """Two small tables to try a campaign with.

    With which ligand, in which solvent and at which temperature should the plant run a coupling? You can
    try 48 combinations in the laboratory (probes.csv); the plant can use 24, some of them others (items.csv).
    `probewise example-measure` plays the laboratory.

    \b
    Example
      probewise example lab
    """
    from probewise.data import copy_example

    files = copy_example(folder)
    if as_json:
        output.print_json({"files": list(files)})
        return
    output.written(*files)
    items, probes, campaign = (shlex.quote(str(path)) for path in (*sorted(files), folder / "yield.campaign"))
    output.line(
        f"Next: probewise new {campaign} --probes {probes} --items {items} --sigma 3 --outcome-name yield --unit %"
    )
