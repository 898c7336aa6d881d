from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

# Workers share few cores, so the time of one example says nothing; CI repeats the same examples.
settings.register_profile(
    "probewise",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("probewise")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL server that lives as long as the tests."""
    from _postgres import Postgres

    pytest.importorskip("psycopg", reason="psycopg is not installed")
    try:
        begun = Postgres("-c", "fsync=off")
    except RuntimeError as error:
        pytest.skip(str(error))
    yield begun.url
    begun.close()
