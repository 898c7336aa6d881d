"""Bodies: what each kind of record must hold, as data, checked whenever a record is read."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

_MOST = sys.float_info.max
_ID = re.compile(r"r[1-9]\d{0,8}-[1-9]\d{0,8}")


@dataclass(frozen=True)
class Shape:
    """What a value must be."""

    expected: str
    """What is expected, in words."""
    fits: Callable[[Any], bool]
    """Whether a value is as expected."""


def _parses(parse: Callable[[str], object], value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(parse(value))
    except ValueError:
        return False


TEXT = Shape("text", lambda value: type(value) is str)
FLAG = Shape("true or false", lambda value: type(value) is bool)
NUMBER = Shape("a finite number", lambda value: type(value) in (int, float) and -_MOST <= value <= _MOST)
COUNT = Shape("a whole number from 0 to 2⁶³-1", lambda value: type(value) is int and 0 <= value < 2**63)
POSITIVE = Shape("a whole number of at least 1", lambda value: COUNT.fits(value) and value > 0)
STOCK = Shape("a whole number of at least 0", lambda value: type(value) is int and 0 <= value <= _MOST)
WHOLE = Shape("a whole number of at least 0", lambda value: type(value) is int and value >= 0)
CELL = Shape("text, a number or nothing", lambda value: value is None or type(value) in (str, bool, int, float))
ROW = Shape("the id of a row, such as r1-4", lambda value: type(value) is str and _ID.fullmatch(value) is not None)
DAY = Shape("a date", lambda value: _parses(date.fromisoformat, value))
TIME = Shape("a time", lambda value: _parses(datetime.fromisoformat, value))
NAMES = Shape("a list of text", lambda value: type(value) is list and all(map(TEXT.fits, value)))
KEY = Shape("1 to 200 signs without blanks", lambda value: _parses(re.compile("[!-~]{1,200}").fullmatch, value))
DIGEST = Shape("a digest", lambda value: _parses(re.compile("[0-9a-f]{64}").fullmatch, value))
JSON = Shape("a JSON object", lambda value: type(value) is dict)


def maybe(shape: Shape) -> Shape:
    """A value of this shape, or null."""
    return Shape(f"{shape.expected}, or null", lambda value: value is None or shape.fits(value))


def several(shape: Shape, *, count: int | None = None) -> Shape:
    """A list of so many of them, or of at least one."""
    return Shape(
        f"a list of {'at least 1' if count is None else count}, each {shape.expected}",
        lambda value: type(value) is list and 0 < len(value) == (count or len(value)) and all(map(shape.fits, value)),
    )


def table(shape: Shape) -> Shape:
    """An object that holds a value of this shape under each name."""
    return Shape(
        f"an object with {shape.expected} under each name",
        lambda value: type(value) is dict and all(map(shape.fits, value.values())),
    )


Fields = Mapping[str, "Shape | Fields"]
"""Name of a field -> what it must be; a name that ends in ? may be missing."""

_MATRIX = several(several(NUMBER))
_PAIR = Shape(
    "a name and a number", lambda v: type(v) is list and len(v) == 2 and TEXT.fits(v[0]) and NUMBER.fits(v[1])
)
_POWERS = Shape(
    "names and powers",
    lambda v: type(v) is list and all(_PAIR.fits(pair) and type(pair[1]) is int and 0 < pair[1] < 100 for pair in v),
)


def _word(word: str) -> Shape:
    """Exactly this word."""
    return Shape(word, lambda value: value == word)


_SEPARATOR = Shape("one sign", lambda value: type(value) is str and len(value) == 1)
_DECIMAL = Shape("a point, a comma or nothing", lambda value: value in (".", ",", ""))


def record(fields: Fields) -> Shape:
    """An object with these fields."""
    return Shape("an object with its fields", lambda value: fault(value, fields) is None)


_SCALE = Shape("a positive number", lambda value: NUMBER.fits(value) and value > 0)
_SHARE = Shape("a number between 0 and 1", lambda value: NUMBER.fits(value) and 0 < value < 1)
_SPREAD = Shape("a number of at least 0", lambda value: NUMBER.fits(value) and value >= 0)
_TALLIES = several(record({"n": POSITIVE, "scatter": maybe(_SPREAD)}))
_AGGREGATED = Shape("true, false or 'means'", lambda value: type(value) is bool or value == "means")
_NUMBER = record({"kind": _word("number"), "name": TEXT, "centre": NUMBER, "scale": _SCALE})
_FACTOR = record({"kind": _word("factor"), "name": TEXT, "levels": several(TEXT)})
_DERIVED = several(record({"name": TEXT, "constant": NUMBER, "shares": several(_PAIR), "slack": NUMBER}))
_MODEL: Fields = {
    "given": TEXT,
    "parts": several(Shape("a number or a factor", lambda value: _NUMBER.fits(value) or _FACTOR.fits(value))),
    "terms": several(_POWERS),
    "roles": several(record({"column": TEXT, "role": TEXT, "reason": TEXT})),
    "id_column": maybe(TEXT),
    "derived": Shape("a list of columns that follow from others", lambda value: value == [] or _DERIVED.fits(value)),
}
_FILE = record({"path": TEXT, "bytes": COUNT, "sha256": TEXT})
_PARQUET: Fields = {"files": several(_FILE), "columns": several(TEXT), "names": maybe(TEXT), "rows": POSITIVE}
BODIES: dict[str, Fields] = {
    "created": {
        "problem": {
            "probes": _MATRIX,
            "items?": _MATRIX,
            "parquet?": _PARQUET,
            "outcome?": {"name": TEXT, "settings": JSON},
            "sigma?": several(NUMBER),
            "sigma_known?": FLAG,
            "cost": several(NUMBER),
            "stock": several(maybe(STOCK)),
            "misfit?": several(NUMBER),
            "probe_names": several(TEXT),
            "item_names?": several(TEXT),
            "feature_names": several(TEXT),
            "model?": _MODEL,
            "blocks?": several(POSITIVE),
        },
        "goal": {"name?": TEXT, "settings?": JSON, "delta?": NUMBER, "epsilon?": NUMBER},
        "algorithm": {"name": TEXT, "settings": JSON},
        "seed": WHOLE,
        "outcome_range": several(maybe(NUMBER), count=2),
        "probe_columns": table(several(CELL)),
        "item_columns": table(several(CELL)),
        "amendments?": NUMBER,
        "dialect?": {"separator": _SEPARATOR, "decimal": _DECIMAL, "encoding": TEXT},
        "quantity?": {"name": TEXT, "unit": TEXT},
        "memo?": JSON,
        "aggregated?": _AGGREGATED,
        "weighted?": FLAG,
    },
    "asked": {
        "round": POSITIVE,
        "probes": several(COUNT),
        "counts?": several(POSITIVE),
        "key?": TEXT,
        "whole?": {"probes": several(COUNT), "counts": several(POSITIVE)},
        "begins": FLAG,
        "due": maybe(DAY),
        "confirms?": {
            "answer": NAMES,
            "front": maybe(TEXT),
            "behind": maybe(TEXT),
            "level": _SHARE,
            "scale": _SCALE,
        },
    },
    "recorded": {
        "rows": several(ROW),
        "outcomes": several(NUMBER),
        "tallies?": _TALLIES,
        "weights?": several(_SCALE),
        "notes?": table(table(CELL)),
    },
    "unplanned": {
        "round": POSITIVE,
        "probes": several(COUNT),
        "outcomes": several(NUMBER),
        "tallies?": _TALLIES,
        "weights?": several(_SCALE),
        "during?": maybe(POSITIVE),
    },
    "corrected": {"row": ROW, "outcome": NUMBER, "scatter?": maybe(_SPREAD), "weight?": _SCALE, "reason": TEXT},
    "voided": {"rows": several(ROW), "reason": TEXT},
    "closed": {"round": POSITIVE, "reason": TEXT},
    "stocked": {"probe": TEXT, "stock": maybe(STOCK), "reason": TEXT},
    "decided": {"item?": TEXT, "items?": NAMES, "round": COUNT},
    "withdrawn": {"item?": TEXT, "items?": NAMES, "reason": TEXT},
    "note": {"text": TEXT},
}
"""Kind of a record -> the fields of its body."""

ENVELOPE: Fields = {
    "seq": POSITIVE,
    "time": TIME,
    "author": TEXT,
    "version": TEXT,
    "form": POSITIVE,
    "request?": {"key": KEY, "digest": DIGEST},
    "kind": TEXT,
    "body": JSON,
}
"""The fields of every record."""


def fault(value: Any, fields: Fields, where: str = "") -> str | None:
    """What is wrong with a value, or None."""
    if type(value) is not dict:
        return f"{where or 'it'} must be a JSON object, got {_short(value)}"
    known = {name.removesuffix("?") for name in fields}
    if unknown := [name for name in value if name not in known]:
        return f"{where + ' ' if where else ''}has a field {_short(unknown[0])} that is not known"
    for name, shape in fields.items():
        own = f"{where}.{name.removesuffix('?')}" if where else name.removesuffix("?")
        if name.removesuffix("?") not in value:
            if name.endswith("?"):
                continue
            return f"'{own}' is missing"
        part = value[name.removesuffix("?")]
        if isinstance(shape, Shape):
            if not shape.fits(part):
                return f"'{own}' must be {shape.expected}, got {_short(part)}"
        elif found := fault(part, shape, own):
            return found
    return None


def _short(value: Any) -> str:
    """A value for a message."""
    try:
        text = ascii(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, or lists in lists
        return type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."
