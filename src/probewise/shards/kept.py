"""What is kept of items in Parquet files, so that they can be found again and are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from probewise.errors import InvalidCampaign
from probewise.shards.engine import in_use
from probewise.shards.items import Shards
from probewise.shards.parquet import all_different, items_from_parquet

_AT_ONCE = 2**20
"""Bytes of a file that are looked at together."""
_opened: WeakValueDictionary[str, Shards] = WeakValueDictionary()
"""What is open in this process, by what is kept of it, when its files were last changed, and where items are."""


def to_json(shards: Shards) -> dict[str, Any]:
    """The files with their sizes and digests, the features, and the column of names, which must all be different."""
    origin = shards.origin
    if origin is None:
        raise InvalidCampaign(
            "a campaign must find its items again, and these are an array in memory or on a cluster; write them to "
            "Parquet files and take items_from_parquet."
        )
    all_different(origin)
    files = [{"path": str(path), "bytes": path.stat().st_size, "sha256": _digest(path)} for path in origin.files]
    kept = {"files": files, "columns": list(origin.columns), "names": origin.names, "rows": len(shards)}
    _opened[_key(kept, shards.engine.name)] = shards
    return kept


def from_json(kept: Mapping[str, Any]) -> Shards:
    """The items, if the files are there and unchanged: on the cluster that is in use, or in this process."""
    for file in kept["files"]:
        _check(file)
    engine = in_use()
    if (known := _opened.get(key := _key(kept, engine.name))) is not None:
        _opened[key] = stays = replace(known, stay=True)
        return stays
    for file in kept["files"]:
        if _digest(Path(file["path"])) != file["sha256"]:
            raise _other(file, "its contents have changed since")
    files = [file["path"] for file in kept["files"]]
    opened = items_from_parquet(files, columns=kept["columns"], names=kept["names"], scheduler=engine)
    shards = replace(opened, stay=True)
    _opened[key] = shards
    return shards


def _check(file: Mapping[str, Any]) -> None:
    path = Path(file["path"])
    if not path.is_file():
        raise InvalidCampaign(
            f"the items of this campaign are in {path}, and there is no such file; put it back where it was."
        )
    if (size := path.stat().st_size) != file["bytes"]:
        raise _other(file, f"it has {size:,} bytes, and had {file['bytes']:,}")


def _other(file: Mapping[str, Any], why: str) -> InvalidCampaign:
    return InvalidCampaign(
        f"{file['path']} is not the file of items that this campaign was begun with: {why}; put that one back, or "
        "begin a new campaign with this one."
    )


def _key(kept: Mapping[str, Any], engine: str) -> str:
    """What is kept, when the files were last changed, and where their items are."""
    return repr((kept, [Path(file["path"]).stat().st_mtime_ns for file in kept["files"]], engine))


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while some := file.read(_AT_ONCE):
            found.update(some)
    return found.hexdigest()
