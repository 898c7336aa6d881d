"""Product spaces: combinations that are never listed, and an account for each of them."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.algorithms.sage.combined import Combined
from probewise.algorithms.sage.tree import Tree
from probewise.cli import main
from probewise.design import pairs, pairs_within
from probewise.design.criterion import largest_variance
from probewise.measurements import Measurements

LETTERS = {"a": ["p", "q", "r"], "b": ["s", "t"], "c": ["u", "v", "w"]}


def _probes(columns: dict[str, list[str]], n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.choice(values, size=n) for name, values in columns.items()})


def _both(seed: int = 0, **settings: object) -> tuple[pw.Problem, pw.Problem]:
    """The same space, not listed and listed."""
    probes = _probes(LETTERS, 30, seed)
    lazy = pw.Problem.from_tables(probes, pw.space(LETTERS, lazy=True), **settings)  # type: ignore[arg-type]
    return lazy, pw.Problem.from_tables(probes, pw.space(LETTERS), **settings)  # type: ignore[arg-type]


def test_a_lazy_space_has_the_features_of_the_listed_one() -> None:
    lazy, listed = _both()
    assert lazy.model is not None
    assert listed.model is not None
    assert lazy.model.to_json() == listed.model.to_json()
    assert lazy.blocks == (3, 2, 3)
    assert lazy.n_combinations == listed.n_items == 18
    assert lazy.item_names == ("a=p", "a=q", "a=r", "b=s", "b=t", "c=u", "c=v", "c=w")
    starts, rows = np.cumsum([0, *lazy.blocks])[:-1], []
    for levels in itertools.product(*map(range, lazy.blocks)):
        rows.append(lazy.items[starts + levels].sum(axis=0) - 2 * lazy.items[0])
    np.testing.assert_allclose(rows, listed.items, atol=1e-12)


def test_interactions_and_conditions_make_blocks() -> None:
    columns = {"a": ["p", "q"], "b": ["s", "t"], "x": {"from": 0, "to": 4, "step": 1}, "y (mM)": [1.0, 2.0, 3.0]}
    space = pw.space(columns, where="x < 4 and `y (mM)` > 1 or x == 2", lazy=True)
    assert [condition.names for condition in space.conditions] == [("x", "y (mM)")]
    both = pw.space(columns, where="x < 4 and `y (mM)` > 1 and (x > 1 or `y (mM)` < 3)", lazy=True)
    assert [(c.text, c.names) for c in both.conditions] == [("x > 1 or `y (mM)` < 3", ("x", "y (mM)"))]
    assert both.size == 2 * 2 * 4 * 2
    both = pw.space(columns, where="x < 4 and `y (mM)` > 1", lazy=True)
    rng = np.random.default_rng(0)
    probes = pd.DataFrame(
        {"a": rng.choice(["p", "q"], 40), "b": rng.choice(["s", "t"], 40), "x": rng.integers(0, 5, 40),
         "y (mM)": rng.integers(1, 4, 40)}
    )  # fmt: skip
    problem = pw.Problem.from_tables(probes, both, model="a*b + x + x^2 + `y (mM)`")
    assert problem.blocks == (4, 4, 2)
    assert problem.item_names[1] == "a=p, b=t"
    assert problem.item_names[4] == "x=0"
    assert pw.Problem.from_tables(probes, space, model="main").blocks == (2, 2, 9)
    mixed = pw.space({"a": ["p", "q"]}, mixture=["m", "n", "o"], step=0.5, lazy=True)
    assert [len(next(iter(part.values()))) for part in mixed.parts] == [2, 6]


def test_what_cannot_be_done_without_listing_is_refused() -> None:
    grid = {"from": 1, "to": 2000, "step": 1}
    space = pw.space({"x": grid, "y": grid, "a": ["p", "q"]}, lazy=True)
    rng = np.random.default_rng(0)
    probes = pd.DataFrame({"x": rng.integers(1, 9, 30), "y": rng.integers(1, 9, 30), "a": rng.choice(["p", "q"], 30)})
    with pytest.raises(pw.InvalidProblem, match=r"'x', 'y' depend on each other.*4,000,000 combinations would"):
        pw.Problem.from_tables(probes, space, model="x*y + a")
    with pytest.raises(pw.InvalidProblem, match="'y' of the space makes no difference in the model"):
        pw.Problem.from_tables(probes, space, model="x + a")
    with pytest.raises(pw.InvalidProblem, match="none of the 4 combinations of 'a', 'x'"):
        pw.Problem.from_tables(probes, pw.space({"a": ["p", "q"], "x": [1, 2], "y": [1, 2]}, where="x > 3 and a == 'p' or x > 4", lazy=True))  # fmt: skip # noqa: E501
    with pytest.raises(pw.InvalidProblem, match="a space needs a model"):
        pw.Problem(np.eye(2), space)
    problem = pw.Problem.from_tables(probes, space)
    with pytest.raises(pw.InvalidGoal, match=r"levels of 3 factors, which make up 8,000,000 combinations"):
        pw.identify(problem, pw.TopM(2), measure=lambda at: at)
    with pytest.raises(pw.InvalidGoal, match="the question 'best' cannot be asked of them"):
        pw.hardness(problem, np.ones(problem.dimension), goal=pw.BestItem())
    with pytest.raises(pw.InvalidProblem, match=r"sum to the number of items, 2, got \(3,\)"):
        pw.Problem(np.eye(2), blocks=[3])


def test_the_hardness_of_a_product_is_that_of_the_listed_space() -> None:
    lazy, listed = _both(2)
    theta = np.random.default_rng(3).standard_normal(lazy.dimension)
    one, other = (pw.hardness(problem, theta, tol=1e-6) for problem in (lazy, listed))
    assert one.psi_lower <= other.psi * (1 + 1e-9)
    assert other.psi_lower <= one.psi * (1 + 1e-9)
    best = listed.item_names[other.best]
    assert best == ", ".join(lazy.item_names[item].partition("=")[2] for item in one.answer)


def test_pairs_within_blocks_are_the_pairs_of_each_block() -> None:
    rng = np.random.default_rng(0)
    probes, items = rng.standard_normal((20, 4)), rng.standard_normal((9, 4))
    within = pairs_within(items, (4, 1, 3, 1))
    one, two = pairs(items[:4]), pairs(items[5:8])
    assert within.size == one.size + two.size
    design = pw.optimal_design(probes, within, tol=1e-6)
    both = np.vstack([items[i] - items[j] for i, j in [*itertools.combinations(range(4), 2), (5, 6), (5, 7), (6, 7)]])
    other = pw.optimal_design(probes, pw.explicit(both), tol=1e-6)
    assert design.value == pytest.approx(other.value, rel=2e-6)
    largest = largest_variance(probes, design.weights, within)
    assert largest == max(largest_variance(probes, design.weights, part) for part in (one, two))
    label, square = within.largest()
    assert within.rows(np.array([label]))[0] @ within.rows(np.array([label]))[0] == pytest.approx(square)
    assert square == max(one.largest()[1], two.largest()[1])
    with pytest.raises(pw.InvalidDesign, match="no block has two items"):
        pairs_within(items, (1,) * 9)


def test_a_tree_has_the_account_of_every_combination() -> None:
    """Against accounts that are kept one by one, with leaders that come and go."""
    rng = np.random.default_rng(4)
    sizes = (3, 2, 4)
    tree, every = Tree(sizes), dict.fromkeys(itertools.product(*map(range, sizes)), 0.0)
    leaders = [tuple(int(rng.integers(size)) for size in sizes) for _ in range(5)]
    for _ in range(40):
        leader, own = leaders[rng.integers(5)], float(rng.standard_normal())
        gains = [rng.standard_normal(size) for size in sizes]
        tree = tree.plus(leader, gains, own)
        for levels in every:
            differs = [at for at in range(3) if levels[at] != leader[at]]
            every[levels] += float(gains[differs[0]][levels[differs[0]]]) if differs else own
        alive = [rng.random(size) < 0.8 for size in sizes]
        besides = leaders[rng.integers(5)] if rng.random() < 0.7 else tuple(int(rng.integers(size)) for size in sizes)
        left = [
            made
            for levels, made in every.items()
            if levels != besides and all(alive[at][level] for at, level in enumerate(levels))
        ]
        least = tree.least(alive, besides)
        if besides in tree.leaders:
            assert least == pytest.approx(min(left, default=math.inf))
        else:  # what begins like a combination that was never bet on is not told apart from it
            assert least <= min(left, default=math.inf) + 1e-9
    assert all(tree.account(levels) == pytest.approx(made) for levels, made in every.items())


def test_the_best_combination_is_found_as_in_the_listed_space() -> None:
    lazy, listed = _both(5, sigma=0.5)
    theta = np.random.default_rng(6).standard_normal(lazy.dimension)
    best = listed.item_names[int(np.argmax(listed.items @ theta))]
    for goal in (None, pw.BestCombination(epsilon=0.01), pw.BestCombination(minimise=True)):
        result = pw.identify(lazy, goal, measure=pw.LinearEnvironment(lazy, theta).measure, seed=1)
        assert result.status == "identified"
        assert result.confidence is not None
        assert result.confidence >= 0.95
        found = ", ".join(name.partition("=")[2] for name in result.item_names)
        lowest = listed.item_names[int(np.argmin(listed.items @ theta))]
        assert found == (lowest if goal is not None and goal.minimise else best)
    runs = pw.simulate(lazy, theta, pw.XYStatic(), runs=3, seed=2)
    assert all(runs["correct"])


def test_what_was_concluded_at_delta_is_claimed_at_no_more() -> None:
    """A level that is ruled out may be one of the best combination with probability δ, however clear the rest is."""
    lazy, _ = _both(5, sigma=0.5)
    goal, sage, rng = pw.BestCombination(delta=0.2), pw.Sage(), np.random.default_rng(1)
    truth = pw.LinearEnvironment(lazy, 5.0 * np.random.default_rng(6).standard_normal(lazy.dimension))
    state, seen = sage.init(lazy, goal), []
    counts = 3 * sage.ask(lazy, goal, state, rng)
    for _ in range(6):
        state = sage.tell(lazy, goal, state, truth.draw(counts, rng))
        assert isinstance(state, Combined)
        seen.append((bool(state.gone.any()), state._least(lazy), sage.confidence(lazy, goal, state)))
    clear = [sure for gone, least, sure in seen if gone and least > 10.0]
    assert clear
    assert max(clear) == pytest.approx(0.8)


def test_rounds_that_overlap_and_unknown_noise() -> None:
    lazy, _ = _both(7, sigma="unknown")
    goal, sage, rng = pw.BestCombination(), pw.Sage(), np.random.default_rng(8)
    state = sage.init(lazy, goal)
    assert isinstance(state, Combined)
    truth = pw.LinearEnvironment(lazy, np.random.default_rng(9).standard_normal(lazy.dimension))
    for _ in range(4):
        counts = [2 * sage.ask(lazy, goal, state, rng) for _ in range(2)]
        rounds = [truth.draw(own, rng) for own in counts]
        together = sage.tell_overlapping(lazy, goal, state, rounds)
        one_by_one = sage.tell(lazy, goal, sage.tell(lazy, goal, state, rounds[0]), rounds[1])
        assert isinstance(together, Combined)
        assert isinstance(one_by_one, Combined)
        if state.tree is not None:
            # the odds of the second of two overlapping rounds know nothing of the first
            assert together.tree is not None
            assert together.alone[0] != pytest.approx(one_by_one.alone[0], abs=1e-12)
        state = together
    assert 0 <= sage.confidence(lazy, goal, state) < 1
    empty = sage.tell(lazy, goal, state, Measurements.empty(lazy.n_probes))
    np.testing.assert_array_equal(empty.alone, state.alone)


def test_what_needs_no_measurement_and_what_is_kept() -> None:
    lazy, _ = _both(1)
    single = pw.Problem(np.eye(2), np.eye(2), blocks=[1, 1])
    assert pw.identify(single, measure=lambda at: at).items == (0, 1)
    memo = pw.Sage().memo(lazy, pw.BestCombination())
    assert memo is not None
    again = pw.Sage().resume(lazy, pw.BestCombination(), memo)
    assert again.prior.size == pw.Sage().init(lazy, pw.BestCombination()).prior.size


def test_a_campaign_on_a_billion_combinations(tmp_path: Path) -> None:
    """From a TOML file on the command line to a report, with nothing listed."""
    columns = {f"f{at}": [f"{at}a", f"{at}b"] for at in range(30)}
    words = "\n".join(f"{name} = {values}" for name, values in columns.items())
    (tmp_path / "space.toml").write_text(f"[columns]\n{words}\n", "utf-8")
    probes = _probes(columns, 40, 0)
    probes.to_csv(tmp_path / "probes.csv", index=False)
    place, runner = str(tmp_path / "big.campaign"), CliRunner()
    source = ["--probes", str(tmp_path / "probes.csv"), "--items", str(tmp_path / "space.toml"), "--sigma", "0.01"]
    made = runner.invoke(main, ["new", place, *source, "--gap", "1", "--seed", "1"])
    assert made.exit_code == 0, made.output
    assert "1,073,741,824 combinations of 60 levels by 40 probes" in " ".join(made.output.split())
    campaign = pw.Campaign.open(place)
    problem, truth = campaign.problem, np.random.default_rng(2).standard_normal(campaign.problem.dimension)
    while len(rows := campaign.ask()):
        at = [problem.probe_names.index(name) for name in rows["probe"]]
        campaign.tell(rows.filled((problem.probes[at] @ truth).tolist()))
    status = campaign.status()
    assert problem.blocks == (2,) * 30
    best = pw.BestCombination().answer(problem, problem.items @ truth)
    assert status.answer == tuple(problem.item_names[item] for item in best)
    campaign.report(tmp_path / "report.html")
    assert "the best combination" in (tmp_path / "report.html").read_text("utf-8")
    assert pw.Campaign.open(place).status().answer == status.answer
    wrong = runner.invoke(main, ["new", f"{place}2", *source, "--goal", "top:3"])
    assert wrong.exit_code == 2
    assert "1,073,741,824 combinations" in " ".join(wrong.output.split())
    design = runner.invoke(main, ["design", *source, "--criterion", "points"])
    assert design.exit_code == 2
    assert "the criterion pairs only, got points" in " ".join(design.output.split())
