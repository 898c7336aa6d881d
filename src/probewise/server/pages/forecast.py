"""The forecast: what can be told apart, what looks odd, and what it will take, before anything is created."""

from __future__ import annotations

from typing import Any

from probewise.markup import Content, Html, paragraphs, table, tag
from probewise.numerals import number as shown
from probewise.numerals import plural
from probewise.server.pages.shell import alert, card


def forecast(checked: dict[str, Any]) -> Html:
    """What can be told apart, what looks odd, and what it will take."""
    sizes = f"{plural(checked['items'], 'item')} by {plural(checked['probes'], 'probe')}"
    facts = [
        tag("li", f"{checked['question']} {sizes}{checked['assurance']}."),
        tag("li", "Every comparison of two items can be made with these probes."),
        tag("li", f"Model: {checked['formula']} ({plural(checked['features'], 'feature')})."),
    ]
    header = ["if items differ by", "measurements", "80 % interval", "rounds", *(["cost"] if checked["costly"] else [])]
    rows = [
        (
            f"{row['gap']:g}",
            shown(row["measurements"]),
            "–" if row["low"] is None else f"{shown(row['low'])} to {shown(row['high'])}",
            "–" if row["rounds"] is None else row["rounds"],
            *([shown(round(row["cost"]))] if checked["costly"] else []),
        )
        for row in checked["forecasts"]
    ]
    unit = "" if checked["known"] else " Gaps are in units of the noise."
    note = f"If items differ by so much wherever it matters, and all comparisons are as hard as the hardest.{unit}"
    return card(
        "Checks",
        tag("ul", *facts, class_="plain"),
        *(alert(text, "warn") for text in checked["remarks"]),
        tag("h3", "What it may take"),
        table(header, rows, kinds="n" * len(header)) if rows else None,
        paragraphs(note, class_="note"),
        *_fewer(checked["fewer_rounds"]),
        class_="checked",
    )


def _fewer(rows: list[dict[str, Any]]) -> list[Content]:
    """What fewer rounds take."""
    if not rows:
        return []
    text = f"Fewer rounds take more measurements; if items differ by {rows[0]['gap']:g}:"
    cells = [(row["rounds"], shown(row["measurements"])) for row in rows]
    return [paragraphs(text), table(("rounds", "measurements"), cells, kinds="nn")]
