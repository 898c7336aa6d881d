"""Figure 3: items uniform on a sphere, the truth beside the closest two."""

from __future__ import annotations

from functools import partial

from probewise import instances
from probewise.experiments import methods, picture, sweep
from probewise.experiments.sweep import Curve, Sweep

SETTINGS = Sweep(
    name="fig3",
    title="Uniform on the sphere in dimension 5",
    axis="number of items n",
    instance=lambda n, seed: instances.sphere(n, 5, seed=seed),
    sizes=(50, 100, 200, 500, 1_000, 2_000),
    curves=(
        Curve("Sage", methods.sage),
        Curve("XY-Oracle (tight)", methods.best_oracle),
        Curve("XY-Oracle", methods.oracle()),
        Curve("RAGE (tight)", methods.rage("tight")),
        Curve("RAGE (code)", methods.rage("code")),
        Curve("RAGE (paper)", methods.rage("paper", rounding=1 / 5)),
        Curve("XY-Static", methods.static()),
        Curve("ALBA", methods.alba),
    ),
    random=True,
    log_axis=True,
)
"""ALBA takes more than 10⁸ measurements, which cost nothing as sufficient statistics."""
QUICK = SETTINGS.smaller((50, 200, 1_000), 5)
"""Few instances."""
TESTING = SETTINGS.smaller((30,), 2)
"""For tests."""

table = partial(sweep.table, SETTINGS)
plot = partial(picture.plot, SETTINGS)
