"""verify and backup: what a digest that was kept tells, and copies that are whole while others write."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import probewise as pw
from probewise.campaign import backup, storage_at, verify
from probewise.campaign.journal import lines, sqlite
from probewise.cli import main

PROBLEM = pw.Problem(np.eye(2), probe_names=["a", "b"])
NAMES = ("a.campaign", "a.jsonl")


def create(place: str | Path, notes: int = 0) -> pw.Campaign:
    campaign = pw.Campaign.create(place, PROBLEM, seed=0)
    for number in range(notes):
        campaign.note(f"note {number}")
    return campaign


def run(*parts: object) -> Result:
    return CliRunner().invoke(main, [*map(str, parts)], prog_name="probewise")


def cut(path: Path, keep: int) -> None:
    """The last records taken off by somebody who knows the layout."""
    if path.suffix == ".jsonl":
        path.write_text("".join(path.read_text().splitlines(keepends=True)[: keep + 1]))
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM probewise_journal WHERE seq > ?", (keep,))
        connection.execute(f"PRAGMA user_version={keep}")


@pytest.mark.parametrize("name", NAMES)
def test_a_digest_that_was_kept_tells_what_the_file_cannot(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    digests = [record.digest for record in create(path, 4).records]
    last = verify(path, digests[-1])
    assert (last.records, last.digest, last.at, last.sound) == (5, digests[-1], 5, True)
    assert "The last one is that which was kept: nothing is missing." in last.sentence
    earlier = verify(path, digests[1])
    assert (earlier.at, earlier.sound) == (2, True)
    assert (
        "is of record 2: up to there nothing is missing or changed, and the 3 after it came later" in earlier.sentence
    )
    assert "and the one after it came later" in verify(path, digests[3]).sentence
    cut(path, 3)
    assert len(pw.Campaign.open(path).records) == 3  # the file alone tells nothing
    assert verify(path).digest == digests[2]
    lost = verify(path, digests[-1])
    assert (lost.at, lost.sound) == (None, False)
    assert "missing or were changed" in lost.sentence


def test_the_first_letters_of_a_digest_will_do(tmp_path: Path) -> None:
    campaign = create(tmp_path / "a.campaign", 2)
    digest = campaign.records[1].digest
    typed = f"{digest[:8].upper()} {digest[8:16]}"
    assert verify(tmp_path / "a.campaign", typed).at == 2
    for bad in ("", digest[:9], digest + "0", "x" * 64):
        with pytest.raises(
            pw.InvalidCampaign, match="a digest is 64 of the letters 0 to 9 and a to f, or its first 10"
        ):
            verify(tmp_path / "a.campaign", bad)


@pytest.mark.parametrize("name", NAMES)
def test_the_command_says_so_too(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    campaign = create(path, 2)
    digest = campaign.records[-1].digest
    plain = run("verify", path)
    assert plain.exit_code == 0
    assert "3 records, and every digest fits." in plain.stdout
    assert plain.stdout.endswith(f"Digest of the last: {digest}\n")
    campaign.note("later")
    there = run("verify", path, "--digest", digest, "--json")
    assert there.exit_code == 0
    found = json.loads(there.stdout)
    assert [found[key] for key in ("records", "item", "kept", "at")] == [4, None, digest, 3]
    gone = run("verify", path, "--digest", "0" * 64)
    assert gone.exit_code == 1
    assert "but none is 000" in " ".join(gone.stdout.split())
    assert run("verify", tmp_path).exit_code == 2
    assert run("verify", tmp_path / f"none-{name}").exit_code == 2
    assert run("verify", path, "--digest", "no").exit_code == 2


def test_a_changed_record_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    create(path, 3)
    path.write_text(path.read_text().replace("note 1", "note 7"))
    result = run("verify", path)
    assert result.exit_code == 2
    assert "record 3 of the journal, or one before it, was changed after it was written" in result.stderr


def test_a_report_prints_the_digest_that_verify_takes(tmp_path: Path) -> None:
    path, report = tmp_path / "a.campaign", tmp_path / "report.html"
    create(path, 2).report(report)
    digest = verify(path).digest
    assert f"<code>{digest}</code>" in report.read_text()
    assert f"probewise verify a.campaign --digest {digest[:16]}…" in report.read_text()
    assert verify(path, digest).at == 3


# Back-ups.


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", ["b.campaign", "b.jsonl"])
def test_a_back_up_is_the_same_campaign(source: str, target: str, tmp_path: Path) -> None:
    campaign = create(tmp_path / source, 3)
    before = os.umask(0)
    try:
        result = run("backup", tmp_path / source, tmp_path / target, "--json")
    finally:
        os.umask(before)
    assert json.loads(result.stdout) == {
        "records": 4,
        "digest": campaign.records[-1].digest,
        "out": str(tmp_path / target),
    }
    assert pw.Campaign.open(tmp_path / target).records == campaign.records
    assert {path.name for path in tmp_path.iterdir()} == {source, target}
    assert stat.S_IMODE((tmp_path / target).stat().st_mode) == 0o600
    pw.Campaign.open(tmp_path / target).note("it goes on")


def test_a_back_up_gets_its_name_on_a_disk_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = pw.Campaign.create(tmp_path / "a.jsonl", pw.Problem(np.eye(2)), seed=0)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert backup(tmp_path / "a.jsonl", tmp_path / "b.jsonl") == campaign.records[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]
    assert pw.Campaign.open(tmp_path / "b.jsonl").records == campaign.records
    with pytest.raises(pw.InvalidCampaign, match="a back-up is a file, and this is a URL of a database"):
        backup(tmp_path / "a.jsonl", "postgresql://host/base#other")


def test_a_campaign_on_a_server_is_backed_up_into_files(server: str, tmp_path: Path) -> None:
    campaign = create(f"{server}#backup", 3)
    for name in ("b.campaign", "b.jsonl"):
        assert backup(f"{server}#backup", tmp_path / name).digest == campaign.records[-1].digest
        assert pw.Campaign.open(tmp_path / name).records == campaign.records
    with pytest.raises(pw.InvalidCampaign, match="a back-up is a file, and this is a URL"):
        backup(tmp_path / "b.jsonl", f"{server}#other")
    assert verify(f"{server}#backup", campaign.records[0].digest).at == 1


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_overwritten(name: str, tmp_path: Path) -> None:
    create(tmp_path / name, 1)
    for target in ("there", "link"):
        (tmp_path / "there").write_text("mine")
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to("nowhere")
        with pytest.raises(pw.InvalidCampaign, match=f"{target} is there already and is never overwritten"):
            backup(tmp_path / name, tmp_path / target)
    assert (tmp_path / "there").read_text() == "mine"
    with pytest.raises(pw.InvalidCampaign, match=r"there is no folder .*lost"):
        backup(tmp_path / name, tmp_path / "lost" / "b.campaign")
    with pytest.raises(pw.InvalidCampaign, match="there is no campaign in"):
        backup(tmp_path / f"none-{name}", tmp_path / "b.campaign")
    assert {path.name for path in tmp_path.iterdir()} == {name, "there", "link"}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_taken_in_the_meantime_is_not_overwritten(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(tmp_path / name, 1)
    begin = sqlite.File.begin

    def slow(self: sqlite.File, given: list[str]) -> None:
        begin(self, given)
        (tmp_path / "b.campaign").write_text("mine")

    monkeypatch.setattr(sqlite.File, "begin", slow)
    with pytest.raises(pw.InvalidCampaign, match="is there already and is never overwritten"):
        backup(tmp_path / name, tmp_path / "b.campaign")
    assert (tmp_path / "b.campaign").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {name, "b.campaign"}


@pytest.mark.parametrize("target", ["b.campaign", "b.jsonl"])
def test_a_back_up_that_is_not_what_was_written_gets_no_name(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(tmp_path / "a.campaign", 3)
    kind = lines.Lines if target.endswith(".jsonl") else sqlite.File
    begin = kind.begin
    monkeypatch.setattr(kind, "begin", lambda self, given: begin(self, [*given][:-1]))
    with pytest.raises(pw.InvalidCampaign, match="is not what was written; check the disk"):
        backup(tmp_path / "a.campaign", tmp_path / target)
    assert {path.name for path in tmp_path.iterdir()} == {"a.campaign"}


@pytest.mark.parametrize("name", NAMES)
def test_back_ups_are_whole_while_others_write(name: str, tmp_path: Path) -> None:
    path, stop = tmp_path / name, threading.Event()
    create(path)

    def write() -> None:
        campaign = pw.Campaign.open(path)
        while not stop.is_set():
            campaign.note("x" * 2000)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for thread in writers:
        thread.start()
    try:
        for number in range(8):
            known = len(storage_at(path).read())
            copy = tmp_path / f"{number}{path.suffix}"
            last = backup(path, copy)
            assert last.seq >= known
            assert verify(copy, last.digest).at == last.seq
    finally:
        stop.set()
        for thread in writers:
            thread.join()
    assert verify(path, last.digest).at == last.seq


def test_a_place_without_room_is_a_sentence(tmp_path: Path) -> None:
    create(tmp_path / "a.campaign", 3)
    code = "import resource, signal, sys\nfrom probewise.cli import main\n"
    code += (
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\nmain()"
    )
    for name in ("b.campaign", "b.jsonl"):
        command = [sys.executable, "-c", code, "backup", str(tmp_path / "a.campaign"), str(tmp_path / name)]
        sources = {**os.environ, "PYTHONPATH": str(Path(pw.__file__).parents[1])}
        done = subprocess.run(command, capture_output=True, text=True, env=sources)
        assert done.returncode == 2, shlex.join(command)
        assert done.stderr.startswith("Error: ")
        assert name in done.stderr
        assert done.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"a.campaign"}
