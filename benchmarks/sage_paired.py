"""What shortcuts of large problems cost in measurements: python benchmarks/sage_paired.py [--runs 150] [--only NAME].

Run r of each setting is the same instance with the same seed, without a shortcut and with it:

- "few probes": a design on more than 100 probes is reduced by least squares with signs, instead of reflections;
- "at once": a design for up to some hundred directions is solved for all of them, instead of the longest first;
- "centre": the first round is planned for the way of each item to their mean, instead of all pairs (``all_pairs=0``).
- "pieces": a large table is searched as items past memory are, instead of as small ones are (``scattered=False``); only
  on the two instances with 21,000 items, on which nothing else is run.

Printed is the geometric mean of measurements with the shortcut over those without, with its standard error. Exit code 1
if one is above 1 by more than two standard errors and 2 %.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

import probewise as pw
from probewise.design import support, working_set

Instance = tuple[pw.Problem, Any]


def scattered(n: int, m: int, d: int, seed: int) -> Instance:
    """Gaussian probes and items, and a θ of length about 1."""
    rng = np.random.default_rng(seed)
    return pw.Problem(rng.standard_normal((n, d)), rng.standard_normal((m, d))), rng.standard_normal(d) / np.sqrt(d)


def ball(n: int, m: int, d: int, seed: int) -> Instance:
    """Probes and items of equal length, and a θ that is one of these, 30 times as long."""
    rng = np.random.default_rng(seed)
    X, Z = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in map(rng.standard_normal, [(n, d), (m, d)]))
    return pw.Problem(X, Z), 30.0 * Z[0]


INSTANCES: dict[str, Callable[[int], Instance]] = {
    "sphere(200, 5)": lambda run: pw.instances.sphere(200, 5, seed=run),
    "sphere(150, 3)": lambda run: pw.instances.sphere(150, 3, seed=run),
    "scattered(150, 100, 4)": lambda run: scattered(150, 100, 4, run),
    "many_arms(120)": lambda run: pw.instances.many_arms(120, run),
    "scattered(40, 21000, 4)": lambda run: scattered(40, 21_000, 4, run),
    "ball(40, 21000, 3)": lambda run: ball(40, 21_000, 3, run),
}
LARGE = ("scattered(40, 21000, 4)", "ball(40, 21000, 3)")


@contextmanager
def changed(module: Any, name: str, value: Any) -> Iterator[None]:
    """A module with another value of one name."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


SHORTCUTS: dict[str, tuple[Callable[[], Any], dict[str, Any], dict[str, Any]]] = {
    "few probes": (lambda: changed(support, "_FEW", 10**9), {}, {}),
    "at once": (lambda: changed(working_set, "AT_ONCE", 0), {}, {}),
    "centre": (nullcontext, {}, {"all_pairs": 0}),
    "pieces": (nullcontext, {"scattered": False}, {}),
}
"""How it is without each shortcut, and the settings of Sage without and with it."""


def measurements(draw: Callable[[int], Instance], run: int, settings: dict[str, Any]) -> int:
    """What one run takes."""
    return int(pw.simulate(*draw(run), pw.Sage(**settings), runs=1, seed=run)["measurements"][0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=150)
    parser.add_argument("--only", choices=SHORTCUTS)
    parser.add_argument("--instance", choices=INSTANCES)
    options = parser.parse_args()
    missed = False
    for instance, draw in INSTANCES.items():
        if options.instance not in (None, instance):
            continue
        plain = [measurements(draw, run, {}) for run in range(options.runs)]
        for shortcut, (context, without, with_it) in SHORTCUTS.items():
            if options.only not in (None, shortcut) or (shortcut == "pieces") != (instance in LARGE):
                continue
            with context():
                other = [measurements(draw, run, with_it or without) for run in range(options.runs)]
            ratios = np.log(np.array(plain) / np.array(other)) * (-1.0 if with_it else 1.0)
            mean, error = float(ratios.mean()), float(ratios.std(ddof=1)) / math.sqrt(ratios.size)
            missed |= mean > max(2.0 * error, math.log(1.02))
            same = int(np.sum(ratios == 0))
            print(
                f"{instance:<26}{shortcut:<14}{math.exp(mean):>8.3f} ± {error:.3f}"
                f"{np.mean(plain):>12,.0f} measurements{same:>6} of {ratios.size} the same",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
