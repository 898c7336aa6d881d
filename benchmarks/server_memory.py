"""Memory of the server over an hour of use: requests of all kinds, and what each of its processes holds meanwhile.

An hour of a busy laboratory is 10,000 requests. Every way into the server is taken, by people with a session and by
instruments with a token: pages, sheets, copies, reports, checks of the journal, outcomes, corrections, uploads, new
campaigns, live pages that are left again, logins, and requests that are refused. After each tenth the resident memory
of the server and of its workers is printed; flat means that the last is at most 5 % above that after three tenths.

    python benchmarks/server_memory.py --requests 10000
"""

from __future__ import annotations

import argparse
import http.client
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from _serving import Answer, Serving, Visitor
from server_load import campaign_at

import probewise as pw
from probewise.data import copy_example
from probewise.server.accounts import Accounts
from probewise.server.app import WAYS
from probewise.server.config import STATE

NAME, PASSWORD = "hour.campaign", "correct horse battery"
PAGE, API = f"/c/{NAME}", f"/api/v1/campaigns/{NAME}"


def processes(pid: int) -> dict[str, int]:
    """Name of a process -> its resident kilobytes: the server first, then its workers in the order of their start."""
    own = [pid]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                own.append(int(stat.parent.name))
        except OSError:
            continue
    names = ["server", *(f"worker {at}" for at in range(1, len(own)))]
    out = {}
    for name, number in zip(names, [pid, *sorted(own[1:])], strict=True):
        lines = Path(f"/proc/{number}/status").read_text().splitlines()
        out[name] = int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
    return out


class Hour:
    """Somebody with a session, an instrument with a token, and all that they do."""

    def __init__(self, serving: Serving, accounts: Accounts, folder: Path, seed: int) -> None:
        self.random, self.serving, self.folder = random.Random(seed), serving, folder
        self.seed, self.turn, self.made = seed, 0, 0
        self.person, self.stranger = Visitor(serving.url, timeout=600), Visitor(serving.url, timeout=600)
        self.machine = Visitor(
            serving.url, {"authorization": f"Bearer {accounts.issue('anna', 'own', '*', 1)}"}, timeout=600
        )
        self.person.form("/login", {"name": "anna", "password": PASSWORD})
        self.csrf = self.person.csrf(f"{PAGE}/keep")
        (folder / f"{seed}").mkdir()
        self.items, self.probes = (path.read_bytes() for path in copy_example(folder / f"{seed}"))
        self.kinds: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()

    def form(self, path: str, **fields: str) -> Answer:
        return self.person.form(path, {"csrf": self.csrf, "once": f"{self.seed}-{self.turn}", **fields})

    def asked(self) -> list[str]:
        found = self.machine.json(f"{API}/ask", {}).json
        at = found["columns"].index("measurement")
        return [row[at] for row in found["rows"]]

    def tell(self) -> Answer:
        rows = self.asked()[self.seed :: 4][:5] or self.asked()[:1]
        return self.machine.json(f"{API}/tell", {"rows": {row: self.random.gauss(0, 1) for row in rows}})

    def new(self) -> Answer:
        """Two tables, settings, checks; every tenth time a campaign, which is looked at once."""
        tables = {"probes": ("probes.csv", self.probes), "items": ("items.csv", self.items)}
        where = self.person.upload("/new", {"csrf": self.csrf}, tables).headers["location"]
        self.person.get(where)
        self.made += 1
        if self.made % 10 == 0:
            body = {"name": f"made {self.seed} {self.made}", "probes": self.probes.decode(), "sigma": 3.0}
            name = self.machine.json("/api/v1/campaigns", body).json["name"].replace(" ", "%20")
            return self.person.get(f"/c/{name}")
        return self.form(where, name="x", model="main", goal="best", noise="sigma", sigma="3", act="check")

    def watch(self) -> Answer:
        """A live page that is opened, told something and closed."""
        line = http.client.HTTPConnection("127.0.0.1", self.serving.port, timeout=600)
        line.request("GET", f"{API}/events", headers=self.machine.headers)
        answer = line.getresponse()
        answer.readline()
        line.close()
        return Answer(answer.status, {}, b"")

    def login(self) -> Answer:
        other = Visitor(self.serving.url, timeout=600)
        other.form("/login", {"name": "anna", "password": PASSWORD})
        return other.form("/logout", {}, page="/")

    def upload(self) -> Answer:
        rows = self.asked()[:2]
        pasted = "measurement\toutcome\n" + "".join(f"{row}\t1.5\n" for row in rows)
        return self.person.upload(f"{PAGE}/upload", {"csrf": self.csrf, "pasted": pasted}, {})

    def ways(self) -> list[tuple[int, str, Callable[[], Answer]]]:
        """How often of a hundred, what, and how."""
        get, machine, row = self.person.get, self.machine, f"r1-{self.random.randint(1, 90)}"
        value = f"{self.random.gauss(0, 1):.3f}"
        change: dict[str, Any] = {"measurement": row, "outcome": float(value), "reason": "slip"}
        return [
            (30, "now", lambda: get(f"{PAGE}/now")),
            (8, "overview", lambda: get(PAGE)),
            (6, "campaigns", lambda: get("/")),
            (8, "measure", lambda: get(f"{PAGE}/measure")),
            (5, "history", lambda: get(f"{PAGE}/history?round={self.random.randint(1, 9)}")),
            (2, "row", lambda: get(f"{PAGE}/row/{row}")),
            (2, "keep", lambda: get(f"{PAGE}/keep")),
            (1, "people", lambda: get(f"{PAGE}/people")),
            (3, "static", lambda: get("/static/page.js")),
            (5, "status", lambda: machine.get(API)),
            (3, "rows", lambda: machine.get(f"{API}/rows")),
            (3, "records", lambda: machine.get(f"{API}/records?after={self.random.randint(0, 50)}")),
            (1, "metrics", lambda: machine.get("/metrics")),
            (1, "openapi", lambda: machine.get("/api/v1/openapi.json")),
            (4, "tell", self.tell),
            (2, "faults", lambda: machine.json(f"{API}/faults", {"cells": {row: {"outcome": "x"}}})),
            (2, "note", lambda: self.form(f"{PAGE}/note", text=f"remark {self.turn}")),
            (1, "correct", lambda: machine.json(f"{API}/correct", change, idempotency_key=f"{self.seed}-{self.turn}")),
            (1, "preview", lambda: self.form(f"{PAGE}/row/{row}", change="correct", outcome=value, reason="slip")),
            (2, "sheet", lambda: get(f"{PAGE}/sheet.{self.random.choice(('csv', 'xlsx'))}")),
            (1, "copy", lambda: get(f"{PAGE}/{self.random.choice(('copy.jsonl', 'copy.campaign', 'rows.csv'))}")),
            (1, "report", lambda: get(f"{PAGE}/report")),
            (1, "verify", lambda: machine.get(f"{API}/verify")),
            (1, "upload", self.upload),
            (1, "new", self.new),
            (2, "watch", self.watch),
            (1, "login", self.login),
            (3, "refused", lambda: self.stranger.get(f"{PAGE}?x={self.random.random()}")),
            (2, "lost", lambda: machine.get(f"/api/v1/campaigns/{self.random.random()}")),
            (1, "wrong", lambda: machine.json(f"{API}/tell", {"rows": {"r9999-1": 1.0}})),
        ]

    def some(self, count: int) -> None:
        for _ in range(count):
            self.turn += 1
            found = self.ways()
            ((_, name, act),) = self.random.choices(found, [own[0] for own in found])
            answer = act()
            self.kinds[name] += 1
            self.statuses[answer.status] += 1
            assert answer.status < 500 or answer.status == 503, (name, answer.status, answer.text[-300:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--people", type=int, default=4)
    own = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lab = Path(folder) / "lab"
        lab.mkdir()
        campaign_at(lab / NAME, 10, 100)
        accounts = Accounts(lab / STATE)
        accounts.add("anna", PASSWORD, creates=True)
        accounts.grant("anna", "*", "own")
        serving = Serving(lab, "--login")
        try:
            return report(own, serving, accounts, Path(folder))
        finally:
            serving.stop()


def report(own: argparse.Namespace, serving: Serving, accounts: Accounts, folder: Path) -> int:
    assert serving.process is not None
    everybody = [Hour(serving, accounts, folder, seed) for seed in range(own.people)]
    pid, totals, began = serving.process.pid, [], time.monotonic()
    print(f"{len(everybody[0].ways())} kinds of requests, {len(WAYS)} ways; memory in MB")
    for part in range(11):
        if part:
            with ThreadPoolExecutor(own.people) as pool:
                list(pool.map(lambda who: who.some(own.requests // 10 // own.people), everybody))
        found = processes(pid)
        totals.append(sum(found.values()))
        each = ", ".join(f"{name} {kb / 1024:.0f}" for name, kb in found.items())
        print(f"{part * own.requests // 10:6,}: {totals[-1] / 1024:.0f} ({each})", flush=True)
    kinds: Counter[str] = sum((who.kinds for who in everybody), Counter())
    statuses: Counter[int] = sum((who.statuses for who in everybody), Counter())
    print(f"{time.monotonic() - began:.0f} s; {dict(kinds)}; answers {dict(statuses)}")
    records = len(pw.Campaign.open(Path(serving.place) / NAME).records)
    print(f"{records} records; memory at the end {totals[10] / totals[3]:.3f} times that after three tenths")
    return int(totals[10] > 1.05 * totals[3])


if __name__ == "__main__":
    sys.exit(main())
