"""Predictions: what a model that may be wrong says of the items, for those who read it."""

from __future__ import annotations

from dataclasses import dataclass

from probewise.coordinates import Array, Counts


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model that may be wrong predicts of the items: heuristic, unlike what is declared or attained."""

    item: int
    """The best guess."""
    mean: Array
    """(m,): predicted values of all items, in units of outcomes."""
    spread: Array
    """(m,): standard deviations of these."""
    low: float
    """The value of the best guess is in an interval with probability 90 %, if the model is right: its lower end,"""
    high: float
    """and its upper end."""
    gain: float
    """By how much one more batch is expected to improve the best guess, whether the budget has it or not."""
    noise: float
    """Standard deviation of a measurement, as the model sees it."""
    honest: float
    """At least 1: what spreads were multiplied by, so that measurements left out are predicted as well as is said."""
    measured: Counts
    """(m,): how often each item itself was measured."""
    left: int
    """Measurements that the budget leaves."""
    effects: str
    """What the model's effects are made of, in words."""
