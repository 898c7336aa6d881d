"""History: every record, who and when; and changes of what was recorded, with what they would do shown first."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from probewise.cells import number
from probewise.markup import Content, Html, badge, folded, joined, paragraphs, table, tag, void
from probewise.numerals import percent, plural
from probewise.server.pages.shell import alert, button, card, form, link, page, text_field, told
from probewise.server.site import Call, Refused

SHOWN, ROWS = 50, 200
"""Records and rows on one page."""


def number_in(call: Call, name: str) -> int | None:
    """A whole number in the address of a page."""
    text = call.request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 else None


async def history(call: Call) -> Response:
    """The page."""
    found = await call.site.live.look(call.name, "history", before=number_in(call, "before"), most=SHOWN)
    last = found["rounds"]
    parts: list[Content] = [tag("h1", "History")]
    if last:
        parts.append(await _round(call, min(max(number_in(call, "round") or last, 1), last)))
    parts.append(_records(call, found))
    return page(call, "History", *parts, tab="/history")


async def _round(call: Call, own: int) -> Html:
    start = number_in(call, "from") or 0
    found = await call.site.live.look(call.name, "rows", round_=own, start=start, most=ROWS)
    amends = call.who.may("amend", call.name)
    rows = [
        (
            tag("a", row["measurement"], href=link(call.name, f"/row/{row['measurement']}"))
            if amends
            else row["measurement"],
            row["probe"],
            "–" if row["outcome"] is None else f"{row['outcome']:.6g}",
            joined([badge(row["state"], _kind(row["state"])), *_why(row)], " "),
        )
        for row in found["rows"]
    ]
    ways = [
        tag("a", text, href=f"{link(call.name, '/history')}?round={to}#rows")
        for text, to in (("← round before", own - 1), ("round after →", own + 1))
        if 1 <= to <= found["rounds"]
    ]
    if found["size"] > start + ROWS:
        ways.append(tag("a", "more rows", href=f"{link(call.name, '/history')}?round={own}&from={start + ROWS}#rows"))
    state = "complete" if found["complete"] else f"waiting for {found['left']:,} of them"
    closed = f" It was closed: {found['closed']}." if found["closed"] else ""
    whose = "" if found["planned"] else " The laboratory chose it by itself."
    close = None
    if amends and not found["complete"]:
        inner = form(
            call,
            link(call.name, "/close"),
            paragraphs(
                "If missing rows come after all, they are accepted. The reason must not be what outcomes look like."
            ),
            text_field("Reason", "reason", required="required", maxlength="2000"),
            button("Close the round", class_="quiet"),
        )
        close = folded("Wait no longer for the missing rows", inner)
    return card(
        f"Round {own} of {found['rounds']}",
        paragraphs(f"{plural(found['size'], 'row')}, {state}.{closed}{whose}", class_="soft"),
        table(("row", "probe", found["heading"], "state"), rows, kinds="twnw"),
        tag("nav", *ways, aria_label="Rounds") if ways else None,
        close,
        id_="rows",
    )


def _kind(state: str) -> str:
    return {"recorded": "adequate", "voided": "inadequate", "missing": "doubtful"}.get(state, "")


def _why(row: dict[str, Any]) -> list[Content]:
    past = ", ".join(f"{value:.6g}" for value in row["past"])
    said = [f"before: {past}"] * bool(past) + [row["reason"]] * bool(row["reason"])
    return [tag("span", "; ".join(said), class_="soft small")] if said else []


def _records(call: Call, found: dict[str, Any]) -> Html:
    rows = [
        (row["seq"], row["time"], row["author"], row["kind"], row["text"], tag("code", row["digest"]))
        for row in found["records"]
    ]
    first = found["records"][-1]["seq"] if found["records"] else 1
    older = (
        tag("a", "Earlier records", href=f"{link(call.name, '/history')}?before={first}#records") if first > 1 else None
    )
    return card(
        "Records",
        paragraphs(
            f"{plural(found['count'], 'record')}, the last first. Nothing is ever changed or removed: each carries the "
            "fingerprint of all before it.",
            class_="soft",
        ),
        table(("#", "time (UTC)", "by", "kind", "what", "fingerprint"), rows, kinds="ntwtwt"),
        older,
        id_="records",
    )


async def row(call: Call) -> Response:
    """One row, with what can be done about it."""
    return await _row(call)


async def _row(call: Call, tried: Content = None, values: dict[str, str] | None = None, status: int = 200) -> Response:
    own = str(call.request.path_params["row"])
    found = await call.site.live.look(call.name, "row", measurement=own)
    now = "no outcome" if found["outcome"] is None else f"{found['outcome']:.10g}"
    facts = paragraphs(f"Probe {found['probe']}, round {found['round']}: {found['state']}, {found['heading']} {now}.")
    past = paragraphs(*[f"Before: {', '.join(f'{value:.10g}' for value in found['past'])}."] * bool(found["past"]))
    here, given = link(call.name, f"/row/{own}"), values or {}
    shared = f"It was told by the mean of {found['together']:,} rows, which are corrected and voided together."
    parts: list[Content] = [
        tag("h1", f"Row {own}"),
        facts,
        *[paragraphs(shared)] * (found["together"] > 1),
        past,
        tried,
    ]
    if call.who.may("amend", call.name):
        why = {
            own: text_field("Reason", "reason", given.get("reason", "") if given.get("change") == own else "",
                            "It stays in the journal.", required="required", maxlength="2000")
            for own in ("correct", "void")
        }  # fmt: skip
        value = text_field("Outcome", "outcome", given.get("outcome", ""), inputmode="decimal", required="required",
                           autocomplete="off")  # fmt: skip
        if found["spread"] is not None:
            beside = text_field(
                found["spread"], "spread", given.get("spread", ""), inputmode="decimal", autocomplete="off"
            )
            value = tag("div", value, beside, class_="fields")
        kind = void("input", type="hidden", name="change", value="correct")
        ends = void("input", type="hidden", name="change", value="void")
        if found["state"] != "open" or found["outcome"] is not None:
            parts.append(
                card("Correct it", form(call, here, kind, value, why["correct"], button("See what it would change")))
            )
        if found["state"] != "voided":
            hint = paragraphs("The reason must not be the outcome: a spilled sample is one, an odd value is not.",
                              class_="soft")  # fmt: skip
            parts.append(card("Void it", form(call, here, ends, hint, why["void"], button("See what it would change"))))
    parts.append(
        tag("p", tag("a", "Back to the history", href=f"{link(call.name, '/history')}?round={found['round']}"))
    )
    return page(call, f"Row {own}", *parts, tab="/history", status=status)


async def change(call: Call) -> Response:
    """Try a change or, once its effect was seen, make it."""
    own, kind = str(call.request.path_params["row"]), str(call.form.get("change", ""))
    values = {name: str(call.form.get(name, "")) for name in ("outcome", "spread", "reason")}
    if kind not in ("correct", "void"):
        raise Refused(422, "a row is corrected or voided, and nothing else.")
    arguments: dict[str, Any] = {"reason": values["reason"]}
    if kind == "correct":
        found = number(values["outcome"])
        arguments |= {"measurement": own, "outcome": values["outcome"] if found is None else found}
        if values["spread"]:
            beside = number(values["spread"])
            arguments["spread"] = values["spread"] if beside is None else beside
    else:
        arguments |= {"measurements": [own]}
    if call.form.get("sure") == "yes":
        done = await call.write(kind, **arguments)
        return told(call, done["sentence"], f"{link(call.name, '/history')}?round={own[1:].partition('-')[0]}")
    tried = await call.site.live.work(
        "slow", call.name, "preview", author=call.who.name, change=kind, arguments=arguments
    )
    return await _row(call, _tried(call, own, kind, values, tried), values | {"change": kind})


def _tried(call: Call, own: str, kind: str, values: dict[str, str], tried: dict[str, Any]) -> Html:
    hidden = [
        void("input", type="hidden", name=name, value=value)
        for name, value in {**values, "change": kind, "sure": "yes"}.items()
    ]
    more = []
    if tried["risk"][1] > tried["risk"][0]:
        before, after = (percent(value) for value in tried["risk"])
        more.append(
            "The round had been looked at, so this is a new version of the data: over all versions together, a wrong "
            f"answer has probability at most {after} instead of {before}."
        )
    if tried["withdraws"]:
        more.append("The answer that was declared would be withdrawn.")
    name = "Correct it" if kind == "correct" else "Void it"
    return card(
        "What this would change",
        tag("dl", tag("dt", "Reply"), tag("dd", tried["said"]), tag("dt", "Now"), tag("dd", tried["before"]),
            tag("dt", "After"), tag("dd", tried["after"]), class_="facts"),
        *(alert(text, "warn") for text in more),
        form(call, link(call.name, f"/row/{own}"), *hidden, button(name, class_="danger"),
             tag("a", "Leave it as it is", href=link(call.name, f"/row/{own}"), class_="button quiet"), class_="row"),
        class_="tried",
    )  # fmt: skip


async def close(call: Call) -> Response:
    """Wait no longer for missing rows."""
    reason = str(call.form.get("reason", ""))
    done = await call.write("close", reason=reason)
    return told(call, done["sentence"], link(call.name))


async def note(call: Call) -> Response:
    """Put a remark into the journal."""
    text = str(call.form.get("text", ""))
    done = await call.write("note", text=text)
    return told(call, done["sentence"], f"{link(call.name)}?record={done['record']}")


async def restock(call: Call) -> Response:
    """Say how often a probe can be measured."""
    text = str(call.form.get("stock", "")).strip()
    if text and not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Refused(422, "the stock must be a whole number of at least 0, or empty for no limit.")
    stock = int(text) if text else None
    probe, reason = str(call.form.get("probe", "")), str(call.form.get("reason", ""))
    done = await call.write("restock", probe=probe, stock=stock, reason=reason)
    return told(call, done["sentence"], f"{link(call.name)}?record={done['record']}")
