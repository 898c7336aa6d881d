from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise as pw
from probewise.algorithms.batches import Limits
from probewise.measurements import Measurements
from probewise.simulation import LinearEnvironment

GOAL = pw.BestItem()
whole = st.one_of(st.none(), st.integers(1, 40))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any), whole, whole)
def test_batches_make_up_the_plan(plan, most, replicates):
    limits, counts = Limits(most, None, replicates), np.array(plan)
    told = np.zeros_like(counts)
    sizes = []
    while told.sum() < counts.sum():
        batch = limits.batch(counts, told)
        assert batch.sum() > 0
        assert limits.allow(batch)
        told, sizes = told + batch, [*sizes, int(batch.sum())]
    np.testing.assert_array_equal(told, counts)
    if replicates is None:
        assert max(sizes) - min(sizes) <= 1


def test_every_batch_is_like_the_plan():
    plan = np.array([600, 300, 90, 9, 1])
    told = np.zeros_like(plan)
    while told.sum() < plan.sum():
        told = told + Limits(most=10).batch(plan, told)
        assert np.abs(told - plan * told.sum() / plan.sum()).max() <= 2.0


@given(st.integers(1, 500), st.integers(1, 60), st.integers(0, 60))
def test_sizes_of_rounds_fill_batches(wanted, least, more):
    limits = Limits(least + more, least)
    size = limits.size(wanted)
    batches = -(-size // limits.most)
    assert least <= size // batches
    assert size <= max(wanted, least)
    assert 2 * size >= wanted


def test_a_round_in_batches_is_one_round():
    problem, theta = pw.instances.sphere(20, 4, seed=1)
    environment, rng = LinearEnvironment(problem, theta), np.random.default_rng(0)
    whole, parts = pw.Sage(), pw.Sage(max_batch=7)
    together, state = whole.init(problem, GOAL), parts.init(problem, GOAL)
    for _ in range(3):
        asked, came = whole.ask(problem, GOAL, together, rng), Measurements.empty(problem.n_probes)
        while came.n < asked.sum():
            assert len(state.pool.fits) == len(together.pool.fits), "nothing is concluded before the last batch"
            batch = environment.draw(parts.ask(problem, GOAL, state, rng), rng)
            state, came = parts.tell(problem, GOAL, state, batch), came + batch
        np.testing.assert_array_equal(came.count, asked)
        together = whole.tell(problem, GOAL, together, came)
        assert state.open is None
        np.testing.assert_array_equal(state.alive, together.alive)
        for leader, sums in together.collected.items():
            np.testing.assert_allclose(state.collected[leader], sums)


@settings(deadline=None, max_examples=25)
@given(whole, st.integers(1, 40), whole, st.integers(0, 10))
def test_limits_are_kept_and_the_answer_is_right(most, least, replicates, seed):
    problem = pw.Problem(np.random.default_rng(seed).normal(size=(12, 3)), np.eye(3))
    environment = LinearEnvironment(problem, np.array([0.0, 5.0, -5.0]))
    algorithm = pw.Sage(max_batch=most, min_batch=min(least, most or 40), max_replicates=replicates)
    state, rng = algorithm.init(problem, GOAL), np.random.default_rng(seed)
    while (answer := algorithm.answer(problem, GOAL, state)) is None:
        counts = algorithm.ask(problem, GOAL, state, rng)
        assert algorithm.limits.allow(counts)
        assert counts.sum() >= (min(algorithm.min_batch, 3 * replicates) if replicates else algorithm.min_batch)
        state = algorithm.tell(problem, GOAL, state, environment.draw(counts, rng))
    assert answer == 1


def test_missing_rows_are_asked_for_again():
    problem, _ = pw.instances.transductive(4)
    algorithm, rng = pw.Sage(max_batch=3), np.random.default_rng(0)
    state = algorithm.init(problem, GOAL)
    first = algorithm.ask(problem, GOAL, state, rng)
    came = np.where(np.arange(4) == np.argmax(first), 0, first)
    state = algorithm.tell(problem, GOAL, state, Measurements(came, np.zeros(4), np.zeros(4)))
    assert algorithm.ask(problem, GOAL, state, rng)[np.argmax(first)] >= 1
    # a batch of which nothing came ends the round
    state = algorithm.tell(problem, GOAL, state, Measurements.empty(4))
    assert state.open is None
    assert len(state.pool.fits) == 1


def test_a_round_of_somebody_else_is_evidence_of_its_own():
    problem, theta = pw.instances.transductive(4)
    environment, rng = LinearEnvironment(problem, theta), np.random.default_rng(0)
    algorithm = pw.Sage(max_batch=3)
    state = algorithm.init(problem, GOAL)
    state = algorithm.tell(problem, GOAL, state, environment.draw(algorithm.ask(problem, GOAL, state, rng), rng))
    plan = algorithm.ask(problem, GOAL, state, rng)
    other = algorithm.tell(problem, GOAL, state, environment.draw(np.full(4, 10), rng))  # more than a batch can have
    small = algorithm.take(problem, GOAL, state, environment.draw(np.eye(4, dtype=np.int64)[0], rng))
    for told in (other, small):
        assert len(told.pool.fits) == 1
        assert told.open.data.n == state.open.data.n
        np.testing.assert_array_equal(algorithm.ask(problem, GOAL, told, rng), plan)


def test_bets_on_a_round_do_not_know_what_came_while_it_was_open():
    problem, theta = pw.instances.sphere(12, 3, seed=1)
    environment, rng = LinearEnvironment(problem, theta), np.random.default_rng(0)
    algorithm = pw.Sage(max_batch=9)
    state = algorithm.init(problem, GOAL)
    while len(state.pool.fits) < 2 or state.open is None:
        state = algorithm.tell(problem, GOAL, state, environment.draw(algorithm.ask(problem, GOAL, state, rng), rng))
    block, other = state.open.data, environment.draw(np.full(12, 2), rng)
    between = algorithm.conclude(problem, GOAL, algorithm.take(problem, GOAL, state, other))
    start = dataclasses.replace(state, open=None)
    gains = [dict(zip(s.alive, s.wealth, strict=True)) for s in (start.plus(problem, GOAL, d) for d in (block, other))]
    before = dict(zip(start.alive, start.wealth, strict=True))
    for item, wealth in zip(between.alive, between.wealth, strict=True):
        if item in gains[0] and item in gains[1]:
            assert wealth == pytest.approx(gains[0][item] + gains[1][item] - before[item])


def test_stock_is_never_exceeded():
    rng = np.random.default_rng(0)
    stock = np.append(rng.integers(0, 9, 30), [400] * 10)
    problem = pw.Problem(rng.normal(size=(40, 4)), rng.normal(size=(8, 4)), stock=stock)
    theta = rng.normal(size=4)
    for batch in (None, 1, 9):
        environment = LinearEnvironment(problem, theta, seed=batch)
        result = pw.identify(problem, measure=environment.measure, algorithm=pw.Sage(max_batch=batch))
        used = sum(round.counts for round in result.history)
        assert (used <= stock).all()
        assert (used == stock)[:30].any(), "a stock that is never reached tests nothing"
        assert result.item == environment.best


def test_a_probe_that_becomes_unavailable_is_replaced():
    problem, theta = pw.Problem(np.vstack([np.eye(3), np.eye(3) + 0.2]), np.eye(3)), np.array([1.0, 0.0, -1.0])
    environment, rng = LinearEnvironment(problem, theta), np.random.default_rng(0)
    algorithm = pw.Sage(max_batch=4)
    state = algorithm.init(problem, GOAL)
    state = algorithm.tell(problem, GOAL, state, environment.draw(algorithm.ask(problem, GOAL, state, rng), rng))
    asked = algorithm.ask(problem, GOAL, state, rng)
    gone = int(np.argmax(asked))
    stock: list[int | None] = [None] * 6
    stock[gone] = int(state.told.count[gone])
    rest = dataclasses.replace(problem, stock=stock)
    while algorithm.answer(rest, GOAL, state) is None:
        counts = algorithm.ask(rest, GOAL, state, rng)
        assert counts[gone] == 0
        state = algorithm.tell(rest, GOAL, state, environment.draw(counts, rng))
    assert algorithm.answer(rest, GOAL, state) == environment.best


@pytest.mark.parametrize("batch", [None, 1, 5])
def test_items_that_no_stock_can_tell_apart_are_named(batch):
    problem = pw.Problem(
        np.eye(3), stock=[30, None, None], probe_names=["red", "green", "blue"], item_names=["a", "b", "c"]
    )
    environment = LinearEnvironment(problem, np.array([0.0, 0.01, -9.0]), seed=0)
    message = r"too little is left of probes 'red' to compare items '[ab]' with '[ab]'; add to their stock"
    with pytest.raises(pw.OutOfStock, match=message):
        pw.identify(problem, measure=environment.measure, algorithm=pw.Sage(max_batch=batch))
    nothing = dataclasses.replace(problem, stock=[0, 0, 0])
    with pytest.raises(pw.OutOfStock, match="'red', 'green', 'blue' to compare items 'b', 'c' with 'a'"):
        pw.identify(nothing, measure=environment.measure)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_batch": 0}, "max_batch must be a whole number of at least 1, or None, got 0"),
        ({"min_batch": 2.5}, "min_batch must be a whole number of at least 1, or None, got 2.5"),
        ({"max_replicates": True}, "max_replicates must be a whole number"),
        ({"min_batch": 9, "max_batch": 8}, "min_batch must not exceed max_batch, got 9 and 8"),
    ],
)
def test_bad_limits(limits, message):
    with pytest.raises(pw.InvalidAlgorithm, match=message):
        pw.Sage(**limits)
