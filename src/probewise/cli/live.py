"""A view of an identification under way: one line a round, drawn live if a person is looking on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from probewise.cells import visible
from probewise.cli import output

if TYPE_CHECKING:
    from probewise.problem import Problem
    from probewise.run import Progress

_BAR = 20
_ROWS = 12
_HEADER = ("round", "measurements", "items left", "leader", "to the answer")


@contextmanager
def rounds(problem: Problem, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A callback for ``identify``; the table stays on the screen at the end, and is printed at the end to a pipe."""
    seen: list[Progress] = []
    if quiet:
        yield seen.append
        return
    screen = Console(highlight=False)
    if screen.is_terminal:
        with Live(console=screen, refresh_per_second=12) as view:

            def draw(progress: Progress) -> None:
                seen.append(progress)
                view.update(_table(problem, seen))

            yield draw
    else:
        yield seen.append
        output.show(_table(problem, seen))
    output.show("")


def _table(problem: Problem, seen: list[Progress]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    for place, name in enumerate(_HEADER):
        table.add_column(name, justify="left" if place >= 3 else "right", no_wrap=True)
    shown = seen if len(seen) <= _ROWS else [*seen[:3], None, *seen[-(_ROWS - 4) :]]
    for progress in shown:
        if progress is None:
            table.add_row("…", "", "", "", "")
            continue
        standing = progress.standing
        leader = "" if standing.leader is None else problem.item_names[standing.leader]
        done = standing.progress
        bar = Text("")
        if done is not None:
            filled = round(_BAR * done)
            bar = Text("━" * filled, style="blue") + Text("─" * (_BAR - filled), style="dim") + Text(f" {done:4.0%}")
        table.add_row(
            str(progress.rounds),
            f"{progress.measurements:,}",
            f"{standing.remaining.size + standing.unlisted:,}",
            Text(visible(leader)),
            bar,
        )
    return table
