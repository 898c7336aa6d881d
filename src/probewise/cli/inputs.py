"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import probewise as pw
from probewise import cells
from probewise.cli.settings import made
from probewise.model import Use, build
from probewise.reading import read_table
from probewise.tables import named

if TYPE_CHECKING:
    from probewise.design import Directions
    from probewise.tables import Table

Command = Callable[..., Any]
FILE = click.Path(path_type=Path)


def number(text: str | float) -> float:
    """A finite number in the digits 0 to 9, as click takes the type of an option."""
    value = cells.number(text) if isinstance(text, str) else text
    if value is None or not math.isfinite(value):
        raise click.BadParameter(cells.fault(str(text)))
    return value


def wholes(least: int, most: int = 10**12) -> Callable[[str | int], int]:
    """The type of an option that takes whole numbers in the digits 0 to 9."""

    def integer(text: str | int) -> int:
        if isinstance(text, int):
            return text
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        if not re.fullmatch("[+-]?[0-9]+", text):
            raise click.BadParameter(f"'{shown}' is not a whole number")
        if len(text) > 60 or not least <= int(text) <= most:
            raise click.BadParameter(f"{shown} does not lie between {least} and {most:.4g}")
        return int(text)

    return integer


NUMBER, WHOLE, SEED = number, wholes(1), wholes(0, 2**128 - 1)
INTEGER = wholes(-(10**12))
"""A number without limits of its own: the library checks them."""


@dataclass(frozen=True)
class Source:
    """Where a problem is read from."""

    probes: Path
    """Table with one row per probe."""
    items: Path | None
    """Table with one row per item; the probes if not given."""
    id_column: str | None
    """Column of both tables that holds the names."""
    sigma: float | str | None
    """Noise of all probes; "unknown" if nobody knows."""
    sigma_column: str | None
    """Column of the probes that holds the noise of each."""
    cost_column: str | None
    """Column of the probes that holds the cost of each."""
    stock_column: str | None = None
    """Column of the probes that holds how often each can be measured in all."""
    model: str = "main"
    """The terms of the model."""
    factors: tuple[str, ...] = ()
    """Columns whose numbers are levels."""
    extra: tuple[str, ...] = ()
    """Columns that are only shown."""
    outcome: str | None = None
    """The law of an outcome, with its settings; the normal one if not given."""
    span: tuple[float, float] | None = None
    """The least and the largest outcome, for a law that has them."""
    normal: bool = False
    """Whether noise is known to be normal."""

    def __post_init__(self) -> None:
        if self.span is not None:
            if self.outcome is None:
                raise click.UsageError("--range says what outcomes are possible; give --outcome bounded with it")
            text = f"{self.outcome},low={self.span[0]!r},high={self.span[1]!r}"
            object.__setattr__(self, "outcome", text)
        if self.outcome is not None and (self.sigma is not None or self.sigma_column is not None):
            raise click.UsageError("--outcome already describes the noise; give either --outcome or --sigma")
        if self.sigma is not None and self.sigma_column is not None:
            raise click.UsageError("--sigma and --sigma-column exclude each other; give one of them")
        if self.normal and (self.outcome is not None or self.noise_unsaid):
            raise click.UsageError("--normal says that noise of a stated scale is normal; give --sigma with it")

    @property
    def noise_unsaid(self) -> bool:
        """Whether no option says how noisy measurements are."""
        return self.sigma is None and self.sigma_column is None and self.outcome is None

    def problem(self, misfit: float = 0.0) -> pw.Problem:
        """Probes and items, with features of their columns; means of outcomes may be off the model by ``misfit``."""
        problem = self._near(misfit) if self.items is None or not _stay(self.items) else self._far(self.items, misfit)
        if not self.normal or not problem.outcome.known:  # of unknown scale it has to be normal anyway
            return problem
        return replace(problem, outcome=pw.Gaussian(problem.sigma, normal=True))

    def _far(self, items: Path, misfit: float) -> pw.Problem:
        """Items that stay in their files: their columns are features as they are."""
        from probewise.shards.engine import HERE
        from probewise.shards.parquet import columns_of

        if self.model != "none":
            raise click.UsageError(
                "items in a folder, or in several files, stay there, with their columns as features; give --model "
                "none, and a column of ones in probes and items if outcomes are not 0 where all features are"
            )
        near, names = replace(self, items=None)._near(misfit), self.id_column or "id"
        shards = pw.items_from_parquet(
            items,
            columns=near.feature_names,
            names=names if self.id_column is not None or names in columns_of(items) else None,
            scheduler=HERE,
        )
        return pw.Problem(
            near.probes,
            shards,
            outcome=near.outcome,
            cost=near.cost,
            stock=near.stock,
            misfit=near.misfit,
            probe_names=near.probe_names,
            feature_names=near.feature_names,
        )

    def _near(self, misfit: float) -> pw.Problem:
        """Items of one table, in memory."""
        return pw.Problem.from_tables(
            read_table(self.probes),
            None if self.items is None else items_at(self.items),
            model=self.model,
            id_column=self.id_column,
            sigma=self.sigma,
            outcome=law(self.outcome),
            misfit=misfit,
            sigma_column=self.sigma_column,
            cost_column=self.cost_column,
            stock_column=self.stock_column,
            factors=self.factors,
            shown=self.extra,
        )

    def measured(self) -> pw.Problem:
        """Probes and, unless a table of items is given, one item only: nothing to compare, so nothing to refuse."""
        if self.items is not None:
            return self.problem()
        table = read_table(self.probes)
        uses: dict[str | None, Use] = {self.sigma_column: "noise", self.cost_column: "cost"}
        said = {name: use for name, use in uses.items() if name is not None}
        model = build(table, None, self.model, id_name=self.id_column, columns=said, factors=self.factors,
                      shown=self.extra)  # fmt: skip
        return pw.Problem.from_tables(
            table,
            table.rows([0]),
            model=model,
            sigma=self.sigma,
            outcome=law(self.outcome),
            sigma_column=self.sigma_column,
            cost_column=self.cost_column,
        )


def _stay(path: Path) -> bool:
    """Whether items are in several files, or as many as a folder has, and so stay there."""
    return path.is_dir() or any(sign in path.name for sign in "*?[")


def items_at(path: Path) -> Table | pw.Space:
    """The table of a file or, of a TOML file, the space that it describes, with no combination listed."""
    from probewise.model.space import read_space

    return read_space(path, lazy=True) if path.suffix.casefold() == ".toml" else read_table(path)


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
        if problem.blocks:
            if self.criterion != "pairs":
                raise pw.InvalidProblem(
                    f"the items are combinations of {len(problem.blocks)} factors, for which there is the criterion "
                    f"pairs only, got {self.criterion}; leave --criterion out, or list the combinations."
                )
            from probewise.design import pairs_within

            return pairs_within(problem.items, problem.blocks)
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
        """What is estimated, as part of a sentence."""
        return {
            "pairs": "every comparison of two items",
            "star": f"every comparison with '{self.reference}'",
            "points": "the value of every item",
        }[self.criterion]


def law(text: str | None) -> pw.Law | None:
    """The law of outcomes that a text such as "gaussian,sigma=2" names."""
    from probewise.outcomes import law_named, law_names

    return None if text is None else made(text, law_named, law_names(), "law of outcomes", pw.InvalidProblem)


def _noise(text: str) -> float | str:
    """A number, or the word unknown."""
    value = text if text == "unknown" else cells.number(text)
    if value is None:
        raise click.UsageError(f"--sigma must be a number or the word unknown, but {cells.fault(text)}")
    return value


_SOURCE = (
    click.option(
        "--probes",
        type=FILE,
        required=True,
        help="Table of what can be measured, one row per probe. Text columns are factors, number columns are numbers.",
    ),
    click.option(
        "--items",
        type=FILE,
        help="Table of what is to be compared, with the same columns as the probes; or a TOML file as of `probewise "
        "space`, any number of whose combinations are compared without being listed. A folder of Parquet files, or a "
        "pattern such as 'library/*.parquet', needs --model none; more than 20,000 items stay in their files.",
    ),
    click.option(
        "--id-column", metavar="NAME", help="Column with the names of the rows. Default: id, if there is one."
    ),
    click.option(
        "--model",
        default="main",
        show_default=True,
        metavar="MODEL",
        help="What outcomes depend on. main: every column. interactions: products of two columns too. quadratic: "
        "squares of numbers too. none: numbers as they are, without an intercept. Or a formula such as "
        "'ligand + dose + dose^2 + ligand:dose'.",
    ),
    click.option(
        "--factor",
        "factors",
        multiple=True,
        metavar="NAME",
        help="Column whose numbers, dates or codes are levels of a factor; may be repeated. Text always is.",
    ),
    click.option(
        "--show",
        "--extra",
        "extra",
        multiple=True,
        metavar="NAME",
        help="Column that is only shown and is no feature; may be repeated.",
    ),
    click.option("--sigma", type=NUMBER, metavar="S", help="Standard deviation of one measurement. Default: 1."),
    click.option(
        "--sigma-column",
        metavar="NAME",
        help="Column of the probes with the standard deviation of one measurement of each.",
    ),
    click.option(
        "--cost-column", metavar="NAME", help="Column of the probes with the cost of one measurement of each."
    ),
    click.option(
        "--outcome",
        metavar="NAME[,KEY=VALUE…]",
        help="Law of an outcome, if not that of --sigma; `probewise list` shows them all.",
    ),
    click.option(
        "--range",
        "span",
        type=NUMBER,
        nargs=2,
        metavar="LOW HIGH",
        help="Least and largest outcome that is possible, for --outcome bounded. Default: 0 1.",
    ),
)

_NORMAL = click.option(
    "--normal",
    is_flag=True,
    help="Noise is normally distributed, with a standard deviation of at most --sigma: Sage needs fewer measurements.",
)

_CRITERION = (
    click.option(
        "--criterion",
        type=click.Choice(["pairs", "star", "points"]),
        default="pairs",
        show_default=True,
        help="What must be known well: all differences of items, differences to one item, or the items themselves.",
    ),
    click.option(
        "--reference",
        metavar="NAME",
        help="For --criterion star: the item to compare the others with.",
    ),
)

_TABLES = (
    *_SOURCE[:6],
    click.option(
        "--sigma", type=_noise, metavar="S|unknown",
        help="Standard deviation of one measurement, or unknown: it is then learned from replicates. Default: 1.",
    ),
    *_SOURCE[7:],
    click.option(
        "--stock-column", metavar="NAME",
        help="Column of the probes: how often each can be measured in total. An empty cell means no limit.",
    ),
    _NORMAL,
)  # fmt: skip


def out_option(columns: str) -> Callable[[Command], Command]:
    """--out FILE.csv, whose help names the columns that are written."""
    return click.option("--out", type=FILE, metavar="FILE.csv", help=f"Write a table with the columns {columns}.")


def source_options(function: Command) -> Command:
    """Hand the options that describe a problem to ``function`` as one argument ``source``."""
    return _packed(function, "source", Source, _SOURCE)


def search_options(function: Command) -> Command:
    """The same for a search, which can make use of noise that is normal."""
    return _packed(function, "source", Source, (*_SOURCE, _NORMAL))


def tables_options(function: Command) -> Command:
    """The same for a campaign, whose tables may have columns that are no features."""
    return _packed(function, "source", Source, _TABLES)


def criterion_options(function: Command) -> Command:
    """Hand the options that choose directions to ``function`` as one argument ``criterion``."""
    return _packed(function, "criterion", Criterion, _CRITERION)


def _packed(
    function: Command, name: str, kind: type[Any], options: tuple[Callable[[Command], Command], ...]
) -> Command:
    @functools.wraps(function)
    def packed(**values: Any) -> Any:
        parts = {field.name: values.pop(field.name) for field in fields(kind) if field.name in values}
        return function(**values, **{name: kind(**parts)})

    command: Command = packed
    for option in reversed(options):
        command = option(command)
    return command
