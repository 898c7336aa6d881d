"""News: what a change of the records did to the answer, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from probewise.algorithms.base import Standing
from probewise.campaign.findings.words import Words
from probewise.campaign.journal.records import Record
from probewise.campaign.state.ledger import Ledger, declaration
from probewise.campaign.state.replay import Trail
from probewise.goals import Answer
from probewise.numerals import listed
from probewise.tables import named


class Stand(NamedTuple):
    """Which items are declared, and which may be."""

    declared: Answer | None
    """The items declared to be the answer."""
    left: frozenset[int]
    """Items that may be in it; none of items that stay where they are."""
    exact: bool = True
    """Whether what is declared holds without the tolerance."""

    @classmethod
    def of(cls, declared: Answer | None, standing: Standing, *, listed: bool) -> Stand:
        """From where the algorithm stands; all items that are left are ``listed``, or few of them."""
        exact = standing.exact and standing.remaining.size + standing.unlisted == len(declared or ())
        return cls(declared, frozenset(standing.remaining.tolist() if listed else ()), exact)


def news(before: Stand, now: Stand, ledger: Ledger, *, certified: bool) -> list[str]:
    """What changed, in sentences."""
    names, out = ledger.charter.problem.item_names, []
    words = Words(ledger.charter.goal, ledger.charter.quantity)
    if before.declared is not None and before.declared != now.declared:
        gone = [f"'{names[item]}'" for item in before.declared]
        out.append(f"{listed(gone) or 'No item'} {_are(gone)} no longer declared {words.predicate}.")
    if back := sorted(now.left - before.left):
        out.append(f"Back among the items that may be {words.predicate}: {named(names[item] for item in back)}.")
    if now.declared is not None and before.declared != now.declared:
        found = [f"'{names[item]}'" for item in now.declared]
        share = words.goal.promise == "share"
        surely = words.goal.assurance(ledger.risk) if share else f", with confidence {1 - ledger.risk:.4g}"
        sure = f"{words.claim(found, exact=now.exact)}{surely}."
        out.append(
            sure if certified else f"{listed(found)} came out first, but {_are(found)} not certified: see status."
        )
    return out


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) <= 1 else "are"


def settled(ledger: Ledger, trail: Trail, records: list[Record]) -> tuple[str, dict[str, Any]] | None:
    """The record that declares the answer to which the records lead, or withdraws one to which they no longer do."""
    if trail.answer == ledger.declared:
        return None
    names = ledger.charter.problem.item_names
    if ledger.declared is None:
        found = declaration([names[item] for item in trail.answer or ()])
        return "decided", found | {"round": trail.sheets[-1].number if trail.sheets else 0}
    gone = declaration([names[item] for item in ledger.declared])
    return "withdrawn", gone | {"reason": what_changed(records, ledger)}


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
