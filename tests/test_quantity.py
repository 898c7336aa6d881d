"""Outcomes with a name and a unit: in sentences, sheets, tables and reports, and nowhere without them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.adequacy import check_adequacy
from probewise.campaign import Memory
from probewise.cli import main
from probewise.measurements import Measurements
from probewise.quantity import Quantity

PROBLEM = pw.Problem(np.eye(3), sigma=0.5, item_names=[*"ABC"], probe_names=[*"abc"])
TRUTH = {"a": 9.0, "b": 7.0, "c": 1.0}


def run(*words: str) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code in (0, 1), result.output
    return result.output


def filled(rows: pw.campaign.Rows) -> list[dict[str, object]]:
    return rows.filled([TRUTH[probe] for probe in rows["probe"]])


def test_words() -> None:
    plain, named, percent = Quantity(), Quantity("cost", "€"), Quantity("yield", "%")
    assert (plain.heading, named.heading, Quantity(unit="g").heading) == ("outcome", "cost (€)", "outcome (g)")
    assert not plain
    assert plain.about("the best") == "the best"
    assert named.about("the lowest") == "the lowest in cost"
    assert percent.about("above 75", units=True) == "above 75 in yield (%)"
    assert percent.difference("1.2 ± 0.3") == "1.2 ± 0.3 points"
    assert named.difference("1.2") == "1.2 €"


@pytest.mark.parametrize(
    ("name", "unit", "match"),
    [
        (" yield", "", "the name of outcomes must be one line of at most 40 letters without blanks around it, got ' y"),
        ("a\nb", "", r"the name of outcomes must be one line .* got 'a\\nb'"),
        ("x", "\x1b[31m", "the unit of outcomes must be one line"),
        ("y" * 41, "", "at most 40 letters"),
        ("Probe", "", "outcomes cannot be called 'Probe', as a column of every sheet is; add a word"),
        ("state", "g", "outcomes cannot be called 'state'"),
    ],
)
def test_names_that_would_break_a_sheet_are_refused(name: str, unit: str, match: str) -> None:
    with pytest.raises(pw.InvalidCampaign, match=match):
        pw.Campaign.create(Memory(), PROBLEM, outcome_name=name, unit=unit)


def test_a_campaign_speaks_of_what_it_measures(tmp_path: Path) -> None:
    store = Memory()
    campaign = pw.Campaign.create(store, PROBLEM, seed=0, outcome_name="yield <b>", unit="%")
    assert campaign.records[0].body["quantity"] == {"name": "yield <b>", "unit": "%"}
    while len(rows := campaign.ask()):
        campaign.tell(filled(rows))
    status = pw.Campaign.open(store).status()
    assert status.sentence.startswith(
        "A is the best item in yield <b>, with confidence 95 %: its yield <b> is estimated 2"
    )
    assert "points above that of B, the closest rival" in status.sentence
    assert (status.outcome_name, status.unit) == ("yield <b>", "%")
    assert any("points behind A" in item.why for item in status.items)
    campaign.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<b>" not in page
    for text in ("A is the best item in yield", "estimated yield &lt;b&gt; (%)", "behind (points)"):
        assert text in page
    assert "estimated difference in yield &lt;b&gt; to A (points)" in page
    assert "goal best" in page


def test_without_a_name_nothing_is_kept_or_said() -> None:
    campaign = pw.Campaign.create(Memory(), PROBLEM, seed=0)
    assert "quantity" not in campaign.records[0].body
    rows = campaign.ask()
    assert rows.to_csv().splitlines()[0] == "measurement,round,probe,replicate,outcome,x0,x1,x2"


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_sheets_are_headed_so_and_told_back(tmp_path: Path, ending: str) -> None:
    probes = "id,x,yield (%)\na,0,old\nb,1,old\nc,2,old\n"  # a column of the laboratory of the same name gives way
    (tmp_path / "probes.csv").write_text(probes)
    path, sheet = str(tmp_path / "a.campaign"), tmp_path / f"ask.{ending}"
    given = ["--probes", str(tmp_path / "probes.csv"), "--show", "yield (%)", "--sigma", "0.5", "--seed", "1"]
    said = run("new", path, *given, "--outcome-name", "yield", "--unit", "%", "--gap", "1")
    assert "Which item is the best in yield?" in said
    assert "0.5 points" in said
    run("ask", path, "--out", str(sheet))
    if ending == "csv":
        table = list(csv.reader(sheet.read_text().splitlines()))
        assert table[0] == ["measurement", "round", "probe", "replicate", "yield (%)", "x", "yield (%) of probe"]
        for row in table[1:]:
            row[4] = str(TRUTH[row[2]])
        sheet.write_text("\n".join(map(",".join, table)))
    else:
        book = openpyxl.load_workbook(sheet)
        assert book.active is not None
        assert [cell.value for cell in book.active[1]][4] == "yield (%)"
        for cells in book.active.iter_rows(min_row=2):
            cells[4].value = TRUTH[str(cells[2].value)]
        book.save(sheet)
    told = json.loads(run("tell", path, str(sheet), "--json"))
    assert len(told["recorded"]) > 2
    assert " yield (%) " in run("status", path)
    status = json.loads(run("status", path, "--json"))
    assert (status["outcome_name"], status["unit"]) == ("yield", "%")
    run("export", path, "--out", str(tmp_path / "all.csv"))
    assert "replicate,yield (%),state" in (tmp_path / "all.csv").read_text()


def test_outcomes_are_known_by_any_of_their_names() -> None:
    for name in ("yield (%)", "yield", "outcome"):
        campaign = pw.Campaign.create(Memory(), PROBLEM, seed=0, outcome_name="yield", unit="%")
        own = campaign.ask()["measurement"][0]
        assert campaign.tell([{"measurement": own, name: 3.0}]).recorded == (own,)
        assert "notes" not in campaign.records[-1].body
    own = campaign.ask()["measurement"][0]
    with pytest.raises(
        pw.InvalidRows, match=r"row 0 has 'yield \(%\)', 'outcome', which may all be the outcomes; keep"
    ):
        campaign.tell([{"measurement": own, "yield (%)": 3.0, "outcome": 3.0}])
    with pytest.raises(pw.InvalidRows, match=r"row 0 has no 'yield \(%\)'; it has 'measurement', 'yield \(g\)'"):
        campaign.tell([{"measurement": own, "yield (g)": 3.0}])
    with pytest.raises(pw.InvalidRows, match=r"row 0, column 'yield': got 'high', expected a number"):
        campaign.tell([{"measurement": own, "yield": "high"}])


def test_checks_of_the_model_have_units() -> None:
    """Five probes on a line, of which the middle one is far off it."""
    probes = np.column_stack([np.ones(5), np.arange(5.0)])
    problem = pw.Problem(probes, probes[[0, 4]], sigma=0.1)
    rows = np.repeat(np.arange(5), 4)
    means = Measurements.from_outcomes(5, rows, np.array([0.0, 1.0, 4.0, 3.0, 4.0])[rows])
    found = check_adequacy(problem, pw.BestItem(), [means], quantity=Quantity("yield", "g")).fit.found
    assert re.match(r"The model misses the probes by about [\d.]+ g \(", found)
    assert re.search(r"over 0 it is [\d.]+ g, and the misfit changes that by about [\d.]+ g\.", found)
