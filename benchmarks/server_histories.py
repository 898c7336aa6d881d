"""One campaign by page, by command line and by client at once: one journal, one state.

Each history is a random sequence of asks, outcomes, corrections, voids, closes, remarks and repetitions, each step by
one of three actors: forms of the page, commands, or the Python client (which lives through the whole history); in some
steps all three tell their part of a round at the same moment. A model of a few lines knows which outcome each row must
have, and every remark. At the end the journal must say what the model says, and the three actors and a freshly opened
campaign must give the same status to the last digit. The server runs inside this process; with --sockets, as it runs in
a laboratory, which takes three times as long.

    python benchmarks/server_histories.py --histories 100 --first 400
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

from _inside import Inside
from _serving import Answer, Serving, Visitor
from click.testing import CliRunner

import probewise as pw
from probewise.cli import main as command
from probewise.client import web

STEPS = 14


class History:
    """One campaign, three actors and the model."""

    def __init__(self, serving: Serving | Inside, seed: int) -> None:
        self.random = random.Random(seed)
        problem = pw.Problem([[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [0.5, 0.4]], sigma=0.6)
        self.path = Path(serving.place) / f"h{seed}.campaign"
        pw.Campaign.create(self.path, problem, pw.BestItem(delta=0.1), seed=seed)
        self.page = serving.visitor() if isinstance(serving, Inside) else Visitor(serving.url)
        self.address = f"/c/{self.path.name}"
        self.client = pw.Campaign.open(web(serving.url + self.address))
        self.token = self.page.csrf(f"{self.address}/measure")
        self.rows: dict[str, float | None] = {}
        self.notes: list[str] = []
        self.done: dict[str, int] = {}

    def fresh(self) -> pw.Campaign:
        return pw.Campaign.open(self.path)

    def form(self, path: str, fields: dict[str, str]) -> Answer:
        answer = self.page.form(self.address + path, {"csrf": self.token, **fields})
        assert answer.status in (303, 200, 422), answer.text
        return answer

    def run(self, *words: str) -> None:
        done = CliRunner().invoke(command, [words[0], str(self.path), *words[1:]], catch_exceptions=False)
        assert done.exit_code in (0, 1, 2), done.output

    def step(self) -> None:
        actor, ledger = self.random.choice(("page", "command", "client")), self.fresh().ledger
        waiting = ledger.waiting
        sheets = {f"r{s.number}-{at + 1}": int(state) for s in ledger.sheets for at, state in enumerate(s.states)}
        open_ = [
            row for row, state in sheets.items() if state == 0 and waiting and row.startswith(f"r{waiting.number}-")
        ]
        told = [row for row, state in sheets.items() if state == 1]
        kinds = ["tell"] * 6 * bool(open_) + ["ask"] * 2 + ["correct", "void", "again"] * bool(told) + ["note"]
        kinds += ["together"] * 5 * (len(open_) > 2)
        kinds += ["close"] * bool(open_ and self.random.random() < 0.3)
        kind = self.random.choice(kinds)
        said = "all together" if kind == "together" else f"{actor} {kind}"
        self.done[said] = self.done.get(said, 0) + 1
        getattr(self, f"_{kind}")(actor, open_, told)

    def _ask(self, actor: str, open_: list[str], told: list[str]) -> None:
        {"page": lambda: self.form("/ask", {}), "command": lambda: self.run("ask"), "client": self.client.ask}[actor]()

    def _tell(self, actor: str, open_: list[str], told: list[str]) -> None:
        some = self.random.sample(open_, self.random.randint(1, min(4, len(open_))))
        self._told(actor, {row: round(self.random.gauss(0.5, 0.6), 3) for row in some})

    def _again(self, actor: str, open_: list[str], told: list[str]) -> None:
        self._told(actor, {row: self.rows[row] for row in told[:3] if self.rows[row] is not None})  # type: ignore[misc]

    def _together(self, actor: str, open_: list[str], told: list[str]) -> None:
        values = {row: round(self.random.gauss(0.5, 0.6), 3) for row in open_[:9]}
        page, client, command = ({row: values[row] for row in [*values][at::3]} for at in range(3))
        others = [Thread(target=self._told, args=("page", page)), Thread(target=self._told, args=("client", client))]
        for own in others:
            own.start()
        self._told("command", command)
        for own in others:
            own.join()
        assert self.rows.keys() >= values.keys()  # a thread that failed has not said so

    def _note(self, actor: str, open_: list[str], told: list[str]) -> None:
        text = f"remark {len(self.notes)}"
        if actor == "page":
            fields = {"text": text, "once": f"{len(self.notes):016x}"}
            for _ in range(self.random.randint(1, 2)):  # sent twice, it counts once
                self.form("/note", fields)
        elif actor == "client":
            self.client.note(text)
        else:
            self.run("note", text)
        self.notes.append(text)

    def _told(self, actor: str, values: dict[str, float]) -> None:
        if actor == "page":
            answer = self.form("/measure", {f"outcome.{row}": repr(value) for row, value in values.items()})
            assert answer.status == 303, answer.text
        elif actor == "client":
            self.client.tell(values)
        else:
            sheet = self.path.with_suffix(".csv")
            sheet.write_text("measurement,outcome\n" + "".join(f"{row},{value!r}\n" for row, value in values.items()))
            self.run("tell", str(sheet))
        self.rows |= values

    def _correct(self, actor: str, open_: list[str], told: list[str]) -> None:
        row, value = self.random.choice(told), round(self.random.gauss(0.5, 0.6), 3)
        if actor == "page":
            fields = {"change": "correct", "outcome": repr(value), "reason": "slip"}
            if self.random.random() < 0.5:
                self.form(f"/row/{row}", fields)  # looked at first, which changes nothing
            self.form(f"/row/{row}", fields | {"sure": "yes"})
        elif actor == "client":
            self.client.correct(row, value, reason="slip")
        else:
            self.run("correct", "--reason", "slip", "--", row, repr(value))
        self.rows[row] = value

    def _void(self, actor: str, open_: list[str], told: list[str]) -> None:
        row = self.random.choice(told)
        if actor == "page":
            self.form(f"/row/{row}", {"change": "void", "reason": "spilled", "sure": "yes"})
        elif actor == "client":
            self.client.void(row, reason="spilled")
        else:
            self.run("void", row, "--reason", "spilled")
        self.rows[row] = None

    def _close(self, actor: str, open_: list[str], told: list[str]) -> None:
        if actor == "page":
            self.form("/close", {"reason": "away"})
        elif actor == "client":
            self.client.close(reason="away")
        else:
            self.run("close", "--reason", "away")

    def check(self) -> None:
        """One journal, one state."""
        campaign = self.fresh()
        for row, value in self.rows.items():
            number, at = map(int, row[1:].split("-"))
            assert campaign.ledger.outcome((number, at)) == value, row
        assert [record.body["text"] for record in campaign.records if record.kind == "note"] == self.notes
        assert campaign.ledger.measured.n == sum(value is not None for value in self.rows.values())
        status: Any = campaign.status().to_json()
        assert self.client.status().to_json() == status
        served = self.page.get(f"/api/v1/campaigns/{quote(self.path.name)}").json
        for key in ("digest", "item", "leader", "measurements", "sentence", "risk", "amendments"):
            assert served[key] == status[key], key
        authors = {record.author for record in campaign.records}
        assert len(authors) == 1  # of this computer, whoever acted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--sockets", action="store_true")
    own = parser.parse_args()
    done: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        serving = Serving(folder) if own.sockets else Inside(folder)
        try:
            for seed in range(own.first, own.first + own.histories):
                history = History(serving, seed)
                try:
                    for _ in range(STEPS):
                        history.step()
                    history.check()
                except BaseException:
                    print(f"history {seed} failed")
                    raise
                for key, count in history.done.items():
                    done[key] = done.get(key, 0) + count
        finally:
            serving.stop()
    print(f"{own.histories} histories, {sum(done.values())} steps: {dict(sorted(done.items()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
