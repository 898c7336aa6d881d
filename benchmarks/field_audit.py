"""The guarantee of every method of the field on hostile instances, in pieces that can be run side by side.

Items tie but for a hair's breadth, so that whatever is declared is wrong about half of the time, or nearly tie. Runs
end at a budget; wrong answers are counted over all runs. The upper end of the exact 99 % interval of a method that is
marked proven must not exceed δ, or the command ends with exit code 1; heuristic ones are reported beside.

    python benchmarks/field_audit.py --runs 5000 --pieces FILE [--delta 0.3] [--only lingame]

Finished pieces of 500 runs are kept in FILE, one line each; the same command goes on where another one stopped or is
still at work, and `--show` prints what there is.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import probewise as pw
from probewise.algorithms import Algorithm
from probewise.algorithms.sequential import Sequential
from probewise.confidence import LogLog, LogTime, TrackAndStopHeuristic
from probewise.experiments.methods import PROVEN, UNKNOWN_SIGMA
from probewise.simulation.environment import Noise
from probewise.simulation.table import exact_rate

HAIR = 1e-9
PIECE = 500
ONE_BY_ONE, PLAIN, ROUNDS = 300, 60, 5_000
"""Measurements at which a run ends: of compiled methods, of others that measure one by one, of those with rounds."""
FEWER = 1000
"""Runs of methods that promise nothing, and of cells in which little is declared."""
Make = Callable[[pw.Problem, Any], Algorithm[Any]]


@dataclass(frozen=True)
class Ground:
    """One instance."""

    problem: pw.Problem
    theta: tuple[float, ...]
    goal: pw.Goal
    noise: Noise | None = None


class Entry(NamedTuple):
    """One method on one instance."""

    method: str
    ground: str
    make: Make
    budget: int

    @property
    def proven(self) -> bool:
        """Whether a proof stands in the docs."""
        ground = GROUNDS[self.ground]
        return self.make(ground.problem, np.array(ground.theta)).proven

    def runs(self, most: int, delta: float) -> int:
        """All of them for proven methods on the sharpest instance that they can do, at a large δ, else fewer."""
        sharpest = self.ground in FIRST and not (self.ground == BEST[0] and self.method in LISTS)
        return most if self.proven and sharpest and delta >= 0.3 else min(most, FEWER)


PLANE = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]])
TIE = (HAIR, 0.0)
GROUNDS: dict[str, Ground] = {
    "2 items tie": Ground(pw.Problem(np.eye(2)), (0.0, HAIR), pw.BestItem()),
    "3 items tie in a plane, signs": Ground(
        pw.Problem(np.vstack([PLANE[:2], [[0.6, -0.8]]]), PLANE), (0.5, 1.0 / 6 + HAIR), pw.BestItem(), "rademacher"
    ),
    "top 2 of 4, two tie": Ground(pw.Problem(np.eye(4)), (1.0, HAIR, 0.0, -1.0), pw.TopM(2)),
    "above 0, one at the limit": Ground(pw.Problem(np.eye(1)), (-HAIR,), pw.Above(0.0)),
    "2 of 4 elements, all tie": Ground(
        pw.Problem(np.eye(4)), (0.0, HAIR, 0.0, HAIR), pw.BestSet(pw.Subsets(4, 2)), "rademacher"
    ),
    "2 assignments tie": Ground(pw.Problem(np.eye(4)), (0.0, HAIR, HAIR, 0.0), pw.BestSet(pw.Assignments(2, 2))),
    "2 rates tie": Ground(pw.Problem(np.eye(2), outcome=pw.Logistic()), (0.0, HAIR), pw.BestItem()),
    "3 items tie in a plane, logistic": Ground(
        pw.Problem(PLANE, outcome=pw.Logistic()), (0.5, 1.0 / 6 + HAIR), pw.BestItem()
    ),
    "2 rates of counts tie": Ground(pw.Problem(np.eye(2), outcome=pw.PoissonLog()), (1.0, 1.0 + HAIR), pw.BestItem()),
}
_names = tuple(GROUNDS)
BEST, TOP, ABOVE, SETS, LINKS = _names[:2], _names[2], _names[3], _names[4:6], _names[6:]
FIRST = (BEST[0], ABOVE, SETS[1], LINKS[0])
LISTS = (
    "lingame", "fws", "fws-elimination", "m-lingape", "m-lingape-elimination", "lingame-elimination", "top-two", "peps",
    "lazy-track-and-stop", "lazy-elimination", "top-two, drawn leader", "uniform", "xy-static", "g-static", "xy-oracle",
)  # fmt: skip
"""Methods that decide single claims too, where nothing is lost to a second one."""
HEURISTIC: dict[str, Algorithm[Any]] = {
    "fws, log log": pw.FWS(threshold=LogLog()),
    "lingame, log log": pw.LinGame(threshold=LogLog()),
    "m-lingape, log log": pw.MLinGapE(threshold=LogLog()),
    "top-two, log time": pw.TopTwo(leader="estimate", threshold=LogTime()),
    "lazy-track-and-stop, heuristic": pw.LazyTrackAndStop(threshold=TrackAndStopHeuristic()),
}
DRAWN: dict[str, Algorithm[Any]] = {"top-two, drawn leader": pw.TopTwo(), "peace": pw.Peace()}
ELIMINATING: dict[str, Algorithm[Any]] = {
    "lingame-elimination": pw.LinGame(elimination="both"),
    "m-lingape-elimination": pw.MLinGapE(elimination="stopping"),
    "lazy-elimination": pw.LazyTrackAndStop(elimination="both"),
}
OF_SETS: dict[str, tuple[Algorithm[Any], int]] = {
    "sage-sets": (pw.SageSets(growth=2.0), 500),
    "sage-sets, uniform": (pw.SageSets("uniform", growth=2.0), 500),
    "clucb": (pw.CLUCB(), PLAIN),
    "clucb, lazy": (pw.CLUCB(lazy=0.1), 1_000),
    "disagreement": (pw.Disagreement(), ROUNDS),
    "peace-sets": (pw.PeaceSets(2.0), ROUNDS),
    "comb-game": (pw.CombGame(), 500),
}
OF_LINKS: dict[str, tuple[Algorithm[Any], int]] = {
    "sage-glm": (pw.SageGLM(growth=2.0), 400),
    "glgape": (pw.GLGapE(), PLAIN),
    "rage-glm": (pw.RageGLM(norm_bound=2.0), 10**7),
}


def entries() -> Iterator[Entry]:
    """Every method on every instance that it is audited on."""
    for ground in BEST:
        for name, make in PROVEN.items():
            if not (name in UNKNOWN_SIGMA or name.startswith("sage")):  # docs/audit.md has more of Sage
                yield Entry(name, ground, make, _budget(make))
        for name, algorithm in (ELIMINATING | HEURISTIC | DRAWN).items():
            make = partial(_told, algorithm)
            yield Entry(name, ground, make, _budget(make))
    for name in ("lingame", "fws-elimination", "top-two", "m-lingape", "lingifa"):
        yield Entry(name, TOP, PROVEN[name], _budget(PROVEN[name]))
    for name in LISTS:
        make = PROVEN[name] if name in PROVEN else partial(_told, (ELIMINATING | DRAWN)[name])
        yield Entry(name, ABOVE, make, _budget(make))
    yield Entry("melk", ABOVE, partial(_told, pw.MELK()), ROUNDS)
    for kind, grounds in ((OF_SETS, SETS), (OF_LINKS, LINKS)):
        for ground in grounds:
            for name, (algorithm, budget) in kind.items():
                if GROUNDS[ground].problem.outcome.link in algorithm.links:
                    yield Entry(name, ground, partial(_told, algorithm), budget)


def _budget(make: Make) -> int:
    """What a run may take, so that five thousand of them take minutes."""
    made = make(pw.Problem(np.eye(2)), np.array(TIE))
    if isinstance(made, pw.LinGapE):
        return ONE_BY_ONE
    if isinstance(made, Sequential):
        return PLAIN if made.drawn or isinstance(made, pw.LazyTrackAndStop) else ONE_BY_ONE
    return ROUNDS


def _told(algorithm: Algorithm[Any], problem: pw.Problem, theta: Any) -> Algorithm[Any]:
    return algorithm


class Found(NamedTuple):
    """What a piece found."""

    answered: int
    wrong: int
    seconds: float
    """Of processor time."""
    measurements: float
    """Mean over runs."""


def done(path: Path | None) -> dict[tuple[str, str, float, int], Found]:
    """(method, instance, δ, number of the piece) -> what was found."""
    if path is None or not path.is_file():
        return {}
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {
        (row["method"], row["ground"], row["delta"], row["piece"]): Found(*(row[name] for name in Found._fields))
        for row in lines
    }


def piece(entry: Entry, delta: float, number: int, path: Path | None) -> Found:
    """One piece of runs, put on file."""
    start, ground = time.process_time(), GROUNDS[entry.ground]
    theta = np.array(ground.theta)
    runs = pw.simulate(
        ground.problem, theta, entry.make(ground.problem, theta), ground.goal.at(delta),
        runs=PIECE, seed=number, noise=ground.noise, budget=entry.budget,
    )  # fmt: skip
    answered = runs["item"] >= 0
    wrong = int(np.count_nonzero(answered & ~runs["correct"]))
    found = Found(int(answered.sum()), wrong, round(time.process_time() - start, 2), runs.mean("measurements"))
    if path is not None:
        row = {"method": entry.method, "ground": entry.ground, "delta": delta, "piece": number, **found._asdict()}
        with path.open("a", encoding="utf-8") as file:  # one write of one short line: whole, whoever else writes
            file.write(json.dumps(row) + "\n")
    return found


def shown(entry: Entry, delta: float, parts: list[Found]) -> bool:
    """Print a row; whether it fails."""
    proven, runs = entry.proven, PIECE * len(parts)
    answered, wrong = sum(part.answered for part in parts), sum(part.wrong for part in parts)
    rate = exact_rate(wrong, runs)
    bad = proven and rate.high > delta
    mean = sum(part.measurements for part in parts) / len(parts)
    print(
        f"| {entry.method} | {'proven' if proven else 'heuristic'} | {entry.ground} | {delta:g} | {runs:,} | "
        f"{answered:,} | {wrong:,} | {rate.low:.4f} to {rate.high:.4f} | {mean:,.0f} |{' FAILED' * bad}",
        flush=True,
    )
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--delta", type=float, action="append", help="0.3 and 0.05 unless told otherwise.")
    parser.add_argument("--only", default="", help="Methods or instances whose name contains this.")
    parser.add_argument("--pieces", type=Path, help="File in which finished pieces are kept.")
    parser.add_argument("--seconds", type=float, default=np.inf, help="Begin no piece after this many seconds.")
    parser.add_argument("--show", action="store_true", help="Run nothing; print what the file has.")
    given = parser.parse_args()
    wanted = [entry for entry in entries() if given.only in entry.method or given.only in entry.ground]
    deltas, began = tuple(given.delta or (0.3, 0.05)), time.monotonic()
    kept: dict[tuple[str, str, float], list[Found]] = {}
    for number in range(-(-given.runs // PIECE)):  # a piece of every cell, then the next one of each
        for entry in wanted:
            for delta in deltas:
                if number * PIECE >= entry.runs(given.runs, delta):
                    continue
                known = done(given.pieces).get((entry.method, entry.ground, delta, number))
                if known is None and not given.show and time.monotonic() - began < given.seconds:
                    known = piece(entry, delta, number, given.pieces)
                if known is not None:
                    kept.setdefault((entry.method, entry.ground, delta), []).append(known)
    failed = [
        shown(entry, delta, kept[entry.method, entry.ground, delta])
        for entry in wanted
        for delta in deltas
        if (entry.method, entry.ground, delta) in kept
    ]
    raise SystemExit(1 if any(failed) else 0)


if __name__ == "__main__":
    main()
