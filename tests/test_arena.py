"""The arena: cells, what cannot be done, the page and its script."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import probewise as pw
from probewise.experiments import arena, arena_page
from probewise.experiments.arena import Cell, Scale
from probewise.experiments.grounds import GROUNDS
from probewise.tables import Table

SMALL = Scale((0.1,), 4, 60.0)


@pytest.fixture(scope="module")
def cells():
    return list(arena.arena(["sage", "uniform", "xy-oracle"], ["coins", "few probes"], SMALL, seed=3))


def cell(method, ratio, *, proven=True, error=1.0, **other):
    known = {"instance": "coins", "delta": 0.1, "limit": 100.0, "runs": 4, "wrong": 0, "unfinished": 0, "high": 0.5}
    rest = {"seconds": 0.1, "refused": "", "measurements": 100.0 * ratio, "standard_error": error}
    return Cell(method=method, proven=proven, **(known | rest | other))


def test_a_cell_is_what_simulate_gives(cells):
    problem, theta = GROUNDS["coins"].draw()
    runs = pw.simulate(problem, theta, pw.Uniform(), pw.BestItem(0.1), runs=4, seed=3, noise="bernoulli")
    found = next(c for c in cells if c.method == "uniform" and c.instance == "coins")
    assert found.measurements == runs.mean("measurements")
    assert found.limit == pytest.approx(pw.hardness(problem, theta, tol=1e-3).lower_bound(0.1))
    assert (found.runs, found.unfinished) == (4, 0)


def test_every_method_is_there_with_what_it_must_know():
    problem, theta = GROUNDS["near tie"].draw()
    made = {name: make(problem, theta) for name, make in arena.contenders().items()}
    fixed = {name for name, kind in pw.ALGORITHMS.items() if "budget" in kind.__dataclass_fields__}
    assert set(pw.ALGORITHMS) - fixed <= set(made)
    assert not fixed & set(made)
    np.testing.assert_array_equal(made["xy-oracle"].theta, theta)
    assert made["alba"].norm_bound == 1.0


def test_who_cannot_do_it_says_why(cells, monkeypatch):
    def unlucky(problem, theta):
        raise pw.InvalidAlgorithm("not on a Monday.")

    monkeypatch.setattr(arena, "contenders", lambda kind=None: {"monday": unlucky})
    (found,) = arena.arena(["monday"], ["coins"], SMALL)
    assert found.refused == "not on a Monday."
    page = arena_page.drawn([*cells, found], scale="quick", seed=3)
    assert "What cannot be done" in page
    assert "not on a Monday." in page


def test_runs_that_take_too_long_are_cut_and_said_to_be(tmp_path):
    (found,) = arena.arena(["m-lingape"], ["near tie"], Scale((0.1,), 4, 1e-6), journal=tmp_path)
    assert found.cut
    assert found.unfinished == found.runs == 3
    assert re.fullmatch(r"3 of 3 runs had not ended at \d+\.\d times the limit\.", found.refused)
    page = arena_page.drawn([found, cell("sage", 2.0)], scale="quick", seed=0)
    assert "What was cut for time" in page
    assert found.refused in page
    assert "What cannot be done" not in page
    (again,) = arena.arena(["m-lingape"], ["near tie"], Scale((0.1,), 4, 1e-6), journal=tmp_path)
    assert (again.refused, again.spent) == (found.refused, found.spent)  # it was not run again


def test_a_run_may_take_what_the_time_allows(monkeypatch):
    """By the time that more measurements take: here a second for the first plan, and a millisecond for each."""
    problem, theta = GROUNDS["coins"].draw()
    fight = arena._Fight("uniform", "coins", 0.1, 100.0, Scale((0.1,), 4, 30.0), 0, None)
    tried, ending = [], 10**9

    def once(self, problem, theta, algorithm, ground, most):
        tried.append(most)
        return 1.0 + 1e-3 * most, most >= ending

    monkeypatch.setattr(arena._Fight, "_once", once)
    most, seconds = fight._afforded(problem, theta, pw.Uniform(), GROUNDS["coins"])
    assert most == pytest.approx(9_000, rel=1e-6)
    assert seconds == 10.0
    assert tried == [300, 300, 1200, 4800]
    tried.clear()
    ending = 4000
    assert fight._afforded(problem, theta, pw.Uniform(), GROUNDS["coins"]) == (100_000, pytest.approx(5.8))


def _recorded(rng):
    """Tables with the columns of the recorded ones."""
    numbers = {name: rng.uniform(1, 9, 40) for name in ("temperature", "pd", "arbpin", "k3po4", "yield")}
    yield "suzuki", Table("suzuki", tuple(numbers), tuple(numbers.values()))
    plots = [(v, s, y) for v in "ABCDE" for s in ("north", "south") for y in ("1931", "1932")]
    columns = (*(list(part) for part in zip(*plots, strict=True)), rng.uniform(20, 60, len(plots)))
    yield "barley", Table("barley", ("variety", "site", "year", "yield"), columns)


@pytest.mark.parametrize("instance", GROUNDS)
def test_every_instance_has_an_answer_and_a_limit(instance, monkeypatch):
    for name, table in _recorded(np.random.default_rng(0)):
        monkeypatch.setattr(f"probewise.data.{name}", lambda table=table: table)
    ground = GROUNDS[instance]
    problem, theta = ground.draw()
    assert np.isfinite(theta).all()
    assert 0.0 < arena.limit(problem, theta, ground.goal) < 1e9


def test_data_that_cannot_be_had_are_named(monkeypatch):
    def gone():
        raise pw.DataUnavailable("the table is not here.")

    monkeypatch.setitem(GROUNDS, "coins", GROUNDS["coins"]._replace(draw=gone))
    (found,) = arena.arena(["sage"], ["coins"], SMALL)
    assert found.refused == "the table is not here."


def test_a_journal_goes_on(cells, tmp_path):
    again = [list(arena.arena(["uniform"], ["coins"], SMALL, seed=3, journal=tmp_path)) for _ in range(2)]
    assert again[0] == again[1]  # the seconds too: it was not run again
    runs = next(tmp_path.glob("coins*.jsonl"))
    assert len(runs.read_text().splitlines()) == 1 + SMALL.runs
    (other,) = arena.arena(["uniform"], ["coins"], replace(SMALL, runs=2), seed=3, journal=tmp_path)
    assert other.runs == 2  # a cell of another scale is no answer


def test_cells_are_spread_over_workers(cells, tmp_path):
    pytest.importorskip("joblib")
    found = arena.arena(["sage", "uniform"], ["coins"], SMALL, seed=3, workers=2, journal=tmp_path)
    found = arena.ordered(found, ["sage", "uniform"], ["coins"])
    alone = [c for c in cells if c.instance == "coins" and c.method != "xy-oracle"]
    assert [c._replace(seconds=0.0, spent=0.0) for c in found] == [c._replace(seconds=0.0, spent=0.0) for c in alone]


@pytest.mark.parametrize(
    ("instance", "ours"), [("4 of 12 elements", "sage-sets"), ("3 rates", "sage-glm"), ("3 best of 10", "sage")]
)
def test_methods_meet_the_instances_of_their_kind(instance, ours):
    """Sets and links have methods of their own; who answers another question is refused by itself."""
    few = Scale((0.1,), 1, 60.0)
    found = {c.method: c for c in arena.arena([ours, "uniform", "uniform-sets", "rage-glm"], [instance], few)}
    assert not found[ours].refused
    assert 1.0 < found[ours].ratio < 100.0
    kinds = {"sets": "uniform-sets", "links": "rage-glm", "items": "uniform"}
    assert set(found) == {ours, kinds[GROUNDS[instance].kind]}
    page = arena_page.drawn(list(found.values()), scale="quick", seed=0)
    assert ours in page


def test_runs_that_are_given_up_are_no_errors(monkeypatch):
    monkeypatch.setattr(arena, "MOST", 0.5)
    (found,) = arena.arena(["uniform"], ["coins"], SMALL)
    assert found.unfinished == found.runs
    assert found.wrong == 0
    assert found.measurements >= 0.5 * found.limit  # it would have taken more, however few it had made
    assert "uniform" in arena_page.drawn([found], scale="quick", seed=0)


def test_losses_are_said_with_their_proof():
    ours = cell("sage", 2.0)
    page = arena_page.drawn([ours, cell("uniform", 1.5, proven=False), cell("rage", 3.0)], scale="quick", seed=0)
    assert "uniform (heuristic) needed 150, sage 200; beyond two standard errors" in page
    assert "rage (proven) needed" not in page
    assert "theirs is heuristic" in page
    assert "both have a proof" in page
    fair = arena_page.drawn([ours, cell("rage", 3.0)], scale="quick", seed=0)
    assert "Nowhere did another method need fewer measurements than Sage." in fair
    assert "sage needs 2 times the limit; rage, the next one with a proof, 3 times" in fair


def test_the_page_runs_its_own_script_and_no_other(cells, tmp_path):
    html, data = arena_page.write(cells, tmp_path, scale="quick", seed=3)
    text = html.read_text("utf-8")
    script = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "http" not in re.sub(r'http-equiv|"http://www.w3.org/[^"]*"', "", text)
    kept = json.loads(data.read_text("utf-8"), parse_constant=pytest.fail)
    assert [c["method"] for c in kept["cells"]] == [c.method for c in cells]
    assert kept["cells"][0]["ratio"] == cells[0].ratio


@pytest.mark.parametrize(("kind", "name"), [("method", "nobody"), ("instance", "nowhere")])
def test_names_that_nobody_has(kind, name):
    known = arena.contenders() if kind == "method" else GROUNDS
    with pytest.raises(pw.InvalidProblem, match=f"there is no {kind} '{name}'; they are"):
        arena.check_names(kind, [name], known)
