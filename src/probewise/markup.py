"""Markup: the few pieces of HTML that pages are made of. Whatever is not made here is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape


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


def tag(name: str, /, *content: Content, **attributes: str) -> Html:
    """An element; an underscore at the end of an attribute's name is left out, and one inside it is a hyphen."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value
    )
    return Html(f"<{name}{pairs}>{joined(content, '')}</{name}>")


def void(name: str, /, **attributes: str) -> Html:
    """An element that never has content, such as a field of a form."""
    return Html(tag(name, **attributes).text.removesuffix(f"</{name}>"))


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
    return sideways(tag("table", tag("thead", head), tag("tbody", joined(body))), "wide")


def sideways(content: Content, class_: str) -> Html:
    """What may be wider than the screen, so that it scrolls, by the keys too."""
    label = "Picture" if class_ == "pic" else "Table"
    return tag("div", content, class_=class_, tabindex="0", role="group", aria_label=label)


def folded(summary: str, *content: Content, opened: bool = False) -> Html:
    """Shown when asked for, and always on paper."""
    return tag("details", tag("summary", summary), *content, open="open" if opened else "")


def facts(pairs: Iterable[tuple[str, Content]]) -> Html:
    """Names and values."""
    return tag("dl", *(joined([tag("dt", name), tag("dd", value)]) for name, value in pairs), class_="facts")


def badge(text: str, kind: str = "") -> Html:
    """A word that stands out."""
    return tag("span", text, class_=f"badge {kind}".strip())
