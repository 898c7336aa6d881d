"""The server under load: many browsers that watch and some instruments that write, on SQLite and on PostgreSQL.

A campaign of 100 rounds and 10,000 measurements is watched by 200 browsers, each of which loads the part of the page
that changes when it is told to (as the script of the page does), and written to by 20 writers. At the end every outcome
that was acknowledged must be in the journal, once. With --requests, memory before and after so many requests.

    python benchmarks/server_load.py --seconds 120
    python benchmarks/server_load.py --seconds 120 --postgresql
    python benchmarks/server_load.py --seconds 0 --requests 10000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from _serving import Serving

import probewise as pw

NAME = "load.campaign"


def campaign_at(place: str | Path, rounds: int, rows: int) -> None:
    """A search that cannot end: two items that tie, told so many rounds."""
    rng = np.random.default_rng(0)
    probes = rng.normal(size=(40, 6))
    items = np.vstack([np.eye(6)[:4], np.eye(6)[0] + 1e-7 * np.eye(6)[1]])
    problem = pw.Problem(probes, items, sigma=1.0)
    campaign = pw.Campaign.create(place, problem, pw.BestItem(delta=0.05), seed=0, author="load")
    theta = np.array([1.0, 0.0, 0.2, 0.1, 0.0, 0.0])
    for _ in range(rounds):
        chosen = rng.integers(0, 40, rows)
        outcomes = probes[chosen] @ theta + rng.normal(size=rows)
        told = [{"probe": str(probe), "outcome": float(value)} for probe, value in zip(chosen, outcomes, strict=True)]
        campaign.tell(told, off_plan=True)


class Load:
    """What was done, and how soon it was answered."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.times: dict[str, list[float]] = {}
        self.statuses: Counter[str] = Counter()
        self.acknowledged: dict[str, float] = {}
        self.until = 0.0

    async def ask(self, kind: str, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
        """One request on a connection of its own."""
        began = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        answer = await reader.read()
        writer.close()
        self.times.setdefault(kind, []).append(time.monotonic() - began)
        status = int(answer.split(b" ", 2)[1])
        self.statuses[f"{kind} {status}"] += 1
        return status, answer.partition(b"\r\n\r\n")[2]

    async def watcher(self, number: int, name: str) -> None:
        """A browser: it listens, and loads the page when it is told to, but not twice in a moment."""
        await asyncio.sleep(random.random() * 5)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        host = f"Host: 127.0.0.1:{self.port}\r\n\r\n"
        writer.write(f"GET /api/v1/campaigns/{name}/events HTTP/1.1\r\n{host}".encode())
        await self.ask("read", "GET", f"/c/{name}")
        while time.monotonic() < self.until:
            changed = False
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.1, self.until - time.monotonic())):
                    while not changed:
                        line = await reader.readline()
                        changed = line.startswith(b"event: changed") or not line
            if changed and time.monotonic() < self.until:
                await asyncio.sleep(0.7)
                await self.ask("read", "GET", f"/c/{name}/now")
                await asyncio.sleep(random.uniform(5, 15))  # somebody who looks at what has changed
        writer.close()

    async def writer(self, number: int, name: str, count: int) -> None:
        """An instrument: asks, and tells its own part of the rows, one after the other."""
        base = f"/api/v1/campaigns/{name}"
        while time.monotonic() < self.until:
            status, body = await self.ask("ask", "POST", f"{base}/ask", {})
            if status != 200:
                await asyncio.sleep(1)
                continue
            rows = [row[0] for row in json.loads(body)["rows"]]
            mine = [row for row in rows if int(row.partition("-")[2]) % count == number]
            for row in mine or []:
                value = round(random.gauss(0, 1), 6)
                status, _ = await self.ask("write", "POST", f"{base}/tell", {"rows": {row: value}})
                if status == 200:
                    self.acknowledged[row] = value
                await asyncio.sleep(random.uniform(0.5, 2.0))
                if time.monotonic() > self.until:
                    return
            if not mine:
                await asyncio.sleep(1.0)

    async def run(self, seconds: float, watchers: int, writers: int, name: str) -> None:
        self.until = time.monotonic() + seconds
        jobs = [self.watcher(number, name) for number in range(watchers)]
        jobs += [self.writer(number, name, writers) for number in range(writers)]
        await asyncio.gather(*jobs)


def memory(pid: int) -> int:
    """Resident kilobytes of a process and of its children."""
    own = [pid]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                own.append(int(stat.parent.name))
    total = 0
    for number in own:
        with suppress(OSError):
            total += int(
                next(x for x in Path(f"/proc/{number}/status").read_text().splitlines() if "VmRSS" in x).split()[1]
            )
    return total


def used(load: Load, requests: int, pid: int) -> list[int]:
    """Memory after each tenth of so many requests of all kinds."""
    paths = [
        "/",
        f"/c/{NAME}",
        f"/c/{NAME}/now",
        f"/c/{NAME}/measure",
        f"/c/{NAME}/history",
        f"/api/v1/campaigns/{NAME}",
    ]

    async def some(count: int, start: int) -> None:
        for at in range(count):
            if at % 25 == 0:  # a change, so that everything is computed again
                await load.ask("write", "POST", f"/api/v1/campaigns/{NAME}/note", {"text": f"{start + at}"})
            await load.ask("read", "GET", paths[at % len(paths)])

    found = []
    for part in range(10):
        asyncio.run(some(requests // 10, part * requests))
        found.append(memory(pid))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--watchers", type=int, default=200)
    parser.add_argument("--writers", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--postgresql", action="store_true")
    own = parser.parse_args()
    random.seed(0)
    database = None
    with tempfile.TemporaryDirectory() as folder:
        if own.postgresql:
            from _postgres import Postgres

            database = Postgres()
            name, place = "load", f"{database.url}#load"
            options = [database.url, "--state", f"{folder}/state.sqlite"]
        else:
            name, place = NAME, f"{folder}/{NAME}"
            options = [folder]
        campaign_at(place, own.rounds, own.rows)
        serving = Serving(*options)
        try:
            return report(own, serving, place, name)
        finally:
            serving.stop()
            if database is not None:
                database.close()


def report(own: argparse.Namespace, serving: Serving, place: str, name: str) -> int:
    assert serving.process is not None
    load, bad = Load(serving.port), 0
    asyncio.run(load.ask("first", "GET", f"/c/{name}"))
    print(f"first page {load.times['first'][0]:.2f} s; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if own.seconds:
        before = memory(serving.process.pid)
        asyncio.run(load.run(own.seconds, own.watchers, own.writers, name))
        for kind, times in load.times.items():
            ms = 1000 * np.quantile(times, [0.5, 0.9, 0.99, 1.0])
            print(f"{kind:6} {len(times):6,} requests; ms at 50, 90, 99, 100 %: " + ", ".join(f"{x:,.0f}" for x in ms))
        print(dict(load.statuses), f"memory {before / 1024:.0f} -> {memory(serving.process.pid) / 1024:.0f} MB")
        campaign = pw.Campaign.open(place)
        told = Counter(row for record in campaign.records if record.kind == "recorded" for row in record.body["rows"])
        values = {
            row: value
            for record in campaign.records
            if record.kind == "recorded"
            for row, value in zip(record.body["rows"], record.body["outcomes"], strict=True)
        }
        lost = [row for row, value in load.acknowledged.items() if values.get(row) != value]
        twice = [row for row, count in told.items() if count > 1]
        print(f"{len(load.acknowledged)} outcomes acknowledged, {len(lost)} lost, {len(twice)} twice")
        slow = float(np.quantile(load.times["read"], 0.99))
        wrong = [status for status in load.statuses if not status.endswith(" 200")]
        bad = len(lost) + len(twice) + (slow > 0.5) + len(wrong)
        print(f"99 % of reads within {1000 * slow:.0f} ms (500 wanted); other answers: {wrong}")
    if own.requests:
        found = used(load, own.requests, serving.process.pid)
        print("memory in MB by tenth of the requests:", ", ".join(f"{kb / 1024:.0f}" for kb in found))
        bad += found[-1] > 1.1 * found[2]
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
