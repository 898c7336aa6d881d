"""Lists of which a share may be wrong, and items that are announced one by one (docs/shares.md, docs/sage.md)."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.algorithms.sage.listing import accepted, lacking
from probewise.campaign import Memory
from probewise.cli import main
from probewise.testing import check_goal

FIVE = pw.Problem(np.eye(5), item_names=[*"ABCDE"])
TRUTH = np.array([1.0, 1.2, 0.4, 0.0, -1.0])


def test_the_longest_list_whose_accounts_are_large_enough() -> None:
    """Against all lists: of k items each account is at least M/(kδ), and no longer list has that."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        m = int(rng.integers(1, 8))
        wealth, inside = rng.exponential(2.0, m), rng.random(m) < 0.6
        needed = math.log(m / 0.2)
        made = accepted(wealth, inside, needed)
        for side in (inside, ~inside):
            rows = np.flatnonzero(side).tolist()
            fitting = [
                k
                for k in range(1, len(rows) + 1)
                if any(all(wealth[i] >= needed - math.log(k) for i in own) for own in itertools.combinations(rows, k))
            ]
            assert made[rows].sum() == max(fitting, default=0)
            assert all(wealth[i] >= needed - math.log(made[rows].sum()) for i in rows if made[i])


def test_what_is_not_a_number_is_not_listed() -> None:
    made = accepted(np.array([np.nan, np.inf, 9.0]), np.ones(3, dtype=bool), math.log(3 / 0.05))
    assert made.tolist() == [False, True, True]
    assert lacking(np.array([np.nan, 9.0]), np.ones(2, dtype=bool), 4.0) == 0.0
    assert lacking(np.array([1.0, 9.0]), np.array([True, False]), 4.0) == 0.25


def test_accounts_that_are_worth_what_they_cost_make_a_share_of_delta_wrong() -> None:
    """All M claims are false. With probability p_k, some k of them are worth M/(kδ) each, and the others nothing.

    A mean of at most 1 for every account allows Σ p_k = δ, and then the mean share of wrong items is δ exactly; with
    accounts a trifle smaller nothing is listed.
    """
    m, delta = 6, 0.25
    inside, needed = np.ones(m, dtype=bool), math.log(m / delta)
    worth = np.zeros(m)
    shares = 0.0
    for k in range(1, m + 1):
        probability = delta / m
        worth += probability * (k / m) * m / (k * delta)
        for factor, listed in ((1 + 1e-12, k), (1 - 1e-9, 0)):
            account = np.where(np.arange(m) < k, factor * m / (k * delta), 1e-300)
            made = accepted(np.log(account), inside, needed)
            assert made.sum() == listed
        shares += probability  # whatever is listed is wrong
    assert worth == pytest.approx(np.ones(m))
    assert shares == pytest.approx(delta)


def test_a_share_takes_fewer_measurements_than_all() -> None:
    problem, theta = pw.Problem(np.eye(30)), np.where(np.arange(30) < 12, 1.0, -1.0)
    runs = {
        promise: pw.simulate(problem, theta, pw.Sage(sides=False), pw.Above(0.0, promise=promise), runs=4)
        for promise in ("all", "share")
    }
    assert runs["share"].mean("measurements") < 0.85 * runs["all"].mean("measurements")
    assert "wrong_share" not in runs["all"].columns
    assert runs["share"]["wrong_share"].max() < 0.2


def test_a_budget_ends_with_what_is_listed() -> None:
    lab = pw.LinearEnvironment(FIVE, np.array([3.0, 3.0, 0.6, 0.5, 0.4]), seed=0)
    goal = pw.Above(0.5, promise="share")
    result = pw.identify(FIVE, goal, measure=lab.measure, seed=0, budget=60)
    assert result.status == "budget exhausted"
    assert {"A", "B"} <= {*result.item_names} <= {"A", "B", "C"}
    assert result.confidence is None


def test_shares_of_wrong_items() -> None:
    values = np.array([1.0, 0.5, 0.2, -1.0, 0.0])
    above = pw.Above(0.5, epsilon=0.1, promise="share")
    assert above.wrong_share(FIVE, values, (0, 1, 2, 3)) == 0.5
    assert above.wrong_share(FIVE, values, ()) == 0.0
    assert pw.Above(0.5, minimise=True).wrong_share(FIVE, values, (0, 3)) == 0.5
    assert pw.BetterThan("C").wrong_share(FIVE, values, (0, 4)) == 0.5
    assert pw.BetterThan("C").wrong_share(FIVE, values, (2,)) == 1.0
    assert pw.TopM(2).wrong_share(FIVE, values, (0, 1)) == 0.0
    assert pw.TopM(2).wrong_share(FIVE, values, (0, 2)) == 1.0


def test_who_can_promise_a_share() -> None:
    with pytest.raises(pw.InvalidGoal, match="promise must be 'all' or 'share', got 'most'"):
        pw.Above(0.5, promise="most")  # type: ignore[arg-type]
    lab = pw.LinearEnvironment(FIVE, TRUTH)
    for algorithm in (pw.XYStatic(), pw.Batched(pw.Uniform(), 5)):
        with pytest.raises(pw.InvalidAlgorithm, match="cannot promise that at most a share of a list is wrong"):
            pw.identify(FIVE, pw.Above(0.5, promise="share"), measure=lab.measure, algorithm=algorithm)
    with pytest.raises(pw.InvalidGoal, match="does not judge items one by one"):
        pw.TopM(2).right_side(FIVE, TRUTH, 0)


@pytest.mark.parametrize("promise", ["all", "share"])
def test_items_are_announced_before_the_list_is_complete(promise: str, tmp_path: Path) -> None:
    lab = pw.LinearEnvironment(FIVE, TRUTH, seed=3)
    goal = pw.Above(0.5, promise=promise)  # type: ignore[arg-type]
    store, said = Memory(), []
    campaign = pw.Campaign.create(store, FIVE, goal, pw.Sage(growth=1.5), seed=0)
    while len(rows := campaign.ask()):
        campaign.tell(rows.filled(lab.measure([FIVE.probe_names.index(probe) for probe in rows["probe"]])))
        said.append(campaign.status())
        if said[-1].sure and said[-1].answer is None and not (tmp_path / "middle.html").exists():
            campaign.report(tmp_path / "middle.html")
    sure = [status.sure for status in said[:-1]]
    assert {"A", "B"} == {name for names in sure for name in names}
    if promise == "all":  # what is known is known for good
        assert all({*before} <= {*after} for before, after in itertools.pairwise(sure))
    middle = next(status for status in reversed(said) if status.sure)
    states = {item.name: (item.state, item.why) for item in middle.items}
    assert states["B"] == ("above", "listed as above 0.5" if promise == "share" else "shown to be above 0.5")
    first = {
        "all": "are above 0.5, with confidence 95 %, and others may follow: ",
        "share": "are listed as above 0.5; of such a list at most 5 % is wrong on average, and others may follow: ",
    }
    assert first[promise] in middle.sentence
    text = (tmp_path / "middle.html").read_text("utf-8")
    assert "of 5 may follow" in text
    assert ("It is a promise about one list" in text) == (promise == "share")
    assert ("left out" if promise == "share" else "ruled out") in said[-1].sentence
    assert sorted(said[-1].answer or ()) == ["A", "B"]
    assert pw.Campaign.open(store).status() == said[-1]


def test_an_item_that_is_settled_is_measured_no_more() -> None:
    """A, far above, is asked for in the first rounds; once it is known, only the others are."""
    problem, goal, sage = pw.Problem(np.eye(3)), pw.Above(0.0), pw.Sage()
    lab, rng = pw.LinearEnvironment(problem, np.array([9.0, 0.3, -0.3])), np.random.default_rng(0)
    state = sage.init(problem, goal)
    for _ in range(8):
        counts = sage.ask(problem, goal, state, rng)
        state = sage.tell(problem, goal, state, lab.draw(counts, rng))
    assert sage.standing(problem, goal, state).sure == (0,)
    assert counts[0] == 0


def test_the_top_m_needs_no_more_claims_than_there_are_other_items() -> None:
    """The page's M - 1 claims catch every wrong list: against all lists of small problems, ties among them."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        n = int(rng.integers(2, 7))
        m = int(rng.integers(1, n))
        values = rng.integers(0, 4, n).astype(float)
        order = np.argsort(-values, kind="stable")
        top, rest = order[:m].tolist(), order[m:].tolist()
        last, first = top[-1], rest[0]
        caught = {(first, last), *((i, first) for i in rest[1:]), *((last, j) for j in top[:-1])}
        assert len(caught) == n - 1 == pw.TopM(m).rivals(pw.Problem(np.eye(n)))
        assert all(values[i] <= values[j] for i, j in caught)
        for own in itertools.combinations(range(n), m):
            if not pw.TopM(m).right(pw.Problem(np.eye(n)), values, own):
                claimed = {(i, j) for i in own for j in range(n) if j not in own}
                assert claimed & caught


def test_goals_keep_the_contract_and_their_promise() -> None:
    check_goal(pw.TopM(2))
    share = pw.Above(0.1, promise="share")
    assert share.turned().promise == share.at(0.2).promise == share.strict().promise == "share"


@dataclasses.dataclass(frozen=True)
class Lenient(pw.Above):
    def right_side(self, problem: pw.Problem, values: np.ndarray, item: int) -> bool:
        return True


@dataclasses.dataclass(frozen=True)
class Sharing(pw.TopM):
    promise: str = "share"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("broken", "match"),
    [(Lenient(0.1), "is wrong, but wrong_share says 0"), (Sharing(2), "only a goal that judges items one by one can")],
)
def test_a_goal_that_judges_items_wrongly_is_noticed(broken: pw.Goal, match: str) -> None:
    with pytest.raises(AssertionError, match=match):
        check_goal(broken)


def test_commands_take_the_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("id,a,b,c\nA,1,0,0\nB,0,1,0\nC,0,0,1\n")
    tables = ("--probes", "p.csv", "--model", "none", "--sigma", "0.3", "--goal", "above:0.5", "--promise", "share")

    def ran(*words: str, code: int = 0) -> str:
        result = CliRunner().invoke(main, words)
        assert result.exit_code == code, result.output
        return " ".join(result.output.split())

    share = "of such a list at most 5 % is wrong on average"
    assert f"3 items by 3 probes; {share}" in ran("new", "a.campaign", *tables)
    found = ran("identify", *tables, "--theta", "1,0,0.4")
    assert "'A' is listed as above 0.5" in found
    assert share in found
    few = ran("identify", *tables, "--theta", "1,0,0.49", "--budget", "40", code=1)
    assert f"'A' is listed as above 0.5 so far; {share}." in few
    none = ran("identify", *tables, "--theta", "1,0,0.49", "--budget", "6", code=1)
    assert "No item can be listed as above 0.5 yet." in none
    rows = json.loads(ran("simulate", *tables, "--theta", "1,0,0.2", "--runs", "2", "--out", "runs", "--json"))
    assert rows["algorithms"][0]["wrong_share"] == 0.0
    assert rows["lower_bound"] is None
    assert pw.Runs.read(tmp_path / "runs" / "sage.csv")["wrong_share"].tolist() == [0.0, 0.0]
    assert "wrong of those listed" in ran("simulate", *tables, "--theta", "1,0,0.2", "--runs", "2")
    assert "the goal 'best' has no promise; leave it out" in ran(
        "identify", "--probes", "p.csv", "--model", "none", "--theta", "1,0,0", "--promise", "share", code=2
    )


def test_a_list_that_the_data_contradict_is_not_announced() -> None:
    noisy = dataclasses.replace(FIVE, outcome=pw.Gaussian(0.01))
    campaign = pw.Campaign.create(Memory(), noisy, pw.Above(0.5, promise="share"), seed=0)
    lab = pw.LinearEnvironment(FIVE, np.array([9.0, 9.0, 0.5, 0.5, 0.5]), seed=0)
    for _ in range(4):
        rows = campaign.ask()
        if not len(rows):
            break
        campaign.tell(rows.filled(lab.measure([FIVE.probe_names.index(probe) for probe in rows["probe"]])))
    status = campaign.status()
    assert status.sure == ()
    assert "not certified: the data contradict what the confidence rests on" in status.sentence
