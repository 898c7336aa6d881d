"""Static designs: algorithms that keep one design and check a leader as their measurements grow."""

from probewise.algorithms.static.g_static import GStatic
from probewise.algorithms.static.xy_oracle import XYOracle
from probewise.algorithms.static.xy_static import XYStatic

__all__ = ["GStatic", "XYOracle", "XYStatic"]
