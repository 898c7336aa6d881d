"""Oracles: families of sets that are never listed, each with a way to find its best set for any weights."""

from __future__ import annotations

from probewise.oracles.assignments import Assignments
from probewise.oracles.base import Members, Oracle
from probewise.oracles.matchings import Matchings
from probewise.oracles.paths import Paths
from probewise.oracles.subsets import Subsets
from probewise.oracles.trees import SpanningTrees

__all__ = ["Assignments", "Matchings", "Members", "Oracle", "Paths", "SpanningTrees", "Subsets"]
