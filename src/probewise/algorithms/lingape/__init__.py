"""LinGapE: one algorithm, with its designs for the comparison of two items."""

from probewise.algorithms.lingape.lingape import LinGapE

__all__ = ["LinGapE"]
