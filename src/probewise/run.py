"""identify: the one loop that asks an algorithm, measures, and tells it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.algorithms import ALGORITHMS, Algorithm, Batched, Sage
from probewise.algorithms.base import Standing
from probewise.coordinates import Array, Counts
from probewise.design import remembering
from probewise.errors import InvalidAlgorithm, InvalidGoal, InvalidMeasurements
from probewise.estimate import least_squares
from probewise.goals import Answer, BestItem, Goal, check_question, usual_goal
from probewise.likelihood import fitted
from probewise.measurements import Measurements
from probewise.outcomes import CanonicalLaw
from probewise.problem import Problem
from probewise.result import Result, Round

Observe = Callable[[Counts, int], Measurements]
"""(counts, number of the round) -> what was measured."""


@dataclass(frozen=True)
class Progress:
    """What a progress callback hears after each round."""

    rounds: int
    """Rounds so far."""
    measurements: int
    """Measurements so far."""
    cost: float
    """Their cost."""
    standing: Standing
    """Items left, leader, and how far it is to the answer."""
    answer: Answer | None
    """The items found, or None while undecided."""


def identify(
    problem: Problem,
    goal: Goal | None = None,
    *,
    measure: Callable[[NDArray[np.int64]], ArrayLike | tuple[ArrayLike, ArrayLike]],
    algorithm: Algorithm[Any] | None = None,
    seed: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    budget: int | None = None,
    batch: int | None = None,
) -> Result:
    """Find the best item by calling ``measure(indices) -> outcomes`` round by round, one outcome per index in order.

    ``measure`` may return a pair ``(outcomes, weights)`` instead: a value of weight w has noise of the scale σ/√w, as a
    mean of w measurements, and a count has w times the exposure. What is proven needs weights that were known before
    the outcomes of their round: none may be computed from them (docs/howto/means.md).

    At most ``budget`` measurements are made, at most ``batch`` at once. The result is then the best guess, with the
    confidence that it has attained. If no algorithm is named and the best item is wanted, they are planned for the best
    guess at the end, by `BestGuess`; else the last round is cut down to what is left, where the algorithm takes any
    rounds, or left out.
    """

    def observe(counts: Counts, step: int) -> Measurements:
        indices = np.repeat(np.arange(problem.n_probes), counts)
        return _told(problem, chosen, indices, measure(indices))

    entropy, wanted = np.random.SeedSequence(seed).entropy, goal or usual_goal(problem)
    chosen = planned(problem, algorithm, wanted, budget, batch)
    with remembering():
        return loop(
            problem,
            wanted,
            chosen,
            observe=observe,
            stream=lambda step: np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(step,))),
            progress=progress,
            budget=budget,
        )


def _told(problem: Problem, algorithm: Algorithm[Any], indices: Counts, returned: Any) -> Measurements:
    """What ``measure`` has returned: outcomes, or a pair of outcomes and weights; refused if it cannot be that."""
    law, weights = problem.outcome, None
    if isinstance(returned, tuple) and len(returned) == 2 and all(map(np.ndim, returned)):
        returned, weights = returned[0], _numbers(returned[1], indices, "weight")
        _check_weights(problem, algorithm, weights, indices)
    outcomes = _numbers(returned, indices, "outcome")
    if not (possible := law.possible(outcomes)).all() and np.isfinite(outcomes).all():
        at = int(np.argmin(possible))
        raise InvalidMeasurements(
            f"outcomes follow the law '{law.name}', each {law.expected}, but measure returned {outcomes[at]:g} for "
            f"probe '{problem.probe_names[indices[at]]}'."
        )
    if weights is not None and law.summed == "total":
        outcomes = outcomes / weights  # the count of one unit of exposure
    return Measurements.from_outcomes(problem.n_probes, indices, outcomes, weights)


def _numbers(returned: Any, indices: Counts, what: str) -> Array:
    """(k,): one number per index."""
    try:
        found = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidMeasurements(f"measure must return numbers, one per index ({error}).") from None
    if found.shape != indices.shape:
        raise InvalidMeasurements(
            f"measure must return one {what} per index, asked for {indices.size}, got shape {found.shape}."
        )
    return found


def _check_weights(problem: Problem, algorithm: Algorithm[Any], weights: Array, indices: Counts) -> None:
    law, valid = problem.outcome, np.isfinite(weights) & (weights > 0)
    if law.weighed is None or not law.known:
        raise InvalidMeasurements(
            f"weights need noise of a known scale, or counts; outcomes follow the law '{law.name}'"
            f"{'' if law.known else ' of unknown scale'}, so measure must return outcomes alone."
        )
    if not algorithm.takes_weights:
        raise InvalidMeasurements(
            f"{algorithm.name} relies on the noise that is stated, and measure returned weights; choose Sage."
        )
    if not valid.all():
        at = int(np.argmin(valid))
        raise InvalidMeasurements(
            f"weights must be positive and finite, but measure returned {weights[at]:g} for probe "
            f"'{problem.probe_names[indices[at]]}'."
        )


def planned(
    problem: Problem, algorithm: Algorithm[Any] | None, goal: Goal, budget: int | None, batch: int | None
) -> Algorithm[Any]:
    """The algorithm, in batches; where none is named Sage, or for a budget `BestGuess`, which needs items in memory."""
    if algorithm is None and budget and isinstance(goal, BestItem) and problem.shards is None:
        from probewise.algorithms.best_guess import BestGuess  # loaded when needed

        return BestGuess(budget, batch)
    if algorithm is None:
        return Sage(lean=True, max_batch=batch)
    return algorithm if batch is None else Batched(algorithm, batch)


_UNUSED = np.random.default_rng(0)
"""For algorithms that draw nothing: making a stream takes longer than many other steps of a small round."""
FOREVER = 2**45
"""Measurements that nobody makes: a simulation of an exact tie, which has no end, ends here."""


def loop(
    problem: Problem,
    goal: Goal,
    algorithm: Algorithm[Any],
    *,
    observe: Observe,
    stream: Callable[[int], np.random.Generator],
    progress: Callable[[Progress], None] | None = None,
    budget: int | None = None,
    keep: bool = True,
) -> Result:
    """Ask, observe and tell until the algorithm answers; round t draws from ``stream(t)``; ``keep`` the history."""
    check(problem, goal, algorithm)
    problem, goal = goal.upward(problem)
    state = algorithm.init(problem, goal)
    nothing = data = Measurements.empty(problem.n_probes)
    history: list[Round] = []
    rounds, status = 0, "identified"
    plan, came = None, nothing
    while (answer := algorithm.answer(problem, goal, state)) is None:
        if plan is None and data.n < FOREVER and not algorithm.spent(problem, goal, state):
            rng = stream(rounds) if algorithm.randomised else _UNUSED
            plan, came = algorithm.ask(problem, goal, state, rng), nothing
            if budget is not None and algorithm.takes_any_rounds:  # before its outcomes: a round like any other
                plan = algorithm.limits.cut(plan, budget - data.n, problem.scaled_probes)
        counts = None if plan is None else algorithm.limits.batch(plan, came.count, problem.scaled_probes)
        if plan is None or counts is None or _spent(budget, data.n, counts):
            status = "budget exhausted"
            break
        measurements = observe(counts, rounds)
        came, data, rounds = measurements if came is nothing else came + measurements, data + measurements, rounds + 1
        if (came.count >= plan).all():
            state, plan = algorithm.tell(problem, goal, state, came), None
        if keep:
            history.append(Round(counts, measurements))
        if progress is not None:
            cost = data.cost(problem.cost)
            standing = algorithm.standing(problem, goal, state)
            progress(Progress(rounds, data.n, cost, standing, algorithm.answer(problem, goal, state)))
    theta = estimated(problem, data)
    items = answer if answer is not None else algorithm.standing(problem, goal, state).guess or None
    sure = algorithm.confidence(problem, goal, state) if algorithm.attains and items is not None else None
    guess = algorithm.prediction(problem, goal, state) if algorithm.predicts and answer is None else None
    names, left = tuple(problem.item_names[i] for i in items or ()), ""
    if answer is None and keep:
        left = algorithm.outlook(problem, goal, state)
    cost = data.cost(problem.cost)
    return Result(items, names, data.n, cost, rounds, status, theta, tuple(history), sure, guess, outlook=left)


def estimated(problem: Problem, data: Measurements) -> Array:
    """(d,): least squares or, with a link, the largest likelihood, for display."""
    if isinstance(problem.outcome, CanonicalLaw):
        return fitted(problem.outcome, problem.probes, data, penalty=1e-9).theta
    return least_squares(problem.probes, data, sigma=problem.sigma).theta


def _spent(budget: int | None, measured: int, counts: Counts) -> bool:
    """Whether a budget leaves nothing, or too little for these counts."""
    return budget is not None and (not counts.any() or measured + int(counts.sum()) > budget)


def _unlinked(problem: Problem, algorithm: Algorithm[Any]) -> InvalidAlgorithm:
    law = problem.outcome
    straight = law.link == "identity"
    what = "x'θ itself" if straight else f"a curve of x'θ (link '{law.link}')"
    return InvalidAlgorithm(
        f"{algorithm.name} cannot do with outcomes of the law '{law.name}', whose mean is {what}; "
        f"choose {'Sage' if straight else 'SageGLM'}."
    )


def check(problem: Problem, goal: Goal, algorithm: Algorithm[Any]) -> None:
    """Refuse what is no goal or no algorithm, and an algorithm that needs more than the problem gives."""
    if not isinstance(goal, Goal):
        raise InvalidGoal(f"a goal is an object such as BestItem(delta=0.05), got {goal!r}.")
    if not isinstance(algorithm, Algorithm):
        raise InvalidAlgorithm(f"an algorithm is an object such as Rage(), got {algorithm!r}; ALGORITHMS has them all.")
    if not isinstance(goal, algorithm.goals):
        able = ", ".join(sorted(name for name, kind in ALGORITHMS.items() if issubclass(type(goal), kind.goals)))
        raise InvalidAlgorithm(f"{algorithm.name} cannot answer the question '{goal.name}'; {able or 'none'} can.")
    if goal.promise not in algorithm.promises:
        raise InvalidAlgorithm(
            f"{algorithm.name} cannot promise that at most a share of a list is wrong; leave promise='{goal.promise}' "
            "out or choose Sage."
        )
    if problem.outcome.link not in algorithm.links:
        raise _unlinked(problem, algorithm)
    if problem.shards is not None and not algorithm.takes_shards:
        raise InvalidAlgorithm(
            f"{algorithm.name} needs all items in memory, and they stay where they are; choose Sage, or take fewer."
        )
    check_question(problem, goal)
    if not problem.outcome.by_sums and not algorithm.bets_on_outcomes:
        raise InvalidAlgorithm(
            f"what is proven for {algorithm.name} needs noise with light tails, which outcomes of the law "
            f"'{problem.outcome.name}' do not have; choose Sage."
        )
    if not problem.outcome.known and not algorithm.learns_sigma:
        raise InvalidAlgorithm(
            f"{algorithm.name} must know sigma, the noise of a measurement, and this problem leaves it unknown; "
            "give an upper bound on it or choose Sage."
        )
    if problem.misfit.any() and not algorithm.allows_misfit:
        raise InvalidAlgorithm(
            f"{algorithm.name} takes outcomes to be exactly linear in the features, and this problem allows for a "
            "misfit; leave misfit out or choose Sage."
        )
    if np.isfinite(problem.stock).any() and not algorithm.minds_stock:
        raise InvalidAlgorithm(
            f"{algorithm.name} asks for any number of measurements, and this problem limits the stock of probes; "
            "leave stock out or choose Sage."
        )
