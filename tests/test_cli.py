from __future__ import annotations

import csv
import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import probewise as pw
from probewise import cli, experiments
from probewise.cli import main, output
from probewise.cli.comparisons import needs
from probewise.cli.hardness import read_theta

PAGE = Path(__file__).parents[1] / "docs/command-line.md"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?")
BLOCK = re.compile(r"^```\{code-block\} (\w+)\n(?::caption: (\S+)\n\n)?(.*?)^```$", flags=re.M | re.S)

PROBES = "id,a,b,noise,price\np,1,0,1,1\nq,0,1,2,1\nr,1,1,1,4\n"
ITEMS = "id,a,b\none,1,0\ntwo,0,1\nthree,0.5,1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with two small tables."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "probes.csv").write_text(PROBES)
    (tmp_path / "items.csv").write_text(ITEMS)
    return tmp_path


COMMON = "--probes probes.csv --items items.csv --sigma-column noise --cost-column price --model none"


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line), prog_name="probewise")


def ok(line: str) -> Result:
    result = run(line)
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr
    return result


def refused(line: str) -> str:
    """The one sentence of a refused command."""
    result = run(line)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


def problem() -> pw.Problem:
    return pw.Problem([[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [0.5, 1]], sigma=[1, 2, 1], cost=[1, 1, 4])


def weights(rows: list[dict[str, float]], key: str = "weight") -> np.ndarray:
    given = {row["probe"]: row[key] for row in rows}
    return np.array([given.get(name, 0.0) for name in "pqr"])


# --- every command -------------------------------------------------------------------------------------------------


def test_every_file_with_a_command_is_registered() -> None:
    folder = Path(cli.__file__).parent
    files = {path.stem for path in folder.glob("*.py") if re.search(r"^def command\(", path.read_text(), flags=re.M)}
    assert files == {name.replace("-", "_") for name in cli.COMMANDS}


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_has_an_example_that_parses(name: str) -> None:
    text = ok(f"{name} --help").stdout
    example = re.findall(r"^ +probewise ([\w-]+) (.+)$", text, flags=re.M)
    assert [command for command, _ in example] == [name]
    cli.loaded(name).make_context(name, shlex.split(example[0][1])).close()
    assert "--json" in text


def test_summary_of_each_command_is_not_cut() -> None:
    listing = ok("--help").stdout.partition(f"{next(iter(cli.SECTIONS))}:")[2]
    assert "..." not in listing
    assert re.findall(r"^  ([\w-]+)", listing, flags=re.M) == list(cli.COMMANDS)


def test_without_a_command_the_help_is_an_error() -> None:
    result = run("")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "probewise new" in result.stderr


def test_version() -> None:
    assert ok("--version").stdout == f"probewise, version {pw.__version__}\n"


# --- design --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "directions"),
    [
        ("", pw.pairs(problem().items)),
        ("--criterion star --reference two", pw.star(problem().items, 1)),
        ("--criterion points", pw.points(problem().items)),
    ],
)
def test_design_is_that_of_the_library(folder: Path, options: str, directions: pw.design.Directions) -> None:
    said = json.loads(ok(f"design {COMMON} {options} --tol 1e-6 --json").stdout)
    design = pw.optimal_design(problem().scaled_probes, directions, cost=problem().cost, tol=1e-6)
    assert said["converged"] is True
    assert said["value"] == design.value
    assert said["lower"] == design.lower
    assert said["gap"] == design.gap <= 1e-6
    assert (said["n_probes"], said["n_items"], said["dimension"]) == (3, 3, 2)
    np.testing.assert_array_equal(weights(said["weights"]), design.weights)
    shares = design.weights * problem().cost / (design.weights @ problem().cost)
    np.testing.assert_allclose(weights(said["weights"], "cost_share"), shares)
    assert said["support"] == len(said["weights"]) == design.support.size


def test_design_writes_its_table_and_picture(folder: Path) -> None:
    result = ok(f"design {COMMON} --out design.csv --plot design.svg")
    said = json.loads(ok(f"design {COMMON} --json").stdout)
    with (folder / "design.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [{k: v if k == "probe" else float(v) for k, v in row.items()} for row in rows] == said["weights"]
    assert "<svg" in (folder / "design.svg").read_text()
    assert "Written: design.csv\nWritten: design.svg\n" in result.stdout


def test_design_speaks_of_cost_only_where_there_is_one(folder: Path) -> None:
    (folder / "probes.csv").write_text("id,a,b\np,1,0\nq,0,1\n")
    plain = ok("design --probes probes.csv --items items.csv --model none").stdout
    assert "share of cost" not in plain
    value = json.loads(ok("design --probes probes.csv --items items.csv --model none --json").stdout)["value"]
    assert f"√({output.number(value)}/N): {math.sqrt(value / 1000):.3g} for" in " ".join(plain.split())
    twice = json.loads(ok("design --probes probes.csv --items items.csv --model none --sigma 2 --json").stdout)["value"]
    assert twice == pytest.approx(4 * value, rel=1e-3)
    (folder / "probes.csv").write_text(PROBES)
    assert "A budget of N spent by this design" in " ".join(ok(f"design {COMMON}").stdout.split())


def test_small_support_keeps_the_value(folder: Path) -> None:
    angles = np.linspace(0, np.pi, 40, endpoint=False)
    points = "".join(f"x{i},{np.cos(a)},{np.sin(a)}\n" for i, a in enumerate(angles))
    (folder / "circle.csv").write_text("id,a,b\n" + points)
    said = json.loads(ok("design --probes circle.csv --model none --criterion points --small-support --json").stdout)
    assert said["support"] <= 4
    assert said["converged"]
    assert said["value"] == pytest.approx(2.0, rel=1e-3)
    assert sum(row["weight"] for row in said["weights"]) == pytest.approx(1.0)


def test_unconverged_design_is_printed_and_exits_1(folder: Path) -> None:
    line = f"design {COMMON} --solver frank-wolfe --tol 1e-9"
    result = run(line)
    assert result.exit_code == 1
    assert "The gap is above 1e-09" in result.stdout
    as_json = run(f"{line} --json")
    assert as_json.exit_code == 1
    said = json.loads(as_json.stdout)
    assert said["converged"] is False
    assert said["lower"] < said["value"]


def test_long_tables_are_cut_and_json_is_not(folder: Path) -> None:
    (folder / "many.csv").write_text("id," + ",".join(f"f{i}" for i in range(30)) + "\n")
    with (folder / "many.csv").open("a") as file:
        for i, row in enumerate(np.eye(30)):
            file.write(f"probe {i}," + ",".join(map(str, row)) + "\n")
    result = ok("design --probes many.csv")
    assert "and 10 more, which --json lists." in result.stdout
    assert len(json.loads(ok("design --probes many.csv --json").stdout)["weights"]) == 30


def test_parquet_is_read(folder: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.read_csv("probes.csv").write_parquet("probes.parquet")
    same = [ok(f"design {COMMON} --json").stdout, ok(f"design {COMMON} --json".replace("s.csv", "s.parquet", 1)).stdout]
    assert same[0] == same[1]


# --- round ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["efficient", "regret", "best"])
@pytest.mark.parametrize("items", ["", "--items items.csv"])
def test_counts_are_those_of_the_library(folder: Path, method: str, items: str) -> None:
    ok(f"design {COMMON} --out design.csv")
    options = f"--probes probes.csv {items} --sigma-column noise --cost-column price --model none"
    said = json.loads(ok(f"round design.csv {options} -n 17 --method {method} --json --out counts.csv").stdout)
    planned = pw.optimal_design(problem().scaled_probes, pw.pairs(problem().items), cost=problem().cost).weights
    plan = pw.round_design(planned, 17, probes=problem().scaled_probes, method=method)  # type: ignore[arg-type]
    directions = pw.pairs(problem().items) if items else None
    np.testing.assert_array_equal(weights(said["counts"], "count"), plan.counts)
    assert said["n"] == 17 == sum(row["count"] for row in said["counts"])
    assert said["inflation"] == pytest.approx(plan.inflation(directions))
    assert said["guarantee"] == (plan.guarantee if math.isfinite(plan.guarantee) else None)
    assert said["cost"] == plan.counts @ problem().cost
    assert said["method"] == plan.method
    assert (folder / "counts.csv").read_text().startswith("probe,count,weight\n")
    V = np.einsum("i,ij,ik->jk", plan.counts, problem().scaled_probes, problem().scaled_probes)
    differences = [x - y for x in problem().items for y in problem().items]
    error = max(math.sqrt(y @ np.linalg.solve(V, y)) for y in differences)
    assert said["standard_error"] == (pytest.approx(error) if items else None)


def test_probes_listed_twice_do_not_trouble_rounding(folder: Path) -> None:
    (folder / "probes.csv").write_text("id,a,b\np,1,0\nq,0,1\nr,1,0\n")
    (folder / "design.csv").write_text("probe,weight\nq,0.5\np,0.5\n")
    said = json.loads(ok("round design.csv --probes probes.csv -n 4 --json").stdout)
    assert {row["probe"]: row["count"] for row in said["counts"]} == {"p": 2, "q": 2}
    assert said["inflation"] == pytest.approx(1.0)


def test_too_few_measurements_exit_1(folder: Path) -> None:
    (folder / "design.csv").write_text("probe,weight\nq,0.5\np,0.5\n")
    line = "round design.csv --probes probes.csv --sigma-column noise --cost-column price -n 1 --method regret"
    result = run(line)
    assert result.exit_code == 1
    assert "raise N" in result.stdout
    as_json = run(f"{line} --json")
    assert as_json.exit_code == 1
    assert json.loads(as_json.stdout)["inflation"] is None


# --- hardness ------------------------------------------------------------------------------------------------------


def test_hardness_is_that_of_the_library(folder: Path) -> None:
    said = json.loads(ok(f"hardness {COMMON} --theta 1,-0.5 --delta 0.1 --json").stdout)
    found = pw.hardness(problem(), [1, -0.5])
    assert said["best"] == "one"
    assert (said["psi"], said["psi_lower"]) == (found.psi, found.psi_lower)
    assert said["lower_bound"] == found.lower_bound(0.1) == pytest.approx(2 * said["paper_lower_bound"])
    assert said["kl_lower_bound"] == found.kl_lower_bound(0.1) > said["lower_bound"]
    np.testing.assert_array_equal(weights(said["weights"]), found.design.weights)
    assert [(row["item"], row["gap"]) for row in said["items"]] == [("three", 1.0), ("two", 1.5)]
    assert max(row["need"] for row in said["items"]) == pytest.approx(said["psi"])
    assert said["converged"]


def test_the_largest_need_is_psi_where_probes_differ_in_noise_and_cost() -> None:
    rng = np.random.default_rng(0)
    noise, price = rng.uniform(0.5, 2.0, size=12), rng.uniform(1.0, 5.0, size=12)
    instance = pw.Problem(rng.normal(size=(12, 3)), rng.normal(size=(6, 3)), sigma=noise, cost=price)
    theta = rng.normal(size=3)
    found, claims = pw.hardness(instance, theta), pw.BestItem().directions_at(instance, theta)
    assert needs(instance, found.design.weights, claims).max() == pytest.approx(found.psi, rel=1e-9)


def test_needs_are_exact_and_infinite_where_nothing_is_measured() -> None:
    instance, theta = pw.instances.transductive(6)
    found, claims = pw.hardness(instance, theta), pw.BestItem().directions_at(instance, theta)
    w = np.array([0.1, 0.2, 0.3, 0.1, 0.3, 0.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        differences = instance.items[0] - instance.items
        direct = np.nansum(np.where(differences == 0, 0.0, differences**2 / w), axis=1) / found.gaps**2
    np.testing.assert_allclose(needs(instance, w, claims)[1:], direct[1:])
    assert needs(instance, w, claims)[0] == 0.0
    assert np.isinf(needs(instance, w, claims)).sum() == 1


def test_unconverged_hardness_exits_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = pw.hardness(problem(), [1, -0.5])
    missed = replace(found, design=replace(found.design, tol=-1.0))
    monkeypatch.setattr(pw, "hardness", lambda *args, **options: missed)
    result = run(f"hardness {COMMON} --theta 1,-0.5")
    assert result.exit_code == 1
    assert f"ψ* is known to a relative gap of {found.design.gap:.1e} only." in result.stdout
    assert run(f"hardness {COMMON} --theta 1,-0.5 --json").exit_code == 1


@pytest.mark.parametrize(
    "text",
    [
        "1,-0.5",
        "a,b\n1,-0.5\n",
        "b,a,other\n-0.5,1,7\n",
        "feature,value\nb,-0.5\na,1\n",
        "value;feature\n-0.5;b\n1;a\n",
    ],
)
def test_theta_is_read_in_each_form(folder: Path, text: str) -> None:
    source = text
    if "\n" in text:
        (folder / "theta.csv").write_text(text)
        source = "theta.csv"
    np.testing.assert_array_equal(read_theta(source, ("a", "b")), [1.0, -0.5])


def test_theta_may_begin_with_a_minus_sign(folder: Path) -> None:
    assert json.loads(ok(f"hardness {COMMON} --theta -1,0 --json").stdout)["best"] == "two"


# --- demo ----------------------------------------------------------------------------------------------------------


def test_demo_shows_the_known_values_of_the_instance(folder: Path) -> None:
    result = ok("demo")
    files = re.findall(r"^Written: demo/(\S+)$", result.stdout, flags=re.M)
    pictures = [f"{name}.{ending}" for name in ("search", "transductive") for ending in ("png", "svg")]
    assert files == ["items.csv", "probes.csv", "yield.campaign", "report.html", *pictures]
    assert "The campaign in the browser: " in result.stdout
    assert sorted(path.name for path in (folder / "demo").iterdir()) == sorted(files)
    for name in ("search", "transductive"):
        assert (folder / f"demo/{name}.png").read_bytes().startswith(b"\x89PNG")
    result = ok("demo --no-picture --json")  # into the same folder
    assert result.stderr == ""
    said = json.loads(result.stdout)
    assert (said["plant"]["item"], said["plant"]["pictures"]) == ("XPhos, toluene, 100", [])
    claim = "XPhos, toluene, 100 is the best item in yield, with confidence 95 %"
    assert said["plant"]["sentence"].startswith(claim)
    assert claim in Path("demo/report.html").read_text("utf-8")
    assert said["pictures"] == []
    psi = (1 + math.sqrt(1 / math.tan(0.05) ** 2 + 9 * (1 + math.sin(0.2)))) ** 2
    assert said["oracle"]["lower"] <= psi * (1 + 1e-9)
    assert said["oracle"]["value"] == pytest.approx(psi, rel=2e-4)
    assert said["oracle"]["lower_bound"] == pytest.approx(2 * psi * math.log(1 / 0.12), rel=2e-4)
    assert said["static"]["value"] == pytest.approx(20 * (1 + math.sin(0.2)), rel=2e-3)
    assert 90 < said["static"]["need"] / said["oracle"]["need"] < 105
    assert said["best"] == "e1"


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("design --probes none.csv", "there is no file none.csv; check the name and the folder."),
        ("design", "Missing option '--probes'. See probewise design --help."),
        ("desing", "No such command 'desing'."),
        ("--nonsense", "No such option '--nonsense'. See probewise --help."),
        (
            "design --probes probes.csv --tol much",
            "'much' is not a number; give a number. See probewise design --help.",
        ),
        ("design --probes probes.csv --cost-column cost", "probes.csv has no column 'cost'; it has 'id', 'a', 'b', "),
        ("design --probes probes.csv --id-column name", "probes.csv has no column 'name'"),
        (
            "design --probes probes.csv --items items.csv",
            "'noise', 'price' are in probes.csv and not in items.csv; add",
        ),
        ("design --probes probes.csv --sigma 1 --sigma-column noise", "--sigma and --sigma-column exclude each other"),
        (f"design {COMMON} --criterion star", "--criterion star and --reference NAME need each other"),
        (f"design {COMMON} --reference two", "--criterion star and --reference NAME need each other"),
        (f"design {COMMON} --criterion star --reference 2", "must be one of the items, got '2'; they are 'one', 'two'"),
        (f"design {COMMON} --criterion best", "'best' is not one of 'pairs', 'star', 'points'."),
        (f"design {COMMON} --tol 2", "tol must lie between 1e-10 and 1, got 2.0; 1e-3 is usual."),
        (f"design {COMMON} --out design.xlsx", "tables are written as CSV, got the name design.xlsx;"),
        (f"design {COMMON} --out no/design.csv", "no/design.csv cannot be read or written: No such file or directory."),
        (f"design {COMMON} --plot design.doc", "pictures are written as .png, .svg, .pdf, got the name design.doc;"),
        (f"hardness {COMMON} --theta theta.csv", "a file or numbers separated by commas, got 'theta.csv'"),
        (f"hardness {COMMON} --theta 1", "theta must be 2 finite numbers, one for each of 'a', 'b', got '1'."),
        (f"identify {COMMON} --theta 1,nan", "theta must be 2 finite numbers, one for each of 'a', 'b', got '1,nan'."),
        (f"identify {COMMON} --theta 0,1", "the answer must be unique, but under theta it is a tie ('two', 'three')"),
        (f"identify {COMMON} --measure ''", "--measure must name a command, got an empty one."),
        (f'identify {COMMON} --measure "echo \\"1"', "--measure cannot be split into words (no closing quotation)"),
        (f"identify {COMMON} --measure nowhere/lab", "the command nowhere/lab cannot be started: No such file"),
        (f"identify {COMMON} --measure cat --algorithm xy-oracle", "xy-oracle needs the true theta; give --theta or"),
        (
            f"identify {COMMON} --theta 1,0 --algorithm sage,growth=much",
            "growth of sage must be of the kind float, got",
        ),
        (f"identify {COMMON} --theta 1,0 --algorithm sage,max_batch=1.5", "max_batch of sage must be of the kind int"),
        (
            f"identify {COMMON} --theta 1,0 --algorithm sage,tol=NaN",
            "tol of sage must be of the kind float, got 'NaN'",
        ),
        (f"identify {COMMON} --theta 1,0 --algorithm uniform,growth=1", "growth must be larger than 1, got 1;"),
        (
            f"identify {COMMON} --theta 1,0 --algorithm lingape,threshold=3",
            "'threshold=3' is not a setting of lingape;",
        ),
        (f"simulate {COMMON} --theta 0,1", "the answer must be unique, but under theta it is a tie ('two', 'three')"),
        (f"simulate {COMMON} --theta 1,2 --noise bernoulli", "but theta gives the probes 1 to 3; scale theta or"),
        ("reproduce", "Missing argument '{fig1|fig2|fig3|fig4|all}'. Choose from: fig1, fig2, fig3, fig4, all."),
        (f"hardness {COMMON} --theta 0,1", "the answer must be unique, but under theta it is a tie ('two', 'three')"),
        (f"hardness {COMMON} --theta 1,0 --delta 2", "delta must lie strictly between 0 and 1, got 2.0"),
        (f"hardness {COMMON} --theta items.csv", "items.csv must have one row with a column per feature, or the"),
        (f"round none.csv {COMMON} -n 5", "there is no file none.csv"),
        (f"round items.csv {COMMON} -n 5", "items.csv has no column 'probe'"),
        (f"round good.csv {COMMON} -n 0", "n must lie between 1 and 2^53, got 0."),
        (f"round good.csv {COMMON} -n 1", "raise n, reduce the support of the design or use method"),
        (f"round good.csv {COMMON} -n many", "'many' is not a whole number."),
        ("round good.csv --probes probes.csv -n 5 --criterion points", "--criterion is about items; give --items too"),
        (f"round twice.csv {COMMON} -n 5", "twice.csv gives more than one weight to 'p'; keep one of each."),
        (f"round other.csv {COMMON} -n 5", "other.csv names probes that the table of probes lacks: 's';"),
        (f"round below.csv {COMMON} -n 5", "weights must be at least 0, but below.csv gives -0.5 to 'q'."),
        (f"round half.csv {COMMON} -n 5", "weights must sum to 1, got a sum of 0.5; divide them by their sum."),
        ("demo --out probes.csv", "probes.csv cannot be read or written: File exists."),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(folder: Path, line: str, sentence: str) -> None:
    (folder / "good.csv").write_text("probe,weight\np,0.5\nq,0.5\n")
    (folder / "twice.csv").write_text("probe,weight\np,0.5\np,0.5\n")
    (folder / "other.csv").write_text("probe,weight\np,0.5\ns,0.5\n")
    (folder / "half.csv").write_text("probe,weight\np,0.5\n")
    (folder / "below.csv").write_text("probe,weight\np,1.5\nq,-0.5\n")
    assert sentence in refused(line)
    assert sentence in refused(f"{line} --json" if line[0] != "-" else line)


def test_theta_that_lacks_a_feature(folder: Path) -> None:
    (folder / "theta.csv").write_text("feature,value\na,1\n")
    assert "theta.csv has no value of theta for 'b'; add it." in refused(f"hardness {COMMON} --theta theta.csv")


def test_theta_that_says_too_much(folder: Path) -> None:
    (folder / "theta.csv").write_text("feature,value\na,1\na,2\nb,1\n")
    assert "theta.csv gives more than one value to 'a'; keep one" in refused(f"hardness {COMMON} --theta theta.csv")
    (folder / "theta.csv").write_text("feature,value\na,1\nb,1\nc,2\n")
    assert "has values for 'c', which the probes lack;" in refused(f"hardness {COMMON} --theta theta.csv")


def test_the_bound_of_simulate_is_in_the_units_of_the_table(folder: Path) -> None:
    line = "simulate --probes probes.csv --items items.csv --model none --theta 1,0 --runs 2"
    (folder / "probes.csv").write_text("id,a,b\np,1,0\nq,0,1\n")
    (folder / "items.csv").write_text("id,a,b\none,1,0\ntwo,0,1\n")
    free = ok(line).stdout
    # ψ* = (1 + 1)² / 1², and 2·4·log(1/0.12) = 16.96
    assert "can expect fewer measurements than 17" in " ".join(free.split())
    assert "cost" not in free
    (folder / "probes.csv").write_text("id,a,b,price\np,1,0,10\nq,0,1,10\n")
    costly = ok(f"{line} --cost-column price").stdout
    assert "can expect a cost below 170" in " ".join(costly.split())
    assert "cost" in next(line for line in costly.splitlines() if "algorithm" in line)


def test_a_design_for_items_that_cannot_be_compared_is_refused_by_their_names(folder: Path) -> None:
    (folder / "probes.csv").write_text("id,acid,heat\np,x,20\nq,y,20\nr,x,80\ns,y,80\n")
    (folder / "items.csv").write_text("id,acid,heat\none,x,90\ntwo,y,40\n")
    said = refused("design --probes probes.csv --items items.csv --model 'acid + heat + heat^2'")
    assert "no combination of probes compares items 'two' with item 'one': the probes do not separate" in said


def test_theta_is_in_the_units_of_the_columns(folder: Path) -> None:
    (folder / "probes.csv").write_text("id,acid,heat\np,x,20\nq,y,20\nr,x,80\ns,y,80\n")
    (folder / "items.csv").write_text("id,acid,heat\none,x,90\ntwo,y,40\nthree,y,60\n")
    (folder / "theta.csv").write_text("feature,value\nheat,0.1\nacid=x,-2\nacid=y,2\nintercept,50\n")
    line = "hardness --probes probes.csv --items items.csv --theta theta.csv"
    said = json.loads(ok(f"{line} --json").stdout)
    assert said["best"] == "three"
    assert [(row["item"], row["gap"]) for row in said["items"]] == [
        ("one", pytest.approx(1)),
        ("two", pytest.approx(2)),
    ]
    (folder / "items.csv").write_text("id,acid,heat\none,x,100\ntwo,y,40\nthree,y,60\n")
    assert "under theta it is a tie ('one', 'three') that no method" in refused(line)
    tied = line.replace("hardness", "identify") + " --epsilon 1 --json"
    assert json.loads(ok(tied).stdout)["item"] in ("one", "three")


def test_simulate_claims_no_bound_where_a_near_best_item_will_do(folder: Path) -> None:
    line = f"simulate {COMMON} --theta 0,1 --epsilon 0.5 --runs 2"
    assert "No method" not in ok(line).stdout
    assert json.loads(ok(f"{line} --json").stdout)["lower_bound"] is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("", "wrong with probability at most 0.05."),
        ("--epsilon 0.3", "'one' is within 0.3 of the best"),
        ("--algorithm alba,norm_bound=1,variant=code", "at most 0.05, which is not proved for these settings."),
    ],
)
def test_identify_promises_what_is_proved(folder: Path, options: str, sentence: str) -> None:
    assert sentence in " ".join(ok(f"identify {COMMON} --theta 1,0 {options}").stdout.split())


def test_missing_matplotlib_is_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pictures need matplotlib; install probewise[plot]" in refused(f"design {COMMON} --plot design.png")


def test_the_demo_does_without_matplotlib_and_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = " ".join(ok("demo").stdout.split())
    assert "Found: e1, the best item with confidence 95%" in said
    assert "No picture was drawn, because matplotlib is missing; install probewise[plot] to get it." in said
    assert {path.suffix for path in (folder / "demo").iterdir()} == {".csv", ".html", ".campaign"}
    result = run("demo --json")
    assert json.loads(result.stdout)["pictures"] == []
    assert "install probewise[plot]" in result.stderr


def test_an_interrupt_is_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pw, "optimal_design", stopped)
    result = run(f"design {COMMON}")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.strip() == "Error: interrupted."


def test_a_bug_is_not_called_bad_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(pw, "optimal_design", broken)
    assert isinstance(run(f"design {COMMON}").exception, RuntimeError)


# --- what is printed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1234567.8, "1,234,568"),
        (43813.617, "43,813.6"),
        (0.25, "0.25"),
        (1e-5, "1e-05"),
        (3e12, "3e+12"),
        (math.inf, "∞"),
        (100.0, "100"),
    ],
)
def test_numbers_are_readable(value: float, text: str) -> None:
    assert output.number(value) == text


def shell(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "probewise", *args]
    return subprocess.run(line, capture_output=True, text=True, encoding="utf-8", env={**os.environ, **environment})


def test_piped_output_is_plain_and_does_not_depend_on_the_terminal(folder: Path) -> None:
    args = ("design", *COMMON.split())
    one, two = shell(*args, COLUMNS="40", TERM="dumb"), shell(*args, COLUMNS="200", TERM="xterm-256color")
    assert one.returncode == two.returncode == 0
    assert one.stdout == two.stdout == ok(f"design {COMMON}").stdout
    assert "\x1b" not in one.stdout
    assert one.stderr == two.stderr == ""
    assert all(line == line.rstrip() and len(line) <= output.WIDTH for line in one.stdout.splitlines())


def test_a_process_leaves_with_code_and_sentence(folder: Path) -> None:
    done = shell("design", "--probes", "none.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: there is no file none.csv; check the name and the folder.\n"


def test_letters_that_the_console_lacks_do_not_end_a_command(folder: Path) -> None:
    done = shell("hardness", *COMMON.split(), "--theta", "1,0", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "lower bound" in done.stdout


def test_help_does_not_load_what_it_does_not_need() -> None:
    code = "import sys, probewise.cli; print(*({'scipy', 'matplotlib', 'clarabel', 'narwhals'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_parts_of_numpy_that_no_command_uses_are_loaded_when_something_is_taken_from_them() -> None:
    code = (
        "import sys; from probewise.cli.sparing import UNUSED, spare; spare(); import numpy as np, scipy.linalg; "
        "print(*(part for part in UNUSED if f'numpy.{part}._private' in sys.modules or 'unittest' in sys.modules)); "
        "np.testing.assert_allclose(np.ma.array([1.0]), np.polynomial.Polynomial([1.0])(0)); "
        "print(np.f2py.get_include() != '', np.ctypeslib.c_intp is not None, 'unittest' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\nTrue True True\n"


@pytest.mark.parametrize("own", [None, "20"])
def test_idle_threads_sleep_at_once_unless_the_user_wants_otherwise(own: str | None) -> None:
    code = "import os; from probewise.cli.sparing import rest; rest(); print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    environment |= {} if own is None else {"OPENBLAS_THREAD_TIMEOUT": own}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == f"{own or 4}\n"


# --- the page ------------------------------------------------------------------------------------------------------


def blocks() -> list[tuple[str, str, str]]:
    return BLOCK.findall(PAGE.read_text())


def comparable(text: str) -> tuple[str, list[float]]:
    """Text without its numbers, bars and blanks, and the numbers."""
    text = text.replace("█", "")
    return " ".join(NUMBER.sub("#", text).split()), [float(n.replace(",", "")) for n in NUMBER.findall(text)]


def test_the_page_shows_what_the_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, commands = 0, 0
    for kind, name, body in blocks():
        if kind == "text":
            (tmp_path / name).write_text(body)
            continue
        for line, said in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", body, flags=re.M):
            commands += 1
            if line == "echo $?":
                assert said == f"{code}\n"
                continue
            assert line.startswith("probewise ")
            result = run(line.removeprefix("probewise "))
            code = result.exit_code
            (words, numbers), (expected, values) = comparable(result.output), comparable(said)
            assert words == expected
            # Values are certified to 1e-3, and the gap, which is printed to two digits, may be anything below.
            # Forecasts and simulations draw rounds: a design that differs within its tolerance moves them further.
            drawn = line.split()[1] in ("new", "status", "simulate")
            np.testing.assert_allclose(numbers, values, rtol=0.35 if drawn else 0.01, atol=1.0 if drawn else 1e-3)
    assert commands >= 7


def reproduced() -> Result:
    with pytest.MonkeyPatch.context() as patch:
        few = experiments.fig4.TESTING.smaller((4,), 1, without=("XY-Static", "XY-Oracle", "RAGE (code)"))
        patch.setattr(experiments.fig4, "QUICK", few)
        return ok("reproduce fig4 --json")


def served() -> Result:
    from probewise.server import serving

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "serve", lambda config: None)
        return ok("serve . --json")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_page_lists_the_keys_of_json(name: str, folder: Path) -> None:
    (folder / "design.csv").write_text("probe,weight\np,0.5\nq,0.5\n")
    lines: dict[str, Callable[[], Result]] = {
        "demo": lambda: ok("demo --no-picture --json"),
        "design": lambda: ok(f"design {COMMON} --json"),
        "round": lambda: ok(f"round design.csv {COMMON} -n 8 --json"),
        "hardness": lambda: ok(f"hardness {COMMON} --theta 1,0 --json"),
        "list": lambda: ok("list --json"),
        "identify": lambda: ok(f"identify {COMMON} --theta 1,0 --json"),
        "simulate": lambda: ok(f"simulate {COMMON} --theta 1,0 --runs 2 --json"),
        "reproduce": reproduced,
        "audit": lambda: ok("audit --method rage-paper --delta 0.3 --runs 5 --json"),
        "arena": lambda: ok("arena --method uniform --instance coins --out arena --json"),
        "example": lambda: ok("example lab --json"),
        "example-measure": lambda: ok("example-measure lab.csv --json"),
        "space": lambda: ok("space factors.toml --out items.parquet --json"),
        "new": lambda: ok(f"new b.jsonl {COMMON} --json"),
        "ask": lambda: ok("ask a.jsonl --json"),
        "tell": lambda: ok("tell a.jsonl ask.csv --json"),
        "status": lambda: ok("status a.jsonl --json"),
        "report": lambda: ok("report a.jsonl --out a.html --json"),
        "correct": lambda: ok("correct a.jsonl r1-1 3 --reason typo --json"),
        "void": lambda: ok("void a.jsonl r1-1 --reason typo --json"),
        "close": lambda: ok("close a.jsonl --reason late --json"),
        "restock": lambda: ok("restock a.jsonl p 9 --reason few --json"),
        "note": lambda: ok("note a.jsonl hello --json"),
        "export": lambda: ok("export a.jsonl --out copy.jsonl --json"),
        "verify": lambda: ok("verify a.jsonl --json"),
        "backup": lambda: ok("backup a.jsonl copy.campaign --json"),
        "serve": served,
        "user": lambda: ok("user list . --json"),
    }
    if name in cli.SECTIONS["Campaigns"]:
        ok(f"new a.jsonl {COMMON} --seed 0")
        rows = json.loads(ok("ask a.jsonl --json").stdout)["rows"]
        (folder / "ask.csv").write_text("measurement,outcome\nr1-1,1\n")
        assert rows[0]["measurement"] == "r1-1"
        ok("tell a.jsonl ask.csv")
    (folder / "factors.toml").write_text("[columns]\na = [1, 2]\n")
    (folder / "lab.csv").write_text('measurement,probe,outcome\nr1-1,"XPhos, THF, 60",\n')
    row = re.findall(rf"^\| `{name}` \| (.+) \|$", PAGE.read_text(), flags=re.M)[0]
    top = re.sub(r" \(.*?\)", "", row)
    assert re.findall(r"`(\w+)`", top) == list(json.loads(lines[name]().stdout))


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_of_every_option_stands_by_itself(name: str) -> None:
    """It says what the value is, not a fragment that needs the option's name to make sense, as "Of the noise."."""
    options = [p for p in cli.loaded(name).params if isinstance(p, click.Option)]
    for said in (str(option.help) for option in options):
        assert len(said.split()) >= 3, said
        assert said.endswith("."), said
        assert not re.match(r"(Of|On|Where|Why|Who|May) ", said), said
