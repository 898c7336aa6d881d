"""Models with a link, for algorithms: estimates, distances, and what the problem looks like close to an estimate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from probewise.algorithms.glm.steps import LEAST
from probewise.coordinates import Array
from probewise.errors import InvalidAlgorithm, InvalidProblem
from probewise.likelihood import RIDGE, Fit, fitted
from probewise.measurements import Measurements
from probewise.outcomes import CanonicalLaw, Gaussian
from probewise.problem import Problem


def canonical(problem: Problem, user: str) -> CanonicalLaw:
    """The law of the outcomes, if it has a link; the probes must span all features."""
    law = problem.outcome
    if not isinstance(law, CanonicalLaw):
        raise InvalidAlgorithm(f"{user} is for outcomes with a link, such as Logistic(), got '{law.name}'.")
    if problem.coordinates.rank < problem.dimension:
        raise InvalidProblem(
            f"with a link, probes must span all {problem.dimension} features, but span {problem.coordinates.rank}; "
            "leave out features that depend on others."
        )
    return law


def penalty_of(problem: Problem) -> float:
    """What makes an estimate finite even if all outcomes of a probe are alike."""
    size = float((problem.probes**2).sum(axis=1).mean()) / problem.dimension
    return RIDGE * size + 0.5 * size


def estimate(problem: Problem, data: Measurements, start: Array | None = None) -> Fit:
    """The largest likelihood less a small penalty; the search begins at ``start`` (d,), or at 0."""
    law = problem.outcome
    assert isinstance(law, CanonicalLaw)
    return fitted(law, problem.probes, data, penalty=penalty_of(problem), start=start)


def gaps_and_errors(problem: Problem, fit: Fit, leader: int) -> tuple[Array, Array]:
    """(m,), (m,): how far each item is behind the leader, and the standard error of that, 1 for the leader itself."""
    rows = problem.items[leader] - problem.items
    errors = np.sqrt(np.maximum((rows @ np.linalg.inv(fit.information) * rows).sum(axis=1), 0.0))
    errors[leader] = 1.0
    return np.asarray(rows @ fit.theta), errors


def local(problem: Problem, fit: Fit) -> Problem:
    """The linear problem that it looks like at an estimate: a measurement tells b''(x'θ̂)."""
    law = problem.outcome
    assert isinstance(law, CanonicalLaw)
    told = law.information(problem.probes @ fit.theta)
    return replace(problem, outcome=Gaussian(1.0 / np.sqrt(np.maximum(told, LEAST * float(told.max())))))
