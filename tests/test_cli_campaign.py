"""The command line of campaigns: what it prints, what it refuses, and that a refusal changes nothing."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import probewise as pw
from probewise.campaign.journal import sqlite
from probewise.cli import main
from probewise.data import example_path

README = Path(__file__).parents[1] / "README.md"
PROBES = "id,base,heat,price,shelf,left\nmild,1,0,1,A3,\nhot,1,1,2,A4,9\nboth,1,3,4,B1,\n"
ITEMS = "id,base,heat,supplier\nA,1,2,ours\nB,1,1.5,theirs\nC,1,0.5,theirs\n"
SHOWN = "--show shelf --show supplier"
TABLES = f"--probes probes.csv --items items.csv --cost-column price --stock-column left --sigma 0.5 {SHOWN}"


def run(line: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, shlex.split(line), prog_name="probewise", input=stdin)


def ok(line: str, stdin: str | bytes | None = None) -> Result:
    result = run(line, stdin)
    assert result.exit_code == 0, result.stderr
    return result


def said(line: str, stdin: str | bytes | None = None) -> str:
    """What is printed, as one line."""
    return " ".join(ok(line, stdin).stdout.split())


def read(line: str, stdin: str | bytes | None = None) -> dict[str, Any]:
    """What is printed as JSON."""
    result = ok(f"{line} --json", stdin)
    assert result.stderr == ""
    content: dict[str, Any] = json.loads(result.stdout)
    return content


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, and a campaign that asked for a round of which r1-1 is recorded and r1-2 is voided."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "probes.csv").write_text(PROBES)
    (folder / "items.csv").write_text(ITEMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ok(f"new lab.campaign {TABLES} --seed 0 --outcome-range -50 50 --author Ada")
        ok("ask lab.campaign --out ask.csv")
        ok("tell lab.campaign -", "measurement,outcome\nr1-1,2.5\n")
        ok("void lab.campaign r1-2 --reason spilled")
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as working directory."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fill(path: str = "ask.csv", slope: float = 1.0) -> None:
    """Outcomes without noise: 2 + slope·heat."""
    with Path(path).open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["outcome"] = str(2.0 + slope * float(row["heat"]))
    with Path(path).open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def finish(slope: float = 1.0) -> None:
    """Ask, measure and tell until an item is declared."""
    if read("status lab.campaign")["waiting"]:
        ok("close lab.campaign --reason 'a fresh start'")
    while run("ask lab.campaign --out next.csv").exit_code == 0:
        fill("next.csv", slope)
        ok("tell lab.campaign next.csv")


# --- the quick start -----------------------------------------------------------------------------------------------


def test_the_quick_start_of_the_readme_finds_the_winner_in_five_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    part = README.read_text().partition("## Quick start")[2]
    block, printed = (re.findall(rf"^```{kind}\n(.*?)^```$", part, flags=re.M | re.S)[0] for kind in ("sh", "console"))
    commands = [line.partition("  #")[0] for line in block.splitlines()]
    assert len(commands) == 5
    assert commands[0].startswith("pip install")
    out = ""
    for command in commands[1:]:
        out = ""
        for step in command.split(" | "):
            assert step.startswith("probewise ")
            out = ok(step.removeprefix("probewise "), out).stdout
    words = re.compile(r"\d[\d.]*")
    assert words.sub("#", " ".join(out.split())) == words.sub("#", " ".join(printed.split()))
    assert "XPhos, toluene, 100 is the best item in yield, with confidence 95 %" in " ".join(out.split())
    assert read("status lab/yield.campaign")["item"] == "XPhos, toluene, 100"


def test_the_example_is_written_once_and_says_what_to_do_next(folder: Path) -> None:
    out = ok("example 'my lab'").stdout
    assert (folder / "my lab/probes.csv").read_bytes() == example_path("probes.csv").read_bytes()
    line = re.findall(r"^Next: probewise (.+)$", out, flags=re.M)[0]
    line = re.findall(r"^Next: probewise (.+)$", ok(line).stdout, flags=re.M)[0]
    assert "24 of 24 rows of round 1 to measure" in ok(line.replace("ask.csv", "first.csv")).stderr
    assert read("example-measure first.csv") == {"filled": 24, "out": "first.csv"}
    filled = (folder / "first.csv").read_bytes()
    assert read("example-measure first.csv --out again.csv") == {"filled": 0, "out": "again.csv"}
    assert (folder / "again.csv").read_bytes() == filled
    assert read("tell 'my lab/yield.campaign' again.csv")["recorded"][0] == "r1-1"


# --- new -----------------------------------------------------------------------------------------------------------


def test_new_prints_checks_and_a_forecast(folder: Path) -> None:
    out = said(f"new other.campaign {TABLES} --gap 1 --gap 0.5 --max-batch 4 --seed 3")
    assert "3 items by 3 probes, with confidence 95 %" in out
    assert "Every comparison of two items can be made with these probes." in out
    assert "Next: probewise ask other.campaign --out ask.csv" in out
    content = read(f"new third.campaign {TABLES} --gap 1 --gap 0.5 --max-batch 4 --seed 3 --author Eve")
    assert [row["gap"] for row in content["forecasts"]] == [1, 0.5]
    problem = pw.Problem(
        [[1, 0], [1, 1], [1, 3]], [[1, 2], [1, 1.5], [1, 0.5]], sigma=0.5, cost=[1, 2, 4], stock=[None, 9, None]
    )
    direct = pw.Sage(max_batch=4).forecast_for_gap(problem, pw.BestItem(), 0.5)
    assert content["forecasts"][1] == pytest.approx({"gap": 0.5, **vars(direct)})
    campaign = pw.Campaign.open("third.campaign")
    assert campaign.algorithm == pw.Sage(max_batch=4)
    assert (campaign.records[0].author, campaign.ledger.charter.seed, content["seed"]) == ("Eve", 3, 3)
    assert campaign.problem.cost.tolist() == [1, 2, 4]
    assert campaign.problem.stock.tolist() == [float("inf"), 9, float("inf")]
    assert campaign.problem.feature_names == ("intercept", "heat")
    assert {row["column"]: row["role"] for row in content["roles"]} == {
        "id": "name", "base": "constant", "heat": "number", "price": "cost", "shelf": "shown", "left": "stock",
        "supplier": "shown",
    }  # fmt: skip
    assert content["model"] == "intercept + heat"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("", "Nothing was said of the noise, so it is taken to be 1, and the confidence rests on that"),
        ("--sigma unknown", "The noise is unknown: replicates will tell"),
        ("--sigma unknown", "by a gap in units of the noise wherever it matters"),
        ("--epsilon 0.5", "A difference of 0.5 does not matter, so that ties are decided too. "),
        ("--algorithm uniform", "These numbers are rough"),
        ("--sigma 80 --outcome-range 0 100", "Outcomes from 0 to 100 cannot be noisier than 50, but sigma is 80"),
        ("--model none --show base", "No feature, and no combination of features, is constant"),
        ("--items far.csv", "Beyond the range of the probes: 1 item of 2 in 'heat'"),
        ("--items one.csv", "There is only one item, 'A', so there is nothing to find."),
        ("--model none --probes wide.csv", "The features 'base', 'heat' differ in size by a factor of 1e+07; check"),
        ("--cost-column price --extra left", "measurements 80 % interval rounds cost"),
    ],
)
def test_new_remarks_on_what_may_be_meant(folder: Path, options: str, sentence: str) -> None:
    (folder / "far.csv").write_text("id,base,heat,supplier\nA,1,2,we\nB,1,7,we\n")
    (folder / "one.csv").write_text("id,base,heat,supplier\nA,1,2,we\n")
    (folder / "wide.csv").write_text("id,base,heat\na,10000000,0\nb,10000000,1\n")
    shown = "" if "--cost" in options else "--extra price --extra left "
    common = f"--probes probes.csv --items items.csv {SHOWN} {shown}"
    if "wide" in options:
        common = "--items items.csv --show supplier "
    assert sentence in said(f"new other.campaign {common}{options} --dry-run")
    assert not (folder / "other.campaign").exists()


def test_good_tables_get_no_remark(folder: Path) -> None:
    assert read(f"new other.campaign {TABLES} --dry-run")["remarks"] == []


# --- ask -----------------------------------------------------------------------------------------------------------


def test_asking_twice_gives_the_same_table_with_the_columns_of_the_laboratory(folder: Path) -> None:
    first, again = ok("ask lab.campaign"), ok("ask lab.campaign")
    assert first.stdout == again.stdout
    rows = list(csv.DictReader(io.StringIO(first.stdout)))
    own = ["measurement", "round", "probe", "replicate", "outcome"]
    assert list(rows[0]) == [*own, "base", "heat", "price", "shelf", "left"]
    assert {row["shelf"] for row in rows} <= {"A3", "A4", "B1"}
    assert all(row["outcome"] == "" for row in rows)
    content = read("ask lab.campaign")
    assert [row["measurement"] for row in content["rows"]] == [row["measurement"] for row in rows]
    assert content["out"] is None


def test_asking_never_overwrites_outcomes_that_nobody_told(folder: Path) -> None:
    ok("ask lab.campaign --out ask.csv")
    fill()
    result = run("ask lab.campaign --out ask.csv")
    assert result.exit_code == 2
    assert re.search(r"ask.csv holds \d outcomes that are not recorded yet; tell them first", result.stderr)
    ok("tell lab.campaign ask.csv")
    assert "r2-1" in ok("ask lab.campaign --out ask.csv --due 2027-01-31").stderr + (folder / "ask.csv").read_text()
    assert read("status lab.campaign")["due"] == "2027-01-31"


def test_nothing_is_asked_once_there_is_an_answer(folder: Path) -> None:
    finish()
    before = snapshot(folder)
    result = run("ask lab.campaign --out more.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "A is the best item, with confidence 95 %" in result.stderr
    assert json.loads(run("ask lab.campaign --json").stdout)["rows"] == []
    assert snapshot(folder) == before


# --- tell ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        "measurement,outcome\nr1-4,1.5\nr1-3,0.5\n",
        "measurement;outcome\nr1-3;0.5\nr1-4;1.5\n",
        "measurement\toutcome\r\nr1-3\t0.5\r\n\r\nr1-4\t1.5\r\n",
        "\ufeffmeasurement,outcome\nr1-3,0.5\nr1-4,1.5\n",
        "Kommentar;outcome;measurement\nklar;5e-1;R1-03\ntrüb;+1.5;1-4\n",
        'measurement,outcome,remark\n"r1-3", 0.5 ,"a, b"\nr1-1,2.5,\nr1-4,1.50,\n',
        "measurement;outcome;;\nr1-3;0.5;;\nr1-4;1.5;;\n;;;\n",
    ],
    ids=[
        "any order",
        "semicolons",
        "tabs and CRLF",
        "byte order mark",
        "own columns",
        "quotes, and one told before",
        "empty columns",
    ],
)
def test_tables_as_laboratories_write_them(folder: Path, table: str) -> None:
    (folder / "told.csv").write_text(table, "utf-8", newline="")
    before = snapshot(folder)
    assert set(read("tell lab.campaign told.csv --dry-run")["recorded"]) == {"r1-3", "r1-4"}
    assert snapshot(folder) == before
    assert set(read("tell lab.campaign told.csv --author Bob")["recorded"]) == {"r1-3", "r1-4"}
    told = pw.Campaign.open("lab.campaign")
    assert (told.ledger.outcome((1, 3)), told.ledger.outcome((1, 4))) == (0.5, 1.5)
    assert next(record for record in told.records[::-1] if record.kind == "recorded").author == "Bob"
    again = read("tell lab.campaign -", table.encode())
    assert again["recorded"] == []
    assert {"r1-3", "r1-4"} <= set(again["repeated"])


def test_further_columns_are_notes(folder: Path) -> None:
    ok("tell lab.campaign -", "measurement,outcome,operator\nr1-3,0.5,Eve\n")
    assert pw.Campaign.open("lab.campaign").records[-1].body["notes"] == {"r1-3": {"operator": "Eve"}}


def test_telling_says_what_it_did_and_where_the_campaign_stands(folder: Path) -> None:
    out = said("tell lab.campaign -", "measurement,outcome\nr1-1,2.5\nr1-3,0.5\nr1-4,\n")
    assert out.startswith("1 recorded, 1 already recorded, 1 empty.")
    assert "waits for" in out
    finish()
    assert "0 recorded, " in (out := said("tell lab.campaign next.csv"))
    assert out.count("is the best") == 1


def test_rows_of_the_laboratorys_own(folder: Path) -> None:
    out = said("tell lab.campaign - --off-plan", "probe,outcome\nhot,3\nboth,5\n")
    assert "2 recorded as round 2; the confidence holds if these rows were chosen before" in out
    assert read("status lab.campaign")["rounds"] == 2


def test_a_round_has_one_number_everywhere(folder: Path) -> None:
    ok(f"new plain.campaign {TABLES} --seed 0")
    rows = len(read("ask plain.campaign")["rows"])
    said("tell plain.campaign - --off-plan", "probe,outcome\nhot,3\nboth,5\n")
    now, out = read("status plain.campaign"), said("status plain.campaign")
    assert (now["rounds"], now["waiting"], now["waiting_round"]) == (1, rows, 1)
    assert f"Round 1 waits for {rows} of its {rows} rows" in now["sentence"]
    assert re.search(rf"waiting for +{rows} +rows of round 1 ", out)
    assert re.search(r"measured +2 +in 1 round,", out)
    pw.Campaign.open("plain.campaign").report("plain.html")
    assert f"Round 1 waits for {rows} rows" in Path("plain.html").read_text()
    result = pw.Campaign.open("plain.campaign").result()
    assert (result.rounds, len(result.history), result.measurements) == (1, 1, 2)


def test_an_answer_within_epsilon_is_not_called_the_best(folder: Path) -> None:
    ok(f"new near.jsonl {TABLES} --epsilon 5 --seed 0")
    out = ""
    while run("ask near.jsonl --out near.csv").exit_code == 0:
        fill("near.csv", 0.1)
        out = read("tell near.jsonl near.csv")["sentence"]
    assert re.search(r"'\w' is within 5 of the best, with confidence 0.95\.$", out)
    assert "is within 5 of the best, with confidence 95 %" in said("status near.jsonl")


def test_tables_on_standard_output_are_utf_8_whatever_the_system(folder: Path) -> None:
    (folder / "warm.csv").write_text(PROBES.replace("A3", "Süd/°C"), "utf-8")
    ok(f"new warm.jsonl {TABLES.replace('probes.csv', 'warm.csv')} --seed 0")
    line = [sys.executable, "-m", "probewise", "ask", "warm.jsonl"]
    done = subprocess.run(line, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert "Süd/°C" in done.stdout.decode("utf-8")
    assert "r1-1" in read("tell warm.jsonl -", done.stdout.replace(b",,", b",1,"))["recorded"]


# --- changes -------------------------------------------------------------------------------------------------------


def test_changes_carry_reason_and_author(folder: Path) -> None:
    assert "r1-1 is -3.5 now." in said("correct lab.campaign r1-1 -3.5 --reason 'typing error' --author Eve")
    assert "r1-1 was so already." in said("correct lab.campaign r1-1 -3.5 --reason 'typing error'")
    assert "Voided." in said("void lab.campaign r1-1 r1-3 --reason 'broken tube' --author Eve")
    assert "'hot' can be measured 2 times in all." in said("restock lab.campaign hot 2 --reason 'used up' --author Eve")
    assert "without limit" in said("restock lab.campaign hot unlimited --reason delivered --author Eve")
    assert said("note lab.campaign 'new bottle' --author Eve") == "Noted."
    assert "The round is closed." in said("close lab.campaign --reason 'end of the week' --author Eve")
    records = [record for record in pw.Campaign.open("lab.campaign").records if record.author == "Eve"]
    assert [record.kind for record in records] == ["corrected", "voided", "stocked", "stocked", "note", "closed"]
    assert [record.body.get("reason") for record in records] == [
        "typing error", "broken tube", "used up", "delivered", None, "end of the week",
    ]  # fmt: skip


def test_a_correction_that_withdraws_the_answer_says_so(folder: Path) -> None:
    finish()
    assert read("status lab.campaign")["item"] == "A"
    rows = [
        row["measurement"] for row in csv.DictReader(Path("next.csv").read_text().splitlines()) if row["heat"] != "0"
    ]
    out = " ".join(said(f"correct lab.campaign {own} -40 --reason 'wrong column'") for own in rows)
    assert "'A' is no longer declared the best." in out
    assert read("status lab.campaign")["item"] is None
    assert "Warning: 'A' was declared the best and withdrawn since: " in said("status lab.campaign")


# --- status, report, export ----------------------------------------------------------------------------------------


def test_status_of_an_undecided_campaign_is_a_success(folder: Path) -> None:
    content = read("status lab.campaign")
    assert content["item"] is None
    assert (content["measurements"], content["cost"] > 0, content["rounds"]) == (1, True, 1)
    assert {"item", "leader", "remaining", "measurements", "cost", "rounds", "forecast", "warnings", "items"} <= set(
        content
    )
    assert {"name", "estimate", "low", "high", "state", "why"} == set(content["items"][0])
    assert "0 % of the way to the answer" in said("status lab.campaign")


def test_status_shows_sentence_progress_forecast_and_ranking(folder: Path) -> None:
    ok("close lab.campaign --reason 'a fresh start'")
    ok("ask lab.campaign --out next.csv")
    fill("next.csv", slope=0.3)
    ok("tell lab.campaign next.csv")
    out = ok("status lab.campaign").stdout
    assert re.match(r"A leads: it is estimated [\d. ±]+ above B, the closest rival", out)
    assert re.search(r"━*─* \d+ % of the way to the answer", out)
    assert re.search(r"to go, about +\d+ +in \d+ rounds?, cost \d+; \d+ to [\d,]+ with probability 80 %", out)
    assert re.search(r"confidence +[\d.]+ % +attained by the best guess, A\n", out)
    assert re.search(r"^ A +[\d.]+ ± [\d.]+ +├─+●─+┤ +leading$", out, flags=re.M)
    assert [line.split()[0] for line in out.splitlines() if "●" in line] == ["A", "B", "C"]
    finish(slope=0.3)
    out = ok("status lab.campaign").stdout
    assert out.startswith("A is the best item, with confidence 95 %")
    assert re.search(r"^ C .*ruled out in round \d+: [\d.]+ behind$", out, flags=re.M)


def test_status_says_which_items_it_leaves_out(folder: Path) -> None:
    items = "".join(f"item {i},1,{0.1 * i}\n" for i in range(30))
    (folder / "many.csv").write_text("id,base,heat\n" + items)
    ok("new many.campaign --probes probes.csv --items many.csv --extra price --extra left --extra shelf --seed 0")
    ok("ask many.campaign --out many-ask.csv")
    fill("many-ask.csv")
    ok("tell many.campaign many-ask.csv")
    out = ok("status many.campaign").stdout
    assert (out.count("●"), "and 10 more, which --all lists." in out) == (20, True)
    assert ok("status many.campaign --all").stdout.count("●") == 30


def test_a_winner_that_the_data_contradict_is_not_called_best(folder: Path) -> None:
    finish(slope=8.0)
    (folder / "own.csv").write_text("probe,outcome\n" + "hot,49\nhot,-49\nboth,-49\nmild,49\n" * 6)
    out = said("tell lab.campaign own.csv --off-plan")
    assert "is not certified: the data contradict what the confidence rests on" in out
    assert "first, but not certified" in said("status lab.campaign")


def test_report_is_one_page(folder: Path) -> None:
    content = read("report lab.campaign --out report.html")
    page = (folder / "report.html").read_text("utf-8")
    assert page.casefold().startswith("<!doctype html>")
    assert content["digest"] in page
    assert said("report lab.campaign --out report.html") == "Written: report.html"


def test_a_journal_that_was_exported_opens_as_a_campaign(folder: Path) -> None:
    content = read("export lab.campaign --out copy.jsonl")
    assert content["records"] == len(pw.Campaign.open("lab.campaign").records)
    assert read("status copy.jsonl") == read("status lab.campaign")
    ok("export lab.campaign --out rows.csv")
    rows = list(csv.DictReader((folder / "rows.csv").read_text().splitlines()))
    assert [(row["outcome"], row["state"]) for row in rows[:3]] == [("2.5", "recorded"), ("", "voided"), ("", "open")]


def test_a_campaign_in_a_text_file(folder: Path) -> None:
    ok(f"new lab.jsonl {TABLES} --seed 0")
    ok("ask lab.jsonl --out text.csv")
    fill("text.csv")
    assert "recorded" in said("tell lab.jsonl text.csv")


# --- what is refused: one sentence, exit code 2, and no file changed --------------------------------------------------

NEW = f"new other.campaign {TABLES}"
PLAIN = f"new other.campaign --probes probes.csv --items items.csv --extra price --extra left {SHOWN}"
XLSX = b"PK\x03\x04\x14\x00\x06\x00\x08\x00"
HEAD = "measurement,outcome\n"

BAD: dict[str, tuple[str, dict[str, str | bytes], str]] = {
    # a campaign that cannot begin
    "the file exists": (NEW.replace("other", "lab"), {}, "lab.campaign is there already and is never overwritten"),
    "the name is a folder": (NEW.replace("other.campaign", "."), {}, r"\. is there already and is never overwritten"),
    "the name of a table": (NEW.replace("other.campaign", "a.csv"), {}, "a campaign is not a table, got the name a"),
    "no such folder": (NEW.replace("other", "no/other"), {}, "there is no folder no for other.campaign; make it first"),
    "no such folder, text": (NEW.replace("other.campaign", "no/a.jsonl"), {}, "there is no folder no for a.jsonl"),
    "no such database": (NEW.replace("other.campaign", "foo://server/db"), {}, "'foo:' begins no URL of a database"),
    "no probes": ("new other.campaign --items items.csv", {}, "Missing option '--probes'"),
    "no name": ("new --probes probes.csv", {}, "Missing argument 'PATH'"),
    "lost probes": (NEW.replace("probes.csv", "lost.csv"), {}, "there is no file lost.csv; check the name and the"),
    "a folder as table": (NEW.replace("probes.csv", "."), {}, r"there is no file \.; check the name"),
    "empty probes": (NEW, {"probes.csv": ""}, "probes.csv is empty; its first line must name the columns"),
    "probes without rows": (NEW, {"probes.csv": PROBES[:30]}, "probes.csv has no rows; give at least one"),
    "probes without header": (NEW, {"probes.csv": "1,2\n3,4\n"}, "first line of probes.csv must name the columns, got"),
    "probes from Excel": (NEW, {"probes.csv": XLSX}, "probes.csv is a spreadsheet; give it the ending"),
    "ragged probes": (NEW, {"probes.csv": PROBES + "x,1,2\n"}, "probes.csv, line 5: expected 6 cells as in the header"),
    "text in a feature": (NEW, {"probes.csv": PROBES.replace("hot,1,1", "hot,1,warm")}, "line 3, column 'heat':"),
    "a hole in a feature": (NEW, {"probes.csv": PROBES.replace("hot,1,1", "hot,1,")}, "column 'heat': the number is"),
    "infinite feature": (NEW, {"items.csv": ITEMS.replace("A,1,2", "A,1,inf")}, "column 'heat': 'inf' is not finite"),
    "decimal comma and point": (
        NEW, {"items.csv": "id;base;heat\nA;1;2,5\nB;1;1.5\n"}, r"decimal commas \('2,5', line 2\) and with",
    ),
    "a comma of two meanings": (
        NEW, {"items.csv": "id;base;heat;supplier\nA;1;2,500;a\nB;1;1;a\n"}, "'2,500' may be 2.500 or 2500; write",
    ),
    "two columns of one name": (NEW, {"items.csv": "id,heat,heat\nA,1,2\n"}, "more than one column called 'heat'"),
    "two items of one name": (NEW, {"items.csv": ITEMS.replace("B,1", "A,1")}, "every item needs its own name, but"),
    "two probes of one name": (NEW, {"probes.csv": PROBES.replace("hot", "mild")}, "every probe needs its own name"),
    "a missing name": (NEW, {"items.csv": ITEMS.replace("B,1", ",1")}, "items.csv, line 3, column 'id': the name is"),
    "identical items": (NEW, {"items.csv": ITEMS.replace("1.5", "2")}, "items 'A', 'B' differ in 'supplier' only"),
    "the same items": (NEW, {"items.csv": ITEMS.replace("1.5", "2").replace("ours", "theirs")}, "'B' are identical"),
    "not identifiable": (
        NEW, {"probes.csv": "id,base,heat,price,left,shelf\na,1,0,1,,A\nb,2,0,1,,B\n"}, "'heat' is the same in every",
    ),
    "a feature that items lack": (NEW, {"items.csv": "id,supplier\nA,1\nB,2\n"}, "'base', 'heat' are in probes.csv"),
    "no such id column": (f"{NEW} --id-column name", {}, "probes.csv has no column 'name'; it has 'id', 'base'"),
    "no such cost column": (f"{PLAIN} --cost-column cost", {}, "probes.csv has no column 'cost'"),
    "no such extra column": (f"{PLAIN} --extra colour", {}, "neither probes.csv nor items.csv has a column 'colour'"),
    "negative cost": (NEW, {"probes.csv": PROBES.replace("1,0,1,A3", "1,0,-1,A3")}, "cost must be positive and finite"),
    "text as cost": (NEW.replace("price", "shelf").replace("--show shelf", "--show price"), {}, "'A3' is not a number"),
    "two roles": (f"{PLAIN} --cost-column shelf", {}, "column 'shelf' cannot be cost and shown; say one of them"),
    "half a measurement in stock": (NEW, {"probes.csv": PROBES.replace("A4,9", "A4,1.5")}, "stock must be whole"),
    "text as stock": (NEW, {"probes.csv": PROBES.replace("A4,9", "A4,few")}, "line 3, column 'left': expected a whole"),
    "sigma 0": (f"{PLAIN} --sigma 0", {}, "sigma must be positive and finite, got 0.0"),
    "negative sigma": (f"{PLAIN} --sigma -2", {}, "sigma must be positive and finite, got -2.0"),
    "sigma NaN": (f"{PLAIN} --sigma nan", {}, "sigma must be positive and finite, got nan"),
    "sigma in words": (f"{PLAIN} --sigma large", {}, "--sigma must be a number or the word unknown, but 'large'"),
    "two sigmas": (f"{PLAIN} --sigma 1 --sigma-column price", {}, "--sigma and --sigma-column exclude each other"),
    "delta above 1": (f"{PLAIN} --delta 1.5", {}, "delta must lie strictly between 0 and 1, got 1.5; 0.05 is usual"),
    "delta 0": (f"{PLAIN} --delta 0", {}, "delta must lie strictly between 0 and 1, got 0.0"),
    "delta in words": (f"{PLAIN} --delta small", {}, "'small' is not a number; give a number"),
    "negative epsilon": (f"{PLAIN} --epsilon -1", {}, "epsilon must be a finite number of at least 0, got -1.0"),
    "no batch": (f"{PLAIN} --max-batch 0", {}, "max_batch must be a whole number of at least 1, or None, got 0"),
    "half a batch": (f"{PLAIN} --max-batch 1.5", {}, "'1.5' is not a whole number"),
    "batches that do not fit": (f"{PLAIN} --min-batch 9 --max-batch 4", {}, "min_batch must not exceed max_batch, got"),
    "no replicates": (f"{PLAIN} --max-replicates 0", {}, "max_replicates must be a whole number of at least 1"),
    "unknown algorithm": (f"{PLAIN} --algorithm guess", {}, "there is no algorithm 'guess'; they are alba, "),
    "unknown setting": (f"{PLAIN} --algorithm sage,speed=2", {}, "'speed=2' is not a setting of sage; those are"),
    "batches by name": (f"{PLAIN} --algorithm batched", {}, "batches are made of any algorithm: name it, and give"),
    "too small batches": (f"{PLAIN} --algorithm rage --max-batch 0", {}, "max_batch must be a whole number of at"),
    "an oracle": (f"{PLAIN} --algorithm xy-oracle", {}, "xy-oracle must be told the truth, which a campaign is to"),
    "unknown noise for another algorithm": (f"{PLAIN} --algorithm rage --sigma unknown", {}, "rage must know sigma"),
    "negative seed": (f"{PLAIN} --seed -1", {}, "-1 does not lie between 0 and"),
    "range upside down": (f"{PLAIN} --outcome-range 9 0", {}, "--outcome-range must be LOW below HIGH, got 9 0"),
    "half a range": (f"{PLAIN} --outcome-range 9", {}, "Option '--outcome-range' requires 2|'--outcome-range': '--.*'"),
    "negative gap": (f"{PLAIN} --gap -1", {}, "--gap must be a positive number, got -1; how much better is worth"),
    # a file that is not a campaign
    "no such campaign": ("status lost.campaign", {}, "there is no campaign in lost.campaign; create one, or check the"),
    "a folder": ("status .", {}, r"\. is a folder; give the file of a campaign"),
    "a table as campaign": ("ask probes.csv", {}, r"probes.csv is not a campaign \(file is not a database\); check"),
    "an empty file": ("status empty.campaign", {"empty.campaign": ""}, "there is no campaign in empty.campaign"),
    "text as journal": ("status a.jsonl", {"a.jsonl": "dear diary\n"}, "a.jsonl is not a campaign: its first line"),
    "a newer journal": ("status a.jsonl", {"a.jsonl": '{"schema": 99}\n'}, "a.jsonl has schema 99, and probewise .*"),
    "another program's database": ("tell other.db ask.csv", {}, "there is no campaign in other.db; create one"),
    "a newer campaign": ("tell newer.campaign ask.csv", {}, "newer.campaign has schema 99, and probewise .* knows"),
    "a changed record": ("status forged.campaign", {}, "record 1 of the journal, or one before it, was changed after"),
    # tables that cannot be told
    "no such table": ("tell lab.campaign lost.csv", {}, "there is no file lost.csv; check the name and the folder"),
    "no table": ("tell lab.campaign", {}, "Missing argument 'TABLE'"),
    "an empty table": ("tell lab.campaign a.csv", {"a.csv": "\n\n"}, "a.csv is empty; its first line must name the"),
    "no header": ("tell lab.campaign a.csv", {"a.csv": "r1-3,2\nr1-4,3\n"}, "a.csv has no column 'measurement'"),
    "no outcomes": ("tell lab.campaign probes.csv", {}, "probes.csv has no column 'measurement', 'outcome'; it has"),
    "an Excel file": ("tell lab.campaign a.xlsx", {"a.xlsx": XLSX}, "a.xlsx is not a spreadsheet, despite its name"),
    "Latin letters": ("tell lab.campaign a.csv", {"a.csv": "measurement,outcome,Ø\n".encode("latin-1")}, "a.csv is"),
    "UTF-16": ("tell lab.campaign a.csv", {"a.csv": HEAD.encode("utf-16-be")}, "a.csv has no column 'measurement'"),
    "no Parquet": ("tell lab.campaign a.parquet", {"a.parquet": b"PAR1"}, "a.parquet cannot be read as a Parquet file"),
    "ragged rows": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-3,2,5\n"}, "a.csv, line 2: expected 2 cells as in"),
    "an open quote": ("tell lab.campaign a.csv", {"a.csv": HEAD + '"r1-3,2\n'}, "a.csv, line 2: the line cannot be"),
    "an unknown row": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r7-1,2\n"}, "line 2, column 'measurement': got"),
    "a row too many": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-99,2\n"}, "got 'r1-99', which was never asked"),
    "a date for an id": ("tell lab.campaign a.csv", {"a.csv": HEAD + "03-Jan,2\n"}, "got '03-Jan', expected an id"),
    "an id missing": ("tell lab.campaign a.csv", {"a.csv": HEAD + ",2\n"}, "column 'measurement': got nothing"),
    "an id twice": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-3,2\nr1-03,2\n"}, "got 'r1-3', which appears in"),
    "words": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-4,2\nr1-3,low\n"}, "line 3, column 'outcome': got 'low'"),
    "a unit": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-3,2 mg\n"}, "got '2 mg', expected a number; enter a"),
    "below detection": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-3,<0.1\n"}, "got '<0.1', expected a number"),
    "two commas": ("tell lab.campaign a.csv", {"a.csv": "measurement;outcome\nr1-3;2,5,1\n"}, "got '2,5,1', expected"),
    "NaN": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-3,NaN\n"}, "got 'NaN', expected a finite number; leave"),
    "infinity": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-3,-inf\n"}, "got '-inf', expected a finite number"),
    "out of range": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-3,5e3\n"}, "got '5e3', expected a number from"),
    "a voided row": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-2,2\n"}, r"'r1-2' was voided \(spilled\); use"),
    "another value": ("tell lab.campaign a.csv", {"a.csv": HEAD + "r1-3,1\nr1-1,2\n"}, "'r1-1' has 2.5 on record; use"),
    "rows that slipped": (
        "tell lab.campaign a.csv", {"a.csv": "measurement,probe,outcome\nr1-3,cold,2\n"}, "column 'probe': got 'cold'",
    ),
    "off plan, unknown probe": (
        "tell lab.campaign a.csv --off-plan", {"a.csv": "probe,outcome\nhott,1\n"}, "got 'hott', expected the name of",
    ),
    "off plan, no outcome": ("tell lab.campaign a.csv --off-plan", {"a.csv": "probe,outcome\nhot,\n"}, "column"),
    "off plan, no probe": ("tell lab.campaign a.csv --off-plan", {"a.csv": HEAD + "r1-3,1\n"}, "a.csv has no column"),
    "off plan, no row": ("tell lab.campaign a.csv --off-plan", {"a.csv": "probe,outcome\n"}, "a round needs at least"),
    # changes that cannot be made
    "a correction of nothing": ("correct lab.campaign r1-3 2 --reason typo", {}, "row 'r1-3' has no outcome to"),
    "a correction in words": ("correct lab.campaign r1-1 low --reason typo", {}, "row 'r1-1', column 'outcome': got"),
    "a correction with a comma": ("correct lab.campaign r1-1 2,5 --reason typo", {}, "got '2,5', expected a number"),
    "a correction to NaN": ("correct lab.campaign r1-1 nan --reason typo", {}, "got nan, expected a finite number"),
    "a correction out of range": ("correct lab.campaign r1-1 -51 --reason typo", {}, "got -51.0, expected a number"),
    "a correction of an unknown row": ("correct lab.campaign r8-1 2 --reason typo", {}, "got 'r8-1', which was never"),
    "a correction without reason": ("correct lab.campaign r1-1 2", {}, "Missing option '--reason'"),
    "an empty reason": ("correct lab.campaign r1-1 2 --reason ' '", {}, "a correction needs a reason in words, got '"),
    "voiding an unknown row": ("void lab.campaign r1-3 r1-77 --reason spilled", {}, "got 'r1-77', which was never"),
    "voiding nothing": ("void lab.campaign --reason spilled", {}, r"Missing argument 'MEASUREMENTS\.\.\.'"),
    "voiding without reason": ("void lab.campaign r1-3 --reason ''", {}, "voiding needs a reason in words, got ''"),
    "closing without reason": ("close lab.campaign --reason ''", {}, "closing a round needs a reason in words"),
    "an unknown probe in stock": ("restock lab.campaign cold 1 --reason gone", {}, "there is no probe 'cold'; check"),
    "a stock in words": ("restock lab.campaign hot few --reason gone", {}, "stock must be a whole number of at least"),
    "an empty note": ("note lab.campaign ' '", {}, "a note needs a reason in words, got ' '"),
    "due some day": ("ask lab.campaign --due soon", {}, "due must be a date such as 2026-12-31, got 'soon'"),
    # places where nothing can be written
    "a sheet as spreadsheet": ("ask lab.campaign --out a.xls", {}, "the name must end in .csv or .xlsx, got a.xls"),
    "a sheet over a table": ("ask lab.campaign --out probes.csv", {}, "probes.csv exists and is not overwritten"),
    "a sheet over the campaign": ("ask lab.campaign --out lab.campaign", {}, "the name must end in .csv or .xlsx, got"),
    "a sheet nowhere": ("ask lab.campaign --out no/a.csv", {}, "there is no folder no for a.csv; make it first"),
    "a report over the campaign": ("report lab.campaign --out lab.campaign", {}, "the name must end in .html or .htm"),
    "a report nowhere": ("report lab.campaign --out no/a.html", {}, r"the report cannot be written to no/a.html \(No"),
    "an export over a table": ("export lab.campaign --out probes.csv", {}, "probes.csv is there already and is never"),
    "an export as spreadsheet": ("export lab.campaign --out a.xlsx", {}, "the name must end in .csv or .jsonl, got"),
    "an export nowhere": ("export lab.campaign --out no/a.csv", {}, "no/a.csv cannot be read or written: No such file"),
    "an example over tables": ("example .", {}, "items.csv is there already and is not the example; choose another"),
    "measuring another sheet": ("example-measure ask.csv", {}, "ask.csv asks for '.*', which the example does not"),
    "measuring no sheet": ("example-measure probes.csv", {}, "probes.csv has no column 'outcome'"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_sentence_and_changes_nothing(kind: str, folder: Path) -> None:
    line, files, sentence = BAD[kind]
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    _spoiled(folder)
    before = snapshot(folder)
    for asked in (line, f"{line} --json", f"{line} --dry-run"):
        if "--dry-run" in asked and not line.startswith(("new", "tell")):
            continue
        result = run(asked)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        assert re.search(sentence, result.stderr), result.stderr
        assert result.stderr.startswith("Error: ")
        assert re.search(r"[^.][.?]( See probewise \S+ --help\.)?\n$", result.stderr)
        assert result.stderr.count("\n") == 1
        assert snapshot(folder) == before


def test_there_are_enough_kinds_of_bad_input() -> None:
    assert len(BAD) >= 50
    assert len({sentence for _, _, sentence in BAD.values()}) >= 50


def _spoiled(folder: Path) -> None:
    """Files of SQLite that are no campaigns of this version."""
    changes = {
        "newer.campaign": "UPDATE probewise_schema SET version = 99",
        "forged.campaign": "UPDATE probewise_journal SET record = replace(record, '0.5', '0.4') WHERE seq = 1",
    }
    for name, change in changes.items():
        shutil.copy(folder / "lab.campaign", folder / name)
        with closing(sqlite3.connect(folder / name)) as connection, connection:
            connection.execute(change)
    with closing(sqlite3.connect(folder / "other.db")) as connection, connection:
        connection.execute("CREATE TABLE compounds (name TEXT)")


def test_a_file_that_cannot_be_written_is_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / "lab.campaign").read_bytes()
    connect = sqlite3.connect

    def read_only(path: str, **options: Any) -> sqlite3.Connection:
        return connect(path.replace("mode=rw", "mode=ro"), **options)

    monkeypatch.setattr(sqlite.sqlite3, "connect", read_only)
    result = run("tell lab.campaign -", HEAD + "r1-3,1\n")
    assert result.exit_code == 2
    assert "lab.campaign cannot be used now (attempt to write a readonly database); check its rights." in result.stderr
    assert (folder / "lab.campaign").read_bytes() == before


def test_a_round_can_be_closed_once(folder: Path) -> None:
    ok("close lab.campaign --reason 'end of the week'")
    before = snapshot(folder)
    result = run("close lab.campaign --reason 'end of the week'")
    assert (result.exit_code, snapshot(folder)) == (2, before)
    assert "no round is waiting for rows, so there is none to close; ask for one." in result.stderr


def test_probes_that_run_out_are_a_sentence(folder: Path) -> None:
    ok("close lab.campaign --reason 'end of the week'")
    for probe in ("mild", "hot", "both"):
        ok(f"restock lab.campaign {probe} 0 --reason 'used up'")
    before = snapshot(folder)
    result = run("ask lab.campaign")
    assert (result.exit_code, result.stdout, snapshot(folder)) == (2, "", before)
    assert re.search("out of stock|in stock|is left", result.stderr), result.stderr
