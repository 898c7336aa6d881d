"""News: what a change of the records did to the answer, in sentences."""

from __future__ import annotations

from typing import NamedTuple

from probewise.campaign.journal.records import Record
from probewise.campaign.state.ledger import Ledger
from probewise.tables import named


class Stand(NamedTuple):
    """Who is declared, and who may be the best."""

    declared: int | None
    """The item declared the best."""
    left: frozenset[int]
    """Items that may be the best."""


def news(before: Stand, now: Stand, ledger: Ledger, *, certified: bool) -> list[str]:
    """What changed, in sentences."""
    goal, names, out = ledger.charter.goal, ledger.charter.problem.item_names, []
    if before.declared not in (None, now.declared):
        out.append(f"'{names[before.declared]}' is no longer declared the best.")
    if back := sorted(now.left - before.left):
        out.append(f"Back among the items that may be the best: {named(names[item] for item in back)}.")
    if now.declared not in (None, before.declared):
        what = "the best" if len(now.left) == 1 else f"within {goal.epsilon:g} of the best"
        sure = f"is {what}, with confidence {1 - ledger.risk:.4g}."
        out.append(
            f"'{names[now.declared]}' {sure if certified else 'came out first, but is not certified: see status.'}"
        )
    return out


def what_changed(records: list[Record], ledger: Ledger) -> str:
    """Why the answer is another one than was declared."""
    since = [r for r in records if ledger.declaration is not None and r.seq > ledger.declaration.seq]
    changes = [r for r in since if r.kind in ("recorded", "corrected", "voided", "closed", "unplanned")]
    if not changes:
        return "another version of probewise replays the same records to another answer"
    body = changes[-1].body
    rows = [body["row"]] if "row" in body else body.get("rows", [f"round {body.get('round')}"])
    more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    return f"{', '.join(rows[:3])}{more} {changes[-1].kind}" + (f" ({body['reason']})" if "reason" in body else "")
