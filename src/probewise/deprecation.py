"""Deprecations: what will go, since when, with which version, and what to use instead."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def deprecated(*, since: str, removed_in: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Warn whoever calls a function or method, and say so in its docstring; docs/deprecation.md has the policy."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        sentence = (
            f"{function.__qualname__} is deprecated since probewise {since} and goes with {removed_in}; use {instead}."
        )

        @functools.wraps(function)
        def warn(*args: P.args, **kwargs: P.kwargs) -> R:
            warnings.warn(sentence, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        warn.__doc__ = "\n\n".join(text for text in (function.__doc__, sentence) if text)
        return warn

    return mark
