"""What is known of campaigns now: looked up once for everybody who looks, and told to those who watch."""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from probewise.errors import ProbewiseError
from probewise.server.shelf import Database, Shelf
from probewise.server.workers import Busy, Fault, Workers

PATIENCE, OLDEST = 0.25, 10.0
"""Seconds that a reader waits for what is newest if something older is known, and how old that may be."""
POLL, BEAT = 0.5, 15.0
"""Seconds between two looks at what others have written, and between two signs of life to a browser."""
KEPT = 200
"""Answers that are kept."""
WATCHERS = 1000
"""Browsers that may watch at once."""


class Missing(Exception):
    """There is no campaign of that name."""


@dataclass
class Known:
    """What a task gave."""

    sign: str
    """Of the campaign before the task began."""
    value: dict[str, Any]
    time: float
    """When it was last known to be so."""


class Live:
    """The readers of one server."""

    def __init__(self, shelf: Shelf, workers: Workers) -> None:
        self.shelf, self._workers = shelf, workers
        self._known: OrderedDict[tuple[Any, ...], Known] = OrderedDict()
        self._running: dict[tuple[Any, ...], asyncio.Task[Known]] = {}
        self._watchers: dict[str, set[asyncio.Queue[str]]] = {}
        self._signs: dict[str, str | None] = {}
        self.stopping = asyncio.Event()

    async def place(self, name: str) -> str:
        """What opens a campaign; refused if there is none of that name."""
        if await self.shelf.sign(name) is None:
            raise Missing(name)
        return self.shelf.place(name)

    async def look(
        self, name: str, task: str, *, patient: bool = True, least: int = 0, **arguments: Any
    ) -> dict[str, Any]:
        """What a task that only looks gives, computed once for each state of the journal.

        An impatient reader gets what was so a moment ago, at least up to record ``least``, if the newest takes long.
        """
        key = (name, task, *sorted(arguments.items()))
        while True:
            sign = await self.shelf.sign(name)
            if sign is None:
                raise Missing(name)
            known = self._known.get(key)
            if known is not None and known.sign == sign:
                known.time = time.monotonic()
                self._known.move_to_end(key)
                return known.value
            running = self._running.get(key)
            if running is None:
                running = asyncio.ensure_future(self._computed(key, sign, name, task, arguments))
                running.add_done_callback(lambda done: done.cancelled() or done.exception())
                self._running[key] = running
            old = not patient and known is not None and time.monotonic() - known.time < OLDEST
            if old and known is not None and known.value.get("record", 0) >= least:
                await asyncio.wait([running], timeout=PATIENCE)
                if not running.done():
                    return known.value
            found = await asyncio.shield(running)
            if found.sign == sign:
                return found.value

    async def _computed(
        self, key: tuple[Any, ...], sign: str, name: str, task: str, arguments: dict[str, Any]
    ) -> Known:
        try:
            value = await self._do("read", name, task, **arguments)
            found = self._known[key] = Known(sign, value, time.monotonic())
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            return found
        finally:
            del self._running[key]

    async def work(self, lane: str, name: str, task: str, **arguments: Any) -> dict[str, Any]:
        """Do something with a campaign that is there, and tell those who watch if it was changed."""
        await self.place(name)
        found: dict[str, Any] = await self._do(lane, name, task, **arguments)
        if lane == "write":
            await self.changed(name)
        return found

    async def _do(self, lane: str, name: str, task: str, **arguments: Any) -> Any:
        """A task on a campaign; its errors name the campaign, and not where the server keeps it."""
        place = self.shelf.place(name)
        try:
            return await self._workers.do(lane, task, place=place, **arguments)
        except ProbewiseError as error:
            text = str(error).replace(place, f"'{name}'")
            raise type(error)(re.sub(r"\w+://[^\s']*[^\s';:,.]", name, text)) from None

    async def changed(self, name: str) -> None:
        """Tell those who watch a campaign, if it is another one than they were told of."""
        if isinstance(self.shelf, Database):
            self.shelf.changed()
        await self._tell(name, await self.shelf.sign(name))

    async def _tell(self, name: str, sign: str | None) -> None:
        if self._signs.get(name) != sign:
            self._signs[name] = sign
            for queue in self._watchers.get(name, ()):
                if queue.empty():
                    queue.put_nowait("changed")

    @property
    def watching(self) -> int:
        """Browsers that watch."""
        return sum(map(len, self._watchers.values()))

    async def watch(self, name: str) -> AsyncIterator[str]:
        """What happens to a campaign, as it happens: "changed", "beat" as a sign of life, "stopping" at the end."""
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._signs.setdefault(name, await self.shelf.sign(name))
        self._watchers.setdefault(name, set()).add(queue)
        try:
            yield "beat"
            while not self.stopping.is_set():
                try:
                    async with asyncio.timeout(BEAT):
                        yield await queue.get()
                except TimeoutError:
                    yield "beat"
            yield "stopping"
        finally:
            self._watchers[name].discard(queue)
            if not self._watchers[name]:
                del self._watchers[name]
                self._signs.pop(name, None)

    async def poll(self) -> None:
        """Look at what others write, as long as somebody watches."""
        while not self.stopping.is_set():
            await asyncio.sleep(POLL)
            for name in [*self._watchers]:
                try:
                    await self._tell(name, await self.shelf.sign(name))
                except (ProbewiseError, Busy, Fault):  # the next reader is told
                    continue

    def stop(self) -> None:
        """Tell those who watch that the server ends."""
        self.stopping.set()
        for queues in self._watchers.values():
            for queue in queues:
                queue.put_nowait("stopping")
