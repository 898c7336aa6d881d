"""Simulation: environments with a known θ, and many runs of an algorithm on them."""

from probewise.simulation.engine import Trial, repeat, simulate
from probewise.simulation.environment import NOISES, LinearEnvironment
from probewise.simulation.table import Rate, Runs, exact_rate

__all__ = ["NOISES", "LinearEnvironment", "Rate", "Runs", "Trial", "exact_rate", "repeat", "simulate"]
