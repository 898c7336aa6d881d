"""Attacks on boosted bets: python benchmarks/boosting_audit.py [--whole].

1. *Means*: for random bets, boosts and scales of the noise (as stated, smaller, none), the mean of min(b·R, c), by a
   quadrature of its own; it must be at most 1.
2. *Adversary*: at a tie, somebody chooses the true scale of the noise of each round, at most the stated one, by all
   that was seen before, in the way that makes it most probable that the account of the best item ever reaches 1/δ: that
   probability, by a dynamic programme without simulation. For bets of one scale, which leave nothing unspent, and for
   Sage's. The same for the boost that trusts the stated scale, which is not safe: it must be seen to fail.
3. *Sage*: two items and three that tie exactly, δ = 0.3 and 0.05, σ as stated and overstated; how often a best item is
   ruled out or, with epsilon, an item beyond it is declared. Exit code 1 if a mean is above 1 or an upper end of a
   99 % interval, or the adversary's chance, is above δ.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta

import probewise as pw
from probewise.algorithms.sage import boosting
from probewise.confidence import log_evidence, log_wealth
from probewise.coordinates import Array
from probewise.measurements import Measurements
from probewise.pooling import Sums

LAW = pw.Gaussian(1.0, normal=True)
SCALES = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True)
class OneScale(pw.Gaussian):
    """Bets of one half-normal, of the first of Sage's scales."""

    def log_account(self, total: Array, precision: Array, unit: Array, bound: float) -> Array:
        return log_evidence(total / bound, precision, 2.0 * unit)


def upper(errors: int, runs: int) -> float:
    """Upper end of the 99 % interval of Clopper and Pearson, one-sided."""
    return 1.0 if errors == runs else float(beta.ppf(0.99, errors + 1, runs - errors))


def means(cases: int, seed: int) -> float:
    """The largest mean of a boosted and truncated bet, for random states and scales."""
    rng = np.random.default_rng(seed)
    unit = np.ones(cases)
    precision = 10.0 ** rng.uniform(-1, 6, cases)
    total = np.sqrt(precision) * rng.uniform(-1.0, 6.0, cases)
    more = precision * 10.0 ** rng.uniform(-2.5, 1.5, cases)
    lacking = rng.uniform(1e-6, math.log(12.0), cases)
    by = boosting.boosts(LAW, Sums(precision, total), more, unit, 1.0, lacking)
    assert (by > 0).mean() > 0.5
    edges = np.linspace(-8.5, 8.5, 6801)
    x, mass = 0.5 * (edges[1:] + edges[:-1]), np.diff(ndtr(edges))
    worst = 0.0
    for case in np.flatnonzero(by > 0):  # without a boost it is Lemma 2
        begun = log_wealth(total[case], precision[case], unit[case])
        for rho in (0.0, 0.05, *rng.uniform(0, 1, 4), 0.95, 1.0):
            at = total[case] + rho * np.sqrt(more[case]) * x
            log = log_wealth(at, np.full(x.size, precision[case] + more[case]), np.full(x.size, unit[case])) - begun
            worst = max(worst, float(mass @ np.exp(np.minimum(log + by[case], lacking[case]))))
    return worst


def trusting(log: Array, enough: Array) -> Array:
    """(k,): the boost that is fair if the scale is exactly as stated, by halving."""
    places, mass = boosting.table().places, np.zeros(boosting.table().places.size)
    edges = np.concatenate([[-np.inf], 0.5 * (places[1:] + places[:-1]), [np.inf]])
    mass[:] = np.diff(ndtr(edges))
    low, high = np.zeros(enough.size), np.log(enough) + 8.0
    for _ in range(24):
        middle = 0.5 * (low + high)
        safe = np.minimum(np.exp(middle[:, None] + log), enough[:, None]) @ mass <= 1.0
        low, high = np.where(safe, middle, low), np.where(safe, high, middle)
    return low


def adversary(law: pw.Gaussian, delta: float, growth: float, depth: float, kind: str, step: float = 0.05) -> float:
    """The largest chance that the account of a best item at a tie reaches 1/δ, over all ways to choose ρ by round.

    A dynamic programme from the last round back. Each round adds ``growth`` - 1 of the precision, up to ``depth`` times
    the first one. What is known before a round is S/√W, on a grid, and what the account has beyond log M(S, W), which
    boosts raise; for each ρ the step to the next grid is one matrix. ``kind`` is "none", "robust" or "trusting".
    """
    need, z = math.log(1 / delta), np.arange(-6.0, 6.0 + step / 2, step)
    beyond = np.arange(-need - 0.5, 7.0, 2 * step)
    rows, steps = np.arange(z.size)[:, None], [_step(z, rho, growth) for rho in SCALES]
    value = np.zeros((z.size, beyond.size))
    for power in range(math.ceil(math.log(depth) / math.log(growth)), -1, -1):
        w, total = growth**power, z * math.sqrt(growth**power)
        made = law.log_account(total, np.full(z.size, w), np.full(z.size, 0.5), 1.0)
        account = made[:, None] + beyond
        by = _boosts(law, total, w, growth, need - account, kind)
        at = np.clip((beyond + by - beyond[0]) / (2 * step), 0, beyond.size - 1 - 1e-9)
        low, part = at.astype(int), at % 1
        ahead = [matrix @ value for matrix in steps]
        best = np.max([own[rows, low] * (1 - part) + own[rows, low + 1] * part for own in ahead], axis=0)
        slope = np.maximum(np.gradient(made, step), 1e-9)[:, None] * step
        out = np.clip((account - need) / slope + 0.5, 0.0, 1.0)  # of the cell about a place, what has got there
        value = out + (1 - out) * best
    begun = [np.interp(-own, beyond, row) for own, row in zip(made, value, strict=True)]  # the account is 1
    return float(max(_step(z, rho, math.inf)[0] @ begun for rho in SCALES))


def _step(z: Array, rho: float, growth: float) -> Array:
    """(k, k): the law of S/√W after a round with noise of scale ρ, from each place of a grid to each other."""
    mean, scale = z / math.sqrt(growth), rho * math.sqrt(1 - 1 / growth)
    edges = np.concatenate([[-np.inf], 0.5 * (z[1:] + z[:-1]), [np.inf]])
    if scale > 0:
        return np.diff(ndtr((edges - mean[:, None]) / scale), axis=1)
    left = np.clip(np.searchsorted(z, mean) - 1, 0, z.size - 2)
    part, rows, out = (mean - z[left]) / (z[1] - z[0]), np.arange(z.size), np.zeros((z.size, z.size))
    out[rows, left], out[rows, left + 1] = 1 - part, part
    return out


def _boosts(law: pw.Gaussian, total: Array, w: float, growth: float, lacking: Array, kind: str) -> Array:
    """(k, j): log of the boost before a round, for totals (k,) and what accounts lack (k, j)."""
    out = np.zeros(lacking.shape)
    near = (lacking > 0) & (lacking < math.log(12.0)) & (kind != "none")
    s, lack = np.broadcast_to(total[:, None], lacking.shape)[near], lacking[near]
    ones, more = np.ones(s.size), (growth - 1) * w
    if kind == "robust":
        out[near] = boosting.boosts(law, Sums(w * ones, s), more * ones, 0.5 * ones, 1.0, lack)
    elif kind == "trusting":
        at = s[:, None] + math.sqrt(more) * boosting.table().places
        log = law.log_account(at, np.full(at.shape, w + more), np.full(at.shape, 0.5), 1.0)
        out[near] = trusting(log - law.log_account(s, w * ones, 0.5 * ones, 1.0)[:, None], np.exp(lack))
    return out


def searches(items: int, delta: float, epsilon: float, scale: float, runs: int, seed: int) -> tuple[int, float]:
    """Wrong ends of whole searches: item 0 is best, all others tie with it or, with epsilon, lie just beyond it."""
    rng, goal = np.random.default_rng(seed), pw.BestItem(delta, epsilon)
    problem = pw.Problem(np.eye(items), outcome=LAW)
    theta = np.zeros(items)
    theta[1:] = -1.001 * epsilon
    sage, wrong = pw.Sage(), 0
    for _ in range(runs):
        state = sage.init(problem, goal)
        while sage.answer(problem, goal, state) is None and state.data.n < 3_000:
            counts = sage.ask(problem, goal, state, rng)
            rho = scale if scale >= 0 else rng.choice([0.0, 0.3, 0.6, 1.0])
            noise = rho * rng.standard_normal(items) / np.sqrt(np.maximum(counts, 1))
            told = Measurements(counts, np.where(counts > 0, theta + noise, 0.0), np.zeros(items))
            state = sage.tell(problem, goal, state, told)
        wrong += 0 not in state.alive or (epsilon > 0 and sage.answer(problem, goal, state) not in (None, (0,)))
    return wrong, upper(wrong, runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--whole", action="store_true", help="the adversary against Sage's bets too, some minutes")
    parser.add_argument("--runs", type=int, default=400)
    options = parser.parse_args()
    worst = means(options.cases, 1)
    good = worst <= 1.0
    print(f"largest mean of {options.cases} bets at eight scales each: {worst:.9f}", flush=True)
    attacks: list[tuple[str, pw.Gaussian, float, float, float]] = [
        ("one scale", OneScale(1.0, normal=True), 0.05, 1.3, 1e5),
        ("one scale", OneScale(1.0, normal=True), 0.2, 1.3, 1e5),
    ]
    if options.whole:
        attacks.append(("Sage's bets", LAW, 0.05, 1.2, 1e9))
    for bets, law, delta, growth, depth in attacks:
        chances = {kind: adversary(law, delta, growth, depth, kind) for kind in ("none", "robust", "trusting")}
        good = good and chances["robust"] <= delta
        found = ", ".join(f"{kind} {chance:.4f}" for kind, chance in chances.items())
        print(f"adversary against {bets}, δ = {delta}, growth {growth}: {found}", flush=True)
    for items, delta, epsilon, scale in (
        (2, 0.3, 0, 1),
        (3, 0.3, 0, 1),
        (2, 0.3, 0, -1),
        (3, 0.3, 0.3, 1),
        (3, 0.05, 0, -1),
    ):
        wrong, high = searches(items, delta, epsilon, scale, options.runs, 3)
        good = good and high <= delta
        said = "as stated" if scale > 0 else "overstated, another in each round"
        print(
            f"Sage, {items} items, δ = {delta}, ε = {epsilon}, σ {said}: {wrong} of {options.runs} (≤ {high:.4f})",
            flush=True,
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
