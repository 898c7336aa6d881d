"""How good Sage's forecasts are: python benchmarks/forecast_calibration.py [--runs 40].

Forecasts are made when a fifth, two thirds and four thirds of the information limit have been measured, which is about
a tenth, a third and two thirds of what runs take. A row gives the share of intervals, meant to be four in five, that
held what the run still took, and the median of forecast over truth, among the runs that were not over.

Stages must not depend on what is still to come. A third of *its own* total, say, is reached by a run when what is left
is exactly twice as much as there is: even a perfect forecast of a search that may end at any moment with the same
probability, seen at two thirds of the total, would be three times too long in the median.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import probewise as pw
from probewise.design import remembering
from probewise.simulation import LinearEnvironment

CASES: dict[str, Callable[[int], tuple[pw.Problem, Any]]] = {
    "benchmark(5)": lambda run: pw.instances.benchmark(5),
    "transductive(20)": lambda run: pw.instances.transductive(20),
    "sphere(50, 5)": lambda run: pw.instances.sphere(50, 5, seed=run),
    "ladder of 10": lambda run: (pw.Problem(np.eye(10)), 1.0 - 0.1 * np.arange(10)),
}
STAGES = (0.2, 2 / 3, 4 / 3)
"""In units of the limit."""


def forecasts(problem: pw.Problem, theta: Any, seed: int) -> list[tuple[float, float]]:
    """At each stage: whether the interval held the truth, and the forecast over it; NaN if the run was over."""
    algorithm, goal, environment = pw.Sage(), pw.BestItem(), LinearEnvironment(problem, theta)
    state, rng = algorithm.init(problem, goal), np.random.default_rng([seed, 3])
    limit = 2.0 * pw.hardness(problem, theta, tol=1e-2).psi_lower * 0.9 * np.log(19.0)
    states = []
    while algorithm.answer(problem, goal, state) is None:
        state = algorithm.tell(problem, goal, state, environment.draw(algorithm.ask(problem, goal, state, rng), rng))
        states.append(state)
    found = []
    for stage in STAGES:
        at = next((s for s in states if s.data.n >= stage * limit), state)
        left, forecast = state.data.n - at.data.n, algorithm.forecast(problem, goal, at)
        if forecast is None or left == 0:
            found.append((np.nan, np.nan))
        else:
            found.append((float(forecast.low <= left <= forecast.high), forecast.measurements / left))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    runs = parser.parse_args().runs
    print(f"{runs} runs, δ = 0.05; intervals are meant to hold 80 %")
    print(f"  {'instance':<20}" + "".join(f"{f'after {stage:.2g} limits':>20}" for stage in STAGES))
    for name, draw in CASES.items():
        with remembering():
            found = np.array([forecasts(*draw(run), run) for run in range(runs)])
        cells = "".join(f"{f'{held:.0%}, {ratio:.2f}':>20}" for held, ratio in zip(
            np.nanmean(found[:, :, 0], axis=0), np.nanmedian(found[:, :, 1], axis=0), strict=True
        ))  # fmt: skip
        print(f"  {name:<20}{cells}", flush=True)


if __name__ == "__main__":
    main()
