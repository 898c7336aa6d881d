"""Chronicles: every record of a campaign in words, its fingerprints, and the script that replays it."""

from __future__ import annotations

import platform
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from probewise.campaign.journal.records import Record
from probewise.campaign.journal.storage import own_version
from probewise.campaign.report.view import View
from probewise.campaign.state.ledger import declared_names
from probewise.markup import Content, Html, facts, folded, paragraphs, section, table, tag
from probewise.numerals import listed
from probewise.quantity import Quantity

SHOWN = 4
"""Rows of a record that are written out."""
FIRST, LAST = 50, 250
"""Records that are shown of a long journal."""


def journal(view: View) -> Html:
    """Every record, folded away on the screen."""
    records, kinds = view.records, Counter(record.kind for record in view.records)
    what = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    left = len(records) - FIRST - LAST
    shown = records if left <= 0 else (*records[:FIRST], *records[-LAST:])
    rows = [_row(record) for record in shown]
    if left > 0:
        rows.insert(FIRST, ("…", "", "", "", f"{left:,} more records; export the journal to read them", ""))
    return section(
        "Journal",
        paragraphs(
            f"Everything that happened stands in {len(records):,} records ({what}). None of them can be changed "
            "without a trace: each carries the fingerprint of all before it.",
        ),
        folded(
            f"All {len(records):,} records" if left <= 0 else f"The first {FIRST} and the last {LAST} records",
            table(("#", "time (UTC)", "by", "kind", "what", "fingerprint"), rows, kinds="ntwtwt"),
        ),
        paragraphs(
            "Rows are shortened here; campaign.export writes all of them, or the journal itself.", class_="note"
        ),
        id_="journal",
        class_="page",
    )


def _row(record: Record) -> tuple[Content, ...]:
    time = record.time[:19].replace("T", " ")
    mark = tag("code", record.digest[:10])
    return record.seq, time, record.author, record.kind, TOLD[record.kind](record.body), mark


def _few(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - SHOWN:,} more" if len(texts) > SHOWN else ""
    return ", ".join(texts[:SHOWN]) + more


def _created(body: dict[str, Any]) -> str:
    problem, goal, own = body["problem"], body["goal"], body["algorithm"]["name"]
    items = len(problem["items"]) if "items" in problem else problem["parquet"]["rows"]
    sizes = f"{items:,} items, {len(problem['probes']):,} probes, {len(problem['feature_names']):,} features"
    if "parquet" in problem:
        sizes += f"; items in {_few([Path(file['path']).name for file in problem['parquet']['files']])}"
    settings = {name: value for name, value in goal.get("settings", goal).items() if value is not False}
    given = "; ".join(name if value is True else f"{name} {value}" for name, value in settings.items())
    measured = f"{Quantity(**body['quantity']).heading}; " if "quantity" in body else ""
    return f"{sizes}; {measured}goal {goal.get('name', 'best')}, {given}; {own}, seed {body['seed']}"


def _round(body: dict[str, Any]) -> str:
    rows, probes = sum(body.get("counts", ())) or len(body["probes"]), len(set(body["probes"]))
    aim = ", to confirm the answer" if "confirms" in body else ""
    return f"round {body['round']}: {rows:,} rows on {probes:,} probes{aim}"


def _recorded(body: dict[str, Any]) -> str:
    pairs = [f"{row} = {outcome:.6g}" for row, outcome in zip(body["rows"], body["outcomes"], strict=True)]
    return _few(pairs)


TOLD: dict[str, Callable[[dict[str, Any]], str]] = {
    "created": _created,
    "asked": _round,
    "recorded": _recorded,
    "unplanned": lambda body: f"{_round(body)}, the laboratory's own",
    "corrected": lambda body: f"{body['row']} = {body['outcome']:.6g}: {body['reason']}",
    "voided": lambda body: f"{_few(body['rows'])}: {body['reason']}",
    "closed": lambda body: f"round {body['round']}: {body['reason']}",
    "stocked": lambda body: (
        f"{body['probe']}: {'without limit' if body['stock'] is None else body['stock']}: {body['reason']}"
    ),
    "decided": lambda body: f"{listed(declared_names(body)) or 'no item'}, after round {body['round']}",
    "withdrawn": lambda body: f"{listed(declared_names(body)) or 'no item'}: {body['reason']}",
    "note": lambda body: str(body["text"]),
}
"""Kind of a record -> its body in words."""


def replaying(view: View) -> Html:
    """Fingerprints, versions, seed and the script."""
    charter, last = view.charter, view.ledger.last
    writers = ", ".join(dict.fromkeys(record.version for record in view.records))
    pairs: list[tuple[str, Content]] = [
        ("campaign", view.name),
        ("fingerprint of all records (SHA-256)", tag("code", last.digest)),
        ("last record", f"{last.seq}, {last.time[:19].replace('T', ' ')} UTC"),
        ("algorithm", repr(charter.algorithm)),
        ("seed", tag("code", str(charter.seed))),
        ("records written by", f"probewise {writers}"),
        ("report written by", f"probewise {own_version()}, Python {platform.python_version()}, {_libraries()}"),
    ]
    return section(
        "Replay",
        paragraphs(
            "The decision is a function of the records. This script reads them, checks their fingerprints, tells the "
            "algorithm every round again and compares the answer.",
            f"Keep the fingerprint: probewise verify {shlex.quote(view.name)} --digest {last.digest[:16]}… tells later "
            "whether a record up to here is missing or was changed.",
        ),
        facts(pairs),
        tag("pre", tag("code", script(view)), tabindex="0"),  # it scrolls on a phone, by the keys too
        id_="replay",
        class_="page",
    )


def _libraries() -> str:
    return ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))


def script(view: View) -> str:
    """A program that replays the campaign from its file, or from an exported journal, up to the last record of now."""
    answer, names = view.trail.answer, view.charter.problem.item_names
    expected = None if answer is None else [names[item] for item in answer]
    return f'''"""Replay a campaign: python replay.py PATH, of its file or of its exported journal."""
import sys

from probewise.campaign import Campaign, Ledger, replay

path = sys.argv[1] if len(sys.argv) > 1 else {view.name!r}
first, *rest = Campaign.open(path).records[:{view.ledger.last.seq}]
ledger = Ledger.start(first)
for record in rest:
    ledger = ledger.after(record)
assert ledger.last.digest == "{view.ledger.last.digest}", "other records"

trail = replay(ledger)  # tells the algorithm every round
names = ledger.charter.problem.item_names
answer = None if trail.answer is None else [names[item] for item in trail.answer]
print(f"{{len(trail.sheets)}} rounds, {{ledger.measured.n}} measurements:", *(answer or ["no answer"]))
assert answer == {expected!r}, "another answer"
'''
