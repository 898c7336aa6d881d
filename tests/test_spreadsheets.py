"""Spreadsheets: written to be filled in, and read whatever people and programs did to them."""

from __future__ import annotations

import csv
import io
import json
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise import spreadsheets
from probewise.campaign.journal.bodies import BODIES, fault
from probewise.campaign.state.charter import Charter
from probewise.cli import main
from probewise.reading import read_table
from probewise.tables import Table
from probewise.writing import write_sheet, write_table

OFFICE = shutil.which("soffice")
PROBES = "ligand;solvent;temperature (°C)\nL1;THF;60,5\nL1;DMF;80\nL2;THF;80\nL2;DMF;60,5\n"
ITEMS = "ligand;solvent;temperature (°C)\nL1;THF;90,5\nL2;DMF;70\nL1;DMF;99,25\n"


def run(line: list[str]) -> str:
    result = CliRunner().invoke(main, line, prog_name="probewise")
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign from German tables, and its sheet."""
    monkeypatch.chdir(tmp_path)
    Path("probes.csv").write_text(PROBES)
    Path("items.csv").write_text(ITEMS)
    run(
        [
            "new",
            "lab.campaign",
            "--probes",
            "probes.csv",
            "--items",
            "items.csv",
            "--sigma",
            "1",
            "--seed",
            "1",
            "--outcome-range",
            "0",
            "100",
        ]
    )
    run(["ask", "lab.campaign", "--out", "ask.xlsx"])
    return tmp_path


def filled(path: str) -> dict[str, float]:
    """Fill in outcomes with digits after the point, and give them back."""
    book = openpyxl.load_workbook(path)
    sheet = book["measure"]
    header = [cell.value for cell in sheet[1]]
    out = {}
    for number, row in enumerate(sheet.iter_rows(min_row=2)):
        row[header.index("outcome")].value = 12.375 + number
        out[str(row[0].value)] = 12.375 + number
    book.save(path)
    return out


def told(path: str) -> dict[str, float]:
    assert f"{len(read_table(path))} recorded" in run(["tell", "lab.campaign", path])
    sheet = pw.Campaign.open("lab.campaign").ledger.sheets[0]
    return {f"r1-{row}": float(value) for row, value in enumerate(sheet.outcomes, 1)}


def test_the_sheet_guides_whoever_fills_it_in(campaign: Path) -> None:
    sheet = openpyxl.load_workbook("ask.xlsx")["measure"]
    header = [cell.value for cell in sheet[1]]
    assert header == ["measurement", "round", "probe", "replicate", "outcome", "ligand", "solvent", "temperature (°C)"]
    assert sheet.freeze_panes == "A2"
    assert sheet.protection.sheet
    assert not sheet.protection.sort
    locked = {name: sheet.cell(2, at).protection.locked for at, name in enumerate(header, 1)}
    assert [name for name, is_locked in locked.items() if not is_locked] == ["outcome"]
    (rule,) = sheet.data_validations.dataValidation
    assert (rule.type, rule.formula1, rule.formula2, str(rule.sqref)) == (
        "decimal",
        "0.0",
        "100.0",
        f"E2:E{sheet.max_row}",
    )
    assert rule.error == "Enter a number from 0 to 100."


def test_what_people_do_to_a_sheet_is_survived(campaign: Path) -> None:
    expected = filled("ask.xlsx")
    book = openpyxl.load_workbook("ask.xlsx")
    sheet = book["measure"]
    rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    sheet.delete_rows(1, sheet.max_row)
    sheet.append([None])
    sheet.append([*rows[0], None, "operator"])  # a column of their own, beyond an empty one
    for row in reversed(rows[1:]):  # sorted
        sheet.append([*row, None, "Eve"])
        sheet.append([None])  # a blank row
    sheet["A5"].comment = openpyxl.comments.Comment("measured twice", "Eve")
    other = book.create_sheet("scratch")
    other["B2"] = "=1+1"
    book.active = 1
    book.save("ask.xlsx")
    assert told("ask.xlsx") == expected


def test_a_sheet_that_is_there_and_not_told_is_not_overwritten(campaign: Path) -> None:
    filled("ask.xlsx")
    result = CliRunner().invoke(main, ["ask", "lab.campaign", "--out", "ask.xlsx"])
    assert result.exit_code == 2
    assert "outcomes that are not recorded yet" in result.output


GERMAN, ENGLISH = "1031", "1033"


@pytest.mark.skipif(OFFICE is None, reason="LibreOffice (soffice) is not installed")
@pytest.mark.parametrize(
    "kind",
    [
        "xlsx",
        "ods",
        f"csv:Text - txt - csv (StarCalc):59,34,76,1,,{GERMAN},false,true",
        f"csv:Text - txt - csv (StarCalc):44,34,76,1,,{ENGLISH},false,true",
        f"csv:Text - txt - csv (StarCalc):9,34,1,1,,{GERMAN},true,true",
    ],
    ids=["xlsx", "ods", "German csv", "English csv", "German tabs in Windows letters"],
)
def test_libreoffice_gives_back_the_same_outcomes(
    campaign: Path, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    expected = filled("ask.xlsx")
    Path("saved").mkdir()
    profile = f"-env:UserInstallation=file://{tmp_path_factory.getbasetemp()}/office"  # made once, by the first
    command = [str(OFFICE), profile, "--headless", "--convert-to", kind, "--outdir", "saved", "ask.xlsx"]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    (path,) = Path("saved").iterdir()
    assert told(str(path)) == expected


def book(sheets: dict[str, list[list[Any]]], path: Path) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def test_types_of_cells(tmp_path: Path) -> None:
    import datetime

    rows = [
        ["id", "dose", "on", "day", "text"],
        [1, 2.5, True, datetime.date(2026, 1, 2), "'=x"],
        [2.0, None, False, None, " a "],
    ]
    table = read_table(book({"only": rows}, tmp_path / "a.xlsx"))
    cells = [table.texts(name) for name in table.header]
    assert cells == [["1", "2"], ["2.5", ""], ["TRUE", "FALSE"], ["2026-01-02", ""], ["=x", "a"]]
    assert table.text("id") == ("1", "2")
    assert table.lines == (2, 3)


def test_tables_are_problems(tmp_path: Path) -> None:
    rows = [list(line) for line in csv.reader(io.StringIO(PROBES), delimiter=";")]
    numbers = [rows[0], *([a, b, float(c.replace(",", "."))] for a, b, c in rows[1:])]
    made = pw.Problem.from_tables(book({"x": numbers}, tmp_path / "a.xlsx"))
    assert made.probe_names[0] == "L1, THF, 60.5 °C"
    as_text = pw.Problem.from_tables(book({"x": rows}, tmp_path / "b.xlsx"))  # commas typed as text
    assert (made.probes == as_text.probes).all()


def test_a_table_comes_back_from_each_form(tmp_path: Path) -> None:
    table = Table("t", ("name", "x"), (["=1+1", "'a", "x;y", "-5"], ["0.5", "1", "-2", "3"]))
    for ending in (".csv", ".xlsx"):
        write_table(table, tmp_path / f"t{ending}")
        again = read_table(tmp_path / f"t{ending}")
        assert [again.texts(name) for name in again.header] == list(table.columns)
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx")["measure"]
    assert [cell.data_type for cell in sheet["A"]] == ["s", "s", "s", "s", "n"]


@pytest.mark.parametrize(
    ("sheets", "match"),
    [
        ({"a": [["x"], [1]], "b": [["x"], [2]]}, "a.xlsx has several sheets with cells, 'a', 'b'; keep one of them"),
        ({"a": []}, "a.xlsx is empty; its first row must name the columns"),
        ({"a": [["x", "x"], [1, 2]]}, "more than one column called 'x'"),
        ({"a": [["x", None], [1, 2]]}, "column 2 of a.xlsx has no name"),
        ({"a": [[1, 2], [3, 4]]}, "the first line of a.xlsx must name the columns, got numbers"),
    ],
)
def test_sheets_that_are_no_table(tmp_path: Path, sheets: dict[str, Any], match: str) -> None:
    with pytest.raises(pw.InvalidProblem, match=match):
        read_table(book(sheets, tmp_path / "a.xlsx"))


def test_files_that_are_no_spreadsheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xlsx"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(pw.InvalidProblem, match=r"a\.xlsx is not a spreadsheet, despite its name"):
        read_table(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(pw.InvalidProblem, match=r"a\.xlsx cannot be read as a spreadsheet"):
        read_table(path)
    content = book({"a": [["x"], [1]]}, path).read_bytes()
    for at in range(0, len(content), 301):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            read_table(path)
        except pw.InvalidProblem as error:
            assert "\n" not in str(error)  # noqa: PT017
    monkeypatch.setattr(spreadsheets, "_LARGEST", 100)
    with pytest.raises(pw.InvalidProblem, match=r"unpacks to .* GB; save it as CSV or Parquet"):
        read_table(book({"a": [["x"], [1]]}, path))


def test_without_openpyxl_there_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book({"a": [["x"], [1]]}, tmp_path / "a.xlsx")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(pw.MissingExtra, match=r"reading a\.xlsx needs openpyxl; install probewise\[spreadsheet\]"):
        read_table(path)
    with pytest.raises(pw.MissingExtra, match=r"writing a\.xlsx needs openpyxl; install probewise\[spreadsheet\]"):
        write_sheet(path, {"outcome": [None]}, fill=["outcome"])


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("measurement;outcome\nr1-1;2,5\nr1-2;3\n", [2.5, 3.0]),
        ("measurement;outcome\nr1-1;2.5\nr1-2;3\n", [2.5, 3.0]),
        ("sep=;\nmeasurement;outcome\nr1-1;2,5\nr1-2;1 003,25\n", None),
        ('measurement,outcome\nr1-1,"2,5"\nr1-2,3\n', [2.5, 3.0]),
    ],
)
def test_outcomes_in_the_dialect_of_the_file(campaign: Path, text: str, outcomes: list[float] | None) -> None:
    Path("told.csv").write_text(text)
    if outcomes is None:
        result = CliRunner().invoke(main, ["tell", "lab.campaign", "told.csv"])
        assert "expected a number from 0 to 100" in result.output
        return
    run(["tell", "lab.campaign", "told.csv"])
    assert pw.Campaign.open("lab.campaign").ledger.sheets[0].outcomes[:2].tolist() == outcomes


@pytest.mark.parametrize("text", ["measurement;outcome\nr1-1;2.500\n", "measurement\toutcome\nr1-1\t2,500\n"])
def test_an_outcome_of_two_meanings_is_refused(campaign: Path, text: str) -> None:
    Path("told.csv").write_text(text)
    result = CliRunner().invoke(main, ["tell", "lab.campaign", "told.csv"])
    assert result.exit_code == 2
    assert "which leave no doubt; nothing was recorded" in result.output


def test_sheets_are_written_as_the_first_tables_were(campaign: Path) -> None:
    """Semicolons and decimal commas, so that a German spreadsheet program opens them by a double click."""
    run(["ask", "lab.campaign", "--out", "ask.csv"])
    first, second, *_ = Path("ask.csv").read_text("utf-8").splitlines()
    assert first == "measurement;round;probe;replicate;outcome;ligand;solvent;temperature (°C)"
    assert second.split(";")[-1] in ("60,5", "80", "80,0")
    rows = [line.split(";") for line in Path("ask.csv").read_text("utf-8").splitlines()]
    rows = [rows[0], *([*row[:4], "12,375", *row[5:]] for row in rows[1:])]
    Path("told.csv").write_text("\n".join(";".join(row) for row in rows))
    assert set(told("told.csv").values()) == {12.375}


def test_where_a_file_shows_no_decimal_sign_it_is_that_of_the_sheets(campaign: Path) -> None:
    Path("told.csv").write_text("measurement;outcome\nr1-1;2,500\n")
    run(["tell", "lab.campaign", "told.csv"])
    assert pw.Campaign.open("lab.campaign").ledger.sheets[0].outcomes[0] == 2.5


def test_a_mark_is_written_where_the_first_tables_had_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("probes.csv").write_bytes(("\ufeff" + PROBES).encode())
    run(shlex.split("new lab.campaign --probes probes.csv --sigma 1 --seed 1"))
    run(["ask", "lab.campaign", "--out", "ask.csv"])
    assert Path("ask.csv").read_bytes().startswith(b"\xef\xbb\xbfmeasurement;")


# --- the model in the journal --------------------------------------------------------------------------------------


def test_a_journal_keeps_the_model(campaign: Path) -> None:
    made = pw.Problem.from_tables("probes.csv", "items.csv")
    kept = pw.Campaign.open("lab.campaign").problem
    assert kept.model == made.model
    assert (kept.probes == made.probes).all()
    later = pw.Problem.from_tables("items.csv", model=kept.model)
    assert (later.probes == made.items).all()


def test_status_and_report_say_the_roles(campaign: Path) -> None:
    said = json.loads(run(["status", "lab.campaign", "--json"]))
    assert said["model"] == "intercept + ligand + solvent + temperature (°C)"
    assert [(row["column"], row["role"]) for row in said["roles"]] == [
        ("ligand", "factor"), ("solvent", "factor"), ("temperature (°C)", "number"),
    ]  # fmt: skip
    run(["report", "lab.campaign", "--out", "report.html"])
    page = Path("report.html").read_text("utf-8")
    assert "the sum of intercept + ligand + solvent + temperature (°C), plus noise" in page
    assert "text; 2 levels: L1, L2" in page


def test_a_campaign_from_tables_shows_their_columns(tmp_path: Path) -> None:
    (tmp_path / "probes.csv").write_text(PROBES)
    search = pw.Campaign.create(tmp_path / "a.jsonl", pw.Problem.from_tables(tmp_path / "probes.csv"), seed=0)
    assert list(search.ask().columns)[-3:] == ["ligand", "solvent", "temperature (°C)"]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda model: model.update(parts=[]), "'problem.model.parts' must be a list of at least 1"),
        (lambda model: model["parts"][0].update(levels=[]), "'problem.model.parts' must be a list"),
        (lambda model: model["parts"][-1].update(scale=0.0), "'problem.model.parts' must be a list"),
        (lambda model: model.update(more=1), "has a field 'more' that is not known"),
        (lambda model: model["terms"].append([["colour", 1]]), "terms of a model must be made of its columns"),
        (lambda model: model["terms"].pop(), "the features must be those of the model that comes with them"),
        (lambda model: model["parts"][0]["levels"].append("L9"), "the features must be those of the model"),
        (lambda model: model["parts"][0].update(levels=["L1", "L1"]), "the levels of a factor must differ"),
        (lambda model: model.update(derived=[{"name": "x"}]), "'problem.model.derived' must be"),
    ],
)
def test_a_forged_model_is_a_sentence(tmp_path: Path, change: Any, match: str) -> None:
    (tmp_path / "probes.csv").write_text(PROBES)
    body = (
        pw.Campaign.create(tmp_path / "a.jsonl", pw.Problem.from_tables(tmp_path / "probes.csv"), seed=0)
        .records[0]
        .body
    )
    forged = json.loads(json.dumps(body))
    change(forged["problem"]["model"])
    wrong = fault(forged, BODIES["created"])
    if wrong is None:
        with pytest.raises(pw.InvalidProblem, match=match):
            Charter.from_json(forged)
    else:
        assert match in wrong


# --- the wrong winner ----------------------------------------------------------------------------------------------


def test_a_factor_with_decimal_commas_does_not_vanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and decimal commas were once dropped without a word, and a wrong item was declared with confidence 95 %."""
    monkeypatch.chdir(tmp_path)
    levels = [(ligand, dose, heat) for ligand in ("L1", "L2") for dose in (0.5, 1.5) for heat in (60, 80)]
    value = {row: 10 * (row[0] == "L2") + 20 * row[1] - 0.1 * row[2] for row in levels}
    header = "id;ligand;dose;heat\n"
    lines = [f"p{at};{a};{b:.2f};{c}\n".replace(".", ",") for at, (a, b, c) in enumerate(levels)]
    Path("probes.csv").write_text(header + "".join(lines))
    Path("items.csv").write_text(header + "weak;L1;0,60;80\nstrong;L2;1,40;60\n")
    run(shlex.split("new lab.campaign --probes probes.csv --items items.csv --sigma 0.5 --seed 1"))
    search = pw.Campaign.open("lab.campaign")
    outcomes = {f"p{at}": value[row] for at, row in enumerate(levels)}
    rng = np.random.default_rng(0)
    while len(rows := search.ask()):
        search.tell(rows.filled([outcomes[name] + 0.5 * rng.normal() for name in rows["probe"]]))
    assert search.status().item == "strong"
