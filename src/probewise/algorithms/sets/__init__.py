"""Algorithms for the best of sets that are never listed."""

from probewise.algorithms.sets.clucb import CLUCB
from probewise.algorithms.sets.disagreement import Disagreement
from probewise.algorithms.sets.sage_sets import SageSets

__all__ = ["CLUCB", "Disagreement", "SageSets"]
