"""FWS: Frank-Wolfe steps on the lower bound at the estimate, one for each measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from probewise.algorithms.sequential.sequential import Sequential, Step
from probewise.algorithms.sequential.steps import View, design_inverse, first_largest, maximin, squared
from probewise.coordinates import Array
from probewise.errors import InvalidAlgorithm
from probewise.goals import Goal
from probewise.problem import Problem


class Memory(NamedTuple):
    """Of the steps."""

    weights: Array
    """(n,): the mean of all steps."""
    published: Array
    """(1,): 1 if the width of the sub-differential is t^-0.9/n, 0 if it is that part of the value itself."""


@dataclass(frozen=True, kw_only=True)
class FWS(Sequential):
    """Each step goes where all nearly least values rise fastest, a vertex or a mixture; probes follow the mean step.

    Written from the paper: its public code uses a matrix that is never inverted (docs/field.md).
    """

    slack: Literal["relative", "published"] = "relative"
    """Pieces within r_t of the least value count: r_t = t^-0.9 of that value, which has no unit, or t^-0.9/n."""

    name: ClassVar[str] = "fws"
    summary: ClassVar[str] = "One by one: a Frank-Wolfe step on the lower bound at the estimate."
    reference: ClassVar[str] = "Wang, Tzeng, Proutiere 2021, Algorithm 1"

    def check_settings(self) -> None:
        """Refuse a slack that there is not."""
        if self.slack not in ("relative", "published"):
            raise InvalidAlgorithm(f"slack must be 'relative' or 'published', got {self.slack!r}.")

    @property
    def step(self) -> Step:
        """Of Frank and Wolfe."""
        return fws

    def remember(self, problem: Problem, goal: Goal, probes: Array) -> Memory:
        """The first round is a step to equal weights."""
        flag = np.array([1.0 if self.slack == "published" else 0.0])
        return Memory(np.full(problem.n_probes, 1.0 / problem.n_probes), flag)


def fws(view: View, memory: Memory) -> int:
    """The step, the mean with it, and the probe of which least of the mean was measured."""
    n, total = view.cost.size, view.counts.sum()
    step = np.full(n, 1.0 / n)
    blocks = total // n
    if round(math.sqrt(blocks)) ** 2 != blocks:  # else it explores
        inverse = design_inverse(view.probes, view.cost, memory.weights)
        squares = squared(view.rows, inverse)
        known = squares > 0.0
        values = np.where(known, 0.5 * view.margins**2 / np.where(known, squares, 1.0), np.inf)
        least = values.min()
        width = total**-0.9 * (1.0 / n if memory.published[0] > 0.0 else least)
        if least > 0.0:
            step = ascent(view, inverse, squares, values, values < least + width)
    memory.weights[:] = ((total - 1.0) * memory.weights + step) / total
    return first_largest(memory.weights / (view.cost * view.counts))


def ascent(view: View, inverse: Array, squares: Array, values: Array, active: Array) -> Array:
    """(n,): the vertex or mixture that raises all ``active`` (k,) values, ½margin²/squares, by most."""
    rows, scale = view.rows[active], (view.margins[active] / squares[active]).reshape(-1, 1)
    slopes = 0.5 * ((rows @ inverse) @ np.ascontiguousarray(view.probes.T) * scale) ** 2 / view.cost
    if slopes.shape[0] > 1:
        return maximin(slopes - values[active].reshape(-1, 1))
    vertex = np.zeros(view.cost.size)
    vertex[first_largest(slopes[0])] = 1.0
    return vertex
