"""probewise arena: every method on every instance, as one page."""

from __future__ import annotations

from pathlib import Path

import click

from probewise.cli import output
from probewise.cli.choices import bars, seed_option, workers_option
from probewise.cli.inputs import FILE
from probewise.cli.output import json_option


@click.command()
@click.option(
    "--scale", type=click.Choice(["quick", "full"]), default="quick", show_default=True,
    help="quick has up to 12 runs of each cell at δ = 0.05 and takes less than half an hour on two cores; full has "
    "1,000 runs at three δ, and takes days.",
)  # fmt: skip
@click.option("--method", "methods", multiple=True, metavar="NAME", help="Only this method; may be repeated.")
@click.option("--instance", "instances", multiple=True, metavar="NAME", help="Only this instance; may be repeated.")
@click.option(
    "--out", type=FILE, default=Path("arena"), show_default=True, metavar="FOLDER", help="Folder for the page."
)
@seed_option
@workers_option
@json_option
def command(
    scale: str,
    methods: tuple[str, ...],
    instances: tuple[str, ...],
    out: Path,
    seed: int,
    workers: int,
    as_json: bool,
) -> None:
    """Every method on every instance, as one page.

    Measurements are given in multiples of the certified limit, with the share of wrong answers and the seconds of a
    run. What is finished is kept in FOLDER/journal, so an interrupted command continues where it stopped. Methods of
    other packages take part if they are installed. Writes arena.html and arena.json.

    \b
    Example
      probewise arena --out arena --workers 2
    """
    from probewise.experiments import arena, arena_page
    from probewise.experiments.grounds import GROUNDS

    known = arena.contenders()
    arena.check_names("method", methods, known)
    arena.check_names("instance", instances, GROUNDS)
    with bars(quiet=as_json) as progress:
        chosen, where = methods or tuple(known), instances or tuple(GROUNDS)
        found = arena.arena(
            chosen, where, arena.SCALES[scale], seed=seed, workers=workers, journal=out / "journal", progress=progress
        )
        cells = arena.ordered(found, chosen, where)
    paths = arena_page.write(cells, out, scale=scale, seed=seed)
    if as_json:
        output.print_json(arena_page.as_json(cells, scale=scale, seed=seed) | {"files": paths})
        return
    header = ("method", "proof", "× limit, geometric mean", "instances", "wrong")
    output.table(header, arena_page.summary(cells))
    output.written(*paths)
