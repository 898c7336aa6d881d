"""The guarantee for every question, law and promise on hostile instances, in pieces that can be run side by side.

Items are a hair's breadth from changing the answer, so that whatever is declared is wrong about half of the time and
every declaration counts; or near ties, a few standard errors from it at the end. Runs end at a budget; wrong answers
are counted over all runs, and the upper end of the exact 99 % interval must not exceed δ. Where a share of a list may
be wrong, items are on the wrong side, and somebody who knows the truth and looks after each round ends the search at
the first list in which one is wrong: what is counted is the share of wrong items in it. Sage plans the rounds; those of
coins, counts and rows with their own precision measure every probe as often.

    python benchmarks/goals_audit.py --runs 5000 [--delta 0.3] [--only share] [--pieces FILE]

Finished pieces of 250 runs are kept in FILE, one line each; the same command goes on where another one stopped or is
still at work, and `--show` prints what there is. Run r of a cell draws from streams keyed by r, whoever runs it.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import probewise as pw
from probewise.design import remembering
from probewise.run import Progress, loop
from probewise.simulation.environment import Noise
from probewise.simulation.table import exact_rate

HAIR = 1e-9
PIECE = 250
FOUR, NAMES = np.eye(4), ["A", "B", "C", "D"]


@dataclass(frozen=True)
class Cell:
    """One instance."""

    problem: pw.Problem
    theta: list[float]
    goal: pw.Goal
    noise: Noise | None = None
    budget: int = 400
    bias: tuple[float, ...] | None = None
    really: pw.Problem | None = None
    """The problem as it is, if noise is smaller than stated."""
    weighted: bool = False
    """Whether rows bring their own precision."""
    chased: bool = False
    """Whether somebody who knows the last item to be the best plans the rounds."""

    @property
    def planner(self) -> pw.Sage:
        """Who plans the rounds: by default Sage itself."""
        if self.chased:
            return Chaser()
        return Even(growth=1.5) if self.problem.outcome.learns or self.weighted else pw.Sage(growth=1.5)


class Chaser(pw.Sage):
    """Sage whose rounds are planned against it: they compare the last item with those on the other side of the border.

    So the list in front changes as often as it can, and every change is one for or against the one item that counts.
    """

    def ask(self, problem: pw.Problem, goal: pw.Goal, state: Any, rng: np.random.Generator) -> Any:
        """All items at first; then the last one and those that it must not be behind, or must not be ahead of."""
        last, guess = problem.n_probes - 1, self.standing(problem, goal, state).guess
        counts = np.zeros(problem.n_probes, dtype=np.int64)
        inside = np.isin(np.arange(last + 1), guess)
        chosen = (inside != inside[last]) if guess else np.ones(last + 1, dtype=np.bool_)
        chosen[last] = True
        counts[chosen] = max(1, math.ceil(0.2 * state.data.n / chosen.sum()))
        return counts


class Even(pw.Sage):
    """Sage whose rounds measure every probe as often: designs for scales that are learned would take most of the time.

    The theorems hold for any rounds.
    """

    def ask(self, problem: pw.Problem, goal: pw.Goal, state: Any, rng: np.random.Generator) -> Any:
        """As many measurements as Sage would ask for, rounded up."""
        size = self._size(state.data.n, state.prior)
        return np.full(problem.n_probes, math.ceil(size / problem.n_probes), dtype=np.int64)


class Ended(Exception):
    """Somebody ends the search."""


def cells() -> dict[str, Cell]:
    """Name -> instance, with δ to come."""
    plain = pw.Problem(FOUR, item_names=NAMES)
    normal = pw.Problem(FOUR, outcome=pw.Gaussian(1.0, normal=True))
    wide = pw.Problem(FOUR, outcome=pw.Gaussian(2.0, normal=True))
    six, six_normal = (pw.Problem(np.eye(6), outcome=pw.Gaussian(1.0, normal=normal)) for normal in (False, True))
    ten, ten_normal = (pw.Problem(np.eye(10), outcome=pw.Gaussian(1.0, normal=normal)) for normal in (False, True))
    unknown = pw.Problem(FOUR, item_names=NAMES, sigma="unknown")
    one, one_unknown = pw.Problem(np.eye(1)), pw.Problem(np.eye(1), sigma="unknown")
    single, two, coins = (pw.Problem(np.eye(k), outcome=pw.Bounded()) for k in (1, 2, 4))
    named = pw.Problem(FOUR, outcome=pw.Bounded(), item_names=NAMES)
    border = [3.0, 3.0, 0.0, -3.0, -3.0, HAIR]
    tied, level, below = [1.0, HAIR, 0.0, -1.0], [0.0, 0.0, HAIR, 0.0], [-HAIR] * 4
    behind, skewed = [0.0, -HAIR, -HAIR, -HAIR], [0.9, 0.01, 0.01 + HAIR, 0.2]
    limit = [HAIR, -HAIR, HAIR, -HAIR]
    above, better = pw.Above(0.0), pw.BetterThan("A")
    out = {
        "best of 2, a tie": Cell(pw.Problem(np.eye(2)), [0.0, HAIR], pw.BestItem()),
        "best of 4, all tie": Cell(plain, level, pw.BestItem()),
        "best of 4, all tie, signs": Cell(plain, level, pw.BestItem(), "rademacher"),
        "best of 4, all tie, unknown noise": Cell(unknown, level, pw.BestItem()),
        "best of 10, all tie": Cell(ten, [HAIR, *[0.0] * 9], pw.BestItem(), budget=1000),
        "best of 10, all tie, signs": Cell(ten, [HAIR, *[0.0] * 9], pw.BestItem(), "rademacher", budget=1000),
        "best of 10, all tie, normal": Cell(ten_normal, [HAIR, *[0.0] * 9], pw.BestItem(), budget=1000),
        "best of 4, near ties": Cell(plain, [0.0, 0.1, 0.1, 0.2], pw.BestItem(), budget=1500),
        "top 2, second and third tie": Cell(plain, tied, pw.TopM(2)),
        "top 2, all tie": Cell(plain, level, pw.TopM(2)),
        "top 2, all tie, signs": Cell(plain, level, pw.TopM(2), "rademacher"),
        "top 2, second and third tie, signs": Cell(plain, tied, pw.TopM(2), "rademacher"),
        "top 2, second and third tie, unknown noise": Cell(unknown, tied, pw.TopM(2)),
        "top 2, all tie, normal": Cell(normal, level, pw.TopM(2)),
        "top 2, second and third tie, normal": Cell(normal, tied, pw.TopM(2)),
        "top 2, all tie, half of the stated normal noise": Cell(wide, level, pw.TopM(2), really=normal),
        "top 2, pairs tie at the border": Cell(six, [1.0, HAIR, HAIR, 0.0, 0.0, -1.0], pw.TopM(2)),
        "top 3 of 6, a tie at the border, rounds that follow the lead": Cell(six, border, pw.TopM(3), chased=True),
        "top 3 of 6, a tie at the border, normal, rounds that follow the lead": Cell(
            six_normal, border, pw.TopM(3), chased=True
        ),
        "top 2, tolerance, at its edge": Cell(plain, [1.0, -0.3 - HAIR, 0.0, -1.0], pw.TopM(2, epsilon=0.3)),
        "above 0, one item at the limit": Cell(one, [-HAIR], above),
        "above 0, one item at the limit, signs": Cell(one, [-HAIR], above, "rademacher"),
        "above 0, one item at the limit, unknown noise": Cell(one_unknown, [-HAIR], above),
        "above 0, all at the limit": Cell(plain, limit, above),
        "above 0, all at the limit, normal": Cell(normal, limit, above),
        "above 0, all at the limit, signs": Cell(plain, limit, above, "rademacher"),
        "above 0, near the limit": Cell(plain, [0.1, -0.1, 0.15, -0.15], above, budget=1500),
        "better than A, all as good": Cell(plain, limit, better),
        "better than A, all as good, unknown noise": Cell(unknown, limit, better),
        "better than A, tolerance": Cell(plain, [0.0, -0.3, -0.3 - HAIR, 0.3 + HAIR], pw.BetterThan("A", epsilon=0.3)),
    }
    share, than = pw.Above(0.0, promise="share"), pw.BetterThan("A", promise="share")
    out |= {
        "share above 0, all at the limit": Cell(plain, below, share),
        "share above 0, all at the limit, signs": Cell(plain, below, share, "rademacher"),
        "share above 0, all at the limit, unknown noise": Cell(unknown, below, share),
        "share above 0, three of four right": Cell(plain, [2.0, 2.0, 2.0, -HAIR], share),
        "share better than A, all as good": Cell(plain, behind, than),
        "share better than A, all as good, unknown noise": Cell(unknown, behind, than),
        "share better than A, tolerance": Cell(
            plain, [0.0, *[-0.3 - HAIR] * 3], pw.BetterThan("A", epsilon=0.3, promise="share")
        ),
    }
    out |= misfits()
    rare, many = 0.01 + HAIR, 40_000
    out |= {
        "best of 2 coins at 1 %": Cell(two, [0.01, rare], pw.BestItem(), budget=many),
        "best of 2 coins at 50 %": Cell(two, [0.5, 0.5 + HAIR], pw.BestItem(), budget=many),
        "best of 2 coins at 99 %": Cell(two, [0.99, 0.99 - HAIR], pw.BestItem(), budget=many),
        "best of 2 coins, a tolerance": Cell(two, [0.05, 0.03 - HAIR], pw.BestItem(epsilon=0.02), budget=many),
        "top 3 of 4 coins, two tie at 1 %": Cell(coins, skewed, pw.TopM(3), budget=many),
        "coin above 1 %, at the limit": Cell(single, [0.01], pw.Above(rare), budget=many),
        "coins above 1 %, two at the limit": Cell(coins, skewed, pw.Above(0.01 + HAIR / 2), budget=many),
        "coins better than A, all as good": Cell(named, [0.02, 0.02 + HAIR, 0.02 - HAIR, 0.02 + HAIR], better,
                                                 budget=many),
        "share of coins above 1 %, all at the limit": Cell(coins, [0.01] * 4, pw.Above(rare, promise="share"),
                                                           budget=many),
        "share of coins better than A, all as good": Cell(named, [0.02 + HAIR, 0.02, 0.02, 0.02], than, budget=many),
    }  # fmt: skip
    return out | counts()


def counts() -> dict[str, Cell]:
    """Counts with few and with many events, at a tie or a limit; and rows that bring their own precision."""
    one, two, four = (pw.Problem(np.eye(k), outcome=pw.Poisson()) for k in (1, 2, 4))
    named = pw.Problem(FOUR, outcome=pw.Poisson(), item_names=NAMES)
    off = pw.Problem(np.eye(2), outcome=pw.Poisson(), misfit=0.2)
    rare, many = [0.05, 0.05 + HAIR], [100.0, 100.0 + HAIR]
    tied = [3.0, 1.0, 1.0 + HAIR, 0.2]
    than = pw.BetterThan("A", promise="share")
    plain, normal = pw.Problem(FOUR), pw.Problem(np.eye(2), outcome=pw.Gaussian(1.0, normal=True))
    level = [0.0, HAIR, 0.0, 0.0]
    return {
        "best of 2 counts of 0.05": Cell(two, rare, pw.BestItem(), budget=40_000),
        "best of 2 counts of 1": Cell(two, [1.0, 1.0 + HAIR], pw.BestItem(), budget=4_000),
        "best of 2 counts of 100": Cell(two, many, pw.BestItem()),
        "best of 2 counts, a tolerance": Cell(two, [1.0, 0.6 - HAIR], pw.BestItem(epsilon=0.4), budget=4_000),
        "best of 4 counts, all tie": Cell(four, [2.0, 2.0, 2.0 + HAIR, 2.0], pw.BestItem(), budget=4_000),
        "top 2 counts, two tie": Cell(four, tied, pw.TopM(2), budget=4_000),
        "count above 0.05, at the limit": Cell(one, [0.05], pw.Above(0.05 + HAIR), budget=40_000),
        "counts above 1, two at the limit": Cell(four, tied, pw.Above(1.0 + HAIR / 2), budget=4_000),
        "counts better than A, all as good": Cell(named, [2.0, 2.0 + HAIR, 2.0 - HAIR, 2.0 + HAIR],
                                                  pw.BetterThan("A"), budget=4_000),
        "share of counts above 1, all at the limit": Cell(four, [1.0] * 4, pw.Above(1.0 + HAIR, promise="share"),
                                                          budget=4_000),
        "share of counts better than A, all as good": Cell(named, [2.0 + HAIR, 2.0, 2.0, 2.0], than, budget=4_000),
        "best of 2 counts, each of its own exposure": Cell(two, [1.0, 1.0 + HAIR], pw.BestItem(), weighted=True),
        "counts above 1, each of its own exposure": Cell(four, tied, pw.Above(1.0 + HAIR / 2), weighted=True),
        "best of 4, all tie, each row with its own error": Cell(plain, level, pw.BestItem(), weighted=True),
        "best of 2, a tie, normal, each row with its own error": Cell(normal, level[:2], pw.BestItem(), weighted=True),
        "top 2, all tie, each row with its own error": Cell(plain, level, pw.TopM(2), weighted=True),
        "share above 0, each row with its own error": Cell(plain, [-HAIR] * 4, pw.Above(0.0, promise="share"),
                                                           weighted=True),
        "misfit, best of 2 counts": Cell(off, [1.0 + HAIR, 1.4], pw.BestItem(), budget=4_000, bias=(0.2, -0.2)),
    }  # fmt: skip


def misfits() -> dict[str, Cell]:
    """Probes that are off by all that is allowed, each in the direction that favours the wrong answer.

    Two items are compared by four probes, of which each item is a mean; the first pair reads too high.
    """
    h, half = 0.5, np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    two = np.array([[1.0, 0.5], [-1.0, 0.5]])
    known, unknown = (pw.Problem(half, two, misfit=h, sigma=sigma, item_names=["A", "B"]) for sigma in (1.0, "unknown"))
    coins = pw.Problem(np.column_stack([np.ones(4), 0.05 * half]), np.column_stack([np.ones(2), 0.05 * two]),
                       outcome=pw.Bounded(), misfit=0.01, item_names=["A", "B"])  # fmt: skip
    up, coin = (h, h, -h, -h), (0.01, 0.01, -0.01, -0.01)
    tie = [-HAIR, 0.0]
    share = pw.BetterThan("B", promise="share")
    return {
        "misfit, best of 2, a tie": Cell(known, tie, pw.BestItem(), bias=up),
        "misfit, best of 2, a tie, signs": Cell(known, tie, pw.BestItem(), "rademacher", bias=up),
        "misfit, best of 2, a tie, unknown noise": Cell(unknown, tie, pw.BestItem(), bias=up),
        "misfit, top 1, a tie": Cell(known, tie, pw.TopM(1), bias=up),
        "misfit, above 0, at the limit": Cell(known, tie, pw.Above(0.0), bias=up),
        "misfit, better than B, as good": Cell(known, tie, pw.BetterThan("B"), bias=up),
        "misfit, share better than B, as good": Cell(known, tie, share, bias=up),
        "misfit, best of 2 by coins": Cell(coins, [0.5, *tie], pw.BestItem(), budget=40_000, bias=coin),
    }


def once(cell: Cell, goal: pw.Goal, run: int) -> tuple[bool, bool]:
    """Whether an answer was declared or an item listed within the budget, and whether that was wrong.

    A share of wrong items between 0 and 1 counts as wrong with that probability: the mean is the same, and the exact
    interval holds.
    """
    share, seen = goal.promise == "share", list[tuple[int, ...]]()
    more = {} if cell.bias is None else {"bias": cell.bias}
    environment = pw.LinearEnvironment(cell.really or cell.problem, np.array(cell.theta), cell.noise, **more)
    values = cell.problem.items @ np.array(cell.theta)

    def look(now: Progress) -> None:
        listed = now.answer or now.standing.sure
        if goal.wrong_share(cell.problem, values, listed):
            seen.append(listed)
            raise Ended

    try:
        result = loop(
            cell.problem,
            goal,
            cell.planner,
            observe=lambda counts, step: drawn(cell, environment, counts, np.random.default_rng([run, step, 1])),
            stream=lambda step: np.random.default_rng([run, step, 0]),
            budget=cell.budget,
            keep=False,
            progress=look if share else None,
        )
    except Ended:
        wrong = goal.wrong_share(cell.problem, values, seen[0])
        return True, bool(np.random.default_rng([run, 2]).random() < wrong)
    declared = result.status == "identified" and result.items is not None and not share
    return declared, declared and not goal.right(cell.problem, values, result.items or ())


def drawn(
    cell: Cell, environment: pw.LinearEnvironment, counts: np.ndarray, rng: np.random.Generator
) -> pw.Measurements:
    """A round; rows that bring their own precision weigh as 1/4, 1 or 9 measurements, drawn before their outcomes."""
    if not cell.weighted:
        return environment.draw(counts, rng)
    at = np.repeat(np.arange(counts.size), counts)
    weights, means = rng.choice([0.25, 1.0, 9.0], at.size), environment.means[at]
    if isinstance(cell.problem.outcome, pw.Poisson):
        outcomes = rng.poisson(weights * means) / weights
    else:
        outcomes = means + rng.standard_normal(at.size) / np.sqrt(weights)
    return pw.Measurements.from_outcomes(counts.size, at, outcomes, weights)


def done(path: Path | None) -> dict[tuple[str, float, int], tuple[int, int, float]]:
    """(cell, δ, number of the piece) -> declared, wrong, seconds of processor time."""
    if path is None or not path.is_file():
        return {}
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {(row["cell"], row["delta"], row["piece"]): (row["declared"], row["wrong"], row["seconds"]) for row in lines}


def piece(name: str, cell: Cell, delta: float, number: int, path: Path | None) -> tuple[int, int, float]:
    """One piece of runs, put on file."""
    start, goal = time.process_time(), cell.goal.at(delta)
    with remembering(keep=True):
        found = [once(cell, goal, run) for run in range(number * PIECE, (number + 1) * PIECE)]
    declared, wrong = (int(sum(part)) for part in zip(*found, strict=True))
    seconds = time.process_time() - start
    if path is not None:
        row = {"cell": name, "delta": delta, "piece": number, "declared": declared, "wrong": wrong}
        with path.open("a", encoding="utf-8") as file:  # one write of one short line: whole, whoever else writes
            file.write(json.dumps(row | {"seconds": round(seconds, 2)}) + "\n")
    return declared, wrong, seconds


def shown(name: str, delta: float, parts: list[tuple[int, int, float]]) -> bool:
    """Print a row; whether it fails."""
    declared, wrong, seconds = (sum(column) for column in zip(*parts, strict=True))
    runs = PIECE * len(parts)
    rate = exact_rate(int(wrong), runs)
    bad = rate.high > delta
    print(
        f"| {name} | {delta:g} | {runs:,} | {declared:,} | {wrong:,} | {rate.low:.4f} to {rate.high:.4f} |"
        f"{' FAILED' * bad} {seconds:.0f} s",
        flush=True,
    )
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--delta", type=float, default=0.3)
    parser.add_argument("--only", default="", help="Cells whose name contains this.")
    parser.add_argument("--pieces", type=Path, help="File in which finished pieces are kept.")
    parser.add_argument("--show", action="store_true", help="Run nothing; print what the file has.")
    given = parser.parse_args()
    wanted = {name: cell for name, cell in cells().items() if given.only in name}
    kept: dict[str, list[tuple[int, int, float]]] = {}
    for number in range(-(-given.runs // PIECE)):  # a piece of every cell, then the next one of each
        for name, cell in wanted.items():
            known = done(given.pieces).get((name, given.delta, number))
            if known is None and not given.show:
                known = piece(name, cell, given.delta, number, given.pieces)
            if known is not None:
                kept.setdefault(name, []).append(known)
    failed = [name for name, parts in kept.items() if shown(name, given.delta, parts)]
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
