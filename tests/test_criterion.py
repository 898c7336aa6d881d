"""Sets of directions: the farthest pair is exact, labels survive maps, and what is found is what was asked for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from probewise.coordinates import coordinates
from probewise.design import criterion, explicit, farthest, largest_variance, pairs, points, spokes, star, turned
from probewise.design.criterion import contains
from probewise.design.farthest import about_mean, candidates, far_pairs, farthest_from, screens, square_norms
from probewise.errors import InvalidDesign

seeds = st.integers(0, 10**6)
SHAPES = ("cloud", "clusters", "collinear", "duplicates", "grid", "offset", "sphere", "antipodes")


def cloud(shape, seed, m, d):
    """(m, d): points among which the farthest pair is easy to miss."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((m, d))
    if shape == "clusters":
        return rng.standard_normal((3, d))[rng.integers(3, size=m)] + 1e-6 * Z
    if shape == "collinear":
        return np.outer(rng.standard_normal(m), Z[0])
    if shape == "duplicates":
        return Z[rng.integers(max(1, m // 4), size=m)]
    if shape == "grid":
        return rng.integers(-1, 2, (m, d)).astype(float)
    if shape == "offset":
        return Z + 1e8 * np.sign(Z[0])
    if shape == "sphere":
        return Z / np.linalg.norm(Z, axis=1, keepdims=True)
    if shape == "antipodes":
        return np.vstack([Z, -Z])[rng.permutation(2 * m)]
    return Z


problems = st.tuples(st.sampled_from(SHAPES), seeds, st.integers(2, 120), st.integers(1, 6))


@pytest.fixture(params=[50, 1_000_000], ids=["many blocks", "one block"])
def block(request, monkeypatch):
    monkeypatch.setattr(farthest, "_BLOCK", request.param)
    monkeypatch.setattr(farthest, "_TILE", (max(3, request.param // 10), max(7, request.param // 10)))


# ---- pairs ----


@pytest.mark.usefixtures("block")
def test_the_farthest_pair_is_exact():
    @given(problem=problems)
    @settings(max_examples=150)
    def check(problem):
        Z = cloud(*problem)
        label, square = pairs(Z).largest()
        true = pdist(Z, "sqeuclidean").max()
        i, j = divmod(label, len(Z))
        assert square == pytest.approx(true, rel=1e-12)
        assert ((Z[i] - Z[j]) ** 2).sum() == pytest.approx(true, rel=1e-12)

    check()


@pytest.mark.parametrize("m", [1500, 3000])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_farthest_pair_of_many(shape, m):
    Z = cloud(shape, 1, m, 3)
    assert pairs(Z).largest()[1] == pytest.approx(pdist(Z, "sqeuclidean").max(), rel=1e-12)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("quick", [0, 40_000_000], ids=["partial search", "full search"])
def test_longer_pairs(monkeypatch, quick):
    monkeypatch.setattr(criterion, "_QUICK", quick)

    @given(problem=problems, share=st.floats(0.01, 1.2), count=st.integers(1, 30))
    @settings(max_examples=80)
    def check(problem, share, count):
        Z = cloud(*problem)
        directions = pairs(Z).mapped(np.eye(Z.shape[1]))  # as solvers see them: about their mean
        best, most = directions.largest()
        limit = share * most
        for found, exact in (
            (directions.longer(limit, count), True),
            (directions.seek(limit, count, np.array([best]))[0], True),  # the hint must be found again
            (directions.seek(limit, count, np.empty(0, np.int64))[0], False),
        ):
            lengths = (directions.rows(found) ** 2).sum(axis=1)
            first, second = np.divmod(found, len(Z))
            assert len(found) == len(np.unique(found)) <= count
            assert (first > second).all()
            assert (lengths > limit * (1 - 1e-12)).all()
            if most <= limit * (1 - 1e-9):
                assert found.size == 0
            if exact and most > limit * (1 + 1e-9):
                assert found.size > 0
                assert lengths.max() == pytest.approx(most, rel=1e-5)  # partners are chosen in single precision

    check()


def test_longer_pairs_are_unlike_each_other():
    angles = np.linspace(0, np.pi, 200, endpoint=False)
    Z = np.column_stack([np.cos(angles), np.sin(angles)])
    rows = pairs(np.vstack([Z, -Z])).rows(pairs(np.vstack([Z, -Z])).longer(3.9, 50))
    assert len(rows) > 3
    for a, b in itertools.combinations(rows, 2):
        assert (a @ b) ** 2 <= 0.95 * (a @ a) * (b @ b)


def test_labels_of_pairs():
    Z = np.random.default_rng(2).standard_normal((7, 3))
    directions = pairs(Z)
    assert directions.size == 21
    for i, j in itertools.permutations(range(7), 2):
        np.testing.assert_array_equal(directions.rows(np.array([7 * i + j]))[0], Z[i] - Z[j])
    T = np.random.default_rng(3).standard_normal((3, 2))
    labels = np.array([7 * i + j for i, j in itertools.combinations(range(7), 2)])
    np.testing.assert_allclose(directions.mapped(T).rows(labels), directions.rows(labels) @ T, atol=1e-14)
    differences = directions.rows(labels)
    np.testing.assert_allclose(7 * directions.moment(), differences.T @ differences, atol=1e-12)


def test_generators_of_pairs_span_all_differences():
    Z = 1e8 + np.random.default_rng(4).integers(0, 9, (6, 4)) @ np.diag([1.0, 0, 1, 1])
    generators = pairs(Z).generators
    for i, j in itertools.combinations(range(6), 2):
        assert np.linalg.matrix_rank(np.vstack([generators, Z[i] - Z[j]])) == np.linalg.matrix_rank(generators)
    assert (pairs(Z).magnitudes >= 1e8).all()


# ---- rows ----


def test_star_is_the_reference_minus_the_others_over_the_gaps():
    Z = np.arange(8.0).reshape(4, 2) ** 2
    plain, gaps = star(Z, 1), star(Z, 1, [2.0, -1.0, 4.0, 8.0])
    assert plain.names.tolist() == gaps.names.tolist() == [0, 2, 3]
    np.testing.assert_array_equal(plain.vectors, Z[1] - Z[[0, 2, 3]])
    np.testing.assert_array_equal(gaps.vectors, plain.vectors / [[2], [4], [8]])
    np.testing.assert_array_equal(star(Z, -3).vectors, plain.vectors)
    np.testing.assert_array_equal(plain.magnitudes, np.abs(Z[1]) + np.abs(Z[[0, 2, 3]]))


@given(seed=seeds, m=st.integers(1, 60), share=st.floats(0, 1.2), count=st.integers(1, 10))
@settings(max_examples=60)
def test_longer_rows(seed, m, share, count):
    Y = np.random.default_rng(seed).standard_normal((m, 3))
    directions = explicit(Y)
    squares = (Y**2).sum(axis=1)
    label, most = directions.largest()
    assert (label, most) == (int(np.argmax(squares)), pytest.approx(squares.max()))
    found = directions.longer(share * most, count)
    assert len(found) == len(np.unique(found)) <= count
    assert (squares[found] > share * most).all()
    assert (found.size == 0) == (share >= 1)
    assert found.size == 0 or found[0] == label
    np.testing.assert_array_equal(directions.seek(share * most, count, found[:0])[0], found)
    np.testing.assert_allclose(directions.moment(), Y.T @ Y)


# ---- the criterion ----


@given(seed=seeds, n=st.integers(1, 20), d=st.integers(1, 5), m=st.integers(2, 20))
@settings(max_examples=60)
def test_largest_variance_against_all_directions_one_by_one(seed, n, d, m):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.dirichlet(np.ones(n)) * (rng.random(n) < 0.8)
    Z = rng.standard_normal((m, n)) @ X
    value = largest_variance(X, w, pairs(Z))
    seen = X[w > 0]
    rows = np.array([a - b for a, b in itertools.combinations(Z, 2)])
    if np.linalg.matrix_rank(seen) < np.linalg.matrix_rank(np.vstack([seen, rows])) or not w.any():
        assert value == np.inf
        return
    u = np.linalg.lstsq((np.sqrt(w[w > 0])[:, None] * seen).T, rows.T, rcond=None)[0]
    assert value == pytest.approx((u**2).sum(axis=0).max(), rel=1e-6)


def test_a_direction_outside_the_range_is_infinite_not_dropped():
    """The pseudo-inverse would say 2: the part along e_2 has no measurement at all."""
    assert largest_variance(np.eye(2), np.array([0.5, 0.0]), points([[1.0, 1.0]])) == np.inf
    assert largest_variance(np.eye(2), np.array([0.5, 0.0]), points([[1.0, 0.0]])) == pytest.approx(2)
    assert largest_variance(np.eye(2), np.zeros(2), points([[1.0, 0.0]])) == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pairs([1.0, 2.0]), r"items must be a table .* got shape \(2,\)"),
        (lambda: pairs(np.empty((0, 3))), "at least one row and one column"),
        (lambda: pairs([[1.0, 2.0]]), "at least two items, got one"),
        (lambda: points([[1.0], [np.nan]]), "items must be finite, got NaN or infinity in row 1"),
        (lambda: explicit([[np.inf]]), "directions must be finite"),
        (lambda: star([[1.0]], 0), "at least two items"),
        (lambda: star(np.eye(3), 3), "one of the 3 items, got 3"),
        (lambda: star(np.eye(3), 0, [1.0, 2.0]), r"expected shape \(3,\), got \(2,\)"),
        (lambda: star(np.eye(3), 1, [1.0, 0.0, 0.0]), "positive and finite, got 0.0 for item 2"),
        (lambda: star(np.eye(3), 1, [np.nan, 0.0, 1.0]), "got nan for item 0"),
    ],
)
def test_errors(call, message):
    with pytest.raises(InvalidDesign, match=message):
        call()


def test_a_near_pair_far_from_the_others_is_tested_by_its_own_size():
    """Both large items are far from the small one, next to which what they lack is nothing; next to each other, not."""
    large = [[2.0**20, 2.0**20], [2.0**20 + 1 + 2.0**-31, 2.0**20 + 1 - 2.0**-31]]
    one = coordinates(np.array([[1.0, 1.0], [2.0, 2.0]]))
    assert not contains(one, pairs(large))
    assert not contains(one, pairs([[0.0, 0.0], *large]))
    assert contains(one, pairs([[0.0, 0.0], *np.round(large)]))
    noisy = np.array([[0.1, 0.1], [0.3, 0.1 + 0.2], [0.7, 0.1 * 7]])
    assert len({a - b for a, b in noisy}) > 1
    assert contains(one, pairs(noisy))


def test_far_pairs_of_points_that_others_rule_out() -> None:
    rng = np.random.default_rng(0)
    places = np.vstack([0.1 * rng.standard_normal((1500, 3)), 5.0 * rng.standard_normal((20, 3))])
    places = places[rng.permutation(1520)] + 100.0
    squares = ((places[:, None] - places) ** 2).sum(axis=2)
    limit = float(np.sort(np.unique(squares))[-30])
    among = candidates(places, limit)
    assert among.points.shape[0] == among.numbers.size < 60
    assert among.pairs >= np.count_nonzero(squares > limit) // 2
    first, second, found = far_pairs(among, limit, grow=False)
    np.testing.assert_allclose(found, squares[first, second], rtol=1e-9)
    wanted = {int(i) for i in np.flatnonzero((squares > limit).any(axis=1))}
    assert wanted == {int(i) for i in np.concatenate([first, second])}
    best = pairs(places).largest()
    assert best[1] == pytest.approx(squares.max(), rel=1e-12)


def test_screens_of_many_points_are_those_of_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farthest, "_BLOCK", 1000)  # three blocks
    places = np.random.default_rng(0).standard_normal((400, 7)) + 3.0
    whole = screens(places, 1.0, 2.0)
    np.testing.assert_array_equal(whole.left[:, :7], ((places - 1.0) / 2.0).astype(np.float32))
    np.testing.assert_array_equal(whole.right[:, 7], (-0.5 * square_norms((places - 1.0) / 2.0)).astype(np.float32))
    found = farthest_from(about_mean(places), np.arange(400))
    squares = ((places[:, None] - places) ** 2).sum(axis=2)
    np.testing.assert_allclose(squares[np.arange(400), found], squares.max(axis=1), rtol=1e-5)


def test_the_longest_are_the_first_of_equal_ones() -> None:
    squares = np.array([1.0, 3.0, 2.0, 3.0, 2.0, 2.0])
    assert sorted(criterion._longest(squares, 3)) == [1, 2, 3]
    assert sorted(criterion._longest(squares, 9)) == [0, 1, 2, 3, 4, 5]


@given(seed=st.integers(0, 10**6), m=st.integers(2, 30), d=st.integers(1, 4))
@settings(max_examples=40)
def test_spokes_are_within_a_factor_of_pairs(seed, m, d):
    """In any norm the longest way to the mean is no longer than the longest pair, and at least half as long."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((m, d)) * 10.0 ** rng.uniform(-3, 3, d)
    transform = rng.standard_normal((d, d))
    long, short = (each(items).mapped(transform).largest()[1] for each in (pairs, spokes))
    assert short <= long * (1 + 1e-9)
    assert long <= 4 * short * (1 + 1e-9)


def test_the_longest_of_many_rows_are_those_of_all(monkeypatch):
    rows = np.random.default_rng(0).integers(-3, 4, (5000, 3)).astype(float)  # many of the same length
    many = explicit(rows).longer(0.0, 20)
    monkeypatch.setattr(farthest, "POOL", 10**6)
    np.testing.assert_array_equal(many[:1], explicit(rows).longer(0.0, 20)[:1])
    squares = criterion.square_norms(rows)
    assert squares[many].min() >= np.sort(squares)[-400]


def test_many_rows_in_other_coordinates_are_those_formed_at_once(monkeypatch):
    rng = np.random.default_rng(3)
    rows, turn, more = rng.standard_normal((400, 3)), rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    plain = explicit(rows).mapped(turn)
    monkeypatch.setattr(criterion, "MANY", 100)
    monkeypatch.setattr(turned, "MANY", 100)  # in blocks of 33 rows
    blocks = explicit(rows).mapped(turn)
    assert isinstance(plain, criterion.Vectors)
    assert isinstance(blocks, turned.Turned)
    assert blocks.size == 400
    labels = np.array([0, 7, 399])
    for one, other in ((plain, blocks), (plain.mapped(more), blocks.mapped(more))):
        np.testing.assert_allclose(other.generators, one.generators, rtol=1e-12)
        np.testing.assert_allclose(other.magnitudes, np.abs(one.generators), rtol=1e-12)
        np.testing.assert_allclose(other.rows(labels), one.rows(labels), rtol=1e-12)
        np.testing.assert_allclose(other.moment(), one.moment(), rtol=1e-12)
        assert other.largest()[0] == one.largest()[0]
        assert other.largest()[1] == pytest.approx(one.largest()[1], rel=1e-12)
        assert other.reach == pytest.approx(one.reach, rel=1e-12)
        np.testing.assert_array_equal(other.longer(1.0, 12), one.longer(1.0, 12))
        assert other.seek(1.0, 12, labels)[1]
        (image, error), (again, doubt) = (each.image(more, precise=True) for each in (one, other))
        np.testing.assert_allclose(again.generators, image.generators, rtol=1e-12)
        assert doubt == pytest.approx(error, rel=1e-6)
        assert other.exactly_in(np.eye(3)) == (3, True)
        assert other.exactly_in(np.eye(3)[:2]) == (2, False)
