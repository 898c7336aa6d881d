"""Items in shards: the same search wherever they are and however they are cut."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import probewise as pw
from probewise.design.reached import Reached
from probewise.design.sets import explicit
from probewise.shards.engine import Cluster, Local
from probewise.shards.pieces import BLOCK, Piece, blocks, summary
from probewise.shards.values import Front

RNG = np.random.default_rng(0)
ITEMS = RNG.standard_normal((20_000, 4)).astype(np.float32)
PROBES = RNG.standard_normal((30, 4))
THETA = 0.5 * RNG.standard_normal(4)


@pytest.fixture(autouse=True)
def _stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few items stay where they are here, too, so that tests are quick."""
    monkeypatch.setattr("probewise.shards.items.NEAR", 0)


def _search(items: Any, goal: pw.Goal | None = None, **settings: Any) -> pw.Result:
    problem = pw.Problem(PROBES, items, sigma=settings.pop("sigma", 1.0))
    laboratory = pw.LinearEnvironment(pw.Problem(PROBES), THETA, seed=1)
    return pw.identify(problem, goal, measure=laboratory.measure, seed=0, **settings)


def _asked(result: pw.Result) -> tuple[Any, ...]:
    return result.items, [own.counts.tolist() for own in result.history], result.estimate.tolist(), result.confidence


def _write(folder: Path, rows: np.ndarray, size: int = 6_000, **options: Any) -> Path:
    for at, low in enumerate(range(0, len(rows), size)):
        part = rows[low : low + size]
        names = [f"molecule {low + row}" for row in range(len(part))]
        columns = {f"x{j}": part[:, j] for j in range(rows.shape[1])}
        pq.write_table(pa.table({"name": names, **columns}), folder / f"{at}.parquet", row_group_size=2_500, **options)
    return folder


def _parquet(folder: Path) -> Any:
    return pw.items_from_parquet(_write(folder, ITEMS), columns=["x0", "x1", "x2", "x3"])


def test_cuts_make_no_difference(tmp_path: Path) -> None:
    whole = _search(pw.items_in_shards(ITEMS))
    assert whole.items == (int(np.argmax(ITEMS.astype(np.float64) @ THETA)),)
    assert len(whole.history) > 5
    assert _asked(_search(pw.items_in_shards(ITEMS, size=7_001))) == _asked(whole)
    parquet = pw.items_from_parquet(_write(tmp_path, ITEMS), names="name", scheduler="here")
    assert len(parquet.pieces) == 4
    assert len(pw.items_from_parquet(tmp_path, columns=["x0"], scheduler="here", size=3_000).pieces) == 10
    found = _search(parquet)
    assert _asked(found) == _asked(whole)
    assert found.item_names == (f"molecule {whole.items[0]}",)


@pytest.mark.parametrize(
    ("epsilon", "normal", "gap", "overlap"),
    [
        (0.0, False, None, 2),
        (0.3, False, None, 2),
        (0.0, True, None, 1),
        (0.0, True, None, 2),
        (0.3, True, None, 1),
        (0.3, True, None, 2),
        (0.0, False, 0.4, 1),
        (0.3, True, 0.4, 1),
    ],
)
def test_bets_are_those_of_items_in_memory(epsilon: float, normal: bool, gap: float | None, overlap: int) -> None:
    """Accounts and leads after the same rounds, item by item; with a tolerance what it eases, boosted or not."""
    rows, law = ITEMS[:500].astype(np.float64), pw.Gaussian(1.0, normal=normal)
    near, far = (pw.Problem(PROBES, items, outcome=law) for items in (rows, pw.items_in_shards(rows, size=123)))
    goal, truth = pw.BestItem(epsilon=epsilon), pw.LinearEnvironment(near, THETA)
    sage = pw.Sage(opening=0.0, gap=gap, patient=False)
    memo = sage.memo(near, goal)
    assert memo is not None
    one, other = sage.resume(near, goal, memo), sage.resume(far, goal, memo)
    rng = np.random.default_rng(5)
    for _ in range(40 if epsilon else 6):
        counts = sage.ask(near, goal, one, rng)
        rounds = [truth.draw(counts, rng) for _ in range(overlap)]
        one, other = (sage.tell_overlapping(p, goal, s, rounds) for p, s in ((near, one), (far, other)))
        alive = np.concatenate([portion.piece.numbered(slice(0, portion.wealth.size)) for portion in other.portions])
        wealth = np.concatenate([portion.wealth for portion in other.portions])
        order = np.argsort(one.alive)
        np.testing.assert_array_equal(alive, one.alive[order])
        np.testing.assert_allclose(wealth, one.wealth[order], atol=1e-9)
        assert other.front.numbers.tolist() == one.alive[:10].tolist()
        assert other.count == one.alive.size
        eased = one.eased.get(int(one.alive[0]), np.zeros(one.alive.size))
        assert other.least == pytest.approx((one.wealth + eased)[1:].min(), abs=1e-9)
        for z, log in one.eased.items():
            own = np.concatenate([portion.eased.get(z, np.zeros(portion.wealth.size)) for portion in other.portions])
            np.testing.assert_allclose(own, log[order], atol=1e-9)
        assert sage.answer(near, goal, one) == sage.answer(far, goal, other)
        if sage.answer(near, goal, one) is not None:
            assert epsilon > 0
            assert other.answer == (int(one.alive[0]),)
            assert sage.confidence(far, goal, other) == pytest.approx(0.95)
            assert not sage.standing(far, goal, other).exact
            return
        # the design is for the same directions
        star, reached = sage._directions(near, goal, one), sage._directions(far, goal, other)
        assert reached.largest()[1] == pytest.approx(star.largest()[1], rel=1e-9)
        labels = reached.longer(0.0, 10)
        np.testing.assert_allclose(reached.rows(labels)[0] @ reached.rows(labels)[0], star.largest()[1], rtol=1e-9)
    assert epsilon == 0


def test_the_lowest_and_unknown_noise() -> None:
    low = _search(pw.items_in_shards(ITEMS, size=3_000), pw.BestItem(minimise=True))
    assert low.items == (int(np.argmin(ITEMS.astype(np.float64) @ THETA)),)
    one, other = (_search(pw.items_in_shards(ITEMS, size=size), sigma="unknown") for size in (20_000, 4_321))
    assert _asked(one) == _asked(other)
    single = _search(pw.items_in_shards(ITEMS[:1]))
    assert (single.items, single.measurements) == ((0,), 0)
    ended = _search(pw.items_in_shards(ITEMS), budget=30)
    assert ended.status == "budget exhausted"
    assert ended.confidence is not None
    assert 0 <= ended.confidence < 0.95


def test_directions_to_shards_are_those_to_rows() -> None:
    shards, centre = pw.items_in_shards(ITEMS, size=5_000), np.full(4, 0.5)
    design = pw.optimal_design(PROBES, Reached(shards, centre), tol=1e-3)
    rows = explicit(centre - ITEMS.astype(np.float64))
    other = pw.optimal_design(PROBES, rows, tol=1e-3)
    assert design.converged
    assert design.lower <= other.value
    assert other.lower <= design.value
    reached = Reached(shards, centre)
    assert reached.bound @ reached.bound >= reached.largest()[1]
    np.testing.assert_allclose(reached.rows(reached.longer(1.0, 5)), rows.rows(rows.longer(1.0, 5)))


def _agree(one: pw.Design, other: pw.Design) -> None:
    """Certificates of the same optimum."""
    assert one.converged
    assert other.converged
    assert one.lower <= other.value * (1 + 1e-9)
    assert other.lower <= one.value * (1 + 1e-9)


@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_designs_are_those_of_items_in_memory(tol: float) -> None:
    rows, shards = ITEMS.astype(np.float64), pw.items_in_shards(ITEMS, size=3_001)
    for near, far in (
        (pw.pairs(rows), pw.pairs(shards)),
        (pw.star(rows, 17), pw.star(shards, 17)),
        (pw.star(rows, -1), pw.star(shards, -1)),
        (pw.points(rows), pw.points(shards)),
    ):
        _agree(pw.optimal_design(PROBES, near, tol=tol), pw.optimal_design(PROBES, far, tol=tol))
        assert far.size >= near.size
    lopsided = np.vstack([rows[:5_000] * 0.01, rows[5_000:6_000] * 0.01 + 9.0])  # those farthest out are on one side
    near, far = pw.pairs(lopsided), pw.pairs(pw.items_in_shards(lopsided, size=777))
    assert far.largest()[1] == pytest.approx(near.largest()[1], rel=1e-9)
    _agree(pw.optimal_design(PROBES, near, tol=tol), pw.optimal_design(PROBES, far, tol=tol))
    few = pw.items_in_shards(ITEMS[:50], size=20)
    assert pw.gauge(PROBES, pw.points(few)) == pytest.approx(pw.gauge(PROBES, pw.points(rows[:50])))
    assert pw.gauge(PROBES, pw.pairs(few)) == pytest.approx(pw.gauge(PROBES, pw.pairs(rows[:50])))


def test_an_item_at_the_centre_may_be_an_end_of_the_farthest_pair() -> None:
    """The items that stand for all are the same, so that the centre is one of them, and 601 others lie on one side."""
    rows = np.zeros((20_001, 1))
    rest = np.setdiff1d(np.arange(20_001), np.linspace(0, 20_000, 10_000).astype(np.int64))
    rows[rest[:600]], rows[rest[600]] = 0.5, 1.0
    near, far = pw.pairs(rows), pw.pairs(pw.items_in_shards(rows, size=3_001))
    assert far.largest()[1] == near.largest()[1] == 1.0


def test_items_that_stand_for_all_may_be_the_same() -> None:
    """Nothing is to be seen of 600 others in them, and designs are those of all items."""
    rows = np.zeros((20_001, 4))
    rest = np.setdiff1d(np.arange(20_001), np.linspace(0, 20_000, 10_000).astype(np.int64))
    rows[rest[:600]] = ITEMS[:600]
    shards = pw.items_in_shards(rows, size=3_001)
    for far, near in (
        (pw.pairs(shards), pw.pairs(rows)),
        (pw.points(shards), pw.points(rows)),
        (pw.star(shards, 5), pw.star(rows, 5)),
    ):
        _agree(pw.optimal_design(PROBES, far, tol=1e-3), pw.optimal_design(PROBES, near, tol=1e-3))


def test_pairs_of_a_sphere_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probewise.design.apart._MOST", 5_000)
    sphere = ITEMS / np.linalg.norm(ITEMS, axis=1, keepdims=True)
    with pytest.raises(pw.InvalidDesign, match="more than 5,000 of the 20,000 items are so far out that any two"):
        pw.pairs(pw.items_in_shards(sphere)).largest()


@pytest.mark.parametrize("minimise", [False, True])
def test_hardness_is_that_of_items_in_memory(minimise: bool) -> None:
    goal, cost = pw.BestItem(minimise=minimise), 1.0 + np.arange(30) % 3
    near = pw.hardness(pw.Problem(PROBES, ITEMS.astype(np.float64), cost=cost, sigma=0.7), THETA, goal=goal)
    shards = pw.items_in_shards(ITEMS, size=3_001)
    far = pw.hardness(pw.Problem(PROBES, shards, cost=cost, sigma=0.7), THETA, goal=goal)
    _agree(near.design, far.design)
    assert far.answer == near.answer
    assert far.lower_bound(0.05) == pytest.approx(near.lower_bound(0.05), rel=2e-4)
    np.testing.assert_allclose(far.gaps[[3, 19_999]], near.gaps[[3, 19_999]])
    assert far.gaps[far.best] == 0
    assert len(far.gaps) == 20_000


def test_dask_arrays_and_lost_workers(tmp_path: Path) -> None:
    """A cluster of two processes, one of which is killed in the middle: the same measurements and the same answer."""
    distributed = pytest.importorskip("distributed")
    import dask
    import dask.array as da

    whole = _search(pw.items_in_shards(ITEMS))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10, "distributed.nanny.pre-spawn-environ": {}}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
    ):

        def kill(progress: Any) -> None:
            if progress.rounds == 1:
                os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

        found = _search(da.from_array(ITEMS, chunks=(6_007, 2)), progress=kill)
        few = pw.items_in_shards(ITEMS[:9], size=4, scheduler=cluster.scheduler_address)
        np.testing.assert_array_equal(few[[7, 2]], ITEMS[[7, 2]])
        few.engine.client.close()
        design = pw.optimal_design(PROBES, pw.pairs(da.from_array(ITEMS, chunks=(6_007, 2))))
        campaign = pw.Campaign.create(tmp_path / "far.campaign", pw.Problem(PROBES, _parquet(tmp_path)), seed=0)
        asked = campaign.ask()["probe"]
        assert isinstance(campaign.problem.items.engine, Cluster)  # the one in use
    assert _asked(found) == _asked(whole)
    assert design.value == pw.optimal_design(PROBES, pw.pairs(pw.items_in_shards(ITEMS))).value
    again = pw.Campaign.open(tmp_path / "far.campaign")
    assert isinstance(again.problem.items.engine, Local)
    assert again.ask()["probe"] == asked


def test_what_cannot_be_done_is_refused(tmp_path: Path) -> None:
    shards = pw.items_in_shards(ITEMS)
    problem = pw.Problem(PROBES, shards)
    assert repr(shards) == "Shards(20,000 items, 4 features, 1 pieces)"
    assert problem.item_names[7] == "7"
    assert problem.item_names[1:3] == ("1", "2")
    for whole in (lambda: problem.items[:5], lambda: problem.items @ THETA, lambda: pw.explicit(problem.items)):
        with pytest.raises(pw.InvalidProblem, match="the 20,000 items stay where they are"):
            whole()
    with pytest.raises(IndexError, match="items are numbered from 0 to 19999, got -1 to 3"):
        problem.items[[3, -1]]
    with pytest.raises(pw.InvalidDesign, match="gaps of 20,000 items that stay where they are cannot be given"):
        pw.star(shards, 0, np.ones(20_000))
    with pytest.raises(pw.InvalidDesign, match="pairs needs at least two items, got one"):
        pw.pairs(pw.items_in_shards(ITEMS[:1]))
    alike = pw.items_in_shards(np.ones((30, 4)), size=7)
    for zero in (lambda: pw.pairs(alike), lambda: pw.star(alike, 3), lambda: pw.points(pw.items_in_shards(0 * ITEMS))):
        with pytest.raises(pw.InvalidDesign, match="all directions are zero: there is nothing to learn"):
            zero()
    with pytest.raises(pw.InvalidProblem, match=r"under theta it is a tie \('0', '2'\)"):
        pw.hardness(pw.Problem(np.eye(2), pw.items_in_shards([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])), [1.0, 0.5])
    with pytest.raises(pw.InvalidProblem, match="known without a measurement"):
        pw.hardness(pw.Problem(PROBES, pw.items_in_shards(ITEMS[:1])), THETA)
    with pytest.raises(pw.InvalidAlgorithm, match="rage needs all items in memory"):
        _search(shards, algorithm=pw.Rage())
    with pytest.raises(pw.InvalidGoal, match="only the best one can be asked for, got 'top'"):
        _search(shards, pw.TopM(2))
    for given, match in (
        (
            {"probes": np.hstack([PROBES, PROBES]), "items": pw.items_in_shards(np.hstack([ITEMS, ITEMS]))},
            "got the rank 4",
        ),
        ({"probes": PROBES, "items": shards, "stock": [5] * 30}, "unlimited stock"),
        (
            {"probes": PROBES, "items": shards, "outcome": pw.Bounded(0, 1)},
            "20,000 items that stay where they are need noise with light",
        ),
    ):
        with pytest.raises(pw.InvalidProblem, match=match):
            pw.identify(pw.Problem(**given), measure=lambda at: at)  # type: ignore[arg-type]
    with pytest.raises(pw.InvalidProblem, match="must have the features of the probes, got 4 features of items; 2 of"):
        pw.Problem(np.eye(2), shards)
    with pytest.raises(pw.InvalidProblem, match="leave item_names out"):
        pw.Problem(PROBES, shards, item_names=["a"])
    with pytest.raises(pw.InvalidProblem, match="row 3 has none in feature number 1"):
        pw.items_in_shards(np.where(np.arange(40).reshape(10, 4) == 13, np.nan, 1.0), size=2)
    with pytest.raises(pw.InvalidProblem, match="must be a table of numbers"):
        pw.items_in_shards(np.array([["a"]]))
    with pytest.raises(pw.InvalidProblem, match="items '1' and '2' are identical"):
        _search(pw.items_in_shards(np.vstack([-THETA, THETA, THETA, 0.5 * THETA]), size=2))


def test_parquet_files_are_checked(tmp_path: Path) -> None:
    _write(tmp_path, ITEMS[:100], 40)
    assert pw.items_from_parquet([tmp_path / "1.parquet"], columns=["x1"], scheduler="here").shape == (40, 1)
    for given, match in (
        ({"pattern": tmp_path / "none*.parquet"}, "there is no Parquet file"),
        ({"pattern": tmp_path, "columns": ["x0", "x9"]}, "has no column 'x9'; it has 'name', 'x0'"),
        ({"pattern": tmp_path}, "column 'name' of .* must hold numbers, got .*string"),
    ):
        with pytest.raises(pw.InvalidProblem, match=match):
            pw.items_from_parquet(**given, scheduler="here")  # type: ignore[arg-type]
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(pw.InvalidProblem, match="cannot be read as Parquet"):
        pw.items_from_parquet(tmp_path / "bad.parquet", scheduler="here")


def test_pieces() -> None:
    piece = Piece(ITEMS[: BLOCK + 5], 100)
    parts = list(blocks(piece.rows, -1.0))
    assert [rows for rows, _ in parts] == [slice(0, BLOCK), slice(BLOCK, BLOCK + 5)]
    assert all(block.shape == (BLOCK, 4) for _, block in parts)
    np.testing.assert_array_equal(parts[1][1][:5], -ITEMS[BLOCK : BLOCK + 5].astype(np.float64))
    assert not parts[1][1][5:].any()
    np.testing.assert_array_equal(summary(piece).largest, np.abs(ITEMS[: BLOCK + 5]).max(axis=0))
    front = Front(np.array([1.0, 3.0, 3.0]), np.array([4, 9, 2]), np.eye(3))
    assert Front.of(front, most=2).numbers.tolist() == [2, 9]
