"""Shapes of JSON: the part of JSON Schema that the interface needs, which documents and checks with the same words."""

from __future__ import annotations

import math
import re
from typing import Any

Shape = dict[str, Any]
"""A schema."""

_KINDS: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
    "null": type(None),
}  # fmt: skip
_WORDS = {"object": "an object", "array": "a list", "string": "text", "boolean": "true or false",
          "integer": "a whole number", "number": "a number", "null": "null"}  # fmt: skip


def fault(value: Any, shape: Shape, where: str = "the body") -> str | None:
    """What is wrong with a value, in a sentence without its end; None if it has the shape."""
    kinds = shape.get("type")
    if kinds is not None:
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if not any(_is(value, kind) for kind in kinds):
            return f"{where} must be {' or '.join(_WORDS[kind] for kind in kinds)}, got {_short(value)}"
    if "enum" in shape and value not in shape["enum"]:
        return f"{where} must be one of {', '.join(map(str, shape['enum']))}, got {_short(value)}"
    for check in (_number, _text, _list, _object):
        if (found := check(value, shape, where)) is not None:
            return found
    return None


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _KINDS[kind])


def _number(value: Any, shape: Shape, where: str) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return f"{where} must be a finite number"
    if "minimum" in shape and value < shape["minimum"]:
        return f"{where} must be at least {shape['minimum']}, got {_short(value)}"
    if "maximum" in shape and value > shape["maximum"]:
        return f"{where} must be at most {shape['maximum']}, got {_short(value)}"
    return None


def _text(value: Any, shape: Shape, where: str) -> str | None:
    if not isinstance(value, str):
        return None
    if not shape.get("minLength", 0) <= len(value) <= shape.get("maxLength", 10**9):
        return f"{where} must have {shape.get('minLength', 0)} to {shape.get('maxLength', 'any')} letters"
    if "pattern" in shape and re.search(shape["pattern"], value) is None:
        return f"{where} must be {shape.get('description', 'as documented')}, got {_short(value)}"
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"{where} holds half of a character, which is no text"
    return None


def _list(value: Any, shape: Shape, where: str) -> str | None:
    if not isinstance(value, list):
        return None
    if not shape.get("minItems", 0) <= len(value) <= shape.get("maxItems", 10**9):
        return (
            f"{where} must have {shape.get('minItems', 0)} to {shape.get('maxItems', 'any')} entries, got {len(value)}"
        )
    for at, entry in enumerate(value if "items" in shape else ()):
        if (found := fault(entry, shape["items"], f"{where}[{at}]")) is not None:
            return found
    return None


def _object(value: Any, shape: Shape, where: str) -> str | None:
    if not isinstance(value, dict):
        return None
    known, more = shape.get("properties", {}), shape.get("additionalProperties", True)
    if missing := [name for name in shape.get("required", ()) if name not in value]:
        return f"{where} lacks '{missing[0]}'"
    if len(value) > shape.get("maxProperties", 10**9):
        return f"{where} has more than {shape['maxProperties']} names"
    for name, entry in value.items():
        if name not in known and more is False:
            return f"{where} has no '{name:.40}'; it may have {', '.join(known)}"
        own = known.get(name, more if isinstance(more, dict) else {})
        try:
            name.encode()
        except UnicodeEncodeError:
            return f"a name in {where} holds half of a character"
        if (found := fault(entry, own, f"'{name:.40}'")) is not None:
            return found
    return None


def _short(value: Any) -> str:
    text = ascii(value) if not isinstance(value, dict | list) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."
