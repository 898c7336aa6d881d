"""The whole method on a few screens: find the best item from noisy measurements of probes.

A measurement of a probe x gives x'θ + noise; an item z is worth z'θ; θ is unknown. The loop, at the end of the file, is

    plan a round  ->  measure it  ->  estimate θ from it  ->  settle the bets  ->  until one item is left.

The package adds certified designs, costs, stock, batches, unknown noise, awkward numbers. This needs NumPy and SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import erfcx

# --- Planning ---------------------------------------------------------------------------------------------------


def variances(information: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """y'V⁻¹y for each row y of directions: the variance of the estimate of y'θ. Infinite if V does not determine y."""
    solved = directions @ np.linalg.pinv(information, hermitian=True)
    known = np.isclose(solved @ information, directions, atol=1e-9).all(axis=1)
    return np.where(known, np.einsum("kd,kd->k", solved, directions), np.inf)


def optimal_design(probes: np.ndarray, directions: np.ndarray, steps: int = 500) -> np.ndarray:
    """Weights on probes, summing to 1, that make the largest variance over the directions small (Frank-Wolfe).

    Each step moves a little weight to the probe that lowers the largest variance most; specks are swept away.
    """
    weights = np.full(len(probes), 1 / len(probes))
    for step in range(steps):
        inverse = np.linalg.inv(probes.T @ (weights[:, None] * probes))
        worst = directions[np.argmax(np.einsum("kd,de,ke->k", directions, inverse, directions))]
        best = np.argmax((probes @ inverse @ worst) ** 2)  # minus the derivative of worst'A⁻¹worst
        weights += (np.eye(len(probes))[best] - weights) / (step + len(probes) + 1)
    weights[weights < 0.01] = 0.0
    return weights / weights.sum()


def rounded(weights: np.ndarray, n: int) -> np.ndarray:
    """Whole counts that sum to n, near n times the weights, at least 1 where the weight is positive."""
    counts = np.ceil((n - np.count_nonzero(weights) / 2) * weights)
    shares = np.where(weights > 0, weights, np.nan)
    while counts.sum() > n:
        counts[np.nanargmax((counts - 1) / shares)] -= 1
    while counts.sum() < n:
        counts[np.nanargmin(counts / shares)] += 1
    return counts.astype(int)


# --- Estimating: one round at a time ----------------------------------------------------------------------------


def fit(probes: np.ndarray, counts: np.ndarray, means: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """The information V = Σ n x x'/σ² of a round and the vector Σ n mean x/σ²; least squares is V⁻¹ of the latter."""
    weighted = probes * (counts / sigma**2)[:, None]
    return probes.T @ weighted, weighted.T @ np.where(counts > 0, means, 0.0)


# --- Deciding: one account for each item ------------------------------------------------------------------------


def log_mixture(total: np.ndarray, precision: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """log of the mean of exp(λS - λ²W/2) over λ > 0, S = total and W = precision.

    λ has half-normal laws |N(0, 1/ρ)| with ρ = 2, 20, …, 2 000 000 times the unit, weighted 1, 1/2, …, 1/7.
    """
    shares = 1 / np.arange(1, 8)
    scales = 2 * 10.0 ** np.arange(7)[:, None] * unit
    z = total / np.sqrt(precision + scales)
    tail = erfcx(np.abs(z) / math.sqrt(2))  # 2Φ(-|z|)exp(z²/2), without overflow
    each = np.where(z < 0, np.log(tail), z**2 / 2 + np.log(2 - tail * np.exp(-(z**2) / 2)))  # log of 2Φ(z)exp(z²/2)
    each -= np.log1p(precision / scales) / 2
    return np.logaddexp.reduce(np.log(shares / shares.sum())[:, None] + each)


class Accounts:
    """What bets against "this item is the best" have made of 1; at 1/δ the item is ruled out.

    Before each round an item's whole account is put on the leader (the leader's own account: on the second) being
    better, at odds that are fair if both are equal. The account of the best item can only shrink on average, so by
    Ville's inequality it ever reaches 1/δ with probability at most δ, whatever is planned and whenever we look.
    """

    def __init__(self, items: np.ndarray, planned: np.ndarray, delta: float = 0.05) -> None:
        """Planned is the information matrix of half of the first round as planned: the unit of each comparison."""
        self.items, self.planned, self.enough = items, planned, math.log(1 / delta)
        self.alive = np.arange(len(items))  # not ruled out, the highest estimate first
        self.wealth = np.zeros(len(items))  # logarithms
        self.rounds: list[tuple[np.ndarray, np.ndarray]] = []

    def sums(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """S and W of each direction y: W sums the precisions of the rounds, S/W is the estimate of y'θ by all."""
        total = precision = np.zeros(len(directions))
        for information, vector in self.rounds:  # each round by itself: later ones were planned by earlier outcomes
            more = 1 / variances(information, directions)
            precision = precision + more
            total = total + more * (directions @ np.linalg.pinv(information, hermitian=True) @ vector)
        return total, precision

    def tell(self, information: np.ndarray, vector: np.ndarray) -> None:
        """Settle the bets on a round, then rank the items by all data and rule out those whose account is full."""
        leader, second = self.alive[:2]
        bets = self.items[np.where(self.alive == leader, second, leader)] - self.items[self.alive]
        unit = 1 / variances(self.planned, bets)
        first_round, before = not self.rounds, log_mixture(*self.sums(bets), unit)
        self.rounds.append((information, vector))
        gains = self.opened() if first_round else log_mixture(*self.sums(bets), unit) - before
        self.wealth[self.alive] += gains
        whole, vectors = (sum(part) for part in zip(*self.rounds, strict=True))
        values = self.items[self.alive] @ np.linalg.pinv(whole, hermitian=True) @ vectors
        ranked = self.alive[np.argsort(-values, kind="stable")]
        kept = ranked[self.wealth[ranked] < self.enough]
        self.alive = kept if kept.size else ranked[:1]

    def opened(self) -> np.ndarray:
        """The first round, before which nobody led: a share of each account was spread over all rivals alike."""
        share, made = min(0.1, 2 / len(self.items)), []
        for item in self.alive:
            bets = np.delete(self.items, item, axis=0) - self.items[item]
            total, precision = self.sums(bets)
            wide = np.exp(log_mixture(total, precision, 1 / variances(self.planned, bets) / 20))
            own = erfcx(-total / np.sqrt(4 * np.maximum(precision, 1e-99))) / math.sqrt(2)  # one scale: W itself
            made.append(np.where(total > 0, (wide + own) / 2, 0.0).mean())
        return np.log1p(share * (np.array(made) - 1))


# --- The loop ---------------------------------------------------------------------------------------------------


def find_best(
    probes: np.ndarray,
    items: np.ndarray,
    sigma: float,
    measure: Callable[[np.ndarray], np.ndarray],
    delta: float = 0.05,
) -> tuple[int, int]:
    """The best item, wrong with probability at most δ, and the number of measurements it took.

    measure(counts) gives the mean outcome of each probe; where the count is 0, anything.
    """
    one, two = np.triu_indices(len(items), 1)
    weights = optimal_design(probes, items[one] - items[two])  # at first every pair of items matters
    n, first = 0, min(3 * probes.shape[1], 2 * np.count_nonzero(weights))
    least = min(first, np.count_nonzero(weights)) if len(items) <= 8 else first
    accounts = Accounts(items, first / 2 * probes.T @ (weights[:, None] * probes) / sigma**2, delta)
    while len(accounts.alive) > 1:  # each round adds a tenth
        size = max(least if n else first, np.count_nonzero(weights), math.ceil(n / 10))
        counts = rounded(weights, size)
        accounts.tell(*fit(probes, counts, measure(counts), sigma))
        n += size
        weights = next_design(probes, items, accounts)
    return int(accounts.alive[0]), n


def next_design(probes: np.ndarray, items: np.ndarray, accounts: Accounts) -> np.ndarray:
    """For the leader against each rival, the more so the smaller its lead; leads below 2 standard errors count as 2."""
    rivals = items[accounts.alive[0]] - items[accounts.alive[1:]]
    if not len(rivals):
        return np.zeros(len(probes))
    total, precision = accounts.sums(rivals)
    if not precision.all():
        raise ValueError("the rounds so far leave a comparison undetermined; use the package, which never does.")
    return optimal_design(probes, rivals / np.maximum(total / precision, 2 / np.sqrt(precision))[:, None])


def demo(seed: int = 0) -> tuple[int, int]:
    """Eight brews that a café can taste, four programs of a machine that it cannot; the second is the best."""
    grind, heat, time = np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0], indexing="ij")
    probes = np.column_stack([np.ones(8), grind.ravel(), heat.ravel(), time.ravel()])
    items = np.array([[1, 0.5, 0.5, 0], [1, 0.5, 0, 0.8], [1, -0.5, 0.5, 0.8], [1, 0, 0.9, -0.5]])
    theta, rng = np.array([6.0, 0.8, 0.3, 0.7]), np.random.default_rng(seed)

    def taste(counts: np.ndarray) -> np.ndarray:
        return probes @ theta + rng.normal(size=8) / np.sqrt(np.maximum(counts, 1))

    return find_best(probes, items, 1.0, taste)


if __name__ == "__main__":
    item, n = demo()
    print(f"Program {item + 1} is the best, after {n} tastings.")
