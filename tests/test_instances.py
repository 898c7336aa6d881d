"""The instances are those of the paper: shapes, best items, gaps; drawn from their own streams."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probewise import instances
from probewise.errors import InvalidProblem


def gaps(problem, theta):
    values = problem.items @ theta
    return values.max() - values


@pytest.mark.parametrize("d", [2, 5, 35])
def test_benchmark(d):
    problem, theta = instances.benchmark(d)
    assert problem.probes.shape == problem.items.shape == (d + 1, d)
    assert theta.tolist() == [2.0] + [0.0] * (d - 1)
    expected = [0.0] + [2.0] * (d - 1) + [2 * (1 - np.cos(0.01))]
    np.testing.assert_allclose(gaps(problem, theta), expected, atol=1e-15)
    assert problem.item_names[0] == "e1"
    assert problem.item_names[-1] == "e1 tilted"


def test_benchmark_is_the_worked_example_with_twice_theta():
    (first, double), (second, single) = instances.benchmark(4, 0.3), instances.worked_example(4, 0.3)
    np.testing.assert_array_equal(first.probes, second.probes)
    np.testing.assert_array_equal(double, 2 * single)


def test_transductive():
    problem, theta = instances.transductive(6, 0.2)
    np.testing.assert_array_equal(problem.probes, np.eye(6))
    np.testing.assert_allclose(problem.items[4], [0, np.cos(0.2), 0, 0, np.sin(0.2), 0])
    np.testing.assert_allclose(gaps(problem, theta), [0, 1, 1, 1 - np.cos(0.2), 1, 1], atol=1e-15)
    assert problem.item_names == ("e1", "e2", "e3", "e1 tilted", "e2 tilted", "e3 tilted")
    assert problem.probe_names == ("e1", "e2", "e3", "e4", "e5", "e6")


def test_transductive_of_the_script_has_twice_the_dimension():
    problem, theta = instances.transductive_script(20)
    assert problem.probes.shape == (40, 40)
    assert problem.items.shape == (40, 40)
    assert theta.shape == (40,)


@pytest.mark.parametrize("seed", range(5))
def test_many_arms(seed):
    problem, theta = instances.many_arms(1000, seed)
    np.testing.assert_allclose(np.linalg.norm(problem.probes, axis=1), 1)
    np.testing.assert_allclose(problem.probes[:2], [[1, 0], [-np.sqrt(0.5), np.sqrt(0.5)]], atol=1e-15)
    assert np.argmin(gaps(problem, theta)) == 0
    angles = np.arctan2(problem.probes[2:, 1], problem.probes[2:, 0]) - np.pi / 4
    assert abs(angles.mean()) < 5 * 0.3 / np.sqrt(998)
    assert angles.std() == pytest.approx(0.3, rel=0.1)


def test_the_spread_of_many_arms_is_a_standard_deviation():
    problem, _ = instances.many_arms(1000, 0, spread=0.09)
    angles = np.arctan2(problem.probes[2:, 1], problem.probes[2:, 0])
    assert angles.std() == pytest.approx(0.09, rel=0.1)


def test_many_arms_of_the_script_has_no_near_tie():
    problem, theta = instances.many_arms_script(500, 3)
    assert problem.probes[1].tolist() == [-0.707, 0.707]
    others = gaps(problem, theta)[2:]
    assert 1 - np.cos(0.78) <= others.min()
    assert others.max() <= 1 - np.cos(0.88)
    # in the text's distribution a near tie is the rule
    assert np.sort(gaps(*instances.many_arms(500, 3)))[1] < 0.01


@given(n=st.integers(2, 60), d=st.sampled_from([2, 3, 5, 7, 9, 20]), seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_closest_pair_is_the_closest(n, d, seed):
    points = np.random.default_rng(seed).standard_normal((n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    i, j = instances.closest_pair(points)
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    distances[np.diag_indices(n)] = np.inf
    assert 0 <= i < j < n
    assert distances[i, j] <= distances.min() * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("d", [3, 9])
def test_closest_pair_over_many_blocks_and_with_equal_rows(d):
    points = np.random.default_rng(7).standard_normal((2000, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    products = points @ points.T
    products[np.diag_indices(2000)] = -1
    assert products[instances.closest_pair(points)] == pytest.approx(products.max(), abs=1e-14)
    points[1500] = points[3]
    assert instances.closest_pair(points) == (3, 1500)


def test_closest_pair_apart_in_the_coordinate_of_the_sweep():
    points = np.random.default_rng(8).standard_normal((4000, 9))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    i, j = instances.closest_pair(points)
    step = 0.4 * np.linalg.norm(points[i] - points[j])
    points[:2] = 0.0
    points[:2, 0] = -np.sin(step), np.sin(step)
    points[:2, 1] = np.cos(step)
    assert np.sum(np.abs(points[:, 0]) < np.sin(step)) > 2 * 256  # rows between the two in the order of the sweep
    assert instances.closest_pair(points) == (0, 1)


@pytest.mark.parametrize(("d", "alpha"), [(3, 0.01), (9, 0.0), (9, 0.3)])
def test_sphere(d, alpha):
    problem, theta = instances.sphere(200, d, alpha, seed=4)
    np.testing.assert_allclose(np.linalg.norm(problem.items, axis=1), 1)
    first, second = np.argsort(gaps(problem, theta))[:2]
    cosine = problem.items[first] @ problem.items[second]
    assert {first, second} == set(instances.closest_pair(problem.items))
    assert gaps(problem, theta)[second] == pytest.approx((1 - 2 * alpha) * (1 - cosine), rel=1e-9)


def test_sphere_of_the_script():
    problem, theta = instances.sphere_script(50, 2)
    assert problem.items.shape == (50, 9)
    best = np.argmax(problem.items @ theta)
    np.testing.assert_array_equal(problem.items[best], theta)


def test_large_spheres_need_no_square_table():
    tracemalloc.start()
    problem, _ = instances.sphere(20_000, 8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem.n_items == 20_000
    assert peak < 20_000**2 / 4  # bytes: a thirty-second of a table of all distances


@pytest.mark.parametrize("truth", range(6))
def test_family_of_proposition_1(truth):
    problem, theta = instances.static_lower_bound(6, 0.4, truth)
    np.testing.assert_array_equal(problem.items[truth], theta)
    order = np.argsort(gaps(problem, theta))
    assert order[0] == truth
    assert order[1] == (truth + 3) % 6
    values = gaps(problem, theta)
    assert values[order[1]] == pytest.approx(1 - np.cos(0.4))
    np.testing.assert_allclose(values[order[2:]], 1)


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: instances.many_arms(20, seed),
        lambda seed: instances.many_arms_script(20, seed),
        lambda seed: instances.sphere(20, 4, seed=seed),
        lambda seed: instances.sphere_script(20, seed),
    ],
)
def test_draws_depend_on_their_seed_alone(draw):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    (first, theta), (again, same), (other, _) = draw(5), draw(np.random.default_rng(5)), draw(6)
    np.testing.assert_array_equal(first.probes, again.probes)
    np.testing.assert_array_equal(theta, same)
    assert not np.array_equal(first.probes, other.probes)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_theta_is_not_a_view_of_the_problem():
    for problem, theta in (
        instances.sphere(9, 3, 0.0),
        instances.static_lower_bound(4),
        instances.transductive(4),
    ):
        before = problem.items.copy()
        theta += 1.0
        np.testing.assert_array_equal(problem.items, before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: instances.benchmark(1), "d must be at least 2, got 1"),
        (lambda: instances.benchmark(3, 0.0), "angle must lie strictly between 0 and π/2, got 0.0"),
        (lambda: instances.transductive(5), "even number of at least 2, got 5"),
        (lambda: instances.transductive(4, 2.0), "angle must lie strictly between 0 and π/2, got 2.0"),
        (lambda: instances.many_arms(2), "n must be at least 3, got 2"),
        (lambda: instances.many_arms_script(1), "n must be at least 3, got 1"),
        (lambda: instances.sphere(1, 3), "n must be at least 2, got 1"),
        (lambda: instances.sphere(9, 1), "d must be at least 2, got 1"),
        (lambda: instances.sphere(9, 3, 0.5), r"alpha must lie in \[0, 0.5\) .* got 0.5"),
        (lambda: instances.static_lower_bound(4, 0.1, 4), "number of one of the 4 items, got 4"),
    ],
)
def test_errors_say_what_was_wrong(call, message):
    with pytest.raises(InvalidProblem, match=message):
        call()


def test_instances_of_later_papers():
    problem, theta = instances.reda()
    assert problem.probes.shape == (10, 5)
    assert np.argsort(-(problem.items @ theta))[:3].tolist() == [9, 0, 3]
    assert set(problem.sigma) == {0.5}
    problem, theta = instances.mislid()
    assert problem.probes.shape == (10, 5)
    assert np.argsort(-(problem.items @ theta))[:3].tolist() == [1, 2, 7]
