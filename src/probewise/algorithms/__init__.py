"""Algorithms under one interface, and the registry: a new one is one line here."""

from __future__ import annotations

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
]
