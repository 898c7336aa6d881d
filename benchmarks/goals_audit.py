"""The guarantee for every question and law on hostile instances: an item a hair's breadth from changing the answer.

Whatever is declared is then wrong about half of the time, so that every declaration counts. Runs end at a budget; wrong
answers are counted over all runs, and the upper end of the 99 % interval must not exceed δ. Rademacher noise and noise
of unknown scale too.

    python benchmarks/goals_audit.py --runs 2000 [--delta 0.3]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import probewise as pw
from probewise.design import remembering
from probewise.run import loop
from probewise.simulation.environment import Noise
from probewise.simulation.table import exact_rate

HAIR = 1e-9
BUDGET = 400
"""Measurements of a run; a hundred times as many for coins, of which little is learned from one."""


def cases() -> dict[str, tuple[pw.Problem, list[float], pw.Goal, Noise | None]]:
    """Name -> problem, truth, goal with δ to come, noise."""
    four, names = np.eye(4), ["A", "B", "C", "D"]
    plain = pw.Problem(four, item_names=names)
    unknown = pw.Problem(four, item_names=names, sigma="unknown")
    tied = [1.0, HAIR, 0.0, -1.0]
    level = [0.0, 0.0, HAIR, 0.0]
    two, coins = (pw.Problem(np.eye(k), outcome=pw.Bounded()) for k in (2, 4))
    skewed = [0.9, 0.01, 0.01 + HAIR, 0.2]
    return {
        "best of 4, all tie": (plain, level, pw.BestItem(), None),
        "best of 4, all tie, signs": (plain, level, pw.BestItem(), "rademacher"),
        "best of 4, all tie, unknown noise": (unknown, level, pw.BestItem(), None),
        "best of 2 coins at 1 %": (two, [0.01, 0.01 + HAIR], pw.BestItem(), None),
        "best of 2 coins at 50 %": (two, [0.5, 0.5 + HAIR], pw.BestItem(), None),
        "best of 2 coins at 99 %": (two, [0.99, 0.99 - HAIR], pw.BestItem(), None),
        "best of 4 coins at 3 %": (coins, [0.03, 0.03, 0.03 + HAIR, 0.03], pw.BestItem(), None),
        "best of 2 coins, a tolerance": (two, [0.05, 0.03 - HAIR], pw.BestItem(epsilon=0.02), None),
        "top 2 of 4 coins, two tie at 1 %": (coins, skewed, pw.TopM(2), None),
        "coins above 1 %, two at the limit": (coins, skewed, pw.Above(0.01 + HAIR / 2), None),
        "coins better than A, all as good": (
            pw.Problem(np.eye(4), outcome=pw.Bounded(), item_names=names),
            [0.02, 0.02 + HAIR, 0.02 - HAIR, 0.02 + HAIR],
            pw.BetterThan("A"),
            None,
        ),
        "top 2, second and third tie": (plain, tied, pw.TopM(2), None),
        "top 2, all tie": (plain, level, pw.TopM(2), None),
        "top 2, all tie, signs": (plain, level, pw.TopM(2), "rademacher"),
        "top 2, all tie, unknown noise": (unknown, level, pw.TopM(2), None),
        "above 0, all at the limit": (plain, [HAIR, -HAIR, HAIR, -HAIR], pw.Above(0.0), None),
        "above 0, all at the limit, signs": (plain, [HAIR, -HAIR, HAIR, -HAIR], pw.Above(0.0), "rademacher"),
        "better than A, all as good": (plain, [0.0, HAIR, -HAIR, HAIR], pw.BetterThan("A"), None),
        "better than A, tolerance": (
            plain,
            [0.0, -0.3, -0.3 - HAIR, 0.3 + HAIR],
            pw.BetterThan("A", epsilon=0.3),
            None,
        ),
    }


def once(problem: pw.Problem, theta: list[float], goal: pw.Goal, noise: Noise | None, run: int) -> tuple[bool, bool]:
    """Whether an answer was declared within the budget, and whether it was wrong."""
    environment = pw.LinearEnvironment(problem, np.array(theta), noise)
    result = loop(
        problem,
        goal,
        pw.Sage(growth=1.5),
        observe=lambda counts, step: environment.draw(counts, np.random.default_rng([run, step, 1])),
        stream=lambda step: np.random.default_rng([run, step, 0]),
        budget=BUDGET * (100 if isinstance(problem.outcome, pw.Bounded) else 1),
        keep=False,
    )
    declared = result.status == "identified" and result.items is not None
    return declared, declared and not goal.right(problem, problem.items @ np.array(theta), result.items or ())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--delta", type=float, default=0.3)
    parser.add_argument("--only", default="", help="Cases whose name contains this.")
    options = parser.parse_args()
    failed = []
    for name, (problem, theta, goal, noise) in cases().items():
        if options.only not in name:
            continue
        start = time.perf_counter()
        with remembering(keep=True):
            found = [once(problem, theta, goal.at(options.delta), noise, run) for run in range(options.runs)]
        declared, wrong = (sum(part) for part in zip(*found, strict=True))
        rate = exact_rate(wrong, options.runs)
        bad = rate.high > options.delta
        failed += [name] * bad
        print(
            f"{name}: {declared} declared, {wrong} wrong of {options.runs}, 99 % interval [{rate.low:.4f}, "
            f"{rate.high:.4f}], δ = {options.delta:g}; {time.perf_counter() - start:.0f} s{' FAILED' * bad}",
            flush=True,
        )
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
