"""Nasty values in every option: an answer, or exit code 2 with one sentence and nothing written; never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import probewise as pw
from probewise.cli import main

PROBES = "id,base,heat,price\nmild,1,0,1\nhot,1,1,2\nboth,1,3,4\n"
ITEMS = "id,base,heat\nA,1,2\nB,1,1.5\nC,1,0.5\n"
HUGE = "1" + "0" * 400

NO_NUMBERS = (
    *("", " ", "1e-400", "1e999", "-1e999", "nan", "inf", "-inf", "1_0", "0x10", "１２", "٣", "½", "²", "1,5", "--1"),
    *(HUGE, f"-{HUGE}", "9" * 5000, "\x1b[31m", "\u202e", "a\nb", "'", "=1+1", "x" * 5000, "null", "true", "[]", "{}"),
)
NASTY = (
    *NO_NUMBERS,
    "-",
    "0",
    "-1",
    "1.5",
    "1e308",
    "5e-324",
    "\ud800",
    "\udcff",
    "../..",
    "://",
    "postgresql://",
    "r1-0",
)
ALGORITHMS = (
    *(f"sage,max_batch={HUGE}", "sage,growth=1e999", "sage,growth=NaN", "sage,max_batch=true", "rage,variant=\ud800"),
    *(
        "xy-oracle,theta=[1e999]",
        "sage,,",
        "sage,=",
        "sage,growth=" + "[" * 2000,
        f"sage,growth=-{HUGE}",
        "rage,variant=\x1b",
    ),
)

SOURCE = "--probes probes.csv --items items.csv --cost-column price"
NEW = f"new n.jsonl {SOURCE}"
NUMERIC = {
    f"{NEW} --gap 1": (
        "--delta",
        "--epsilon",
        "--max-batch",
        "--min-batch",
        "--max-replicates",
        "--seed",
        "--sigma",
        "--gap",
    ),
    f"{NEW} --outcome-range 0": ("",),
    "ask lab.jsonl": ("--max-round",),
    "restock lab.jsonl hot --reason x --": ("",),
    "correct lab.jsonl r1-1 --reason x --": ("",),
    f"design {SOURCE}": ("--tol", "--sigma"),
    f"round w.csv {SOURCE}": ("-n",),
    f"hardness {SOURCE} --theta 1,2": ("--delta", "--tol"),
    f"identify {SOURCE} --theta 1,2": ("--delta", "--epsilon", "--seed", "--budget"),
    f"simulate {SOURCE} --theta 1,2": ("--runs", "--workers", "--seed"),
    "audit": ("--delta", "--runs"),
    "example-measure ask.csv": ("--seed",),
}
"""Command -> options that take a number; the empty one is an argument."""
OTHER = {
    f"{NEW} --dry-run --gap 1": (
        "--algorithm",
        "--id-column",
        "--extra",
        "--sigma-column",
        "--stock-column",
        "--author",
    ),
    "new n.jsonl --items items.csv": ("--probes",),
    "new n.jsonl --probes probes.csv": ("--items",),
    f"new {SOURCE} --dry-run --gap 1": ("",),
    "ask lab.jsonl": ("--out", "--due"),
    "tell lab.jsonl": ("",),
    "status": ("",),
    "report lab.jsonl": ("--out",),
    "export lab.jsonl": ("--out",),
    "void lab.jsonl --reason x --": ("",),
    "void lab.jsonl r1-1": ("--reason",),
    "restock lab.jsonl --reason x 3 --": ("",),
    "note gone.jsonl": ("",),
    "design --probes probes.csv": ("--criterion", "--reference", "--solver", "--id-column", "--out"),
    f"identify {SOURCE} --theta 1,2 --budget 9": ("--algorithm",),
    f"hardness {SOURCE}": ("--theta",),
    "list": ("",),
    "": ("",),
}
"""Command -> options that take something else."""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("probes.csv").write_text(PROBES)
    Path("items.csv").write_text(ITEMS)
    Path("w.csv").write_text("probe,weight\nmild,0.5\nboth,0.5\n")
    campaign = pw.Campaign.create(
        "lab.jsonl", pw.Problem([[1, 0], [1, 1], [1, 3]], [[1, 2], [1, 0.5]], sigma=0.5), seed=0
    )
    campaign.ask().to_csv("ask.csv")
    campaign.tell({"r1-1": 2.5})
    return tmp_path


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(command: str, option: str, value: str) -> Result:
    words = [*command.split(), *([option] if option else []), value]
    return CliRunner().invoke(main, words, prog_name="probewise", input="")


def refused(result: Result) -> bool:
    """Whether it was, in a sentence; anything but that and an answer is a fault."""
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in (0, 1, 2)
    if result.exit_code == 2:
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert result.stderr.endswith((".\n", "?\n"))
        assert result.stderr.count("\n") == 1
        assert len(result.stderr) < 1200
        assert "Traceback" not in result.stderr
    return result.exit_code == 2


@pytest.mark.parametrize("command", NUMERIC)
def test_what_is_no_number_is_refused_and_nothing_is_written(command: str, lab: Path) -> None:
    before = snapshot(lab)
    for option in NUMERIC[command]:
        for value in NO_NUMBERS:
            assert refused(run(command, option, value)), (option, value[:50])
            assert snapshot(lab) == before, (option, value[:50])


@pytest.mark.parametrize("command", OTHER)
def test_nasty_words_get_an_answer_or_a_sentence(command: str, lab: Path) -> None:
    before = snapshot(lab)
    for option in OTHER[command]:
        for value in (*NASTY, *(ALGORITHMS if option == "--algorithm" else ())):
            if refused(run(command, option, value)):
                assert snapshot(lab) == before, (option, value[:50])
            else:
                for name in set(snapshot(lab)) - set(before):
                    (lab / name).unlink()
                for name, content in before.items():
                    (lab / name).write_bytes(content)


@pytest.mark.skipif(os.name == "nt", reason="arguments are text there")
def test_bytes_that_are_no_text(lab: Path) -> None:
    before = snapshot(lab)
    for words in ([b"note", b"lab.jsonl", b"a\xffb"], [b"note", b"lab.jsonl", b"x", b"--author", b"\xff"], [b"\xff"]):
        done = subprocess.run([sys.executable, "-m", "probewise", *words], capture_output=True)
        assert done.returncode == 2
        assert done.stdout == b""
        assert b"Error: the argument '" in done.stderr
        assert b"\\udcff" in done.stderr
        assert b"is not UTF-8 text; type or rename it." in done.stderr
    assert snapshot(lab) == before
    command = [sys.executable, "-m", "probewise", "note", "lab.jsonl", "x"]
    assert subprocess.run(command, env={**os.environb, b"LOGNAME": b"Ren\xe9"}, capture_output=True).returncode == 0
    assert pw.Campaign.open("lab.jsonl").records[-1].author == r"Ren\udce9"


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf")])
def test_numbers_beyond_all_bounds_in_python(value: float, lab: Path) -> None:
    campaign = pw.Campaign.open("lab.jsonl")
    before = snapshot(lab)
    for wrong in (
        lambda: campaign.tell({"r1-2": value}),
        lambda: campaign.correct("r1-1", value, reason="x"),
        lambda: campaign.restock("0", value, reason="x"),  # type: ignore[arg-type]
        lambda: campaign.ask(max_round=value),  # type: ignore[arg-type]
        lambda: pw.Problem([[value, 0], [0, 1]]),
    ):
        with pytest.raises(pw.ProbewiseError, match=r"^[^\n]{1,400}\.$"):
            wrong()
    assert snapshot(lab) == before
