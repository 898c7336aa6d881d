from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

import probewise as pw
from probewise.adequacy import check_adequacy
from probewise.algorithms.base import Standing
from probewise.campaign import Campaign, Memory
from probewise.campaign.findings.appraisal import appraised, scrutinised
from probewise.campaign.findings.numbers import SCALE, Finished, Numbers, lead_by_round, numbers
from probewise.campaign.findings.words import ItemNumbers, Words
from probewise.confidence import mixture_width, noise_bound
from probewise.measurements import Measurements
from probewise.numerals import with_width
from probewise.quantity import Quantity
from probewise.tables import Table

ITEMS = np.array([[1.0, 0.0], [0.9, 0.3], [0.0, 1.0], [-1.0, 0.2]])
PROBES = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
THETA = np.array([1.0, 0.4])
PROBLEM = pw.Problem(PROBES, ITEMS, item_names=["A", "B", "C", "D"])


def measured(rng: np.random.Generator, counts: object, sigma: float = 1.0) -> Measurements:
    index = np.repeat(np.arange(3), np.asarray(counts))
    return Measurements.from_outcomes(3, index, (PROBES @ THETA)[index] + sigma * rng.normal(size=index.size))


def standing(*left: int, leader: int | None = 0) -> Standing:
    return Standing(np.array(left), () if leader is None else (leader,), 0.5)


def test_the_width_is_where_the_two_sided_mixture_is_one_over_alpha() -> None:
    precision, scale = np.array([0.3, 2.0, 500.0]), np.array([5.0, 0.1, 5.0])
    total = precision * mixture_width(precision, scale, 0.01)
    mixture = 0.5 * total**2 / (precision + scale) - 0.5 * np.log((precision + scale) / scale)
    np.testing.assert_allclose(mixture, math.log(100.0))
    assert mixture_width(np.zeros(1), np.ones(1), 0.05) == math.inf


def test_intervals_hold_for_all_items_at_all_times_against_an_adversary() -> None:
    """Rounds measure what looks luckiest, and the run ends when it looks best; naive intervals fail this test."""
    rng = np.random.default_rng(0)
    goal = pw.BestItem(delta=0.2)
    truth, wrong, naive = ITEMS @ THETA, 0, 0
    for _ in range(80):
        rounds, missed, fooled = [measured(rng, [1, 1, 1])], False, False
        for _ in range(10):
            now = numbers(PROBLEM, goal, rounds, [standing(0, 1, 2, 3)] * len(rounds))
            ends = np.array([(item.low, item.high, item.estimate) for item in now.items])
            missed |= bool(((ends[:, 0] > truth) | (ends[:, 1] < truth)).any())
            gaps = np.array([(item.least, item.most) for item in now.items])
            real = truth[now.leader or 0] - truth
            missed |= bool(((gaps[:, 0] > real + 1e-9) | (gaps[:, 1] < real - 1e-9)).any())
            data = sum(rounds[1:], rounds[0])
            fit = pw.least_squares(PROBES, data)
            errors = np.abs(fit.mean(ITEMS) - truth) / np.sqrt(fit.variance(ITEMS))
            fooled |= bool(errors.max() > 1.96)
            # more of the probe whose mean is too low, little of the others: their luck stays
            low = int(np.argmin(data.mean - PROBES @ THETA))
            rounds.append(measured(rng, np.where(np.arange(3) == low, 1 + rng.integers(6), 1)))
        wrong, naive = wrong + missed, naive + fooled
    assert wrong < 16 < 24 < naive  # of 80 runs, 20 % may fail


def test_what_the_measurements_do_not_determine_is_not_compared() -> None:
    """The first batch of a round has no run with one of three ligands: nobody knows what it does."""
    probes = Table("probes", ("ligand", "heat"), (["A", "A", "B", "C"], np.array([20.0, 80.0, 20.0, 20.0])))
    problem = pw.Problem.from_tables(probes, Table("items", ("ligand", "heat"), (["C", "A", "B"], np.full(3, 80.0))))
    batch = Measurements.from_outcomes(4, [0, 1, 2], [-3.0, -15.0, -6.0])  # without C, which θ of least norm puts first
    now = numbers(problem, pw.BestItem(), [batch], [standing(0, 1, 2, leader=None)])
    assert (now.leader, now.guess, now.rival) == (None, (), None)
    assert [item.estimate for item in now.items] == [pytest.approx(v, nan_ok=True) for v in (math.nan, -15.0, -18.0)]
    assert {item.why for item in now.items} == {"cannot be compared yet"}
    assert now.sentence == "No item leads yet: 3 measurements cannot tell how far the items are apart."
    left = numbers(problem, pw.BestItem(), [batch], [standing(1, 2, leader=None)])  # C needs no comparison
    assert left.leader == 1
    assert left.items[2].behind == pytest.approx(3.0)
    above = numbers(problem, pw.Above(0.0), [batch], [standing(0, 1, 2, leader=1)])
    assert above.leader == 1, "a limit asks for no comparison"


def test_estimates_are_pooled_over_rounds_and_exact_without_noise() -> None:
    rng = np.random.default_rng(1)
    rounds = [measured(rng, [2, 1, 1], 0.0), measured(rng, [1, 5, 0], 0.0)]
    now = numbers(PROBLEM, pw.BestItem(), rounds, [standing(0, 1, 2, 3)] * 2)
    np.testing.assert_allclose([item.estimate for item in now.items], ITEMS @ THETA)
    np.testing.assert_allclose([item.behind for item in now.items], (ITEMS[0] - ITEMS) @ THETA, atol=1e-12)
    assert now.order == (1, 0, 2, 3) or now.order[0] == now.leader == 0
    first = [1.0 / pw.least_squares(PROBES, r).variance(ITEMS[3:]) for r in rounds]
    width = mixture_width(first[0] + first[1], SCALE * first[0], 0.05 / 4)
    assert now.items[3].high - now.items[3].estimate == pytest.approx(width[0])


def test_the_lead_by_round_ends_where_the_numbers_are() -> None:
    rng = np.random.default_rng(8)
    rounds = [measured(rng, counts) for counts in ([3, 0, 0], [2, 1, 1], [1, 5, 0], [0, 0, 4])]
    values, widths = lead_by_round(PROBLEM, pw.BestItem(), Finished.each(PROBLEM, rounds, PROBLEM.sigma).pool, (0, 2))
    assert math.isnan(values[0])
    assert math.isinf(widths[0])
    for count in range(2, 5):
        now = numbers(PROBLEM, pw.BestItem(), rounds[:count], [standing(0, 1, 2, 3)] * count).items[2]
        assert (values[count - 1], widths[count - 1]) == pytest.approx((now.behind, now.most - now.behind))


def test_levels_that_are_not_measured_give_way_to_differences() -> None:
    differences = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    problem = pw.Problem(differences, np.eye(3))
    rounds = [Measurements.from_outcomes(2, np.array([0, 0, 1, 1]), np.array([1.0, 1.2, 2.0, 2.2]))]
    now = numbers(problem, pw.BestItem(), rounds, [standing(0, 1, 2)])
    assert all(math.isnan(item.estimate) and math.isinf(item.high) for item in now.items)
    assert [item.behind for item in now.items] == pytest.approx([0.0, 1.1, 3.2])
    assert all(math.isfinite(item.most) for item in now.items)


def test_a_direction_that_no_single_round_determines_has_an_estimate_and_no_interval() -> None:
    rng = np.random.default_rng(2)
    now = numbers(PROBLEM, pw.BestItem(), [measured(rng, [3, 0, 0]), measured(rng, [0, 3, 0])], [standing(0, 1)] * 2)
    b = now.items[1]
    assert math.isfinite(b.estimate)
    assert (b.low, b.high) == (-math.inf, math.inf)


def run(epsilon: float, *, seed: int = 5) -> Numbers:
    goal, algorithm, rng = pw.BestItem(epsilon=epsilon), pw.Sage(), np.random.default_rng(seed)
    state, rounds, standings = algorithm.init(PROBLEM, goal), [], []
    while algorithm.answer(PROBLEM, goal, state) is None:
        rounds.append(measured(rng, algorithm.ask(PROBLEM, goal, state, rng)))
        state = algorithm.tell(PROBLEM, goal, state, rounds[-1])
        standings.append(algorithm.standing(PROBLEM, goal, state))
    answer = algorithm.answer(PROBLEM, goal, state)
    labels = [2 * number + 1 for number in range(len(rounds))]
    return numbers(PROBLEM, goal, rounds, standings, answer=answer, labels=labels)


def test_who_is_left_and_who_ties_is_said_to_the_number() -> None:
    rounds = [measured(np.random.default_rng(0), [400, 400, 400])]
    alone = numbers(PROBLEM, pw.BestItem(), rounds, [standing(0)], answer=(0,))
    assert alone.items[0].why == "the only one left"
    three = numbers(PROBLEM, pw.BestItem(epsilon=9.0), rounds, [standing(0, 1, 2, 3)], answer=(0,))
    assert three.items[0].why == "nothing left can be more than 9 better"
    assert three.sentence.count("tied within epsilon: B, C, D") == 1
    assert "more" not in three.sentence
    wider = pw.Problem(PROBES, [*ITEMS, [0.1, 0.1]], item_names=[*"ABCDE"])
    four = numbers(wider, pw.BestItem(epsilon=9.0), rounds, [standing(0, 1, 2, 3, 4)], answer=(0,))
    assert "tied within epsilon: B, C, D and 1 more" in four.sentence


def test_no_interval_excludes_what_is_called_possible() -> None:
    """An algorithm may be slower than the intervals: who is not ruled out may still be the best, in both."""
    rounds = [measured(np.random.default_rng(0), [4000, 4000, 4000])]
    slow = numbers(PROBLEM, pw.BestItem(), rounds, [standing(0, 1, 2, 3)]).items[3]
    done = numbers(PROBLEM, pw.BestItem(), rounds, [standing(0, 1, 2)]).items[3]
    assert slow.state == "remaining"
    assert done.state == "eliminated"
    assert slow.least == 0.0 < done.least < slow.behind


def test_a_decision_says_who_was_ruled_out_when_and_by_whom() -> None:
    now = run(0.0)
    best = now.items[now.leader or 0]
    assert best.state == "best"
    assert best.name == "B"  # 1.02 against 1
    assert now.decided
    assert now.remaining == 1
    others = [item for item in now.items if item is not best]
    assert all(item.state == "eliminated" and item.round is not None and item.round % 2 == 1 for item in others)
    assert now.items[3].round < now.items[0].round  # type: ignore[operator]
    assert now.items[3].why.startswith(f"ruled out in round {now.items[3].round}: ")
    assert "behind B" in now.items[0].why
    assert now.sentence.startswith("B is the best item, with confidence 95 %: it is estimated 0.0")
    assert now.sentence.endswith(", the closest rival; all other items are ruled out.")


def test_the_bound_that_matters_stands_beside_the_claim() -> None:
    """Of a rival that is ruled out, how far it is behind at least; of one that is tied, how far ahead at most."""

    def said(state: str, least: float, *, minimise: bool = False, behind: float = 2.0, name: str = "") -> str:
        leader = ItemNumbers("A", 5.0, 4.0, 6.0, 0.0, 0.0, 0.0, "best", None, None, "")
        rival = ItemNumbers("B", 3.0, 2.0, 4.0, behind, least, 2 * behind - least, state, 2, "A", "")
        goal = pw.BestItem(epsilon=0.5, minimise=minimise)
        return Words(goal, Quantity(name)).reason([leader, rival], "A", 1, 1).partition(";")[0]

    assert said("eliminated", 0.7) == "A is estimated 2 above B, the closest rival, and at least 0.7 above it"
    assert said("eliminated", 0.7, minimise=True).endswith("2 below B, the closest rival, and at least 0.7 below it")
    assert said("eliminated", -0.7) == "A is estimated 2 above B, the closest rival"
    assert said("tied", -0.3) == "A is estimated 2 above B, the closest rival, and at most 0.3 below it"
    assert said("tied", -3.0, minimise=True).endswith("and at most 0.5 above it")  # no more than epsilon
    assert said("remaining", -0.3) == "A is estimated 2.0 ± 2.3 above B, the closest rival"
    assert said("remaining", -3.0, behind=-1.0) == "A is estimated 1.0 ± 2.0 below B, the closest rival"
    assert said("eliminated", 0.7, name="dose").startswith("The dose of A is estimated 2 above that of B, the closest")


def test_ties_within_epsilon_are_named() -> None:
    now = run(0.3)
    assert {item.name for item in now.items if item.state in ("best", "tied")} >= {"A", "B"}
    tied = next(item for item in now.items if item.state == "tied")
    assert "0.3" in tied.why
    assert "is within 0.3 of the best, with confidence 95 %" in now.sentence
    rng = np.random.default_rng(3)
    sure = numbers(PROBLEM, pw.BestItem(epsilon=0.5), [measured(rng, [2000] * 3)], [standing(0, 1)], answer=(0,))
    assert sure.items[1].why == "within 0.5 of A"


def test_before_a_decision_the_leader_leads() -> None:
    nothing = numbers(PROBLEM, pw.BestItem(), [], [])
    assert nothing.leader is None
    assert nothing.sentence == "Nothing has been measured yet; 4 items are to be compared."
    assert {item.state for item in nothing.items} == {"remaining"}
    rng = np.random.default_rng(3)
    now = numbers(PROBLEM, pw.BestItem(), [measured(rng, [9, 9, 9])], [standing(0, 1, 2, leader=None)])
    assert [item.state for item in now.items].count("leading") == 1
    assert now.items[3].state == "eliminated"
    assert "leads: it is estimated" in now.sentence
    behind = numbers(PROBLEM, pw.BestItem(), [measured(rng, [900] * 3, 0.0)], [standing(0, 2, 3, leader=2)])
    assert re.match(r"C leads: it is estimated 0\.60 ± 0\.\d\d below A, the closest rival; ", behind.sentence)
    assert "1 of 4 items are ruled out" in now.sentence
    lone = pw.Problem(PROBES, ITEMS[:1], item_names=["A"])
    assert numbers(lone, pw.BestItem(), [], [], answer=(0,)).sentence == "A is the only item."


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (3.14159, 0.4249, "3.14 ± 0.42"),
        (1234.5, 260.0, "1,230 ± 260"),
        (5.84, 9.96, "6 ± 10"),
        (0.00123, 0.00042, "0.00123 ± 0.00042"),
        (1.0, 0.0, "1"),
        (2.5, math.inf, "2.5"),
        (math.nan, 1.0, "unknown"),
        (5.0, 1e-12, "5 ± 1e-12"),
    ],
)
def test_no_more_digits_than_are_known(value: float, width: float, text: str) -> None:
    assert with_width(value, width) == text


def test_a_bound_on_the_noise_holds_at_all_times() -> None:
    """With alpha = 0.2, against looking after every replicate; it is not far from the truth in the end."""
    rng = np.random.default_rng(0)
    wrong, last = 0, []
    for _ in range(200):
        scatter = np.cumsum(rng.chisquare(1, size=60))
        bounds = [noise_bound(float(value), count + 1, 0.2) for count, value in enumerate(scatter)]
        wrong += min(bounds) < 1.0
        last.append(bounds[-1])
    assert 5 < wrong < 40  # 20 % may fail
    assert 1.2 < np.median(last) < 1.9
    assert noise_bound(1.0, 1, 1e-6) == math.inf
    assert noise_bound(0.0, 50, 0.05) == math.inf
    assert noise_bound(4e10, 50, 0.05) == pytest.approx(4e10 * noise_bound(1.0, 50, 0.05))


def test_a_round_of_several_batches_counts_as_one() -> None:
    """No batch of one measurement says anything by itself."""
    lab = Campaign.create(Memory(), PROBLEM, algorithm=pw.Sage(max_batch=1), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(12):
        rows = lab.ask()
        lab.tell(rows.filled((PROBES @ THETA)[[int(name) for name in rows["probe"]]] + rng.normal(size=1)))
    rounds = appraised(lab.ledger, lab.trail).rounds
    assert len(rounds.after) == 12
    assert 0 < len(rounds.pool.fits) < 12
    now = appraised(lab.ledger, lab.trail).numbers
    assert all(math.isfinite(item.high) for item in now.items)
    assert now.items[0].low < 1.0 < now.items[0].high


def test_intervals_for_noise_of_unknown_scale_follow_the_noise() -> None:
    unknown = pw.Problem(PROBES, ITEMS, sigma="unknown")
    rng, goal, left = np.random.default_rng(1), pw.BestItem(), [standing(0, 1, 2, 3)] * 3
    batches = [measured(rng, [8, 8, 8]) for _ in range(3)]
    moved = [Measurements(b.count, 1000.0 * b.mean, 1e6 * b.scatter) for b in batches]
    sure = numbers(PROBLEM, goal, batches, left)
    rounds = [Finished.each(unknown, data, unknown.sigma) for data in (batches, moved)]
    noise = [unknown.outcome.bound(part.pool.pure_error, goal.delta) for part in rounds]
    one = numbers(unknown, goal, batches, left, rounds=rounds[0])
    other = numbers(unknown, goal, moved, left, rounds=rounds[1])
    assert 1.0 < noise[0] < 2.0
    for item, first, second in zip(sure.items, one.items, other.items, strict=True):
        assert second.high == pytest.approx(1000.0 * first.high)
        assert 1.0 < (first.high - first.low) / (item.high - item.low) < 2.1
    single = [measured(rng, [1, 1, 1]) for _ in range(3)]
    assert all(math.isinf(item.high) for item in numbers(unknown, goal, single, left).items)
    values, widths = lead_by_round(unknown, goal, rounds[0].pool, (0, 2))
    assert (values[-1], widths[-1]) == pytest.approx((one.items[2].behind, one.items[2].most - one.items[2].behind))


def test_checks_for_noise_of_unknown_scale() -> None:
    lab = Campaign.create(Memory(), pw.Problem(PROBES, ITEMS, sigma="unknown"), seed=1)
    rng = np.random.default_rng(0)
    rows = [{"probe": str(probe), "outcome": 50.0 * rng.normal()} for probe in (0, 1, 2) * 6]
    lab.tell(rows[:3], off_plan=True)
    assert scrutinised(lab.ledger, lab._replayed(lab.ledger), None).verdict == "unchecked"
    lab.tell(rows, off_plan=True)
    checks = scrutinised(lab.ledger, lab._replayed(lab.ledger), None)
    assert checks.noise.found == "The noise is not stated but estimated from replicates."
    assert checks.verdict == "adequate"


SIGMA = np.array([0.5, 2.0, 3.0])


@pytest.mark.parametrize(
    ("known", "replicates", "scale"),
    [
        (True, 8, None),
        (False, 8, lambda value, degrees: math.sqrt(noise_bound(value, degrees, 0.1 * 0.3))),
        (False, 2, lambda value, degrees: math.sqrt(value / degrees)),  # a guess: nothing bounds the noise
        (False, 1, lambda value, degrees: 1.0),
    ],
)
def test_a_campaign_is_checked_at_the_noise_that_is_known_of_it(
    known: bool, replicates: int, scale: Callable[[float, int], float] | None
) -> None:
    """The outcomes drift and are not linear; each probe has a noise of its own."""
    problem, goal = pw.Problem(PROBES, ITEMS, outcome=pw.Gaussian(SIGMA, unknown=not known)), pw.BestItem(delta=0.3)
    lab, rng, rounds = Campaign.create(Memory(), problem, goal, seed=1), np.random.default_rng(3), []
    for drift in (0.0, 0.1):
        probes = np.repeat([0, 1, 2], [replicates, 1, 1])
        values = np.array([5.0, 3.0, 40.0])[probes] + drift + 0.2 * SIGMA[probes] * rng.normal(size=probes.size)
        lab.tell([{"probe": str(i), "outcome": y} for i, y in zip(probes, values, strict=True)], off_plan=True)
        rounds.append(Measurements.from_outcomes(3, probes, values))
    within = [part.pure_error(sigma=SIGMA) for part in rounds]
    sums = sum(part.value for part in within), sum(part.degrees for part in within)
    sigma = None if scale is None else scale(*sums) * SIGMA
    assert replicates != 8 or noise_bound(*sums, 0.03) < math.inf
    assert replicates == 8 or noise_bound(*sums, 0.03) == math.inf
    wanted = [
        repr(check_adequacy(problem, goal, rounds, sigma=sigma, bounded=replicates == 8, leader=leader))
        for leader in (None, 3)
    ]
    assert [repr(scrutinised(lab.ledger, lab._replayed(lab.ledger), leader)) for leader in (None, 3)] == wanted
    assert replicates == 1 or wanted[0] != wanted[1]
