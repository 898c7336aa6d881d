"""Records: the lines of a journal, each chained to the one before it by a digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from probewise.campaign.storage import VERSION
from probewise.errors import InvalidCampaign

FORM = 1
"""Version of the records that are written; records are never rewritten, so all versions up to it are read."""

KINDS: dict[str, str] = {
    "created": "what is to be found, among which items, by which probes",
    "asked": "a round: which probes to measure, in which order",
    "recorded": "outcomes of rows that were asked for",
    "unplanned": "a round that the laboratory chose by itself, with its outcomes",
    "corrected": "another outcome of one row",
    "voided": "rows that do not count",
    "closed": "a round whose missing rows are not waited for",
    "stocked": "how often a probe can be measured in all",
    "decided": "an item was declared the best",
    "withdrawn": "it was declared so no longer",
    "note": "a remark",
}
"""Kind of a record -> what it says."""

_START = "0" * 64
_TAIL = len(',"digest":""}') + 64


@dataclass(frozen=True)
class Record:
    """One thing that happened, by whom, when, and under which version of the package."""

    seq: int
    """Its number, from 1."""
    kind: str
    """One of KINDS."""
    body: dict[str, Any]
    """What happened, as JSON."""
    time: str
    """UTC, as ISO 8601."""
    author: str
    """Who."""
    version: str
    """Version of the package."""
    digest: str
    """SHA-256 of the digest before and of the text of this record: equal only if all records up to here are."""
    line: str
    """The record as one line of JSON, as it is stored."""

    @classmethod
    def new(cls, kind: str, body: dict[str, Any], *, author: str, after: Record | None) -> Record:
        """The record that comes after another one, or the first."""
        if not isinstance(author, str):
            raise InvalidCampaign(f"an author is a name in text, got {author!r}; nothing was written.")
        seq = 1 if after is None else after.seq + 1
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        fields = {"seq": seq, "time": time, "author": author, "version": VERSION, "form": FORM}
        text = json.dumps({**fields, "kind": kind, "body": body}, **_PLAIN)
        try:
            digest = _digest(text, _START if after is None else after.digest)
        except UnicodeEncodeError as error:
            bad = ascii(error.object[max(error.start - 10, 0) : error.end + 10])
            raise InvalidCampaign(f"{bad} holds bytes that are no UTF-8 text; nothing was written.") from None
        return cls(seq, kind, body, time, author, VERSION, digest, f'{text[:-1]},"digest":"{digest}"}}')

    @classmethod
    def read(cls, line: str, *, after: Record | None) -> Record:
        """The record that a line holds; refused unless its digest fits itself and the record before it."""
        seq = 1 if after is None else after.seq + 1
        text = line[:-_TAIL] + "}"
        digest = _digest(text, _START if after is None else after.digest)
        if line[-_TAIL:] != f',"digest":"{digest}"}}':
            raise InvalidCampaign(
                f"record {seq} of the journal, or one before it, was changed after it was written: "
                "its digest does not fit; take the last back-up."
            )
        data = json.loads(text)
        if data["form"] > FORM:
            raise InvalidCampaign(
                f"record {seq} was written by probewise {data['version']} in form {data['form']}, and this is "
                f"probewise {VERSION}, which reads forms up to {FORM}; install the newer version."
            )
        if data["seq"] != seq or data["kind"] not in KINDS:
            raise InvalidCampaign(f"record {seq} of the journal cannot be: seq {data['seq']}, kind '{data['kind']}'.")
        return cls(seq, data["kind"], data["body"], data["time"], data["author"], data["version"], digest, line)


_PLAIN: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}


def _digest(text: str, before: str) -> str:
    return hashlib.sha256((before + text).encode()).hexdigest()
