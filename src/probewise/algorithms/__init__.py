"""Algorithms under one interface, and the registry: a new one is one line here, or an entry point elsewhere."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

from probewise.algorithms.alba import ALBA
from probewise.algorithms.base import Algorithm, Forecast
from probewise.algorithms.explore_verify import ExploreVerify
from probewise.algorithms.lingape import LinGapE
from probewise.algorithms.rage import Rage
from probewise.algorithms.sage import Sage
from probewise.algorithms.static import GStatic, XYOracle, XYStatic
from probewise.algorithms.uniform import Uniform
from probewise.algorithms.xy_adaptive import XYAdaptive
from probewise.extensions import extension, fault

ALGORITHMS: dict[str, type[Algorithm[Any]]] = {
    "alba": ALBA,
    "explore-verify": ExploreVerify,
    "g-static": GStatic,
    "lingape": LinGapE,
    "rage": Rage,
    "sage": Sage,
    "uniform": Uniform,
    "xy-adaptive": XYAdaptive,
    "xy-oracle": XYOracle,
    "xy-static": XYStatic,
}
"""Name -> class."""

EXTENSIONS = "probewise.algorithms"
"""The entry points by which other packages add theirs."""


def algorithm_named(name: str) -> type[Algorithm[Any]] | None:
    """The algorithm of that name, of the registry or of another package; None if there is none."""
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    own = extension(EXTENSIONS, name)
    if own is None:
        return None
    fits = isinstance(own, type) and issubclass(own, Algorithm) and is_dataclass(own)
    if not fits:
        raise fault(EXTENSIONS, name, f"an algorithm is a dataclass derived from Algorithm, got {own!r:.80}")
    called = getattr(own, "name", None)
    if called != name:
        raise fault(EXTENSIONS, name, f"its class calls itself {called!r:.80}, and the names must agree")
    found: type[Algorithm[Any]] = own
    return found


__all__ = [
    "ALBA",
    "ALGORITHMS",
    "Algorithm",
    "ExploreVerify",
    "Forecast",
    "GStatic",
    "LinGapE",
    "Rage",
    "Sage",
    "Uniform",
    "XYAdaptive",
    "XYOracle",
    "XYStatic",
    "algorithm_named",
]
