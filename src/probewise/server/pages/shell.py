"""The shell of every page: its head, the way to the others, and what a failure looks like."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from probewise.markup import Content, Html, html, joined, paragraphs, tag, void
from probewise.server.people import Who
from probewise.server.site import Call, Site


def failure(
    site: Site, request: Request, who: Who | None, status: int, sentence: str, headers: dict[str, str]
) -> Response:
    """A page that says what went wrong."""
    body = joined([tag("h1", "That did not work"), paragraphs(sentence), tag("p", tag("a", "All campaigns", href="/"))])
    return HTMLResponse(html(body), status, headers)


__all__ = ["Call", "Content", "Html", "failure", "void"]
