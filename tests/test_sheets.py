"""Sheets: rounds as counts, refused where nobody can have meant them; files that are whole, private, and told back."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import stat
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

import probewise as pw
from probewise.campaign import Ledger, Memory, Record, Rows
from probewise.campaign.state.plan import LARGEST, Plan, check_size
from probewise.cells import UNSEEN
from probewise.cli import main
from probewise.files import new_file

DATA = Path(__file__).with_name("data")
PROBES, ITEMS = [[1.0, 0.0], [1, 1], [1, 3]], [[1, 2], [1, 1.5], [1, 0.5]]
HUGE = 83_717_441
NAMES = (
    "hot ", "hot", "hot\xa0", " hot", "a\rb", "a\nb", "a\r\nb", "\tz", "=1+1", "+x", "-x", "-5", "@y", "'q", "''",
    "x;=y", "\x1b[31mred", "\x9b31m", "\u202eabc", 'he said "no"', "a,b", "a;b", "a\tb", "=cmd|' /C calc'!A0",
    "\uff1d1", "\\", "\\x20", "'=1", "'\\x20", "NA", "1e-400", "\u2028", "\ufeffx", "🧪 №5",
)  # fmt: skip


def run(line: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, shlex.split(line), prog_name="probewise", input=stdin)


def large(path: Any = None, sigma: float = 1e7) -> pw.Campaign:
    """A campaign whose first round has HUGE rows."""
    problem = pw.Problem(PROBES, ITEMS, sigma=sigma, cost=[2.0, 2.0, 2.0])
    return pw.Campaign.create(path or Memory(), problem, pw.BestItem(0.05, 1e-3), pw.XYAdaptive(), seed=0)


def odd() -> pw.Campaign:
    """A campaign with odd names everywhere."""
    rng, n = np.random.default_rng(0), len(NAMES)
    probes = pl.DataFrame(
        {
            "state": [f"{name}s" for name in NAMES],
            "state of probe": list(range(n)),
            "round": list(reversed(NAMES)),
            "=col": [-1.5] * n,
            "a;b;c;d;e;f;g;h;i;j": ["x"] * n,
            " lead\r": list(NAMES),
        }
    )
    items = [f"{name}!" for name in NAMES[:4]]
    problem = pw.Problem(rng.normal(size=(n, 3)), rng.normal(size=(4, 3)), probe_names=NAMES, item_names=items)
    return pw.Campaign.create(Memory(), problem, algorithm=pw.Uniform(), seed=1, probe_columns=probes)


# --- how large a round may be --------------------------------------------------------------------------------------


def test_a_round_that_nobody_can_have_meant_is_refused_and_nothing_is_written() -> None:
    campaign = large()
    sentence = (
        rf"^the next round would have {HUGE:,} rows and cost 1\.67435e\+08, and at most 100,000 rows are allowed: "
        r"begin a campaign with a larger epsilon or delta, a smaller sigma, or another algorithm, such as sage with "
        rf"max_batch, or allow such a round by max_round \(--max-round {HUGE}\); nothing was asked for\.$"
    )
    with pytest.raises(pw.RoundTooLarge, match=sentence):
        campaign.ask()
    with pytest.raises(pw.RoundTooLarge, match=f"at most {HUGE - 1:,} rows"):
        campaign.ask(max_round=HUGE - 1)
    assert [record.kind for record in campaign.records] == ["created"]
    with pytest.raises(pw.RoundTooLarge, match=r"such as sage with max_batch; nothing was asked for\.$"):
        large(sigma=1e12).ask(max_round=LARGEST)  # more rows than ids


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "9", None, LARGEST + 1, 10**400])
def test_the_limit_is_a_number_of_rows(limit: Any) -> None:
    with pytest.raises(pw.InvalidCampaign, match=r"max_round must be a whole number from 1 to 999,999,999, got "):
        large().ask(max_round=limit)


def test_a_huge_round_takes_no_memory_until_its_rows_are_needed() -> None:
    campaign = large(sigma=1e6)
    tracemalloc.start()
    rows = campaign.ask(max_round=HUGE)
    standing = campaign.status()
    reopened = pw.Campaign.open(campaign._store)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(rows) == standing.waiting == reopened.ledger.sheets[0].left > 8_000_000
    assert re.match(r"(\d{7}) of \1 rows of round 1 to measure: '0' 4,\d{3},\d{3} times", rows.sentence)
    assert peak < 5_000_000
    assert len(campaign.records[-1].line) < 1000


def test_the_command_line_refuses_before_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    large("big.jsonl")
    before = Path("big.jsonl").read_bytes()
    for line in ("ask big.jsonl --out a.csv", "ask big.jsonl --json", "ask big.jsonl --max-round 99"):
        result = run(line)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"would have {HUGE:,} rows" in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"big.jsonl"}
    assert Path("big.jsonl").read_bytes() == before
    small = pw.Campaign.create("small.jsonl", pw.Problem(PROBES, ITEMS), seed=0)
    assert run("ask small.jsonl --max-round 4 --out b.csv").exit_code == 0
    assert len(Path("b.csv").read_text().splitlines()) == 1 + small.ledger.sheets[0].size == 5


def test_an_open_round_whose_probes_ran_out_is_a_sentence_and_no_empty_round() -> None:
    problem = pw.Problem(np.eye(2), np.eye(2), sigma=0.5)
    campaign = pw.Campaign.create(Memory(), problem, algorithm=pw.Sage(max_batch=3, growth=1.5), seed=0)
    rows = campaign.ask()
    campaign.tell(rows.filled(np.zeros(len(rows))))
    for probe in ("0", "1"):
        campaign.restock(probe, 0, reason="spilled")
    before = len(campaign.records)
    with pytest.raises(pw.OutOfStock, match=r"left .*stock"):
        campaign.ask()
    assert len(campaign.records) == before


# --- rounds as counts ----------------------------------------------------------------------------------------------


def philox(block: int, key: int) -> list[int]:
    """Four words of Philox4x64-10 (Salmon and others 2011), without NumPy."""
    full, x, low, high = 2**64 - 1, [block, 0, 0, 0], key % 2**64, key >> 64
    for _ in range(10):
        one, two = x[0] * 0xD2E7470EE14C6C93, x[2] * 0xCA5A826395121157
        x = [two >> 64 ^ x[1] ^ low, two & full, one >> 64 ^ x[3] ^ high, one & full]
        low, high = (low + 0x9E3779B97F4A7C15) & full, (high + 0xBB67AE8584CAA73B) & full
    return x


def test_the_order_of_rows_is_a_function_of_counts_and_key_for_ever() -> None:
    plan = Plan(np.array([0, 2, 5]), np.array([3, 1, 4]), "000102030405060708090a0b0c0d0e0f")
    assert plan.rows.tolist() == [0, 2, 0, 5, 0, 5, 5, 5]
    words = [*philox(1, int(plan.key, 16)), *philox(2, int(plan.key, 16))]
    by_word = [probe for _, probe in sorted(zip(words, [0, 0, 0, 2, 5, 5, 5, 5], strict=True))]
    assert plan.rows.tolist() == by_word
    assert Plan.of(np.array([3, 0, 1]), seed=7, round_=2).key == "0d80ded3aa37bc5b1630fe24558e5cc4"


def test_a_plan_has_rows_of_every_probe_that_it_names() -> None:
    key = "000102030405060708090a0b0c0d0e0f"
    assert Plan(np.array([0, 1]), np.array([1, 2]), key).size == 3
    for counts in ([0, 2], [2, 0], [-1, 2]):
        with pytest.raises(pw.InvalidCampaign, match="a round needs probes in ascending order, a count of each"):
            Plan(np.array([0, 1]), np.array(counts), key)
    charter = pw.Campaign.create(Memory(), pw.Problem(np.eye(2)), seed=0).ledger.charter
    check_size(np.array([0, 1]), 1, charter)
    with pytest.raises(pw.OutOfStock, match="nothing is left of the probes that the open round still measures"):
        check_size(np.array([0, 0]), 1, charter)


def test_a_round_of_which_all_was_voided_is_empty() -> None:
    campaign = pw.Campaign.create(Memory(), pw.Problem(np.eye(2)), seed=0)
    rows = campaign.ask()
    assert campaign.ledger.sheets[0].empty
    campaign.tell({rows["measurement"][0]: 1.0})
    assert not campaign.ledger.sheets[0].empty
    for own in rows["measurement"]:
        campaign.void(own, reason="spilt")
    assert campaign.ledger.sheets[0].empty


def test_orders_differ_between_rounds_and_seeds_and_favour_nobody() -> None:
    counts = np.array([1, 1, 1])
    orders = [tuple(Plan.of(counts, seed, 1).rows.tolist()) for seed in range(3000)]
    often = np.array([orders.count(order) for order in set(orders)])
    assert often.size == 6
    assert (abs(often - 500) < 5 * np.sqrt(500 * 5 / 6)).all()
    assert len({Plan.of(counts, 0, round_).key for round_ in range(1, 100)}) == 99


def test_journals_of_both_forms_go_on(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    shutil.copy(DATA / "version-1.jsonl", path)
    campaign = pw.Campaign.open(path)
    old = len(campaign.records)
    assert all('"form":1,' in record.line for record in campaign.records)
    if campaign.ledger.waiting is not None:
        campaign.close(reason="a test")
    rows = campaign.ask()
    assert len(rows)
    campaign.tell(rows.filled(np.zeros(len(rows))))
    again = pw.Campaign.open(path)
    assert all('"form":2,' in record.line for record in again.records[old:])
    assert "counts" in next(record for record in again.records[old:] if record.kind == "asked").body
    for living, fresh in zip(campaign.ledger.sheets, again.ledger.sheets, strict=True):
        np.testing.assert_array_equal(living.probes, fresh.probes)
        np.testing.assert_array_equal(living.outcomes, fresh.outcomes)
    assert again.status() == campaign.status()


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [1]}, {"counts": [0, 4]}, {"counts": [-1, 5]}, {"counts": [2, 10**9]}, {"counts": [2**62, 2**62]},
        {"probes": [2, 0]}, {"probes": [0, 0]}, {"probes": [-1, 0]}, {"probes": [0, 3]}, {"probes": [], "counts": []},
        {"key": "0"}, {"key": "g" * 32},
    ],
)  # fmt: skip
def test_a_forged_round_is_a_sentence(change: dict[str, Any]) -> None:
    campaign = pw.Campaign.create(Memory(), pw.Problem(PROBES, ITEMS), seed=0)
    body = {"round": 1, "probes": [0, 2], "counts": [2, 2], "key": "0" * 32, "begins": True, "due": None} | change
    with pytest.raises(pw.InvalidCampaign, match=r"^record 2 of the journal cannot be: [^\n]+\.$"):
        Ledger.start(campaign.records[0]).after(Record.new("asked", body, author="Eve", after=campaign.records[0]))


# --- files ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pw.Campaign.create("lab.jsonl", pw.Problem(PROBES, ITEMS), seed=0)
    return tmp_path


def test_a_sheet_that_cannot_be_written_leaves_no_half_and_says_how_to_get_it(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Rows.csv_lines

    def full(rows: Rows) -> Iterator[str]:
        yield next(whole(rows))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Rows, "csv_lines", full)
        for line, where in (("--out a.csv", "a.csv"), ("", "standard output")):
            result = run(f"ask lab.jsonl {line}")
            assert result.exit_code == 2
            assert result.stderr == (
                f"Error: the round is stored, but its table cannot be written to {where} (No space left on device): "
                "ask again, perhaps with another --out, to get the same rows.\n"
            )
    assert [path.name for path in lab.iterdir()] == ["lab.jsonl"]
    assert run("ask lab.jsonl --out a.csv").exit_code == 0
    assert [record.kind for record in pw.Campaign.open("lab.jsonl").records] == ["created", "asked"]


def test_nothing_is_asked_for_where_no_sheet_can_be_written(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Path("lab.jsonl").read_bytes()
    assert "there is no folder no for a.csv; make it first" in run("ask lab.jsonl --out no/a.csv").stderr
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "nothing can be written in .; choose another folder" in run("ask lab.jsonl --out a.csv").stderr
    assert Path("lab.jsonl").read_bytes() == before


def mode(path: str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="rights of another kind")
def test_new_files_are_their_owners_only_unless_asked(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROBEWISE_MODE", raising=False)
    old = os.umask(0)
    try:
        for line in ("ask lab.jsonl --out a.csv", "export lab.jsonl --out b.csv", "report lab.jsonl --out c.html"):
            assert run(line).exit_code == 0
            assert mode(line.split()[-1]) == 0o600
        Path("a.csv").chmod(0o644)
        assert run("ask lab.jsonl --out a.csv").exit_code == 0
        assert mode("a.csv") == 0o644  # a file keeps the rights that it was given
        monkeypatch.setenv("PROBEWISE_MODE", "640")
        assert run("ask lab.jsonl --out d.csv").exit_code == 0
        assert mode("d.csv") == 0o640
        for wrong in ("rw", "9", "77777", "040", ""):
            monkeypatch.setenv("PROBEWISE_MODE", wrong)
            result = run("ask lab.jsonl --out e.csv")
            assert f"PROBEWISE_MODE must be rights of a file that its owner can write, as 640, got '{wrong}'." in (
                result.stderr
            )
    finally:
        os.umask(old)


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError), new_file(target) as file:  # noqa: PT012
        file.write("half")
        file.flush()
        assert target.read_text() == "old"
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    with new_file(link) as file:
        file.write("new")
    assert (target.read_text(), link.is_symlink()) == ("new", True)
    with (
        pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / "no" / "b.csv"))),
        new_file(tmp_path / "no" / "b.csv"),
    ):
        pass


# --- told back -----------------------------------------------------------------------------------------------------


def test_odd_names_and_columns_are_told_back(tmp_path: Path) -> None:
    campaign = odd()
    rows = campaign.ask()
    sheet = tmp_path / "ask.csv"
    rows.write_csv(sheet)
    head, *lines = sheet.read_text("utf-8").splitlines()
    assert len(lines) == len(rows) >= len(NAMES)
    assert set(rows["probe"]) == set(NAMES)
    place = head.split(",").index("outcome")
    assert place == 4
    told = [
        re.sub(r'^([^,]*,[^,]*,(?:"(?:[^"]|"")*"|[^,]*),[^,]*),,', rf"\1,{at}.5,", line)
        for at, line in enumerate(lines)
    ]
    sheet.write_text("\n".join([head, *told]), "utf-8")
    result = campaign.tell(sheet)
    assert (len(result.recorded), result.empty) == (len(rows), 0)
    assert "notes" not in campaign.records[1 + 1].body  # every column is known
    assert campaign.ledger.outcome((1, 3)) == 2.5
    campaign.export(tmp_path / "all.csv")
    again = campaign.tell(tmp_path / "all.csv")
    assert (len(again.repeated), len(again.recorded)) == (len(rows), 0)
    for frame in (rows.to_polars(), rows.to_pandas()):
        assert set(frame["probe"]) == set(NAMES)


def test_a_column_called_state_keeps_its_cells(tmp_path: Path) -> None:
    from probewise.reading import read_table

    campaign = odd()
    campaign.ask()
    campaign.export(tmp_path / "all.csv")
    table = read_table(tmp_path / "all.csv")
    assert table.header[:6] == ("measurement", "round", "probe", "replicate", "outcome", "state")
    assert set(table.column("state")) == {"open"}
    assert table.column("state of probe of probe") == [f"{name}s" for name in table.column("probe")]
    assert "round of probe" in table.header
    assert set(table.numbers("=col").tolist()) == {-1.5}
    assert len(set(table.numbers("state of probe").tolist())) == len(NAMES)


def test_an_old_campaign_with_a_column_called_state_is_exported_whole(tmp_path: Path) -> None:
    campaign = pw.Campaign.create(Memory(), pw.Problem(PROBES, ITEMS), seed=0)
    body = campaign.records[0].body | {"probe_columns": {"state": ["solid", "liquid", "gas"]}}
    store = Memory()
    store.append(Record.new("created", body, author="Ada", after=None).line, after=0)
    old = pw.Campaign.open(store)
    rows = old.ask()
    assert list(rows.columns)[-1] == "state of probe"
    old.export(tmp_path / "all.csv")
    assert (
        (tmp_path / "all.csv")
        .read_text()
        .startswith("measurement,round,probe,replicate,outcome,state,state of probe\n")
    )
    old.tell({"r1-1": 1.0})
    assert old.tell([{"measurement": "r1-2", "outcome": 2.0, "state": "open", "state of probe": "gas"}]).recorded
    assert "notes" not in old.records[-1].body
    assert old.tell([{"measurement": "r1-3", "outcome": 2.0, "state": "cloudy"}]).recorded
    assert old.records[-1].body["notes"] == {"r1-3": {"state": "cloudy"}}  # a remark of the laboratory


def test_off_plan_rows_name_probes_exactly() -> None:
    problem = pw.Problem(PROBES, ITEMS, probe_names=["hot", "hot ", " cold"])
    campaign = pw.Campaign.create(Memory(), problem, seed=0)
    campaign.tell(pl.DataFrame({"probe": ["hot ", "hot", " cold", "  hot"], "outcome": [1, 2, 3, 4]}), off_plan=True)
    assert campaign.ledger.sheets[0].probes.tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize("outcome", ["１２", "٣", "1e-400", "1e999", "0x10", "1_0", 10**400, -(10**400), "9" * 5000])
def test_outcomes_that_are_no_numbers_are_refused(outcome: Any) -> None:
    campaign = pw.Campaign.create(Memory(), pw.Problem(PROBES, ITEMS), seed=0)
    campaign.ask()
    sentence = r"^row 0, column 'outcome': got .{1,110}, expected a .*; nothing was recorded\.$"
    with pytest.raises(pw.InvalidRows, match=sentence):
        campaign.tell([{"measurement": "r1-1", "outcome": outcome}])
    with pytest.raises(pw.InvalidRows, match="expected an id such as 'r1-4'"):
        campaign.tell({"r１-１": 1.0})


@pytest.mark.parametrize("cell", ["１２", "1e-400", "1e999", "0x10", "1_0"])
def test_features_that_are_no_numbers_are_refused(tmp_path: Path, cell: str) -> None:
    (tmp_path / "p.csv").write_text(f"id,x,y\na,1,0\nb,{cell},1\nc,1,1\n", "utf-8")
    from probewise.reading import read_table

    with pytest.raises(pw.InvalidProblem, match=rf"p\.csv, line 3, column 'x': '{cell}' is not .*; .*\.$"):
        read_table(tmp_path / "p.csv").labelled()
    (tmp_path / "q.csv").write_text("x,y\n１,１\n２,２\n", "utf-8")
    with pytest.raises(
        pw.InvalidProblem, match=r"line 2, column 'x': '１' is not a number; give it in the digits 0 to 9"
    ):
        read_table(tmp_path / "q.csv").labelled()  # a column of such digits is no column of names


def test_no_name_acts_on_a_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bad = "\x1b]0;x\x07\x9b31m\u202e\r"
    names = [f"{bad}{at}" for at in range(3)]
    problem = pw.Problem(PROBES, ITEMS, probe_names=names, item_names=names, feature_names=[bad, "y"], sigma=0.1)
    campaign = pw.Campaign.create("lab.jsonl", problem, seed=0, author=bad)
    word = shlex.quote(bad)
    lines = [
        *("ask lab.jsonl", "ask lab.jsonl --json", "status lab.jsonl", "status lab.jsonl --json"),
        *(f"restock lab.jsonl {word} 4 --reason x", f"void lab.jsonl {word} --reason x", f"note {word} x"),
        *("tell lab.jsonl -", "tell lab.jsonl - --json", "status lab.jsonl"),
    ]
    for line in lines:
        if line.startswith("tell"):
            rows = campaign.ask()
            table = "measurement,outcome\n" + "".join(f"{own},{at}\n" for at, own in enumerate(rows["measurement"]))
            result = run(line, table)
        else:
            result = run(line)
        for text in (result.stdout, result.stderr):
            assert not re.search(f"(?!\n)[{UNSEEN}]", text), (line, text)
        if "--json" in line and result.exit_code == 0 and not line.startswith("tell"):
            assert bad in str(json.loads(result.stdout).values()).encode().decode("unicode_escape")
