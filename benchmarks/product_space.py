"""Product spaces: time and memory at 10⁹ combinations, measurements beside the listed space, and an adversary.

python benchmarks/product_space.py [--only scale|compared|audit] [--runs N]; exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import time
from multiprocessing import get_context

import numpy as np
import pandas as pd

import probewise as pw

GOAL_SECONDS, GOAL_MB = 60.0, 1000.0


def protein(rng: np.random.Generator) -> pw.Problem:
    letters = list("ACDEFGHIKLMNPQRSTVWY")
    columns = {f"site {at}": letters for at in range(7)}
    probes = pd.DataFrame({name: rng.choice(letters, size=700) for name in columns})
    return pw.Problem.from_tables(probes, pw.space(columns, lazy=True), sigma=0.5)


def recipe(rng: np.random.Generator) -> pw.Problem:
    columns = {f"factor {at}": [f"{at}{letter}" for letter in "abcdefghij"] for at in range(9)}
    probes = pd.DataFrame({name: rng.choice(values, size=500) for name, values in columns.items()})
    return pw.Problem.from_tables(probes, pw.space(columns, lazy=True), sigma=0.5)


def descriptors(rng: np.random.Generator) -> pw.Problem:
    """Three places with a thousand building blocks each, six descriptors for each: a sum of linear effects."""
    blocks = [rng.standard_normal((1000, 6)) for _ in range(3)]
    items = np.zeros((3000, 18))
    for at, block in enumerate(blocks):
        items[1000 * at : 1000 * (at + 1), 6 * at : 6 * (at + 1)] = block
    some = rng.integers(1000, size=(400, 3))
    probes = np.hstack([block[some[:, at]] for at, block in enumerate(blocks)])
    return pw.Problem(probes, items, sigma=0.5, blocks=[1000] * 3)


def two_levels(rng: np.random.Generator) -> pw.Problem:
    columns = {f"switch {at}": ["off", "on"] for at in range(30)}
    probes = pd.DataFrame({name: rng.choice(values, size=100) for name, values in columns.items()})
    return pw.Problem.from_tables(probes, pw.space(columns, lazy=True), sigma=0.5)


SPACES = {"7 sites × 20": protein, "9 factors × 10": recipe, "3 places × 1,000": descriptors, "30 switches": two_levels}


def found(name: str) -> tuple[float, ...]:
    """What one search takes, in a process of its own."""
    rng = np.random.default_rng(1)
    began = time.process_time()
    problem = SPACES[name](rng)
    theta = rng.standard_normal(problem.dimension)
    result = pw.identify(problem, measure=pw.LinearEnvironment(problem, theta).measure, seed=0)
    right = pw.BestCombination().right(problem, problem.items @ theta, result.items or ())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    size = (problem.n_combinations, problem.n_probes, problem.dimension)
    return (*size, result.measurements, result.rounds, time.process_time() - began, memory, right)


def scale() -> bool:
    good = True
    for name in SPACES:
        with get_context("spawn").Pool(1) as pool:
            m, n, d, measured, rounds, seconds, memory, right = pool.apply(found, (name,))
        print(
            f"| {name} | {m:,} | {n} × {d} | {measured:,} | {rounds} | {seconds:.1f} s | {memory:.0f} MB |", flush=True
        )
        good &= bool(right) and seconds <= GOAL_SECONDS and memory <= GOAL_MB
    return good


def one_hot(levels: tuple[int, ...], size: int) -> np.ndarray:
    row = np.zeros(1 + len(levels) * size)
    row[0] = 1.0
    row[1 + np.arange(len(levels)) * size + np.array(levels)] = 1.0
    return row


def additive(
    F: int, L: int, n: int, seed: int, theta: np.ndarray | None = None
) -> tuple[pw.Problem, pw.Problem, np.ndarray]:
    """The same space, not listed and listed."""
    rng = np.random.default_rng(seed)
    probes = np.array([one_hot(tuple(rng.integers(L, size=F)), L) for _ in range(n)])
    levels = [one_hot(tuple(at if g == f else 0 for g in range(F)), L) for f in range(F) for at in range(L)]
    every = np.array([one_hot(levels, L) for levels in itertools.product(range(L), repeat=F)])
    truth = rng.standard_normal(1 + F * L) if theta is None else theta
    return pw.Problem(probes, np.array(levels), blocks=[L] * F), pw.Problem(probes, every), truth


def compared(runs: int) -> None:
    """Measurements beside the same space with all combinations as items, and beside a union over claims."""
    for F, L, n, seed in ((4, 5, 60, 0), (6, 3, 40, 2), (8, 2, 30, 3)):
        lazy, listed, theta = additive(F, L, n, seed)
        bound = pw.hardness(lazy, theta).kl_lower_bound(0.05)
        means = []
        for problem, goal in ((lazy, None), (listed, None), (lazy, pw.BestCombination(epsilon=1e-9))):
            table = pw.simulate(problem, theta, pw.Sage(), goal, runs=runs, seed=5)
            cost = np.array(table["measurements"], dtype=float)
            means.append(f"{cost.mean() / bound:.2f} ± {cost.std() / np.sqrt(runs) / bound:.2f}")
        print(
            f"{F} blocks of {L}: {means[0]} times the limit, listed {means[1]}, a union over claims {means[2]}",
            flush=True,
        )


def wrong(runs: int, delta: float, gap: float, seed: int, steps: int = 40) -> int:
    """Runs in which a wrong combination is ever declared: all levels of all blocks tied but for ``gap``."""
    F, L = 4, 3
    theta = np.zeros(1 + F * L)
    theta[1::L] = gap
    problem, _, _ = additive(F, L, 24, 7, theta)
    goal, sage, truth, bad = pw.BestCombination(delta), pw.Sage(growth=1.5), pw.LinearEnvironment(problem, theta), 0
    best = goal.answer(problem, problem.items @ theta)
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        state = sage.init(problem, goal)
        for _ in range(steps):
            state = sage.tell(problem, goal, state, truth.draw(sage.ask(problem, goal, state, rng), rng))
            gone = set(range(problem.n_items)) - set(sage.standing(problem, goal, state).remaining.tolist())
            answer = sage.answer(problem, goal, state)
            if (answer is not None and answer != best) or gone & set(best):
                bad += 1
            if answer is not None or gone & set(best):
                break
    return bad


def audit(runs: int) -> bool:
    from scipy.stats import beta

    good = True
    for delta, gap in ((0.3, 0.0), (0.3, 0.02), (0.05, 0.0)):
        bad = wrong(runs, delta, gap, seed=11)
        upper = float(beta.ppf(0.95, bad + 1, runs - bad)) if bad < runs else 1.0
        print(f"δ = {delta}, gap {gap}: the best was ruled out in {bad} of {runs} runs (≤ {upper:.4f})", flush=True)
        good &= upper <= delta
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=("scale", "compared", "audit"))
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    fine = True
    if options.only in (None, "scale"):
        fine &= scale()
    if options.only in (None, "compared"):
        compared(options.runs)
    if options.only in (None, "audit"):
        fine &= audit(options.runs)
    sys.exit(0 if fine else 1)
