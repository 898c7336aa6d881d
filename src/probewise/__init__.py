"""probewise: find the best item with few measurements."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "Problem": "problem",
    "Model": "model",
    "Role": "model",
    "space": "model.space",
    "Space": "model",
    "Shards": "shards",
    "items_from_parquet": "shards",
    "items_in_shards": "shards",
    "GOALS": "goals",
    "Goal": "goals",
    "Answer": "goals",
    "Claims": "goals",
    "BestCombination": "goals",
    "BestItem": "goals",
    "TopM": "goals",
    "BestSet": "goals.best_set",
    "Oracle": "oracles",
    "Subsets": "oracles",
    "Assignments": "oracles",
    "Matchings": "oracles",
    "Paths": "oracles",
    "SpanningTrees": "oracles",
    "Above": "goals",
    "BetterThan": "goals",
    "OUTCOMES": "outcomes",
    "Law": "outcomes",
    "Bounded": "outcomes",
    "Logistic": "outcomes",
    "Poisson": "outcomes",
    "PoissonLog": "outcomes",
    "Gaussian": "outcomes",
    "pairs": "design",
    "star": "design",
    "points": "design",
    "explicit": "design",
    "optimal_design": "design",
    "reduce_support": "design",
    "Design": "design",
    "round_design": "rounding",
    "sufficient_measurements": "rounding",
    "proved_inflation": "rounding",
    "Allocation": "rounding",
    "Measurements": "measurements",
    "least_squares": "estimate",
    "ridge": "estimate",
    "Estimate": "estimate",
    "Pooled": "pooling",
    "KernelFeatures": "kernels",
    "kernel_features": "kernels",
    "RobustEstimates": "robust",
    "robust_values": "robust",
    "hardness": "theory",
    "Hardness": "theory",
    "gauge": "theory",
    "rho_bounds": "theory",
    "rage_bound": "theory",
    "ALGORITHMS": "algorithms",
    "SET_ALGORITHMS": "algorithms",
    "CLUCB": "algorithms",
    "Disagreement": "algorithms",
    "CombGame": "algorithms",
    "PeaceSets": "algorithms",
    "SageSets": "algorithms",
    "GLM_ALGORITHMS": "algorithms",
    "SageGLM": "algorithms",
    "GLGapE": "algorithms",
    "RageGLM": "algorithms",
    "Algorithm": "algorithms",
    "Forecast": "algorithms",
    "Standing": "algorithms",
    "Batched": "algorithms",
    "BestGuess": "algorithms",
    "ALBA": "algorithms",
    "ExploreVerify": "algorithms",
    "FWS": "algorithms",
    "LazyTrackAndStop": "algorithms",
    "LinGame": "algorithms",
    "GSE": "algorithms",
    "PEPS": "algorithms",
    "LinGIFA": "algorithms",
    "MELK": "algorithms",
    "ODLinBAI": "algorithms",
    "P1Rage": "algorithms",
    "Peace": "algorithms",
    "PeaceBudget": "algorithms",
    "XYHalving": "algorithms",
    "LinGapE": "algorithms",
    "MLinGapE": "algorithms",
    "Rage": "algorithms",
    "Sage": "algorithms",
    "TopTwo": "algorithms",
    "XYStatic": "algorithms",
    "XYOracle": "algorithms",
    "XYAdaptive": "algorithms",
    "GStatic": "algorithms",
    "Uniform": "algorithms",
    "identify": "run",
    "Result": "result",
    "LinearEnvironment": "simulation",
    "simulate": "simulation",
    "Runs": "simulation",
    "Campaign": "campaign",
    "ProbewiseError": "errors",
    "InvalidProblem": "errors",
    "InvalidGoal": "errors",
    "InvalidDesign": "errors",
    "InvalidMeasurements": "errors",
    "NotIdentifiable": "errors",
    "OutOfStock": "errors",
    "MissingExtra": "errors",
    "InvalidAlgorithm": "errors",
    "InvalidExtension": "errors",
    "InvalidTable": "errors",
    "InvalidCampaign": "errors",
    "InvalidRows": "errors",
    "InvalidServer": "errors",
    "RepeatedRequest": "errors",
    "RoundTooLarge": "errors",
    "StorageConflict": "errors",
    "StorageUnavailable": "errors",
    "TornJournal": "errors",
    "WorkerLost": "errors",
    "DataUnavailable": "errors",
}
"""Public name -> module that defines it; loaded when used, so that importing the package costs nothing."""
_MODULES = ("instances", "data")

__all__ = ["__version__", *_WHERE, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"probewise.{name}")
    if name in _WHERE:
        value = getattr(import_module(f"probewise.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'probewise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from probewise import data as data
    from probewise import instances as instances
    from probewise.algorithms import ALBA as ALBA
    from probewise.algorithms import ALGORITHMS as ALGORITHMS
    from probewise.algorithms import CLUCB as CLUCB
    from probewise.algorithms import FWS as FWS
    from probewise.algorithms import GLM_ALGORITHMS as GLM_ALGORITHMS
    from probewise.algorithms import GSE as GSE
    from probewise.algorithms import MELK as MELK
    from probewise.algorithms import PEPS as PEPS
    from probewise.algorithms import SET_ALGORITHMS as SET_ALGORITHMS
    from probewise.algorithms import Algorithm as Algorithm
    from probewise.algorithms import Batched as Batched
    from probewise.algorithms import BestGuess as BestGuess
    from probewise.algorithms import CombGame as CombGame
    from probewise.algorithms import Disagreement as Disagreement
    from probewise.algorithms import ExploreVerify as ExploreVerify
    from probewise.algorithms import Forecast as Forecast
    from probewise.algorithms import GLGapE as GLGapE
    from probewise.algorithms import GStatic as GStatic
    from probewise.algorithms import LazyTrackAndStop as LazyTrackAndStop
    from probewise.algorithms import LinGame as LinGame
    from probewise.algorithms import LinGapE as LinGapE
    from probewise.algorithms import LinGIFA as LinGIFA
    from probewise.algorithms import MLinGapE as MLinGapE
    from probewise.algorithms import ODLinBAI as ODLinBAI
    from probewise.algorithms import P1Rage as P1Rage
    from probewise.algorithms import Peace as Peace
    from probewise.algorithms import PeaceBudget as PeaceBudget
    from probewise.algorithms import PeaceSets as PeaceSets
    from probewise.algorithms import Rage as Rage
    from probewise.algorithms import RageGLM as RageGLM
    from probewise.algorithms import Sage as Sage
    from probewise.algorithms import SageGLM as SageGLM
    from probewise.algorithms import SageSets as SageSets
    from probewise.algorithms import Standing as Standing
    from probewise.algorithms import TopTwo as TopTwo
    from probewise.algorithms import Uniform as Uniform
    from probewise.algorithms import XYAdaptive as XYAdaptive
    from probewise.algorithms import XYHalving as XYHalving
    from probewise.algorithms import XYOracle as XYOracle
    from probewise.algorithms import XYStatic as XYStatic
    from probewise.campaign import Campaign as Campaign
    from probewise.design import Design as Design
    from probewise.design import explicit as explicit
    from probewise.design import optimal_design as optimal_design
    from probewise.design import pairs as pairs
    from probewise.design import points as points
    from probewise.design import reduce_support as reduce_support
    from probewise.design import star as star
    from probewise.errors import DataUnavailable as DataUnavailable
    from probewise.errors import InvalidAlgorithm as InvalidAlgorithm
    from probewise.errors import InvalidCampaign as InvalidCampaign
    from probewise.errors import InvalidDesign as InvalidDesign
    from probewise.errors import InvalidExtension as InvalidExtension
    from probewise.errors import InvalidGoal as InvalidGoal
    from probewise.errors import InvalidMeasurements as InvalidMeasurements
    from probewise.errors import InvalidProblem as InvalidProblem
    from probewise.errors import InvalidRows as InvalidRows
    from probewise.errors import InvalidServer as InvalidServer
    from probewise.errors import InvalidTable as InvalidTable
    from probewise.errors import MissingExtra as MissingExtra
    from probewise.errors import NotIdentifiable as NotIdentifiable
    from probewise.errors import OutOfStock as OutOfStock
    from probewise.errors import ProbewiseError as ProbewiseError
    from probewise.errors import RepeatedRequest as RepeatedRequest
    from probewise.errors import RoundTooLarge as RoundTooLarge
    from probewise.errors import StorageConflict as StorageConflict
    from probewise.errors import StorageUnavailable as StorageUnavailable
    from probewise.errors import TornJournal as TornJournal
    from probewise.errors import WorkerLost as WorkerLost
    from probewise.estimate import Estimate as Estimate
    from probewise.estimate import least_squares as least_squares
    from probewise.estimate import ridge as ridge
    from probewise.goals import GOALS as GOALS
    from probewise.goals import Above as Above
    from probewise.goals import Answer as Answer
    from probewise.goals import BestCombination as BestCombination
    from probewise.goals import BestItem as BestItem
    from probewise.goals import BetterThan as BetterThan
    from probewise.goals import Claims as Claims
    from probewise.goals import Goal as Goal
    from probewise.goals import TopM as TopM
    from probewise.goals.best_set import BestSet as BestSet
    from probewise.kernels import KernelFeatures as KernelFeatures
    from probewise.kernels import kernel_features as kernel_features
    from probewise.measurements import Measurements as Measurements
    from probewise.model import Model as Model
    from probewise.model import Role as Role
    from probewise.model import Space as Space
    from probewise.model.space import space as space
    from probewise.oracles import Assignments as Assignments
    from probewise.oracles import Matchings as Matchings
    from probewise.oracles import Oracle as Oracle
    from probewise.oracles import Paths as Paths
    from probewise.oracles import SpanningTrees as SpanningTrees
    from probewise.oracles import Subsets as Subsets
    from probewise.outcomes import OUTCOMES as OUTCOMES
    from probewise.outcomes import Bounded as Bounded
    from probewise.outcomes import Gaussian as Gaussian
    from probewise.outcomes import Law as Law
    from probewise.outcomes import Logistic as Logistic
    from probewise.outcomes import Poisson as Poisson
    from probewise.outcomes import PoissonLog as PoissonLog
    from probewise.pooling import Pooled as Pooled
    from probewise.problem import Problem as Problem
    from probewise.result import Result as Result
    from probewise.robust import RobustEstimates as RobustEstimates
    from probewise.robust import robust_values as robust_values
    from probewise.rounding import Allocation as Allocation
    from probewise.rounding import proved_inflation as proved_inflation
    from probewise.rounding import round_design as round_design
    from probewise.rounding import sufficient_measurements as sufficient_measurements
    from probewise.run import identify as identify
    from probewise.shards import Shards as Shards
    from probewise.shards import items_from_parquet as items_from_parquet
    from probewise.shards import items_in_shards as items_in_shards
    from probewise.simulation import LinearEnvironment as LinearEnvironment
    from probewise.simulation import Runs as Runs
    from probewise.simulation import simulate as simulate
    from probewise.theory import Hardness as Hardness
    from probewise.theory import gauge as gauge
    from probewise.theory import hardness as hardness
    from probewise.theory import rage_bound as rage_bound
    from probewise.theory import rho_bounds as rho_bounds
