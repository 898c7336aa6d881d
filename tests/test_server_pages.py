from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
from _serving import Serving, Visitor

import probewise as pw
from _lab import Page, seen
from probewise.data import copy_example, fill_outcomes


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    begun = Serving(tmp_path_factory.mktemp("lab"))
    yield begun
    begun.stop()


@pytest.fixture
def visitor(serving: Serving) -> Visitor:
    return Visitor(serving.url)


@pytest.fixture
def campaign(serving: Serving, tmp_path: Path, request: pytest.FixtureRequest) -> pw.Campaign:
    items, probes = copy_example(tmp_path)
    problem = pw.Problem.from_tables(probes, items, sigma=3.0)
    name = re.sub(r"\W+", "-", request.node.name)
    return pw.Campaign.create(
        Path(serving.place) / f"{name}.campaign", problem, seed=2, author="anna", outcome_name="yield", unit="%"
    )


def address(campaign: pw.Campaign) -> str:
    return f"/c/{Path(campaign._store.name).name}"


def decide(campaign: pw.Campaign, folder: Path) -> None:
    while rows := campaign.ask():
        rows.to_csv(folder / "sheet.csv")
        fill_outcomes(folder / "sheet.csv", folder / "sheet.csv")
        campaign.tell(folder / "sheet.csv")


def test_every_page_of_a_decided_campaign(visitor: Visitor, campaign: pw.Campaign, tmp_path: Path) -> None:
    decide(campaign, tmp_path)
    place = address(campaign)
    first = visitor.get(place)
    text = seen(first)
    assert "XPhos, toluene, 100 is the best item in yield, with confidence 95 %." in text
    assert "Confirm it" in text
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', first.text)
    assert len(files) >= 4
    assert len(first.body) + sum(len(visitor.get(file).body) for file in files) < 100_000
    for page, words in {
        "/": "Decided",
        f"{place}/measure": "Confirm the answer",
        f"{place}/history": "the last first",
        f"{place}/row/r1-1": "See what it would change",
        f"{place}/keep?digest=": "every digest fits",
        f"{place}/keep?digest={campaign.status().digest}": "nothing is missing",
        f"{place}/keep?digest=0123456789": "none is 0123456789",
        f"{place}/keep?digest=zz": "A digest is 64 of the letters",
        "/new": "What you can measure",
    }.items():
        assert words in seen(visitor.get(page)), page
    assert "<h1>" in visitor.get(f"{place}/now").text
    report = visitor.get(f"{place}/report")
    assert "style-src 'unsafe-inline'" in report.headers["content-security-policy"]
    assert "script-src" not in report.headers["content-security-policy"]
    for copy in ("copy.jsonl", "copy.campaign"):
        (tmp_path / copy).write_bytes(visitor.get(f"{place}/{copy}").body)
        assert pw.Campaign.open(tmp_path / copy).status().digest == campaign.status().digest
    assert visitor.get(f"{place}/rows.csv").text.count("\n") == 1 + campaign.status().measurements
    assert seen(visitor.get(f"{place}/row/r9-9"), 422)
    assert seen(visitor.get("/c/nothing.campaign"), 404)


def test_a_round_by_typing(visitor: Visitor, campaign: pw.Campaign) -> None:
    place = address(campaign)
    asked = visitor.form(f"{place}/ask", {"due": "2030-01-31"}, page=f"{place}/measure")
    assert asked.status == 303
    shown = seen(visitor.get(asked.headers["location"]))
    assert "24 of 24 rows left. Wanted by 2030-01-31." in shown
    wrong = visitor.form(f"{place}/measure", {"outcome.r1-1": "4o", "outcome.r1-2": "50"}, page=f"{place}/measure")
    text = seen(wrong, 422)
    assert "Nothing was recorded, as 1 row must be looked at: r1-1." in text
    assert "Got '4o', expected a number" in text
    assert 'value="4o"' in wrong.text  # what was typed is still there
    assert len(campaign.records) == 2
    right = visitor.form(f"{place}/measure", {"outcome.r1-1": "40", "outcome.r1-2": " 50 "}, page=f"{place}/measure")
    assert "2 recorded." in seen(visitor.get(right.headers["location"]))
    assert campaign.status().measurements == 2
    assert campaign.records[-1].author != "anna"
    again = visitor.form(f"{place}/measure", {"outcome.r1-1": "41", "outcome.r1-3": "5"}, page=f"{place}/measure")
    assert "'r1-1' has 40.0 on record" in seen(again, 422)
    assert "Nothing was filled in" in seen(visitor.form(f"{place}/measure", {}, page=f"{place}/measure"), 422)


def test_a_round_by_typing_means_and_standard_errors(visitor: Visitor, serving: Serving) -> None:
    bounded = pw.Problem(np.eye(2), outcome=pw.Bounded(0, 10), probe_names=["a", "b"])
    means = pw.Campaign.create(Path(serving.place) / "means.campaign", bounded, seed=0, aggregated="means")
    first = means.ask()["measurement"][0]
    page = "/c/means.campaign/measure"
    shown = seen(visitor.get(page))
    assert f'name="sd.{first}"' in visitor.get(page).text
    assert "2 rows" in shown
    cells = {f"n.{first}": "2", f"mean.{first}": "4"}
    assert "expected the standard deviation of the outcomes" in seen(visitor.form(page, cells, page=page), 422)
    done = visitor.form(page, cells | {f"sd.{first}": "0.5"}, page=page)
    assert "2 recorded." in seen(visitor.get(done.headers["location"]))
    assert means.ledger.measured.scatter.max() == pytest.approx(0.25)
    row = f"/c/means.campaign/row/{first}"
    assert "told by the mean of 2 rows, which are corrected and voided together" in seen(visitor.get(row))
    better = {"change": "correct", "outcome": "5", "spread": "1", "reason": "a slip", "sure": "yes"}
    assert visitor.form(row, better, page=row).status == 303
    assert means.ledger.measured.scatter.max() == pytest.approx(1.0)
    normal = pw.Problem(np.eye(2), sigma=1.0, probe_names=["a", "b"])
    weighted = pw.Campaign.create(Path(serving.place) / "se.campaign", normal, seed=0, weighted=True)
    first, page = weighted.ask()["measurement"][0], "/c/se.campaign/measure"
    visitor.form(page, {f"outcome.{first}": "4", f"se.{first}": "0.5"}, page=page)
    assert weighted.ledger.measured.weights.max() == pytest.approx(4.0)
    said = visitor.form(page, {f"se.{first}": "0.5"}, page=page)
    assert "Nothing was filled in" in seen(said, 422)


def test_a_round_by_upload_and_by_pasting(visitor: Visitor, campaign: pw.Campaign, tmp_path: Path) -> None:
    place = address(campaign)
    visitor.form(f"{place}/ask", {}, page=f"{place}/measure")
    sheet = visitor.get(f"{place}/sheet.csv").text
    (tmp_path / "s.csv").write_text(sheet)
    fill_outcomes(tmp_path / "s.csv", tmp_path / "s.csv")
    checked = visitor.upload(
        f"{place}/upload", {}, {"table": ("sheet.csv", (tmp_path / "s.csv").read_bytes())}, page=f"{place}/measure"
    )
    assert "24 recorded" in seen(checked)
    assert len(campaign.records) == 2  # nothing yet
    token = re.findall(r'name="token" value="(\w+)"', checked.text)[0]
    done = visitor.form(f"{place}/uploaded", {"token": token, "off_plan": "no"}, page=f"{place}/measure")
    assert "24 recorded." in seen(visitor.get(done.headers["location"]))
    spread = visitor.form(f"{place}/ask", {}, page=f"{place}/measure")
    assert spread.status == 303
    assert visitor.get(f"{place}/sheet.xlsx").body.startswith(b"PK")
    pasted = visitor.upload(f"{place}/upload", {"pasted": "measurement\toutcome\nr2-1\t5"}, {}, page=f"{place}/measure")
    assert "1 recorded" in seen(pasted)
    wrong = visitor.upload(f"{place}/upload", {"pasted": "measurement\toutcome\nr2-1\tx"}, {}, page=f"{place}/measure")
    assert "expected a number" in seen(wrong, 422)
    own = {"pasted": "probe\toutcome\nXPhos, THF, 60\t61", "off_plan": "yes"}
    unplanned = visitor.upload(f"{place}/upload", own, {}, page=f"{place}/measure")
    token = re.findall(r'name="token" value="(\w+)"', unplanned.text)[0]
    visitor.form(f"{place}/uploaded", {"token": token, "off_plan": "yes"}, page=f"{place}/measure")
    assert campaign.records[-1].kind == "unplanned"


def test_a_correction_that_withdraws_a_winner(visitor: Visitor, campaign: pw.Campaign, tmp_path: Path) -> None:
    decide(campaign, tmp_path)
    place, before = address(campaign), len(campaign.records)
    outcome = {"change": "correct", "outcome": "-500", "reason": "read off the wrong scale"}
    tried = seen(visitor.form(f"{place}/row/r2-1", outcome, page=f"{place}/row/r2-1"))
    assert "What this would change" in tried
    assert "The answer that was declared would be withdrawn." in tried
    assert "at most 7.5 % instead of 5 %" in tried
    assert len(campaign.records) == before
    done = visitor.form(f"{place}/row/r2-1", {**outcome, "sure": "yes"}, page=f"{place}/row/r2-1")
    assert "is no longer declared" in seen(visitor.get(done.headers["location"]))
    assert "withdrawn" in [record.kind for record in campaign.records]
    assert "Not certified" in seen(visitor.get(f"{place}?record={len(campaign.records)}"))
    void = {"change": "void", "reason": "spilled", "sure": "yes"}
    visitor.form(f"{place}/row/r2-2", void, page=f"{place}/row/r2-2")
    assert campaign.records[-1].kind == "voided"
    assert seen(visitor.form(f"{place}/row/r2-3", {"change": "void", "reason": " "}, page=f"{place}/row/r2-3"), 422)


def test_other_changes(visitor: Visitor, campaign: pw.Campaign) -> None:
    place = address(campaign)
    campaign.ask()
    visitor.form(f"{place}/note", {"text": "new bottle"}, page=place)
    stock = {"probe": "XPhos, THF, 60", "stock": "3", "reason": "few"}
    visitor.form(f"{place}/restock", stock, page=place)
    visitor.form(f"{place}/close", {"reason": "away"}, page=f"{place}/history")
    assert [record.kind for record in campaign.records[-3:]] == ["note", "stocked", "closed"]
    assert seen(visitor.form(f"{place}/restock", stock | {"stock": "-1"}, page=place), 422)
    assert seen(visitor.form(f"{place}/restock", stock | {"probe": "nobody"}, page=place), 422)


def test_a_campaign_from_two_tables(visitor: Visitor, tmp_path: Path, serving: Serving) -> None:
    items, probes = copy_example(tmp_path)
    tables = {"probes": ("probes.csv", probes.read_bytes()), "items": ("items.csv", items.read_bytes())}
    first = visitor.upload("/new", {}, tables, page="/new")
    where = first.headers["location"]
    assert "48 probes and 24 items." in seen(visitor.get(where))
    fields = {
        "name": "from tables", "model": "main", "goal": "best", "delta": "0.05", "epsilon": "0", "noise": "sigma",
        "sigma": "3", "amendments": "0", "act": "check", "max_batch": "12", "outcome_name": "yield", "unit": "%",
    }  # fmt: skip
    checked = visitor.form(where, fields, page=where)
    text = seen(checked)
    assert "Every comparison of two items can be made with these probes." in text
    assert not (Path(serving.place) / "from tables.campaign").exists()
    mark = re.findall(r'name="checked" value="(\w+)"', checked.text)[0]
    other = visitor.form(where, fields | {"act": "create", "checked": mark, "sigma": "4"}, page=where)
    assert "look at the checks once more" in seen(other)
    done = visitor.form(where, fields | {"act": "create", "checked": mark}, page=where)
    assert done.headers["location"].startswith("/c/from%20tables.campaign/measure")
    made = pw.Campaign.open(Path(serving.place) / "from tables.campaign")
    assert "max_batch=12" in repr(made.algorithm)
    twice = visitor.form(where, fields | {"act": "create", "checked": mark}, page=where)
    assert "There is a campaign 'from tables.campaign' already" in seen(twice, 422)
    for change, words in (
        ({"sigma": "x"}, "'x' is not a number"),
        ({"sigma": ""}, "Nothing was said of the noise"),
        ({"name": "../x"}, "The name of a campaign"),
        ({"goal": "top", "value": "many"}, "needs a whole number"),
        ({"noise": "unknown"}, "The noise is unknown"),
        ({"noise": "bounded", "low": "0", "high": "100"}, "as much as their range allows"),
        ({"model": "formula", "formula": "ligand +"}, "formula"),
        ({"goal": "above", "value": "70", "promise": "share"}, "of such a list at most 5 % is wrong"),
        ({"promise": "share"}, "promise"),
        ({"normal": "yes"}, "Every comparison"),
        ({"normal": "yes", "sigma": ""}, "give the noise too"),
        ({"misfit": "0.5"}, "off the model"),
        ({"misfit": "-1"}, "Misfit must be finite and at least 0"),
        ({"rounds": "3", "max_batch": ""}, "Every comparison"),
        ({"max_batch": ""}, "Fewer rounds take more measurements"),
        ({"budget": "30"}, "Every comparison"),
        ({"budget": "30", "rounds": "3"}, "A budget has a plan of its own, which rounds cannot change"),
        ({"budget": "30", "algorithm": "rage"}, "A budget has a plan of its own, which an algorithm cannot change"),
        ({"algorithm": "rage"}, "Every comparison"),
        ({"algorithm": "nothing"}, "A campaign cannot be run by 'nothing'"),
        ({"seed": "1.5"}, "The seed must be a whole number of at least 0, got 1.5"),
        ({"gaps": "4 2"}, "if items differ by"),
        ({"matters": "4"}, "Every comparison"),
        ({"matters": "-4"}, "Gap must be positive and finite"),
        ({"matters": "4", "budget": "30"}, "which a difference that matters cannot change"),
        ({"gaps": "4 x"}, "A difference to forecast"),
        ({"gaps": "0"}, "A gap must be a positive number"),
        ({"max_replicates": "2", "min_batch": "4"}, "Every comparison"),
        ({"role.0": "cost"}, "ligand"),
    ):
        found = visitor.form(where, fields | change, page=where)
        assert words in Page(found.text).text, change


def test_what_is_wrong_with_tables_is_said_in_the_words_of_the_page(visitor: Visitor) -> None:
    table = b"label,x\nred,1\ngreen,2\nblue,3\nblack,4\n"
    where = visitor.upload("/new", {}, {"probes": ("p.csv", table)}, page="/new").headers["location"]
    fields = {"name": "other", "model": "main", "goal": "best", "noise": "sigma", "sigma": "3", "act": "check"}
    text = seen(visitor.form(where, fields, page=where), 422)
    assert "choose the role “names of the rows” for 'label' if it names the rows, or the role “factor” for" in text
    assert "--" not in text
    assert "Every comparison" in seen(visitor.form(where, fields | {"role.0": "name"}, page=where))


@pytest.mark.parametrize("ending", [".xlsx", ".parquet"])
def test_tables_of_other_kinds(visitor: Visitor, tmp_path: Path, ending: str) -> None:
    import csv

    needed = pytest.importorskip("openpyxl" if ending == ".xlsx" else "pyarrow.csv", reason="cannot write such a table")
    files = {}
    for name, path in zip(("items", "probes"), copy_example(tmp_path), strict=True):
        other = tmp_path / f"{name}{ending}"
        if ending == ".xlsx":
            book = needed.Workbook()
            for row in csv.reader(path.read_text().splitlines()):
                book.active.append([float(cell) if cell.replace(".", "").isdigit() else cell for cell in row])
            book.save(other)
        else:
            import pyarrow.parquet

            pyarrow.parquet.write_table(needed.read_csv(path), other)
        files[name] = (other.name, other.read_bytes())
    where = visitor.upload("/new", {}, files, page="/new").headers["location"]
    assert "48 probes and 24 items." in seen(visitor.get(where))
    fields = {"name": "other", "model": "main", "goal": "best", "noise": "sigma", "sigma": "3", "act": "check"}
    assert "Every comparison of two items can be made" in seen(visitor.form(where, fields, page=where))


def test_a_campaign_with_every_setting(visitor: Visitor, tmp_path: Path, serving: Serving) -> None:
    items, probes = copy_example(tmp_path)
    tables = {"probes": ("probes.csv", probes.read_bytes()), "items": ("items.csv", items.read_bytes())}
    where = visitor.upload("/new", {}, tables, page="/new").headers["location"]
    fields = {
        "name": "every", "model": "interactions", "goal": "above", "value": "70", "promise": "share", "delta": "0.1",
        "epsilon": "1", "minimise": "yes", "noise": "sigma", "sigma": "3", "normal": "yes", "misfit": "0.5",
        "outcome_name": "yield", "unit": "%", "least": "0", "most": "100", "amendments": "0.25", "max_batch": "24",
        "min_batch": "4", "max_replicates": "3", "rounds": "6", "seed": "7", "gaps": "5 2", "act": "check",
    }  # fmt: skip
    checked = visitor.form(where, fields, page=where)
    assert "Create the campaign" in seen(checked)
    mark = re.findall(r'name="checked" value="(\w+)"', checked.text)[0]
    done = visitor.form(where, fields | {"act": "create", "checked": mark}, page=where)
    assert done.status == 303, done.text
    made = pw.Campaign.open(Path(serving.place) / "every.campaign")
    assert made.goal == pw.Above(70.0, delta=0.1, epsilon=1.0, minimise=True, promise="share")
    for setting in ("max_batch=24", "min_batch=4", "max_replicates=3", "rounds=6"):
        assert setting in repr(made.algorithm)
    charter = made.ledger.charter
    assert (charter.seed, charter.amendments, charter.outcome_range) == (7, 0.25, (0.0, 100.0))
    assert charter.quantity.heading == "yield (%)"
    assert made.problem.outcome == pw.Gaussian(made.problem.sigma, normal=True)
    assert set(made.problem.misfit.tolist()) == {0.5}
    budget = {"goal": "best", "promise": "all", "rounds": "", "min_batch": "", "budget": "30", "name": "budget"}
    plain = {"minimise": "", "normal": "", "misfit": "0", "amendments": "0", "epsilon": "0"}
    checked = visitor.form(where, fields | budget | plain, page=where)
    mark = re.findall(r'name="checked" value="(\w+)"', checked.text)[0]
    visitor.form(where, fields | budget | plain | {"act": "create", "checked": mark}, page=where)
    planned = pw.BestGuess(30, max_batch=24, max_replicates=3, low=0.0, high=100.0)
    assert pw.Campaign.open(Path(serving.place) / "budget.campaign").algorithm == planned


def test_the_page_and_the_interface_offer_what_the_command_offers() -> None:
    from probewise.cli.new import command
    from probewise.server.api import SETTINGS
    from probewise.server.pages.new import FIELDS

    other = {"path", "as_json", "dry_run", "author"}  # a name, an answer, `checks`, and the login
    roles = {"id_column", "factors", "extra", "sigma_column", "cost_column", "stock_column"}
    settings = {"question": "goal", "outcome_range": "range", "span": "bounds"}
    wanted = {settings.get(own.name or "", own.name or "") for own in command.params} - other - roles
    assert wanted <= {*SETTINGS}
    fields = {"outcome": "noise", "range": "least", "bounds": "low", "probes": "name", "items": "name"}
    fields["weighted"] = "aggregated"  # one of the kinds of rows
    assert {fields.get(own, own) for own in wanted} <= {*FIELDS}


def test_errors_do_not_say_where_the_server_keeps_its_files(visitor: Visitor, serving: Serving) -> None:
    broken = Path(serving.place) / "broken.campaign"
    broken.write_text("nothing")
    try:
        for path in ("/", "/c/broken.campaign", "/api/v1/campaigns/broken.campaign", "/c/broken.campaign/keep?digest="):
            answer = visitor.get(path)
            assert "'broken.campaign' is not a campaign" in unescape(answer.text)
            assert serving.place not in answer.text
    finally:
        broken.unlink()


NASTY = "<script>alert(1)</script>\"'=1+1&amp;"


def test_text_of_others_is_shown_and_never_obeyed(visitor: Visitor, serving: Serving, tmp_path: Path) -> None:
    names = [f"{NASTY}{at}" for at in range(3)]
    problem = pw.Problem([[1, 0], [0, 1], [1, 1]], sigma=0.1, probe_names=names, item_names=names)
    campaign = pw.Campaign.create(Path(serving.place) / "nasty.campaign", problem, seed=0, author=NASTY)
    campaign.note(NASTY)
    rows = campaign.ask()
    campaign.tell({rows["measurement"][0]: 1.0})
    campaign.correct(rows["measurement"][0], 2.0, reason=NASTY)
    for page in ("/", "", "/measure", "/history", "/row/r1-1", "/keep?digest=", f"/keep?digest={'%3Cb%3E'}"):
        own = page if page == "/" else f"/c/nasty.campaign{page}"
        text = seen(visitor.get(own))  # fails on a script inside the page
        assert "<b>" not in visitor.get(own).text.replace("<b>probewise</b>", "")
        assert "keep" in page or "<script>alert(1)</script>" in text
    sheet = visitor.get("/c/nasty.campaign/sheet.csv")
    assert sheet.headers["content-disposition"].startswith("attachment")
