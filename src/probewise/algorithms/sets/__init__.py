"""Algorithms for the best of sets that are never listed."""

from probewise.algorithms.sets.clucb import CLUCB
from probewise.algorithms.sets.comb_game import CombGame
from probewise.algorithms.sets.disagreement import Disagreement
from probewise.algorithms.sets.peace_sets import PeaceSets
from probewise.algorithms.sets.sage_sets import SageSets

__all__ = ["CLUCB", "CombGame", "Disagreement", "PeaceSets", "SageSets"]
