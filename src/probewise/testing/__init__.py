"""Contracts that an algorithm, a goal, a law, a solver or a storage of one's own can be checked against."""

from probewise.testing.algorithms import CHECKS, check_algorithm, check_scale, informed
from probewise.testing.goals import check_goal
from probewise.testing.outcomes import check_outcome
from probewise.testing.solvers import check_solver
from probewise.testing.storage import check_storage

__all__ = [
    "CHECKS",
    "check_algorithm",
    "check_goal",
    "check_outcome",
    "check_scale",
    "check_solver",
    "check_storage",
    "informed",
]
