"""The guard: what every request must pass before anything is done for it, and what every answer carries."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from probewise.server.config import Config

LOG = logging.getLogger("probewise.server")

SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load: nothing from elsewhere, and no script or style inside the page."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
BOUNDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)
"""Seconds by which answers are counted."""


class Oversized(Exception):
    """More bytes came than a request may have."""


class Tardy(Exception):
    """A request took too long to arrive."""


@dataclass
class Counts:
    """What was asked for and how soon it was answered."""

    answers: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """Method, way and status -> how many."""
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0] * (len(BOUNDS) + 2)))
    """Way -> answers up to each of BOUNDS, all, and the sum of seconds."""

    def add(self, method: str, way: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.answers[method, way, status] += 1
        row = self.times[way]
        for at, bound in enumerate(BOUNDS):
            row[at] += seconds <= bound
        row[-2] += 1
        row[-1] += seconds


class Guard:
    """An application around another one."""

    def __init__(self, inner: ASGIApp, config: Config, counts: Counts) -> None:
        self._inner, self._config, self._counts = inner, config, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, pass on, complete the answer and write a line of the log."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        began, answer = time.monotonic(), {"status": 500, "bytes": 0}

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer["status"] = message["status"]
                self._complete(message)
            elif message["type"] == "http.response.body":
                answer["bytes"] += len(message.get("body", b""))
            await send(message)

        headers = Headers(scope=scope)
        why = self._refusal(scope, headers)
        if why is None:
            await self._inner(scope, self._limited(scope, headers, receive), complete)
        else:
            await _refuse(scope, complete, *why)
        self._note(scope, headers, answer, time.monotonic() - began)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Status and sentence for a request that goes no further."""
        if scope["method"] not in (*SAFE, "POST"):
            return 405, f"nothing here is done by {scope['method']:.10}."
        if scope["path"] in ("/healthz", "/readyz"):  # asked for by whoever runs the server, by any name
            return None
        if len(headers.getlist("host")) != 1 or headers["host"].casefold() not in self._config.hosts:
            # another name for this address may be that of a page which wants to reach what it must not
            return 421, f"this server answers as {self._config.shown}; open that address."
        if self._config.behind_proxy and headers.get("x-forwarded-proto", "").casefold() != "https":
            return 400, "the proxy must say that the browser came by TLS (X-Forwarded-Proto: https)."
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        foreign = site is not None and site not in ("same-origin", "none")
        if scope["method"] not in SAFE:
            if (origin is not None and origin.casefold() not in self._config.origins) or foreign:
                return 403, "this request comes from a page of another site; use the pages of this one."
        elif foreign and headers.get("sec-fetch-mode") != "navigate":
            return 403, "pages of other sites may not read this one."
        if not re.fullmatch("[0-9]{0,15}", headers.get("content-length", "")):
            return 400, "the length of the request is no number."
        return None

    def _limited(self, scope: Scope, headers: Headers, receive: Receive) -> Receive:
        """What is received, up to the limit of bytes and of time."""
        limits = self._config.limits
        upload = headers.get("content-type", "").startswith("multipart/form-data") or scope["path"] in (
            "/api/v1/campaigns",
            "/api/v1/checks",
        )
        most, came = limits.upload if upload else limits.form, 0
        said, until = int(headers.get("content-length") or 0), time.monotonic() + limits.patience
        ended = scope["method"] in SAFE

        async def limited() -> Message:
            nonlocal came, ended
            if said > most:
                raise Oversized(f"a request may have {most:,} bytes here, got {said:,}; use the command line.")
            try:
                # once all has arrived, what comes next is that the browser has left
                async with asyncio.timeout(None if ended else max(until - time.monotonic(), 0.001)):
                    message = await receive()
            except TimeoutError:
                raise Tardy(f"the request had not arrived after {limits.patience:g} s; send it again.") from None
            came += len(message.get("body", b""))
            ended = ended or not message.get("more_body", False)
            if came > most:
                raise Oversized(f"a request may have {most:,} bytes here, got more; use the command line.")
            return message

        return limited

    def _complete(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        headers.setdefault("content-security-policy", POLICY)
        headers.setdefault("cache-control", "no-store")
        if self._config.secure:
            headers.setdefault("strict-transport-security", "max-age=31536000")

    def _note(self, scope: Scope, headers: Headers, answer: dict[str, int], seconds: float) -> None:
        state = scope.get("state") or {}
        way = str(state.get("way", "other"))
        method = scope["method"] if scope["method"] in (*SAFE, "POST") else "other"  # anybody can make up more
        self._counts.add(method, way, answer["status"], seconds)
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "from": client_of(scope, headers, self._config),
            "by": state.get("who"),
            "method": scope["method"],
            "path": scope["path"],
            "status": answer["status"],
            "bytes": answer["bytes"],
            "ms": round(1000 * seconds, 1),
        }
        LOG.info(json.dumps(line, ensure_ascii=True))


def client_of(scope: Scope, headers: Headers, config: Config) -> str:
    """The address that a request comes from, which the proxy puts last if there is one."""
    direct = (scope.get("client") or ("unknown",))[0]
    if config.behind_proxy:
        last = headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        try:
            return str(ipaddress.ip_address(last))
        except ValueError:
            return str(direct)
    return str(direct)


async def _refuse(scope: Scope, send: Send, status: int, sentence: str) -> None:
    text = sentence[:1].upper() + sentence[1:]
    api = scope["path"].startswith("/api/")
    body = json.dumps({"error": text, "kind": "Refused"}).encode() if api else text.encode()
    kind = b"application/json" if api else b"text/plain; charset=utf-8"
    head = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if status == 405:
        head.append((b"allow", b"GET, HEAD, POST"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
