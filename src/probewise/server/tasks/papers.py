"""Tasks that make files: the report, the sheet, copies of the journal; and the check of a journal."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from probewise.campaign import Campaign, backup, verify
from probewise.campaign.exchange.rows import open_rows
from probewise.errors import InvalidRows
from probewise.server.tasks.desk import Desk, plain_object


def report(desk: Desk, place: str, out: str) -> dict[str, Any]:
    """Write the report."""

    def work(campaign: Campaign) -> dict[str, Any]:
        campaign.report(out)
        return {"record": campaign.ledger.last.seq}

    return desk.using(place, work)


def sheet_file(desk: Desk, place: str, out: str) -> dict[str, Any]:
    """Write the rows that wait, as CSV or as a spreadsheet."""

    def work(campaign: Campaign) -> dict[str, Any]:
        ledger = campaign.ledger
        if ledger.waiting is None:
            raise InvalidRows("no round is waiting for outcomes; ask for the next one first.")
        rows = open_rows(ledger.charter, ledger.waiting)
        if Path(out).suffix == ".xlsx":
            rows.write_xlsx(out)
        else:
            rows.write_csv(out)
        return {"round": ledger.waiting.number}

    return desk.using(place, work)


def copy(desk: Desk, place: str, out: str) -> dict[str, Any]:
    """Copy the journal, checked; JSON lines or SQLite, by how the name ends, or all rows as CSV."""
    if Path(out).suffix == ".csv":
        desk.using(place, lambda campaign: campaign.export(out))
        return {}
    last = backup(place, out)
    return {"record": last.seq, "digest": last.digest}


def check(desk: Desk, place: str, digest: str | None = None) -> dict[str, Any]:
    """Read the whole chain, replay it, and look for a digest that was kept."""
    found = verify(place, digest)
    return plain_object(asdict(found) | {"sound": found.sound, "sentence": found.sentence})
