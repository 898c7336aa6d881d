"""probewise example-measure: the laboratory of the example."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from probewise.cli import output
from probewise.cli.campaigns import check_ending, print_table, table_at
from probewise.cli.inputs import FILE, SEED
from probewise.cli.output import json_option


@click.command()
@click.argument("table", type=FILE)
@click.option("--out", type=FILE, metavar="FILE.csv", help="Write to this file. Default: fill in TABLE itself.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the noise.")
@json_option
def command(table: Path, out: Path | None, seed: int, as_json: bool) -> None:
    """The laboratory of the example: fill in outcomes.

    TABLE comes from `probewise ask`; with - it is read from standard input and written to standard output. Each outcome
    is the truth plus noise of standard deviation 3; outcomes already in the table stay.

    \b
    Example
      probewise example-measure ask.csv
    """
    from probewise.data import fill_outcomes

    if out is not None:
        check_ending(out, ".csv")
    with table_at(table) as source, TemporaryDirectory() as folder:
        target = out or Path(folder) / "filled.csv"
        filled = fill_outcomes(source, target, seed)
        if out is None and str(table) != "-":
            table.write_bytes(target.read_bytes())
        if as_json:
            output.print_json({"filled": filled, "out": out or (None if str(table) == "-" else table)})
        elif out is None and str(table) == "-":
            print_table(target.read_text("utf-8"))
        else:
            output.line(f"{filled} outcomes filled in: {out or table}")
