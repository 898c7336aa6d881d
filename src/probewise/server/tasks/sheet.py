"""Sheets as JSON: the rows to measure, and each cell that somebody typed, checked."""

from __future__ import annotations

from typing import Any

from probewise.campaign import Campaign, Rows
from probewise.campaign.exchange.rows import OWN, no_rows, open_rows
from probewise.campaign.exchange.told import recorded
from probewise.campaign.state.charter import Charter
from probewise.errors import InvalidRows
from probewise.numerals import listed
from probewise.server.tasks.desk import Desk, plain_object
from probewise.tables import Table

GRID = 400
"""Rows that one page can hold; more are told by file."""


def sheet(desk: Desk, place: str, most: int = 10_000) -> dict[str, Any]:
    """The rows that wait for an outcome; nothing is asked for."""

    def work(campaign: Campaign) -> dict[str, Any]:
        ledger = campaign.ledger
        if ledger.waiting is None:
            return sheet_of(campaign, no_rows(ledger.charter, campaign.status().sentence), most)
        return sheet_of(campaign, open_rows(ledger.charter, ledger.waiting), most)

    return desk.using(place, work)


def sheet_of(campaign: Campaign, rows: Rows, most: int = 10_000) -> dict[str, Any]:
    """Rows as JSON, with all that a form needs to know."""
    ledger = campaign.ledger
    charter, waiting = ledger.charter, rows.sheet
    columns = list(rows.columns)
    cells = [list(row.values()) for row, _ in zip(rows, range(most), strict=False)]
    low, high = charter.outcome_range
    names = campaign.problem.item_names
    declared = None if ledger.declared is None else [names[item] for item in ledger.declared]
    return plain_object(
        {
            "sentence": rows.sentence,
            "round": None if waiting is None else waiting.number,
            "due": None if waiting is None else waiting.due,
            "left": len(rows),
            "size": 0 if waiting is None else waiting.size,
            "columns": columns,
            "own": len(OWN),
            "rows": cells,
            "told": list(charter.told),
            "fill": charter.told[1] if charter.aggregated else "outcome",
            "heading": charter.told[1] if charter.aggregated else charter.quantity.heading,
            "decimal": charter.dialect.decimal,
            "range": [low, high],
            "declared": None if declared is None else listed(declared) or "no item",
            "confirms": charter.algorithm.takes_any_rounds,
            "record": ledger.last.seq,
        }
    )


def outcomes_table(charter: Charter, cells: dict[str, dict[str, str]]) -> Table:
    """What was typed into a grid, id by id, as a table that is written like the campaign's own."""
    names = charter.told
    columns = [[str(row.get(name, "")) for row in cells.values()] for name in names]
    return Table("the sheet", ("measurement", *names), (list(cells), *columns), dialect=charter.dialect)


def faults(desk: Desk, place: str, cells: dict[str, dict[str, str]]) -> dict[str, str]:
    """Id -> what is wrong with what was typed there."""

    def work(campaign: Campaign) -> dict[str, str]:
        ledger, out = campaign.ledger, {}
        for own, row in cells.items():
            try:
                recorded(outcomes_table(ledger.charter, {own: row}), ledger, True)
            except InvalidRows as error:
                out[own] = _short(str(error))
        return out

    return desk.using(place, work)


def _short(sentence: str) -> str:
    """What is wrong with a cell, without where it is and what became of it."""
    text = sentence.partition("': ")[2] or sentence
    text = text.removesuffix("; nothing was recorded.").rstrip(".")
    return text[:1].upper() + text[1:] + "."
