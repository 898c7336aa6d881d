"""Journals: finished runs, one line of JSON each, so that an interrupted simulation goes on where it stopped."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from probewise.errors import InvalidTable

Row = dict[str, Any]


@dataclass(frozen=True)
class Journal:
    """An append-only file: a line with the provenance, then a line per finished run, in any order."""

    path: Path | None
    """The file; with None, nothing is kept."""
    provenance: dict[str, Any]
    """What the runs depend on; a journal with another one is refused."""

    def finished(self) -> list[Row]:
        """The runs on file; a last line that an interruption cut short is taken off."""
        if self.path is None:
            return []
        if not self.path.is_file() or not self.path.stat().st_size:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.provenance, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
            return []
        text = self.path.read_text("utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.path.write_text(whole, "utf-8")
        lines = whole.splitlines()
        self._check(lines[0] if lines else "")
        return [json.loads(line) for line in lines[1:]]

    def append(self, rows: Iterable[Row]) -> None:
        """Put finished runs on file."""
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)

    def _check(self, first: str) -> None:
        try:
            begun = json.loads(first)
        except ValueError:
            raise InvalidTable(
                f"{self.path} is not a journal of runs: its first line is not JSON; name another file."
            ) from None
        wanted = json.loads(json.dumps(self.provenance))
        if begun != wanted:
            other = sorted(key for key in begun.keys() | wanted.keys() if begun.get(key) != wanted.get(key))
            raise InvalidTable(
                f"{self.path} was begun with other settings ({', '.join(other)}); remove it or name another journal."
            )


def file_stem(name: str) -> str:
    """The name of an algorithm as that of a file: "rage,variant=code" is "rage-variant=code"."""
    return re.sub(r"[^\w.=-]+", "-", name)


def described(value: Any) -> Any:
    """Settings as JSON: dataclasses by name and fields, arrays as lists."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [described(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): described(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return described(value.tolist())
    if is_dataclass(value):
        return {"kind": type(value).__name__} | {own.name: described(getattr(value, own.name)) for own in fields(value)}
    return repr(value)
