"""The section of a report that says what matters: the effect of each column, as a picture and a table."""

from __future__ import annotations

from collections.abc import Sequence

from probewise.campaign.findings.effects import Effect, grouped, reach
from probewise.campaign.report import pictures
from probewise.campaign.report.page import number, places_of, span
from probewise.campaign.report.view import View
from probewise.markup import Content, Html, paragraphs, section, sideways, table, tag
from probewise.model.contrasts import LEVELS
from probewise.model.model import Factor
from probewise.numerals import listed, percent, three_digits, with_width

SHOWN = 40
"""Effects that the picture shows; the table has all."""


def matters(view: View) -> Html | None:
    """What each column does to the outcome; nothing if the features were given as they are, or before any result."""
    groups, quantity = grouped(view.appraisal.effects), view.charter.quantity
    if not groups:
        return None
    flat = [own for group in groups for own in group]
    label = quantity.difference_heading(f"effect on the {quantity.noun}")
    alt = f"Effects of all columns on the {quantity.noun}, with intervals"
    more = f"… {len(flat) - SHOWN:,} more in the table" if len(flat) > SHOWN else ""
    picture = pictures.intervals([_bar(own) for own in flat[:SHOWN]], more=more, label=label, alt=alt)
    caption = (
        "A level is compared with the mean of the levels of its column that items have; a number goes from its lowest "
        "to its highest value in both tables, by way of its middle if the model is curved. All other columns stay "
        "as they are. The intervals of all effects hold together and at all times, with confidence "
        f"{percent(1.0 - view.ledger.risk)}; filled: the interval excludes 0."
    )
    return section(
        "What matters",
        paragraphs(_summary(view, groups)),
        tag("figure", sideways(picture, "pic"), tag("figcaption", caption)),
        _table(view, flat),
        id_="matters",
    )


def _summary(view: View, groups: Sequence[Sequence[Effect]]) -> str:
    """Which columns move the outcome, the strongest first, and which were not seen to."""
    quantity = view.charter.quantity
    clear = [group for group in groups if any(own.clear for own in group)]
    sizes = [f"{group[0].column} (by about {quantity.difference(three_digits(reach(group)))})" for group in clear]
    most = " most" * (len(sizes) > 1)
    text = f"The {quantity.noun} changes{most} with {listed(sizes)}." if sizes else ""
    rest = [group[0].column for group in groups if group not in clear]
    unclear = f" Not clear yet: whether it changes with {listed(rest)}." if rest else ""
    shown, model = {group[0].column for group in groups}, view.charter.problem.model
    many = [p.name for p in model.parts if isinstance(p, Factor) and len(p.levels) > LEVELS] if model else []
    hidden = [name for name in many if name not in shown]
    left_out = f" Left out, with more than {LEVELS} levels: {listed(hidden)}." if hidden else ""
    return f"{text}{unclear}{left_out}".strip()


def _bar(own: Effect) -> pictures.Bar:
    nan, inf = float("nan"), float("inf")
    value = nan if own.estimate is None else own.estimate
    low, high = (-inf if own.low is None else own.low), (inf if own.high is None else own.high)
    text = with_width(value, high - value).replace("-", "−")
    return pictures.Bar(_name(own), value, low, high, "leading" if own.clear else "eliminated", text)


def _name(own: Effect) -> str:
    return f"{own.column}: {own.what}"


def _table(view: View, flat: Sequence[Effect]) -> Html:
    quantity, notes = view.charter.quantity, any(own.note for own in flat)
    bars = [_bar(own) for own in flat]
    places = places_of([bar.high - bar.value for bar in bars])
    rows: list[tuple[Content, ...]] = []
    for own, bar in zip(flat, bars, strict=True):
        unit = "–" if own.per_unit is None else three_digits(own.per_unit).replace("-", "−")
        value, interval = number(bar.value, places), span(bar.low, bar.high, places)
        rows.append((own.column, own.what, value, interval, unit, *([own.note] if notes else [])))
    header = ("column", "change", quantity.difference_heading("effect"), "interval", "for each unit")
    kinds = "wwnnn" + "-" * notes
    return table((*header, *(["note"] if notes else [])), rows, kinds=kinds)
