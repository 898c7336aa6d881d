from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import probewise as pw
from probewise import data
from probewise.data import published, source
from probewise.data.example import SIGMA
from probewise.data.source import Published
from probewise.errors import DataUnavailable, InvalidTable
from probewise.model import build
from probewise.reading import read_table
from probewise.tables import Table

ROOT = Path(__file__).parents[1]
CONTENT = b"a,b\n1,2\n"


def archive(kind: str) -> bytes:
    """CONTENT in an archive, always of the same bytes."""
    out = io.BytesIO()
    if kind == "wheel":
        with zipfile.ZipFile(out, "w") as wheel:
            wheel.writestr(zipfile.ZipInfo("inner/table.csv"), CONTENT)
            wheel.writestr(zipfile.ZipInfo("inner/big.bin"), b"0" * 1000)
        return out.getvalue()
    with tarfile.open(fileobj=out, mode="w") as sdist:
        for name, content in (("inner/table.csv", CONTENT), ("setup.py", SETUP), ("PKG-INFO", PKG_INFO)):
            member = tarfile.TarInfo(f"no_such_package-1.0/{name}")
            member.size = len(content)
            sdist.addfile(member, io.BytesIO(content))
    return gzip.compress(out.getvalue(), mtime=0)


SETUP = b"""import os, pathlib
pathlib.Path(os.environ["MARK"]).touch()
from setuptools import setup
setup(name="no-such-package", version="1.0")
"""
PKG_INFO = b"Metadata-Version: 1.0\nName: no-such-package\nVersion: 1.0\n"


ARCHIVES = {kind: archive(kind) for kind in ("wheel", "sdist")}


def made(kind: str = "wheel", content: bytes = CONTENT, pinned: bytes | None = None) -> Published:
    sha256, own = (hashlib.sha256(each).hexdigest() for each in (content, pinned or ARCHIVES[kind]))
    return Published("no-such-package", "1.0", kind, (own,), {"inner/table.csv": sha256}, 0.1, "MIT", "us")  # type: ignore[arg-type]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROBEWISE_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A pip that packs CONTENT into the archive asked for; returns its command lines."""
    calls: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        calls.append(command)
        if "--only-binary" in command:
            wheel = Path(command[command.index("--dest") + 1]) / "no_such_package-1.0-py3-none-any.whl"
            wheel.write_bytes(ARCHIVES["wheel"])
        else:
            Path(command[-1], "no_such_package-1.0.tar.gz").write_bytes(ARCHIVES["sdist"])
        return SimpleNamespace(returncode=0, stdout="", stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    return calls


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_file_is_fetched_once_and_kept_alone(
    kind: str, cache: Path, pip: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        (path,) = source.fetch(made(kind))
        assert path.read_bytes() == CONTENT
    assert len(pip) == 1
    assert any("no-such-package" in word for word in pip[0]) or kind == "wheel"
    assert not any("://" in word for word in pip[0])  # where it comes from is the user's pip's business
    assert "0.1 MB" in capsys.readouterr().err
    assert [p for p in cache.rglob("*") if p.is_file()] == [path]


def test_a_spoilt_cache_is_fetched_again(cache: Path, pip: list[list[str]]) -> None:
    (path,) = source.fetch(made())
    path.write_bytes(b"spoilt")
    assert source.fetch(made())[0].read_bytes() == CONTENT
    assert len(pip) == 2


@pytest.mark.usefixtures("pip")
def test_other_bytes_are_refused_and_not_kept(cache: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"inner/table.csv of no-such-package==1.0 is not the file that it was"):
        source.fetch(made(content=b"other"))
    assert not cache.exists()


@pytest.mark.usefixtures("pip")
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_another_archive_is_not_even_opened(kind: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for opener in (zipfile, "ZipFile"), (tarfile, "open"):
        monkeypatch.setattr(*opener, lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(
        DataUnavailable, match=r"no_such_package-1\.0.* is not the archive that it was; do not trust it"
    ):
        source.fetch(made(kind, pinned=b"other"))
    assert not cache.exists()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of an index, and a mark that a build would leave."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "no_such_package-1.0.tar.gz").write_bytes(ARCHIVES["sdist"])
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "MARK": str(tmp_path / "mark")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # pip reads it as: without isolation
    return folder


def test_an_archive_of_sources_is_fetched_and_nothing_in_it_is_run(cache: Path, shelf: Path, tmp_path: Path) -> None:
    (path,) = source.fetch(made("sdist"))
    assert path.read_bytes() == CONTENT
    assert not (tmp_path / "mark").exists()
    path.unlink()
    with pytest.raises(DataUnavailable, match=r"no_such_package-1\.0\.tar\.gz is not the archive that it was"):
        source.fetch(made("sdist", pinned=b"other"))
    (shelf / "no_such_package-1.0.tar.gz").unlink()
    with pytest.raises(DataUnavailable, match=r"could not fetch \(no archive of no-such-package 1\.0 was found\)"):
        source.fetch(made("sdist"))
    assert not (tmp_path / "mark").exists()


def test_a_wheel_of_other_bytes_is_refused_by_pip_itself(cache: Path, shelf: Path, tmp_path: Path) -> None:
    (shelf / "no_such_package-1.0-py3-none-any.whl").write_bytes(ARCHIVES["wheel"])
    with pytest.raises(DataUnavailable, match="which pip could not fetch"):
        source.fetch(made("wheel", pinned=b"other"))
    (shelf / "no_such_package-1.0-py3-none-any.whl").unlink()
    with pytest.raises(DataUnavailable, match="which pip could not fetch"):
        source.fetch(made("wheel"))  # the sources are there, and are no way out
    assert not (tmp_path / "mark").exists()
    assert not cache.exists()


def test_without_a_network_one_sentence(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = SimpleNamespace(returncode=1, stdout="", stderr="WARNING: x\nERROR: No matching distribution found.\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    sentence = r"pip could not fetch \(No matching distribution found\); connect to a network, or set PROBEWISE_DATA"
    with pytest.raises(pw.DataUnavailable, match=sentence):
        source.fetch(made())


@pytest.mark.usefixtures("pip")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PROBEWISE_DATA", str(tmp_path / "file"))
    with pytest.raises(DataUnavailable, match=r"cannot be written .*PROBEWISE_DATA"):
        source.fetch(made())


def test_an_installed_package_is_used_in_place(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("pip was called"))
    real = Path(str(importlib.metadata.distribution("numpy").locate_file("numpy/version.py")))
    installed = replace(
        made(), package="numpy", files={"numpy/version.py": hashlib.sha256(real.read_bytes()).hexdigest()}
    )
    assert source.fetch(installed) == (real,)
    assert not cache.exists()


@pytest.mark.parametrize(
    ("platform", "variable", "end"),
    [
        ("linux", "XDG_CACHE_HOME", "probewise"),
        ("win32", "LOCALAPPDATA", "probewise"),
        ("darwin", "HOME", "Library/Caches/probewise"),
    ],
)
def test_the_cache_is_where_the_system_has_it(
    platform: str, variable: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROBEWISE_DATA", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv(variable, str(tmp_path))
    assert source.cache_folder() == tmp_path / end


def test_sources_say_whose_they_are() -> None:
    for each in data.SOURCES.values():
        assert each.licence
        assert each.origin
        assert all(len(sha256) == 64 for sha256 in (*each.files.values(), *each.archives))
        assert each.archives


def given(monkeypatch: pytest.MonkeyPatch, path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    monkeypatch.setattr(published, "fetch", lambda _: (path,))


def test_loaders_name_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, tmp_path / "data.csv", "75.0,0.5,1.0,1.5,2.4\n80.0,2.0,1.2,2.0,4.6\n")
    assert data.suzuki().numbers("pd").tolist() == [0.5, 2.0]
    rows = [
        {"yield": 27, "variety": "A", "year": 1931, "site": "X"},
        {"yield": 3.5, "variety": "B", "year": 1932, "site": "Y"},
    ]
    given(monkeypatch, tmp_path / "barley.json", json.dumps(rows))
    assert data.barley().numbers("yield").tolist() == [27.0, 3.5]
    assert data.barley().text("year") == ("1931", "1932")
    given(monkeypatch, tmp_path / "runs.csv", "\ufeffentry,Base,yield\n0,K,5.47\n")
    assert data.arylation().numbers("yield").tolist() == [5.47]
    given(monkeypatch, tmp_path / "fuels.csv", "Label,MON,C,CC\nx,100,50,50\n")
    assert data.octane().text("Label") == ("x",)


def test_indicators_have_one_column_per_level() -> None:
    table = Table("t", ("colour", "size"), (["red", "blue", "red"], np.array([2, 1, 1])))
    with pytest.warns(
        DeprecationWarning, match=r"indicators is deprecated since probewise 0\.2\.0 .* Problem\.from_tables"
    ):
        made = data.indicators(table, "colour", "size")
    assert made.features == ("colour=red", "colour=blue", "size=2", "size=1")
    assert made.values.tolist() == [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]]


def test_quadratic_features_are_scaled_terms() -> None:
    table = Table("t", ("a", "b"), (np.array([10.0, 30.0, 20.0]), np.array([1.0, 2.0, 3.0])))
    with pytest.warns(
        DeprecationWarning, match=r"quadratic is deprecated since probewise 0\.2\.0 .* Problem\.from_tables"
    ):
        made = data.quadratic(table, "a", "b")
    assert made.features == ("constant", "a", "b", "a*a", "a*b", "b*b")
    assert made.values.tolist() == [[1, -1, -1, 1, 1, 1], [1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 0, 1]]


def test_a_redrawn_laboratory_is_linear_and_scatters_like_the_record() -> None:
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    outcomes = features @ [1.0, 2.0, 3.0] + rng.exponential(size=60)
    lab = data.redrawn(features, outcomes, seed=1)
    assert np.linalg.lstsq(features, lab.means)[1] == pytest.approx(0.0, abs=1e-9)
    residuals = outcomes - lab.means
    assert lab.errors.std() == pytest.approx(np.sqrt((residuals**2).sum() / 57))
    drawn = lab.measure(np.full(20_000, 7)) - lab.means[7]
    assert drawn.mean() == pytest.approx(0.0, abs=0.05)
    assert drawn.std() == pytest.approx(lab.errors.std(), rel=0.05)


@pytest.mark.parametrize("errors", [[-1.0, 1.0], [-1.0, -1.0, -1.0, 3.0], [-5.0, 0, 0, 0, 0, 1, 1, 1, 1, 1]])
def test_sigma_bounds_the_moment_generating_function(errors: list[float]) -> None:
    lab = data.Laboratory(np.zeros(1), np.array(errors), 0.5, np.random.default_rng(0))
    scale = np.sqrt(lab.sigma**2 - 0.25)
    for t in np.linspace(-20, 20, 401):
        assert np.log(np.mean(np.exp(t * np.array(errors)))) <= 0.5 * (t * scale) ** 2 * (1 + 1e-4) + 1e-12
    assert scale >= np.std(errors) - 1e-12
    if len(errors) == 2:
        assert scale == pytest.approx(1.0)  # a fair coin


def test_a_recorded_laboratory_repeats_the_record_with_noise() -> None:
    lab = data.recorded([1.0, 5.0], sd=0.5, seed=0)
    assert lab.sigma == 0.5
    drawn = lab.measure(np.repeat([0, 1], 5000)).reshape(2, -1)
    assert drawn.mean(axis=1) == pytest.approx([1.0, 5.0], abs=0.03)
    assert drawn.std(axis=1) == pytest.approx([0.5, 0.5], rel=0.05)


def asked(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(["measurement,round,probe,replicate,outcome,ligand", *rows, ""]))
    return path


def test_the_example_is_copied_and_never_overwrites(tmp_path: Path) -> None:
    for _ in range(2):
        items, probes = data.copy_example(tmp_path / "new" / "folder")
    assert (items.name, probes.name) == ("items.csv", "probes.csv")
    items.write_text("mine")
    with pytest.raises(InvalidTable, match="is there already and is not the example; choose another folder"):
        data.copy_example(tmp_path / "new" / "folder")
    assert items.read_text() == "mine"
    with pytest.raises(InvalidTable, match="cannot be written"):
        data.copy_example(items / "below")
    with pytest.raises(InvalidTable, match=r"has the tables 'items.csv', 'probes.csv', got 'truth.csv'"):
        data.example_path("truth.csv")


def test_outcomes_depend_on_seed_and_id_alone(tmp_path: Path) -> None:
    rows = ['1-1,1,"XPhos, THF, 60",1,,XPhos', '1-2,1,"XPhos, THF, 60",2,,XPhos', '1-3,1,"dppf, DMF, 80",1,55,"a, b"']
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    assert data.fill_outcomes(asked(tmp_path / "ask.csv", rows), first, seed=3) == 2
    assert data.fill_outcomes(asked(tmp_path / "ask.csv", rows[::-1]), second, seed=3) == 2
    lines = first.read_text().splitlines()
    assert sorted(lines) == sorted(second.read_text().splitlines())
    assert lines[0] == "measurement,round,probe,replicate,outcome,ligand"
    assert lines[3] == '1-3,1,"dppf, DMF, 80",1,55,"a, b"'  # what is filled in stays, and so do other columns
    assert lines[1].split(",")[6] != lines[2].split(",")[6]
    assert data.fill_outcomes(tmp_path / "ask.csv", tmp_path / "ask.csv", seed=4) == 2  # in place
    assert (tmp_path / "ask.csv").read_text() != second.read_text()
    with pytest.raises(InvalidTable, match=r"fills in CSV files, got .*ask\.xlsx; ask for a \.csv"):
        data.fill_outcomes(tmp_path / "ask.xlsx", first)
    named = (tmp_path / "ask.csv").read_text().replace("outcome", "yield (%)", 1)  # as a campaign may call them
    (tmp_path / "named.csv").write_text(named)
    assert data.fill_outcomes(tmp_path / "named.csv", tmp_path / "named.csv") == 0
    assert (tmp_path / "named.csv").read_text() == named
    with pytest.raises(InvalidTable, match="asks for 'QPhos, THF, 60', which the example does not have"):
        data.fill_outcomes(asked(tmp_path / "ask.csv", ['1-1,1,"QPhos, THF, 60",1,,QPhos']), first)


def test_the_example_has_a_winner(tmp_path: Path) -> None:
    problem = pw.Problem.from_tables(*map(data.example_path, ("probes.csv", "items.csv")), sigma=SIGMA)
    calls = iter(range(1000))

    def measure(indices: np.ndarray) -> np.ndarray:
        call = next(calls)
        rows = [f'{call}-{row},{call},"{problem.probe_names[i]}",1,,X' for row, i in enumerate(indices)]
        data.fill_outcomes(asked(tmp_path / "ask.csv", rows), tmp_path / "told.csv")
        return read_table(tmp_path / "told.csv").numbers("outcome")

    result = pw.identify(problem, measure=measure, seed=0)
    assert (result.item_name, len(problem.item_names), problem.n_probes) == ("XPhos, toluene, 100", 24, 48)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests use what is installed or in the cache, and download nothing unless PROBEWISE_DOWNLOAD is set."""

    def unavailable(wanted: Published, folder: Path) -> Path:
        raise DataUnavailable(f"{wanted.spec} is neither installed nor in {source.cache_folder()}")

    if "PROBEWISE_DOWNLOAD" not in os.environ:
        monkeypatch.setattr(source, "_download", unavailable)


def had(loader: Callable[[], Table]) -> Table:
    try:
        return loader()
    except DataUnavailable as error:
        pytest.skip(f"{error}; set PROBEWISE_DOWNLOAD=1 to fetch it")


def explained(features: np.ndarray, outcomes: np.ndarray) -> tuple[float, int, np.ndarray]:
    """R², rank and fitted values."""
    theta, _, rank, _ = np.linalg.lstsq(features, outcomes)
    return 1 - np.var(outcomes - features @ theta) / np.var(outcomes), int(rank), features @ theta


@pytest.mark.usefixtures("offline")
def test_suzuki_is_what_the_story_says() -> None:
    runs = had(data.suzuki)
    yields = runs.numbers("yield")
    features = pw.Problem.from_tables(runs, model="quadratic", shown=["yield"]).items
    square, rank, fitted = explained(features, yields)
    assert (len(runs), rank, round(square, 2)) == (247, 15, 0.94)
    assert fitted.argmax() == yields.argmax()
    ranks = [np.linalg.matrix_rank(features[runs.numbers("pd") <= most]) for most in (2.0, 3.5)]
    assert ranks == [14, 15]


@pytest.mark.usefixtures("offline")
def test_free_wilson_is_what_the_story_says() -> None:
    compounds = had(data.free_wilson)
    groups = [len(set(compounds.text(site))) for site in ("R1", "R3", "R10")]
    assert (len(compounds), groups) == (628, [73, 445, 2])
    model = build(compounds, model="R1 + R3 + R10")
    assert np.linalg.matrix_rank(model.coded(compounds).values) == 516


@pytest.mark.usefixtures("offline")
def test_octane_is_what_the_story_says() -> None:
    fuels = had(data.octane)
    shares = np.column_stack([fuels.numbers(name) for name in fuels.header[2:]])
    pure = np.count_nonzero(shares, axis=1) == 1
    known = shares[pure].any(axis=0)
    blends = shares[~pure]
    assert (int(pure.sum()), len(blends), int(known.sum()), known.size) == (366, 356, 333, 423)
    assert np.count_nonzero(~blends[:, ~known].any(axis=1)) == 240


@pytest.mark.usefixtures("offline")
def test_barley_is_what_the_story_says() -> None:
    plots = had(data.barley)
    yields, variety = plots.numbers("yield"), np.array(plots.text("variety"))
    means = sorted((yields[variety == name].mean() for name in set(variety)), reverse=True)
    assert (len(plots), len(means)) == (120, 10)
    assert means[0] - means[1] == pytest.approx(0.0056, abs=1e-4)


@pytest.mark.usefixtures("offline")
def test_arylation_is_what_the_story_says() -> None:
    runs = had(data.arylation)
    formula = "Base + Ligand + Solvent + Concentration + Temp_C"
    features = pw.Problem.from_tables(runs, model=formula, factors=["Concentration", "Temp_C"]).items
    square, rank, fitted = explained(features, runs.numbers("yield"))
    assert (len(runs), rank, round(square, 2)) == (1728, 22, 0.60)
    assert (runs.numbers("yield") > runs.numbers("yield")[fitted.argmax()]).sum() + 1 == 43


NO_STORIES = ("shared.py", "instrument.py")
STORIES = sorted(path.name for path in (ROOT / "examples").glob("*.py") if path.name not in NO_STORIES)


@pytest.mark.parametrize("story", STORIES)
def test_stories_run(story: str, tmp_path: Path, offline: None) -> None:
    if story not in ("octane.py", "barley.py") and "PROBEWISE_STORIES" not in os.environ:
        pytest.skip("the longer stories run if PROBEWISE_STORIES is set")
    had(getattr(data, story.removesuffix(".py")))
    command = [
        sys.executable,
        str(ROOT / "examples" / story),
        *([str(tmp_path / "a.png")] if story == "octane.py" else []),
    ]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_story_is_told() -> None:
    page = (ROOT / "docs/stories.md").read_text()
    assert all(f"examples/{story}" in page and f"figures/stories/{story[:-3]}.png" in page for story in STORIES)
    assert {story.removesuffix(".py") for story in STORIES} == set(data.SOURCES)
