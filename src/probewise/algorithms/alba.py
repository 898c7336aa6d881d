"""ALBA: elimination in calls that halve the number of items, on i.i.d. draws from G-optimal designs of their span."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Standing
from probewise.coordinates import Array, Counts, coordinates
from probewise.design import optimal_design, points, reduce_support
from probewise.errors import InvalidAlgorithm
from probewise.goals import Answer, BestItem, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem


@dataclass(frozen=True, eq=False)
class _Draw:
    """A design to draw from; probes are in units of their noise throughout."""

    weights: Array
    """(n,): λ."""
    whitener: Array
    """(d, r): y'M⁻¹y = |y @ whitener|² for M = A(λ) and y in its range."""
    leverage: float
    """g: the largest √(x'M⁻¹x) of a probe that may be drawn; √r if the design is exactly G-optimal."""
    bounds: Array
    """(n,): no |x'θ| is larger."""

    def theta(self, problem: Problem, data: Measurements) -> Array:
        """(d,): M⁻¹ (1/N) Σ x_t r_t, which is unbiased because M is that of the design, not of the draws."""
        moment = problem.scaled_probes.T @ (data.total / problem.sigma) / max(data.n, 1)
        return self.whitener @ (self.whitener.T @ moment)

    @property
    def support(self) -> NDArray[np.int64]:
        """(p,): probes that may be drawn."""
        return np.flatnonzero(self.weights)

    @property
    def bound(self) -> float:
        """L: the largest of the bounds."""
        return float(self.bounds[self.support].max())

    def accuracy(self, size: float) -> float:
        """√(x'M⁻¹x) = g is the worst probe: how far x'θ̂ may be from x'θ, before anything is known of θ but L."""
        g = self.leverage
        return g * (self.bound * (math.sqrt(2 / size) + 2 * (1 + g) / (3 * size)) + self._noise(size))

    def widths(self, problem: Problem, differences: Array, means: Array, size: float) -> Array:
        """(k,): how far y'θ̂ may be from y'θ for rows y (k, d), if ``means`` (n,) bound |x'θ| (docs/alba.md)."""
        at, y = self.support, differences @ self.whitener
        swing = np.abs(y @ (problem.scaled_probes[at] @ self.whitener).T) * means[at]  # >= |y'M⁻¹x x'θ|
        mean = swing @ self.weights[at]
        drawn = np.sqrt(2 * (swing**2 @ self.weights[at]) / size) + 2 * (swing.max(axis=1) + mean) / (3 * size)
        return np.asarray(drawn + np.linalg.norm(y, axis=1) * self._noise(size))

    def _noise(self, size: float) -> float:
        return math.sqrt(2 * (1 + self.leverage * math.sqrt(3 / size)) / size)

    def suffices(self, size: float) -> bool:
        """Whether the widths hold; only for want of measurements that were lost they may not."""
        return size >= 3 * self.leverage**2


@dataclass(frozen=True, eq=False)
class _Phase:
    """Step s = 1, 2, … of call r = 0, 1, … of ElimTil."""

    call: int
    step: int
    entered: int
    """Items that this call began with."""
    survivors: NDArray[np.int64]
    leader: int
    slack: float
    """No survivor is ahead of the leader by more."""
    draw: _Draw | None
    """The design to draw from; None if the survivors have changed since it was made."""


@dataclass(frozen=True)
class ALBA(Algorithm[_Phase]):
    """Adaptive linear best arm: ElimTil leaves at most rank/2^r items in call r = 0, 1, …

    "y" compares by the widths of differences, "x" by one margin for all items. Probes come from the span of the
    surviving items where these suffice, so that the dimension falls with the number of items. "paper": ε_s = 2^-s
    and widths proved in docs/alba.md. "code": what the authors of RAGE ran, ε_s = 4/1.1^s with widths that presume
    the accuracy 2^-s.
    """

    elimination: Literal["y", "x"] = "y"
    """Y-ElimTil or X-ElimTil."""
    norm_bound: float | None = None
    """L: a number known to be at least |x'θ| for every probe x; the sample sizes grow as L²."""
    variant: Literal["paper", "code"] = "paper"
    """Whose constants are used: the paper's or those of the authors' code."""
    tol: float = 1e-2
    """Certified relative gap of the designs."""

    name: ClassVar[str] = "alba"
    summary: ClassVar[str] = "Halves the number of items by draws from G-optimal designs of their span."
    reference: ClassVar[str] = "Tao, Blanco, Zhou 2018, Y-ElimTil and X-ElimTil; docs/alba.md"
    goals: ClassVar[tuple[type[Goal], ...]] = (BestItem,)
    needs: ClassVar[str] = "norm_bound, at least |x'θ| for every probe"

    def __post_init__(self) -> None:
        if self.elimination not in ("y", "x"):
            raise InvalidAlgorithm(f"elimination must be 'y' or 'x', got {self.elimination!r}.")
        if self.variant not in ("paper", "code"):
            raise InvalidAlgorithm(f"variant must be 'paper' or 'code', got {self.variant!r}.")
        if self.variant == "code" and self.elimination == "x":
            raise InvalidAlgorithm("variant 'code' has elimination 'y' only, got 'x'; choose variant 'paper'.")
        if self.norm_bound is not None and not 0 < self.norm_bound < math.inf:
            raise InvalidAlgorithm(f"norm_bound must be positive and finite, got {self.norm_bound!r}.")

    @property
    def proven(self) -> bool:
        """The paper's constants are: docs/alba.md."""
        return self.variant == "paper"

    def init(self, problem: Problem, goal: Goal) -> _Phase:
        """S = Z, r = 0, s = 1."""
        if self.norm_bound is None:
            raise InvalidAlgorithm(
                "alba needs a bound on the mean outcomes, got none; give norm_bound=L with |x'θ| <= L for every probe."
            )
        outside = ~problem.coordinates.is_inside(problem.items)
        if self.elimination == "x" and problem.n_items > 1 and outside.any():
            item = problem.item_names[int(np.argmax(outside))]
            raise InvalidAlgorithm(
                f"elimination 'x' estimates each item, but no combination of probes gives item '{item}'; "
                "choose elimination 'y', which needs only differences of items."
            )
        slack = math.inf if problem.n_items > 1 else 0.0
        start = _Phase(0, 1, problem.n_items, np.arange(problem.n_items), 0, slack, None)
        return self._planned(problem, goal, start)

    def ask(self, problem: Problem, goal: Goal, state: _Phase, rng: np.random.Generator) -> Counts:
        """N_s independent draws from λ."""
        assert state.draw is not None
        return rng.multinomial(self._draws(problem, goal, state, state.draw), state.draw.weights).astype(np.int64)

    def tell(self, problem: Problem, goal: Goal, state: _Phase, measurements: Measurements) -> _Phase:
        """θ̂ from this step only; drop every survivor that the leader beats; s ← s + 1."""
        assert state.draw is not None
        theta = state.draw.theta(problem, measurements)
        scores = problem.items[state.survivors] @ theta
        leader = int(state.survivors[np.argmax(scores)])
        behind = scores.max() - scores
        size = measurements.n / self._log(goal, state, state.draw)
        widths = self._widths(problem, state, theta, problem.items[leader] - problem.items[state.survivors], size)
        kept = behind <= widths
        survivors = state.survivors[kept]
        slack = float((widths - behind)[kept].max()) if survivors.size > 1 else 0.0
        draw = state.draw if kept.all() else None
        return self._planned(
            problem,
            goal,
            replace(state, step=state.step + 1, survivors=survivors, leader=leader, slack=slack, draw=draw),
        )

    def answer(self, problem: Problem, goal: Goal, state: _Phase) -> Answer | None:
        """The leader, once no survivor can be ahead of it by more than epsilon."""
        return (state.leader,) if state.slack <= goal.epsilon else None

    def standing(self, problem: Problem, goal: Goal, state: _Phase) -> Standing:
        """The survivors, and the leader of the last step."""
        done = self.answer(problem, goal, state) is not None
        begun = done or state.slack < math.inf
        return Standing(state.survivors, (state.leader,) if begun else (), 1.0 if done else None)

    def _planned(self, problem: Problem, goal: Goal, phase: _Phase) -> _Phase:
        """The next call once few enough are left, and a design for the survivors."""
        if self.answer(problem, goal, phase) is not None:
            return phase
        size = phase.survivors.size
        while size <= max(1, problem.coordinates.rank >> phase.call):
            phase = replace(phase, call=phase.call + 1, step=1, entered=size)
        return phase if phase.draw is not None else replace(phase, draw=self._draw(problem, phase.survivors))

    def _draw(self, problem: Problem, survivors: NDArray[np.int64]) -> _Draw:
        """The G-optimal design of the probes in the span of the survivors, or of all if these do not suffice."""
        assert self.norm_bound is not None
        items = problem.items[survivors]
        use = np.flatnonzero(coordinates(items).is_inside(problem.scaled_probes))
        wanted, size = (items, np.abs(items)) if self.elimination == "x" else _differences(items)
        if not (use.size and coordinates(problem.scaled_probes[use]).is_inside(wanted, size).all()):
            use = np.arange(problem.n_probes)
        X, cost = problem.scaled_probes[use], problem.cost[use]
        design = optimal_design(X, points(X), cost=cost, tol=self.tol)
        share = reduce_support(X, design.weights, cost=cost)
        drawn = np.flatnonzero(share)
        root = coordinates(X[drawn] * np.sqrt(share[drawn, None]))
        whitener = root.transform / math.sqrt(drawn.size)
        leverage = float(np.linalg.norm(X[drawn] @ whitener, axis=1).max())
        weights = np.zeros(problem.n_probes)
        weights[use] = share
        return _Draw(weights, whitener, leverage, self.norm_bound / problem.sigma)

    def _log(self, goal: Goal, phase: _Phase, draw: _Draw) -> float:
        """log(5·statements/δ_s), δ_s = (6/π²)²δ/((r + 1)s)²."""
        items = phase.entered
        statements = items if self.elimination == "x" else items * (items - 1) / 2 + draw.support.size
        if self.variant == "code":
            statements = items**2 / 2
        return math.log(5 * statements / goal.delta * (math.pi**2 / 6 * (phase.call + 1) * phase.step) ** 2)

    def _draws(self, problem: Problem, goal: Goal, phase: _Phase, draw: _Draw) -> int:
        """N_s = l_s log(5·statements/δ_s), l_s = max(4L², 3)(2 + (6 + ε_s)g²)/(ε_s/2)²."""
        eps, square = 2.0**-phase.step, draw.leverage**2
        if self.variant == "code":
            eps, square = 4 / 1.1**phase.step, problem.coordinates.rank
        size = max(4 * draw.bound**2, 3) * (2 + (6 + eps) * square) / (eps / 2) ** 2
        return math.ceil(size * self._log(goal, phase, draw))

    def _widths(self, problem: Problem, phase: _Phase, theta: Array, differences: Array, size: float) -> Array:
        """(k,): how far the estimate of each difference (k, d) of survivors may be from the truth."""
        draw = phase.draw
        assert draw is not None
        if not draw.suffices(size):
            return np.full(differences.shape[0], np.inf)
        if self.elimination == "x":
            # the first is the larger, unless measurements were lost
            margin = max(2.0**-phase.step, 2 * draw.accuracy(size)) / draw.leverage
            longest = np.linalg.norm(problem.items[phase.survivors] @ draw.whitener, axis=1).max()
            return np.asarray(margin * longest * differences.any(axis=1))
        accuracy = 2.0 ** -(phase.step + 1) if self.variant == "code" else draw.accuracy(size)
        means = np.minimum(draw.bounds, np.abs(problem.scaled_probes @ theta) + accuracy)
        return draw.widths(problem, differences, means, size)


def _differences(items: Array) -> tuple[Array, Array]:
    """Differences to the first item, and the sizes of the numbers that they were formed from."""
    return items - items[0], np.abs(items) + np.abs(items[0])
