"""probewise reproduce: the figures of the paper, from settings to pictures."""

from __future__ import annotations

from pathlib import Path

import click

from probewise.cli import output
from probewise.cli.choices import bars, workers_option
from probewise.cli.inputs import FILE
from probewise.cli.output import json_option

FIGURES = ("fig1", "fig2", "fig3", "fig4")


@click.command()
@click.argument("figure", type=click.Choice([*FIGURES, "all"]))
@click.option(
    "--scale", type=click.Choice(["quick", "paper"]), default="quick", show_default=True,
    help="quick takes a minute or two; paper has all sizes and 20 runs, and takes a quarter of an hour on two cores.",
)  # fmt: skip
@click.option(
    "--out",
    type=FILE,
    default=Path("results"),
    show_default=True,
    metavar="FOLDER",
    help="Folder for tables and pictures.",
)
@workers_option
@json_option
def command(figure: str, scale: str, out: Path, workers: int, as_json: bool) -> None:
    """The figures of the paper: table, PNG and SVG beside each other.

    fig1: benchmark. fig2: many items. fig3: sphere. fig4: transductive. Finished runs are kept in a journal, so an
    interrupted command continues where it stopped; the same version gives the same files, byte for byte.

    \b
    Example
      probewise reproduce all --scale quick --workers 2
    """
    from probewise import experiments

    names = FIGURES if figure == "all" else (figure,)
    done = {}
    with bars(quiet=as_json) as progress:
        for name in names:
            chosen = experiments.settings(name, scale)
            done[name] = experiments.reproduce(chosen, out / scale, workers=workers, progress=progress)
    if as_json:
        results = {name: [row._asdict() for row in outcome.rows] for name, (outcome, _) in done.items()}
        files = [path for _, paths in done.values() for path in paths]
        output.print_json({"scale": scale, "figures": results, "files": files})
        return
    for name, (outcome, paths) in done.items():
        output.title(f"{name}: {experiments.settings(name, scale).title}")
        header, rows = experiments.summary(outcome.rows)
        output.table(header, rows)
        output.written(*paths)
        click.echo()
