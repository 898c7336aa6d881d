"""A request with a key counts once, whatever ends in between; the key stands in the record itself."""

from __future__ import annotations

import hashlib
import json
import re
import signal
from pathlib import Path

import pytest

import probewise as pw
from probewise.campaign import Memory, Record, Request, verify

PROBLEM = pw.Problem([[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1]], sigma=1.0, probe_names=["a", "b", "c"])
ONE, OTHER = Request("k-1", "0" * 64), Request("k-1", "f" * 64)


def create(place: object = None) -> pw.Campaign:
    return pw.Campaign.create(place or Memory(), PROBLEM, seed=0, author="ada")  # type: ignore[arg-type]


def test_a_request_is_recorded_once() -> None:
    campaign = create()
    campaign.ask()
    for change in (
        lambda: campaign.note("hello"),
        lambda: campaign.tell({"r1-1": 1.0}),
        lambda: campaign.correct("r1-1", 2.0, reason="slip"),
        lambda: campaign.void("r1-1", reason="spilled"),
        lambda: campaign.restock("a", 9, reason="few"),
        lambda: campaign.close(reason="away"),
        lambda: campaign.ask(),
    ):
        campaign.request = Request(f"key-{len(campaign.records)}", "0" * 64)
        change()
        own = [record for record in campaign.records if record.request == campaign.request]
        assert len(own) == 1
        before = len(campaign.records)
        with pytest.raises(pw.RepeatedRequest, match=f"this was done before, as record {own[0].seq}; nothing was"):
            change()
        assert len(campaign.records) == before


def test_a_key_is_of_one_author_and_for_one_request() -> None:
    memory = Memory()
    campaign = create(memory)
    campaign.request = ONE
    campaign.note("hello")
    other = pw.Campaign.open(memory, author="ben")
    other.request = ONE
    other.note("hello")
    campaign.request = OTHER
    with pytest.raises(pw.InvalidCampaign, match="used for another request, in record 2; choose a new one"):
        campaign.note("goodbye")
    campaign.request = None
    campaign.note("hello")
    assert [record.kind for record in campaign.records].count("note") == 3


def test_somebody_else_may_have_sent_it_meanwhile() -> None:
    memory = Memory()
    campaign, twin = create(memory), pw.Campaign.open(memory, author="ada")
    twin.request = campaign.request = ONE

    def between(ledger: object) -> tuple[str, dict[str, str]]:
        if len(memory.lines) == 1:
            twin.note("hello")
        return "note", {"text": "hello"}

    with pytest.raises(pw.RepeatedRequest, match="as record 2"):
        campaign._write(between)
    assert len(memory.lines) == 2


def test_what_follows_from_a_request_does_not_carry_its_key() -> None:
    campaign = create()
    while rows := campaign.ask():
        campaign.request = Request(f"tell-{rows.sheet.number}", "0" * 64)  # type: ignore[union-attr]
        campaign.tell(rows.filled([9.0 * (probe != "b") for probe in rows["probe"]]))
        campaign.request = None
    kinds = {record.kind for record in campaign.records if record.request is not None}
    assert kinds == {"recorded"}
    assert campaign.records[-1].kind == "decided"


def test_the_key_is_part_of_the_chain(tmp_path: Path) -> None:
    campaign = create(tmp_path / "a.campaign")
    campaign.request = ONE
    campaign.note("hello")
    campaign.request = None
    campaign.note("later")
    campaign.export(tmp_path / "a.jsonl")
    assert verify(tmp_path / "a.jsonl").sound
    (tmp_path / "b.jsonl").write_text((tmp_path / "a.jsonl").read_text().replace('"key":"k-1"', '"key":"k-2"'))
    with pytest.raises(pw.InvalidCampaign, match="record 2 of the journal, or one before it, was changed"):
        pw.Campaign.open(tmp_path / "b.jsonl")
    assert pw.Campaign.open(tmp_path / "a.jsonl").records[1].request == ONE


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"key": "k"}, "'request.digest' is missing"),
        ({"key": "", "digest": "0" * 64}, "'request.key' must be 1 to 200 signs"),
        ({"key": "a b", "digest": "0" * 64}, "'request.key' must be 1 to 200 signs"),
        ({"key": "k", "digest": "x"}, "'request.digest' must be a digest"),
        ({"key": "k", "digest": "0" * 64, "more": 1}, "has a field 'more'"),
        (3, "request must be a JSON object"),
    ],
)
def test_a_forged_key_is_refused(request_: object, sentence: str) -> None:
    own = json.loads(Record.new("note", {"text": "x"}, author="Eve", after=None, request=ONE).line)
    text = json.dumps(own | {"request": request_}, separators=(",", ":")).rpartition(',"digest"')[0]
    digest = hashlib.sha256(("0" * 64 + text + "}").encode()).hexdigest()
    with pytest.raises(pw.InvalidCampaign, match=re.escape(sentence)):
        Record.read(f'{text},"digest":"{digest}"}}', after=None)


BODIES = {
    "note": {"text": "hello"},
    "tell": {"rows": {"r1-2": 5.0}},
    "correct": {"measurement": "r1-1", "outcome": 2.0, "reason": "slip"},
    "void": {"measurements": ["r1-1"], "reason": "spilled"},
    "restock": {"probe": "a", "stock": 9, "reason": "few"},
    "close": {"reason": "away"},
}


@pytest.mark.parametrize("change", BODIES)
def test_after_a_crash_between_record_and_answer(change: str, tmp_path: Path) -> None:
    """The server is killed after the record is written and before the answer is kept; the request comes again."""
    pytest.importorskip("starlette", reason="starlette is not installed")
    from _serving import Serving, Visitor

    (tmp_path / "lab").mkdir()
    campaign = create(tmp_path / "lab" / "a.campaign")
    campaign.ask()
    campaign.tell({"r1-1": 1.0})
    path, before = "/api/v1/campaigns/a.campaign", len(campaign.records)
    hold = tmp_path / "hold.py"
    hold.write_text(
        "import os, signal, sys\n"
        "from probewise.server.accounts import Accounts\n"
        "Accounts.answer = lambda *args: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from probewise.cli import main\n"
        "sys.argv[0] = 'probewise'\n"
        "main()\n"
    )
    serving = Serving(tmp_path / "lab", script=hold)
    with pytest.raises(ConnectionError):
        Visitor(serving.url).json(f"{path}/{change}", BODIES[change], idempotency_key="k")
    assert serving.process is not None
    assert serving.process.wait(20) == -signal.SIGKILL
    assert len(campaign.records) == before + 1
    if change == "tell":  # somebody changes it meanwhile: the repetition must not complain of that
        campaign.correct("r1-2", 6.0, reason="slip")
    written = len(campaign.records)
    again = Serving(tmp_path / "lab")
    try:
        visitor = Visitor(again.url)
        answer = visitor.json(f"{path}/{change}", BODIES[change], idempotency_key="k")
        assert answer.status == 200, answer.text
        assert answer.headers["idempotent-replay"] == "true"
        assert answer.json["sentence"] == f"This was done before, as record {before + 1}."
        assert len(campaign.records) == written
        if change == "tell":
            assert answer.json["recorded"] == ["r1-2"]
        other = visitor.json(f"{path}/note", {"text": "other"}, idempotency_key="k")
        assert other.status == 422
        assert "used for another request" in other.json["error"]
    finally:
        again.stop()


def test_a_form_that_is_sent_twice_counts_once(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="starlette is not installed")
    from _serving import Serving, Visitor

    (tmp_path / "lab").mkdir()
    campaign = create(tmp_path / "lab" / "a.campaign")
    serving = Serving(tmp_path / "lab")
    try:
        visitor = Visitor(serving.url)
        mark = re.findall(r'name="once" value="(\w+)"', visitor.get("/c/a.campaign").text)[0]
        for text in ("hello", "hello", "another"):  # the third is a form that was changed, after going back
            done = visitor.form("/c/a.campaign/note", {"text": text, "once": mark}, page="/c/a.campaign")
            assert done.status == 303
        notes = [record.body["text"] for record in campaign.records if record.kind == "note"]
        assert notes == ["hello", "another"]
    finally:
        serving.stop()
