"""Campaigns on a server, with the methods of any other: records are read and checked here, and written there."""

from __future__ import annotations

import json
import os
import re
import secrets
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from http.client import HTTPException
from typing import IO, Any, NoReturn, TypeVar
from urllib.parse import quote, unquote, urlsplit

from probewise import errors
from probewise.campaign import Campaign, Record, Rows, Storage, Told
from probewise.campaign.exchange import entry, given
from probewise.campaign.exchange.rows import no_rows, open_rows
from probewise.campaign.exchange.told import recorded, unplanned
from probewise.campaign.findings.confirmation import confirmations
from probewise.campaign.journal import chain
from probewise.campaign.state.charter import Charter
from probewise.campaign.state.plan import MAX_ROUND, largest
from probewise.errors import InvalidCampaign, ProbewiseError, StorageUnavailable

T = TypeVar("T")
TOKEN = "PROBEWISE_TOKEN"
"""Variable with the token that a server wants; `probewise user token` makes one."""
TRIES, WAIT = 4, 90.0
"""How often a request is sent before it is given up, and the seconds that each may take."""
LOCAL = ("127.0.0.1", "localhost", "::1")
_PATH = re.compile(r"(?P<base>.*?)/(?:c|api/v1/campaigns)/(?P<name>[^/]+)/?")


class _Straight(urllib.request.HTTPRedirectHandler):
    """A token is sent to the address that was given, and to no other."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


@dataclass(frozen=True, eq=False)
class Web(Storage):
    """The journal of a campaign on a server, which only the server writes."""

    address: str
    """Of the interface of the campaign."""
    shown: str
    """Of its page."""
    token: str = field(default="", repr=False)
    """What the server lets us in by."""

    @property
    def name(self) -> str:
        """The address of its page."""
        return self.shown

    def read(self, after: int = 0) -> Sequence[str]:
        """The lines from number after + 1, as the server has them."""
        lines: list[str] = []
        while True:
            found = self.call("GET", f"/records?after={after + len(lines)}&most=1000")
            lines += found["records"]
            if not found["records"] or after + len(lines) >= found["count"]:
                return lines

    def append(self, line: str, *, after: int) -> NoReturn:
        """Refused: a server writes records itself, and the login is their author."""
        raise InvalidCampaign(
            f"{self.shown} is on a server, which writes its records itself; create campaigns on its page, or by a POST "
            "to /api/v1/campaigns."
        )

    def kind(self, usual: type[T]) -> type[T]:
        """Campaigns whose changes the server makes."""
        return Remote if usual is Campaign else usual  # type: ignore[return-value]

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """What the server answers; a request that got no answer is sent again, and counts once."""
        headers = {"Accept": "application/json", "User-Agent": "probewise"}
        data = None
        if body is not None:
            data = json.dumps(body, allow_nan=False).encode()
            headers |= {"Content-Type": "application/json", "Idempotency-Key": secrets.token_hex(16)}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        said = ""
        for turn in range(TRIES):
            time.sleep(0.5 * (2**turn - 1))
            try:
                with self._opener().open(request, timeout=WAIT) as answer:
                    found: dict[str, Any] = json.loads(answer.read())
                    return found
            except urllib.error.HTTPError as error:
                if error.code not in (429, 502, 503, 504) or turn == TRIES - 1:
                    raise self._refusal(error) from None
            except (OSError, HTTPException, ValueError) as error:
                said = str(getattr(error, "reason", "") or error or type(error).__name__)
        raise StorageUnavailable(f"{self.shown} gives no answer ({said:.200}); check the address, or try again.")

    def _opener(self) -> urllib.request.OpenerDirector:
        handlers: list[Any] = [_Straight(), urllib.request.HTTPSHandler(context=ssl.create_default_context())]
        if urlsplit(self.address).hostname in LOCAL:
            handlers.append(urllib.request.ProxyHandler({}))
        return urllib.request.build_opener(*handlers)

    def _refusal(self, error: urllib.error.HTTPError) -> ProbewiseError:
        try:
            body = json.loads(error.read())
            sentence, kind = str(body["error"]), str(body["kind"])
        except (ValueError, KeyError, TypeError, OSError):
            return StorageUnavailable(f"{self.shown} answers with status {error.code}; check the address.")
        if error.code == 401:
            return InvalidCampaign(f"{self.shown} wants a token; put it into the variable {TOKEN}.")
        own = getattr(errors, kind, None)
        if isinstance(own, type) and issubclass(own, ProbewiseError):
            return own(sentence[:1].lower() + sentence[1:])
        return InvalidCampaign(f"{self.shown}: {sentence[:1].lower()}{sentence[1:]}")


def web(url: str) -> Web:
    """The journal behind the address of a page, as in https://lab.example.org/c/coupling.campaign."""
    parts = urlsplit(url)
    found = _PATH.fullmatch(parts.path)
    if found is None or not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidCampaign(
            "the address of a campaign on a server is that of its page, as https://lab.example.org/c/coupling.campaign."
        )
    if parts.scheme != "https" and parts.hostname not in LOCAL:
        raise InvalidCampaign(
            f"a token must not travel in the clear; use https, got {parts.scheme}://{parts.hostname}."
        )
    base, name = f"{parts.scheme}://{parts.netloc}{found['base']}", quote(unquote(found["name"]), safe="")
    return Web(f"{base}/api/v1/campaigns/{name}", f"{base}/c/{name}", os.environ.get(TOKEN, ""))


class Remote(Campaign):
    """A campaign on a server: all that it knows follows from the records, and every change is the server's."""

    def __init__(self, store: Storage, first: Record, *, author: str | None, once: bool = False) -> None:
        if author is not None:
            raise InvalidCampaign("on a server the login is the author of a record; leave the author out.")
        Campaign.__init__(self, store, first, author=None, once=once)

    def _done(self, what: str, **body: Any) -> dict[str, Any]:
        """Have the server do something, and read what came of it."""
        assert isinstance(self._store, Web)
        found = self._store.call("POST", f"/{what}", body)
        self._take(chain.unread(self._store, self._ledger.last))
        return found

    def ask(self, *, due: str | date | None = None, max_round: int = MAX_ROUND, confirm: int | None = None) -> Rows:
        """The rows to measure, of a new round if none is waiting."""
        day, most = entry.day(due), largest(max_round)
        found = self._done("ask", due=day, max_round=min(most, 1_000_000), confirm=confirm)
        ledger = self._ledger
        if ledger.waiting is None:
            return no_rows(ledger.charter, found["sentence"])
        rows = open_rows(ledger.charter, ledger.waiting)
        tests = [own.sentence for own in confirmations(ledger) if own.round == ledger.waiting.number]
        return replace(rows, sentence=" ".join([rows.sentence, *tests]))

    def tell(self, rows: Any, *, off_plan: bool = False, again: bool = False, dry_run: bool = False) -> Told:
        """Record outcomes: all rows of the table or, if one of them cannot be, none."""
        ledger = self.ledger
        lines = given.lines(rows, "probe" if off_plan else "measurement", ledger.charter)
        sent = [_row(line, ledger.charter) for line in lines]
        check = unplanned(sent, ledger, True, again) if off_plan else recorded(sent, ledger, True)
        if dry_run:
            return check[1]
        found = self._done("tell", rows=sent, off_plan=off_plan, again=again)
        new, late, repeated, old = (tuple(found[name]) for name in ("recorded", "late", "repeated", "outdated"))
        return Told(new, late, repeated, old, found["empty"], False, found["sentence"])

    def correct(self, measurement: str, outcome: float, *, reason: str, spread: float | None = None) -> str:
        """Give a row another outcome, also one that was voided; says what it did to the answer."""
        own = entry.said(reason, "a correction")
        more = {} if spread is None else {"spread": spread}
        return str(self._done("correct", measurement=measurement, outcome=outcome, reason=own, **more)["sentence"])

    def void(self, measurements: str | Iterable[str], *, reason: str) -> str:
        """Take rows out, measured or not, for a reason that is not their outcome; says what it did to the answer."""
        ids = [measurements] if isinstance(measurements, str) else list(measurements)
        return str(self._done("void", measurements=ids, reason=entry.said(reason, "voiding"))["sentence"])

    def close(self, *, reason: str) -> str:
        """Wait no longer for the rows of this round that are missing."""
        return str(self._done("close", reason=entry.said(reason, "closing a round"))["sentence"])

    def restock(self, probe: str, stock: int | None, *, reason: str) -> None:
        """Say how often a probe can be measured in all; None is without limit."""
        self._done("restock", probe=probe, stock=stock, reason=entry.said(reason, "a change of stock"))

    def note(self, text: str) -> None:
        """Put a remark into the journal."""
        self._done("note", text=entry.said(text, "a note"))


def _row(line: given.Line, charter: Charter) -> dict[str, Any]:
    """A row as JSON has it; what is counted, or a mean, has its own name."""
    cells = {name: value for name, value in line.cells.items() if value is not None}
    if charter.aggregated and "outcome" in cells:
        cells[charter.told[1]] = cells.pop("outcome")
    own = {name: value if isinstance(value, bool | int | float | str) else str(value) for name, value in cells.items()}
    needed = dict.fromkeys(charter.told[:2] if charter.aggregated else charter.told[:1])
    return {**needed, **own}
