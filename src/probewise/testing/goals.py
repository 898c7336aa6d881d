"""check_goal: what every goal promises, as checks that fail with a sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from probewise.algorithms import Uniform, XYStatic
from probewise.coordinates import Array, coordinates
from probewise.design import digest
from probewise.errors import ProbewiseError
from probewise.goals import Answer, Goal
from probewise.problem import Problem
from probewise.run import identify
from probewise.simulation import LinearEnvironment
from probewise.testing.problems import linear_bandit, many_items, transductive
from probewise.testing.promises import expect, expect_settings, expect_texts

DRAWS = 60
"""Parameters that are drawn for each problem."""
CLOSE = 1e-9
"""Margins smaller than this are neither right nor wrong."""


def check_goal(goal: Goal) -> None:
    """Run every check; AssertionError with a sentence at the first promise that is broken."""
    _says_what_it_is(goal)
    for case in (linear_bandit, transductive, many_items):
        problem, theta = case()
        _takes(goal, problem)
        draws = [theta, *_drawn(problem)]
        for truth in draws:
            _knows_what_is_right(goal, problem, truth, draws)
            _judges_items_one_by_one(goal, problem, truth, draws)
        _can_be_turned(goal, problem, draws)
        _counts_its_rivals(goal, problem, theta, draws)
        _knows_what_matters(goal, problem, draws)
    _is_answered(goal)


def _says_what_it_is(goal: Goal) -> None:
    """Name, summary and words are texts; it is a frozen dataclass of plain settings, among them delta and epsilon."""
    expect_texts(goal, ("name", "summary", "found", "predicate"))
    expect_settings(goal, "a goal")
    settings = {own.name: getattr(goal, own.name) for own in dataclasses.fields(goal)}  # type: ignore[arg-type]
    expect({"delta", "epsilon"} <= {*settings}, f"delta and epsilon must be settings, got {', '.join(settings)}")
    for name, value in settings.items():
        expect(isinstance(value, bool | int | float | str), f"{name} must be a number, a flag or a text, got {value!r}")
    expect(digest(type(goal)(**settings)) == digest(goal), "two goals with the same settings must be the same")
    expect(goal.at(0.25).delta == 0.25, "at(delta) must change delta")
    known = goal.argument is None or goal.argument in settings
    expect(known, f"argument must be one of the settings, got {goal.argument!r}")
    for delta in (0.0, 1.0):
        try:
            goal.at(delta)
        except ProbewiseError:
            continue
        raise AssertionError(f"a delta of {delta} must be refused.")
    for names in ((), ("A",), ("A", "B", "C")):
        try:
            text = goal.claim(names)
        except IndexError:
            raise AssertionError(f"claim must have words for {len(names)} items.") from None
        expect(
            isinstance(text, str) and all(name in text for name in names), f"claim must name its items, got {text!r}"
        )


def _takes(goal: Goal, problem: Problem) -> None:
    try:
        goal.check(problem)
    except ProbewiseError as error:
        raise AssertionError(f"an ordinary problem must pass its check, but it says: {error}") from None


def _knows_what_is_right(goal: Goal, problem: Problem, theta: Array, draws: list[Array]) -> None:
    """The answer at θ is right; any answer is right if and only if its claims are true up to epsilon."""
    values = problem.items @ theta
    own = goal.answer(problem, values)
    _check_answer(own, problem.n_items)
    expect(goal.right(problem, values, own), f"the answer {own} at the values {values} must be right there")
    for answer in {goal.answer(problem, problem.items @ other) for other in draws}:
        margins = goal.claims(problem, answer).margins(theta) + goal.epsilon
        if (np.abs(margins) < CLOSE).any():
            continue
        holds, right = bool((margins > 0).all()), goal.right(problem, values, answer)
        expect(
            holds == right,
            f"at the values {values} the claims of {answer} are {'true' if holds else 'false'}, but right says {right}",
        )


def _judges_items_one_by_one(goal: Goal, problem: Problem, theta: Array, draws: list[Array]) -> None:
    """A goal that says so makes one claim about each item, and counts as wrong those listed whose claim is false."""
    if not goal.separate:
        expect(goal.promise == "all", "only a goal that judges items one by one can promise a share")
        return
    values = problem.items @ theta
    for answer in {goal.answer(problem, problem.items @ other) for other in draws}:
        claims = goal.claims(problem, answer)
        expect(np.unique(claims.against).size == claims.against.size, "there must be one claim about each item")
        margins = claims.margins(theta)[np.isin(claims.against, answer)] + goal.epsilon
        if (np.abs(margins) < CLOSE).any():
            continue
        share, said = float((margins < 0).mean()) if margins.size else 0.0, goal.wrong_share(problem, values, answer)
        expect(
            abs(share - said) < CLOSE, f"of {answer} a share of {share:.3g} is wrong, but wrong_share says {said:.3g}"
        )


def _can_be_turned(goal: Goal, problem: Problem, draws: list[Array]) -> None:
    """A goal that can minimise asks the same in the upward form that algorithms are given."""
    if "minimise" not in {own.name for own in dataclasses.fields(goal)}:  # type: ignore[arg-type]
        expect(not goal.minimise, "a goal that minimises must have that as a setting")
        return
    expect(digest(goal.turned().turned()) == digest(goal), "a goal that is turned twice must be the same")
    expect(goal.turned().minimise != goal.minimise, "turned must change minimise")
    for theta in draws:
        values = problem.items @ theta
        answer, other = goal.answer(problem, values), goal.turned().answer(problem, -values)
        expect(answer == other, f"turned must give the same answer at negated values, got {answer} and {other}")
        margins = goal.claims(problem, answer).margins(theta)
        turned = goal.turned().claims(problem.turned, answer).margins(theta)
        expect(bool(np.allclose(margins, turned)), f"turned must make the same claims, got {margins} and {turned}")


def _counts_its_rivals(goal: Goal, problem: Problem, theta: Array, draws: list[Array]) -> None:
    """As few claims as it says, fixed by θ, catch every wrong answer: each of those makes one of them."""
    wrong = [
        a
        for a in {goal.answer(problem, problem.items @ other) for other in draws}
        if not goal.right(problem, problem.items @ theta, a)
    ]
    false: dict[bytes, int] = {}
    caught: list[list[int]] = []
    for answer in wrong:
        claims = goal.claims(problem, answer)
        rows = np.column_stack([claims.rows, claims.offsets])[claims.margins(theta) + goal.epsilon <= 0]
        caught.append([false.setdefault(row.tobytes(), len(false)) for row in rows + 0.0])
    if not wrong:
        return
    makes = np.zeros((len(wrong), len(false)))
    for at, claims_made in enumerate(caught):
        makes[at, claims_made] = 1.0
    least = milp(
        np.ones(len(false)),
        constraints=LinearConstraint(makes, lb=1.0),
        integrality=np.ones(len(false), dtype=np.int64),
        bounds=Bounds(0, 1),
    )
    said = goal.rivals(problem)
    expect(
        least.fun is not None and round(least.fun) <= said,
        f"{said} claims do not catch every wrong answer: {len(wrong)} of them need {least.fun}",
    )


def _knows_what_matters(goal: Goal, problem: Problem, draws: list[Array]) -> None:
    """Nothing that an answer may claim is less well known than the worst of the directions that it names."""
    measured = coordinates(problem.scaled_probes)
    worst = goal.directions(problem).mapped(measured.transform).largest()[1]
    for theta in draws:
        answer = goal.answer(problem, problem.items @ theta)
        rows = goal.claims(problem, answer).rows @ measured.transform
        longest = float((rows**2).sum(axis=1).max(initial=0.0))
        expect(longest <= worst * (1 + CLOSE), f"the answer {answer} claims more than its directions cover")


def _is_answered(goal: Goal) -> None:
    """Algorithms that serve every goal find a right answer to it."""
    problem, theta = linear_bandit()
    quiet = dataclasses.replace(problem, outcome=type(problem.outcome)(0.05))  # type: ignore[call-arg]
    for algorithm in (Uniform(), XYStatic()):
        laboratory = LinearEnvironment(quiet, theta, seed=0)
        result = identify(quiet, goal, measure=laboratory.measure, algorithm=algorithm, seed=0, budget=200_000)
        found = result.items if result.status == "identified" else None
        right = found is not None and goal.right(problem, problem.items @ theta, found)
        expect(right, f"{algorithm.name} must find a right answer to an easy problem, got {found}")


def _drawn(problem: Problem) -> Iterator[Array]:
    rng = np.random.default_rng(0)
    for _ in range(DRAWS):
        yield rng.standard_normal(problem.dimension)


def _check_answer(answer: Answer, n: int) -> None:
    fits = isinstance(answer, tuple) and all(type(item) is int and 0 <= item < n for item in answer)
    expect(fits and len({*answer}) == len(answer), f"an answer must be a tuple of different items, got {answer!r}")
