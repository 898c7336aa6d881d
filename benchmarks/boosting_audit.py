"""Attacks on boosted bets: python benchmarks/boosting_audit.py [--paths 20000].

1. *Means*: for random bets, boosts and scales of the noise (as stated, smaller, none), the mean of min(b·R, c), by a
   quadrature of its own; it must be at most 1.
2. *Adversary*: at a tie, somebody chooses the true scale of the noise of each round, at most the stated one, by all
   that was seen before, so that the account of the best item grows most on average; how often it ever reaches 1/δ.
   The same for the boost that trusts the stated scale, which is not safe.
3. *Sage*: two items and three that tie exactly, δ = 0.3 and 0.05, σ as stated and overstated; how often a best item is
   ruled out or, with epsilon, an item beyond it is declared. Exit code 1 if a mean is above 1 or an upper end of a
   99 % interval is above δ.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta

import probewise as pw
from probewise.algorithms.sage import boosting
from probewise.confidence import log_wealth
from probewise.coordinates import Array
from probewise.measurements import Measurements
from probewise.pooling import Sums

LAW = pw.Gaussian(1.0, normal=True)
SCALES = np.linspace(0.0, 1.0, 11)


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


def adversary(paths: int, delta: float, seed: int, *, trust: bool, growth: float) -> tuple[int, float]:
    """How many accounts of a best item at a tie ever reach 1/δ if somebody chooses the scale of each round's noise."""
    rng, need = np.random.default_rng(seed), math.log(1 / delta)
    places, nodes = boosting.table().places, np.polynomial.hermite_e.hermegauss(31)
    x, mass = nodes[0], nodes[1] / nodes[1].sum()
    total, precision, log = np.sqrt(0.5) * rng.standard_normal(paths), np.full(paths, 0.5), np.zeros(paths)
    out = np.zeros(paths, dtype=bool)
    for _ in range(int(math.log(1000) / math.log(growth))):
        on = np.flatnonzero(~out)
        s, w = total[on], precision[on]
        more, unit, lacking = (growth - 1) * w, np.full(on.size, 0.5), need - log[on]
        begun = log_wealth(s, w, unit)
        root = np.sqrt(more)
        if trust:
            at = s[:, None] + root[:, None] * places
            made = log_wealth(at, (w + more)[:, None], unit[:, None]) - begun[:, None]
            near = lacking < math.log(12.0)
            by = np.zeros(on.size)
            by[near] = trusting(made[near], np.exp(lacking[near]))
        else:
            by = boosting.boosts(LAW, Sums(w, s), more, unit, 1.0, lacking)
        rho, close = np.ones(on.size), np.flatnonzero(by > 0)  # without a boost, no scale is better than the stated one
        value = np.zeros((SCALES.size, close.size))
        for k, scale in enumerate(SCALES):  # the mean of what the account will be, by the adversary's own quadrature
            at = s[close, None] + scale * root[close, None] * x
            made = log_wealth(at, (w + more)[close, None], unit[close, None]) - begun[close, None] + by[close, None]
            value[k] = np.exp(np.minimum(made, lacking[close, None])) @ mass
        rho[close] = SCALES[np.argmax(value, axis=0)]
        total[on] = s + rho * root * rng.standard_normal(on.size)
        precision[on] = w + more
        made = log_wealth(total[on], precision[on], unit) - begun
        log[on] += np.where(by > 0, np.minimum(made + by, lacking + boosting.CAP), made)
        out[on] = log[on] >= need
    return int(out.sum()), upper(int(out.sum()), paths)


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
    parser.add_argument("--paths", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=400)
    options = parser.parse_args()
    worst = means(options.cases, 1)
    good = worst <= 1.0
    print(f"largest mean of {options.cases} bets at eight scales each: {worst:.9f}", flush=True)
    for delta, growth in ((0.05, 1.1), (0.2, 1.1), (0.05, 1.5)):
        for trust in (False, True):
            wrong, high = adversary(options.paths, delta, 2, trust=trust, growth=growth)
            good = good and (trust or high <= delta)
            kind = "trusts σ" if trust else "robust  "
            print(
                f"adversary, δ = {delta}, growth {growth}, {kind}: {wrong / options.paths:.4f} (≤ {high:.4f})",
                flush=True,
            )
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
