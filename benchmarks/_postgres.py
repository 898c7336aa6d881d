"""A PostgreSQL server of one's own, in a folder that goes with it; it listens on a socket in that folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any


def tools() -> Path | None:
    """The folder of the newest server on this machine."""
    found = [shutil.which("initdb"), *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")))]
    known = [Path(path).parent for path in found if path]
    return known[-1] if known else None


def _parent(stat: Path) -> int | None:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:  # it has ended
        return None


class Postgres:
    """A server that can be killed and started again."""

    def __init__(self, *options: str, auth: str = "trust", password: str = "lab") -> None:
        self.bin = tools()
        if self.bin is None:
            raise RuntimeError("there is no PostgreSQL server on this machine.")
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
        self.become: dict[str, Any] = {}
        if os.getuid() == 0:  # the server refuses to run as root
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.become = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        secret = self.folder / "password"
        secret.write_text(password)
        secret.chmod(0o644)
        first = [self.bin / "initdb", "-D", self.folder / "data", "-A", auth, "-U", "lab", f"--pwfile={secret}"]
        done = subprocess.run([*first, "--no-sync", "-E", "UTF8"], cwd=self.folder, capture_output=True, **self.become)
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stderr.decode().strip()}")
        self.options = ["-k", str(self.folder), "-c", "listen_addresses=", *options]
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"postgresql://lab@/postgres?host={self.folder}"

    def start(self) -> None:
        """Run it, and wait until it answers."""
        assert self.bin is not None
        command = [self.bin / "postgres", "-D", self.folder / "data", *self.options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        for _ in range(300):
            if self.process is None or self.process.poll() is not None:  # what was killed may not be gone yet
                self.process = subprocess.Popen(
                    command, cwd=self.folder, start_new_session=True, **quiet, **self.become
                )
            ready = subprocess.run([self.bin / "pg_isready", "-h", self.folder, "-t", "1"], capture_output=True)
            if ready.returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError("the PostgreSQL server did not start.")

    def kill(self) -> None:
        """SIGKILL to the server and to all its processes."""
        assert self.process is not None
        self.signal(signal.SIGKILL)
        self.process.wait()
        self.process = None

    def signal(self, number: int) -> None:
        """A signal to the server and to all its processes."""
        assert self.process is not None
        own = self.process.pid
        children = [int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if _parent(stat) == own]
        for pid in (own, *children):  # first the server, which would start others in place of those that die
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def close(self) -> None:
        """Stop it and remove its folder."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)  # without waiting for those who are connected
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
