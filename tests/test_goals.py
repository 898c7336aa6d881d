"""Goals: what they promise, how they are named, and who refuses them."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest

import probewise as pw
from probewise.campaign import Memory
from probewise.campaign.findings.news import Stand, news
from probewise.goals import GOALS, check_risk, goal_from
from probewise.testing import check_goal

PROBLEM = pw.Problem(np.eye(3), item_names=["A", "B", "C"])


@pytest.mark.parametrize("name", GOALS)
def test_every_goal_keeps_the_contract(name: str) -> None:
    for settings in ({}, {"delta": 0.2, "epsilon": 0.4}):
        check_goal(GOALS[name](**settings))


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


@pytest.mark.parametrize("algorithm", [pw.Sage(), pw.Rage(), pw.LinGapE(), pw.ExploreVerify(), pw.XYAdaptive()])
def test_a_goal_that_is_not_served_is_refused_everywhere(algorithm: pw.Algorithm[Any]) -> None:
    match = f"{algorithm.name} cannot answer the question 'some'; g-static, uniform, xy-oracle, xy-static can"
    with pytest.raises(pw.InvalidAlgorithm, match=match):
        pw.identify(PROBLEM, Top(), measure=lambda at: np.zeros(at.size), algorithm=algorithm)
    with pytest.raises(pw.InvalidAlgorithm, match=match):
        pw.simulate(PROBLEM, [1.0, 0.5, 0.0], algorithm, Top(), runs=1)
    with pytest.raises(pw.InvalidAlgorithm, match=match):
        pw.Campaign.create(Memory(), PROBLEM, Top(), algorithm)


def test_a_goal_that_cannot_be_read_back_is_not_written() -> None:
    store = Memory()
    with pytest.raises(pw.InvalidCampaign, match=r"a campaign needs a goal that it can read back .* one of best"):
        pw.Campaign.create(store, PROBLEM, Top(), pw.Uniform())
    assert store.lines == []
    with pytest.raises(pw.InvalidGoal, match=r"a goal is an object such as BestItem\(delta=0.05\), got 0.05"):
        pw.identify(PROBLEM, 0.05, measure=lambda at: np.zeros(at.size))  # type: ignore[arg-type]


def test_texts_name_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GOALS, "some", Top)
    assert goal_from("best", delta=0.1, epsilon=None) == pw.BestItem(0.1)
    assert goal_from("some:3", delta=0.1) == Top(3, 0.1)
    for text, match in (
        ("worst", "there is no goal 'worst'; they are best, some"),
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
