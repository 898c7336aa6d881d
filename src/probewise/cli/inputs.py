"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import probewise as pw
from probewise.tables import Table, named, read_table

if TYPE_CHECKING:
    from probewise.design import Directions

Command = Callable[..., Any]
FILE = click.Path(path_type=Path)


@dataclass(frozen=True)
class Source:
    """Where a problem is read from."""

    probes: Path
    """Table with one row per probe."""
    items: Path | None
    """Table with one row per item; the probes if not given."""
    id_column: str | None
    """Column of both tables that holds the names."""
    sigma: float | None
    """Noise of all probes."""
    sigma_column: str | None
    """Column of the probes that holds the noise of each."""
    cost_column: str | None
    """Column of the probes that holds the cost of each."""

    def __post_init__(self) -> None:
        if self.sigma is not None and self.sigma_column is not None:
            raise click.UsageError("--sigma and --sigma-column exclude each other; give one of them")

    def problem(self) -> pw.Problem:
        """Probes and items."""
        table, given = self._probes()
        items = None if self.items is None else self._features(read_table(self.items))
        return pw.Problem(table, items, id_column=self.id_column, **given)

    def measured(self) -> pw.Problem:
        """Probes and, unless a table of items is given, one item only: nothing to compare, so nothing to refuse."""
        if self.items is not None:
            return self.problem()
        table, given = self._probes()
        rows = table.labelled(self.id_column)
        given |= {"probe_names": rows.rows, "feature_names": rows.features}
        return pw.Problem(rows.values, rows.values[:1], **given)

    def _probes(self) -> tuple[Table, dict[str, Any]]:
        """The features of the probes, and their noise and cost."""
        table = read_table(self.probes)
        given: dict[str, Any] = {"sigma": 1.0 if self.sigma is None else self.sigma}
        for name, column in (("sigma", self.sigma_column), ("cost", self.cost_column)):
            if column is not None:
                given[name] = table.numbers(column)
        return self._features(table), given

    def _features(self, table: Table) -> Table:
        return table.without(*(c for c in (self.sigma_column, self.cost_column) if c is not None))


@dataclass(frozen=True)
class Criterion:
    """Which directions a design has to determine well."""

    criterion: str
    """pairs, star or points."""
    reference: str | None
    """The item that a star compares all others with."""

    def __post_init__(self) -> None:
        if (self.criterion == "star") != (self.reference is not None):
            raise click.UsageError("--criterion star and --reference NAME need each other; give both or neither")

    def directions(self, problem: pw.Problem) -> Directions:
        """The directions of a problem."""
        if self.criterion == "points":
            return pw.points(problem.items)
        if self.reference is None:
            return pw.pairs(problem.items)
        if self.reference not in problem.item_names:
            raise pw.InvalidProblem(
                f"the reference must be one of the items, got '{self.reference}'; they are {named(problem.item_names)}."
            )
        return pw.star(problem.items, problem.item_names.index(self.reference))

    @property
    def phrase(self) -> str:
        """What is estimated, for a sentence."""
        return {
            "pairs": "every comparison of two items",
            "star": f"every comparison with '{self.reference}'",
            "points": "the value of every item",
        }[self.criterion]


_SOURCE = (
    click.option(
        "--probes", type=FILE, required=True, help="Table of what can be measured: one row each, a column per feature."
    ),
    click.option("--items", type=FILE, help="Table of what is to be compared, with the same features as the probes."),
    click.option(
        "--id-column", metavar="NAME", help="Column with the names. Default: 'id', or the only column of text."
    ),
    click.option("--sigma", type=float, metavar="S", help="Noise (standard deviation) of a measurement. Default: 1."),
    click.option("--sigma-column", metavar="NAME", help="Column of the probes with the noise of each."),
    click.option(
        "--cost-column", metavar="NAME", help="Column of the probes with the cost of one measurement of each."
    ),
)

_CRITERION = (
    click.option(
        "--criterion",
        type=click.Choice(["pairs", "star", "points"]),
        default="pairs",
        show_default=True,
        help="What must be known well: all differences of items, those to one item, or the items themselves.",
    ),
    click.option("--reference", metavar="NAME", help="The item of --criterion star, such as the one in use now."),
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines instead.")


def out_option(columns: str) -> Callable[[Command], Command]:
    """--out FILE.csv, whose help names the columns that are written."""
    return click.option("--out", type=FILE, metavar="FILE.csv", help=f"Write a table with the columns {columns}.")


def source_options(function: Command) -> Command:
    """Hand the options that describe a problem to ``function`` as one argument ``source``."""
    return _packed(function, "source", Source, _SOURCE)


def criterion_options(function: Command) -> Command:
    """Hand the options that choose directions to ``function`` as one argument ``criterion``."""
    return _packed(function, "criterion", Criterion, _CRITERION)


def _packed(
    function: Command, name: str, kind: type[Any], options: tuple[Callable[[Command], Command], ...]
) -> Command:
    @functools.wraps(function)
    def packed(**values: Any) -> Any:
        parts = {field.name: values.pop(field.name) for field in fields(kind)}
        return function(**values, **{name: kind(**parts)})

    command: Command = packed
    for option in reversed(options):
        command = option(command)
    return command
