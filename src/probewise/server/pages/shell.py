"""The shell of every page: its head, the way to the others, forms, and what a failure looks like."""

from __future__ import annotations

import hashlib
import secrets
from functools import cache
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

import probewise
from probewise.markup import Content, Html, html, joined, tag, void
from probewise.server.people import Who
from probewise.server.site import Call, Site

_HERE = Path(__file__).parents[1] / "static"
FILES = {
    "report.css": (Path(probewise.__file__).parent / "campaign" / "report" / "report.css", "text/css"),
    "page.css": (_HERE / "page.css", "text/css"),
    "page.js": (_HERE / "page.js", "text/javascript"),
    "icon.svg": (_HERE / "icon.svg", "image/svg+xml"),
}
"""Files that pages load."""
TABS = {
    "": "Overview",
    "/measure": "To measure",
    "/history": "History",
    "/report": "Report",
    "/keep": "Verify and back up",
}
"""Pages of a campaign."""


@cache
def version(name: str) -> str:
    """Changes with the content of a file."""
    return hashlib.sha256(FILES[name][0].read_bytes()).hexdigest()[:12]


def link(name: str, page: str = "") -> str:
    """The address of a page of a campaign."""
    return f"/c/{quote(name, safe='')}{page}"


def title_of(name: str) -> str:
    """A campaign as people call it."""
    return name.removesuffix(".campaign").removesuffix(".jsonl")


def page(
    call: Call, title: str, *body: Content, tab: str | None = None, status: int = 200, wide: bool = False
) -> Response:
    """A whole page."""
    who = call.who if call.who.name else None
    return _page(call.site, who, title, joined([_noted(call), *body]), call.name, tab, status, {}, wide)


def _page(
    site: Site,
    who: Who | None,
    title: str,
    body: Content,
    name: str,
    tab: str | None,
    status: int,
    headers: dict[str, str],
    wide: bool = False,
) -> Response:
    styles = joined(
        void("link", rel="stylesheet", href=f"/static/{own}?v={version(own)}") for own in ("report.css", "page.css")
    )
    icon = void("link", rel="icon", href=f"/static/icon.svg?v={version('icon.svg')}", type="image/svg+xml")
    script = tag("script", src=f"/static/page.js?v={version('page.js')}", defer="defer")
    head = joined(
        [
            void("meta", charset="utf-8"),
            void("meta", name="viewport", content="width=device-width, initial-scale=1"),
            void("meta", name="robots", content="noindex"),
            tag("title", f"{title} · probewise"),
            icon,
            styles,
            script,
        ]
    )
    skip = tag("a", "Skip to the content", href="#content", class_="skip")
    main = tag("main", body, id="content", class_="wider" if wide else "", tabindex="-1")
    tabs = _tabs(name, tab) if tab is not None else None
    text = html(tag("html", tag("head", head), tag("body", skip, _bar(site, who), tabs, main, class_="app"), lang="en"))
    return HTMLResponse(f"<!DOCTYPE html>\n{text}\n", status, headers)


def _bar(site: Site, who: Who | None) -> Html:
    home = tag("a", tag("b", "probewise"), href="/", class_="brand", aria_label="probewise, all campaigns")
    links: list[Content] = [tag("a", "Campaigns", href="/")] if who is not None else []
    if who is not None and who.creates:
        links.append(tag("a", "New", href="/new"))
    person: list[Content] = []
    if who is not None and who.how == "session":
        out = tag("form", hidden(who), tag("button", "Log out", class_="plain"), method="post", action="/logout")
        person = [tag("span", who.name, class_="soft"), out]
    elif who is not None:
        person = [tag("span", f"{who.name}, on this computer", class_="soft")]
    return tag(
        "header", home, tag("nav", *links, aria_label="Main"), tag("div", *person, class_="person"), class_="top"
    )


def _tabs(name: str, tab: str) -> Html:
    links = []
    for own, text in TABS.items():
        here = {"aria_current": "page"} if own == tab else {}
        links.append(tag("a", text, href=link(name, own), **here))
    head = tag("p", title_of(name), class_="name")
    return tag("div", head, tag("nav", *links, aria_label="Campaign"), class_="tabs")


def hidden(who: Who) -> Html:
    """The field that proves that a form is from our page."""
    return void("input", type="hidden", name="csrf", value=who.csrf)


def form(call: Call, action: str, *content: Content, class_: str = "", upload: bool = False, id_: str = "") -> Html:
    """A form that is sent to an address of this server."""
    kind = "multipart/form-data" if upload else ""
    own = {"method": "post", "action": action, "class": class_, "enctype": kind, "id": id_}
    once = void("input", type="hidden", name="once", value=secrets.token_hex(8))  # sent twice, it counts once
    return tag("form", hidden(call.who), once, *content, **own)


def field(label: str, control: Content, hint: Content = None, *, class_: str = "") -> Html:
    """A control with its label; what it is for stands below it."""
    note = tag("span", hint, class_="hint") if hint else None
    return tag("label", tag("span", label, class_="label"), control, note, class_=f"field {class_}".strip())


def text_field(
    label: str, name: str, value: str = "", hint: Content = None, *, kind: str = "text", **more: str
) -> Html:
    """A line of text."""
    return field(label, void("input", type=kind, name=name, value=value, **more), hint)


def choice(label: str, name: str, options: dict[str, str], chosen: str = "", hint: Content = None) -> Html:
    """One of several."""
    return field(label, select(name, options, chosen), hint)


def select(name: str, options: dict[str, str], chosen: str = "", **more: str) -> Html:
    """A control with one of several values."""
    inner = (
        tag("option", text, value=value, **({"selected": "selected"} if value == chosen else {}))
        for value, text in options.items()
    )
    return tag("select", *inner, name=name, **more)


def button(text: str, *, name: str = "", value: str = "", class_: str = "") -> Html:
    """What sends a form."""
    return tag("button", text, type="submit", name=name, value=value, class_=class_)


def card(title: str, *content: Content, id_: str = "", class_: str = "") -> Html:
    """A part of a page in a box."""
    return tag("section", tag("h2", title), *content, id=id_, class_=f"card {class_}".strip())


def alert(text: Content, kind: str = "") -> Html:
    """A sentence that must not be missed."""
    return tag("p", text, class_=f"said {kind}".strip(), role="alert" if kind == "bad" else "status")


def told(call: Call, sentence: str, to: str) -> Response:
    """Send the browser to another page, which says what was done."""
    return RedirectResponse(f"{to}{'&' if '?' in to else '?'}said={call.site.keep(sentence)}", 303)


def _noted(call: Call) -> Html | None:
    sentence = call.site.said(call.request.query_params.get("said", ""))
    return None if sentence is None else alert(sentence, "good")


def failure(
    site: Site, request: Request, who: Who | None, status: int, sentence: str, headers: dict[str, str]
) -> Response:
    """A page that says what went wrong."""
    back = tag("p", tag("a", "All campaigns", href="/"))
    body = joined([tag("h1", "That did not work"), alert(sentence, "bad"), back])
    return _page(site, who, "That did not work", body, "", None, status, headers)


async def static(call: Call) -> Response:
    """A file that pages load."""
    name = call.request.path_params["file"]
    if name not in FILES:
        return Response("There is no such file.\n", 404, media_type="text/plain")
    path, kind = FILES[name]
    fixed = call.request.query_params.get("v") == version(name)
    age = "public, max-age=31536000, immutable" if fixed else "no-cache"
    return Response(path.read_bytes(), 200, {"cache-control": age}, kind)
