"""One account for each pattern of sides: docs/sides.md."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms.sage.claims import Claimed
from probewise.algorithms.sage.sided import Sided
from probewise.algorithms.sage.signs import Signs
from probewise.campaign.journal.storage import Memory
from probewise.simulation import LinearEnvironment


def first(signs: Signs, pattern: np.ndarray) -> int | None:
    """The item on which a pattern is bet against."""
    return next((i for i in signs.order.tolist() if pattern[i] != signs.inside[i]), None)


def value(signs: Signs, pattern: np.ndarray, row: int) -> float:
    """What is held against a pattern."""
    at = first(signs, pattern)
    return float(signs.own[row] if at is None else signs.held[row, at])


class _WithoutMinimum(Signs):
    """Wrong: items that stood behind one that is put last keep what they had."""

    def turned(self, inside: Any) -> Signs:
        changed = np.flatnonzero(inside != self.inside)
        order = np.append(self.order[~np.isin(self.order, changed)], changed)
        held, own = self.held.copy(), self.own
        for item in changed.tolist():
            held[:, item], own = own, held[:, item].copy()
        return _WithoutMinimum(inside, order, held, own)


class _WithoutOwn(Signs):
    """Wrong: the pattern that was in front takes over what was bet on the item that changed."""

    def turned(self, inside: Any) -> Signs:
        found = Signs.turned(self, inside)
        held = np.where(inside == self.inside, found.held, self.held)
        return _WithoutOwn(found.inside, found.order, held, found.own)


def excess(kind: Any, size: int) -> tuple[float, int]:
    """By how much what is held exceeds the account of any pattern at most, and how often it is that account."""
    rng, most, exact = np.random.default_rng(size), -np.inf, 0
    every = [np.array(sides) for sides in itertools.product((False, True), repeat=size)]
    for _ in range(20):
        signs = kind.start(every[rng.integers(len(every))], rng.permutation(size))
        now, best = np.zeros(len(every)), np.zeros(len(every))
        for _ in range(12):
            gains, own = rng.standard_normal(size), float(rng.standard_normal())
            for at, pattern in enumerate(every):
                i = first(signs, pattern)
                now[at] += own if i is None else gains[i]
            best = np.maximum(best, now)
            signs = signs.plus(gains, own).raised()
            if rng.random() < 0.7:
                signs = signs.turned(every[rng.integers(len(every))])
            for at, pattern in enumerate(every):
                most = max(most, value(signs, pattern, 0) - now[at], value(signs, pattern, 1) - best[at])
                exact += value(signs, pattern, 0) == pytest.approx(now[at])
    return most, exact


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_what_is_held_is_never_more_than_the_account_of_any_pattern(size: int) -> None:
    most, exact = excess(Signs, size)
    assert most <= 1e-9
    assert exact > 12 * 2**size


@pytest.mark.parametrize("kind", [_WithoutMinimum, _WithoutOwn])
def test_mistakes_are_found(kind: Any) -> None:
    assert excess(kind, 4)[0] > 0.1


def test_the_last_item_may_change_its_side_as_often_as_it_likes() -> None:
    signs = Signs.start(np.array([True, False, True]), np.array([2, 0, 1]))
    signs = signs.plus(np.array([0.5, -1.0, 2.0]), 0.3).raised()
    once = signs.turned(np.array([True, True, True]))
    assert (once.held[0].tolist(), once.own[0]) == ([0.5, 0.3, 2.0], -1.0)
    again = once.turned(signs.inside)
    np.testing.assert_array_equal(again.held, signs.held)
    np.testing.assert_array_equal(again.own, signs.own)
    middle = signs.turned(np.array([False, False, True]))  # item 0, behind which item 1 stands
    assert (middle.held[0].tolist(), middle.own[0]) == ([0.3, -1.0, 2.0], 0.5)
    assert middle.order.tolist() == [2, 1, 0]


def test_several_changes_are_one_after_the_other() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        signs = Signs.start(rng.random(7) < 0.5, rng.permutation(7)).plus(rng.standard_normal(7), 0.2).raised()
        signs = replace(signs, held=rng.standard_normal((2, 7)), own=rng.standard_normal(2))
        inside, single = rng.random(7) < 0.5, signs
        for item in signs.order[(inside != signs.inside)[signs.order]].tolist():
            single = single.turned(np.where(np.arange(7) == item, inside, single.inside))
        together = signs.turned(inside)
        for name in ("inside", "order", "held", "own"):
            np.testing.assert_array_equal(getattr(together, name), getattr(single, name))


def test_an_item_is_known_if_all_before_it_are() -> None:
    signs = replace(Signs.start(np.zeros(3, dtype=bool), np.array([1, 0, 2])), held=np.array([[0.0] * 3, [1, 5, 5]]))
    assert signs.known(3.0).tolist() == [False, True, False]
    assert signs.known(1.0).tolist() == [True, True, True]


@pytest.mark.parametrize("goal", [pw.Above(0.0, 0.3), pw.BetterThan("a", 0.3), pw.Above(0.0, 0.3, minimise=True)])
def test_near_ties_are_seldom_declared_wrong(goal: Any) -> None:
    """Six items just off the limit, half of them on either side, δ = 0.3, at most 400 measurements of each."""
    problem, wrong, runs = pw.Problem(np.eye(6), item_names=[*"abcdef"]), 0, 60
    theta = 1e-3 * np.array([0.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    if not isinstance(goal, pw.BetterThan):
        theta[0] = -1e-3
    for seed in range(runs):
        measure = LinearEnvironment(problem, theta, seed=seed).measure
        sage = pw.Sage(growth=1.5)
        found = pw.identify(problem, goal, measure=measure, algorithm=sage, budget=2400, seed=seed)
        wrong += found.status == "identified" and not goal.right(problem, theta, found.items or ())
    assert wrong <= 0.3 * runs


def test_fewer_measurements_than_by_claims() -> None:
    problem, goal = pw.Problem(np.eye(20)), pw.Above(0.0)
    theta = np.array([0.8, -0.8, 0.8] + [2.0 * (-1) ** i for i in range(17)])
    means = []
    for sides in (False, True):
        runs = pw.simulate(problem, theta, pw.Sage(sides=sides), goal, runs=15, seed=1)
        assert np.mean(runs["correct"]) > 0.9
        means.append(np.mean(runs["measurements"]))
    assert means[1] < 0.85 * means[0]


def test_where_patterns_have_accounts() -> None:
    problem = pw.Problem(np.eye(3), item_names=[*"abc"])
    assert isinstance(pw.Sage().init(problem, pw.Above(0.5)), Sided)
    assert isinstance(pw.Sage().init(problem, pw.BetterThan("a")), Sided)
    for sage, goal in (
        (pw.Sage(sides=False), pw.Above(0.5)),
        (pw.Sage(), pw.Above(0.5, epsilon=0.1)),  # a tolerance has claims of its own
        (pw.Sage(), pw.Above(0.5, promise="share")),
    ):
        assert isinstance(sage.init(problem, goal), Claimed)
    charter = pw.Campaign.create(Memory(), problem, pw.Above(0.5), pw.Sage(), seed=0).ledger.charter
    assert pw.Sage.before["sides"] is False
    assert charter.algorithm == pw.Sage()


@pytest.mark.parametrize(("limit", "listed"), [(-0.5, {"none", "more"}), (0.5, {"more"})])
def test_an_item_whose_value_is_0_whatever_comes_needs_no_bets(limit: float, listed: set[str]) -> None:
    names = ["less", "none", "more"]
    problem = pw.Problem(np.eye(2), np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), item_names=names)
    measure = LinearEnvironment(problem, [-1.5, 1.5], seed=0).measure
    found = pw.identify(problem, pw.Above(limit), measure=measure, algorithm=pw.Sage(), budget=2000, seed=0)
    assert (found.status, set(found.item_names)) == ("identified", listed)
    assert found.confidence is not None
    assert found.confidence >= 0.95


def test_all_that_is_said_on_the_way_holds_together() -> None:
    """Items known are in front, the confidence never exceeds what a declaration would have, the end is the answer."""
    problem, goal, sage = pw.Problem(np.eye(5)), pw.Above(0.0, 0.1), pw.Sage(growth=1.3)
    environment, theta = LinearEnvironment(problem, theta := np.array([1.0, -1.0, 0.6, -0.6, 2.0])), theta
    state, rng = sage.init(problem, goal), np.random.default_rng(3)
    assert sage.confidence(problem, goal, state) == 0.0
    while sage.answer(problem, goal, state) is None:
        state = sage.tell(problem, goal, state, environment.draw(sage.ask(problem, goal, state, rng), rng))
        standing = sage.standing(problem, goal, state)
        assert set(standing.sure) <= set(standing.guess) <= set(standing.remaining.tolist())
        decided = sage.answer(problem, goal, state) is not None
        assert decided == (sage.confidence(problem, goal, state) >= 0.9 - 1e-12)
    assert set(standing.guess) == {0, 2, 4} == set(np.flatnonzero(theta > 0).tolist())
    assert sorted(standing.remaining.tolist()) == [0, 2, 4]
