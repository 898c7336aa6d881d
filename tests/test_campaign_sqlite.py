"""One file of SQLite under attack: side files of others, torn writes, forged tables, places that cannot be written."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.campaign import Record
from probewise.campaign.journal import sides, sqlite

DATA = Path(__file__).parent / "data"
SOURCES = Path(pw.__file__).parents[1]
PROBLEM = pw.Problem(np.eye(2), probe_names=["a", "b"])


@pytest.fixture(autouse=True)
def _soon_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else writes, or hardly."""
    monkeypatch.setattr(sides, "_LOOKS", 5)


def create(path: Path, notes: int = 0, text: str = "note") -> pw.Campaign:
    campaign = pw.Campaign.create(path, PROBLEM, seed=0)
    for number in range(notes):
        campaign.note(f"{text} {number}")
    return campaign


def lines(path: Path) -> list[str]:
    return [record.line for record in pw.Campaign.open(path).records]


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def next_record(path: Path, text: str) -> Record:
    return Record.new("note", {"text": text}, author="Ada", after=pw.Campaign.open(path).records[-1])


def die_in_a_write(path: Path, text: str = "never acknowledged") -> None:
    """A writer that dies when pages of its record are in the file and the others are not: its journal stays."""
    record = next_record(path, text + 50_000 * "x")
    before = path.read_bytes()
    if (child := os.fork()) == 0:
        try:
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute("PRAGMA cache_size=1")  # so that pages are written before the end
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA user_version={record.seq}")
            insert(connection, record)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert beside(path, "-journal").stat().st_size > 4096
    assert path.read_bytes() != before


def insert(connection: sqlite3.Connection, record: Record) -> None:
    connection.execute("INSERT INTO probewise_journal VALUES ('', ?, ?)", (record.seq, record.line))


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def logged(folder: Path, name: str, notes: int) -> Path:
    """A file as version 0.1.0 left it when it was killed: its last records lie in the write-ahead log."""
    made, path = folder / f"made-{name}", folder / name
    shutil.copy(DATA / "version-1.campaign", made)
    with closing(sqlite3.connect(made, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        last = Record.read(
            connection.execute("SELECT record FROM probewise_journal WHERE seq = 1").fetchone()[0], after=None
        )
        for (line,) in connection.execute("SELECT record FROM probewise_journal WHERE seq > 1 ORDER BY seq").fetchall():
            last = Record.read(line, after=last)
        for number in range(notes):
            last = Record.new("note", {"text": f"{name} {number}"}, author="Ada", after=last)
            insert(connection, last)
        shutil.copy(made, path)
        shutil.copy(beside(made, "-wal"), beside(path, "-wal"))
    return path


# One file is all.


def test_after_a_write_the_file_alone_is_all_of_it(tmp_path: Path) -> None:
    """Also while somebody else has it open, which kept a write-ahead log alive."""
    path = tmp_path / "a.campaign"
    campaign = create(path, 2)
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("SELECT count(*) FROM probewise_journal").fetchall()
        for number in range(3):
            campaign.note(f"acknowledged {number}")
            shutil.copy(path, tmp_path / "copy.campaign")
            assert lines(tmp_path / "copy.campaign") == [record.line for record in campaign.records]
            assert {own.name for own in tmp_path.iterdir()} == {"a.campaign", "copy.campaign"}


@pytest.mark.parametrize("name", ["a.campaign", "a.jsonl"])
def test_a_new_file_is_its_owners_only_unless_asked(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0)
    try:
        create(tmp_path / name, 1)
    finally:
        os.umask(before)
    monkeypatch.setenv("PROBEWISE_MODE", "660")
    create(tmp_path / f"shared-{name}", 1)
    pw.campaign.backup(tmp_path / name, tmp_path / f"copy-{name}")
    modes = [stat.S_IMODE((tmp_path / f"{kind}{name}").stat().st_mode) for kind in ("", "shared-", "copy-")]
    assert modes == [0o600, 0o660, 0o660]


def test_every_write_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    insert_ = sqlite.File._store

    def store(self: sqlite.File, connection: sqlite3.Connection, *given: Any) -> None:
        modes = ("synchronous", "journal_mode")
        seen.add(tuple(connection.execute(f"PRAGMA {own}").fetchone()[0] for own in modes))
        insert_(self, connection, *given)

    monkeypatch.setattr(sqlite.File, "_store", store)
    create(tmp_path / "a.campaign", 1)
    assert seen == {(3, "delete")}  # EXTRA: the name of a journal that was deleted is gone for good


# Rollback journals.


def test_what_a_dead_writer_left_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    create(path, 5)
    before = lines(path)
    die_in_a_write(path)
    assert lines(path) == before
    assert not beside(path, "-journal").exists()
    pw.Campaign.open(path).note("more")
    assert lines(path)[:-1] == before


def refused(path: Path, reason: str) -> None:
    """Not opened, not written, not changed, and in order again once the side file is gone."""
    sides = {own.name: own.read_bytes() for own in path.parent.glob(f"{path.name}*")}
    with pytest.raises(
        pw.InvalidCampaign, match=rf"{path.name} cannot be trusted with the file .*: {reason}; nothing was"
    ):
        pw.Campaign.open(path)
    with pytest.raises(pw.InvalidCampaign, match="cannot be trusted"):
        sqlite.File(path).append("{}", after=6)
    assert {own.name: own.read_bytes() for own in path.parent.glob(f"{path.name}*")} == sides


OTHER = "it was written for another file, or at another time"


def test_a_journal_of_another_file_is_not_applied(tmp_path: Path) -> None:
    one, other = tmp_path / "one.campaign", tmp_path / "other.campaign"
    create(one, 5)
    create(other, 5)
    die_in_a_write(one)
    beside(one, "-journal").rename(beside(other, "-journal"))
    refused(other, OTHER)
    beside(other, "-journal").unlink()
    assert len(lines(other)) == 6


@pytest.mark.parametrize("back", [False, True])
def test_a_journal_of_another_time_is_not_applied(back: bool, tmp_path: Path) -> None:
    """Of an earlier time of the same file, or of a later one, when a back-up was put in its place."""
    path = tmp_path / "a.campaign"
    campaign = create(path, 5)
    if back:
        old = path.read_bytes()
        campaign.note("more")
        campaign.note("and more")
    die_in_a_write(path)
    left = beside(path, "-journal").read_bytes()
    if back:
        path.write_bytes(old)
    else:
        campaign.note("more")  # the journal is applied, and gone
        campaign.note("and more")
        beside(path, "-journal").write_bytes(left)
    refused(path, OTHER)


def test_a_journal_of_the_making_of_a_file_does_not_empty_another(tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    create(path, 5)
    header = bytes.fromhex("d9d505f920a163d7") + b"\0" * 4 + b"abcd" + b"\0" * 4 + (512).to_bytes(4, "big")
    beside(path, "-journal").write_bytes((header + (4096).to_bytes(4, "big")).ljust(512, b"\0"))
    refused(path, OTHER)


def test_a_journal_with_a_damaged_beginning_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    create(path, 5)
    die_in_a_write(path)
    left = beside(path, "-journal").read_bytes()
    for at, reason in ((0, "its beginning is damaged"), (22, "its beginning is damaged"), (19, OTHER)):
        beside(path, "-journal").write_bytes(left[:at] + bytes([left[at] ^ 2]) + left[at + 1 :])
        refused(path, reason)
    beside(path, "-journal").write_bytes(left)
    assert len(lines(path)) == 6


def test_parts_of_a_write_are_never_a_silent_loss(tmp_path: Path) -> None:
    """Every mixture of the pages before and after a write, as after a crash whose journal was deleted or as in a copy
    made while somebody wrote: it is refused, or all that was acknowledged is there, also after the next write."""
    path, mixed, rng, found = tmp_path / "a.campaign", tmp_path / "mixed.campaign", random.Random(0), [0, 0]
    campaign = create(path)
    for number in range(40):
        old, kept = pages(path), [record.line for record in campaign.records]
        campaign.note(f"{number}" + "x" * rng.choice([10, 300, 3000, 9000]))
        new = pages(path)
        changed = [at for at in range(max(len(old), len(new))) if old[at : at + 1] != new[at : at + 1]]
        mixtures = [*itertools.product([False, True], repeat=len(changed))]
        for taken in rng.sample(mixtures, min(6, len(mixtures))):
            data = [*old, *[bytes(4096)] * (len(new) - len(old))]
            for at in itertools.compress(changed, taken):
                data[at] = new[at]
            mixed.write_bytes(b"".join(data))
            found[still_there(mixed, kept)] += 1
    assert min(found) > 20


def pages(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return [data[at : at + 4096] for at in range(0, len(data), 4096)]


def still_there(path: Path, kept: list[str]) -> bool:
    """Whether a file opens; if it does, it has these records, now and after one more."""
    try:
        campaign = pw.Campaign.open(path)
        assert [record.line for record in campaign.records][: len(kept)] == kept
        campaign.note("one more" + 2000 * "y")
    except pw.InvalidCampaign:
        return False
    assert lines(path)[: len(kept)] == kept
    return True


def test_a_copy_made_while_others_write_is_whole_or_refused(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.campaign", tmp_path / "copy.campaign"
    create(path)
    code = (
        "import sys, probewise as pw\ncampaign = pw.Campaign.open(sys.argv[1])\nwhile True: campaign.note('x' * 3000)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], env={**os.environ, "PYTHONPATH": str(SOURCES)}
    ) as writer:
        try:
            while len(lines(path)) < 3:
                assert writer.poll() is None
            for _ in range(30):
                kept = lines(path)
                copy.write_bytes(path.read_bytes())
                still_there(copy, kept)
        finally:
            writer.kill()
    assert len(kept) > 3


# Write-ahead logs, which version 0.1.0 left when it was killed.


def test_a_file_of_the_past_is_brought_over(tmp_path: Path) -> None:
    path = logged(tmp_path, "a.campaign", 3)
    known = len(lines(path))
    assert lines(path)[-1].count("a.campaign 2") == 1
    pw.Campaign.open(path).note("written by this version")
    assert path.read_bytes()[18:20] == b"\1\1"  # no write-ahead log any more
    assert {own.name for own in tmp_path.glob("a.campaign*")} == {"a.campaign"}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (known + 1,)
        assert connection.execute("PRAGMA application_id").fetchone() != (0,)


def test_a_log_of_another_file_is_not_applied(tmp_path: Path) -> None:
    one = logged(tmp_path, "one.campaign", 40)
    for other in (logged(tmp_path, "other.campaign", 3), tmp_path / "new.campaign"):
        if other.name == "new.campaign":
            create(other, 5)
        else:
            lines(other)  # its own log is brought into it
        shutil.copy(beside(one, "-wal"), beside(other, "-wal"))
        refused(other, OTHER)


def test_no_flipped_byte_of_a_log_loses_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = logged(tmp_path, "a.campaign", 3)
    whole, log = path.read_bytes(), beside(path, "-wal").read_bytes()
    kept = lines(path)
    rng, told = random.Random(0), 0
    monkeypatch.setattr(sides, "_LOOKS", 1)
    for at in [*range(32), *rng.sample(range(32, len(log)), 60)]:
        path.write_bytes(whole)
        beside(path, "-wal").write_bytes(log[:at] + bytes([log[at] ^ 1 << rng.randrange(8)]) + log[at + 1 :])
        beside(path, "-shm").unlink(missing_ok=True)
        try:
            assert lines(path) == kept
        except pw.InvalidCampaign:
            told += 1
    assert told > 80


def test_an_empty_log_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    campaign = create(path, 2)
    beside(path, "-wal").write_bytes(b"")
    campaign.note("more")
    shutil.copy(path, tmp_path / "copy.campaign")
    assert len(lines(path)) == len(lines(tmp_path / "copy.campaign")) == 4


# Places that cannot be written.

READ = """
    import sys, warnings, numpy as np, probewise as pw
    from pathlib import Path
    for path in sys.argv[2:]:
        campaign = pw.Campaign.open(path)
        print(len(campaign.records), campaign.status().measurements)
        campaign.report(f"{sys.argv[1]}/report.html")
        campaign.export(f"{sys.argv[1]}/{Path(path).name}.jsonl")
        try:
            campaign.note("no")
        except pw.StorageUnavailable as error:
            print(error)
"""


def in_a_place(mount: str, place: Path, out: Path, *names: str) -> list[str]:
    """What READ says of files in a place that is mounted in another way, which nobody else sees."""
    arguments = [str(out), *(str(place / name) for name in names)]
    script = f'{mount} && exec {sys.executable} -W error -c "$CODE" "$@"'
    command = ["unshare", "-rm", "sh", "-c", script, "sh", *arguments]
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount")
    env = {**os.environ, "PYTHONPATH": str(SOURCES), "CODE": textwrap.dedent(READ)}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def prepared(place: Path) -> dict[str, int]:
    """Files with and without something beside them, and their records."""
    place.mkdir()
    plain, hot = place / "plain.campaign", place / "hot.campaign"
    create(plain, 2)
    create(hot, 4)
    die_in_a_write(hot)
    old, log = shutil.copy(DATA / "version-1.campaign", place / "old.campaign"), logged(place, "log.campaign", 3)
    known = len(lines(shutil.copy(old, place / "again.campaign")))
    change(old, "PRAGMA journal_mode=WAL")
    return {plain.name: 3, Path(old).name: known, log.name: known + 3, hot.name: 5}


def test_a_read_only_place_can_be_read(tmp_path: Path) -> None:
    place = tmp_path / "place"
    wanted = prepared(place)
    before = {own.name: own.read_bytes() for own in place.iterdir()}
    said = in_a_place(
        f"mount --bind -o ro {place} {place} && mount -o remount,bind,ro {place}", place, tmp_path, *wanted
    )
    assert [int(line.split()[0]) for line in said[::2]] == [*wanted.values()]
    assert all("cannot be used now" in line and "check" in line for line in said[1::2]), said
    assert {own.name: own.read_bytes() for own in place.iterdir()} == before


def test_a_full_place_can_be_read(tmp_path: Path) -> None:
    place, full = tmp_path / "place", tmp_path / "full"
    wanted = prepared(place)
    full.mkdir()
    fill = f"dd if=/dev/zero of={full}/rest bs=1k 2>/dev/null; true"
    said = in_a_place(
        f"mount -t tmpfs -o size=1m none {full} && cp {place}/* {full} && ({fill})", full, tmp_path, *wanted
    )
    assert [int(line.split()[0]) for line in said[::2]] == [*wanted.values()]
    assert all("cannot be used now" in line and "disk" in line for line in said[1:6:2]), (
        said
    )  # then a journal is gone, and there is room


# Forged and foreign tables.

FORGED: dict[str, tuple[str, str]] = {
    "schema 0": ("UPDATE probewise_schema SET version = 0", "names the schema 0, which never was"),
    "schema x": ("UPDATE probewise_schema SET version = 'x'", "names the schema 'x', which never was"),
    "two versions": ("INSERT INTO probewise_schema VALUES (1)", "2 rows of the table probewise_schema name a schema"),
    "no version": ("DELETE FROM probewise_schema", "0 rows of the table probewise_schema name a schema"),
    "no table": ("DROP TABLE probewise_schema", "one of its two tables is missing"),
    "a BLOB": ("UPDATE probewise_journal SET record = x'00ff' WHERE seq = 2", "record 2 is not text but bytes"),
    "not UTF-8": (
        "UPDATE probewise_journal SET record = CAST(x'7bff7d' AS TEXT) WHERE seq = 2",
        "record 2 of the journal",
    ),
    "a number in words": ("UPDATE probewise_journal SET seq = 'two' WHERE seq = 2", "after record 1 comes record 3"),
    "a gap": ("DELETE FROM probewise_journal WHERE seq = 2", "after record 1 comes record 3"),
    "no end": ("DELETE FROM probewise_journal WHERE seq = 3", "it had 3 records and has 2"),
    "no records": ("DELETE FROM probewise_journal", "it had 3 records and has 0"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_table_is_a_sentence(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    create(path, 2)
    statement, sentence = FORGED[kind]
    change(path, statement)
    with pytest.raises(pw.InvalidCampaign, match=sentence):
        pw.Campaign.open(path)


@pytest.mark.parametrize("at", [4096, 8192 + 2000])
def test_a_damaged_page_is_called_damage(at: int, tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    create(path, 60)
    data = bytearray(path.read_bytes())
    data[at : at + 3000] = bytes(3000)
    path.write_bytes(data)
    with pytest.raises(pw.InvalidCampaign, match=r"is damaged|was changed after it was written") as raised:
        pw.Campaign.open(path)
    assert "back-up" in str(raised.value)
    assert "check the name" not in str(raised.value)


TRIGGERS = {
    "ignores": "BEFORE INSERT ON probewise_journal BEGIN SELECT RAISE(IGNORE); END",
    "deletes": "AFTER INSERT ON probewise_journal BEGIN DELETE FROM probewise_journal WHERE seq = NEW.seq; END",
    "changes": "AFTER INSERT ON probewise_journal BEGIN UPDATE probewise_journal SET record = '{}' WHERE seq = NEW.seq; END",  # noqa: E501
}


@pytest.mark.parametrize("kind", TRIGGERS)
def test_a_trigger_cannot_make_a_record_vanish(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    campaign = create(path, 2)
    change(path, f"CREATE TRIGGER planted {TRIGGERS[kind]}")
    with pytest.raises(
        pw.InvalidCampaign, match=r"record 4 was written to .* and is not there: something else, such as a"
    ):
        campaign.note("gone?")
    assert len(lines(path)) == 3
    change(path, "DROP TRIGGER planted")
    campaign.note("here")
    assert len(lines(path)) == 4


FOREIGN: dict[str, tuple[str, ...]] = {
    "tables": ("CREATE TABLE compounds (name TEXT)", "INSERT INTO compounds VALUES ('aspirin')"),
    "a write-ahead log": ("PRAGMA journal_mode=WAL", "CREATE TABLE compounds (name TEXT)"),
    "a view": ("CREATE VIEW probewise_journal AS SELECT '' AS campaign, 1 AS seq, '{}' AS record",),
    "a version": ("PRAGMA user_version=7",),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_database_of_others_is_not_written_into(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    change(path, *FOREIGN[kind])
    before = path.read_bytes()
    with pytest.raises(pw.InvalidCampaign, match=r"it is a database with other tables .*, and nothing was written"):
        create(path)
    with pytest.raises(pw.InvalidCampaign, match="there is no campaign in"):
        pw.Campaign.open(path)
    assert path.read_bytes() == before
    assert {own.name for own in tmp_path.iterdir()} == {"other.db"}


def set_back(path: Path, old: bytes) -> None:
    path.write_bytes(old)


def taken_away(path: Path, old: bytes) -> None:
    path.unlink()


@pytest.mark.parametrize("how", [set_back, taken_away])
def test_a_file_that_was_set_back_is_told(how: Callable[[Path, bytes], None], tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    campaign = create(path, 2)
    old = path.read_bytes()
    campaign.note("more")
    how(path, old)
    for call in (campaign.status, lambda: campaign.note("and more")):
        with pytest.raises(pw.InvalidCampaign, match="no longer holds record 4 as it was read before"):
            call()


def test_a_writer_that_waits_too_long_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.campaign"
    campaign = create(path, 2)
    monkeypatch.setattr(sqlite, "PATIENCE", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(pw.StorageUnavailable, match=r"locked.; another program has held it too long; try again"):
            campaign.note("mine")
    campaign.note("mine")
    assert len(lines(path)) == 4


def test_a_writer_that_is_alone_is_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait for it, and readers do not; a handle of one's own passes."""
    path = tmp_path / "a.campaign"
    create(path, 2)
    monkeypatch.setattr(sqlite, "PATIENCE", 0.2)
    store = sqlite.File(path)
    with store.writing() as alone:
        with pytest.raises(pw.StorageUnavailable, match="held it too long"):
            sqlite.File(path).append("{}", after=3)
        assert len(sqlite.File(path).read()) == len(alone.read()) == 3
        with alone.writing() as still:
            still.append('{"mine":1}', after=3)
        alone.append('{"mine":2}', after=4)
    with pytest.raises(ZeroDivisionError), store.writing():
        raise ZeroDivisionError
    assert store.read(3) == ['{"mine":1}', '{"mine":2}']


def test_a_link_is_as_good_as_the_file(tmp_path: Path) -> None:
    """SQLite keeps the journal where the file is; so must those who look for it."""
    one, other, link = tmp_path / "one.campaign", tmp_path / "other.campaign", tmp_path / "links" / "a.campaign"
    create(one, 5)
    create(other, 5)
    link.parent.mkdir()
    link.symlink_to(other)
    die_in_a_write(one)
    beside(one, "-journal").rename(beside(other, "-journal"))
    with pytest.raises(pw.InvalidCampaign, match=OTHER):
        pw.Campaign.open(link)
    beside(other, "-journal").unlink()
    pw.Campaign.open(link).note("by the link")
    assert len(lines(other)) == 7


def test_version_0_1_0_may_still_write(tmp_path: Path) -> None:
    """It counts nothing and saves the first page last; what it leaves when it dies is taken back all the same."""
    path = tmp_path / "a.campaign"
    create(path, 5)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        insert(connection, next_record(path, "of the past"))
    assert len(lines(path)) == 7
    record = next_record(path, "never acknowledged")
    if (child := os.fork()) == 0:
        try:
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute("BEGIN IMMEDIATE")
            insert(connection, record)
            connection.execute("PRAGMA cache_size=1")
            connection.execute("CREATE TABLE big AS SELECT randomblob(100000)")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert beside(path, "-journal").exists()
    assert len(lines(path)) == 7
    pw.Campaign.open(path).note("of now")
    assert len(lines(path)) == 8


JOURNAL_HEADER = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", 0, 1, 0, 512, 4096)


@pytest.mark.parametrize(
    ("size", "journal"),
    [(size, JOURNAL_HEADER) for size in (0, 100, 2048, 4096, 6000, 8192)] + [(0, JOURNAL_HEADER[:5])],
)
def test_a_creation_that_was_cut_short_can_be_repeated(size: int, journal: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    pw.Campaign.create(tmp_path / "b.campaign", PROBLEM, seed=0)
    data = bytearray((tmp_path / "b.campaign").read_bytes())
    data[60:64] = bytes(4)  # before the first record
    path.write_bytes(data[:size])
    sides.beside(path, "-journal").write_bytes(journal.ljust(512, b"\0"))
    with pytest.raises(pw.InvalidCampaign, match="there is no campaign in"):
        pw.Campaign.open(path)
    pw.Campaign.create(path, PROBLEM, seed=0).note("after all")
    assert len(pw.Campaign.open(path).records) == 2


def test_errors_of_side_files_are_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.campaign"
    campaign = pw.Campaign.create(path, PROBLEM, seed=0)

    def broken(own: Path) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(sides, "_bytes", broken)
    for action in (campaign.status, lambda: campaign.note("text")):
        with pytest.raises(pw.StorageUnavailable, match=r"a.campaign cannot be used now \(Input/output error\); check"):
            action()


def test_a_commit_that_failed_is_judged_by_what_the_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.campaign"
    first = pw.Campaign.create(path, pw.Problem(np.eye(2)), seed=0).records[0].line
    with closing(sqlite3.connect(":memory:")) as other:  # what a connection believes does not count
        storage = sqlite.File(path, held=other)
        assert storage._stored(other, first, 1) is True
        assert storage._stored(other, "another", 1) is False
        assert storage._stored(other, first, 2) is False
        path.write_bytes(b"no longer a database " * 100)
        with pytest.raises(pw.StorageUnavailable, match="nor read now: it is not known whether record 1 is stored"):
            storage._stored(other, first, 1)
