from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.campaign import Memory, Record, Storage, storage_at
from probewise.campaign.journal import lines, sqlite, tables
from probewise.campaign.journal import storage as base
from probewise.campaign.journal.chain import unread, write
from probewise.testing import check_storage

DATA = Path(__file__).parent / "data"
PROBLEM = pw.Problem(np.eye(2), probe_names=["a", "b"])


def create(place: Any, **options: Any) -> pw.Campaign:
    return pw.Campaign.create(place, PROBLEM, seed=0, **options)


PLACES: dict[str, Callable[[Path], Callable[[], Storage]]] = {
    "memory": lambda folder: (lambda memory: lambda: memory)(Memory()),
    "lines": lambda folder: lambda: storage_at(folder / "a.jsonl"),
    "sqlite": lambda folder: lambda: storage_at(folder / "a.campaign"),
}


def test_records_follow_the_last_one_that_is_known_and_no_other() -> None:
    memory = Memory()
    campaign = create(memory)
    campaign.note("one")
    campaign.note("two")
    first, second, third = campaign.records
    assert [*unread(memory, None)] == [first, second, third]
    assert [*unread(memory, second)] == [third]
    assert [*unread(memory, third)] == []
    other = Record.new("note", second.body | {"text": "another"}, author="", after=first)
    for last in (other, Record.new("note", second.body, author="", after=third)):
        with pytest.raises(pw.InvalidCampaign, match=f"no longer holds record {last.seq} as it was read before: it"):
            next(unread(memory, last), None)


@pytest.mark.parametrize("kept", [lambda line: [], lambda line: [line.replace("one", "two")]])
def test_a_record_that_is_not_what_was_written_is_noticed(kept: Callable[[str], list[str]]) -> None:
    memory = Memory()
    note = Record.new("note", {"text": "one"}, author="", after=create(memory).records[-1])
    memory.append = lambda line, *, after: memory.lines.extend(kept(line))  # type: ignore[method-assign]
    with pytest.raises(pw.InvalidCampaign, match="record 2 was written to a journal in memory and is not there"):
        write(memory, note)


@pytest.mark.parametrize("kind", PLACES)
def test_every_storage_keeps_the_contract(kind: str, tmp_path: Path) -> None:
    check_storage(PLACES[kind](tmp_path))


def test_so_does_postgresql(server: str) -> None:
    check_storage(lambda: storage_at(f"{server}#contract"))


def test_campaigns_share_a_server(server: str) -> None:
    one, other = create(f"{server}#one"), create(f"{server}#other")
    with pytest.raises(pw.InvalidCampaign, match="holds a campaign already"):
        create(f"{server}#one")
    rows = one.ask()
    one.tell(rows.filled(np.zeros(len(rows))))
    again = pw.Campaign.open(f"{server}#one")
    assert again.status() == one.status()
    assert again.status().measurements == len(rows)
    assert other.status().measurements == 0
    with pytest.raises(pw.InvalidCampaign, match="there is no campaign in postgresql"):
        pw.Campaign.open(f"{server}#third")


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(pw.StorageUnavailable, match=r"postgresql.*cannot be used now .*; try again"):
        pw.Campaign.open(f"postgresql://lab:secret@/postgres?host={tmp_path}")
    with pytest.raises(pw.StorageUnavailable) as raised:
        pw.Campaign.open(f"postgresql://lab:secret@/postgres?host={tmp_path}")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("url", ["://lab:secret@host/db", "lab:secret://host/db", "lab/secret://host/db"])
def test_a_url_that_begins_with_no_scheme_is_not_shown(url: str) -> None:
    with pytest.raises(
        pw.InvalidCampaign, match=r"^this is not the URL of a database; write it like postgresql://lab@"
    ):
        storage_at(url)


def test_a_url_that_is_none() -> None:
    with pytest.raises(pw.InvalidCampaign, match="'nothing:' begins no URL of a database"):
        pw.Campaign.open("nothing://here")
    pytest.importorskip("psycopg")
    with pytest.raises(pw.InvalidCampaign, match=r"is not the URL of a database \(\w.+\w.*\)\.$"):  # with the reason
        pw.Campaign.open("postgresql://[::")


# A storage that breaks a promise: the contract must notice.


class Forgetful(Memory):
    def append(self, line: str, *, after: int) -> None:
        self.lines[after:] = [line]


class Late(Memory):
    def append(self, line: str, *, after: int) -> None:
        if "late" in line and after > len(self.lines):
            return
        Memory.append(self, line, after=after)


class Beginning(Memory):
    def begin(self, lines: Iterable[str]) -> None:
        self.lines = [*lines]


class Hasty(Memory):
    @contextmanager
    def writing(self) -> Iterator[Storage]:
        self.lines.append("{}")
        yield self


class Stripping(Memory):
    def append(self, line: str, *, after: int) -> None:
        Memory.append(self, line.replace("\u2028", " "), after=after)


class Doubling(Memory):
    def append(self, line: str, *, after: int) -> None:
        Memory.append(self, line, after=after)
        if "number" in line:
            self.lines.append(line)


class Failing(Memory):
    def append(self, line: str, *, after: int) -> None:
        if "number" in line:
            raise OSError("locked")
        Memory.append(self, line, after=after)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (Forgetful, "begin must raise where something is stored"),
        (Beginning, "begin must raise where something is stored"),
        (Late, "must raise StorageConflict"),
        (Hasty, "a writer that failed before its append must change nothing"),
        (Stripping, "line 4 was not read as it was stored"),
        (Doubling, "lost or doubled"),
        (Failing, "must all succeed, got OSError"),
    ],
)
def test_a_broken_promise_is_noticed(broken: type[Memory], sentence: str) -> None:
    memory = broken()
    with pytest.raises(AssertionError, match=sentence):
        check_storage(lambda: memory)


# Files of other kinds, other versions and other times.


@pytest.mark.parametrize("name", ["a.campaign", "a.jsonl"])
def test_a_file_that_is_no_campaign(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("probe,outcome\na,1\n" * 100)
    with pytest.raises(pw.InvalidCampaign, match=rf"{name} is not a campaign"):
        pw.Campaign.open(tmp_path / name)
    with pytest.raises(pw.InvalidCampaign, match=rf"{name} is not a campaign"):
        create(tmp_path / name)
    assert (tmp_path / name).read_text() == "probe,outcome\na,1\n" * 100


@pytest.mark.parametrize("name", ["a.campaign", "a.jsonl"])
def test_a_file_that_is_not_there_is_not_made(name: str, tmp_path: Path) -> None:
    with pytest.raises(pw.InvalidCampaign, match="there is no campaign in"):
        pw.Campaign.open(tmp_path / name)
    with pytest.raises(pw.InvalidCampaign, match=r"there is no folder .*lost"):
        create(tmp_path / "lost" / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.campaign", "a.jsonl"])
def test_a_campaign_is_not_overwritten(name: str, tmp_path: Path) -> None:
    create(tmp_path / name).note("first")
    with pytest.raises(pw.InvalidCampaign, match=r"holds a campaign already; open it"):
        create(tmp_path / name)
    assert len(pw.Campaign.open(tmp_path / name).records) == 2


@pytest.mark.parametrize("name", ["version-1.campaign", "version-1.jsonl"])
def test_files_of_every_past_version_open(name: str, tmp_path: Path) -> None:
    shutil.copy(DATA / name, tmp_path)
    campaign = pw.Campaign.open(tmp_path / name)
    wanted = json.loads((DATA / "version-1.json").read_text())
    status = campaign.status()
    assert [record.kind for record in campaign.records] == wanted["kinds"]
    assert {own: getattr(status, own) for own in wanted["status"]} == wanted["status"]
    campaign.note("still alive")


def set_schema(path: Path, schema: int) -> None:
    if path.suffix == ".jsonl":
        first, _, rest = path.read_text().partition("\n")
        path.write_text(json.dumps({**json.loads(first), "schema": schema}) + "\n" + rest)
    else:
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE probewise_schema SET version = ?", (schema,))
        connection.close()


@pytest.mark.parametrize("name", ["a.campaign", "a.jsonl"])
def test_a_newer_schema_is_refused(name: str, tmp_path: Path) -> None:
    campaign = create(tmp_path / name)
    set_schema(tmp_path / name, 7)
    sentence = rf"{name} has schema 7, and probewise {pw.__version__} knows schemas up to 1; install a newer probewise"
    with pytest.raises(pw.InvalidCampaign, match=sentence):
        pw.Campaign.open(tmp_path / name)
    with pytest.raises(pw.InvalidCampaign, match=sentence):
        campaign.note("meanwhile somebody migrated the file")


@pytest.mark.parametrize("name", ["a.campaign", "a.jsonl"])
def test_an_older_schema_is_backed_up_and_migrated(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    create(tmp_path / name).note("of schema 1")
    for module in (base, lines, sqlite, tables):
        monkeypatch.setattr(module, "SCHEMA", 3)
    added = "ALTER TABLE probewise_journal ADD COLUMN place TEXT"
    monkeypatch.setitem(tables.MIGRATIONS, 1, lambda run: run(added))
    monkeypatch.setitem(tables.MIGRATIONS, 2, lambda run: None)
    monkeypatch.setitem(lines.MIGRATIONS, 1, lambda records: [*records])
    monkeypatch.setitem(lines.MIGRATIONS, 2, lambda records: [*records])
    campaign = pw.Campaign.open(tmp_path / name)
    campaign.note("of schema 3")
    assert len(pw.Campaign.open(tmp_path / name).records) == 3
    copies = list(tmp_path.glob(f"{name}.schema-1.*"))
    assert len(copies) == 1
    monkeypatch.undo()
    copy = copies[0].rename(tmp_path / f"copy-{name}")
    assert len(pw.Campaign.open(copy).records) == 2
    with pytest.raises(pw.InvalidCampaign, match="has schema 3"):
        pw.Campaign.open(tmp_path / name)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    create(tmp_path / "a.campaign")
    for module in (base, sqlite, tables):
        monkeypatch.setattr(module, "SCHEMA", 2)

    def broken(run: Any) -> None:
        run("DROP TABLE probewise_journal")
        raise RuntimeError("power cut")

    monkeypatch.setitem(tables.MIGRATIONS, 1, broken)
    with pytest.raises(RuntimeError, match="power cut"):
        pw.Campaign.open(tmp_path / "a.campaign")
    monkeypatch.undo()
    assert len(pw.Campaign.open(tmp_path / "a.campaign").records) == 1


def test_a_record_that_was_changed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    campaign = create(path)
    campaign.note("the truth")
    campaign.note("more of it")
    path.write_text(path.read_text().replace("the truth", "a story"))
    with pytest.raises(pw.InvalidCampaign, match="record 2 of the journal, or one before it, was changed"):
        pw.Campaign.open(path)


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    campaign = create(path)
    with sqlite3.connect(path, isolation_level=None) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert campaign.status().rounds == 0
        assert len(pw.Campaign.open(path).records) == 1
        writer.execute("ROLLBACK")
    writer.close()


def test_a_journal_moves_between_storages(tmp_path: Path) -> None:
    campaign = create(tmp_path / "a.campaign")
    rows = campaign.ask()
    campaign.tell(rows.filled(np.arange(len(rows))))
    campaign.export(tmp_path / "b.jsonl")
    assert pw.Campaign.open(tmp_path / "b.jsonl").status() == campaign.status()


def test_a_campaign_loads_the_database_when_it_needs_it() -> None:
    code = "import sys, probewise as pw; pw.Campaign; print({'sqlite3', 'psycopg'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("name", ["a.campaign", "a.jsonl"])
def test_one_of_several_who_create_a_campaign_succeeds(name: str, tmp_path: Path) -> None:
    outcomes: list[str] = []

    def attempt() -> None:
        try:
            create(tmp_path / name)
            outcomes.append("created")
        except Exception as error:
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["InvalidCampaign"] * 3 + ["created"]
    assert len(pw.Campaign.open(tmp_path / name).records) == 1
