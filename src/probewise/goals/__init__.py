"""Goals: the questions that can be asked; a new one is one line here, or an entry point elsewhere."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from probewise.errors import InvalidGoal, InvalidProblem
from probewise.extensions import extensions, found_class
from probewise.goals.above import Above
from probewise.goals.base import Answer, Claims, Goal, Promise, check_risk, tie
from probewise.goals.best_combination import BestCombination
from probewise.goals.best_item import BestItem
from probewise.goals.better_than import BetterThan
from probewise.goals.comparable import check_comparable, check_measurable
from probewise.goals.top_m import TopM
from probewise.outcomes import Gaussian
from probewise.problem import Problem

GOALS: dict[str, type[Goal]] = {
    "above": Above,
    "best": BestItem,
    "better-than": BetterThan,
    "combination": BestCombination,
    "top": TopM,
}
"""Every goal of the package by its name."""

EXTENSIONS = "probewise.goals"
"""The entry points by which other packages add theirs."""


def goal_named(name: str) -> type[Goal] | None:
    """The goal of that name, of the registry or of another package; None if there is none."""
    return found_class(GOALS, EXTENSIONS, name, Goal)  # type: ignore[type-abstract]


def goal_names() -> list[str]:
    """Every goal as it is written on a command line, also of other packages, which are not loaded for that."""
    return sorted({*GOALS, *extensions(EXTENSIONS)})


def usual_goal(problem: Problem, **settings: Any) -> Goal:
    """The question for the best: of all items or, where items make up combinations, of all of these."""
    return BestCombination(**settings) if problem.blocks else BestItem(**settings)


def check_question(problem: Problem, goal: Goal) -> None:
    """Refuse a problem in which the question has no answer, or no meaning, as items are parts of combinations."""
    if problem.blocks and not goal.combines:
        raise InvalidGoal(
            f"the items are levels of {len(problem.blocks)} factors, which make up {problem.n_combinations:,} "
            f"combinations, so the question '{goal.name}' cannot be asked of them; ask for BestCombination(), on the "
            "command line --goal combination, or list the combinations as items."
        )
    if problem.shards is not None:
        check_scattered(problem, goal)
    else:
        goal.check(problem)


def check_scattered(problem: Problem, goal: Goal) -> None:
    """Refuse what cannot be asked of items that stay where they are."""
    if (fault := hindrance(problem, goal)) is not None:
        raise fault
    goal.check(problem)


def hindrance(problem: Problem, goal: Goal) -> InvalidGoal | InvalidProblem | None:
    """Why items of a problem cannot be looked at piece by piece, where they are; None if they can."""
    far, instead = f"{problem.n_items:,} items that stay where they are", "or give the items as an array in memory."
    if not isinstance(goal, BestItem):
        return InvalidGoal(
            f"of {far} only the best one can be asked for, got '{goal.name}'; take BestItem(), {instead}"
        )
    if not isinstance(problem.outcome, Gaussian):
        return InvalidProblem(
            f"{far} need noise with light tails, got the law '{problem.outcome.name}'; take Gaussian(), {instead}"
        )
    if np.isfinite(problem.stock).any():
        return InvalidProblem(f"{far} need probes of unlimited stock, got a limited one; leave stock out, {instead}")
    return None


def goal_from(text: str, **settings: Any) -> Goal:
    """The goal that a text such as "best" or "top:3" names, with the settings that are not None."""
    name, colon, argument = text.partition(":")
    kind = goal_named(name)
    if kind is None:
        raise InvalidGoal(f"there is no goal '{name:.40}'; they are {', '.join(goal_names())}.")
    kinds = {own.name: str(own.type) for own in fields(kind)}  # type: ignore[arg-type]
    given = {key: value for key, value in settings.items() if value is not None}
    if unknown := [key for key in given if key not in kinds]:
        raise InvalidGoal(f"the goal '{name}' has no {unknown[0]}; leave it out.")
    if bool(colon) != (kind.argument is not None):
        form = name if kind.argument is None else f"{name}:{kind.argument.upper()}"
        raise InvalidGoal(f"the goal '{name}' is written {form}, got '{text:.60}'.")
    if kind.argument is not None:
        given[kind.argument] = _read(argument, kinds[kind.argument], name)
    return kind(**given)


def _read(text: str, kind: str, name: str) -> int | float | str:
    """What stands behind a colon, as the annotation of its field wants it."""
    try:
        return int(text) if kind == "int" else float(text) if kind == "float" else text
    except ValueError:
        expected = "a whole number" if kind == "int" else "a number"
        raise InvalidGoal(f"the goal '{name}' needs {expected} behind its colon, got '{text:.40}'.") from None


__all__ = [
    "GOALS",
    "Above",
    "Answer",
    "BestCombination",
    "BestItem",
    "BetterThan",
    "Claims",
    "Goal",
    "Promise",
    "TopM",
    "check_comparable",
    "check_measurable",
    "check_question",
    "check_risk",
    "goal_from",
    "goal_named",
    "goal_names",
    "hindrance",
    "tie",
    "usual_goal",
]
