"""Threads of linear algebra: one where matrices are small, and afterwards as many as the user had set."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

MANY = 4000
"""Rows of square matrices from which more threads may pay: as fast as one at 2,400, below they mostly wait."""


class _Block:
    """A block, or a function, with a wish; blocks may be nested, and overlap in several threads of Python.

    What was set is found by the first block and set again by the last, unless somebody else has changed it meanwhile.
    """

    def __init__(self, wish: str) -> None:
        self._wish = wish

    def __enter__(self) -> None:
        _change(self._wish, 1)

    def __exit__(self, *_: object) -> None:
        _change(self._wish, -1)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """The function, in such a block."""

        @wraps(function)
        def within(*args: P.args, **kwargs: P.kwargs) -> T:
            _change(self._wish, 1)
            try:
                return function(*args, **kwargs)
            finally:
                _change(self._wish, -1)

        return within


few = _Block("few")
"""One thread, except where ``many`` is in force."""
one = _Block("one")
"""One thread whatever is done: sums then come in the same order on every machine."""
_many = _Block("many")


def many(rows: int) -> AbstractContextManager[None]:
    """Within ``few``, for matrices with so many rows and columns: as many threads as the user had set, if that pays."""
    return _many if rows >= MANY else nullcontext()


def side_by_side(work: Callable[[S], T], parts: Sequence[S]) -> list[T]:
    """Results of parts of a work, in their order: on as many threads of Python as the user lets linear algebra use.

    Each of them uses one thread of linear algebra, so that no result depends on how many there are.
    """
    alone = few(work)
    if (number := min(_allowed(), len(parts))) < 2:
        return [alone(part) for part in parts]
    from concurrent.futures import ThreadPoolExecutor  # needed by few

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(alone, parts))


class _Setting:
    """The blocks in force for some libraries, and what these were set to before."""

    def __init__(self) -> None:
        self._wishes = {"few": 0, "one": 0, "many": 0}
        self._found: list[int] = []  # empty while nothing is limited

    def allowed(self, libraries: list[Any]) -> int:
        """Threads that were set before any block, unless one is wished for whatever is done."""
        if self._wishes["one"] > 0:
            return 1
        return max(self._found or [library.get_num_threads() for library in libraries], default=1)

    def change(self, libraries: list[Any], wish: str, step: int) -> None:
        """One block more or less, and what follows from it."""
        self._wishes[wish] += step
        limited = self._wishes["one"] > 0 or (self._wishes["few"] > 0 and self._wishes["many"] == 0)
        if limited and not self._found:
            self._found = [library.get_num_threads() for library in libraries]
            for library, found in zip(libraries, self._found, strict=True):
                if found > 1:
                    _set(library, 1)
        elif not limited and self._found:
            for library, found in zip(libraries, self._found, strict=True):
                if found > 1 and library.get_num_threads() == 1:
                    _set(library, found)
            self._found = []


class _Own(threading.local):
    """A setting for each thread of Python."""

    def __init__(self) -> None:
        self.setting = _Setting()


_lock = threading.Lock()
_shared, _own = _Setting(), _Own()


def _change(wish: str, step: int) -> None:
    shared, own = _libraries()
    with _lock:
        _shared.change(shared, wish, step)
    if own:
        _own.setting.change(own, wish, step)


def _allowed() -> int:
    shared, own = _libraries()
    with _lock:
        return max(_shared.allowed(shared), _own.setting.allowed(own))


def _set(library: Any, number: int) -> None:
    """Set a number, and let other threads of Python set one, too: threadpoolctl keeps that to the first that did."""
    library.set_num_threads(number)
    if release := getattr(library, "clear_controlling_thread", None):
        release()


@cache
def _libraries() -> tuple[list[Any], list[Any]]:
    """Those with one number for the process, and those with a number for each thread of Python: OpenBLAS on OpenMP.

    numpy and scipy may have one each; there is none where threads cannot be set.
    """
    import scipy.linalg  # noqa: F401  so that its library is there to be found
    from threadpoolctl import ThreadpoolController

    shared: list[Any] = []
    own: list[Any] = []
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        about = library.info()
        each = (about["internal_api"], about.get("threading_layer")) == ("openblas", "openmp")
        (own if each else shared).append(library)
    return shared, own
