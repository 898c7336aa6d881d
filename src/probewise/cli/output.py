"""What commands print and write: tables, sentences, JSON, CSV, and a spinner while they work."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from probewise.cells import UNSEEN, csv_lines, visible
from probewise.errors import InvalidDesign
from probewise.files import new_file
from probewise.numerals import number as number

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead, for other programs.")
"""What a command prints, for other programs."""
WIDTH = 100
"""Columns of output that goes to a file or pipe."""
ROWS = 20
"""Rows of a table that are printed; files and JSON have all."""
_BAR = 24
_UNSEEN = re.compile(f"(?!\n)[{UNSEEN}]")  # JSON has codes for the same


def show(content: RenderableType) -> None:
    """Print to standard output; a file or pipe gets the same text without colours, WIDTH wide."""
    screen = Console(highlight=False)
    if not screen.is_terminal:
        screen = Console(highlight=False, width=WIDTH)
    with screen.capture() as captured:
        screen.print(content)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()), color=True)


def line(text: str, *, err: bool = False) -> None:
    """One line, not wrapped."""
    click.echo(visible(text), err=err)


def working(task: str, *, quiet: bool) -> AbstractContextManager[object]:
    """A spinner on standard error while something runs, if a person is looking on."""
    screen = Console(stderr=True)
    return nullcontext() if quiet or not screen.is_terminal else screen.status(f"{task} …")


def title(text: str) -> None:
    """A heading with a blank line below."""
    show(Padding(Text(visible(text), style="bold"), (0, 0, 1, 0)))


def say(sentence: str, *, style: str = "") -> None:
    """A sentence on its own, wrapped at words, with a blank line below."""
    show(Padding(Text(visible(sentence), style=style), (0, 0, 1, 0)))


def written(*paths: Path | None) -> None:
    """Which files were written, one per line."""
    for path in filter(None, paths):
        line(f"Written: {path}")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, bars: Sequence[float] | None = None) -> None:
    """The first rows of a table, the first column to the left and numbers to the right, with bars if given."""
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    for place, name in enumerate(header):
        drawn.add_column(
            Text(visible(name)), justify="right" if place else "left", overflow="fold", no_wrap=bool(place)
        )
    if bars is not None:
        drawn.add_column("", overflow="crop", no_wrap=True)
    longest = max(bars, default=1.0) if bars is not None else 1.0
    for place, row in enumerate(rows[:ROWS]):
        bar = [] if bars is None else [Text("█" * round(_BAR * bars[place] / longest), style="blue")]
        drawn.add_row(*(Text(visible(cell)) for cell in row), *bar)
    show(Padding(drawn, (0, 0, 1, 1)))
    if len(rows) > ROWS:
        say(f"and {len(rows) - ROWS} more, which --json lists.", style="dim")


def facts(rows: Iterable[tuple[str, str, str]], *, words: bool = False, long: bool = False) -> None:
    """Name, value and meaning of some results; values that are words stand to the left, long ones on several lines."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(justify="left" if words else "right", no_wrap=not long, overflow="fold")
    grid.add_column(style="dim")
    for row in rows:
        grid.add_row(*(Text(visible(cell)) for cell in row))
    show(Padding(grid, (0, 0, 1, 1)))


def records(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[dict[str, object]]:
    """Rows of a table as JSON has them."""
    return [dict(zip(columns, row, strict=True)) for row in rows]


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output; infinite numbers, which JSON lacks, are null."""
    text = json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False)
    click.echo(_UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


def write_csv(path: Path | None, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table in a CSV file, numbers with all their digits; nothing without a path."""
    if path is None:
        return
    if path.suffix.casefold() != ".csv":
        raise InvalidDesign(f"tables are written as CSV, got the name {path}; give one that ends in .csv.")
    with new_file(path) as file:
        file.writelines(csv_lines([header, *rows]))
