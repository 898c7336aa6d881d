"""Several writers at once: each record once, and where a storage has a lock, nobody comes too late."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaign_writers import run

import probewise as pw
from probewise.campaign.journal import sqlite

KINDS = ("sqlite", "lines", "postgresql")


def place(kind: str, name: str, folder: Path, request: pytest.FixtureRequest) -> str:
    if kind == "postgresql":
        return f"{request.getfixturevalue('server')}#{name}"
    return str(folder / (f"{name}.campaign" if kind == "sqlite" else f"{name}.jsonl"))


@pytest.mark.parametrize("kind", KINDS)
def test_no_record_of_several_processes_is_lost_or_doubled(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A small version of benchmarks/campaign_writers.py."""
    assert run(place(kind, "processes", tmp_path, request), 6, 1.5).records > 12


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_writers_queue_instead_of_coming_too_late(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = place(kind, "queue", tmp_path, request)
    pw.Campaign.create(where, pw.Problem(np.eye(2)), seed=0)
    late: list[Any] = []
    if kind == "sqlite":
        module: Any = sqlite
    else:
        from probewise.campaign.journal import postgresql

        module = postgresql
    conflict = module.conflict
    monkeypatch.setattr(module, "conflict", lambda *given: late.append(given) or conflict(*given))

    def write(name: str) -> None:
        campaign = pw.Campaign.open(where)
        for number in range(5):
            campaign.note(f"{name} {number}")

    threads = [threading.Thread(target=write, args=(f"w{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pw.Campaign.open(where).records) == 31
    assert late == []
