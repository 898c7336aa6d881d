"""The pages in Chromium, by clicks, paste and upload only; `make page` runs this file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from _serving import Serving

import probewise as pw
from probewise.data import copy_example, fill_outcomes
from probewise.data.example import true_yields

pytest.importorskip("starlette", reason="starlette is not installed")
if os.environ.get("PROBEWISE_BROWSER") != "1":
    pytest.skip("the browser is started by `make page` only", allow_module_level=True)
from probewise.server.accounts import Accounts
from probewise.server.app import WAYS
from probewise.server.config import STATE

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


def chromium() -> str | None:
    """Debian's Chromium, installed if it is not there and can be."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None and shutil.which("apt-get") and os.getuid() == 0:
        for words in (["update", "-q"], ["install", "-y", "-q", "chromium"]):
            subprocess.run(["apt-get", *words], capture_output=True, timeout=600)
        found = shutil.which("chromium")
    return found


CHROMIUM = chromium()
if CHROMIUM is None:
    pytest.skip("there is no chromium here, nor can it be installed (apt install chromium)", allow_module_level=True)

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
PICTURES = Path(__file__).parents[1] / "docs" / "figures"
NARROW = {"width": 390, "height": 780}
AUDIT = (Path(__file__).parent / "page_audit.js").read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        own = running.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield own
        own.close()


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, from the registry of npm, which is not kept."""
    npm, folder = shutil.which("npm"), tmp_path_factory.mktemp("axe")
    if npm is None:
        pytest.skip("there is no npm on this machine, which brings axe-core (Debian: apt install npm)")
    done = subprocess.run([npm, "pack", "axe-core"], cwd=folder, capture_output=True, text=True, timeout=120)
    found = [*folder.glob("axe-core-*.tgz")]
    if done.returncode or not found:
        pytest.skip(f"axe-core cannot be had here: {done.stderr.strip()[-200:]}")
    with tarfile.open(found[0]) as archive:
        source = archive.extractfile("package/axe.min.js")
        assert source is not None
        return source.read().decode()


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    (tmp_path / "lab").mkdir()
    own = Serving(tmp_path / "lab")
    yield own
    own.stop()


class Watched:
    """A page in a browser of its own, which notes every error and every request to anywhere else."""

    def __init__(self, browser: Any, url: str, **settings: Any) -> None:
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.url, self.wrong = url, []
        self.page.on("pageerror", lambda error: self.wrong.append(f"error {error}"))
        self.page.on("console", lambda line: self.wrong.append(line.text) if line.type == "error" else None)
        self.page.on("request", self._asked)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.wrong.append(f"asked for {request.url}")

    def go(self, path: str) -> None:
        self.page.goto(self.url + path)

    def audited(self, *, contrast: bool = True) -> None:
        """Names, labels, headings, contrast and targets, as axe-core judges the serious ones."""
        found = self.page.evaluate(AUDIT, contrast)
        assert found == [], f"{self.page.url}: {found}"

    def close(self) -> None:
        self.context.close()
        calm = [text for text in self.wrong if "422" not in text and "ERR_" not in text]
        assert calm == []


def outcome(probe: str, truth: dict[str, float], at: int) -> str:
    """What the laboratory would read, with a scatter that is fixed."""
    return f"{truth[probe] + (-2.0, 1.0, 2.5, -1.5)[at % 4]:.1f}"


def clipboard(page: Any, selector: str, text: str) -> None:
    """Paste, as from a spreadsheet."""
    page.focus(selector)
    page.evaluate(
        """([selector, text]) => {
          const data = new DataTransfer(); data.setData("text", text);
          document.querySelector(selector).dispatchEvent(
            new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
        }""",
        [selector, text],
    )


def probes_of(page: Any) -> list[tuple[str, str]]:
    rows = page.eval_on_selector_all(
        "tr[data-row]", "rows => rows.map(row => [row.dataset.row, row.querySelector('td.w').textContent])"
    )
    return [(str(own), str(probe)) for own, probe in rows]


def test_from_two_tables_to_a_winner(browser: Any, serving: Serving, tmp_path: Path) -> None:
    items, probes = copy_example(tmp_path)
    truth = true_yields("probes.csv")
    own = Watched(browser, serving.url)
    page = own.page
    own.go("/")
    own.audited()
    page.click("text=New campaign")
    page.set_input_files("input[name=probes]", str(probes))
    page.set_input_files("input[name=items]", str(items))
    own.audited()
    page.click("text=Go on")
    page.fill("input[name=name]", "coupling")
    page.fill("input[name=sigma]", "3")
    page.fill("input[name=outcome_name]", "yield")
    page.fill("input[name=unit]", "%")
    page.click("text=Check it")
    assert "Every comparison of two items can be made" in page.text_content("main")
    own.audited()
    page.click("text=Create the campaign")
    for turn in range(12):
        page.click("text=Plan it")
        rows = probes_of(page)
        values = [(row, outcome(probe, truth, at)) for at, (row, probe) in enumerate(rows)]
        if turn % 3 == 0:  # typed, with Enter from row to row
            page.focus("input[data-cell]")
            for _, value in values:
                page.keyboard.type(value)
                page.keyboard.press("Enter")
        elif turn % 3 == 1:  # a column, as from a spreadsheet
            clipboard(page, "input[data-cell]", "\n".join(value for _, value in values) + "\n")
        else:  # rows with their ids in another order
            clipboard(page, "input[data-cell]", "\n".join(f"{row}\t{value}" for row, value in reversed(values)))
        page.wait_for_selector(f"text={len(rows)} of {len(rows)} filled in")
        if turn == 0:
            own.audited()
        if turn == 1:  # the sheet that was downloaded, filled in and uploaded
            with page.expect_download() as waiting:
                page.click("a:has-text('CSV')")
            sheet = Path(waiting.value.path()).read_text().splitlines()
            lines = [line.split(",") for line in sheet]
            ids = dict(values)
            text = ["measurement,outcome", *(f"{line[0]},{ids[line[0]]}" for line in lines[1:])]
            (tmp_path / "filled.csv").write_text("\n".join(text))
            page.set_input_files("#file input[name=table]", str(tmp_path / "filled.csv"))
            page.click("#file button")
            page.click("text=/Record \\d+ outcomes/")
        else:
            page.click("text=Record the outcomes")
        page.wait_for_selector(".said.good")
        if "Confirm the answer" in page.text_content("main"):
            break
    page.click("nav >> text=Overview")
    assert "XPhos, toluene, 100 is the best item in yield" in page.text_content("h1").replace("\xa0", " ")
    own.audited()
    page.wait_for_selector("text=Live")
    for tab in ("To measure", "History", "Verify and back up"):
        page.click(f"nav >> text={tab}")
        own.audited()
    page.click("text=Verify >> nth=-1")
    own.close()


def small(serving: Serving, rows: int = 1) -> pw.Campaign:
    problem = pw.Problem([[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1]], sigma=0.5, probe_names=["a", "b", "c"])
    campaign = pw.Campaign.create(Path(serving.place) / "small.campaign", problem, seed=0)
    campaign.ask()
    return campaign


def test_two_browsers_on_one_round(browser: Any, serving: Serving) -> None:
    campaign = small(serving)
    one, two = Watched(browser, serving.url), Watched(browser, serving.url)
    for own in (one, two):
        own.go("/c/small.campaign/measure")
    one.page.fill("[data-cell=r1-1]", "1")
    two.page.fill("[data-cell=r1-2]", "2")
    one.page.click("text=Record the outcomes")
    one.page.wait_for_selector(".said.good")
    two.page.wait_for_selector("tr.taken[data-row=r1-1]")  # told at once
    assert two.page.input_value("[data-cell=r1-2]") == "2"
    two.page.click("text=Record the outcomes")
    two.page.wait_for_selector(".said.good")
    # both type into the same row: the second is told, and nothing is lost
    three, four = Watched(browser, serving.url, java_script_enabled=False), Watched(browser, serving.url)
    for own, value in ((three, "3"), (four, "4")):
        own.go("/c/small.campaign/measure")
        own.page.fill("input[name='outcome.r1-3']", value)
    three.page.fill("input[name='outcome.r1-4']", "5")
    four.page.click("text=Record the outcomes")
    four.page.wait_for_selector(".said.good")
    three.page.click("text=Record the outcomes")
    assert "has 4.0 on record" in three.page.text_content("main")
    assert three.page.input_value("input[name='outcome.r1-4']") == "5"
    three.page.click("text=Record the outcomes")
    outcomes = [campaign.ledger.outcome((1, row)) for row in (1, 2, 3, 4)]
    assert outcomes == [1.0, 2.0, 4.0, 5.0]
    for own in (one, two, three, four):
        own.close()


def test_a_page_is_live_and_a_correction_withdraws_the_winner(browser: Any, serving: Serving) -> None:
    campaign = small(serving)
    while rows := campaign.ask():
        campaign.tell(rows.filled([3.0 if probe == "a" else 0.0 for probe in rows["probe"]]))
    looking, other = Watched(browser, serving.url), Watched(browser, serving.url)
    looking.go("/c/small.campaign")
    assert "is the best item" in looking.page.text_content("h1")
    other.go("/c/small.campaign/row/r1-1")
    other.page.fill("main input[name=outcome] >> nth=0", "-9")
    other.page.fill("main input[name=reason] >> nth=0", "sign")
    other.page.click("text=See what it would change >> nth=0")
    assert "would be withdrawn" in other.page.text_content(".tried")
    other.audited()
    other.page.click(".tried button")
    other.page.wait_for_selector(".said.good")
    looking.page.wait_for_selector("h1:not(:has-text('is the best item'))")
    looking.close()
    other.close()


def test_what_was_typed_survives_a_reload_and_a_server_that_is_killed(browser: Any, serving: Serving) -> None:
    campaign = small(serving)
    own = Watched(browser, serving.url)
    own.go("/c/small.campaign/measure")
    own.page.fill("[data-cell=r1-1]", "1.5")
    own.page.reload()
    assert own.page.input_value("[data-cell=r1-1]") == "1.5"
    serving.kill()
    own.page.fill("[data-cell=r1-2]", "2.5")
    own.page.click("text=Record the outcomes")  # nobody answers
    own.page.wait_for_timeout(300)
    serving.start()
    own.go("/c/small.campaign/measure")
    assert own.page.input_value("[data-cell=r1-2]") == "2.5"
    own.page.click("text=Record the outcomes")
    own.page.wait_for_selector(".said.good")
    assert [campaign.ledger.outcome((1, row)) for row in (1, 2)] == [1.5, 2.5]
    own.page.reload()
    assert own.page.query_selector("[data-cell=r1-1]") is None
    own.close()


def test_a_cell_is_checked_while_it_is_typed(browser: Any, serving: Serving) -> None:
    small(serving)
    own = Watched(browser, serving.url)
    own.go("/c/small.campaign/measure")
    own.page.fill("[data-cell=r1-1]", "1,5")
    own.page.wait_for_selector("text=use a decimal point")
    assert own.page.get_attribute("[data-cell=r1-1]", "aria-invalid") == "true"
    own.page.fill("[data-cell=r1-1]", "1.5")
    own.page.wait_for_selector("tr.ok[data-row=r1-1]")
    own.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_beside_the_bench(browser: Any, serving: Serving, scheme: str) -> None:
    campaign = small(serving)
    own = Watched(browser, serving.url, viewport=NARROW, color_scheme=scheme, has_touch=True)
    pages = ("/", "/c/small.campaign", "/c/small.campaign/measure", "/c/small.campaign/history",
             "/c/small.campaign/row/r1-1", "/c/small.campaign/keep", "/new")  # fmt: skip
    for path in pages:
        own.go(path)
        wide = own.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= NARROW["width"], f"{path} is {wide} wide"
        own.audited()
    assert campaign.records
    own.close()


def test_pictures(browser: Any, tmp_path: Path) -> None:
    """The pictures of README and docs; written if PROBEWISE_PICTURES says so."""
    (tmp_path / "lab").mkdir()
    items, probes = copy_example(tmp_path)
    problem = pw.Problem.from_tables(probes, items, sigma=3.0)
    for name, rounds in (("coupling", 9), ("screening", 1)):
        campaign = pw.Campaign.create(
            tmp_path / "lab" / f"{name}.campaign", problem, seed=2, author="anna", outcome_name="yield", unit="%"
        )
        for _ in range(rounds):
            if not (asked := campaign.ask()):
                break
            asked.to_csv(tmp_path / "s.csv")
            fill_outcomes(tmp_path / "s.csv", tmp_path / "s.csv")
            campaign.tell(tmp_path / "s.csv")
        if name == "screening":
            campaign.ask()
    out = PICTURES if os.environ.get("PROBEWISE_PICTURES") == "1" else Path(tempfile.mkdtemp())
    server = Serving(tmp_path / "lab")
    try:
        own = Watched(browser, server.url, viewport={"width": 1100, "height": 760})
        for name, path in {"page": "/c/coupling.campaign", "page-measure": "/c/screening.campaign/measure"}.items():
            own.go(path)
            own.page.wait_for_timeout(1500)
            if name == "page-measure":
                for at, value in enumerate(("61.2", "48", "5o")):
                    own.page.fill(f"tr[data-row] >> nth={at} >> input", value)
                own.page.wait_for_selector("text=expected a number")
            own.page.screenshot(path=str(out / f"{name}.png"))
            assert (out / f"{name}.png").stat().st_size > 10_000
        own.close()
    finally:
        server.stop()


PASSWORD = "correct horse battery"
AXE = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  const brief = (own) => own.nodes.slice(0, 4).map((node) => node.html.slice(0, 160));
  return found.violations.map((own) => [own.impact, own.id, own.help, brief(own)]);
}"""


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Campaigns in every state: decided, waiting, withdrawn, counted, and one that cannot be read."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "lab").mkdir()
    items, probes = copy_example(folder)
    problem = pw.Problem.from_tables(probes, items, sigma=3.0)
    about = {"seed": 2, "author": "anna", "outcome_name": "yield", "unit": "%"}
    for name, rounds in (("coupling", 9), ("screening", 1), ("first light", 0)):
        campaign = pw.Campaign.create(folder / "lab" / f"{name}.campaign", problem, **about)  # type: ignore[arg-type]
        for _ in range(rounds):
            if not (asked := campaign.ask()):
                break
            asked.to_csv(folder / "s.csv")
            fill_outcomes(folder / "s.csv", folder / "s.csv")
            campaign.tell(folder / "s.csv")
        if name == "screening":
            campaign.note("A new bottle of XPhos from here on.")
            campaign.correct("r1-3", 41.0, reason="read off the wrong line")
            campaign.void("r1-5", reason="spilled")
            campaign.ask(due="2031-01-31")
            campaign.tell({"r2-1": 55.5})
    clicks = pw.Problem(
        [[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1]], outcome=pw.Bounded(0, 1), probe_names=["a", "b", "c"]
    )
    pw.Campaign.create(folder / "lab" / "clicks.campaign", clicks, seed=0, aggregated=True).ask()
    (folder / "lab" / "broken.campaign").write_text("nothing")
    accounts = Accounts(folder / "lab" / STATE)
    accounts.add("anna", PASSWORD, creates=True)
    accounts.grant("anna", "*", "own")
    accounts.add("ben", PASSWORD)
    accounts.grant("ben", "coupling.campaign", "measure")
    return folder


def visited(own: Watched, folder: Path) -> Iterator[str]:
    """Open every page, one after the other, and name it."""
    page = own.page
    for name, path in {
        "campaigns": "/",
        "overview-decided": "/c/coupling.campaign",
        "overview-waiting": "/c/screening.campaign",
        "overview-empty": "/c/first%20light.campaign",
        "measure": "/c/screening.campaign/measure",
        "measure-plan": "/c/first%20light.campaign/measure",
        "measure-confirm": "/c/coupling.campaign/measure",
        "measure-counts": "/c/clicks.campaign/measure",
        "history": "/c/screening.campaign/history",
        "row": "/c/coupling.campaign/row/r2-1",
        "keep": "/c/coupling.campaign/keep",
        "verified": "/c/coupling.campaign/keep?digest=",
        "report": "/c/coupling.campaign/report",
        "failure": "/c/nothing.campaign",
        "new": "/new",
    }.items():
        own.go(path)
        yield name
    page.set_input_files("input[name=probes]", str(folder / "probes.csv"))
    page.set_input_files("input[name=items]", str(folder / "items.csv"))
    page.click("text=Go on")
    page.wait_for_selector("text=Check it")
    yield "new-settings"
    page.fill("input[name=name]", "another")
    page.fill("input[name=sigma]", "3")
    page.click("summary:has-text('More settings')")
    page.click("text=Check it")
    page.wait_for_selector("text=Create the campaign")
    yield "new-checks"
    own.go("/c/coupling.campaign/row/r2-1")
    page.fill("main input[name=outcome] >> nth=0", "-500")
    page.fill("main input[name=reason] >> nth=0", "read off the wrong scale")
    page.click("text=See what it would change >> nth=0")
    page.wait_for_selector(".tried")
    yield "row-preview"
    own.go("/c/screening.campaign/measure")
    for at, value in enumerate(("61.2", "48", "5o")):
        page.fill(f"tr[data-row] >> nth={at} >> input", value)
    page.wait_for_selector("text=expected a number")
    yield "measure-typed"


@pytest.mark.parametrize("login", [False, True], ids=["here", "login"])
@pytest.mark.parametrize("width", [1280, NARROW["width"]])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_by_axe(browser: Any, laboratory: Path, axe: str, scheme: str, width: int, login: bool) -> None:
    """No serious or critical fault; nothing is wider than the screen. Pictures go where PROBEWISE_SHOTS says."""
    serving = Serving(laboratory / "lab", *["--login"] * login)
    shots = os.environ.get("PROBEWISE_SHOTS")
    own = Watched(browser, serving.url, viewport={"width": width, "height": 800}, color_scheme=scheme)
    grave, seen = [], []

    def look(name: str) -> None:
        seen.append(urlsplit(own.page.url).path)
        own.page.wait_for_load_state("load")
        own.page.wait_for_selector("[data-again]", state="detached")  # it loads itself again until all is read
        own.page.wait_for_load_state("load")
        own.page.evaluate(axe)
        for impact, rule, text, nodes in own.page.evaluate(AXE):
            if impact in ("serious", "critical"):
                grave.append((name, rule, text, nodes))
        wide = own.page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            grave.append((name, f"{wide} wide"))
        if shots:
            place = Path(shots)
            place.mkdir(exist_ok=True)
            file = place / f"{name}-{scheme}-{width}{'-login' * login}.png"
            own.page.screenshot(path=str(file), full_page=True)

    try:
        if login:
            own.go("/c/coupling.campaign")
            look("login")
            own.page.fill("input[name=name]", "anna")
            own.page.fill("input[name=password]", "not this one")
            own.page.click("button:has-text('Log in')")
            own.page.wait_for_selector(".said.bad")
            look("login-wrong")
            own.page.fill("input[name=name]", "anna")
            own.page.fill("input[name=password]", PASSWORD)
            own.page.click("button:has-text('Log in')")
            own.page.wait_for_selector("h1:has-text('best item')")
            own.go("/c/coupling.campaign/people")
            look("people")
        for name in visited(own, laboratory):
            look(name)
        assert grave == []
        for way in WAYS:  # a new page must be looked at
            page = way.method == "GET" and way.gives == "text/html" and not way.api and (login or way.need != "own")
            if page and not re.search("static|sheet|copy|rows|now|^/login$", way.path):
                form = re.sub(r"{\w+}", "[^/]+", way.path)
                assert any(re.fullmatch(form, address) for address in seen), way.path
        own.wrong = [text for text in own.wrong if not re.search("401|404", text)]
        own.close()
    finally:
        serving.stop()


def test_without_javascript(browser: Any, serving: Serving, tmp_path: Path) -> None:
    """From two tables to a round on record, a correction that was looked at first, a remark, a check of the journal."""
    items, probes = copy_example(tmp_path)
    own = Watched(browser, serving.url, java_script_enabled=False)
    page = own.page
    own.go("/")
    page.click("text=New campaign")
    page.set_input_files("input[name=probes]", str(probes))
    page.set_input_files("input[name=items]", str(items))
    page.click("text=Go on")
    page.fill("input[name=name]", "plain")
    page.fill("input[name=sigma]", "3")
    page.click("button:has-text('Check it')")
    page.click("text=Create the campaign")
    page.click("text=Plan it")
    page.fill("input[name='outcome.r1-1']", "5o")
    page.click("text=Record the outcomes")
    assert "expected a number" in page.text_content("main")
    page.fill("input[name='outcome.r1-1']", "50")
    page.click("text=Record the outcomes")
    assert "1 recorded" in page.text_content(".said.good")
    page.fill("textarea[name=pasted] >> nth=0", "measurement\toutcome\nr1-2\t51\n")
    page.click("#file button")
    page.click("text=/Record 1 outcome/")
    assert "1 recorded" in page.text_content(".said.good")
    page.click("nav >> text=History")
    page.click("a:has-text('r1-1') >> nth=0")
    page.fill("main input[name=outcome] >> nth=0", "52")
    page.fill("main input[name=reason] >> nth=0", "slip")
    page.click("text=See what it would change >> nth=0")
    assert "r1-1 is 52.0 now" in page.text_content(".tried")
    page.click(".tried button")
    page.click("nav >> text=Overview")
    page.fill("input[name=text]", "a remark")
    page.click("text=Note it")
    page.click("nav >> text=Verify and back up")
    page.click("button:has-text('Verify')")
    assert "every digest fits" in page.text_content(".said.good")
    page.click("nav >> text=Report")
    assert page.query_selector("h1") is not None
    campaign = pw.Campaign.open(Path(serving.place) / "plain.campaign")
    kinds = [record.kind for record in campaign.records]
    assert kinds == ["created", "asked", "recorded", "recorded", "corrected", "note"]
    own.close()


def test_on_paper(browser: Any, laboratory: Path) -> None:
    """A sheet is printed with its rows and nothing else; the report has every record."""
    serving = Serving(laboratory / "lab")
    shots = os.environ.get("PROBEWISE_SHOTS")
    own = Watched(browser, serving.url)
    try:
        for name in ("measure", "report", "history"):
            own.go(f"/c/screening.campaign/{name}")
            own.page.emulate_media(media="print")
            assert name in ("report",) or "screening" in own.page.inner_text(".tabs")
            assert "r2-9" in own.page.inner_text("body") or name == "report"
            for hidden in ("header.top", ".tabs nav", ".tools", ".send", "#file", "main form:not(#grid)"):
                found = own.page.query_selector(hidden)
                assert found is None or not found.is_visible(), hidden
            paper = own.page.pdf(format="A4")
            assert paper.startswith(b"%PDF")
            if shots:
                (Path(shots) / f"{name}.pdf").write_bytes(paper)
            own.page.emulate_media(media="screen")
        own.close()
    finally:
        serving.stop()


def test_the_page_of_a_decided_campaign_is_small_and_soon_there(browser: Any, serving: Serving) -> None:
    campaign = small(serving)
    while rows := campaign.ask():
        campaign.tell(rows.filled([3.0 if probe == "a" else 0.0 for probe in rows["probe"]]))
    own = Watched(browser, serving.url)
    own.go("/c/small.campaign")
    sizes: list[int] = []
    own.page.on("response", lambda answer: sizes.append(len(answer.body())) if "/events" not in answer.url else None)
    own.page.reload()
    assert sum(sizes) < 100_000
    times = json.loads(own.page.evaluate("JSON.stringify(performance.getEntriesByType('navigation')[0])"))
    print(f"loaded in {times['loadEventEnd']:.0f} ms, {sum(sizes):,} bytes")
    assert times["loadEventEnd"] < 1000
    own.close()
