"""Every way into the server, for everybody who must not take it: refused with a sentence, and nothing is written."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
from _serving import Serving, Visitor, free_port

from _lab import NAME, ORIGIN, PASSWORD, Lab, refused, send
from probewise.server.accounts import IDLE, ROLES, Accounts
from probewise.server.app import WAYS
from probewise.server.config import STATE
from probewise.server.people import Gate, csrf_of
from probewise.server.site import Way

GUARDED = [way for way in WAYS if way.need is not None]
POSTS = [way for way in GUARDED if way.method == "POST"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    own = Lab(tmp_path_factory.mktemp("lab"))
    yield own
    own.serving.stop()


def by_way(ways: list[Way]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("way", ways, ids=lambda way: f"{way.method} {way.path}")


@by_way(GUARDED)
def test_nobody_comes_in_without_a_login(lab: Lab, way: Way) -> None:
    before = lab.state()
    forged = {"__Host-probewise": "x" * 43}
    ended = {"__Host-probewise": lab.accounts.begin("own")}
    lab.accounts.end(ended["__Host-probewise"])
    for cookies in ({}, forged, ended):
        visitor = lab.visitor()
        visitor.cookies = dict(cookies)
        answer = send(visitor, way)
        refused(answer, 401, *([303] if way.method == "GET" and not way.api else []))
        if answer.status == 303:
            assert answer.headers["location"].startswith("/login?next=%2F")
    refused(send(lab.visitor(authorization="Bearer pw_000000000000_" + "x" * 43), way), 401)
    refused(send(lab.visitor(authorization="Basic b3duOm93bg=="), way), 401)
    assert lab.state() == before


@by_way([way for way in GUARDED if way.need in (*ROLES, "create")])
def test_a_smaller_role_is_not_enough(lab: Lab, way: Way) -> None:
    before = lab.state()
    smaller = ["nobody", *ROLES[: ROLES.index(way.need)]] if way.need in ROLES else ["nobody", "amend"]
    for login in smaller:
        raw = lab.accounts.begin(login)
        visitor = lab.visitor()
        visitor.cookies["__Host-probewise"] = raw
        refused(send(visitor, way, csrf=csrf_of(raw)), 403, 404)
        token = lab.accounts.issue(login, "own", "*", 1)
        refused(send(lab.visitor(authorization=f"Bearer {token}"), way), 403, 404)
    small = lab.accounts.issue("own", "see", NAME, 1)  # a token may do less than its login
    if way.need in ROLES[1:] or way.need == "create":
        refused(send(lab.visitor(authorization=f"Bearer {small}"), way), 403)
    elsewhere = lab.accounts.issue("own", "own", "other.campaign", 1)
    refused(send(lab.visitor(authorization=f"Bearer {elsewhere}"), way), 403, 404)
    assert lab.state() == before


@by_way(POSTS)
def test_a_form_must_be_from_our_own_page(lab: Lab, way: Way) -> None:
    before = lab.state()
    raw, other = lab.accounts.begin("own"), lab.accounts.begin("own")
    visitor = lab.visitor()
    visitor.cookies["__Host-probewise"] = raw
    refused(send(visitor, way), 403)  # none
    refused(send(visitor, way, csrf="0" * 64), 403)
    refused(send(visitor, way, csrf=csrf_of(other)), 403)  # of another session
    right = csrf_of(raw)
    refused(send(visitor, way, csrf=right, origin="https://evil.example"), 403)
    refused(send(visitor, way, csrf=right, origin="null"), 403)
    refused(send(visitor, way, csrf=right, origin="http://lab.example.org"), 403)
    refused(send(visitor, way, csrf=right, sec_fetch_site="cross-site"), 403)
    refused(send(visitor, way, csrf=right, sec_fetch_site="same-site"), 403)
    assert lab.state() == before


@by_way([*WAYS])
def test_every_answer_carries_the_headers(lab: Lab, way: Way) -> None:
    for answer in (send(lab.visitor(), way), send(lab.visitor(host="evil.example"), way)):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["strict-transport-security"]
        assert "server" not in answer.headers
    if way.path not in ("/healthz", "/readyz"):
        refused(send(lab.visitor(host="evil.example"), way), 421)
        refused(send(lab.visitor(**{"x-forwarded-proto": "http"}), way), 400)


def test_logging_in_and_out(lab: Lab) -> None:
    visitor = lab.visitor()
    asked = visitor.get(f"/c/{NAME}/measure")
    assert asked.headers["location"] == f"/login?next=%2Fc%2F{NAME}%2Fmeasure"
    fields = {"name": "own", "password": PASSWORD, "next": f"/c/{NAME}/measure"}
    inside = visitor.form("/login", fields, origin=ORIGIN)
    assert inside.headers["location"] == f"/c/{NAME}/measure"
    (cookie,) = inside.cookies
    assert {"HttpOnly", "Secure", "Path=/", "SameSite=lax"} <= {part.strip() for part in cookie.split(";")}
    assert visitor.get(f"/c/{NAME}").status == 200
    kept = dict(visitor.cookies)
    assert visitor.form("/logout", {}, page=f"/c/{NAME}").status == 303
    visitor.cookies = kept  # a cookie that was copied before
    assert visitor.get(f"/c/{NAME}").status == 303
    for to in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb"):
        assert lab.visitor().form("/login", fields | {"next": to}).headers["location"] == "/"


def test_a_session_ends_by_itself(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = lab.accounts.begin("own")
    assert lab.accounts.session(raw) == "own"
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + IDLE + 1)
    assert lab.accounts.session(raw) is None
    token = lab.accounts.issue("own", "see", "*", 1)
    monkeypatch.setattr(time, "time", lambda: now + IDLE + 86402)
    assert lab.accounts.token(token) is None


def test_the_author_is_the_login_and_never_what_a_client_says(lab: Lab) -> None:
    token = lab.accounts.issue("measure", "measure", NAME, 1)
    machine = lab.visitor(authorization=f"Bearer {token}")
    assert machine.json(f"/api/v1/campaigns/{NAME}/note", {"text": "a", "author": "boss"}).status == 422
    assert machine.json(f"/api/v1/campaigns/{NAME}/note", {"text": "a"}).status == 200
    assert lab.campaign.records[-1].author == "measure"


def test_a_key_belongs_to_one_login(lab: Lab) -> None:
    found = []
    for login in ("measure", "amend"):
        token = lab.accounts.issue(login, "measure", NAME, 1)
        machine = lab.visitor(authorization=f"Bearer {token}")
        machine.json(f"/api/v1/campaigns/{NAME}/note", {"text": "keyed"}, idempotency_key="same")
        found.append(lab.campaign.records[-1].author)
    assert found == ["measure", "amend"]


def test_wrong_passwords_are_slowed_down(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    accounts = Accounts(tmp_path / "lab" / STATE)
    accounts.add("anna", PASSWORD)
    serving = Serving(tmp_path / "lab", "--login")
    try:
        times: dict[str, list[float]] = {"anna": [], "nobody": []}
        for name, own in times.items():
            for _ in range(4):
                began = time.monotonic()
                answer = Visitor(serving.url).form("/login", {"name": name, "password": "wrong wrong"})
                own.append(time.monotonic() - began)
                refused(answer, 401)
        # a login that there is not takes as long as a wrong password: both compute one argon2
        assert 0.3 < min(times["anna"]) / min(times["nobody"]) < 3.0
        for _ in range(2):
            last = Visitor(serving.url).form("/login", {"name": "anna", "password": "wrong wrong"})
        refused(last, 429)
        right = Visitor(serving.url).form("/login", {"name": "anna", "password": PASSWORD})
        refused(right, 429)  # also the right one, or guessing would go on
    finally:
        serving.stop()


def test_a_gate_opens_again_and_forgets() -> None:
    gate = Gate(2, 0.05, most=3)
    gate.tried("a")
    assert gate.wait("a") == 0
    gate.tried("a")
    assert gate.wait("a") > 0
    time.sleep(0.06)
    assert gate.wait("a") == 0
    for own in "bcdefg":
        gate.tried(own)
    assert len(gate._seen) <= 4


def bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"0" * 120_000_000)
    return out.getvalue()


def owner(lab: Lab) -> Visitor:
    visitor = lab.visitor()
    visitor.form("/login", {"name": "own", "password": PASSWORD})
    return visitor


def test_uploads_that_are_too_large_or_no_tables(lab: Lab) -> None:
    visitor, before = owner(lab), lab.state()
    files = {
        "bomb.xlsx": (bomb(), 422),
        "text.xlsx": (b"not a zip", 422),
        "data.parquet": (b"PAR1" + b"\x00" * 100, 422),
        "run.exe": (b"MZ", 422),
        "table": (b"a,b\n1,2\n", 422),
        "wide.csv": ((",".join(f"c{at}" for at in range(1001)) + "\n" + ",".join("1" * 1001) + "\n").encode(), 422),
        "half.csv": (b'a,b\n"1,2\n', 422),
        "big.csv": (b"x" * 20_100_000, 413),
    }
    for name, (content, status) in files.items():
        for path, field in ((f"/c/{NAME}/upload", "table"), ("/new", "probes")):
            answer = visitor.upload(path, {}, {field: (name, content)}, page=f"/c/{NAME}/measure")
            refused(answer, status)
    raw = visitor.csrf(f"/c/{NAME}/measure")
    broken = visitor.send("POST", "/new", b"--x\r\nnothing", content_type="multipart/form-data; boundary=x")
    refused(broken, 400, 403)
    many = "&".join(f"f{at}=1" for at in range(5000)) + f"&csrf={raw}"
    kind = "application/x-www-form-urlencoded"
    refused(visitor.send("POST", f"/c/{NAME}/measure", many.encode(), content_type=kind), 400)
    large = json.dumps({"text": "x" * 3_000_000}).encode()
    token = lab.accounts.issue("own", "own", NAME, 1)
    machine = lab.visitor(authorization=f"Bearer {token}")
    note = f"/api/v1/campaigns/{NAME}/note"
    refused(machine.send("POST", note, large, content_type="application/json"), 413)
    refused(machine.send("POST", note, b"{}", content_type="application/json", content_length="x"), 400)
    assert lab.state() == before


def test_files_of_an_upload_stay_with_who_sent_them(lab: Lab) -> None:
    mine = owner(lab)
    tables = {"probes": ("../../../etc/x.csv", b"id,x\na,1\nb,2\n")}
    where = mine.upload("/new", {}, tables, page="/new").headers["location"]
    assert re.fullmatch("/new/[0-9a-f]{32}", where)
    lab.accounts.add("second", PASSWORD, creates=True)
    refused(lab.visitor("second").get(where), 410)
    refused(mine.get("/new/..%2f..%2fetc"), 404)
    lab.accounts.remove("second")


def test_an_owner_gives_roles_and_nobody_else(lab: Lab) -> None:
    visitor = owner(lab)
    given = visitor.form(f"/c/{NAME}/people", {"login": "nobody", "role": "see"}, page=f"/c/{NAME}/people")
    assert given.status == 303
    assert lab.visitor("nobody").get(f"/c/{NAME}").status == 200
    visitor.form(f"/c/{NAME}/people", {"login": "nobody", "role": "none"}, page=f"/c/{NAME}/people")
    assert lab.visitor("nobody").get(f"/c/{NAME}").status == 404
    for fields in ({"login": "own", "role": "see"}, {"login": "who", "role": "see"}, {"login": "see", "role": "king"}):
        refused(visitor.form(f"/c/{NAME}/people", fields, page=f"/c/{NAME}/people"), 422)
    assert NAME not in lab.visitor("nobody").get("/").text


def test_nothing_listens_beyond_the_loopback_address_in_the_clear(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "probewise",
        "serve",
        str(tmp_path),
        "--host",
        "0.0.0.0",
        "--port",
        str(free_port()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "can be reached from other computers" in done.stderr
