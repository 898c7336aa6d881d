"""A server of one's own on the loopback address, and a browser without a screen that talks to it."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit


def free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return int(own.getsockname()[1])


class Serving:
    """``probewise serve`` as a process."""

    def __init__(
        self,
        place: str | Path,
        *options: str,
        log: Path | None = None,
        script: Path | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.place, self.options, self.log, self.tls = str(place), options, log, tls
        self.program = ["-m", "probewise"] if script is None else [str(script)]
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http{'s' * (self.tls is not None)}://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Run it, and wait until it is ready."""
        command = [sys.executable, *self.program, "serve", self.place, "--port", str(self.port), *self.options]
        command += ["--url", self.url] if self.tls is not None else []
        with (self.log or Path("/dev/null")).open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out)
        for _ in range(600):
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with code {self.process.returncode}.")
            try:
                if Visitor(self.url, tls=self.tls).get("/readyz").status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError("the server did not become ready.")

    def stop(self, seconds: float = 30.0) -> int:
        """Ask it to end, and wait."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(seconds)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@dataclass
class Answer:
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes
    cookies: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Visitor:
    """Somebody who keeps cookies and sends forms back with what was in them."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    tls: ssl.SSLContext | None = None

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        parts = urlsplit(self.url)
        own: dict[str, Any] = {"timeout": self.timeout} | ({"context": self.tls} if self.tls else {})
        kind = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        line = kind(parts.hostname or "", parts.port, **own)
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies and "cookie" not in sent:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            line.request(method, path, body, sent)
            found = line.getresponse()
            cookies = [value for name, value in found.getheaders() if name.lower() == "set-cookie"]
            for cookie in cookies:
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value
            low = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, low, found.read(), cookies)
        finally:
            line.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, **headers)

    def json(self, path: str, body: Any, **headers: str) -> Answer:
        return self.send("POST", path, json.dumps(body).encode(), content_type="application/json", **headers)

    def csrf(self, path: str) -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]{64})"', self.get(path).text)
        assert found is not None, f"no form on {path}"
        return found[1]

    def form(self, path: str, fields: dict[str, str], *, page: str | None = None, **headers: str) -> Answer:
        """Send a form that stands on a page."""
        token = {"csrf": self.csrf(page)} if page else {}
        body = urlencode(token | fields).encode()
        return self.send("POST", path, body, content_type="application/x-www-form-urlencoded", **headers)

    def upload(
        self, path: str, fields: dict[str, str], files: dict[str, tuple[str, bytes]], *, page: str | None = None
    ) -> Answer:
        """Send a form with files."""
        mark, parts = "probewise-boundary", []
        own = ({"csrf": self.csrf(page)} if page else {}) | fields
        for name, value in own.items():
            parts.append(f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
        for name, (file, content) in files.items():
            head = f'--{mark}\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\n'
            parts.append(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + content + b"\r\n")
        body = b"".join(parts) + f"--{mark}--\r\n".encode()
        return self.send("POST", path, body, content_type=f"multipart/form-data; boundary={mark}")
