"""probewise space: a table of all combinations."""

from __future__ import annotations

from pathlib import Path

import click

import probewise as pw
from probewise.cli import output
from probewise.cli.inputs import FILE
from probewise.cli.output import json_option
from probewise.numerals import plural


@click.command()
@click.argument("factors", type=FILE)
@click.option(
    "--out",
    type=FILE,
    required=True,
    metavar="FILE.csv|.parquet|.xlsx",
    help="Table to write, one row for each combination.",
)
@json_option
def command(factors: Path, out: Path, as_json: bool) -> None:
    """A table of all combinations, to serve as items or probes.

    FACTORS is a TOML file: under [columns] the values of each column, as in ligand = ["A", "B"] or
    temperature = {from = 60, to = 100, step = 10}; under [mixture] columns, whose shares sum to 1, and their step; and
    where, a condition on the combinations that are kept.

    \b
    Example
      probewise space factors.toml --out items.csv
    """
    from probewise.model.space import read_space
    from probewise.writing import write_table

    if out.exists():
        raise pw.InvalidTable(f"{out} is there already and is never overwritten; choose another name.")
    table = read_space(factors)
    write_table(table, out)
    if as_json:
        output.print_json({"rows": len(table), "columns": list(table.header), "out": out})
    else:
        output.line(f"{plural(len(table), 'combination')} of {', '.join(table.header)}.")
        output.written(out)
