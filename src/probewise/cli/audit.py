"""probewise audit: how often each method errs, against what it promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from probewise.cli import output
from probewise.cli.choices import bars, seed_option, workers_option
from probewise.cli.inputs import FILE, NUMBER, WHOLE, out_option
from probewise.cli.output import json_option

if TYPE_CHECKING:
    from probewise.experiments.audit import Finding

COLUMNS = (
    "method", "delta", "runs", "errors", "error_rate", "low", "high", "passed", "worst_instance", "worst_rate",
    "measurements",
)  # fmt: skip


@click.command()
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Method to audit; may be repeated. Default: all with a proof.",
)
@click.option(
    "--delta",
    "deltas",
    multiple=True,
    type=NUMBER,
    help="Error rate to promise; may be repeated. Default: 0.3, 0.1, 0.05 and 0.01.",
)
@click.option("--runs", type=WHOLE, default=1000, show_default=True, help="Runs on each instance.")
@click.option("--each", is_flag=True, help="Print one row per instance; each must pass on its own.")
@seed_option
@workers_option
@click.option(
    "--journal",
    type=FILE,
    metavar="FOLDER",
    help="Keep finished runs in this folder, so that an interrupted audit can continue.",
)
@out_option(", ".join(COLUMNS))
@json_option
@click.pass_context
def command(
    context: click.Context,
    methods: tuple[str, ...],
    deltas: tuple[float, ...],
    runs: int,
    each: bool,
    seed: int,
    workers: int,
    journal: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """How often each method errs, on hard instances.

    They have near ties, near duplicates, few probes for many items and the reverse, and noise at its sub-Gaussian
    limit. The 99 % interval of the error rate is exact.

    \b
    Example
      probewise audit --method rage-tight --delta 0.05 --runs 200

    Exit code 1: the upper end of an interval exceeds its delta: there were too many errors, or too few runs to tell.
    """
    from probewise.experiments.audit import DELTAS, TRAPS, audit
    from probewise.experiments.methods import PROVEN

    if unknown := [name for name in methods if name not in PROVEN]:
        raise click.UsageError(f"there is no method '{unknown[0]}'; they are {', '.join(PROVEN)}")
    found: list[Finding] = []
    with bars(quiet=as_json) as progress:
        for finding in audit(
            methods or tuple(PROVEN), deltas or DELTAS, runs=runs, seed=seed, workers=workers, journal=journal,
            progress=progress,
        ):  # fmt: skip
            found.extend(finding.parts if each else [finding])
    rows = [_row(finding) for finding in found]
    output.write_csv(out, COLUMNS, rows)
    if as_json:
        instances = {name: trap.why for name, trap in TRAPS.items()}
        output.print_json({"instances": instances, "findings": output.records(COLUMNS, rows), "out": out})
    else:
        for low in range(0, len(found), output.ROWS):
            output.table(
                (
                    "method",
                    "δ",
                    "runs",
                    "wrong",
                    "99 % interval",
                    "instance" if each else "worst instance",
                    "measurements",
                ),
                [_cells(finding) for finding in found[low : low + output.ROWS]],
            )
        failed = [f"{f.method} at {f.delta:g}{_on(f)}" for f in found if not f.passed]
        output.say(f"Above δ: {', '.join(failed)}." if failed else "Every upper end is at most δ.")
        output.written(out)
    context.exit(0 if all(finding.passed for finding in found) else 1)


def _row(finding: Finding) -> tuple[object, ...]:
    rate, worst = finding.rate, finding.worst
    return (
        finding.method, finding.delta, rate.runs, rate.errors, rate.value, rate.low, rate.high, finding.passed,
        worst.instance, worst.rate.value, finding.measurements,
    )  # fmt: skip


def _cells(finding: Finding) -> tuple[str, ...]:
    rate, worst = finding.rate, finding.worst
    if len(finding.cells) == 1:
        where = worst.instance
    else:
        where = f"{worst.instance}, {worst.rate.errors} of {worst.rate.runs}" if worst.rate.errors else "none"
    interval = f"{rate.low:.4f} to {rate.high:.4f}" + ("" if finding.passed else " !")
    effort = output.number(round(finding.measurements))
    return finding.method, f"{finding.delta:g}", output.number(rate.runs), str(rate.errors), interval, where, effort


def _on(finding: Finding) -> str:
    return f" on {finding.worst.instance}" if len(finding.cells) == 1 else ""
