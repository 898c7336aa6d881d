"""check_storage: what every storage of a journal promises, as checks that fail with a sentence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from probewise.campaign.journal.storage import Storage
from probewise.errors import ProbewiseError, StorageConflict
from probewise.testing.promises import expect

Open = Callable[[], Storage]
"""A new handle on one place, the same at every call, in which nothing is stored at first."""

WRITERS, EACH = 4, 5
"""Writers at once, and what each of them appends."""
TRIES = 1000
"""Appends in a row of which one must succeed."""


def check_storage(open_: Open) -> None:
    """Run every check on one empty place; AssertionError with a sentence at the first promise that is broken.

    ``open_`` gives a new handle on the same place each time, as another process would have.
    """
    expect(list(open_().read()) == [], "a place in which nothing is stored must read as no lines")
    begun = _begins_once(open_)
    stored = _keeps_lines(open_, begun)
    _refuses_what_comes_too_late(open_, stored)
    _lets_one_writer_think(open_, stored)
    _serves_many_writers(open_, stored)


def _begins_once(open_: Open) -> list[str]:
    """Several lines at once make a new journal, and never a second one in its place."""
    lines = ['{"first":1}', '{"second":2}']
    open_().begin(lines)
    expect(list(open_().read()) == lines, "what a journal was begun with must be read")
    try:
        open_().begin(['{"late":true}'])
    except ProbewiseError:
        pass
    else:
        raise AssertionError("begin must raise where something is stored.")
    expect(list(open_().read()) == lines, "a begin that was refused must change nothing")
    return lines


def _keeps_lines(open_: Open, begun: Sequence[str]) -> list[str]:
    """What was appended is read by every handle, to the character, from any number on."""
    more = ['{"plain":1}', '{"text":"Größe 10 µm \u2028 %s \\\\n \'\\""}', '{"long":"' + 1_000_000 * "x" + '"}']
    lines, first, second = [*begun, *more], open_(), open_()
    for number, line in list(enumerate(lines))[len(begun) :]:
        (first if number % 2 else second).append(line, after=number)
        expect(list(first.read(number)) == [line], f"line {number + 1} was not read as it was stored")
    for handle in (first, second, open_()):
        for after in range(len(lines) + 2):
            expect(list(handle.read(after)) == lines[after:], f"read({after}) must give the lines after that number")
    return lines


def _refuses_what_comes_too_late(open_: Open, stored: Sequence[str]) -> None:
    """A line whose number is taken, or is not the next one, is refused, and nothing changes."""
    for after in (0, len(stored) - 1, len(stored) + 1):
        try:
            open_().append('{"late":true}', after=after)
        except StorageConflict:
            pass
        else:
            raise AssertionError(f"append(after={after}) to {len(stored)} lines must raise StorageConflict.")
        expect(list(open_().read()) == list(stored), "an append that was refused must change nothing")


def _lets_one_writer_think(open_: Open, stored: list[str]) -> None:
    """A writer that fails while it thinks stores nothing; one that does not stores its line after what it read."""
    try:
        with open_().writing() as alone:
            alone.read()
            raise _Thought
    except _Thought:
        pass
    expect(list(open_().read()) == stored, "a writer that failed before its append must change nothing")
    with open_().writing() as alone:
        alone.append('{"thought":true}', after=len(alone.read()))
        expect(list(alone.read(len(stored))) == ['{"thought":true}'], "a writer must read what it stored")
    stored.append('{"thought":true}')
    expect(list(open_().read()) == stored, "what a writer stored must be read by all when it is done")


class _Thought(Exception):
    """What a writer fails with here."""


def _serves_many_writers(open_: Open, stored: Sequence[str]) -> None:
    """Writers at once, each reading again after a conflict: all lines are there once, and no reader sees them move."""
    faults: list[BaseException] = []
    seen: list[list[str]] = []
    busy = threading.Event()
    busy.set()

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                faults.append(error)

        return run

    def write(writer: int) -> None:
        handle = open_()
        for number in range(EACH):
            _append(handle, f'{{"writer":{writer},"number":{number}}}')

    def watch() -> None:
        handle = open_()
        while busy.is_set():
            seen.append(list(handle.read(len(stored))))

    writers = [threading.Thread(target=guarded(lambda i=i: write(i))) for i in range(WRITERS)]  # type: ignore[misc]
    reader = threading.Thread(target=guarded(watch))
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    busy.clear()
    reader.join()
    if faults:
        raise AssertionError(f"several writers and a reader at once must all succeed, got {faults[0]!r}.")
    lines = list(open_().read(len(stored)))
    wanted = {f'{{"writer":{w},"number":{n}}}' for w in range(WRITERS) for n in range(EACH)}
    expect(len(lines) == len(wanted) and set(lines) == wanted, "lines of several writers were lost or doubled")
    expect(all(view == lines[: len(view)] for view in seen), "a reader saw lines that were not there afterwards")


def _append(handle: Storage, line: str) -> None:
    for _ in range(TRIES):
        try:
            return handle.append(line, after=len(handle.read()))
        except StorageConflict:
            continue
    raise AssertionError(f"{TRIES} times in a row, an append after what was just read came too late.")
