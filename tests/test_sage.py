from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

import probewise as pw
from probewise import confidence, pooling
from probewise.algorithms.planning import coarse
from probewise.algorithms.sage import knowledge, prior
from probewise.algorithms.sage.knowledge import _ascending
from probewise.algorithms.sage.opening import differences
from probewise.confidence import log_evidence, log_wealth
from probewise.design import largest_variance, remembering, working_set
from probewise.run import loop
from probewise.simulation import LinearEnvironment


def run(problem, theta, algorithm, goal=None, seed=0, noise="gaussian"):
    environment = LinearEnvironment(problem, theta, noise)
    with remembering(keep=True):
        return loop(
            problem,
            goal or pw.BestItem(),
            algorithm,
            observe=lambda counts, step: environment.draw(counts, np.random.default_rng([seed, step])),
            stream=lambda step: np.random.default_rng([seed, step, 1]),
        )


@pytest.mark.parametrize(
    ("total", "precision", "scale"), [(0.0, 1.0, 2.0), (3.0, 2.0, 0.5), (-4.0, 9.0, 1.0), (9.0, 4.0, 30.0)]
)
def test_evidence_is_the_half_normal_mixture(total, precision, scale):
    def integrand(rate):
        density = 2.0 * math.sqrt(scale / (2.0 * math.pi)) * math.exp(-0.5 * scale * rate**2)
        return math.exp(rate * total - 0.5 * rate**2 * precision) * density

    value = quad(integrand, 0.0, np.inf)[0]
    assert log_evidence(np.array(total), np.array(precision), np.array(scale)) == pytest.approx(
        math.log(value), rel=1e-7
    )


def test_evidence_exceeds_one_over_delta_with_probability_at_most_delta():
    # Steps of random size, larger after a rise: the most that a sampling rule may do.
    rng, delta, runs = np.random.default_rng(1), 0.2, 4000
    total, precision, crossed = np.zeros(runs), np.zeros(runs), np.zeros(runs, dtype=bool)
    for _ in range(200):
        step = np.where(total > 0, 2.0, 0.3) * rng.exponential(1.0, runs)
        total = total + np.sqrt(step) * rng.choice([-1.0, 1.0], runs)
        precision = precision + step
        crossed |= log_evidence(total, precision, np.full(runs, 10.0)) >= -math.log(delta)
    rate = crossed.mean()
    assert rate <= delta + 3 * math.sqrt(delta / runs)
    assert rate > 0.02, "a bound that is never reached tests nothing"


def test_wealth_is_a_mixture_of_evidence_that_starts_at_one():
    total, precision, unit = np.array([0.0, 3.0, -4.0]), np.array([0.0, 2.0, 9.0]), np.array([1.0, 0.1, 4.0])
    shares = 1.0 / np.arange(1, 8)
    parts = [np.exp(log_evidence(total, precision, 2.0 * 10.0**k * unit)) for k in range(7)]
    np.testing.assert_allclose(np.exp(log_wealth(total, precision, unit)), shares @ parts / shares.sum(), rtol=1e-12)
    assert log_wealth(np.zeros(1), np.zeros(1), np.ones(1)) == pytest.approx(0.0, abs=1e-12)


def test_wealth_of_the_truth_exceeds_one_over_delta_with_probability_at_most_delta():
    # All items are equally good, so that every bet is fair; designs, leaders and odds follow the outcomes.
    problem, theta = pw.Problem(np.vstack([np.eye(3), -np.eye(3)]), np.eye(3)), np.zeros(3)
    environment, algorithm, goal = LinearEnvironment(problem, theta), pw.Sage(growth=1.5), pw.BestItem(delta=0.2)
    runs, lost = 400, 0
    with remembering(keep=True):
        for run_ in range(runs):
            rng, state = np.random.default_rng(run_), algorithm.init(problem, goal)
            while 0 in state.alive and state.data.n < 1e5 and state.winner is None:
                state = algorithm.tell(
                    problem, goal, state, environment.draw(algorithm.ask(problem, goal, state, rng), rng)
                )
            lost += 0 not in state.alive
    assert lost / runs <= 0.2 + 3 * math.sqrt(0.2 / runs)
    assert lost / runs > 0.02, "a bound that is never reached tests nothing"


def test_epsilon_counts_for_the_item_that_is_recommended_only():
    # Ruling out pays no epsilon: however long it takes, the best of two items that differ by less is not ruled out.
    problem, theta = pw.Problem(np.eye(2)), np.array([0.02, 0.0])
    algorithm, goal, environment = (
        pw.Sage(growth=1.5),
        pw.BestItem(delta=0.05, epsilon=0.1),
        LinearEnvironment(problem, theta),
    )
    for seed in range(10):
        rng, state = np.random.default_rng(seed), algorithm.init(problem, goal)
        while algorithm.answer(problem, goal, state) is None:
            state = algorithm.tell(
                problem, goal, state, environment.draw(algorithm.ask(problem, goal, state, rng), rng)
            )
        leader = state.alive[0]
        assert 0 in state.alive
        assert state.data.n < 2 * 20_000
        assert (state.eased[int(leader)] >= 0).all(), "epsilon can only help"


def test_needs_fewer_measurements_than_tight_rage():
    for problem, theta in (pw.instances.transductive(20), pw.instances.sphere(50, 5, seed=3)):
        sage = [run(problem, theta, pw.Sage(), seed=seed).measurements for seed in range(6)]
        rage = [run(problem, theta, pw.Rage("tight"), seed=seed).measurements for seed in range(6)]
        assert np.mean(sage) < 0.8 * np.mean(rage)


def test_units_change_nothing():
    problem, theta = pw.instances.sphere(30, 4, seed=2)
    scale = 2.0 ** np.array([-13, 0, 10, 3])  # powers of two, so that not even rounding differs
    other = pw.Problem(problem.probes * scale, problem.items * scale, sigma=64.0)
    first, second = run(problem, theta, pw.Sage()), run(other, 64.0 * theta / scale, pw.Sage())
    assert (first.item, first.measurements, first.rounds) == (second.item, second.measurements, second.rounds)


def test_a_tie_ends_by_epsilon():
    items = np.vstack([np.eye(3), [[0.999, 0.0, 0.0]]])
    problem = pw.Problem(np.eye(3), items)
    theta = np.array([1.0, 0.2, 0.0])
    for seed in range(5):
        result = run(problem, theta, pw.Sage(), pw.BestItem(epsilon=0.1), seed=seed)
        assert result.item in (0, 3)
        assert result.measurements < 20_000


@pytest.mark.parametrize("noise", ["gaussian", "rademacher"])
def test_error_rate_on_near_ties(noise):
    # Two near ties; the audit does this with thousands of runs.
    items = np.array([[1.0, 0.0], [0.97, 0.05], [0.97, -0.05], [0.2, 0.9]])
    problem = pw.Problem(np.vstack([items, np.eye(2)]), items)
    goal = pw.BestItem(delta=0.3)
    wrong = sum(run(problem, np.array([1.0, 0.1]), pw.Sage(), goal, seed, noise).item != 0 for seed in range(60))
    assert wrong / 60 <= 0.3


def test_rounds_of_any_kind_are_taken():
    # Rounds planned by somebody else: one probe at a time, then everything; the state takes them as they are.
    problem, theta = pw.instances.transductive(4)
    environment = LinearEnvironment(problem, theta)
    algorithm, goal = pw.Sage(), pw.BestItem()
    state = algorithm.init(problem, goal)
    rng = np.random.default_rng(0)
    state = algorithm.tell(problem, goal, state, environment.draw(algorithm.ask(problem, goal, state, rng), rng))
    for probe in range(4):
        counts = np.zeros(4, dtype=np.int64)
        counts[probe] = 50
        state = algorithm.tell(problem, goal, state, environment.draw(counts, rng))
    state = algorithm.tell(problem, goal, state, environment.draw(np.full(4, 200_000), rng))
    assert algorithm.answer(problem, goal, state) == (environment.best,)


@pytest.mark.parametrize("kept", [0, 1])
def test_a_first_round_that_is_lost_is_asked_for_again(kept):
    problem, theta = pw.instances.transductive(4)
    environment = LinearEnvironment(problem, theta)
    algorithm, goal, rng = pw.Sage(), pw.BestItem(), np.random.default_rng(0)
    state = algorithm.init(problem, goal)
    came = np.where(np.arange(problem.n_probes) < kept, algorithm.ask(problem, goal, state, rng), 0)
    state = algorithm.tell(problem, goal, state, environment.draw(came, rng))
    while algorithm.answer(problem, goal, state) is None:
        counts = algorithm.ask(problem, goal, state, rng)
        state = algorithm.tell(problem, goal, state, environment.draw(counts, rng))
    assert algorithm.answer(problem, goal, state) == (environment.best,)


@pytest.mark.parametrize("delta", [0.6, 0.99])
def test_a_delta_above_one_half(delta):
    for problem, theta in ((pw.Problem(np.eye(2)), np.array([1.0, 0.0])), pw.instances.transductive(4)):
        assert run(problem, theta, pw.Sage(), pw.BestItem(delta=delta), seed=1).item is not None


def test_evidence_collected_round_by_round_is_that_of_all_rounds():
    problem, theta = pw.instances.sphere(40, 4, seed=1)
    environment, rng = LinearEnvironment(problem, theta), np.random.default_rng(0)
    algorithm, goal = pw.Sage(), pw.BestItem()
    state = algorithm.init(problem, goal)
    while algorithm.answer(problem, goal, state) is None:
        counts = algorithm.ask(problem, goal, state, rng)
        state = algorithm.tell(problem, goal, state, environment.draw(counts, rng))
        for leader, sums in state.collected.items():
            anew = state.pool.sums(problem.items[leader] - problem.items[state.alive])
            np.testing.assert_allclose(sums[:2], anew[:2], rtol=1e-10, atol=1e-10)


def test_designs_are_made_for_gaps_on_a_grid():
    gaps = np.array([0.3, 0.31, 0.9, 40.0])
    np.testing.assert_allclose(coarse(gaps), coarse(7.0 * gaps * [1.0, 0.99, 1.01, 0.98]))
    assert np.abs(np.log(coarse(gaps) / (gaps / 0.3))).max() < 0.3


def test_planning_is_left_to_ask(monkeypatch):
    # a campaign replays its history with tell alone
    problem, theta = pw.instances.sphere(30, 4, seed=1)
    environment, rng = LinearEnvironment(problem, theta), np.random.default_rng(0)
    algorithm, goal = pw.Sage(), pw.BestItem()
    state = algorithm.init(problem, goal)
    measurements = environment.draw(algorithm.ask(problem, goal, state, rng), rng)
    monkeypatch.setattr("probewise.algorithms.planning.plan", None)
    state = algorithm.tell(problem, goal, state, measurements)
    assert algorithm.standing(problem, goal, state).leader is not None


def test_a_design_begins_with_the_probes_of_the_last_round(monkeypatch):
    problem, theta = pw.instances.sphere(300, 4, seed=1)
    environment, rng = LinearEnvironment(problem, theta), np.random.default_rng(0)
    algorithm, goal, starts = pw.Sage(), pw.BestItem(), []
    solve = working_set.solve

    def noted(probes, directions, *, tol, start):
        starts.append(start)
        return solve(probes, directions, tol=tol, start=start)

    monkeypatch.setattr(working_set, "solve", noted)
    state, counts = algorithm.init(problem, goal), None
    for _ in range(4):
        last, starts[:] = counts, []
        counts = algorithm.ask(problem, goal, state, rng)
        assert len(starts) == (last is not None), "the first design was solved for at the start"
        assert last is None or starts[0].tolist() == np.flatnonzero(last).tolist()
        state = algorithm.tell(problem, goal, state, environment.draw(counts, rng))


def test_starts_go_with_stock_and_costs():
    rng = np.random.default_rng(0)
    probes, items, theta = rng.standard_normal((400, 4)), rng.standard_normal((30, 4)), rng.standard_normal(4)
    problem = pw.Problem(probes, items, stock=np.full(400, 2), cost=rng.uniform(0.5, 3.0, 400))
    environment = LinearEnvironment(problem, 3.0 * theta, seed=3)
    result = pw.identify(problem, measure=environment.measure, seed=1)
    assert result.item == environment.best
    assert sum(each.counts for each in result.history).max() == 2


def test_units_of_precision_do_not_feel_a_common_offset():
    items = np.array([[1e9, 0.0], [1e9 + 1e-6, 0.0], [1e9, 1e-6]])
    near = pw.Problem(np.eye(2), items - items[0])
    units = [
        pw.Sage().init(p, pw.BestItem()).prior.unit(p, 0, np.array([1, 2]))
        for p in (pw.Problem(np.eye(2), items), near)
    ]
    np.testing.assert_allclose(units[0], units[1], rtol=0.2)  # 1e9 + 1e-6 has a digit only


def test_evidence_far_behind_is_exact():
    # log 2Φ(z)exp(z²/2) → log √(2/π)/|z|; the two factors cancel, and an account must not gain from their rounding
    z = -np.array([1e3, 1e6, 1e9, 1e12])
    found = log_evidence(z * np.sqrt(2.0), np.ones(4), np.ones(4)) + 0.5 * np.log(2.0)
    np.testing.assert_allclose(found, 0.5 * np.log(2.0 / np.pi) - np.log(-z), rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"growth": 1.0}, "growth must be above 1, got 1.0"),
        ({"max_batch": 0}, "max_batch must be a whole number"),
        ({"opening": 1.0}, "opening must be at least 0 and below 1, got 1.0"),
        ({"all_pairs": -1}, "all_pairs must be a whole number of items, or None, got -1"),
        ({"rounds": 1}, "rounds must be a whole number of at least 2, or None, got 1"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(pw.InvalidAlgorithm, match=message):
        pw.Sage(**settings)


def test_each_round_is_asked_once_about_all_leaders(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, theta = pw.instances.sphere(8, 3, seed=1)
    goal, algorithm, rng = pw.BestItem(), pw.Sage(opening=0.0), np.random.default_rng(0)
    environment, asked, each, one = pw.LinearEnvironment(problem, theta), [], pooling._each, pooling._one
    monkeypatch.setattr(pooling, "_each", lambda fits, *rows: (asked.extend(fits), each(fits, *rows))[1])
    monkeypatch.setattr(pooling, "_one", lambda fit, *rows: (asked.append(fit), one(fit, *rows))[1])
    state = algorithm.init(problem, goal)
    for _ in range(6):
        leaders, asked[:] = {int(z) for z in state.collected}, []
        state = algorithm.tell(problem, goal, state, environment.draw(algorithm.ask(problem, goal, state, rng), rng))
        new = {int(z) for z in state.collected} - leaders
        assert len(asked) == bool(leaders) + len(new) * len(state.pool.fits)
        for z, sums in state.collected.items():
            again = state.pool.sums(*differences(problem, z, state.alive))
            np.testing.assert_allclose(sums.precision, again.precision, rtol=1e-12)
            np.testing.assert_allclose(sums.total, again.total, rtol=1e-12, atol=1e-9)


def test_few_rounds_do_where_many_were_made():
    problem, theta = pw.Problem(np.eye(5)), np.eye(5)[0]
    many = pw.simulate(problem, theta, pw.Sage(), runs=8, seed=0)
    few = pw.simulate(problem, theta, pw.Sage(rounds=5), runs=8, seed=0)
    assert few.mean("rounds") <= 5.5 < many.mean("rounds")
    assert many.mean("measurements") < few.mean("measurements") < 10 * many.mean("measurements")
    assert few.mean("correct") == 1.0


def test_few_rounds_are_forecast_as_they_are_planned():
    problem, goal = pw.Problem(np.eye(4)), pw.BestItem(0.05)
    plain, few = (pw.Sage(rounds=rounds).forecast_for_gap(problem, goal, 0.5) for rounds in (None, 4))
    assert few.rounds <= 4 < plain.rounds
    assert plain.measurements < few.measurements
    state, environment = pw.Sage(rounds=3).init(problem, goal), LinearEnvironment(problem, [0.5, 0.0, 0.0, 0.0])
    sage, rng = pw.Sage(rounds=3), np.random.default_rng(0)
    state = sage.tell(problem, goal, state, environment.draw(sage.ask(problem, goal, state, rng), rng))
    asked, seen = sage.ask(problem, goal, state, rng).sum(), sage.forecast(problem, goal, state)
    assert asked > pw.Sage().ask(problem, goal, state, rng).sum()
    assert seen.rounds <= 3
    np.testing.assert_array_equal(sage.ask(problem, goal, state, rng), sage.ask(problem, goal, state, rng))


def test_other_questions_are_planned_for_few_rounds_too():
    problem, goal = pw.Problem(np.eye(3)), pw.TopM(1, 0.1)
    few, many = (
        pw.simulate(problem, [1.0, 0.0, -1.0], pw.Sage(rounds=rounds), goal=goal, runs=10, seed=0).mean("rounds")
        for rounds in (3, None)
    )
    assert few < 5
    assert many > 8


def test_what_is_forgiven_as_rounding_is_measured_by_both_items_whatever_their_signs():
    problem, goal, sage = pw.Problem(np.eye(2), [[1.0, -2.0], [-3.0, 4.0]]), pw.BestItem(), pw.Sage()
    rows, sizes = differences(problem, 0, sage.init(problem, goal).alive)
    np.testing.assert_array_equal(rows, [[0.0, 0.0], [4.0, -6.0]])
    np.testing.assert_array_equal(sizes, [[2.0, 4.0], [4.0, 6.0]])


def test_many_items_are_looked_at_in_parts_and_the_first_design_is_for_their_mean(monkeypatch):
    rng = np.random.default_rng(4)
    problem, theta = pw.Problem(rng.standard_normal((12, 3)), rng.standard_normal((90, 3))), rng.standard_normal(3)
    whole = run(problem, theta, pw.Sage())
    for module in (knowledge, prior):
        monkeypatch.setattr(module, "_BLOCK", 7)
    monkeypatch.setattr(confidence, "_MANY", 11)
    parts = run(problem, theta, pw.Sage())
    assert (parts.items, parts.measurements, parts.rounds) == (whole.items, whole.measurements, whole.rounds)
    crowded = pw.Sage(all_pairs=50)
    state = crowded.init(problem, pw.BestItem())
    best = pw.optimal_design(problem.probes, pw.pairs(problem.items))
    assert not np.array_equal(state.prior.weights, pw.Sage().init(problem, pw.BestItem()).prior.weights)
    assert largest_variance(problem.probes, state.prior.weights, pw.pairs(problem.items)) <= 4 * 1.05 * best.value
    assert run(problem, theta, crowded).items == whole.items
    memo = crowded.memo(problem, pw.BestItem())
    crowded.check_memo(problem, pw.BestItem(), memo)
    assert crowded.forecast_for_gap(problem, pw.BestItem(), 0.5).measurements > 0


@pytest.mark.parametrize("size", [1, 5, 6, 7, 60, 100])  # few of a hundred are sorted, many are marked
def test_items_left_come_by_number(size: int) -> None:
    items = np.random.default_rng(size).permutation(100)[:size]
    found = _ascending(items, 100)
    assert found.tolist() == sorted(items.tolist())
    assert found.dtype == np.int64


# --- patience ------------------------------------------------------------------------------------------------------


def _told(outcomes: list[float], count: int) -> pw.Measurements:
    """So many of each of nine items, of which five are far behind."""
    return pw.Measurements(np.full(9, count), np.array([*outcomes, *[-9.0] * 5]), np.zeros(9))


def _after(patient: bool, *rounds: pw.Measurements, epsilon: float = 0.0) -> dict[int, float]:
    """Item -> its account after rounds on nine items that are measured directly, the first of which is not bet on."""
    problem, goal, sage = (
        pw.Problem(np.eye(9)),
        pw.BestItem(1e-6, epsilon=epsilon),
        pw.Sage(opening=0.0, patient=patient),
    )
    state = sage.init(problem, goal)
    for own in rounds:
        state = sage.tell(problem, goal, state, own)
    return {int(item): float(log) for item, log in zip(state.alive, state.wealth, strict=True)}


UNCLEAR, CLEAR = [0.01, 0.0, -0.1, -1.0], [0.3, 0.0, -0.1, -1.0]
"""Means after 100 of each: differences have a standard error of 0.14."""


@pytest.mark.parametrize("epsilon", [0.0, 0.001])
def test_bets_on_close_rivals_wait_until_one_item_is_clearly_in_front(epsilon: float) -> None:
    first, small = _told(UNCLEAR, 100), _told([0.2, 0.1, 0.0, -1.0], 20)
    waiting, hasty = (_after(patient, first, small, epsilon=epsilon) for patient in (True, False))
    assert [waiting[item] for item in range(3)] == [0.0] * 3
    assert waiting[3] == hasty[3] > 1.0  # whoever is in front
    assert all(hasty[item] != 0.0 for item in range(3))


def test_large_rounds_are_bet_on_in_any_case() -> None:
    first, large = _told(UNCLEAR, 100), _told([0.2, 0.1, 0.0, -1.0], 310)
    assert _after(True, first, large) == _after(False, first, large)


def test_bets_go_on_until_another_item_comes_to_the_front() -> None:
    clear, level, small = _told(CLEAR, 100), _told([-1.4, 0.0, -0.1, -1.0], 20), _told(UNCLEAR, 20)
    assert _after(True, clear, level) == _after(False, clear, level)
    # 0.3 of 100 and -1.4 of 20 put item 0 level with item 1, but still in front: bets go on
    assert _after(True, clear, level, small) == _after(False, clear, level, small)
    overtaken = _told([-1.6, 0.0, -0.1, -1.0], 20)
    before, after = _after(True, clear, overtaken), _after(True, clear, overtaken, small)
    assert [before[item] for item in range(3)] == [after[item] for item in range(3)]


def test_patience_is_no_harm_at_a_tie() -> None:
    """The mean of the account of the best of tied items is at most 1, round by round."""
    problem, goal, sage, rng = pw.Problem(np.eye(9)), pw.BestItem(1e-9), pw.Sage(opening=0.0), np.random.default_rng(5)
    environment = LinearEnvironment(problem, np.zeros(9))
    ends = []
    for _ in range(400):
        state = sage.init(problem, goal)
        for _ in range(12):
            state = sage.tell(problem, goal, state, environment.draw(np.full(9, max(2, state.data.n // 45)), rng))
        ends.append(np.exp(state.wealth[np.argsort(state.alive)]))
    mean, error = np.mean(ends, axis=0), np.std(ends, axis=0) / np.sqrt(len(ends))
    assert (mean - 4.0 * error <= 1.0).all()
    assert (np.array(ends) == 1.0).mean() < 0.5  # something was bet


def test_of_few_items_the_one_in_front_is_seldom_lucky() -> None:
    for items, waits in ((8, False), (9, True)):
        assert pw.Sage().init(pw.Problem(np.eye(items)), pw.BestItem()).patient == waits
