"""The top m by claims that share δ, and by one account for all lists: python benchmarks/top_accounts.py.

Items are measured one by one, equally often, in rounds that grow the total by a tenth; both rules see the same
outcomes. "Union": every claim of the list at the estimate has an account of (M - 1)/δ, as Sage asks for (docs/sage.md).
"Shared": against every other list S one account, which bets before each round that some item of the list Ŝ at the
estimate is ahead of one of S that is not in Ŝ; against Ŝ, that the best outsider is ahead of the worst insider. On a
change of Ŝ all are worth at least A times the smallest growth of any of these since the last change; Ŝ is declared when
A times the growth of each of its claims is 1/δ. Nothing is bet while the smallest lead is below some standard errors.
Prints the geometric mean of measurements for both, and their ratio with its standard error.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from probewise.confidence import log_wealth

DELTA = 0.05


def leads(total: np.ndarray, count: int, inside: np.ndarray) -> np.ndarray:
    """(m (M - m),): estimated sums S of each claim, an insider less an outsider, with precision count/2."""
    return (0.5 * (total[inside][:, None] - total[~inside][None, :])).ravel()


def once(values: np.ndarray, m: int, wait: float, run: int) -> tuple[int, int, bool]:
    """Measurements of both rules, and whether the shared one was wrong."""
    rng, size = np.random.default_rng([run, values.size, m]), values.size
    total, count, unit = np.zeros(size), 0, 1.0
    union = shared = 0
    wrong, log_a = False, 0.0
    inside = since = None
    base = 0.0  # of Ŝ's own bet
    while not (union and shared):
        more = max(2, math.ceil(0.1 * count))
        before = (total.copy(), count)
        total = total + more * values + math.sqrt(more) * rng.standard_normal(size)
        count += more
        now = np.zeros(size, dtype=bool)
        now[np.argsort(-total, kind="stable")[:m]] = True
        w = np.full(m * (size - m), 0.5 * count)
        wealth = log_wealth(leads(total, count, now), w, np.full(w.size, unit))
        if not union and wealth.min() >= math.log((size - 1) / DELTA):
            union = count * size
        if shared:
            continue
        if inside is not None and since is not None:  # bets were placed on the list before this round
            own = log_wealth(leads(total, count, inside), w, np.full(w.size, unit)) - since
            against = base + _gain(before, (total, count), inside, unit)
            if (now == inside).all():
                base = against
                if log_a + own.min() >= math.log(1.0 / DELTA):
                    shared = count * size
                    wrong = values[inside].min() < values[~inside].max()
                continue
            log_a, base = log_a + min(own.min(), against), 0.0
        lead = (total[now].min() - total[~now].max()) / math.sqrt(2.0 * count)
        inside, since = (now, wealth) if lead >= wait else (None, None)
    return union, shared, wrong


def _gain(before: tuple[np.ndarray, int], after: tuple[np.ndarray, int], inside: np.ndarray, unit: float) -> float:
    """Log of what a bet makes in a round that the best outsider is ahead of the worst insider, as both were before."""
    (old, n), (new, k) = before, after
    low = np.flatnonzero(inside)[np.argmin(old[inside])]
    high = np.flatnonzero(~inside)[np.argmax(old[~inside])]
    sums = [0.5 * (t[high] - t[low]) for t in (old, new)]
    logs = log_wealth(np.array(sums), np.array([0.5 * n, 0.5 * k]), np.full(2, unit))
    return float(logs[1] - logs[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    runs = parser.parse_args().runs
    for size, m in ((10, 3), (50, 5), (200, 10)):
        values = {
            "a step": np.where(np.arange(size) < m, 0.5, 0.0),
            "evenly spaced": np.linspace(1.0, 0.0, size) * 0.1 * size,
        }
        for name, truth in values.items():
            for wait in (0.5, 1.5, 2.5):
                found = [once(truth, m, wait, run) for run in range(runs)]
                logs = np.log(np.array([row[:2] for row in found], dtype=float))
                ratio = logs[:, 1] - logs[:, 0]
                error = ratio.std(ddof=1) / math.sqrt(runs)
                print(
                    f"top {m} of {size}, {name}, waiting for {wait:g}: union {np.exp(logs[:, 0].mean()):,.0f}, shared "
                    f"{np.exp(logs[:, 1].mean()):,.0f}, ratio {np.exp(ratio.mean()):.3f} ± {error:.3f}; "
                    f"{sum(row[2] for row in found)} wrong of {runs}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
