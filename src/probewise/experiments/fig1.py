"""Figure 1: the benchmark, whose two best items are nearly tied, in growing dimension."""

from __future__ import annotations

from functools import partial

from probewise import instances
from probewise.experiments import methods, picture, sweep
from probewise.experiments.sweep import Curve, Sweep

SETTINGS = Sweep(
    name="fig1",
    title="Benchmark: $e_1 … e_d$, and $e_1$ turned by 0.01 rad",
    axis="dimension d (items: d + 1)",
    instance=lambda d, seed: instances.benchmark(d),
    sizes=(5, 10, 15, 20, 25, 30, 35),
    curves=(
        Curve("Sage", methods.sage),
        Curve("XY-Oracle (tight)", methods.best_oracle),
        Curve("XY-Oracle", methods.oracle("frank-wolfe")),
        Curve("RAGE (tight)", methods.rage("tight")),
        Curve("RAGE (code)", methods.rage("code", solver="frank-wolfe")),
        Curve("RAGE (paper)", methods.rage("paper", rounding=1 / 5)),
        Curve("XY-Adaptive", methods.adaptive),
        Curve("LinGapE", methods.lingape),
        Curve("ALBA", methods.alba),
        Curve("XY-Static", methods.static("frank-wolfe")),
    ),
)
"""The figure as published, with the variants of RAGE beside each other."""
QUICK = SETTINGS.smaller((5, 20, 35), 10, without=("LinGapE", "XY-Adaptive"))
"""A smaller figure without the methods that measure one at a time."""
TESTING = SETTINGS.smaller((5,), 3, without=("LinGapE", "XY-Adaptive", "ALBA"))
"""For tests."""

table = partial(sweep.table, SETTINGS)
plot = partial(picture.plot, SETTINGS)
