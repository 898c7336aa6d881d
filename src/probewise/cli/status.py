"""probewise status: where a campaign stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from probewise.cells import visible
from probewise.cli import output
from probewise.cli.campaigns import opened, path_argument
from probewise.cli.output import json_option
from probewise.cli.roles import roles
from probewise.numerals import attained, plural
from probewise.quantity import Quantity
from probewise.tables import as_text

if TYPE_CHECKING:
    from probewise.campaign import Campaign, ItemStatus, Status

BAR, SPAN = 40, 24
"""Widths of the bar of progress and of the picture of the intervals."""
STYLES = {"leading": "bold", "tied": "green", "remaining": "", "eliminated": "dim", "control": "dim"}
"""State of an item -> how it is printed; what the goal calls an item that is found is bold and green."""


@click.command()
@path_argument
@click.option("--all", "everything", is_flag=True, help=f"Show every item, not only the first {output.ROWS}.")
@json_option
def command(path: str, everything: bool, as_json: bool) -> None:
    """Where a campaign stands, and what is left to do.

    Shows an estimate and an interval for every item. The intervals hold for all items and at all times at once, with
    the confidence of the campaign. The command changes nothing, and may run while others write.

    \b
    Example
      probewise status coupling.campaign --json
    """
    campaign = opened(path)
    with output.working("Looking", quiet=as_json):
        standing = campaign.status()
    if as_json:
        output.print_json(standing.to_json() | roles(campaign.problem))
        return
    output.say(standing.sentence, style="bold green" if standing.answer is not None else "bold")
    for warning in standing.warnings:
        output.say(f"Warning: {warning}", style="yellow")
    _recipe(standing)
    _progress(standing)
    _facts(campaign, standing)
    _ranking(campaign, standing, len(standing.items) if everything else output.ROWS)


def _recipe(standing: Status) -> None:
    """Every column of the item that was found; of several, the report has them."""
    if standing.answer is None or len(standing.answer) != 1 or not standing.recipes[standing.answer[0]]:
        return
    cells = standing.recipes[standing.answer[0]].items()
    output.facts([(name, as_text(cell), "") for name, cell in cells], words=True, long=True)


def _progress(standing: Status) -> None:
    if (way := standing.way) is None:
        return
    filled = round(BAR * way)
    bar = Text.assemble(
        ("━" * filled, "blue" if standing.answer is None else "green"),
        ("─" * (BAR - filled), "dim"),
        f" {100 * way:.0f} % of the way to the answer",
    )
    output.show(Padding(bar, (0, 0, 1, 1)))


def _facts(campaign: Campaign, standing: Status) -> None:
    from probewise.campaign.findings.words import Words

    costly = bool((campaign.problem.cost != 1.0).any())
    rounds = f"in {plural(standing.rounds, 'round')}"
    price = f", cost {output.number(standing.cost)}" if costly else ""
    facts = [("measured", output.number(standing.measurements), f"{rounds}{price}")]
    if standing.waiting:
        due = f", due {standing.due}" if standing.due else ""
        facts.append(("waiting for", output.number(standing.waiting), f"rows of round {standing.waiting_round}{due}"))
    ahead = standing.forecast
    if ahead is not None and standing.answer is None and ahead["rounds"]:
        cost = f", cost {output.number(round(ahead['cost']))}" if costly else ""
        rest = f"in {ahead['rounds']:g} round{'s' * (ahead['rounds'] != 1)}{cost}"
        span = f"{output.number(ahead['low'])} to {output.number(ahead['high'])} with probability 80 %"
        facts.append(("to go, about", output.number(ahead["measurements"]), f"{rest}; {span}"))
    facts += _confidence(standing, campaign.goal.epsilon)
    if standing.answer is None:
        left = output.number(len(standing.remaining) + standing.unlisted)
        words, many = Words(campaign.goal, campaign.ledger.charter.quantity), len(standing.items) + standing.unseen
        facts.append(("still possible", left, f"of {many:,} items may be {words.predicate}"))
    output.facts(facts)
    if standing.answer is None and standing.unforeseen and standing.measurements:
        output.say(standing.unforeseen)


def _confidence(standing: Status, epsilon: float) -> list[tuple[str, str, str]]:
    """How sure the best guess is; the answer has its own sentence."""
    if standing.answer is not None or standing.leader is None:
        return []
    if standing.sure and standing.confidence is None:
        return []
    if standing.confidence is None:
        return [("confidence", "unknown", "it cannot be said how sure the best guess is")]
    words, within = attained(standing.confidence), f", to within {epsilon:.4g}" if epsilon else ""
    if words.startswith("no "):
        return [("confidence", "none", f"{words} in the best guess, {standing.leader}{within}")]
    return [("confidence", words.removeprefix("confidence "), f"attained by the best guess, {standing.leader}{within}")]


def _ranking(campaign: Campaign, standing: Status, most: int) -> None:
    from probewise.campaign.findings.words import APART

    shown = standing.items[:most]
    if standing.leader is None or not shown:
        return
    place = _Axis(shown)
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    drawn.add_column("item", overflow="fold", max_width=32)
    heading = campaign.ledger.charter.quantity.heading if campaign.ledger.charter.quantity else "estimate"
    drawn.add_column(Text(visible(heading)), justify="right", no_wrap=True)
    drawn.add_column(f"{100 * (1 - standing.risk):.4g} % intervals", no_wrap=True)
    drawn.add_column("", overflow="fold")
    for item in shown:
        found = item.state not in STYLES
        style = STYLES["leading"] if found and standing.answer is None else STYLES.get(item.state, "bold green")
        drawn.add_row(
            Text(visible(item.name), style=style),
            _estimate(item),
            place.drawn(item),
            Text(visible(_why(item, standing, campaign.ledger.charter.quantity)), style=style),
        )
    output.show(Padding(drawn, (0, 0, 1, 1)))
    if len(standing.items) > len(shown):
        output.say(f"and {len(standing.items) - len(shown):,} more, which --all lists.", style="dim")
    if any(item.low is not None for item in shown):
        output.say("Differences are known better than values: intervals of items that differ may overlap.", style="dim")
    if not standing.subtracts:
        output.say(APART, style="dim")


def _estimate(item: ItemStatus) -> str:
    from probewise.numerals import with_width

    if item.estimate is None:
        return "unknown"
    width = 0.0 if item.high is None else item.high - item.estimate
    return with_width(item.estimate, width)


def _why(item: ItemStatus, standing: Status, quantity: Quantity) -> str:
    """State and reason, in one line if it can be, so without a unit; --json and the report have all of it."""
    if item.state not in STYLES and standing.answer is None:
        return "first, but not certified"
    if item.state == "leading" or item.state not in STYLES:
        return item.state
    why = item.why.rpartition(", ")[0] if item.why.endswith("standard errors") else item.why
    why = why.replace(f"{quantity.difference('')} behind", " behind")
    return why.removesuffix(f" {standing.leader}") if why.endswith(f" behind {standing.leader}") else why


class _Axis:
    """Intervals as text, all on one scale."""

    def __init__(self, items: tuple[ItemStatus, ...]) -> None:
        ends = [end for item in items for end in (item.low, item.high, item.estimate) if end is not None]
        self.low, self.high = min(ends, default=0.0), max(ends, default=1.0)

    def column(self, value: float) -> int:
        """Where a value stands, from 0 to SPAN - 1."""
        return round((SPAN - 1) * (value - self.low) / ((self.high - self.low) or 1.0))

    def drawn(self, item: ItemStatus) -> Text:
        """An interval as ├──●──┤ in its place."""
        if item.estimate is None:
            return Text("")
        cells = [" "] * SPAN
        if item.low is not None and item.high is not None:
            first, last = self.column(item.low), self.column(item.high)
            cells[first : last + 1] = "─" * (last + 1 - first)
            cells[first], cells[last] = "├", "┤"
        cells[self.column(item.estimate)] = "●"
        return Text("".join(cells), style="blue" if item.state != "eliminated" else "dim")
