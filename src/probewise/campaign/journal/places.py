"""Places: which storage a name of a file or a URL of a database means; a new kind is one line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from probewise.campaign.journal.storage import Storage
from probewise.errors import InvalidCampaign, ProbewiseError
from probewise.extensions import extension, fault


def _sqlite(place: str) -> Storage:
    from probewise.campaign.journal.sqlite import File

    return File(Path(place))


def _lines(place: str) -> Storage:
    from probewise.campaign.journal.lines import Lines

    return Lines(Path(place))


def _postgresql(place: str) -> Storage:
    from probewise.campaign.journal.postgresql import server

    return server(place)


SCHEMES: dict[str, Callable[[str], Storage]] = {
    "postgres": _postgresql,
    "postgresql": _postgresql,
    "postgresql+psycopg": _postgresql,
}
"""What a URL begins with -> what opens it; each back end is loaded when it is used."""

EXTENSIONS = "probewise.storages"
"""The entry points by which other packages open URLs: the scheme -> a function of the URL."""

SUFFIXES: dict[str, Callable[[str], Storage]] = {".jsonl": _lines}
"""How the name of a file ends -> what opens it; all others are files of SQLite."""


def storage_at(place: str | Path | Storage) -> Storage:
    """A URL of a database, a file of JSON lines (.jsonl), or else a file of SQLite."""
    if isinstance(place, Storage):
        return place
    scheme, sign, _ = str(place).partition("://")
    if not sign:
        return SUFFIXES.get(Path(place).suffix.casefold(), _sqlite)(str(place))
    if not scheme or set(scheme) & set(":/"):
        raise InvalidCampaign("this is not the URL of a database; write it like postgresql://lab@server/db#name.")
    return SCHEMES.get(scheme, partial(_foreign, scheme))(str(place))


def _foreign(scheme: str, place: str) -> Storage:
    """The storage of another package, which is handed the whole URL."""
    make = extension(EXTENSIONS, scheme)
    if make is None:
        raise InvalidCampaign(
            f"'{scheme}:' begins no URL of a database that is known here; give "
            "postgresql://lab@server/db#name, or the name of a file."
        )
    try:
        store = make(place)
    except ProbewiseError:
        raise
    except Exception as error:
        raise fault(EXTENSIONS, scheme, f"it cannot open a URL ({type(error).__name__})") from error  # no passwords
    if not isinstance(store, Storage):
        raise fault(EXTENSIONS, scheme, f"it must give a Storage, got an object of {type(store).__name__}")
    return store
