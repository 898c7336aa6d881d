"""Guesses: a model that may be wrong, what it predicts, and which measurements would improve its best guess.

Nothing here is proven; what is, is judged elsewhere from the same measurements. The modules are loaded when a budget is
planned.
"""

from probewise.guess.prediction import Prediction

__all__ = ["Prediction"]
