"""Tables: how journals lie in a database, whichever it is, and what is no journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from probewise.campaign.journal.storage import SCHEMA, check_schema
from probewise.errors import InvalidCampaign

VERSION, JOURNAL = "probewise_schema", "probewise_journal"
"""The table that names the schema in its one row, and that of all records."""

CREATE = (
    f"CREATE TABLE {VERSION} (version INTEGER NOT NULL)",
    f"CREATE TABLE {JOURNAL} (campaign TEXT NOT NULL, seq INTEGER NOT NULL, record TEXT NOT NULL, "
    "PRIMARY KEY (campaign, seq))",
)
"""Statements that create the tables."""

Run = Callable[[str], Any]
"""Executes a statement."""

MIGRATIONS: dict[int, Callable[[Run], object]] = {}
"""Schema -> what brings tables of that schema to the next one, inside one transaction."""


def schema_of(rows: Sequence[tuple[Any, ...]], name: str) -> int:
    """The schema that the one row of its table names."""
    if len(rows) != 1:
        raise InvalidCampaign(
            f"{name} is damaged: {len(rows)} rows of the table {VERSION} name a schema, and one must; "
            "take the last back-up."
        )
    return check_schema(rows[0][0], name)


def migrate(run: Run, found: int) -> None:
    """Bring tables of an older schema to this one."""
    for version in range(found, SCHEMA):
        MIGRATIONS[version](run)
    run(f"UPDATE {VERSION} SET version = {SCHEMA}")


def lines_of(rows: Iterable[tuple[Any, Any]], after: int, name: str) -> list[str]:
    """The records of rows (seq, record), which must be text and numbered without a gap."""
    lines: list[str] = []
    for seq, line in rows:
        wanted = after + len(lines) + 1
        if seq != wanted:
            raise InvalidCampaign(
                f"{name} is damaged: after record {wanted - 1} comes record {seq!r:.40}; take the last back-up."
            )
        if not isinstance(line, str):
            raise InvalidCampaign(
                f"{name} is damaged: record {seq} is not text but {type(line).__name__}; take the last back-up."
            )
        lines.append(line)
    return lines


def foreign(names: Iterable[str], place: str) -> InvalidCampaign:
    """What is said of a database that holds something else."""
    others = sorted(names)
    shown = ", ".join(f"'{own:.40}'" for own in others[:3]) + (f" and {len(others) - 3} more" if others[3:] else "")
    return InvalidCampaign(
        f"{place} is not a campaign: it is a database with other tables ({shown}), and nothing was written; "
        "choose another name, or a database of its own."
    )
