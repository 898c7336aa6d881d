"""Running a server: it ends without losing what it acknowledged, gives up what takes too long, says what it does."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
from _serving import Serving, Visitor

import probewise as pw
from probewise.server.accounts import Accounts
from probewise.server.app import app
from probewise.server.config import STATE, Config, Limits
from probewise.server.site import _age
from probewise.server.workers import Busy, Workers

PROBLEM = pw.Problem([[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1]], sigma=1.0, probe_names=["a", "b", "c"])
API = "/api/v1/campaigns/a.campaign"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "lab").mkdir()
    pw.Campaign.create(tmp_path / "lab" / "a.campaign", PROBLEM, seed=0, author="ada")
    return tmp_path / "lab"


def children(pid: int) -> list[int]:
    return [int(own) for own in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_server_that_ends_loses_nothing_that_it_acknowledged(lab: Path) -> None:
    serving = Serving(lab)
    said: list[str] = []

    def write(who: int) -> None:
        for number in range(1000):
            text = f"{who}-{number}"
            try:
                if Visitor(serving.url).json(f"{API}/note", {"text": text}).status != 200:
                    return
            except (OSError, http.client.HTTPException):
                return
            said.append(text)

    line = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=30)
    line.request("GET", f"{API}/events")
    stream = line.getresponse()
    writers = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for own in writers:
        own.start()
    while len(said) < 20:
        stream.readline()
    assert serving.stop() == 0
    for own in writers:
        own.join()
    assert b"event: stopping" in stream.read()  # those who watch are told
    line.close()
    notes = [own.body["text"] for own in pw.Campaign.open(lab / "a.campaign").records if own.kind == "note"]
    assert len(notes) == len(set(notes))
    assert set(said) <= set(notes)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_that_are_killed_are_started_again(lab: Path) -> None:
    serving = Serving(lab)
    assert serving.process is not None
    try:
        visitor, campaign = Visitor(serving.url), pw.Campaign.open(lab / "a.campaign")
        for number in range(3):
            assert visitor.json(f"{API}/note", {"text": f"{number}"}).status == 200
            for own in children(serving.process.pid):
                os.kill(own, signal.SIGKILL)
            assert visitor.get("/healthz").status == 200
            answers = [visitor.get(f"/c/a.campaign{page}").status for page in ("", "/measure", "/keep")]
            assert set(answers) <= {200, 503}
            for _ in range(3):
                if (last := visitor.json(f"{API}/ask", {}).status) == 200:
                    break
            assert last == 200
        assert [own.body["text"] for own in campaign.records if own.kind == "note"] == ["0", "1", "2"]
    finally:
        serving.stop()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_work_that_takes_too_long_is_given_up(lab: Path) -> None:
    async def work() -> None:
        others = children(os.getpid())
        workers = Workers(1.0, {"slow": 1})
        try:
            place = str(lab / "a.campaign")
            assert (await workers.do("slow", "status", place=place))["record"] == 1
            (process,) = set(children(os.getpid())).difference(others)
            os.kill(process, signal.SIGSTOP)  # as one that thinks for ever
            with pytest.raises(Busy, match="given up after 1 s; what was recorded is kept"):
                await workers.do("slow", "status", place=place)
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)
            assert workers.tally.ended == 1
            workers._seconds = 60.0  # the next one has to be loaded first
            assert (await workers.do("slow", "status", place=place))["record"] == 1
        finally:
            await workers.stop()

    asyncio.run(work())


def test_a_round_that_is_too_large_is_not_asked_for(lab: Path) -> None:
    serving = Serving(lab)
    try:
        answer = Visitor(serving.url).json(f"{API}/ask", {"max_round": 1})
        assert answer.status == 422
        assert "at most 1 rows are allowed" in answer.json["error"]
        assert len(pw.Campaign.open(lab / "a.campaign").records) == 1
    finally:
        serving.stop()


def test_a_request_that_does_not_arrive_is_given_up(lab: Path) -> None:
    asgi = app(Config(str(lab), limits=Limits(patience=0.1))).asgi
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        await asyncio.sleep(60)
        raise AssertionError("it waited too long")

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    head = [(b"host", b"127.0.0.1:8017"), (b"content-type", b"application/json"), (b"content-length", b"100")]
    scope = {"type": "http", "method": "POST", "path": f"{API}/note", "query_string": b"", "headers": head,
             "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 8017), "root_path": ""}  # fmt: skip

    async def live() -> None:
        """Begin, answer and end, as uvicorn has it."""
        events: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        began = asyncio.Event()

        async def note(message: object) -> None:
            began.set()

        own = asyncio.ensure_future(asgi({"type": "lifespan"}, events.get, note))  # type: ignore[arg-type]
        events.put_nowait({"type": "lifespan.startup"})
        await began.wait()
        await asgi(scope, receive, send)  # type: ignore[arg-type]
        events.put_nowait({"type": "lifespan.shutdown"})
        await own

    asyncio.run(live())
    assert sent[0]["status"] == 408
    assert "had not arrived after 0.1 s" in json.loads(sent[1]["body"])["error"]  # type: ignore[arg-type]


def test_every_request_is_a_line_of_json(lab: Path, tmp_path: Path) -> None:
    serving = Serving(lab, log=tmp_path / "log")
    visitor = Visitor(serving.url)
    visitor.get("/c/a.campaign")
    visitor.get("/c/no%0Asuch%22.campaign?secret=1")
    serving.stop()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("{")]
    wanted = [line for line in lines if line["path"].startswith("/c/")]
    assert [line["status"] for line in wanted] == [200, 404]
    assert {"time", "from", "by", "method", "path", "status", "bytes", "ms"} == {*wanted[0]}
    assert wanted[1]["path"] == '/c/no\nsuch".campaign'  # in one line, whatever it holds
    assert "secret" not in (tmp_path / "log").read_text()


def test_files_of_requests_do_not_pile_up(lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    serving = Serving(lab)
    try:
        visitor = Visitor(serving.url)
        visitor.json(f"{API}/ask", {})
        for path in ("report", "copy.jsonl", "copy.campaign", "rows.csv", "sheet.csv", "sheet.xlsx"):
            assert visitor.get(f"/c/a.campaign/{path}").status == 200
        assert visitor.json("/api/v1/checks", {"probes": "x,y\n1,0\n0,1\n", "model": "none"}).status == 200
        (own,) = (tmp_path / "scratch").glob("probewise-*")
        assert [*own.iterdir()] == []
        table = {"probes": ("p.csv", b"x,y\n1,0\n0,1\n")}
        csrf = visitor.csrf("/new")
        for _ in range(110):
            assert visitor.upload("/new", {"csrf": csrf}, table).status == 303
        assert len([*own.iterdir()]) == 100
        for name in ("BREW", "brew", "PROPFIND"):
            assert visitor.send(name, "/").status == 405
        assert 'method="other",way="other",status="405"} 3' in visitor.get("/metrics").text
    finally:
        serving.stop()
    assert not own.exists()


def test_a_folder_that_goes_while_it_is_looked_at_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    with os.scandir(tmp_path) as entries:
        (entry,) = entries
        (tmp_path / "gone").rmdir()
        assert _age(entry) == 0.0


def test_with_a_certificate_of_its_own(lab: Path, tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl on this machine")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True)
    accounts = Accounts(lab / STATE)
    accounts.add("anna", "correct horse battery")
    accounts.grant("anna", "*", "see")
    context = ssl.create_default_context(cafile=str(certificate))
    serving = Serving(lab, "--tls-cert", str(certificate), "--tls-key", str(key), tls=context)
    try:
        visitor = Visitor(serving.url, tls=context)
        assert visitor.get("/c/a.campaign").headers["location"].startswith("/login")
        fields = {"name": "anna", "password": "correct horse battery", "next": "/c/a.campaign"}
        inside = visitor.form("/login", fields)
        assert "Secure" in inside.cookies[0]
        assert inside.headers["strict-transport-security"]
        assert visitor.get("/c/a.campaign").status == 200
        with pytest.raises((OSError, http.client.HTTPException)):  # not in the clear
            Visitor(serving.url.replace("https", "http")).get("/healthz")
    finally:
        serving.stop()
