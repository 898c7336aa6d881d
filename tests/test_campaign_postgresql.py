"""A PostgreSQL server that is killed, hangs or is locked: a sentence soon, and nothing acknowledged is lost."""

from __future__ import annotations

import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

import numpy as np
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.campaign import storage_at
from probewise.campaign.journal.addresses import Address
from probewise.cli import main

psycopg = pytest.importorskip("psycopg")

from _postgres import Postgres  # noqa: E402

from probewise.campaign.journal import postgresql  # noqa: E402

PROBLEM = pw.Problem(np.eye(2), probe_names=["a", "b"])


def create(url: str) -> pw.Campaign:
    return pw.Campaign.create(url, PROBLEM, seed=0)


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def own() -> Iterator[Postgres]:
    """A server for one test."""
    try:
        server = Postgres("-c", "fsync=off", auth="scram-sha-256", password="tré@s/secret")
    except RuntimeError as error:
        pytest.skip(str(error))
    yield server
    server.close()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def password(server: Postgres) -> str:
    return server.url.replace("lab@", "lab:tr%C3%A9%40s%2Fsecret@")


# Servers that do not answer.


@pytest.mark.parametrize("kind", [socket.AF_INET, socket.AF_UNIX])
def test_a_socket_that_never_answers(kind: socket.AddressFamily, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "WAIT", 2)
    monkeypatch.setitem(postgresql._LINE, "connect_timeout", 2)
    with TemporaryDirectory(dir="/tmp") as folder, socket.socket(kind) as deaf:  # a short name
        deaf.bind(("127.0.0.1", 0) if kind == socket.AF_INET else f"{folder}/.s.PGSQL.5432")
        deaf.listen()
        where = f"127.0.0.1:{deaf.getsockname()[1]}/db" if kind == socket.AF_INET else f"/db?host={folder}"
        with (
            within(10),
            pytest.raises(pw.StorageUnavailable, match=r"gave no answer within 2 s|timeout expired.*try again"),
        ):
            pw.Campaign.open(f"postgresql://lab@{where}")


def test_the_times_add_up_to_less_than_fifteen_seconds() -> None:
    """To wait for the lock, for an answer, or for a commit and then for another connection or for the lock."""
    assert max(postgresql.WAIT, postgresql.ANSWER, postgresql.COMMIT + postgresql.WAIT) + 1 < 15
    assert postgresql._LINE["connect_timeout"] == postgresql.WAIT


def test_a_server_that_stops_in_the_middle(own: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the patience of every day; connected or not."""
    url = password(own)
    campaign = create(f"{url}#a")
    with storage_at(f"{url}#a").writing() as alone:
        own.signal(signal.SIGSTOP)
        try:
            with within(15), pytest.raises(pw.StorageUnavailable, match="gave no answer within 12 s; try again"):
                alone.read()
            with within(15), pytest.raises(pw.StorageUnavailable, match=r"no answer within 8 s|timeout expired"):
                campaign.note("nobody hears")
        finally:
            own.signal(signal.SIGCONT)
    campaign.note("heard")
    assert len(pw.Campaign.open(f"{url}#a").records) == 2


def test_a_commit_whose_answer_is_lost_is_looked_up(own: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{password(own)}#a"
    create(url)
    store = storage_at(url)
    with store.writing() as alone:
        lost = alone.held  # type: ignore[attr-defined]
        execute_ = lost.execute

        def cut(statement: str, *values: object) -> object:
            done = execute_(statement, *values)
            if statement == "COMMIT":
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return done

        monkeypatch.setattr(lost, "execute", cut)
        alone.append('{"mine":1}', after=1)
    assert store.read(1) == ['{"mine":1}']
    with store.writing() as alone:
        alone.held.close()  # type: ignore[attr-defined]
        with pytest.raises(pw.StorageUnavailable, match="cannot be used now"):
            alone.read()
    with store.writing() as alone:
        lost = alone.held  # type: ignore[attr-defined]

        def gone(statement: str, *values: object) -> object:
            if statement == "COMMIT":
                own.kill()
            return type(lost).execute(lost, statement, *values)

        monkeypatch.setattr(lost, "execute", gone)
        with pytest.raises(pw.StorageUnavailable, match="while record 3 was being stored, and it is not known whether"):
            alone.append('{"mine":2}', after=2)
    own.start()
    assert store.read(1) == ['{"mine":1}']


def test_a_record_whose_answer_is_lost_is_written_once(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is cut after the commit: the new line finds the record, and the writer goes on."""
    campaign = create(f"{server}#cut")
    execute_ = psycopg.Connection.execute

    def cut(self: psycopg.Connection, statement: str, *given: object) -> object:
        done = execute_(self, statement, *given)
        if statement == "COMMIT":
            self.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return done

    monkeypatch.setattr(psycopg.Connection, "execute", cut)
    campaign.note("once")
    monkeypatch.undo()
    assert len(pw.Campaign.open(f"{server}#cut").records) == 2


def test_a_server_killed_twenty_times(own: Postgres) -> None:
    """While two writers write: what was acknowledged is there once, and every failure is a sentence within 15 s."""
    url = f"{password(own)}#a"
    create(url)
    acknowledged: list[str] = []
    doubtful: list[str] = []
    faults: list[BaseException] = []
    slowest, ended = [0.0], threading.Event()

    def write(name: str) -> None:
        campaign, number = None, 0
        while not ended.is_set():
            number += 1
            text, start = f"{name} {number}", time.monotonic()
            try:
                campaign = campaign or pw.Campaign.open(url)
                campaign.note(text)
                acknowledged.append(text)
            except pw.StorageUnavailable as error:
                doubtful.extend([text] * ("not known" in str(error)))
                time.sleep(0.02)
            except BaseException as error:
                faults.append(error)
                return
            slowest[0] = max(slowest[0], time.monotonic() - start)

    writers = [threading.Thread(target=write, args=(name,)) for name in "xy"]
    for thread in writers:
        thread.start()
    for number in range(20):
        before = len(acknowledged)
        while len(acknowledged) < before + 2 and not faults:
            time.sleep(0.005)
        time.sleep(0.003 * (number % 7))
        own.kill()
        own.start()
    ended.set()
    for thread in writers:
        thread.join()
    assert faults == []
    assert slowest[0] < 15
    notes = [record.body["text"] for record in pw.Campaign.open(url).records if record.kind == "note"]
    assert len(notes) == len(set(notes))
    assert set(acknowledged) <= set(notes) <= {*acknowledged, *doubtful}


# Locks that are held.


def test_a_lock_that_is_held(server: str) -> None:
    campaign = create(f"{server}#held")
    with psycopg.connect(server) as other:
        other.execute("LOCK TABLE probewise_journal")  # and the session stays idle in its transaction
        with (
            within(15),
            pytest.raises(pw.StorageUnavailable, match="another writer has been at work for 8 s; try again"),
        ):
            campaign.note("waits")
    campaign.note("passes")
    with storage_at(f"{server}#held").writing():
        assert len(pw.Campaign.open(f"{server}#held").records) == 2
        with (
            within(15),
            pytest.raises(pw.StorageUnavailable, match="another writer has been at work for 8 s; try again"),
        ):
            campaign.note("waits")
        create(f"{server}#another")  # campaigns do not wait for each other
    campaign.note("passes")
    assert len(campaign.records) == 3


def test_a_writer_that_sleeps_is_put_out(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer that went to sleep while it was alone does not keep the others out for ever."""
    campaign = create(f"{server}#sleeper")
    begin = postgresql._BEGIN
    monkeypatch.setattr(postgresql, "_BEGIN", begin.replace(f"'{postgresql._THINKING}s'", "'300ms'"))
    with storage_at(f"{server}#sleeper").writing() as sleeper:
        campaign.note("in the meantime")
        with pytest.raises(pw.StorageUnavailable, match="cannot be used now"):
            sleeper.append("{}", after=1)
    assert len(campaign.records) == 2


# What is refused.

SENTENCES: dict[str, tuple[Callable[[str], str], str]] = {
    "a wrong password": (lambda url: url.replace("%40s", "%40z"), "check the name and the password"),
    "no password": (lambda url: re.sub(":tr[^@]*@", "@", url), "check the name and the password"),
    "another user": (lambda url: url.replace("lab:", "bal:"), "check the name and the password"),
    "another database": (lambda url: url.replace("/postgres?", "/other?"), "check the name of the database"),
    "an unknown option": (lambda url: f"{url}&pasword=x", "is not the URL of a database"),
    "a name that nobody knows": (lambda url: "postgresql://lab@nowhere.invalid/db", "check the address"),
    "nobody there": (lambda url: "postgresql://lab@127.0.0.1:1/db", "try again"),
}


def test_refusals_say_what_to_do(own: Postgres) -> None:
    url = password(own)
    for kind, (changed, advice) in SENTENCES.items():
        with pytest.raises(pw.ProbewiseError) as raised:
            pw.Campaign.open(changed(url))
        assert advice in str(raised.value), kind
        assert "secret" not in str(raised.value), kind


def test_a_schema_of_others_is_not_written_into(server: str) -> None:
    execute(server, "CREATE DATABASE theirs")
    theirs = server.replace("/postgres?", "/theirs?")
    execute(theirs, "CREATE TABLE compounds (name TEXT)")
    with pytest.raises(
        pw.InvalidCampaign, match=r"it is a database with other tables \('compounds'\), and nothing was"
    ):
        create(f"{theirs}#a")
    with pytest.raises(pw.InvalidCampaign, match="there is no campaign in"):
        pw.Campaign.open(f"{theirs}#a")
    with psycopg.connect(theirs) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (1,)
    execute(theirs, "CREATE SCHEMA lab")
    mine = f"{theirs}&options=-csearch_path%3Dlab#a"
    create(mine).note("beside them")
    assert len(pw.Campaign.open(mine).records) == 2
    execute(theirs, "CREATE SCHEMA desk")
    create(f"{theirs}&options=-csearch_path%3Ddesk,lab#b")  # where the tables are, though desk comes first
    assert len(pw.Campaign.open(mine.replace("#a", "#b")).records) == 1


FORGED = {
    "UPDATE probewise_schema SET version = 0": "names the schema 0, which never was",
    "INSERT INTO probewise_schema VALUES (1)": "2 rows of the table probewise_schema name a schema",
    "DROP TABLE probewise_journal": "its tables are not those of a campaign",
    "DELETE FROM probewise_journal WHERE seq = 2": "after record 1 comes record 3",
    "ALTER TABLE probewise_journal ALTER record TYPE bytea USING record::bytea": "record 1 is not text but bytes",
}


@pytest.mark.parametrize("statement", FORGED)
def test_a_forged_table_is_a_sentence(statement: str, server: str) -> None:
    execute(server, "DROP DATABASE IF EXISTS forged", "CREATE DATABASE forged")
    url = server.replace("/postgres?", "/forged?")
    campaign = create(f"{url}#a")
    campaign.note("one")
    campaign.note("two")
    execute(url, statement)
    with pytest.raises(pw.InvalidCampaign, match=FORGED[statement]):
        pw.Campaign.open(f"{url}#a")


TRIGGERS = {
    "before": ("BEFORE INSERT", "RETURN NULL"),
    "after": (
        "AFTER INSERT",
        "DELETE FROM probewise_journal WHERE seq = NEW.seq AND campaign = NEW.campaign; RETURN NEW",
    ),
}


@pytest.mark.parametrize("kind", TRIGGERS)
def test_a_trigger_cannot_make_a_record_vanish(kind: str, server: str) -> None:
    when, what = TRIGGERS[kind]
    url = f"{server}#trigger-{kind}"
    campaign = create(url)
    function = f"CREATE OR REPLACE FUNCTION planted() RETURNS trigger AS 'BEGIN {what}; END' LANGUAGE plpgsql"
    only = f"WHEN (NEW.campaign = 'trigger-{kind}')"
    execute(
        server,
        function,
        f"CREATE TRIGGER planted {when} ON probewise_journal FOR EACH ROW {only} EXECUTE FUNCTION planted()",
    )
    try:
        with pytest.raises(pw.InvalidCampaign, match=r"record 2 was written to .* and is not there"):
            campaign.note("gone?")
    finally:
        execute(server, "DROP TRIGGER planted ON probewise_journal")
    campaign.note("here")
    assert len(pw.Campaign.open(url).records) == 2


# Addresses.

SECRET = "tr0ub4dor"
URLS = {
    f"postgresql://lab:{SECRET}@server/db#a": "postgresql://lab@server/db#a",
    f"postgresql+psycopg://lab:{SECRET}@server:99/db": "postgresql://lab@server:99/db#campaign",
    f"postgresql://lab@server/db?password={SECRET}&sslmode=require#a": "postgresql://lab@server/db?sslmode=require#a",
    f"postgresql://lab@server/db?PassWord={SECRET}": "postgresql://lab@server/db#campaign",
    f"postgresql://lab@server/db?pass%77ord={SECRET}": "postgresql://lab@server/db#campaign",
    f"postgresql://lab@server/db?sslpassword={SECRET}": "postgresql://lab@server/db#campaign",
    f"postgresql://lab:%2F{SECRET}%40@server/db": "postgresql://lab@server/db#campaign",
    "postgresql://lab@server/db#a@b": "postgresql://lab@server/db#a@b",
    "postgresql:///db?host=/tmp": "postgresql:///db?host=/tmp#campaign",
}
AMBIGUOUS = [
    f"postgresql://lab:a/{SECRET}@server/db",
    f"postgresql://lab:a@{SECRET}@server/db",
    f"postgresql://lab:a?{SECRET}@server/db",
    f"postgresql://lab:a?{SECRET}=@server/db",
    f"postgresql://lab:a#{SECRET}@server/db",
    f"postgresql://lab:a@b/{SECRET}@server/db",
    f"postgresql://lab:a@b#{SECRET}@server/db",
    f"postgresql://lab:12/{SECRET}@server/db",
    f"mysql://lab:{SECRET}@server/db",
    f"lab:{SECRET}@://server",
]


@pytest.mark.parametrize("url", URLS)
def test_a_name_is_the_url_without_secrets(url: str) -> None:
    address = Address.read(url)
    assert address.shown == URLS[url]
    assert Address.read(address.shown).shown == address.shown
    assert SECRET not in repr(storage_at(url) if "ass%77" not in url and "PassW" not in url else address)
    for own in re.findall(rf"(?:%2F)?{SECRET}(?:%40)?", url):
        assert address.silent(f"what {own} is, or {unquote(own)}") == "what … is, or …"


@pytest.mark.parametrize("url", AMBIGUOUS)
def test_a_url_that_may_show_a_password_is_refused_unshown(url: str) -> None:
    with pytest.raises(pw.InvalidCampaign, match="URL of a database") as raised:
        storage_at(url)
    assert SECRET not in str(raised.value)


def test_no_password_is_printed_anywhere(own: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "probes.csv").write_text("id,x,y\na,1,0\nb,0,1\n")
    hidden = f"{own.url}&password=tr%C3%A9%40s%2Fsecret#lab"
    said = []
    for line in (
        "new {} --probes probes.csv --items probes.csv --sigma 1",
        "new {} --probes probes.csv --items probes.csv --sigma 1",
        "ask {} --out ask.csv", "status {}", "status {} --json", "report {} --out report.html", "note {} hello",
        "ask {}", "tell {} nothing.csv", "export {} --out rows.csv", "status {}x",
    ):  # fmt: skip
        result = CliRunner().invoke(main, [part.replace("{}", hidden) for part in line.split()])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        said.append(result.output + result.stderr)
    said += [path.read_text() for path in tmp_path.iterdir()] + [
        repr(pw.Campaign.open(hidden)),
        repr(storage_at(hidden)),
    ]
    assert not [text for text in said if "secret" in text]
    next_ = re.search(r"Next: probewise ask '(.*)' --out", said[0])
    assert next_ is not None
    assert next_[1] == f"{own.url}#lab"


def test_no_driver_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "probewise.campaign.journal.postgresql")
    with pytest.raises(pw.MissingExtra, match=r"needs psycopg; install probewise\[postgresql\]"):
        storage_at("postgresql://lab@server/db")
