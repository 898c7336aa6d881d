"""Settings: where the campaigns are, who may come, and the limits that keep a server answering."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from probewise.errors import InvalidServer

STATE = ".probewise-server.sqlite"
"""Name of the file with accounts in a folder of campaigns."""


@dataclass(frozen=True)
class Limits:
    """What one request may take."""

    form: int = 2_000_000
    """Bytes of a request without tables."""
    upload: int = 20_000_000
    """Bytes of a request with tables."""
    unpacked: int = 100_000_000
    """Bytes that a spreadsheet may unpack to."""
    rows: int = 200_000
    """Rows of a table."""
    columns: int = 1_000
    """Columns of a table."""
    cells: int = 5_000_000
    """Cells of a table."""
    fields: int = 4_000
    """Fields of a form."""
    round: int = 10_000
    """Rows of a round."""
    seconds: float = 60.0
    """Time for planning, checking or drawing, after which the process is ended."""
    patience: float = 30.0
    """Seconds in which a request must have arrived."""
    campaigns: int = 2_000
    """Campaigns of one folder or database that are listed."""


@dataclass(frozen=True)
class Config:
    """One server."""

    place: str
    """A folder, or the URL of a database."""
    host: str = "127.0.0.1"
    """The address to listen on."""
    port: int = 8017
    """The port to listen on."""
    url: str | None = None
    """What browsers have in their address line; needed beyond the loopback address."""
    certificate: Path | None = None
    """File with the certificate, for TLS."""
    key: Path | None = None
    """File with its key."""
    behind_proxy: bool = False
    """Whether a proxy speaks TLS and passes requests on, saying so (X-Forwarded-Proto)."""
    login: bool = False
    """Whether a login is needed on the loopback address too."""
    state: Path | None = None
    """File with accounts, sessions, tokens and keys of requests."""
    limits: Limits = field(default_factory=Limits)
    """What one request may take."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InvalidServer("TLS needs a certificate and its key; give --tls-cert and --tls-key, or neither.")
        if self.certificate is not None and self.behind_proxy:
            raise InvalidServer("give --tls-cert or --behind-proxy, not both: only one of them speaks TLS to browsers.")
        if not self.loopback and self.certificate is None and not self.behind_proxy:
            raise InvalidServer(
                f"{self.host} can be reached from other computers, and passwords would travel in the clear; "
                "give --tls-cert and --tls-key, or --behind-proxy if a proxy on this computer speaks TLS."
            )
        if self.beyond and self.url is None:
            raise InvalidServer(
                "beyond the loopback address, requests are checked against the address in the browser; give it, as in "
                "--url https://lab.example.org."
            )
        if self.url is not None:
            parts = urlsplit(self.url)
            plain = parts.path in ("", "/") and not parts.query and not parts.fragment and "@" not in parts.netloc
            if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
                raise InvalidServer(f"--url must be like https://lab.example.org, got '{self.url:.80}'.")
            if self.beyond and parts.scheme != "https":
                raise InvalidServer(f"beyond the loopback address, --url must begin with https, got '{self.url:.80}'.")
        if self.is_database and self.state is None:
            raise InvalidServer(
                "the accounts of a server on a database need a file of their own; name it, as in --state server.sqlite."
            )

    @property
    def is_database(self) -> bool:
        """Whether campaigns are kept in a database."""
        return "://" in self.place

    @property
    def loopback(self) -> bool:
        """Whether only this computer can connect."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def beyond(self) -> bool:
        """Whether people come from elsewhere, so that they must log in."""
        return not self.loopback or self.behind_proxy or self.certificate is not None

    @property
    def accounts(self) -> bool:
        """Whether everybody must log in."""
        return self.beyond or self.login

    @property
    def secure(self) -> bool:
        """Whether browsers come by TLS."""
        return self.beyond

    @property
    def origins(self) -> frozenset[str]:
        """The origins that a browser may name."""
        if self.url is not None:
            return frozenset({self.url.rstrip("/").casefold()})
        return frozenset(f"http://{host}" for host in self.hosts)

    @property
    def hosts(self) -> frozenset[str]:
        """What may stand in the header Host: other names may be somebody else's, who points them here."""
        if self.url is not None:
            return frozenset({urlsplit(self.url).netloc.casefold()})
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]", self.host))

    @property
    def shown(self) -> str:
        """The address to open in a browser."""
        return self.url or f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def state_file(self) -> Path:
        """Where accounts are kept."""
        return self.state or Path(self.place) / STATE
