"""Contracts for algorithms, goals, laws of outcomes, families of sets, solvers and storages of one's own."""

from probewise.testing.algorithms import CHECKS, check_algorithm, check_scale, informed
from probewise.testing.goals import check_goal
from probewise.testing.outcomes import check_outcome
from probewise.testing.sets import check_oracle, check_set_algorithm
from probewise.testing.solvers import check_solver
from probewise.testing.storage import check_storage

__all__ = [
    "CHECKS",
    "check_algorithm",
    "check_goal",
    "check_oracle",
    "check_outcome",
    "check_scale",
    "check_set_algorithm",
    "check_solver",
    "check_storage",
    "informed",
]
