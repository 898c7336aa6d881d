"""Back-ups: a journal copied while others write to it, whole and checked before it gets its name."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from probewise.campaign.journal.chain import unread
from probewise.campaign.journal.places import storage_at
from probewise.campaign.journal.records import Record
from probewise.campaign.journal.storage import Storage
from probewise.errors import InvalidCampaign, StorageUnavailable


def backup(path: str | Path | Storage, to: str | Path) -> Record:
    """Copy all records into a new file (JSON lines if it ends with .jsonl, else SQLite); the last one is given back.

    The copy is read again and compared before it gets its name. A file that is there is never overwritten.
    """
    source, target = storage_at(path), Path(to)
    if "://" in str(to):
        raise InvalidCampaign("a back-up is a file, and this is a URL of a database; give the name of a new file.")
    if not target.parent.is_dir():
        raise InvalidCampaign(f"there is no folder {target.parent} for the back-up {target.name}; make it first.")
    _check_free(target)
    records = [*unread(source, None)]
    if not records:
        raise InvalidCampaign(f"there is no campaign in {source.name}; check the name.")
    draft = target.with_name(f".{secrets.token_hex(4)}-{target.name}")
    try:
        storage_at(draft).begin(record.line for record in records)
        if [*unread(storage_at(draft), None)] != records:
            raise InvalidCampaign(f"the back-up {target} is not what was written; check the disk, and try another one.")
        _name(draft, target)
    except OSError as error:
        if isinstance(error, StorageUnavailable):
            raise StorageUnavailable(str(error).replace(str(draft), str(target))) from None
        raise StorageUnavailable(f"{target} cannot be written ({error.strerror}); check the folder.") from None
    finally:
        draft.unlink(missing_ok=True)
    return records[-1]


def _check_free(target: Path) -> None:
    if os.path.lexists(target):
        raise InvalidCampaign(f"{target} is there already and is never overwritten; choose another name.")


def _name(draft: Path, target: Path) -> None:
    """Give the copy its name, which must still be free, and make the name last."""
    try:
        os.link(draft, target)
    except FileExistsError:
        _check_free(target)
        raise
    except OSError:  # a disk without links
        _check_free(target)
        draft.rename(target)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
