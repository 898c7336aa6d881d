"""check_outcome: what every law of outcomes promises, as checks that fail with a sentence."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from probewise.coordinates import Array
from probewise.design import digest
from probewise.goals import BestItem
from probewise.measurements import Measurements, SumOfSquares
from probewise.outcomes import Law
from probewise.pooling import Pooled, Sums, fitted
from probewise.problem import Problem
from probewise.run import identify
from probewise.simulation import LinearEnvironment
from probewise.testing.promises import expect, expect_settings, expect_texts

MEANS = (0.9, 0.1, 0.2)
"""Means that most laws can have."""
PATHS, STEPS = 4_000, 60
"""Simulated campaigns, and measurements in each."""
SURE = 5.0
"""Standard errors beyond which a simulated mean is another one: a sound law fails once in a million."""


def check_outcome(law: Law, means: ArrayLike = MEANS) -> None:
    """Run every check at some ``means``; AssertionError with a sentence at the first promise that is broken."""
    at = np.asarray(means, dtype=np.float64)
    names = tuple(f"probe {i}" for i in range(at.size))
    _says_what_it_is(law)
    scale = _has_a_scale(law, names)
    outcomes = _draws_what_it_says(law, at, scale)
    _draws_sums_alike(law, at, scale, outcomes)
    if law.by_sums:
        _bounds_its_noise(law, at, scale, outcomes)
        _keeps_its_accounts(law, at, scale)
    if law.learns:
        _keeps_its_bets(law, at)
    _serves_a_search(law, at)


def _says_what_it_is(law: Law) -> None:
    """Name, summary and words are texts; it is a frozen dataclass of settings."""
    expect_texts(law, ("name", "summary", "noise", "expected"))
    expect_settings(law, "a law")
    settings = {own.name: getattr(law, own.name) for own in dataclasses.fields(law)}  # type: ignore[arg-type]
    expect(digest(type(law)(**settings)) == digest(law), "two laws with the same settings must be the same")
    expect(0 <= law.part < 1, f"part must be a share of delta below 1, got {law.part!r}")
    expect(law.replicates >= 1, f"replicates must be at least 1, got {law.replicates!r}")


def _has_a_scale(law: Law, names: tuple[str, ...]) -> Array:
    """One positive number per probe; a known scale has nothing to learn, and costs nothing of δ."""
    scale = law.scale(names)
    fits = isinstance(scale, np.ndarray) and scale.shape == (len(names),) and bool((scale > 0).all())
    expect(fits, f"scale must give one positive number for each of {len(names)} probes, got {scale!r}")
    nothing = SumOfSquares(0.0, 0)
    if law.known:
        expect(law.part == 0, f"a known scale must leave all of delta, got part {law.part}")
        expect(law.bound(nothing, 0.1) == law.guess(nothing) == 1.0, "a known scale has the factor 1")
    else:
        expect(math.isinf(law.bound(nothing, 0.1)), "without replicates nothing bounds an unknown scale")
    return scale


def _draws_what_it_says(law: Law, means: Array, scale: Array) -> Array:
    """(k, p): outcomes; they are possible and have the means asked for."""
    rng, n = np.random.default_rng(0), 40_000
    outcomes = np.array([law.outcomes(means, scale, rng) for _ in range(n)])
    expect(bool(law.possible(outcomes.ravel()).all()), "outcomes that it draws must be possible")
    errors = outcomes.std(axis=0) / math.sqrt(n)
    off = np.abs(outcomes.mean(axis=0) - means)
    expect(
        bool((off <= SURE * errors + 1e-12).all()), f"outcomes must have the means {means}, got {outcomes.mean(axis=0)}"
    )
    return outcomes


def _draws_sums_alike(law: Law, means: Array, scale: Array, outcomes: Array) -> None:
    """Means and scatters that are drawn at once are those of so many outcomes."""
    rng, each, n = np.random.default_rng(2), 9, len(outcomes)
    one = law.drawn(means, scale, np.ones(means.size, dtype=np.int64), rng)
    expect(not one.scatter.any(), "a single outcome that is drawn must not scatter")
    counts = np.full(means.size, each, dtype=np.int64)
    parts = [law.drawn(means, scale, counts, rng) for _ in range(n // each)]
    sums = np.array([part.mean for part in parts])
    errors = sums.std(axis=0) / math.sqrt(len(parts))
    off = np.abs(sums.mean(axis=0) - means)
    expect(bool((off <= SURE * errors + 1e-12).all()), f"drawn must have the means {means}, got {sums.mean(axis=0)}")
    wanted, own = outcomes.var(axis=0), ((outcomes - means) ** 2).std(axis=0) / math.sqrt(n)
    spread = np.array([part.scatter for part in parts]) / (each - 1)
    for values, fault in (
        (spread, "drawn must scatter as outcomes do"),
        (each * (sums - means) ** 2, "means that are drawn must vary as means of outcomes do"),
    ):
        slack = SURE * (own + values.std(axis=0) / math.sqrt(len(parts)))
        expect(bool((np.abs(values.mean(axis=0) - wanted) <= slack + 1e-12).all()), fault)


def _bounds_its_noise(law: Law, means: Array, scale: Array, outcomes: Array) -> None:
    """Deviations over the scale are sub-Gaussian, as far as samples can tell."""
    for rate in (-2.0, -1.0, -0.3, 0.3, 1.0, 2.0):
        grown = np.exp(rate * (outcomes - means) / scale - 0.5 * rate**2)
        error = grown.std(axis=0) / math.sqrt(len(grown))
        worst = float((grown.mean(axis=0) - SURE * error).max())
        expect(
            worst <= 1.0, f"noise must be sub-Gaussian with its scale, but exp({rate}·noise) is {worst:.3f} too large"
        )


def _keeps_its_accounts(law: Law, means: Array, scale: Array) -> None:
    """Where the mean is 0, bets make nothing on average, and ever multiply 1 by 1/δ with probability at most δ."""
    rng = np.random.default_rng(1)
    noise = np.array([law.outcomes(np.full(STEPS, means[0]), np.full(STEPS, scale[0]), rng) for _ in range(PATHS)])
    total = np.cumsum((noise - means[0]) / scale[0] ** 2, axis=1)
    precision = np.arange(1, STEPS + 1) / scale[0] ** 2
    unit = np.full(PATHS, 1.0 / scale[0] ** 2)
    logs = np.column_stack(
        [law.log_account(total[:, t], np.full(PATHS, precision[t]), unit, 1.0) for t in range(STEPS)]
    )
    for t in (0, 4, STEPS - 1):
        made = np.exp(logs[:, t])
        error = made.std() / math.sqrt(PATHS)
        expect(made.mean() <= 1.0 + SURE * error, f"after {t + 1} measurements bets have made {made.mean():.3f} of 1")
    ends, all_of_it = total[:, -1], np.full(PATHS, precision[-1])
    small, large = (law.log_account(ends, all_of_it, unit, bound) for bound in (1.0, 1.7))
    sound = bool((large <= np.maximum(small, 0.0) + 1e-9).all())
    expect(sound, "a larger bound on the noise must not make bets grow more, unless they have made less than 1")
    for delta in (0.3, 0.05):
        ever = float((logs.max(axis=1) >= -math.log(delta)).mean())
        slack = SURE * math.sqrt(delta * (1 - delta) / PATHS)
        expect(ever <= delta + slack, f"bets made 1/{delta} of 1 in {ever:.3f} of all runs")


def _keeps_its_bets(law: Law, means: Array) -> None:
    """Bets on outcomes that a claim is just false of make nothing on average, whatever rounds before have taught."""
    rng, counts = np.random.default_rng(4), (3, 1, 20, 60)
    problem = Problem(np.eye(2), outcome=law)
    most: list[Array] = []
    made: dict[int, list[Array]] = {step: [] for step in range(len(counts))}
    at, rows = np.resize(means, 2), np.array([[1.0, -1.0], [-1.0, 1.0]])
    environment = LinearEnvironment(problem, at)
    for _ in range(PATHS // 8):
        sums, known, data, best = Sums.none(2), law, Measurements.empty(2), np.zeros(2)
        for step, n in enumerate(counts):
            own = environment.draw(np.array([n, 2 * n]), rng)
            sums = sums + Pooled((fitted(problem.knowing(known), own),)).sums(rows).lifted(-rows @ at)
            log = law.account(sums.total, sums.precision, sums.bets, np.ones(2), 1.0)
            data, best = data + own, np.maximum(best, log)
            known = law.after(data.mean, data)
            made[step].append(np.exp(log))
        most.append(best)
    for step, values in made.items():
        mean, error = np.mean(values, axis=0), np.std(values, axis=0) / math.sqrt(len(values))
        expect(
            bool((mean <= 1.0 + SURE * error).all()), f"after {step + 1} rounds bets have made {mean.max():.3f} of 1"
        )
    for delta in (0.3, 0.05):
        ever = float((np.array(most) >= -math.log(delta)).mean(axis=0).max())
        slack = SURE * math.sqrt(delta * (1 - delta) / len(most))
        expect(ever <= delta + slack, f"bets on outcomes made 1/{delta} of 1 in {ever:.3f} of all runs")


def _serves_a_search(law: Law, means: Array) -> None:
    """A search with it finds the best of three probes."""
    problem = Problem(np.eye(means.size), outcome=law)
    result = identify(problem, BestItem(0.01), measure=LinearEnvironment(problem, means, seed=0).measure, seed=0)
    best = int(np.argmax(means))
    expect(result.item == best, f"the best of the means {means} is {best}, but a search found {result.item}")
