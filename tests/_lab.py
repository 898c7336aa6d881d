"""A laboratory with a server of its own, and pages as a browser reads them."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from _serving import Answer, Serving, Visitor

import probewise as pw
from probewise.server.accounts import ROLES, Accounts
from probewise.server.config import STATE
from probewise.server.site import Way

PASSWORD = "correct horse battery"
NAME = "lab.campaign"
ORIGIN = "https://lab.example.org"
PROXY = {"host": "lab.example.org", "x-forwarded-proto": "https"}
BODIES: dict[str, dict[str, Any]] = {
    "ask": {},
    "tell": {"rows": {"r1-1": 1.0}},
    "faults": {"cells": {}},
    "note": {"text": "hello"},
    "preview": {"change": "void", "measurements": ["r1-1"]},
    "correct": {"measurement": "r1-1", "outcome": 1.0, "reason": "x"},
    "void": {"measurements": ["r1-1"], "reason": "x"},
    "close": {"reason": "x"},
    "restock": {"probe": "0", "stock": 3, "reason": "x"},
    "campaigns": {"name": "other", "probes": "id,x\na,1\nb,2\n", "model": "none"},
    "checks": {"probes": "id,x\na,1\nb,2\n", "model": "none"},
}


class Lab:
    """A server behind a proxy, with a login for each role."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        problem = pw.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], sigma=1.0)
        self.campaign = pw.Campaign.create(folder / NAME, problem, seed=0, author="first")
        self.campaign.ask()
        self.accounts = Accounts(folder / STATE)
        for role in (*ROLES, "nobody"):
            self.accounts.add(role, PASSWORD, creates=role == "own")
            if role != "nobody":
                self.accounts.grant(role, NAME, role)
        self.serving = Serving(folder, "--behind-proxy", "--url", ORIGIN)

    def visitor(self, login: str | None = None, **headers: str) -> Visitor:
        own = Visitor(self.serving.url, PROXY | headers)
        if login is not None:
            own.cookies["__Host-probewise"] = self.accounts.begin(login)
        return own

    def state(self) -> tuple[object, ...]:
        """What must not change."""
        names = sorted(path.name for path in self.folder.iterdir() if "journal" not in path.name)
        people = [(name, self.accounts.grants(name)) for name, _ in self.accounts.users()]
        return self.campaign.records[-1].digest, names, people


def filled(way: Way) -> str:
    return way.path.format(name=NAME, row="r1-1", token="0" * 32, file="page.css")


def send(visitor: Visitor, way: Way, *, csrf: str = "", **headers: str) -> Answer:
    if way.method == "GET":
        return visitor.get(filled(way), **headers)
    if way.api:
        body = BODIES[way.path.rpartition("/")[2]]
        return visitor.json(filled(way), body, **({"x_csrf_token": csrf} if csrf else {}), **headers)
    fields = {"reason": "x", "text": "hello", "change": "void", "sure": "yes", "outcome.r1-1": "1", "login": "see",
              "role": "own", "act": "create", "probe": "0", "name": "see", "password": "wrong"}  # fmt: skip
    return visitor.form(filled(way), fields | ({"csrf": csrf} if csrf else {}), **headers)


def refused(answer: Answer, *statuses: int) -> None:
    assert answer.status in statuses, answer.text[:300]
    if answer.status != 303:
        if answer.headers["content-type"] == "application/json":
            assert re.fullmatch(r"(?s)[A-Z'].{15,}[.:]", answer.json["error"])
        else:
            assert re.search(r"[A-Z'][^<>]{15,}[.:]", unescape(answer.text))
        assert "Traceback" not in answer.text


EMPTY = {"meta", "link", "input", "br", "img"}


class Page(HTMLParser):
    """A page as a browser reads it: every tag closed in order, no script or style inside it, every field labelled."""

    def __init__(self, text: str) -> None:
        HTMLParser.__init__(self)
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        assert self.stack == []
        assert len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        assert not [name for name in own if name.startswith("on") or name == "style"]
        assert tag not in ("script", "style") or own.get("src")
        if tag in ("input", "select", "textarea") and own.get("type") != "hidden":
            assert "label" in self.stack or own.get("aria-label"), own
        self.ids += [str(own["id"])] if "id" in own else []
        if tag not in EMPTY:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.replace("\xa0", " "))

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def seen(answer: Answer, status: int = 200) -> str:
    assert answer.status == status, answer.text
    return Page(answer.text).text
