"""Algorithms by name and settings, as commands take them, and progress bars for many runs."""

from __future__ import annotations

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
from probewise.cli.settings import made
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

    name = text.partition(",")[0].strip()
    kind = algorithm_named(name)
    if kind is pw.Batched:
        raise pw.InvalidAlgorithm("batches are made of any algorithm: name it, and give --max-batch to probewise new.")
    wanted = set() if kind is None else {own.name for own in fields(kind)}  # type: ignore[arg-type]
    if kind is not None and "theta" in wanted and theta is None and "theta=" not in text:
        raise pw.InvalidAlgorithm(f"{name} needs {kind.needs}; give --theta or choose another algorithm.")
    known = {} if theta is None else {"theta": theta}
    return made(text, algorithm_named, names(), "algorithm", pw.InvalidAlgorithm, **known)


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
    help="Accept an item that is at most this far from the best.",
)
minimise_option = click.option(
    "--minimise", "--minimize", "minimise", is_flag=True,
    help="Low values are wanted: the lowest item, the lowest three, the items below a limit or lower than a control.",
)  # fmt: skip
promise_option = click.option(
    "--promise", type=click.Choice(["all", "share"]),
    help="What delta bounds, for the goals above and better-than: that anything in the list is wrong (all, the "
    "default) or the share of those listed that is wrong on average.",
)  # fmt: skip
misfit_option = click.option(
    "--misfit", type=NUMBER, default=0.0, metavar="H",
    help="Allow for mean outcomes that are off the model by up to H, for Sage. Default: they follow it exactly.",
)  # fmt: skip
algorithm_option = click.option(
    "--algorithm",
    default="sage",
    show_default=True,
    metavar=ALGORITHM,
    help="Algorithm and its settings; `probewise list` shows them all.",
)
goal_option = click.option(
    "--goal",
    "question",
    default="best",
    show_default=True,
    metavar="NAME[:VALUE]",
    help="The question to answer; `probewise list` shows them all.",
)


def asked_goal(question: str, delta: float, epsilon: float, minimise: bool, promise: str | None = None) -> pw.Goal:
    """The goal that the options name; what is not asked for is left to the goal, which may not have it."""
    from probewise.goals import goal_from

    return goal_from(question, delta=delta, epsilon=epsilon, minimise=minimise or None, promise=promise)


def fitting(goal: pw.Goal, problem: pw.Problem) -> pw.Goal:
    """The goal for a problem: where items make up combinations, the best is the best of these."""
    from probewise.goals import usual_goal

    if not isinstance(goal, pw.BestItem):
        return goal
    return usual_goal(problem, delta=goal.delta, epsilon=goal.epsilon, minimise=goal.minimise)
