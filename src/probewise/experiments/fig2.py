"""Figure 2: many items that are near duplicates of each other, in the plane."""

from __future__ import annotations

from functools import partial

from probewise import instances
from probewise.experiments import methods, picture, sweep
from probewise.experiments.sweep import Curve, Sweep

SETTINGS = Sweep(
    name="fig2",
    title="Many items with moderate gaps: at angles π/4 + φ, φ of standard deviation 0.09",
    axis="number of items n",
    instance=lambda n, seed: instances.many_arms(n, seed, spread=0.09),
    sizes=(100, 300, 1_000, 3_000, 10_000, 30_000),
    curves=(
        Curve("Sage", methods.sage),
        Curve("XY-Oracle (tight)", methods.best_oracle),
        Curve("XY-Oracle", methods.oracle()),
        Curve("RAGE (tight)", methods.rage("tight")),
        Curve("RAGE (code)", methods.rage("code")),
        Curve("RAGE (paper)", methods.rage("paper", rounding=1 / 50)),
        Curve("LinGapE", methods.lingape, runs=5),
        Curve("XY-Static", methods.static()),
    ),
    random=True,
    log_axis=True,
)
"""The reading of N(0, .09) under which gaps are moderate, as the text says (E28).

LinGapE solves a linear programme with 2n columns for every pair of items that it compares, hence 5 runs; they hardly
differ, as nearly all measurements are its first round.
"""
QUICK = SETTINGS.smaller((100, 1_000, 10_000), 5)
"""Few instances."""
TESTING = SETTINGS.smaller((30, 300), 2)
"""For tests."""

table = partial(sweep.table, SETTINGS)
plot = partial(picture.plot, SETTINGS)
