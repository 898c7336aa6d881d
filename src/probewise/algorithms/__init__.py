"""Algorithms under one interface, and the registry: a new one is one line here."""

from __future__ import annotations

from typing import Any

from probewise.algorithms.alba import ALBA
from probewise.algorithms.base import Algorithm
from probewise.algorithms.rage import Rage
from probewise.algorithms.uniform import Uniform

ALGORITHMS: dict[str, type[Algorithm[Any]]] = {
    "alba": ALBA,
    "rage": Rage,
    "uniform": Uniform,
}
"""Name -> class."""

__all__ = ["ALBA", "ALGORITHMS", "Algorithm", "Rage", "Uniform"]
