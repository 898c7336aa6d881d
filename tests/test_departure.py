"""Evidence against a linear mean where outcomes are bounded (docs/adequacy.md, Theorem 3)."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

import probewise as pw
from probewise.campaign import Memory
from probewise.departure import departure
from probewise.measurements import Measurements

PROBES = np.column_stack([np.ones(3), [-1.0, 0.0, 1.0]])
PROBLEM = pw.Problem(PROBES, outcome=pw.Bounded())


def coins(hits: tuple[int, ...], counts: tuple[int, ...]) -> Measurements:
    n, k = np.array(counts), np.array(hits)
    return Measurements(
        n, np.where(n > 0, k / np.maximum(n, 1), 0.0), np.where(n > 0, k * (n - k) / np.maximum(n, 1), 0.0)
    )


def chance(hits: tuple[int, ...], counts: tuple[int, ...], rates: np.ndarray) -> float:
    each = zip(hits, counts, rates, strict=True)
    return math.prod(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k, n, p in each)


@pytest.mark.parametrize("bias", [0.0, 0.08])
def test_what_is_made_of_one_is_one_at_most(bias: float) -> None:
    """All outcomes of two rounds of coins: exactly, with a linear mean, or one that is off by what is allowed."""
    first, second = (2, 2, 2), (2, 3, 1)
    rates = PROBES @ np.array([0.4, 0.15]) + np.array([bias, -bias, bias])
    allowed, means = dataclasses.replace(PROBLEM, misfit=bias), np.zeros(2)
    for one in itertools.product(*(range(n + 1) for n in first)):
        for two in itertools.product(*(range(n + 1) for n in second)):
            weight = chance(one, first, rates) * chance(two, second, rates)
            steps = [[coins(one, first)], [coins(two, second)]]
            means += weight * np.exp([departure(allowed, steps), departure(PROBLEM, steps)])
    assert means[0] <= 1.0 + 1e-9
    if bias:
        assert means[1] > means[0]
    else:
        assert means[1] == means[0]


def test_the_first_round_and_other_laws_are_not_bet_on() -> None:
    steps = [[coins((1, 40, 3), (50, 50, 50))]]
    assert departure(PROBLEM, steps) == departure(PROBLEM, []) == 0.0
    assert departure(pw.Problem(PROBES), [*steps, *steps]) == 0.0


def test_a_bent_mean_at_low_rates_is_refused() -> None:
    rng, rates = np.random.default_rng(0), np.array([0.01, 0.05, 0.01])
    counts = (3000, 3000, 3000)
    steps = [[coins(tuple(rng.binomial(3000, rates)), counts)] for _ in range(5)]
    assert departure(PROBLEM, steps) > math.log(600)
    # of rounds that overlap, none is bet on by the others: what the first one shows is not known yet
    assert departure(PROBLEM, [[round_ for step in steps for round_ in step]]) == 0.0


def test_a_campaign_whose_model_is_wrong_is_not_certified() -> None:
    """The middle is the best by far, and a straight line cannot say so."""
    problem = pw.Problem(PROBES, [[1.0, -0.5], [1.0, 0.5]], outcome=pw.Bounded(), item_names=["A", "B"])
    campaign = pw.Campaign.create(Memory(), problem, pw.BestItem(), seed=0, aggregated=True)
    rng, rates = np.random.default_rng(1), {"0": 0.010, "1": 0.06, "2": 0.010}
    for _ in range(4):
        hits = {probe: int(rng.binomial(2500, rate)) for probe, rate in rates.items()}
        campaign.tell([{"probe": probe, "n": 2500, "successes": k} for probe, k in hits.items()], off_plan=True)
    assert campaign.status().checks["fit"] == "inadequate"
