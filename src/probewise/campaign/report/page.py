"""Pages: the few pieces of HTML that a report is made of. Whatever is not made here is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from probewise import numerals


@dataclass(frozen=True)
class Html:
    """Text that is HTML already."""

    text: str

    def __str__(self) -> str:
        return self.text


Content = Html | str | float | int | None


def html(content: Content) -> str:
    """HTML as it is, all else escaped; None is nothing, and no line ends before a per cent sign."""
    if isinstance(content, Html):
        return content.text
    return "" if content is None else escape(str(content)).replace(" %", "&nbsp;%")


def joined(parts: Iterable[Content], between: str = "\n") -> Html:
    """All parts, one after the other."""
    return Html(between.join(html(part) for part in parts))


def tag(name: str, *content: Content, **attributes: str) -> Html:
    """An element; an underscore at the end of an attribute's name is left out."""
    pairs = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items() if value)
    return Html(f"<{name}{pairs}>{joined(content, '')}</{name}>")


def section(title: str, *content: Content, id_: str, class_: str = "") -> Html:
    """A part of the page with its heading."""
    return tag("section", tag("h2", title), *content, id=id_, class_=class_)


def paragraphs(*texts: Content, class_: str = "") -> Html:
    """One paragraph for each text that is not empty."""
    return joined(tag("p", text, class_=class_) for text in texts if text)


def table(header: Sequence[str], rows: Iterable[Sequence[Content]], *, kinds: str, classes: Iterable[str] = ()) -> Html:
    """A table; ``kinds`` has a letter for each column: n for numbers, t for one line, w for long names, - for text."""
    marks = [kind if kind in "ntw" else "" for kind in kinds]
    head = tag("tr", *(tag("th", name, class_=mark, scope="col") for name, mark in zip(header, marks, strict=True)))
    names = iter(classes)
    body = (
        tag(
            "tr", *(tag("td", cell, class_=mark) for cell, mark in zip(row, marks, strict=True)), class_=next(names, "")
        )
        for row in rows
    )
    return tag("div", tag("table", tag("thead", head), tag("tbody", joined(body))), class_="wide")


def folded(summary: str, *content: Content) -> Html:
    """Shown when asked for, and always on paper."""
    return tag("details", tag("summary", summary), *content)


def facts(pairs: Iterable[tuple[str, Content]]) -> Html:
    """Names and values."""
    return tag("dl", *(joined([tag("dt", name), tag("dd", value)]) for name, value in pairs), class_="facts")


def badge(text: str, kind: str = "") -> Html:
    """A word that stands out."""
    return tag("span", text, class_=f"badge {kind}".strip())


def number(value: float, places: int | None = None) -> str:
    """A number with a true minus sign, to so many places or four digits; a dash for what is unknown."""
    if not math.isfinite(value):
        return "–"
    text = numerals.number(value, 4) if places is None else f"{value:,.{places}f}"
    text = text.lstrip("-") if not text.strip("-0.,") else text
    return text.replace("-", "−")


def span(low: float, high: float, places: int | None = None) -> str:
    """An interval; a dash where there is none."""
    return f"{number(low, places)} to {number(high, places)}" if math.isfinite(low) else "–"


def places_of(widths: Sequence[float]) -> int | None:
    """Places after the point at which the typical width has two digits; None if that are too many."""
    known = sorted(width for width in widths if 0 < width < math.inf)
    places = max(1 - math.floor(math.log10(known[len(known) // 2])), 0) if known else 3
    return places if places < 8 else None


def page(title: str, body: Content) -> str:
    """A whole page that may load nothing: the policy forbids every request and every script."""
    style = resources.files("probewise.campaign.report").joinpath("report.css").read_text("utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
{html(body)}
</body>
</html>
"""
