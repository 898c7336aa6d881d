"""Recorded data for the stories of docs/stories.md (loaders, not copies), and the example of the quick start."""

from probewise.data.example import copy_example, example_path, fill_outcomes
from probewise.data.features import indicators, quadratic
from probewise.data.laboratory import Laboratory, recorded, redrawn
from probewise.data.published import SOURCES, arylation, barley, free_wilson, octane, suzuki

__all__ = [
    "SOURCES",
    "Laboratory",
    "arylation",
    "barley",
    "copy_example",
    "example_path",
    "fill_outcomes",
    "free_wilson",
    "indicators",
    "octane",
    "quadratic",
    "recorded",
    "redrawn",
    "suzuki",
]
