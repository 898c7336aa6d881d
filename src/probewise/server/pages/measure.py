"""To measure: the round as a grid to type, paste or upload into, checked cell by cell before anything is sent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import Response

from probewise.errors import InvalidRows
from probewise.markup import Content, Html, folded, paragraphs, sideways, tag, void
from probewise.numerals import plural
from probewise.server.pages.keep import saved_as
from probewise.server.pages.overview import events
from probewise.server.pages.shell import alert, button, card, field, form, link, page, title_of, told
from probewise.server.site import Call, Refused

GRID = 400
"""Rows that one page can hold; more are told by file."""
FILLED, BESIDE = ("outcome", "successes", "mean", "total"), ("n", "sd", "se", "exposure")
"""Columns that are filled in: one of the first, and what goes with it."""
_ID = re.compile(r"r[1-9][0-9]{0,8}-[1-9][0-9]{0,8}")


async def measure(call: Call) -> Response:
    """The page."""
    return await _measure(call)


async def _measure(
    call: Call,
    values: dict[str, dict[str, str]] | None = None,
    faults: dict[str, str] | None = None,
    said: Content = None,
    status: int = 200,
) -> Response:
    found = await call.site.live.look(call.name, "sheet", most=GRID)
    parts: list[Content] = [said]
    if found["round"] is None:
        parts = [tag("h1", "To measure"), said, paragraphs(found["sentence"], class_="lead"), _ask(call, found)]
    else:
        parts = [tag("h1", f"Round {found['round']}"), said, *_round(call, found, values or {}, faults or {})]
    if call.who.may("measure", call.name):
        parts.append(_own(call, found))
    return page(call, "To measure", *parts, tab="/measure", status=status, wide=True)


def _ask(call: Call, found: dict[str, Any]) -> Html | None:
    """A new round can be planned."""
    if not call.who.may("measure", call.name):
        return None
    due = field("Wanted by", void("input", type="date", name="due"), "It stands on the sheet; may be empty.")
    if found["declared"] is None:
        return card("The next round", form(call, link(call.name, "/ask"), due, button("Plan it")))
    if not found["confirms"]:
        return None
    count = void("input", type="number", name="confirm", min="2", max="10000", value="8", required="required")
    text = (
        "Measures the winner and its closest rival. What would contradict the answer is said before any of them is "
        "measured."
    )
    inner = form(call, link(call.name, "/ask"), field("Measurements", count), due, button("Plan them"))
    return card("Confirm the answer", paragraphs(text, class_="soft"), inner)


def _round(
    call: Call, found: dict[str, Any], values: dict[str, dict[str, str]], faults: dict[str, str]
) -> list[Content]:
    may, name = call.who.may("measure", call.name), link(call.name)
    tools = tag(
        "p",
        tag("a", "Spreadsheet", href=f"{name}/sheet.xlsx"),
        tag("a", "CSV", href=f"{name}/sheet.csv"),
        tag("button", "Print", type="button", data_print="print", class_="plain"),
        class_="tools",
    )
    due = f" Wanted by {found['due']}." if found["due"] else ""
    counted = (
        plural(found["left"], "row") if "n" in found["told"] else f"{found['left']:,} of {plural(found['size'], 'row')}"
    )
    left = f"{counted} left.{due}"
    intro = [
        paragraphs(left, class_="lead"),
        paragraphs("Measure in this order, which is random on purpose.", class_="soft"),
    ]
    shown = {row[found["columns"].index("measurement")] for row in found["rows"]}
    others = [alert(f"{own}: {text}", "bad") for own, text in faults.items() if own not in shown]
    rows = [_row(found, row, values, faults, may) for row in found["rows"]]
    names = [found["columns"][at] for at in _columns(found)]
    heads = [found["heading"] if own == _fill(found) else own for own in names]
    head = tag("tr", *(tag("th", own, scope="col") for own in heads))
    grid = sideways(tag("table", tag("thead", head), tag("tbody", *rows), class_="grid"), "wide")
    if not may:
        return [*intro, tools, grid]
    own = {
        "id": "grid", "method": "post", "action": f"{name}/measure",
        "data-faults": f"/api/v1/campaigns{name[2:]}/faults",
        "data-rows": f"/api/v1/campaigns{name[2:]}/rows", "data-events": events(call),
        "data-draft": f"probewise {call.name} {found['round']}", "autocomplete": "off",
    }  # fmt: skip
    csrf = void("input", type="hidden", name="csrf", value=call.who.csrf)
    send = tag(
        "p",
        button("Record the outcomes"),
        tag(
            "span", "Rows left empty stay open.", class_="soft small", id="progress", role="status", aria_live="polite"
        ),
        class_="send",
    )
    more = found["left"] > len(found["rows"])
    rest = (
        paragraphs(f"The first {len(found['rows']):,} rows are shown; a file can have all of them.") if more else None
    )
    return [*intro, tools, *others, tag("form", csrf, grid, rest, send, **own), _file(call, found)]


def _fill(found: dict[str, Any]) -> str:
    return str(found["fill"])


def _columns(found: dict[str, Any]) -> list[int]:
    """The columns that are shown: not the round, which is the same in all rows; what is filled in comes last."""
    names = found["columns"]
    filled = found["told"]
    first = [at for at, own in enumerate(names) if own not in ("round", *filled)]
    return first + [names.index(own) for own in filled]


def _row(
    found: dict[str, Any], row: list[Any], values: dict[str, dict[str, str]], faults: dict[str, str], may: bool
) -> Html:
    own = str(row[found["columns"].index("measurement")])
    filled = found["told"]
    wrong, cells = faults.get(own, ""), []
    for at in _columns(found):
        name, value = found["columns"][at], row[at]
        label = found["heading"] if name == _fill(found) else name
        if name in filled and may:
            given = values.get(own, {}).get(name, "" if value is None else str(value))
            control = void(
                "input", name=f"{name}.{own}", value=given, inputmode="decimal", aria_label=f"{label} of {own}",
                aria_invalid="true" if wrong else "", aria_describedby=f"w-{own}", autocomplete="off", data_cell=own,
            )  # fmt: skip
            note = tag("span", wrong, class_="wrong", id=f"w-{own}") if name == _fill(found) else None
            cells.append(tag("td", control, note, class_="fill", data_label=label))
        else:
            text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
            cells.append(tag("td", text, class_="w" if name == "probe" else "", data_label=label))
    return tag("tr", *cells, data_row=own)


def _file(call: Call, found: dict[str, Any]) -> Html:
    headings = "\t".join(("measurement", *found["told"]))
    pick = void("input", type="file", name="table", accept=".csv,.tsv,.txt,.xlsx,.ods,.parquet,.pq")
    text = tag("textarea", "", name="pasted", rows="5", spellcheck="false", placeholder=headings)
    inner = form(
        call,
        link(call.name, "/upload"),
        field("Table", pick, "The sheet with its outcomes filled in: CSV, spreadsheet or Parquet."),
        field("Or paste rows with their headings", text),
        button("Check it", class_="quiet"),
        upload=True,
    )
    return card("From a file", inner, id_="file")


def _own(call: Call, found: dict[str, Any]) -> Html | None:
    """Rows that nobody asked for."""
    if not found["confirms"]:
        return None
    pick = void("input", type="file", name="table", accept=".csv,.tsv,.txt,.xlsx,.ods,.parquet,.pq")
    text = tag("textarea", "", name="pasted", rows="4", spellcheck="false", placeholder="probe\toutcome")
    inner = form(
        call,
        link(call.name, "/upload"),
        paragraphs(
            "Measurements that the laboratory made by itself, with the columns probe and outcome. The confidence holds "
            "if they were chosen before any of their outcomes was seen, and all of them are given.",
            class_="soft",
        ),
        void("input", type="hidden", name="off_plan", value="yes"),
        field("Table", pick),
        field("Or paste rows with their headings", text),
        button("Check it", class_="quiet"),
        upload=True,
    )
    return tag("section", folded("Rows that were not asked for", inner), class_="card")


async def ask(call: Call) -> Response:
    """Plan a round, or give the rows of the one that waits."""
    due, count = str(call.form.get("due", "")).strip() or None, str(call.form.get("confirm", "")).strip()
    if count and not (count.isascii() and count.isdigit() and len(count) < 7):
        raise Refused(422, "the number of measurements must be a whole number of at least 2.")
    confirm = int(count) if count else None
    most = call.site.config.limits.round
    done = await call.write("ask", due=due, confirm=confirm, most=most)
    return told(call, done["sentence"], link(call.name, "/measure"))


async def record(call: Call) -> Response:
    """Record what was typed, or show what is wrong with it."""
    cells: dict[str, dict[str, str]] = {}
    for key, value in call.form.multi_items():
        name, _, own = key.partition(".")
        if name in (*FILLED, *BESIDE) and _ID.fullmatch(own) and isinstance(value, str):
            cells.setdefault(own, {})[name] = value.strip()
    filled = {own: row for own, row in cells.items() if any(row.get(name) for name in FILLED)}
    if not filled:
        return await _measure(
            call, cells, said=alert("Nothing was filled in, so nothing was recorded.", "bad"), status=422
        )
    place = await call.site.live.place(call.name)
    faults = await call.site.workers.do("read", "faults", place=place, cells=filled)
    if not faults:
        try:
            done = await call.write("tell", cells=filled)
            return told(call, done["sentence"], link(call.name, "/measure"))
        except InvalidRows as error:  # somebody else was faster
            faults = await call.site.workers.do("read", "faults", place=place, cells=filled)
            if not faults:
                return await _measure(call, cells, said=alert(str(error), "bad"), status=422)
    many = plural(len(faults), "row")
    said = alert(f"Nothing was recorded, as {many} must be looked at: {', '.join([*faults][:5])}.", "bad")
    return await _measure(call, cells, faults, said, 422)


async def upload(call: Call) -> Response:
    """Check a table of outcomes, and say what would be recorded."""
    off_plan = call.form.get("off_plan") == "yes"
    path = await saved(call, "table", call.site.folder(), str(call.form.get("pasted", "")))
    if path is None:
        raise Refused(422, "choose a table, or paste its rows.")
    try:
        found = await call.site.live.work(
            "slow", call.name, "tell", author=call.who.name, file=str(path), limits=call.site.limits,
            off_plan=off_plan, dry_run=True,
        )  # fmt: skip
    except InvalidRows as error:
        text = str(error)[:1].upper() + str(error)[1:]
        return await _measure(call, said=alert(text, "bad"), status=422)
    new = len(found["recorded"])
    if not new:
        return await _measure(call, said=alert(f"There is nothing new in it: {found['sentence']}"))
    fields = [
        void("input", type="hidden", name="token", value=path.parent.name),
        void("input", type="hidden", name="off_plan", value="yes" if off_plan else "no"),
        button(f"Record {plural(new, 'outcome')}"),
        tag("a", "Leave it", href=link(call.name, "/measure"), class_="button quiet"),
    ]
    send = form(call, link(call.name, "/uploaded"), *fields, class_="row")
    said = card(
        "The table is in order", paragraphs(found["sentence"].replace(" (dry run: nothing was written)", "")), send
    )
    return await _measure(call, said=said)


async def uploaded(call: Call) -> Response:
    """Record a table that was checked."""
    folder = call.site.kept(str(call.form.get("token", "")))
    path = next((own for own in folder.iterdir() if own.name.startswith("table")), None)
    if path is None:
        raise Refused(410, "this table is no longer here; choose it again.")
    done = await call.write(
        "tell", file=str(path), limits=call.site.limits, off_plan=call.form.get("off_plan") == "yes"
    )
    return told(call, done["sentence"], link(call.name, "/measure"))


async def saved(call: Call, name: str, folder: Path, pasted: str = "") -> Path | None:
    """A file of a form, or text that was pasted, in a folder of its own; None if there is neither."""
    given = call.form.get(name)
    if isinstance(given, UploadFile) and given.filename:
        ending = re.sub(r"[^\w.]", "", Path(given.filename.replace("\\", "/")).suffix.casefold())[:10]
        stem = re.sub(r"[^\w-]", "_", Path(given.filename.replace("\\", "/")).stem)[:40]
        path = folder / f"{name}-{stem}{ending}"
        path.write_bytes(await given.read())
        return path
    if pasted.strip():
        path = folder / f"{name}-pasted.csv"
        path.write_text(pasted, encoding="utf-8", newline="")
        return path
    return None


async def _sheet(call: Call, ending: str) -> Response:
    out = call.site.folder() / f"sheet{ending}"
    found = await call.site.live.work("slow", call.name, "sheet_file", out=str(out))
    return saved_as(f"{title_of(call.name)} round {found['round']}{ending}", out)


async def sheet_csv(call: Call) -> Response:
    """The rows to measure as CSV."""
    return await _sheet(call, ".csv")


async def sheet_xlsx(call: Call) -> Response:
    """The rows to measure as a spreadsheet."""
    return await _sheet(call, ".xlsx")
