"""Every way into the server times every attack; ways, forms, fields and parameters are found, not listed.

A new way is tried by itself: those of the interface by the shape of their JSON, pages by the forms that stand on them.
One without a body in ``_lab.BODIES``, or a page without a form, fails.
"""

from __future__ import annotations

import io
import json
import re
import socket
import sqlite3
import time
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, urlencode

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
from _serving import Answer, Visitor

import probewise as pw
from _lab import BODIES, NAME, PASSWORD, PROXY, Lab, Page, filled, refused, send
from probewise.server.accounts import IDLE, LONGEST
from probewise.server.app import WAYS
from probewise.server.people import csrf_of
from probewise.server.site import Way

GUARDED = [way for way in WAYS if way.need is not None]
READS = [way for way in WAYS if way.method == "GET"]
POSTS = [way for way in WAYS if way.method == "POST"]
FORM = "application/x-www-form-urlencoded"
OTHER = "waiting for nothing.campaign"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    (folder.parent / "secret.campaign").write_text("root:x:0:0")
    own = Lab(folder)
    problem = pw.Problem([[1.0, 0.0], [0.0, 1.0]], sigma=1.0)
    pw.Campaign.create(folder / OTHER, problem, seed=0, author="first")
    own.accounts.grant("own", OTHER, "own")
    yield own
    own.serving.stop()


def by_way(ways: list[Way]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("way", ways, ids=lambda way: f"{way.method} {way.path}")


def owner(lab: Lab) -> tuple[Visitor, str]:
    """An owner with a session, and the mark of its forms."""
    visitor = lab.visitor("own")
    return visitor, csrf_of(visitor.cookies["__Host-probewise"])


# --- sessions and tokens that are over -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ended(lab: Lab) -> dict[str, str]:
    """Cookies that once let somebody in, or nearly."""
    accounts, out = lab.accounts, {}

    def aged(column: str, seconds: float) -> str:
        raw = accounts.begin("own")
        with sqlite3.connect(accounts.path) as base:
            newest = "SELECT hash FROM sessions ORDER BY begun DESC, rowid DESC LIMIT 1"
            base.execute(f"UPDATE sessions SET {column} = ? WHERE hash = ({newest})", (time.time() - seconds,))
        base.close()
        assert accounts.session(raw) is None
        return raw

    out["idle"] = aged("seen", IDLE + 1)
    out["old"] = aged("begun", LONGEST + 1)
    for name, end in (
        ("left", lambda: accounts.end(out["left"])),
        ("password", lambda: accounts.set_password("guest", PASSWORD + "!")),
        ("removed", lambda: accounts.remove("guest")),
    ):
        if ("guest", False) not in accounts.users():
            accounts.add("guest", PASSWORD)
            accounts.grant("guest", NAME, "own")
        out[name] = accounts.begin("guest")
        end()
    right = accounts.begin("own")
    out |= {"longer": right + "x", "shorter": right[:-1], "upper": right.swapcase(), "sql": "' OR 1=1 --", "empty": ""}
    out["of the form"] = csrf_of(right)
    return out


@by_way(GUARDED)
def test_what_is_over_lets_nobody_in(lab: Lab, way: Way, ended: dict[str, str]) -> None:
    before = lab.state()
    for what, raw in ended.items():
        visitor = lab.visitor()
        visitor.cookies["__Host-probewise"] = raw
        answer = send(visitor, way, csrf=csrf_of(raw))
        refused(answer, 401, *([303] if way.method == "GET" and not way.api else []))
        assert answer.status != 303 or answer.headers["location"].startswith("/login?"), what
    right = lab.accounts.begin("own")
    for name in ("probewise", f"probewise-{lab.serving.port}", "__host-probewise"):  # the name of another server's
        visitor = lab.visitor()
        visitor.cookies[name] = right
        refused(send(visitor, way, csrf=csrf_of(right)), 401, 303)
    expired, revoked = lab.accounts.issue("own", "own", "*", -1), lab.accounts.issue("own", "own", "*", 1)
    lab.accounts.revoke(revoked.split("_")[1])
    whole = lab.accounts.issue("own", "own", "*", 1)
    for token in (expired, revoked, whole[:-1], whole.upper(), whole.replace("pw_", "")):
        refused(send(lab.visitor(authorization=f"Bearer {token}"), way), 401)
    assert lab.state() == before


# --- pages of other sites --------------------------------------------------------------------------------------------


@by_way(READS)
def test_pages_of_other_sites_read_nothing(lab: Lab, way: Way) -> None:
    if way.path in ("/healthz", "/readyz"):
        pytest.skip("says nothing but that it runs, to everybody")
    visitor, _ = owner(lab)
    for mode in ("cors", "no-cors", "websocket"):
        for site in ("cross-site", "same-site"):
            answer = send(visitor, way, sec_fetch_site=site, sec_fetch_mode=mode)
            refused(answer, 403)
            assert "access-control-allow-origin" not in answer.headers
    if not way.path.endswith("/events"):  # which never ends
        own = send(visitor, way, origin="https://evil.example")
        assert "access-control-allow-origin" not in own.headers


@by_way(POSTS)
def test_pages_of_other_sites_change_nothing(lab: Lab, way: Way) -> None:
    before, (visitor, csrf) = lab.state(), owner(lab)
    for origin in ("https://evil.example", "null", "http://lab.example.org", "https://lab.example.org.evil.example"):
        refused(send(visitor, way, csrf=csrf, origin=origin), 403)
    for site in ("cross-site", "same-site"):
        refused(send(visitor, way, csrf=csrf, sec_fetch_site=site), 403)
    plain = visitor.send("POST", filled(way), b'{"text": "x"}', content_type="text/plain")  # what a form can send
    refused(plain, 400, 403, 415)
    assert lab.state() == before


# --- too much, and what cannot be read -------------------------------------------------------------------------------


def raw(lab: Lab, head: dict[str, str], path: str, *pieces: bytes) -> int:
    """The status of a request that is sent as it is."""
    with socket.create_connection(("127.0.0.1", lab.serving.port), timeout=30) as line:
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**PROXY, **head}.items())
        line.sendall(f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode())
        try:
            for piece in pieces:
                line.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            if pieces:
                line.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # it has heard enough
        return int(line.recv(1000).split()[1])


@by_way(POSTS)
def test_too_many_bytes(lab: Lab, way: Way) -> None:
    before, (visitor, csrf) = lab.state(), owner(lab)
    cookie = {"cookie": f"__Host-probewise={visitor.cookies['__Host-probewise']}", "x-csrf-token": csrf}
    kinds = ["application/json"] if way.api else [FORM, "multipart/form-data; boundary=x"]
    for kind in kinds:
        head = cookie | {"content-type": kind}
        assert raw(lab, head | {"content-length": "30000000"}, filled(way)) == 413
        large = "multipart" in kind or way.path in ("/api/v1/campaigns", "/api/v1/checks")
        pieces = [b"x" * 1_000_000] * (21 if large else 3)  # without saying how many there are
        chunked = head | {"transfer-encoding": "chunked"}
        assert raw(lab, chunked, filled(way), *pieces) in (400, 413), kind
    assert lab.state() == before


MALFORMED = (b"", b"{", b"\xff\xfe", b"[]", b"3", b"null", b'"x"', b'{"a": NaN}', b'{"\\ud800": 1}', b"[" * 50_000,
             b'{"rows": {"r1-1": 1e999}}', b'{"text": "\\ud800"}', b"{" + b'"a":1,' * 5 + b"}")  # fmt: skip


@by_way([way for way in POSTS if way.api])
def test_json_that_cannot_be_read(lab: Lab, way: Way) -> None:
    before, (visitor, csrf) = lab.state(), owner(lab)
    for body in MALFORMED:
        if body == b"" and way.path.endswith("/ask"):
            continue  # nothing need be said there
        answer = visitor.send("POST", filled(way), body, content_type="application/json", x_csrf_token=csrf)
        refused(answer, 400, 422)
    for kind in ("text/plain", FORM, "multipart/form-data; boundary=x", ""):
        refused(visitor.send("POST", filled(way), b"{}", content_type=kind, x_csrf_token=csrf), 415)
    assert lab.state() == before


@by_way([way for way in POSTS if not way.api])
def test_forms_that_cannot_be_read(lab: Lab, way: Way) -> None:
    before, (visitor, csrf) = lab.state(), owner(lab)
    if way.path == "/logout":
        visitor = lab.visitor("see")
        csrf = "0" * 64  # a right one would do what it is for
    many = "&".join(f"f{at}=1" for at in range(5000)) + f"&csrf={csrf}"
    part = 'Content-Disposition: form-data; name="csrf"\r\n\r\n'
    files = "".join(
        f'--x\r\nContent-Disposition: form-data; name="f{at}"; filename="a.csv"\r\n\r\na\r\n' for at in range(9)
    )
    whole = f"--x\r\n{part}{csrf}\r\n"
    for kind, body in (
        (FORM, many.encode()),
        (FORM, b"\xff=\xff&csrf=" + csrf.encode() + b"&reason=%ff%fe&text=%ff&name=%ff&login=%ff&change=%ff"),
        ("application/json", b"{}"),
        ("text/plain", f"csrf={csrf}".encode()),
        ("multipart/form-data", b"--x\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\nnothing"),
        ("multipart/form-data; boundary=x", whole.encode()[:-5]),
        ("multipart/form-data; boundary=x", f"{whole}{files}--x--\r\n".encode()),
        ("multipart/form-data; boundary=x", b"--x\r\n" + b"A: " + b"b" * 20_000 + b"\r\n\r\nx\r\n--x--\r\n"),
    ):
        answer = visitor.send("POST", filled(way), body, content_type=kind)
        refused(answer, 400, 401, 403, 410, 415, 422, 429)
    assert lab.state() == before


# --- paths and addresses in names ------------------------------------------------------------------------------------

ELSEWHERE = ("../secret.campaign", "..%2fsecret.campaign", "..%5csecret.campaign", "/etc/passwd", "%2fetc%2fpasswd",
             ".", "..", ".probewise-server.sqlite", "http:%2f%2fevil.example", "https://evil.example/x.campaign", "%00",
             "file:%2f%2f%2fetc%2fpasswd", "lab.campaign%00.jsonl", "lab.campaign%0d%0aX-Evil:1", "C:%5cx.campaign",
             "%ff",
             "postgresql:%2f%2fx%2fy%23z", "%3Cscript%3E", "=1+1", "x" * 3000, "lab.campaign#x", "~root", "*", "%2a",
             "%F0%9F%92%A9.campaign", "{name}", "${HOME}", "lab.campaign;ls", "-rf", "NUL", "a|b")  # fmt: skip


@by_way([way for way in WAYS if "{" in way.path])
def test_paths_and_addresses_in_names(lab: Lab, way: Way) -> None:
    before, (visitor, csrf) = lab.state(), owner(lab)
    right = {"name": NAME, "row": "r1-1", "token": "0" * 32, "file": "page.css"}
    for own in re.findall(r"{(\w+)}", way.path):
        for name in ELSEWHERE:
            path = re.sub(r"{(\w+)}", lambda found, o=own, n=name: n if found[1] == o else right[found[1]], way.path)
            if way.method == "GET":
                answer = visitor.get(path)
            elif way.api:
                body = BODIES[way.path.rpartition("/")[2]]
                answer = visitor.json(path, body, x_csrf_token=csrf)
            else:
                answer = visitor.form(path, {"csrf": csrf, "change": "void", "reason": "x", "sure": "yes"})
            assert 400 <= answer.status < 500, (path, answer.status)
            assert "root:x" not in answer.text
            assert "x-evil" not in answer.headers
            assert "Traceback" not in answer.text
    assert lab.state() == before


def test_names_that_people_choose_lead_nowhere(lab: Lab) -> None:
    """The name of a campaign, a login, a file, where to go after logging in."""
    before, (visitor, csrf) = lab.state(), owner(lab)
    tables = {"probes": "id,x\na,1\nb,2\n", "model": "none"}
    for name in ("../x", "/etc/x", "https://evil.example", "a/b", "a\\b", "..", "a#b", "a?b", "a\x00b", "C:x", "%2e%2e",
                 "=1+1", "<b>", "x" * 101, ".x", "a\nb", "a;b", "\u202egpj", "file:///etc/passwd"):  # fmt: skip
        refused(visitor.json("/api/v1/campaigns", {"name": name, **tables}, x_csrf_token=csrf), 422)
        with pytest.raises(pw.InvalidServer, match="a login is a letter or digit"):
            lab.accounts.add(name, PASSWORD)
        refused(visitor.form(f"/c/{NAME}/people", {"csrf": csrf, "login": name, "role": "see"}), 422)
    for file in ("../../x.csv", "/etc/x.csv", "C:\\x.csv", "https://evil.example/x.csv", "=1+1.csv", "<b>.csv",
                 "x\x00.csv", "a" * 300 + ".csv", "%2e%2e%2fx.csv", "con.csv", ".csv", "\u202evsc.csv"):  # fmt: skip
        answer = visitor.upload("/new", {"csrf": csrf}, {"probes": (file, b"id,x\na,1\nb,2\n")})
        if answer.status == 303:
            shown = visitor.get(answer.headers["location"])
            assert Page(shown.text)
            assert "<b>" not in shown.text.replace("<b>probewise</b>", "")
        else:
            refused(answer, 400, 422)
    assert not list(lab.folder.parent.glob("x*"))
    assert lab.state() == before


# --- forms, as they stand on pages -----------------------------------------------------------------------------------

TEXTS = (
    '=HYPERLINK("https://evil.example")',
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "@SUM(1)\t+1",
    "javascript:alert(1)//{{7*7}}${7*7}",
    "\x1b]0;x\x07\u202e\u0000",
)


class Forms(HTMLParser):
    """Every form of a page: where it goes, its fields, and which of them are text, files or choices."""

    def __init__(self, text: str) -> None:
        HTMLParser.__init__(self)
        self.found: list[tuple[str, str, dict[str, str], dict[str, str]]] = []
        self._select = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        for name in ("href", "src", "action"):
            assert own.get(name, "/").startswith(("/", "#", "?")), own  # nothing leads elsewhere
        assert tag not in ("img", "iframe", "object", "embed", "base")
        if tag == "form":
            self.found.append((own.get("method", "get"), own["action"], {}, {}))
        elif tag in ("input", "textarea", "button") and self.found and own.get("name"):
            _, _, values, kinds = self.found[-1]
            if tag != "button":
                kinds[own["name"]] = own.get("type", "text")
            values.setdefault(own["name"], own.get("value", ""))
        elif tag == "select" and self.found:
            self._select = own["name"]
            self.found[-1][3][own["name"]] = "select"
        elif tag == "option" and self.found:
            values = self.found[-1][2]
            if "selected" in own or self._select not in values:
                values[self._select] = own.get("value", "")


def way_of(path: str, method: str) -> str:
    """The way that an address takes."""
    for way in WAYS:
        if way.method == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", way.path), path.partition("?")[0]):
            return way.path
    raise AssertionError(f"{path} leads nowhere")


def pages(lab: Lab, visitor: Visitor, csrf: str) -> dict[str, Answer]:
    """Every page that holds forms, by its address."""
    tables = {"probes": ("probes.csv", b"name,x,y\na,1,0\nb,0,1\nc,1,1\n")}
    new = visitor.upload("/new", {"csrf": csrf}, tables).headers["location"]
    out = {"/login": lab.visitor().get("/login")}
    for way in READS:
        if way.gives == "text/html" and not way.api and way.need is not None and not way.path.endswith("/report"):
            for name in (NAME, OTHER) if "{name}" in way.path else (NAME,):
                path = way.path.format(name=quote(name), row="r1-1", token=new.rpartition("/")[2], file="")
                if not re.search("/(copy|sheet|rows)", path):
                    out[path] = visitor.get(path)
    out["checked"] = visitor.upload(f"/c/{NAME}/upload", {"csrf": csrf, "pasted": "measurement,outcome\nr1-2,5\n"}, {})
    fields = {
        "csrf": csrf,
        "name": "checked",
        "model": "none",
        "goal": "best",
        "sigma": "1",
        "noise": "sigma",
        "act": "check",
    }
    out["forecast"] = visitor.form(new, fields)
    return out


def test_every_page_that_changes_something_has_a_form(lab: Lab) -> None:
    visitor, csrf = owner(lab)
    there = {
        way_of(action, "POST")
        for answer in pages(lab, visitor, csrf).values()
        for method, action, _, _ in Forms(answer.text).found
        if method == "post"
    }
    assert there == {way.path for way in POSTS if not way.api}


# --- files -----------------------------------------------------------------------------------------------------------


def bomb(name: str, size: int = 120_000_000, says: int | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b"0" * size)
    data = out.getvalue()
    return data if says is None else data.replace(size.to_bytes(4, "little"), says.to_bytes(4, "little"))


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """Tables that are none, or too large."""
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w") as archive:
        for at in range(10_100):
            archive.writestr(f"x{at}", b"")
    inner = bomb("xl/workbook.xml", 20_000_000)
    return {
        "bomb.xlsx": bomb("xl/workbook.xml"),
        "bomb.ods": bomb("content.xml"),
        "liar.xlsx": bomb("xl/worksheets/sheet1.xml", says=1000),
        "many.xlsx": many.getvalue(),
        "nested.xlsx": inner + inner,
        "text.xlsx": b"not a zip",
        "cut.xlsx": inner[:200],
        "entities.xlsx": entities(),
        "data.parquet": b"PAR1" + b"\x00" * 100 + b"PAR1",
        "run.exe": b"MZ\x90\x00",
        "page.html": b"<script>alert(1)</script>",
        "none": b"a,b\n1,2\n",
        "empty.csv": b"",
        "binary.csv": bytes(range(256)) * 10,
        "wide.csv": (",".join(f"c{at}" for at in range(1001)) + "\n" + ",".join("1" * 1001) + "\n").encode(),
        "long.csv": b"a,b\n" + b"1,2\n" * 200_001,
        "quote.csv": b'a,b\n"1,2\n',
        "ragged.csv": b"a,b\n1\n1,2,3\n",
        "line.csv": b"a,b\n" + b"1" * 3_000_000,
    }


def entities() -> bytes:
    """A spreadsheet whose XML would grow to gigabytes."""
    lol = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10 if at else "lol"}">' for at in range(10))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("xl/workbook.xml", "xl/worksheets/sheet1.xml", "[Content_Types].xml"):
            archive.writestr(name, f"<?xml version='1.0'?><!DOCTYPE x [{lol}]><x>&l9;</x>")
    return out.getvalue()


def test_files_that_are_no_tables(lab: Lab, files: dict[str, bytes]) -> None:
    """Every field of every form that takes a file, times every such file."""
    visitor, csrf = owner(lab)
    there, before = set(), None
    for answer in [*pages(lab, visitor, csrf).values()]:
        for _, action, values, kinds in Forms(answer.text).found:
            for field in [name for name, kind in kinds.items() if kind == "file"]:
                if (action, field, values.get("off_plan")) in there:
                    continue
                there.add((action, field, values.get("off_plan")))
                before = before or lab.state()
                for name, content in files.items():
                    good = {"probes": ("p.csv", b"id,x\na,1\nb,2\n")} if field == "items" else {}
                    began = time.monotonic()
                    done = visitor.upload(action, values | {"csrf": csrf}, good | {field: (name, content)})
                    if name == "line.csv" and done.status == 303:
                        continue  # a cell of three million digits is a table, if a strange one
                    refused(done, 400, 413, 422, 503)
                    assert time.monotonic() - began < 30, name
    assert len(there) >= 4
    assert lab.state() == before
    assert lab.visitor().get("/readyz").status == 200


# --- formula and script in every text field --------------------------------------------------------------------------

USUAL = {"reason": "x", "text": "hello", "outcome": "1", "pasted": "", "change": "void", "stock": "5", "probe": "0",
         "name": "field", "sigma": "1", "confirm": "", "login": "see", "role": "see", "noise": "sigma", "model": "none",
         "goal": "best", "password": "wrong", "digest": "", "sure": "yes", "act": "create"}  # fmt: skip


def sound(visitor: Visitor, *addresses: str) -> None:
    """Pages, sheets and copies are whole: nothing in them is a script, leads elsewhere, or is a formula."""
    for path in ("/", *addresses):
        answer = visitor.get(path)
        assert answer.status in (200, 422), (path, answer.text[:200])
        if path.endswith((".csv", ".jsonl")):
            check_cells(answer.text) if path.endswith(".csv") else None
        elif "report" in path:
            assert "<script" not in answer.text
            assert not re.search(r"<[^>]*\bon\w+\s*=", re.sub(r'="[^"]*"', '=""', answer.text))
        else:
            Page(answer.text)
            Forms(answer.text)


def check_cells(text: str) -> None:
    """No cell of a sheet is a formula for a spreadsheet."""
    import csv

    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            plain = re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", cell) is not None
            assert plain or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), cell


def test_formula_and_script_in_every_field_of_every_form(lab: Lab) -> None:
    visitor, csrf = owner(lab)
    fields = 0
    for address, answer in pages(lab, visitor, csrf).items():
        for method, action, values, kinds in Forms(answer.text).found:
            for name, kind in kinds.items():
                if name == "csrf" or kind in ("file", "checkbox"):
                    continue
                fields += 1
                for at, text in enumerate(TEXTS):
                    own = values | {key: value for key, value in USUAL.items() if key in values}
                    own |= {name: text, "csrf": csrf, **({"once": f"{fields}-{at}"} if name != "once" else {})}
                    if method == "get":
                        done = visitor.get(f"{action}?{urlencode(own)}")
                    elif action == "/login":
                        if at > 1:
                            continue  # or nobody could log in for minutes
                        done = lab.visitor().form(action, own)
                    elif action == "/logout":
                        done = lab.visitor().form(action, own)
                    else:
                        done = visitor.form(action, own)
                    assert done.status < 500, (address, action, name, text, done.text[:500])
                    if done.status == 303 and not done.headers["location"].startswith("/login"):
                        assert done.headers["location"].startswith("/"), done.headers["location"]
                        done = visitor.get(done.headers["location"])
                    if "html" in done.headers["content-type"]:
                        Page(done.text)
                        Forms(done.text)
    assert fields > 60
    said = " ".join(record.line for record in lab.campaign.records)
    for text in TEXTS[:5]:  # they were kept as they are, where text may be anything
        assert json.dumps(text, ensure_ascii=False)[1:-1] in said
    place = f"/c/{NAME}"
    sound(visitor, place, f"{place}/now", f"{place}/measure", f"{place}/history", f"{place}/row/r1-1", f"{place}/keep",
          f"{place}/report", f"{place}/rows.csv", f"{place}/copy.jsonl", f"{place}/people")  # fmt: skip


def texts_of(shape: dict[str, Any], where: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every place in JSON of a shape where text may stand."""
    kinds = shape.get("type", "")
    if "string" in ([kinds] if isinstance(kinds, str) else kinds) or "enum" in shape:
        yield where
    for name, own in shape.get("properties", {}).items():
        yield from texts_of(own, (*where, name))
    if isinstance(shape.get("items"), dict):
        yield from texts_of(shape["items"], (*where, "[]"))
    if isinstance(shape.get("additionalProperties"), dict):
        yield from texts_of(shape["additionalProperties"], (*where, "{}"))


def put(body: Any, where: tuple[str, ...], text: str) -> Any:
    """The same JSON with a text in one place."""
    if not where:
        return text
    if where[0] == "[]":
        return [put({}, where[1:], text)]
    if where[0] == "{}":
        return {text: put({}, where[1:], text)}
    own = dict(body) if isinstance(body, dict) else {}
    return own | {where[0]: put(own.get(where[0]), where[1:], text)}


@by_way([way for way in POSTS if way.api])
def test_formula_and_script_in_every_text_of_the_interface(lab: Lab, way: Way) -> None:
    visitor, csrf = owner(lab)
    body = BODIES[way.path.rpartition("/")[2]]
    for where in texts_of(way.body or {}):
        for at, text in enumerate(TEXTS):
            sent = put(body, where, text)
            done = visitor.json(
                filled(way), sent, x_csrf_token=csrf, idempotency_key=f"{way.path}{where}{at}".replace(" ", "")
            )
            assert done.status < 500, (where, text, done.text)
            assert done.headers["content-type"] == "application/json"
            assert done.headers["x-content-type-options"] == "nosniff"
            if done.status >= 400:
                refused(done, 400, 403, 404, 409, 422)


def test_formula_and_script_in_every_name_of_a_table(lab: Lab) -> None:
    """Columns, levels, probes, items, the outcome, its unit, notes of sheets: uploaded, then wherever they appear."""
    visitor, csrf = owner(lab)
    for at, text in enumerate(TEXTS[:4]):
        inner = text.replace('"', '""')
        cell, names = f'"{inner}"', [f'"{inner} {number}"' for number in range(4)]
        rows = zip(names, (cell, "other", cell, "other"), (1, 2, 3, 5), strict=True)
        probes = f'name,"{inner} column",{cell}\n' + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
        body = {"name": f"nasty {at}", "probes": probes, "roles": {"name": "name"}, "sigma": 0.2}
        body |= {"outcome_name": text[:40], "unit": text[:40]}
        made = visitor.json("/api/v1/campaigns", body, x_csrf_token=csrf)
        if made.status == 422:  # a name that could not be written into a sheet is refused with a sentence
            refused(made, 422)
            body |= {"outcome_name": "yield", "unit": "%"}
            made = visitor.json("/api/v1/campaigns", body, x_csrf_token=csrf)
        assert made.status == 201, made.text
        place = f"/c/{quote(made.json['name'])}"
        asked = visitor.json(f"/api/v1/campaigns/{quote(made.json['name'])}/ask", {}, x_csrf_token=csrf).json
        row = asked["rows"][0][asked["columns"].index("measurement")]
        sheet = f"measurement,outcome,remark {text.replace(',', ';')}\n{row},1,{cell}\n"
        told = visitor.upload(f"{place}/upload", {"csrf": csrf}, {"table": ("s.csv", sheet.encode())})
        token = re.findall(r'name="token" value="(\w+)"', told.text)
        if token:
            visitor.form(f"{place}/uploaded", {"csrf": csrf, "token": token[0], "off_plan": "no"})
        sound(visitor, place, f"{place}/now", f"{place}/measure", f"{place}/history", f"{place}/row/{row}",
              f"{place}/report", f"{place}/sheet.csv", f"{place}/rows.csv", f"{place}/keep",
              f"{place}/people")  # fmt: skip
        book = visitor.get(f"{place}/sheet.xlsx")
        with zipfile.ZipFile(io.BytesIO(book.body)) as archive:
            inside = archive.read("xl/worksheets/sheet1.xml").decode()
        assert "<f>" not in inside  # no formula
        again = visitor.get(f"{place}/copy.jsonl")
        assert again.status == 200


def test_formula_and_script_in_labels_of_tokens(lab: Lab) -> None:
    """They are shown in a terminal only, which must not obey them."""
    from click.testing import CliRunner

    from probewise.cli import main

    for text in TEXTS:
        shown = text.replace("\0", "")
        command = ["user", "token", str(lab.folder), "see", "--scope", "see", "--label", shown]
        assert CliRunner().invoke(main, command, catch_exceptions=False).exit_code == 0
    listed = CliRunner().invoke(main, ["user", "list", str(lab.folder)], catch_exceptions=False).output
    assert "<script>alert(1)</script>" in listed
    assert "\x1b" not in listed
    assert "\u202e" not in listed


# --- timing of logins ------------------------------------------------------------------------------------------------


def test_a_login_that_there_is_not_costs_as_much_as_a_wrong_password() -> None:
    from argon2 import extract_parameters

    from probewise.server.accounts import _DUMMY, _hashed

    assert extract_parameters(_DUMMY) == extract_parameters(_hashed(PASSWORD))
