"""Figure 4: the transductive instance, whose items cannot all be measured."""

from __future__ import annotations

from functools import partial

from probewise import instances
from probewise.experiments import methods, picture, sweep
from probewise.experiments.sweep import Curve, Sweep

SETTINGS = Sweep(
    name="fig4",
    title="Transductive: probes $e_1 … e_d$; items $e_1 … e_{d/2}$, and each of them turned by 0.1 rad",
    axis="dimension d",
    instance=lambda d, seed: instances.transductive(d),
    sizes=(20, 40, 60, 80),
    curves=(
        Curve("Sage", methods.sage),
        Curve("XY-Oracle (tight)", methods.best_oracle),
        Curve("XY-Oracle", methods.oracle("frank-wolfe")),
        Curve("RAGE (tight)", methods.rage("tight")),
        Curve("RAGE (code)", methods.rage("code", solver="frank-wolfe")),
        Curve("RAGE (paper)", methods.rage("paper", rounding=1 / 3.5)),
        Curve("XY-Static", methods.static("frank-wolfe")),
    ),
)
"""As published; ε = 1/3.5 is the one that the text names twice for the sphere (E21)."""
QUICK = SETTINGS.smaller((20, 40, 80), 10)
"""Fewer runs."""
TESTING = SETTINGS.smaller((4,), 3)
"""For tests."""

table = partial(sweep.table, SETTINGS)
plot = partial(picture.plot, SETTINGS)
