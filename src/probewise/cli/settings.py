"""Objects by name and settings, as options take them: NAME[,KEY=VALUE…]."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import probewise as pw

T = TypeVar("T")


def made(
    text: str,
    find: Callable[[str], type[T] | None],
    names: list[str],
    what: str,
    error: type[pw.ProbewiseError],
    **known: Any,
) -> T:
    """The object that a text names; what is ``known`` is given to those that have such a setting and lack it."""
    name, *parts = (part.strip() for part in text.split(","))
    kind = find(name)
    if kind is None:
        raise error(f"there is no {what} '{name}'; they are {', '.join(names)}.")
    # thresholds and other algorithms are objects, which a text cannot name
    kinds = {own.name: str(own.type) for own in fields(kind)}  # type: ignore[arg-type]
    own = {key: value for key, value in kinds.items() if "Threshold" not in value and "Algorithm" not in value}
    values: dict[str, Any] = {}
    for part in parts:
        key, sign, value = part.partition("=")
        if not sign or key not in own:
            raise error(f"'{part}' is not a setting of {name}; those are {', '.join(own) or 'none'}.")
        values[key] = _value(value)
        if not _fits(values[key], own[key]):
            raise error(f"{key} of {name} must be of the kind {own[key]}, got '{value}'.")
    for key, value in known.items():
        if key in own:
            values.setdefault(key, value)
    try:
        return kind(**values)
    except TypeError as fault:
        raise error(f"{name} cannot be made with {', '.join(parts) or 'no settings'}: {fault}.") from None


def _value(text: str) -> Any:
    """A number, true, false or null as JSON has them; anything else is text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _fits(value: Any, kind: str) -> bool:
    """Whether a value is of an annotated kind; the object itself judges text and the size of numbers."""
    if value is None:
        return "None" in kind
    if kind.startswith(("float", "int")):
        numeric = int if kind.startswith("int") else int | float
        return isinstance(value, numeric) and not isinstance(value, bool) and abs(value) <= 1e300
    return isinstance(value, bool) if kind == "bool" else True
