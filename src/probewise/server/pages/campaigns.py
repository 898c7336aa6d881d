"""Campaigns: a line each, with its sentence, its progress, and who waits for what."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from probewise.errors import ProbewiseError
from probewise.markup import Content, Html, badge, joined, paragraphs, tag
from probewise.numerals import plural
from probewise.server.live import Missing
from probewise.server.pages.shell import link, page, title_of
from probewise.server.site import Call
from probewise.server.workers import Busy, Fault

PATIENCE = 1.5
"""Seconds after which the page is shown with what is known."""


async def campaigns(call: Call) -> Response:
    """The page."""
    names = [name for name in await call.site.live.shelf.signs() if call.who.may("see", name)]
    looks = [asyncio.ensure_future(_summary(call, name)) for name in names]
    if looks:
        await asyncio.wait(looks, timeout=PATIENCE)
    rows = [_row(name, look.result() if look.done() else None) for name, look in zip(names, looks, strict=True)]
    new = tag("a", "New campaign", href="/new", class_="button") if call.who.creates else None
    head = tag("div", tag("h1", "Campaigns"), new, class_="head")
    body = tag("ul", *rows, class_="campaigns") if rows else _empty(call)
    late = not all(look.done() for look in looks)
    again = (
        tag("p", "Some are still being read; load the page again.", class_="soft", data_again="2000") if late else None
    )
    return page(call, "Campaigns", head, again, body)


def _empty(call: Call) -> Html:
    if call.who.creates:
        return tag(
            "div",
            paragraphs("There is no campaign here yet."),
            paragraphs("Bring two tables: what you can measure, and what you would like to recommend.", class_="soft"),
            class_="empty",
        )
    return tag("div", paragraphs("There is no campaign that you may see; ask whoever owns one."), class_="empty")


async def _summary(call: Call, name: str) -> dict[str, Any] | str:
    try:
        return await call.site.live.look(name, "summary", patient=False)
    except (ProbewiseError, Busy, Fault) as error:
        return str(error)
    except Missing:
        return "It has just gone."


def _row(name: str, found: dict[str, Any] | str | None) -> Html:
    title = tag("h2", tag("a", title_of(name), href=link(name)))
    if found is None or isinstance(found, str):
        said = "It is being read." if found is None else found
        kind = badge("Reading", "") if found is None else badge("Cannot be read", "inadequate")
        return tag("li", tag("div", title, kind, class_="line"), paragraphs(said, class_="soft"))
    return tag(
        "li",
        tag("div", title, _badge(found), class_="line"),
        paragraphs(found["sentence"]),
        progress(found["way"], found["answer"] is not None),
        tag("p", joined(_facts(name, found), " · "), class_="soft small"),
    )


def _badge(found: dict[str, Any]) -> Html:
    if found["answer"] is not None:
        return badge("Decided", "best")
    if found["waiting"]:
        return badge(f"Waiting for {plural(found['waiting'], 'row')}", "undecided")
    return badge("Ready for the next round", "leading")


def _facts(name: str, found: dict[str, Any]) -> list[Content]:
    facts: list[Content] = [
        f"{plural(found['measurements'], 'measurement')} in {plural(found['rounds'], 'round')}",
        f"{found['items']:,} items",
    ]
    if found["waiting"]:
        due = f", due {found['due']}" if found["due"] else ""
        facts.append(tag("a", f"round {found['waiting_round']} to measure{due}", href=link(name, "/measure")))
    if found["warnings"]:
        facts.append(plural(found["warnings"], "warning"))
    facts.append(f"last record {found['last'][:16].replace('T', ' ')} UTC by {found['by']}")
    return facts


def progress(share: float | None, decided: bool) -> Html | None:
    """The way to the answer, as a bar."""
    if share is None:
        return None
    done = 1.0 if decided else min(share, 0.99)
    rect = tag("rect", width=f"{100 * done:.1f}%", height="100%")
    text = f"{100 * done:.0f} % of the way to the answer"
    return tag("svg", tag("title", text), rect, class_="bar", role="img", aria_label=text)
