"""Algorithms under one interface, and the registry: a new one is one line here, or an entry point elsewhere."""

from __future__ import annotations

from typing import Any

from probewise.algorithms.alba import ALBA
from probewise.algorithms.base import Algorithm, Forecast, Standing
from probewise.algorithms.batched import Batched
from probewise.algorithms.explore_verify import ExploreVerify
from probewise.algorithms.lingape import LinGapE
from probewise.algorithms.rage import Rage
from probewise.algorithms.sage import Sage
from probewise.algorithms.sequential import FWS, LazyTrackAndStop, LinGame, MLinGapE, TopTwo
from probewise.algorithms.static import GStatic, XYOracle, XYStatic
from probewise.algorithms.uniform import Uniform
from probewise.algorithms.xy_adaptive import XYAdaptive
from probewise.extensions import found_class

ALGORITHMS: dict[str, type[Algorithm[Any]]] = {
    "alba": ALBA,
    "explore-verify": ExploreVerify,
    "fws": FWS,
    "g-static": GStatic,
    "lazy-track-and-stop": LazyTrackAndStop,
    "lingame": LinGame,
    "lingape": LinGapE,
    "m-lingape": MLinGapE,
    "rage": Rage,
    "sage": Sage,
    "top-two": TopTwo,
    "uniform": Uniform,
    "xy-adaptive": XYAdaptive,
    "xy-oracle": XYOracle,
    "xy-static": XYStatic,
}
"""Every algorithm of the package by its name."""

EXTENSIONS = "probewise.algorithms"
"""The entry points by which other packages add theirs."""


def algorithm_named(name: str) -> type[Algorithm[Any]] | None:
    """The algorithm of that name, of the registry or of another package; None if there is none."""
    known = ALGORITHMS | {Batched.name: Batched}
    return found_class(known, EXTENSIONS, name, Algorithm)  # type: ignore[type-abstract]


__all__ = [
    "ALBA",
    "ALGORITHMS",
    "FWS",
    "Algorithm",
    "Batched",
    "ExploreVerify",
    "Forecast",
    "GStatic",
    "LazyTrackAndStop",
    "LinGame",
    "LinGapE",
    "MLinGapE",
    "Rage",
    "Sage",
    "Standing",
    "TopTwo",
    "Uniform",
    "XYAdaptive",
    "XYOracle",
    "XYStatic",
    "algorithm_named",
]
