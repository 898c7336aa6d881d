"""Best sets that are never listed: families, the question, the algorithms, and what their guarantee rests on."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms.sets.designs import set_design
from probewise.algorithms.sets.elements import only_set, rivals
from probewise.algorithms.sets.set_accounts import Accounts
from probewise.campaign import Memory
from probewise.testing import check_oracle, check_set_algorithm

TRIANGLES = pw.Matchings([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)])
FAMILIES: tuple[pw.Oracle, ...] = (
    pw.Subsets(6, 2),
    pw.Assignments(3, 3),
    pw.Assignments(2, 4),
    pw.Assignments(3, 3, [(0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (2, 2)]),
    pw.Paths.grid(3, 4),
    pw.SpanningTrees.complete(4),
    TRIANGLES,
)
ALGORITHMS = (*(kind() for kind in pw.SET_ALGORITHMS.values()), pw.SageSets("uniform"), pw.CLUCB(lazy=0.2))


def listed(oracle: pw.Oracle) -> list[np.ndarray]:
    """Every set of a small family: a set is in it if it is the best where only its own elements count."""
    masks = (np.array(bits, dtype=bool) for bits in itertools.product((False, True), repeat=oracle.size))
    return [mask for mask in masks if np.array_equal(oracle.best(np.where(mask, 1.0, -1.0)), mask)]


@pytest.mark.parametrize("oracle", FAMILIES, ids=lambda oracle: oracle.kind)
def test_families_keep_the_contract(oracle: pw.Oracle) -> None:
    check_oracle(oracle)


@pytest.mark.parametrize(
    ("oracle", "count"),
    [
        (pw.Subsets(6, 2), 15),
        (pw.Assignments(3, 3), 6),
        (pw.Assignments(2, 4), 12),
        (pw.Paths.grid(3, 3), 6),
        (pw.SpanningTrees.complete(4), 16),  # Cayley: 4²
    ],
    ids=lambda value: getattr(value, "kind", str(value)),
)
def test_the_best_set_is_the_best_of_all(oracle: pw.Oracle, count: int) -> None:
    sets, rng = np.array(listed(oracle)), np.random.default_rng(3)
    assert len(sets) == count
    for _ in range(20):
        weights = rng.standard_normal(oracle.size)
        assert weights[oracle.best(weights)].sum() == pytest.approx((sets @ weights).max())
    apart = (sets[:, None] != sets[None]).sum(axis=2)
    for own in apart:
        distances, numbers = np.unique(own[own > 0], return_counts=True)
        assert (np.log(numbers) <= oracle.log_neighbours * distances + 1e-12).all()


def test_trees_and_paths_agree_with_networkx() -> None:
    networkx, rng = pytest.importorskip("networkx"), np.random.default_rng(0)
    tree, grid = pw.SpanningTrees.complete(12), pw.Paths.grid(5, 6)
    weights = rng.standard_normal(tree.size)
    graph = networkx.Graph()
    graph.add_weighted_edges_from((a, b, w) for (a, b), w in zip(tree.edges, weights, strict=True))
    heaviest = networkx.maximum_spanning_tree(graph).size(weight="weight")
    assert weights[tree.best(weights)].sum() == pytest.approx(heaviest)
    lengths = rng.uniform(0.1, 1.0, grid.size)
    streets = networkx.DiGraph()
    streets.add_weighted_edges_from((a, b, w) for (a, b), w in zip(grid.edges, lengths, strict=True))
    shortest = networkx.shortest_path_length(streets, 0, 29, weight="weight")
    assert lengths[grid.best(-lengths)].sum() == pytest.approx(shortest)


@dataclasses.dataclass(frozen=True)
class Short(pw.Oracle):
    """All sets of one or two of three elements: some contain others."""

    size = 3
    kind = "short sets"

    def best(self, weights: Any) -> Any:
        chosen = weights >= np.sort(weights)[1]
        return chosen if weights[chosen].min() > 0 else weights >= weights.max()


@dataclasses.dataclass(frozen=True)
class Lazy(pw.Oracle):
    """Not the best."""

    size = 3
    kind = "single elements"

    def best(self, weights: Any) -> Any:
        return np.arange(3) == np.argsort(weights)[int(abs(weights[0]) * 1000) % 2 + 1]


def test_the_contract_of_families_notices_what_is_wrong() -> None:
    with pytest.raises(AssertionError, match="no set may contain another"):
        check_oracle(Short())
    with pytest.raises(AssertionError, match="is better"):
        check_oracle(Lazy())


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: pw.Subsets(3, 3), "1 <= k < n"),
        (lambda: pw.Assignments(3, 2), "no more rows than columns"),
        (lambda: pw.Assignments(2, 2, [(0, 0), (1, 0)]), "do not allow a column for every row"),
        (lambda: pw.Assignments(2, 2, [(0, 0), (2, 1)]), "pairs are"),
        (lambda: pw.Paths([(0, 1), (1, 2), (2, 1)], 0, 2), "must not form a cycle"),
        (lambda: pw.Paths([(0, 1), (2, 1)], 0, 1), "on no path"),
        (lambda: pw.Paths([(0, 1)], 1, 0), "there must be a path"),
        (lambda: pw.SpanningTrees([(0, 1), (2, 3)]), "must connect all vertices"),
        (lambda: pw.SpanningTrees([(0, 1), (1, 2)]), "are a tree"),
        (lambda: pw.SpanningTrees([(0, 1), (1, 0)]), "several times"),
        (lambda: pw.Matchings([(0, 0)]), "two different ends"),
        (lambda: pw.Matchings([]), "pairs of whole numbers"),
        (lambda: pw.Paths("ab", 0, 1), "pairs of whole numbers"),
    ],
)
def test_families_that_mean_nothing_are_refused(build: Any, match: str) -> None:
    with pytest.raises(pw.InvalidProblem, match=match):
        build()


def test_matchings_say_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(pw.MissingExtra, match=r"install probewise\[graphs\]"):
        TRIANGLES.best(np.ones(7))


def test_the_question() -> None:
    goal, problem = pw.BestSet(pw.Subsets(4, 2)), pw.Problem(np.eye(4), probe_names=list("ABCD"))
    values = np.array([3.0, 1.0, 2.0, 1.9])
    goal.check(problem)
    assert goal.answer(problem, values) == (0, 2)
    assert goal.right(problem, values, (0, 2))
    assert not goal.right(problem, values, (0, 3))
    assert dataclasses.replace(goal, epsilon=0.2).right(problem, values, (0, 3))
    assert not goal.right(problem, values, (0, 1, 2))
    assert pw.BestSet(pw.Subsets(4, 2), minimise=True).answer(problem, values) == (1, 3)
    assert goal.question == "Which of all sets of 2 of 4 elements has the largest sum?"
    assert goal.claim(["A", "C"]) == "A and C are the best set"
    assert goal.predicate == "in the best set"


@pytest.mark.parametrize(
    ("problem", "match"),
    [
        (pw.Problem(np.eye(3)), "about 4 elements, one for each item, but there are 3"),
        (pw.Problem(np.eye(4), np.eye(4)[::-1]), "each element must be measured by itself"),
        (pw.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 2.0]]), "each element must be measured by itself"),
    ],
)
def test_problems_without_such_sets_are_refused(problem: pw.Problem, match: str) -> None:
    with pytest.raises(pw.InvalidProblem, match=match):
        pw.identify(problem, pw.BestSet(pw.Subsets(4, 2)), measure=lambda i: i, algorithm=pw.SageSets())


def test_who_cannot_answer_says_so() -> None:
    problem, goal = pw.Problem(np.eye(4)), pw.BestSet(pw.Subsets(4, 2))
    for algorithm in (pw.Sage(), pw.Uniform(), pw.XYStatic(), pw.GStatic()):
        with pytest.raises(pw.InvalidGoal, match=r"choose an algorithm for sets, such as SageSets\(\)"):
            pw.identify(problem, goal, measure=lambda i: i, algorithm=algorithm)
    with pytest.raises(pw.InvalidAlgorithm, match="rage cannot answer the question 'set'"):
        pw.identify(problem, goal, measure=lambda i: i, algorithm=pw.Rage())
    with pytest.raises(pw.InvalidAlgorithm, match="cannot answer the question 'best'"):
        pw.identify(problem, measure=lambda i: i, algorithm=pw.CLUCB())
    with pytest.raises(pw.InvalidGoal, match="such as Subsets"):
        pw.BestSet(3)  # type: ignore[arg-type]
    with pytest.raises(pw.InvalidCampaign, match="a goal that it can read back"):
        pw.Campaign.create(Memory(), problem, goal, pw.SageSets())


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
def test_algorithms_keep_the_contract(algorithm: pw.Algorithm[Any]) -> None:
    check_set_algorithm(algorithm)


def test_names_are_those_of_the_registry() -> None:
    assert {name: kind.name for name, kind in pw.SET_ALGORITHMS.items()} == {name: name for name in pw.SET_ALGORITHMS}


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: pw.SageSets("best"), "sampling must be"),
        (lambda: pw.SageSets(growth=1.0), "growth must be larger than 1"),
        (lambda: pw.Disagreement(growth=math.inf), "growth must be larger than 1"),
        (lambda: pw.CLUCB(lazy=2.0), "lazy must lie between 0 and 1"),
        (lambda: pw.CombGame(batch=0.0), "batch must lie between 0 and 1"),
        (lambda: pw.PeaceSets(scale=-1.0), "scale must be positive"),
    ],
)
def test_settings_that_cannot_work_are_refused(build: Any, match: str) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match=match):
        build()


def drawn_accounts(oracle: pw.Oracle, rounds: int, seed: int) -> tuple[Accounts, list[Any]]:
    """Accounts after some rounds, with what each round was."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.5, 2.0, oracle.size)
    accounts, told = Accounts.start(noise), []
    for _ in range(rounds):
        leader = oracle.best(rng.standard_normal(oracle.size))
        count = rng.integers(1, 30, oracle.size)
        mean = rng.standard_normal(oracle.size)
        accounts = accounts.after(leader, count, mean, noise)
        told.append((leader, count, mean, noise))
    return accounts, told


def test_accounts_of_all_sets_are_what_the_bets_on_each_make() -> None:
    oracle = pw.Subsets(6, 3)
    accounts, told = drawn_accounts(oracle, 4, 0)
    sets = np.array(listed(oracle))
    accounts = dataclasses.replace(accounts, widest=2.0**40)  # so that smaller stakes are looked at too
    assert accounts.stakes.size > 15
    for row, own in zip(accounts.each(sets), sets, strict=True):
        for k, (stake, log) in enumerate(zip(accounts.stakes, row, strict=True)):
            expected = -math.log(13.0 if k < 12 else 13.0 * (k - 11) * (k - 10))
            for leader, count, mean, noise in told:
                y = leader.astype(float) - own
                variance, kappa = float(y**2 @ (noise / count)), stake * count.sum()
                expected += kappa * y @ mean - 0.5 * kappa**2 * variance
            assert log == pytest.approx(expected, rel=1e-9, abs=1e-9)
    leader, count, mean, noise = told[0]
    idle = accounts.after(leader, np.where(np.arange(6) == 2, 0, count), mean, noise)
    assert idle is accounts  # a round that leaves an element out is not bet on


def test_shares_of_all_stakes_are_one_account() -> None:
    accounts = dataclasses.replace(Accounts.start(np.ones(3)), widest=2.0**1000)
    assert accounts.stakes.size == accounts.shares.size > 400
    rest = 1.0 / (13.0 * (accounts.stakes.size - 11))  # of the stakes that are not looked at
    assert float(np.exp(accounts.shares).sum()) + rest == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(accounts.stakes[1:], accounts.stakes[:-1] / 2)
    assert Accounts.start(np.ones(3)).stakes.size == 12


@pytest.mark.parametrize("sampling", ["optimal", "uniform"])
def test_a_gap_below_the_first_stakes_comes_to_an_end(sampling: Any) -> None:
    gap, goal = 1e-4, pw.BestSet(pw.Subsets(5, 2), 0.05)
    problem, values = pw.Problem(np.eye(5)), np.array([1.0, gap, 0.0, -1.0, -1.0])
    bet = 2.0 * gap / (5 * 2)  # uniform rounds that bet more on a set at distance 2 lose on average
    assert Accounts.start(np.ones(5)).stakes[-1] > 10 * bet
    algorithm, rng = pw.SageSets(sampling), np.random.default_rng(0)
    state, laboratory, total = algorithm.init(problem, goal), pw.LinearEnvironment(problem, values), 0
    while algorithm.answer(problem, goal, state) is None and total < 10**13:
        counts = algorithm.ask(problem, goal, state, rng)
        state, total = algorithm.tell(problem, goal, state, laboratory.draw(counts, rng)), total + int(counts.sum())
    assert algorithm.answer(problem, goal, state) == (0, 1)
    assert total < 10**12
    assert (state.data.count > 0.005 * total / 5).all()  # no element is left behind


def test_no_account_below_the_level_escapes() -> None:
    oracle, rng = pw.Subsets(6, 3), np.random.default_rng(5)
    sets = np.array(listed(oracle))
    agreed = yes = 0
    for seed in range(120):
        accounts, _ = drawn_accounts(oracle, 3, seed)
        accounts = dataclasses.replace(accounts, widest=accounts.widest * 4.0 ** (seed % 12))
        leader = sets[int(np.argmin(accounts.log(sets)))]
        others = sets[(sets != leader).any(axis=1)]
        smallest = float(accounts.log(others).min())
        known = rivals(oracle, rng.standard_normal(6), leader)
        assert not accounts.all_above(oracle, leader, smallest + 1e-6, known)
        yes += accounts.all_above(oracle, leader, smallest - 3.0, known)
        enough = max(accounts.each(others).min(axis=0))  # one stake does for all
        assert accounts.all_above(oracle, leader, float(enough) - 1e-6, known)
        agreed += 1
    assert yes > 0.8 * agreed  # it may say no where yes is right, but not often


def test_the_mean_of_an_account_is_at_most_1() -> None:
    oracle, rng = pw.Subsets(4, 2), np.random.default_rng(0)
    values = np.array([0.6, 0.5, 0.5, 0.4])  # the best set is 0 and 1, or 0 and 2
    best = np.array([[True, True, False, False]])
    final = []
    for _ in range(4000):
        accounts, total = Accounts.start(np.ones(4)), np.zeros(4)
        for _ in range(3):
            leader, count = oracle.best(total), np.array([4, 2, 3, 5])
            mean = values + rng.standard_normal(4) / np.sqrt(count)
            accounts = accounts.after(leader, count, mean, np.ones(4))
            total += mean
        final.append(math.exp(float(accounts.log(best)[0])))
    assert np.mean(final) <= 1.0 + 3.0 * np.std(final) / math.sqrt(len(final))


def test_a_design_for_sets_is_that_of_the_general_solver() -> None:
    oracle, rng = pw.Assignments(3, 3), np.random.default_rng(2)
    values, cost = rng.standard_normal(9), rng.uniform(0.5, 2.0, 9)
    leader = oracle.best(values)
    others = rivals(oracle, values, leader)
    gaps = values[leader].sum() - others @ values
    own = set_design(leader, others, gaps, np.ones(9), cost, tol=0.005)
    rows = (leader.astype(float) - others) / gaps[:, None]
    general = pw.optimal_design(np.eye(9), pw.explicit(rows), cost=cost)
    assert own.lower <= general.value * (1 + 1e-6)
    assert own.value >= general.lower * (1 - 1e-6)
    assert own.value <= 1.01 * general.value


def test_rivals_and_single_sets() -> None:
    oracle = pw.Subsets(4, 2)
    leader = np.array([True, True, False, False])
    near = rivals(oracle, np.array([4.0, 3.0, 2.0, 1.0]), leader)
    assert {tuple(np.flatnonzero(own)) for own in near} == {(0, 2), (0, 3), (1, 2)}
    assert only_set(oracle) is None
    only = only_set(pw.Paths([(0, 1), (1, 2)], 0, 2))
    assert only is not None
    assert only.all()


def test_simulations_take_sets_as_they_take_items() -> None:
    problem, values = pw.Problem(np.eye(8), sigma=0.5), np.linspace(1.0, -1.0, 8)
    table = pw.simulate(
        problem, values, {"sage": pw.SageSets(), "clucb": pw.CLUCB()}, pw.BestSet(pw.Subsets(8, 3)), runs=4
    )
    assert table["correct"].all()
    means = {name: runs.mean("measurements") for name, runs in table.by_algorithm().items()}
    assert means["sage"] < means["clucb"]
