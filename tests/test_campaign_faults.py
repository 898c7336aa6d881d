"""Writes of which a system call fails, and journals that were forged or cut: lean versions of two benchmarks."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest

import probewise as pw
from probewise.campaign import Memory, Record
from probewise.campaign.journal import bodies
from probewise.campaign.state.settings import fits

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize("ending", [".jsonl", ".campaign"])
def test_a_system_call_that_fails_loses_nothing_and_leaves_nothing(ending: str) -> None:
    """A small version of benchmarks/fault_injection.py."""
    if shutil.which("cc") is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler (cc)")
    command = [sys.executable, str(BENCHMARKS / "fault_injection.py"), "--lean", "--ending", ending]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{ending}: " in done.stdout
    assert " 0 went wrong" in done.stdout


@pytest.fixture(scope="module")
def attacks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("forged_journals", BENCHMARKS / "forged_journals.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("ending", [".jsonl", ".campaign"])
def test_forged_journals_are_refused_in_a_sentence(ending: str, attacks: ModuleType, tmp_path: Path) -> None:
    """A small version of benchmarks/forged_journals.py."""
    ends, bad = attacks.forge(tmp_path, ending, 60, 7)
    assert bad == []
    assert ends["refused"] > 20


@pytest.mark.parametrize("ending", [".jsonl", ".campaign"])
def test_cut_journals_are_told(ending: str, attacks: ModuleType, tmp_path: Path) -> None:
    ends, bad = attacks.cut(tmp_path, ending, 100, 7)
    assert bad == []
    assert ends["refused"] + ends["told"] > 50


# Each rule by itself.


def sound() -> list[dict[str, Any]]:
    """created, asked (4 rows), recorded (3), corrected, voided, closed, unplanned, stocked, asked (4), note."""
    problem = pw.Problem(np.eye(2), probe_names=["a", "b"], item_names=["A", "B"])
    campaign = pw.Campaign.create(Memory(), problem, seed=0, outcome_range=(-9, 9))
    rows = campaign.ask()["measurement"]
    campaign.tell(dict.fromkeys(rows[:3], 0.5))
    campaign.correct(rows[0], 0.25, reason="typing error")
    campaign.void(rows[1], reason="spilled")
    campaign.close(reason="lost")
    campaign.tell([{"probe": "a", "outcome": 1.0}], off_plan=True)
    campaign.restock("b", 500, reason="a bottle")
    campaign.ask(due="2026-12-31")
    campaign.note("text")
    records = [json.loads(record.line) for record in campaign.records]
    return [{name: value for name, value in record.items() if name != "digest"} for record in records]


def chained(records: list[Any]) -> list[str]:
    before, out = "0" * 64, []
    for record in records:
        text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        before = hashlib.sha256((before + text).encode()).hexdigest()
        out.append(f'{text[:-1]},"digest":"{before}"}}')
    return out


def opened(records: list[Any]) -> pw.Campaign:
    memory = Memory()
    memory.lines = chained(records)
    return pw.Campaign.open(memory)


def test_the_sound_one_opens() -> None:
    campaign = opened(sound())
    kinds = ["created", "asked", "recorded", "corrected", "voided", "closed", "unplanned", "stocked", "asked", "note"]
    assert [record.kind for record in campaign.records] == kinds
    campaign.status()


def put(at: int, *path: Any, value: Any) -> Callable[[list[Any]], None]:
    def change(records: list[Any]) -> None:
        place = records[at - 1]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


def rage(records: list[Any]) -> None:
    """Another algorithm, which keeps no memo."""
    records[0]["body"]["algorithm"] = {"name": "rage", "settings": {}}
    del records[0]["body"]["memo"]


def add(kind: str, **body: Any) -> Callable[[list[Any]], None]:
    """One more record before the note, which is the last."""

    def change(records: list[Any]) -> None:
        records[-1:] = [{**records[-1], "kind": kind, "body": body}]

    return change


def text(at: int, old: str, new: str) -> Callable[[list[Any]], None]:
    """Another text of a record."""

    def change(records: list[Any]) -> None:
        plain = json.dumps(records[at - 1], ensure_ascii=False, separators=(",", ":"))
        assert old in plain
        records[at - 1] = plain.replace(old, new)

    return change


HUGE = 10**400
FORGERIES: dict[str, tuple[Callable[[list[Any]], None], str]] = {
    "no JSON": (text(10, '"text"}', '"text"'), "record 10 .* cannot be: it is not JSON"),
    "too deep": (text(10, '"text"', "[" * 100_000 + "]" * 100_000), "record 10 .* cannot be: it is not JSON"),
    "no author": (lambda records: records[9].pop("author"), "record 10 .*: 'author' is missing"),
    "author a number": (put(10, "author", value=5), "record 10 .*: 'author' must be text, got 5"),
    "time": (put(10, "time", value="yesterday"), "record 10 .*: 'time' must be a time, got 'yesterday'"),
    "one field more": (put(10, "mood", value="fine"), "record 10 .*: has a field 'mood' that is not known"),
    "seq": (put(10, "seq", value=9), "record 10 .*: it has seq 9 and kind 'note'"),
    "kind": (put(10, "kind", value="gossip"), "record 10 .*: it has seq 10 and kind 'gossip'"),
    "form 0": (put(10, "form", value=0), "record 10 .*: 'form' must be a whole number of at least 1"),
    "newer form": (put(10, "form", value=99), "record 10 was written by probewise .* in form 99"),
    "no text": (put(10, "body", value={}), "record 10 .*: in 'note', 'text' is missing"),
    "text a list": (put(10, "body", "text", value=[]), r"record 10 .*'text' must be text, got \[\]"),
    "body a list": (put(10, "body", value=[]), r"record 10 .*'body' must be a JSON object, got \[\]"),
    "NaN": (put(3, "body", "outcomes", 0, value=float("nan")), "record 3 .*'outcomes' must be a list"),
    "infinite": (text(3, "[0.5,", "[1e999,"), "record 3 .*'outcomes' must be a list .* finite number"),
    "huge": (
        put(3, "body", "outcomes", 0, value=HUGE),
        "record 3 .*'outcomes' must be a list of at least 1, each a fin",
    ),
    "half a character": (text(10, '"text"}', '"\\ud800"}'), "record 10 .*: its text is not as probewise writes it"),
    "a name twice": (text(10, '{"text"', '{"text":"a","text"'), "record 10 .*: its text is not as probewise writes it"),
    "first a note": (
        lambda records: records.__setitem__(slice(None), [{**records[-1], "seq": 1}]),
        "record 1 .*: a journal begins with 'created', got 'note'",
    ),
    "created again": (lambda records: records.append({**records[0], "seq": 11}), "record 11 .* is created once"),
    "round out of order": (put(9, "body", "round", value=5), "record 9 .*: round 5 comes after round 2"),
    "round while another waits": (
        add("asked", round=4, probes=[0], begins=True, due=None),
        "record 10 .*: round 3 is not complete",
    ),
    "probe that is not there": (
        put(2, "body", "probes", 0, value=2),
        "record 2 .*: there is no probe number 2 among 2",
    ),
    "negative probe": (put(2, "body", "probes", 0, value=-1), "record 2 .*'probes' must be a list"),
    "empty round": (put(2, "body", "probes", value=[]), "record 2 .*'probes' must be a list of at least 1"),
    "due": (put(9, "body", "due", value="soon"), "record 9 .*'due' must be a date, or null, got 'soon'"),
    "row that is not there": (put(3, "body", "rows", 0, value="r9-1"), "record 3 .*: there is no row 'r9-1'"),
    "row 0": (put(3, "body", "rows", 0, value="r1-0"), "record 3 .*'rows' must be a list .* id of a row"),
    "row twice": (put(3, "body", "rows", 0, value="r1-2"), "record 3 .*: a row is named twice"),
    "recorded again": (
        add("recorded", rows=["r1-1"], outcomes=[1.0]),
        "record 10 .*: row 'r1-1' cannot be recorded as",
    ),
    "voided again": (add("voided", rows=["r1-2"], reason="x"), "record 10 .*: row 'r1-2' cannot be voided as it stood"),
    "open row corrected": (
        add("corrected", row="r3-1", outcome=1.0, reason="x"),
        "row 'r3-1' cannot be corrected as it",
    ),
    "fewer outcomes": (put(3, "body", "outcomes", value=[0.5]), "record 3 .*: it has 1 outcomes of 3 rows"),
    "out of range": (
        put(3, "body", "outcomes", 0, value=10.0),
        "record 3 .*outside the range of the campaign, -9 to 9",
    ),
    "closed": (put(6, "body", "round", value=2), "record 6 .*: round 2 is not waiting for rows"),
    "stock of nothing": (put(8, "body", "probe", value="c"), "record 8 .*: there is no probe 'c'"),
    "negative stock": (put(8, "body", "stock", value=-1), "record 8 .*'stock' must be a whole number of at least 0"),
    "huge stock": (put(8, "body", "stock", value=HUGE), "record 8 .*'stock' must be a whole number of at least 0"),
    "memo and RAGE": (
        put(1, "body", "algorithm", value={"name": "rage", "settings": {}}),
        "record 1 .*: rage keeps nothing of what it begins with, got 'probes, weights'",
    ),
    "stock and RAGE": (
        rage,
        "record (7|8) .*(takes no rounds of the laboratory's own|limits the stock)",
    ),
    "item that is not there": (add("decided", item="C", round=1), "record 10 .*: there is no item 'C'"),
    "decided by nothing": (add("decided", item="A", round=9), "record 10 .*the round that decided is not there"),
    "withdrawn": (add("withdrawn", item="A", reason="x"), "record 10 .*: 'A' is not declared"),
    "delta": (
        put(1, "body", "goal", "settings", "delta", value=2.0),
        "record 1 .*: delta must lie strictly between 0 and 1, got 2.0",
    ),
    "sigma": (
        put(1, "body", "problem", "outcome", "settings", "sigma", value=-1.0),
        "record 1 .*: sigma must be positive and finite",
    ),
    "sigma twice": (put(1, "body", "problem", "sigma", value=[1.0]), "record 1 .*: a problem needs a law of its"),
    "goal twice": (put(1, "body", "goal", "delta", value=0.1), "record 1 .*: a goal needs a name and settings, got"),
    "unknown goal": (
        put(1, "body", "goal", "name", value="worst"),
        r"does not know the goal 'worst' .*\('worst'\); install",
    ),
    "unknown law": (
        put(1, "body", "problem", "outcome", "name", value="dice"),
        "does not know the law of outcomes 'dice'",
    ),
    "items of no name": (add("decided", round=1), "record 10 .*: it must name an item or several items"),
    "ragged": (put(1, "body", "problem", "probes", 0, value=[1.0]), "record 1 .*: probes"),
    "seed": (put(1, "body", "seed", value=-1), "record 1 .*'seed' must be a whole number of at least 0, got -1"),
    "columns": (put(1, "body", "probe_columns", "x0", value=[1.0]), "probe_columns need one row per probe"),
    "range": (put(1, "body", "outcome_range", value=[1, 1]), "outcome_range must be"),
    "range of three": (put(1, "body", "outcome_range", value=[0, 1, 2]), "record 1 .*'outcome_range' must be"),
    "algorithm": (put(1, "body", "algorithm", "name", value="guess"), "does not know the algorithm 'guess'"),
    "setting": (
        put(1, "body", "algorithm", "settings", "mood", value=1),
        "does not know the algorithm 'sage' with .*mood",
    ),
    "setting a word": (put(1, "body", "algorithm", "settings", "tol", value="x"), "tol cannot be 'x'"),
    "huge setting": (put(1, "body", "algorithm", "settings", "max_batch", value=HUGE), "max_batch cannot be 1000"),
    "growth": (put(1, "body", "algorithm", "settings", "growth", value=0.5), "record 1 .*: growth must be above 1"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_record_is_named(name: str) -> None:
    records, (change, sentence) = sound(), FORGERIES[name]
    change(records)
    with pytest.raises(pw.InvalidCampaign, match=sentence) as raised:
        opened(records)
    assert str(raised.value).endswith(".")
    assert len(str(raised.value)) < 700


@pytest.mark.parametrize("limits", [(0, HUGE), ("0", "1"), (1, 1), (0, float("nan")), (None, "x")])
def test_a_range_of_outcomes_that_is_none(limits: Any) -> None:
    with pytest.raises(pw.InvalidCampaign, match=r"outcome_range must be \(low, high\) with low below high, got \("):
        pw.Campaign.create(Memory(), pw.Problem(np.eye(2)), seed=0, outcome_range=limits)


@pytest.mark.parametrize("algorithm", [pw.Sage, pw.Uniform, pw.GStatic])
def test_growth_without_a_limit(algorithm: Any) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match="growth must be"):
        algorithm(growth=float("inf"))


def test_every_kind_of_record_has_a_shape() -> None:
    assert set(bodies.BODIES) == set(pw.campaign.KINDS)


def test_a_record_is_checked_before_it_is_written() -> None:
    for body in ({"text": 5}, {"text": float("nan")}, {"text": "x", "more": 1}):
        with pytest.raises(
            pw.InvalidCampaign, match=r"'text' must be text|'more' that is not known|finite numbers only"
        ):
            Record.new("note", body, author="Ada", after=None)


@pytest.mark.parametrize("stock", [HUGE, -1, 1.5, True])
def test_a_stock_that_is_no_count(stock: Any) -> None:
    campaign = pw.Campaign.create(Memory(), pw.Problem(np.eye(2), probe_names=["a", "b"]), seed=0)
    with pytest.raises(pw.InvalidRows, match="stock must be a whole number of at least 0, or None, got"):
        campaign.restock("a", stock, reason="counted")


def test_text_that_is_none_is_shown_with_what_stands_around_it() -> None:
    campaign = pw.Campaign.create(Memory(), pw.Problem(np.eye(2)), seed=0)
    with pytest.raises(pw.InvalidCampaign) as told:
        campaign.note("abcdefghijklmnopqrstuvwxyz\udcff0123456789ABCDEF")
    assert str(told.value) == r"'qrstuvwxyz\udcff0123456789' holds bytes that are not UTF-8 text; nothing was written."
    with pytest.raises(pw.InvalidCampaign, match=r"^'.*short\\udcff.*' holds bytes"):
        campaign.note("short\udcff")


SHAPES: dict[str, tuple[list[Any], list[Any]]] = {
    "TEXT": (["", "a"], [None, 1, b"a"]),
    "FLAG": ([True, False], [0, 1, None]),
    "NUMBER": ([0, -1.5, 1.7e308, 10**308], [True, float("inf"), float("nan"), 10**309, -(10**309), "1"]),
    "COUNT": ([0, 2**63 - 1], [-1, 2**63, 1.0, True]),
    "POSITIVE": ([1, 2**63 - 1], [0, 2**63, 1.0, True]),
    "STOCK": ([0, 10**300], [-1, 10**309, 1.0, True]),
    "WHOLE": ([0, 10**400], [-1, 1.0, True]),
    "CELL": ([None, "", 1, 1.5, True], [[], {}]),
    "ROW": (["r1-1", "r999999999-4"], ["r0-1", "r1-0", "1-1", "r1-1 ", "r1234567890-1", 1]),
    "DAY": (["2026-12-31"], ["2026-13-01", "", None]),
    "TIME": (["2026-12-31T10:00:00.000+00:00"], ["now", None]),
    "JSON": ([{}], [[], None]),
    "_POWERS": (
        [[], [["heat", 1], ["time", 99]]],
        [[["heat", 0]], [["heat", 100]], [["heat", 1.0]], [["heat", True]], [["heat"]], [[1, "heat"]], ["heat"], None],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_take_what_they_say_and_nothing_else(name: str) -> None:
    shape, (good, bad) = getattr(bodies, name), SHAPES[name]
    assert [shape.fits(value) for value in good] == [True] * len(good)
    assert [shape.fits(value) for value in bad] == [False] * len(bad)
    assert bodies.maybe(shape).fits(None)
    assert bodies.several(shape).fits(good[:1])
    assert not bodies.several(shape).fits([])
    assert not bodies.several(shape).fits([*good, bad[0]])
    assert bodies.several(shape, count=2).fits([good[0]] * 2)
    assert not bodies.several(shape, count=2).fits([good[0]] * 3)
    assert bodies.table(shape).fits({"a": good[0]})
    assert not bodies.table(shape).fits({"a": good[0], "b": bad[0]})


def test_a_setting_of_some_words_is_one_of_them() -> None:
    words = Literal["paper", "code"]
    assert all(fits(value, words) for value in ("paper", "code"))
    assert not any(fits(value, words) for value in ("tight", "", 1, None, ["code"]))
