from __future__ import annotations

import numpy as np
import pytest

import probewise as pw
from probewise.design.memory import remembering
from probewise.elimination import beaten
from probewise.run import loop
from probewise.simulation import LinearEnvironment


def run(problem, theta, algorithm, seed, budget=None):
    environment = LinearEnvironment(problem, theta)
    return loop(
        problem,
        pw.BestItem(),
        algorithm,
        observe=lambda counts, step: environment.draw(counts, np.random.default_rng([seed, step])),
        stream=lambda step: np.random.default_rng([seed, step, 1]),
        budget=budget,
    )


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6, 1e-9, 1e-12])
def test_beaten_is_exact_among_near_duplicates(spread):
    # Clusters of items at distances far below the rounding of |a|² + |b|² - 2a'b.
    rng = np.random.default_rng(0)
    offsets, centres = rng.normal(size=(90, 3)), np.repeat(rng.integers(-3, 4, size=(9, 3)) * 1.0, 10, axis=0)
    items = centres + spread * offsets
    scores = items @ rng.normal(size=3)
    ahead = scores[:, None] - scores
    distances = np.linalg.norm(items[:, None] - items, axis=2)
    for width in (0.3, 0.9, 1.2):
        expected = ((ahead > 0) & (ahead >= width * distances)).any(axis=0)
        np.testing.assert_array_equal(beaten(items, scores, width), expected)


@pytest.mark.parametrize("algorithm", [pw.Rage(), pw.Rage("code"), pw.XYAdaptive()])
def test_a_near_duplicate_does_not_eliminate_the_best_item(algorithm):
    # The last two items differ by 1e-9 only, but in a direction that the second probe measures by itself.
    problem = pw.Problem(np.eye(2), [[-1.0, 0.0], [1.0, 0.0], [1.0, 1e-9]])
    with remembering():
        wrong = sum(run(problem, np.array([1.0, 0.3]), algorithm, seed).item != 2 for seed in range(30))
    assert wrong <= 4


@pytest.mark.parametrize(
    "algorithm", [pw.Rage(), pw.XYAdaptive(), pw.XYStatic(), pw.Sage(), pw.ExploreVerify("rage"), pw.Uniform()]
)
def test_items_far_from_the_span_are_compared_by_their_differences(algorithm):
    # Differences lie in the plane of the probes up to the rounding of items that are 10,000 times larger.
    rng = np.random.default_rng(0)
    probes = rng.normal(size=(10, 2)) @ rng.normal(size=(2, 4))
    items = 1e4 * np.array([0.1, 0.2, 0.3, 0.7]) + rng.normal(size=(5, 10)) @ probes
    theta = rng.normal(size=4)
    result = run(pw.Problem(probes, items), theta, algorithm, seed=1, budget=10**6)
    assert result.item == int(np.argmax(items @ theta))
