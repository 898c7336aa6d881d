"""The report, the check of the journal, and copies to keep."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from probewise.errors import ProbewiseError
from probewise.markup import Content, joined, paragraphs, tag
from probewise.server.api import REPORT_POLICY, report_of
from probewise.server.pages.shell import alert, card, link, page, text_field, title_of
from probewise.server.site import Call, discard


async def report(call: Call) -> Response:
    """The report, one file that needs nothing else."""
    headers = {"content-security-policy": REPORT_POLICY}
    if "download" in call.request.query_params:
        headers["content-disposition"] = attached(f"{title_of(call.name)}.html")
    return Response(await report_of(call), 200, headers, "text/html")


def attached(name: str) -> str:
    """A header that makes a browser save a file under a name."""
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"


async def keep(call: Call) -> Response:
    """Check the journal, and take a copy of it."""
    digest = call.request.query_params.get("digest")
    found: Content = None
    if digest is not None:
        try:
            told = await call.site.live.work("slow", call.name, "check", digest=digest.strip() or None)
            said = alert(told["sentence"], "good" if told["sound"] else "bad")
            mark = paragraphs(tag("span", "Digest of the last record: "), tag("code", told["digest"]))
            found = joined([said, mark])
        except ProbewiseError as error:
            found = alert(str(error)[:1].upper() + str(error)[1:], "bad")
    ask = tag(
        "form",
        text_field("Digest that was kept", "digest", digest or "", "From a report or an earlier check; may be empty.",
                   maxlength="100", autocomplete="off", spellcheck="false"),
        tag("button", "Verify"),
        method="get",
        action=link(call.name, "/keep"),
    )  # fmt: skip
    intro = (
        "Reads the whole journal, checks every digest, tells the algorithm all rounds again, and looks for the digest."
    )
    copies = [
        ("copy.campaign", "Back-up", "the campaign as one file, checked; probewise opens it"),
        ("copy.jsonl", "Journal", "every record as text, which opens as a campaign too"),
        ("rows.csv", "Rows", "every row with its outcome and state, for a spreadsheet"),
        ("report?download=1", "Report", "one page of HTML, for those who did not take part"),
    ]
    links = [
        tag("li", tag("a", title, href=link(call.name, f"/{file}")), tag("span", f" {about}", class_="soft"))
        for file, title, about in copies
    ]
    return page(
        call,
        "Verify and back up",
        tag("h1", "Verify and back up"),
        card("Verify", paragraphs(intro, class_="soft"), found, ask),
        card("Copies", tag("ul", *links, class_="plain")),
        tab="/keep",
    )


async def _copy(call: Call, ending: str) -> Response:
    out = call.site.folder() / f"copy{ending}"
    await call.site.live.work("slow", call.name, "copy", out=str(out))
    return saved_as(title_of(call.name) + ending, out)


def saved_as(name: str, file: Path) -> Response:
    """A file that a browser saves, and that is removed here once it is sent."""
    kind = "text/csv" if name.endswith(".csv") else "application/octet-stream"
    gone = BackgroundTask(discard, file.parent)
    return FileResponse(file, headers={"content-disposition": attached(name)}, media_type=kind, background=gone)


async def copy_lines(call: Call) -> Response:
    """The journal as text."""
    return await _copy(call, ".jsonl")


async def copy_file(call: Call) -> Response:
    """The campaign as one file."""
    return await _copy(call, ".campaign")


async def copy_rows(call: Call) -> Response:
    """Every row."""
    return await _copy(call, ".csv")
