"""Journals whose digests a forger computed anew, and journals that were cut: a sentence every time.

A forged journal opens, or is refused in one sentence. A cut one opens with all its records, or its loss is told; where
whole records are gone at the end, which nothing in the file can tell, ``verify`` with the last digest tells.

    python benchmarks/forged_journals.py --cases 2000
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import shutil
import signal
import sqlite3
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import probewise as pw
from probewise.campaign import Campaign
from probewise.campaign.journal.records import KINDS
from probewise.campaign.verify import verify

ENDINGS = (".jsonl", ".campaign")
"""Endings of the storages that are attacked."""
LIMIT = 60
"""Seconds after which a case counts as one that hangs."""
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 0.5, -0.0, 2**63, -(2**64), 10**400, 1e308, -1e308, 1e-320, float("nan"),
    float("inf"), "", "x", "r1-1", "r0-1", "r9-9", "r1-99999999999", "R1-1", "a", "b", "sage", "rage", "note", "=1+1",
    "\x1b[31m", "\ud800", "\u2028", "0" * 5000, "2026-01-01", "2026-01-01T00:00:00+00:00", [], {}, [[]], [0], [-1],
    [0, 1], [99], ["r1-1"], ["r1-1", "r1-1"], [1.0, None], [[1.0, 0.0], [0.0, 1.0]], {"float": "inf"}, {"float": "x"},
    {"threshold": "star"}, {"threshold": "x"}, {"threshold": "pairs", "factor": "x"}, {"a": {"b": {}}},
)  # fmt: skip
"""Values that are put where another was."""
DEEP = "DEEP"
"""Stands for a list in lists, too deep to be built here."""


def journals() -> list[list[dict[str, Any]]]:
    """Sound journals with every kind of record, without their digests."""
    out = []
    for algorithm in (pw.Sage(max_batch=4), pw.Sage(), pw.Rage(), pw.Uniform(), pw.XYAdaptive(), pw.LinGapE()):
        campaign = Campaign.create(pw.campaign.Memory(), _problem(), pw.BestItem(0.1), algorithm, seed=3, author="Ada")
        _lead(campaign, isinstance(algorithm, pw.Sage))
        out.append([json.loads(record.line) for record in campaign.records])
    return [[{k: v for k, v in record.items() if k != "digest"} for record in one] for one in out]


def _problem() -> pw.Problem:
    return pw.Problem([[1, 0], [0, 1], [1, 1]], sigma=0.2, probe_names=["a", "b", "c"], item_names=["A", "B", "C"])


def _lead(campaign: Campaign, any_rounds: bool) -> None:
    """Through every kind of record that the algorithm allows."""
    rng = np.random.default_rng(0)
    campaign.note("begun")
    for number in range(3):
        rows = campaign.ask()["measurement"]
        if not rows:
            break
        campaign.tell({row: float(rng.normal(0, 0.2)) for row in rows[any_rounds:]})
        campaign.correct(rows[-1], 0.25, reason="typed wrongly")
        if any_rounds:
            campaign.void(rows[1], reason="spilled")
            campaign.close(reason="lost")
        if any_rounds and number == 0:
            campaign.tell([{"probe": "c", "outcome": 1.0}, {"probe": "a", "outcome": 0.8}], off_plan=True)
            campaign.restock("b", 500, reason="one bottle")
    for _ in range(30):
        rows = campaign.ask()["measurement"]
        if not rows:
            break
        told = rows
        campaign.tell({row: float(rng.normal(2, 0.2)) for row in rows[:300]})
    if any_rounds:
        campaign.void(told, reason="the wrong plate")


def chained(records: list[Any]) -> list[str]:
    """Lines with fitting digests, as a forger would compute them."""
    before, out = "0" * 64, []
    for record in records:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        text = text.replace(f'"{DEEP}"', "[" * 100_000 + "]" * 100_000) if DEEP in text else text
        if "\ud800" in text:
            text = text.replace("\ud800", "\\ud800")
        before = hashlib.sha256((before + text).encode()).hexdigest()
        out.append(f'{text[:-1]},"digest":"{before}"}}')
    return out


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [own for key, part in parts for own in _paths(part, (*path, key))]


def _inside(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def forged(records: list[dict[str, Any]], rng: random.Random) -> list[Any]:
    """The journal with one to three forgeries."""
    out: list[Any] = copy.deepcopy(records)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice((_changed, _changed, *[_nudged] * 6, _lacking, _added, _moved, _another_kind, _inserted, _replaced))(
            out, rng
        )
    if rng.random() < 0.8:  # the forger minds the numbers
        for number, record in enumerate(out, 1):
            if isinstance(record, dict) and isinstance(record.get("seq"), int):
                record["seq"] = number
    return out


def _some(records: list[Any], rng: random.Random) -> Any:
    return rng.choice([record for record in records if isinstance(record, dict)] or [{}])


def _changed(records: list[Any], rng: random.Random) -> None:
    record = _some(records, rng)
    if paths := _paths(record):
        *path, key = rng.choice(paths)
        _inside(record, tuple(path))[key] = DEEP if rng.random() < 0.02 else copy.deepcopy(rng.choice(ODD))


def _nudged(records: list[Any], rng: random.Random) -> None:
    """Another value of the same type: a forgery that only its meaning can betray."""
    record = _some(records, rng)
    if not isinstance(body := record.get("body"), dict) or not (paths := _paths(body)):
        return
    *path, key = rng.choice(paths)
    place = _inside(body, tuple(path))
    own = place[key]
    if isinstance(own, bool):
        place[key] = not own
    elif isinstance(own, int):
        place[key] = rng.choice((0, 1, 2, 3, own + 1, own - 1, 2**62, 10**6))
    elif isinstance(own, float):
        place[key] = rng.choice((0.0, -own, 1e308, 1e-308, 1e150, 1e-150, own * 1e6, own + 1e-12, 1.0, 0.999999))
    elif isinstance(own, str):
        place[key] = rng.choice(("A", "B", "a", "c", "r1-2", "r2-1", "uniform", "sage", "code", "paper", "y", "tight"))
    elif isinstance(own, list) and own:
        place[key] = rng.choice((own[1:], own * 2, own[::-1], [own[0]] * len(own)))


def _lacking(records: list[Any], rng: random.Random) -> None:
    record = _some(records, rng)
    if paths := _paths(record):
        *path, key = rng.choice(paths)
        del _inside(record, tuple(path))[key]


def _added(records: list[Any], rng: random.Random) -> None:
    record = _some(records, rng)
    places = [_inside(record, path) for path in [(), *_paths(record)]]
    place = rng.choice([own for own in places if isinstance(own, dict | list)])
    if isinstance(place, dict):
        place[rng.choice(("x", "digest", "form", "rows", "\ud800", ""))] = rng.choice(ODD)
    else:
        place.append(rng.choice([*ODD, *place]))


def _moved(records: list[Any], rng: random.Random) -> None:
    at, to = rng.randrange(len(records)), rng.randrange(len(records))
    record = records[at] if rng.random() < 0.3 else records.pop(at)
    if rng.random() < 0.7:
        records.insert(to, copy.deepcopy(record))


def _another_kind(records: list[Any], rng: random.Random) -> None:
    _some(records, rng)["kind"] = rng.choice(list(KINDS))


def _inserted(records: list[Any], rng: random.Random) -> None:
    bodies = (
        ("asked", {"round": rng.randrange(6), "probes": [rng.randrange(4)], "begins": True, "due": None}),
        ("recorded", {"rows": [f"r{rng.randrange(5)}-{rng.randrange(5)}"], "outcomes": [rng.choice((0, 1e308))]}),
        ("unplanned", {"round": rng.randrange(6), "probes": [0], "outcomes": [1e300]}),
        ("corrected", {"row": f"r{rng.randrange(5)}-{rng.randrange(5)}", "outcome": 1e300, "reason": ""}),
        ("voided", {"rows": [f"r{rng.randrange(5)}-{rng.randrange(5)}"], "reason": "x"}),
        ("closed", {"round": rng.randrange(6), "reason": "x"}),
        ("stocked", {"probe": rng.choice("abcd"), "stock": rng.choice((0, 1, -1, 10**30, None)), "reason": "x"}),
        ("decided", {"item": rng.choice("ABCD"), "round": rng.randrange(9)}),
        ("withdrawn", {"item": rng.choice("ABCD"), "reason": "x"}),
        ("note", {"text": rng.choice(ODD)}),
    )
    kind, body = rng.choice(bodies)
    start = {"seq": 0, "time": "2026-01-01T00:00:00+00:00", "author": "Eve", "version": "0.1.0", "form": 1}
    records.insert(rng.randint(1, max(len(records), 1)), {**start, "kind": kind, "body": body})


def _replaced(records: list[Any], rng: random.Random) -> None:
    if rng.random() < 0.3:
        records[rng.randrange(len(records))] = copy.deepcopy(rng.choice(ODD))
    else:
        _some(records, rng)["body"] = copy.deepcopy(rng.choice(ODD))


def write(path: Path, lines: list[str], rng: random.Random | None = None) -> None:
    """A journal on disk, made without the package; with a generator, now and then with a forged frame."""
    odd = rng is not None and rng.random() < 0.1
    if path.suffix == ".jsonl":
        schema = rng.choice(ODD) if odd and rng else 1
        try:
            header = json.dumps({"probewise": "campaign", "schema": schema}).encode()
        except ValueError:
            header = b"{}"
        path.write_bytes(b"\n".join([header, *(line.encode() for line in lines)]) + b"\n")
        return
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE probewise_schema (version INTEGER NOT NULL)")
        file.execute(
            "CREATE TABLE probewise_journal (campaign TEXT NOT NULL, seq INTEGER NOT NULL, record TEXT NOT NULL, "
            "PRIMARY KEY (campaign, seq))"
        )
        file.execute("INSERT INTO probewise_schema VALUES (1)")
        rows = [("", number, line) for number, line in enumerate(lines, 1)]
        file.executemany("INSERT INTO probewise_journal VALUES (?, ?, ?)", rows)
        if odd and rng:
            file.execute(*rng.choice(FRAMES))


FRAMES: tuple[tuple[Any, ...], ...] = (
    ("UPDATE probewise_schema SET version = 0",),
    ("UPDATE probewise_schema SET version = -1",),
    ("UPDATE probewise_schema SET version = 9",),
    ("UPDATE probewise_schema SET version = 'x'",),
    ("UPDATE probewise_schema SET version = 1e300",),
    ("INSERT INTO probewise_schema VALUES (1)",),
    ("DELETE FROM probewise_schema",),
    ("DROP TABLE probewise_journal",),
    ("DROP TABLE probewise_schema",),
    ("ALTER TABLE probewise_journal RENAME COLUMN record TO text",),
    ("UPDATE probewise_journal SET record = CAST(record AS BLOB) WHERE seq = 2",),
    ("UPDATE probewise_journal SET record = X'FF00FE' WHERE seq = 1",),
    ("UPDATE probewise_journal SET record = 5 WHERE seq = 1",),
    ("UPDATE probewise_journal SET record = CAST(X'ff' AS TEXT) WHERE seq = 2",),
    ("UPDATE probewise_journal SET record = substr(record, 1, 20) || char(0) || substr(record, 22) WHERE seq = 2",),
    ("UPDATE probewise_journal SET seq = seq + 1000",),
    ("UPDATE probewise_journal SET seq = 'x' WHERE seq = 2",),
    ("UPDATE probewise_journal SET seq = 2.5 WHERE seq = 2",),
    ("DELETE FROM probewise_journal WHERE seq = 2",),
    ("INSERT INTO probewise_journal SELECT campaign, seq + 1000, record FROM probewise_journal WHERE seq = 1",),
    (
        "CREATE TRIGGER planted AFTER INSERT ON probewise_journal BEGIN "
        "DELETE FROM probewise_journal WHERE seq = NEW.seq; END",
    ),
    ("CREATE TRIGGER planted BEFORE INSERT ON probewise_journal BEGIN SELECT RAISE(IGNORE); END",),
)
"""What a forger does to the tables of SQLite."""


def use(path: Path, *, report: bool) -> None:
    """All that one does with a campaign; what is said in a sentence is a ProbewiseError."""
    campaign = Campaign.open(path)
    campaign.status()
    campaign.export(path.with_name("rows.csv"))
    if report:
        campaign.report(path.with_name("report.html"))
    campaign.note("a remark")
    if not any(record.body.get("text") == "a remark" for record in Campaign.open(path).records):
        raise AssertionError("a note was confirmed and is not there")
    if len(campaign.ask()) < 10_000:
        campaign.status()


def _hanging(*_: object) -> None:
    raise TimeoutError(f"still at work after {LIMIT} s")


def outcome(action: Callable[[], Any]) -> tuple[str, str]:
    """What became of it: opened, told (by a warning), refused, or a traceback; and in which words."""
    signal.signal(signal.SIGALRM, _hanging)
    signal.alarm(LIMIT)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", pw.TornJournal)
            action()
        return ("told", str(caught[0].message)) if caught else ("opened", "")
    except pw.ProbewiseError as error:
        said = str(error)
        sound = said.endswith(".") and "\n" not in said and len(said) < 1000 and said.isprintable()
        return "refused" if sound else "badly said", said
    except Exception as error:
        return "traceback", f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.alarm(0)


def forge(folder: Path, ending: str, cases: int, seed: int) -> tuple[Counter[str], list[str]]:
    """How forged journals ended, and those that ended badly."""
    sources, ends, bad = journals(), Counter[str](), []
    for case in range(cases):
        rng = random.Random(f"{seed}-{case}")
        place = folder / f"forged-{case}"
        place.mkdir()
        path = place / f"a{ending}"
        write(path, chained(forged(rng.choice(sources), rng)), rng)
        end, said = outcome(lambda path=path, case=case: use(path, report=case % 20 == 0))  # type: ignore[misc]
        ends[end] += 1
        if end not in ("opened", "refused"):
            bad.append(f"case {case}: {end}: {said}")
        shutil.rmtree(place)
    return ends, bad


def cut(folder: Path, ending: str, cases: int, seed: int) -> tuple[Counter[str], list[str]]:
    """How cut journals ended, and those whose loss nobody could notice."""
    sources, ends, bad = journals(), Counter[str](), []
    for case in range(cases):
        rng = random.Random(f"cut-{seed}-{case}")
        place = folder / f"cut-{case}"
        place.mkdir()
        path = place / f"a{ending}"
        lines = chained(rng.choice(sources))
        write(path, lines)
        digest = lines[-1][-66:-2]
        what = _damage(path, rng)
        opened: list[Campaign] = []
        end, said = outcome(lambda path=path, opened=opened: opened.append(Campaign.open(path)))  # type: ignore[misc]
        records = opened[0].records if end == "opened" else ()
        if end == "opened" and [record.line for record in records] != lines:
            end = "lost" if verify(path, digest).sound else "short, the digest tells"
            whole = [record.line for record in records] == lines[: len(records)]
            if not whole or (what == "end" and not _at_a_line(path)):
                end = "lost"
        ends[end] += 1
        if end not in ("opened", "refused", "told", "short, the digest tells"):
            bad.append(f"case {case}: {end} ({what}): {said}")
        shutil.rmtree(place)
    return ends, bad


def _at_a_line(path: Path) -> bool:
    """Whether a file of text ends with a line, so that nothing in it tells of more."""
    return path.suffix != ".jsonl" or path.read_bytes().endswith((b"\n", b"}"))


def _damage(path: Path, rng: random.Random) -> str:
    """Cut a file at its end, or lose a part of it."""
    data = path.read_bytes()
    at = rng.choice((rng.randrange(len(data)), len(data) - 1 - rng.randrange(min(200, len(data)))))
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")]
    kind = rng.choice(("end", "end", "end", "line", "hole", "zeros", "shifted"))
    if kind == "end":
        path.write_bytes(data[:at])
    elif kind == "line":
        path.write_bytes(data[: rng.choice(ends) + rng.randrange(2)])
    elif kind == "hole":
        path.write_bytes(data[:at] + bytes(min(512, len(data) - at)) + data[at + 512 :])
    elif kind == "zeros":
        path.write_bytes(data[:at] + bytes(len(data) - at))
    else:
        path.write_bytes(data[:at] + data[at + rng.randint(1, 2000) :])
    return kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = False
    for ending in ENDINGS:
        for name, attack in (("forged", forge), ("cut", cut)):
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                ends, bad = attack(Path(folder), ending, options.cases, options.seed)
                seconds = time.perf_counter() - start
            found = ", ".join(f"{count} {end}" for end, count in ends.most_common())
            print(f"{ending} {name}: {options.cases} cases: {found}; {seconds:.0f} s", flush=True)
            for line in bad[:40]:
                print("   ", ascii(line))
            failed |= bool(bad)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
