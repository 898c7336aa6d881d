from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from probewise.errors import InvalidProblem
from probewise.goals import BestItem
from probewise.problem import Problem
from probewise.reading import read_table

SEEDS = st.integers(0, 2**32 - 1)
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]
PROBES = {"id": ["p", "q", "r"], "x": [1.0, 0.0, 2.0], "y": [0, 1, 1]}
ITEMS = {"y": [3, 4], "name": ["a", "b"], "x": [0.5, 0.25]}


def same(first: Problem, second: Problem) -> bool:
    pairs = [(getattr(first, f.name), getattr(second, f.name)) for f in dataclasses.fields(Problem)]
    return all(np.array_equal(a, b) for a, b in pairs)


def test_arrays_and_defaults():
    problem = Problem([[1, 0], [0, 2]], [[1, 1], [2, 3], [0, 0]], sigma=0.5)
    assert (problem.n_probes, problem.n_items, problem.dimension) == (2, 3, 2)
    assert problem.probe_names == ("0", "1")
    assert problem.item_names == ("0", "1", "2")
    assert problem.feature_names == ("x0", "x1")
    assert problem.sigma.tolist() == [0.5, 0.5]
    assert problem.cost.tolist() == [1, 1]
    assert problem.scaled_probes.tolist() == [[2, 0], [0, 4]]
    assert problem.coordinates.rank == 2
    assert repr(problem) == "Problem(2 probes, 3 items, 2 features, rank 2)"


def test_items_are_the_probes_by_default():
    problem = Problem(np.eye(2), probe_names=["p", 7])
    np.testing.assert_array_equal(problem.items, problem.probes)
    assert problem.item_names == problem.probe_names == ("p", "7")


def test_arrays_are_copied_and_read_only():
    probes, sigma = np.eye(2), np.ones(2)
    problem = Problem(probes, sigma=sigma)
    probes[0, 0] = sigma[0] = 9
    assert problem.probes[0, 0] == problem.sigma[0] == 1
    for array in (problem.probes, problem.items, problem.sigma, problem.cost, problem.scaled_probes):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.sigma = sigma


def test_replace_keeps_everything_else():
    problem = Problem(pl.DataFrame(PROBES), pl.DataFrame(ITEMS))
    other = dataclasses.replace(problem, cost=[1, 2, 3])
    assert other.cost.tolist() == [1, 2, 3]
    assert same(dataclasses.replace(other, cost=problem.cost), problem)


@pytest.mark.parametrize("probes", FRAMES)
@pytest.mark.parametrize("items", FRAMES)
def test_frames_of_all_kinds_equal_arrays(probes, items):
    framed = Problem(probes(PROBES), items(ITEMS), cost=pl.Series([1, 2, 3]))
    plain = Problem(
        np.column_stack([PROBES["x"], PROBES["y"]]),
        [[0.5, 3], [0.25, 4]],
        cost=[1, 2, 3],
        probe_names=list("pqr"),
        item_names=["a", "b"],
        feature_names=["x", "y"],
    )
    assert same(framed, plain)


def test_files_equal_arrays(tmp_path):
    path = tmp_path / "probes.csv"
    path.write_text("id,x,y,price\np,1,0,3\nq,0,1,4\n")
    table = read_table(path)
    problem = Problem(table.without("price"), cost=table.numbers("price"))
    assert same(problem, Problem(np.eye(2), cost=[3, 4], probe_names=["p", "q"], feature_names=["x", "y"]))


def test_a_pandas_index_names_rows_unless_a_column_does():
    frame = pd.DataFrame({"x": [1, 2], "y": [3, 5]}, index=["u", "v"])
    assert Problem(frame).probe_names == ("u", "v")
    assert Problem(frame.assign(Id=[7, 8])).probe_names == ("7", "8")
    assert Problem(frame.assign(key=[7, 8]), id_column="key").probe_names == ("7", "8")


def test_array_items_take_the_names_of_framed_probes():
    problem = Problem(pl.DataFrame(PROBES), [[1, 2], [3, 4]], id_column="id")
    assert problem.feature_names == ("x", "y")
    assert problem.item_names == ("0", "1")
    assert Problem(EYE, pl.DataFrame(ITEMS)).feature_names == ("y", "x")


def posed(*arguments, **options):
    """A problem in which the best item is asked for."""
    problem = Problem(*arguments, **options)
    BestItem().check(problem)
    return problem


EYE = np.eye(2)
NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("arguments", "options", "match"),
    [
        (([1, 2],), {}, r"probes must be a table with one row per probe, got shape \(2,\)"),
        ((EYE, [1, 2]), {}, r"items must be a table with one row per item, got shape \(2,\)"),
        ((np.empty((0, 2)),), {}, r"probes need at least one row and one feature, got shape \(0, 2\)"),
        ((EYE, np.empty((0, 2))), {}, r"items need at least one row and one feature, got shape \(0, 2\)"),
        ((np.empty((2, 0)),), {}, r"probes need at least one row and one feature, got shape \(2, 0\)"),
        ((EYE, [[1, 2, 3]]), {}, "same features, got 2 features of probes and 3 of items"),
        (([[1, NAN]],), {}, r"probes must be finite, got nan for probe '0' in feature 'x1'; fill it in"),
        ((EYE, [[1, 2], [-INF, 3]]), {}, r"items must be finite, got -inf for item '1' in feature 'x0'"),
        ((EYE,), {"sigma": 0}, r"sigma must be positive and finite, got 0\.0 for probe '0'"),
        ((EYE,), {"sigma": [1, NAN]}, "sigma must be positive and finite, got nan for probe '1'"),
        (
            (EYE,),
            {"sigma": [1, 2, 3]},
            r"sigma must be one number or one per probe, expected shape \(2,\), got \(3,\)",
        ),
        ((EYE,), {"sigma": "unclear"}, "sigma must hold numbers only, got a str"),
        ((EYE,), {"cost": [1, -2]}, r"cost must be positive and finite, got -2\.0 for probe '1'"),
        (
            (EYE,),
            {"cost": [[1, 2]]},
            r"cost must be one number or one per probe, expected shape \(2,\), got \(1, 2\)",
        ),
        ((EYE,), {"cost": INF}, "cost must be positive and finite, got inf for probe '0'"),
        ((EYE,), {"probe_names": ["a"]}, "probe_names must have one name per probe, expected 2, got 1"),
        ((EYE,), {"probe_names": "id"}, "probe_names must be a list of names, got the text 'id'"),
        ((EYE,), {"item_names": ["a", "a"]}, "every item needs its own name, but several are called 'a'"),
        (
            (EYE,),
            {"feature_names": ["f", "f"]},
            "every feature needs its own name, but several are called 'f'",
        ),
        ((EYE,), {"id_column": "id"}, "id_column needs a data frame, got arrays"),
        (
            (EYE, [[1, 0], [3, 3], [1, -0.0]]),
            {},
            "items '0', '2' are identical, so neither can be the better one",
        ),
        (([[0, 0]], EYE), {}, "every probe is zero, so no two items can be compared; add a probe"),
    ],
)
def test_bad_arrays_get_one_sentence(arguments, options, match):
    with pytest.raises(InvalidProblem, match=match):
        posed(*arguments, **options)


@pytest.mark.parametrize("frame", FRAMES)
def test_bad_frames_get_one_sentence(frame):
    probes = frame(PROBES)
    cases = [
        ((frame({**PROBES, "x": [1.0, None, 2.0]}),), {}, "got nan for probe 'q' in feature 'x'"),
        ((frame({**PROBES, "id": ["p", None, "r"]}),), {}, "probes, row 1, column 'id': the name is missing"),
        ((frame({**PROBES, "id": ["p", "q", "p"]}),), {}, "several are called 'p'; rename them"),
        (
            (frame({**PROBES, "kind": ["k", "l", "m"]}),),
            {},
            "features must be numbers, but probes has text in 'kind'",
        ),
        (
            (probes, frame({"x": [1], "z": [2], "w": [3]})),
            {},
            "items lack 'y' and probes lack 'z', 'w'; add these",
        ),
        ((probes, frame({"x": [1]})), {}, "but items lack 'y'; add these columns or leave them out"),
        (
            (probes, frame({"n": ["a"], "o": ["b"], "x": [1], "y": [2]})),
            {},
            "items has more than one .* 'n', 'o'; say",
        ),
        ((probes,), {"id_column": "key"}, "probes has no column 'key'; it has 'id', 'x', 'y'"),
    ]
    for arguments, options, match in cases:
        with pytest.raises(InvalidProblem, match=match):
            Problem(*arguments, **options)


def test_columns_of_equal_names():
    with pytest.raises(InvalidProblem, match=r"probes has columns of the same name \(.*'a' 2 times\); rename them"):
        Problem(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InvalidProblem, match=r"more than one column called 'a'|columns of the same name"):
        Problem(pa.table([[1], [2]], names=["a", "a"]))


def test_numbers_of_other_types():
    frame = pl.DataFrame({"on": [True, None], "price": [Decimal("1.5"), Decimal("2")]})
    with pytest.raises(InvalidProblem, match="got nan for probe '1' in feature 'on'"):
        Problem(frame)
    assert Problem(frame.fill_null(False)).probes.tolist() == [[1, 1.5], [0, 2]]
    assert Problem(pd.DataFrame([[1, 0], [0, 1]])).feature_names == ("0", "1")


def test_a_feature_without_probe_is_named():
    items = [[1, 0, 5], [2, 0, 5], [0, 1, 5], [0, 0, 6], [0, 0, 7]]
    with pytest.raises(
        InvalidProblem,
        match="no combination of probes compares items 'd', 'e' with item 'a': 'h' is 0 in every probe; "
        "add probes in which these features vary freely, or leave these items out",
    ):
        posed([[1, 0, 0], [0, 1, 0]], items, item_names=list("abcde"), feature_names=list("fgh"))


def test_features_that_the_probes_tie_together_are_named():
    items = [[1, 1, 0], [2, 2, 0], [0, 1, 0], [0, 0, 1]]
    with pytest.raises(InvalidProblem, match="items '2' with item '0': the probes do not separate 'x0', 'x1'; add"):
        posed([[1, 1, 0], [0, 0, 1]], items)


def test_only_features_to_blame_are_named() -> None:
    # R1 = z occurs with R3 = c alone: nothing tells what each of them brings, all else is known
    made = [(r, s) for r in "uvwxy" for s in "ab"] + [("z", "c")]
    levels = [*"uvwxyz", *"abc"]
    probes = [[float(level in compound) for level in levels] for compound in made]
    items = [[float(level in compound) for level in levels] for compound in [("u", "a"), ("v", "b"), ("u", "c")]]
    with pytest.raises(InvalidProblem, match="items '2' with item '0': the probes do not separate 'z', 'c'; add"):
        posed(probes, items, feature_names=levels)


def test_the_odd_item_is_blamed_even_if_it_is_the_smallest():
    items = [[0.1, 0, 0], [1, 0, 1], [2, 0, 1], [0, 1, 1]]
    with pytest.raises(InvalidProblem, match="compares items '0' with item '1': 'x2' is 0 in every probe"):
        posed([[1, 0, 0], [0, 1, 0]], items)


def test_many_unidentifiable_items_are_counted():
    items = np.column_stack([np.zeros(9), np.r_[0, 0, np.arange(1.0, 8)], np.r_[np.arange(1.0, 3), np.zeros(7)]])
    with pytest.raises(InvalidProblem, match="items '2', '3', '4', '5', '6' and 2 more with item '0'"):
        posed([[0, 0, 1]], items)


def test_only_differences_have_to_be_measurable():
    probes = [[1, 0, 0], [0, 0, 0]]
    assert Problem(probes, [[1, 3, 1e9], [2, 3, 1e9]]).coordinates.rank == 1
    assert Problem([[0, 0]], [[4, 5]]).n_items == 1
    assert Problem([[0, 0]], [[4, 5]]).coordinates.rank == 0


def test_a_near_tie_outside_the_span_is_seen():
    with pytest.raises(InvalidProblem, match="items '2' with item '0'"):
        posed([[1, 1]], [[0, 0], [1, 1], [1 + 1e-12, 1 - 1e-12]])


def test_large_items_and_large_shared_features_do_not_hide_small_differences():
    with pytest.raises(InvalidProblem, match="items '2' with item '0'"):
        posed([[1, 1]], [[1e12, 1e12], [0, 0], [1e-4, -1e-4]])
    with pytest.raises(InvalidProblem, match="the probes do not separate 'x0', 'x1'"):
        posed([[1, 1, 1], [0, 0, 1]], [[0, 0, 1e13], [1e-3, -1e-3, 1e13]])


U = 2.0**-33
LARGE = [[2.0**20, 2.0**20], [2.0**20 + 1 + 4 * U, 2.0**20 + 1 - 4 * U]]


def test_a_difference_is_not_hidden_by_the_rounding_of_its_items():
    with pytest.raises(InvalidProblem, match="items '1' with item '0': the probes do not separate 'x0', 'x1'"):
        posed([[1, 1]], LARGE)
    with pytest.raises(InvalidProblem, match="items '1', '2' differ by so little that what no combination of probes "):
        posed([[1, 1]], [[1, 1], *LARGE])
    assert posed([[1, 1]], [[1, 1], *np.round(LARGE)]).n_items == 3
    assert posed([[1, 1], [1, -1]], LARGE).n_items == 2


def test_rounding_far_below_a_difference_is_forgiven():
    """Shares of a blend that sum to 1 up to rounding, next to the feature 1, as a table from a spreadsheet has them."""
    blends = [[1.0, a / 100, b / 100, 1 - a / 100 - b / 100] for a in range(101) for b in range(101 - a)]
    assert len({sum(row[1:]) for row in blends}) > 1
    corners = [row for row in blends if 1.0 in row[1:]] + [[1, 0.2, 0.3, 0.5]]
    assert posed(corners, blends).coordinates.rank == 3
    twin = [1.0, 0.2 + 1e-15, 0.3, 0.5]
    with pytest.raises(InvalidProblem, match="keep one of these items, or, if their features were rounded, give"):
        posed(corners, [*blends, twin])


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_the_unit_of_a_feature_without_probe_does_not_matter(unit):
    with pytest.raises(InvalidProblem, match="'x1' is 0 in every probe"):
        posed([[1, 0]], [[1e6, unit], [2e6, 2 * unit], [0, unit]])
    assert posed([[1, 0]], [[1e6, 0.3 * unit], [2e6, (0.1 + 0.2) * unit]]).n_items == 2


def test_nearly_parallel_probes_measure_themselves():
    for angle in 10.0 ** -np.arange(1, 15):
        assert Problem([[1, 1, 0.3], [1, 1 + angle, 0.3]]).n_items == 2


def test_a_feature_that_is_0_everywhere_loses_nothing_to_rounding():
    rng = np.random.default_rng(0)
    for _ in range(100):
        probes = rng.standard_normal((3, 6))
        probes[:, ::3] = 0
        assert Problem(probes).coordinates.rank == 3


def low_rank(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probes of rank r < d, items with near ties in a shifted copy of their span, a normal of the span."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 8))
    rank = int(rng.integers(1, d))
    n, m = int(rng.integers(rank, 12)), int(rng.integers(2, 12))
    basis = rng.standard_normal((rank, d))
    items = rng.standard_normal((m, rank)) @ basis
    items = items[0] + (items - items[0]) * 10.0 ** -rng.integers(0, 2, size=(m, 1))
    normal = np.linalg.svd(basis)[2][-1]
    probes = rng.standard_normal((n, rank)) @ basis
    unit = np.abs(probes).max(axis=0)
    items = items + rng.standard_normal(d) * rng.choice([0, 1, 10]) * unit
    least = min(np.linalg.norm((a - b) / unit) for a, b in itertools.combinations(items, 2))
    assume(least > 1e-3 * np.abs(items / unit).max())  # rounding of nearer ties is no small part of them
    return probes, items, normal


@settings(deadline=None, max_examples=150)
@given(SEEDS, st.booleans(), st.booleans())
def test_scales_and_noise_do_not_change_what_is_identifiable(seed, scaled, noisy):
    probes, items, normal = low_rank(seed)
    rng = np.random.default_rng(seed + 1)
    assume(np.linalg.matrix_rank(probes) > 0)
    scale = 10 ** rng.uniform(-6, 6, probes.shape[1]) if scaled else 1.0
    sigma = 10 ** rng.uniform(-2, 2, len(probes)) if noisy else 1.0
    problem = posed(probes * scale, items * scale, sigma=sigma)
    assert problem.coordinates.rank == posed(probes, items).coordinates.rank
    moved = items.copy()
    moved[rng.integers(len(items))] += 1e-6 * normal
    with pytest.raises(InvalidProblem, match="no combination of probes compares items"):
        posed(probes * scale, moved * scale, sigma=sigma)


@settings(deadline=None, max_examples=60)
@given(SEEDS)
def test_the_order_of_rows_and_columns_does_not_matter(seed):
    probes, items, _ = low_rank(seed)
    rng = np.random.default_rng(seed)
    features = rng.permutation(probes.shape[1])
    rows, columns = rng.permutation(len(probes)), rng.permutation(len(items))
    assert Problem(probes[rows][:, features], items[columns][:, features]).n_items == len(items)
    frame = pl.DataFrame({f"f{j}": probes[:, j] for j in range(probes.shape[1])})
    shuffled = pl.DataFrame({f"f{j}": items[:, j] for j in features})
    np.testing.assert_array_equal(Problem(frame, shuffled).items, items)


@settings(deadline=None, max_examples=60)
@given(SEEDS)
def test_the_probes_themselves_are_always_identifiable(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 9, size=2)
    probes = rng.integers(-2, 3, size=(n, d)) * 10 ** rng.uniform(-6, 6, d)
    probes = np.unique(probes, axis=0)
    assume(probes.any() or len(probes) == 1)
    assert Problem(probes).coordinates.rank == np.linalg.matrix_rank(probes / np.maximum(np.abs(probes).max(0), 1e-9))


def test_many_items_need_no_pairs():
    rng = np.random.default_rng(0)
    items = np.column_stack([rng.standard_normal((50_000, 3)), np.zeros(50_000)])
    assert Problem(np.eye(4)[:3], items).n_items == 50_000


def test_arrays_need_no_data_frame_library():
    code = (
        "import sys, probewise.problem as p; p.Problem([[1, 0], [0, 1]]); "
        "sys.exit(any(m in sys.modules for m in ('narwhals', 'pandas', 'polars', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("probes", "items", "sigma", "who"),
    [
        ([[1e308, 0], [0, 1]], None, 1, "probe '0' has the size 1e.308 in feature 'x0'"),
        ([[1, 0], [0, 1]], [[1, 0], [0, -1e200]], 1, "item '1' has the size 1e.200 in feature 'x1'"),
        ([[1, 0], [0, 1]], None, 1e-308, "probe '0' has the size 1e.308"),
    ],
)
def test_features_whose_squares_are_no_numbers(probes: object, items: object, sigma: float, who: str) -> None:
    with pytest.raises(InvalidProblem, match=rf"{who}.*choose other units"):
        Problem(probes, items, sigma=sigma)


def test_a_stock_that_is_no_number() -> None:
    with pytest.raises(InvalidProblem, match=r"stock must be whole numbers or None, one per probe, got \[1000"):
        Problem(np.eye(2), stock=[10**400, 1])


def test_the_first_two_equal_items_among_many_are_named():
    items = np.stack(np.meshgrid(*[np.arange(9.0)] * 4), axis=-1).reshape(-1, 4)  # numbers of few bits
    BestItem().check(Problem(items))
    items[5000], items[600] = items[3], -0.0 * items[3] + items[3]
    with pytest.raises(InvalidProblem, match="items '3', '600' are identical"):
        BestItem().check(Problem(items))
