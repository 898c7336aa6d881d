"""A campaign: the decision, the way to it, the ranking and the evidence, live as others write."""

from __future__ import annotations

from typing import Any

from starlette.responses import HTMLResponse, Response

from probewise.markup import Content, Html, html, joined, paragraphs, tag, void
from probewise.numerals import plural
from probewise.server.pages.shell import button, card, field, form, link, page, text_field, title_of
from probewise.server.site import Call


async def overview(call: Call) -> Response:
    """The page."""
    found = await _found(call)
    now = tag("div", _now(call, found), id="now", data_now=link(call.name, "/now"), data_events=events(call))
    live = tag("p", "", id="live", class_="live soft small", role="status", aria_live="polite")
    more = _more(call)
    return page(call, title_of(call.name), live, now, more, tab="")


def events(call: Call) -> str:
    """Where a browser listens."""
    return link(call.name).replace("/c/", "/api/v1/campaigns/", 1) + "/events"


async def now(call: Call) -> Response:
    """The part of the page that changes."""
    return HTMLResponse(html(_now(call, await _found(call))))


async def _found(call: Call) -> dict[str, Any]:
    given = call.request.query_params.get("record", "0")
    least = int(given) if given.isascii() and given.isdigit() and len(given) < 12 else 0
    return await call.site.live.look(call.name, "overview", patient=False, least=least, title=title_of(call.name))


def _now(call: Call, found: dict[str, Any]) -> Html:
    links = {"ranking": "Ranking", "matters": "What matters", "evidence": "Evidence", "model": "Check of the model"}
    shown = {own: text for own, text in links.items() if own != "matters" or found["effects"]}
    nav = tag("nav", *(tag("a", text, href=f"#{own}") for own, text in shown.items()), aria_label="On this page")
    last = paragraphs(f"As of record {found['record']:,}: {found['last']}.", class_="soft small")
    return joined([Html(found["decision"]), _next(call, found), nav, Html(found["parts"]), last])


def _next(call: Call, found: dict[str, Any]) -> Html | None:
    """What to do now."""
    if found["waiting"]:
        due = f", due {found['due']}" if found["due"] else ""
        text = f"Round {found['round']} waits for {plural(found['waiting'], 'row')}{due}."
        way = "Enter outcomes" if call.who.may("measure", call.name) else "See the rows"
        return _line(text, tag("a", way, href=link(call.name, "/measure"), class_="button"))
    if not call.who.may("measure", call.name):
        return None
    if not found["decided"]:
        act = tag("a", "Plan the next round", href=link(call.name, "/measure"), class_="button")
        return _line("No round is waiting.", act)
    act = tag("a", "Confirm it", href=link(call.name, "/measure"), class_="button quiet")
    text = "The search is over. A few measurements of the winner and its closest rival would confirm it."
    return _line(text, act)


def _line(text: str, act: Html) -> Html:
    return tag("p", tag("span", text), act, class_="next")


def _more(call: Call) -> Html:
    """Remarks, and what can be changed besides outcomes."""
    parts: list[Content] = []
    if call.who.may("measure", call.name):
        note = form(
            call,
            link(call.name, "/note"),
            text_field("Remark", "text", hint="It stands in the journal and the report, and changes nothing else.",
                       required="required", maxlength="2000"),
            button("Note it", class_="quiet"),
        )  # fmt: skip
        parts.append(card("Remark", note))
    if call.who.may("amend", call.name):
        count = void("input", type="number", name="stock", min="0", step="1", placeholder="without limit")
        stock = form(
            call,
            link(call.name, "/restock"),
            text_field("Probe", "probe", required="required", hint="Its name, as on the sheets."),
            field("How often it can be measured in all", count, "With those made already; empty: without limit."),
            text_field("Reason", "reason", required="required", maxlength="2000"),
            button("Change the stock", class_="quiet"),
        )
        parts.append(card("Stock", stock))
    if call.who.may("own", call.name) and call.site.config.accounts:
        parts.append(card("People", paragraphs(tag("a", "Who may do what here", href=link(call.name, "/people")))))
    return tag("div", *parts, class_="cards")
