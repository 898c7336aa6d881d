"""Problems of each kind, all easy, so that a wrong answer is a fault and not bad luck."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from probewise.coordinates import Array
from probewise.problem import Problem

Case = tuple[Problem, Array]
"""A problem and its θ."""


def linear_bandit() -> Case:
    """Items that are the probes."""
    return Problem([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.6, 0.2]]), np.array([0.0, 1.0, -0.5])


def transductive() -> Case:
    """Items that cannot be measured themselves."""
    items = [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]
    return Problem(np.eye(3), items), np.array([-0.5, 0.5, 0.5])


def two_items() -> Case:
    """One comparison, by probes that do not point along it."""
    return Problem([[1.0, 0.2], [0.2, 1.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]), np.array([0.0, 1.0])


def many_items() -> Case:
    """More items than probes."""
    angles = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
    return Problem(np.eye(2), np.column_stack([np.cos(angles), np.sin(angles)])), np.array([0.0, 3.0])


def many_probes() -> Case:
    """More probes than items."""
    angles = np.linspace(0.0, np.pi, 15, endpoint=False)
    probes = np.column_stack([np.cos(angles), np.sin(angles)])
    return Problem(probes, [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([-1.0, 0.0])


def unequal_noise() -> Case:
    """A precise probe and a noisy one of each feature."""
    probes = np.vstack([np.eye(2), np.eye(2)])
    return Problem(probes, np.eye(2), sigma=[0.2, 2.0, 2.0, 0.2]), np.array([1.0, 0.0])


def unequal_costs() -> Case:
    """Cheap and dear probes."""
    problem, theta = linear_bandit()
    return Problem(problem.probes, cost=[1.0, 100.0, 1.0, 5.0]), theta


def only_differences() -> Case:
    """A feature that all items share and no probe has: only differences of items can be learned."""
    return Problem([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, 0.0, 7.0], [0.0, 1.0, 7.0]]), np.array([0.0, 1.0, 3.0])


EASY: tuple[Callable[[], Case], ...] = (
    linear_bandit,
    transductive,
    two_items,
    many_items,
    many_probes,
    unequal_noise,
    unequal_costs,
    only_differences,
)
