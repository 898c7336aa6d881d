"""Algorithms for sets that are never listed, and their registry: a new one is one line here."""

from __future__ import annotations

from typing import Any

from probewise.algorithms.base import Algorithm
from probewise.algorithms.sets.clucb import CLUCB
from probewise.algorithms.sets.disagreement import Disagreement
from probewise.algorithms.sets.sage_sets import SageSets

SET_ALGORITHMS: dict[str, type[Algorithm[Any]]] = {
    "clucb": CLUCB,
    "disagreement": Disagreement,
    "sage-sets": SageSets,
}
"""Every algorithm for BestSet by its name."""

__all__ = ["CLUCB", "SET_ALGORITHMS", "Disagreement", "SageSets"]
