"""probewise demo: two plain tables, rounds in a simulated laboratory, an answer with its report; then the paper."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click

import probewise as pw
from probewise.cli import demo_paper, demo_plant, output
from probewise.cli.inputs import FILE
from probewise.cli.output import json_option

UNDRAWN = "No picture was drawn, because matplotlib is missing; install probewise[plot] to get it."


@click.command()
@click.option(
    "--out",
    type=FILE,
    default=Path("demo"),
    show_default=True,
    metavar="FOLDER",
    help="Folder for the tables, the report and the pictures.",
)
@click.option("--no-picture", is_flag=True, help="Leave out the pictures.")
@json_option
def command(out: Path, no_picture: bool, as_json: bool) -> None:
    """The main job from end to end, and a problem of the paper.

    Writes two plain tables, searches for the best condition round by round in a simulated laboratory, and writes the
    report and a picture of the search. Then computes certified designs for an instance of the paper, draws why one of
    them needs far fewer measurements, and finds its best item, too.

    \b
    Example
      probewise demo --out demo
    """
    out.mkdir(parents=True, exist_ok=True)
    drawn = not no_picture and _can_draw()
    plant = demo_plant.shown(out, drawn=drawn, quiet=as_json)
    paper = demo_paper.shown(out if drawn else None, quiet=as_json)
    if as_json:
        if not drawn and not no_picture:
            click.echo(UNDRAWN, err=True)
        output.print_json(paper | {"plant": plant, "pictures": [*plant["pictures"], *paper["pictures"]]})
        return
    if not drawn and not no_picture:
        output.say(UNDRAWN)
    output.written(*plant["tables"], plant["campaign"], plant["report"], *plant["pictures"], *paper["pictures"])
    output.line(f"Open {plant['report']} in a browser. Your turn: probewise example lab")
    own = "probewise" if shutil.which("probewise") else sys.argv[0]
    output.line(f"The campaign in the browser: {own} serve {shlex.quote(str(out))}")


def _can_draw() -> bool:
    """Whether matplotlib is there, which a plain installation does not bring."""
    from probewise import figures

    try:
        figures.check()
    except pw.MissingExtra:
        return False
    return True
