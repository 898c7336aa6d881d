"""Algorithms under one interface, and the registry: a new one is one line here, or an entry point elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probewise.algorithms.base import Algorithm, Forecast, Standing
from probewise.algorithms.batched import Batched
from probewise.algorithms.sage import Sage
from probewise.extensions import Registry, found_class

if TYPE_CHECKING:
    from probewise.algorithms.alba import ALBA
    from probewise.algorithms.best_guess import BestGuess
    from probewise.algorithms.budgeted import GSE, ODLinBAI, P1Rage, PeaceBudget, XYHalving
    from probewise.algorithms.explore_verify import ExploreVerify
    from probewise.algorithms.glm import GLGapE, RageGLM, SageGLM
    from probewise.algorithms.lingape import LinGapE
    from probewise.algorithms.melk import MELK
    from probewise.algorithms.peace import Peace
    from probewise.algorithms.rage import Rage
    from probewise.algorithms.sequential import FWS, PEPS, LazyTrackAndStop, LinGame, LinGIFA, MLinGapE, TopTwo
    from probewise.algorithms.sets import CLUCB, CombGame, Disagreement, PeaceSets, SageSets
    from probewise.algorithms.static import GStatic, XYOracle, XYStatic
    from probewise.algorithms.uniform import Uniform
    from probewise.algorithms.xy_adaptive import XYAdaptive

ALGORITHMS: Registry[Algorithm[Any]] = Registry(
    {
        "alba": "probewise.algorithms.alba.ALBA",
        "explore-verify": "probewise.algorithms.explore_verify.ExploreVerify",
        "fws": "probewise.algorithms.sequential.FWS",
        "g-static": "probewise.algorithms.static.GStatic",
        "gse": "probewise.algorithms.budgeted.GSE",
        "lazy-track-and-stop": "probewise.algorithms.sequential.LazyTrackAndStop",
        "lingame": "probewise.algorithms.sequential.LinGame",
        "lingape": "probewise.algorithms.lingape.LinGapE",
        "lingifa": "probewise.algorithms.sequential.LinGIFA",
        "m-lingape": "probewise.algorithms.sequential.MLinGapE",
        "melk": "probewise.algorithms.melk.MELK",
        "od-linbai": "probewise.algorithms.budgeted.ODLinBAI",
        "p1-rage": "probewise.algorithms.budgeted.P1Rage",
        "peace": "probewise.algorithms.peace.Peace",
        "peace-budget": "probewise.algorithms.budgeted.PeaceBudget",
        "peps": "probewise.algorithms.sequential.PEPS",
        "rage": "probewise.algorithms.rage.Rage",
        "sage": "probewise.algorithms.sage.Sage",
        "top-two": "probewise.algorithms.sequential.TopTwo",
        "uniform": "probewise.algorithms.uniform.Uniform",
        "xy-adaptive": "probewise.algorithms.xy_adaptive.XYAdaptive",
        "xy-halving": "probewise.algorithms.budgeted.XYHalving",
        "xy-oracle": "probewise.algorithms.static.XYOracle",
        "xy-static": "probewise.algorithms.static.XYStatic",
    }
)
"""Every algorithm of the package by its name, loaded when it is looked up."""

SET_ALGORITHMS: Registry[Algorithm[Any]] = Registry(
    {
        "clucb": "probewise.algorithms.sets.CLUCB",
        "comb-game": "probewise.algorithms.sets.CombGame",
        "disagreement": "probewise.algorithms.sets.Disagreement",
        "peace-sets": "probewise.algorithms.sets.PeaceSets",
        "sage-sets": "probewise.algorithms.sets.SageSets",
    }
)
"""Every algorithm for the question BestSet by its name."""

GLM_ALGORITHMS: Registry[Algorithm[Any]] = Registry(
    {
        "glgape": "probewise.algorithms.glm.GLGapE",
        "rage-glm": "probewise.algorithms.glm.RageGLM",
        "sage-glm": "probewise.algorithms.glm.SageGLM",
    }
)
"""Every algorithm for outcomes with a link, such as Logistic, by its name."""

EXTENSIONS = "probewise.algorithms"
"""The entry points by which other packages add theirs."""


def algorithm_named(name: str) -> type[Algorithm[Any]] | None:
    """The algorithm of that name, of the registry or of another package; None if there is none."""
    if name == Batched.name:
        return Batched
    if name == "best-guess":
        return __getattr__("BestGuess")  # type: ignore[no-any-return]
    return found_class(ALGORITHMS, EXTENSIONS, name, Algorithm)  # type: ignore[type-abstract]


def __getattr__(name: str) -> Any:
    if name == "BestGuess":  # not in the registry, since it ends without an answer
        from probewise.algorithms.best_guess import BestGuess

        return BestGuess
    return Registry({**ALGORITHMS.places, **SET_ALGORITHMS.places, **GLM_ALGORITHMS.places}).called(name)


__all__ = [
    "ALBA",
    "ALGORITHMS",
    "CLUCB",
    "FWS",
    "GLM_ALGORITHMS",
    "GSE",
    "MELK",
    "PEPS",
    "SET_ALGORITHMS",
    "Algorithm",
    "Batched",
    "BestGuess",
    "CombGame",
    "Disagreement",
    "ExploreVerify",
    "Forecast",
    "GLGapE",
    "GStatic",
    "LazyTrackAndStop",
    "LinGIFA",
    "LinGame",
    "LinGapE",
    "MLinGapE",
    "ODLinBAI",
    "P1Rage",
    "Peace",
    "PeaceBudget",
    "PeaceSets",
    "Rage",
    "RageGLM",
    "Sage",
    "SageGLM",
    "SageSets",
    "Standing",
    "TopTwo",
    "Uniform",
    "XYAdaptive",
    "XYHalving",
    "XYOracle",
    "XYStatic",
    "algorithm_named",
]
