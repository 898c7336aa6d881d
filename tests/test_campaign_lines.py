"""Journals of JSON lines: what fails leaves no trace, and what is cut is told."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.campaign import Memory
from probewise.campaign.journal import lines
from probewise.campaign.journal.lines import Lines

PROBLEM = pw.Problem(np.eye(2), probe_names=["a", "b"])


def create(place: Any, **options: Any) -> pw.Campaign:
    return pw.Campaign.create(place, PROBLEM, seed=0, **options)


def notes(path: Path) -> list[str]:
    return [record.body["text"] for record in pw.Campaign.open(path).records if record.kind == "note"]


def failing(monkeypatch: pytest.MonkeyPatch, name: str, number: int, error: BaseException) -> None:
    """Let a function of os fail at one call, counted from 1, without doing anything."""
    real, calls = getattr(os, name), iter(range(1, 1_000_000))

    def call(*args: Any, **options: Any) -> Any:
        if next(calls) == number:
            raise error
        return real(*args, **options)

    monkeypatch.setattr(os, name, call)


# What fails.


@pytest.mark.parametrize(("name", "number"), [("write", 1), ("fsync", 1), ("write", 2)])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_file_as_it_was(
    name: str, number: int, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    campaign = create(path)
    before = path.read_bytes()
    failing(monkeypatch, name, number, error)
    wanted = pw.StorageUnavailable if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(wanted, match=r"a.jsonl cannot be written \(No space left.*make room|^$"):
        campaign.note("lost")
    monkeypatch.undo()
    assert path.read_bytes() == before
    pw.Campaign.open(path).note("of another writer")
    campaign.note("again")
    assert notes(path) == ["of another writer", "again"]


def test_nothing_is_written_once_the_lock_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    first, second = create(path), pw.Campaign.open(path)
    release = lines._release

    def overtaken(file: Any) -> None:
        release(file)
        monkeypatch.undo()
        second.note("confirmed")

    failing(monkeypatch, "write", 1, OSError(errno.ENOSPC, "full"))
    failing(monkeypatch, "fsync", 1, OSError(errno.ENOSPC, "full"))
    monkeypatch.setattr(lines, "_release", overtaken)
    with pytest.raises(OSError, match="full"):
        first.note("failed")
    assert notes(path) == ["confirmed"]


def test_an_interrupt_after_the_line_feed_takes_nothing_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    campaign = create(path)
    real = os.write

    def write(file: int, data: bytes) -> int:
        count = real(file, data)
        if data == b"\n":
            assert notes(path) == ["read by others already"]
            raise KeyboardInterrupt
        return count

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(KeyboardInterrupt):
        campaign.note("read by others already")
    monkeypatch.undo()
    campaign.note("and then")
    assert notes(path) == ["read by others already", "and then"]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:7]))
    create(tmp_path / "a.jsonl").note("in small pieces")
    assert notes(tmp_path / "a.jsonl") == ["in small pieces"]


def test_a_file_that_cannot_be_set_back_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    campaign = create(path)
    failing(monkeypatch, "fsync", 1, OSError(errno.EIO, "Input/output error"))
    failing(monkeypatch, "ftruncate", 1, OSError(errno.EROFS, "Read-only file system"))
    sentence = r"cannot be written \(Input/output error\) nor set back \(Read-only .*not known whether the record is"
    with pytest.raises(pw.StorageUnavailable, match=sentence):
        campaign.note("perhaps")
    monkeypatch.undo()
    assert notes(path) == ["perhaps"]
    campaign.note("surely")
    assert notes(path) == ["perhaps", "surely"]


def test_the_record_is_on_the_disk_before_its_line_feed_and_the_name_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    path = tmp_path / "a.jsonl"

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: int, *rest: Any) -> Any:
            folder = os.path.isdir(f"/proc/self/fd/{file}")
            line_feed = name == "write" and rest[0] == b"\n"
            seen.append("folder" if folder else "line feed" if line_feed else name)
            return real(file, *rest)

        return call

    for name in ("write", "fsync"):
        monkeypatch.setattr(os, name, watched(name, getattr(os, name)))
    campaign = create(path)
    assert seen == ["write", "fsync", "folder", "line feed"]
    seen.clear()
    campaign.note("more")
    assert seen == ["write", "fsync", "line feed"]


def test_what_is_taken_off_is_off_the_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign, seen = create(tmp_path / "a.jsonl"), []
    for name in ("write", "fsync", "ftruncate"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, name=name, real=real: (seen.append(name), real(*given))[1])
    failing(monkeypatch, "write", 2, OSError(errno.ENOSPC, "full"))  # the line feed, when the record is on the disk
    with pytest.raises(pw.StorageUnavailable, match="full"):
        campaign.note("lost")
    assert seen == ["write", "fsync", "ftruncate", "fsync"]


def test_a_writer_locks_the_file_that_is_there_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, copy, real = tmp_path / "a.jsonl", tmp_path / "new", lines._taken
    campaign = create(path)
    copy.write_bytes(path.read_bytes())

    def taken(file: int, *, shared: bool = False) -> bool:
        if copy.exists():
            copy.replace(path)  # as a migration does, after the file was opened and before it is locked
        return real(file, shared=shared)

    monkeypatch.setattr(lines, "_taken", taken)
    campaign.note("one")
    assert notes(path) == ["one"]


@pytest.mark.parametrize("fails", [False, True])
def test_a_reader_waits_until_the_disk_has_a_record_or_it_is_taken_off(
    fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    campaign, real = create(path), os.fsync
    with ThreadPoolExecutor(1) as pool:
        readers = []

        def fsync(file: int) -> None:
            monkeypatch.undo()
            readers.append(pool.submit(notes, path))
            with pytest.raises(TimeoutError):
                readers[0].result(0.2)
            if fails:
                raise OSError(errno.EIO, "broken")
            real(file)

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(pw.StorageUnavailable, match="broken") if fails else nullcontext():
            campaign.note("new")
        assert readers[0].result(10) == ([] if fails else ["new"])


def died(path: Path) -> None:
    """What a writer leaves that was killed before the line feed."""
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))


def test_the_record_of_a_writer_that_died_stays_while_another_one_thinks(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    create(path).note("last")
    died(path)
    campaign = pw.Campaign.open(path)
    assert len(campaign.records) == 2
    with Lines(path).writing():
        assert len(campaign.records) == len(Lines(path).read()) == 2


def test_the_record_of_a_writer_that_died_stays_while_another_one_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    create(path).note("last")
    died(path)
    campaign = pw.Campaign.open(path)
    with ThreadPoolExecutor(1) as pool, Lines(path)._locked(new=False) as file:
        reader = pool.submit(lambda: [record.kind for record in campaign.records])
        with pytest.raises(TimeoutError):
            reader.result(0.2)
        record = Lines(path, held=file).read()[-1]
        Lines(path, held=file)._extend(file, record.encode(), 2)
        os.ftruncate(file, os.fstat(file).st_size - 1)  # a third record, under way
        assert reader.result(10) == ["created", "note"]
    died(path)
    monkeypatch.setattr(lines, "PATIENCE", 0.1)
    with (
        Lines(path)._locked(new=False),
        pytest.raises(pw.StorageUnavailable, match=r"a.jsonl has been locked for 0.1 s; try again"),
    ):
        Lines(path).read()


def test_a_reader_does_not_wait_for_what_can_be_no_record(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    create(path)
    path.write_bytes(path.read_bytes() + b'{"seq":2,"kind":"no')
    with Lines(path)._locked(new=False):
        assert len(Lines(path).read()) == 1


def test_no_reader_takes_half_of_one_end_and_half_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real, looks = tmp_path / "a.jsonl", Path.read_bytes, []
    create(path)
    whole = path.read_bytes()
    torn = b'{"seq":2,"kind":"no'
    pw.Campaign.open(path).note("after the torn end was put aside, while somebody read")

    def slowly(own: Path) -> bytes:
        looks.append(own)
        data = real(own)
        return whole + torn + data[len(whole + torn) :] if len(looks) == 1 else data

    monkeypatch.setattr(Path, "read_bytes", slowly)
    assert notes(path) == ["after the torn end was put aside, while somebody read"]


# What is cut.


def test_every_cut_is_read_whole_or_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    campaign = create(path)
    for text in ("one", "Größe", "three"):
        campaign.note(text)
    data = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    told = 0
    for cut in range(1, len(data)):
        path.write_bytes(data[:cut])
        before = sum(end - 1 <= cut for end in ends) - 1  # a record lacks nothing but its line feed, or not even that
        whole = cut in ends or cut + 1 in ends
        if whole and cut >= ends[0]:
            assert len(Lines(path).read()) == before
        else:
            with pytest.warns(pw.TornJournal, match=r"a.jsonl ends with \d+ bytes that are not a record"):
                assert len(Lines(path).read()) == max(before, 0)
            told += 1
    assert told > 0.9 * len(data)


def test_a_record_without_its_line_feed_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    campaign = create(path)
    campaign.note("last")
    whole = path.read_bytes()
    for end in (b"", b"\0", b"\0\0\0"):  # a crash may leave zeros where the line feed was
        path.write_bytes(whole.removesuffix(b"\n") + end)
        assert notes(path) == ["last"]
        campaign = pw.Campaign.open(path)
        campaign.note("next")
        assert notes(path) == ["last", "next"]
        assert path.read_bytes().startswith(whole)


def test_a_torn_end_is_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    campaign = create(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"seq":2,"kind":"no')
    with pytest.warns(pw.TornJournal, match="a.jsonl ends with 19 bytes that are not a record"):
        assert notes(path) == []
    with pytest.warns(pw.TornJournal) as told:
        campaign.note("after the crash")
    sentence = r"ended with 19 bytes that are not a record; they are now in a.jsonl.torn-\w+, and what is written"
    assert re.search(sentence, str(told[-1].message))
    assert path.read_bytes().startswith(whole)
    assert notes(path) == ["after the crash"]
    (beside,) = tmp_path.glob("a.jsonl.torn-*")
    assert beside.read_bytes() == b'{"seq":2,"kind":"no'


def test_a_torn_end_that_cannot_be_kept_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    campaign = create(path)
    path.write_bytes(path.read_bytes() + b"{half")
    failing(monkeypatch, "fsync", 1, OSError(errno.ENOSPC, "full"))
    with pytest.warns(pw.TornJournal), pytest.raises(pw.StorageUnavailable, match="full"):
        campaign.note("no room")
    assert path.read_bytes().endswith(b"\n{half")
    assert list(tmp_path.iterdir()) == [path]


def test_a_copy_may_begin_where_only_the_first_line_of_one_is(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    create(path).note("kept")
    first, *records = path.read_text().splitlines(keepends=True)
    copy.write_text(first)
    Lines(copy).begin([record.rstrip("\n") for record in records])
    assert copy.read_bytes() == path.read_bytes()
    with pytest.raises(pw.InvalidCampaign, match="holds a campaign already"):
        Lines(copy).begin([records[0].rstrip("\n")])
    assert copy.read_bytes() == path.read_bytes()


def test_a_campaign_whose_creation_was_cut_short_is_created_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    create(path)
    path.write_bytes(path.read_bytes()[:20])
    create(path)
    assert len(pw.Campaign.open(path).records) == 1


@pytest.mark.parametrize("text", ["minutes of a meeting", '{"a": 1}', "[]", "[" * 100_000, '{"schema": 1e999}'])
def test_a_foreign_file_of_one_line_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    for action in (pw.Campaign.open, create, lambda place: create(Memory()).export(place)):
        with pytest.raises(pw.InvalidCampaign, match=r"a.jsonl (is not a campaign|names the schema inf)"):
            action(path)
    assert path.read_text() == text


@pytest.mark.parametrize("schema", ["0", "-3", "true", "1.0", "null", '"1"', "1" + 60 * "0"])
def test_a_schema_that_never_was(schema: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    create(path)
    path.write_text(path.read_text().replace('"schema": 1}', f'"schema": {schema}}}'))
    with pytest.raises(pw.InvalidCampaign, match=r"a.jsonl (names the schema .* which never was|has schema 1000)"):
        pw.Campaign.open(path)


def test_the_command_line_tells_of_a_torn_end_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    create(path)
    path.write_bytes(path.read_bytes() + b"{half")
    done = subprocess.run([sys.executable, "-m", "probewise", "status", path], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.splitlines()[0].startswith(f"Warning: {path} ends with 5 bytes that are not a record")
    assert len(done.stderr.splitlines()) == 1


def test_a_new_file_is_its_owners_only(tmp_path: Path) -> None:
    campaign = create(tmp_path / "a.jsonl")
    campaign.export(tmp_path / "copy.jsonl")
    assert [stat.S_IMODE(own.stat().st_mode) for own in tmp_path.iterdir()] == [0o600, 0o600]


# What others do to the file.


def test_a_journal_that_was_set_back_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    campaign = create(path)
    old = path.read_bytes()
    campaign.note("one")
    newer = path.read_bytes()
    for state in (old, old + newer[len(old) :].replace(b"one", b"two"), b""):
        path.write_bytes(state)
        for action in (campaign.status, lambda: campaign.note("more")):
            with pytest.raises(pw.InvalidCampaign, match=r"no longer holds record 2 as it was read before"):
                action()
        assert path.read_bytes() == state
    path.unlink()
    with pytest.raises(pw.InvalidCampaign, match="no longer holds record 2"):
        campaign.note("more")
    assert not path.exists()
    path.write_bytes(newer)
    campaign.note("back again")


class Swallowing(Memory):
    """A storage with a trigger that removes what is written."""

    def append(self, line: str, *, after: int) -> None:
        if '"kind":"note"' not in line:
            Memory.append(self, line, after=after)


def test_a_record_that_vanishes_is_noticed() -> None:
    campaign = create(Swallowing())
    with pytest.raises(pw.InvalidCampaign, match=r"record 2 was written to a journal in memory and is not there: some"):
        campaign.note("gone")


class Failing(Memory):
    """A storage that takes all records but the decision."""

    def append(self, line: str, *, after: int) -> None:
        if '"kind":"decided"' in line:
            raise pw.StorageUnavailable("it cannot be written.")
        Memory.append(self, line, after=after)


def test_what_is_stored_is_not_reported_as_failed() -> None:
    """The outcomes are on record, but the answer to which they lead is not."""
    campaign = pw.Campaign.create(Failing(), pw.Problem(np.eye(2), sigma=0.01), algorithm=pw.Uniform(), seed=0)

    def measure() -> None:
        while len(rows := campaign.ask()):
            campaign.tell({row: float(probe) for row, probe in zip(rows["measurement"], rows["probe"], strict=True)})

    with pytest.raises(pw.StorageUnavailable, match="this is recorded, but not what it does to the answer: it cannot"):
        measure()
    assert campaign.ledger.waiting is None
    assert campaign.trail.answer == (1,)


@pytest.mark.parametrize("author", ["Ren\udce9", 5])
def test_an_author_that_is_no_text(author: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(pw.InvalidCampaign, match=r"(not UTF-8 text|a name in text, got 5); nothing was written"):
        create(path, author=author)
    assert not path.exists()
    create(path)
    before = path.read_bytes()
    with pytest.raises(pw.InvalidCampaign, match="nothing was written"):
        pw.Campaign.open(path, author=author).note("text")
    with pytest.raises(pw.InvalidCampaign, match=r"'caf\\udce9' holds bytes|\"caf.udce9\"|caf.*not UTF-8 text"):
        pw.Campaign.open(path).note("caf\udce9")
    assert path.read_bytes() == before


# Copies.


def test_an_export_takes_one_write_however_many_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = create(Memory())
    for number in range(50):
        campaign.note(str(number))
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(file), real(file)))
    campaign.export(tmp_path / "copy.jsonl")
    assert len(synced) == 3  # the draft, its name, and its last name
    assert [record.line for record in pw.Campaign.open(tmp_path / "copy.jsonl").records] == [
        record.line for record in campaign.records
    ]
    assert [own.name for own in tmp_path.iterdir()] == ["copy.jsonl"]
    for _ in range(2):
        with pytest.raises(pw.InvalidCampaign, match=r"holds a campaign already; choose another name for the copy"):
            campaign.export(tmp_path / "copy.jsonl")
        create(tmp_path / "other.jsonl")
        died(tmp_path / "other.jsonl")
        (tmp_path / "other.jsonl").replace(tmp_path / "copy.jsonl")  # one record, without its line feed
    with pytest.raises(pw.InvalidCampaign, match="there is no folder"):
        campaign.export(tmp_path / "lost" / "copy.jsonl")


@pytest.mark.parametrize("number", [1, 2])
def test_an_export_that_fails_leaves_nothing(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = create(Memory())
    failing(monkeypatch, "fsync", number, OSError(errno.ENOSPC, "full"))
    with pytest.raises(pw.StorageUnavailable, match=r"copy.jsonl cannot be written \(full\); make room"):
        campaign.export(tmp_path / "copy.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_held_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    campaign = create(path)
    monkeypatch.setattr(lines, "PATIENCE", 0.1)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with Lines(path)._locked(new=False):
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    start = time.monotonic()
    with pytest.raises(pw.StorageUnavailable, match=r"a.jsonl has been locked for 0.1 s; try again"):
        campaign.note("in vain")
    done.set()
    thread.join()
    assert time.monotonic() - start < 5
    campaign.note("now")
