"""Optimal designs: criterion, certificate, solvers, and the function that joins them."""

from probewise.design.certificate import Certificate, Witness, certify, lower_bound
from probewise.design.criterion import Directions, Pairs, Vectors, largest_variance
from probewise.design.memory import digest, remembering
from probewise.design.sets import explicit, pairs, points, spokes, star
from probewise.design.solve import Design, optimal_design, recertified
from probewise.design.support import reduce_support
from probewise.design.within import PairsWithin, pairs_within

__all__ = [
    "Certificate",
    "Design",
    "Directions",
    "Pairs",
    "PairsWithin",
    "Vectors",
    "Witness",
    "certify",
    "digest",
    "explicit",
    "largest_variance",
    "lower_bound",
    "optimal_design",
    "pairs",
    "pairs_within",
    "points",
    "recertified",
    "reduce_support",
    "remembering",
    "spokes",
    "star",
]
