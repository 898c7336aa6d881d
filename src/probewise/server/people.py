"""People: who sends a request, and what they may do."""

from __future__ import annotations

import getpass
import hashlib
import secrets
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from starlette.requests import Request

from probewise.cells import visible
from probewise.server.accounts import EVERY, ROLES, Accounts
from probewise.server.config import Config


@dataclass(frozen=True)
class Who:
    """Somebody who sends a request."""

    name: str
    """The login, which is the author of records."""
    how: Literal["here", "session", "token"]
    """On this computer without a login, by a session, or by a token."""
    csrf: str = ""
    """What forms must send back."""
    creates: bool = False
    """Whether they may create campaigns."""
    grants: dict[str, str] = field(default_factory=dict)
    """Campaign, or EVERY -> role."""
    fresh: str | None = None
    """The secret for a cookie that is yet to be set."""

    def role(self, campaign: str) -> str | None:
        """The larger of the role for a campaign and that for all."""
        found = [self.grants[own] for own in (campaign, EVERY) if own in self.grants]
        return max(found, key=ROLES.index, default=None)

    def may(self, role: str, campaign: str) -> bool:
        """Whether they have a role, or a larger one."""
        own = self.role(campaign)
        return own is not None and ROLES.index(own) >= ROLES.index(role)


def cookie_name(config: Config) -> str:
    """Cookies of a host are shared by its ports; the prefix makes browsers insist on TLS."""
    return "__Host-probewise" if config.secure else f"probewise-{config.port}"


def csrf_of(raw: str) -> str:
    """What forms send back: it follows from the secret of the cookie, which no other site knows."""
    return hashlib.sha256(f"form {raw}".encode()).hexdigest()


def somebody(request: Request, config: Config, accounts: Accounts) -> Who | None:
    """Who sends a request; None if they have to log in first."""
    raw = request.cookies.get(cookie_name(config), "")
    given = request.headers.get("authorization")
    if given is not None:
        scheme, _, text = given.partition(" ")
        token = accounts.token(text.strip()) if scheme.casefold() == "bearer" else None
        if token is None:
            return None
        own = accounts.grants(token.name)
        wanted = [token.campaign] if token.campaign != EVERY else [*own]
        grants = {}
        for campaign in wanted:
            role = Who(token.name, "token", grants=own).role(campaign)
            if role is not None:
                grants[campaign] = min(role, token.scope, key=ROLES.index)
        creates = token.scope == "own" and token.campaign == EVERY and accounts.creates(token.name)
        return Who(token.name, "token", creates=creates, grants=grants)
    if not config.accounts:
        fresh = None if len(raw) >= 32 else secrets.token_urlsafe(32)
        return Who(_user(), "here", csrf_of(fresh or raw), creates=True, grants={EVERY: "own"}, fresh=fresh)
    name = accounts.session(raw) if raw else None
    if name is None:
        return None
    return Who(name, "session", csrf_of(raw), accounts.creates(name), accounts.grants(name))


def _user() -> str:
    try:
        return visible(getpass.getuser())
    except (OSError, KeyError):
        return "unknown"


class Gate:
    """How often something may be tried, by whom: so many times in so many seconds."""

    def __init__(self, times: int, seconds: float, most: int = 10_000) -> None:
        self._times, self._seconds, self._most = times, seconds, most
        self._seen: dict[str, deque[float]] = {}

    def wait(self, key: str) -> float:
        """Seconds until the next try is allowed; 0 if it is now."""
        tries, now = self._seen.get(key, deque()), time.monotonic()
        while tries and now - tries[0] > self._seconds:
            tries.popleft()
        return 0.0 if len(tries) < self._times else self._seconds - (now - tries[0])

    def tried(self, key: str) -> None:
        """Count a try."""
        if len(self._seen) >= self._most:
            self._seen = {own: tries for own, tries in self._seen.items() if self.wait(own) > 0}
        self._seen.setdefault(key, deque(maxlen=self._times)).append(time.monotonic())

    def forget(self, key: str) -> None:
        """It was not one to count."""
        self._seen.pop(key, None)
