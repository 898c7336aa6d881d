"""What the commands of a campaign share: its place, who writes and why, and tables from standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

import probewise as pw
from probewise.cli import output
from probewise.cli.sparing import spare

if TYPE_CHECKING:
    from probewise.campaign import Campaign

path_argument = click.argument("path", metavar="PATH")
"""A file, or the URL of a database."""
author_option = click.option(
    "--author", metavar="NAME", help="Your name, for the journal. Default: your user name on this computer."
)
reason_option = click.option("--reason", required=True, metavar="TEXT", help="The reason; it is kept in the journal.")


def check_place(path: str) -> None:
    """Refuse a folder."""
    if "://" not in path and Path(path).is_dir():
        raise pw.InvalidCampaign(f"{path} is a folder; give the file of a campaign.")


def opened(path: str, author: str | None = None) -> Campaign:
    """The campaign in a file or database, as it is now: a command looks once."""
    check_place(path)
    spare()
    return pw.Campaign.open(path, author=author, once=True)


def answered(campaign: Campaign, said: str, *, as_json: bool, **more: object) -> None:
    """What a change did, and where the campaign stands after it."""
    standing = campaign.status()
    if as_json:
        output.print_json({**more, "sentence": said, "item": standing.item, "waiting": standing.waiting})
        return
    if standing.item is not None:  # the sentence that follows says more
        said = said.partition(f" '{standing.item}' is ")[0]
    output.say(said)
    output.say(standing.sentence, style="bold green" if standing.item is not None else "")


@contextmanager
def table_at(name: Path) -> Iterator[Path]:
    """A file, or a copy of standard input for the name -."""
    if str(name) != "-":
        yield name
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input"
        copy.write_bytes(sys.stdin.buffer.read())
        yield copy


def print_table(lines: Iterable[str]) -> None:
    """A table to the screen or, in UTF-8 whatever the system, to a file or pipe."""
    if sys.stdout.isatty():
        for line in lines:
            click.echo(line, nl=False)
        return
    sys.stdout.flush()
    for line in lines:
        sys.stdout.buffer.write(line.encode())
    sys.stdout.buffer.flush()


def check_folder(path: Path) -> None:
    """Refuse a name in a folder where nothing can be written, before anything is asked for."""
    if not path.parent.is_dir():
        raise pw.InvalidCampaign(f"there is no folder {path.parent} for {path.name}; make it first.")
    if not os.access(path.parent, os.W_OK):
        raise pw.InvalidCampaign(f"nothing can be written in {path.parent}; choose another folder.")


def check_ending(path: Path, *endings: str) -> None:
    """Refuse a name that would hide what a file holds."""
    if path.suffix.casefold() not in endings:
        raise pw.InvalidCampaign(f"the name must end in {' or '.join(endings)}, got {path}; choose another one.")
