"""Records: the lines of a journal, each chained to the one before it by a digest."""

from __future__ import annotations

import getpass
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from probewise.campaign.journal.bodies import BODIES, ENVELOPE, fault
from probewise.campaign.journal.storage import own_version
from probewise.cells import visible
from probewise.errors import InvalidCampaign, RepeatedRequest

FORM = 2
"""Version of the records that are written; records are never rewritten, so all versions up to it are read.

Form 2 says how often a round measures which probes, where form 1 lists the probe of each row."""

KINDS: dict[str, str] = {
    "created": "what is to be found, among which items, by which probes",
    "asked": "a round: which probes to measure, in which order",
    "recorded": "outcomes of rows that were asked for",
    "unplanned": "a round that the laboratory chose by itself, with its outcomes",
    "corrected": "another outcome of one row",
    "voided": "rows that do not count",
    "closed": "a round whose missing rows are not waited for",
    "stocked": "how often a probe can be measured in all",
    "decided": "the answer was declared",
    "withdrawn": "it was declared so no longer",
    "note": "a remark",
}
"""Kind of a record -> what it says."""

_ADVICE = "take the last back-up"
_START = "0" * 64
_TAIL = len(',"digest":""}') + 64


@dataclass(frozen=True)
class Request:
    """What a machine or a form asked for, under a key of its own: sent again, it counts once."""

    key: str
    """Chosen by whoever sends it."""
    digest: str
    """SHA-256 of what is asked for, so that a key which is used for something else is noticed."""


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
    """Time of the record in UTC, as ISO 8601."""
    author: str
    """Who wrote the record."""
    version: str
    """Version of the package that wrote it."""
    request: Request | None
    """What it answers, if that had a key."""
    digest: str
    """SHA-256 of the digest before and of the text of this record: equal only if all records up to here are."""
    line: str
    """The record as one line of JSON, as it is stored."""

    @classmethod
    def new(
        cls, kind: str, body: dict[str, Any], *, author: str, after: Record | None, request: Request | None = None
    ) -> Record:
        """The record that comes after another one, or the first."""
        if not isinstance(author, str):
            raise InvalidCampaign(f"an author is a name in text, got {author!r}; nothing was written.")
        seq = 1 if after is None else after.seq + 1
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        fields = {"seq": seq, "time": time, "author": author, "version": own_version(), "form": FORM}
        fields |= {} if request is None else {"request": vars(request)}
        try:
            text = json.dumps({**fields, "kind": kind, "body": body}, **_PLAIN)
            digest = _digest(text, _START if after is None else after.digest)
        except UnicodeEncodeError as error:
            bad = ascii(error.object[max(error.start - 10, 0) : error.end + 10])
            raise InvalidCampaign(f"{bad} holds bytes that are not UTF-8 text; nothing was written.") from None
        except ValueError as error:
            raise InvalidCampaign(
                f"a record holds text and finite numbers only ({error}); nothing was written."
            ) from None
        line = f'{text[:-1]},"digest":"{digest}"}}'
        return cls(*_checked(text, seq, "nothing was written"), digest, line)

    @classmethod
    def read(cls, line: str, *, after: Record | None) -> Record:
        """The record that a line holds; refused unless its digest fits itself and the record before it."""
        seq = 1 if after is None else after.seq + 1
        if not isinstance(line, str):  # a database keeps what it is given
            raise _fault(seq, f"it is stored as {type(line).__name__}, not as text")
        text = line[:-_TAIL] + "}"
        digest = _digest(text, _START if after is None else after.digest)
        if line[-_TAIL:] != f',"digest":"{digest}"}}':
            raise InvalidCampaign(
                f"record {seq} of the journal, or one before it, was changed after it was written: "
                "its digest does not fit; take the last back-up."
            )
        return cls(*_checked(text, seq, _ADVICE), digest, line)

    def repeated(self, request: Request) -> InvalidCampaign:
        """Why a request under the key of this record is not done."""
        if request != self.request:
            return InvalidCampaign(f"this key was used for another request, in record {self.seq}; choose a new one.")
        return RepeatedRequest(f"this was done before, as record {self.seq}; nothing was written.", self.seq)

    def fault(self, what: str) -> InvalidCampaign:
        """Why this record cannot be where it is."""
        return _fault(self.seq, what)


def _checked(text: str, seq: int, advice: str) -> tuple[int, str, dict[str, Any], str, str, str, Request | None]:
    """Number, kind, body, time, author, version, request; a forger can compute digests, so all is checked."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _fault(seq, f"it is not JSON ({error})", advice) from None
    if isinstance(data, dict) and isinstance(form := data.get("form"), int) and form > FORM:
        raise InvalidCampaign(
            f"record {seq} was written by probewise {data.get('version')} in form {form}, and this is "
            f"probewise {own_version()}, which reads forms up to {FORM}; install the newer version."
        )
    if wrong := fault(data, ENVELOPE):
        raise _fault(seq, wrong, advice)
    if data["seq"] != seq or data["kind"] not in KINDS:
        raise _fault(seq, f"it has seq {data['seq']} and kind {data['kind']!a:.40}", advice)
    if wrong := fault(data["body"], BODIES[data["kind"]]):
        raise _fault(seq, f"in '{data['kind']}', {wrong}", advice)
    if not _as_written(data, text):
        raise _fault(seq, "its text is not as probewise writes it", advice)
    request = Request(**data["request"]) if "request" in data else None
    return seq, data["kind"], data["body"], data["time"], data["author"], data["version"], request


def _as_written(data: dict[str, Any], text: str) -> bool:
    """Whether it is the one text of these data: no name twice, no half characters, no infinite numbers."""
    try:
        return json.dumps(data, **_PLAIN) == text
    except ValueError:
        return False


def _fault(seq: int, what: str, advice: str = _ADVICE) -> InvalidCampaign:
    return InvalidCampaign(f"record {seq} of the journal cannot be: {what}; {advice}.")


_PLAIN: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}


def _digest(text: str, before: str) -> str:
    return hashlib.sha256((before + text).encode()).hexdigest()


def user() -> str:
    """Who writes records, if nobody else is named."""
    try:
        return visible(getpass.getuser())  # a system may give bytes that are no text
    except (OSError, KeyError):
        return "unknown"
