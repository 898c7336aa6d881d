from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import probewise as pw
from probewise.campaign import KINDS, Campaign, Memory, Record, Storage
from probewise.campaign.findings.appraisal import appraised
from probewise.campaign.report import pictures
from probewise.campaign.report.chronicle import TOLD
from probewise.campaign.report.page import number
from probewise.campaign.report.view import View, name_of
from probewise.campaign.report.write import report as written
from probewise.confidence import LogLog
from probewise.markup import table, tag

VOID = {"meta"}
NASTY = "<script>alert('x')</script>\"&amp;'<img src=x onerror=y>"


class Page(HTMLParser):
    """A page as a browser reads it: every tag must be closed, in order."""

    def __init__(self, text: str) -> None:
        HTMLParser.__init__(self)
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.stack[-1] if self.stack else "", []).append(data.replace("\xa0", " "))

    @property
    def text(self) -> str:
        return " ".join("".join(part) for name, part in self.texts.items() if name != "style")

    def of(self, tag: str) -> list[str]:
        return self.texts.get(tag, [])


def report(lab: Campaign) -> str:
    appraisal = appraised(lab.ledger, lab.trail)
    return written(View(name_of(lab._store.name), lab.ledger, lab.trail, lab.status(), lab.records, appraisal))


def campaign(
    place: Storage | Path,
    *,
    rounds: int = 99,
    epsilon: float = 0.0,
    bend: float = 0.0,
    delta: float = 0.05,
    names: str = "{}",
    items: int = 8,
) -> Campaign:
    """A laboratory that works for so many rounds, or until an item is declared."""
    rng = np.random.default_rng(1)
    probes = np.column_stack([np.ones(9), rng.uniform(-1, 1, (9, 2))])
    wanted = np.column_stack([np.ones(items), rng.uniform(-1, 1, (items, 2))])
    problem = pw.Problem(
        probes,
        wanted,
        sigma=0.5,
        probe_names=[names.format(f"p{i}") for i in range(9)],
        item_names=[names.format(f"z{i}") for i in range(items)],
        feature_names=[names.format(name) for name in ("one", "acid", "heat")],
    )
    mean = probes @ [20.0, 3.0, -2.0] + bend * rng.normal(size=9)
    lab = Campaign.create(place, problem, pw.BestItem(delta, epsilon), seed=4, author=names.format("ada"))
    index = {name: i for i, name in enumerate(problem.probe_names)}
    for _ in range(rounds):
        rows = lab.ask()
        if not len(rows):
            break
        lab.tell(rows.filled([mean[index[probe]] + 0.5 * rng.normal() for probe in rows["probe"]]))
    return lab


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> tuple[Campaign, Path, str]:
    path = tmp_path_factory.mktemp("report") / "campaign.db"
    lab = campaign(path)
    assert lab.status().item is not None
    lab.report(path.with_suffix(".html"))
    return lab, path, path.with_suffix(".html").read_text("utf-8")


def test_the_decision_stands_at_the_top(decided: tuple[Campaign, Path, str]) -> None:
    lab, _, text = decided
    item, page = lab.status().item, Page(text)
    assert page.of("h1") == [f"{item} is the best item, with confidence 95 %."]
    assert page.of("title")[0] == page.of("h1")[0]
    assert f"{item} is estimated " in page.text
    assert "all other items are ruled out" in page.text
    assert [*page.of("h2")] == ["Ranking", "Evidence", "Check of the model", "Assumptions", "Journal", "Replay"]


def test_every_item_and_record_is_there(decided: tuple[Campaign, Path, str]) -> None:
    lab, _, text = decided
    page, cells = Page(text), Page(text).of("td")
    assert {f"z{i}" for i in range(8)} <= set(cells)
    assert all(record.digest[:10] in page.of("code") for record in lab.records)
    assert lab.records[-1].digest in page.of("code")
    assert f"{lab.status().measurements:,}" in page.of("dd")
    assert "probewise 0.1.0" in page.text
    assert "σ = 0.5" in page.text
    gone = [cell for cell in cells if cell.startswith("ruled out in round ")]
    assert len(gone) == 7
    items = appraised(lab.ledger, lab.trail).numbers.items
    short = [item.by == lab.status().item and item.least > 0 for item in items]  # the rest is in the columns
    assert sum(bool(re.fullmatch(r"ruled out in round \d+", cell)) for cell in gone) == sum(short) > 0


def test_the_same_records_give_the_same_file(decided: tuple[Campaign, Path, str]) -> None:
    _, path, text = decided
    assert report(Campaign.open(path)) == text
    assert str(path.parent) not in text


def test_nothing_is_loaded(decided: tuple[Campaign, Path, str]) -> None:
    _, _, text = decided
    page = Page(text)
    assert {name for name, _ in page.tags} & {"script", "link", "img", "iframe", "object", "embed", "base"} == set()
    assert all((of.get("href") or "#").startswith("#") for _, of in page.tags)
    assert not any(key.startswith("on") or key == "src" for _, of in page.tags for key in of)
    assert re.search(r"https?://|url\(|@import|//[a-z]", text) is None
    policy = next(of["content"] for name, of in page.tags if of.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_links_lead_somewhere(decided: tuple[Campaign, Path, str]) -> None:
    page = Page(decided[2])
    ids = {of["id"] for _, of in page.tags if "id" in of}
    links = [of["href"] for name, of in page.tags if name == "a"]
    assert len(links) == 6
    assert {str(link)[1:] for link in links} <= ids


def script_of(text: str) -> str:
    found = re.search(r"<pre[^>]*><code>(.*?)</code></pre>", text, flags=re.S)
    assert found is not None
    return unescape(found[1])


def test_the_script_replays_the_decision(
    decided: tuple[Campaign, Path, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lab, path, text = decided
    status, script = lab.status(), tmp_path / "replay.py"
    script.write_text(script_of(text), "utf-8")
    done = subprocess.run([sys.executable, script], cwd=path.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"{status.measurements} measurements: {status.item}\n")
    lab.export(tmp_path / "journal.jsonl")
    monkeypatch.setattr(sys, "argv", ["replay.py", str(tmp_path / "journal.jsonl")])
    runpy.run_path(str(script))
    assert capsys.readouterr().out == done.stdout
    changed = tmp_path / "changed.py"
    changed.write_text(
        script.read_text("utf-8").replace(f"assert answer == ['{status.item}']", "assert answer == ['z?']")
    )
    with pytest.raises(AssertionError, match="another answer"):
        runpy.run_path(str(changed))
    campaign(tmp_path / "other.db", rounds=1)
    monkeypatch.setattr(sys, "argv", ["replay.py", str(tmp_path / "other.db")])
    with pytest.raises(AssertionError, match="other records"):
        runpy.run_path(str(script))


def test_names_are_escaped_everywhere() -> None:
    lab = campaign(Memory(), rounds=2, names="{}" + NASTY)
    rows = lab.ask()
    lab.void(rows["measurement"][0], reason=NASTY)
    lab.note(NASTY)
    text = report(lab)
    page = Page(text)
    assert {name for name, _ in page.tags} & {"script", "img"} == set()
    assert f"z0{NASTY}" in page.of("td")
    assert "<script>" not in text
    assert not any(key == "onerror" for _, of in page.tags for key in of)
    compile(script_of(text), "replay.py", "exec")


@pytest.mark.parametrize(
    ("options", "headline", "badge"),
    [
        ({"rounds": 0}, r"Nothing has been measured yet\.", "Undecided"),
        ({"rounds": 1}, r"leads with no confidence yet, but \d other items? of 8 may still be the best\.", "Undecided"),
        ({"epsilon": 4.0}, r"is within 4 of the best, with confidence 95 %\.", "Decided"),
        ({"bend": 4.0, "delta": 1e-6}, r"came out first, but the data contradict the assumptions\.", "Not certified"),
    ],
)
def test_what_is_missing_is_said_at_the_top(options: dict[str, float], headline: str, badge: str) -> None:
    page = Page(report(campaign(Memory(), **options)))  # type: ignore[arg-type]
    assert re.search(f"{headline}$", page.of("h1")[0])
    assert page.of("span")[0] == badge


def settled(algorithm: pw.Algorithm[object]) -> Campaign:
    lab = Campaign.create(Memory(), pw.Problem(np.eye(2)), algorithm=algorithm, seed=0)
    while len(rows := lab.ask()):
        lab.tell(rows.filled([9.0 if name == "0" else 0.0 for name in rows["probe"]]))
    return lab


@pytest.mark.parametrize(
    ("algorithm", "headline", "badge"),
    [
        (pw.Uniform(), "0 is the best item, with confidence 95 %.", "Decided"),
        (
            pw.Uniform(threshold=LogLog()),
            "0 came out first; how sure that is, is not proven for the algorithm that was used.",
            "Not certified",
        ),
    ],
)
def test_only_what_is_proven_is_certified(algorithm: pw.Algorithm[object], headline: str, badge: str) -> None:
    page = Page(report(settled(algorithm)))
    assert (page.of("h1")[0], page.of("span")[0]) == (headline, badge)


def test_a_declaration_to_which_the_records_do_not_lead_is_not_certified() -> None:
    lab = settled(pw.Uniform())
    for kind, body in (("withdrawn", {"item": "0", "reason": "none"}), ("decided", {"item": "1", "round": 1})):
        last = lab.ledger.last
        lab._store.append(Record.new(kind, body, author="x", after=last).line, after=last.seq)
    page, status = Page(report(lab)), lab.status()
    assert page.of("h1")[0] == "The decision is in doubt: what was declared is not what the records lead to."
    assert page.of("span")[0] == "Undecided"
    assert status.item is None
    assert any("'1' was declared the best by probewise" in warning for warning in status.warnings)


SQUARE = np.array([[1.0, 0.2], [0.3, 1.0], [1.0, 1.0], [0.5, -1.0]])
DIFFERENCES = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])


@pytest.mark.parametrize(
    ("problem", "algorithm", "noise"),
    [
        (pw.Problem(SQUARE, [[1.0, 0.0]]), pw.Sage(), 1.0),
        (pw.Problem(DIFFERENCES, np.eye(3)), pw.Sage(), 1.0),
        (pw.Problem(SQUARE), pw.Uniform(), 1.0),
        (pw.Problem(SQUARE), pw.LinGapE(), 1.0),
        (pw.Problem(SQUARE), pw.Sage(max_batch=1), 1.0),
        (pw.Problem(SQUARE), pw.Sage(), 0.0),
        (pw.Problem(SQUARE, sigma=1e-9), pw.Sage(), 1e-9),
        (pw.Problem(SQUARE, sigma=1e7), pw.Sage(), 1e7),
    ],
)
@pytest.mark.parametrize("rounds", [1, 7])
def test_odd_campaigns_have_a_report_without_holes(
    problem: pw.Problem, algorithm: pw.Algorithm[object], noise: float, rounds: int
) -> None:
    lab, rng = Campaign.create(Memory(), problem, algorithm=algorithm, seed=0), np.random.default_rng(0)
    theta = np.arange(1.0, problem.dimension + 1) * max(noise, 1e-9)
    for _ in range(rounds):
        rows = lab.ask()
        probes = problem.probes[[int(name) for name in rows["probe"]]]
        lab.tell(rows.filled(probes @ theta + noise * rng.normal(size=len(rows))))
    page = Page(report(lab))
    shown = " ".join(text for part in ("h1", "p", "td", "text", "figcaption") for text in page.of(part))
    assert re.search(r"\b(nan|inf)\b", shown) is None
    numbers = [value for _, of in page.tags for key, value in of.items() if key in ("x1", "x2", "y1", "y2", "cx", "d")]
    assert not any("nan" in str(value) or "inf" in str(value) for value in numbers)


def test_an_inadequate_model_says_what_to_do() -> None:
    page = Page(report(campaign(Memory(), bend=4.0, delta=1e-6)))
    alert = page.of("li")[0]
    assert "The model misses the probes by about" in alert
    assert "Add features that explain the worst probes" in alert
    assert "inadequate" in page.of("span")


def test_a_forecast_is_shown_while_undecided() -> None:
    lab = campaign(Memory(), rounds=1)
    forecast = lab.status().forecast
    assert forecast is not None
    text = Page(report(lab)).text
    assert f"Forecast: about {forecast['measurements']:,.0f} more measurements (with probability 80 %" in text
    assert f"between {forecast['low']:,.0f} and {forecast['high']:,.0f}) in {forecast['rounds']:,.0f} rounds" in text
    assert "Forecast" not in Page(report(campaign(Memory(), rounds=0))).text


def test_long_lists_are_cut_with_a_count() -> None:
    lab = campaign(Memory(), rounds=2, items=2000)
    for day in range(320):
        lab.note(f"day {day}")
    text = report(lab)
    page = Page(text)
    assert "… 1,980 more, down to" in page.text
    assert "The 1,975 items between" in page.of("summary")
    shown = text[text.index('id="ranking"') : text.index("<summary>")]
    assert shown.count("<tr") == 1 + 25
    assert len(set(page.of("td")) & {f"z{i}" for i in range(2000)}) == 2000
    more = len(lab.records) - 300
    assert f"{more} more records; export the journal to read them" in page.of("td")
    assert "day 60" not in page.of("td")
    assert "day 319" in page.of("td")


def test_a_report_needs_a_place_to_go(decided: tuple[Campaign, Path, str], tmp_path: Path) -> None:
    with pytest.raises(pw.ProbewiseError, match=r"cannot be written to .*nowhere.*choose another name"):
        decided[0].report(tmp_path / "nowhere" / "report.html")


def test_every_kind_of_record_has_its_words() -> None:
    assert set(TOLD) == set(KINDS)


def test_pieces_of_html() -> None:
    assert str(tag("p", "a < b", class_="x")) == '<p class="x">a &lt; b</p>'
    assert "<td>&lt;i&gt;</td>" in str(table(["a"], [["<i>"]], kinds="-"))
    assert number(-1234.5, 1) == "−1,234.5"
    assert number(-0.0001, 2) == "0.00"
    assert number(float("nan")) == "–"


CHROMIUM = shutil.which("chromium")


def requested(page: Path, *options: str) -> list[str]:
    """What a page asks for in a browser that reaches nobody; the browser's own requests have no origin."""
    quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
    log = page.with_suffix(".netlog")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", *quiet, f"--log-net-log={log}"]
    command += [f"--user-data-dir={page.parent / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND", *options]
    subprocess.run([*command, page.as_uri()], capture_output=True, timeout=120, check=True)
    events = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    return [of["url"] for of in events if "url" in of and of.get("initiator", "not an origin") != "not an origin"]


@pytest.mark.skipif(CHROMIUM is None, reason="needs the browser chromium")
def test_a_browser_shows_and_prints_it_without_a_request(decided: tuple[Campaign, Path, str], tmp_path: Path) -> None:
    page, picture, paper = tmp_path / "report.html", tmp_path / "page.png", tmp_path / "page.pdf"
    page.write_text(decided[2], "utf-8")
    assert requested(page, f"--screenshot={picture}", "--window-size=1100,2400") == []
    assert requested(page, f"--print-to-pdf={paper}") == []
    assert picture.stat().st_size > 50_000
    assert paper.read_bytes().startswith(b"%PDF")
    page.write_text('<!DOCTYPE html><img src="http://example.org/x.png">')
    assert requested(page, f"--screenshot={picture}") == ["http://example.org/x.png"]


def test_names_in_the_picture_of_what_probes_read_do_not_overlap() -> None:
    points = [(f"probe {k}", 1.0 + 0.001 * k, 3.0 - 0.001 * k, 0.1) for k in range(3)] + [("low", 0.0, 0.0, 0.1)]
    drawn = pictures.agreement(points, [name for name, *_ in points], "four probes")
    at = sorted(float(y) for y in re.findall(r'y="([\d.]+)">(?:probe \d|low)</text>', str(drawn)))
    assert len(at) == 4
    assert min(np.diff(at)) >= 13.9
