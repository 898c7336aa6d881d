"""Contracts that an algorithm or a solver of one's own can be checked against."""

from probewise.testing.algorithms import CHECKS, check_algorithm, check_scale, informed
from probewise.testing.solvers import check_solver

__all__ = ["CHECKS", "check_algorithm", "check_scale", "check_solver", "informed"]
