"""Every page by its address."""

from __future__ import annotations

from probewise.server.pages import campaigns, doors, history, keep, measure, new, overview, shell
from probewise.server.site import Way

ONE = "/c/{name}"


def _get(path: str, need: str | None, handler: object) -> Way:
    return Way("GET", path, need, handler, gives="text/html")  # type: ignore[arg-type]


def _post(path: str, need: str | None, handler: object) -> Way:
    return Way("POST", path, need, handler, gives="text/html")  # type: ignore[arg-type]


PAGES: tuple[Way, ...] = (
    _get("/", "login", campaigns.campaigns),
    _get("/static/{file}", None, shell.static),
    _get("/login", None, doors.login_page),
    _post("/login", None, doors.login),
    _post("/logout", "login", doors.logout),
    _get("/new", "create", new.new),
    _post("/new", "create", new.upload),
    _get("/new/{token}", "create", new.settings),
    _post("/new/{token}", "create", new.decide),
    _get(ONE, "see", overview.overview),
    _get(f"{ONE}/now", "see", overview.now),
    _post(f"{ONE}/note", "measure", history.note),
    _post(f"{ONE}/restock", "amend", history.restock),
    _get(f"{ONE}/measure", "see", measure.measure),
    _post(f"{ONE}/measure", "measure", measure.record),
    _post(f"{ONE}/ask", "measure", measure.ask),
    _post(f"{ONE}/upload", "measure", measure.upload),
    _post(f"{ONE}/uploaded", "measure", measure.uploaded),
    _get(f"{ONE}/sheet.csv", "see", measure.sheet_csv),
    _get(f"{ONE}/sheet.xlsx", "see", measure.sheet_xlsx),
    _get(f"{ONE}/history", "see", history.history),
    _get(f"{ONE}/row/{{row}}", "see", history.row),
    _post(f"{ONE}/row/{{row}}", "amend", history.change),
    _post(f"{ONE}/close", "amend", history.close),
    _get(f"{ONE}/report", "see", keep.report),
    _get(f"{ONE}/keep", "see", keep.keep),
    _get(f"{ONE}/copy.jsonl", "see", keep.copy_lines),
    _get(f"{ONE}/copy.campaign", "see", keep.copy_file),
    _get(f"{ONE}/rows.csv", "see", keep.copy_rows),
    _get(f"{ONE}/people", "own", doors.people),
    _post(f"{ONE}/people", "own", doors.grant),
)
"""Every page, in the order in which people meet them."""
