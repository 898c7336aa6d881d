"""One account for each list of the top m: docs/lists.md."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms.sage.claims import Claimed
from probewise.algorithms.sage.lists import Lists, order
from probewise.algorithms.sage.shared import Shared
from probewise.simulation import LinearEnvironment

Pair = tuple[int, int]


def pair(lists: Lists, chosen: set[int]) -> Pair:
    """On which a list is bet against: the first item in front that it lacks, and the first that it has instead."""
    return (
        next(a for a in lists.inside.tolist() if a not in chosen),
        next(b for b in lists.outside.tolist() if b in chosen),
    )


def value(lists: Lists, chosen: set[int], row: int = 0) -> float:
    """What is held against a list."""
    if chosen == set(lists.inside.tolist()):
        return float(lists.own[row])
    a, b = pair(lists, chosen)
    return float(lists.held[row][lists.inside.tolist().index(a), lists.outside.tolist().index(b)])


@pytest.mark.parametrize(("size", "m"), [(2, 1), (5, 1), (5, 2), (6, 3), (6, 5)])
def test_what_is_held_is_never_more_than_the_account_of_any_list(size: int, m: int) -> None:
    rng, exact = np.random.default_rng(size * m), 0
    every = [set(chosen) for chosen in itertools.combinations(range(size), m)]
    for _ in range(20):
        lists = Lists.start(*order(rng.standard_normal(size), m))
        now, best = np.zeros(len(every)), np.zeros(len(every))
        for _ in range(12):
            gains, own = rng.standard_normal((m, size - m)), float(rng.standard_normal())
            place = {z: at for order in (lists.inside, lists.outside) for at, z in enumerate(order.tolist())}
            for at, chosen in enumerate(every):
                if chosen == set(lists.inside.tolist()):
                    now[at] += own
                else:
                    a, b = pair(lists, chosen)
                    now[at] += gains[place[a], place[b]]
            best = np.maximum(best, now)
            lists = lists.plus(gains.ravel(), own).raised()
            if rng.random() < 0.7:
                lists = lists.turned(np.array(sorted(every[rng.integers(len(every))])))
            for at, chosen in enumerate(every):
                assert value(lists, chosen) <= now[at] + 1e-9
                assert value(lists, chosen, 1) <= best[at] + 1e-9
                exact += value(lists, chosen) == pytest.approx(now[at])
    assert exact > 12 * len(every)


def test_the_last_two_may_change_places_as_often_as_they_like() -> None:
    rng, values = np.random.default_rng(0), np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    lists = Lists.start(*order(values, 3)).plus(rng.standard_normal(9), 0.3).raised()
    first, second = np.array([0, 1, 2]), np.array([0, 1, 3])
    again = lists.turned(second).turned(first)
    np.testing.assert_array_equal(again.held, lists.held)
    np.testing.assert_array_equal(again.own, lists.own)
    turned = lists.turned(second)
    assert (turned.own == lists.held[:, 2, 2]).all()
    assert (turned.held[:, 2, 2] == lists.own).all()
    np.testing.assert_array_equal(turned.held[:, :2, :2], lists.held[:, :2, :2])
    assert turned.outside.tolist() == [5, 4, 2]


class _WithoutOwn(Lists):
    """Wrong: the list that was in front is held to have gained what the others did."""

    def _exchanged(self) -> Lists:
        return replace(super()._exchanged(), held=self.held)


class _Forgetful(Lists):
    """Wrong: lists that move on to another pair take over what that one has."""

    def _last(self, a: int, b: int) -> Lists:
        i, j = self.inside.tolist().index(a), self.outside.tolist().index(b)
        rows, columns = (
            np.append(np.delete(np.arange(k), at), at) for k, at in zip(self.held.shape[1:], (i, j), strict=True)
        )
        held = self.held[:, rows[:, None], columns]
        return replace(self, inside=self.inside[rows], outside=self.outside[columns], held=held)


START = np.log(8.0)


def game(kind: Any, size: int, m: int, true: tuple[int, ...], depth: int, enough: float) -> float:
    """The largest probability, over all strategies, that a wrong list is ever declared.

    Before each round somebody chooses the list in front and one pair of an item outside the true list and one in it:
    a bet that the first is better is doubled or lost, both with probability 1/2. Bets on other such pairs stay as they
    are, and those on any other pair are multiplied by 8.
    """
    every = list(itertools.combinations(range(size), m))
    nulls = [(a, b) for a in range(size) if a not in true for b in true]

    def gain(a: int, b: int, null: Pair, won: float) -> float:
        return START if (a, b) not in nulls else won if (a, b) == null else 0.0

    def after(lists: Lists, null: Pair, won: float) -> Lists:
        gains = np.array([[gain(a, b, null, won) for b in lists.outside.tolist()] for a in lists.inside.tolist()])
        own = won if set(lists.inside.tolist()) == set(true) else START
        return lists.plus(gains.ravel(), own).raised()

    def key(lists: Lists, left: int) -> tuple[Any, ...]:
        return left, tuple(lists.inside), tuple(lists.outside), lists.held.round(6).tobytes(), tuple(lists.own.round(6))

    seen: dict[Any, float] = {}

    def best(lists: Lists, left: int) -> float:
        at = key(lists, left)
        if at in seen:
            return seen[at]
        found = 0.0
        for front in every:
            now = lists.turned(np.array(front))
            if set(front) != set(true) and (now.held[1] >= enough - 1e-9).all():
                found = 1.0
                break
            if left:
                found = max(
                    found,
                    *(
                        0.5
                        * (best(after(now, null, math.log(2.0)), left - 1) + best(after(now, null, -50.0), left - 1))
                        for null in nulls
                    ),
                )
        seen[at] = found
        return found

    start = Lists.start(*order(-np.arange(float(size)), m))
    return best(kind(start.inside, start.outside, start.held, start.own), depth)


def per_pair(size: int, true: tuple[int, ...], m: int, depth: int, enough: float) -> float:
    """The same with an account for each pair, kept over changes: other pairs are beyond doubt from the start."""
    nulls = [(a, b) for a in range(size) if a not in true for b in true]
    wrong = [chosen for chosen in itertools.combinations(range(size), m) if set(chosen) != set(true)]

    @cache
    def best(made: tuple[float, ...], left: int) -> float:
        held = dict(zip(nulls, made, strict=True))
        for chosen in wrong:
            if all(held[a, b] >= enough - 1e-9 for a in chosen for b in true if b not in chosen and (a, b) in held):
                return 1.0
        if not left:
            return 0.0
        out = 0.0
        for at in range(len(nulls)):
            parts = [tuple(x + by if k == at else x for k, x in enumerate(made)) for by in (math.log(2.0), -50.0)]
            out = max(out, 0.5 * sum(best(part, left - 1) for part in parts))
        return out

    return best((0.0,) * len(nulls), depth)


DELTA = 0.25


@pytest.mark.parametrize(("size", "m", "true", "depth"), [(3, 1, (2,), 5), (3, 2, (0, 2), 5), (4, 2, (1, 3), 3)])
def test_nobody_can_make_a_wrong_list_more_likely_than_allowed(
    size: int, m: int, true: tuple[int, ...], depth: int
) -> None:
    assert game(Lists, size, m, true, depth, -math.log(DELTA)) == pytest.approx(DELTA, abs=1e-12)


@pytest.mark.parametrize(("kind", "size", "m"), [(_WithoutOwn, 3, 1), (_WithoutOwn, 4, 2), (_Forgetful, 4, 2)])
def test_the_game_finds_out_what_is_wrong(kind: type[Lists], size: int, m: int) -> None:
    assert game(kind, size, m, tuple(range(size - m, size)), 2, -math.log(DELTA)) == 1.0


@pytest.mark.parametrize(("size", "m", "true"), [(3, 1, (2,)), (3, 2, (0, 2)), (4, 2, (1, 3))])
def test_accounts_of_pairs_that_are_kept_over_changes_are_wrong_nearly_twice_as_often(
    size: int, m: int, true: tuple[int, ...]
) -> None:
    assert per_pair(size, true, m, 4, -math.log(DELTA)) > 1.7 * DELTA


def played(problem: pw.Problem, theta: Any, goal: pw.Goal, sage: pw.Sage, seed: int, most: int = 60) -> list[Shared]:
    environment, rng, out = LinearEnvironment(problem, theta), np.random.default_rng(seed), []
    state = sage.init(problem, goal)
    while len(out) < most and sage.answer(problem, goal, state) is None:
        state = sage.tell(problem, goal, state, environment.draw(sage.ask(problem, goal, state, rng), rng))
        assert isinstance(state, Shared)
        out.append(state)
    return out


@pytest.mark.parametrize("law", [pw.Gaussian(1.0), pw.Gaussian(1.0, normal=True), pw.Gaussian(1.0, unknown=True)])
def test_the_top_m_are_found_and_what_is_said_on_the_way_stays_so(law: pw.Law) -> None:
    problem, goal = pw.Problem(np.eye(6), outcome=law), pw.TopM(2, delta=0.05)
    early = 0
    for seed in range(3):
        states = played(problem, [4.0, 1.5, 0.5, 0.0, -2.0, -3.0], goal, pw.Sage(), seed)
        assert states[-1].answer is not None
        assert sorted(states[-1].answer) == [0, 1]
        sure, left = set[int](), set(range(6))
        for state in states:
            now = state.standing(problem, goal)
            assert sure <= set(now.sure or state.answer or ())
            assert set(now.remaining.tolist()) <= left
            sure, left = {*sure, *now.sure}, set(now.remaining.tolist())
            early += bool(now.sure)
        np.testing.assert_array_equal(sorted(left), [0, 1])
    assert early > 1


def test_sums_are_carried_on_while_the_list_in_front_stays() -> None:
    problem, goal = pw.Problem(np.eye(5)), pw.TopM(2)
    changes = 0
    for before, state in itertools.pairwise(played(problem, [0.3, 0.2, 0.1, 0.0, 0.0], goal, pw.Sage(), 3, most=15)):
        assert state.lists is not None
        assert state.known is not None
        changes += before.guess != state.guess
        one, other = state.lists.pairs
        again = state.pool.sums(problem.items[one] - problem.items[other])
        np.testing.assert_allclose(state.known.total, again.total, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(state.known.precision, again.precision, rtol=1e-10)
    assert changes > 1


def test_nothing_is_bet_while_it_is_unclear_which_list_is_in_front() -> None:
    problem, goal = pw.Problem(np.eye(4)), pw.TopM(2)
    waited = 0
    for before, state in itertools.pairwise(
        played(problem, np.zeros(4), goal, pw.Sage(opening=0.0, patient=False), 1, most=20)
    ):
        assert before.lists is not None
        assert state.lists is not None
        if not before.betting:
            waited += 1
            known = np.append(before.lists.held[0], before.lists.own[0])
            assert np.isin(state.lists.held[0], known).all()
    assert waited > 3


def test_for_one_item_it_is_the_question_for_the_best() -> None:
    problem = pw.Problem(np.eye(5))
    both = [
        pw.simulate(problem, [0.5, 0, 0, 0, 0], pw.Sage(), goal, runs=20, seed=1).mean("measurements")
        for goal in (pw.TopM(1), pw.BestItem())
    ]
    assert 0.7 < both[0] / both[1] < 1.4


def test_the_rule_of_older_campaigns_is_kept() -> None:
    problem, goal = pw.Problem(np.eye(4)), pw.TopM(2)
    assert pw.Sage.before["shared"] is False
    assert isinstance(pw.Sage().init(problem, goal), Shared)
    assert isinstance(pw.Sage(shared=False).init(problem, goal), Claimed)
    assert isinstance(pw.Sage().init(problem, pw.TopM(2, epsilon=0.1)), Claimed)  # a tolerance has claims of its own


def test_large_rounds_are_bet_on_though_it_is_unclear_which_list_is_in_front() -> None:
    problem, goal = pw.Problem(np.eye(4)), pw.TopM(2, delta=0.05)

    def told(means: list[float], count: int) -> pw.Measurements:
        return pw.Measurements(np.full(4, count), np.array(means), np.zeros(4))

    def after(count: int, patient: bool) -> pw.algorithms.sage.shared.Shared:
        sage = pw.Sage(patient=patient)
        state = sage.tell(problem, goal, sage.init(problem, goal), told([0.01, 0.005, 0.0, -0.01], 100))
        assert not state.betting
        return sage.tell(problem, goal, state, told([3.0, 2.9, 0.0, -0.1], count))

    small, large, before = after(290, True), after(310, True), after(310, False)
    assert small.answer is None
    assert large.answer == (0, 1)
    assert before.answer is None
