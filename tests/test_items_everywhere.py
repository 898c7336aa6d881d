"""Wherever items are, in memory or not, a search asks for the same measurements and finds the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import probewise as pw
from probewise.algorithms.sage.knowledge import Knowledge
from probewise.algorithms.sage.scattered import Scattered

RNG = np.random.default_rng(7)
MANY = RNG.standard_normal((20_500, 3)).astype(np.float32)
FEW = MANY[:300]
PROBES = RNG.standard_normal((25, 3))
THETA = 0.3 * RNG.standard_normal(3)
SIGMA = 0.7


def _asked(items: Any, goal: pw.Goal | None = None, **settings: Any) -> tuple[Any, ...]:
    """All that a search asks for and finds."""
    algorithm = settings.pop("algorithm", None)
    problem = pw.Problem(PROBES, items, **{"sigma": SIGMA, **settings})
    laboratory = pw.LinearEnvironment(pw.Problem(PROBES, sigma=SIGMA), THETA, seed=1)
    result = pw.identify(problem, goal, algorithm=algorithm, measure=laboratory.measure, seed=0)
    counts = [own.counts.tolist() for own in result.history]
    return result.items, counts, result.estimate.tolist(), result.confidence


def _written(folder: Path, rows: np.ndarray) -> Path:
    for at, part in enumerate(np.array_split(rows, 3)):
        table = {"name": [f"M{at}-{row}" for row in range(len(part))], **{f"x{j}": part[:, j] for j in range(3)}}
        pq.write_table(pa.table(table), folder / f"{at}.parquet")
    return folder


def _everywhere(folder: Path, rows: np.ndarray) -> list[Any]:
    parquet = pw.items_from_parquet(_written(folder, rows), names="name", scheduler="here")
    return [pw.items_in_shards(rows), pw.items_in_shards(rows, size=123 if len(rows) < 1000 else 7_001), parquet]


def test_many_items(tmp_path: Path) -> None:
    table = _asked(MANY)
    assert len(table[1]) > 3
    assert table[0] == (int(np.argmax(MANY.astype(np.float64) @ THETA)),)
    for items in _everywhere(tmp_path, MANY):
        assert pw.Problem(PROBES, items).shards is not None
        assert _asked(items) == table


@pytest.mark.parametrize(
    ("goal", "settings"),
    [
        (pw.BestItem(), {"sigma": "unknown"}),
        (pw.BestItem(), {"sigma": None, "outcome": pw.Gaussian(SIGMA, normal=True)}),
        (pw.BestItem(minimise=True), {"misfit": 0.01}),
        (pw.BestItem(epsilon=0.3), {"cost": np.arange(25) % 3 + 1.0}),
        (pw.BestItem(), {"algorithm": pw.Sage(gap=0.4, all_pairs=0)}),
        (pw.BestItem(), {"algorithm": pw.Sage(rounds=6, all_pairs=0)}),
    ],
)
def test_every_setting(monkeypatch: pytest.MonkeyPatch, goal: pw.Goal, settings: dict[str, Any]) -> None:
    """A limit that is lower than it is makes few items many."""
    monkeypatch.setattr("probewise.shards.items.NEAR", 0)
    monkeypatch.setattr("probewise.algorithms.sage.sage.NEAR", 0)
    given = {"algorithm": pw.Sage(lean=True, all_pairs=0), **settings}
    rows = FEW[:100]
    table = _asked(rows, goal, **given)
    assert table == _asked(pw.items_in_shards(rows, size=77), goal, **given)
    assert table != _asked(rows, goal, **{**given, "algorithm": replace(given["algorithm"], scattered=False)})


@pytest.mark.parametrize(
    ("goal", "settings"),
    [
        (pw.BestItem(), {}),
        (pw.TopM(2), {}),
        (pw.Above(1.0, epsilon=0.2), {}),
        (pw.BestItem(), {"stock": [400] * 25}),
        (pw.BestItem(), {"algorithm": pw.Rage()}),
    ],
)
def test_few_items_are_brought_into_memory(tmp_path: Path, goal: pw.Goal, settings: dict[str, Any]) -> None:
    """Whatever a table can be asked, these can."""
    rows = FEW[:40]
    table = _asked(rows, goal, **settings)
    for items in _everywhere(tmp_path, rows):
        problem = pw.Problem(PROBES, items)
        assert problem.shards is None
        np.testing.assert_array_equal(problem.items, rows.astype(np.float64))
        assert _asked(items, goal, **settings) == table
    assert problem.item_names[-1] == "M2-12"
    assert pw.Problem(PROBES, -pw.items_in_shards(rows)).items[3].tolist() == (-rows[3].astype(np.float64)).tolist()
    assert pw.hardness(problem, THETA).psi == pw.hardness(pw.Problem(PROBES, rows), THETA).psi


def test_few_items_of_a_cluster() -> None:
    distributed = pytest.importorskip("distributed")
    import dask.array as da

    with distributed.Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"):
        assert _asked(da.from_array(FEW, chunks=(70, 2))) == _asked(FEW)
        assert _asked(da.from_array(MANY, chunks=(7_003, 3))) == _asked(MANY)


def test_a_table_of_many_items_is_told_as_any_table(tmp_path: Path) -> None:
    """All that are left are listed, what is left to do is forecast, and the journal says how it is searched."""
    problem, goal, sage = pw.Problem(PROBES, MANY, sigma=SIGMA), pw.BestItem(), pw.Sage()
    state = sage.init(problem, goal)
    assert isinstance(state, Scattered)
    assert sage.standing(problem, goal, state).remaining.size == 20_500
    laboratory, rng = pw.LinearEnvironment(problem, THETA), np.random.default_rng(2)
    rounds = []
    for _ in range(3):
        rounds.append(laboratory.draw(sage.ask(problem, goal, state, rng), rng))
        state = sage.tell(problem, goal, state, rounds[-1])
    now, forecast = sage.standing(problem, goal, state), sage.forecast(problem, goal, state)
    assert now.remaining.size == state.count > 1
    assert now.unlisted == 0
    assert (np.diff(now.remaining) > 0).all()
    assert sage.left(problem, goal, state, now.remaining).all()
    assert forecast is not None
    assert 0 < forecast.low <= forecast.measurements <= forecast.high
    far = pw.Problem(PROBES, pw.items_in_shards(MANY, size=9_000), sigma=SIGMA)
    again = sage.init(far, goal)
    for measurements in rounds:
        again = sage.tell(far, goal, again, measurements)
    assert sage.forecast(far, goal, again) == forecast
    for unserved in (pw.TopM(2), pw.BestItem()):
        own = pw.Problem(PROBES, MANY, sigma=SIGMA, stock=None if unserved.name == "top" else [10_000] * 25)
        assert not isinstance(sage.init(own, unserved), Scattered)
    assert isinstance(pw.Sage(scattered=False).init(problem, goal), Knowledge)
    assert pw.Sage.before["scattered"] is False


def test_journals_of_few_items_in_files_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were begun when few items were not brought into memory, and are searched as they were."""
    items = pw.items_from_parquet(_written(tmp_path, FEW), columns=["x0", "x1", "x2"], scheduler="here")
    with monkeypatch.context() as then:
        then.setattr("probewise.shards.items.NEAR", 0)
        before = pw.Problem(PROBES, items, sigma=SIGMA, feature_names=["x0", "x1", "x2"])
        pw.Campaign.create(tmp_path / "then.jsonl", before, algorithm=pw.Sage(scattered=False), seed=0)
    asked = pw.Campaign.open(tmp_path / "then.jsonl")
    assert asked.problem.shards is not None
    now = pw.Problem(PROBES, items, sigma=SIGMA, feature_names=["x0", "x1", "x2"])
    campaign = pw.Campaign.create(tmp_path / "now.jsonl", now, seed=0)
    assert "items" in campaign.records[0].body["problem"]
    assert len(campaign.status().items) == 300
