"""The algorithms of the figures, with the settings that the paper's experiments gave them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from probewise.algorithms import (
    ALBA,
    FWS,
    PEPS,
    Algorithm,
    ExploreVerify,
    GStatic,
    LazyTrackAndStop,
    LinGame,
    LinGapE,
    LinGIFA,
    MLinGapE,
    Rage,
    Sage,
    TopTwo,
    Uniform,
    XYAdaptive,
    XYOracle,
    XYStatic,
)
from probewise.algorithms.planning import Solver
from probewise.algorithms.rage import Variant
from probewise.confidence import PairsUnion
from probewise.coordinates import Array
from probewise.experiments.sweep import Make
from probewise.problem import Problem


def sage(problem: Problem, theta: Array) -> Algorithm[Any]:
    """The default of the package."""
    return Sage()


def rage(variant: Variant, *, rounding: float | None = None, solver: Solver = "certified") -> Make:
    """RAGE in one of its variants, with ε of the rounding."""
    return partial(_plain, Rage(variant, rounding, solver=solver))


def static(solver: Solver = "certified") -> Make:
    """XY-Static as the authors ran it; "frank-wolfe" is their solver, too slow for all pairs of many items."""
    return partial(_plain, XYStatic(variant="code", solver=solver))


def oracle(solver: Solver = "certified") -> Make:
    """XY-Oracle as the authors ran it, likewise."""
    return lambda problem, theta: XYOracle(theta, variant="code", solver=solver)


def best_oracle(problem: Problem, theta: Array) -> Algorithm[Any]:
    """XY-Oracle with the tightest stopping rule that is proved."""
    return XYOracle(theta)


def adaptive(problem: Problem, theta: Array) -> Algorithm[Any]:
    """XY-Adaptive as the authors ran it: the criterion to the letter, no reset, their union bound."""
    return XYAdaptive(threshold=PairsUnion(factor=np.pi**2 / 3))


def lingape(problem: Problem, theta: Array) -> Algorithm[Any]:
    """LinGapE by the ratio rule; the authors told it the norm of θ."""
    return LinGapE("ratio", norm_bound=float(np.linalg.norm(theta)))


def alba(problem: Problem, theta: Array) -> Algorithm[Any]:
    """ALBA with Y-ElimTil; the authors told it the norm of θ, which bounds x'θ for unit probes."""
    return ALBA("y", norm_bound=float(np.linalg.norm(theta)), variant="code")


def _plain(algorithm: Algorithm[Any], problem: Problem, theta: Array) -> Algorithm[Any]:
    return algorithm


PROVEN: dict[str, Make] = {
    "sage": partial(_plain, Sage(growth=1.5)),
    "sage-default": partial(_plain, Sage()),
    "sage-batches": partial(_plain, Sage(growth=1.3, max_batch=7, min_batch=3, max_replicates=4)),
    "sage-unknown-sigma": partial(_plain, Sage(growth=1.5)),
    "rage-tight": rage("tight"),
    "rage-code": rage("code"),
    "rage-paper": rage("paper"),
    "xy-static": partial(_plain, XYStatic(growth=2.0)),
    "g-static": partial(_plain, GStatic(growth=2.0)),
    "xy-oracle": lambda problem, theta: XYOracle(theta, growth=2.0),
    "xy-adaptive": partial(_plain, XYAdaptive()),
    "explore-verify": partial(_plain, ExploreVerify()),
    "explore-verify-rage": partial(_plain, ExploreVerify("rage")),
    "lingape-ratio": partial(_plain, LinGapE("ratio")),
    "lingape-greedy": partial(_plain, LinGapE("greedy")),
    "lingape-ridge": lingape,
    "lingame": partial(_plain, LinGame()),
    "lingame-c": partial(_plain, LinGame(learners="pairs")),
    "fws": partial(_plain, FWS()),
    "fws-elimination": partial(_plain, FWS(elimination="both")),
    "lazy-track-and-stop": partial(_plain, LazyTrackAndStop()),
    "top-two": partial(_plain, TopTwo(leader="estimate")),
    "m-lingape": partial(_plain, MLinGapE()),
    "lingifa": partial(_plain, LinGIFA()),
    "peps": partial(_plain, PEPS()),
    "alba-y": lambda problem, theta: ALBA("y", norm_bound=_bound(problem, theta)),
    "alba-x": lambda problem, theta: ALBA("x", norm_bound=_bound(problem, theta)),
    "uniform": partial(_plain, Uniform(growth=2.0)),
}
"""Every method with a proof, as the audit calls it; few checks leave most of δ to the one that decides."""
UNKNOWN_SIGMA = frozenset({"sage-unknown-sigma"})
"""Methods that are not told the noise, and are promised that it is Gaussian."""


def _bound(problem: Problem, theta: Array) -> float:
    """The least bound on |x'θ| that is true."""
    return float(np.abs(problem.probes @ theta).max())
