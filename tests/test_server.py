from __future__ import annotations

import csv
import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
from _serving import Serving, Visitor, free_port

import probewise as pw
from probewise.data.example import SIGMA
from probewise.server.app import WAYS
from probewise.server.config import Config

EXAMPLE = Path(pw.__file__).parent / "data" / "example"
API = "/api/v1/campaigns"


def tables() -> dict[str, str]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        items, probes = pw.data.copy_example(Path(folder))
        return {"items": items.read_text(), "probes": probes.read_text()}


SETTINGS = {**tables(), "sigma": SIGMA, "outcome_name": "yield", "unit": "%", "seed": 0}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    begun = Serving(tmp_path_factory.mktemp("lab"))
    yield begun
    assert begun.stop() == 0


@pytest.fixture
def visitor(serving: Serving) -> Visitor:
    return Visitor(serving.url)


@pytest.fixture
def name(visitor: Visitor, request: pytest.FixtureRequest) -> str:
    own = re.sub(r"\W+", "-", request.node.name)[:80].strip("-")
    found = visitor.json(API, {**SETTINGS, "name": own})
    assert found.status == 201
    return f"{API}/{found.json['name']}"


def test_health_readiness_and_figures(visitor: Visitor) -> None:
    assert visitor.get("/healthz").text == "ok\n"
    assert visitor.get("/readyz").text == "ready\n"
    assert 'probewise_requests_total{method="GET",way="/healthz",status="200"}' in visitor.get("/metrics").text


def test_the_description_names_every_way_of_the_interface(visitor: Visitor) -> None:
    described = visitor.get("/api/v1/openapi.json").json
    there = {(method.upper(), path) for path, own in described["paths"].items() for method in own}
    assert there == {(way.method, way.path) for way in WAYS if way.api}
    for way in WAYS:
        if way.api and way.method == "POST":
            own = described["paths"][way.path]["post"]
            assert own["requestBody"]["content"]["application/json"]["schema"] == json.loads(json.dumps(way.body))


def test_from_tables_to_an_answer(visitor: Visitor, name: str, serving: Serving) -> None:
    from probewise.data import fill_outcomes

    checked = visitor.json("/api/v1/checks", SETTINGS).json
    assert (checked["probes"], checked["items"], checked["features"]) == (48, 24, 10)
    assert [role["role"] for role in checked["roles"]] == ["factor", "factor", "number"]
    place = Path(serving.place)
    for _ in range(20):
        asked = visitor.json(f"{name}/ask", {}).json
        if not asked["rows"]:
            break
        sheet = place / "sheet.csv"
        lines = [",".join(asked["columns"])]
        lines += [",".join("" if cell is None else f'"{cell}"' for cell in row) for row in asked["rows"]]
        sheet.write_text("\n".join(lines))
        fill_outcomes(sheet, sheet)
        campaign = pw.Campaign.open(place / name.rpartition("/")[2])
        assert campaign.tell(sheet, dry_run=True).recorded  # by library, looked at only
        with sheet.open() as file:
            rows = [
                {"measurement": row["measurement"], "outcome": float(row["outcome"])} for row in csv.DictReader(file)
            ]
        assert visitor.json(f"{name}/tell", {"rows": rows}).json["recorded"] == [row["measurement"] for row in rows]
    standing = visitor.get(name).json
    assert standing["item"] == pw.Campaign.open(place / name.rpartition("/")[2]).status().item is not None
    assert "<h1>" in visitor.get(f"{name}/report").text
    assert visitor.get(f"{name}/verify?digest={standing['digest']}").json["sound"]


def test_a_key_makes_a_request_count_once(visitor: Visitor, name: str) -> None:
    first = visitor.json(f"{name}/note", {"text": "once"}, idempotency_key="k1")
    again = visitor.json(f"{name}/note", {"text": "once"}, idempotency_key="k1")
    assert first.json == again.json
    assert again.headers["idempotent-replay"] == "true"
    assert visitor.get(f"{name}/records").json["count"] == 2
    other = visitor.json(f"{name}/note", {"text": "other"}, idempotency_key="k1")
    assert other.status == 422
    assert "used for another request" in other.json["error"]


def test_records_since_one_are_as_they_are_stored(visitor: Visitor, name: str, serving: Serving) -> None:
    visitor.json(f"{name}/note", {"text": "a"})
    visitor.json(f"{name}/note", {"text": "b"})
    found = visitor.get(f"{name}/records?after=1&most=1").json
    stored = pw.Campaign.open(Path(serving.place) / name.rpartition("/")[2]).records
    assert found == {"records": [stored[1].line], "count": 3}


def test_changes_say_what_they_did_and_can_be_tried_first(visitor: Visitor, name: str) -> None:
    visitor.json(f"{name}/ask", {"due": "2030-01-31"})
    visitor.json(f"{name}/tell", {"rows": {"r1-1": 50.0}})
    tried = visitor.json(f"{name}/preview", {"change": "correct", "measurement": "r1-1", "outcome": 51}).json
    assert tried["said"] == "r1-1 is 51.0 now."
    assert visitor.get(f"{name}/records").json["count"] == 3
    reason = "typing error"
    said = visitor.json(f"{name}/correct", {"measurement": "r1-1", "outcome": "51", "reason": reason}).json
    assert said["sentence"] == "r1-1 is 51.0 now."
    assert visitor.json(f"{name}/void", {"measurements": ["r1-2"], "reason": "spilled"}).json["sentence"] == "Voided."
    closed = visitor.json(f"{name}/close", {"reason": "away"}).json
    assert closed["sentence"].startswith("The round is closed.")
    probe = visitor.get(f"{name}/rows").json
    assert probe["round"] is None
    stock = {"probe": "XPhos, THF, 60", "stock": 2, "reason": "used up"}
    assert visitor.json(f"{name}/restock", stock).json["sentence"] == "'XPhos, THF, 60' can be measured 2 times in all."


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({"rows": {"r1-1": "x"}}, 422, "Row 0, column 'measurement'"),
        ({"rows": 3}, 422, "'rows' must be a list or an object"),
        ({}, 422, "The body lacks 'rows'"),
        ({"rows": {}, "author": "somebody else"}, 422, "The body has no 'author'"),
        ([], 422, "The body must be an object"),
    ],
)
def test_bad_requests_get_a_sentence(visitor: Visitor, name: str, body: object, status: int, sentence: str) -> None:
    found = visitor.json(f"{name}/tell", body)
    assert found.status == status
    assert found.json["error"].startswith(sentence)


def test_what_is_not_json_is_refused(visitor: Visitor, name: str) -> None:
    for text, status in ((b"{", 400), (b"[" * 100_000, 400), (b'{"rows": NaN}', 400), (b"\xff", 400)):
        assert visitor.send("POST", f"{name}/tell", text, content_type="application/json").status == status
    assert visitor.send("POST", f"{name}/tell", b"{}", content_type="text/plain").status == 415
    assert visitor.send("PUT", f"{name}/tell", b"{}").status == 405
    assert visitor.get(f"{API}/nothing.campaign").status == 404
    assert visitor.get("/api/v1/nothing").json["error"] == "There is nothing at this address."


def test_other_hosts_and_origins_are_refused(visitor: Visitor, name: str) -> None:
    assert visitor.get(name, host="evil.example").status == 421
    assert visitor.json(f"{name}/note", {"text": "x"}, origin="https://evil.example").status == 403
    assert visitor.json(f"{name}/note", {"text": "x"}, sec_fetch_site="cross-site").status == 403
    assert visitor.get(name, sec_fetch_site="cross-site", sec_fetch_mode="cors").status == 403
    assert visitor.json(f"{name}/note", {"text": "x"}, origin=visitor.url).status == 200
    assert visitor.get(f"{name}/records").json["count"] == 2


def test_names_cannot_lead_elsewhere(visitor: Visitor, serving: Serving) -> None:
    for own in ("../x", "a/b", ".hidden", "a\\b", "https://x", "a#b", "a\x00b", "..", "a..b", "x" * 200, " a", "=1+1"):
        found = visitor.json(API, {**SETTINGS, "name": own})
        assert found.status == 422, own
    (Path(serving.place) / "link.campaign").symlink_to("/etc/passwd")
    (Path(serving.place) / "text.campaign").mkdir()
    assert visitor.get(f"{API}/link.campaign").status == 404
    assert visitor.get(f"{API}/..%2f..%2fetc%2fpasswd").status == 404
    assert "link.campaign" not in visitor.get(API).text


def test_watchers_are_told_of_what_others_write(visitor: Visitor, name: str, serving: Serving) -> None:
    line = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=20)
    line.request("GET", f"{name}/events")
    stream = line.getresponse()
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert stream.readline() == b"retry: 3000\n"
    pw.Campaign.open(Path(serving.place) / name.rpartition("/")[2]).note("by another program")
    seen = b""
    while b"event: changed" not in seen:
        seen = stream.readline()
    line.close()


def test_campaigns_of_a_database(server: str, tmp_path: Path) -> None:
    serving = Serving(server, "--state", str(tmp_path / "state.sqlite"))
    try:
        visitor = Visitor(serving.url)
        made = visitor.json(API, {**SETTINGS, "name": "in a database"})
        assert made.status == 201, made.text
        name = f"{API}/in%20a%20database"
        assert visitor.json(f"{name}/ask", {}).json["round"] == 1
        assert visitor.json(f"{name}/tell", {"rows": {"r1-1": 50.0}}).json["sentence"] == "1 recorded."
        assert visitor.get(name).json["measurements"] == 1
        assert "in a database" in visitor.get("/").text
        assert pw.Campaign.open(f"{server}#in a database").status().measurements == 1
        assert visitor.json(API, {**SETTINGS, "name": "in a database"}).status == 409
    finally:
        assert serving.stop() == 0


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"host": "0.0.0.0"}, "can be reached from other computers"),
        ({"certificate": Path("a")}, "TLS needs a certificate and its key"),
        ({"behind_proxy": True}, "give it, as in --url"),
        ({"behind_proxy": True, "url": "http://lab.example.org"}, "must begin with https"),
        ({"url": "lab"}, "--url must be like"),
        ({"place": "postgresql://lab@server/db"}, "need a file of their own"),
    ],
)
def test_a_server_that_would_be_unsafe_is_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(pw.InvalidServer, match=re.escape(sentence)):
        Config(**{"place": "lab", **settings})  # type: ignore[arg-type]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_it_starts_soon(tmp_path: Path) -> None:
    """Until it answers it takes less than 2 s of one processor, whoever else uses the computer."""
    command = [sys.executable, "-m", "probewise", "serve", str(tmp_path), "--port", str(port := free_port())]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            assert process.poll() is None
            try:
                assert Visitor(f"http://127.0.0.1:{port}").get("/healthz").text == "ok\n"
                break
            except OSError:
                time.sleep(0.02)
        used = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        assert sum(map(int, used)) / os.sysconf("SC_CLK_TCK") < 2.0
    finally:
        process.terminate()
        process.wait(30)


def test_the_server_itself_loads_no_numpy() -> None:
    code = "import sys, probewise.server.app; print(*sorted({'numpy', 'scipy', 'rich', 'click'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
