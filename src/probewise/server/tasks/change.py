"""Tasks that write: each gives the sentence of the campaign, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from probewise.campaign import Campaign, Memory, Record, Request, Told
from probewise.campaign.state.sheet import row_id
from probewise.errors import InvalidRows, RepeatedRequest
from probewise.server.tasks.desk import Desk, plain_object
from probewise.server.tasks.sheet import outcomes_table, sheet, sheet_of
from probewise.server.tasks.tables import checked_table

Key = list[str] | None
"""The key of a request and the digest of what it asks for, as JSON has them."""


def ask(
    desk: Desk,
    place: str,
    author: str,
    due: str | None = None,
    confirm: int | None = None,
    most: int = 10_000,
    request: Key = None,
) -> dict[str, Any]:
    """The rows to measure, of a new round if none is waiting."""

    def work(campaign: Campaign) -> dict[str, Any]:
        rows = campaign.ask(due=due, confirm=confirm, max_round=most)
        return sheet_of(campaign, rows)

    return _once(desk, place, author, request, work, lambda campaign, record: sheet(desk, place))


def tell(
    desk: Desk,
    place: str,
    author: str,
    rows: Any = None,
    cells: dict[str, dict[str, str]] | None = None,
    file: str | None = None,
    limits: dict[str, int] | None = None,
    off_plan: bool = False,
    again: bool = False,
    dry_run: bool = False,
    request: Key = None,
) -> dict[str, Any]:
    """Record outcomes: rows of JSON, cells of a grid, or a file."""

    def work(campaign: Campaign) -> dict[str, Any]:
        source = rows
        if cells is not None:
            source = outcomes_table(campaign.ledger.charter, cells)
        elif file is not None:
            source = checked_table(file, limits or {}, InvalidRows)
        told = campaign.tell(source, off_plan=off_plan, again=again, dry_run=dry_run)
        return plain_object(asdict(told)) | _after(campaign)

    return _once(desk, place, author, request, work, _told)


def correct(
    desk: Desk,
    place: str,
    author: str,
    measurement: str,
    outcome: Any,
    reason: str,
    spread: Any = None,
    request: Key = None,
) -> dict[str, Any]:
    """Give a row another outcome."""

    def work(campaign: Campaign) -> str:
        return campaign.correct(measurement, outcome, reason=reason, spread=spread)

    return _said(desk, place, author, request, work)


def void(
    desk: Desk, place: str, author: str, measurements: list[str], reason: str, request: Key = None
) -> dict[str, Any]:
    """Take rows out."""
    return _said(desk, place, author, request, lambda campaign: campaign.void(measurements, reason=reason))


def close(desk: Desk, place: str, author: str, reason: str, request: Key = None) -> dict[str, Any]:
    """Wait no longer for the rows that are missing."""
    return _said(desk, place, author, request, lambda campaign: campaign.close(reason=reason))


def restock(
    desk: Desk, place: str, author: str, probe: str, stock: int | None, reason: str, request: Key = None
) -> dict[str, Any]:
    """Say how often a probe can be measured in all."""

    def work(campaign: Campaign) -> str:
        campaign.restock(probe, stock, reason=reason)
        return f"'{probe}' can be measured {'without limit' if stock is None else f'{stock} times in all'}."

    return _said(desk, place, author, request, work)


def note(desk: Desk, place: str, author: str, text: str, request: Key = None) -> dict[str, Any]:
    """Put a remark into the journal."""

    def work(campaign: Campaign) -> str:
        campaign.note(text)
        return "Noted."

    return _said(desk, place, author, request, work)


def preview(desk: Desk, place: str, author: str, change: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a change would do, tried on a copy in memory."""

    def work(campaign: Campaign) -> dict[str, Any]:
        before, copy = campaign.status(), Memory()
        copy.lines = [record.line for record in campaign.records]
        tried = Desk()
        tried._open["copy"] = Campaign.open(copy)
        said = CHANGES[change](tried, "copy", author, **arguments)
        after = tried.campaign("copy").status()
        return {
            "said": said["sentence"],
            "before": before.sentence,
            "after": after.sentence,
            "risk": [before.risk, after.risk],
            "amendments": [before.amendments, after.amendments],
            "withdraws": before.answer is not None and after.answer != before.answer,
        }

    return desk.using(place, work)


def _said(desk: Desk, place: str, author: str, request: Key, work: Callable[[Campaign], str]) -> dict[str, Any]:
    def both(campaign: Campaign) -> dict[str, Any]:
        return {"sentence": work(campaign)} | _after(campaign)

    return _once(desk, place, author, request, both, lambda campaign, record: _after(campaign))


def _once(
    desk: Desk,
    place: str,
    author: str,
    request: Key,
    work: Callable[[Campaign], dict[str, Any]],
    known: Callable[[Campaign, Record], dict[str, Any]],
) -> dict[str, Any]:
    """What a change gives; of one that is on record under the same key, what is known of it."""

    def once(campaign: Campaign) -> dict[str, Any]:
        campaign.request = None if request is None else Request(*request)
        try:
            return work(campaign)
        except RepeatedRequest as error:
            said = {"sentence": f"This was done before, as record {error.seq}.", "replayed": True}
            return known(campaign, campaign.records[error.seq - 1]) | said
        finally:
            campaign.request = None

    return desk.using(place, once, author)


def _told(campaign: Campaign, record: Record) -> dict[str, Any]:
    """The rows of a record, as they were told."""
    own = record.body
    rows = own["rows"] if "rows" in own else [row_id(own["round"], at + 1) for at in range(len(own["probes"]))]
    return plain_object(asdict(Told(tuple(rows), (), (), (), 0, False, ""))) | _after(campaign)


def _after(campaign: Campaign) -> dict[str, Any]:
    """Where the journal stands after a change."""
    ledger = campaign.ledger
    names = campaign.problem.item_names
    declared = None if ledger.declared is None else [names[item] for item in ledger.declared]
    return {"record": ledger.last.seq, "digest": ledger.last.digest, "declared": declared}


CHANGES: dict[str, Callable[..., dict[str, Any]]] = {"correct": correct, "void": void, "close": close}
"""What can be tried first."""
