"""Addresses: URLs of databases, read so that no password is ever shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote

from probewise.errors import InvalidCampaign

_FORM = re.compile(r"[^:/]+://(?P<server>[^/?#]*)(?P<path>[^?#]*)(\?(?P<options>[^#]*))?(#(?P<own>.*))?")
_SECRET = ("pass", "secret", "token")
"""Parts of the names of options that are never shown."""


@dataclass(frozen=True)
class Address:
    """Where a database is, and which of its campaigns is meant."""

    shown: str
    """The URL without passwords."""
    url: str = field(repr=False)
    """The URL for the driver, without the campaign."""
    campaign: str
    """What follows # in the URL."""
    secrets: tuple[str, ...] = field(repr=False)
    """What must not be shown."""

    @classmethod
    def read(cls, text: str) -> Self:
        """The parts of a URL; refused if they cannot be told apart for certain."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise InvalidCampaign("this is not the URL of a database; write it like postgresql://lab@server/db#name.")
        user, at, host = found["server"].rpartition("@")
        name, _, password = user.partition(":")
        options = [part.partition("=") for part in (found["options"] or "").split("&") if part]
        _check(text, user + at, found["path"], options, found["own"] or "")
        hidden = [(key, sign, value) for key, sign, value in options if not _secret(key)]
        asked = "&".join(map("".join, hidden))
        campaign = found["own"] or "campaign"
        return cls(
            f"postgresql://{name}{at}{host}{found['path']}{'?' * bool(asked)}{asked}#{campaign}",
            f"postgresql://{found['server']}{found['path']}?" + "&".join(map("".join, options)).replace("+", "%20"),
            campaign,
            tuple(
                own for key, _, value in (*options, ("password", "", password)) if _secret(key) for own in _both(value)
            ),
        )

    def silent(self, text: str) -> str:
        """The text without secrets."""
        for own in self.secrets:
            text = text.replace(own, "…")
        return text


def _check(text: str, user: str, path: str, options: list[tuple[str, str, str]], campaign: str) -> None:
    """A password with one of the signs @ / ? # would end somewhere else, where it would be shown."""
    strange = user.count("@") > 1 or "@" in path or any("@" in key + value or not sign for key, sign, value in options)
    if strange or ("@" in campaign and (":" in user or not user)):
        raise InvalidCampaign(
            "this URL of a database cannot be read for certain, and is not shown, since it may hold a password: write "
            "the signs @ / ? # inside a name or password as %40 %2F %3F %23."
        )


def _secret(key: str) -> bool:
    return any(part in unquote(key).casefold() for part in _SECRET)


def _both(value: str) -> list[str]:
    return [own for own in {value, unquote(value)} if len(own) > 2]
