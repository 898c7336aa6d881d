"""The site: all that a request may need, and how one is let in, done and answered."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote_to_bytes

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from probewise.errors import InvalidServer, ProbewiseError, StorageConflict, StorageUnavailable
from probewise.server.accounts import Accounts
from probewise.server.config import Config
from probewise.server.guard import LOG, Counts, Oversized, Tardy
from probewise.server.live import Live, Missing
from probewise.server.people import Gate, Who, cookie_name, somebody
from probewise.server.shapes import Shape, fault
from probewise.server.workers import Busy, Fault, Workers

SCRATCH, FOLDERS = 3600.0, 100
"""Seconds for which an uploaded table is kept, and how many are."""


class Refused(Exception):
    """A request that is not done, with its status and a sentence."""

    def __init__(self, status: int, sentence: str, kind: str = "Refused") -> None:
        Exception.__init__(self, sentence)
        self.status, self.kind = status, kind


@dataclass
class Site:
    """One server."""

    config: Config
    accounts: Accounts
    workers: Workers
    live: Live
    scratch: Path
    """Folder for what is uploaded and downloaded."""
    failure: Callable[[Site, Request, Who | None, int, str, dict[str, str]], Response]
    """The page that says what went wrong."""
    counts: Counts = field(default_factory=Counts)
    gates: dict[str, Gate] = field(default_factory=dict)
    """How often something may be tried."""
    began: float = field(default_factory=time.monotonic)
    sentences: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """What was done, for the page that comes after it."""

    def keep(self, sentence: str) -> str:
        """A mark under which the next page finds a sentence."""
        own = secrets.token_hex(8)
        self.sentences[own] = sentence
        while len(self.sentences) > 500:
            self.sentences.popitem(last=False)
        return own

    def said(self, own: str) -> str | None:
        """What was kept, once."""
        return self.sentences.pop(own, None)

    @property
    def limits(self) -> dict[str, int]:
        """What a table may have."""
        own = self.config.limits
        return {"unpacked": own.unpacked, "rows": own.rows, "columns": own.columns, "cells": own.cells}

    def folder(self) -> Path:
        """A new folder for files of one request; old ones go."""
        with os.scandir(self.scratch) as entries:
            ages = sorted(((_age(other), other.path) for other in entries), reverse=True)
        for at, (age, path) in enumerate(ages):
            if age > SCRATCH or len(ages) - at >= FOLDERS:
                discard(Path(path))
        own = self.scratch / secrets.token_hex(16)
        own.mkdir(mode=0o700)
        return own

    def kept(self, token: str) -> Path:
        """The folder of an earlier request."""
        own = self.scratch / token
        if re.fullmatch("[0-9a-f]{32}", token) is None or not own.is_dir():
            raise Refused(410, "these tables are no longer here, as they are kept for an hour; choose them again.")
        return own


def _age(entry: os.DirEntry[str]) -> float:
    """Seconds since a folder was made; of one that has just gone, none."""
    try:
        return time.time() - entry.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def discard(folder: Path) -> None:
    """Remove files that nobody needs any more."""
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Call:
    """A request that was let in."""

    site: Site
    request: Request
    who: Who
    name: str = ""
    """The campaign."""
    body: dict[str, Any] = field(default_factory=dict)
    """JSON of the request, and parameters of its address."""
    form: FormData = field(default_factory=FormData)
    """Fields of a form."""
    request_key: tuple[str, str] | None = None
    """A key under which a change counts once, and the digest of what is asked for."""

    async def write(self, task: str, **arguments: Any) -> dict[str, Any]:
        """Change the campaign, in the name of whoever sends the request."""
        own = {"author": self.who.name, "request": self.request_key}
        return await self.site.live.work("write", self.name, task, **own, **arguments)


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True)
class Way:
    """One way into the server: an address, who may take it, and what is done there."""

    method: Literal["GET", "POST"]
    path: str
    need: str | None
    """A role for the campaign; "create"; "login" for anybody who is known; None for everybody."""
    handler: Handler
    summary: str = ""
    body: Shape | None = None
    """The shape of the JSON that is sent."""
    query: dict[str, Shape] = field(default_factory=dict)
    """The shapes of parameters of the address."""
    gives: str = "application/json"
    """The type of what is answered."""

    @property
    def api(self) -> bool:
        """Whether it is for machines."""
        return self.path.startswith("/api/")


def entrance(way: Way, site: Site) -> Callable[[Request], Awaitable[Response]]:
    """What Starlette calls: lets somebody in, does the work, and turns errors into sentences."""

    async def endpoint(request: Request) -> Response:
        request.scope.setdefault("state", {})["way"] = way.path
        who = None
        try:
            who = somebody(request, site.config, site.accounts)
            request.scope["state"]["who"] = None if who is None else who.name
            answer = await _answered(way, site, request, who)
        except Exception as error:
            answer = _failed(way, site, request, who, error)
        if who is not None and who.fresh is not None and way.need is not None and not way.api:
            set_cookie(answer, site.config, who.fresh)
        return answer

    return endpoint


async def _answered(way: Way, site: Site, request: Request, who: Who | None) -> Response:
    name = request.path_params.get("name", "")
    if way.need is None:
        who = who or Who("", "session", "")
    elif who is None:
        if way.method == "GET" and not way.api and "authorization" not in request.headers:
            return RedirectResponse(f"/login?next={_quoted(request)}", 303)
        raise Refused(401, "log in first, or send a token that is valid.")
    else:
        _check_right(way, who, name)
    body: dict[str, Any] = _parameters(way, request)
    form = FormData()
    if way.method == "POST" and way.api:
        _check_sent(request, who)
        body |= await _json(way, request)
    elif way.method == "POST":
        form = await _form(site, request, who)
    call = Call(site, request, who, name, body, form, _form_key(form))
    key = request.headers.get("idempotency-key")
    if way.method == "POST" and way.api and key is not None:
        return await _once(way, call, key)
    return await way.handler(call)


def _form_key(form: FormData) -> tuple[str, str] | None:
    """A form has a mark of its own: sent twice with the same fields, it counts once."""
    if "once" not in form:
        return None
    fields = [(name, value) for name, value in form.multi_items() if name != "csrf" and isinstance(value, str)]
    digest = hashlib.sha256(json.dumps(fields).encode()).hexdigest()
    return f"form-{digest[:32]}", digest


def _quoted(request: Request) -> str:
    return quote(request.url.path + (f"?{request.url.query}" if request.url.query else ""), safe="")


def _check_right(way: Way, who: Who, name: str) -> None:
    if way.need == "login":
        return
    if way.need == "create":
        if not who.creates:
            raise Refused(403, f"'{who.name}' may not create campaigns; ask whoever runs the server.")
        return
    if who.role(name) is None:
        raise Missing(name)  # what somebody may not see is not there
    if not who.may(str(way.need), name):
        raise Refused(403, f"'{who.name}' may {who.role(name)} here, and this needs the role '{way.need}'.")


def _check_sent(request: Request, who: Who) -> None:
    """JSON cannot be sent by the form of another site; a session must prove that its own page sends it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if kind != "application/json":
        raise Refused(415, "send application/json.")
    if who.how == "session" and not _same(request.headers.get("x-csrf-token", ""), who.csrf):
        raise Refused(403, "the page is too old, or this request is not from it; load it again.")


def _same(given: str, own: str) -> bool:
    return bool(own) and secrets.compare_digest(given.encode(), own.encode())


def _parameters(way: Way, request: Request) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if way.api and (unknown := [own for own in request.query_params if own not in way.query]):
        raise Refused(422, f"there is no parameter '{unknown[0]:.40}'; there may be {', '.join(way.query) or 'none'}.")
    for own, shape in way.query.items():
        if own in request.query_params:
            value: Any = request.query_params[own]
            if shape["type"] == "integer":
                if re.fullmatch("[0-9]{1,15}", value) is None:
                    raise Refused(422, f"'{own}' must be a whole number, got '{value:.40}'.")
                value = int(value)
            if (wrong := fault(value, shape, f"'{own}'")) is not None:
                raise Refused(422, f"{wrong}.")
            out[own] = value
    return out


async def _json(way: Way, request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body() or b"{}", parse_constant=_constant)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON.") from None
    if way.body is not None and (wrong := fault(body, way.body)) is not None:
        raise Refused(422, f"{wrong}.")
    found: dict[str, Any] = body
    return found


def _constant(name: str) -> float:
    raise ValueError(name)


async def _form(site: Site, request: Request, who: Who) -> FormData:
    try:
        if not request.headers.get("content-type", "").startswith("multipart/"):
            unquote_to_bytes(await request.body()).decode()  # or it would be read with other letters
        form = await request.form(
            max_files=3, max_fields=site.config.limits.fields, max_part_size=site.config.limits.form
        )
    except (MultiPartException, HTTPException) as error:
        said = getattr(error, "message", None) or getattr(error, "detail", "it is damaged")
        raise Refused(400, f"the form cannot be read: {said}") from None
    except (ValueError, KeyError, UnicodeDecodeError):
        raise Refused(400, "the form cannot be read; it must be text in UTF-8.") from None
    if who.csrf and not _same(str(form.get("csrf", "")), who.csrf):
        raise Refused(
            403, "the page is too old, or this form is not from it; go back, load it again, and send it once more."
        )
    return form


async def _once(way: Way, call: Call, key: str) -> Response:
    """The answer that was given to the same request before, or the answer to it, which is kept."""
    if not re.fullmatch(r"[\x21-\x7e]{1,200}", key):
        raise Refused(400, "an Idempotency-Key has 1 to 200 letters, digits or signs.")
    accounts, where = call.site.accounts, f"{way.path} {call.name}"
    request = hashlib.sha256(json.dumps([way.path, call.body], sort_keys=True).encode()).hexdigest()
    known = accounts.answered(call.who.name, where, key)
    if known is not None:
        if known[0] != request:
            raise Refused(422, "this Idempotency-Key was used for another request; choose a new one.")
        return Response(known[2], known[1], {"idempotent-replay": "true"}, "application/json")
    answer = await way.handler(replace(call, request_key=(key, request)))
    if answer.status_code < 300:
        accounts.answer(call.who.name, where, key, request, answer.status_code, bytes(answer.body).decode())
    return answer


def _failed(way: Way, site: Site, request: Request, who: Who | None, error: Exception) -> Response:
    """An error as an answer: one sentence, and nothing of how the server is made."""
    status, kind = _kind(error)
    sentence = str(error)
    if status == 404:
        sentence = "there is no such campaign here, or it is not yours to see."
    elif status == 500:
        LOG.exception("a request failed", exc_info=error)
        sentence = "something went wrong here, and it was noted; what was recorded is kept."
    whole = sentence.encode(errors="backslashreplace").decode()  # it may quote half of a character
    sentence = whole[:1].upper() + whole[1:]
    headers = {"retry-after": "5"} if status in (429, 503) else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if way.api:
        return JSONResponse({"error": sentence, "kind": kind}, status, headers)
    return site.failure(site, request, who, status, sentence, headers)


def _kind(error: Exception) -> tuple[int, str]:
    if isinstance(error, Refused):
        return error.status, error.kind
    if isinstance(error, Missing):
        return 404, "Missing"
    if isinstance(error, Oversized):
        return 413, "Refused"
    if isinstance(error, Tardy | ClientDisconnect):
        return 408, "Refused"
    if isinstance(error, Busy):
        return 503, "StorageUnavailable"
    if isinstance(error, StorageUnavailable):
        return 503, "StorageUnavailable"
    if isinstance(error, StorageConflict):
        return 409, "StorageConflict"
    if isinstance(error, ProbewiseError) and not isinstance(error, InvalidServer):
        return 422, type(error).__name__
    if isinstance(error, Fault):
        return 500, "Fault"
    return 500, "Fault"


def set_cookie(answer: Response, config: Config, raw: str) -> None:
    """The cookie of a session, which no script can read and no other site sends along with a form."""
    answer.set_cookie(cookie_name(config), raw, httponly=True, samesite="lax", secure=config.secure, path="/")
