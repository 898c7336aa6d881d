"""How often a wrong guess is shown with much confidence where a budget is planned for the best guess.

    python benchmarks/budget_audit.py [--runs 2000] [--pieces FILE] [--seconds 500]

``BestGuess`` plans by a model that may be wrong, and Sage's accounts judge its rounds. Items tie or nearly tie, and
somebody looks after every batch. For each α, the table counts the runs in which a wrong item was shown with a
confidence of 1 - α or more:

  end         at the end of the budget, with the item that is guessed
  ever        after any batch, with the item that is guessed then
  any item    after any batch, with any wrong item at all: an adversary chooses both; this is what the theorem bounds

The 99 % upper bound of each must not exceed α. With ``--pieces``, runs are kept in a file and a later call goes on;
``--seconds`` is how much processor time a call may take.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import probewise as pw
from probewise.coordinates import Array
from probewise.design import remembering
from probewise.simulation import LinearEnvironment
from probewise.simulation.table import exact_rate

ALPHAS = (0.2, 0.05)
KINDS = ("end", "ever", "any item")
DELTA = 0.002
"""Small enough that searches go on when α has been reached."""
BUDGET, BATCH = 24, 6
PIECE = 50
"""Runs that are written at once."""

TABLE = pw.space({"ligand": ["A", "B"], "base": ["K", "Na"]})
THIRDS = pw.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])


@dataclass(frozen=True)
class Case:
    """Items of which some tie."""

    problem: pw.Problem
    theta: Array

    @property
    def wrong(self) -> list[int]:
        """Items that are not the best, by however little."""
        values = self.problem.items @ self.theta
        return np.flatnonzero(values < values.max()).tolist()


def cases() -> dict[str, Case]:
    """Near-ties of two, ties behind a best item that is hardly ahead, and a table with two factors."""
    table = pw.Problem.from_tables(TABLE, sigma=1.0)
    aims = np.array([1e-3, 0.0, 0.0, -1e-3])  # the best is ahead of two that tie
    return {
        "near-tie of two": Case(pw.Problem(np.eye(2)), np.array([1e-3, 0.0])),
        "four, three of which tie": Case(pw.Problem(np.eye(4)), np.array([1e-3, 0.0, 0.0, 0.0])),
        "two factors": Case(table, np.linalg.lstsq(table.items, aims, rcond=None)[0]),
        "a mixture": Case(THIRDS, np.array([1e-3, 0.0])),
    }


def shown(case: Case, seed: int) -> list[float]:
    """For each of KINDS, the largest confidence with which a wrong item was shown; -inf for none."""
    algorithm, goal, problem = pw.BestGuess(BUDGET, BATCH), pw.BestItem(DELTA), case.problem
    laboratory, rng = LinearEnvironment(problem, case.theta), np.random.default_rng([seed, 18])
    state, claims, most = algorithm.init(problem, goal), [], -math.inf
    while not algorithm.spent(problem, goal, state) and algorithm.answer(problem, goal, state) is None:
        state = algorithm.tell(problem, goal, state, laboratory.draw(algorithm.ask(problem, goal, state, rng), rng))
        (guess,) = algorithm.standing(problem, goal, state).guess
        sure = algorithm.confidence(problem, goal, state)
        assert sure is not None
        claims.append(sure if guess in case.wrong else -math.inf)
        most = max(most, *(state.judged.confidence(problem, goal, item) or 0.0 for item in case.wrong))
    return [claims[-1], max(claims), most]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--pieces", type=Path)
    parser.add_argument("--seconds", type=float, default=math.inf)
    given = parser.parse_args()
    found: dict[str, list[list[float]]] = {name: [] for name in cases()}
    if given.pieces is not None and given.pieces.exists():
        for line in given.pieces.read_text().splitlines():
            piece = json.loads(line)
            found[piece["case"]] += piece["shown"]
    with remembering():
        for first in range(0, given.runs, PIECE):
            for name, case in cases().items():
                if len(found[name]) > first or time.process_time() > given.seconds:
                    continue
                runs = [shown(case, seed) for seed in range(first, min(first + PIECE, given.runs))]
                found[name] += runs
                if given.pieces is not None:
                    with given.pieces.open("a") as file:
                        file.write(json.dumps({"case": name, "shown": runs}) + "\n")
    bad = sum(_tabled(name, np.array(runs)) for name, runs in found.items() if runs)
    print("all bounds hold" if not bad else f"{bad} bounds exceed α")


def _tabled(name: str, found: Array) -> int:
    """Prints a table and returns how many of its bounds exceed α."""
    bad, runs = 0, len(found)
    print(f"{name}: {runs:,} runs\n  {'α':<6}" + "".join(f"{kind:>18}" for kind in KINDS))
    for alpha in ALPHAS:
        rates = [exact_rate(int((found[:, at] >= 1.0 - alpha).sum()), runs) for at in range(len(KINDS))]
        bad += sum(rate.high > alpha for rate in rates)
        print(f"  {alpha:<6}" + "".join(f"{f'{rate.value:.4f} ≤ {rate.high:.4f}':>18}" for rate in rates), flush=True)
    return bad


if __name__ == "__main__":
    main()
