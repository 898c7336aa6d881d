"""The interface for machines: JSON under /api/v1."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from probewise.errors import InvalidProblem, InvalidRows
from probewise.server.live import WATCHERS
from probewise.server.openapi import document
from probewise.server.shapes import Shape
from probewise.server.site import Call, Refused, Way, discard
from probewise.server.workers import Busy

ROOT = "/api/v1"
ONE = f"{ROOT}/campaigns/{{name}}"

_REASON: Shape = {
    "type": "string",
    "minLength": 1,
    "maxLength": 2000,
    "description": "why, in words; kept in the journal",
}
_ID: Shape = {
    "type": "string",
    "pattern": "^[rR]?[0-9]{1,9}-[0-9]{1,9}$",
    "description": "the id of a row, such as r1-4",
}
_NUMBER: Shape = {"type": ["number", "null"]}
_COUNT: Shape = {"type": ["integer", "null"], "minimum": 1, "maximum": 1_000_000}
_TABLE: Shape = {
    "type": ["string", "array", "null"],
    "maxLength": 20_000_000,
    "maxItems": 200_000,
    "items": {"type": "object", "maxProperties": 1000, "additionalProperties": {"type": ["string", "number", "null"]}},
    "description": "a table: CSV as text, or rows as objects",
}


def _body(required: list[str], **properties: Shape) -> Shape:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


SETTINGS: dict[str, Shape] = {
    "probes": {**_TABLE, "type": ["string", "array"], "description": "what can be measured: CSV as text, or rows"},
    "items": {**_TABLE, "description": "what may be recommended; without it, the probes"},
    "roles": {
        "type": "object",
        "maxProperties": 1000,
        "additionalProperties": {"enum": ["name", "factor", "shown", "cost", "noise", "stock"]},
        "description": "roles of columns that are not to be found out",
    },
    "model": {"type": "string", "maxLength": 10_000, "description": "main, interactions, quadratic, none or a formula"},
    "goal": {"type": "string", "maxLength": 200, "description": "best, top:3, above:75 or better-than:NAME"},
    "minimise": {"type": "boolean"},
    "promise": {"type": ["string", "null"], "enum": ["all", "share", None], "description": "what delta bounds"},
    "delta": {"type": "number", "description": "allowed probability of a wrong answer"},
    "epsilon": {"type": "number", "minimum": 0, "description": "differences up to this do not matter"},
    "outcome": {"type": "string", "enum": ["gaussian", "bounded", "poisson"], "description": "the law of outcomes"},
    "bounds": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    "sigma": {"type": ["number", "string", "null"], "maxLength": 7, "description": "noise, a number or unknown"},
    "normal": {"type": "boolean", "description": "whether noise is normal"},
    "misfit": {"type": "number", "minimum": 0, "description": "how far mean outcomes may be off the model"},
    "max_batch": _COUNT,
    "min_batch": _COUNT,
    "max_replicates": _COUNT,
    "rounds": _COUNT,
    "budget": _COUNT,
    "matters": {"type": ["number", "null"], "description": "a difference that matters, for Sage"},
    "gaps": {"type": "array", "items": {"type": "number"}, "maxItems": 20, "description": "differences to forecast"},
    "amendments": {"type": "number", "minimum": 0, "maximum": 1},
    "algorithm": {"type": "string", "maxLength": 60},
    "seed": {"type": ["integer", "null"], "minimum": 0, "maximum": 2**53},
    "range": {"type": ["array", "null"], "items": _NUMBER, "minItems": 2, "maxItems": 2},
    "outcome_name": {"type": "string", "maxLength": 40},
    "unit": {"type": "string", "maxLength": 40},
    "aggregated": {"enum": [False, True, "means"]},
    "weighted": {"type": "boolean"},
}
"""What a campaign is created with."""


async def _settings(call: Call, folder: Path) -> dict[str, Any]:
    """The settings with the tables in files, as they would be uploaded."""
    found = {key: value for key, value in call.body.items() if key != "name"}
    if isinstance(found.get("sigma"), str) and found["sigma"] != "unknown":
        raise InvalidProblem(f"sigma must be a number or the word unknown, got '{found['sigma']}'.")
    for kind in ("probes", "items"):
        table = found.get(kind)
        if table is None:
            continue
        path = folder / f"{kind}.csv"
        if isinstance(table, str):
            path.write_text(table, encoding="utf-8", newline="")
        elif table:
            await call.site.workers.do("slow", "rows_file", rows=table, out=str(path))
        else:
            raise InvalidProblem(f"{kind} need at least one row.")
        found[kind] = str(path)
    return found


async def campaigns(call: Call) -> Response:
    """Every campaign that may be seen."""
    names = [name for name in await call.site.live.shelf.signs() if call.who.may("see", name)]
    return JSONResponse({"campaigns": [{"name": name, "role": call.who.role(name)} for name in names]})


async def check(call: Call) -> Response:
    """What tables and settings lead to."""
    folder = call.site.folder()
    try:
        settings = await _settings(call, folder)
        return JSONResponse(await call.site.workers.do("slow", "examine", settings=settings, limits=call.site.limits))
    finally:
        discard(folder)


async def create(call: Call) -> Response:
    """Begin a campaign."""
    name = call.site.live.shelf.new(str(call.body["name"]))
    folder = call.site.folder()
    try:
        found = await begin(call, name, await _settings(call, folder))
    finally:
        discard(folder)
    return JSONResponse({"name": name, **found}, 201, {"location": f"{ROOT}/campaigns/{name}"})


async def begin(call: Call, name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Create a campaign, which is its creator's own."""
    site = call.site
    if await site.live.shelf.sign(name) is not None:
        raise Refused(409, f"there is a campaign '{name}' already; choose another name.", "InvalidCampaign")
    place = site.live.shelf.place(name)
    found: dict[str, Any] = await site.workers.do(
        "write", "create", place=place, author=call.who.name, settings=settings, limits=site.limits
    )
    if site.config.accounts:
        site.accounts.grant(call.who.name, name, "own")
    await site.live.changed(name)
    return found


async def status(call: Call) -> Response:
    """Where it stands."""
    return JSONResponse(await call.site.live.look(call.name, "status"))


async def rows(call: Call) -> Response:
    """The rows that wait for an outcome."""
    return JSONResponse(await call.site.live.look(call.name, "sheet"))


async def records(call: Call) -> Response:
    """The records after one, as they are stored."""
    after, most = call.body.get("after", 0), call.body.get("most", 1000)
    return JSONResponse(await call.site.live.work("read", call.name, "records", after=after, most=most))


async def _write(call: Call, task: str, **arguments: Any) -> Response:
    found = await call.write(task, **arguments)
    headers = {"idempotent-replay": "true"} if found.pop("replayed", False) else {}
    return JSONResponse(found, headers=headers)


async def ask(call: Call) -> Response:
    """The rows to measure, of a new round if none is waiting."""
    most = min(call.body.get("max_round") or 10**9, call.site.config.limits.round)
    return await _write(call, "ask", due=call.body.get("due"), confirm=call.body.get("confirm"), most=most)


async def tell(call: Call) -> Response:
    """Record outcomes: all rows or none."""
    return await _write(call, "tell", **call.body)


async def correct(call: Call) -> Response:
    """Give a row another outcome."""
    return await _write(call, "correct", **call.body)


async def void(call: Call) -> Response:
    """Take rows out."""
    return await _write(call, "void", **call.body)


async def close(call: Call) -> Response:
    """Wait no longer for missing rows."""
    return await _write(call, "close", **call.body)


async def restock(call: Call) -> Response:
    """Say how often a probe can be measured in all."""
    return await _write(call, "restock", **call.body)


async def note(call: Call) -> Response:
    """Put a remark into the journal."""
    return await _write(call, "note", **call.body)


async def preview(call: Call) -> Response:
    """What a correction or voiding would do."""
    body = dict(call.body)
    change, reason = body.pop("change"), body.pop("reason", "tried")
    wanted = {"correct": {"measurement", "outcome"}, "void": {"measurements"}}[change]
    if {*body} != wanted:
        raise InvalidRows(f"to try '{change}', give {' and '.join(sorted(wanted))}.")
    arguments = body | {"reason": reason}
    found = await call.site.live.work(
        "slow", call.name, "preview", author=call.who.name, change=change, arguments=arguments
    )
    return JSONResponse(found)


async def faults(call: Call) -> Response:
    """What is wrong with cells that somebody types; nothing is recorded."""
    place = await call.site.live.place(call.name)
    return JSONResponse(await call.site.workers.do("read", "faults", place=place, cells=call.body["cells"]))


async def verify(call: Call) -> Response:
    """Check the whole journal, and look for a digest that was kept."""
    return JSONResponse(await call.site.live.work("slow", call.name, "check", digest=call.body.get("digest")))


async def report(call: Call) -> Response:
    """The report, one file of HTML."""
    return Response(await report_of(call), 200, {"content-security-policy": REPORT_POLICY}, "text/html")


REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""A report has its style inside, no script, and loads nothing."""


async def report_of(call: Call) -> bytes:
    """The report of a campaign as it is now."""
    folder = call.site.folder()
    try:
        await call.site.live.work("slow", call.name, "report", out=str(folder / "report.html"))
        return (folder / "report.html").read_bytes()
    finally:
        discard(folder)


async def events(call: Call) -> Response:
    """What happens to a campaign, as it happens (server-sent events)."""
    live = call.site.live
    await live.place(call.name)
    if live.watching >= WATCHERS:
        raise Busy("too many browsers are watching; load the page again later.")

    async def stream() -> AsyncIterator[str]:
        yield "retry: 3000\n\n"
        async for event in live.watch(call.name):
            yield ": beat\n\n" if event == "beat" else f"event: {event}\ndata: {event}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def openapi(call: Call) -> Response:
    """This interface, described."""
    return JSONResponse(document(WAYS, call.site.config.shown))


_ROWS: Shape = {
    "type": ["array", "object"],
    "maxItems": 100_000,
    "maxProperties": 100_000,
    "items": {"type": "object", "maxProperties": 200},
    "description": "rows with measurement and outcome, or an object from ids to outcomes",
}
_CELLS: Shape = {
    "type": "object",
    "maxProperties": 1000,
    "additionalProperties": {
        "type": "object", "maxProperties": 3, "additionalProperties": {"type": "string", "maxLength": 200},
    },
    "description": "ids of rows, each with what was typed in the columns that are filled in",
}  # fmt: skip
_FLAG: Shape = {"type": "boolean"}

WAYS: tuple[Way, ...] = (
    Way("GET", f"{ROOT}/openapi.json", None, openapi, "This interface, described"),
    Way("GET", f"{ROOT}/campaigns", "login", campaigns, "Every campaign that you may see"),
    Way("POST", f"{ROOT}/campaigns", "create", create, "Create a campaign",
        _body(["name", "probes"], name={"type": "string", "minLength": 1, "maxLength": 120}, **SETTINGS)),
    Way("POST", f"{ROOT}/checks", "create", check, "Check tables and settings, and forecast; nothing is created",
        _body(["probes"], name={"type": "string", "maxLength": 120}, **SETTINGS)),
    Way("GET", ONE, "see", status, "Where a campaign stands"),
    Way("GET", f"{ONE}/rows", "see", rows, "The rows that wait for an outcome"),
    Way("GET", f"{ONE}/records", "see", records, "Records as they are stored, from one on",
        query={"after": {"type": "integer", "minimum": 0, "maximum": 10**15},
               "most": {"type": "integer", "minimum": 1, "maximum": 10_000}}),
    Way("GET", f"{ONE}/events", "see", events, "What happens, as it happens", gives="text/event-stream"),
    Way("GET", f"{ONE}/report", "see", report, "The report", gives="text/html"),
    Way("GET", f"{ONE}/verify", "see", verify, "Check the whole journal",
        query={"digest": {"type": "string", "maxLength": 100}}),
    Way("POST", f"{ONE}/ask", "measure", ask, "The rows to measure, of a new round if none is waiting",
        _body([], due={"type": ["string", "null"], "maxLength": 10}, confirm=_COUNT, max_round=_COUNT)),
    Way("POST", f"{ONE}/tell", "measure", tell, "Record outcomes, all rows or none",
        _body(["rows"], rows=_ROWS, off_plan=_FLAG, again=_FLAG, dry_run=_FLAG)),
    Way("POST", f"{ONE}/faults", "measure", faults, "What is wrong with cells that are being typed",
        _body(["cells"], cells=_CELLS)),
    Way("POST", f"{ONE}/note", "measure", note, "Put a remark into the journal",
        _body(["text"], text={"type": "string", "minLength": 1, "maxLength": 10_000})),
    Way("POST", f"{ONE}/preview", "see", preview, "What a correction or voiding would change",
        _body(["change"], change={"type": "string", "enum": ["correct", "void"]}, measurement=_ID,
              outcome={"type": ["number", "string"], "maxLength": 100}, spread={"type": "number"}, reason=_REASON,
              measurements={"type": "array", "items": _ID, "minItems": 1, "maxItems": 10_000})),
    Way("POST", f"{ONE}/correct", "amend", correct, "Give a row another outcome",
        _body(["measurement", "outcome", "reason"], measurement=_ID,
              outcome={"type": ["number", "string"], "maxLength": 100}, spread={"type": "number"}, reason=_REASON)),
    Way("POST", f"{ONE}/void", "amend", void, "Take rows out",
        _body(["measurements", "reason"], reason=_REASON,
              measurements={"type": "array", "items": _ID, "minItems": 1, "maxItems": 10_000})),
    Way("POST", f"{ONE}/close", "amend", close, "Wait no longer for the missing rows of a round",
        _body(["reason"], reason=_REASON)),
    Way("POST", f"{ONE}/restock", "amend", restock, "Say how often a probe can be measured in all",
        _body(["probe", "stock", "reason"], probe={"type": "string", "maxLength": 1000}, reason=_REASON,
              stock={"type": ["integer", "null"], "minimum": 0, "maximum": 2**53})),
)  # fmt: skip
"""Every way of the interface, in the order of its description."""
