"""The command line: each command is one file of this folder, which parses, calls the library and prints."""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn, TextIO, final

import click

from probewise import __version__
from probewise.cells import visible
from probewise.cli.sparing import rest
from probewise.errors import ProbewiseError, TornJournal

SECTIONS = {
    "To begin": ("example", "example-measure", "demo", "space"),
    "Campaigns": (
        "new", "ask", "tell", "status", "report", "correct", "void", "close", "restock", "note", "export", "verify",
        "backup",
    ),
    "In the browser": ("serve", "user"),
    "Designs and single searches": ("design", "round", "hardness", "identify", "simulate", "list"),
    "Evidence": ("reproduce", "audit", "arena"),
}  # fmt: skip
"""Headings of the help, and commands under each."""
COMMANDS = tuple(name for names in SECTIONS.values() for name in names)
"""A module of this folder for each, with a click command called ``command``."""

SUCCESS, BAD_INPUT, INTERRUPTED = 0, 2, 130
"""Exit codes, beside 1 of a command that ran and whose answer is no."""


@final
class Skin(click.Group):
    """The one place where errors become a sentence on stderr and an exit code."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run a command and leave with its exit code."""
        rest()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a console that lacks a letter still gets the numbers
        try:
            _check_text(args[0] if args and args[0] is not None else extra.get("args") or sys.argv[1:])
            with warnings.catch_warnings():
                warnings.showwarning = _warned
                code = click.Group.main(self, *args, **{**extra, "standalone_mode": False})
        except click.Abort:
            _fail("interrupted.", INTERRUPTED)
        except click.UsageError as error:
            said = " ".join(error.format_message().split())  # click breaks lines where it lists choices
            where = error.ctx.command_path if error.ctx else "probewise"
            _fail(f"{said}{'' if said.endswith(('.', '?')) else '.'} See {where} --help.")
        except ProbewiseError as error:
            _fail(str(error))
        except OSError as error:
            _fail(f"{error.filename or 'the output'} cannot be read or written: {error.strerror or error}.")
        sys.exit(code if isinstance(code, int) else SUCCESS)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, the first one to use first."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, loaded now: each loads what it needs and nothing else."""
        return loaded(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under the headings of SECTIONS."""
        widest = max(map(len, COMMANDS))
        for heading, names in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), loaded(name).get_short_help_str(100)) for name in names])


def loaded(name: str) -> click.Command:
    """One of COMMANDS."""
    command: click.Command = import_module(f"probewise.cli.{name.replace('-', '_')}").command
    return command


def _warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A sentence of the package, or what Python says of a warning that is not ours."""
    other = warnings.formatwarning(message, category, filename, lineno, line)
    click.echo(f"Warning: {visible(str(message))}" if issubclass(category, TornJournal) else other, err=True)


def _check_text(words: Sequence[str]) -> None:
    """Refuse arguments in another encoding, which neither the journal nor a table could hold."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise click.UsageError(f"the argument '{word}' is not UTF-8 text; type or rename it") from None


def _fail(sentence: str, code: int = BAD_INPUT) -> NoReturn:
    short = re.sub(
        r"(\S{80})\S{80,}(\S{20})", r"\1…\2", sentence
    )  # somebody may have dropped a whole file on the command line
    click.echo(f"Error: {visible(short)}", err=True)
    sys.exit(code)


@click.group(
    cls=Skin,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="probewise")
@click.pass_context
def main(context: click.Context) -> None:
    """Find the best item with few measurements.

    You can measure probes and want to compare items. Both are rows of a table (CSV, spreadsheet or Parquet) with the
    same columns of words and numbers. An outcome is a sum of effects of these columns, plus noise.

    \b
    A campaign asks what to measure, waits for outcomes, and says which item is best:
      probewise new coupling.campaign --probes probes.csv --items items.csv --sigma 3
      probewise ask coupling.campaign --out ask.csv
      probewise tell coupling.campaign ask.csv
      probewise status coupling.campaign

    Exit codes: 0 done; 1 it ran and the answer is no; 2 bad input, with one sentence on stderr.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(BAD_INPUT)
