"""Files: new ones appear when they are whole, and are their owner's only."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from probewise.errors import InvalidTable

MODE = "PROBEWISE_MODE"
"""Variable with the rights of new files, in octal as 640; without it, only their owner may read them."""


def new_mode() -> int:
    """Rights of new files."""
    given = os.environ.get(MODE, "600")
    if len(given) not in (3, 4) or not set(given) <= set("01234567") or not int(given, 8) & stat.S_IWUSR:
        raise InvalidTable(f"{MODE} must be rights of a file that its owner can write, as 640, got '{given}'.")
    return int(given, 8)


@contextmanager
def new_file(path: str | Path) -> Iterator[IO[str]]:
    """A text file that is written beside its place and put there when it is whole; a failure leaves all as it was.

    A file that it takes the place of keeps its rights.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a pipe or a terminal
        with target.open("w", newline="", encoding="utf-8") as stream:
            yield stream
        return
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else new_mode()
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{target.name[:50]}.", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "w", newline="", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, mode)
        os.replace(draft, target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def keep_name(path: Path) -> None:
    """Let a name that was added to its folder, or taken from it, survive a crash, as the content of a file does."""
    if os.name == "nt":  # a folder cannot be opened there, and the name is as safe as the content
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
