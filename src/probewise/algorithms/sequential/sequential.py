"""Sequential: algorithms that measure one by one, each a sampling rule beside a stopping rule that all of them share.

The stopping rule alone is what errs or not: an answer is given when the likelihood of every way in which it could be
wrong has fallen below exp(-β) of that of the estimate, and β is chosen apart from the sampling rule.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Standing
from probewise.algorithms.sequential.first import spanner, told, unit
from probewise.algorithms.sequential.steps import View, squared
from probewise.confidence import Estimator, Evidence, ExplicitRidge, Threshold, TrackAndStop, require
from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm
from probewise.estimate import RankOne
from probewise.goals import Answer, Goal
from probewise.measurements import Measurements
from probewise.problem import Problem

Elimination = Literal["none", "stopping", "both"]
STALE = 1.1
"""Factor by which measurements may grow until the width that a sampling rule uses is computed afresh."""
Step = Callable[[View, Any], int]
"""(what is known, the rule's memory, changed in place) -> the probe to measure next."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """What an answer claims, and which of it is not yet beyond doubt."""

    rows: Array
    """(k, r): the directions, in the coordinates of the estimate."""
    offsets: Array
    """(k,): the answer is right if y'θ + offset > 0 for each; epsilon is in it."""
    against: NDArray[np.int64]
    """(k,): the item that each claim keeps in its place."""
    active: NDArray[np.bool_]
    """(k,): claims still in doubt; those ruled out once stay so if there is elimination."""


@dataclass(frozen=True, eq=False)
class Tracked:
    """Between two measurements."""

    probes: Array
    """(n, r): in the coordinates of the estimate and in units of their noise."""
    items: Array
    """(m, r): in the same coordinates."""
    transform: Array | None
    """(d, r): takes directions to these coordinates; None where they are the features."""
    count: Counts
    """(n,): measurements so far."""
    fit: RankOne | None
    """The estimate; None for least squares until what was measured spans all features."""
    memory: Any
    """What the sampling rule remembers: arrays."""
    guess: Answer = ()
    """The answer at the estimate."""
    pieces: Pieces | None = None
    """Its claims."""
    others: Mapping[Answer, tuple[Pieces, Any]] = field(default_factory=dict)
    """Claims, and what the rule keeps by answer, of answers that were the guess before."""
    level: float = 0.0
    """β of the last check."""
    checked: int = 0
    """Measurements at the last check."""
    probe: int = 0
    """The probe to measure next."""
    done: bool = False
    """Whether the guess is the answer."""
    early: Measurements | None = None
    """What was measured while there was no estimate yet."""

    def about(self, answer: Answer, pieces: Pieces) -> Tracked:
        """The same with another answer in mind."""
        return replace(self, guess=answer, pieces=pieces)

    def view(self, problem: Problem) -> View:
        """What the sampling rule sees."""
        assert self.fit is not None
        assert self.pieces is not None
        rows = self.pieces.rows
        margins, squares = rows @ self.fit.theta + self.pieces.offsets, squared(rows, self.fit.inverse)
        width = math.sqrt(2.0 * self.level)
        return View(self.probes, problem.cost, self.count, self.fit.inverse, rows, margins, squares, width)


@dataclass(frozen=True, kw_only=True)
class Sequential(Algorithm[Tracked]):
    """One measurement at a time, by a sampling rule; any threshold for adaptive data decides when to stop.

    With a ``norm_bound``, ridge; without one, least squares from the first round on. Where noise or costs differ,
    effort is counted in variance and in cost. The guarantee is that of the threshold, whatever the sampling rule does:
    docs/field.md.
    """

    threshold: Threshold | None = None
    """By default proven ones: ExplicitRidge with a ``norm_bound``, else TrackAndStop."""
    norm_bound: float | None = None
    """S, at least the Euclidean norm of θ."""
    penalty: float = 1.0
    """The ridge parameter η, with a ``norm_bound``."""
    initial: Literal["every", "spanner"] = "every"
    """The first round: each probe once, or a few that span the others well."""
    elimination: Elimination = "none"
    """Selective elimination (Tirinzoni and Degenne 2022): a claim that was beyond doubt once, while its answer was the
    guess, stays so: for "stopping" only, or for "both" stopping and sampling."""

    uses_width: ClassVar[bool] = False
    """Whether the sampling rule uses the width of the threshold, which is then at most a tenth of t old."""
    goals: ClassVar[tuple[type[Goal], ...]] = (Goal,)
    needs: ClassVar[str] = "nothing; a bound on the norm of θ for ridge"

    def __post_init__(self) -> None:
        if self.initial not in ("every", "spanner"):
            raise InvalidAlgorithm(f"initial must be 'every' or 'spanner', got {self.initial!r}.")
        if self.norm_bound is not None and not 0 < self.norm_bound < math.inf:
            raise InvalidAlgorithm(f"norm_bound must be positive and finite, or None, got {self.norm_bound!r}.")
        if not 0 < self.penalty < math.inf:
            raise InvalidAlgorithm(f"penalty must be positive and finite, got {self.penalty!r}; 1 is usual.")
        if self.elimination not in ("none", "stopping", "both"):
            raise InvalidAlgorithm(f"elimination must be 'none', 'stopping' or 'both', got {self.elimination!r}.")
        require(self.rule, "adaptive", self.estimator, self.name)
        self.check_settings()

    def check_settings(self) -> None:
        """Refuse settings of a subclass."""
        return

    @property
    def estimator(self) -> Estimator:
        """Ridge if the norm of θ is known to be bounded."""
        return "least squares" if self.norm_bound is None else "ridge"

    @property
    def rule(self) -> Threshold:
        """The threshold in force."""
        return self.threshold or (TrackAndStop() if self.norm_bound is None else ExplicitRidge())

    @property
    def proven(self) -> bool:
        """Whether the threshold is proven: it holds for all directions and times at once, however probes are chosen."""
        return self.rule.proven

    @property
    def drawn(self) -> bool:
        """Whether ``choice`` draws the probe, which then is not that of ``step`` alone."""
        return False

    @property
    @abc.abstractmethod
    def step(self) -> Step:
        """The sampling rule: a plain function, so that it can be compiled; it need not care for what is random."""

    @abc.abstractmethod
    def remember(self, problem: Problem, goal: Goal, probes: Array) -> Any:
        """The rule's memory before the first choice: a named tuple of arrays, for ``probes`` (n, r)."""

    def due(self, memory: Any) -> float:
        """The number of measurements from which on ``replanned`` is called before the next choice."""
        return math.inf

    def replanned(self, problem: Problem, goal: Goal, state: Tracked) -> Any:
        """The memory with a new plan; solvers are called here and not in ``step``."""
        return state.memory

    def turned(self, state: Tracked, guess: Answer, own: Any) -> Any:
        """The memory for another guess, ``own`` being the memory of the time when it was the guess last, or None."""
        return state.memory

    def choice(self, problem: Problem, goal: Goal, state: Tracked, rng: np.random.Generator) -> int:
        """The probe to measure next; rules that draw it do so here."""
        return state.probe

    def init(self, problem: Problem, goal: Goal) -> Tracked:
        """V = ηI for ridge; for least squares, coordinates in which the first round gives V = I."""
        count = np.zeros(problem.n_probes, dtype=np.int64)
        if self.norm_bound is None:
            transform = unit(problem.coordinates.probes, self._first(problem))
            probes, items = problem.coordinates.probes @ transform, problem.coordinates(problem.items) @ transform
            state = Tracked(probes, items, transform, count, None, None)
        else:
            fit = RankOne.start(self.penalty * np.eye(problem.dimension))
            state = Tracked(np.ascontiguousarray(problem.scaled_probes), problem.items, None, count, fit, None)
        state = replace(state, memory=self.remember(problem, goal, state.probes))
        answer = goal.answer(problem, np.zeros(problem.n_items))
        if goal.claims(problem, answer).against.size:
            return state
        return replace(state, guess=answer, done=True)  # as where there is only one item

    def ask(self, problem: Problem, goal: Goal, state: Tracked, rng: np.random.Generator) -> Counts:
        """The first round, what is missing of it as long as there is no estimate, then one measurement at a time."""
        if state.fit is None or not state.count.any():
            return np.asarray(np.maximum(self._first(problem) - state.count, 0), dtype=np.int64)
        counts = np.zeros(problem.n_probes, dtype=np.int64)
        counts[self.choice(problem, goal, state, rng)] = 1
        return counts

    def tell(self, problem: Problem, goal: Goal, state: Tracked, measurements: Measurements) -> Tracked:
        """θ̂ and V with the new measurements, the check, and the next choice."""
        now = self.heard(problem, goal, state, measurements)
        return now if now.done or now.fit is None else self.chosen(problem, goal, now)

    def heard(self, problem: Problem, goal: Goal, state: Tracked, measurements: Measurements) -> Tracked:
        """As ``tell``, before the next choice."""
        if state.done:
            return state
        count = state.count + measurements.count
        heard = measurements if state.early is None else state.early + measurements
        fit = told(state.probes, state.fit, heard.count, heard.mean / problem.sigma)
        if fit is None:
            return replace(state, count=count, early=heard)
        return self.settled(problem, goal, replace(state, count=count, fit=fit, early=None))

    def answer(self, problem: Problem, goal: Goal, state: Tracked) -> Answer | None:
        """The guess, once each of its claims is beyond doubt."""
        return state.guess if state.done else None

    def standing(self, problem: Problem, goal: Goal, state: Tracked) -> Standing:
        """All items until there is an answer; then its items and those that only epsilon keeps in their places."""
        if not state.done or state.pieces is None:
            left = np.array(sorted(state.guess), dtype=np.int64) if state.done else np.arange(problem.n_items)
            return Standing(left, state.guess, 1.0 if state.done else None)
        view = state.view(problem)
        sure = view.margins - goal.epsilon - view.width * np.sqrt(view.squares) > 0.0
        if goal.epsilon == 0:
            sure |= ~state.pieces.active
        left = np.union1d(np.array(state.guess, dtype=np.int64), state.pieces.against[~sure])
        return Standing(left, state.guess, 1.0, bool(sure.all()))

    def settled(self, problem: Problem, goal: Goal, state: Tracked) -> Tracked:
        """With the answer at the estimate, and whether it is beyond doubt."""
        assert state.fit is not None
        if state.pieces is None or moved(state.view(problem).margins, goal.epsilon):
            state = self._guessed(problem, goal, state)
        view, pieces = state.view(problem), state.pieces
        assert pieces is not None
        values = evidence(view)
        left = values[pieces.active]
        far = left.min(initial=math.inf) if self.elimination == "none" else left.max(initial=0.0)
        # β does not fall, so that the last one is a bound
        if not (far > state.level or math.isinf(state.level) or self._old(state)):
            return state
        level = self.rule.beta(self._evidence(problem, goal, state))
        doubted = ~(values > level) & pieces.active
        kept = pieces if self.elimination == "none" else replace(pieces, active=doubted)
        return replace(state, pieces=kept, level=level, checked=int(state.count.sum()), done=not doubted.any())

    def chosen(self, problem: Problem, goal: Goal, state: Tracked) -> Tracked:
        """With the next choice of the sampling rule."""
        if state.count.sum() >= self.due(state.memory):
            state = replace(state, memory=self.replanned(problem, goal, state))
        memory = type(state.memory)(*(np.array(part) for part in state.memory))
        return replace(state, memory=memory, probe=self.step(self.seen(problem, state), memory))

    def seen(self, problem: Problem, state: Tracked) -> View:
        """What the sampling rule sees: with elimination for both, only what is still in doubt."""
        view = state.view(problem)
        if self.elimination != "both":
            return view
        assert state.pieces is not None
        at = state.pieces.active
        return view._replace(rows=view.rows[at], margins=view.margins[at], squares=view.squares[at])

    def _old(self, state: Tracked) -> bool:
        """Whether the width has to be computed afresh."""
        return state.checked == 0 or (self.uses_width and int(state.count.sum()) >= math.ceil(STALE * state.checked))

    def _first(self, problem: Problem) -> Counts:
        """(n,): the first round."""
        if self.initial == "every":
            return np.ones(problem.n_probes, dtype=np.int64)
        return np.bincount(spanner(problem.coordinates.probes), minlength=problem.n_probes)

    def _guessed(self, problem: Problem, goal: Goal, state: Tracked) -> Tracked:
        """With the answer at the estimate and its claims."""
        assert state.fit is not None
        guess = goal.answer(problem, state.items @ state.fit.theta)
        if guess == state.guess and state.pieces is not None:
            return state
        others = dict(state.others)
        if state.pieces is not None:
            others[state.guess] = (state.pieces, state.memory)
        own = others[guess][1] if guess in others else None
        memory, pieces = self.turned(state, guess, own), self.claimed(problem, goal, state, guess)
        return replace(state, guess=guess, pieces=pieces, others=others, memory=memory)

    def claimed(self, problem: Problem, goal: Goal, state: Tracked, answer: Answer) -> Pieces:
        """What an answer claims, less what was beyond doubt before."""
        if answer in state.others:
            return state.others[answer][0]
        claims = goal.claims(problem, answer)
        rows = claims.rows if state.transform is None else problem.coordinates(claims.rows) @ state.transform
        return Pieces(rows, claims.offsets + goal.epsilon, claims.against, np.ones(len(rows), dtype=bool))

    def _evidence(self, problem: Problem, goal: Goal, state: Tracked) -> Evidence:
        assert state.fit is not None
        n, r, rivals = int(state.count.sum()), state.items.shape[1], goal.rivals(problem)
        known = Evidence(goal.delta, max(n, 1), rivals, rivals + 1, n, problem.coordinates.rank)
        if self.norm_bound is None:
            return replace(known, information=state.fit.information)
        return replace(
            known,
            logdet=state.fit.logdet - r * math.log(self.penalty),
            penalty=self.penalty,
            norm_bound=self.norm_bound,
            largest_probe=float(np.linalg.norm(state.probes, axis=1).max()),
        )


def moved(margins: Array, epsilon: float) -> bool:
    """Whether another answer may now be the one at the estimate."""
    return bool(margins.size) and bool(margins.min() < epsilon)


def evidence(view: View) -> Array:
    """(k,): how far the likelihood falls until each claim is false: margin²/(2y'V⁻¹y), 0 where it is false already."""
    ahead = np.maximum(view.margins, 0.0)
    known = view.squares > 0.0  # a claim of no direction is true or false whatever θ is
    value = ahead**2 / (2.0 * np.where(known, view.squares, 1.0))
    return np.where(known, value, np.where(view.margins >= 0.0, np.inf, 0.0))
