"""Tasks that look: where campaigns stand, their records and rows, and the part of the page that all see alike."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from probewise.campaign import Campaign
from probewise.campaign.report.chronicle import TOLD
from probewise.campaign.report.evidence import adequacy, evidence
from probewise.campaign.report.matters import matters
from probewise.campaign.report.sections import decision, headline, ranking
from probewise.campaign.report.view import View
from probewise.campaign.state.sheet import OPEN, RECORDED, place_of, row_id
from probewise.errors import InvalidRows
from probewise.markup import joined
from probewise.server.tasks.desk import Desk, plain_object


def heads(desk: Desk, url: str) -> dict[str, int]:
    """Every campaign of a database -> the number of its records."""
    from probewise.campaign.journal.postgresql import heads as found

    return found(url)


def summary(desk: Desk, place: str) -> dict[str, Any]:
    """What the list of campaigns says of one."""

    def work(campaign: Campaign) -> dict[str, Any]:
        now, view = campaign.status(), campaign.records
        own = (
            "item",
            "leader",
            "progress",
            "way",
            "measurements",
            "rounds",
            "waiting",
            "waiting_round",
            "due",
            "sentence",
        )
        found = {name: getattr(now, name) for name in own}
        return plain_object(
            found
            | {
                "answer": now.answer,
                "items": len(now.items) + now.unseen,
                "warnings": len(now.warnings),
                "confidence": now.confidence,
                "record": view[-1].seq,
                "digest": now.digest,
                "last": view[-1].time,
                "by": view[-1].author,
            }
        )

    return desk.using(place, work)


def status(desk: Desk, place: str) -> dict[str, Any]:
    """All of where a campaign stands."""

    def work(campaign: Campaign) -> dict[str, Any]:
        model = campaign.problem.model
        said = {
            "model": None if model is None else model.formula,
            "roles": [] if model is None else [asdict(role) for role in model.roles],
        }
        return plain_object(campaign.status().to_json() | said | {"record": campaign.ledger.last.seq})

    return desk.using(place, work)


def overview(desk: Desk, place: str, title: str) -> dict[str, Any]:
    """The decision, the ranking and the evidence as HTML, from the parts of the report."""

    def work(campaign: Campaign) -> dict[str, Any]:
        view = replace(campaign.view(), name=title)
        effects = matters(view)
        parts = [ranking(view), *([] if effects is None else [effects]), evidence(view), adequacy(view)]
        return {
            "title": headline(view),
            "decision": decision(view).text,
            "parts": joined(parts).text,
            "effects": effects is not None,
            "record": view.ledger.last.seq,
            "waiting": view.status.waiting,
            "round": view.status.waiting_round,
            "due": view.status.due,
            "decided": view.declared,
            "last": _last(view),
        }

    return desk.using(place, work)


def _last(view: View) -> str:
    record = view.ledger.last
    return f"{record.kind} by {record.author}, {record.time[:16].replace('T', ' ')} UTC"


def records(desk: Desk, place: str, after: int = 0, most: int = 1000) -> dict[str, Any]:
    """The lines of a journal after a record, as they are stored, and how many there are in all."""

    def work(campaign: Campaign) -> dict[str, Any]:
        known = campaign.records
        return {"records": [record.line for record in known[after : after + most]], "count": len(known)}

    return desk.using(place, work)


def history(desk: Desk, place: str, before: int | None = None, most: int = 50) -> dict[str, Any]:
    """Records in words, the last first."""

    def work(campaign: Campaign) -> dict[str, Any]:
        known = campaign.records
        end = len(known) if before is None else max(0, min(before - 1, len(known)))
        shown = known[max(0, end - most) : end]
        rows = [
            {
                "seq": record.seq,
                "time": record.time[:19].replace("T", " "),
                "author": record.author,
                "kind": record.kind,
                "text": TOLD[record.kind](record.body),
                "digest": record.digest[:10],
            }
            for record in reversed(shown)
        ]
        return {"records": rows, "count": len(known), "rounds": len(campaign.ledger.sheets)}

    return desk.using(place, work)


def rows(desk: Desk, place: str, round_: int, start: int = 0, most: int = 200) -> dict[str, Any]:
    """The rows of one round, with their states and outcomes."""

    def work(campaign: Campaign) -> dict[str, Any]:
        ledger = campaign.ledger
        if not 1 <= round_ <= len(ledger.sheets):
            raise InvalidRows(f"there is no round {round_}; the last one is {len(ledger.sheets)}.")
        sheet, names = ledger.sheet(round_), ledger.charter.problem.probe_names
        shown = range(start, min(start + most, sheet.size))
        out = [
            {
                "measurement": row_id(round_, at + 1),
                "probe": names[sheet.probes[at]],
                "outcome": sheet.outcomes[at] if sheet.states[at] == RECORDED else None,
                "state": _state(int(sheet.states[at]), closed=sheet.closed is not None),
                "together": len(ledger.together((round_, at + 1))),
                "past": ledger.past.get((round_, at + 1), ()),
                "reason": ledger.reasons.get((round_, at + 1), ""),
            }
            for at in shown
        ]
        left = int(np.count_nonzero(sheet.states == OPEN))
        return plain_object(
            {
                "rows": out,
                "size": sheet.size,
                "left": left,
                "round": round_,
                "rounds": len(ledger.sheets),
                "planned": sheet.planned,
                "complete": sheet.complete,
                "closed": sheet.closed,
                "heading": ledger.charter.quantity.heading,
                "spread": ledger.charter.told[-1] if ledger.charter.told[-1] in ("sd", "se", "exposure") else None,
            }
        )

    return desk.using(place, work)


def _state(state: int, *, closed: bool) -> str:
    if state == OPEN:
        return "missing" if closed else "open"
    return "recorded" if state == RECORDED else "voided"


def row(desk: Desk, place: str, measurement: str) -> dict[str, Any]:
    """One row of a campaign."""
    found = place_of(measurement)
    if found is None:
        raise InvalidRows(f"there is no row '{measurement:.40}'; ids are like r1-4.")
    whole = rows(desk, place, found[0], found[1] - 1, 1)
    if not whole["rows"]:
        raise InvalidRows(f"there is no row '{measurement:.40}'; round {found[0]} has {whole['size']} rows.")
    own: dict[str, Any] = whole["rows"][0]
    named = {name: whole[name] for name in ("heading", "spread", "complete")}
    return own | named | {"round": found[0]}


def probes(desk: Desk, place: str) -> dict[str, Any]:
    """Every probe with its stock and how often it was measured."""

    def work(campaign: Campaign) -> dict[str, Any]:
        ledger = campaign.ledger
        counts = ledger.measured.count.tolist()
        found = zip(ledger.problem.probe_names, ledger.problem.stock.tolist(), counts, strict=True)
        return plain_object(
            {"probes": [{"name": name, "stock": stock, "measured": count} for name, stock, count in found]}
        )

    return desk.using(place, work)
