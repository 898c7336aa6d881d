from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise as pw
from probewise.algorithms.batches import Limits, spread
from probewise.confidence import LogLog
from probewise.measurements import Measurements
from probewise.simulation import LinearEnvironment

GOAL = pw.BestItem()
whole = st.one_of(st.none(), st.integers(1, 40))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any), whole, whole)
def test_batches_make_up_the_plan(plan, most, replicates):
    limits, counts = Limits(most, None, replicates), np.array(plan)
    told, probes = np.zeros_like(counts), np.random.default_rng(0).normal(size=(counts.size, 3))
    sizes = []
    while told.sum() < counts.sum():
        batch = limits.batch(counts, told, probes)
        assert batch.sum() > 0
        assert batch.sum() <= (most or 10**9)
        assert batch.max() <= (replicates or 10**9)
        told, sizes = told + batch, [*sizes, int(batch.sum())]
    np.testing.assert_array_equal(told, counts)
    if replicates is None:
        assert max(sizes) - min(sizes) <= 1


def test_a_measurement_has_its_place_in_the_middle_of_its_part_of_the_plan():
    """Places of one and of three: 1/2 and 1/6, 1/2, 5/6."""
    assert Limits(most=2).batch(np.array([1, 3]), np.zeros(2, dtype=np.int64)).tolist() == [1, 1]
    assert Limits(most=1).batch(np.array([1, 3]), np.zeros(2, dtype=np.int64)).tolist() == [0, 1]


def test_every_batch_is_like_the_plan():
    plan = np.array([600, 300, 90, 9, 1])
    told = np.zeros_like(plan)
    while told.sum() < plan.sum():
        told = told + Limits(most=10).batch(plan, told, np.eye(5))
        assert np.abs(told - plan * told.sum() / plan.sum()).max() <= 2.0


def two_factors(one: int, other: int) -> np.ndarray:
    """(one·other, 1 + one + other): indicators of all pairs of levels, sorted by the first factor."""
    first, second = np.divmod(np.arange(one * other), other)
    return np.hstack([np.ones((one * other, 1)), np.eye(one)[first], np.eye(other)[second]])


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_batches_determine_as_much_as_they_can(copies):
    """Rows that are sorted by a factor: the first batches in that order would hold half of its levels only."""
    probes, plan = two_factors(6, 4), np.full(24, copies)
    told = np.zeros_like(plan)
    ranks = []
    while told.sum() < plan.sum():
        batch = Limits(most=3).batch(plan, told, probes)
        told = told + batch
        ranks.append(np.linalg.matrix_rank(probes[told > 0]))
    assert ranks[:4] == [3, 6, 9, 9]
    np.testing.assert_array_equal(told, plan)


def test_parts_of_a_plan_begin_anew_once_they_determine_all():
    probes, plan = two_factors(6, 4), np.ones(24, dtype=np.int64)
    order, rank = spread(probes, plan)
    assert rank == 9
    assert sorted(order) == list(range(24))
    for begin in (0, 9):
        part = probes[(begin <= order) & (order < begin + 9)]
        assert np.linalg.matrix_rank(part) == 9
    unit = np.linspace(0.1, 7.0, probes.shape[1])
    np.testing.assert_array_equal(spread(probes * unit, plan)[0], order)  # whatever the units


def test_the_order_of_a_plan_takes_rows_of_zeros_and_no_rows():
    order, rank = spread(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [2.0, 0.0]]), np.array([1, 1, 0, 1]))
    assert (order.tolist(), rank) == ([2, 1, 4, 0], 1)
    assert spread(np.eye(3), np.zeros(3, dtype=np.int64))[1] == 0


@pytest.mark.parametrize("seed", range(40))
def test_large_plans_are_cut_as_small_ones_are(seed, monkeypatch):
    """Without sorting all of it: every cut, and every batch, is the same."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    plan = rng.integers(0, rng.choice([3, 40, 900], n)) * int(rng.choice([1, 3]))
    told = np.minimum(rng.integers(0, 20, n), plan) * int(rng.integers(2))
    probes = rng.standard_normal((n, 4)) if seed % 2 else None
    size = int(rng.integers(0, plan.sum() + 2))
    limits = Limits(most=max(size // 3, 1), replicates=None if seed % 3 else 5)
    cut, batch = limits.cut(plan, size, probes), limits.batch(plan, told, probes)
    monkeypatch.setattr("probewise.algorithms.batches._SORTED", 0)
    np.testing.assert_array_equal(limits.cut(plan, size, probes), cut)
    np.testing.assert_array_equal(limits.batch(plan, told, probes), batch)


def test_a_plan_that_no_memory_holds_is_cut():
    plan = np.array([10**13, 3 * 10**13, 0, 7])
    cut = Limits().cut(plan, 4 * 10**12, np.eye(4)[:, :3])
    assert cut.sum() == 4 * 10**12
    np.testing.assert_allclose(cut[:2], plan[:2] / 10, rtol=1e-9)


def test_a_budget_cuts_a_round_to_what_determines_most():
    probes, plan = two_factors(6, 4), np.ones(24, dtype=np.int64)
    assert np.linalg.matrix_rank(probes[Limits().cut(plan, 9, probes) > 0]) == 9
    assert np.linalg.matrix_rank(probes[Limits().cut(plan, 9) > 0]) < 9


@given(st.integers(1, 500), st.integers(1, 60), st.integers(0, 60))
def test_sizes_of_rounds_fill_batches(wanted, least, more):
    limits = Limits(least + more, least)
    size = limits.size(wanted)
    batches = -(-size // limits.most)
    assert least <= size // batches
    assert size <= max(wanted, least)
    assert 2 * size >= wanted


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any), whole, st.integers(1, 40), whole)
def test_no_batch_is_smaller_than_the_limits_make_it(plan, most, least, replicates):
    least = min(least, most or 40)
    limits, room = Limits(most, least, replicates), np.full(len(plan), np.inf)
    counts = limits.filled(np.array(plan), room)
    assert (counts >= plan).all()
    assert (counts[np.array(plan) == 0] == 0).all()
    told, full = np.zeros_like(counts), int(np.count_nonzero(plan)) * (replicates or 10**9)
    batches = limits._parts(counts)
    assert batches == limits._parts(np.array(plan)), "filling up takes no more batches"
    for _ in range(batches):
        batch = limits.batch(counts, told)
        assert limits.batches(int(batch.sum())) == 1
        assert batch.max() <= (replicates or 10**9)
        assert batch.sum() >= min(least, full)
        told = told + batch
    np.testing.assert_array_equal(told, counts)


def test_filling_up_minds_the_room():
    room = np.array([5.0, 6.0, 9.0])
    np.testing.assert_array_equal(Limits(least=30).filled(np.array([2, 4, 0]), room), [5, 6, 0])
    np.testing.assert_array_equal(Limits(least=8).filled(np.array([2, 4, 0]), room), [3, 5, 0])


@settings(deadline=None, max_examples=25)
@given(whole, st.integers(1, 40), whole, st.integers(0, 10))
def test_limits_are_kept_and_the_answer_is_right(most, least, replicates, seed):
    problem = pw.Problem(np.random.default_rng(seed).normal(size=(12, 3)), np.eye(3))
    environment = LinearEnvironment(problem, np.array([0.0, 5.0, -5.0]))
    algorithm = pw.Sage(max_batch=most, min_batch=min(least, most or 40), max_replicates=replicates)
    result = pw.identify(problem, measure=environment.measure, algorithm=algorithm, seed=seed)
    assert result.item == 1
    for batch in result.history:
        assert batch.counts.sum() <= (most or 10**9)
        assert batch.counts.max() <= (replicates or 10**9)
        assert batch.counts.sum() >= (min(algorithm.min_batch, 2 * replicates) if replicates else algorithm.min_batch)


def test_a_round_in_batches_is_told_as_one():
    problem, theta = pw.instances.sphere(20, 4, seed=1)
    told = []

    class Listening(pw.Sage):
        def tell(self, problem, goal, state, measurements):
            told.append(measurements)
            return pw.Sage.tell(self, problem, goal, state, measurements)

    environment = LinearEnvironment(problem, theta, seed=0)
    result = pw.identify(problem, measure=environment.measure, algorithm=Listening(max_batch=7), seed=0)
    assert result.item == environment.best
    assert len(told) < result.rounds == len(result.history)
    assert sum(round.n for round in told) == result.measurements
    state, rng, plain = pw.Sage().init(problem, GOAL), np.random.default_rng(0), pw.Sage(max_batch=7)
    for measurements in told:
        np.testing.assert_array_equal(plain.ask(problem, GOAL, state, rng), measurements.count)
        state = plain.tell(problem, GOAL, state, measurements)
    assert state.winner == result.item


def test_a_budget_ends_the_search_before_the_batch_that_exceeds_it():
    problem, theta = pw.instances.sphere(20, 4, seed=1)
    for budget, spent in ((6, 0), (20, 14), (21, 21), (30, 28)):
        result = pw.identify(
            problem,
            measure=LinearEnvironment(problem, theta).measure,
            algorithm=pw.Sage(max_batch=7, min_batch=7),
            budget=budget,
        )
        assert (result.status, result.measurements) == ("budget exhausted", spent)
        assert (result.item is None) == (spent == 0)


def test_bets_on_rounds_that_overlapped_know_nothing_of_each_other():
    problem, theta = pw.instances.sphere(12, 3, seed=1)
    environment, rng, algorithm = LinearEnvironment(problem, theta), np.random.default_rng(0), pw.Sage()
    state = algorithm.init(problem, GOAL)
    for _ in range(2):
        state = algorithm.tell(problem, GOAL, state, environment.draw(algorithm.ask(problem, GOAL, state, rng), rng))
    rounds = [environment.draw(np.full(12, count), rng) for count in (1, 2, 1)]
    together = algorithm.tell_overlapping(problem, GOAL, state, rounds)
    alone = [algorithm.tell(problem, GOAL, state, round) for round in rounds]
    before = dict(zip(state.alive, state.wealth, strict=True))
    gains = [dict(zip(s.alive, s.wealth, strict=True)) for s in alone]
    assert together.alive.size > 1
    for item, wealth in zip(together.alive, together.wealth, strict=True):
        if all(item in gain for gain in gains):
            assert wealth == pytest.approx(sum(gain[item] for gain in gains) - 2 * before[item])
    in_turn = state
    for round in rounds:
        in_turn = algorithm.tell(problem, GOAL, in_turn, round)
    for leader, sums in together.collected.items():
        if leader in in_turn.collected:
            where = {int(item): at for at, item in enumerate(in_turn.alive)}
            shared = [(at, where[int(item)]) for at, item in enumerate(together.alive) if int(item) in where]
            for at, other in shared:
                assert sums.precision[at] == pytest.approx(in_turn.collected[leader].precision[other])
                assert sums.total[at] == pytest.approx(in_turn.collected[leader].total[other])


def test_nothing_is_ruled_out_before_all_overlapping_rounds_are_there():
    problem, algorithm = pw.Problem(np.eye(2)), pw.Sage()
    state = algorithm.tell(problem, GOAL, algorithm.init(problem, GOAL), _exactly([3, 3], [0.3, 0.0]))
    good, bad = _exactly([50, 50], [0.62, 0.0]), _exactly([50, 50], [-0.4, 0.0])
    assert algorithm.tell(problem, GOAL, state, good).winner == 0
    for rounds in ((good, bad), (bad, good)):
        assert algorithm.tell_overlapping(problem, GOAL, state, rounds).winner is None


def test_the_next_design_begins_with_the_probes_of_all_overlapping_rounds():
    problem, algorithm = pw.Problem(np.eye(3)), pw.Sage()
    rounds = [_exactly([3, 0, 0], [1.0, 0.0, 0.0]), _exactly([0, 2, 0], [0.0, 1.0, 0.0])]
    for goal in (GOAL, pw.TopM(2)):
        state = algorithm.tell_overlapping(problem, goal, algorithm.init(problem, goal), rounds)
        assert state.last.tolist() == [True, True, False]


def _exactly(counts, means):
    return Measurements(np.array(counts), np.array(means), np.zeros(len(counts)))


def test_an_algorithm_of_its_own_rounds_refuses_overlapping_ones():
    problem, algorithm = pw.Problem(np.eye(2)), pw.Rage()
    state, round = algorithm.init(problem, GOAL), _exactly([50, 50], [2.0, 0.0])
    assert algorithm.tell_overlapping(problem, GOAL, state, [round]).t == 2
    with pytest.raises(pw.InvalidAlgorithm, match="rage cannot take rounds that overlap, got 2"):
        algorithm.tell_overlapping(problem, GOAL, state, [round, round])


@pytest.mark.parametrize("limits", [{"max_batch": 1}, {"max_replicates": 1}])
def test_whoever_plans_by_what_a_round_has_shown_does_not_fool_the_accounts(limits):
    """A tie of two probes: in each round, measure the first until its mean is low, then the second until it is high.

    Merged into one round, that makes a winner of item 1 more often than not.
    """
    problem, algorithm, wrong = pw.Problem(np.eye(2)), pw.Sage(**limits), 0
    for seed in range(8):
        rng, state, rounds = np.random.default_rng(seed), algorithm.init(problem, GOAL), -1
        for _ in range(200):
            if len(state.pool.fits) != rounds:
                rounds, sums, counts = len(state.pool.fits), np.zeros(2), np.zeros(2)
            probe = _greedy(sums, counts)
            outcome = rng.normal()
            sums[probe] += outcome
            counts[probe] += 1
            state = algorithm.tell(problem, GOAL, state, Measurements.from_outcomes(2, [probe], [outcome]))
            if state.winner is not None:
                wrong += 1
                break
    assert wrong <= 1


def _greedy(sums, counts):
    """The first probe while its mean is not low, then the second while it is not high."""
    if counts[0] == 0 or sums[0] > -0.5 * np.sqrt(counts[0]):
        return 0
    if counts[1] == 0 or sums[1] < 0.5 * np.sqrt(counts[1]):
        return 1
    return int(counts[1] < counts[0])


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
    environment, rng, algorithm = LinearEnvironment(problem, theta), np.random.default_rng(0), pw.Sage()
    state = algorithm.init(problem, GOAL)
    state = algorithm.tell(problem, GOAL, state, environment.draw(algorithm.ask(problem, GOAL, state, rng), rng))
    gone = int(np.argmax(algorithm.ask(problem, GOAL, state, rng)))
    stock: list[int | None] = [None] * 6
    stock[gone] = int(state.data.count[gone])
    rest = dataclasses.replace(problem, stock=stock)
    while algorithm.answer(rest, GOAL, state) is None:
        counts = algorithm.ask(rest, GOAL, state, rng)
        assert counts[gone] == 0
        state = algorithm.tell(rest, GOAL, state, environment.draw(counts, rng))
    assert algorithm.answer(rest, GOAL, state) == (environment.best,)


@pytest.mark.parametrize("batch", [None, 1, 5])
def test_items_that_no_stock_can_tell_apart_are_named(batch):
    problem = pw.Problem(
        np.eye(3), stock=[30, None, None], probe_names=["red", "green", "blue"], item_names=["a", "b", "c"]
    )
    environment = LinearEnvironment(problem, np.array([0.0, 0.01, -9.0]), seed=0)
    message = r"too little is left of probes 'red' to decide about items '[ab]'; add to their stock"
    with pytest.raises(pw.OutOfStock, match=message):
        pw.identify(problem, measure=environment.measure, algorithm=pw.Sage(max_batch=batch))
    nothing = dataclasses.replace(problem, stock=[0, 0, 0])
    with pytest.raises(pw.OutOfStock, match="'red', 'green', 'blue' to decide about items 'b', 'c'"):
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


def test_batched_is_as_able_and_as_proven_as_its_algorithm():
    """Rounds that are filled up are not as planned, and only some algorithms take any."""
    rage, sage, loose = pw.Rage("tight"), pw.Sage(), pw.LinGapE(threshold=LogLog())
    assert (rage.proven, sage.proven, loose.proven) == (True, True, False)
    assert pw.Batched(rage, 6).proven
    assert not pw.Batched(rage, 6, 4).proven
    assert pw.Batched(sage, 6, 4).proven
    assert not pw.Batched(loose, 6).proven
    for algorithm in (rage, sage):
        own = pw.Batched(algorithm, 6)
        assert (own.takes_any_rounds, own.learns_sigma) == (algorithm.takes_any_rounds, algorithm.learns_sigma)
    with pytest.raises(
        pw.InvalidAlgorithm, match=r"Batched needs an algorithm, such as Batched\(Rage\(\), 96\), got 96"
    ):
        pw.Batched(96)
    with pytest.raises(pw.InvalidAlgorithm, match="has batches of its own; give their limits only once"):
        pw.Batched(pw.Sage(max_batch=3), 3)


def test_batched_fills_up_rounds_with_what_is_in_stock():
    algorithm, rng = pw.Uniform(), np.random.default_rng(0)
    for stock, filled in (([np.inf, np.inf], [20, 20]), ([7, np.inf], [7, 33])):
        problem = pw.Problem(np.eye(2), stock=stock)
        counts = algorithm.ask(problem, GOAL, algorithm.init(problem, GOAL), rng)
        assert counts.max() < 7
        batched = pw.Batched(algorithm, min_batch=40)
        np.testing.assert_array_equal(batched.ask(problem, GOAL, batched.init(problem, GOAL), rng), filled)
