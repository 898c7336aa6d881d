"""The server inside this process: its own routes, guard, tasks and journals, without sockets and other processes."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import urllib.error
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

from _serving import Answer, Visitor

from probewise import client
from probewise.server import app as application
from probewise.server.config import Config
from probewise.server.tasks.desk import Desk
from probewise.server.tasks.table import TASKS
from probewise.server.workers import LANES, Tally


class Direct:
    """Workers that do a task at once, each lane with a desk of its own; arguments and values pass through JSON."""

    def __init__(self, seconds: float, lanes: Mapping[str, int] = LANES) -> None:
        self.tally, self.ready = Tally(), True
        self._desks = {lane: Desk() for lane in lanes}

    async def do(self, lane: str, task: str, **arguments: Any) -> Any:
        own = json.loads(json.dumps(arguments))
        return json.loads(json.dumps(TASKS[task](self._desks[lane], **own), allow_nan=False))


class Inside:
    """A server of a folder that answers calls of functions; the Python client finds it at its address."""

    port = 8017

    def __init__(self, place: str | Path) -> None:
        self.place, self.url = str(place), f"http://127.0.0.1:{self.port}"
        application.Workers = Direct  # type: ignore[attr-defined,misc,assignment]
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, daemon=True).start()
        self._app = application.app(Config(self.place, port=self.port)).asgi
        client.Web._opener = lambda web: self  # type: ignore[method-assign,assignment,return-value]

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    def visitor(self) -> Visitor:
        return Guest(self)

    def request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        return asyncio.run_coroutine_threadsafe(self._answer(method, path, body, headers), self._loop).result()

    async def _answer(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        address, _, query = path.partition("?")
        own = {"host": f"127.0.0.1:{self.port}", "content-length": str(len(body)), **headers}
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote(address), "raw_path": address.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in own.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", self.port), "state": {},
        }  # fmt: skip
        sent = False
        found: dict[str, Any] = {"body": b""}

        async def receive() -> dict[str, Any]:
            nonlocal sent
            if sent:
                return {"type": "http.disconnect"}
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                found.update(status=message["status"], headers=message["headers"])
            else:
                found["body"] += message.get("body", b"")

        await self._app(scope, receive, send)
        pairs = [(name.decode(), value.decode()) for name, value in found["headers"]]
        cookies = [value for name, value in pairs if name == "set-cookie"]
        return Answer(found["status"], dict(pairs), found["body"], cookies)

    def open(self, request: Any, timeout: float) -> Any:
        """What the client calls instead of a connection."""
        parts = urlsplit(request.full_url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        answer = self.request(request.get_method(), path, request.data or b"", dict(request.header_items()))
        if answer.status >= 400:
            raise urllib.error.HTTPError(request.full_url, answer.status, "", {}, io.BytesIO(answer.body))  # type: ignore[arg-type]
        return io.BytesIO(answer.body)


class Guest(Visitor):
    """Somebody who keeps cookies, without a connection."""

    def __init__(self, inside: Inside) -> None:
        Visitor.__init__(self, inside.url)
        self._inside = inside

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies and "cookie" not in sent:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = self._inside.request(method, path, body or b"", sent)
        for cookie in answer.cookies:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(Inside(folder).visitor().get("/healthz"))
