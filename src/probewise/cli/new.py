"""probewise new: begin a campaign, after checks of its tables and with a forecast of what it will take."""

from __future__ import annotations

import math
import shlex
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import probewise as pw
from probewise.cli import output
from probewise.cli.campaigns import author_option, path_argument
from probewise.cli.choices import (
    algorithm_option,
    asked_goal,
    build,
    delta_option,
    epsilon_option,
    fitting,
    goal_option,
    minimise_option,
    misfit_option,
    promise_option,
)
from probewise.cli.expected import as_data, print_choices, print_confidences, print_report, round_choices
from probewise.cli.inputs import INTEGER, NUMBER, SEED, Source, tables_options
from probewise.cli.output import json_option
from probewise.cli.roles import roles
from probewise.quantity import Quantity

if TYPE_CHECKING:
    from probewise.campaign import Storage

TABLES = frozenset({".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".parquet", ".pq", ".html", ".json"})
"""Endings that promise something else than a campaign."""

_UNSAID = (
    "Nothing was said of the noise, so it is taken to be 1, and the confidence rests on that: give --sigma, an upper "
    "bound on the standard deviation of one measurement, or --sigma unknown."
)


@click.command()
@path_argument
@tables_options
@delta_option
@epsilon_option
@goal_option
@minimise_option
@promise_option
@misfit_option
@click.option(
    "--max-batch", type=INTEGER, metavar="N", help="Largest number of measurements in a batch, such as 96 on a plate."
)
@click.option(
    "--min-batch", type=INTEGER, metavar="N", help="Smallest number of measurements worth starting a batch for."
)
@click.option(
    "--max-replicates", type=INTEGER, metavar="N", help="Largest number of measurements of one probe in a batch."
)
@click.option(
    "--budget", type=INTEGER, metavar="N",
    help="Make N measurements in all, planned for the best guess at their end; the confidence attained stays proven.",
)  # fmt: skip
@click.option(
    "--amendments", type=NUMBER, default=0.0, show_default=True, metavar="SHARE",
    help="Share of delta to set aside for later corrections and voids of complete rounds, so that delta holds "
    "whatever you correct. With 0, one change raises the bound to 1.5 delta, any number to below 2 delta.",
)  # fmt: skip
@click.option(
    "--rounds",
    type=INTEGER,
    metavar="R",
    help="Rounds that should do, for Sage: they become larger, and the total rises. Default: as many as it takes.",
)
@click.option(
    "--matters", type=NUMBER, metavar="G",
    help="A difference of G matters to me, for Sage: half of its bets are made for leads like that, which saves "
    "measurements if the closest rival is about so far away. What is proven stays the same.",
)  # fmt: skip
@algorithm_option
@click.option(
    "--seed",
    type=SEED,
    help="Seed of the random order of measurements. Default: drawn at random and kept in the journal.",
)
@click.option(
    "--outcome-range",
    type=NUMBER,
    nargs=2,
    metavar="LOW HIGH",
    help="Refuse outcomes outside this range, as typing errors. With --budget, predictions stay within it.",
)
@click.option(
    "--outcome-name",
    default="",
    metavar="NAME",
    help="What is measured, such as yield; sheets, sentences and reports use it.",
)
@click.option("--unit", default="", metavar="UNIT", help="The unit of outcomes, such as %, mg/l or °C.")
@click.option(
    "--aggregated",
    type=click.Choice(["yes", "means"]),
    is_flag=False,
    flag_value="yes",
    metavar="[means]",
    help="One row per probe on every sheet, to be told with n and successes (--outcome bounded), n and the total of "
    "counts (--outcome poisson), else with n, mean and standard deviation; with means, the latter in any case.",
)
@click.option(
    "--weighted",
    is_flag=True,
    help="Every row brings its own standard error (se), or the exposure of a count, which must be known before its "
    "outcome; a standard error computed from the few readings themselves is not proven.",
)
@click.option(
    "--gap", "gaps", type=NUMBER, multiple=True, metavar="G",
    help="Forecast the effort if items differ by G where it matters; may be repeated. Default: a few round numbers.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Check and forecast only; write nothing.")
@author_option
@json_option
def command(
    path: str,
    source: Source,
    delta: float,
    epsilon: float,
    question: str,
    minimise: bool,
    promise: str | None,
    misfit: float,
    max_batch: int | None,
    min_batch: int | None,
    max_replicates: int | None,
    budget: int | None,
    amendments: float,
    rounds: int | None,
    matters: float | None,
    algorithm: str,
    seed: int | None,
    outcome_range: tuple[float, float] | None,
    outcome_name: str,
    unit: str,
    aggregated: str | None,
    weighted: bool,
    gaps: tuple[float, ...],
    dry_run: bool,
    author: str | None,
    as_json: bool,
) -> None:
    """Begin a campaign in a new file.

    PATH is a name such as coupling.campaign. If it ends in .jsonl, the file is text; a URL such as
    postgresql://lab@server/db#coupling names a database. The command first checks whether the probes can tell the
    items apart, and forecasts the effort. An existing file is never overwritten.

    \b
    Example
      probewise new coupling.campaign --probes probes.csv --items items.csv --sigma 3 --max-batch 96
    """
    from probewise.campaign import Memory
    from probewise.campaign.findings.attaining import attaining
    from probewise.campaign.findings.prospect import by_rounds, prospects, remarks, unforeseen
    from probewise.campaign.state.charter import check_share
    from probewise.design import remembering
    from probewise.run import check

    store, quantity = _free(path), Quantity(outcome_name, unit)
    check_share(amendments)
    if outcome_range is not None and outcome_range[0] >= outcome_range[1]:
        raise click.UsageError(f"--outcome-range must be LOW below HIGH, got {outcome_range[0]:g} {outcome_range[1]:g}")
    limits = {"max_batch": max_batch, "min_batch": min_batch, "max_replicates": max_replicates}
    if budget is not None:
        algorithm = _budgeted(budget, algorithm, rounds, min_batch, matters, outcome_range)
    else:
        given = {"rounds": rounds, "gap": matters}
        algorithm = ",".join([algorithm, *(f"{name}={value}" for name, value in given.items() if value is not None)])
    gaps = gaps or tuple(by * matters for by in _AROUND if matters is not None)
    chosen, goal = _algorithm(algorithm, limits), asked_goal(question, delta, epsilon, minimise, promise)
    problem = source.problem(misfit)
    goal = fitting(goal, problem)
    check(problem, goal, chosen)
    _check_gaps(gaps, goal)
    span = outcome_range or (-math.inf, math.inf)
    odd = [*[_UNSAID] * source.noise_unsaid, *remarks(problem, span), *unforeseen(problem, goal, chosen)]
    with output.working("Forecasting", quiet=as_json), remembering():  # one design for the forecast and the campaign
        first = goal.at((1.0 - amendments) * goal.delta)  # what the data as they come may spend
        expected = prospects(problem, first, chosen, gaps)
        choice = None if rounds is not None else by_rounds(problem, first, chosen, expected)
        sure = {} if budget is None else {gap: attaining(problem, first, chosen, gap) for gap in expected}
        campaign = pw.Campaign.create(
            Memory() if dry_run else store,
            problem,
            goal,
            chosen,
            seed,
            author=author,
            outcome_range=outcome_range or (None, None),
            amendments=amendments,
            outcome_name=outcome_name,
            unit=unit,
            aggregated="means" if aggregated == "means" else aggregated is not None,
            weighted=weighted,
        )  # before anything is printed: whoever reads that may leave
    if as_json:
        found = as_data(campaign, expected, odd) | roles(problem) | {"round_choices": round_choices(choice)}
        found |= {
            "confidences": [{"gap": gap} | own._asdict() for gap, own in sure.items() if not isinstance(own, str)]
        }
        output.print_json(found | {"out": None if dry_run else store.name})
        return
    set_aside = f"Set aside for amendments: {100 * amendments:.4g} % of delta; the forecast counts with the rest."
    print_report(problem, goal, quantity, chosen, expected, [*odd, *[set_aside] * bool(amendments)])
    if choice is not None:
        print_choices(*choice, expected, quantity if problem.outcome.known else Quantity())
    if budget is not None:
        print_confidences(budget, sure, quantity if problem.outcome.known else Quantity())
    if dry_run:
        output.say("Dry run: nothing was written.")
    else:
        output.line(f"Written: {store.name}")
        output.line(f"Next: probewise ask {shlex.quote(store.name)} --out ask.csv")


def _free(path: str) -> Storage:
    """The place for a new campaign; refused if something is there already."""
    from probewise.campaign import storage_at

    if "://" in path:
        return storage_at(path)
    if Path(path).exists():
        raise pw.InvalidCampaign(f"{path} is there already and is never overwritten; choose another name.")
    if not Path(path).parent.is_dir():
        raise pw.InvalidCampaign(f"there is no folder {Path(path).parent} for {Path(path).name}; make it first.")
    if Path(path).suffix.casefold() in TABLES:
        raise pw.InvalidCampaign(f"a campaign is not a table, got the name {path}; call it {Path(path).stem}.campaign.")
    return storage_at(path)


def _algorithm(text: str, limits: dict[str, int | None]) -> pw.Algorithm[Any]:
    """The algorithm with the limits of a batch among its settings."""
    if text.partition(",")[0].strip() == "xy-oracle":
        raise pw.InvalidAlgorithm("xy-oracle must be told the truth, which a campaign is to find; choose another one.")
    given = {name: value for name, value in limits.items() if value is not None}
    own = build(text)
    if not given:
        return own
    if {*given} <= {field.name for field in fields(own)}:  # type: ignore[arg-type]
        return build(",".join([text, *(f"{name}={value}" for name, value in given.items())]))
    return pw.Batched(own, **given)


_AROUND = (2.0, 1.0, 0.5)
"""Gaps that are forecast where one matters, in units of it."""


def _budgeted(
    budget: int,
    algorithm: str,
    rounds: int | None,
    min_batch: int | None,
    matters: float | None,
    ends: tuple[float, float] | None,
) -> str:
    """The algorithm that plans for a budget; refused beside what it does not go with."""
    beside = {"--rounds": rounds, "--min-batch": min_batch, "--matters": matters}
    for option, given in (("--algorithm", algorithm != "sage"), *beside.items()):
        if given:
            raise click.UsageError(f"--budget has a plan of its own, which {option} does not go with; leave one out")
    known = "" if ends is None else f",low={ends[0]!r},high={ends[1]!r}"
    return f"best-guess,budget={budget}{known}"


def _check_gaps(gaps: tuple[float, ...], goal: pw.Goal) -> None:
    for gap in gaps:
        if not (0 <= gap < math.inf and gap + goal.epsilon > 0):
            raise pw.InvalidGoal(f"--gap must be a positive number, got {gap:g}; how much better is worth finding?")
