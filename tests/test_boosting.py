"""Boosted bets: docs/boosting.md."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import boosting_audit
import numpy as np
import pytest
from scipy.stats import norm

import probewise as pw
from probewise.algorithms.sage.boosting import boosts, table
from probewise.algorithms.sage.knowledge import Knowledge
from probewise.confidence import log_wealth, mixture_width
from probewise.measurements import Measurements
from probewise.pooling import Sums

LAW = pw.Gaussian(1.0, normal=True)
FIVE = pw.Problem(np.eye(5), outcome=LAW)


def states(count: int) -> tuple[Any, ...]:
    """Random bets before a round: S, W, the precision of the round, and what accounts lack."""
    rng = np.random.default_rng(5)
    precision = 10.0 ** rng.uniform(-1, 5, count)
    total = np.sqrt(precision) * rng.uniform(0.0, 5.0, count)
    return total, precision, precision * 10.0 ** rng.uniform(-2, 1, count), rng.uniform(0.01, 2.4, count)


def test_the_mean_of_a_boosted_bet_is_at_most_one_for_every_smaller_noise() -> None:
    """By another quadrature; and close to 1 for some of them, or there would be more to be had."""
    total, precision, more, lacking = states(60)
    by = boosts(LAW, Sums(precision, total), more, np.ones(60), 1.0, lacking)
    assert (by >= 0).all()
    assert (by > 0.01).sum() > 20
    edges = np.linspace(-9, 9, 3601)
    x, mass = (edges[1:] + edges[:-1]) / 2, np.diff(norm.cdf(edges))
    largest = []
    for s, w, dw, lack, b in zip(total, precision, more, lacking, by, strict=True):
        begun = log_wealth(np.array([s]), np.array([w]), np.ones(1))[0]
        means = []
        for rho in (0.0, 0.1, 0.35, 0.7, 0.9, 1.0):
            log = log_wealth(s + rho * math.sqrt(dw) * x, np.full(x.size, w + dw), np.ones(x.size)) - begun
            means.append(mass @ np.exp(np.minimum(log + b, lack)))
        assert max(means) <= 1.0 if b > 0 else max(means) <= 1.0 + 1e-6
        largest.append(max(means))
    assert np.median(largest) > 0.99


def test_the_strongest_adversary_stays_below_delta_and_beats_a_boost_that_trusts_sigma() -> None:
    """Somebody who chooses the scale of the noise of every round, by a dynamic programme on a coarse grid."""
    law = boosting_audit.OneScale(1.0, normal=True)
    none, robust, trusting = (
        boosting_audit.adversary(law, 0.05, 1.3, 1e4, kind, step=0.2) for kind in ("none", "robust", "trusting")
    )
    assert none < 0.03
    assert 0.045 < robust <= 0.05
    assert trusting > 0.052


def test_the_weights_are_those_of_a_line_under_normal_laws() -> None:
    """Of 1 and of x, with the two scales of a cell; a convex function is bounded from above."""
    places, weights, _ = table()
    np.testing.assert_allclose(weights.sum(axis=0), 1.0, atol=1e-12)
    assert (weights >= 0).all()
    cells = weights.shape[1]
    wanted = (np.arange(1, cells + 1) - np.arange(cells)) / cells / math.sqrt(2 * math.pi)
    np.testing.assert_allclose(places @ weights, wanted, atol=1e-4)
    assert (np.exp(places) @ weights > np.exp(0.5 * (np.arange(cells) / cells) ** 2)).all()


def test_little_is_boosted_where_much_is_lacking_and_nothing_by_a_round_that_says_nothing() -> None:
    sums = Sums(np.full(4, 100.0), np.full(4, 30.0))
    found = boosts(LAW, sums, np.array([10.0, 10.0, 10.0, 0.0]), np.ones(4), 1.0, np.array([0.3, 2.0, 3.0, 0.3]))
    assert found[0] > found[1] > 0
    assert found[2:].tolist() == [0.0, 0.0]
    far = boosts(LAW, Sums(np.ones(2), np.array([-1e100, 1e100])), np.ones(2), np.ones(2), 1.0, np.full(2, 0.5))
    assert far.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("law", "boosted"),
    [
        (pw.Gaussian(2.0), False),
        (pw.Gaussian(2.0, normal=True), True),
        (pw.Gaussian(unknown=True), True),
        (pw.Bounded(0, 1), False),
    ],
)
def test_only_noise_that_is_said_to_be_normal_is_boosted(law: pw.Law, boosted: bool) -> None:
    assert law.is_normal is boosted
    if isinstance(law, pw.Gaussian) and law.known:
        assert ("normally distributed" in law.noise) is boosted
        assert ("sub-Gaussian" in law.noise) is not boosted


def walk(sage: pw.Sage, problem: pw.Problem, goal: pw.BestItem, seed: int) -> list[Any]:
    """States after each round, of rounds that do not depend on what is concluded."""
    rng, state = np.random.default_rng(seed), sage.init(problem, goal)
    found = []
    for size in (2, 2, 3, 3, 4, 4, 5, 6):
        counts = np.full(problem.n_probes, size)
        means = np.array([0.9, 0.0, 0.0, -0.2, -0.4]) + rng.standard_normal(5) / math.sqrt(size)
        scatter = rng.chisquare(size - 1, 5)
        state = sage.tell(problem, goal, state, Measurements(counts, means, scatter))
        found.append(state)
        if state.winner is not None:
            break
    return found


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_a_boosted_account_makes_more_until_it_is_full_and_never_more_than_that(epsilon: float) -> None:
    goal = pw.BestItem(0.05, epsilon)
    sooner = 0
    for seed in range(30):
        plain, more = (walk(pw.Sage(boost=boost), FIVE, goal, seed) for boost in (False, True))
        assert len(more) <= len(plain)
        sooner += len(more) < len(plain)
        for one, other in zip(plain, more, strict=False):
            assert set(other.alive) <= set(one.alive)
            gone = np.setdiff1d(np.arange(5), other.alive)
            assert (other.peaks.plain[gone] >= math.log(20.0)).all()
            if epsilon:
                assert pw.Sage().confidence(FIVE, goal, other) <= 0.95
    assert sooner >= 1
    without = replace(FIVE, outcome=pw.Gaussian(1.0))
    for one, other in zip(*(walk(pw.Sage(boost=boost), without, goal, 1) for boost in (False, True)), strict=True):
        np.testing.assert_array_equal(one.wealth, other.wealth)


def test_boosts_of_rounds_that_overlap_know_nothing_of_each_other() -> None:
    """The gain of each is what it would be alone, and none makes more than was lacking before both."""
    sage, goal, rng = pw.Sage(), pw.BestItem(0.05), np.random.default_rng(0)
    state = walk(pw.Sage(), FIVE, goal, 3)[1]
    rounds = [
        Measurements(np.full(5, n), np.array([0.5, 0, 0, 0, 0]) + rng.standard_normal(5) / n, np.ones(5))
        for n in (3, 5)
    ]
    both, swapped, *alone = (
        _wealth(sage.tell_overlapping(FIVE, goal, state, told))
        for told in (rounds, rounds[::-1], rounds[:1], rounds[1:])
    )
    before = _wealth(state)
    left = set.intersection(*(set(told) for told in (both, *alone)))  # of who is ruled out, no more is known
    assert len(left) >= 3
    for item in left:
        assert both[item] == pytest.approx(swapped[item])
        assert both[item] - before[item] == pytest.approx(sum(one[item] - before[item] for one in alone))


def _wealth(state: Knowledge) -> dict[int, float]:
    return dict(zip(state.alive.tolist(), state.wealth.tolist(), strict=True))


def test_rounds_that_overlap_are_not_boosted_where_epsilon_eases_accounts() -> None:
    goal, rng = pw.BestItem(0.05, 0.3), np.random.default_rng(0)
    state = walk(pw.Sage(), FIVE, goal, 3)[1]
    rounds = [
        Measurements(np.full(5, n), np.array([0.5, 0, 0, 0, 0]) + rng.standard_normal(5) / n, np.ones(5))
        for n in (3, 5, 4)
    ]
    both, plain = (pw.Sage().tell_overlapping(FIVE, goal, replace(state, boost=b), rounds) for b in (True, False))
    assert both.boost
    np.testing.assert_array_equal(both.alive, plain.alive)
    np.testing.assert_array_equal(both.wealth, plain.wealth)


@pytest.mark.parametrize("seed", range(6))
def test_one_plate_decides_what_its_printed_intervals_decide(seed: int) -> None:
    """Whichever of 36 items leads, whatever the design: the Proposition of docs/sage.md."""
    rng = np.random.default_rng(seed)
    problem = pw.Problem(np.hstack([np.ones((36, 1)), rng.normal(size=(36, 4))]), sigma=rng.uniform(0.2, 2.0))
    goal, sage = pw.BestItem(rng.choice([0.05, 0.3])), pw.Sage(min_batch=96, max_batch=96)
    state = sage.init(problem, goal)
    counts = sage.ask(problem, goal, state, rng)
    assert counts.sum() == 96
    outcomes = problem.probes @ rng.normal(scale=2.0, size=5)
    noise = problem.sigma * rng.standard_normal(36) / np.sqrt(np.maximum(counts, 1))
    told = Measurements(counts, np.where(counts > 0, outcomes + noise, 0.0), np.zeros(36))
    after = sage.tell(problem, goal, state, told)
    leader, alive = int(after.alive[0]), set(after.alive.tolist())
    sums = after.pool.sums(problem.items[leader] - problem.items)
    width = mixture_width(sums.precision, sums.precision, goal.delta / math.comb(36, 2))
    with np.errstate(invalid="ignore"):
        behind = np.flatnonzero((sums.precision > 0) & (sums.mean > width))
    assert behind.size > 5
    assert not alive & set(behind.tolist())
