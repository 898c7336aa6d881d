from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Workers share few cores, so the time of one example says nothing; CI repeats the same examples.
settings.register_profile(
    "probewise",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("probewise")
