from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms.base import Forecast
from probewise.algorithms.sage.forecasting import DRAWS, PARAMETERS, even_race, race
from probewise.campaign import Memory
from probewise.campaign.findings.prospect import prospects, remarks, unforeseen
from probewise.design import remembering
from probewise.measurements import Measurements
from probewise.simulation import LinearEnvironment

GOAL = pw.BestItem()


def forecasts(problem, theta, algorithm, seed):
    """Total before each forecast and the forecast, round by round, and the total in the end."""
    environment, state, found = LinearEnvironment(problem, theta), algorithm.init(problem, GOAL), []
    for step in range(10_000):
        if algorithm.answer(problem, GOAL, state) is not None:
            break
        counts = algorithm.ask(problem, GOAL, state, np.random.default_rng(0))
        state = algorithm.tell(problem, GOAL, state, environment.draw(counts, np.random.default_rng([seed, step])))
        found.append((state.data.n, algorithm.forecast(problem, GOAL, state)))
    return found


def test_intervals_hold_what_they_promise():
    # from half of the total on: 84 % over 200 runs of transductive(4), 82 % over 40 of sphere(50, 5), 87 % over 30 of
    # benchmark(5)
    problem, theta = pw.Problem(np.eye(3)), np.array([0.8, 0.0, -0.5])
    inside = []
    with remembering():
        for seed in range(15):
            found = forecasts(problem, theta, pw.Sage(growth=1.3), seed)
            total = found[-1][0]
            inside += [f.low <= total - n <= f.high for n, f in found if total / 2 <= n < total]
    assert len(inside) > 15
    assert np.mean(inside) > 0.6


def test_a_forecast_is_pure_and_ends_at_zero():
    problem, theta = pw.Problem(np.eye(4)), np.array([1.5, 0.0, 0.0, 0.5])
    found, again = (forecasts(problem, theta, pw.Sage(), 3) for _ in range(2))
    assert found == again
    assert all(f.low <= f.measurements <= f.high for _, f in found)
    assert found[-1][1] == Forecast(0, 0, 0, 0.0, 0)


@pytest.mark.parametrize("sigma", [3.0, "unknown"])
def test_a_forecast_plays_with_the_noise_that_was_stated_or_seen(sigma, monkeypatch):
    module, seen = sys.modules[pw.Sage.__module__], []
    played = module.race
    monkeypatch.setattr(module, "race", lambda *given: seen.append(given[-1]) or played(*given))
    problem, rng = pw.Problem(np.eye(2), sigma=sigma), np.random.default_rng(0)
    environment, state = LinearEnvironment(problem, np.array([1.0, 0.9])), pw.Sage().init(problem, GOAL)
    for _ in range(2):
        state = pw.Sage().tell(problem, GOAL, state, environment.draw(np.array([40, 40]), rng))
    assert pw.Sage().forecast(problem, GOAL, state) is not None
    value, degrees = state.pool.pure_error
    assert seen == [1.0 if sigma == 3.0 else math.sqrt(value / degrees)]


def test_a_gap_beforehand_is_played_in_units_of_the_first_round(monkeypatch):
    """Three unit vectors: pairs have variance 6 after one measurement, and half of the first round has 3 of them.

    If it is lean, the first round has 3, and a fifth of that is the unit.
    """
    module, seen = sys.modules[pw.Sage.__module__], []
    played = module.even_race
    monkeypatch.setattr(module, "even_race", lambda *given: seen.append(given[1:]) or played(*given))
    for lean in (False, True):
        pw.Sage(tol=1e-6, lean=lean).forecast_for_gap(pw.Problem(np.eye(3)), pw.BestItem(0.05, 0.1), 0.8)
    assert seen == [pytest.approx((0.9, unit, math.log(20.0), 2), rel=1e-5) for unit in (0.5, 0.1)]


def test_in_every_draw_its_best_item_races_with_the_others():
    problem, goal, sage = pw.Problem(np.eye(3)), pw.BestItem(epsilon=0.25), pw.Sage()
    told = Measurements(np.array([2, 3, 4]), np.array([1.0, 0.8, 0.6]), np.ones(3))
    found = race(problem, goal, sage.tell(problem, goal, sage.init(problem, goal), told), np.random.default_rng(0), 1.0)
    np.testing.assert_allclose(found.gaps.min(axis=1), 0.25)
    assert (found.gaps > 0.25 + 1e-9).sum(axis=1).tolist() == [2] * PARAMETERS
    assert len(np.unique(found.gaps.argmin(axis=1))) == 3


def test_a_race_is_a_walk_with_the_lead_as_drift_and_noise():
    """One comparison of variance 1 in each draw, played again by hand."""
    law, gap, needed, sizes, sigma = pw.Gaussian(), 0.5, 3.0, [4] * 30, 2.0
    done = even_race(law, gap, 1.0, needed, 1).rounds(np.eye(1), sizes, sigma, np.random.default_rng(0))
    rng, walk, rounds, going = np.random.default_rng(0), np.zeros(DRAWS), np.zeros(DRAWS), np.ones(DRAWS, dtype=bool)
    for size in sizes:
        if going.mean() < 0.05:
            break
        walk[going] += sigma * np.sqrt(size) * rng.standard_normal(np.count_nonzero(going))
        rounds += going
        n = size * rounds
        won = law.log_account(gap * n + walk, n, np.ones(DRAWS), 1.0) >= needed
        going &= ~won
    np.testing.assert_array_equal(done, rounds)
    assert len(set(done)) > 3
    calm = even_race(law, gap, 1.0, needed, 1).rounds(np.eye(1), sizes, 0.0, np.random.default_rng(0))
    assert len(set(calm)) == 1


def test_part_of_a_round_is_not_nothing():
    campaign = pw.Campaign.create(Memory(), pw.Problem(np.eye(3)), seed=1)
    campaign.tell({campaign.ask()["measurement"][0]: 0.5})
    assert campaign.status().measurements == 1
    assert campaign.status().unforeseen == "There is no forecast of what is left: no round is complete yet."


def test_nothing_is_forecast_from_nothing():
    problem = pw.Problem(np.eye(3))
    assert pw.Sage().forecast(problem, GOAL, pw.Sage().init(problem, GOAL)) is None
    with pytest.raises(pw.InvalidAlgorithm, match="rage cannot forecast what is left to do; choose one that can"):
        pw.Rage().forecast(problem, GOAL, pw.Rage().init(problem, GOAL))
    with pytest.raises(pw.InvalidAlgorithm, match="rage cannot forecast"):
        pw.Rage().forecast_for_gap(problem, GOAL, 1.0)
    unknown = pw.Problem(np.eye(3), sigma="unknown")
    first = forecasts(unknown, np.array([1.0, 0.0, 0.0]), pw.Sage(), 0)[0][1]
    assert first is None, "the first round has too few replicates to bound the noise"
    told = Measurements(np.array([2, 2, 2]), np.array([1.0, 0.6, 0.4]), np.ones(3))
    state = pw.Sage().tell(unknown, GOAL, pw.Sage().init(unknown, GOAL), told)
    assert "too few replicates yet to bound the noise" in pw.Sage().unforeseen(unknown, GOAL, state)
    assert "no round is complete yet" in pw.Sage().unforeseen(problem, GOAL, pw.Sage().init(problem, GOAL))
    assert pw.Rage().unforeseen(problem, GOAL) == "There is no forecast of what is left: rage makes none."


def test_rounds_are_batches_and_costs_are_costs():
    problem, theta = pw.Problem(np.eye(2)), np.array([0.3, 0.0])
    whole = pw.Sage().forecast_for_gap(problem, GOAL, 0.3)
    parts = pw.Sage(max_batch=5).forecast_for_gap(problem, GOAL, 0.3)
    assert whole.measurements == parts.measurements
    assert parts.rounds >= parts.measurements / 5 > whole.rounds
    dear = pw.Problem(np.eye(2), cost=[3.0, 3.0])
    assert pw.Sage().forecast_for_gap(dear, GOAL, 0.3).cost == pytest.approx(3.0 * whole.measurements)
    found = forecasts(pw.Problem(np.eye(2), cost=[3.0, 3.0]), theta, pw.Sage(), 1)[3][1]
    assert found.cost == pytest.approx(3.0 * found.measurements)


def test_a_gap_beforehand_takes_as_many_as_it_does():
    problem, gap = pw.Problem(np.eye(2)), 0.8
    said = pw.Sage().forecast_for_gap(problem, GOAL, gap)
    needed = pw.simulate(problem, [gap, 0.0], pw.Sage(), runs=40, seed=1)["measurements"]
    assert 0.6 < said.measurements / np.median(needed) < 1.6
    assert 0.65 < np.mean((said.low <= needed) & (needed <= said.high)) < 0.98
    half = pw.Sage().forecast_for_gap(problem, GOAL, gap / 2)
    assert 3.0 < half.measurements / said.measurements < 6.0
    assert pw.Sage().forecast_for_gap(pw.Problem(np.eye(2), [[1.0, 0.0]]), GOAL, gap).measurements == 0


@pytest.mark.parametrize("gap", [0.0, -1.0, math.nan, math.inf])
def test_bad_gaps(gap):
    with pytest.raises(pw.InvalidGoal, match="a gap must be positive and finite, got"):
        pw.Sage().forecast_for_gap(pw.Problem(np.eye(2)), GOAL, gap)


def test_without_a_forecast_of_its_own_a_gap_takes_what_tells_two_items_apart():
    """ρ = 4 for the difference of two probes that are measured equally often; a tie is a gap if it may be one."""
    problem, rage = pw.Problem(np.eye(2), cost=[3.0, 3.0]), pw.Rage()
    (found,) = prospects(problem, pw.BestItem(0.05, 0.5), rage, [1.5]).values()
    assert found.measurements == pytest.approx(2.0 * math.log(20) * 4.0 / 2.0**2, rel=0.1)
    assert found.cost == pytest.approx(3.0 * found.measurements)
    assert 0.0 not in prospects(problem, pw.BestItem(0.05), rage)
    assert list(prospects(problem, pw.BestItem(0.05, 0.5), rage))[-1] == 0.0


def test_a_constant_feature_may_be_negative():
    probes = np.array([[-1.0, 0.0], [-1.0, 1.0], [-1.0, 2.0]])
    assert list(remarks(pw.Problem(probes))) == []
    assert any("No feature, and no combination" in text for text in remarks(pw.Problem([[1, 0], [0, 1], [1, 1]])))


@pytest.mark.parametrize("goal", [pw.TopM(2, 0.1), pw.Above(0.45, 0.1), pw.BetterThan("item4", 0.1)])
def test_lists_are_forecast(goal):
    """Half way on, most intervals hold what is left, and a list that is known leaves nothing."""
    problem, theta = pw.Problem(np.eye(5), item_names=[f"item{i + 1}" for i in range(5)]), np.linspace(1.2, 0.0, 5)
    inside, sage = [], pw.Sage(growth=1.2)
    for seed in range(8):
        environment, state, rng = (
            LinearEnvironment(problem, theta),
            sage.init(problem, goal),
            np.random.default_rng(seed),
        )
        states = []
        while sage.answer(problem, goal, state) is None:
            state = sage.tell(problem, goal, state, environment.draw(sage.ask(problem, goal, state, rng), rng))
            states.append(state)
        assert sage.forecast(problem, goal, state) == Forecast(0, 0, 0, 0.0, 0)
        middle = next((s for s in states[:-1] if s.data.n >= 40), states[0])
        found = sage.forecast(problem, goal, middle)
        inside.append(found.low <= state.data.n - middle.data.n <= found.high)
    assert np.mean(inside) >= 0.5


def test_a_share_of_a_list_is_not_forecast():
    problem, goal, sage = pw.Problem(np.eye(3)), pw.Above(0.5, 0.1, promise="share"), pw.Sage()
    told = Measurements(np.array([20, 20, 20]), np.array([1.0, 0.6, 0.4]), np.ones(3))
    state = sage.tell(problem, goal, sage.init(problem, goal), told)
    assert sage.forecast(problem, goal, state) is None
    assert sage.unforeseen(problem, goal, state) == sage.unforeseen(problem, goal)
    assert sage.unforeseen(problem, goal).startswith("There is no forecast of what is left: a list of which a share")


def test_a_misfit_makes_a_forecast_longer_and_may_leave_no_end_in_sight():
    """Two unit vectors that are measured alike: a lead of 1 less 2h."""
    found = []
    for misfit in (0.0, 0.2, 0.7):
        problem, goal, sage = pw.Problem(np.eye(2), misfit=misfit), pw.BestItem(), pw.Sage()
        told = Measurements(np.array([30, 30]), np.array([1.0, 0.0]), np.full(2, 30.0))
        state = sage.tell(problem, goal, sage.init(problem, goal), told)
        found.append(sage.forecast(problem, goal, state))
    assert found[1].measurements > 1.5 * found[0].measurements
    assert found[2] is None
    assert "the misfit that is allowed for may explain" in sage.unforeseen(problem, goal, state)


def test_designs_to_come_are_for_what_is_open_in_a_draw():
    problem, goal, sage = pw.Problem(np.eye(4)), pw.BestItem(), pw.Sage()
    told = Measurements(np.full(4, 30), np.array([1.0, 0.9, 0.2, 0.0]), np.full(4, 30.0))
    state = sage.tell(problem, goal, sage.init(problem, goal), told)
    games = race(problem, goal, state, np.random.default_rng(0), 1.0)
    draw = int(np.argmax(games.gaps[:, 3]))
    rows = games.directions(draw).rows(np.arange(games.directions(draw).size))
    lengths = np.linalg.norm(rows, axis=1)
    assert len(rows) == len(state.alive) - 1
    assert lengths.max() == pytest.approx(math.sqrt(2.0))  # the closest, in units of its own lead
    assert lengths.min() < 0.8


def shares(algorithm=None):
    """A problem whose list may have a share of wrong items, or another algorithm for its best item."""
    goal = pw.Above(0.5, 0.1, promise="share") if algorithm is None else pw.BestItem()
    return pw.Problem(np.eye(3), item_names=["A", "B", "C"]), goal, algorithm or pw.Sage()


@pytest.mark.parametrize("algorithm", [None, pw.Rage()])
def test_where_there_is_no_forecast_status_report_and_result_say_why(algorithm, tmp_path):
    problem, goal, own = shares(algorithm)
    campaign = pw.Campaign.create(tmp_path / "one.campaign", problem, goal, own, seed=0)
    rows = campaign.ask()
    campaign.tell(rows.filled([0.5] * len(rows["measurement"])))
    standing = campaign.status()
    assert standing.forecast is None
    assert standing.unforeseen == own.unforeseen(problem, goal)
    assert campaign.result().outlook == standing.unforeseen != ""
    campaign.report(tmp_path / "one.html")
    assert standing.unforeseen in (tmp_path / "one.html").read_text(encoding="utf-8")
    (said,) = unforeseen(problem, goal, own)
    assert said.startswith("While it is measured there will be no forecast of what is left: ")


def test_the_way_to_the_answer_is_what_was_measured_of_all_that_is_expected(tmp_path):
    problem = pw.Problem(np.eye(3))
    campaign = pw.Campaign.create(tmp_path / "one.campaign", problem, pw.BestItem(), pw.Sage(), seed=0)
    assert campaign.status().way == 0.0
    rows = campaign.ask()
    campaign.tell(rows.filled([0.1 * (name == "probe1") for name in rows["probe"]]))
    standing = campaign.status()
    measured, left = standing.measurements, standing.forecast["measurements"]
    assert 0 < standing.way == measured / (measured + left) < 1
    assert standing.progress < standing.way  # accounts have made nothing yet


def test_a_result_without_an_answer_says_what_is_left():
    problem = pw.Problem(np.eye(3))
    found = pw.identify(problem, measure=lambda i: 0.01 * (i == 0), algorithm=pw.Sage(), budget=30, seed=0)
    assert found.status == "budget exhausted"
    assert found.outlook.startswith("About ")
    assert found.outlook.endswith(".")
    share = pw.Above(0.5, 0.1, promise="share")
    found = pw.identify(problem, share, measure=lambda i: 0.5 + 0.0 * i, algorithm=pw.Sage(), budget=30, seed=0)
    assert found.outlook == pw.Sage().unforeseen(problem, share)
    sure = pw.identify(problem, measure=lambda i: 100.0 * (i == 0), seed=0)
    assert (sure.status, sure.outlook) == ("identified", "")
    assert list(unforeseen(problem, pw.BestItem(), pw.Sage())) == []
