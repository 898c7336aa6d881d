"""The pages in Chromium, by clicks, paste and upload only; `make page` runs this file."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _serving import Serving

import probewise as pw
from probewise.data import copy_example
from probewise.data.example import true_yields

pytest.importorskip("starlette", reason="starlette is not installed")
if os.environ.get("PROBEWISE_BROWSER") != "1":
    pytest.skip("the browser is started by `make page` only", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no chromium on this machine (Debian: apt install chromium)", allow_module_level=True)

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
    from probewise.data import fill_outcomes

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
    own.close()
