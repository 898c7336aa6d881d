"""The application: every way into the server, behind its guard."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from probewise.server import api, operation
from probewise.server.accounts import Accounts
from probewise.server.config import Config
from probewise.server.guard import Guard
from probewise.server.live import Live
from probewise.server.pages.shell import failure
from probewise.server.pages.table import PAGES
from probewise.server.people import Gate
from probewise.server.shelf import Database, Folder, Shelf
from probewise.server.site import Site, Way, entrance
from probewise.server.workers import HEADS, LANES, Workers

WAYS: tuple[Way, ...] = (*api.WAYS, *PAGES, *operation.WAYS)
"""Every way into the server."""


@dataclass(frozen=True)
class App:
    """A server that an event loop can run."""

    asgi: ASGIApp
    site: Site

    def stop(self) -> None:
        """Tell the browsers that watch; readiness ends."""
        self.site.live.stop()


def app(config: Config) -> App:
    """The application of a server."""
    scratch = tempfile.TemporaryDirectory(prefix="probewise-")
    workers = Workers(config.limits.seconds, LANES | HEADS if config.is_database else LANES)
    most = config.limits.campaigns
    shelf: Shelf = Database(config.place, workers, most) if config.is_database else Folder(Path(config.place), most)
    accounts = Accounts(config.state_file)
    site = Site(config, accounts, workers, Live(shelf, workers), Path(scratch.name), failure)
    site.gates |= {"login": Gate(5, 300.0), "address": Gate(30, 300.0)}
    routes = [_route(way, site) for way in WAYS]
    inner = Starlette(routes=routes, lifespan=_lifespan(site, scratch), exception_handlers={404: _lost, 405: _lost})
    return App(Guard(inner, config, site.counts), site)


def _route(way: Way, site: Site) -> Route:
    return Route(way.path, entrance(way, site), methods=[way.method])


def _lifespan(site: Site, scratch: tempfile.TemporaryDirectory[str]) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def lifespan(inner: Starlette) -> AsyncIterator[None]:
        begun = [asyncio.ensure_future(site.live.poll()), asyncio.ensure_future(site.workers.start())]
        try:
            yield
        finally:
            site.live.stop()
            for task in begun:
                task.cancel()
            await asyncio.gather(*begun, return_exceptions=True)
            await site.workers.stop()
            scratch.cleanup()

    return lifespan


async def _lost(request: Request, error: Exception) -> Response:
    """An address that there is not."""
    status = getattr(error, "status_code", 404)
    sentence = "There is nothing at this address." if status == 404 else "That cannot be done at this address."
    headers = dict(getattr(error, "headers", None) or {})
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": sentence, "kind": "Missing"}, status, headers)
    return Response(sentence, status, headers, "text/plain")
