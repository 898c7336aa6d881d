"""How often a wrong guess is shown with much confidence: python benchmarks/confidence_attained.py [--runs 20000].

Sage measures where items nearly tie, and somebody looks after every round. For each α the table counts the runs in
which a wrong item was shown with a confidence of 1 - α or more. In nine cases Sage plans the rounds; besides, for two
and four items that are measured equally often, its accounts alone are simulated, in more runs and 150 rounds each:

  drawn       at a moment drawn beforehand, with the item in front
  best        at the moment that looks best: the item in front has more confidence there than at any other
  ever        at any moment, with the item in front
  any item    at any moment, with any item at all: an adversary chooses both; this is what the theorem bounds
  carried     not what is shown: the largest confidence of any item in front so far, kept when another one takes over

The 99 % upper bound of each of the first four must not exceed α. The last one has no bound; where it exceeds α beyond
doubt is marked by *.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

import probewise as pw
from probewise.coordinates import Array
from probewise.design import remembering
from probewise.simulation import LinearEnvironment
from probewise.simulation.table import exact_rate

ALPHAS = (0.5, 0.2, 0.1, 0.05, 0.01)
KINDS = ("drawn", "best", "ever", "any item", "carried")
ROUNDS = 30
CHUNK = 2000
"""Runs whose accounts are simulated at once."""
DELTA = 0.002
"""Small enough that searches go on when α has been reached."""


@dataclass(frozen=True)
class Case:
    """Items that nearly tie."""

    problem: pw.Problem
    theta: Array
    epsilon: float = 0.0
    delta: float = DELTA

    @property
    def wrong(self) -> list[int]:
        """Items that are not within epsilon of the best."""
        values = self.problem.items @ self.theta
        return np.flatnonzero(values < values.max() - self.epsilon).tolist()


TWO = pw.Problem(np.eye(2))
MIXED = pw.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.7, 0.29]])
CASES = {
    "two items": Case(TWO, np.array([1e-3, 0.0])),
    "four items": Case(pw.Problem(np.eye(4)), np.array([1e-3, 0.0, 0.0, 0.0])),
    "a mixture": Case(MIXED, np.array([1e-3, 0.0])),
    "unknown noise": Case(replace(TWO, outcome=pw.Gaussian(1.0, unknown=True)), np.array([1e-3, 0.0])),
    "within 0.1": Case(TWO, np.array([0.101, 0.0]), epsilon=0.1),
    "normal noise": Case(replace(TWO, outcome=pw.Gaussian(1.0, normal=True)), np.array([1e-3, 0.0])),
    "normal noise, δ = 0.05": Case(
        replace(TWO, outcome=pw.Gaussian(1.0, normal=True)), np.array([1e-3, 0.0]), 0.0, 0.05
    ),
    "coins": Case(replace(TWO, outcome=pw.Bounded()), np.array([0.03 + 1e-5, 0.03])),
    "events": Case(replace(TWO, outcome=pw.Poisson()), np.array([2.0 + 1e-3, 2.0])),
}


def looks(case: Case, seed: int, rounds: int = ROUNDS) -> list[tuple[int, float, Array]]:
    """After each round: the item in front, its confidence, and what each item would have."""
    algorithm, goal = pw.Sage(growth=1.25), pw.BestItem(case.delta, epsilon=case.epsilon)
    problem, environment = case.problem, LinearEnvironment(case.problem, case.theta)
    state, rng, seen = algorithm.init(problem, goal), np.random.default_rng([seed, 14]), []
    for _ in range(rounds):
        if algorithm.answer(problem, goal, state) is not None:
            break
        state = algorithm.tell(problem, goal, state, environment.draw(algorithm.ask(problem, goal, state, rng), rng))
        front, sure = algorithm.standing(problem, goal, state).guess[0], algorithm.confidence(problem, goal, state)
        each = [1.0 - problem.outcome.part * goal.delta - state.peaks.doubt(z) for z in range(problem.n_items)]
        assert sure is not None
        assert sure == max(0.0, each[front])
        seen.append((front, sure, np.array(each)))
    return seen


def shown(seen: Sequence[tuple[int, float, Array]], wrong: Sequence[int], drawn: float) -> list[float]:
    """For each of KINDS, the largest confidence with which a wrong item was shown; -inf for none."""
    claims = [sure if front in wrong else -math.inf for front, sure, _ in seen]
    best = int(np.argmax([sure for _, sure, _ in seen]))
    adversary = max((float(each[item]) for _, _, each in seen for item in wrong), default=-math.inf)
    kept = np.maximum.accumulate([sure for _, sure, _ in seen])
    carried = max(k if front in wrong else -math.inf for k, (front, _, _) in zip(kept, seen, strict=True))
    return [claims[min(int(drawn * ROUNDS), len(seen) - 1)], claims[best], max(claims), adversary, float(carried)]


def audited(case: Case, runs: int, first: int = 0) -> Array:
    """(runs, 5): what ``shown`` says of each run."""
    moments = np.random.default_rng(first).random(runs)
    with remembering():
        return np.array([shown(looks(case, first + run), case.wrong, moments[run]) for run in range(runs)])


def accounts(sums: Array, counts: Array, opening: float = 0.1) -> Array:
    """(rounds, runs, k): logs of Sage's accounts after each round, of k items that are the probes themselves.

    ``sums`` (rounds, runs, k) are of all outcomes of a probe so far, ``counts`` (rounds,) how many these are. The unit
    is the precision after one measurement of each or, without an ``opening``, after two. As ``Sage(printed=False,
    patient=False)``; nothing is ruled out.
    """
    law, wealth, unit, (_, runs, k) = (
        pw.Gaussian(),
        np.zeros(sums.shape),
        np.full(1, 0.5 if opening else 1.0),
        sums.shape,
    )
    leads = 0.5 * (sums[0][:, :, None] - sums[0][:, None, :])  # of the middle one over the last
    made = law.log_account(leads.ravel(), np.full(leads.size, 0.5 * counts[0]), 0.05 * unit, 1.0).reshape(runs, k, k)
    wealth[0] = np.log1p(opening * (np.where(leads > 0, np.exp(made), 0.0).sum(axis=1) / (k - 1) - 1.0))
    for at in range(1, len(sums)):
        first, second = np.argsort(-sums[at - 1], axis=1, kind="stable")[:, :2].T[:, :, None]
        rival = np.where(np.arange(sums.shape[2]) == first, second, first)
        leads = (0.5 * (np.take_along_axis(sums[t], rival, axis=1) - sums[t]) for t in (at, at - 1))
        made = [
            law.log_account(lead.ravel(), np.full(lead.size, 0.5 * counts[t]), unit, 1.0)
            for t, lead in zip((at, at - 1), leads, strict=True)
        ]
        wealth[at] = wealth[at - 1] + (made[0] - made[1]).reshape(rival.shape)
    return wealth


def compared(
    runs: int, items: int, rounds: int = 150, growth: float = 1.05, first: int = 0, *, opening: float = 0.1
) -> Array:
    """(runs, 5): what ``shown`` says of items of which Sage is told as many measurements of each in every round."""
    if runs > CHUNK:
        rest = compared(runs - CHUNK, items, rounds, growth, first + 1, opening=opening)
        return np.concatenate([compared(CHUNK, items, rounds, growth, first, opening=opening), rest])
    sizes = [2]
    while len(sizes) < rounds:
        sizes.append(max(2, math.ceil((growth - 1.0) * sum(sizes))))
    rng, size = np.random.default_rng([first, items]), np.array(sizes, dtype=np.float64)[:, None, None]
    steps = size * (np.arange(items) == 0) * 1e-3 + np.sqrt(size) * rng.standard_normal((rounds, runs, items))
    sums = np.cumsum(steps, axis=0)
    peaks = np.maximum.accumulate(accounts(sums, np.cumsum(sizes), opening), axis=0)
    least = np.partition(peaks, 1, axis=2)
    others = np.where(peaks > least[..., :1], least[..., :1], least[..., 1:2])  # the smallest of all but one's own
    each, front = 1.0 - np.exp(-others), np.argmax(sums, axis=2)
    sure = np.take_along_axis(each, front[..., None], axis=2)[..., 0]
    claims, kept = (np.where(front > 0, kind, -np.inf) for kind in (sure, np.maximum.accumulate(sure, axis=0)))
    run, drawn = np.arange(runs), rng.integers(rounds, size=runs)
    best, adversary = claims[np.argmax(sure, axis=0), run], each[-1, :, 1:].max(axis=1)
    return np.stack([claims[drawn, run], best, claims.max(axis=0), adversary, kept.max(axis=0)], axis=1)


def tabled(name: str, found: Array) -> int:
    """Prints a table and returns how many of its bounds exceed α."""
    bad, runs = 0, len(found)
    print(f"{name}: {runs:,} runs\n  {'α':<6}" + "".join(f"{kind:>16}" for kind in KINDS))
    for alpha in ALPHAS:
        rates = [exact_rate(int((found[:, at] >= 1.0 - alpha).sum()), runs) for at in range(len(KINDS))]
        bad += sum(rate.high > alpha for rate in rates[:-1])
        cells = [f"{rate.value:.4f} ≤ {rate.high:.4f}" for rate in rates]
        print(f"  {alpha:<6}" + "".join(f"{cell:>16}" for cell in cells) + " *" * (rates[-1].low > alpha), flush=True)
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000, help="Of the accounts alone.")
    parser.add_argument("--planned", type=int, default=4_000, help="Runs of each of the cases that Sage plans.")
    parser.add_argument("--only", default="", help="Cases whose name contains this, such as 'accounts' or 'coins'.")
    given = parser.parse_args()
    print("share of runs, and its 99 % upper bound")
    alone = {f"accounts of {items} items": items for items in (2, 4)}
    bad = sum(tabled(name, compared(given.runs, items)) for name, items in alone.items() if given.only in name)
    for name, case in CASES.items() if given.planned else ():
        bad += tabled(name, audited(case, given.planned)) if given.only in name else 0
    print("all bounds hold" if not bad else f"{bad} bounds exceed α")


if __name__ == "__main__":
    main()
