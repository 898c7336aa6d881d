"""Goals: what they promise, how they are named, and who refuses them."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.campaign import Memory
from probewise.campaign.findings.news import Stand, news
from probewise.cli import main
from probewise.confidence import log_wealth
from probewise.goals import GOALS, check_risk, goal_from
from probewise.measurements import Measurements
from probewise.testing import check_goal

PROBLEM = pw.Problem(np.eye(3), item_names=["A", "B", "C"])


def test_the_best_item_keeps_the_contract() -> None:
    for goal in (pw.BestItem(), pw.BestItem(0.2, 0.4)):
        check_goal(goal)


def test_names_are_those_of_the_registry() -> None:
    assert {name: goal.name for name, goal in GOALS.items()} == {name: name for name in GOALS}


@dataclasses.dataclass(frozen=True)
class Top(pw.Goal):
    """The m best items, with as many faults as a test wants."""

    m: int = 2
    delta: float = 0.05
    epsilon: float = 0.0

    name: ClassVar[str] = "some"
    summary: ClassVar[str] = "The m best items."
    argument: ClassVar[str | None] = "m"

    def __post_init__(self) -> None:
        check_risk(self)

    @property
    def predicate(self) -> str:
        return f"one of the best {self.m}"

    def check(self, problem: pw.Problem) -> None:
        pw.BestItem().check(problem)

    def answer(self, problem: Any, values: Any) -> pw.Answer:
        return tuple(int(item) for item in np.argsort(-values, kind="stable")[: self.m])

    def right(self, problem: Any, values: Any, answer: pw.Answer) -> bool:
        inside = np.isin(np.arange(values.size), answer)
        return len(answer) == self.m and bool(
            values[inside].min(initial=np.inf) + self.epsilon >= values[~inside].max(initial=-np.inf)
        )

    def claims(self, problem: pw.Problem, answer: pw.Answer) -> pw.Claims:
        others = np.delete(np.arange(problem.n_items), answer)
        above = np.repeat(problem.items[list(answer)], others.size, axis=0)
        below = np.tile(problem.items[others], (len(answer), 1))
        return pw.Claims(above, below, np.zeros(len(above)), np.tile(others, len(answer)))

    def rivals(self, problem: pw.Problem) -> int:
        return self.m * (problem.n_items - self.m)

    def directions(self, problem: pw.Problem) -> Any:
        return pw.pairs(problem.items)


def test_a_goal_of_several_items_keeps_the_contract() -> None:
    check_goal(Top())
    check_goal(Top(1, epsilon=0.3))


# Each promise broken in turn: the contract must notice.


class Sloppy(Top):
    def right(self, problem: Any, values: Any, answer: pw.Answer) -> bool:
        return True


class Modest(Top):
    def rivals(self, problem: pw.Problem) -> int:
        return 1


class Blind(Top):
    def directions(self, problem: pw.Problem) -> Any:
        return pw.explicit(1e-3 * problem.probes[:1])


class Listing(Top):
    def answer(self, problem: Any, values: Any) -> Any:
        return list(Top.answer(self, problem, values))


class Silent(Top):
    def claim(self, names: Any, *, exact: bool = True) -> str:
        return "found"


class Choosy(Top):
    def check(self, problem: pw.Problem) -> None:
        raise pw.InvalidProblem("none will do.")


class Fearless(Top):
    def __post_init__(self) -> None:
        pass


class Wrong(Top):
    def claims(self, problem: pw.Problem, answer: pw.Answer) -> pw.Claims:
        own = Top.claims(self, problem, answer)
        return dataclasses.replace(own, offsets=own.offsets + 100.0)


BROKEN = {
    Sloppy: "but right says True",
    Modest: "1 claims do not catch every wrong answer",
    Blind: "claims more than its directions cover",
    Listing: "an answer must be a tuple of different items",
    Silent: "claim must name its items",
    Choosy: "an ordinary problem must pass its check, but it says: none will do",
    Fearless: "a delta of 0.0 must be refused",
    Wrong: "the claims of .* are true, but right says False",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_promise_is_noticed(broken: type[Top]) -> None:
    with pytest.raises(AssertionError, match=BROKEN[broken]):
        check_goal(dataclasses.dataclass(frozen=True)(broken)())


@pytest.mark.parametrize("algorithm", [pw.Rage(), pw.LinGapE(), pw.ExploreVerify(), pw.XYAdaptive()])
def test_a_goal_that_is_not_served_is_refused_everywhere(algorithm: pw.Algorithm[Any]) -> None:
    able = "g-static, .*sage, .*uniform, .*xy-static"
    match = f"{algorithm.name} cannot answer the question 'some'; .*{able} can"
    with pytest.raises(pw.InvalidAlgorithm, match=match):
        pw.identify(PROBLEM, Top(), measure=lambda at: np.zeros(at.size), algorithm=algorithm)
    with pytest.raises(pw.InvalidAlgorithm, match=match):
        pw.simulate(PROBLEM, [1.0, 0.5, 0.0], algorithm, Top(), runs=1)
    with pytest.raises(pw.InvalidAlgorithm, match=match):
        pw.Campaign.create(Memory(), PROBLEM, Top(), algorithm)


def test_a_goal_that_cannot_be_read_back_is_not_written() -> None:
    store = Memory()
    with pytest.raises(
        pw.InvalidCampaign, match=r"a campaign needs a goal that it can read back .* one of above, best"
    ):
        pw.Campaign.create(store, PROBLEM, Top(), pw.Uniform())
    assert store.lines == []
    with pytest.raises(pw.InvalidGoal, match=r"a goal is an object such as BestItem\(delta=0.05\), got 0.05"):
        pw.identify(PROBLEM, 0.05, measure=lambda at: np.zeros(at.size))  # type: ignore[arg-type]


def test_texts_name_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GOALS, "some", Top)
    assert goal_from("best", delta=0.1, epsilon=None) == pw.BestItem(0.1)
    assert goal_from("some:3", delta=0.1) == Top(3, 0.1)
    for text, match in (
        ("worst", "there is no goal 'worst'; they are above, best, better-than, combination, some"),
        ("best:3", "the goal 'best' is written best, got 'best:3'"),
        ("some", "the goal 'some' is written some:M, got 'some'"),
        ("some:few", "the goal 'some' needs a whole number behind its colon, got 'few'"),
    ):
        with pytest.raises(pw.InvalidGoal, match=match):
            goal_from(text)
    with pytest.raises(pw.InvalidGoal, match="the goal 'best' has no share; leave it out"):
        goal_from("best", share=0.5)


def test_a_tie_has_no_hardness_and_one_item_no_design() -> None:
    with pytest.raises(pw.InvalidProblem, match=r"the answer must be unique, but under theta it is a tie \('A', 'B'"):
        pw.hardness(PROBLEM, [1.0, 1.0, 0.0])
    found = pw.hardness(PROBLEM, [1.0, 0.9, 0.0], goal=Top())
    assert found.answer == (0, 1)
    assert found.gaps.tolist() == [0.0, 0.0, pytest.approx(0.9)]
    # the worst insider against the outsider, each with half of the measurements
    assert pw.hardness(PROBLEM, [9.0, 0.9, 0.0], goal=Top()).psi == pytest.approx(4 / 0.9**2, rel=0.02)


def test_a_campaign_for_several_items_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declared, replayed, withdrawn and told in words, with as many items as the answer has."""
    monkeypatch.setitem(GOALS, "some", Top)
    for m in (2, 0):
        lab, store = np.array([1.0, 0.5, -1.0]), Memory()
        campaign = pw.Campaign.create(store, PROBLEM, Top(m), pw.Uniform(), seed=0)
        while len(rows := campaign.ask()):
            campaign.tell(rows.filled([float(lab[int(probe)]) for probe in rows["probe"]]))
        status, again = campaign.status(), pw.Campaign.open(store)
        names = ("A", "B")[:m]
        assert status.answer == names
        assert status.item == (names[0] if names else None)
        assert campaign.result().items == tuple(range(m))
        assert again.status() == status
        assert again.records[-1].body["items"] == list(names)
        said = "A and B are one of the best 2" if m else "No item is one of the best 0"
        if m:
            assert status.sentence.startswith(f"{said}, with confidence 95 %")
            assert [item.state for item in status.items] == ["found", "found", "eliminated"]
            told = campaign.void([f"r{n}-{k}" for n in range(1, 40) for k in (1, 2, 3)][:3], reason="spilt")
            assert "'A' and 'B' are no longer declared one of the best 2." in told or "Voided." in told
        before, now = Stand((), frozenset()), Stand((0, 1), frozenset({0, 1}))
        assert news(before, now, campaign.ledger, certified=False)[-1].startswith("'A' and 'B' came out first, but are")


# Other questions than that for the best item.

OTHERS: dict[str, tuple[pw.Goal, pw.Answer]] = {
    "top": (pw.TopM(2), (0, 1)),
    "above": (pw.Above(0.5), (0, 1)),
    "above all": (pw.Above(-3.0), (0, 1, 2, 3)),
    "above none": (pw.Above(3.0), ()),
    "better-than": (pw.BetterThan("C"), (0, 1)),
    "better than the best": (pw.BetterThan("A"), ()),
}
FOUR = pw.Problem(np.eye(4), sigma=0.3, item_names=["A", "B", "C", "D"])
TRUTH = np.array([1.2, 0.9, 0.1, -0.4])


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("algorithm", [pw.Sage(), pw.Sage(max_batch=3), pw.XYStatic(), pw.Batched(pw.Uniform(), 5)])
def test_other_questions_are_answered(name: str, algorithm: pw.Algorithm[Any]) -> None:
    goal, answer = OTHERS[name]
    for seed in (0, 1):
        lab = pw.LinearEnvironment(FOUR, TRUTH, seed=seed)
        result = pw.identify(FOUR, goal, measure=lab.measure, algorithm=algorithm, seed=seed)
        assert result.items is not None
        assert sorted(result.items) == list(answer)
        assert result.item_names == tuple("ABCD"[item] for item in result.items)


@pytest.mark.parametrize("goal", [pw.TopM(2), pw.Above(0.1), pw.BetterThan("0"), pw.TopM(1, epsilon=0.2)])
def test_other_goals_keep_the_contract(goal: pw.Goal) -> None:
    check_goal(goal)


def test_sage_needs_fewer_measurements_than_a_static_design() -> None:
    noisy = pw.Problem(np.eye(4), item_names=[*"ABCD"])
    for goal in (pw.TopM(2), pw.Above(0.5), pw.BetterThan("C")):
        sage, static = (
            pw.simulate(noisy, TRUTH, algorithm, goal, runs=6).mean("measurements")
            for algorithm in (pw.Sage(), pw.XYStatic())
        )
        assert sage < 0.9 * static


def test_an_account_settles_a_claim_at_rivals_over_delta() -> None:
    """The accounts of the page, from sums over two rounds, and the threshold exactly."""
    problem, sage = pw.Problem(np.eye(2), sigma=0.5), pw.Sage()
    rounds = [(np.array([4, 4]), np.array([0.9, -0.2])), (np.array([6, 3]), np.array([0.8, 0.1]))]
    goal = pw.Above(0.3, epsilon=0.05)
    state = sage.init(problem, goal)
    unit = 1.0 / (state.prior.whitener**2).sum(axis=1)
    precision = sum(counts for counts, _ in rounds) / 0.25
    total = sum(counts * means for counts, means in rounds) / 0.25
    margins = np.array([1.0, -1.0]) * total + (np.array([-0.3, 0.3]) + 0.05) * precision
    logs = log_wealth(margins, precision, unit)
    delta = 2.0 * float(np.exp(-logs.min()))  # two claims, and each must reach 2/δ
    assert 1e-9 < delta < 0.9
    for factor, answer in ((1 - 1e-9, None), (1 + 1e-9, (0,))):
        now = sage.init(problem, goal.at(delta * factor))
        for counts, means in rounds:
            now = sage.tell(problem, goal.at(delta * factor), now, Measurements(counts, means, np.zeros(2)))
        assert sage.answer(problem, goal.at(delta * factor), now) == answer


def test_hairlines_are_decided_wrongly_no_more_often_than_delta_allows() -> None:
    """Half of what is declared here is wrong; at an error rate of 0.3, 25 wrong runs of 60 have probability 4 %."""
    wrong = 0
    for run in range(60):
        lab = pw.LinearEnvironment(FOUR, np.array([0.0, 1e-9, 0.0, -1e-9]), seed=run)
        goal = pw.BetterThan("A", delta=0.3)
        result = pw.identify(FOUR, goal, measure=lab.measure, algorithm=pw.Sage(growth=2.0), seed=run, budget=200)
        declared = result.status == "identified"
        wrong += declared and not goal.right(FOUR, FOUR.items @ lab.theta, result.items or ())
    assert wrong < 25


def test_other_questions_refuse_what_cannot_be() -> None:
    for goal, match in (
        (pw.TopM(4), "the top 4 of 4 items are all of them; ask for fewer"),
        (pw.BetterThan("E"), "the control 'E' is none of the items 'A', 'B', 'C', 'D'"),
    ):
        with pytest.raises(pw.InvalidProblem, match=match):
            goal.check(FOUR)
    shared = pw.Problem([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, 0.0, 7.0], [0.0, 1.0, 7.0]], item_names=["A", "B"])
    pw.TopM(1).check(shared)
    with pytest.raises(pw.InvalidProblem, match="gives the value of items 'A', 'B', at most differences"):
        pw.Above(0.0).check(shared)
    with pytest.raises(pw.InvalidProblem, match="'A' is the only item"):
        pw.BetterThan("A").check(pw.Problem(np.eye(1), item_names=["A"]))
    for wrong, text in (
        (lambda: pw.TopM(0), "m must be a whole number of at least 1, got 0"),
        (lambda: pw.TopM(True), "m must be a whole number"),
        (lambda: pw.Above(float("nan")), "value must be a finite number, got nan"),
        (lambda: pw.BetterThan(""), "control must be the name of an item, got ''"),
        (lambda: pw.TopM(2, delta=1.0), "delta must lie strictly between 0 and 1"),
    ):
        with pytest.raises(pw.InvalidGoal, match=text):
            wrong()
    pw.Above(0.0).check(pw.Problem(np.eye(2), [[1.0, 0.0], [1.0, 0.0]]))  # twins are both above, or both below


def test_a_limit_is_a_float_whatever_it_was_given_as() -> None:
    assert [type(pw.Above(value).value) for value in (2, 2.0, np.float64(2.0))] == [float] * 3


def test_a_list_that_names_an_item_twice_is_not_the_top_m() -> None:
    goal, values = pw.TopM(2), np.array([4.0, 3.0, 2.0, 1.0])
    assert goal.right(FOUR, values, (1, 0))
    assert not goal.right(FOUR, values, (0, 0))
    assert not goal.right(FOUR, values, (0, 1, 1))


def test_identical_items_and_stock_depend_on_the_question() -> None:
    few = dataclasses.replace(FOUR, stock=[3, 3, 3, 0])
    sage, goal = pw.Sage(), pw.Above(0.5)
    with pytest.raises(pw.OutOfStock, match="too little is left of probes '3' to decide about items 'A', "):
        sage.ask(few, goal, sage.init(FOUR, goal), np.random.default_rng(0))


@pytest.mark.parametrize("goal", ["top:2", "above:0.5", "better-than:mild", "above:1000"])
def test_a_campaign_by_commands(goal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From two tables to the report, with the question in every sentence."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("id,base,heat\nmild,1,0\nhot,0,1\nboth,1,1\n")

    def ran(*words: str) -> str:
        result = CliRunner().invoke(main, words)
        assert result.exit_code in (0, 1), result.output
        return result.output

    model = ("--model", "none", "--sigma", "0.1", "--seed", "1")
    ran("new", "a.campaign", "--probes", "p.csv", "--goal", goal, *model)
    values = {"mild": 0.2, "hot": 0.9, "both": 1.1}
    for _ in range(60):
        if CliRunner().invoke(main, ["ask", "a.campaign", "--out", "ask.csv"]).exit_code:
            break
        with (tmp_path / "ask.csv").open() as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row["outcome"] = str(values[row["probe"]])
        with (tmp_path / "ask.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        ran("tell", "a.campaign", "ask.csv")
    status = json.loads(ran("status", "a.campaign", "--json"))
    wanted = {"top:2": ["both", "hot"], "above:0.5": ["both", "hot"], "better-than:mild": ["both", "hot"]}.get(goal, [])
    assert status["answer"] == wanted
    claim = {
        "top:2": "both and hot are the top 2",
        "above:0.5": "both and hot are above 0.5",
        "better-than:mild": "both and hot are better than mild",
        "above:1000": "No item is above 1000",
    }[goal]
    assert status["sentence"].startswith(f"{claim}, with confidence 95 %")
    assert claim in ran("status", "a.campaign")
    ran("report", "a.campaign", "--out", "r.html")
    assert f"{claim}, with confidence 95" in (tmp_path / "r.html").read_text("utf-8")
    assert json.loads(ran("verify", "a.campaign", "--json"))["item"] == (" and ".join(wanted) or "no item")


def test_what_only_the_tolerance_allows_is_not_claimed_outright() -> None:
    """A is below the limit by a hair: it may be listed, but nobody may say that it is above."""
    problem = pw.Problem(np.eye(2), sigma=0.3, item_names=["A", "B"])
    for algorithm in (pw.Sage(), pw.XYStatic()):
        listed = 0
        for seed in range(6):
            lab = pw.LinearEnvironment(problem, np.array([2.99, 6.0]), seed=seed)
            campaign = pw.Campaign.create(Memory(), problem, pw.Above(3.0, epsilon=0.5), algorithm, seed=seed)
            said = []
            while len(rows := campaign.ask()):
                told = campaign.tell(rows.filled(lab.measure([int(probe) for probe in rows["probe"]])))
                said.append(told.sentence)
            status = campaign.status()
            assert status.answer is not None
            assert "B" in status.answer
            listed += "A" in status.answer
            assert f"{pw.Above(3.0).predicate}, up to 0.5, with confidence" in status.sentence
            assert {item.why for item in status.items if item.state == "above"} == {"shown to be above 3, up to 0.5"}
            assert "up to 0.5, with confidence" in said[-1]
            assert not any("Back among" in text for text in said)
        assert listed < 6


def test_an_item_without_features_is_known_beforehand() -> None:
    """Its value is 0 whatever the truth."""
    problem = pw.Problem(np.eye(2), [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], sigma=0.2)
    for algorithm in (pw.Sage(), pw.XYStatic(), pw.Uniform()):
        for limit, epsilon, answer in ((0.5, 0, (0,)), (-0.5, 0, (0, 2)), (0.0, 0, (0,)), (0.1, 0.2, (0,))):
            lab, goal = pw.LinearEnvironment(problem, np.array([1.0, -1.0]), seed=0), pw.Above(limit, epsilon=epsilon)
            found = pw.identify(problem, goal, measure=lab.measure, algorithm=algorithm, seed=0, budget=1000)
            assert found.items is not None
            assert (found.status, sorted(found.items)) == ("identified", list(answer))


def test_a_control_is_neither_found_nor_ruled_out() -> None:
    lab = pw.LinearEnvironment(FOUR, TRUTH, seed=0)
    campaign = pw.Campaign.create(Memory(), FOUR, pw.BetterThan("C"), seed=0)
    while len(rows := campaign.ask()):
        campaign.tell(rows.filled(lab.measure([int(probe) for probe in rows["probe"]])))
    states = {item.name: item.state for item in campaign.status().items}
    assert states == {"A": "better", "B": "better", "C": "control", "D": "eliminated"}
    assert "all other items are ruled out" in campaign.status().sentence
    with pytest.raises(pw.InvalidProblem, match="the answer has no item"):
        _ = pw.hardness(FOUR, TRUTH, goal=pw.Above(9.0)).best


def test_the_confidence_attained_by_a_list() -> None:
    """It is one less the level at which the list would be declared, and at the answer at least what was asked for."""
    sage = pw.Sage()
    for law in (pw.Gaussian(0.5), pw.Gaussian(0.5, unknown=True)):
        problem = pw.Problem(np.eye(4), outcome=law, item_names=[*"ABCD"])
        lab, rng = pw.LinearEnvironment(problem, TRUTH), np.random.default_rng(3)
        goal = pw.TopM(2, delta=0.1)
        state = sage.init(problem, goal)
        assert sage.confidence(problem, goal, state) == 0.0
        seen, rounds = [], []
        while sage.answer(problem, goal, state) is None:
            rounds.append(lab.draw(sage.ask(problem, goal, state, rng), rng))
            state = sage.tell(problem, goal, state, rounds[-1])
            seen.append(sage.confidence(problem, goal, state))
        assert all(sure < 0.9 for sure in seen[:-1])
        assert seen[-1] >= 0.9
        if law.known:  # at that level, and not at a stricter one, the same data declare the same list
            for factor, found in ((1 + 1e-6, (0, 1)), (1 - 1e-6, None)):
                other = goal.at((1 - seen[-1]) * factor)
                again = sage.init(problem, other)
                for measurements in rounds:
                    again = sage.tell(problem, other, again, measurements)
                assert sage.answer(problem, other, again) == found


# Low values are wanted: the same search with everything upside down.


@pytest.mark.parametrize(
    "goal",
    [
        pw.BestItem(0.2, 0.4, minimise=True),
        pw.TopM(2, minimise=True),
        pw.Above(0.1, minimise=True),
        pw.BetterThan("0", minimise=True),
    ],
)
def test_goals_that_minimise_keep_the_contract(goal: pw.Goal) -> None:
    check_goal(goal)


class Stuck(pw.Above):
    def turned(self) -> pw.Above:
        return dataclasses.replace(self, minimise=not self.minimise)  # and the limit stays


def test_a_limit_that_is_not_turned_is_noticed() -> None:
    with pytest.raises(AssertionError, match="turned must give the same answer at negated values"):
        check_goal(Stuck(0.1))


LOW = (pw.BestItem(minimise=True), pw.TopM(2, minimise=True), pw.Above(0.5, minimise=True))
LOW += (pw.BetterThan("B", minimise=True),)  # type: ignore[assignment]


def _pairs_of_searches() -> list[Any]:
    able = [kind() for name, kind in pw.ALGORITHMS.items() if name not in ("alba", "batched", "xy-oracle")]
    able += [pw.ALBA(norm_bound=5.0), pw.Batched(pw.Uniform(), 5)]
    pairs = [(goal, own) for goal in LOW for own in able if isinstance(goal, own.goals)]
    return [pytest.param(goal, own, id=f"{goal.name}-{own.name}") for goal, own in pairs]


@pytest.mark.parametrize(("goal", "algorithm"), _pairs_of_searches())
def test_to_minimise_is_to_maximise_negated_outcomes(goal: pw.Goal, algorithm: pw.Algorithm[Any]) -> None:
    """Round by round the same counts, and the same answer; the items are no probes, which would hide a sign."""
    problem = pw.Problem(
        np.eye(3), np.array([[1.0, 0.5, 0.2], [0.1, 1.0, 0.7], [-0.6, 0.4, 1.0]]), sigma=0.3, item_names=[*"ABC"]
    )
    theta = np.array([0.9, -0.8, -0.4])

    def search(goal: pw.Goal, sign: float) -> pw.Result:
        lab = pw.LinearEnvironment(problem, theta, seed=1)
        return pw.identify(problem, goal, measure=lambda at: sign * lab.measure(at), algorithm=algorithm, seed=1)

    low, high = search(goal, 1.0), search(goal.turned(), -1.0)
    assert low.status == high.status == "identified"
    assert low.items == high.items
    assert [r.counts.tolist() for r in low.history] == [r.counts.tolist() for r in high.history]
    np.testing.assert_array_equal(low.estimate, -high.estimate)
    assert goal.right(problem, problem.items @ theta, low.items or ())
    assert not goal.turned().right(problem, problem.items @ theta, low.items or ())


def test_simulations_count_the_lowest_as_right() -> None:
    low = pw.simulate(FOUR, TRUTH, pw.Sage(), pw.BestItem(minimise=True), runs=3)
    assert low["item"].tolist() == [3, 3, 3]
    assert low.mean("correct") == 1.0
    assert pw.hardness(FOUR, TRUTH, goal=pw.BestItem(minimise=True)).answer == (3,)
    high = pw.hardness(FOUR, -TRUTH)
    assert pw.hardness(FOUR, TRUTH, goal=pw.BestItem(minimise=True)).psi == pytest.approx(high.psi)


def test_a_campaign_for_the_lowest_item_speaks_of_it(tmp_path: Path) -> None:
    """Estimates are those of the outcomes, the journal keeps the goal as given, and words say lowest and below."""
    probes = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    problem = pw.Problem(probes, np.vstack([np.eye(3), 0.5 * np.eye(3)[:1]]), sigma=0.3, item_names=[*"ABCD"])
    lab, store = probes @ np.array([5.0, 2.0, 4.0]), Memory()
    campaign = pw.Campaign.create(store, problem, pw.BestItem(minimise=True), seed=0)
    rng = np.random.default_rng(0)
    while len(rows := campaign.ask()):
        if campaign.status().leader is not None:
            assert "lowest estimate of those that are left" in campaign.status().items[0].why
        campaign.tell(rows.filled([lab[int(probe)] + 0.3 * rng.normal() for probe in rows["probe"]]))
    status = pw.Campaign.open(store).status()
    assert status == campaign.status()
    assert campaign.records[0].body["goal"]["settings"] == {"delta": 0.05, "epsilon": 0.0, "minimise": True}
    assert status.answer == ("B",)
    assert status.sentence.startswith("B is the lowest of all, with confidence 95 %: it is estimated ")
    assert " below D, the closest rival" in status.sentence
    first, second = status.items[:2]
    assert (first.name, second.name) == ("B", "D")
    assert first.low is not None
    assert first.estimate is not None
    assert first.high is not None
    assert first.low < 2.0 < first.high
    assert first.low < first.estimate < first.high
    campaign.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "B is the lowest of all, with confidence 95" in page
    assert "D less B: estimate and interval by round." in page
    assert "goal best, delta 0.05; epsilon 0.0; minimise;" in page


def test_commands_minimise(tmp_path: Path) -> None:
    (tmp_path / "probes.csv").write_text("id,dose\nA,0\nB,1\nC,2\n")
    given = ["--probes", str(tmp_path / "probes.csv"), "--sigma", "0.3", "--minimise", "--json"]
    run = CliRunner().invoke
    found = run(main, ["identify", *given, "--theta", "1,2"])
    assert (found.exit_code, json.loads(found.output)["item"]) == (0, "A")
    found = run(main, ["identify", *given, "--theta", "1,2", "--goal", "above:4"])
    assert sorted(json.loads(found.output)["items"]) == ["A", "B"]
    found = run(main, ["simulate", *given, "--theta", "1,2", "--runs", "2"])
    assert json.loads(found.output)["algorithms"][0]["errors"] == 0
    found = run(main, ["hardness", *given, "--theta", "1,2", "--goal", "top:2"])
    assert json.loads(found.output)["answer"] == ["A", "B"]
    found = run(main, ["new", str(tmp_path / "low.campaign"), *given])
    assert json.loads(found.output)["minimise"] is True
