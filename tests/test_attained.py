"""The confidence attained: docs/confidence-attained.md."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms.batches import Limits
from probewise.algorithms.sage.peaks import Peaks
from probewise.campaign import Campaign, Memory
from probewise.numerals import attained
from probewise.simulation import LinearEnvironment
from probewise.simulation.table import exact_rate

TWO = pw.Problem(np.eye(2))


@pytest.fixture(scope="module")
def benchmark() -> Any:
    path = Path(__file__).parents[1] / "benchmarks/confidence_attained.py"
    spec = importlib.util.spec_from_file_location("confidence_attained", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["confidence_attained"] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


def states(problem: pw.Problem, theta: Any, goal: pw.Goal, seed: int, rounds: int = 12) -> list[Any]:
    algorithm, environment, rng = pw.Sage(), LinearEnvironment(problem, theta), np.random.default_rng(seed)
    out = [algorithm.init(problem, goal)]
    while len(out) <= rounds and algorithm.answer(problem, goal, out[-1]) is None:
        counts = algorithm.ask(problem, goal, out[-1], rng)
        out.append(algorithm.tell(problem, goal, out[-1], environment.draw(counts, rng)))
    return out


def test_every_account_keeps_its_maximum_also_when_its_item_is_ruled_out() -> None:
    problem, goal = pw.Problem(np.eye(4)), pw.BestItem(0.05)
    fell = gone = 0
    for seed in range(6):
        best = np.zeros(4)
        for state in states(problem, [0.6, 0.5, 0.3, -1.0], goal, seed, rounds=40):
            best[state.alive] = np.maximum(best[state.alive], state.wealth)
            fell += bool((state.wealth < best[state.alive] - 0.1).any())
            out = np.setdiff1d(np.arange(4), state.alive)
            gone += out.size
            np.testing.assert_array_equal(state.peaks.plain[state.alive], best[state.alive])
            assert (state.peaks.plain[out] >= math.log(1 / goal.delta)).all()
            others = np.delete(state.peaks.plain, state.alive[0])
            shown = pw.Sage().confidence(problem, goal, state)
            assert shown == pytest.approx(1.0 - math.exp(-others.min()) if state.collected else 0.0)
    assert fell
    assert gone


def test_where_epsilon_counts_each_item_has_peaks_of_its_own() -> None:
    goal = pw.BestItem(0.05, epsilon=0.4)
    for seed in range(4):
        best: dict[int, Any] = {}
        before = np.zeros(2)
        for state in states(TWO, [0.2, 0.0], goal, seed, rounds=40):
            if state.alive.size < 2:
                break
            for z, eased in state.eased.items():
                now = np.zeros(2)
                now[state.alive] = state.wealth + eased
                best[z] = np.maximum(best.get(z, before), now)
                np.testing.assert_allclose(state.peaks.eased[z], best[z], rtol=0, atol=1e-12)
            before = state.peaks.plain
        if state.winner is not None:
            assert pw.Sage().confidence(TWO, goal, state) >= 0.95
    assert best


def test_what_is_not_a_number_raises_no_peak() -> None:
    peaks = Peaks(np.array([1.0, 2.0, 3.0])).raised(np.array([0, 2]), np.array([np.nan, 4.0]), {})
    assert peaks.plain.tolist() == [1.0, 2.0, 4.0]
    assert peaks.doubt(0) == pytest.approx(math.exp(-2.0))
    assert peaks.doubt(1) == pytest.approx(math.exp(-1.0))


def test_a_part_of_delta_is_left_to_the_noise_and_a_single_item_is_certain() -> None:
    unknown = pw.Problem(np.eye(2), outcome=pw.Gaussian(1.0, unknown=True))
    for state in states(unknown, [3.0, 0.0], pw.BestItem(0.2), 0, rounds=40)[1:]:
        shown = pw.Sage().confidence(unknown, pw.BestItem(0.2), state)
        assert shown == pytest.approx(max(0.0, 1 - 0.02 - state.peaks.doubt(int(state.alive[0]))))
    assert shown >= 0.8
    one = pw.identify(pw.Problem(np.eye(2), [[1.0, 0.0]]), measure=lambda indices: np.zeros(indices.size))
    assert (one.item, one.confidence) == (0, 1.0)


@pytest.mark.parametrize("items", [2, 4])
def test_the_benchmark_simulates_the_accounts_of_sage(benchmark: Any, items: int) -> None:
    problem, goal, rng = pw.Problem(np.eye(items)), pw.BestItem(1e-9), np.random.default_rng(3)
    sage, environment = (
        pw.Sage(tol=1e-9, printed=False, patient=False),
        LinearEnvironment(problem, 0.2 * np.arange(items)),
    )
    state = sage.init(problem, goal)
    sums, counts = [], []
    for count in (2, 2, 5, 9, 20):
        state = sage.tell(problem, goal, state, environment.draw(np.full(items, count), rng))
        sums.append([state.data.total])
        counts.append(state.data.count[0])
    wealth = benchmark.accounts(np.array(sums), np.array(counts))[:, 0]
    np.testing.assert_allclose(state.wealth, wealth[-1][state.alive], atol=1e-6)
    np.testing.assert_allclose(state.peaks.plain, np.maximum(wealth.max(axis=0), 0.0), atol=1e-6)
    assert (state.peaks.plain > wealth[-1] + 1e-3).any()


def test_a_wrong_item_is_seldom_shown_with_much_confidence(benchmark: Any) -> None:
    """Near a tie, at any moment and with any item; the number carried on to the next leader is not safe."""
    found = benchmark.compared(4000, 2)
    for alpha in benchmark.ALPHAS:
        for at, kind in enumerate(benchmark.KINDS[:-1]):
            rate = exact_rate(int((found[:, at] >= 1.0 - alpha).sum()), len(found))
            assert rate.high <= alpha, (alpha, kind, rate)
    found = benchmark.compared(4000, 2, opening=0.0)  # where nothing is put by, it shows at once
    carried = exact_rate(int((found[:, -1] >= 0.5).sum()), len(found))
    assert carried.low > 0.5


def test_sage_shows_it_as_the_benchmark_looks_at_it(benchmark: Any) -> None:
    for name in ("a mixture", "within 0.1"):
        found = benchmark.audited(benchmark.CASES[name], 3)
        assert found.shape == (3, 5)
        assert (found[:, 2] <= np.maximum(found[:, 3], 0.0)).all()
        assert (found[:, 2] <= found[:, 4]).all()


@pytest.mark.parametrize("budget", [0, 3, 4, 9, 50, 97])
def test_a_budget_is_spent_and_ends_with_a_guess(budget: int) -> None:
    result = pw.identify(TWO, measure=LinearEnvironment(TWO, [0.1, 0.0], seed=1).measure, seed=0, budget=budget)
    assert (result.status, result.measurements) == ("budget exhausted", budget)
    assert (result.item is None, result.confidence is None) == (budget == 0, budget == 0)
    if budget == 50:
        assert f"best guess '{result.item_name}', " in repr(result)


def test_who_plans_all_rounds_alone_stops_before_one_too_many() -> None:
    result = pw.identify(
        TWO, measure=LinearEnvironment(TWO, [0.1, 0.0], seed=1).measure, algorithm=pw.Rage(), seed=0, budget=100
    )
    assert (result.status, result.confidence) == ("budget exhausted", None)
    assert result.measurements < 100


def test_a_cut_plan_is_like_the_whole_and_fits_its_batches() -> None:
    plan = np.array([8, 4, 0, 4])
    assert Limits().cut(plan, 8).tolist() == [4, 2, 0, 2]
    assert Limits().cut(plan, 16) is plan
    assert Limits(most=6, least=5).cut(plan, 14).sum() == 12
    assert Limits(most=6, least=5).cut(plan, 4).sum() == 0
    assert Limits().cut(plan, 0).sum() == 0


def test_a_guess_is_no_answer_in_a_table_of_runs() -> None:
    table = pw.simulate(TWO, [0.1, 0.0], pw.Sage(), runs=3, budget=20)
    assert table.columns["item"].tolist() == [-1, -1, -1]
    assert not table.columns["correct"].any()
    assert table.columns["measurements"].tolist() == [20, 20, 20]


@pytest.mark.parametrize(
    ("confidence", "words"),
    [
        (0.0, "no confidence yet"),
        (0.0004, "no confidence yet"),
        (0.8329, "confidence 83.2 %"),
        (0.95, "confidence 95.0 %"),
        (0.99, "confidence 99.0 %"),
        (0.99989, "confidence 99.98 %"),
        (1.0 - 1e-12, "confidence above 99.9999999 %"),
        (1.0, "confidence 100 %"),
    ],
)
def test_words_round_down(confidence: float, words: str) -> None:
    assert attained(confidence) == words


def started(amendments: float = 0.0, algorithm: pw.Algorithm[Any] | None = None) -> Campaign:
    return Campaign.create(Memory(), TWO, algorithm=algorithm or pw.Sage(), seed=0, amendments=amendments)


def rounds(campaign: Campaign, count: int, theta: tuple[float, float] = (0.8, 0.0)) -> Campaign:
    environment = LinearEnvironment(TWO, theta, seed=1)
    for _ in range(count):
        rows = campaign.ask()
        campaign.tell(rows.filled(environment.measure(np.array([int(name) for name in rows["probe"]]))))
    return campaign


def test_a_campaign_says_what_its_leader_has_attained(tmp_path: Path) -> None:
    campaign = started()
    assert campaign.status().confidence == 0.0
    rounds(campaign, 4)
    status, trail = campaign.status(), campaign.trail
    assert status.confidence == pytest.approx(pw.Sage().confidence(TWO, trail.goal, trail.state))
    assert 0.01 < status.confidence < 0.95
    rows = campaign.ask()  # an open round counts for nothing
    campaign.tell({rows["measurement"][0]: 30.0})
    assert campaign.status().confidence == status.confidence
    campaign.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert f"leads with {attained(status.confidence)} so far, but 1 other item of 2" in text
    assert "is not the probability that the item shown is right" in text


def test_the_number_is_shared_among_the_versions_of_the_data() -> None:
    for share in (0.0, 0.5):
        campaign = rounds(started(share), 5)
        for version in range(3):
            trail, shown = campaign.trail, campaign.status().confidence
            assert campaign.ledger.amended == version
            own = 1.0 - pw.Sage().confidence(TWO, trail.goal, trail.state)
            weight = (share or 1.0) / (version * (version + 1)) if version else 1.0 - share
            spent = 1.0 if share else 2.0 - 1.0 / (version + 1)
            assert shown == pytest.approx(max(0.0, 1.0 - spent / weight * own))
            campaign.correct("r1-1", 0.5 + 0.01 * version, reason="typing error")


def test_an_answer_has_attained_at_least_what_is_promised() -> None:
    for share in (0.0, 0.4):
        campaign = rounds(started(share), 1, theta=(4.0, 0.0))
        campaign.correct("r1-1", 4.0, reason="typing error")
        while campaign.ask():
            rounds(campaign, 1, theta=(4.0, 0.0))
        status = campaign.status()
        assert status.answer == ("0",)
        assert status.confidence >= 1.0 - status.risk - 1e-12
        assert campaign.result().confidence == status.confidence


def test_the_result_of_a_campaign_has_the_best_guess_and_what_it_has_attained() -> None:
    campaign = started(0.0)
    assert (campaign.result().guess, campaign.result().items) == ((), None)
    rounds(campaign, 3, theta=(1.0, 0.0))
    result, status = campaign.result(), campaign.status()
    assert result.items is None
    assert (result.guess, result.confidence) == ((status.leader,), status.confidence)
    assert "best guess '0', " in repr(result)


def test_who_cannot_say_says_nothing() -> None:
    campaign = rounds(started(algorithm=pw.Rage()), 1)
    assert campaign.status().confidence is None
    with pytest.raises(pw.InvalidAlgorithm, match="rage cannot say how sure its guess is; choose one that can"):
        pw.Rage().confidence(TWO, pw.BestItem(), campaign.trail.state)
