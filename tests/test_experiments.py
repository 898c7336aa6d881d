from __future__ import annotations

import csv
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise as pw
from probewise import experiments
from probewise.cli import main
from probewise.experiments import audit, methods, picture, sweep
from probewise.simulation import exact_rate
from probewise.testing import informed

TINY = experiments.fig4.TESTING.smaller((4,), 2, without=("XY-Static", "XY-Oracle", "RAGE (code)"))


@pytest.mark.parametrize("figure", experiments.FIGURES.values(), ids=experiments.FIGURES)
def test_settings_are_those_of_the_paper(figure: Any) -> None:
    published = figure.SETTINGS
    assert published.runs == 20
    assert published.delta == 0.05
    assert all(curve.sizes is None or set(curve.sizes) <= set(published.sizes) for curve in published.curves)
    assert {curve.label for curve in published.curves} <= set(picture.COLOURS)
    for smaller in (figure.QUICK, figure.TESTING):
        assert smaller.runs < 20
        assert set(smaller.curves) <= set(published.curves)


def test_sizes_are_those_of_the_paper() -> None:
    sizes = {name: figure.SETTINGS.sizes for name, figure in experiments.FIGURES.items()}
    assert (sizes["fig1"][0], sizes["fig1"][-1]) == (5, 35)
    assert sizes["fig2"][-1] == 30_000
    assert sizes["fig3"][-1] == 2_000
    assert (sizes["fig4"][0], sizes["fig4"][-1]) == (20, 80)


def test_algorithms_of_one_run_meet_the_same_instance() -> None:
    chosen = experiments.fig2.TESTING
    first, again, other = (chosen.instances(30)(run)[0].probes for run in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_sweep_goes_on_and_writes_the_same_files(tmp_path: Path) -> None:
    outcome, paths = experiments.reproduce(TINY, tmp_path / "a")
    assert {path.name for path in paths} == {"fig4.csv", "fig4_runs.csv", "fig4.json", "fig4.png", "fig4.svg"}

    class Interruption(Exception):
        pass

    def interrupt(what: str, done: int, total: int) -> None:
        if "paper" in what:
            raise Interruption

    with pytest.raises(Interruption):
        experiments.reproduce(TINY, tmp_path / "b", progress=interrupt)
    experiments.reproduce(TINY, tmp_path / "b", workers=2)
    for path in paths:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name
    rows = list(csv.DictReader((tmp_path / "a/fig4.csv").read_text().splitlines()))
    assert [row["algorithm"] for row in rows] == [curve.label for curve in TINY.curves]
    assert float(rows[0]["measurements"]) == pytest.approx(outcome.rows[0].measurements, rel=1e-5)
    assert len((tmp_path / "a/fig4_runs.csv").read_text().splitlines()) == 1 + 2 * len(TINY.curves)
    assert json.loads((tmp_path / "a/fig4.json").read_text())["cells"][0]["kind"] == "Sage"


def test_lower_bounds_are_certified_and_below_every_method() -> None:
    rows = sweep.table(TINY).rows
    bound = pw.hardness(*pw.instances.transductive(4)).lower_bound(0.05)
    assert all(row.lower_bound == pytest.approx(bound, rel=2e-3) for row in rows)
    assert all(row.measurements > bound for row in rows)


def test_summary_leaves_out_what_was_not_run() -> None:
    row = sweep.Average(5, "RAGE (code)", 2, 1234.0, 56.0, 1, 3.0, 100.0)
    header, body = experiments.summary([row, row._replace(size=10, algorithm="ALBA", errors=0)])
    assert header == ["", "5", "10"]
    assert body[0] == ["RAGE (code)", "1,230 ± 56, 1 wrong", ""]
    assert body[-1] == ["lower bound", "100", "100"]


def test_unknown_figures_are_refused() -> None:
    with pytest.raises(
        pw.InvalidProblem, match="figures are fig1, fig2, fig3, fig4 at scale quick or paper, got 'fig5'"
    ):
        experiments.settings("fig5", "quick")


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=9))
@settings(max_examples=50)
def test_labels_are_in_order_and_nearest(values: list[float]) -> None:
    found = picture._isotonic(np.array(values))
    assert (np.diff(found) >= -1e-12).all()
    assert found.sum() == pytest.approx(sum(values), abs=1e-9)
    # the projection on a cone: residuals are orthogonal to it
    assert (np.array(values) - found) @ found == pytest.approx(0.0, abs=1e-8)


# The claims of section 5, on a small scale. Numbers of measurements differ by factors, so few runs suffice.


def means(instance: Any, *algorithms: Any, runs: int = 5) -> list[float]:
    problem, theta = instance
    made = [algorithm(problem, theta) for algorithm in algorithms]
    return [pw.simulate(problem, theta, one, runs=runs, seed=1).mean("measurements") for one in made]


def test_on_the_benchmark_rage_is_far_below_static_and_near_the_oracle() -> None:
    rage, static, oracle = means(pw.instances.benchmark(10), methods.rage("code"), methods.static(), methods.oracle())
    assert rage < static / 2
    assert rage < 5 * oracle


def test_with_many_items_lingape_grows_linearly_and_rage_does_not() -> None:
    few, many = (pw.instances.many_arms(n, 3, spread=0.09) for n in (100, 1000))
    chosen = (methods.lingape, methods.rage("code"))
    (lingape_few, rage_few), (lingape_many, rage_many) = (means(one, *chosen, runs=2) for one in (few, many))
    assert lingape_many - lingape_few > 0.8 * 900
    assert rage_many - rage_few < 0.5 * (lingape_many - lingape_few)


def test_on_the_sphere_rage_is_far_below_alba() -> None:
    rage, alba = means(pw.instances.sphere(50, 5, seed=1), methods.rage("code"), methods.alba)
    assert rage < alba / 20


def test_on_the_transductive_instance_rage_is_far_below_static() -> None:
    rage, static = means(pw.instances.transductive(20), methods.rage("code"), methods.static())
    assert rage < static / 10


# The audit


def test_every_method_of_the_audit_claims_a_proof() -> None:
    problem, theta = audit.TRAPS["near tie"].draw()
    made = {name: make(problem, theta) for name, make in methods.PROVEN.items()}
    assert all(algorithm.proven for algorithm in made.values())
    made_for_it = [name for name in pw.ALGORITHMS if issubclass(pw.BestItem, pw.ALGORITHMS[name].goals)]
    claimed = {name for name in made_for_it if informed(name, problem, theta).proven}
    assert {algorithm.name for algorithm in made.values()} == claimed


@pytest.mark.parametrize("name", audit.TRAPS)
def test_traps_are_what_they_say(name: str) -> None:
    trap = audit.TRAPS[name]
    problem, theta = trap.draw()
    pw.LinearEnvironment(problem, theta, trap.noise)
    psi = pw.hardness(problem, theta, tol=1e-2).psi
    assert 2000 < psi < 10_000 if name == "hairline" else psi < 500  # one is decided late, the others soon
    ratio = problem.n_probes / problem.n_items
    assert {"few probes": ratio <= 0.01, "many probes": ratio >= 100}.get(name, True)


def test_an_audit_of_a_sound_method(tmp_path: Path) -> None:
    (found,) = audit.audit(["rage-paper"], [0.3], runs=20, journal=tmp_path)
    assert found.rate.runs == 20 * len(audit.TRAPS)
    assert found.passed
    assert len(list(tmp_path.iterdir())) == len(audit.TRAPS)


def test_an_audit_of_unknown_noise_keeps_to_gaussian_traps(monkeypatch: pytest.MonkeyPatch) -> None:
    traps = {name: audit.TRAPS[name] for name in ("two items", "coins")}
    monkeypatch.setattr(audit, "TRAPS", traps)
    (found,) = audit.audit(["sage-unknown-sigma"], [0.3], runs=5)
    assert found.rate.runs == 5
    (known,) = audit.audit(["sage-batches"], [0.3], runs=5)
    assert known.rate.runs == 10


def test_an_audit_finds_a_method_that_errs(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(problem: pw.Problem, theta: Any) -> Any:
        return replace(pw.Rage("tight"), rounding=0.9)

    monkeypatch.setattr(audit, "TRAPS", {"two items": audit.TRAPS["two items"]})
    monkeypatch.setitem(methods.PROVEN, "careless", careless)
    monkeypatch.setattr("probewise.algorithms.rage.spent", lambda delta, check: 0.99)
    (found,) = audit.audit(["careless"], [0.01], runs=60)
    assert found.rate.errors > 0
    assert not found.passed
    assert found.worst.instance == "two items"


def test_few_runs_do_not_pass() -> None:
    rate = exact_rate(0, 20)
    assert not audit.Finding("x", 0.05, (audit.Cell("two items", rate, 1.0),)).passed


def test_findings_of_each_instance() -> None:
    cells = tuple(audit.Cell(str(errors), exact_rate(errors, 100), 10.0 * errors) for errors in (1, 40, 0))
    found = audit.Finding("x", 0.3, cells)
    assert found.rate == exact_rate(41, 300)
    assert found.worst.instance == "40"
    assert found.measurements == pytest.approx(410 / 3)
    assert found.passed  # on average
    assert [part.passed for part in found.parts] == [True, False, True]


# Commands


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    (tmp_path / "probes.csv").write_text("id,a,b\np1,1,0\np2,0,1\n")
    (tmp_path / "items.csv").write_text("id,a,b\nx,1,0.2\ny,0.4,0.8\n")
    return ["--probes", str(tmp_path / "probes.csv"), "--items", str(tmp_path / "items.csv"), "--model", "none"]


def called(*words: str, code: int = 0) -> Any:
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == code, done.output + done.stderr
    return done


def one_line(done: Any) -> str:
    return " ".join(done.stdout.split())


def test_simulate_compares_algorithms(tables: list[str], tmp_path: Path) -> None:
    words = ["simulate", *tables, "--theta", "1,0", "--runs", "5", "--algorithm", "rage,variant=code"]
    words += ["--algorithm", "xy-oracle", "--out", str(tmp_path / "runs")]
    found = json.loads(called(*words, "--json").stdout)
    assert [row["algorithm"] for row in found["algorithms"]] == ["rage,variant=code", "xy-oracle"]
    assert pw.Runs.read(tmp_path / "runs/xy-oracle.csv").mean("measurements") == found["algorithms"][1]["measurements"]
    picture = tmp_path / "runs.svg"
    done = called(*words, "--plot", str(picture))
    assert "No method that errs with probability at most 0.05" in done.stdout
    assert f"Written: {picture}" in done.stdout
    assert picture.stat().st_size > 5000


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_runs(
    tables: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pw.simulation.engine, "one_run", None)
    words = ["simulate", *tables, "--theta", "1,0", "--plot"]
    assert "pictures are written as .png, .svg, .pdf" in called(*words, str(tmp_path / "a.doc"), code=2).stderr
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pictures need matplotlib; install" in called(*words, str(tmp_path / "a.png"), code=2).stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("sorcery", "there is no algorithm 'sorcery'"), ("rage,colour=3", "'colour=3' is not a setting of rage")],
)
def test_algorithms_that_do_not_exist(tables: list[str], text: str, sentence: str) -> None:
    assert sentence in called("simulate", *tables, "--theta", "1,0", "--algorithm", text, code=2).stderr


LABORATORY = """
import random, sys
random.seed(len(sys.argv))
mean = {"p1": 1.0, "p2": 0.0}
for name in sys.stdin:
    print(mean[name.strip()] + random.gauss(0, 1))
"""


def test_identify_by_a_command(tables: list[str], tmp_path: Path) -> None:
    (tmp_path / "laboratory.py").write_text(LABORATORY)
    found = json.loads(called("identify", *tables, "--measure", f"python3 {tmp_path}/laboratory.py", "--json").stdout)
    assert found["item"] == "x"
    assert found["measurements"] > 0
    assert "'x' is the best item" in called("identify", *tables, "--theta", "1,0").stdout


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("python3 -c 'print(1)'", "must print one outcome per probe asked for, expected"),
        ("python3 -c 'print(\"a b\")'", "must print one number per line"),
        ("python3 -c 'raise SystemExit(3)'", "ended with exit code 3"),
    ],
)
def test_commands_that_measure_badly(tables: list[str], command: str, sentence: str) -> None:
    assert sentence in called("identify", *tables, "--measure", command, code=2).stderr


def test_identify_needs_one_laboratory_and_respects_a_budget(tables: list[str]) -> None:
    assert "either --measure COMMAND or --theta" in called("identify", *tables, code=2).stderr
    done = called("identify", *tables, "--theta", "0.01,0", "--budget", "30", code=1)
    said = r"No answer after 30 measurements in \d+ rounds: the budget allows no further round\. Best guess: '[xy]', "
    assert re.search(said, one_line(done))
    done = called("identify", *tables, "--theta", "0.01,0", "--budget", "30", "--json", code=1)
    found = json.loads(done.stdout)
    assert (found["status"], found["measurements"]) == ("budget exhausted", 30)
    assert found["item"] is not None
    assert 0 <= found["confidence"] < 0.95
    done = called("identify", *tables, "--theta", "0.01,0", "--algorithm", "rage", "--budget", "1", code=1)
    assert "too little for a guess" in one_line(done)
    done = called("identify", *tables, "--theta", "0.01,0", "--algorithm", "lingape", "--budget", "9", code=1)
    assert "lingape does not say how sure that is" in one_line(done)
    done = called("identify", *tables, "--theta", "0.01,0", "--epsilon", "0.02", "--budget", "9", code=1)
    assert re.search(r"Best guess: '[xy]', to within 0\.02, (no )?confidence ", one_line(done))


def test_list_names_every_algorithm() -> None:
    found = {row["name"]: row for row in json.loads(called("list", "--json").stdout)["algorithms"]}
    assert set(found) == set(pw.ALGORITHMS)
    assert found["rage"]["proven"]
    assert found["xy-oracle"]["needs"] == "the true theta"
    text = called("list").stdout
    assert all(name in text for name in pw.ALGORITHMS)


def test_reproduce_and_audit_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments.fig4, "QUICK", TINY)
    assert "Written: " in called("reproduce", "fig4", "--out", str(tmp_path)).stdout
    assert (tmp_path / "quick/fig4.svg").is_file()
    assert json.loads(called("reproduce", "fig4", "--out", str(tmp_path), "--json").stdout)["scale"] == "quick"
    monkeypatch.setattr("probewise.experiments.audit.TRAPS", {"two items": audit.TRAPS["two items"]})
    words = ["audit", "--method", "rage-paper", "--delta", "0.3", "--runs"]
    assert "Every upper end is at most δ" in called(*words, "30").stdout
    assert not json.loads(called(*words, "5", "--json", code=1).stdout)["findings"][0]["passed"]
    assert "Above δ: rage-paper at 0.3 on two items" in called(*words, "5", "--each", code=1).stdout
