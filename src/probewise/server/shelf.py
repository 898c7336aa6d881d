"""The shelf: which campaigns there are, in a folder or a database, and whether one has changed."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import time
from pathlib import Path
from typing import Protocol

from probewise.errors import InvalidCampaign, InvalidServer
from probewise.server.workers import Workers

ENDINGS = (".campaign", ".jsonl")
"""How the names of files that are campaigns end."""
NAME = re.compile(r"[^\W_][\w .,+=-]{0,99}")
"""What a new campaign may be called."""
_LISTED = re.compile(r"[^\x00-\x1f\x7f/\\#?%@.][^\x00-\x1f\x7f/\\#?%@]{0,199}")
_OFTEN = 0.5
"""Seconds for which what a database said is believed."""


def check_name(name: str) -> str:
    """The name of a new campaign, or a sentence that says why it cannot be one."""
    if not NAME.fullmatch(name) or name != name.strip() or ".." in name or name.endswith("."):
        raise InvalidCampaign(
            "the name of a campaign begins with a letter or digit, then has letters, digits, blanks or . , + = _ - (up "
            f"to 100), got '{name:.60}'."
        )
    return name


class Shelf(Protocol):
    """Where campaigns stand."""

    async def signs(self) -> dict[str, str]:
        """Every campaign -> a text that changes with it."""

    async def sign(self, name: str) -> str | None:
        """The text that changes with one campaign; None if there is no such campaign."""

    def place(self, name: str) -> str:
        """What opens a campaign that is there, or will be."""

    def new(self, name: str) -> str:
        """What a new campaign of that name is called."""


class Folder:
    """The files of one folder; nothing in folders below it, and nothing elsewhere."""

    def __init__(self, path: Path, most: int) -> None:
        if not path.is_dir():
            raise InvalidServer(f"there is no folder {path}; make it first, or check the name.")
        self._path = path.resolve()
        self._most = most

    async def signs(self) -> dict[str, str]:
        """Every campaign -> what its file says of itself."""
        found: dict[str, str] = {}
        with os.scandir(self._path) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(ENDINGS))
        for name in names[: self._most]:
            if (sign := await self.sign(name)) is not None:
                found[name] = sign
        return found

    async def sign(self, name: str) -> str | None:
        """Size, time and, of SQLite, the counter of changes and that of records."""
        if not name.endswith(ENDINGS) or not _LISTED.fullmatch(name):
            return None
        try:
            handle = os.open(
                self._path / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            )
        except OSError:
            return None
        try:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or not about.st_size:
                return None
            head = os.read(handle, 100) if name.endswith(ENDINGS[0]) else b""
        finally:
            os.close(handle)
        counters = head[24:28].hex() + head[60:64].hex()
        return f"{about.st_ino}-{about.st_size}-{about.st_mtime_ns}-{counters}"

    def place(self, name: str) -> str:
        """The path of a file in the folder."""
        assert _LISTED.fullmatch(name)
        return str(self._path / name)

    def new(self, name: str) -> str:
        """The name of a new file."""
        return check_name(name.removesuffix(ENDINGS[0])) + ENDINGS[0]


class Database:
    """The campaigns of one database."""

    def __init__(self, url: str, workers: Workers, most: int) -> None:
        self._url = url.partition("#")[0]
        self._workers = workers
        self._known: tuple[float, dict[str, str]] = (-1.0, {})
        self._alone = asyncio.Lock()
        self._most = most

    async def signs(self) -> dict[str, str]:
        """Every campaign -> the number of its records, not older than half a second."""
        async with self._alone:  # many who ask at once ask once
            if time.monotonic() - self._known[0] > _OFTEN:
                began = time.monotonic()
                heads = await self._workers.do("head", "heads", url=self._url)
                named = [(name, f"{count}") for name, count in heads.items() if _LISTED.fullmatch(name)]
                self._known = (began, dict(named[: self._most]))
            return self._known[1]

    async def sign(self, name: str) -> str | None:
        """The number of records of one campaign."""
        return (await self.signs()).get(name)

    def changed(self) -> None:
        """Something was written: what is known is old."""
        self._known = (-1.0, self._known[1])

    def place(self, name: str) -> str:
        """The URL of a campaign."""
        assert _LISTED.fullmatch(name)
        return f"{self._url}#{name}"

    def new(self, name: str) -> str:
        """The name of a new campaign."""
        return check_name(name)
