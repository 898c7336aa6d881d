"""Algorithms by name and settings, as commands take them, and progress bars for many runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

import probewise as pw
from probewise.cli.inputs import NUMBER, SEED, WHOLE
from probewise.coordinates import Array

ALGORITHM = "NAME[,KEY=VALUE…]"


def names() -> list[str]:
    """Every algorithm, also of other packages, which are not loaded for that."""
    from probewise.algorithms import EXTENSIONS
    from probewise.extensions import extensions

    return sorted({*pw.ALGORITHMS, *extensions(EXTENSIONS)})


def build(text: str, theta: Array | None = None) -> pw.Algorithm[Any]:
    """The algorithm that a text such as "rage,variant=code" names; an oracle is told theta."""
    from probewise.algorithms import algorithm_named

    name, *parts = (part.strip() for part in text.split(","))
    kind = algorithm_named(name)
    if kind is None:
        raise pw.InvalidAlgorithm(f"there is no algorithm '{name}'; they are {', '.join(names())}.")
    # a threshold is an object, which a text cannot name
    known = {f.name: str(f.type) for f in fields(kind) if "Threshold" not in str(f.type)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for part in parts:
        key, sign, value = part.partition("=")
        if not sign or key not in known:
            raise pw.InvalidAlgorithm(f"'{part}' is no setting of {name}; those are {', '.join(known) or 'none'}.")
        values[key] = _value(value)
        if not _fits(values[key], known[key]):
            raise pw.InvalidAlgorithm(f"{key} of {name} must be of the kind {known[key]}, got '{value}'.")
    if "theta" in known and theta is not None:
        values.setdefault("theta", theta)
    if "theta" in known and "theta" not in values:
        raise pw.InvalidAlgorithm(f"{name} needs {kind.needs}; give --theta or choose another algorithm.")
    try:
        return kind(**values)
    except TypeError as error:
        raise pw.InvalidAlgorithm(f"{name} cannot be made with {', '.join(parts)}: {error}.") from None


def _value(text: str) -> Any:
    """A number, true, false or null as JSON has them; anything else is text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _fits(value: Any, kind: str) -> bool:
    """Whether a value is of an annotated kind; the algorithm itself judges text and the size of numbers."""
    if value is None:
        return "None" in kind
    if kind.startswith(("float", "int")):
        numeric = int if kind.startswith("int") else int | float
        return isinstance(value, numeric) and not isinstance(value, bool) and abs(value) <= 1e300
    return isinstance(value, bool) if kind == "bool" else True


@contextmanager
def bars(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A function of (task, finished, total) that draws progress on standard error, if a person is looking on."""
    screen = Console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda task, finished, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=screen, transient=True) as progress:
        shown: dict[str, Any] = {}

        def update(task: str, finished: int, total: int) -> None:
            if task not in shown:
                for old in shown.values():
                    progress.update(old, visible=False)
                shown[task] = progress.add_task(task, total=total)
            progress.update(shown[task], completed=finished)

        yield update


workers_option = click.option(
    "--workers",
    type=WHOLE,
    default=1,
    show_default=True,
    help="Number of processes; the results do not depend on it.",
)
seed_option = click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of all random numbers.")
delta_option = click.option(
    "--delta", type=NUMBER, default=0.05, show_default=True, help="Allowed probability of a wrong answer."
)
epsilon_option = click.option(
    "--epsilon",
    type=NUMBER,
    default=0.0,
    show_default=True,
    help="Accept an item that is at most this far below the best.",
)
