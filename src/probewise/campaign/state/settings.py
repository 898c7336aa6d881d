"""Settings: algorithms, goals and laws of outcomes to and from JSON, by their names and the fields of their classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from probewise.algorithms import ALGORITHMS, Algorithm, algorithm_named
from probewise.campaign.journal.bodies import NUMBER, several
from probewise.confidence import THRESHOLDS, Threshold
from probewise.design import digest
from probewise.errors import InvalidCampaign, ProbewiseError
from probewise.goals import GOALS, Goal, goal_named
from probewise.outcomes import OUTCOMES, Law, law_named

T = TypeVar("T")
Part = Algorithm[Any] | Goal | Law
"""What a charter keeps by its name and its settings."""
Find = Callable[[str], "type[Part] | None"]

KINDS: tuple[tuple[type, str, Find, Sequence[str]], ...] = (
    (Algorithm, "algorithm", algorithm_named, tuple(ALGORITHMS)),
    (Goal, "goal", goal_named, tuple(GOALS)),
    (Law, "law of outcomes", law_named, tuple(OUTCOMES)),
)
"""Class, what it is called, how one is found by its name, and the names that this package has."""


def to_json(part: Part) -> dict[str, Any]:
    """Name and settings; what could not be read back is refused."""
    own = next(kind for kind in KINDS if isinstance(part, kind[0]))
    out = {"name": part.name, "settings": {f.name: _encoded(getattr(part, f.name)) for f in fields(part)}}  # type: ignore[arg-type]
    if type(part) is not own[2](part.name) or digest(from_json(out, own[0])) != digest(part):
        article = "an" if own[1][0] == "a" else "a"
        raise InvalidCampaign(
            f"a campaign needs {article} {own[1]} that it can read back from its file, one of {', '.join(own[3])} "
            f"or of a package that adds it by an entry point; got {part!r}."
        )
    return out


def from_json(data: Mapping[str, Any], kind: type[T]) -> T:
    """What ``to_json`` wrote, of one of the three kinds."""
    _, what, find, _ = next(row for row in KINDS if row[0] is kind)
    try:
        own = find(data["name"])
        if own is None:
            raise KeyError(data["name"])
        before = own.before if issubclass(own, Algorithm | Law) else {}
        part: T = own(**{**before, **_settings(own, data["settings"])})  # type: ignore[assignment]
        return part
    except ProbewiseError:
        raise
    except (KeyError, NameError, TypeError, ValueError) as error:
        raise InvalidCampaign(
            f"this version of probewise does not know the {what} {data['name']!a:.40} with settings "
            f"{', '.join(data['settings'])!a:.200} ({error!s:.200}); install the version, or the "
            "package, that created the campaign."
        ) from None


def _settings(own: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they were; each must be of the type that its field declares."""
    hints = _hints(own)
    out = {name: _decoded(value) for name, value in given.items()}
    for name, value in out.items():
        if not fits(value, hints[name]):
            raise ValueError(f"{name} cannot be {value!a:.40}")
    return out


_hints = lru_cache(maxsize=64)(get_type_hints)


def fits(value: Any, hint: Any) -> bool:
    """Whether a setting is of a type: a number, a flag, one of some words, an object, or else a list of numbers."""
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if hint is ArrayLike:
        return NUMBER.fits(value) or several(NUMBER).fits(value)
    if get_origin(hint) is Algorithm:
        return isinstance(value, Algorithm)
    if get_origin(hint) in (UnionType, Union):
        return any(fits(value, part) for part in get_args(hint))
    if hint is float:
        return NUMBER.fits(value) or (type(value) is float and math.isinf(value))
    return type(value) is int and -(2**63) <= value < 2**63 if hint is int else isinstance(value, hint)


def _encoded(value: Any) -> Any:
    """A setting as JSON: thresholds by name, arrays as lists, infinite numbers as text."""
    if isinstance(value, Algorithm):
        return {"algorithm": to_json(value)}
    if isinstance(value, Threshold):
        return {"threshold": value.name, **{own.name: getattr(value, own.name) for own in fields(value)}}  # type: ignore[arg-type]
    if isinstance(value, np.ndarray | np.generic):
        return _encoded(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return list(value) if isinstance(value, tuple) else value


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "algorithm" in value:
        return from_json(value["algorithm"], Algorithm)  # type: ignore[type-abstract]
    own = THRESHOLDS[value["threshold"]]
    return own(**_settings(own, {name: part for name, part in value.items() if name != "threshold"}))
