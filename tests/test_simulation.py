from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

import probewise as pw
from probewise.design import remembering
from probewise.design.memory import digest, remembered
from probewise.simulation import Runs, exact_rate
from probewise.simulation.engine import one_run
from probewise.simulation.table import COLUMNS

PROBLEM, THETA = pw.instances.benchmark(3, angle=0.3)
RAGE = pw.Rage("tight")


def simulated(**options: Any) -> Runs:
    return pw.simulate(PROBLEM, THETA, RAGE, **({"runs": 12, "seed": 5} | options))


@pytest.fixture(scope="module")
def reference() -> Runs:
    return simulated()


def test_a_table_has_the_promised_columns(reference: Runs) -> None:
    assert list(reference.columns) == ["run", "seed", "item", "correct", "measurements", "cost", "rounds", "seconds"]
    assert reference["run"].tolist() == list(range(12))
    assert set(reference["seed"]) == {5}
    assert (reference["cost"] == reference["measurements"]).all()
    assert (reference["correct"] == (reference["item"] == 0)).all()
    assert (reference["seconds"] > 0).all()
    with pytest.raises(pw.InvalidTable, match="got 'colour'"):
        reference["colour"]


def test_mean_and_standard_error(reference: Runs) -> None:
    n = reference["measurements"]
    assert reference.mean("measurements") == pytest.approx(sum(n) / 12)
    assert reference.standard_error("measurements") == pytest.approx(np.std(n, ddof=1) / 12**0.5)
    assert np.isnan(simulated(runs=1).standard_error("rounds"))


@pytest.mark.parametrize("workers", [2, 3])
def test_workers_do_not_matter(reference: Runs, workers: int) -> None:
    assert simulated(workers=workers).digest == reference.digest


def test_dask_workers_do_not_matter(reference: Runs) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        assert simulated(workers=2, backend="dask").digest == reference.digest


@dataclass(frozen=True)
class Mortal(pw.Uniform):
    """Ends the process that it runs in, once: where there is no file yet."""

    mark: str = ""
    """The file; workers that ran before would not see a variable of the environment."""

    def init(self, problem: pw.Problem, goal: pw.Goal) -> Any:
        if not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return pw.Uniform.init(self, problem, goal)


@pytest.mark.skipif(sys.platform == "win32", reason="processes end in other ways")
def test_a_killed_worker_is_told_and_the_journal_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    mortal = Mortal(mark=str(tmp_path / "mark"))
    about: dict[str, Any] = {"algorithm": mortal, "runs": 6, "workers": 2, "journal": tmp_path / "runs.jsonl"}
    problem, theta = pw.Problem(np.eye(2)), np.array([1.0, 0.0])
    with pytest.raises(pw.WorkerLost, match="of 6 runs were finished; the journal has these, and the same"):
        pw.simulate(problem, theta, **about)
    again = pw.simulate(problem, theta, **about)
    assert again.digest == pw.simulate(problem, theta, **about | {"workers": 1, "journal": None}).digest


@pytest.mark.skipif(sys.platform == "win32", reason="processes end in other ways")
def test_a_killed_worker_of_dask_loses_nothing(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    mortal = Mortal(mark=str(tmp_path / "mark"))
    about: dict[str, Any] = {"algorithm": mortal, "runs": 6, "journal": tmp_path / "runs.jsonl"}
    problem, theta = pw.Problem(np.eye(2)), np.array([1.0, 0.0])
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        found = pw.simulate(problem, theta, **about, workers=2, backend="dask")
    assert Path(mortal.mark).exists()  # it was
    assert found.digest == pw.simulate(problem, theta, **about | {"journal": None}).digest


def test_back_ends_that_are_missing_or_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("threads", "ray"):
        with pytest.raises(pw.InvalidProblem, match=f"backend must be one of loky, dask, got '{name}'"):
            simulated(backend=name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(pw.MissingExtra, match=r"install probewise\[dask\] or use 1 worker"):
        simulated(backend="dask")


@pytest.mark.parametrize(("option", "value"), [("runs", 0), ("seed", -1), ("workers", 0), ("runs", 2.5)])
def test_bad_numbers_are_refused(option: str, value: Any) -> None:
    with pytest.raises(pw.InvalidProblem, match=f"{option} must be a whole number of at least .*, got {value}"):
        simulated(**{option: value})


def test_numbers_of_numpy_are_whole_numbers_too(reference: Runs) -> None:
    assert simulated(seed=np.int64(reference.provenance["seed"])).digest == reference.digest


def test_seeds_and_runs_have_streams_of_their_own(reference: Runs) -> None:
    assert simulated(seed=6).digest != reference.digest
    assert np.unique(reference["measurements"]).size > 1
    # a run does not depend on the runs before it
    row = one_run((PROBLEM, THETA, RAGE), pw.BestItem(), "gaussian", 5, 7)
    repeatable = [name for name in COLUMNS if name != "seconds"]
    assert [row[name] for name in repeatable] == [reference[name][7] for name in repeatable]


def test_a_budget_ends_runs_without_an_answer() -> None:
    runs = simulated(budget=10)
    assert set(runs["item"]) == {-1}
    assert runs.error_rate().value == 1.0
    assert (runs["measurements"] <= 10).all()


def test_an_item_within_epsilon_is_correct() -> None:
    goal = pw.BestItem(epsilon=10.0)
    assert pw.simulate(PROBLEM, THETA, RAGE, goal, runs=5).error_rate().errors == 0


def test_progress_is_reported() -> None:
    heard: list[tuple[int, int]] = []
    simulated(runs=3, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 3), (2, 3), (3, 3)]


class Interruption(Exception):
    pass


@pytest.mark.parametrize("cut", [0, 4])
def test_an_interrupted_simulation_goes_on(tmp_path: Path, reference: Runs, cut: int, monkeypatch: Any) -> None:
    journal = tmp_path / "runs.jsonl"

    def interrupt(done: int, total: int) -> None:
        if done == 5:
            raise Interruption

    with pytest.raises(Interruption):
        simulated(journal=journal, progress=interrupt)
    lines = journal.read_text().splitlines(keepends=True)
    assert len(lines) == 6
    if cut:  # the interruption came in the middle of a line
        journal.write_text("".join(lines)[:-cut])
    redone: list[int] = []
    import probewise.simulation.engine as engine

    def spied(trial: Any, goal: Any, noise: Any, seed: int, run: int, budget: Any) -> Any:
        redone.append(run)
        return one_run(trial, goal, noise, seed, run, budget)

    monkeypatch.setattr(engine, "one_run", spied)
    resumed = simulated(journal=journal)
    assert redone == list(range(4 if cut else 5, 12))
    assert resumed.digest == reference.digest
    simulated(journal=journal)
    assert len(redone) == 12 - (4 if cut else 5)


def test_a_journal_of_other_settings_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "runs.jsonl"
    simulated(runs=1, journal=journal)
    simulated(runs=2, journal=journal)
    with pytest.raises(pw.InvalidTable, match=r"begun with other settings \(noise, seed\); remove it or name another"):
        simulated(runs=1, journal=journal, seed=6, noise="rademacher")
    with pytest.raises(pw.InvalidTable, match=r"begun with other settings \(budget\)"):
        simulated(runs=1, journal=journal, budget=10**9)
    with pytest.raises(pw.InvalidTable, match=r"begun with other settings \(goal\)"):
        simulated(runs=1, journal=journal, goal=pw.BestItem(0.06))
    journal.write_text("run,seed\n")
    with pytest.raises(pw.InvalidTable, match="is not a journal of runs"):
        simulated(runs=1, journal=journal)


def test_all_that_a_run_depends_on_is_in_its_provenance() -> None:
    def about(problem: pw.Problem, **options: Any) -> dict[str, Any]:
        return pw.simulate(problem, [1.0, 0.0], pw.Sage(), runs=1, **options).provenance

    plain = about(pw.Problem(np.eye(2)))
    others = [
        pw.Problem(2 * np.eye(2)),
        pw.Problem(np.eye(2), [[1, 0], [0, 1], [-1, 0]]),
        pw.Problem(np.eye(2), sigma=0.5),
        pw.Problem(np.eye(2), sigma="unknown"),
        pw.Problem(np.eye(2), cost=[1, 2]),
        pw.Problem(np.eye(2), stock=[10**6, 10**6]),
        pw.Problem(np.eye(2), stock=[10**6, None]),
    ]
    digests = {about(problem)["problem"] for problem in others}
    assert len(digests - {plain["problem"]}) == len(others)
    assert (plain["budget"], plain["noise"], plain["seed"], plain["runs"]) == (None, None, 0, 1)
    other = about(pw.Problem(np.eye(2)), budget=7, noise="rademacher", seed=3)
    assert (other["budget"], other["noise"], other["seed"]) == (7, "rademacher", 3)
    assert other["problem"] == plain["problem"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("seconds", [False, True])
def test_files_are_read_back(tmp_path: Path, reference: Runs, ending: str, seconds: bool) -> None:
    path = tmp_path / f"runs.{ending}"
    reference.write(path, seconds=seconds)
    read = Runs.read(path)
    assert read.digest == reference.digest
    assert read.provenance == json.loads(json.dumps(reference.provenance))
    np.testing.assert_array_equal(read["seconds"], reference["seconds"] if seconds else np.full(12, np.nan))


def test_the_same_seed_gives_the_same_files(tmp_path: Path, reference: Runs) -> None:
    for name in ("a", "b"):
        simulated(workers=1 + (name == "b")).write(tmp_path / f"{name}.csv")
    for ending in ("csv", "json"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    settings_of = json.loads((tmp_path / "a.json").read_text())
    assert settings_of["algorithm"]["kind"] == "Rage"
    assert settings_of["seed"] == 5
    assert {"probewise", "numpy", "python"} <= set(settings_of["versions"])


def test_files_of_other_kinds_are_refused(tmp_path: Path, reference: Runs) -> None:
    with pytest.raises(pw.InvalidTable, match=r"written as \.csv or \.parquet"):
        reference.write(tmp_path / "runs.xlsx")


def test_frames(reference: Runs) -> None:
    assert reference.to_pandas()["measurements"].tolist() == reference["measurements"].tolist()
    assert reference.to_polars()["correct"].to_list() == reference["correct"].tolist()


@given(st.integers(1, 400), st.data())
@settings(max_examples=40)
def test_the_interval_of_the_error_rate_is_exact(runs: int, data: Any) -> None:
    errors = data.draw(st.integers(0, runs))
    rate = exact_rate(errors, runs, 0.95)
    expected = binomtest(errors, runs).proportion_ci(0.95)
    assert (rate.low, rate.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert rate.value == errors / runs


def test_the_interval_covers() -> None:
    runs, truth = 50, 0.07
    covered = [k for k in range(runs + 1) if exact_rate(k, runs).low <= truth <= exact_rate(k, runs).high]
    assert binom.pmf(covered, runs, truth).sum() >= 0.99


def test_memory_changes_nothing_and_saves_work() -> None:
    calls: list[int] = []

    @remembered
    def square(x: np.ndarray[Any, Any], *, shift: float = 0.0) -> float:
        calls.append(1)
        return float(x @ x) + shift

    x = np.arange(3.0)
    assert square(x) == square(x.copy()) == 5.0
    assert len(calls) == 2
    with remembering():
        assert [square(x), square(x.copy()), square(x, shift=1.0), square(x + 1)] == [5.0, 5.0, 6.0, 14.0]
        with remembering():
            assert square(x) == 5.0
    assert len(calls) == 5
    square(x)
    assert len(calls) == 6


def test_digests_tell_shapes_and_directions_apart() -> None:
    z = np.eye(4)
    values = [
        z,
        z.reshape(2, 8),
        z.astype(np.float32),
        [z],
        pw.pairs(z),
        pw.points(z),
        pw.star(z, 0),
        "z",
        1,
        1.0,
        None,
    ]
    assert len({digest(value) for value in values}) == len(values)
    assert digest(pw.pairs(z)) == digest(pw.pairs(z.copy()))


@pytest.mark.parametrize("selection", ["ratio", "greedy"])
def test_lingape_gives_the_same_rows_without_numba(selection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    problem, theta = pw.Problem(np.eye(2)), np.array([1.0, 0.0])
    options: dict[str, Any] = {"runs": 2, "seed": 3}
    fast = pw.simulate(problem, theta, pw.LinGapE(selection), **options)
    monkeypatch.setattr("probewise.simulation.compiled.supports", lambda algorithm: False)
    assert pw.simulate(problem, theta, pw.LinGapE(selection), **options).digest == fast.digest


def together(**options: Any) -> Runs:
    algorithms = {"uniform": pw.Uniform(), "RAGE, tight": RAGE}  # not in the order of the alphabet
    return pw.simulate(PROBLEM, THETA, algorithms, **({"runs": 12, "seed": 5} | options))


@pytest.fixture(scope="module")
def both() -> Runs:
    return together()


def test_several_algorithms_make_one_table_of_the_same_runs(reference: Runs, both: Runs) -> None:
    assert list(both.columns) == ["algorithm", *COLUMNS]
    assert both["algorithm"].tolist() == ["uniform"] * 12 + ["RAGE, tight"] * 12
    assert both["run"].tolist() == [*range(12)] * 2
    tables = both.by_algorithm()
    assert list(tables) == ["uniform", "RAGE, tight"]
    assert tables["RAGE, tight"].digest == reference.digest
    assert tables["RAGE, tight"].provenance == reference.provenance
    assert both.provenance["algorithm"]["uniform"]["kind"] == "Uniform"
    assert f"; RAGE, tight: {repr(reference)[5:]}" in repr(both)
    assert both.to_pandas().groupby("algorithm")["measurements"].mean()["RAGE, tight"] == reference.mean("measurements")


def test_rows_of_several_algorithms_are_put_in_order(both: Runs) -> None:
    rows = np.random.default_rng(0).permutation(np.arange(1, 24))
    shuffled = Runs({name: column[[0, *rows]] for name, column in both.columns.items()}, both.provenance)
    assert shuffled.digest == both.digest


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_of_several_algorithms_is_read_back(tmp_path: Path, both: Runs, ending: str) -> None:
    both.write(tmp_path / f"runs.{ending}")
    assert Runs.read(tmp_path / f"runs.{ending}").digest == both.digest


@pytest.mark.parametrize("number", ["mean", "standard_error", "error_rate"])
def test_numbers_about_several_algorithms_at_once_are_refused(reference: Runs, both: Runs, number: str) -> None:
    column = () if number == "error_rate" else ("measurements",)
    with pytest.raises(
        pw.InvalidTable, match=r"2 algorithms \(uniform, RAGE, tight\); take one: by_algorithm\(\)\['uni"
    ):
        getattr(both, number)(*column)
    one = Runs.together({"RAGE": reference})
    assert getattr(one, number)(*column) == getattr(reference, number)(*column)


def test_a_table_of_one_has_no_algorithms_to_take_apart(reference: Runs) -> None:
    with pytest.raises(pw.InvalidTable, match="no column 'algorithm'; give simulate a mapping"):
        reference.by_algorithm()
    with pytest.raises(pw.InvalidProblem, match="a mapping that names some, got an empty mapping"):
        pw.simulate(PROBLEM, THETA, {}, runs=1)


def test_progress_and_journals_of_several_algorithms(tmp_path: Path, both: Runs) -> None:
    heard: list[tuple[int, int]] = []
    kept = together(journal=tmp_path / "runs", progress=lambda done, total: heard.append((done, total)))
    assert heard == [(done, 24) for done in range(1, 25)]
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"uniform.jsonl", "RAGE-tight.jsonl"}
    heard.clear()
    again = together(journal=tmp_path / "runs", progress=lambda done, total: heard.append((done, total)))
    assert heard == []
    assert kept.digest == again.digest == both.digest


@pytest.mark.parametrize(
    ("noise", "variance"), [*dict.fromkeys(("gaussian", "rademacher", "uniform"), 0.25).items(), ("bernoulli", 0.21)]
)
def test_outcomes_and_rounds_of_every_noise_have_its_mean_and_variance(noise: Any, variance: float) -> None:
    problem, rng = pw.Problem(np.eye(2), sigma=0.5), np.random.default_rng(0)
    lab = pw.LinearEnvironment(problem, np.array([0.3, 0.7]), noise, seed=0)
    single = lab.measure(np.zeros(20_000, dtype=np.int64))
    assert single.mean() == pytest.approx(0.3, abs=0.02)
    assert single.var() == pytest.approx(variance, rel=0.05)
    rounds = [lab.draw(np.array([8, 0]), rng) for _ in range(4_000)]
    assert np.mean([round.scatter[0] / 7 for round in rounds]) == pytest.approx(variance, rel=0.05)
    assert np.var([round.mean[0] for round in rounds]) == pytest.approx(variance / 8, rel=0.15)
    assert lab.draw(np.array([1, 0]), rng).scatter[0] == pytest.approx(0.0, abs=1e-12)


def test_noise_that_is_none_is_refused() -> None:
    with pytest.raises(pw.InvalidProblem, match=r"noise must be one of gaussian, .* got 'loud'"):
        pw.LinearEnvironment(pw.Problem(np.eye(2)), np.zeros(2), "loud")  # type: ignore[arg-type]
