"""Budgets: planned by a model, judged by Sage."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.campaign import Memory
from probewise.campaign.findings.attaining import PLAYED, attaining
from probewise.cli import main
from probewise.guess.belief import believed
from probewise.guess.columns import columns_of
from probewise.guess.improvement import first_batch, next_batch
from probewise.guess.variances import Settings
from probewise.measurements import Measurements
from probewise.testing import CHECKS

SPACE = pw.space({"ligand": list("ABCD"), "solvent": list("xyz"), "temperature": [60.0, 80.0, 100.0]})
PROBLEM = pw.Problem.from_tables(SPACE, sigma=1.0)
VALUES = np.random.default_rng(0).normal(50.0, 10.0, PROBLEM.n_items)


def laboratory(seed: int, sd: float = 1.0) -> Any:
    rng = np.random.default_rng(seed)
    return lambda probes: VALUES[probes] + sd * rng.normal(size=len(probes))


@pytest.mark.parametrize("check", ["says_what_it_is", "is_pure", "needs_nothing_for_one_item"])
def test_it_keeps_the_contract_but_for_an_answer(check: str) -> None:
    CHECKS[check](lambda problem, theta: pw.BestGuess(12, 4))


@pytest.mark.parametrize(("budget", "batch", "sizes"), [(24, 8, [8, 8, 8]), (20, 8, [7, 7, 6]), (5, None, [1] * 5)])
def test_a_budget_is_spent_in_equal_batches(budget: int, batch: int | None, sizes: list[int]) -> None:
    wide = pw.Problem.from_tables(SPACE, sigma=30.0)  # so that nothing is proven of rows that follow no linear model
    result = pw.identify(wide, measure=laboratory(1), budget=budget, batch=batch, seed=0)
    assert result.status == "budget exhausted"
    assert [past.measurements.n for past in result.history] == sizes
    assert result.prediction is not None
    cautious = result.prediction.mean - 0.25 * result.prediction.spread
    assert result.item == result.prediction.item == int(np.argmax(cautious))
    assert result.prediction.low < result.prediction.mean[result.item] < result.prediction.high
    assert result.prediction.gain >= 0.0
    assert result.prediction.left == 0


def test_plan_and_judge_are_apart() -> None:
    """What is measured is what the model plans, and what is proven is what Sage makes of the same rounds."""
    result = pw.identify(PROBLEM, measure=laboratory(2), budget=24, batch=8, seed=3)
    columns, n = columns_of(PROBLEM), PROBLEM.n_probes
    shared: dict[str, Any] = {"room": PROBLEM.stock, "relative": np.ones(n), "cost": PROBLEM.cost, "replicates": None}
    streams = [np.random.default_rng(np.random.SeedSequence(3, spawn_key=(step,))) for step in range(3)]
    first = first_batch(columns, 8, settings=Settings(), rng=streams[0], **shared)
    np.testing.assert_array_equal(result.history[0].counts, first)
    data = result.history[0].measurements
    for step, last in ((1, False), (2, True)):  # the last batch is planned for the guess after it
        batch = next_batch(believed(columns, data, relative=np.ones(n)), 8, last=last, rng=streams[step], **shared)
        np.testing.assert_array_equal(result.history[step].counts, batch.counts)
        data = data + result.history[step].measurements
    sage, goal = pw.Sage(), pw.BestItem()
    state = sage.init(PROBLEM, goal)
    for past in result.history:
        state = sage.tell(PROBLEM, goal, state, past.measurements)
    assert result.confidence == state.confidence(PROBLEM, goal, result.item)


def test_an_answer_that_is_proven_ends_it_early() -> None:
    problem = pw.Problem(np.eye(3), sigma=0.1)
    result = pw.identify(problem, measure=lambda i: np.array([0.0, 5.0, -5.0])[i], budget=200, batch=10, seed=0)
    assert (result.status, result.item, result.prediction) == ("identified", 1, None)
    assert result.measurements < 200


def test_a_linear_answer_that_the_model_doubts_does_not_end_it() -> None:
    """A bowl with hardly any noise: by a linear model a corner is the lowest beyond doubt, and it is not."""
    grid, steps = pw.space({"a": [0.0, 1.0, 2.0, 3.0, 4.0], "b": [0.0, 1.0, 2.0, 3.0, 4.0]}), np.arange(5) - 1.0
    problem, bowl = pw.Problem.from_tables(grid, sigma=0.1), 10.0 * np.add.outer(steps**2, steps**2).ravel()
    goal = pw.BestItem(minimise=True)
    linear = pw.identify(problem, goal, measure=lambda i: bowl[i], algorithm=pw.Sage(), budget=200, seed=0)
    assert (linear.status, bowl[linear.item] > 0) == ("identified", True)
    result = pw.identify(problem, goal, measure=lambda i: bowl[i], budget=18, batch=6, seed=0)
    assert (result.status, bowl[result.item], result.confidence) == ("budget exhausted", 0.0, 0.0)


def test_stock_ends_it_too() -> None:
    problem = pw.Problem(np.eye(3), stock=[2, 1, 1])
    result = pw.identify(problem, measure=lambda i: np.zeros(i.size), budget=50, batch=3, seed=0)
    assert (result.status, result.measurements) == ("budget exhausted", 4)


@pytest.mark.parametrize("budget", [0, -3, 2.5, True])
def test_a_budget_is_a_whole_number(budget: Any) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match="a budget must be a whole number of at least 1"):
        pw.BestGuess(budget)


def test_other_questions_and_other_algorithms_are_cut_as_before() -> None:
    lab = laboratory(3)
    several = pw.identify(PROBLEM, pw.TopM(2), measure=lab, budget=24, batch=8, seed=0)
    named = pw.identify(PROBLEM, measure=lab, algorithm=pw.Sage(), budget=24, seed=0)
    assert several.prediction is named.prediction is None
    with pytest.raises(pw.InvalidAlgorithm, match="best-guess cannot answer the question 'top'"):
        pw.identify(PROBLEM, pw.TopM(2), measure=lab, algorithm=pw.BestGuess(24), seed=0)
    with pytest.raises(pw.InvalidAlgorithm, match="sage does not predict"):
        pw.Sage().prediction(PROBLEM, pw.BestItem(), pw.Sage().init(PROBLEM, pw.BestItem()))


def campaign(budget: int = 20) -> pw.Campaign:
    store = Memory()
    search = pw.Campaign.create(
        store, PROBLEM, pw.BestItem(), pw.BestGuess(budget, 8), seed=0, outcome_name="yield", unit="%"
    )
    number, lab = {name: i for i, name in enumerate(PROBLEM.probe_names)}, laboratory(4)
    while len(rows := search.ask()):
        search.tell(rows.filled(lab(np.array([number[name] for name in rows["probe"]]))))
    assert pw.Campaign.open(store).status() == search.status()
    return search


def test_a_campaign_ends_with_its_budget_and_says_what_is_a_guess(tmp_path: Path) -> None:
    search = campaign()
    now = search.status()
    assert (now.measurements, now.answer, now.waiting) == (20, None, 0)
    assert now.guess is not None
    assert now.leader == now.guess.item == now.guess.items[0].name
    assert set(now.recipes) == {now.leader}
    assert now.sentence.startswith(f"Best guess: {now.leader}, predicted ")
    assert "if the model is right" in now.sentence
    assert now.guess.contested == (now.leader not in now.remaining)
    if now.guess.contested:
        assert "the linear model rules it out" in now.sentence
    elif now.confidence is None:  # values at random are not linear in the features, and the data say so
        assert "how sure it is cannot be said" in now.sentence
        assert now.checks["fit"] == "inadequate"
    else:
        assert "proven so far:" in now.sentence
    assert now.guess.effects.startswith("the columns ligand, solvent, temperature:")
    assert "The budget is spent; another batch would be expected to improve the best guess by" in now.sentence
    assert search.ask().sentence == now.sentence
    json.dumps(now.to_json())
    search.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert f"Best guess: {now.leader}" in page
    assert "nothing here is proven" in page


def test_before_the_first_outcome_nothing_is_guessed() -> None:
    search = pw.Campaign.create(Memory(), PROBLEM, pw.BestItem(), pw.BestGuess(8), seed=0)
    assert search.status().guess is None
    assert search.status().leader is None


def test_numbers_are_those_of_the_linear_model() -> None:
    """Estimates and who is behind whom do not depend on who is guessed."""
    search = campaign(24)
    plain = pw.Campaign.create(Memory(), PROBLEM, pw.BestItem(), pw.Sage(), seed=0)
    for sheet in search.result().history:
        rows = np.repeat(np.arange(PROBLEM.n_probes), sheet.counts)
        outcomes = sheet.measurements.mean[rows]
        names = [PROBLEM.probe_names[row] for row in rows]
        told = [{"probe": name, "outcome": value} for name, value in zip(names, outcomes, strict=True)]
        plain.tell(told, off_plan=True)
    one = {item.name: item.estimate for item in search.status().items}
    other = {item.name: item.estimate for item in plain.status().items}
    assert one == pytest.approx(other)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "recipes.csv"
    header = "ligand,solvent,temperature"
    cells = [f"{a},{b},{c}" for a in "ABCD" for b in "xyz" for c in (60, 80, 100)]
    path.write_text("\n".join([header, *cells]) + "\n")
    return path


def run(*words: str) -> Any:
    return CliRunner().invoke(main, list(words))


def test_the_command_line_takes_a_budget(tmp_path: Path, table: Path) -> None:
    path = str(tmp_path / "a.campaign")
    made = run("new", path, "--probes", str(table), "--sigma", "1", "--budget", "16", "--max-batch", "8", "--seed", "0")
    assert made.exit_code == 0, made.output
    assert "Confidence in the best guess after 16 measurements if the best item leads by a gap" in " ".join(
        made.output.split()
    )
    sheet = tmp_path / "ask.csv"
    assert run("ask", path, "--out", str(sheet)).exit_code == 0
    assert len(sheet.read_text().splitlines()) == 9
    status = json.loads(run("status", path, "--json").output)
    assert status["guess"] is None


def test_the_confidence_to_be_expected_is_that_of_played_searches() -> None:
    problem, goal = pw.Problem(np.eye(3)), pw.BestItem(0.05)
    wide, narrow = (attaining(problem, goal, pw.BestGuess(30, 15), gap) for gap in (6.0, 0.01))
    assert not isinstance(wide, str)
    assert not isinstance(narrow, str)
    assert wide.right == PLAYED
    assert wide.mean > 0.9
    assert 0.0 <= wide.least <= wide.mean <= wide.most <= 1.0
    assert narrow.mean < 0.5
    assert wide == attaining(problem, goal, pw.BestGuess(30, 15), 6.0)
    low = attaining(problem, pw.BestItem(0.05, minimise=True), pw.BestGuess(30, 15), 6.0)
    assert not isinstance(low, str)
    assert low.right == PLAYED


@pytest.mark.parametrize(
    ("problem", "gap"),
    [
        (pw.Problem(np.eye(3), outcome=pw.Bounded()), 0.7),
        (pw.Problem(np.eye(3), outcome=pw.Bounded(-50, 150)), 140.0),
        (pw.Problem(np.eye(3), outcome=pw.Poisson(rate=4.0)), 12.0),
        (pw.Problem(np.eye(3), sigma="unknown"), 4.0),
    ],
)
def test_other_laws_are_played_too(problem: pw.Problem, gap: float) -> None:
    goal = pw.BestItem(0.05)
    wide, narrow = (attaining(problem, goal, pw.BestGuess(60, 20), own) for own in (gap, 0.01 * gap))
    assert not isinstance(wide, str)
    assert not isinstance(narrow, str)
    assert wide.mean > narrow.mean + 0.3
    assert wide.right == PLAYED
    assert narrow.mean < 0.5


def test_where_no_search_is_played_it_is_said_why(tmp_path: Path, table: Path) -> None:
    problem, goal = pw.Problem(np.eye(3), outcome=pw.Bounded()), pw.BestItem(0.05)
    assert attaining(problem, goal, pw.Sage(), 0.5) == "sage does not plan for a budget"
    assert attaining(problem, goal, pw.BestGuess(30), 1.5) == (
        "outcomes of the law 'bounded' do not reach far enough for a gap of 1.5"
    )
    assert attaining(problem, goal, pw.BestGuess(30), 0.0) == "there is nothing to tell apart"
    large = pw.Problem(np.eye(3), np.random.default_rng(0).random((70_000, 3)))
    assert (
        attaining(large, goal, pw.BestGuess(30), 0.5) == "there are too many items and probes to play searches on them"
    )
    given = ("--outcome", "bounded", "--budget", "16", "--seed", "0", "--gap", "2", "--gap", "0.02", "--dry-run")
    made = run("new", str(tmp_path / "a.campaign"), "--probes", str(table), *given)
    said = " ".join(made.output.split())
    assert "There is no forecast of the confidence after 16 measurements: outcomes of the law 'bounded' do not" in said
    assert "Confidence in the best guess after 16 measurements" in said


@pytest.mark.parametrize("outcome", [pw.Gaussian(1.0), pw.Bounded(-20, 70)])
def test_predictions_stay_among_values_that_items_can_have(outcome: pw.Gaussian | pw.Bounded) -> None:
    problem = pw.Problem.from_tables(SPACE, outcome=outcome)
    algorithm = pw.BestGuess(16, 8, low=35, high=60)
    values = np.clip(VALUES, 35.0, 60.0)
    result = pw.identify(problem, measure=lambda probes: values[probes], algorithm=algorithm, seed=0)
    assert result.prediction is not None
    assert 35.0 <= result.prediction.mean.min() < result.prediction.mean.max() <= 60.0
    assert 35.0 <= result.prediction.low < result.prediction.high <= 60.0


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"low": 3.0, "high": 3.0}, r"from low to a higher high, got 3\.0 to 3\.0"),
        ({"high": np.nan}, r"from low to a higher high, got -inf to nan"),
        ({"low": "none"}, r"low must be a number, got 'none'"),
    ],
)
def test_a_range_of_values_is_checked(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match=why):
        pw.BestGuess(16, **wrong)


def test_a_range_of_outcomes_is_one_of_values(tmp_path: Path, table: Path) -> None:
    """What ``--outcome-range`` refuses is not predicted; forecasts are played on values from anywhere."""
    path, given = str(tmp_path / "a.campaign"), ("--sigma", "1", "--budget", "16", "--max-batch", "8", "--seed", "0")
    made = run("new", path, "--probes", str(table), *given, "--outcome-range", "0", "100")
    assert made.exit_code == 0, made.output
    assert pw.Campaign.open(path).algorithm == pw.BestGuess(16, 8, low=0.0, high=100.0)
    plain = run("new", str(tmp_path / "b.campaign"), "--probes", str(table), *given)
    assert pw.Campaign.open(tmp_path / "b.campaign").algorithm == pw.BestGuess(16, 8)
    start = "Confidence in the best guess"
    assert (
        made.output[made.output.index(start) :].replace("a.campaign", "b.campaign")
        == plain.output[plain.output.index(start) :]
    )
    problem, goal = pw.Problem(np.eye(3)), pw.BestItem(0.05)
    assert attaining(problem, goal, pw.BestGuess(30, 15, low=900.0), 6.0) == attaining(
        problem, goal, pw.BestGuess(30, 15), 6.0
    )


@pytest.mark.parametrize("other", [("--algorithm", "rage"), ("--rounds", "4"), ("--min-batch", "4")])
def test_a_budget_has_a_plan_of_its_own(tmp_path: Path, table: Path, other: tuple[str, str]) -> None:
    path = str(tmp_path / "a.campaign")
    refused = run("new", path, "--probes", str(table), "--sigma", "1", "--budget", "16", *other)
    assert refused.exit_code == 2
    assert f"which {other[0]} does not go with" in refused.output


def test_identify_prints_the_prediction(table: Path) -> None:
    theta = ",".join(f"{0.3 * j:g}" for j in range(PROBLEM.dimension))
    words = ("identify", "--probes", str(table), "--sigma", "1", "--theta", theta, "--budget", "12", "--batch", "6")
    said = run(*words)
    assert said.exit_code == 1, said.output
    assert "if its model is right" in " ".join(said.output.split())
    found = json.loads(run(*words, "--json").output)
    assert set(found["prediction"]) == {"value", "low", "high", "gain", "noise"}
    cut = json.loads(run(*words, "--algorithm", "sage", "--json").output)
    assert cut["prediction"] is None


def test_batches_of_another_kind_keep_budget_and_prediction() -> None:
    result = pw.identify(PROBLEM, measure=laboratory(5), algorithm=pw.BestGuess(12), batch=3, seed=0)
    assert (result.status, result.measurements) == ("budget exhausted", 12)
    assert result.prediction is not None


def test_measurements_of_others_count() -> None:
    algorithm, goal = pw.BestGuess(12, 4), pw.BestItem()
    state = algorithm.init(PROBLEM, goal)
    counts = functools.partial(algorithm.ask, PROBLEM, goal)
    own = Measurements.from_outcomes(PROBLEM.n_probes, np.arange(10), VALUES[:10])
    state = algorithm.tell(PROBLEM, goal, state, own)
    assert counts(state, np.random.default_rng(0)).sum() == 2
    assert not algorithm.spent(PROBLEM, goal, state)
    assert algorithm.spent(PROBLEM, goal, algorithm.tell(PROBLEM, goal, state, own))
