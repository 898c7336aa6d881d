"""Simulation: environments with a known θ, and many runs of an algorithm on them."""

from probewise.simulation.environment import NOISES, LinearEnvironment

__all__ = ["NOISES", "LinearEnvironment"]
