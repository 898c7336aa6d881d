"""Threads of linear algebra: certified designs of all pairs as users get them, beside one thread and all threads.

python benchmarks/threads.py [--quick | --sage | --cell N D [--seconds S] [--tol T]].

In each cell, sphere(n, d) with n probes that are the items, the three
settings take turns, each as often as fits into some seconds, and the least time of each counts. "one" and "all" are
fixed settings that the package does not touch. Goal: as it comes, at most 1.2 times the better of the two in each
cell. Cells that would take more than some minutes are left out, and named; --cell runs any one, and --tol 0.5 makes
the largest end sooner: the same steps, fewer of them. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  its library is loaded before it is looked for
from threadpoolctl import ThreadpoolController

import probewise as pw
from probewise import threads
from probewise.coordinates import Array
from probewise.design import optimal_design, pairs

CONTROLLER = ThreadpoolController()
SIZES, DIMENSIONS = (100, 1000, 10_000, 50_000), (3, 10, 20, 50, 200)
SECONDS = 20.0
"""For each cell, unless one turn of all settings takes longer."""
PAUSE = 0.1
"""Seconds before each call, in which the idle threads of the call before it, which wait for work, go to sleep."""
LARGEST = {200: 1000, 50: 10_000}
"""Dimension -> most probes that are tried in it."""


@contextmanager
def fixed(number: int | None) -> Any:
    """So many threads, or as the user had set, whatever the package would like."""
    own = threads._libraries
    threads._libraries = lambda: ([], [])  # type: ignore[assignment]
    try:
        with CONTROLLER.limit(limits=number, user_api="blas"):
            yield
    finally:
        threads._libraries = own


@contextmanager
def as_it_comes() -> Any:
    """The package decides."""
    yield


SETTINGS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "as it comes": as_it_comes,
    "one": lambda: fixed(1),
    "all": lambda: fixed(None),
}


def least(call: Callable[[], object], seconds: float) -> dict[str, float]:
    """The least time of each setting, over turns of all of them."""
    times: dict[str, list[float]] = {name: [] for name in SETTINGS}
    end = time.perf_counter() + seconds
    while not times["all"] or (time.perf_counter() < end and len(times["all"]) < 200):
        for name, setting in SETTINGS.items():
            with setting():
                time.sleep(PAUSE)
                start = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - start)
    return {name: min(taken) for name, taken in times.items()}


def row(name: str, call: Callable[[], object], seconds: float = SECONDS) -> float:
    """The time as it comes over that of the better setting; printed with all three."""
    times = least(call, seconds)
    ratio = times["as it comes"] / min(times["one"], times["all"])
    print(f"{name:<34}" + "".join(f"{1e3 * taken:>14.1f}" for taken in times.values()) + f"{ratio:>8.2f}", flush=True)
    return ratio


def sphere(n: int, d: int) -> Array:
    rows = np.random.default_rng(0).standard_normal((n, d))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def designs(quick: bool) -> list[float]:
    ratios = []
    for d in DIMENSIONS:
        for n in SIZES[:2] if quick else SIZES:
            if n <= d:
                print(f"n = m = {n:,}, d = {d}: too few probes")
            elif n > LARGEST.get(d, n):
                print(f"n = m = {n:,}, d = {d}: left out, takes minutes")
            elif not quick or n * d <= 20_000:
                ratios.append(cell(n, d))
    return ratios


def cell(n: int, d: int, seconds: float = SECONDS, tol: float = 1e-2) -> float:
    """One size, which a small one of its kind has warmed up."""
    Z, few = sphere(n, d), sphere(2 * d + 50, d)
    optimal_design(few, pairs(few), tol=1e-2)
    return row(f"n = m = {n:,}, d = {d}", lambda: optimal_design(Z, pairs(Z), tol=tol), seconds)


def rounds() -> list[float]:
    """Whole identifications by Sage."""
    cases = {"benchmark(5)": pw.instances.benchmark(5), "sphere(200, 5)": pw.instances.sphere(200, 5)}
    out = []
    for name, (problem, theta) in cases.items():
        out.append(row(f"Sage on {name}", lambda p=problem, t=theta: _identified(p, t)))
    return out


def _identified(problem: pw.Problem, theta: Array) -> object:
    return pw.identify(problem, measure=pw.LinearEnvironment(problem, theta, seed=1).measure, seed=1)


if __name__ == "__main__":
    if len(CONTROLLER.select(user_api="blas").lib_controllers) == 0:
        sys.exit("threadpoolctl finds no library of linear algebra here: there is nothing to compare.")
    print({about["filepath"].split("/")[-1]: about["num_threads"] for about in CONTROLLER.info()})
    print(f"{'milliseconds':<34}" + "".join(f"{name:>14}" for name in SETTINGS) + f"{'ratio':>8}")
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sage", action="store_true")
    parser.add_argument("--cell", type=int, nargs=2, metavar=("N", "D"))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for the cell, unless one turn takes longer")
    parser.add_argument("--tol", type=float, default=1e-2, help="certified relative gap of the designs of the cell")
    options = parser.parse_args()
    if options.cell:
        ratios = [cell(*options.cell, options.seconds, options.tol)]
    else:
        ratios = ([] if options.sage else designs(options.quick)) + rounds()
    print(f"as it comes, over the better of one and all: at most {max(ratios):.2f}")
    sys.exit(0 if max(ratios) <= 1.2 else 1)
