"""A worker: a process that does one task after the other and can be ended at any time; a journal survives that."""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import traceback
from typing import IO, Any

from probewise.errors import ProbewiseError

SIZE = struct.Struct(">I")
"""How the length of a message is written before it."""


def main() -> None:
    """Read a task from standard input, do it, write what came of it to standard output, until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when to end
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not end up between the messages
    from probewise.server.tasks.desk import Desk
    from probewise.server.tasks.table import TASKS

    desk = Desk()
    _send(sink, {"ready": os.getpid()})
    while head := source.read(SIZE.size):
        message = json.loads(source.read(SIZE.unpack(head)[0]))
        try:
            found = {"value": TASKS[message["task"]](desk, **message["arguments"])}
        except ProbewiseError as error:
            found = {"error": str(error), "kind": type(error).__name__}
        except MemoryError:
            found = {"error": "this needs more memory than the server may use.", "kind": "InvalidServer"}
        except Exception as error:
            sys.stderr.write("".join(traceback.format_exception(error)))
            sys.stderr.flush()
            found = {"error": "something went wrong here, and it was noted; nothing is lost.", "kind": "Fault"}
        _send(sink, found)


def _send(sink: IO[bytes], message: dict[str, Any]) -> None:
    data = json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8", errors="replace")
    sink.write(SIZE.pack(len(data)) + data)
    sink.flush()


if __name__ == "__main__":
    main()
