"""Journals: records read from a storage and written to it so that none vanishes unnoticed."""

from __future__ import annotations

from collections.abc import Iterator

from probewise.campaign.journal.records import Record
from probewise.campaign.journal.storage import Storage, vanished
from probewise.errors import InvalidCampaign, StorageUnavailable


def unread(store: Storage, last: Record | None) -> Iterator[Record]:
    """The records after the last one that is known, which must still be where it was."""
    lines = store.read(0 if last is None else last.seq - 1)
    if last is not None:
        if not lines or lines[0] != last.line:
            raise InvalidCampaign(
                f"{store.name} no longer holds record {last.seq} as it was read before: it was set back, cut or "
                "replaced; nothing was written, so open it again, or take the last back-up."
            )
        lines = lines[1:]
    for line in lines:
        last = Record.read(line, after=last)
        yield last


def write(store: Storage, record: Record) -> None:
    """Append a record and read it back."""
    store.append(record.line, after=record.seq - 1)
    try:
        back = store.read(record.seq - 1)
    except StorageUnavailable:  # the next who reads is told; this record is stored
        return
    if not back or back[0] != record.line:
        raise vanished(store.name, record.seq)
