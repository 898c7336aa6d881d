"""Accounts: who may come in and do what, sessions, tokens of machines, and keys of requests that were answered."""

from __future__ import annotations

import hashlib
import re
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from probewise.errors import InvalidServer, MissingExtra
from probewise.files import new_mode

if TYPE_CHECKING:
    from argon2 import PasswordHasher

ROLES = ("see", "measure", "amend", "own")
"""What somebody may do with a campaign, each with all before it: look; ask and tell; correct, void, close and restock;
give roles to others."""
EVERY = "*"
"""Stands for all campaigns."""
IDLE, LONGEST = 12 * 3600.0, 7 * 24 * 3600.0
"""Seconds after which a session ends if nothing happens, and in any case."""
KEPT = 7 * 24 * 3600.0
"""Seconds for which the answer to a request with a key is kept."""
SHORTEST = 10
"""Letters of a password."""

_NAME = re.compile(r"[^\W_][\w .@-]{0,63}")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, password TEXT NOT NULL, creates INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS grants (name TEXT, campaign TEXT, role TEXT NOT NULL, PRIMARY KEY (name, campaign));
CREATE TABLE IF NOT EXISTS sessions (
    hash TEXT PRIMARY KEY, name TEXT NOT NULL, begun REAL NOT NULL, seen REAL NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL, name TEXT NOT NULL, scope TEXT NOT NULL, campaign TEXT NOT NULL,
    expires REAL NOT NULL, label TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
    name TEXT, place TEXT, key TEXT, request TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL,
    time REAL NOT NULL, PRIMARY KEY (name, place, key));
"""


@dataclass(frozen=True)
class Token:
    """What a machine may do, in whose name."""

    name: str
    """The login."""
    scope: str
    """The largest of ROLES that it may use."""
    campaign: str
    """One campaign, or EVERY."""


@dataclass(frozen=True)
class Accounts:
    """A file of SQLite; opened for each call, so that commands may change it while the server runs."""

    path: Path

    def __post_init__(self) -> None:
        if not self.path.parent.is_dir():
            raise InvalidServer(f"there is no folder {self.path.parent} for {self.path.name}; make it first.")
        new = not self.path.exists()
        with self._open() as base:
            base.executescript(_SCHEMA)
        if new:
            self.path.chmod(new_mode())

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            base = sqlite3.connect(self.path, timeout=10)
            try:
                with base:
                    yield base
            finally:
                base.close()
        except sqlite3.Error as error:
            raise InvalidServer(f"the accounts in {self.path} cannot be used ({error}); check the file.") from None

    def users(self) -> list[tuple[str, bool]]:
        """Every login, and whether it may create campaigns."""
        with self._open() as base:
            return [(str(n), bool(c)) for n, c in base.execute("SELECT name, creates FROM users ORDER BY name")]

    def add(self, name: str, password: str, *, creates: bool = False) -> None:
        """A new login."""
        if not _NAME.fullmatch(name) or name != name.strip():
            raise InvalidServer(
                f"a login is a letter or digit, then letters, digits, blanks or . @ _ -, up to 64; got '{name:.80}'."
            )
        hashed = _hashed(password)
        with self._open() as base:
            if base.execute("SELECT 1 FROM users WHERE name = ?", (name,)).fetchone():
                raise InvalidServer(f"there is a login '{name}' already; choose another name, or change its password.")
            base.execute("INSERT INTO users VALUES (?, ?, ?)", (name, hashed, int(creates)))

    def set_password(self, name: str, password: str) -> None:
        """Another password; all sessions of the login end."""
        self.check(name)
        hashed = _hashed(password)
        with self._open() as base:
            base.execute("UPDATE users SET password = ? WHERE name = ?", (hashed, name))
            base.execute("DELETE FROM sessions WHERE name = ?", (name,))

    def remove(self, name: str) -> None:
        """Nobody can log in by that name any more; its records stay."""
        self.check(name)
        with self._open() as base:
            for table in ("users", "grants", "sessions", "tokens"):
                base.execute(f"DELETE FROM {table} WHERE name = ?", (name,))

    def check(self, name: str) -> None:
        """Refuse a login that there is not."""
        if name not in [own for own, _ in self.users()]:
            raise InvalidServer(f"there is no login '{name:.80}'; add it first (probewise user add).")

    def grant(self, name: str, campaign: str, role: str | None) -> None:
        """Give a role for one campaign, or for EVERY one; None takes it away."""
        self.check(name)
        if role is not None and role not in ROLES:
            raise InvalidServer(f"there is no role '{role:.40}'; they are {', '.join(ROLES)}.")
        with self._open() as base:
            base.execute("DELETE FROM grants WHERE name = ? AND campaign = ?", (name, campaign))
            if role is not None:
                base.execute("INSERT INTO grants VALUES (?, ?, ?)", (name, campaign, role))

    def grants(self, name: str) -> dict[str, str]:
        """Campaign, or EVERY -> role."""
        with self._open() as base:
            rows = base.execute("SELECT campaign, role FROM grants WHERE name = ?", (name,)).fetchall()
        return {str(campaign): str(role) for campaign, role in rows if role in ROLES}

    def people(self, campaign: str) -> dict[str, str]:
        """Login -> role, of those who have one for this campaign."""
        with self._open() as base:
            rows = base.execute("SELECT name, campaign, role FROM grants WHERE campaign IN (?, ?)", (campaign, EVERY))
            out: dict[str, str] = {}
            for name, _, role in rows.fetchall():
                if role in ROLES and (name not in out or ROLES.index(role) > ROLES.index(out[name])):
                    out[name] = role
        return out

    def creates(self, name: str) -> bool:
        """Whether a login may create campaigns."""
        return dict(self.users()).get(name, False)

    def right(self, name: str, password: str) -> bool:
        """Whether the password is that of the login; it takes as long for a login that there is not."""
        hasher, wrong = _hasher()
        with self._open() as base:
            found = base.execute("SELECT password FROM users WHERE name = ?", (name,)).fetchone()
        try:
            return bool(hasher.verify(found[0] if found else _DUMMY, password)) and found is not None
        except wrong:
            return False

    def begin(self, name: str) -> str:
        """A session: the secret that its cookie holds."""
        raw, now = secrets.token_urlsafe(32), time.time()
        with self._open() as base:
            base.execute("DELETE FROM sessions WHERE seen < ? OR begun < ?", (now - IDLE, now - LONGEST))
            base.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", (_digest(raw), name, now, now))
        return raw

    def session(self, raw: str) -> str | None:
        """The login of a session that has not ended."""
        now = time.time()
        with self._open() as base:
            found = base.execute(
                "SELECT name, seen FROM sessions WHERE hash = ? AND seen > ? AND begun > ?",
                (_digest(raw), now - IDLE, now - LONGEST),
            ).fetchone()
            if found is None:
                return None
            if now - found[1] > 60:
                base.execute("UPDATE sessions SET seen = ? WHERE hash = ?", (now, _digest(raw)))
        return str(found[0])

    def end(self, raw: str) -> None:
        """Log out."""
        with self._open() as base:
            base.execute("DELETE FROM sessions WHERE hash = ?", (_digest(raw),))

    def issue(self, name: str, scope: str, campaign: str, days: float, label: str = "") -> str:
        """A token for a machine, shown once."""
        self.check(name)
        if scope not in ROLES:
            raise InvalidServer(f"there is no scope '{scope:.40}'; they are {', '.join(ROLES)}.")
        own, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        row = (own, _digest(secret), name, scope, campaign, time.time() + 86400 * days, label)
        with self._open() as base:
            base.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return f"pw_{own}_{secret}"

    def token(self, text: str) -> Token | None:
        """What a token stands for, if it is one and has not expired."""
        found = re.fullmatch(r"pw_([0-9a-f]{12})_([\w-]{20,100})", text)
        if found is None:
            return None
        with self._open() as base:
            row = base.execute(
                "SELECT hash, name, scope, campaign FROM tokens WHERE id = ? AND expires > ?", (found[1], time.time())
            ).fetchone()
        if row is None or not secrets.compare_digest(str(row[0]), _digest(found[2])):
            return None
        return Token(*map(str, row[1:]))

    def tokens(self, name: str) -> list[tuple[str, str, str, float, str]]:
        """Id, scope, campaign, end and label of every token of a login."""
        with self._open() as base:
            rows = base.execute("SELECT id, scope, campaign, expires, label FROM tokens WHERE name = ?", (name,))
            return [(str(i), str(s), str(c), float(e), str(b)) for i, s, c, e, b in rows.fetchall()]

    def revoke(self, own: str) -> bool:
        """Whether there was a token of that id, which is no longer one."""
        with self._open() as base:
            return base.execute("DELETE FROM tokens WHERE id = ?", (own,)).rowcount > 0

    def answered(self, name: str, place: str, key: str) -> tuple[str, int, str] | None:
        """Digest of the request, status and body of the answer that was given to a request with this key."""
        with self._open() as base:
            row = base.execute(
                "SELECT request, status, body FROM answers WHERE name = ? AND place = ? AND key = ? AND time > ?",
                (name, place, key, time.time() - KEPT),
            ).fetchone()
        return None if row is None else (str(row[0]), int(row[1]), str(row[2]))

    def answer(self, name: str, place: str, key: str, request: str, status: int, body: str) -> None:
        """Keep an answer."""
        with self._open() as base:
            base.execute("DELETE FROM answers WHERE time < ?", (time.time() - KEPT,))
            base.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
                (name, place, key, request, status, body, time.time()),
            )


def _hasher() -> tuple[PasswordHasher, tuple[type[Exception], ...]]:
    try:
        from argon2 import PasswordHasher
        from argon2.exceptions import Argon2Error, InvalidHashError
    except ImportError:
        raise MissingExtra("passwords need argon2-cffi; install probewise[server].") from None
    return PasswordHasher(), (Argon2Error, InvalidHashError)


def _hashed(password: str) -> str:
    if len(password) < SHORTEST or len(password) > 1000:
        raise InvalidServer(f"a password has from {SHORTEST} to 1,000 letters; four words that you remember will do.")
    return _hasher()[0].hash(password)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_DUMMY = "$argon2id$v=19$m=65536,t=3,p=4$cHJvYmV3aXNlLXNhbHQtMQ$8Vn8q7q1YdGpw0QKyTqkIu0cU5mN0bq8Jp4l2oHqj0w"
"""A hash of nobody's password."""
