"""Workers: the processes in which slow work is done, so that the server answers whatever they do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from probewise import errors
from probewise.errors import ProbewiseError
from probewise.server.worker import SIZE

LANES = {"read": 1, "write": 1, "slow": 1}
"""Kind of work -> processes for it: so nobody who looks waits for somebody who plans, nor for a report."""
HEADS = {"head": 1}
"""One more for a database: whether something has changed is asked for often, and must be answered soon."""
QUEUE = 300
"""Tasks that may wait in one lane."""


class Fault(Exception):
    """Something that should not happen; the log has it."""


class Busy(Exception):
    """A task was not done, with a sentence that says why."""


@dataclass
class Tally:
    """What the workers have done."""

    done: int = 0
    """Tasks finished."""
    ended: int = 0
    """Processes that were ended because a task took too long, or that ended by themselves."""
    waiting: int = 0
    """Tasks that wait or are being done."""


class Worker:
    """One process, started when it is needed and again when it has ended."""

    def __init__(self, tally: Tally) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._tally = tally

    async def do(self, task: str, arguments: Mapping[str, Any], seconds: float) -> Any:
        """The value of a task; its error is raised here."""
        if self._waiting >= QUEUE:
            raise Busy("the server has too much to do; try again in a minute.")
        # whoever asked may leave; the exchange goes on, and the next one waits for its end
        own = asyncio.ensure_future(self._alone(task, arguments, seconds))
        own.add_done_callback(lambda done: done.cancelled() or done.exception())
        found = await asyncio.shield(own)
        if "value" in found:
            return found["value"]
        kind = getattr(errors, str(found["kind"]), None)
        if isinstance(kind, type) and issubclass(kind, ProbewiseError):
            raise kind(found["error"])
        raise Fault(found["error"])

    async def _alone(self, task: str, arguments: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        self._waiting += 1
        self._tally.waiting += 1
        try:
            async with self._lock:
                return await self._exchange(task, arguments, seconds)
        finally:
            self._waiting -= 1
            self._tally.waiting -= 1
            self._tally.done += 1

    async def start(self) -> None:
        """Have the process running."""
        async with self._lock:
            await self._started()

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            few = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "probewise.server.worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**few, **os.environ},
                limit=2**26,
            )
            await self._receive(self._process)
        return self._process

    async def _exchange(self, task: str, arguments: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        try:
            process = await self._started()
            data = json.dumps({"task": task, "arguments": arguments}).encode()
            assert process.stdin is not None
            process.stdin.write(SIZE.pack(len(data)) + data)
            await process.stdin.drain()
            async with asyncio.timeout(seconds):
                return await self._receive(process)
        except TimeoutError:
            await self.end()
            self._tally.ended += 1
            raise Busy(
                f"this was given up after {seconds:g} s; what was recorded is kept, so look first, then try again or "
                "ask for less."
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.end()
            self._tally.ended += 1
            raise Busy(
                "the process that did this has ended; what was recorded is kept, so look, then try again."
            ) from None

    async def _receive(self, process: asyncio.subprocess.Process) -> dict[str, Any]:
        assert process.stdout is not None
        (size,) = SIZE.unpack(await process.stdout.readexactly(SIZE.size))
        found: dict[str, Any] = json.loads(await process.stdout.readexactly(size))
        return found

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    async def end(self) -> None:
        """End the process, now."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


class Workers:
    """All of them, by what they are for."""

    def __init__(self, seconds: float, lanes: Mapping[str, int] = LANES) -> None:
        self.tally = Tally()
        self._seconds = seconds
        self._lanes = {lane: [Worker(self.tally) for _ in range(count)] for lane, count in lanes.items()}

    async def do(self, lane: str, task: str, **arguments: Any) -> Any:
        """Do a task; those of one campaign are done one after the other, by a process that knows it already."""
        lanes = self._lanes[lane]
        own = zlib.crc32(str(arguments.get("place", "")).encode()) % len(lanes)
        return await lanes[own].do(task, arguments, self._seconds)

    async def start(self) -> None:
        """Have every process running."""
        await asyncio.gather(*(worker.start() for lane in self._lanes.values() for worker in lane))

    @property
    def ready(self) -> bool:
        """Whether every process runs."""
        return all(worker.alive for lane in self._lanes.values() for worker in lane)

    async def stop(self) -> None:
        """Wait for those that write, then end all."""
        for lane, workers in sorted(self._lanes.items(), key=lambda pair: pair[0] != "write"):
            for worker in workers:
                if lane == "write":
                    async with worker._lock:
                        await worker.end()
                else:
                    await worker.end()
