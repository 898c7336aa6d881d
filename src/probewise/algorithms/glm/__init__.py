"""Algorithms for outcomes whose mean is a curve of x'θ."""

from probewise.algorithms.glm.glgape import GLGapE
from probewise.algorithms.glm.rage_glm import RageGLM
from probewise.algorithms.glm.sage_glm import SageGLM

__all__ = ["GLGapE", "RageGLM", "SageGLM"]
